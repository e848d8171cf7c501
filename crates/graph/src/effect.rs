//! What each family of ops does to memory: the one table.
//!
//! For every family it says which outputs are views of which input and at which byte, which
//! outputs may take over the bytes of which input, and which inputs are read at all. The `match`
//! has no wildcard, so that a new family does not compile until its effect is stated. The safe
//! default, which [`Op::Custom`] has, is: every input is read, every output is written, nothing is
//! shared.
//!
//! - **Views** are decided on elements as they are packed natively, so that they do not depend on
//!   the width policy. A part of a tensor is a view where it is one stretch of memory: everything
//!   after the cut axis is whole, and there is one index of everything before it.
//! - **Overwrites** say: the kernel reads each byte of the input for the last time before it writes
//!   that byte of the output. That holds for kernels that go element by element, or row by row with
//!   the row in registers or scratch; and, in ascending order, for outputs that are narrower.

use crate::dtype::Dtype;
use crate::op::{Cut, Op};
use crate::shape::dims::{broadcast, count, sum, times};
use crate::shape::{Dim, Shape, product};

/// An operand as the table sees it.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The type of the elements.
    pub dtype: Dtype,
    /// The dims.
    pub shape: &'a Shape,
    /// How wide an element's slot is.
    pub slot_bits: u64,
}

/// What an op does to memory, by index of its outputs and inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Outputs that are views.
    pub views: Vec<ViewEffect>,
    /// Outputs that may take over the bytes of an input: (output, input).
    pub overwrites: Vec<(usize, usize)>,
    /// Whether other operands are still read when elements of the one that is overwritten have been
    /// replaced anywhere in it, so that they must not be the same value.
    pub scatters: bool,
    /// Whether the bytes of inputs are read; otherwise only what is known of them beforehand.
    pub reads: bool,
    /// Whether outputs hold nothing but elements of inputs: what a runtime with better views could
    /// do without.
    pub copies: bool,
}

/// An output that is a view of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewEffect {
    /// Which output.
    pub output: usize,
    /// Which input.
    pub input: usize,
    /// The first byte in it, at the native width.
    pub offset: u64,
}

type Operands<'a> = [Option<Operand<'a>>];

