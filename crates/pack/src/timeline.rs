//! Which bytes are taken when, and where something still fits: the structure under every rule.
//!
//! A rule places buffers in an order of its own, so the question is always: given what is placed
//! so far, what is the lowest offset (or the tightest hole) that is free *during these sections*?
//!
//! Sections are cut into blocks with few births and deaths each, and the blocks are the leaves of
//! a tree. A placed piece is kept
//!
//! - in the *own* set of the largest nodes that it covers wholly (as in a segment tree),
//! - in the *partial* list of the one or two blocks that it covers only in part, and
//! - in the *any* set of all of these and of everything above them.
//!
//! A query looks at the *any* set of the nodes that it covers wholly, and at the *own* sets (and
//! partial lists) of the nodes that it meets only in part. Own and any sets know no time, so spans
//! that touch are joined: dense packings melt into a handful of spans however many buffers they
//! hold. Partial lists are short because blocks are cut by the number of births and deaths.
//!
//! ```text
//!   level 2            ┌───────────── any ─────────────┐
//!   level 1      ┌─ own, any ─┐                  ┌─ own, any ─┐
//!   blocks    │ 0 │ 1 │ 2 │ 3 │                │ 4 │ 5 │ 6 │ 7 │   each: partial, own, any
//!   a piece          ▒▒████████                ██▒              █ own  ▒ partial
//! ```
//!
//! Cost of a query or an insertion: O(log n) sets; a query walks the spans below its answer, an
//! insertion moves the spans above its place. Memory: O(n log n) spans at the very worst, in
//! practice about three per buffer.

use crate::problem::{BufferId, Span};
use crate::sweep::{Sections, Strip, Sweep};

/// Children of a node.
const FAN: usize = 8;
/// Births and deaths after which a block is closed.
const BLOCK_EVENTS: u32 = 128;
/// A level with no more nodes than this has none above it.
const TOP: usize = 256;
/// Holes that best fit compares, from below.
const HOLES: usize = 32;

/// What is placed so far.
pub(crate) struct Timeline<'s> {
    sweep: &'s Sweep,
    /// The block of each section.
    block_of: Vec<u32>,
    /// The first section of each block, and the number of sections at the end.
    block_start: Vec<u32>,
    /// By block.
    partial: Vec<Partial>,
    /// `levels[0]` are the blocks, each level above has a [`FAN`]th of the nodes, the last has one.
    levels: Vec<Vec<Node>>,
    /// Spans looked at by queries so far.
    work: u64,
}

#[derive(Clone, Default)]
struct Node {
    own: Spans,
    any: Spans,
}

/// Pieces that cover a part of one block, by their lowest byte; two parallel arrays.
#[derive(Clone, Default)]
struct Partial {
    spans: Vec<Span>,
    sections: Vec<Sections>,
}

/// Disjoint spans in order, none touching the next.
#[derive(Clone, Default)]
struct Spans(Vec<Span>);

impl Spans {
    fn add(&mut self, span: Span) {
        let from = self.0.partition_point(|s| s.hi < span.lo);
        let to = from + self.0[from..].partition_point(|s| s.lo <= span.hi);
        if from == to {
            self.0.insert(from, span);
        } else {
            let lo = span.lo.min(self.0[from].lo);
            let hi = span.hi.max(self.0[to - 1].hi);
            self.0[from] = Span::new(lo, hi);
            self.0.drain(from + 1..to);
        }
    }
}

/// A node that a stretch of sections meets.
enum Met {
    /// The stretch covers it wholly, and no node above it.
    Whole { level: usize, node: usize },
    /// The stretch covers a part of it.
    Part { level: usize, node: usize },
}

impl<'s> Timeline<'s> {
    /// An empty timeline. O(sections).
    pub(crate) fn new(sweep: &'s Sweep, ids: impl Iterator<Item = BufferId>) -> Self {
        let (block_of, block_start) = cut_blocks(sweep, ids);
        let blocks = block_start.len() - 1;
        let mut levels = vec![vec![Node::default(); blocks]];
        let mut width = blocks;
        while width > TOP {
            width = width.div_ceil(FAN);
            levels.push(vec![Node::default(); width]);
        }
        let partial = vec![Partial::default(); blocks];
        Timeline { sweep, block_of, block_start, partial, levels, work: 0 }
    }

