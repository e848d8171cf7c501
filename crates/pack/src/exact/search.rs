//! Depth first through the tree: place the lowest buffer, or pass it over.
//!
//! At each step the lowest level is looked at, at which anything could still go, and one of the
//! buffers that could go there, by an [`Order`]. Either it does, or it is *passed over*: then
//! something else must get into its way from below, so it rests on that.
//!
//! ```text
//!          ┌ place v at f ─ … dead ┐          dead ends carry the decisions that they rest on
//!   state ─┤                       │ jump ◀── (`Options::jump`): those that are not among them
//!          └ pass v over: v rests on another  are skipped, and need not be passed over
//! ```
//!
//! - **Blocked** (`Options::blocked`). What was passed over at a level and is not blocked from below
//!   by the time that nothing can be any more could have gone there: that was tried already.
//! - **Split** (`Options::split`). Where nothing bridges two moments any more, the left and the
//!   right are searched one after the other; if one fails, so does the decision that parted them.
//! - **Nogoods** (`Options::nogoods`). What failed once (buffers left, and how low they can go)
//!   fails wherever it comes up again: in another branch, or after a restart. Kept by hash of 128
//!   bits.
//! - **Learning** (`Options::learn`). Moments without room are counted; the orders that look at the
//!   tightest moment first divide its slack by that. The counts are halved from
//!   run to run, so that the last ones decide where to look and not the first.
//!
//! Cost: exponential, of course; the caller sets a limit on the work.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::Options;
use super::instance::Instance;
use super::order::Order;
use super::tree::{Dead, NONE, Tree, Why};
use crate::watch::Watched;

/// How much more work than it may a single step can take: most need far less, and are finished.
const PATIENCE: u64 = 10_000_000;

/// How many dead ends are remembered.
const NOGOODS: usize = 1 << 20;

/// What a run of the search says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Everything is placed.
    Fits,
    /// It can not be.
    Never,
    /// The work was used up, or somebody has said stop.
    Stopped,
}

/// A part of the moments that is being packed.
struct Frame {
    lo: usize,
    hi: usize,
    /// The history before anything was done here, and before the last placement.
    entry: usize,
    mark: usize,
    /// What was placed last.
    placed: u32,
    /// What this state is called among the nogoods.
    key: u128,
    /// The parts that must be packed after the placement are those from here on.
    parts: usize,
}

/// The search, with what it learns from run to run.
pub(super) struct Search<'a> {
    pub(super) tree: Tree<'a>,
    options: &'a Options,
    capacity_bytes: u64,
    nogoods: HashSet<u128, BuildHasherDefault<Passed>>,
    /// How often each moment had no room.
    pub(super) weight: Vec<u64>,
    frames: Vec<Frame>,
    parts: Vec<(usize, usize)>,
}

