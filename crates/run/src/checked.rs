//! A checked run: what the plan promises, held against what happens.
//!
//! The model runs twice side by side: in its plan, and with every tensor apart. Before each call, what it reads
//! must be what it reads apart; after it, what it has written must be what is written apart, and nothing else may
//! have changed. Bytes that no later call reads are overwritten with numbers that are none, so that whoever reads
//! what it should not gets something that shows.
//!
//! Which bytes those are follows from the calls alone, backwards: needed is what a call reads, and what is needed
//! after it and not written by it. Behind the last call of a body that runs again, what its first one needs is needed too, so
//! that calls are gone through until nothing changes. Cost: some passes over the arena for each call.
//!
//! What a round of a body reads and writes is compared in the last one, whose values are those that the run apart has left;
//! state, which is others at its end, is compared where it is handed out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use plimsoll::ValueId;
use plimsoll_model::{Model, Weights};

use crate::error::SessionError;
use crate::options::Options;
use crate::place::Spot;
use crate::port::Array;
use crate::session::Session;
use crate::step::{Action, Step};

/// What dead bytes are overwritten with: as real numbers they are none.
const POISON: u8 = 0xff;

/// What a checked run has found to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// How many calls were made.
    pub calls: usize,
    /// How many bytes of operands were compared before calls.
    pub read_bytes: u64,
    /// How many bytes of results were compared after calls.
    pub written_bytes: u64,
    /// How many times a byte was overwritten since nobody needed it.
    pub poisoned_bytes: u64,
    /// The outputs.
    pub outputs: BTreeMap<String, Array>,
}

/// What is wrong with a run in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The call, from 0.
    pub call: usize,
    /// Its node.
    pub node: String,
    /// The tensor, if it is one.
    pub tensor: Option<String>,
    /// The byte of the tensor, or of the arena if it is no tensor.
    pub byte: usize,
    /// What happened to it.
    pub what: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}, node `{}`: ", self.call, self.node)?;
        match &self.tensor {
            Some(tensor) => write!(f, "byte {} of `{tensor}` {}", self.byte, self.what),
            None => write!(f, "byte {} of the arena {}", self.byte, self.what),
        }
    }
}

/// Runs a model in its plan, checked against a run with every tensor apart.
pub fn check(
    model: &Model,
    weights: &dyn Weights,
    inputs: &BTreeMap<String, Array>,
    options: &Options,
) -> Result<Result<Checked, Fault>, SessionError> {
    let mut planned = Session::new(model, weights, options)?;
    let mut apart = Session::new(model, weights, &options.apart_from(planned.fused()))?;
    planned.poison();
    planned.fill(inputs)?;
    apart.fill(inputs)?;
    apart.run()?;
    let (dead, changing) = (dead_after(&planned), changing(planned.steps()));
    let mut found = Checked {
        calls: planned.calls(),
        read_bytes: 0,
        written_bytes: 0,
        poisoned_bytes: 0,
        outputs: BTreeMap::new(),
    };
    let mut before = Vec::new();
    let mut call = 0;
    while call < planned.steps().len() {
        if !planned.is_taken(call) {
            call += 1;
            continue;
        }
        let (reads, writes) = comparable(&planned, &apart, call, &changing);
        match compared(&planned, &apart, call, &reads, "is not what it was when it was written") {
            Ok(bytes) => found.read_bytes += bytes,
            Err(fault) => return Ok(Err(fault)),
        }
        before.clear();
        before.extend_from_slice(planned.arena());
        let next = planned.run_step(call)?;
        if let Some(byte) = strayed(&planned, call, &before) {
            let what = "is changed by a call that has no right to";
            return Ok(Err(fault_of(&planned, call, None, byte, what)));
        }
        match compared(&planned, &apart, call, &writes, "is not what it is with every tensor apart")
        {
            Ok(bytes) => found.written_bytes += bytes,
            Err(fault) => return Ok(Err(fault)),
        }
        for range in &dead[call] {
            planned.arena_mut()[range.clone()].fill(POISON);
            found.poisoned_bytes += range.len() as u64;
        }
        call = next;
    }
    for port in planned.outputs() {
        let bytes = planned.output_bytes(&port.name).unwrap_or_default().to_vec();
        let expected = apart.output_bytes(&port.name).unwrap_or_default();
        if let Some(byte) = first_difference(&bytes, expected) {
            let what = "of the outputs is not what it is with every tensor apart";
            let last = planned.steps().len().saturating_sub(1);
            let fault = fault_of(&planned, last, Some(port.name.clone()), byte, what);
            return Ok(Err(fault));
        }
        let (dtype, dims) = (port.dtype, port.dims.clone());
        found.outputs.insert(port.name.clone(), Array { dtype, dims, bytes });
    }
    Ok(Ok(found))
}

/// The values that a step reads and writes and that are the same in the run apart: whole ones, in the last round of every
/// body around it. What the branch has not made that was not taken is nothing in particular.
fn comparable(
    planned: &Session<'_>,
    apart: &Session<'_>,
    call: usize,
    changing: &BTreeSet<ValueId>,
) -> (Vec<ValueId>, Vec<ValueId>) {
    let Step { reads, writes, joins, is_branch, .. } = &planned.steps()[call];
    // Steps may have another order there, but nodes are the same.
    let is_last = around(planned.steps(), call).all(|cycle| {
        let here = &planned.cycles[cycle];
        let there = apart.cycles.iter().find(|there| there.node == here.node);
        there.is_some_and(|there| there.over == here.over + 1)
    });
    let settled = |values: &[ValueId]| -> Vec<ValueId> {
        values.iter().copied().filter(|value| !changing.contains(value)).collect()
    };
    let reads = if *is_branch || !is_last { Vec::new() } else { settled(reads) };
    (reads, if *joins || !is_last { Vec::new() } else { settled(writes) })
}

