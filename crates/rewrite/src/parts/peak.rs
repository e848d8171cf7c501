//! How much memory a range of a model's nodes takes, nearly: as they are, or with a region of them in parts.
//!
//! ```text
//! before    nodes of the range that do not depend on the region, one after the other
//! region    what it reads, all that it makes for others, and a part of what is inside
//! behind    the other nodes of the range
//! ```
//!
//! A part of an operand that lies in one run of bytes is a view; any other is a copy. What is made in parts along an
//! inner axis is there twice when it is put together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use plimsoll_model::TensorId;

use super::needs::Need;
use super::region::{Network, Region, read};
use crate::estimate::takes_over;

/// A model's order with what is alive where.
pub(super) struct Lives<'a> {
    pub(super) network: &'a Network<'a>,
    /// By tensor, the last node that reads it; for outputs one behind all.
    last: Vec<usize>,
    /// The bytes alive before each node, and behind the last.
    pub(super) alive: Vec<u64>,
}

impl<'a> Lives<'a> {
    pub(super) fn new(network: &'a Network<'a>) -> Self {
        let count = network.shapes.model.body.nodes.len();
        let last = |id: usize| {
            let last = network.readers[id].last().copied().unwrap_or(0);
            let last = last.max(network.maker[id].unwrap_or(0));
            if network.is_output[id] { count } else { last }
        };
        let last: Vec<usize> = (0..network.bytes.len()).map(last).collect();
        let mut change = vec![0i64; count + 2];
        for (id, bytes) in network.bytes.iter().enumerate() {
            let Some(maker) = network.maker[id] else { continue };
            change[maker + 1] += bytes.cast_signed();
            change[last[id] + 1] -= bytes.cast_signed();
        }
        let mut now = 0;
        let mut alive = Vec::with_capacity(count + 1);
        for change in &change[..=count] {
            now += change;
            alive.push(now.cast_unsigned());
        }
        Lives { network, last, alive }
    }

    /// The most bytes that are alive at once while nodes run as they are.
    pub(super) fn plain(&self, range: &Range<usize>) -> u64 {
        let nodes: Vec<usize> = range.clone().collect();
        let ends = self.ends(&nodes, None, range);
        let mut live = self.alive[range.start];
        self.one_by_one(&nodes, &ends, 0, &mut live)
    }

    /// The most bytes that are alive at once while a region runs in so many parts, and all other nodes of the range
    /// before it and behind it; for several numbers of parts.
    pub(super) fn in_parts(
        &self,
        range: &Range<usize>,
        region: &Region,
        parts: &[u64],
    ) -> Vec<u64> {
        let (before, behind) = self.around(range, region);
        let order: Vec<usize> = before.iter().chain(&behind).copied().collect();
        let ends = self.ends(&order, Some((before.len(), region)), range);
        let mut live = self.alive[range.start];
        let first = self.one_by_one(&before, &ends, 0, &mut live);
        let start = live;
        let outputs = self.network.outputs(region);
        live += self.bytes(outputs.iter());
        let dying = |id: &&TensorId| ends.get(id) == Some(&before.len());
        live -= self.bytes(self.network.inputs(region).iter().filter(dying));
        let inner = outputs.iter().filter(|id| !self.is_run(**id, region.axes[*id]));
        let twice = inner.map(|id| self.network.bytes[id.index()]).max().unwrap_or(0);
        let twice = if twice == 0 { 0 } else { live + twice };
        let last = self.one_by_one(&behind, &ends, before.len() + 1, &mut live);
        let rest = first.max(last).max(twice);
        let outside = start + self.bytes(outputs.iter());
        let inside = self.inside(region, &outputs);
        let part = |parts: &u64| inside * region.units.div_ceil(*parts) / region.units;
        parts.iter().map(|parts| rest.max(outside + part(parts))).collect()
    }

