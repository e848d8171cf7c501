//! The search for a recipe: where to cut a model into segments, and in how many steps each runs.
//!
//! The peak of a model is the largest of its segments' peaks, and a segment's peak hardly depends on what is
//! before it: only on whether what comes in is in pieces. So the best cuts are found from the front to the back:
//! the best way to come to a cut is the best over all segments that end there, each tried alone. Cuts are where
//! little is alive; steps are such that a tensor of the segment has one row in each.
//!
//! Cost: a trial for every pair of cuts and number of steps that can still be better than what is known. With
//! *c* cuts that are *c²* trials at most, each linear in the nodes that it makes.

use std::collections::BTreeMap;

use crate::along::{Along, Course};
use crate::channels::Chain;
use crate::flow::{Recipe, Segment, Trial, trial};

/// The most cuts that are looked at.
const MOST_CUTS: usize = 24;

/// The most nodes that a segment becomes.
const MOST_NODES: u64 = 8000;

/// In how many steps a segment runs whose tensors have more rows than there could be steps.
const LONG_STEPS: [u64; 3] = [16, 64, 200];

/// What a search goes by.
pub(crate) struct Searched<'a> {
    pub(crate) along: &'a Along<'a>,
    /// What is said of every candidate: nodes that are computed again, chains in parts.
    pub(crate) base: Recipe,
    /// What is computed once more.
    pub(crate) restarts: Vec<Restart>,
    /// How many nodes trials may still make.
    pub(crate) work: u64,
    /// What was tried: by the ends of a segment, its steps, and whether what comes in is in pieces, the peak and the
    /// overhead.
    tries: BTreeMap<(usize, usize, u64, bool), (u64, u64)>,
}

/// A tensor that is computed once more where it is needed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Restart {
    /// The node that makes it, with all that it depends on, in an order in which they can run.
    pub(crate) nodes: Vec<usize>,
    /// The place in the order of the node that it is computed once more for.
    pub(crate) late: usize,
}

/// How a cut is come to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The cut before.
    pub(crate) from: usize,
    /// Whether that was come to by a flow.
    pub(crate) flowed: bool,
    /// In how many steps from there.
    pub(crate) steps: u64,
}

/// The best way to come to a cut.
#[derive(Clone, Debug)]
struct Arrival {
    /// The largest peak so far, and how many nodes there are.
    cost: (u64, u64),
    way: Way,
}

impl<'a> Searched<'a> {
    pub(crate) fn new(
        along: &'a Along<'a>,
        base: Recipe,
        restarts: Vec<Restart>,
        work: u64,
    ) -> Self {
        Searched { along, base, restarts, work, tries: BTreeMap::new() }
    }

    /// The recipe with the smallest peak, nearly.
    pub(crate) fn best(&mut self) -> (u64, Recipe) {
        let cuts = self.cuts();
        let mut ways: Vec<[Option<Arrival>; 2]> = vec![[None, None]; cuts.len()];
        let way = Way { from: 0, flowed: false, steps: 0 };
        ways[0][0] = Some(Arrival { cost: (0, 0), way });
        for to in 1..cuts.len() {
            for from in (0..to).rev() {
                self.extend(&cuts, from, to, &mut ways);
            }
        }
        let last = &ways[cuts.len() - 1];
        let flowed = last[1].as_ref().map_or((u64::MAX, 0), |way| way.cost);
        let is_flow = last[0].as_ref().is_none_or(|whole| flowed < whole.cost);
        let peak = last[usize::from(is_flow)].as_ref().map_or(u64::MAX, |way| way.cost.0);
        let way =
            |at: usize, is_flow: bool| ways[at][usize::from(is_flow)].as_ref().map(|way| way.way);
        (peak, self.recipe(&cuts, is_flow, way))
    }

    /// Tries the segment between two cuts.
    fn extend(
        &mut self,
        cuts: &[usize],
        from: usize,
        to: usize,
        ways: &mut [[Option<Arrival>; 2]],
    ) {
        let steps = self.steps(cuts, from, to);
        for flowed in [true, false] {
            let Some(way) = ways[from][usize::from(flowed)].clone() else { continue };
            // What comes in pieces is no worse.
            let in_pieces = ways[from][1].as_ref().map_or(u64::MAX, |way| way.cost.0);
            if !flowed && in_pieces <= way.cost.0 && to > from + 1 {
                continue;
            }
            for steps in &steps {
                if self.try_segment(cuts, (from, to), (&way, flowed), *steps, ways) {
                    break;
                }
            }
        }
    }

