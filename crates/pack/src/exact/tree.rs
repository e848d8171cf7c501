//! The state of the search: what is placed, how low each of the others could still go, and undo.
//!
//! ```text
//!  units ▲                      At each moment the placed buffers fill everything below the
//!      C ┼───────────────────   *floor*. What is not placed knows the lowest offset `low` that it
//!        │      ░░░░ v ░░░░     could still have: at least the highest floor under its life. The
//!  low(v)│      ┄┄┄┄┄┄┄┄┄┄┄     lowest `low` of a moment's buffers is the *base* of the moment;
//!        │▓▓▓▓      ▓▓▓▓▓▓▓▓    base + bytes still to place there must not exceed C.
//!        │▓▓▓▓▓▓▓▓  ▓▓▓▓▓▓▓▓
//!        └──────────────────▶ moments
//! ```
//!
//! Two rules raise `low` until nothing changes:
//!
//! - **Floor.** `low(v)` is at least the floor of every moment of `v`.
//! - **Not first** (`Options::not_first`). If everything that is left at a moment were to go on top
//!   of `v` at `low(v)` and that is above C, then `v` is not the lowest of them: `low(v)` is at least the
//!   lowest end that any other of them could have. This is disjunctive scheduling, with
//!   moments for machines.
//!
//! Where buffers have windows, or something is fixed, what is placed leaves holes that others may still go to:
//! see [`holes`](super::holes).
//!
//! Cost of a step: the lists of all moments whose buffers were raised, until nothing changes.

use std::ops::Range;

use super::Options;
use super::instance::Instance;
pub(super) use super::why::Why;

/// No buffer.
pub(super) const NONE: u32 = u32::MAX;

/// Why the state can not be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dead {
    /// The moment that has no room, or one of the life of the buffer that has none.
    pub(super) moment: u32,
}

/// What was changed, to be taken back.
#[derive(Clone, Copy, Debug)]
enum Change {
    Low { v: u32, was: u64 },
    Placed { v: u32 },
    Floor { moment: u32, was: u64 },
    Why { v: u32 },
    Below { moment: u32 },
    Wait { v: u32, was: u64 },
    Summary { moment: u32 },
}

/// A buffer that is not placed, or is, at one of its moments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Member {
    pub(super) v: u32,
    cell: u32,
    /// What of it is in use then.
    pub(super) lo: u64,
    pub(super) hi: u64,
}

/// What the buffers that are not placed at a moment have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// The lowest that any cell of them can be.
    pub(super) base: u64,
    /// The lowest end, whose it is, and the lowest end of the others.
    end: u64,
    next_end: u64,
    who: u32,
    /// The lowest end of those that can be the lowest of all.
    first_end: u64,
}

impl Summary {
    /// The lowest end of those that are not `v`.
    pub(super) fn end_without(&self, v: usize) -> u64 {
        if self.who == v as u32 { self.next_end } else { self.end }
    }
}

/// The state, with its history.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) instance: &'a Instance,
    /// In units.
    pub(super) capacity: u64,
    options: &'a Options,
    /// The highest offset of each buffer.
    most: Vec<u64>,
    /// The lowest offset of each buffer; where it is, if it is placed.
    pub(super) low: Vec<u64>,
    pub(super) placed: Vec<bool>,
    /// A buffer that was passed over must be blocked by another that lies below this level, else it
    /// could have gone lower; 0 if it was not, or is blocked.
    pub(super) wait: Vec<u64>,
    pub(super) floor: Vec<u64>,
    /// Units still to be placed at each moment.
    pub(super) rest: Vec<u64>,
    /// What is known of each moment's buffers. Up to date after a successful `settle`.
    pub(super) sum: Vec<Summary>,
    old_sums: Vec<Summary>,
    /// The buffers of each moment: those not placed first. Moment `m` has
    /// `members[first[m]..first[m + 1]]`, of which `left[m]` are not placed.
    pub(super) members: Vec<Member>,
    first: Vec<u32>,
    left: Vec<u32>,
    /// Where each cell is in the list of its moment.
    slots: Vec<u32>,
    /// What is taken at each moment, from the bottom up, where there may be holes.
    pub(super) taken: Vec<Vec<(u64, u64)>>,
    /// How many buffers that are not placed live at both `m` and `m + 1`.
    pub(super) bridge: Vec<u32>,
    /// The decisions that `low` of each buffer rests on.
    why: Vec<Why>,
    /// The decisions by which something was placed at each moment.
    pub(super) below: Vec<Why>,
    old_whys: Vec<Why>,
    /// The decisions that the last dead end rests on.
    pub(super) conflict: Why,
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    history: Vec<Change>,
    /// List entries looked at.
    pub(super) work: u64,
    /// So much work is enough, even before nothing changes any more.
    pub(super) most_work: u64,
    /// Whether it was: then a dead end means nothing.
    pub(super) is_exhausted: bool,
}