    /// Spans looked at so far: the measure of work.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// The lowest offset of at least `from`, a multiple of `align`, at which the buffer meets
    /// nothing that is placed.
    pub(crate) fn lowest_fit(&mut self, id: BufferId, align: u64, from: u64) -> u64 {
        let mut probes = self.probes(id);
        let offset = lowest(&mut probes, align, from);
        self.work += looked_at(&probes);
        offset
    }

    /// The offset in the hole that the buffer fills best, the lowest of these, among the
    /// [`HOLES`] lowest holes that are large enough; above everything if there is none.
    pub(crate) fn best_fit(&mut self, id: BufferId, align: u64) -> u64 {
        let mut probes = self.probes(id);
        let mut offset = lowest(&mut probes, align, 0);
        let mut best: Option<(u64, u64)> = None;
        for _ in 0..HOLES {
            // The next thing above: how far up could the buffer still move?
            let Some((room, next)) = probes.iter_mut().filter_map(Probe::ahead).min() else {
                break;
            };
            let slack = room - offset;
            if best.is_none_or(|(least, _)| slack < least) {
                best = Some((slack, offset));
            }
            if slack == 0 {
                break;
            }
            offset = lowest(&mut probes, align, next);
        }
        self.work += looked_at(&probes);
        best.map_or(offset, |(_, offset)| offset)
    }

    /// Whether the buffer would meet nothing that is placed at this offset.
    pub(crate) fn is_free(&mut self, id: BufferId, offset: u64) -> bool {
        self.lowest_fit(id, 1, offset) == offset
    }

    /// Places the buffer.
    pub(crate) fn place(&mut self, id: BufferId, offset: u64) {
        let sweep = self.sweep;
        for piece in sweep.pieces(id) {
            self.insert(Strip { span: piece.span.shifted(offset), ..*piece });
        }
    }

    fn insert(&mut self, piece: Strip) {
        for met in self.met(piece.sections) {
            match met {
                Met::Whole { level, node } => {
                    self.levels[level][node].own.add(piece.span);
                    self.levels[level][node].any.add(piece.span);
                }
                Met::Part { level, node } => {
                    self.levels[level][node].any.add(piece.span);
                    if level == 0 {
                        let partial = &mut self.partial[node];
                        let at = partial.spans.partition_point(|s| s.lo < piece.span.lo);
                        partial.spans.insert(at, piece.span);
                        partial.sections.insert(at, piece.sections);
                    }
                }
            }
        }
    }

    /// One probe for each set that could hold something in the buffer's way.
    fn probes(&self, id: BufferId) -> Vec<Probe<'_>> {
        let mut probes = Vec::with_capacity(24);
        for piece in self.sweep.pieces(id) {
            for met in self.met(piece.sections) {
                match met {
                    Met::Whole { level, node } => {
                        probes.push(Probe::new(&self.levels[level][node].any.0, *piece));
                    }
                    Met::Part { level, node } => {
                        probes.push(Probe::new(&self.levels[level][node].own.0, *piece));
                        if level == 0 {
                            let Partial { spans, sections } = &self.partial[node];
                            probes.push(Probe { times: sections, ..Probe::new(spans, *piece) });
                        }
                    }
                }
            }
        }
        probes.retain(|probe| !probe.spans.is_empty());
        probes
    }

    /// The nodes that a stretch meets: those that it covers wholly (the largest only), and all
    /// that it meets in part, at most two on each level.
    fn met(&self, sections: Sections) -> Vec<Met> {
        let mut met = Vec::with_capacity(2 * FAN * self.levels.len());
        let mut first = self.block_of[sections.start as usize] as usize;
        let mut last = self.block_of[sections.end as usize - 1] as usize;
        // Nodes `from..to` of this level are covered wholly.
        let mut from = first + usize::from(self.block_start[first] < sections.start);
        let mut to = last + usize::from(self.block_start[last + 1] == sections.end);
        for (level, nodes) in self.levels.iter().enumerate() {
            let whole = |node| from <= node && node < to;
            if !whole(first) {
                met.push(Met::Part { level, node: first });
            }
            if last != first && !whole(last) {
                met.push(Met::Part { level, node: last });
            }
            // Those whose parent is covered wholly too are left to the parent.
            let up_from = from.div_ceil(FAN);
            let up_to = if to == nodes.len() { to.div_ceil(FAN) } else { to / FAN };
            if level + 1 < self.levels.len() && up_from < up_to {
                let below = from..up_from * FAN;
                let above = (up_to * FAN).min(to)..to;
                met.extend(below.chain(above).map(|node| Met::Whole { level, node }));
                (from, to) = (up_from, up_to);
            } else {
                met.extend((from..to).map(|node| Met::Whole { level, node }));
                (from, to) = (0, 0);
            }
            first /= FAN;
            last /= FAN;
        }
        met
    }
}