/// The values that several steps write, each all of it: states of bodies that run again and again.
fn changing(steps: &[Step]) -> BTreeSet<ValueId> {
    let (mut once, mut again) = (BTreeSet::new(), BTreeSet::new());
    for value in steps.iter().filter(|step| !step.joins).flat_map(|step| &step.writes) {
        if !once.insert(*value) {
            again.insert(*value);
        }
    }
    again
}

/// The cycles that a step is in a round of.
fn around(steps: &[Step], call: usize) -> impl Iterator<Item = usize> + '_ {
    let is_within = move |(at, step): (usize, &Step)| match step.action {
        Action::Repeat { cycle, first } if (first..=at).contains(&call) => Some(cycle),
        _ => None,
    };
    steps.iter().enumerate().filter_map(is_within)
}

fn fault_of(
    session: &Session<'_>,
    call: usize,
    tensor: Option<String>,
    byte: usize,
    what: &'static str,
) -> Fault {
    let graph = &session.planned().best.graph;
    let node = session.steps().get(call).map(|step| graph.node(step.node).name.clone());
    Fault { call, node: node.unwrap_or_default(), tensor, byte, what }
}

/// Whether values are the same in both runs; how many bytes that are.
fn compared(
    planned: &Session<'_>,
    apart: &Session<'_>,
    call: usize,
    values: &[ValueId],
    what: &'static str,
) -> Result<u64, Fault> {
    let mut compared = 0;
    for value in values {
        let (Some(here), Some(there)) = (planned.spot(*value), apart.spot(*value)) else {
            continue;
        };
        let (here, there) = (planned.spot_bytes(here), apart.spot_bytes(there));
        if let Some(byte) = first_difference(here, there) {
            let name = planned.planned().best.graph.value(*value).name.clone();
            return Err(fault_of(planned, call, Some(name), byte, what));
        }
        compared += here.len() as u64;
    }
    Ok(compared)
}

fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.or_else(|| (a.len() != b.len()).then_some(a.len().min(b.len())))
}

/// The first byte that a call has changed though it does not write there.
fn strayed(session: &Session<'_>, call: usize, before: &[u8]) -> Option<usize> {
    let arena = session.arena();
    let mut at = 0;
    let writes = session.steps()[call].written().into_iter();
    for range in writes.chain(std::iter::once(arena.len()..arena.len())) {
        let found = first_difference(&arena[at..range.start], &before[at..range.start]);
        if let Some(byte) = found {
            return Some(at + byte);
        }
        at = range.end;
    }
    None
}

/// The bytes that nobody needs after each step.
fn dead_after(session: &Session<'_>) -> Vec<Vec<Range<usize>>> {
    let steps = session.steps();
    let outputs = session.outputs().iter().filter_map(|port| match &port.spot {
        Spot::Arena(range) => Some(range.clone()),
        Spot::Constant(_) | Spot::Input(_) => None,
    });
    // What is needed before each step, and at the end.
    let mut needed = vec![Vec::new(); steps.len() + 1];
    needed[steps.len()] = united(outputs.collect());
    let mut changes = true;
    while changes {
        changes = false;
        for at in (0..steps.len()).rev() {
            let mut before = after(steps, &needed, at);
            if !steps[at].joins {
                for range in arena_ranges(session, &steps[at].writes) {
                    remove(&mut before, &range);
                }
            }
            before.extend(arena_ranges(session, &steps[at].reads));
            let before = united(before);
            // Without a way back, one pass is enough.
            changes |= before != needed[at] && !session.cycles.is_empty();
            needed[at] = before;
        }
    }
    let end = session.arena().len();
    (0..steps.len()).map(|at| between(&after(steps, &needed, at), end)).collect()
}

/// What is needed after a step, whichever comes next.
fn after(steps: &[Step], needed: &[Vec<Range<usize>>], at: usize) -> Vec<Range<usize>> {
    let next = &needed[at + 1];
    match steps[at].action {
        Action::Enter { behind: other, .. } | Action::Repeat { first: other, .. } => {
            united(next.iter().chain(&needed[other]).cloned().collect())
        }
        _ => next.clone(),
    }
}

/// The bytes of the arena that values have.
fn arena_ranges(session: &Session<'_>, values: &[ValueId]) -> Vec<Range<usize>> {
    let spots = values.iter().filter_map(|value| session.spot(*value));
    let arena = spots.filter_map(|spot| match spot {
        Spot::Arena(range) if !range.is_empty() => Some(range.clone()),
        _ => None,
    });
    arena.collect()
}

/// Ranges in order, none touching another.
fn united(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_cached_key(|range| range.start);
    let mut united: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match united.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => united.push(range),
        }
    }
    united
}

/// What is left of ranges without one.
fn remove(ranges: &mut Vec<Range<usize>>, gone: &Range<usize>) {
    let parts = |range: &Range<usize>| {
        let before = range.start..range.end.min(gone.start);
        let behind = range.start.max(gone.end)..range.end;
        [before, behind].into_iter().filter(|part| part.start < part.end).collect::<Vec<_>>()
    };
    *ranges = ranges.iter().flat_map(parts).collect();
}

/// What is between ranges that are in order.
fn between(ranges: &[Range<usize>], end: usize) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain(std::iter::once(end));
    starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end).collect()
}