    /// Tries the segment between two cuts in so many steps. Whether more steps cannot be better.
    fn try_segment(
        &mut self,
        cuts: &[usize],
        (from, to): (usize, usize),
        (way, flowed): (&Arrival, bool),
        steps: u64,
        ways: &mut [[Option<Arrival>; 2]],
    ) -> bool {
        let is_flow = steps > 1;
        let known = ways[to].iter().flatten().map(|way| way.cost.0).min();
        if is_flow && known.is_some_and(|known| way.cost.0 >= known) {
            return true;
        }
        let Some((peak, _)) = self.tried((cuts[from], cuts[to]), steps, flowed) else {
            return true;
        };
        let size = (cuts[to] - cuts[from]) as u64 * steps;
        let cost = (way.cost.0.max(peak), way.cost.1 + size);
        let slot = &mut ways[to][usize::from(is_flow)];
        if slot.as_ref().is_none_or(|slot| cost < slot.cost) {
            *slot = Some(Arrival { cost, way: Way { from, flowed, steps } });
        }
        is_flow && peak <= way.cost.0
    }

    /// The peak and the overhead of a segment, between two places in the order, in so many steps; `None` if that is
    /// not known, and too much was tried. One step is always tried.
    pub(crate) fn tried(
        &mut self,
        (from, to): (usize, usize),
        steps: u64,
        flowed: bool,
    ) -> Option<(u64, u64)> {
        let key = (from, to, steps, flowed);
        if let Some(known) = self.tries.get(&key) {
            return Some(*known);
        }
        if steps > 1 && self.work == 0 {
            return None;
        }
        self.work = self.work.saturating_sub((to - from) as u64 * steps + 100);
        let recipe = self.alone(from, to, steps);
        let Trial { peak, overhead, .. } = trial(self.along, &recipe, 1, flowed);
        self.tries.insert(key, (peak, overhead));
        Some((peak, overhead))
    }

    /// A recipe in which one segment has so many steps.
    fn alone(&self, from: usize, to: usize, steps: u64) -> Recipe {
        let last = self.along.order.len();
        self.with_segments(&[(0, from, 1), (from, to, steps), (to, last, 1)])
    }

    /// A recipe of segments, each from one place in the order to another in so many steps.
    fn with_segments(&self, bounds: &[(usize, usize, u64)]) -> Recipe {
        let order = &self.along.order;
        let segment = |(from, to, steps): &(usize, usize, u64)| {
            let is_within = |node: &usize| order[*from..*to].contains(node);
            let late = self.restarts.iter().filter(|restart| (*from..*to).contains(&restart.late));
            let restarted = late.filter(|restart| !restart.nodes.iter().any(is_within));
            let mut restarted: Vec<usize> =
                restarted.flat_map(|restart| restart.nodes.clone()).collect();
            restarted.sort_by_cached_key(|node| order.iter().position(|other| other == node));
            restarted.dedup();
            Segment { nodes: order[*from..*to].to_vec(), steps: *steps, restarted }
        };
        Recipe { segments: bounds.iter().map(segment).collect(), ..self.base.clone() }
    }

    /// The recipe that follows from how every cut is come to, the last one by a flow or not.
    pub(crate) fn recipe(
        &self,
        cuts: &[usize],
        is_flow: bool,
        way: impl Fn(usize, bool) -> Option<Way>,
    ) -> Recipe {
        let (mut bounds, mut at, mut is_flow) = (Vec::new(), cuts.len() - 1, is_flow);
        while let (Some(Way { from, flowed, steps }), true) = (way(at, is_flow), at > 0) {
            bounds.push((cuts[from], cuts[at], steps));
            (at, is_flow) = (from, flowed);
        }
        bounds.reverse();
        self.with_segments(&bounds)
    }

    /// In how many steps the segment between two cuts could run; in one only between neighbours.
    pub(crate) fn steps(&self, cuts: &[usize], from: usize, to: usize) -> Vec<u64> {
        let mut steps = steps_of(self.along, &self.along.order[cuts[from]..cuts[to]]);
        if to == from + 1 {
            steps.insert(0, 1);
        }
        steps
    }

