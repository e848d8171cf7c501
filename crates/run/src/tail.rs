//! What follows the sums of a product or a convolution, as its kernel is told.

use std::borrow::Cow;

use plimsoll_kernels::chain::{Data, MOST_OPERANDS, Then};
use plimsoll_kernels::{Activation, Bias, Epilogue, Level, Residual, unary};
use plimsoll_model::Unary;

use crate::compiled::Compiled;
use crate::functions::real_function;
use crate::io::Io;
use crate::kernel::Lack;

/// The operand of a call that is added to the sums.
pub(crate) const SLOT_RESIDUAL: usize = 3;
/// The first operand of a call that is one of a chain.
pub(crate) const SLOT_CHAIN: usize = 4;

/// What follows the sums of a product.
pub(crate) struct Tail {
    pub(crate) follows: Follows,
    /// Factors of the sums, one for each channel, which are folded into weights; empty if there are none.
    pub(crate) scale: Vec<f32>,
    /// Summands, likewise.
    pub(crate) shift: Vec<f32>,
    /// Whatever is left, with the operands from [`SLOT_CHAIN`] on.
    pub(crate) chain: Option<Compiled>,
}

impl Default for Tail {
    fn default() -> Self {
        Tail { follows: Follows::NOTHING, scale: Vec::new(), shift: Vec::new(), chain: None }
    }
}

impl Tail {
    /// A function alone.
    pub(crate) fn of(activation: Option<Unary>) -> Result<Self, Lack> {
        Ok(Tail { follows: Follows::new(activation)?, ..Tail::default() })
    }

    /// Whether weights are not what the model has.
    pub(crate) fn is_folded(&self) -> bool {
        !self.scale.is_empty()
    }

    /// Weights of so many channels, row by row, with the factor of each row.
    pub(crate) fn scaled_rows<'w>(&self, weights: Cow<'w, [f32]>, rows: usize) -> Cow<'w, [f32]> {
        if !self.is_folded() {
            return weights;
        }
        let mut weights = weights.into_owned();
        let len = (weights.len() / rows.max(1)).max(1);
        for (row, factor) in weights.chunks_exact_mut(len).zip(&self.scale) {
            for weight in row {
                *weight *= factor;
            }
        }
        Cow::Owned(weights)
    }

    /// Rows of so many weights, with the factor of each column.
    pub(crate) fn scaled_columns<'w>(
        &self,
        weights: Cow<'w, [f32]>,
        columns: usize,
    ) -> Cow<'w, [f32]> {
        if !self.is_folded() {
            return weights;
        }
        let mut weights = weights.into_owned();
        for row in weights.chunks_exact_mut(columns.max(1)) {
            row.iter_mut().zip(&self.scale).for_each(|(weight, factor)| *weight *= factor);
        }
        Cow::Owned(weights)
    }

    /// What the kernel is told. `bias` says what summands are of, `stride` how long a row is.
    pub(crate) fn epilogue<'a>(
        &'a self,
        io: &Io<'a>,
        bias: fn(&'a [f32]) -> Bias<'a>,
        stride: usize,
        data: &'a mut [Data<'a>; MOST_OPERANDS],
    ) -> Epilogue<'a> {
        let residual = if io.is_in_place(SLOT_RESIDUAL) {
            Residual::InPlace
        } else {
            let rows = |data| Residual::Rows { data, stride };
            io.optional(SLOT_RESIDUAL).map_or(Residual::None, rows)
        };
        let bias = if self.shift.is_empty() { Bias::None } else { bias(&self.shift) };
        let then = self.chain.as_ref().map(|compiled| Then {
            chain: compiled.chain(),
            operands: compiled.operands(io, SLOT_CHAIN, data),
            first: 0,
        });
        Epilogue { bias, residual, activation: self.follows.activation, then, ..Epilogue::NONE }
    }

    /// How many operands a call has with those of the chain.
    pub(crate) fn slots(&self) -> usize {
        SLOT_CHAIN + self.chain.as_ref().map_or(0, |compiled| compiled.tensors().count())
    }

    /// How many numbers it keeps beside the weights.
    pub(crate) fn number_count(&self) -> usize {
        self.shift.len() + self.chain.as_ref().map_or(0, Compiled::number_count)
    }
}

/// What follows a product or a convolution: within the kernel where it knows the function, else after it.
#[derive(Clone, Copy)]
pub(crate) struct Follows {
    pub(crate) activation: Activation,
    after: Option<unary::Unary>,
}

impl Follows {
    /// Nothing.
    pub(crate) const NOTHING: Follows = Follows { activation: Activation::None, after: None };

    /// A function that the kernel has itself, if it has.
    pub(crate) fn within(function: Unary) -> Option<Self> {
        Follows::new(Some(function)).ok().filter(|follows| follows.after.is_none())
    }

    pub(crate) fn new(function: Option<Unary>) -> Result<Self, Lack> {
        let fused = |activation| Ok(Follows { activation, after: None });
        match function {
            None => fused(Activation::None),
            Some(Unary::Relu) => fused(Activation::Relu),
            Some(Unary::Clamp { least, most }) => fused(Activation::Clip { min: least, max: most }),
            Some(Unary::LeakyRelu { alpha }) => fused(Activation::LeakyRelu { slope: alpha }),
            Some(Unary::Sigmoid) => fused(Activation::Sigmoid),
            Some(Unary::Tanh) => fused(Activation::Tanh),
            Some(Unary::HardSigmoid { alpha, beta }) => {
                fused(Activation::HardSigmoid { alpha, beta })
            }
            Some(Unary::HardSwish) => fused(Activation::HardSwish),
            Some(Unary::Gelu { tanh: false }) => fused(Activation::Gelu),
            Some(Unary::Gelu { tanh: true }) => fused(Activation::GeluTanh),
            Some(Unary::Swish { alpha: 1.0 }) => fused(Activation::Silu),
            Some(other) => {
                Ok(Follows { activation: Activation::None, after: Some(real_function(other)?) })
            }
        }
    }

    /// What the kernel does not do itself.
    pub(crate) fn finish(self, level: Level, y: &mut [f32]) {
        if let Some(after) = self.after {
            unary::unary_in_place(level, after, y);
        }
    }
}
