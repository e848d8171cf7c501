//! Values in half precision.

use plimsoll::{Role, Storage, ValueId};

use super::draft::Draft;
use crate::dtype::Dtype;
use crate::graph::{Graph, Kernels, Value};

/// Of these values those that could be half as wide, with all that are the same bytes as they.
///
/// What the caller sees stays as it is, and so does everything of which more is declared than a type
/// and a shape.
pub(super) fn candidates(graph: &Graph, kernels: &Kernels, wanted: &[bool]) -> Vec<ValueId> {
    let aliases = graph.aliases(kernels);
    let root = |value: ValueId| {
        let mut root = value;
        while let Some(view) = aliases.view(root) {
            root = view.of;
        }
        root
    };
    let roots: Vec<ValueId> = graph.value_ids().map(root).collect();
    let mut is_wanted = vec![false; roots.len()];
    let mut is_possible = vec![true; roots.len()];
    for value in graph.value_ids() {
        let root = roots[value.index()].index();
        is_wanted[root] |= wanted[value.index()];
        is_possible[root] &= can_be_half(graph, value);
    }
    let chosen = |value: &ValueId| {
        let root = roots[value.index()].index();
        is_wanted[root] && is_possible[root]
    };
    graph.value_ids().filter(chosen).collect()
}

fn can_be_half(graph: &Graph, id: ValueId) -> bool {
    let Value { dtype, bytes, role, storage, view, align, elided, .. } = graph.value(id);
    *dtype == Dtype::F32
        && (*role, *storage) == (Role::Temporary, Storage::Arena)
        && bytes.is_none()
        && view.is_none()
        && align.is_none()
        && !elided
        && !graph.outputs().contains(&id)
}

/// The graph with these values in half precision.
pub(super) fn halved(graph: &Graph, values: &[ValueId]) -> Option<Graph> {
    let mut draft = Draft::of(graph);
    for value in values {
        draft.values[value.index()].dtype = Dtype::F16;
    }
    draft.finish()
}