impl<'a> Tree<'a> {
    /// Nothing placed, in `capacity_bytes`.
    pub(super) fn new(instance: &'a Instance, capacity_bytes: u64, options: &'a Options) -> Self {
        let n = instance.len();
        let moments = instance.moments;
        let mut first = vec![0u32; moments + 1];
        for cell in &instance.cells {
            first[cell.moment as usize + 1] += 1;
        }
        for m in 0..moments {
            first[m + 1] += first[m];
        }
        let total = first[moments] as usize;
        let mut fill = first.clone();
        let (mut members, mut slots) = (vec![Member::default(); total], vec![0; total]);
        let mut bridge = vec![0; moments];
        for v in 0..n {
            for (at, cell) in instance.cell_range(v).zip(instance.cells(v)) {
                let slot = &mut fill[cell.moment as usize];
                let (lo, hi) = (cell.lo, cell.hi);
                members[*slot as usize] = Member { v: v as u32, cell: at as u32, lo, hi };
                slots[at] = *slot;
                *slot += 1;
            }
            for m in instance.span(v).skip(1) {
                bridge[m - 1] += 1;
            }
        }
        let mut taken = vec![Vec::new(); moments];
        for cell in &instance.obstacles {
            taken[cell.moment as usize].push((cell.lo, cell.hi));
        }
        let left = (0..moments).map(|m| first[m + 1] - first[m]).collect();
        let mut tree = Tree {
            instance,
            capacity: 0,
            options,
            most: vec![0; n],
            low: vec![0; n],
            placed: vec![false; n],
            wait: vec![0; n],
            floor: vec![0; moments],
            rest: instance.load(),
            sum: vec![Summary::default(); moments],
            old_sums: Vec::new(),
            members,
            first,
            left,
            slots,
            taken,
            bridge,
            why: vec![Why::default(); n],
            below: vec![Why::default(); moments],
            old_whys: Vec::new(),
            conflict: Why::default(),
            dirty: Vec::new(),
            is_dirty: vec![false; moments],
            history: Vec::new(),
            work: 0,
            most_work: u64::MAX,
            is_exhausted: false,
        };
        tree.set_capacity(capacity_bytes);
        tree
    }

    /// Another capacity, at the root. Says whether every buffer alone fits.
    pub(super) fn set_capacity(&mut self, capacity_bytes: u64) {
        let instance = self.instance;
        self.undo_to(0);
        self.capacity = 0;
        for v in 0..instance.len() {
            let bytes = instance.size[v] * instance.unit - instance.padding[v];
            self.most[v] = match capacity_bytes.checked_sub(bytes) {
                Some(room) => room / instance.unit,
                None => 0,
            };
            self.capacity = self.capacity.max(self.most[v] + instance.size[v]);
        }
    }

    /// The buffers that are not placed at a moment.
    pub(super) fn members(&self, moment: usize) -> &[Member] {
        &self.members[self.left_at(moment)]
    }

    /// Whether something is still to be placed at a moment.
    pub(super) fn is_open(&self, moment: usize) -> bool {
        self.left[moment] > 0
    }

    /// The lowest offset that anything in these moments could still have.
    pub(super) fn level(&self, lo: usize, hi: usize) -> u64 {
        let bases = (lo..hi).filter(|m| self.is_open(*m)).map(|m| self.sum[m].base);
        bases.min().unwrap_or(0)
    }

    /// A mark in the history, for `undo_to`.
    pub(super) fn mark(&self) -> usize {
        self.history.len()
    }

