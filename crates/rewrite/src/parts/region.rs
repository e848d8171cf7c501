//! Regions: nodes that are computed together, one part after the other, and how they are found.
//!
//! A region begins with a tensor, an axis of it, and a number of units that the axis is cut into. It grows within a
//! range of the model's order by all nodes that can be computed in the same units: those that make what it reads in
//! parts, and those that read what it makes. What is inside is there in parts only; what passes its boundary is there
//! as a whole. It stays convex: nothing that it makes comes back into it from outside.
//!
//! Cost: each node of the range is asked once for every tensor by which it is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use plimsoll_model::TensorId;

use super::needs::{Need, Shapes};
use super::storage::roots;
use crate::overhead::NODE;

/// Nodes that are computed in parts.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// Sorted.
    pub(super) nodes: BTreeSet<usize>,
    /// The axis of every tensor that is there in parts, or is read in parts.
    pub(super) axes: BTreeMap<TensorId, usize>,
    /// In how many units each of these axes is cut.
    pub(super) units: u64,
    /// What is read as a whole.
    wholes: BTreeSet<TensorId>,
}

/// A model with who makes and who reads each tensor.
pub(super) struct Network<'a> {
    pub(super) shapes: &'a Shapes<'a>,
    /// By tensor; nothing for what is static or comes from outside.
    pub(super) sizes: Vec<u64>,
    /// By tensor; nothing for what is not static.
    pub(super) stored: Vec<u64>,
    /// By tensor, the one whose bytes it lies in.
    pub(super) roots: Vec<TensorId>,
    pub(super) maker: Vec<Option<usize>>,
    pub(super) readers: Vec<Vec<usize>>,
    pub(super) is_output: Vec<bool>,
}

impl<'a> Network<'a> {
    /// Sizes are by tensor.
    pub(super) fn new(shapes: &'a Shapes<'a>, mut sizes: Vec<u64>, stored: Vec<u64>) -> Self {
        let nodes = &shapes.model.body.nodes;
        let count = shapes.model.tensors.len();
        let (mut maker, mut readers) = (vec![None; count], vec![Vec::new(); count]);
        for (index, node) in nodes.iter().enumerate() {
            node.outputs.iter().flatten().for_each(|id| maker[id.index()] = Some(index));
            for id in read(node) {
                if readers[id.index()].last() != Some(&index) {
                    readers[id.index()].push(index);
                }
            }
        }
        for (size, maker) in sizes.iter_mut().zip(&maker) {
            *size = maker.map_or(0, |_| *size);
        }
        let mut is_output = vec![false; count];
        shapes.model.body.outputs.iter().for_each(|id| is_output[id.index()] = true);
        let is_made: Vec<bool> = sizes.iter().map(|size| *size > 0).collect();
        let roots = roots(shapes, &is_output, &is_made);
        Network { shapes, sizes, stored, roots, maker, readers, is_output }
    }

    /// How many bytes a tensor has of its own.
    pub(super) fn bytes(&self, id: TensorId) -> u64 {
        if self.roots[id.index()] == id { self.sizes[id.index()] } else { 0 }
    }

    /// What is made by a node.
    pub(super) fn made(&self, node: usize) -> impl Iterator<Item = TensorId> {
        self.shapes.model.body.nodes[node].outputs.iter().flatten().copied()
    }

    /// The largest region within a range of nodes around an axis of a tensor that is made there.
    pub(super) fn within(
        &self,
        range: &Range<usize>,
        seed: TensorId,
        axis: usize,
        units: u64,
    ) -> Option<Region> {
        let labels = BTreeMap::from([(seed, axis)]);
        let mut region =
            Region { nodes: BTreeSet::new(), axes: labels, units, wholes: BTreeSet::new() };
        let mut open = vec![seed];
        while let Some(id) = open.pop() {
            let readers = self.readers[id.index()].iter().copied();
            for node in self.maker[id.index()].into_iter().chain(readers) {
                if range.contains(&node) && !region.nodes.contains(&node) {
                    open.extend(self.join(&mut region, node));
                }
            }
        }
        self.make_convex(&mut region, range);
        let maker = self.maker[seed.index()]?;
        region.nodes.contains(&maker).then_some(region)
    }

    /// Adds a node that is computed in the same units. Returns the tensors that are newly there in parts.
    fn join(&self, region: &mut Region, index: usize) -> Vec<TensorId> {
        let node = &self.shapes.model.body.nodes[index];
        let outputs: Option<Vec<TensorId>> = node.outputs.iter().copied().collect();
        let Some(outputs) = outputs.filter(|outputs| !outputs.is_empty()) else {
            return Vec::new();
        };
        let Some(dims) = self.shapes.dims(outputs[0]) else { return Vec::new() };
        let known = outputs.iter().find_map(|id| region.axes.get(id).copied());
        let candidates = known.map_or(0..dims.len(), |axis| axis..axis + 1);
        let units = region.units;
        for axis in candidates.filter(|axis| is_cut(dims[*axis], units)) {
            let needs = self.shapes.needs(node, axis, units);
            if let Some(new) = needs.and_then(|needs| self.label(region, index, axis, &needs)) {
                return new;
            }
        }
        Vec::new()
    }

