//! A problem as the search sees it: dense, in the coarsest unit, without sections that say nothing.
//!
//! - **Unit.** Every offset that the search can come to is a sum of sizes, rounded up to
//!   alignments; so all of them are multiples of a common unit, and the capacity may be rounded
//!   down to one. Sizes of buffers whose alignments share a factor are rounded up to it first.
//! - **Moments.** A section in which no buffer is born, or at whose end none dies, holds a subset of
//!   its neighbour: keeping them apart there follows from keeping them apart in the neighbour. What
//!   is left are the *moments*, the maximal sets of buffers alive together.
//! - **Cells.** What a buffer uses at a moment is a *cell*: all of it, or the window of a gap. Where pairs are kept
//!   apart beside those that are alive together, sets of which each is kept apart from every other are moments
//!   too, behind those of time, until every pair is covered.
//! - **Fixed.** What has a fixed offset is not searched for: it is in the way from the beginning.
//!
//! Cost: O(n log n) time, and memory for every pair (buffer, moment of its life); with pairs kept apart O(n) for
//! each buffer of the sets that cover them.

use std::ops::Range;

use crate::clique::apart;
use crate::dense::BitMatrix;
use crate::problem::{Buffer, BufferId, Problem, Span, gcd};
use crate::sweep::Sweep;

/// Pairs that are kept apart are covered by at most so many cells.
const MOST_APART: usize = 2_000_000;

/// What a buffer uses at a moment, from its own start, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) moment: u32,
    pub(super) lo: u64,
    pub(super) hi: u64,
}

/// The buffers of a problem by birth, over moments instead of time, in units instead of bytes.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Bytes in a unit.
    pub(super) unit: u64,
    /// Whose buffers these are, by our own dense number.
    pub(super) ids: Vec<BufferId>,
    pub(super) size: Vec<u64>,
    /// How many bytes of the last unit are not really used.
    pub(super) padding: Vec<u64>,
    /// In units; 1 where it does not matter.
    pub(super) align: Vec<u64>,
    /// The moments of each life, gaps included.
    pub(super) life: Vec<(u32, u32)>,
    /// The cells of buffer `v`, by moment: `cells[first_cell[v]..first_cell[v + 1]]`.
    pub(super) cells: Vec<Cell>,
    first_cell: Vec<u32>,
    /// Units that are taken from the beginning, as cells from the bottom.
    pub(super) obstacles: Vec<Cell>,
    /// What is fixed, and where, in bytes.
    pub(super) fixed: Vec<(BufferId, u64)>,
    /// Whether every buffer is one rectangle, and nothing is in the way: then placed from the bottom up
    /// they leave no holes that anything could go to.
    pub(super) is_plain: bool,
    /// How many moments there are.
    pub(super) moments: usize,
    /// Buffers are sorted by birth: those born at moment `m` are `born[m]..born[m + 1]`.
    pub(super) born: Vec<u32>,
    /// The next buffer with the same size, life and alignment, or `u32::MAX`.
    pub(super) twin: Vec<u32>,
}