    /// Takes back everything after the mark.
    pub(super) fn undo_to(&mut self, mark: usize) {
        while self.history.len() > mark {
            match self.history.pop().expect("longer than the mark") {
                Change::Low { v, was } => self.low[v as usize] = was,
                Change::Floor { moment, was } => self.floor[moment as usize] = was,
                Change::Why { v } => {
                    self.why[v as usize] = self.old_whys.pop().expect("one for each change");
                }
                Change::Below { moment } => {
                    self.below[moment as usize] = self.old_whys.pop().expect("one for each change");
                }
                Change::Wait { v, was } => self.wait[v as usize] = was,
                Change::Summary { moment } => {
                    self.sum[moment as usize] = self.old_sums.pop().expect("one for each change");
                }
                Change::Placed { v } => self.unplace(v as usize),
            }
        }
    }

    /// Makes every rule hold from the start.
    pub(super) fn settle_all(&mut self) -> Result<(), Dead> {
        let mut result = self.avoid_obstacles();
        for v in 0..self.instance.len() {
            let twin = self.instance.twin[v];
            if self.options.twins && twin != NONE {
                let end = self.low[v] + self.instance.size[v];
                result = result.and_then(|()| self.raise(twin as usize, end, &Why::default()));
            }
        }
        for m in 0..self.instance.moments {
            self.touch(m);
        }
        self.settle_or_forget(result)
    }

    /// Places `v` at its lowest offset.
    pub(super) fn place(&mut self, v: usize, depth: usize) -> Result<(), Dead> {
        let instance = self.instance;
        let low = self.low[v];
        self.placed[v] = true;
        self.history.push(Change::Placed { v: v as u32 });
        for (at, cell) in instance.cell_range(v).zip(instance.cells(v)) {
            let m = cell.moment as usize;
            self.rest[m] -= cell.hi - cell.lo;
            if instance.is_plain {
                self.history.push(Change::Floor { moment: m as u32, was: self.floor[m] });
                self.floor[m] = low + cell.hi;
            } else {
                self.take(m, low + cell.lo, low + cell.hi);
            }
            self.history.push(Change::Below { moment: m as u32 });
            self.old_whys.push(self.below[m]);
            self.below[m].add(&Why::only(depth));
            // Swap with the last that is not placed.
            self.left[m] -= 1;
            let last = self.first[m] + self.left[m];
            self.swap(self.slots[at], last);
            self.touch(m);
        }
        for m in instance.span(v).skip(1) {
            self.bridge[m - 1] -= 1;
        }
        let mut result = Ok(());
        for cell in instance.cells(v) {
            let (m, lo, hi) = (cell.moment as usize, low + cell.lo, low + cell.hi);
            result = result.and_then(|()| {
                if instance.is_plain {
                    self.raise_all(m, hi, depth)
                } else {
                    self.raise_over(m, lo, hi, depth)
                }
            });
        }
        self.settle_or_forget(result)
    }

    fn unplace(&mut self, v: usize) {
        self.placed[v] = false;
        let instance = self.instance;
        for cell in instance.cells(v) {
            let m = cell.moment as usize;
            self.rest[m] += cell.hi - cell.lo;
            // It is the first of those that are placed: undo goes backwards.
            self.left[m] += 1;
            if !instance.is_plain {
                self.give_back(m, self.low[v] + cell.lo);
            }
        }
        for m in instance.span(v).skip(1) {
            self.bridge[m - 1] += 1;
        }
    }

    fn swap(&mut self, a: u32, b: u32) {
        self.members.swap(a as usize, b as usize);
        self.slots[self.members[a as usize].cell as usize] = a;
        self.slots[self.members[b as usize].cell as usize] = b;
    }

    /// Whether `v` can be where it could be lowest without falling further.
    pub(super) fn rests(&mut self, v: usize) -> bool {
        if !self.instance.is_plain {
            return self.is_held(v) || self.may_be_held(v);
        }
        let floor = self.instance.span(v).map(|m| self.floor[m]).max().unwrap_or(0);
        floor.next_multiple_of(self.instance.align[v]) == self.low[v]
    }