/// The effect of an op on its operands; absent operands are `None`.
#[must_use]
pub fn effect(op: &Op, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Effect {
    let plain = Effect { reads: true, ..Effect::default() };
    let elementwise = |candidates: &[usize]| Effect {
        overwrites: overwrites(inputs, outputs, candidates, |input, output| input == output),
        ..plain.clone()
    };
    let converting = || Effect {
        overwrites: overwrites(inputs, outputs, &[0], |input, output| input >= output),
        ..plain.clone()
    };
    let known = || known_views(op, inputs, outputs);
    let copying = || Effect { views: known(), copies: true, ..plain.clone() };
    match op {
        Op::Unary | Op::Softmax | Op::Scan => elementwise(&[0]),
        // Limits, scales and biases are read again for every element or row.
        Op::Clamp | Op::Norm | Op::Scatter | Op::UpdateSlice | Op::Variadic => {
            Effect { scatters: true, ..elementwise(&[0]) }
        }
        Op::Binary | Op::ByRows => elementwise(&[0, 1]),
        Op::Where => elementwise(&[1, 2, 0]),
        Op::Quantize => Effect { scatters: true, ..converting() },
        Op::Cast => Effect { views: known(), ..converting() },
        Op::Copy => Effect { copies: true, ..elementwise(&[0]) },
        Op::Fill
        | Op::MatMul
        | Op::Conv
        | Op::ConvTranspose
        | Op::Pool
        | Op::Reduce
        | Op::ArgReduce
        | Op::TopK
        | Op::Attention
        | Op::Rnn
        | Op::Resize
        | Op::Custom => plain,
        Op::ShapeOf => Effect::default(),
        Op::Reshape
        | Op::Squeeze
        | Op::Unsqueeze
        | Op::Flatten
        | Op::Identity
        | Op::Dropout
        | Op::Expand
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Split { .. }
        | Op::Concat { .. }
        | Op::Gather
        | Op::Pad => copying(),
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
    match op {
        Op::Cast
        | Op::Reshape
        | Op::Squeeze
        | Op::Unsqueeze
        | Op::Flatten
        | Op::Identity
        | Op::Dropout => same_bytes(inputs, outputs),
        Op::Expand => same_elements(inputs, outputs),
        Op::Transpose { perm } => transposed(perm, inputs, outputs),
        Op::Slice { cuts } => {
            let kept: Vec<Kept> = cuts.iter().map(Kept::from).collect();
            sliced(&kept, inputs, outputs).into_iter().collect()
        }
        Op::Split { axis } => split(*axis, inputs, outputs),
        Op::Unary
        | Op::Clamp
        | Op::Softmax
        | Op::Norm
        | Op::Scan
        | Op::Scatter
        | Op::UpdateSlice
        | Op::Variadic
        | Op::Binary
        | Op::ByRows
        | Op::Where
        | Op::Quantize
        | Op::Copy
        | Op::Fill
        | Op::MatMul
        | Op::Conv
        | Op::ConvTranspose
        | Op::Pool
        | Op::Reduce
        | Op::ArgReduce
        | Op::TopK
        | Op::Attention
        | Op::Rnn
        | Op::Resize
        | Op::Custom
        | Op::ShapeOf
        | Op::Concat { .. }
        | Op::Gather
        | Op::Pad => Vec::new(),
    }
}

/// What is wrong with an op on these operands, where the table would otherwise have to guess.
#[must_use]
pub fn misfit(op: &Op, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Option<String> {
    let first = |operands: &Operands<'_>| operands.first().copied().flatten().and_then(dims);
    let (input, output) = (first(inputs), first(outputs));
    match op {
        Op::Binary => binary_misfit(inputs, outputs),
        Op::Reshape | Op::Squeeze | Op::Unsqueeze | Op::Flatten | Op::Identity | Op::Dropout => {
            let (from, to) = (product(&input?)?, product(&output?)?);
            (from != to).then(|| format!("{from} elements cannot become {to}"))
        }
        Op::Transpose { perm } => {
            let rank = input?.len();
            let mut sorted = perm.clone();
            sorted.sort_unstable();
            let fits = sorted.iter().copied().eq(0..rank);
            (!fits).then(|| format!("{perm:?} is not a permutation of {rank} axes"))
        }
        Op::Slice { cuts } => {
            let misfit = cuts.iter().find_map(|cut| cut_misfit(cut, input.as_deref()?));
            misfit.or_else(|| cut_twice(cuts))
        }
        Op::Split { axis } => split_misfit(*axis, &input?, outputs),
        Op::Concat { axis } => {
            let rank = output?.len();
            (*axis >= rank).then(|| format!("axis {axis} of {rank} axes"))
        }
        _ => None,
    }
}

/// Operands behind the first two are scales and the like.
fn binary_misfit(inputs: &Operands<'_>, outputs: &Operands<'_>) -> Option<String> {
    let (Some(Some(a)), Some(Some(b))) = (inputs.first(), inputs.get(1)) else {
        let count = inputs.iter().flatten().count();
        return Some(format!("an op on two operands, of which there {}", is_or_are(count)));
    };
    let Some(Some(output)) = outputs.first() else { return None };
    let dims = match broadcast(&a.shape.0, &b.shape.0) {
        Ok(dims) => Shape(dims),
        Err(why) => return Some(format!("{} and {} do not fit: {why}", a.shape, b.shape)),
    };
    let fits = dims.known().zip(output.shape.known()).is_none_or(|(dims, made)| dims == made);
    (!fits).then(|| format!("{} and {} make {dims}, not {}", a.shape, b.shape, output.shape))
}

fn is_or_are(count: usize) -> String {
    if count == 1 { "is 1".to_owned() } else { format!("are {count}") }
}

fn cut_misfit(cut: &Cut, dims: &[u64]) -> Option<String> {
    let Some(dim) = dims.get(cut.axis) else {
        return Some(format!("axis {} of {} axes", cut.axis, dims.len()));
    };
    let travel = cut.len.saturating_sub(1).checked_mul(cut.step.unsigned_abs());
    let inside = match travel {
        Some(travel) if cut.step < 0 => cut.start < *dim && travel <= cut.start,
        Some(travel) => cut.start.checked_add(travel).is_some_and(|last| last < *dim),
        None => false,
    };
    let fits = cut.step != 0 && (inside || (cut.len == 0 && cut.start <= *dim));
    (!fits).then(|| {
        let Cut { axis, start, len, step } = cut;
        format!("{len} elements from {start} by {step} of axis {axis}, which has {dim}")
    })
}

/// One axis has one part: which of two would count is not said anywhere.
fn cut_twice(cuts: &[Cut]) -> Option<String> {
    let is_again = |index: &usize| cuts[..*index].iter().any(|cut| cut.axis == cuts[*index].axis);
    let again = (0..cuts.len()).find(is_again)?;
    Some(format!("axis {} is cut twice", cuts[again].axis))
}

fn split_misfit(axis: usize, input: &[u64], outputs: &Operands<'_>) -> Option<String> {
    let Some(dim) = input.get(axis) else {
        return Some(format!("axis {axis} of {} axes", input.len()));
    };
    let mut sum = 0u64;
    for output in outputs {
        let dims = dims((*output)?)?;
        sum = sum.saturating_add(dims.get(axis).copied().unwrap_or(0));
    }
    (sum != *dim).then(|| format!("parts of {sum} along axis {axis}, which has {dim}"))
}

fn dims(operand: Operand<'_>) -> Option<Vec<u64>> {
    operand.shape.known()
}

/// The candidates whose shape is output 0's and whose slots are as `fits` says.
fn overwrites(
    inputs: &Operands<'_>,
    outputs: &Operands<'_>,
    candidates: &[usize],
    fits: impl Fn(u64, u64) -> bool,
) -> Vec<(usize, usize)> {
    let Some(Some(output)) = outputs.first() else {
        return Vec::new();
    };
    let may = |index: &usize| match inputs.get(*index) {
        Some(Some(input)) => {
            let exact = input.shape.exact().is_some();
            exact && input.shape == output.shape && fits(input.slot_bits, output.slot_bits)
        }
        _ => false,
    };
    candidates.iter().copied().filter(may).map(|index| (0, index)).collect()
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

#[cfg(test)]
mod tests;
