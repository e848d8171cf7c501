//! From an operator to the class of what it does to memory.
//!
//! Shapes are stored, so that nothing has to be inferred. Where a class needs numbers that are in no
//! constant (a permutation, the places of a slice), one that shares less takes its place.

use plimsoll_graph::{Cut, Op};

use crate::builtin::BuiltinClass;
use crate::file::{Operator, Tensor};

/// The class of an operator on the tensors of its subgraph.
pub(crate) fn class(operator: &Operator, tensors: &[Tensor]) -> Op {
    let of = Operands { operator, tensors };
    match operator.class {
        BuiltinClass::Unary => Op::Unary,
        BuiltinClass::Binary => Op::Binary,
        BuiltinClass::Variadic => Op::Variadic,
        BuiltinClass::Where => Op::Where,
        BuiltinClass::Softmax => Op::Softmax,
        BuiltinClass::Norm => Op::Norm,
        BuiltinClass::Cast => Op::Cast,
        BuiltinClass::Quantize => Op::Quantize,
        BuiltinClass::Fill => Op::Fill,
        BuiltinClass::ShapeOf => Op::ShapeOf,
        BuiltinClass::MatMul => Op::MatMul,
        BuiltinClass::Reduce => Op::Reduce,
        BuiltinClass::ArgReduce => Op::ArgReduce,
        BuiltinClass::TopK => Op::TopK,
        BuiltinClass::Rnn => Op::Rnn,
        BuiltinClass::Reshape => Op::Reshape,
        BuiltinClass::Squeeze => Op::Squeeze,
        BuiltinClass::ExpandDims => Op::Unsqueeze,
        BuiltinClass::Transpose => of.transpose().unwrap_or(Op::Gather),
        BuiltinClass::Slice => of.slice().unwrap_or(Op::Gather),
        BuiltinClass::StridedSlice => of.strided_slice().unwrap_or(Op::Gather),
        BuiltinClass::Split | BuiltinClass::SplitV => of.split().unwrap_or(Op::Gather),
        BuiltinClass::Concat => of.concat().unwrap_or(Op::Gather),
        BuiltinClass::Gather => Op::Gather,
        BuiltinClass::Pad => Op::Pad,
        BuiltinClass::Expand => Op::Expand,
        BuiltinClass::UpdateSlice => Op::UpdateSlice,
        BuiltinClass::Window
        | BuiltinClass::If
        | BuiltinClass::While
        | BuiltinClass::CallOnce
        | BuiltinClass::Stateful
        | BuiltinClass::Opaque => Op::Custom,
    }
}

/// The operands in the order that the class has them in: a split begins with what is split.
pub(crate) fn operands(operator: &Operator) -> Vec<Option<usize>> {
    let mut inputs = operator.inputs.clone();
    if operator.class == BuiltinClass::Split && inputs.len() == 2 {
        inputs.swap(0, 1);
    }
    inputs
}

struct Operands<'a> {
    operator: &'a Operator,
    tensors: &'a [Tensor],
}

impl<'a> Operands<'a> {
    fn input(&self, index: usize) -> Option<&'a Tensor> {
        self.tensors.get((*self.operator.inputs.get(index)?)?)
    }

    fn output(&self) -> Option<&'a Tensor> {
        self.tensors.get(*self.operator.outputs.first()?)
    }

    fn ints(&self, index: usize) -> Option<&'a [i64]> {
        self.input(index)?.ints.as_deref()
    }

    fn transpose(&self) -> Option<Op> {
        let perm = self.ints(1)?.iter().map(|axis| usize::try_from(*axis).ok());
        Some(Op::Transpose { perm: perm.collect::<Option<_>>()? })
    }

    /// Where it begins is a constant; how long it is its output says.
    fn slice(&self) -> Option<Op> {
        let lengths = &self.output()?.dims;
        let places = self.ints(1)?.iter().zip(lengths).enumerate();
        let cut = |(axis, (start, len)): (usize, (&i64, &i32))| {
            Some(Cut::new(axis, u64::try_from(*start).ok()?, u64::try_from(*len).ok()?))
        };
        Some(Op::Slice { cuts: places.map(cut).collect::<Option<_>>()? })
    }

    /// The same with steps, as long as no axis comes or goes.
    fn strided_slice(&self) -> Option<Op> {
        let [begin_mask, _, ellipsis, new_axis, shrink] = self.operator.options;
        if ellipsis | new_axis | shrink != 0 {
            return None;
        }
        let (dims, lengths) = (&self.input(0)?.dims, &self.output()?.dims);
        let (starts, steps) = (self.ints(1)?, self.ints(3)?);
        let mut cuts = Vec::with_capacity(dims.len());
        for (axis, (dim, len)) in dims.iter().zip(lengths).enumerate() {
            let (start, step) = (*starts.get(axis)?, *steps.get(axis)?);
            let is_whole = axis < 32 && begin_mask & (1 << axis) != 0;
            let start = match (is_whole, start < 0) {
                (true, _) if step < 0 => return None,
                (true, _) => 0,
                (false, true) => start.checked_add(i64::from(*dim))?.max(0),
                (false, false) => start,
            };
            let (start, len) = (u64::try_from(start).ok()?, u64::try_from(*len).ok()?);
            cuts.push(Cut { axis, start, len, step });
        }
        Some(Op::Slice { cuts })
    }

    fn split(&self) -> Option<Op> {
        let (axis, whole) = match self.operator.class {
            BuiltinClass::Split => (0, 1),
            _ => (2, 0),
        };
        let [axis] = *self.ints(axis)? else { return None };
        Some(Op::Split { axis: counted(axis, self.input(whole)?.dims.len())? })
    }

    fn concat(&self) -> Option<Op> {
        let axis = i64::from(self.operator.options[0]);
        Some(Op::Concat { axis: counted(axis, self.output()?.dims.len())? })
    }
}

/// An axis that may count from the end, counted from the start.
fn counted(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}