    /// Decides that `v` does not go to its lowest offset: then another goes below it, and ends no
    /// lower than any of them could.
    pub(super) fn pass_over(&mut self, v: usize, rests: bool, why: &Why) -> Result<(), Dead> {
        let must_wait = rests && self.options.blocked;
        let level = self.low[v] + self.instance.size[v];
        let end = self.next_place(v);
        self.work += self.instance.cells(v).len() as u64;
        let mut why = *why;
        why.add(&self.around(v));
        if end == u64::MAX || (must_wait && !self.is_blocked_below(v)) {
            self.conflict = why;
            return Err(Dead { moment: self.instance.life[v].0 });
        }
        if must_wait {
            self.history.push(Change::Wait { v: v as u32, was: self.wait[v] });
            self.wait[v] = level;
        }
        let result = self.raise(v, end, &why);
        self.settle_or_forget(result)
    }

    /// The lowest place above its lowest one at which another could hold `v` up.
    fn next_place(&self, v: usize) -> u64 {
        let mut next = u64::MAX;
        for cell in self.instance.cells(v) {
            let end = self.sum[cell.moment as usize].end_without(v);
            if self.instance.is_plain {
                next = next.min(end);
            } else {
                next = next.min(self.next_place_at(v, cell, end));
            }
        }
        next
    }

    /// The decisions that everything around `v` rests on.
    pub(super) fn around(&mut self, v: usize) -> Why {
        let mut why = self.why[v];
        for cell in self.instance.cells(v) {
            let m = cell.moment as usize;
            why.add(&self.below[m]);
            why.add(&self.why_of(m));
            self.work += u64::from(self.left[m]);
        }
        why
    }

    /// The decisions that the lowest offsets at a moment rest on.
    pub(super) fn why_of(&self, moment: usize) -> Why {
        let mut why = Why::default();
        for w in self.members(moment) {
            why.add(&self.why[w.v as usize]);
        }
        why
    }

    /// Whether something else could still get into the way of `v` at its lowest offset.
    fn is_blocked_below(&mut self, v: usize) -> bool {
        for cell in self.instance.cells(v) {
            let top = self.low[v] + cell.hi;
            let members = self.members(cell.moment as usize);
            let found = members
                .iter()
                .position(|w| w.v as usize != v && self.low[w.v as usize] + w.lo < top);
            self.work += found.unwrap_or(members.len()) as u64;
            if found.is_some() {
                return true;
            }
        }
        false
    }

    /// Raises `low(v)`.
    pub(super) fn raise(&mut self, v: usize, to: u64, why: &Why) -> Result<(), Dead> {
        let was = self.low[v];
        if to <= was {
            return Ok(());
        }
        let to = if self.instance.align[v] == 1 {
            to
        } else {
            to.next_multiple_of(self.instance.align[v])
        };
        let mut new = self.why[v];
        new.add(why);
        let to = if self.instance.is_plain { to } else { self.free_from(v, to, &mut new) };
        self.history.push(Change::Low { v: v as u32, was });
        self.low[v] = to;
        if new != self.why[v] {
            self.history.push(Change::Why { v: v as u32 });
            self.old_whys.push(self.why[v]);
            self.why[v] = new;
        }
        if to > self.most[v] {
            self.conflict = new;
            return Err(Dead { moment: self.instance.life[v].0 });
        }
        let instance = self.instance;
        for cell in instance.cells(v) {
            let m = cell.moment as usize;
            let sum = &self.sum[m];
            let (its_end, to) = (was + cell.hi, to + cell.lo);
            let low_end = was + cell.lo == sum.base || its_end <= sum.next_end;
            let first = its_end <= sum.first_end || to < sum.first_end;
            let is_high = to + self.rest[m] > self.capacity || !instance.is_plain;
            if low_end || (first && is_high) {
                self.touch(m);
            }
        }
        self.work += 1 + instance.cells(v).len() as u64 / 4;
        let twin = self.instance.twin[v];
        if self.options.twins && twin != NONE {
            return self.raise(twin as usize, to + self.instance.size[v], &new);
        }
        Ok(())
    }

    fn touch(&mut self, moment: usize) {
        if !self.is_dirty[moment] {
            self.is_dirty[moment] = true;
            self.dirty.push(moment as u32);
        }
    }

