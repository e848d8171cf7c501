//! A bare packing as a page: buffers without tensors, time without steps.
//!
//! The page reads the same columns as for a plan. A buffer is a value of the one bank; a section of
//! time, in which nothing is born and nothing dies, is a step that is called by its moments. O(n log n).

use plimsoll_pack::{Gap, Life, Problem, Solution, Span, Sweep};

use super::data::{BankRow, Buffers, Curve, Data, Gaps, Steps, Values, index};

/// A packing, and what a map tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a> {
    /// What it is a packing of.
    pub title: &'a str,
    /// What the buffers are called.
    pub ids: &'a [String],
    /// The buffers.
    pub problem: &'a Problem,
    /// Where they are.
    pub solution: &'a Solution,
    /// The end of the highest.
    pub arena_bytes: u64,
    /// Below this no arena is.
    pub lower_bound_bytes: u64,
    /// Whether none is smaller.
    pub optimal: bool,
}

/// The columns of a packing.
pub(super) fn gather<'a>(packing: &Packing<'a>) -> Data<'a> {
    let Packing { title, problem, arena_bytes, lower_bound_bytes, .. } = *packing;
    let sweep = Sweep::new(problem);
    let bank = BankRow {
        name: "arena",
        bytes: arena_bytes,
        capacity: problem.capacity(),
        bound: lower_bound_bytes,
    };
    Data {
        title,
        arena_bytes,
        bound_bytes: lower_bound_bytes,
        unshared_bytes: problem.unshared_bytes(),
        weights_bytes: 0,
        total_bytes: arena_bytes,
        optimal: packing.optimal,
        banks: vec![bank],
        steps: steps(&sweep),
        values: values(packing, &sweep),
        ops: vec!["buffer".into(), "time".into()],
        types: vec!["".into()],
        classes: vec!["temporary".into()],
        buffers: buffers(packing, &sweep),
        gaps: gaps(packing, &sweep),
        curve: Curve {
            times: (0..=sweep.len()).map(point).collect(),
            bytes: sweep.load().to_vec(),
        },
    }
}

/// Where a border between sections is on the axis: a step has two points.
fn point(border: usize) -> i64 {
    2 * index(border)
}

/// The border of a moment: how many sections are over by then.
fn border(sweep: &Sweep, moment: i64) -> usize {
    let (mut low, mut high) = (0, sweep.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if sweep.life_of(middle).end <= moment { low = middle + 1 } else { high = middle }
    }
    low
}

fn span(sweep: &Sweep, life: Life) -> (i64, i64) {
    (point(border(sweep, life.start)), point(border(sweep, life.end)))
}

fn steps(sweep: &Sweep) -> Steps<'static> {
    let name = |section| {
        let Life { start, end } = sweep.life_of(section);
        format!("time {start} to {end}").into()
    };
    let (name, op) = ((0..sweep.len()).map(name).collect(), vec![1; sweep.len()]);
    Steps { name, op, part_of: Vec::new() }
}

fn values<'a>(packing: &Packing<'a>, sweep: &Sweep) -> Values<'a> {
    let count = packing.ids.len();
    let mut columns = Values {
        name: packing.ids.iter().map(|id| id.as_str().into()).collect(),
        bank: vec![0; count],
        buffer: (0..count).map(index).collect(),
        made_by: vec![-1; count],
        op: vec![0; count],
        r#type: vec![0; count],
        class: vec![0; count],
        root: vec![-1; count],
        in_place_of: vec![-1; count],
        first: vec![0; count + 1],
        ..Values::default()
    };
    for id in packing.problem.ids() {
        let buffer = packing.problem.buffer(id);
        let (start, end) = span(sweep, buffer.life);
        columns.bytes.push(buffer.size);
        columns.offset.push(packing.solution.offset(id));
        columns.start.push(start.cast_unsigned());
        columns.end.push(end.cast_unsigned());
    }
    columns
}

fn buffers(packing: &Packing<'_>, sweep: &Sweep) -> Buffers {
    let Values { bytes, offset, start, end, .. } = values(packing, sweep);
    let count = bytes.len();
    Buffers { bank: vec![0; count], offset, bytes, start, end, scratch: vec![-1; count] }
}

fn gaps(packing: &Packing<'_>, sweep: &Sweep) -> Gaps {
    let mut columns = Gaps::default();
    for id in packing.problem.ids() {
        let (buffer, offset) = (packing.problem.buffer(id), packing.solution.offset(id));
        for Gap { life, window } in &buffer.gaps {
            let (start, end) = span(sweep, *life);
            columns.push(id.index(), 0, offset, Span::new(0, buffer.size), *window, (start, end));
        }
    }
    columns
}
