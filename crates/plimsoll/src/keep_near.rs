//! Planning again what was planned before and has changed a little: what can stay where it was, does.
//!
//! The arena counts first: a program is planned as if nothing had been before. Then, with the same sharing,
//! what was somewhere in another plan is put back there, as far as the arena does not grow: all of it at
//! once; if that does not fit, one half and then the other, and so on down to what fits nowhere but
//! elsewhere. The verifier sees what comes of it, as of every plan.
//!
//! Cost: a packing for each try. Where little has changed these are about log n for each buffer that has
//! to move; never more than [`MOST_TRIES`], and fewer where there are many buffers.

use plimsoll_pack::{Buffer, Outcome, Problem, Solution, solve};

use crate::attempt::{Attempt, Case};
use crate::banks::{self, Placed};
use crate::ids::ValueId;
use crate::lower::{Request, What};
use crate::near::Near;
use crate::options::Options;

/// As many packings as are made for a bank.
const MOST_TRIES: usize = 400;
/// As many buffers as are packed in all of them.
const MOST_BUFFERS: usize = 4_000_000;
/// How hard each is searched for, if rules do not find it.
const WORK: u64 = 200_000;

/// Puts things back to where they were, as far as no bank grows.
pub(crate) fn keep_near(case: &Case<'_, '_>, attempt: &mut Attempt<'_>, options: &Options) {
    let Some(near) = &options.near else { return };
    for bank in 0..attempt.placed.banks.len() {
        let Attempt { sharing, placed } = &*attempt;
        let Some((inside, problem)) =
            banks::problem_of(case.validated, &sharing.requests, placed, bank, options)
        else {
            continue;
        };
        let name = &placed.banks[bank].name;
        let wanted = |request: &usize| wanted(near, name, attempt, &sharing.requests[*request]);
        let wanted: Vec<Option<u64>> = inside.iter().map(wanted).collect();
        let arena_bytes = placed.banks[bank].bytes;
        if let Some(kept) = Keeping::new(&problem, wanted, arena_bytes, options).keep_all() {
            settle(&mut attempt.placed, bank, &inside, &problem, &kept);
        }
    }
}

/// Where a buffer begins if most of its values are where they were.
fn wanted(near: &Near, bank: &str, attempt: &Attempt<'_>, request: &Request) -> Option<u64> {
    let sets = &attempt.sharing.alias_sets;
    let head = match request.what {
        What::Scratch(step) => return near.offset(near.scratch.get(step.index()), bank),
        What::AliasSet(head) => head,
    };
    let begin = |root: ValueId| {
        let (_, at) = sets.member[root.index()];
        near.offset(near.values.get(root.index()), bank)?.checked_sub(at)
    };
    let mut begins: Vec<u64> = sets.roots(head).filter_map(begin).collect();
    begins.sort_unstable();
    begins.chunk_by(|a, b| a == b).max_by_key(|alike| alike.len()).map(|alike| alike[0])
}

/// What is put back so far.
struct Keeping<'a> {
    problem: &'a Problem,
    /// Where each buffer was.
    wanted: Vec<Option<u64>>,
    /// Whether it is there again; by buffer.
    kept: Vec<bool>,
    arena_bytes: u64,
    pack: plimsoll_pack::Options,
    best: Option<Outcome>,
    tries: usize,
}

impl<'a> Keeping<'a> {
    fn new(
        problem: &'a Problem,
        wanted: Vec<Option<u64>>,
        arena_bytes: u64,
        options: &Options,
    ) -> Self {
        let mut pack = options.pack.clone();
        let work = pack.work.unwrap_or(pack.effort.work());
        pack.work = Some(work.min(WORK));
        pack.below = Some(arena_bytes.saturating_add(1));
        let tries = (MOST_BUFFERS / problem.len().max(1)).clamp(1, MOST_TRIES);
        let kept = vec![false; problem.len()];
        Keeping { problem, wanted, kept, arena_bytes, pack, best: None, tries }
    }

    /// Puts back what it can; the packing, if that is anything.
    fn keep_all(mut self) -> Option<Outcome> {
        let can_stay = |index: &usize| {
            let buffer = &self.problem.buffers()[*index];
            let fits = |offset: u64| {
                let end = offset.checked_add(buffer.size);
                let inside = end.is_some_and(|end| end <= self.arena_bytes);
                offset.is_multiple_of(buffer.align) && inside
            };
            self.wanted[*index].is_some_and(fits) && buffer.fixed.is_none()
        };
        let mut group: Vec<usize> = (0..self.wanted.len()).filter(can_stay).collect();
        // What lives at about the same time is tried together.
        group.sort_by_cached_key(|index| (self.problem.buffers()[*index].life.start, *index));
        self.keep(&group);
        self.best
    }

    /// Puts back a group, or its halves.
    fn keep(&mut self, group: &[usize]) {
        if group.is_empty() || self.tries == 0 {
            return;
        }
        self.tries -= 1;
        self.mark(group, true);
        if let Some(packed) = self.packed() {
            self.best = Some(packed);
            return;
        }
        self.mark(group, false);
        if group.len() > 1 {
            let (first, second) = group.split_at(group.len() / 2);
            self.keep(first);
            self.keep(second);
        }
    }

    fn mark(&mut self, group: &[usize], is_kept: bool) {
        for index in group {
            self.kept[*index] = is_kept;
        }
    }

    /// A packing around what is kept, if the arena does not grow.
    fn packed(&self) -> Option<Outcome> {
        let placed = |(index, buffer): (usize, &Buffer)| {
            let was = self.wanted.get(index).copied().flatten();
            let fixed = if self.kept.get(index) == Some(&true) { was } else { buffer.fixed };
            Buffer { fixed, hint: was, ..buffer.clone() }
        };
        let buffers = self.problem.buffers().iter().enumerate().map(placed).collect();
        let mut problem = Problem::new(buffers).ok()?;
        if let Some(conflicts) = self.problem.conflicts() {
            problem = problem.with_conflicts(conflicts.clone());
        }
        let outcome = solve(&problem, &self.pack);
        (outcome.solution.is_some() && outcome.arena_bytes <= self.arena_bytes).then_some(outcome)
    }
}

/// Takes the packing of a bank.
fn settle(placed: &mut Placed, bank: usize, inside: &[usize], problem: &Problem, kept: &Outcome) {
    let offsets = kept.solution.as_ref().map_or(&[][..], Solution::offsets);
    for (request, offset) in inside.iter().zip(offsets) {
        placed.slots[*request] = (bank, *offset);
    }
    let filled = &mut placed.banks[bank];
    filled.bytes = kept.solution.as_ref().map_or(0, |solution| solution.arena_bytes(problem));
    filled.optimal = filled.bytes == filled.lower_bound_bytes;
    filled.limit = filled.limit.filter(|_| !filled.optimal);
    if let Some(rule) = kept.won_by {
        filled.won_by = rule.to_string();
    }
}
