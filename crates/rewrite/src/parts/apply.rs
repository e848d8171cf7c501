//! A model with its regions in parts.

use std::collections::BTreeMap;

use plimsoll_model::{ModelNode, Operator, TensorId};

use super::needs::{Need, Shapes};
use super::region::{Network, Region, read};
use crate::draft::Draft;
use crate::frontier::Way;
use crate::rewritten::{Rewritten, Stage};

/// The model with regions computed in so many parts each.
pub(super) fn applied(network: &Network<'_>, regions: &[(Region, u64)]) -> Rewritten {
    applied_with(network, regions, &BTreeMap::new())
}

/// The same, where some nodes gather one unit of what a region makes: they read that part alone.
pub(super) fn applied_with(
    network: &Network<'_>,
    regions: &[(Region, u64)],
    selected: &BTreeMap<usize, u64>,
) -> Rewritten {
    let shapes = network.shapes;
    let mut draft = Draft::new(shapes.model);
    let mut region_of: Vec<Option<usize>> = vec![None; shapes.model.body.nodes.len()];
    for (index, (region, _)) in regions.iter().enumerate() {
        region.nodes.iter().for_each(|node| region_of[*node] = Some(index));
    }
    let mut pieces: BTreeMap<TensorId, Vec<Option<TensorId>>> = BTreeMap::new();
    for unit in order(shapes, &region_of, regions) {
        match unit {
            Unit::Node(node) => match selected.get(&node) {
                Some(index) => select(&mut draft, shapes, node, *index, &pieces),
                None => draft.keep(node),
            },
            Unit::Region(index) => {
                let (region, parts) = &regions[index];
                let mut parted = Parted { shapes, network, region, draft: &mut draft };
                let made = parted.emit(*parts);
                parted.draft.enter(None);
                let is_whole = |id: &TensorId| {
                    let readers = &network.readers[id.index()];
                    !readers.iter().all(|reader| selected.contains_key(reader))
                        || network.is_output[id.index()]
                };
                for (id, list) in made {
                    if is_whole(&id) {
                        parted.join(id, &list);
                    }
                    pieces.insert(id, list);
                }
            }
        }
    }
    draft.finish()
}

/// Adds a gather of one unit that is there as a part.
fn select(
    draft: &mut Draft,
    shapes: &Shapes<'_>,
    at: usize,
    index: u64,
    pieces: &BTreeMap<TensorId, Vec<Option<TensorId>>>,
) {
    let node = shapes.model.body.nodes[at].clone();
    let read = |operand: usize| node.inputs.get(operand).copied().flatten();
    let piece = read(0).and_then(|id| pieces.get(&id));
    let piece = piece.and_then(|list| list.get(usize::try_from(index).ok()?).copied().flatten());
    let dims = read(1).and_then(|id| shapes.dims(id)).unwrap_or_default();
    let first = draft.ints_of("index", &[0], dims);
    draft.node_into(&node.name, node.operator, &[piece, Some(first)], &node.outputs, Some(at));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Node(usize),
    Region(usize),
}

/// Nodes and regions in an order in which they can run, as near as possible to that of the nodes.
fn order(shapes: &Shapes<'_>, region_of: &[Option<usize>], regions: &[(Region, u64)]) -> Vec<Unit> {
    let nodes = &shapes.model.body.nodes;
    let unit = |node: usize| region_of[node].map_or(Unit::Node(node), Unit::Region);
    let place = |unit: Unit| match unit {
        Unit::Node(node) => node,
        Unit::Region(region) => regions[region].0.nodes.first().copied().unwrap_or(0),
    };
    let mut maker: BTreeMap<TensorId, usize> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        maker.extend(node.outputs.iter().flatten().map(|id| (*id, index)));
    }
    let mut waits: BTreeMap<Unit, usize> = BTreeMap::new();
    let mut wakes: BTreeMap<Unit, Vec<Unit>> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let own = unit(index);
        waits.entry(own).or_default();
        for by in read(node).into_iter().filter_map(|id| maker.get(&id)) {
            if unit(*by) != own {
                *waits.entry(own).or_default() += 1;
                wakes.entry(unit(*by)).or_default().push(own);
            }
        }
    }
    let ready =
        waits.iter().filter(|(_, count)| **count == 0).map(|(unit, _)| (place(*unit), *unit));
    let mut ready: std::collections::BTreeSet<(usize, Unit)> = ready.collect();
    let mut done = Vec::new();
    while let Some((_, next)) = ready.pop_first() {
        done.push(next);
        for woken in wakes.remove(&next).unwrap_or_default() {
            if let Some(count) = waits.get_mut(&woken) {
                *count -= 1;
                if *count == 0 {
                    ready.insert((place(woken), woken));
                }
            }
        }
    }
    done
}