/// Cuts the sections into blocks of about [`BLOCK_EVENTS`] births and deaths (a block is one
/// section at least): the block of each section, and the first section of each block.
fn cut_blocks(sweep: &Sweep, ids: impl Iterator<Item = BufferId>) -> (Vec<u32>, Vec<u32>) {
    let mut events = vec![0u32; sweep.len() + 1];
    for id in ids {
        for piece in sweep.pieces(id) {
            events[piece.sections.start as usize] += 1;
            events[piece.sections.end as usize] += 1;
        }
    }
    let mut block_of = Vec::with_capacity(sweep.len());
    let mut block_start = vec![0];
    let mut in_block = 0;
    for section in 0..sweep.len() {
        // What happens at the first moment of a block cuts nothing in it.
        let opens = block_start.last() == Some(&(section as u32));
        if !opens && in_block + events[section] > BLOCK_EVENTS {
            block_start.push(section as u32);
            in_block = 0;
        } else if !opens {
            in_block += events[section];
        }
        block_of.push(block_start.len() as u32 - 1);
    }
    block_start.push(sweep.len() as u32);
    (block_of, block_start)
}

/// A walk up one list of taken spans, on behalf of one piece of a buffer.
///
/// The offset that is asked for only grows, so a span that is behind stays behind and every span
/// is looked at once.
struct Probe<'t> {
    /// By lowest byte.
    spans: &'t [Span],
    /// When each is taken; empty if all are in the way.
    times: &'t [Sections],
    /// The next span to look at.
    at: usize,
    /// The bytes of the buffer that are asked for, and when.
    piece: Strip,
}

impl<'t> Probe<'t> {
    fn new(spans: &'t [Span], piece: Strip) -> Self {
        Probe { spans, times: &[], at: 0, piece }
    }

    /// The lowest offset of at least `offset` that is free here.
    fn push(&mut self, mut offset: u64) -> u64 {
        while let Some(span) = self.spans.get(self.at) {
            if span.lo >= offset + self.piece.span.hi {
                break;
            }
            if span.hi > offset + self.piece.span.lo && self.in_the_way() {
                offset = span.hi - self.piece.span.lo;
            }
            self.at += 1;
        }
        offset
    }

    /// Where the next span in the way limits the buffer: the highest offset below it and the
    /// lowest offset above it.
    fn ahead(&mut self) -> Option<(u64, u64)> {
        while self.at < self.spans.len() && !self.in_the_way() {
            self.at += 1;
        }
        let span = self.spans.get(self.at)?;
        Some((span.lo - self.piece.span.hi, span.hi - self.piece.span.lo))
    }

    fn in_the_way(&self) -> bool {
        self.times.get(self.at).is_none_or(|taken| taken.meets(self.piece.sections))
    }
}

