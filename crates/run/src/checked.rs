//! A checked run: what the plan promises, held against what happens.
//!
//! The model runs twice side by side: in its plan, and with every tensor apart. Before each call, what it reads
//! must be what it reads apart; after it, what it has written must be what is written apart, and nothing else may
//! have changed. Bytes that no later call reads are overwritten with numbers that are none, so that whoever reads
//! what it should not gets something that shows.
//!
//! Which bytes those are follows from the calls alone, backwards: needed is what a call reads, and what is needed
//! after it and not written by it. Cost: some passes over the arena for each call.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use plimsoll::ValueId;
use plimsoll_model::{Model, Weights};

use crate::error::SessionError;
use crate::options::Options;
use crate::place::Spot;
use crate::port::Array;
use crate::session::{Session, Step};

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
    let dead = dead_after(&planned);
    let mut found = Checked {
        calls: planned.steps().len(),
        read_bytes: 0,
        written_bytes: 0,
        poisoned_bytes: 0,
        outputs: BTreeMap::new(),
    };
    let mut before = Vec::new();
    for (call, dead) in dead.iter().enumerate() {
        if !planned.is_taken(call) {
            continue;
        }
        let Step { reads, writes, joins, .. } = &planned.steps()[call];
        let (reads, writes) = (reads.clone(), if *joins { Vec::new() } else { writes.clone() });
        // What the branch has not made that was not taken is nothing in particular.
        let reads = if has_branches(&planned, call) { Vec::new() } else { reads };
        match compared(&planned, &apart, call, &reads, "is not what it was when it was written") {
            Ok(bytes) => found.read_bytes += bytes,
            Err(fault) => return Ok(Err(fault)),
        }
        before.clear();
        before.extend_from_slice(planned.arena());
        planned.run_step(call)?;
        if let Some(byte) = strayed(&planned, call, &before) {
            let what = "is changed by a call that has no right to";
            return Ok(Err(fault_of(&planned, call, None, byte, what)));
        }
        match compared(&planned, &apart, call, &writes, "is not what it is with every tensor apart")
        {
            Ok(bytes) => found.written_bytes += bytes,
            Err(fault) => return Ok(Err(fault)),
        }
        for range in dead {
            planned.arena_mut()[range.clone()].fill(POISON);
            found.poisoned_bytes += range.len() as u64;
        }
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

/// Whether a call hands on what one of two branches has made.
fn has_branches(session: &Session<'_>, call: usize) -> bool {
    session.steps()[call].is_branch
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
    let writes = session.steps()[call].operands.writes.iter().map(|write| write.range.clone());
    for range in writes.chain(std::iter::once(arena.len()..arena.len())) {
        let found = first_difference(&arena[at..range.start], &before[at..range.start]);
        if let Some(byte) = found {
            return Some(at + byte);
        }
        at = range.end;
    }
    None
}

/// The bytes that nobody needs after each call.
fn dead_after(session: &Session<'_>) -> Vec<Vec<Range<usize>>> {
    let ranges = |values: &[ValueId]| -> Vec<Range<usize>> {
        let spots = values.iter().filter_map(|value| session.spot(*value));
        let arena = spots.filter_map(|spot| match spot {
            Spot::Arena(range) if !range.is_empty() => Some(range.clone()),
            _ => None,
        });
        arena.collect()
    };
    let mut needed: Vec<Range<usize>> = Vec::new();
    for port in session.outputs() {
        if let Spot::Arena(range) = &port.spot {
            needed.push(range.clone());
        }
    }
    let mut dead = Vec::new();
    for step in session.steps().iter().rev() {
        needed = united(needed);
        dead.push(between(&needed, session.arena().len()));
        if !step.joins {
            for range in ranges(&step.writes) {
                remove(&mut needed, &range);
            }
        }
        needed.extend(ranges(&step.reads));
    }
    dead.reverse();
    dead
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