impl Instance {
    /// The instance, unless too many pairs are kept apart to be looked at, or what is fixed is in each other's way.
    pub(super) fn new(problem: &Problem, sweep: &Sweep) -> Option<Instance> {
        let is_whole = |b: &Buffer| b.fixed.is_none() && b.gaps.is_empty();
        let is_plain = problem.conflicts().is_none() && problem.buffers().iter().all(is_whole);
        let unit = if is_plain { unit(problem) } else { unit_of_pieces(problem) };
        let (cells_of, moments) = cells(problem, sweep, unit)?;
        let life_of = |id: BufferId| {
            let cells = &cells_of[id.index()];
            let last = cells.last().expect("no life is empty").moment + 1;
            (cells[0].moment, last)
        };
        let of = |id: &BufferId| problem.buffer(*id);
        let (mut fixed, mut obstacles) = (Vec::new(), Vec::new());
        for id in problem.ids() {
            if let Some(offset) = of(&id).fixed {
                fixed.push((id, offset));
                let at = offset / unit;
                let up = |c: &Cell| Cell { lo: c.lo + at, hi: c.hi + at, ..*c };
                obstacles.extend(cells_of[id.index()].iter().map(up));
            }
        }
        obstacles.sort_unstable_by_key(|cell| (cell.moment, cell.lo));
        let clash = |pair: &[Cell]| pair[0].moment == pair[1].moment && pair[0].hi > pair[1].lo;
        if obstacles.windows(2).any(clash) {
            return None;
        }
        let mut ids: Vec<BufferId> = problem.ids().filter(|id| of(id).fixed.is_none()).collect();
        let key = |id: &BufferId| {
            let (start, end) = life_of(*id);
            let buffer = problem.buffer(*id);
            (start, std::cmp::Reverse(end), std::cmp::Reverse(buffer.size), buffer.align, *id)
        };
        ids.sort_unstable_by_key(key);
        let size: Vec<u64> = ids.iter().map(|id| of(id).size.div_ceil(unit)).collect();
        let padding = ids.iter().zip(&size).map(|(id, s)| s * unit - of(id).size).collect();
        let align: Vec<u64> = ids.iter().map(|id| (of(id).align / unit).max(1)).collect();
        let life: Vec<_> = ids.iter().map(|id| life_of(*id)).collect();
        let mut born = vec![0; moments + 1];
        for (start, _) in &life {
            born[*start as usize + 1] += 1;
        }
        for m in 0..moments {
            born[m + 1] += born[m];
        }
        let same = |i: usize| {
            let Some(next) = ids.get(i + 1) else { return false };
            let (a, b) = (of(&ids[i]), of(next));
            let whole = a.gaps.is_empty() && b.gaps.is_empty();
            let alike = a.size == b.size && a.align == b.align && life[i] == life[i + 1];
            whole && alike && cells_of[ids[i].index()] == cells_of[next.index()]
        };
        let twin = (0..ids.len()).map(|i| if same(i) { i as u32 + 1 } else { u32::MAX }).collect();
        let (mut cells, mut first_cell) = (Vec::new(), vec![0]);
        for id in &ids {
            cells.extend_from_slice(&cells_of[id.index()]);
            first_cell.push(cells.len() as u32);
        }
        Some(Instance {
            unit,
            ids,
            size,
            padding,
            align,
            life,
            cells,
            first_cell,
            obstacles,
            fixed,
            is_plain,
            moments,
            born,
            twin,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Which cells are those of a buffer.
    pub(super) fn cell_range(&self, v: usize) -> Range<usize> {
        self.first_cell[v] as usize..self.first_cell[v + 1] as usize
    }

    /// The cells of a buffer, by moment.
    pub(super) fn cells(&self, v: usize) -> &[Cell] {
        &self.cells[self.cell_range(v)]
    }

    /// The moments of a life, as indices.
    pub(super) fn span(&self, v: usize) -> Range<usize> {
        self.life[v].0 as usize..self.life[v].1 as usize
    }

    /// The buffers that are born in these moments.
    pub(super) fn born_in(&self, moments: Range<usize>) -> Range<usize> {
        self.born[moments.start] as usize..self.born[moments.end] as usize
    }

    /// The load of each moment, without what is fixed.
    pub(super) fn load(&self) -> Vec<u64> {
        let mut load = vec![0; self.moments];
        for cell in &self.cells {
            load[cell.moment as usize] += cell.hi - cell.lo;
        }
        load
    }
}

/// The cells of every buffer, and how many moments there are.
fn cells(problem: &Problem, sweep: &Sweep, unit: u64) -> Option<(Vec<Vec<Cell>>, usize)> {
    let moment_of = moments(problem, sweep);
    let moments = moment_of.last().map_or(0, |m| *m as usize);
    let cells_of = |id: BufferId| {
        let mut cells = Vec::new();
        for piece in sweep.pieces(id) {
            let Span { lo, hi } = piece.span;
            let (lo, hi) = (lo / unit, hi.div_ceil(unit));
            let (start, end) = (piece.sections.start as usize, piece.sections.end as usize);
            let range = moment_of[start]..moment_of[end];
            cells.extend(range.map(|moment| Cell { moment, lo, hi }));
        }
        cells.sort_unstable_by_key(|cell| cell.moment);
        cells
    };
    let mut cells: Vec<Vec<Cell>> = problem.ids().map(cells_of).collect();
    let sets = kept_apart(problem)?;
    for (moment, set) in (moments as u32..).zip(&sets) {
        for id in set {
            let hi = problem.buffer(*id).size.div_ceil(unit);
            cells[id.index()].push(Cell { moment, lo: 0, hi });
        }
    }
    // What is never in use has a place all the same.
    let mut moments = moments + sets.len();
    for empty in cells.iter_mut().filter(|cells| cells.is_empty()) {
        empty.push(Cell { moment: moments as u32, lo: 0, hi: 0 });
        moments += 1;
    }
    Some((cells, moments))
}

/// Sets of buffers of which each is kept apart from every other, such that every pair that is kept apart
/// though it is not alive together is in one of them. The largest buffers that can be are in each.
fn kept_apart(problem: &Problem) -> Option<Vec<Vec<BufferId>>> {
    let Some(conflicts) = problem.conflicts() else { return Some(Vec::new()) };
    let mut by_size: Vec<BufferId> = problem.ids().collect();
    by_size.sort_by_cached_key(|id| (std::cmp::Reverse(problem.buffer(*id).size), *id));
    let mut covered = BitMatrix::new(problem.len(), problem.len());
    let (mut sets, mut total) = (Vec::new(), 0);
    let is_whole = |id: BufferId| problem.buffer(id).gaps.is_empty();
    for a in &by_size {
        for b in conflicts.of(*a) {
            let alive = problem.buffer(*a).life.meets(problem.buffer(b).life);
            let is_told = alive && is_whole(*a) && is_whole(b);
            if is_told || covered.contains(a.index(), b.index()) {
                continue;
            }
            let mut set = vec![*a, b];
            for c in &by_size {
                if !set.contains(c) && set.iter().all(|other| apart(problem, *c, *other)) {
                    set.push(*c);
                }
            }
            for one in &set {
                for other in &set {
                    covered.insert(one.index(), other.index());
                }
            }
            total += set.len();
            sets.push(set);
            if total > MOST_APART || total.saturating_mul(problem.len()) > 100 * MOST_APART {
                return None;
            }
        }
    }
    Some(sets)
}

/// The number of the first moment at or after each section (and after the last).
fn moments(problem: &Problem, sweep: &Sweep) -> Vec<u32> {
    let mut birth = vec![false; sweep.len() + 1];
    let mut death = vec![false; sweep.len() + 1];
    for piece in problem.ids().flat_map(|id| sweep.pieces(id)) {
        birth[piece.sections.start as usize] = true;
        death[piece.sections.end as usize] = true;
    }
    // A section is a moment if births came since the last death, and a death follows.
    let mut number = Vec::with_capacity(sweep.len() + 1);
    let mut count = 0;
    let mut fresh = false;
    for section in 0..sweep.len() {
        number.push(count);
        fresh |= birth[section];
        if death[section + 1] && fresh {
            count += 1;
            fresh = false;
        }
    }
    number.push(count);
    number
}

/// The largest number that divides every offset the search can come to.
fn unit(problem: &Problem) -> u64 {
    let aligns = problem.buffers().iter().map(|b| b.align);
    let common = aligns.clone().fold(0, gcd).max(1);
    let sizes = problem.buffers().iter().map(|b| b.size.next_multiple_of(common));
    let size = sizes.fold(0, gcd).max(1);
    if aligns.clone().all(|a| size.is_multiple_of(a)) {
        return size;
    }
    aligns.fold(size, gcd)
}

/// The same where there are pieces and fixed offsets: nothing is rounded.
fn unit_of_pieces(problem: &Problem) -> u64 {
    let mut unit = 0;
    for buffer in problem.buffers() {
        let windows = buffer.gaps.iter().filter_map(|gap| gap.window);
        let ends = windows.flat_map(|window| [window.lo, window.hi]);
        unit = ends.chain(buffer.fixed).fold(gcd(unit, buffer.size), gcd);
    }
    let aligns = problem.buffers().iter().map(|b| b.align);
    if aligns.clone().all(|align| unit.is_multiple_of(align)) {
        return unit.max(1);
    }
    aligns.fold(unit, gcd).max(1)
}