    /// Applies the rules until nothing changes, or to nothing after a dead end. Two small buffers in
    /// a large space can raise each other a very long way, so that has to end too.
    fn settle_or_forget(&mut self, mut result: Result<(), Dead>) -> Result<(), Dead> {
        while let Some(m) = self.dirty.pop() {
            self.is_dirty[m as usize] = false;
            if self.work > self.most_work {
                self.is_exhausted = true;
                result = Err(Dead { moment: m });
            }
            if result.is_ok() {
                result = self.settle_moment(m as usize);
            }
        }
        result
    }

    fn settle_moment(&mut self, m: usize) -> Result<(), Dead> {
        let left = self.left[m] as usize;
        if left == 0 {
            return Ok(());
        }
        self.work += left as u64;
        let dead = Dead { moment: m as u32 };
        let Some(highest) = self.highest(m) else {
            self.conflict = self.why_here(m);
            return Err(dead);
        };
        let (sum, raise) = self.summary(m, highest);
        if sum != self.sum[m] {
            self.history.push(Change::Summary { moment: m as u32 });
            self.old_sums.push(self.sum[m]);
            self.sum[m] = sum;
        }
        if sum.base > highest {
            self.conflict = self.why_here(m);
            return Err(dead);
        }
        if raise && self.options.not_first && left > 1 {
            self.not_first(m, highest)?;
        }
        Ok(())
    }

    /// The highest that the lowest of those left at a moment can be.
    fn highest(&self, m: usize) -> Option<u64> {
        if !self.instance.is_plain {
            return self.highest_between(m);
        }
        self.capacity.checked_sub(self.rest[m])
    }

    /// The decisions that what is known of a moment rests on.
    fn why_here(&self, m: usize) -> Why {
        let mut why = self.why_of(m);
        if !self.instance.is_plain {
            why.add(&self.below[m]);
        }
        why
    }

    /// What the buffers of a moment have in common, if none of them can be the lowest above
    /// `highest`; and whether one of them is to be raised for that.
    fn summary(&self, m: usize, highest: u64) -> (Summary, bool) {
        let mut sum = Summary {
            base: u64::MAX,
            end: u64::MAX,
            next_end: u64::MAX,
            who: NONE,
            first_end: u64::MAX,
        };
        let mut lowest_above = u64::MAX;
        for w in self.members(m) {
            let low = self.low[w.v as usize] + w.lo;
            let end = self.low[w.v as usize] + w.hi;
            sum.base = sum.base.min(low);
            if low <= highest {
                sum.first_end = sum.first_end.min(end);
            } else {
                lowest_above = lowest_above.min(low);
            }
            if end < sum.end {
                (sum.next_end, sum.end, sum.who) = (sum.end, end, w.v);
            } else {
                sum.next_end = sum.next_end.min(end);
            }
        }
        (sum, lowest_above < sum.first_end)
    }

    /// Raises those that can't be the lowest of a moment above one that can.
    fn not_first(&mut self, m: usize, highest: u64) -> Result<(), Dead> {
        let why = self.why_here(m);
        let first_end = self.sum[m].first_end;
        for slot in self.left_at(m) {
            let w = self.members[slot];
            let low = self.low[w.v as usize] + w.lo;
            if low > highest && low < first_end {
                self.raise(w.v as usize, first_end - w.lo, &why)?;
            }
        }
        Ok(())
    }

    /// Raises what is left at a moment above what was just placed there.
    fn raise_all(&mut self, m: usize, floor: u64, depth: usize) -> Result<(), Dead> {
        let why = Why::only(depth);
        for slot in self.left_at(m) {
            let v = self.members[slot].v as usize;
            if self.low[v] < floor {
                self.raise(v, floor, &why)?;
            }
            if self.wait[v] != 0 && floor + self.instance.size[v] > self.wait[v] {
                self.stop_waiting(v);
            }
        }
        self.work += u64::from(self.left[m]) / 2;
        Ok(())
    }

    /// The buffers that are left at a moment, by their place in its list.
    pub(super) fn left_at(&self, m: usize) -> Range<usize> {
        let first = self.first[m] as usize;
        first..first + self.left[m] as usize
    }

    /// What `v` was waiting for has come.
    pub(super) fn stop_waiting(&mut self, v: usize) {
        self.history.push(Change::Wait { v: v as u32, was: self.wait[v] });
        self.wait[v] = 0;
    }
}
