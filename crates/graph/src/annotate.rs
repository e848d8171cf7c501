//! The annotate pass: writes what a plan says of a node's outputs onto the node.
//!
//! For the first output of each node the notes are `lifetime_start` and `lifetime_end` (points),
//! `inplace` and `inplace_input`, `memory_group` (the buffer), `offset` and `bank`; for the output
//! at index `i` beyond the first, the same with `.i` behind. Values that are in no bank have the
//! bank `external` or `elided`. A node that is a step has its place in the planned order as
//! `position`, since that need not be the order in which the nodes are written down. Applying the same
//! plan twice changes nothing, and says so.

use std::collections::BTreeMap;

use plimsoll::{Place, Plan, ValueId};

use crate::graph::{Graph, NodeId};
use crate::scheduled::ScheduledGraph;

/// The names of the notes.
const KEYS: [&str; 8] = [
    "bank",
    "inplace",
    "inplace_input",
    "lifetime_end",
    "lifetime_start",
    "memory_group",
    "offset",
    "position",
];

/// What a plan says of each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    notes: Vec<BTreeMap<String, String>>,
}

impl Annotations {
    /// The notes on one node.
    #[must_use]
    pub fn of(&self, node: NodeId) -> &BTreeMap<String, String> {
        &self.notes[node.index()]
    }

    /// Writes the notes onto the nodes of the graph that they were made for, in place of those of an
    /// earlier plan. Says whether that changed anything.
    pub fn apply(&self, graph: &mut Graph) -> bool {
        let mut changed = false;
        for (index, fresh) in self.notes.iter().enumerate() {
            let notes = graph.notes_mut(NodeId::new(index));
            let mut after = notes.clone();
            after.retain(|key, _| !is_ours(key));
            after.extend(fresh.clone());
            changed |= after != *notes;
            *notes = after;
        }
        changed
    }
}

fn is_ours(key: &str) -> bool {
    let is_index = |text: &str| text.parse::<usize>().is_ok();
    let base = key.rsplit_once('.').filter(|(_, index)| is_index(index)).map_or(key, |(b, _)| b);
    KEYS.contains(&base)
}

/// What a plan for this program says of each node.
///
/// # Panics
/// If the plan is for another program: it has too few places.
#[must_use]
pub fn annotate(program: &ScheduledGraph<'_>, plan: &Plan) -> Annotations {
    let graph = program.graph();
    let positions = positions(program, plan);
    let notes = graph.node_ids().map(|id| {
        let node = graph.node(id);
        let position = positions[id.index()].map(|at| ("position".to_owned(), at.to_string()));
        let mut notes: BTreeMap<String, String> = position.into_iter().collect();
        for (index, value) in node.results().enumerate() {
            let behind = if index == 0 { String::new() } else { format!(".{index}") };
            for (key, note) in value_notes(graph, plan, value) {
                notes.insert(format!("{key}{behind}"), note);
            }
        }
        notes
    });
    Annotations { notes: notes.collect() }
}

/// The position of each node in the planned order, by node; `None` for those that are no steps.
#[must_use]
pub fn positions(program: &ScheduledGraph<'_>, plan: &Plan) -> Vec<Option<usize>> {
    let mut positions = vec![None; program.graph().nodes().len()];
    for (position, step) in plan.schedule.iter().enumerate() {
        positions[program.node_of(*step).index()] = Some(position);
    }
    positions
}

/// Whether a plan runs the nodes in the order in which they are written down.
#[must_use]
pub fn keeps_order(program: &ScheduledGraph<'_>, plan: &Plan) -> bool {
    plan.schedule.is_sorted_by_key(|step| program.node_of(*step))
}