/// The lowest multiple of `align`, at least `from`, that is free for every probe.
fn lowest(probes: &mut [Probe<'_>], align: u64, from: u64) -> u64 {
    let mut offset = from;
    loop {
        offset = offset.next_multiple_of(align);
        let before = offset;
        for probe in probes.iter_mut() {
            offset = probe.push(offset);
        }
        if offset == before {
            return offset;
        }
    }
}

fn looked_at(probes: &[Probe<'_>]) -> u64 {
    probes.iter().map(|p| p.at as u64 + 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Life, Piece, Problem};
    use crate::testing::{Rng, Shape, random_problem};

    /// The definition: nothing placed meets any piece in time and bytes.
    fn free(problem: &Problem, placed: &[(BufferId, u64)], id: BufferId, offset: u64) -> bool {
        let at = |id, offset| {
            let shift = move |p: Piece| Piece { span: p.span.shifted(offset), ..p };
            problem.buffer(id).pieces().map(shift)
        };
        placed.iter().all(|(other, place)| {
            at(id, offset).all(|p| {
                at(*other, *place).all(|q| !p.life.meets(q.life) || !p.span.meets(q.span))
            })
        })
    }

    /// The lowest aligned offset of the run of free offsets that leaves the least room above it.
    fn tightest(height: u64, align: u64, fits: impl Fn(&u64) -> bool) -> u64 {
        let mut best = None;
        let mut offset: u64 = 0;
        loop {
            offset = offset.next_multiple_of(align);
            if !fits(&offset) {
                offset += 1;
                continue;
            }
            let Some(blocked) = (offset..=height).find(|o| !fits(o)) else { break };
            if best.is_none_or(|(room, _)| blocked - offset < room) {
                best = Some((blocked - offset, offset));
            }
            offset = blocked;
        }
        best.map_or(offset, |(_, offset)| offset)
    }

    #[test]
    fn fits_equal_the_plain_definition() {
        let mut rng = Rng::new(5);
        let shapes = [
            Shape { buffers: 1..60, ..Shape::plain() },
            Shape { buffers: 1..40, times: 400, ..Shape::everything() },
            // More events than a block takes, so that the tree has several levels.
            Shape { buffers: 120..200, times: 300, sizes: 1..5, ..Shape::everything() },
        ];
        for (round, shape) in (0..45).zip(shapes.iter().cycle()) {
            let problem = random_problem(&mut rng, shape);
            let sweep = Sweep::new(&problem);
            let mut timeline = Timeline::new(&sweep, problem.ids());
            let mut placed = Vec::new();
            let mut height = 0;
            for id in problem.ids() {
                let (align, size) = (problem.buffer(id).align, problem.buffer(id).size);
                let lowest = timeline.lowest_fit(id, align, 0);
                let best = timeline.best_fit(id, align);
                let fits = |offset: &u64| free(&problem, &placed, id, *offset);
                let mut candidates = (0..=height + align).step_by(align as usize);
                assert_eq!(Some(lowest), candidates.find(fits), "round {round}");
                assert_eq!(best, tightest(height, align, fits), "round {round}");
                assert!(timeline.is_free(id, best));
                let offset = if rng.below(2) == 0 { lowest } else { best };
                timeline.place(id, offset);
                assert!(!timeline.is_free(id, offset) || problem.buffer(id).pieces().next().is_none());
                placed.push((id, offset));
                height = height.max(offset + size);
            }
        }
    }

    #[test]
    fn whole_lives_melt_into_one_span() {
        let life = Life::new(0, 9);
        let buffers = vec![crate::Buffer::new(3, life); 1000];
        let problem = Problem::new(buffers).expect("valid");
        let sweep = Sweep::new(&problem);
        let mut timeline = Timeline::new(&sweep, problem.ids());
        for id in problem.ids() {
            let offset = timeline.lowest_fit(id, 1, 0);
            assert_eq!(offset, 3 * u64::from(id.0));
            timeline.place(id, offset);
        }
        // One set, one span (and the end of the list) for each query.
        assert!(timeline.work() <= 2000);
    }
}