    fn bytes<'t>(&self, ids: impl Iterator<Item = &'t TensorId>) -> u64 {
        ids.map(|id| self.network.bytes[id.index()]).sum()
    }

    /// The nodes of a range that run before a region, and those that run behind it.
    fn around(&self, range: &Range<usize>, region: &Region) -> (Vec<usize>, Vec<usize>) {
        let mut late: BTreeSet<usize> = BTreeSet::new();
        for node in range.clone().filter(|node| !region.nodes.contains(node)) {
            let read = read(&self.network.shapes.model.body.nodes[node]);
            let mut makers = read.iter().filter_map(|id| self.network.maker[id.index()]);
            if makers.any(|maker| region.nodes.contains(&maker) || late.contains(&maker)) {
                late.insert(node);
            }
        }
        range
            .clone()
            .filter(|node| !region.nodes.contains(node))
            .partition(|node| !late.contains(node))
    }

    /// By tensor that dies in a range, the place in an order at which it is read last. A region has the place behind
    /// so many nodes.
    fn ends(
        &self,
        order: &[usize],
        region: Option<(usize, &Region)>,
        range: &Range<usize>,
    ) -> BTreeMap<TensorId, usize> {
        let mut ends = BTreeMap::new();
        let mut ends_at = |id: TensorId, place: usize| {
            if self.last[id.index()] < range.end && self.network.bytes[id.index()] > 0 {
                let end = ends.entry(id).or_insert(place);
                *end = place.max(*end);
            }
        };
        let skip = |at: usize| match region {
            Some((before, _)) if at >= before => at + 1,
            _ => at,
        };
        for (at, node) in order.iter().enumerate() {
            let ids = read(&self.network.shapes.model.body.nodes[*node]);
            ids.into_iter().chain(self.network.made(*node)).for_each(|id| ends_at(id, skip(at)));
        }
        if let Some((place, region)) = region {
            self.network.inputs(region).into_iter().for_each(|id| ends_at(id, place));
        }
        ends
    }

    /// Runs nodes one by one; the first has that place.
    fn one_by_one(
        &self,
        nodes: &[usize],
        ends: &BTreeMap<TensorId, usize>,
        place: usize,
        live: &mut u64,
    ) -> u64 {
        let mut most = *live;
        for (at, index) in nodes.iter().enumerate() {
            let node = &self.network.shapes.model.body.nodes[*index];
            let made: Vec<TensorId> = self.network.made(*index).collect();
            let mut touched = read(node);
            touched.extend(&made);
            touched.sort_unstable();
            touched.dedup();
            let made = self.bytes(made.iter());
            let is_dying = |id: &&TensorId| ends.get(id) == Some(&(place + at));
            let dying: Vec<TensorId> = touched.iter().filter(is_dying).copied().collect();
            let sizes = dying.iter().map(|id| self.network.bytes[id.index()]);
            let taken =
                if takes_over(node) { sizes.filter(|size| *size >= made).min() } else { None };
            most = most.max(*live + made - taken.map_or(0, |taken| taken.min(made)));
            *live += made;
            *live -= self.bytes(dying.iter());
        }
        most
    }

    /// The most bytes alive at once inside of a region, if it ran in one part.
    fn inside(&self, region: &Region, outputs: &BTreeSet<TensorId>) -> u64 {
        let network = self.network;
        let mut until: BTreeMap<TensorId, usize> = BTreeMap::new();
        let mut copied: BTreeMap<TensorId, usize> = BTreeMap::new();
        for index in &region.nodes {
            let node = &network.shapes.model.body.nodes[*index];
            until.extend(network.made(*index).map(|id| (id, *index)));
            for (input, need) in node.inputs.iter().zip(network.needs(region, *index)) {
                let (Some(id), Need::Part(axis)) = (*input, need) else { continue };
                let own = until.contains_key(&id);
                if own || !self.is_run(id, axis) {
                    until.insert(id, *index);
                }
                if !own && !self.is_run(id, axis) {
                    copied.entry(id).or_insert(*index);
                }
            }
        }
        until.retain(|id, _| !outputs.contains(id));
        let (mut live, mut most) = (0, 0);
        for index in &region.nodes {
            let node = &network.shapes.model.body.nodes[*index];
            let cut = copied.iter().filter(|(_, first)| *first == index).map(|(id, _)| id);
            live += self.bytes(cut);
            let made = network.made(*index).filter(|id| until.contains_key(id));
            let made: u64 = made.map(|id| network.bytes[id.index()]).sum();
            let dying: BTreeSet<TensorId> = node.inputs.iter().flatten().copied().collect();
            let dying = dying.into_iter().chain(network.made(*index));
            let dying: Vec<TensorId> = dying.filter(|id| until.get(id) == Some(index)).collect();
            let sizes = dying.iter().map(|id| network.bytes[id.index()]);
            let taken =
                if takes_over(node) { sizes.filter(|size| *size >= made).min() } else { None };
            most = most.max(live + made - taken.map_or(0, |taken| taken.min(made)));
            live += made;
            live -= self.bytes(dying.iter());
        }
        most
    }

    /// Whether a part along an axis is one run of bytes.
    fn is_run(&self, id: TensorId, axis: usize) -> bool {
        let dims = self.network.shapes.dims(id).unwrap_or_default();
        dims.iter().take(axis).all(|dim| *dim == 1)
    }
}
