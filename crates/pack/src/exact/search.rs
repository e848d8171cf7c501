//! Depth first over the tree: place the lowest, or pass it over.
use super::instance::Instance;
use super::tree::{Dead, Tree, Why};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer { Fits, Never, Stopped }

#[derive(Clone, Debug)]
pub(super) struct Strategy {
    /// Priority of buffers: lower rank first.
    pub(super) rank: Vec<u32>,
    /// choose by tightest moment first
    pub(super) tight: bool,
    pub(super) weighted: bool,
}

struct Frame {
    lo: u32,
    hi: u32,
    /// mark before the frame did anything
    entry: usize,
    /// mark before v was placed
    mark: usize,
    v: u32,
    key: u64,
    goals: u32,
}

pub(super) struct Search<'a> {
    pub(super) tree: Tree<'a>,
    pub(super) memo: HashMap<u64, ()>,
    pub(super) use_memo: bool,
    pub(super) weight: Vec<u64>,
    pub(super) nodes: u64,
    pub(super) hits: u64,
    pub(super) maxdepth: usize,
    pub(super) jump: bool,
    pub(super) jumps: u64,
}

pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl<'a> Search<'a> {
    pub(super) fn new(instance: &'a Instance, capacity: u64, not_first: bool, use_memo: bool) -> Self {
        Search { tree: Tree::new(instance, capacity, not_first), memo: HashMap::new(), use_memo, weight: vec![0; instance.moments], nodes: 0, hits: 0, maxdepth: 0, jump: true, jumps: 0 }
    }

    /// Runs for at most `limit` nodes.
    pub(super) fn run(&mut self, strategy: &Strategy, limit: u64) -> Answer {
        self.tree.undo_to(0);
        if self.tree.settle_all().is_err() { return Answer::Never; }
        let stop = self.tree.work + limit;
        let mut goals: Vec<(u32, u32)> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        let root = self.tree.mark();
        // Root pseudo frame: goals only.
        self.split(0, self.tree.instance.moments, &mut goals);
        frames.push(Frame { lo: 0, hi: 0, entry: root, mark: root, v: u32::MAX, key: 0, goals: 0 });
        loop {
            // advance the top frame: next goal
            let top = frames.len() - 1;
            if goals.len() as u32 == frames[top].goals {
                // all goals of this frame are done
                frames.pop();
                if frames.is_empty() { return Answer::Fits; }
                continue;
            }
            let (lo, hi) = goals.pop().expect("not empty");
            let entry = self.tree.mark();
            let key = self.key(lo as usize, hi as usize);
            self.nodes += 1;
            if self.tree.work > stop { return Answer::Stopped; }
            let depth = frames.len();
            let mut failed = false;
            if self.use_memo && self.memo.contains_key(&key) {
                self.hits += 1;
                failed = true;
                self.tree.conflict = self.why_all(lo as usize, hi as usize);
            } else if let Some(v) = self.late(lo as usize, hi as usize) {
                failed = true;
                self.tree.conflict = self.tree.around(v);
            }
            frames.push(Frame { lo, hi, entry, mark: entry, v: u32::MAX, key, goals: goals.len() as u32 });
            self.maxdepth = self.maxdepth.max(frames.len());
            if !failed { failed = !self.branch(frames.last_mut().unwrap(), depth, strategy, &mut goals); }
            while failed {
                // top frame has failed altogether
                let frame = frames.pop().expect("there is one");
                self.tree.undo_to(frame.entry);
                if self.use_memo { self.memo.insert(frame.key, ()); }
                let Some(parent) = frames.last_mut() else { return Answer::Never };
                goals.truncate(parent.goals as usize);
                if parent.v == u32::MAX { return Answer::Never; }
                let depth = frames.len() - 1;
                let parent = frames.last_mut().unwrap();
                let mut why = self.tree.conflict;
                if self.jump && !why.has(depth) { self.jumps += 1; continue; }
                why.remove(depth);
                self.tree.undo_to(parent.mark);
                let v = parent.v as usize;
                failed = self.tree.pass_over(v, true, &why).map_err(|d| self.learn(d)).is_err()
                    || !self.branch(frames.last_mut().unwrap(), depth, strategy, &mut goals);
            }
        }
    }

    fn why_all(&self, lo: usize, hi: usize) -> Why {
        let mut why = Why::default();
        for m in lo..hi { why.add(&self.tree.why_of(m)); why.add(&self.tree.below[m]); }
        why
    }

    fn learn(&mut self, dead: Dead) { self.weight[dead.moment as usize] += 1; }

    /// Places something in the range of the frame; false if nothing can be.
    fn branch(&mut self, frame: &mut Frame, depth: usize, strategy: &Strategy, goals: &mut Vec<(u32, u32)>) -> bool {
        loop {
            self.tree.work += 8;
            let v = self.choose(frame.lo as usize, frame.hi as usize, strategy);
            let rests = self.tree.rests_at(v) == self.tree.low[v];
            let mut why = Why::default();
            if rests {
                frame.mark = self.tree.mark();
                frame.v = v as u32;
                match self.tree.place(v, depth) {
                    Ok(()) => {
                        self.split(frame.lo as usize, frame.hi as usize, goals);
                        return true;
                    }
                    Err(d) => {
                        self.learn(d); self.tree.undo_to(frame.mark);
                        why = self.tree.conflict;
                        if self.jump && !why.has(depth) { self.jumps += 1; return false; }
                        why.remove(depth);
                    }
                }
            }
            if let Err(d) = self.tree.pass_over(v, rests, &why) { self.learn(d); return false; }
        }
    }

    fn choose(&self, lo: usize, hi: usize, strategy: &Strategy) -> usize {
        let t = &self.tree;
        let level = (lo..hi).map(|m| t.sum[m].base).min().expect("not empty");
        let mut best = usize::MAX;
        if strategy.tight {
            let mut bm = usize::MAX; let mut bs = u64::MAX;
            for m in lo..hi {
                if t.sum[m].base == level {
                    let slack = t.capacity - t.rest[m] - level;
                    let slack = if strategy.weighted { (slack + 8) * 1024 / (8 + self.weight[m]) } else { slack };
                    if slack < bs { bs = slack; bm = m; }
                }
            }
            for w in t.members(bm) { let v = *w as usize; if t.low[v] == level && (best == usize::MAX || strategy.rank[v] < strategy.rank[best]) { best = v; } }
        } else {
            for v in t.instance.born_in(lo..hi) {
                if !t.placed[v] && t.low[v] == level && (best == usize::MAX || strategy.rank[v] < strategy.rank[best]) { best = v; }
            }
        }
        best
    }

    fn key(&self, lo: usize, hi: usize) -> u64 {
        let t = &self.tree;
        let mut key = t.capacity;
        for v in t.instance.born_in(lo..hi) {
            if !t.placed[v] {
                key = key.wrapping_add(mix((v as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mix(t.low[v] + 1) ^ t.wait[v].wrapping_mul(0xD6E8_FEB8_6659_FD93)));
            }
        }
        key
    }

    /// A buffer that was passed over and that nothing can block any more.
    fn late(&self, lo: usize, hi: usize) -> Option<usize> {
        let t = &self.tree;
        let level = (lo..hi).map(|m| t.sum[m].base).min().expect("not empty");
        t.instance.born_in(lo..hi).find(|v| !t.placed[*v] && t.wait[*v] != 0 && level >= t.wait[*v])
    }

    /// The independent parts of the range.
    fn split(&self, lo: usize, hi: usize, goals: &mut Vec<(u32, u32)>) {
        let t = &self.tree;
        let mut start = lo;
        for m in lo..hi {
            if m + 1 == hi || t.bridge[m] == 0 {
                if t.rest[start..=m].iter().any(|r| *r > 0) {
                    goals.push((start as u32, m as u32 + 1));
                }
                start = m + 1;
            }
        }
    }
}
