//! Outputs that are one stretch of an input.

use super::{Operand, Operands, ViewEffect, Views, traits};
use crate::dtype::Dtype;
use crate::op::{Cut, Op};
use crate::shape::Dim;
use crate::shape::dims::{count, sum, times};

/// An output that is a view of an input, at a byte that may follow from the sizes of ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundView {
    /// Which output.
    pub output: usize,
    /// Which input.
    pub input: usize,
    /// The first byte, at the native width: known, or following from sizes.
    pub offset: Dim,
}

impl FoundView {
    /// The view, if the byte is known.
    fn known(self) -> Option<ViewEffect> {
        let Dim::Known(offset) = self.offset else { return None };
        Some(ViewEffect { output: self.output, input: self.input, offset })
    }
}

/// The views that an op makes at bytes that are known.
pub(crate) fn known_views(
    op: &Op,
    inputs: &Operands<'_>,
    outputs: &Operands<'_>,
) -> Vec<ViewEffect> {
    views(op, inputs, outputs).into_iter().filter_map(FoundView::known).collect()
}

/// What a slice keeps of one axis; numbers may follow from the sizes of ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The axis, from the outermost.
    pub axis: usize,
    /// The first index that is kept.
    pub start: Dim,
    /// How many are kept.
    pub len: Dim,
    /// From one index to the next.
    pub step: i64,
}

impl From<&Cut> for Kept {
    fn from(cut: &Cut) -> Self {
        let Cut { axis, start, len, step } = *cut;
        Kept { axis, start: Dim::Known(start), len: Dim::Known(len), step }
    }
}

/// The views that an op makes: each is one for all sizes that its operands can have.
pub fn views(op: &Op, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<FoundView> {
    match traits(op).views {
        Views::None | Views::Concat { .. } => Vec::new(),
        Views::Whole => same_bytes(inputs, outputs),
        Views::Repeat => same_elements(inputs, outputs),
        Views::Permute { perm } => transposed(perm, inputs, outputs),
        Views::Cut { cuts } => {
            let kept: Vec<Kept> = cuts.iter().map(Kept::from).collect();
            sliced(&kept, inputs, outputs).into_iter().collect()
        }
        Views::Split { axis } => split(axis, inputs, outputs),
    }
}

/// Output 0 is input 0: in a cast, a reshape and the like, if the type stays.
fn same_bytes(inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<FoundView> {
    match (inputs.first(), outputs.first()) {
        (Some(Some(input)), Some(Some(output))) if input.dtype == output.dtype => {
            vec![FoundView { output: 0, input: 0, offset: Dim::Known(0) }]
        }
        _ => Vec::new(),
    }
}

/// How many elements an operand has, if that is known or follows from sizes.
fn elements(operand: Option<&Option<Operand<'_>>>) -> Option<Dim> {
    let count = count((*operand?)?.shape.exact()?);
    count.is_exact().then_some(count)
}

/// Output 0 is input 0 if there are no more elements than before.
fn same_elements(inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<FoundView> {
    let count = elements(inputs.first());
    let equal = count.is_some() && count == elements(outputs.first());
    if equal { same_bytes(inputs, outputs) } else { Vec::new() }
}

/// A transpose moves nothing if the axes of more than one element stay in order. What is not 1 for
/// all sizes may have more.
fn transposed(perm: &[usize], inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<FoundView> {
    let Some(dims) = inputs.first().copied().flatten().and_then(|input| input.shape.exact()) else {
        return Vec::new();
    };
    let moved = |axis: &&usize| dims.get(**axis) != Some(&Dim::Known(1));
    let in_order = perm.iter().filter(moved).is_sorted();
    if in_order { same_elements(inputs, outputs) } else { Vec::new() }
}

/// Output 0 is a part of input 0, if what is kept is one stretch of memory.
#[must_use]
pub fn sliced(kept: &[Kept], inputs: &Operands<'_>, outputs: &Operands<'_>) -> Option<FoundView> {
    let (input, output) = ((*inputs.first()?)?, (*outputs.first()?)?);
    let stretch = stretch(kept, input.shape.exact()?)?;
    let same = input.dtype == output.dtype && elements(outputs.first())? == stretch.elements;
    let offset = match stretch.elements {
        _ if !same => return None,
        // No elements begin nowhere: behind the end of the input, if that has none.
        Dim::Known(0) => Dim::Known(0),
        _ => byte_of(stretch.first, input.dtype)?,
    };
    Some(FoundView { output: 0, input: 0, offset })
}

/// Some elements in a row.
struct Stretch {
    first: Dim,
    elements: Dim,
}

/// The elements that cuts leave, if they are one stretch of memory.
fn stretch(kept: &[Kept], dims: &[Dim]) -> Option<Stretch> {
    let several = |len: &Dim| !matches!(len, Dim::Known(0 | 1));
    let mut parts: Vec<(Dim, Dim)> = dims.iter().map(|dim| (Dim::Known(0), dim.clone())).collect();
    for cut in kept {
        if cut.step != 1 && several(&cut.len) {
            return None;
        }
        *parts.get_mut(cut.axis)? = (cut.start.clone(), cut.len.clone());
    }
    let (mut first, mut elements, mut stride) = (Dim::Known(0), Dim::Known(1), Dim::Known(1));
    let mut whole = true;
    for ((start, len), dim) in parts.into_iter().zip(dims).rev() {
        if !whole && several(&len) {
            return None;
        }
        whole &= len == *dim;
        first = sum(&first, &times(&start, &stride));
        elements = times(&elements, &len);
        stride = times(&stride, dim);
        if !(first.is_exact() && elements.is_exact() && stride.is_exact()) {
            return None;
        }
    }
    Some(Stretch { first, elements })
}

/// Where an element begins, if that is a whole byte.
fn byte_of(element: Dim, dtype: Dtype) -> Option<Dim> {
    match element {
        Dim::Known(element) => {
            let bits = u128::from(element) * u128::from(dtype.bits());
            if bits % 8 == 0 { u64::try_from(bits / 8).ok().map(Dim::Known) } else { None }
        }
        element if dtype.bits().is_multiple_of(8) => {
            Some(times(&element, &Dim::Known(dtype.bits() / 8))).filter(Dim::is_exact)
        }
        _ => None,
    }
}

fn split(axis: usize, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<FoundView> {
    let Some(Some(input)) = inputs.first() else {
        return Vec::new();
    };
    let mut views = Vec::new();
    let mut start = Dim::Known(0);
    for (index, output) in outputs.iter().enumerate() {
        let dims = output.and_then(|output| output.shape.exact());
        let len = dims.and_then(|dims| dims.get(axis).cloned());
        let (Some(output), Some(len), true) = (output, len, start.is_exact()) else {
            break; // Where the next part begins is not known.
        };
        let next = sum(&start, &len);
        let kept = [Kept { axis, start, len, step: 1 }];
        let view = sliced(&kept, &[Some(*input)], &[Some(*output)]);
        views.extend(view.into_iter().map(|view| FoundView { output: index, ..view }));
        start = next;
    }
    views
}
