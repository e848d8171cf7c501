//! Regions: nodes that are computed together, one part after the other, and how they are found.
//!
//! A region begins with a large tensor and an axis of it. It grows by the nodes that make what it reads in parts, and
//! by those that read what it makes, as long as little passes its boundary: what is inside is there in parts only,
//! what passes is there as a whole. It stays convex: nothing that it makes comes back into it from outside.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{Origin, TensorId};

use super::needs::{Need, Shapes};

/// So many nodes are added in the hope that less passes the boundary again.
const PATIENCE: usize = 16;

/// The most nodes of a region.
const MOST_NODES: usize = 160;

/// The most parts that a region is computed in.
const MOST_PARTS: u64 = 64;

/// Nodes that are computed in parts.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// Sorted.
    pub(super) nodes: BTreeSet<usize>,
    /// The axis of every tensor that is there in parts.
    pub(super) axes: BTreeMap<TensorId, usize>,
    /// In how many units each of these axes is cut.
    pub(super) units: u64,
    /// What passes its boundary.
    cost: Cost,
    /// The two largest tensors inside.
    inside: u64,
}

/// What passes the boundary of a region: bytes, and how many tensors are not whole in memory where they are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    bytes: u64,
    inner: usize,
}

/// A model with who makes and who reads each tensor.
pub(super) struct Network<'a> {
    pub(super) shapes: &'a Shapes<'a>,
    /// By tensor.
    pub(super) bytes: Vec<u64>,
    maker: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
    is_output: Vec<bool>,
    /// Nodes that belong to regions already.
    pub(super) taken: Vec<bool>,
}

impl Region {
    /// About how much memory it takes in so many parts.
    fn estimate(&self, parts: u64) -> u64 {
        self.cost.bytes + self.inside.div_ceil(parts)
    }

    /// In how many parts it is to be computed to take so much, or as little as it can.
    pub(super) fn parts(&self, target: u64) -> u64 {
        let most = self.units.min(MOST_PARTS);
        let wanted = (2..most).find(|parts| self.estimate(*parts) <= target);
        wanted.unwrap_or(most)
    }

    /// How much it takes at least.
    fn least(&self) -> u64 {
        self.estimate(self.units.min(MOST_PARTS))
    }
}

impl<'a> Network<'a> {
    pub(super) fn new(shapes: &'a Shapes<'a>, bytes: Vec<u64>) -> Self {
        let nodes = &shapes.model.body.nodes;
        let count = shapes.model.tensors.len();
        let (mut maker, mut readers) = (vec![None; count], vec![Vec::new(); count]);
        for (index, node) in nodes.iter().enumerate() {
            node.outputs.iter().flatten().for_each(|id| maker[id.index()] = Some(index));
            node.inputs.iter().flatten().for_each(|id| readers[id.index()].push(index));
        }
        let mut is_output = vec![false; count];
        shapes.model.body.outputs.iter().for_each(|id| is_output[id.index()] = true);
        Network { shapes, bytes, maker, readers, is_output, taken: vec![false; nodes.len()] }
    }

    /// The region around a tensor that takes the least.
    pub(super) fn around(&self, seed: TensorId) -> Option<Region> {
        let dims = self.shapes.dims(seed)?.to_vec();
        let axes = (0..dims.len()).filter(|axis| dims[*axis] > 1);
        let found = axes.filter_map(|axis| self.grown(seed, axis, dims[axis]));
        found.min_by_key(|region| (region.least(), region.cost))
    }

    /// The region around an axis of a tensor, as large as it should be.
    fn grown(&self, seed: TensorId, axis: usize, units: u64) -> Option<Region> {
        let mut region = self.begun(seed, axis, units)?;
        let mut best = region.clone();
        let mut patience = PATIENCE;
        while patience > 0 && region.nodes.len() < MOST_NODES {
            let next = self.neighbours(&region).into_iter();
            let grown = next.filter_map(|node| self.with(&region, node));
            let Some(next) = grown.min_by_key(|region| region.cost) else { break };
            region = next;
            if region.cost <= best.cost {
                best = region.clone();
                patience = PATIENCE;
            } else {
                patience -= 1;
            }
        }
        Some(best)
    }

    /// The node that makes a tensor, and all that read it.
    fn begun(&self, seed: TensorId, axis: usize, units: u64) -> Option<Region> {
        let mut region = Region {
            nodes: BTreeSet::new(),
            axes: BTreeMap::from([(seed, axis)]),
            units,
            cost: Cost { bytes: 0, inner: 0 },
            inside: 0,
        };
        let maker = self.maker[seed.index()]?;
        if self.is_output[seed.index()] {
            return None;
        }
        for node in self.readers[seed.index()].iter().copied().chain([maker]) {
            region = self.joined(&region, node)?;
        }
        self.settled(region)
    }

