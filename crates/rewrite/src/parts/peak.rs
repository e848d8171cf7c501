//! How much memory a range of a model's nodes takes, nearly: as they are, or with a region of them in parts.
//!
//! ```text
//! before    nodes of the range that do not depend on the region, one after the other
//! region    what it reads, all that it makes for others, and a part of what is inside
//! behind    the other nodes of the range
//! ```
//!
//! A part of an operand that lies in one run of bytes is a view; any other is a copy. What is made in parts along an
//! inner axis is there twice when it is put together. Whether a result takes over an operand of its size part by part
//! depends on who makes it last and on the plan: a search looks both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use plimsoll_model::{ModelNode, TensorId};

use super::needs::Need;
use super::region::{Network, Region, read};
use super::storage::is_run;
use crate::estimate::takes_over;

/// Into how many parts a part is cut that is cut later on.
const DEEP: u64 = 16;

/// How a search looks at regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Results of regions take over operands part by part.
    pub(crate) in_place: bool,
    /// Parts are cut into parts later on.
    pub(crate) deep: bool,
}

/// A model's order with what is alive where.
pub(super) struct Lives<'a> {
    pub(super) network: &'a Network<'a>,
    look: Look,
    /// By root, the first node that makes a part of it.
    first: Vec<usize>,
    /// By root, the last node that reads it; for outputs one behind all.
    last: Vec<usize>,
    /// The bytes alive before each node, and behind the last.
    pub(super) alive: Vec<u64>,
}

/// By root, the places in an order at which it is touched first and last.
type Touched = BTreeMap<TensorId, [usize; 2]>;

impl<'a> Lives<'a> {
    pub(super) fn new(network: &'a Network<'a>, look: Look) -> Self {
        let count = network.shapes.model.body.nodes.len();
        let (mut first, mut last) =
            (vec![usize::MAX; network.sizes.len()], vec![0; network.sizes.len()]);
        for id in 0..network.sizes.len() {
            let (root, Some(maker)) = (network.roots[id].index(), network.maker[id]) else {
                continue;
            };
            first[root] = first[root].min(maker);
            let end = network.readers[id].last().copied().unwrap_or(maker);
            last[root] = last[root].max(if network.is_output[id] { count } else { end });
        }
        let mut change = vec![0i64; count + 2];
        for (id, first) in first.iter().enumerate().filter(|(_, first)| **first != usize::MAX) {
            let bytes = network.bytes(TensorId::new(id)).cast_signed();
            change[first + 1] += bytes;
            change[last[id] + 1] -= bytes;
        }
        let mut now = 0;
        let mut alive = Vec::with_capacity(count + 1);
        for change in &change[..=count] {
            now += change;
            alive.push(now.cast_unsigned());
        }
        Lives { network, look, first, last, alive }
    }

    /// The most bytes that are alive at once while nodes run as they are.
    pub(super) fn plain(&self, range: &Range<usize>) -> u64 {
        let nodes: Vec<usize> = range.clone().collect();
        let touched = self.touched(&nodes, None);
        let mut live = self.alive[range.start];
        self.one_by_one((&nodes, 0), range, &touched, &mut live)
    }