    /// Adds a node whose results are cut along an axis, if what it needs agrees with what is there.
    fn label(
        &self,
        region: &mut Region,
        index: usize,
        axis: usize,
        needs: &[Need],
    ) -> Option<Vec<TensorId>> {
        let node = &self.shapes.model.body.nodes[index];
        let mut meets = false;
        let mut labels: Vec<(TensorId, usize)> = Vec::new();
        for id in self.made(index) {
            if region.wholes.contains(&id) {
                return None;
            }
            labels.push((id, axis));
        }
        let mut wholes = Vec::new();
        for (input, need) in node.inputs.iter().zip(needs) {
            let Some(id) = *input else { continue };
            let is_inside = self.maker[id.index()].is_some_and(|node| region.nodes.contains(&node));
            match need {
                Need::Part(own) if is_cut(self.shapes.dims(id)?[*own], region.units) => {
                    labels.push((id, *own));
                }
                Need::Whole if !is_inside => wholes.push(id),
                Need::Part(_) | Need::Whole => return None,
            }
        }
        for (at, (id, axis)) in labels.iter().enumerate() {
            let among = labels[..at].iter().find(|(other, _)| other == id).map(|(_, axis)| *axis);
            let there = region.axes.get(id).copied();
            meets |= there.is_some();
            if there.or(among).is_some_and(|there| there != *axis) {
                return None;
            }
        }
        if !meets {
            return None;
        }
        region.nodes.insert(index);
        region.wholes.extend(wholes);
        labels.retain(|(id, axis)| region.axes.insert(*id, *axis).is_none());
        Some(labels.into_iter().map(|(id, _)| id).collect())
    }

    /// Takes nodes out of a region until nothing that it makes comes back into it from outside.
    fn make_convex(&self, region: &mut Region, range: &Range<usize>) {
        let (mut behind, mut before) = (BTreeSet::new(), BTreeSet::new());
        for node in range.clone() {
            let read = read(&self.shapes.model.body.nodes[node]);
            let mut makers = read.iter().filter_map(|id| self.maker[id.index()]);
            if makers.any(|maker| region.nodes.contains(&maker) || behind.contains(&maker)) {
                behind.insert(node);
            }
        }
        // Of those behind it: who is read by the region, and all that they read.
        for node in range.clone().rev() {
            let mut readers = self.made(node).flat_map(|id| &self.readers[id.index()]);
            let is_inside = region.nodes.contains(&node);
            let leads_back = readers.any(|reader| {
                before.contains(reader) || (!is_inside && region.nodes.contains(reader))
            });
            if leads_back && (is_inside || behind.contains(&node)) {
                before.insert(node);
            }
        }
        region.nodes.retain(|node| !before.contains(node));
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
        let made = region.nodes.iter().flat_map(|node| self.made(*node));
        let leaves = |id: &TensorId| {
            let index = id.index();
            self.is_output[index]
                || self.readers[index].iter().any(|node| !region.nodes.contains(node))
        };
        made.filter(leaves).collect()
    }

    /// What a region costs beside its arithmetic and its nodes as they are: once for what is cut out and put
    /// together, however many parts there are, and for each part but the first.
    pub(super) fn overhead(&self, region: &Region) -> [u64; 2] {
        let (mut cut, mut wholes) = (BTreeSet::new(), 0);
        for index in &region.nodes {
            let inputs = &self.shapes.model.body.nodes[*index].inputs;
            for (input, need) in inputs.iter().zip(self.needs(region, *index)) {
                let Some(id) = *input else { continue };
                let is_outside =
                    self.maker[id.index()].is_none_or(|maker| !region.nodes.contains(&maker));
                match need {
                    Need::Whole => wholes += self.stored[id.index()],
                    Need::Part(_) if is_outside && self.stored[id.index()] == 0 => {
                        cut.insert(id);
                    }
                    Need::Part(_) => {}
                }
            }
        }
        let outputs = self.outputs(region);
        let copied: u64 = cut.iter().chain(&outputs).map(|id| self.sizes[id.index()]).sum();
        let nodes = (region.nodes.len() + cut.len()) as u64;
        [2 * copied + NODE * outputs.len() as u64, NODE * nodes + wholes]
    }

    /// What some nodes of a region need of each operand.
    pub(super) fn needs(&self, region: &Region, index: usize) -> Vec<Need> {
        let node = &self.shapes.model.body.nodes[index];
        let axis = self.made(index).find_map(|id| region.axes.get(&id).copied());
        let needs = axis.and_then(|axis| self.shapes.needs(node, axis, region.units));
        needs.unwrap_or_else(|| vec![Need::Whole; node.inputs.len()])
    }
}

/// Whether an axis can be cut into so many units.
fn is_cut(length: u64, units: u64) -> bool {
    length >= units && length.is_multiple_of(units)
}

/// What a node reads, in its bodies too.
pub(super) fn read(node: &plimsoll_model::ModelNode) -> Vec<TensorId> {
    use plimsoll_model::Operator;
    let mut ids: Vec<TensorId> = node.inputs.iter().flatten().copied().collect();
    let bodies: Vec<&plimsoll_model::Body> = match &node.operator {
        Operator::If(branches) => vec![&branches.then, &branches.otherwise],
        Operator::Loop(body) => vec![body],
        Operator::Scan(scan) => vec![&scan.body],
        _ => Vec::new(),
    };
    for body in bodies {
        ids.extend(&body.outputs);
        ids.extend(body.nodes.iter().flat_map(read));
    }
    ids
}
