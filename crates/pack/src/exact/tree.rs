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
//! Cost of a step: the lists of all moments whose buffers were raised, until nothing changes.

use super::Options;
use super::instance::Instance;

/// No buffer.
pub(super) const NONE: u32 = u32::MAX;

/// Why the state can not be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dead {
    /// The moment that has no room, or one of the life of the buffer that has none.
    pub(super) moment: u32,
}

/// A set of decisions, by their depth in the tree modulo its size: a superset, never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Why([u64; 4]);

/// From this depth on a bit stands for several decisions.
const DEPTHS: usize = 4 * 64;

impl Why {
    /// Only that one.
    pub(super) fn only(depth: usize) -> Why {
        let mut why = Why::default();
        why.0[depth / 64 % 4] = 1 << (depth % 64);
        why
    }

    pub(super) fn has(&self, depth: usize) -> bool {
        self.0[depth / 64 % 4] >> (depth % 64) & 1 == 1
    }

    pub(super) fn add(&mut self, other: &Why) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    /// Without the deepest that there is, unless its bit may stand for another one too.
    pub(super) fn remove(&mut self, depth: usize) {
        if depth < DEPTHS {
            self.0[depth / 64] &= !(1 << (depth % 64));
        }
    }
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

/// What the buffers that are not placed at a moment have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// The lowest `low`.
    pub(super) base: u64,
    /// The lowest end, whose it is, and the lowest end of the others.
    end: u64,
    next_end: u64,
    who: u32,
    /// The lowest end of those that can be the lowest of all.
    first_end: u64,
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
    members: Vec<u32>,
    first: Vec<u32>,
    left: Vec<u32>,
    /// Where each buffer is in the lists of its moments, side by side from `slot_of[v]`.
    slots: Vec<u32>,
    slot_of: Vec<u32>,
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
        for v in 0..n {
            for m in instance.span(v) {
                first[m + 1] += 1;
            }
        }
        for m in 0..moments {
            first[m + 1] += first[m];
        }
        let total = first[moments] as usize;
        let mut fill = first.clone();
        let (mut members, mut slots) = (vec![0; total], vec![0; total]);
        let mut slot_of = Vec::with_capacity(n);
        let mut bridge = vec![0; moments];
        let mut at = 0;
        for v in 0..n {
            slot_of.push(at as u32);
            for m in instance.span(v) {
                members[fill[m] as usize] = v as u32;
                slots[at] = fill[m];
                fill[m] += 1;
                at += 1;
            }
            for m in instance.span(v).skip(1) {
                bridge[m - 1] += 1;
            }
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
            slot_of,
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
    pub(super) fn members(&self, moment: usize) -> &[u32] {
        let first = self.first[moment] as usize;
        &self.members[first..first + self.left[moment] as usize]
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
        let mut result = Ok(());
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
        let size = instance.size[v];
        let end = self.low[v] + size;
        self.placed[v] = true;
        self.history.push(Change::Placed { v: v as u32 });
        let span = instance.span(v);
        for (slot, m) in (self.slot_of[v] as usize..).zip(span.clone()) {
            self.rest[m] -= size;
            self.history.push(Change::Floor { moment: m as u32, was: self.floor[m] });
            self.floor[m] = end;
            self.history.push(Change::Below { moment: m as u32 });
            self.old_whys.push(self.below[m]);
            self.below[m].add(&Why::only(depth));
            // Swap with the last that is not placed.
            self.left[m] -= 1;
            let last = self.first[m] + self.left[m];
            self.swap(m, self.slots[slot], last);
            self.touch(m);
        }
        for m in span.clone().skip(1) {
            self.bridge[m - 1] -= 1;
        }
        let mut result = Ok(());
        for m in span {
            result = result.and_then(|()| self.raise_all(m, end, depth));
        }
        self.settle_or_forget(result)
    }

    fn unplace(&mut self, v: usize) {
        let size = self.instance.size[v];
        self.placed[v] = false;
        for m in self.instance.span(v) {
            self.rest[m] += size;
            // It is the first of those that are placed: undo goes backwards.
            self.left[m] += 1;
        }
        for m in self.instance.span(v).skip(1) {
            self.bridge[m - 1] += 1;
        }
    }

    fn swap(&mut self, moment: usize, a: u32, b: u32) {
        if a == b {
            return;
        }
        let (va, vb) = (self.members[a as usize] as usize, self.members[b as usize] as usize);
        self.members.swap(a as usize, b as usize);
        let slot = |tree: &Self, v: usize| {
            tree.slot_of[v] as usize + moment - tree.instance.life[v].0 as usize
        };
        let (sa, sb) = (slot(self, va), slot(self, vb));
        self.slots[sa] = b;
        self.slots[sb] = a;
    }

    /// The highest floor under `v`, as an offset that `v` may have.
    pub(super) fn rests_at(&self, v: usize) -> u64 {
        let floor = self.instance.span(v).map(|m| self.floor[m]).max().unwrap_or(0);
        floor.next_multiple_of(self.instance.align[v])
    }

    /// Decides that `v` does not go to its lowest offset: then another goes below it, and ends no
    /// lower than any of them could.
    pub(super) fn pass_over(&mut self, v: usize, rests: bool, why: &Why) -> Result<(), Dead> {
        let must_wait = rests && self.options.blocked;
        let level = self.low[v] + self.instance.size[v];
        let mut end = u64::MAX;
        for m in self.instance.span(v) {
            let sum = &self.sum[m];
            end = end.min(if sum.who == v as u32 { sum.next_end } else { sum.end });
        }
        self.work += self.instance.span(v).len() as u64;
        let mut why = *why;
        why.add(&self.around(v));
        if end == u64::MAX || (must_wait && !self.is_blocked_below(v, level)) {
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

    /// The decisions that everything around `v` rests on.
    pub(super) fn around(&mut self, v: usize) -> Why {
        let mut why = self.why[v];
        for m in self.instance.span(v) {
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
            why.add(&self.why[*w as usize]);
        }
        why
    }

    /// Whether something else could still begin below `level` at a moment of `v`.
    fn is_blocked_below(&mut self, v: usize, level: u64) -> bool {
        for m in self.instance.span(v) {
            let members = self.members(m);
            let found =
                members.iter().position(|w| *w as usize != v && self.low[*w as usize] < level);
            self.work += found.unwrap_or(members.len()) as u64;
            if found.is_some() {
                return true;
            }
        }
        false
    }

    /// Raises `low(v)`.
    fn raise(&mut self, v: usize, to: u64, why: &Why) -> Result<(), Dead> {
        let was = self.low[v];
        if to <= was {
            return Ok(());
        }
        let to = if self.instance.align[v] == 1 {
            to
        } else {
            to.next_multiple_of(self.instance.align[v])
        };
        self.history.push(Change::Low { v: v as u32, was });
        self.low[v] = to;
        let mut new = self.why[v];
        new.add(why);
        if new != self.why[v] {
            self.history.push(Change::Why { v: v as u32 });
            self.old_whys.push(self.why[v]);
            self.why[v] = new;
        }
        if to > self.most[v] {
            self.conflict = new;
            return Err(Dead { moment: self.instance.life[v].0 });
        }
        let its_end = was + self.instance.size[v];
        for m in self.instance.span(v) {
            let sum = &self.sum[m];
            let low_end = was == sum.base || its_end <= sum.next_end;
            let first = its_end <= sum.first_end || to < sum.first_end;
            if low_end || (first && to + self.rest[m] > self.capacity) {
                self.touch(m);
            }
        }
        self.work += 1 + self.instance.span(v).len() as u64 / 4;
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
        let Some(highest) = self.capacity.checked_sub(self.rest[m]) else {
            self.conflict = self.why_of(m);
            return Err(dead);
        };
        let (sum, raise) = self.summary(m, highest);
        if sum != self.sum[m] {
            self.history.push(Change::Summary { moment: m as u32 });
            self.old_sums.push(self.sum[m]);
            self.sum[m] = sum;
        }
        if sum.base > highest {
            self.conflict = self.why_of(m);
            return Err(dead);
        }
        if raise && self.options.not_first && left > 1 {
            self.not_first(m, highest)?;
        }
        Ok(())
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
            let low = self.low[*w as usize];
            let end = low + self.instance.size[*w as usize];
            sum.base = sum.base.min(low);
            if low <= highest {
                sum.first_end = sum.first_end.min(end);
            } else {
                lowest_above = lowest_above.min(low);
            }
            if end < sum.end {
                (sum.next_end, sum.end, sum.who) = (sum.end, end, *w);
            } else {
                sum.next_end = sum.next_end.min(end);
            }
        }
        (sum, lowest_above < sum.first_end)
    }

    /// Raises those that can't be the lowest of a moment above one that can.
    fn not_first(&mut self, m: usize, highest: u64) -> Result<(), Dead> {
        let why = self.why_of(m);
        let first = self.first[m] as usize;
        let first_end = self.sum[m].first_end;
        for slot in first..first + self.left[m] as usize {
            let v = self.members[slot] as usize;
            if self.low[v] > highest && self.low[v] < first_end {
                self.raise(v, first_end, &why)?;
            }
        }
        Ok(())
    }

    /// Raises what is left at a moment above what was just placed there.
    fn raise_all(&mut self, m: usize, floor: u64, depth: usize) -> Result<(), Dead> {
        let first = self.first[m] as usize;
        let why = Why::only(depth);
        for slot in first..first + self.left[m] as usize {
            let w = self.members[slot];
            let v = w as usize;
            if self.low[v] < floor {
                self.raise(v, floor, &why)?;
            }
            if self.wait[v] != 0 && floor + self.instance.size[v] > self.wait[v] {
                self.history.push(Change::Wait { v: w, was: self.wait[v] });
                self.wait[v] = 0;
            }
        }
        self.work += u64::from(self.left[m]) / 2;
        Ok(())
    }
}
