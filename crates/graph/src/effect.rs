//! What each class of ops does to memory: the one table, and what follows from a line of it for operands.
//!
//! [`traits`] has a line for every class, and its `match` has no wildcard: a new class does not compile
//! until everything is stated. It says which outputs are views of which input, which outputs may take
//! over the bytes of which input, which inputs are read at all, what a part of an output needs, and what
//! may be computed again. The other modules apply a line to operands with types and shapes:
//!
//! | module | what follows there |
//! |---|---|
//! | `view` | outputs that are one stretch of an input |
//! | `strided` | outputs that are rows of an input, and inputs that are parts of the output of a concat |
//! | `partition` | what some rows of an output need of each operand |
//! | `misfit` | what is wrong with operands, where anything else would be a guess |
//!
//! - **Views** are decided on elements as they are packed natively, so that they do not depend on
//!   the width policy. A part of a tensor is a view where it is one stretch of memory: everything
//!   after the cut axis is whole, and there is one index of everything before it.
//! - **Overwrites** say: the kernel reads each byte of the input for the last time before it writes
//!   that byte of the output. That holds for kernels that go element by element, or row by row with
//!   the row in registers or scratch; and, in ascending order, for outputs that are narrower.

mod misfit;
mod partition;
mod strided;
mod table;
mod view;

pub use misfit::misfit;
pub(crate) use partition::{OuterAxis, needs_rows};
pub(crate) use strided::{ConcatPart, ConcatParts, StridedEffect, concat_parts, strided_views};
pub use table::{InPlace, OpTraits, Partition, Recompute, Views, traits};
pub(crate) use view::known_views;
pub use view::{FoundView, Kept, sliced, views};

use crate::dtype::Dtype;
use crate::op::Op;
use crate::shape::Shape;

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

/// The inputs and the outputs of a node; absent ones are `None`.
pub type NodeOperands<'a> = (Vec<Option<Operand<'a>>>, Vec<Option<Operand<'a>>>);

/// The operands of an op on one side; absent ones are `None`.
pub(crate) type Operands<'a> = [Option<Operand<'a>>];

/// The effect of an op on its operands; absent operands are `None`.
#[must_use]
pub fn effect(op: &Op, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Effect {
    let OpTraits { in_place, scatters, reads, copies, .. } = traits(op);
    let views = known_views(op, inputs, outputs);
    let overwrites = match in_place {
        InPlace::Never | InPlace::Undeclared => Vec::new(),
        InPlace::Same(candidates) => overwrites(inputs, outputs, candidates, |from, to| from == to),
        InPlace::Narrower => overwrites(inputs, outputs, &[0], |from, to| from >= to),
    };
    Effect { views, overwrites, scatters, reads, copies }
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

#[cfg(test)]
mod tests;
