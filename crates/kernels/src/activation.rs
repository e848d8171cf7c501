//! [`Activation`]: functions of one number that end a product or a convolution.

use crate::simd::{Kernel, Simd};
use crate::{Level, math};

/// A function that is applied to every output.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Activation {
    /// `x`
    None,
    /// `max(0, x)`
    Relu,
    /// `min(max(x, min), max)`
    Clip {
        /// The least output.
        min: f32,
        /// The greatest output.
        max: f32,
    },
    /// `x` above zero, `slope · x` below.
    LeakyRelu {
        /// The factor below zero.
        slope: f32,
    },
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// `x · sigmoid(x)`
    Silu,
    /// `tanh(x)`
    Tanh,
    /// `x / 2 · (1 + erf(x / √2))`
    Gelu,
    /// `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`
    GeluTanh,
    /// `min(max(alpha · x + beta, 0), 1)`
    HardSigmoid {
        /// The factor.
        alpha: f32,
        /// The summand.
        beta: f32,
    },
    /// `x · min(max(x / 6 + 1/2, 0), 1)`
    HardSwish,
    /// `x` above zero, `alpha · (exp(x) - 1)` below.
    Elu {
        /// The factor below zero.
        alpha: f32,
    },
}

impl Activation {
    /// The least and the greatest output, if that is all that the function is.
    pub(crate) fn as_clamp(self) -> Option<(f32, f32)> {
        match self {
            Activation::Relu => Some((0.0, f32::INFINITY)),
            Activation::Clip { min, max } => Some((min, max)),
            _ => None,
        }
    }

    /// The function over all of `y`, in place: the same bits at every level.
    pub fn apply(self, level: Level, y: &mut [f32]) {
        level.run(Apply { activation: self, y });
    }

    /// The function at one place.
    #[must_use]
    #[inline(always)]
    pub fn at(self, x: f32) -> f32 {
        match self {
            Activation::None => x,
            Activation::Relu => x.max(0.0),
            Activation::Clip { min, max } => x.max(min).min(max),
            Activation::LeakyRelu { slope } => {
                if x < 0.0 {
                    slope * x
                } else {
                    x
                }
            }
            Activation::Sigmoid => math::sigmoid(x),
            Activation::Silu => x * math::sigmoid(x),
            Activation::Tanh => math::tanh(x),
            Activation::Gelu => 0.5 * x * (1.0 + math::erf(x * core::f32::consts::FRAC_1_SQRT_2)),
            Activation::GeluTanh => gelu_tanh(x),
            Activation::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
            Activation::HardSwish => x * (x * (1.0 / 6.0) + 0.5).clamp(0.0, 1.0),
            Activation::Elu { alpha } => {
                if x < 0.0 {
                    alpha * (math::exp(x) - 1.0)
                } else {
                    x
                }
            }
        }
    }
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
    0.5 * x * (1.0 + math::tanh(inner))
}

/// An activation over a slice.
struct Apply<'a> {
    activation: Activation,
    y: &'a mut [f32],
}

/// Loops over the slice once for each kind of function, so that the kind is not asked for every element.
macro_rules! by_kind {
    ($self:ident, [$($kind:pat),* $(,)?]) => {
        match $self.activation {
            $(kind @ $kind => {
                for y in $self.y {
                    *y = kind.at(*y);
                }
            })*
        }
    };
}

impl Kernel for Apply<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, _simd: S) {
        by_kind!(
            self,
            [
                Activation::None,
                Activation::Relu,
                Activation::Clip { .. },
                Activation::LeakyRelu { .. },
                Activation::Sigmoid,
                Activation::Silu,
                Activation::Tanh,
                Activation::Gelu,
                Activation::GeluTanh,
                Activation::HardSigmoid { .. },
                Activation::HardSwish,
                Activation::Elu { .. },
            ]
        );
    }
}