/// What a plan says of one value, by key.
///
/// # Panics
/// If the plan is for another program: it has too few places.
#[must_use]
pub fn value_notes(graph: &Graph, plan: &Plan, value: ValueId) -> Vec<(&'static str, String)> {
    let mut notes = match plan.places[value.index()] {
        Place::Bank(slot) => {
            let bank = plan.banks.get(slot.bank.index()).map_or("", |bank| bank.name.as_str());
            vec![("bank", bank.to_owned()), ("offset", slot.offset.to_string())]
        }
        Place::External => vec![("bank", "external".to_owned())],
        Place::Outside { offset, .. } => {
            vec![("bank", "external".to_owned()), ("offset", offset.to_string())]
        }
        Place::Elided => return vec![("bank", "elided".to_owned())],
    };
    let member = plan.derivation.members.get(value.index()).copied().flatten();
    notes.push(("inplace", member.is_some_and(|m| m.took_over.is_some()).to_string()));
    if let Some(member) = member {
        notes.push(("lifetime_start", member.live.start.to_string()));
        notes.push(("lifetime_end", member.live.end.to_string()));
        notes.push(("memory_group", member.buffer.0.to_string()));
        if let Some(input) = member.took_over {
            notes.push(("inplace_input", graph.value(input).name.clone()));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use plimsoll::{
        Bank, BankId, Buffer, BufferId, Derivation, LiveRange, Member, Point, Slot, StepId,
    };

    use super::*;
    use crate::scheduled::LoweringOptions;
    use crate::text;

    const TEXT: &str = "plim 1
input x: f32[4]
a: f32[4] = matmul(x)
b: f32[4], c: i64[1] = unary \"pair\"(a)
t: f32[4] elided = copy(b) elided
d: f32[4] = matmul(t)
output d
";

    fn plan() -> Plan {
        let live = |start, end| LiveRange::new(Point(start), Point(end));
        let slot = |offset, bytes| Slot::new(BankId(0), offset, bytes);
        let member = |buffer, start, end, took_over| {
            let live = live(start, end);
            Some(Member { buffer: BufferId(buffer), offset: 0, live, took_over })
        };
        Plan {
            schedule: vec![StepId(0), StepId(1), StepId(2)],
            places: vec![
                Place::External,
                Place::Bank(slot(0, 16)),
                Place::Bank(slot(0, 16)),
                Place::Bank(slot(64, 8)),
                Place::Elided,
                Place::Outside { root: ValueId(0), offset: 4 },
            ],
            scratch: Vec::new(),
            banks: vec![Bank { name: "arena".into(), bytes: 72, capacity: None }],
            align: 64,
            derivation: Derivation {
                buffers: vec![
                    Buffer { slot: slot(0, 16), live: live(1, 6), align: 1, gaps: Vec::new() },
                    Buffer { slot: slot(64, 8), live: live(3, 4), align: 1, gaps: Vec::new() },
                ],
                members: vec![
                    None,
                    member(0, 1, 3, None),
                    member(0, 3, 6, Some(ValueId(1))),
                    member(1, 3, 4, None),
                    None,
                    None,
                ],
                ..Derivation::default()
            },
        }
    }

    #[test]
    fn nodes_are_told_where_their_outputs_are() {
        let mut graph = text::parse(TEXT).unwrap();
        graph.notes_mut(NodeId(0)).insert("offset".into(), "stale".into());
        graph.notes_mut(NodeId(0)).insert("author".into(), "me".into());
        let notes = {
            let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
            annotate(&program, &plan())
        };
        let pairs = |node: u32| -> Vec<String> {
            notes.of(NodeId(node)).iter().map(|(key, note)| format!("{key}={note}")).collect()
        };
        assert_eq!(
            pairs(1).join(" "),
            "bank=arena bank.1=arena inplace=true inplace.1=false inplace_input=a lifetime_end=6 \
             lifetime_end.1=4 lifetime_start=3 lifetime_start.1=3 memory_group=0 memory_group.1=1 \
             offset=0 offset.1=64 position=1"
        );
        assert_eq!(pairs(2).join(" "), "bank=elided");
        assert_eq!(pairs(3).join(" "), "bank=external inplace=false offset=4 position=2");
        assert!(notes.apply(&mut graph), "the first time changes something");
        assert!(!notes.apply(&mut graph), "the second time does not");
        assert_eq!(graph.node(NodeId(0)).notes["offset"], "0");
        assert_eq!(graph.node(NodeId(0)).notes["author"], "me");
        // Notes are in the text form too.
        assert_eq!(text::parse(&text::print(&graph)).unwrap(), graph);
    }
}
