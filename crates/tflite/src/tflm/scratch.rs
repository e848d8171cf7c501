//! The scratch memory that the reference kernels of TensorFlow Lite Micro ask for.
//!
//! A kernel asks for it when it is prepared, and the interpreter finds a place for it around the tensors.
//! Nothing of it is in the file. This is what the reference kernels ask for, request by request; those of
//! other libraries (CMSIS-NN and the like) ask for more where they convolve, which is not known here.
//! Sizes of numbers and pointers are those of a machine with 64 bits, so that there is room on smaller ones.

use plimsoll_graph::Dtype;

use crate::dtype::{INT4, dtype};
use crate::file::{Operator, Tensor};

/// How wide the integers are that kernels count with.
const INT: u64 = 4;
/// How wide an address is.
const POINTER: u64 = 8;

/// What an operator asks for, in bytes, in the order in which it does. A request that cannot be worked out
/// is left out.
pub(crate) fn requests(operator: &Operator, tensors: &[Tensor]) -> Vec<u64> {
    let of = Operands { operator, tensors };
    let requests = match &operator.kind[..] {
        "CONV_2D" | "DEPTHWISE_CONV_2D" | "FULLY_CONNECTED" => of.unpacked_weights(),
        "SVDF" => of.svdf(),
        "MEAN" | "SUM" => of.sums(),
        "REDUCE_MAX" | "REDUCE_MIN" | "REDUCE_ALL" => of.extremes(),
        "TRANSPOSE_CONV" => of.transposed_convolution(),
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => of.lstm(),
        "MIRROR_PAD" => of.rank(0).map(|rank| vec![INT * rank; 2]),
        "SignalRfft" => of.transform(),
        "ADD_N" => Some(vec![POINTER * operator.inputs.len() as u64]),
        _ => None,
    };
    requests.unwrap_or_default()
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

    fn dtype(&self, index: usize) -> Option<Dtype> {
        dtype(self.input(index)?.dtype)
    }

    fn rank(&self, index: usize) -> Option<u64> {
        Some(self.input(index)?.dims.len() as u64)
    }

    /// Weights of four bits become bytes.
    fn unpacked_weights(&self) -> Option<Vec<u64>> {
        let weights = self.input(1).filter(|weights| weights.dtype == INT4)?;
        Some(vec![weights.elements()?])
    }

    /// `input [batch, size], features [filters, size], …`.
    fn svdf(&self) -> Option<Vec<u64>> {
        let batch = u64::try_from(*self.input(0)?.dims.first()?).ok()?;
        let filters = u64::try_from(*self.input(1)?.dims.first()?).ok()?;
        let sums = batch.checked_mul(filters)?.checked_mul(INT)?;
        if self.dtype(0)? == Dtype::F32 {
            return Some(vec![sums]);
        }
        let rank = u64::try_from(self.operator.options[0]).ok()?;
        let units = filters.checked_div(rank)?;
        Some(vec![sums, batch.checked_mul(units)?.checked_mul(INT)?])
    }

    /// Where it is in the input, and the axes.
    fn extremes(&self) -> Option<Vec<u64>> {
        Some(vec![INT * self.rank(0)?, INT.checked_mul(self.input(1)?.elements()?)?])
    }

    /// The same, behind sums in wider integers.
    fn sums(&self) -> Option<Vec<u64>> {
        let places = self.extremes()?;
        match self.dtype(0)? {
            Dtype::I8 | Dtype::I16 => {
                let sums = INT.checked_mul(self.output()?.elements()?)?;
                Some([vec![sums], places].concat())
            }
            _ => Some(places),
        }
    }

    /// Sums in wider integers; and a bias of 16 bits becomes one of 64.
    fn transposed_convolution(&self) -> Option<Vec<u64>> {
        let outputs = self.output()?.elements()?;
        match self.dtype(2)? {
            Dtype::I8 => Some(vec![outputs.checked_mul(4)?]),
            Dtype::I16 => {
                let bias = self.input(3).filter(|bias| dtype(bias.dtype) == Some(Dtype::I16));
                let wide = bias.and_then(Tensor::elements).map(|count| count.saturating_mul(8));
                Some(std::iter::once(outputs.checked_mul(8)?).chain(wide).collect())
            }
            _ => None,
        }
    }

    /// As long as the transform is, whose output is half of it and one more, in pairs.
    fn transform(&self) -> Option<Vec<u64>> {
        let length = u64::try_from(*self.output()?.dims.last()?).ok()?.checked_sub(2)?;
        Some(vec![self.dtype(0)?.bytes(length)?])
    }

    /// Four gates, each as large as the state of the cells.
    fn lstm(&self) -> Option<Vec<u64>> {
        const CELLS: usize = 19;
        let (cells, bits) = (self.input(CELLS)?, self.dtype(CELLS)?.bits());
        Some(vec![cells.elements()?.checked_mul(bits)? / 8; 4])
    }
}