    /// Nodes that make what a region reads in parts, or read what it makes.
    fn neighbours(&self, region: &Region) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for id in region.axes.keys() {
            found.extend(self.maker[id.index()]);
            found.extend(&self.readers[id.index()]);
        }
        found.retain(|node| !region.nodes.contains(node) && !self.taken[*node]);
        found
    }

    fn with(&self, region: &Region, node: usize) -> Option<Region> {
        self.settled(self.joined(region, node)?)
    }

    /// The region with one more node, if that is computed in the same units.
    fn joined(&self, region: &Region, index: usize) -> Option<Region> {
        if region.nodes.contains(&index) {
            return Some(region.clone());
        }
        let node = &self.shapes.model.body.nodes[index];
        let outputs: Vec<TensorId> = node.outputs.iter().copied().collect::<Option<_>>()?;
        let first = *outputs.first()?;
        let dims = self.shapes.dims(first)?;
        let known = outputs.iter().find_map(|id| region.axes.get(id).copied());
        let candidates = match known {
            Some(axis) => axis..axis + 1,
            None => 0..dims.len(),
        };
        let divides =
            |axis: &usize| dims[*axis] >= region.units && dims[*axis].is_multiple_of(region.units);
        candidates.filter(divides).find_map(|axis| {
            let needs = self.shapes.needs(node, axis, region.units)?;
            self.labelled(region, index, axis, &outputs, &needs)
        })
    }

    /// The region with a node whose results are cut along an axis, if what it needs agrees with what is there.
    fn labelled(
        &self,
        region: &Region,
        index: usize,
        axis: usize,
        outputs: &[TensorId],
        needs: &[Need],
    ) -> Option<Region> {
        let node = &self.shapes.model.body.nodes[index];
        let mut grown = region.clone();
        let mut meets = outputs.iter().any(|id| region.axes.contains_key(id));
        for id in outputs {
            if *grown.axes.entry(*id).or_insert(axis) != axis {
                return None;
            }
        }
        for (input, need) in node.inputs.iter().zip(needs) {
            let Some(id) = *input else { continue };
            match (need, grown.axes.get(&id).copied()) {
                (Need::Part(own), Some(there)) if *own == there => meets = true,
                (Need::Part(own), None) => {
                    let length = self.shapes.dims(id)?[*own];
                    if !length.is_multiple_of(region.units) {
                        return None;
                    }
                    grown.axes.insert(id, *own);
                }
                (Need::Part(_) | Need::Whole, Some(_)) => return None,
                (Need::Whole, None) => {}
            }
        }
        grown.nodes.insert(index);
        meets.then_some(grown)
    }

    /// The region with its cost, if it is convex.
    fn settled(&self, mut region: Region) -> Option<Region> {
        if region.nodes.iter().any(|node| self.taken[*node]) || !self.is_convex(&region) {
            return None;
        }
        let (inputs, outputs) = (self.inputs(&region), self.outputs(&region));
        let is_counted = |id: &TensorId| self.maker[id.index()].is_some();
        let passing: BTreeSet<TensorId> =
            inputs.union(&outputs).copied().filter(is_counted).collect();
        let is_inner = |id: &&TensorId| {
            let cut = region.axes.get(id);
            cut.is_some_and(|axis| {
                let dims = self.shapes.dims(**id).unwrap_or_default();
                dims[..*axis].iter().any(|dim| *dim != 1)
            })
        };
        let inner = passing.iter().filter(is_inner).count();
        let bytes = passing.iter().map(|id| self.bytes[id.index()]).sum();
        region.cost = Cost { bytes, inner };
        let inside =
            region.nodes.iter().flat_map(|node| &self.shapes.model.body.nodes[*node].outputs);
        let inside = inside.flatten().filter(|id| !passing.contains(id));
        let mut sizes: Vec<u64> = inside.map(|id| self.bytes[id.index()]).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        region.inside = sizes.iter().take(2).sum();
        Some(region)
    }

    /// What a region reads and does not make.
    pub(super) fn inputs(&self, region: &Region) -> BTreeSet<TensorId> {
        let nodes = region.nodes.iter().map(|node| &self.shapes.model.body.nodes[*node]);
        let read = nodes.flat_map(|node| node.inputs.iter().flatten().copied());
        read.filter(|id| self.maker[id.index()].is_none_or(|node| !region.nodes.contains(&node)))
            .collect()
    }

    /// What a region makes that others read, or that is an output.
    pub(super) fn outputs(&self, region: &Region) -> BTreeSet<TensorId> {
        let nodes = region.nodes.iter().map(|node| &self.shapes.model.body.nodes[*node]);
        let made = nodes.flat_map(|node| node.outputs.iter().flatten().copied());
        let leaves = |id: &TensorId| {
            let index = id.index();
            self.is_output[index]
                || self.readers[index].iter().any(|node| !region.nodes.contains(node))
        };
        made.filter(leaves).collect()
    }

    /// Whether nothing that a region makes comes back into it from outside.
    fn is_convex(&self, region: &Region) -> bool {
        let Some(last) = region.nodes.last() else { return true };
        let outside = self.inputs(region);
        let makers: BTreeSet<usize> =
            outside.iter().filter_map(|id| self.maker[id.index()]).collect();
        let mut open: Vec<usize> = Vec::new();
        let mut seen = BTreeSet::new();
        let next = |id: &TensorId, open: &mut Vec<usize>, seen: &mut BTreeSet<usize>| {
            for node in &self.readers[id.index()] {
                if *node < *last && !region.nodes.contains(node) && seen.insert(*node) {
                    open.push(*node);
                }
            }
        };
        self.outputs(region).iter().for_each(|id| next(id, &mut open, &mut seen));
        while let Some(node) = open.pop() {
            if makers.contains(&node) {
                return false;
            }
            let made = self.shapes.model.body.nodes[node].outputs.iter().flatten();
            made.for_each(|id| next(id, &mut open, &mut seen));
        }
        true
    }

    /// Whether a tensor is made by a node.
    pub(super) fn is_made(&self, id: TensorId) -> bool {
        self.shapes.model.tensor(id).origin == Origin::Node
    }
}
