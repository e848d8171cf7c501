//! Which bytes are taken when, and where something still fits: the structure under every rule.
//!
//! A rule places buffers in an order of its own, so the question is always: given what is placed
//! so far, what is the lowest offset (or the tightest hole) that is free *during these sections*?
//!
//! Sections are cut into blocks with few births and deaths each, and the blocks are the leaves of
//! a shallow tree. A placed piece is kept
//!
//! - in the *own* set of the largest nodes that it covers wholly (as in a segment tree),
//! - in the *partial* list of the one or two blocks that it covers only in part, and
//! - in the *any* set of all of these and of all the nodes above them.
//!
//! A query looks at the any sets of the nodes that it covers wholly, and at the own sets and
//! partial lists (these with an eye to the time) of the nodes that it meets only in part. Own
//! and any sets know no time, so spans that touch are joined: dense packings melt into a handful of
//! spans however many buffers they hold. Partial lists are short because blocks are cut by the
//! number of births and deaths.
//!
//! ```text
//!   level 1    ┌── own, any ───┐ ┌── own, any ───┐
//!   blocks     │ 0 │ 1 │ 2 │ 3 │ │ 4 │ 5 │ 6 │ 7 │   each: own, any, partial
//!   a piece           ▒▒████████ ███████▒▒           █ own  ▒ partial
//! ```
//!
//! Cost of a query or an insertion: O(log n) sets. A query leaps from hole to hole, an insertion
//! moves the spans above its place. Memory: about three spans a buffer.

mod grid;
mod probe;

use grid::{Grid, Met};
use probe::{Probe, looked_at, lowest, tightest};

use crate::problem::{BufferId, Problem, Span};
use crate::sweep::{Strip, Sweep};

/// Holes that best fit compares.
const HOLES: usize = 16;

/// What is placed so far.
pub(crate) struct Timeline<'s> {
    problem: &'s Problem,
    sweep: &'s Sweep,
    /// Where buffers are, for the sake of pairs that are kept apart whatever their lives; empty
    /// if there are none.
    placed: Vec<Option<Span>>,
    grid: Grid,
    /// By block.
    partial: Vec<Partial>,
    /// By level and node.
    levels: Vec<Vec<Node>>,
    /// The nodes that a piece meets; kept to be filled again.
    met: Vec<Met>,
    /// Empty between queries; kept to be filled again.
    probes: Vec<Probe<'static>>,
    /// Spans looked at by queries so far.
    work: u64,
}

/// What is kept at a node: pieces that cover it wholly but not its parent, and all pieces that
/// are kept at it or below it.
#[derive(Clone, Default)]
struct Node {
    own: Spans,
    any: Spans,
}

/// Pieces that cover a part of one block, by their lowest byte.
#[derive(Clone, Default)]
struct Partial(Vec<Strip>);

impl Partial {
    fn add(&mut self, piece: Strip) {
        let at = self.0.partition_point(|p| p.span.lo < piece.span.lo);
        self.0.insert(at, piece);
    }
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

impl<'s> Timeline<'s> {
    /// An empty timeline. O(n).
    pub(crate) fn new(problem: &'s Problem, sweep: &'s Sweep) -> Self {
        let grid = Grid::new(sweep, problem.ids());
        let placed = problem.conflicts().map_or(Vec::new(), |_| vec![None; problem.len()]);
        let levels = grid.widths.iter().map(|width| vec![Node::default(); *width]).collect();
        let partial = vec![Partial::default(); grid.widths[0]];
        let (met, probes) = (Vec::new(), Vec::new());
        Timeline { problem, sweep, placed, grid, partial, levels, met, probes, work: 0 }
    }

    /// Spans looked at so far: the measure of work.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// The lowest offset of at least `from`, a multiple of `align`, at which the buffer meets
    /// nothing that is placed.
    pub(crate) fn lowest_fit(&mut self, id: BufferId, align: u64, from: u64) -> u64 {
        self.query(id, |probes| lowest(probes, align, from))
    }

    /// The offset in the hole that the buffer fills best, the lowest of these, among the
    /// [`HOLES`] lowest holes that are large enough; above everything if there is none.
    pub(crate) fn best_fit(&mut self, id: BufferId, align: u64) -> u64 {
        self.query(id, |probes| tightest(probes, align, HOLES))
    }

    /// Whether the buffer would meet nothing that is placed at this offset.
    pub(crate) fn is_free(&mut self, id: BufferId, offset: u64) -> bool {
        self.lowest_fit(id, 1, offset) == offset
    }

