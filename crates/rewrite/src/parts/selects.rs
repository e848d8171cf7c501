//! Projections that were joined: what is made at once and then taken apart is made apart.
//!
//! Queries, keys and values are often one product with three times the columns, which is then cut into three by
//! gathers of single indices. Columns of a product are products with columns. So all that leads to the gathers is
//! computed for each index alone, and none has to wait for the others. No multiply-add is added, and no sum is
//! reordered.

use std::collections::BTreeMap;

use plimsoll_model::{Bindings, Operator, ShapeError, TensorId};

use super::apply::applied_with;
use super::needs::absolute;
use super::region::{Network, Region};
use super::with_network;
use crate::rewritten::Rewritten;

/// The most nodes before gathers that are looked at.
const MOST_NODES: usize = 24;

/// The model with all that is only taken apart made apart; `None` if there is nothing of the kind.
pub(crate) fn made_apart(
    rewritten: &Rewritten,
    bindings: &Bindings,
) -> Result<Option<Rewritten>, ShapeError> {
    with_network(rewritten, bindings, |network| {
        let mut regions: Vec<(Region, u64)> = Vec::new();
        let mut selected = BTreeMap::new();
        for id in (0..network.sizes.len()).map(TensorId::new) {
            let Some((region, gathers)) = joined(network, id) else { continue };
            let taken = |node: &usize| regions.iter().any(|(other, _)| other.nodes.contains(node));
            if !region.nodes.iter().any(taken) {
                let units = region.units;
                regions.push((region, units));
                selected.extend(gathers);
            }
        }
        let is_any = !regions.is_empty();
        is_any.then(|| applied_with(network, &regions, &selected).traced_through(rewritten))
    })
}

/// All that makes a tensor which only gathers of single indices read, with the index that each of these takes.
fn joined(network: &Network<'_>, id: TensorId) -> Option<(Region, Vec<(usize, u64)>)> {
    let maker = network.maker[id.index()].filter(|_| network.sizes[id.index()] > 0)?;
    let dims = network.shapes.dims(id)?;
    let mut axis = None;
    let mut gathers = Vec::new();
    for reader in &network.readers[id.index()] {
        let node = &network.shapes.model.body.nodes[*reader];
        let Operator::Gather { axis: along } = node.operator else { return None };
        let along = absolute(along, dims.len())?;
        let [index] = network.shapes.ints((*node.inputs.get(1)?)?)?[..] else { return None };
        let index = absolute(index, usize::try_from(dims[along]).ok()?)?;
        if *axis.get_or_insert(along) != along || node.inputs[0] != Some(id) {
            return None;
        }
        gathers.push((*reader, index as u64));
    }
    let axis = axis.filter(|_| !network.is_output[id.index()] && gathers.len() > 1)?;
    let range = maker.saturating_sub(MOST_NODES)..maker + 1;
    let region = network.within(&range, id, axis, dims[axis])?;
    let leaves = network.outputs(&region);
    (leaves.len() == 1 && leaves.contains(&id)).then_some((region, gathers))
}