impl<'a> Search<'a> {
    pub(super) fn new(instance: &'a Instance, capacity_bytes: u64, options: &'a Options) -> Self {
        Search {
            tree: Tree::new(instance, capacity_bytes, options),
            options,
            capacity_bytes,
            nogoods: HashSet::default(),
            weight: vec![0; instance.moments],
            frames: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Another capacity: what was learned is forgotten.
    pub(super) fn set_capacity(&mut self, capacity_bytes: u64) {
        if capacity_bytes != self.capacity_bytes {
            self.nogoods.clear();
            self.weight.fill(0);
            self.capacity_bytes = capacity_bytes;
        }
        self.tree.set_capacity(capacity_bytes);
    }

    /// Forgets half of which moments had no room.
    pub(super) fn forget(&mut self) {
        self.weight.iter_mut().for_each(|weight| *weight /= 2);
    }

    /// Starts from nothing and searches in this order, for as much work as that.
    pub(super) fn run(&mut self, order: &Order, work: u64, watched: &mut Watched<'_>) -> Answer {
        self.tree.undo_to(0);
        self.frames.clear();
        self.parts.clear();
        let stop = self.tree.work.saturating_add(work);
        self.tree.most_work = stop.saturating_add(PATIENCE);
        self.tree.is_exhausted = false;
        if self.tree.settle_all().is_err() {
            return self.never();
        }
        self.split(0, self.tree.instance.moments);
        // The parts above are under no decision; if one fails, everything does.
        let mut done = 0;
        loop {
            if self.parts.len() > done {
                if !self.enter(order) && !self.retreat(order) {
                    return self.never();
                }
            } else if self.frames.pop().is_none() {
                return Answer::Fits;
            }
            done = self.frames.last().map_or(0, |f| f.parts);
            watched.working(self.tree.work);
            if self.tree.work > stop || watched.is_stopped() {
                return Answer::Stopped;
            }
        }
    }

    /// There was nothing left to try, unless that was because of the work.
    fn never(&self) -> Answer {
        if self.tree.is_exhausted { Answer::Stopped } else { Answer::Never }
    }

    /// Goes into the next part: places a first buffer there. False if that can't be.
    fn enter(&mut self, order: &Order) -> bool {
        let (lo, hi) = self.parts.pop().expect("the caller has looked");
        let (entry, key) = (self.tree.mark(), self.key(lo, hi));
        let parts = self.parts.len();
        self.frames.push(Frame { lo, hi, entry, mark: entry, placed: NONE, key, parts });
        if self.nogoods.contains(&key) {
            self.tree.conflict = self.why_all(lo, hi);
            return false;
        }
        if let Some(v) = self.too_late(lo, hi) {
            self.tree.conflict = self.tree.around(v);
            return false;
        }
        self.branch(order)
    }

    /// Places something in the part of the top frame; false if nothing can be.
    fn branch(&mut self, order: &Order) -> bool {
        let depth = self.frames.len() - 1;
        let (lo, hi) = (self.frames[depth].lo, self.frames[depth].hi);
        loop {
            let v = order.choose(&mut self.tree, &self.weight, lo, hi);
            let mark = self.tree.mark();
            let rests = !self.options.blocked || self.tree.rests(v);
            let mut why = Why::default();
            if rests {
                match self.tree.place(v, depth) {
                    Ok(()) => {
                        self.frames[depth].mark = mark;
                        self.frames[depth].placed = v as u32;
                        self.split(lo, hi);
                        return true;
                    }
                    Err(dead) => self.learn(dead),
                }
                self.tree.undo_to(mark);
                why = self.tree.conflict;
                if self.options.jump && !why.has(depth) {
                    return false;
                }
                why.remove(depth);
            }
            if let Err(dead) = self.tree.pass_over(v, rests, &why) {
                self.learn(dead);
                return false;
            }
        }
    }

    /// The top frame has failed: goes back to the last decision that this rests on, and decides
    /// otherwise. False if there is none.
    fn retreat(&mut self, order: &Order) -> bool {
        loop {
            let failed = self.frames.pop().expect("one has failed");
            self.tree.undo_to(failed.entry);
            let is_known = self.options.nogoods && !self.tree.is_exhausted;
            if is_known && self.nogoods.len() < NOGOODS {
                self.nogoods.insert(failed.key);
            }
            let Some(frame) = self.frames.last() else { return false };
            let (mark, v, depth) = (frame.mark, frame.placed as usize, self.frames.len() - 1);
            self.parts.truncate(frame.parts);
            let mut why = self.tree.conflict;
            if self.options.jump && !why.has(depth) {
                continue;
            }
            why.remove(depth);
            self.tree.undo_to(mark);
            match self.tree.pass_over(v, true, &why) {
                Ok(()) if self.branch(order) => return true,
                Ok(()) => {}
                Err(dead) => self.learn(dead),
            }
        }
    }

    fn learn(&mut self, dead: Dead) {
        if self.options.learn {
            self.weight[dead.moment as usize] += 1;
        }
    }

    /// A buffer that was passed over and that nothing can block any more.
    pub(super) fn too_late(&self, lo: usize, hi: usize) -> Option<usize> {
        let tree = &self.tree;
        let level = tree.level(lo, hi);
        let is_late = |v: usize| {
            if tree.instance.is_plain { level >= tree.wait[v] } else { !tree.may_be_blocked(v) }
        };
        let late = |v: &usize| !tree.placed[*v] && tree.wait[*v] != 0 && is_late(*v);
        tree.instance.born_in(lo..hi).find(late)
    }

    /// The decisions that the state of a part rests on.
    fn why_all(&self, lo: usize, hi: usize) -> Why {
        let mut why = Why::default();
        for m in lo..hi {
            why.add(&self.tree.why_of(m));
            why.add(&self.tree.below[m]);
        }
        why
    }

    /// A hash of what is left in a part, and how low it can go.
    pub(super) fn key(&mut self, lo: usize, hi: usize) -> u128 {
        if !self.options.nogoods {
            return 0;
        }
        let tree = &self.tree;
        let (mut a, mut b) = (0u64, 0u64);
        let born = tree.instance.born_in(lo..hi);
        let looked_at = born.len();
        for v in born.filter(|v| !tree.placed[*v]) {
            let x = mix(mix(mix(v as u64 + 1) ^ tree.low[v]) ^ tree.wait[v]);
            a = a.wrapping_add(x);
            b = b.wrapping_add(mix(x ^ 0x5851_F42D_4C95_7F2D));
        }
        for (m, lo, hi) in tree.holes(lo, hi) {
            let x = mix(mix(mix(m as u64 ^ (1 << 40)) ^ lo) ^ hi);
            a = a.wrapping_add(x);
            b = b.wrapping_add(mix(x ^ 0x5851_F42D_4C95_7F2D));
        }
        self.tree.work += looked_at as u64 / 4;
        u128::from(a) << 64 | u128::from(b)
    }

    /// Notes the independent parts of these moments that are to be packed, the last one first.
    fn split(&mut self, lo: usize, hi: usize) {
        let tree = &self.tree;
        let mut start = lo;
        for m in lo..hi {
            if m + 1 == hi || (self.options.split && tree.bridge[m] == 0) {
                if tree.rest[start..=m].iter().any(|rest| *rest > 0) {
                    self.parts.push((start, m + 1));
                }
                start = m + 1;
            }
        }
    }
}

/// Spreads the bits (the end of `SplitMix64`).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Keys are hashes already.
#[derive(Default)]
struct Passed(u64);

impl Hasher for Passed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}
