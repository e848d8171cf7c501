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
use crate::shape::{Shape, product};

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
    let copying = |views| Effect { views, copies: true, ..plain.clone() };
    match op {
        Op::Unary | Op::Clamp | Op::Softmax | Op::Norm | Op::Scan => elementwise(&[0]),
        Op::Scatter | Op::UpdateSlice | Op::Variadic => {
            Effect { scatters: true, ..elementwise(&[0]) }
        }
        Op::Binary | Op::ByRows => elementwise(&[0, 1]),
        Op::Where => elementwise(&[1, 2, 0]),
        Op::Quantize => converting(),
        Op::Cast => Effect { views: same_bytes(inputs, outputs), ..converting() },
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
        Op::Reshape | Op::Squeeze | Op::Unsqueeze | Op::Flatten | Op::Identity | Op::Dropout => {
            copying(same_bytes(inputs, outputs))
        }
        Op::Expand => copying(same_elements(inputs, outputs)),
        Op::Transpose { perm } => copying(transposed(perm, inputs, outputs)),
        Op::Slice { cuts } => copying(sliced(cuts, inputs, outputs)),
        Op::Split { axis } => copying(split(*axis, inputs, outputs)),
        Op::Concat { .. } | Op::Gather | Op::Pad => copying(Vec::new()),
    }
}

/// What is wrong with an op on these operands, where the table would otherwise have to guess.
#[must_use]
pub fn misfit(op: &Op, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Option<String> {
    let first = |operands: &Operands<'_>| operands.first().copied().flatten().and_then(dims);
    let (input, output) = (first(inputs), first(outputs));
    match op {
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
            let known = input.shape.known().is_some();
            known && input.shape == output.shape && fits(input.slot_bits, output.slot_bits)
        }
        _ => false,
    };
    candidates.iter().copied().filter(may).map(|index| (0, index)).collect()
}

/// Output 0 is input 0: in a cast, a reshape and the like, if the type stays.
fn same_bytes(inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<ViewEffect> {
    match (inputs.first(), outputs.first()) {
        (Some(Some(input)), Some(Some(output))) if input.dtype == output.dtype => {
            vec![ViewEffect { output: 0, input: 0, offset: 0 }]
        }
        _ => Vec::new(),
    }
}

/// Output 0 is input 0 if there are no more elements than before.
fn same_elements(inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<ViewEffect> {
    let count = |operands: &Operands<'_>| product(&dims(operands.first().copied()??)?);
    let equal = count(inputs).is_some() && count(inputs) == count(outputs);
    if equal { same_bytes(inputs, outputs) } else { Vec::new() }
}

/// A transpose moves nothing if the axes of more than one element stay in order.
fn transposed(perm: &[usize], inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<ViewEffect> {
    let Some(dims) = inputs.first().copied().flatten().and_then(dims) else {
        return Vec::new();
    };
    let moved = |axis: &&usize| dims.get(**axis) != Some(&1);
    let in_order = perm.iter().filter(moved).is_sorted();
    if in_order { same_elements(inputs, outputs) } else { Vec::new() }
}

fn sliced(cuts: &[Cut], inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<ViewEffect> {
    let find = || -> Option<u64> {
        let (input, output) = ((*inputs.first()?)?, (*outputs.first()?)?);
        let dims = dims(input)?;
        let kept = stretch(cuts, &dims)?;
        let same = input.dtype == output.dtype && product(&output.shape.known()?)? == kept.elements;
        if same { byte_of(kept.first, input.dtype) } else { None }
    };
    let view = find().map(|offset| ViewEffect { output: 0, input: 0, offset });
    view.into_iter().collect()
}

/// Some elements in a row.
struct Stretch {
    first: u64,
    elements: u64,
}

/// The elements that cuts leave, if they are one stretch of memory.
fn stretch(cuts: &[Cut], dims: &[u64]) -> Option<Stretch> {
    let mut parts: Vec<(u64, u64)> = dims.iter().map(|dim| (0, *dim)).collect();
    for cut in cuts {
        if !cut.is_run() {
            return None;
        }
        *parts.get_mut(cut.axis)? = (cut.start, cut.len);
    }
    let (mut first, mut elements, mut stride) = (0u64, 1u64, 1u64);
    let mut whole = true;
    for ((start, len), dim) in parts.into_iter().zip(dims).rev() {
        if !whole && len > 1 {
            return None;
        }
        whole &= len == *dim;
        first = first.checked_add(start.checked_mul(stride)?)?;
        elements = elements.checked_mul(len)?;
        stride = stride.checked_mul(*dim)?;
    }
    Some(Stretch { first, elements })
}

/// Where an element begins, if that is a whole byte.
fn byte_of(element: u64, dtype: Dtype) -> Option<u64> {
    let bits = u128::from(element) * u128::from(dtype.bits());
    if bits % 8 == 0 { u64::try_from(bits / 8).ok() } else { None }
}

fn split(axis: usize, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Vec<ViewEffect> {
    let Some(Some(input)) = inputs.first() else {
        return Vec::new();
    };
    let mut views = Vec::new();
    let mut start = 0u64;
    for (index, output) in outputs.iter().enumerate() {
        let len = output.and_then(dims).and_then(|dims| dims.get(axis).copied());
        let (Some(output), Some(len)) = (output, len) else {
            break; // Where the next part begins is not known.
        };
        let cut = [Cut::new(axis, start, len)];
        let view = sliced(&cut, &[Some(*input)], &[Some(*output)]);
        views.extend(view.into_iter().map(|view| ViewEffect { output: index, ..view }));
        start = start.saturating_add(len);
    }
    views
}

#[cfg(test)]
mod tests;