    /// The most bytes that are alive at once while a region runs in parts, and all other nodes of the range before it
    /// and behind it; for several numbers of parts.
    pub(super) fn in_parts(
        &self,
        range: &Range<usize>,
        region: &Region,
        parts: &[u64],
    ) -> Vec<u64> {
        let (before, behind) = self.around(range, region);
        let order: Vec<usize> = before.iter().chain(&behind).copied().collect();
        let place = before.len();
        let touched = self.touched(&order, Some((place, region)));
        let mut live = self.alive[range.start];
        let rest = self.one_by_one((&before, 0), range, &touched, &mut live);
        let start = live;
        let outputs = self.network.outputs(region);
        let at = |end: usize| {
            touched.iter().filter(move |(_, places)| places[end] == place).map(|(root, _)| *root)
        };
        let born: BTreeSet<TensorId> = at(0).filter(|root| self.is_born(*root, range)).collect();
        let dying: BTreeSet<TensorId> = at(1).filter(|root| self.is_dying(*root, range)).collect();
        live += self.bytes(&born);
        let outside = live;
        live -= self.bytes(&dying);
        let inner = outputs.iter().filter(|id| !self.is_run(**id, region.axes[*id]));
        let twice = inner.map(|id| live + self.network.sizes[id.index()]).max().unwrap_or(0);
        let rest = rest.max(twice).max(start);
        let rest = rest.max(self.one_by_one((&behind, place + 1), range, &touched, &mut live));
        let inside = self.inside(region, &outputs);
        let inside = if self.look.deep { inside / DEEP } else { inside };
        let taken = if self.look.in_place { self.taken(region, &outputs, &dying) } else { 0 };
        let part = |bytes: u64, parts: u64| bytes * region.units.div_ceil(parts) / region.units;
        let peak = |parts: &u64| outside - taken + part(inside + taken, *parts);
        parts.iter().map(|parts| rest.max(peak(parts))).collect()
    }

    fn is_born(&self, root: TensorId, range: &Range<usize>) -> bool {
        range.contains(&self.first[root.index()])
    }

    fn is_dying(&self, root: TensorId, range: &Range<usize>) -> bool {
        self.last[root.index()] < range.end
    }