    /// Places the buffer.
    pub(crate) fn place(&mut self, id: BufferId, offset: u64) {
        let sweep = self.sweep;
        if let Some(placed) = self.placed.get_mut(id.index()) {
            *placed = Some(Span::new(offset, offset + self.problem.buffer(id).size));
        }
        for piece in sweep.pieces(id) {
            let piece = Strip { span: piece.span.shifted(offset), ..*piece };
            self.grid.meet(piece.sections, &mut self.met);
            for Met { level, node, whole } in &self.met {
                let kept = &mut self.levels[*level][*node];
                kept.any.add(piece.span);
                if *whole {
                    kept.own.add(piece.span);
                } else if *level == 0 {
                    self.partial[*node].add(piece);
                }
            }
        }
    }

    /// The bytes of all that are placed and kept apart from the buffer whatever their lives.
    fn kept_apart(&self, id: BufferId) -> Spans {
        let Some(conflicts) = self.problem.conflicts() else { return Spans::default() };
        let mut spans: Vec<Span> =
            conflicts.of(id).filter_map(|other| self.placed[other.index()]).collect();
        spans.sort_unstable();
        spans.dedup_by(|next, last| {
            let touches = next.lo <= last.hi;
            last.hi = if touches { last.hi.max(next.hi) } else { last.hi };
            touches
        });
        Spans(spans)
    }

    /// Asks with one probe for each set that could hold something in the buffer's way.
    fn query(&mut self, id: BufferId, ask: impl FnOnce(&mut [Probe<'_>]) -> u64) -> u64 {
        let apart = self.kept_apart(id);
        let Timeline { problem, sweep, grid, partial, levels, met, probes: kept, work, .. } = self;
        let mut probes = emptied(std::mem::take(kept));
        if !apart.0.is_empty() {
            // All of the buffer is kept apart, not only what it uses.
            let span = Span::new(0, problem.buffer(id).size);
            probes.push(Probe::disjoint(&apart.0, Strip { sections: sweep.life(id), span }));
        }
        for piece in sweep.pieces(id) {
            grid.meet(piece.sections, met);
            for Met { level, node, whole } in met.iter() {
                let Node { own, any } = &levels[*level][*node];
                let Spans(spans) = if *whole { any } else { own };
                if !spans.is_empty() {
                    probes.push(Probe::disjoint(spans, *piece));
                }
                if !*whole && *level == 0 && !partial[*node].0.is_empty() {
                    probes.push(Probe::timed(&partial[*node].0, *piece));
                }
            }
        }
        let offset = ask(&mut probes);
        *work += looked_at(&probes);
        *kept = emptied(probes);
        offset
    }
}

/// The memory of a list for another of the same kind.
fn emptied<'b>(mut probes: Vec<Probe<'_>>) -> Vec<Probe<'b>> {
    probes.clear();
    probes.into_iter().map(|_| unreachable!("it is empty")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Life, Piece};
    use crate::testing::{Rng, Shape, random_problem};

    /// The definition: nothing placed meets any piece in time and bytes.
    fn free(problem: &Problem, placed: &[(BufferId, u64)], id: BufferId, offset: u64) -> bool {
        let at = |id, offset| {
            let shift = move |p: Piece| Piece { span: p.span.shifted(offset), ..p };
            problem.buffer(id).pieces().map(shift)
        };
        placed.iter().all(|(other, place)| {
            at(id, offset)
                .all(|p| at(*other, *place).all(|q| !p.life.meets(q.life) || !p.span.meets(q.span)))
        })
    }

    /// The lowest aligned offset of the run of free offsets that leaves the least room above it.
    fn tightest_by_definition(height: u64, align: u64, fits: impl Fn(&u64) -> bool) -> u64 {
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
            let mut timeline = Timeline::new(&problem, &sweep);
            let mut placed = Vec::new();
            let mut height = 0;
            for id in problem.ids() {
                let (align, size) = (problem.buffer(id).align, problem.buffer(id).size);
                let lowest = timeline.lowest_fit(id, align, 0);
                let best = timeline.best_fit(id, align);
                let fits = |offset: &u64| free(&problem, &placed, id, *offset);
                let mut candidates = (0..=height + align).step_by(align as usize);
                assert_eq!(Some(lowest), candidates.find(fits), "round {round}");
                assert_eq!(best, tightest_by_definition(height, align, fits), "round {round}");
                assert!(timeline.is_free(id, best));
                let offset = if rng.below(2) == 0 { lowest } else { best };
                timeline.place(id, offset);
                assert!(
                    !timeline.is_free(id, offset) || problem.buffer(id).pieces().next().is_none()
                );
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
        let mut timeline = Timeline::new(&problem, &sweep);
        for id in problem.ids() {
            let offset = timeline.lowest_fit(id, 1, 0);
            assert_eq!(offset, 3 * u64::from(id.0));
            timeline.place(id, offset);
        }
        // One set, one span (and the end of the list) for each query.
        assert!(timeline.work() <= 2000);
    }
}
