//! Which regions of a model are computed in parts: a sequence of ranges of its order, each as it is or in parts.
//!
//! What is alive where a range begins and ends does not depend on how the ranges beside it are computed. So the
//! smallest peak follows from front to back: the best way to come to a cut is the best over all ranges that end there.
//! Cuts are where little is alive. A second pass finds, among all sequences with at most that peak or as much as there
//! is, the one with the least [overhead](crate::overhead).
//!
//! Cost: a region is grown for every range of at most [`MOST_APART`] cuts, and every axis of its largest tensor, that
//! can still be better than what is known. All is counted in nodes.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use plimsoll_model::TensorId;

use super::peak::{Lives, Look};
use super::region::{Network, Region};
use crate::overhead::NODE;

/// The most cuts that a range goes over.
const MOST_APART: usize = 24;

/// The most nodes of a range.
const MOST_NODES: usize = 240;

/// In how many parts a region is computed.
const PARTS: [u64; 11] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// In how many ways an axis is cut into units at most.
const MOST_UNITS: usize = 4;

/// What was found.
pub(super) struct Found {
    /// The peak of the model as it is, and the one with regions in parts, both nearly.
    pub(super) peaks: [u64; 2],
    /// With the number of parts of each.
    pub(super) regions: Vec<(Region, u64)>,
}

/// A range between two cuts.
struct Between {
    from: usize,
    peak: u64,
    overhead: u64,
    region: Option<(Rc<Region>, u64)>,
}

struct Search<'a> {
    lives: Lives<'a>,
    cuts: Vec<usize>,
    /// By cut, all that was tried of the ranges that end there.
    tried: Vec<Vec<Between>>,
    /// What all peaks up to are as good.
    target: u64,
    /// By cut, the smallest peak with which it is come to, or the target, and the least overhead of that.
    least: Vec<(u64, u64)>,
    work: &'a mut u64,
}

/// Finds the regions that bring a model down to a target, or as near to it as can be.
pub(super) fn regions(network: &Network<'_>, target: u64, look: Look, work: &mut u64) -> Found {
    let lives = Lives::new(network, look);
    let count = network.shapes.model.body.nodes.len();
    let before = lives.plain(&(0..count));
    let cuts = cuts(&lives.alive);
    let (tried, least) = (Vec::new(), vec![(u64::MAX, u64::MAX); cuts.len()]);
    let mut search = Search { lives, cuts, tried, target, least, work };
    search.explore();
    let least = search.least.last().map_or(before, |least| least.0);
    let regions = search.cheapest(least);
    Found { peaks: [before, least], regions }
}