    fn bytes<'t>(&self, roots: impl IntoIterator<Item = &'t TensorId>) -> u64 {
        roots.into_iter().map(|root| self.network.bytes(*root)).sum()
    }

    /// How many bytes results of a region could take over part by part.
    fn taken(
        &self,
        region: &Region,
        outputs: &BTreeSet<TensorId>,
        dying: &BTreeSet<TensorId>,
    ) -> u64 {
        let is_whole = |id: &TensorId| {
            let axis = region.axes.get(id);
            axis.is_some_and(|axis| self.is_run(*id, *axis))
                && self.network.roots[id.index()] == *id
        };
        let inputs = self.network.inputs(region);
        let gone = inputs.iter().filter(|id| dying.contains(id) && is_whole(id));
        let mut gone: Vec<u64> = gone.map(|id| self.network.bytes(*id)).collect();
        let mut taken = 0;
        for id in outputs.iter().filter(|id| is_whole(id)) {
            let bytes = self.network.bytes(*id);
            if let Some(at) = gone.iter().position(|gone| *gone >= bytes) {
                taken += bytes;
                gone.swap_remove(at);
            }
        }
        taken
    }

    /// The nodes of a range that run before a region, and those that run behind it.
    fn around(&self, range: &Range<usize>, region: &Region) -> (Vec<usize>, Vec<usize>) {
        let mut late: BTreeSet<usize> = BTreeSet::new();
        for node in range.clone().filter(|node| !region.nodes.contains(node)) {
            let read = read(self.node(node));
            let mut makers = read.iter().filter_map(|id| self.network.maker[id.index()]);
            if makers.any(|maker| region.nodes.contains(&maker) || late.contains(&maker)) {
                late.insert(node);
            }
        }
        let others = range.clone().filter(|node| !region.nodes.contains(node));
        others.partition(|node| !late.contains(node))
    }

    fn node(&self, node: usize) -> &ModelNode {
        &self.network.shapes.model.body.nodes[node]
    }

    /// The storage that a node touches, with bytes of ours.
    fn touches(&self, node: usize) -> Vec<TensorId> {
        let ids = read(self.node(node)).into_iter().chain(self.network.made(node));
        let mut roots: Vec<TensorId> = ids.map(|id| self.network.roots[id.index()]).collect();
        roots.retain(|root| self.network.bytes(*root) > 0);
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// When what is touched in an order. A region has the place behind so many nodes.
    fn touched(&self, order: &[usize], region: Option<(usize, &Region)>) -> Touched {
        let mut touched = Touched::new();
        let mut touch = |root: TensorId, place: usize| {
            let [first, last] = touched.entry(root).or_insert([place; 2]);
            (*first, *last) = (place.min(*first), place.max(*last));
        };
        let behind = |at: usize| usize::from(region.is_some_and(|(place, _)| at >= place));
        for (at, node) in order.iter().enumerate() {
            self.touches(*node).into_iter().for_each(|root| touch(root, at + behind(at)));
        }
        if let Some((place, region)) = region {
            let (inputs, outputs) = (self.network.inputs(region), self.network.outputs(region));
            let roots = inputs.union(&outputs).map(|id| self.network.roots[id.index()]);
            roots.filter(|id| self.network.bytes(*id) > 0).for_each(|root| touch(root, place));
        }
        touched
    }

    /// Runs nodes one by one; the first has that place.
    fn one_by_one(
        &self,
        (nodes, place): (&[usize], usize),
        range: &Range<usize>,
        touched: &Touched,
        live: &mut u64,
    ) -> u64 {
        let mut most = *live;
        for (at, index) in nodes.iter().enumerate() {
            let roots = self.touches(*index);
            let is_at = |root: &TensorId, end: usize| {
                touched.get(root).is_some_and(|places| places[end] == place + at)
            };
            let born = |root: &&TensorId| is_at(root, 0) && self.is_born(**root, range);
            let made = self.bytes(roots.iter().filter(born));
            let dies = |root: &&TensorId| is_at(root, 1) && self.is_dying(**root, range);
            let dying: Vec<TensorId> = roots.iter().filter(dies).copied().collect();
            most = most.max(*live + made - self.taken_over(*index, made, &dying));
            *live += made;
            *live -= self.bytes(&dying);
        }
        most
    }

    /// How much of what a node makes takes over what it reads last.
    fn taken_over(&self, node: usize, made: u64, dying: &[TensorId]) -> u64 {
        let sizes = dying.iter().map(|id| self.network.sizes[id.index()]);
        let taken = sizes.filter(|size| *size >= made).min();
        taken.filter(|_| takes_over(self.node(node))).map_or(0, |taken| taken.min(made))
    }

    /// The most bytes alive at once inside of a region, if it ran in one part.
    fn inside(&self, region: &Region, outputs: &BTreeSet<TensorId>) -> u64 {
        let network = self.network;
        let is_own = |id: TensorId| {
            let maker = network.maker[id.index()];
            maker.is_some_and(|maker| region.nodes.contains(&maker)) && !outputs.contains(&id)
        };
        // A part of what comes from outside is a copy, unless it is one run of bytes.
        let mut spans: BTreeMap<TensorId, [usize; 2]> = BTreeMap::new();
        let mut touch = |id: TensorId, at: usize| {
            let root = network.roots[id.index()];
            let id = if is_own(root) { root } else { id };
            if network.sizes[id.index()] > 0 && !outputs.contains(&id) {
                spans.entry(id).or_insert([at; 2])[1] = at;
            }
        };
        for index in &region.nodes {
            for (input, need) in self.node(*index).inputs.iter().zip(network.needs(region, *index))
            {
                let (Some(id), Need::Part(axis)) = (*input, need) else { continue };
                if is_own(id) || !self.is_run(id, axis) {
                    touch(id, *index);
                }
            }
            network.made(*index).for_each(|id| touch(id, *index));
        }
        let (mut live, mut most) = (0, 0);
        for index in &region.nodes {
            let at = |end: usize| {
                spans.iter().filter(move |(_, span)| span[end] == *index).map(|(id, _)| *id)
            };
            let made: u64 = at(0).map(|id| network.sizes[id.index()]).sum();
            let dying: Vec<TensorId> = at(1).collect();
            most = most.max(live + made - self.taken_over(*index, made, &dying));
            live += made;
            live -= dying.iter().map(|id| network.sizes[id.index()]).sum::<u64>();
        }
        most
    }

    fn is_run(&self, id: TensorId, axis: usize) -> bool {
        is_run(self.network.shapes, id, axis)
    }
}