/// A region on its way into a draft.
struct Parted<'a, 'd> {
    shapes: &'a Shapes<'a>,
    network: &'a Network<'a>,
    region: &'a Region,
    draft: &'d mut Draft,
}

impl Parted<'_, '_> {
    /// All parts; the pieces of what leaves the region.
    fn emit(&mut self, parts: u64) -> BTreeMap<TensorId, Vec<Option<TensorId>>> {
        let outputs = self.network.outputs(self.region);
        let region = self.draft.begin(Way::Parts { parts }, &self.region.nodes);
        let mut pieces: BTreeMap<TensorId, Vec<Option<TensorId>>> = BTreeMap::new();
        for part in 0..parts {
            self.draft.enter(Some(Stage { region, step: part }));
            let units = self.region.units;
            let range = [part * units / parts, (part + 1) * units / parts];
            let made = self.part(range);
            for id in &outputs {
                pieces.entry(*id).or_default().push(made.get(id).copied());
            }
        }
        pieces
    }

    /// Puts together what leaves the region.
    fn join(&mut self, id: TensorId, pieces: &[Option<TensorId>]) {
        let axis = self.region.axes[&id].cast_signed() as i64;
        let name = self.shapes.model.tensor(id).name.clone();
        self.draft.node_into(&name, Operator::Concat { axis }, pieces, &[Some(id)], None);
    }

    /// All nodes for some of the units; what stands for each tensor.
    fn part(&mut self, units: [u64; 2]) -> BTreeMap<TensorId, TensorId> {
        let mut made: BTreeMap<TensorId, TensorId> = BTreeMap::new();
        for index in self.region.nodes.clone() {
            let node = self.shapes.model.body.nodes[index].clone();
            let mut inputs = Vec::new();
            for (input, need) in node.inputs.iter().zip(self.network.needs(self.region, index)) {
                inputs.push(input.map(|id| match need {
                    Need::Whole => id,
                    Need::Part(axis) => self.operand(id, axis, units, &mut made),
                }));
            }
            self.regrouped(&node, units, &mut inputs);
            let outputs: Vec<Option<TensorId>> = node
                .outputs
                .iter()
                .map(|id| {
                    let name = &self.shapes.model.tensor((*id)?).name;
                    let part = self.draft.tensor(name);
                    made.insert((*id)?, part);
                    Some(part)
                })
                .collect();
            self.draft.node_into(&node.name, node.operator, &inputs, &outputs, Some(index));
        }
        made
    }

    /// What stands for a part of an operand: what was made, or a slice of what comes from outside.
    fn operand(
        &mut self,
        id: TensorId,
        axis: usize,
        units: [u64; 2],
        made: &mut BTreeMap<TensorId, TensorId>,
    ) -> TensorId {
        if let Some(part) = made.get(&id) {
            return *part;
        }
        let bounds = self.bounds(id, axis, units);
        let [start, end] =
            bounds.map(|bound| Some(self.draft.ints("bound", &[bound.cast_signed()])));
        let along = Some(self.draft.ints("axis", &[axis.cast_signed() as i64]));
        let name = self.shapes.model.tensor(id).name.clone();
        let part = self.draft.node(&name, Operator::Slice, &[Some(id), start, end, along], None);
        made.insert(id, part);
        part
    }

    /// Where units begin and end along an axis.
    fn bounds(&self, id: TensorId, axis: usize, units: [u64; 2]) -> [u64; 2] {
        let length = self.shapes.dims(id).map_or(0, |dims| dims[axis]);
        units.map(|unit| unit * (length / self.region.units))
    }

    /// A reshape says the dims of its part.
    fn regrouped(&mut self, node: &ModelNode, units: [u64; 2], inputs: &mut [Option<TensorId>]) {
        let (Operator::Reshape { .. }, Some(Some(output))) = (&node.operator, node.outputs.first())
        else {
            return;
        };
        let axis = self.region.axes[output];
        let bounds = self.bounds(*output, axis, units);
        let mut dims: Vec<i64> = self
            .shapes
            .dims(*output)
            .unwrap_or_default()
            .iter()
            .map(|dim| dim.cast_signed())
            .collect();
        dims[axis] = (bounds[1] - bounds[0]).cast_signed();
        inputs[1] = Some(self.draft.ints("dims", &dims));
    }
}