impl Search<'_> {
    /// Tries ranges from front to back.
    fn explore(&mut self) {
        self.least[0] = (self.target, 0);
        self.tried.push(Vec::new());
        for to in 1..self.cuts.len() {
            self.tried.push(Vec::new());
            for from in (to.saturating_sub(MOST_APART)..to).rev() {
                let range = self.cuts[from]..self.cuts[to];
                let ends = self.lives.alive[range.start].max(self.lives.alive[range.end]);
                let (peak, overhead) = self.least[from];
                let least = (peak.max(ends), overhead.saturating_add(plain_overhead(&range)));
                // Without a target only peaks are looked at: what costs less is found among them.
                let is_no_better = if self.target == 0 {
                    least.0 >= self.least[to].0
                } else {
                    least >= self.least[to]
                };
                if from + 1 < to && (is_no_better || range.len() > MOST_NODES) {
                    continue;
                }
                self.extend(from, to, &range);
            }
        }
    }

    fn extend(&mut self, from: usize, to: usize, range: &Range<usize>) {
        let peak = self.lives.plain(range);
        if from + 1 == to {
            let overhead = plain_overhead(range);
            self.add(to, Between { from, peak, overhead, region: None });
        }
        if peak <= self.least[from].0 {
            return;
        }
        for (seed, axis, units) in self.seeds(range) {
            if *self.work < range.len() as u64 {
                return;
            }
            *self.work -= range.len() as u64;
            let network = self.lives.network;
            let Some(region) = network.within(range, seed, axis, units) else { continue };
            let region = Rc::new(region);
            let parts: Vec<u64> = PARTS.into_iter().filter(|parts| *parts <= units).collect();
            let outside = plain_overhead(range);
            // Without a target the peak is all that counts, and few nodes leave the most to be cut again.
            let [once, each] = if self.target == 0 {
                [0, NODE * region.nodes.len() as u64]
            } else {
                network.overhead(&region)
            };
            for (parts, peak) in parts.iter().zip(self.lives.in_parts(range, &region, &parts)) {
                let overhead = outside + once + each * (parts - 1);
                let region = Some((region.clone(), *parts));
                self.add(to, Between { from, peak, overhead, region });
            }
        }
    }

    fn add(&mut self, to: usize, between: Between) {
        let (peak, overhead) = self.least[between.from];
        let all = (between.peak.max(peak), between.overhead.saturating_add(overhead));
        self.least[to] = self.least[to].min(all);
        self.tried[to].push(between);
    }

    /// The axes of the largest tensor that is made in a range, with units.
    fn seeds(&self, range: &Range<usize>) -> Vec<(TensorId, usize, u64)> {
        let network = self.lives.network;
        let made = range.clone().flat_map(|node| network.made(node));
        let largest = made.max_by_key(|id| (network.sizes[id.index()], std::cmp::Reverse(*id)));
        let Some((seed, dims)) = largest.and_then(|id| Some((id, network.shapes.dims(id)?))) else {
            return Vec::new();
        };
        // Heads that an axis is cut into later on, windows that it came from.
        let others = range.clone().flat_map(|node| network.made(node));
        let others = others.filter_map(|id| network.shapes.dims(id)).flatten().copied();
        let others: BTreeSet<u64> = others.filter(|other| *other > 1).collect();
        let mut seeds = Vec::new();
        for (axis, length) in dims.iter().enumerate().filter(|(_, length)| **length > 1) {
            let divides = |units: &&u64| *units < length && length.is_multiple_of(**units);
            let coarse = others.iter().rev().filter(divides).copied().take(MOST_UNITS - 1);
            let units = std::iter::once(*length).chain(coarse);
            seeds.extend(units.map(|units| (seed, axis, units)));
        }
        seeds
    }

    /// The regions of the sequence with the least overhead whose peak is at most a limit.
    fn cheapest(self, limit: u64) -> Vec<(Region, u64)> {
        let mut cheapest: Vec<Option<(u64, usize)>> = vec![None; self.cuts.len()];
        cheapest[0] = Some((0, 0));
        for to in 1..self.cuts.len() {
            for (index, between) in self.tried[to].iter().enumerate() {
                let Some((before, _)) = cheapest[between.from] else { continue };
                let overhead = before + between.overhead;
                let is_less = cheapest[to].is_none_or(|(known, _)| overhead < known);
                if between.peak <= limit && is_less {
                    cheapest[to] = Some((overhead, index));
                }
            }
        }
        let (mut at, mut regions) = (self.cuts.len() - 1, Vec::new());
        while let (Some((_, index)), true) = (cheapest[at], at > 0) {
            let Between { from, region, .. } = &self.tried[at][index];
            regions.extend(region.iter().map(|(region, parts)| ((**region).clone(), *parts)));
            at = *from;
        }
        regions.reverse();
        regions
    }
}

/// Where a model is cut: at its ends, and at both ends of where fewer bytes are alive than before and behind.
fn cuts(alive: &[u64]) -> Vec<usize> {
    let last = alive.len() - 1;
    let mut cuts = vec![0];
    let mut at = 1;
    while at < last {
        let end = (at..last).find(|next| alive[next + 1] != alive[at]).unwrap_or(last);
        if alive[at] < alive[at - 1] || (end < last && alive[end] < alive[end + 1]) {
            cuts.extend([at, end]);
        }
        at = end + 1;
    }
    cuts.push(last);
    cuts.dedup();
    cuts.retain(|cut| *cut <= last);
    cuts
}

/// The overhead of nodes as they are, but for copies and weights, which are there whatever is done.
fn plain_overhead(range: &Range<usize>) -> u64 {
    NODE * range.len() as u64
}
