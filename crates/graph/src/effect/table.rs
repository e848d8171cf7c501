//! The table itself: a line for every class of ops.

use crate::op::{Cut, Op};

/// What ops of a class do to memory: a line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTraits<'o> {
    /// Which outputs are views where their bytes allow it, and of what.
    pub views: Views<'o>,
    /// Which inputs the first output may take over the bytes of.
    pub in_place: InPlace,
    /// Whether other operands are still read when elements of the one that is overwritten have been
    /// replaced anywhere in it, so that they must not be the same value.
    pub scatters: bool,
    /// Whether the bytes of inputs are read; otherwise only what is known of them beforehand.
    pub reads: bool,
    /// Whether outputs hold nothing but elements of inputs: what a runtime with better views could
    /// do without.
    pub copies: bool,
    /// Whether some rows of the output can be made without the others.
    pub partition: Partition,
    /// Whether the output may be computed a second time.
    pub recompute: Recompute,
}

/// How outputs and inputs can be the same bytes without a step that writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views<'o> {
    /// They cannot.
    None,
    /// The first output is the first input, if the type stays.
    Whole,
    /// The first output repeats the elements of the first input.
    Repeat,
    /// The first output has the axes of the first input in another order.
    Permute {
        /// The input's axis for each of the output's.
        perm: &'o [usize],
    },
    /// The first output is a part of the first input.
    Cut {
        /// What is kept of which axis.
        cuts: &'o [Cut],
    },
    /// The outputs are consecutive parts of the first input.
    Split {
        /// Along which axis.
        axis: usize,
    },
    /// The inputs are consecutive parts of the first output.
    Concat {
        /// Along which axis.
        axis: usize,
    },
}

impl Views<'_> {
    /// Whether outputs are parts of an input.
    #[must_use]
    pub fn takes_parts(self) -> bool {
        matches!(self, Views::Cut { .. } | Views::Split { .. })
    }

    /// Whether outputs and inputs can be rows of each other where they are no stretches.
    #[must_use]
    pub fn can_be_strided(self) -> bool {
        self.takes_parts() || matches!(self, Views::Repeat | Views::Concat { .. })
    }
}

/// Which inputs the first output may take over the bytes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// None.
    Never,
    /// Those of these inputs that have its shape and its width, the first rather than the last.
    Same(&'static [usize]),
    /// The first input, if it has its shape and is not narrower.
    Narrower,
    /// Nothing is known of the op: what it may overwrite is declared on the node.
    Undeclared,
}

/// What some rows of an output need of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Rows depend on each other, or it is not known whether they do.
    None,
    /// The same rows of every operand, or all of one that is broadcast.
    Elementwise,
    /// The same elements of the first operand in another shape.
    Reshape,
    /// The rows of a matrix, or the matrices of a stack.
    Product,
    /// The filters that make these channels, and the channels of the image that they see.
    Convolution,
    /// The same channels of the first operand.
    Channels,
}

/// Whether an output may be computed a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recompute {
    /// It is dear, a view, or not certainly the same again.
    Never,
    /// Elements are gone over once, and the same operands give the same output.
    Cheap,
    /// As above if there is one operand: with more it may be dropout, which is random.
    CheapIfUnary,
}

/// Every input is read, every output is written, nothing is shared: the safe default.
const OPAQUE: OpTraits<'static> = OpTraits {
    views: Views::None,
    in_place: InPlace::Never,
    scatters: false,
    reads: true,
    copies: false,
    partition: Partition::None,
    recompute: Recompute::Never,
};

/// Elements in, elements out, each gone over once.
const ELEMENTWISE: OpTraits<'static> = OpTraits {
    in_place: InPlace::Same(&[0]),
    partition: Partition::Elementwise,
    recompute: Recompute::Cheap,
    ..OPAQUE
};

/// The same elements in the same order.
const RESHAPE: OpTraits<'static> =
    OpTraits { views: Views::Whole, copies: true, partition: Partition::Reshape, ..OPAQUE };

/// Elements of the input, moved.
const MOVE: OpTraits<'static> = OpTraits { copies: true, recompute: Recompute::Cheap, ..OPAQUE };

/// The line of an op.
#[must_use]
pub fn traits(op: &Op) -> OpTraits<'_> {
    use Recompute::{Cheap, CheapIfUnary, Never};
    let same = InPlace::Same;
    match op {
        Op::Unary => OpTraits { recompute: CheapIfUnary, ..ELEMENTWISE },
        // Limits, scales and biases are read again for every element or row: here, in norms and in
        // quantization.
        Op::Clamp | Op::Variadic => OpTraits { scatters: true, ..ELEMENTWISE },
        Op::Copy => OpTraits { copies: true, ..ELEMENTWISE },
        Op::Binary => OpTraits { in_place: same(&[0, 1]), ..ELEMENTWISE },
        Op::Where => OpTraits { in_place: same(&[1, 2, 0]), ..ELEMENTWISE },
        Op::Cast => OpTraits { views: Views::Whole, in_place: InPlace::Narrower, ..ELEMENTWISE },
        Op::Quantize => {
            let in_place = InPlace::Narrower;
            OpTraits { in_place, scatters: true, recompute: Cheap, ..OPAQUE }
        }
        Op::ByRows => OpTraits { in_place: same(&[0, 1]), ..OPAQUE },
        Op::Softmax => OpTraits { in_place: same(&[0]), recompute: Cheap, ..OPAQUE },
        Op::Norm => OpTraits { in_place: same(&[0]), scatters: true, recompute: Cheap, ..OPAQUE },
        Op::Scan => OpTraits { in_place: same(&[0]), ..OPAQUE },
        Op::Scatter | Op::UpdateSlice => {
            OpTraits { in_place: same(&[0]), scatters: true, ..OPAQUE }
        }
        Op::ShapeOf => OpTraits { reads: false, ..OPAQUE },
        Op::MatMul => OpTraits { partition: Partition::Product, ..OPAQUE },
        Op::Conv => OpTraits { partition: Partition::Convolution, ..OPAQUE },
        Op::Pool | Op::Resize => {
            OpTraits { partition: Partition::Channels, recompute: Cheap, ..OPAQUE }
        }
        Op::Reduce => OpTraits { recompute: Cheap, ..OPAQUE },
        Op::Fill | Op::ConvTranspose | Op::ArgReduce | Op::TopK | Op::Attention | Op::Rnn => OPAQUE,
        Op::Custom => OpTraits { in_place: InPlace::Undeclared, ..OPAQUE },
        Op::Reshape | Op::Squeeze | Op::Unsqueeze | Op::Flatten | Op::Identity | Op::Dropout => {
            RESHAPE
        }
        Op::Gather | Op::Pad => MOVE,
        Op::Expand => OpTraits { views: Views::Repeat, ..MOVE },
        Op::Transpose { perm } => OpTraits { views: Views::Permute { perm }, ..MOVE },
        Op::Slice { cuts } => OpTraits { views: Views::Cut { cuts }, ..MOVE },
        Op::Split { axis } => {
            OpTraits { views: Views::Split { axis: *axis }, recompute: Never, ..MOVE }
        }
        Op::Concat { axis } => OpTraits { views: Views::Concat { axis: *axis }, ..MOVE },
    }
}
