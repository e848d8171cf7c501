//! What a plan does to bytes at one size, written down as plainly as can be.

use std::collections::BTreeMap;

use plimsoll::{Place, Plan, Program, ValueId};
use plimsoll_graph::{Graph, Kernels, NodeId, ScheduledGraph};

/// Which byte of which tensor a byte of the arena holds.
type Content = (ValueId, u64);

/// Runs the steps of a plan on tensors as large as they are in `there`: every step must find its
/// operands as they were made, and so must the caller in the end.
pub(super) fn replay(
    planned: &ScheduledGraph<'_>,
    plan: &Plan,
    there: &Graph,
) -> Result<(), String> {
    let run = Run::new(planned, plan, there)?;
    let mut arena: BTreeMap<u64, Content> = BTreeMap::new();
    for step in &plan.schedule {
        run.step(&mut arena, planned.node_of(*step))?;
    }
    there.outputs().iter().try_for_each(|output| run.read(&arena, *output, "the caller"))
}

struct Run<'a> {
    planned: &'a ScheduledGraph<'a>,
    there: &'a Graph,
    /// The first byte of a value in the arena, and the tensor and byte that is there; `None` for
    /// what is elsewhere.
    places: Vec<Option<(u64, Content)>>,
}

impl<'a> Run<'a> {
    fn new(planned: &'a ScheduledGraph<'a>, plan: &Plan, there: &'a Graph) -> Result<Self, String> {
        let views = there.aliases(&Kernels::default());
        let mut places = Vec::new();
        for value in there.value_ids() {
            let (mut root, mut offset) = (value, 0);
            while let Some(view) = planned.value(root).view_of {
                let found = views.view(root).filter(|found| found.of == view.of);
                let Some(found) = found else {
                    return Err(format!("{} is no view", there.value(root).name));
                };
                offset += found.offset;
                root = view.of;
            }
            places.push(match plan.places[root.index()] {
                Place::Bank(slot) => {
                    let end = offset + bytes(there, value);
                    if end > slot.bytes {
                        let name = &there.value(value).name;
                        return Err(format!("{name} ends at {end} of {}", slot.bytes));
                    }
                    Some((slot.offset + offset, (root, offset)))
                }
                _ => None,
            });
        }
        Ok(Run { planned, there, places })
    }

    fn step(&self, arena: &mut BTreeMap<u64, Content>, id: NodeId) -> Result<(), String> {
        let node = self.there.node(id);
        let viewed = |value: ValueId| self.planned.value(value).view_of.is_some();
        if node.results().all(viewed) {
            return Ok(());
        }
        let effect = self.there.native_effect(id);
        if effect.reads {
            node.inputs.iter().flatten().try_for_each(|v| self.read(arena, *v, &node.name))?;
        }
        for (to, output) in node.outputs.iter().enumerate() {
            let Some(output) = output.filter(|output| !viewed(*output)) else { continue };
            for (from, input) in node.inputs.iter().enumerate() {
                let Some(input) = *input else { continue };
                let taken = effect.overwrites.contains(&(to, from)) && self.starts(output, input);
                if effect.reads && self.meet(output, input) && !taken {
                    let name = |value: ValueId| &self.there.value(value).name;
                    return Err(format!("{} is written over {}", name(output), name(input)));
                }
            }
            if let Some((first, content)) = self.places[output.index()] {
                for byte in 0..bytes(self.there, output) {
                    arena.insert(first + byte, (content.0, content.1 + byte));
                }
            }
        }
        Ok(())
    }

    fn read(
        &self,
        arena: &BTreeMap<u64, Content>,
        value: ValueId,
        reader: &str,
    ) -> Result<(), String> {
        let Some((first, (root, offset))) = self.places[value.index()] else { return Ok(()) };
        let lost = (0..bytes(self.there, value))
            .find(|byte| arena.get(&(first + byte)) != Some(&(root, offset + byte)));
        match lost {
            Some(byte) => {
                Err(format!("{reader} finds no byte {byte} of {}", self.there.value(value).name))
            }
            None => Ok(()),
        }
    }

    fn starts(&self, a: ValueId, b: ValueId) -> bool {
        let first = |value: ValueId| self.places[value.index()].map(|(first, _)| first);
        first(a) == first(b)
    }

    fn meet(&self, a: ValueId, b: ValueId) -> bool {
        let span = |value: ValueId| {
            let (first, _) = self.places[value.index()]?;
            Some((first, first + bytes(self.there, value)))
        };
        let Some(((a, a_end), (b, b_end))) = span(a).zip(span(b)) else { return false };
        a < b_end && b < a_end
    }
}

fn bytes(graph: &Graph, value: ValueId) -> u64 {
    graph.value(value).native_size().known().expect("a known size")
}