    /// Where a model is cut: at its ends, and where fewer bytes are alive than just before and behind.
    pub(crate) fn cuts(&self) -> Vec<usize> {
        let alive = boundaries(self.along);
        let n = alive.len() - 1;
        let is_low = |at: &usize| alive[*at] <= alive[at - 1] && alive[*at] < alive[at + 1];
        let mut cuts: Vec<usize> = (1..n).filter(is_low).collect();
        // Of two that are close together the one goes at which more is alive.
        while cuts.len() > MOST_CUTS {
            let ends = |at: usize| {
                (if at == 0 { 0 } else { cuts[at - 1] }, *cuts.get(at + 1).unwrap_or(&n))
            };
            let span = |at: usize| {
                let (before, behind) = ends(at);
                behind - before
            };
            let worst = (0..cuts.len())
                .min_by_key(|at| (span(*at), std::cmp::Reverse(alive[cuts[*at]]), *at));
            cuts.remove(worst.unwrap_or(0));
        }
        cuts.insert(0, 0);
        cuts.push(n);
        cuts
    }
}

/// The recipe with its segments cut wherever little is alive, each in one step.
pub(crate) fn cut(along: &Along<'_>, recipe: &Recipe) -> Recipe {
    let searched = Searched::new(along, Recipe::default(), Vec::new(), 0);
    let first = searched.cuts().into_iter().filter_map(|cut| along.order.get(cut).copied());
    let first: Vec<usize> = first.collect();
    let mut segments: Vec<Segment> = Vec::new();
    for segment in &recipe.segments {
        if !segment.restarted.is_empty() {
            segments.push(segment.clone());
            continue;
        }
        let starts = |_: &usize, node: &usize| !first.contains(node);
        for nodes in segment.nodes.chunk_by(starts) {
            segments.push(Segment { nodes: nodes.to_vec(), steps: 1, restarted: Vec::new() });
        }
    }
    Recipe { segments, ..recipe.clone() }
}

/// In how many steps some nodes could run: as many as a tensor of theirs has rows.
pub(crate) fn steps_of(along: &Along<'_>, nodes: &[usize]) -> Vec<u64> {
    let made = |node: &usize| along.model.body.nodes[*node].outputs.first().copied().flatten();
    let by_rows = nodes.iter().filter(|node| !matches!(along.courses[**node], Course::Whole));
    let rows = by_rows.filter_map(made).filter_map(|made| along.axis(made)).map(|axis| axis.rows);
    let mut steps: Vec<u64> = rows.collect();
    if let Some(least) = steps.iter().min().copied() {
        steps.push(least / 2);
    }
    let is_few = |steps: &u64| *steps > 1 && steps.saturating_mul(nodes.len() as u64) <= MOST_NODES;
    if !steps.is_empty() && !steps.iter().any(is_few) {
        // So many rows that each step takes a lot of them: sound, not images.
        steps.extend(LONG_STEPS);
    }
    steps.retain(is_few);
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// The bytes that are alive before each node, and behind the last, if every tensor is there at once.
fn boundaries(along: &Along<'_>) -> Vec<u64> {
    let n = along.order.len();
    let mut place = vec![usize::MAX; along.model.body.nodes.len()];
    along.order.iter().enumerate().for_each(|(at, node)| place[*node] = at);
    let mut change = vec![0i64; n + 2];
    for (at, node) in along.order.iter().enumerate() {
        for made in along.model.body.nodes[*node].outputs.iter().flatten() {
            let bytes = i64::try_from(along.bytes(*made)).unwrap_or(0);
            let last = along.readers[made.index()].iter().map(|reader| place[*reader]).max();
            let last = if along.model.body.outputs.contains(made) { Some(n) } else { last };
            change[at + 1] += bytes;
            change[last.unwrap_or(at).max(at) + 1] -= bytes;
        }
    }
    let mut alive = 0;
    change[..=n]
        .iter()
        .map(|change| {
            alive += change;
            u64::try_from(alive).unwrap_or(0)
        })
        .collect()
}

/// Every chain in so many parts.
pub(crate) fn parts_of(
    chains: &BTreeMap<usize, Chain>,
    parts: u64,
) -> BTreeMap<usize, (Chain, u64)> {
    let in_parts = |chain: &Chain| (chain.clone(), parts);
    let chains = chains.iter().filter(|(_, chain)| parts > 1 && chain.channels >= parts);
    chains.map(|(first, chain)| (*first, in_parts(chain))).collect()
}
