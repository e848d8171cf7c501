//! How large values are, under a width policy and with sizes given by the caller.
//!
//! Values that share bytes have slots of one width: a view and its root, and an output and what it
//! must overwrite. Such an alias set stays at its native width as a whole if a member is exempt, has a
//! size that does not come from its shape, is accessed or viewed at a byte that is not the first
//! of an element, or has another type than the others.

use plimsoll::{Layout, Strided, ValueId, View};
use plimsoll_pack::Span;
use plimsoll_pack::dense::DisjointSets;

use super::{LoweringError, LoweringOptions};
use crate::graph::{Aliases, Bytes, Graph};
use crate::width::{Policy, Scale};

/// Sizes, by value.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    bytes: Vec<u64>,
    dense: Vec<bool>,
    scales: Vec<Scale>,
    views: Vec<Option<View>>,
}

impl Sizes {
    pub(super) fn of(
        graph: &Graph,
        aliases: &Aliases,
        options: &LoweringOptions,
    ) -> Result<Self, LoweringError> {
        let given = given_sizes(graph, options)?;
        let scales = scales(graph, aliases, options, &given);
        let too_large = |value: ValueId| {
            let value = graph.value(value).name.clone();
            LoweringError::TooLarge { value }
        };
        let mut sizes = Sizes { bytes: Vec::new(), dense: Vec::new(), scales, views: Vec::new() };
        let mut unknown = Vec::new();
        for id in graph.value_ids() {
            let value = graph.value(id);
            let slot_bits = sizes.slot_bits(graph, id);
            let by_shape = value.shape_size(slot_bits);
            let bytes = given[id.index()].map_or(value.size(slot_bits), Bytes::Known);
            sizes.dense.push(by_shape == bytes);
            sizes.bytes.push(match bytes {
                Bytes::Known(bytes) => bytes,
                Bytes::TooMany => return Err(too_large(id)),
                Bytes::Unknown if value.elided => 0,
                Bytes::Unknown => {
                    unknown.push(value.name.clone());
                    0
                }
            });
            let in_slots = |view: View| {
                let slot = |byte| sizes.scales[id.index()].offset(byte);
                let rows = match view.rows {
                    Some(rows) => {
                        Some(Strided { bytes: slot(rows.bytes)?, stride: slot(rows.stride)? })
                    }
                    None => None,
                };
                Some(View { offset: slot(view.offset)?, rows, ..view })
            };
            let view = match aliases.view(id) {
                Some(view) => Some(in_slots(view).ok_or_else(|| too_large(id))?),
                None => None,
            };
            sizes.views.push(view);
        }
        if !unknown.is_empty() {
            return Err(LoweringError::UnknownSizes(unknown));
        }
        sizes.check_views(graph, aliases)?;
        Ok(sizes)
    }

    /// How large a value is.
    pub(super) fn bytes(&self, value: ValueId) -> u64 {
        self.bytes[value.index()]
    }

    /// Whether that is exactly what its elements take.
    pub(super) fn is_dense(&self, value: ValueId) -> bool {
        self.dense[value.index()]
    }

    /// A view, with slots as wide as they are here.
    pub(super) fn view(&self, value: ValueId, native: View) -> View {
        self.views[value.index()].unwrap_or(native)
    }

    /// How wide the slots of a value's elements are.
    pub(super) fn slot_bits(&self, graph: &Graph, value: ValueId) -> u64 {
        self.scales[value.index()].slot_bits(graph.value(value).dtype)
    }

    /// The slots of some bytes at the native width.
    pub(super) fn span(&self, value: ValueId, native: Span) -> Span {
        let scale = self.scales[value.index()];
        let bytes = self.bytes(value);
        let slot = |byte: u64| scale.offset(byte).unwrap_or(bytes).min(bytes);
        Span::new(slot(native.lo), slot(native.hi))
    }

    fn check_views(&self, graph: &Graph, aliases: &Aliases) -> Result<(), LoweringError> {
        for value in graph.value_ids() {
            let Some(view) = aliases.view(value).map(|view| self.view(value, view)) else {
                continue;
            };
            let bytes = self.bytes(view.of);
            let layout = Layout { first: view.offset, rows: view.rows };
            let end = layout.hull(Span::new(0, self.bytes(value))).hi;
            if !view.fits(self.bytes(value), bytes) {
                let name = |value: ValueId| graph.value(value).name.clone();
                let (value, root) = (name(value), name(view.of));
                return Err(LoweringError::ViewOutside { value, end, root, bytes });
            }
        }
        Ok(())
    }
}

fn given_sizes(
    graph: &Graph,
    options: &LoweringOptions,
) -> Result<Vec<Option<u64>>, LoweringError> {
    let mut given = vec![None; graph.values().len()];
    let mut missing = Vec::new();
    for (name, bytes) in &options.sizes {
        match graph.value_by_name(name) {
            Some(value) => given[value.index()] = Some(*bytes),
            None => missing.push(name.clone()),
        }
    }
    if missing.is_empty() { Ok(given) } else { Err(LoweringError::NoSuchValues(missing)) }
}

fn scales(
    graph: &Graph,
    aliases: &Aliases,
    options: &LoweringOptions,
    given: &[Option<u64>],
) -> Vec<Scale> {
    let mut sets = DisjointSets::new(graph.values().len());
    for value in graph.value_ids() {
        sets.merge(value.index(), aliases.resolve(value).root.index());
    }
    for overwrite in graph.nodes().iter().flat_map(|node| &node.overwrites).filter(|o| o.must) {
        sets.merge(overwrite.output.index(), overwrite.input.index());
    }
    let native = native_values(graph, aliases, given);
    let mut policies: Vec<Option<Policy>> = vec![None; graph.values().len()];
    for id in graph.value_ids() {
        let value = graph.value(id);
        let own = Policy::new(value.dtype, value.role, native[id.index()]);
        let slot = &mut policies[sets.find(id.index())];
        *slot = Some(slot.map_or(own, |policy| policy.join(own)));
    }
    let mut scale = |value: ValueId| {
        let policy = policies[sets.find(value.index())].expect("every set has a member");
        policy.of_set(options.width)
    };
    graph.value_ids().map(&mut scale).collect()
}

/// The values that cannot be widened.
fn native_values(graph: &Graph, aliases: &Aliases, given: &[Option<u64>]) -> Vec<bool> {
    let begins_element = |value: ValueId, byte: u64| {
        let bits = u128::from(graph.value(value).dtype.bits());
        u128::from(byte) * 8 % bits == 0
    };
    let mut native: Vec<bool> = Vec::with_capacity(graph.values().len());
    for id in graph.value_ids() {
        let value = graph.value(id);
        let whole = aliases.view(id).is_none_or(|view| {
            let rows = view.rows.map_or([0; 2], |rows| [rows.bytes, rows.stride]);
            [view.offset].iter().chain(&rows).all(|byte| begins_element(id, *byte))
        });
        let shaped = value.bytes.is_none() && given[id.index()].is_none();
        native.push(value.exempt || !shaped || !whole);
    }
    for window in graph.nodes().iter().flat_map(|node| &node.windows) {
        let whole = |span: Span| {
            begins_element(window.value, span.lo) && begins_element(window.value, span.hi)
        };
        native[window.value.index()] |= !window.bytes.is_none_or(whole);
    }
    native
}
