//! Functions of one element.
//!
//! [`unary`] and [`unary_in_place`] match on the function once and run one loop, which compilers
//! vectorise where the function allows. Both go through the same function of one element, so that
//! they agree bit for bit.

use crate::element::{Bits, Element, Number, Real, level_for};
use crate::simd::{Level, wide, widest};

/// A function of one real number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(
    missing_docs,
    reason = "the names are ONNX's, and the formulas stand beside the parameters"
)]
pub enum Unary {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    /// `max(0, x) + min(0, alpha (exp(x / alpha) - 1))`.
    Celu {
        alpha: f32,
    },
    Cos,
    Cosh,
    /// `x` if it is positive, else `alpha (exp(x) - 1)`.
    Elu {
        alpha: f32,
    },
    Erf,
    Exp,
    Floor,
    /// `x / 2 (1 + erf(x / √2))`.
    Gelu,
    /// `x / 2 (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
    GeluTanh,
    /// `max(0, min(1, alpha x + beta))`.
    HardSigmoid {
        alpha: f32,
        beta: f32,
    },
    /// `x max(0, min(1, x / 6 + 1 / 2))`.
    HardSwish,
    Identity,
    /// `x` if it is not negative, else `alpha x`.
    LeakyRelu {
        alpha: f32,
    },
    Log,
    /// `x tanh(ln(1 + exp(x)))`.
    Mish,
    Neg,
    Reciprocal,
    Relu,
    Round,
    /// `gamma x` if it is positive, else `gamma alpha (exp(x) - 1)`.
    Selu {
        alpha: f32,
        gamma: f32,
    },
    /// `x - bias` above `lambda`, `x + bias` below `-lambda`, else 0.
    Shrink {
        lambda: f32,
        bias: f32,
    },
    Sigmoid,
    Sign,
    Sin,
    Sinh,
    /// `ln(1 + exp(x))`.
    Softplus,
    /// `x / (1 + |x|)`.
    Softsign,
    Sqrt,
    /// `x sigmoid(alpha x)`; with `alpha` 1 also called `SiLU`.
    Swish {
        alpha: f32,
    },
    Tan,
    Tanh,
    /// `x` above `alpha`, else 0.
    ThresholdedRelu {
        alpha: f32,
    },
}

/// A function of one integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum UnaryInteger {
    Abs,
    Neg,
    Relu,
    Sign,
    /// Every bit inverted.
    BitwiseNot,
    Identity,
}

/// A question about one real number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Whether it is not a number.
    IsNan,
    /// Whether it is infinite.
    IsInf {
        /// Whether negative infinity counts.
        negative: bool,
        /// Whether positive infinity counts.
        positive: bool,
    },
}

/// `y[i] = function(x[i])`. Lengths are equal.
#[inline(never)]
pub fn unary<T: Real>(level: Level, function: Unary, x: &[T], y: &mut [T]) {
    assert_eq!(x.len(), y.len());
    widest(
        level_for::<T>(level),
        #[inline(always)]
        || with(function, Apart { x, y }),
    );
}

/// `y[i] = function(y[i])`.
#[inline(never)]
pub fn unary_in_place<T: Real>(level: Level, function: Unary, y: &mut [T]) {
    widest(
        level_for::<T>(level),
        #[inline(always)]
        || with(function, InPlace { y }),
    );
}

/// `y[i] = function(x[i])` of integers. Lengths are equal.
#[inline(never)]
pub fn unary_integer<T: Bits>(level: Level, function: UnaryInteger, x: &[T], y: &mut [T]) {
    assert_eq!(x.len(), y.len());
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || with_integer(function, Apart { x, y }),
    );
}

/// `y[i] = function(y[i])` of integers.
#[inline(never)]
pub fn unary_integer_in_place<T: Bits>(level: Level, function: UnaryInteger, y: &mut [T]) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || with_integer(function, InPlace { y }),
    );
}

/// `y[i] = 1` where the answer is yes, else 0. Lengths are equal.
pub fn test<T: Real>(question: Test, x: &[T], y: &mut [u8]) {
    assert_eq!(x.len(), y.len());
    let is = |x: T| match question {
        Test::IsNan => x.is_nan(),
        Test::IsInf { negative, positive } => {
            (negative && x == T::LOWEST) || (positive && x == T::HIGHEST)
        }
    };
    for (y, &x) in y.iter_mut().zip(x) {
        *y = u8::from(is(x));
    }
}

/// `y[i] = 1` where `x[i]` is 0, else 0. Lengths are equal.
pub fn not(x: &[u8], y: &mut [u8]) {
    assert_eq!(x.len(), y.len());
    Apart { x, y }.run(negated);
}

/// `y[i] = 1` where `y[i]` is 0, else 0.
pub fn not_in_place(y: &mut [u8]) {
    InPlace { y }.run(negated);
}

#[inline(always)]
fn negated(x: u8) -> u8 {
    u8::from(x == 0)
}

/// A loop over elements that is yet to be told its function.
trait Loop<T> {
    fn run(self, function: impl Fn(T) -> T);
}

struct Apart<'a, T> {
    x: &'a [T],
    y: &'a mut [T],
}

struct InPlace<'a, T> {
    y: &'a mut [T],
}

impl<T: Element> Loop<T> for Apart<'_, T> {
    #[inline(always)]
    fn run(self, function: impl Fn(T) -> T) {
        for (y, &x) in self.y.iter_mut().zip(self.x) {
            *y = function(x);
        }
    }
}

impl<T: Element> Loop<T> for InPlace<'_, T> {
    #[inline(always)]
    fn run(self, function: impl Fn(T) -> T) {
        for y in self.y {
            *y = function(*y);
        }
    }
}

/// Runs a loop with a function, which is chosen outside of it.
#[inline(always)]
fn with<T: Real>(function: Unary, elements: impl Loop<T>) {
    let of = T::from_f32;
    match function {
        Unary::Abs => elements.run(T::abs),
        Unary::Acos => elements.run(T::acos),
        Unary::Acosh => elements.run(T::acosh),
        Unary::Asin => elements.run(T::asin),
        Unary::Asinh => elements.run(T::asinh),
        Unary::Atan => elements.run(T::atan),
        Unary::Atanh => elements.run(T::atanh),
        Unary::Ceil => elements.run(T::ceil),
        Unary::Celu { alpha } => elements.run(celu(of(alpha))),
        Unary::Cos => elements.run(T::cos),
        Unary::Cosh => elements.run(T::cosh),
        Unary::Elu { alpha } => elements.run(selu(of(alpha), T::ONE)),
        Unary::Erf => elements.run(T::erf),
        Unary::Exp => elements.run(T::exp),
        Unary::Floor => elements.run(T::floor),
        Unary::Gelu => elements.run(gelu),
        Unary::GeluTanh => elements.run(gelu_tanh),
        Unary::HardSigmoid { alpha, beta } => elements.run(hard_sigmoid(of(alpha), of(beta))),
        Unary::HardSwish => elements.run(hard_swish),
        Unary::Identity => elements.run(
            #[inline(always)]
            |x| x,
        ),
        Unary::LeakyRelu { alpha } => elements.run(leaky_relu(of(alpha))),
        Unary::Log => elements.run(T::ln),
        Unary::Mish => elements.run(
            #[inline(always)]
            |x: T| x.mul(softplus(x).tanh()),
        ),
        Unary::Neg => elements.run(T::neg),
        Unary::Reciprocal => elements.run(
            #[inline(always)]
            |x| T::ONE.div(x),
        ),
        Unary::Relu => elements.run(relu),
        Unary::Round => elements.run(T::round_even),
        Unary::Selu { alpha, gamma } => elements.run(selu(of(alpha), of(gamma))),
        Unary::Shrink { lambda, bias } => elements.run(shrink(of(lambda), of(bias))),
        Unary::Sigmoid => elements.run(sigmoid),
        Unary::Sign => elements.run(T::sign),
        Unary::Sin => elements.run(T::sin),
        Unary::Sinh => elements.run(T::sinh),
        Unary::Softplus => elements.run(softplus),
        Unary::Softsign => elements.run(
            #[inline(always)]
            |x: T| x.div(T::ONE.add(x.abs())),
        ),
        Unary::Sqrt => elements.run(T::sqrt),
        Unary::Swish { alpha } => elements.run(swish(of(alpha))),
        Unary::Tan => elements.run(T::tan),
        Unary::Tanh => elements.run(T::tanh),
        Unary::ThresholdedRelu { alpha } => elements.run(thresholded_relu(of(alpha))),
    }
}

#[inline(always)]
fn with_integer<T: Bits>(function: UnaryInteger, elements: impl Loop<T>) {
    match function {
        UnaryInteger::Abs => elements.run(T::abs),
        UnaryInteger::Neg => elements.run(T::neg),
        UnaryInteger::Relu => elements.run(relu),
        UnaryInteger::Sign => elements.run(T::sign),
        UnaryInteger::BitwiseNot => elements.run(T::not),
        UnaryInteger::Identity => elements.run(
            #[inline(always)]
            |x| x,
        ),
    }
}

/// Not a number stays what it is.
#[inline(always)]
pub(crate) fn relu<T: Number>(x: T) -> T {
    if x < T::ZERO { T::ZERO } else { x }
}

#[inline(always)]
pub(crate) fn sigmoid<T: Real>(x: T) -> T {
    x.sigmoid()
}

/// Of large `x` it is `x`, of negative ones the small rest.
#[inline(always)]
pub(crate) fn softplus<T: Real>(x: T) -> T {
    let above = if x < T::ZERO { T::ZERO } else { x };
    above.add(ln_1p_of_small(x.abs().neg().exp()))
}

/// `ln(1 + t)` for `t` from 0 to 1: the logarithm of the rounded sum, mended by what rounding took.
#[inline(always)]
fn ln_1p_of_small<T: Real>(t: T) -> T {
    let sum = T::ONE.add(t);
    let lost = t.sub(sum.sub(T::ONE));
    sum.ln().add(lost.div(sum))
}

#[inline(always)]
fn gelu<T: Real>(x: T) -> T {
    let half = T::from_f32(0.5);
    let inverse_root = T::from_f64(core::f64::consts::FRAC_1_SQRT_2);
    half.mul(x).mul(T::ONE.add(x.mul(inverse_root).erf()))
}

#[inline(always)]
fn gelu_tanh<T: Real>(x: T) -> T {
    let (half, cubic) = (T::from_f32(0.5), T::from_f64(0.044_715));
    let root = T::from_f64(0.797_884_560_802_865_4); // √(2/π)
    let inner = root.mul(x.add(cubic.mul(x).mul(x).mul(x)));
    half.mul(x).mul(T::ONE.add(inner.tanh()))
}

#[inline(always)]
fn hard_swish<T: Real>(x: T) -> T {
    let sixth = T::from_f64(1.0 / 6.0);
    x.mul(hard_sigmoid(sixth, T::from_f32(0.5))(x))
}

#[inline(always)]
pub(crate) fn hard_sigmoid<T: Real>(alpha: T, beta: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| alpha.mul(x).add(beta).least(T::ONE).most(T::ZERO)
}

#[inline(always)]
pub(crate) fn leaky_relu<T: Number>(alpha: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| if x < T::ZERO { alpha.mul(x) } else { x }
}

#[inline(always)]
pub(crate) fn thresholded_relu<T: Number>(alpha: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| if x > alpha { x } else { T::ZERO }
}

#[inline(always)]
fn swish<T: Real>(alpha: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| x.mul(sigmoid(alpha.mul(x)))
}

#[inline(always)]
fn celu<T: Real>(alpha: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| if x < T::ZERO { alpha.mul(x.div(alpha).exp_m1()) } else { x }
}

#[inline(always)]
fn selu<T: Real>(alpha: T, gamma: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| gamma.mul(if x > T::ZERO { x } else { alpha.mul(x.exp_m1()) })
}

#[inline(always)]
fn shrink<T: Number>(lambda: T, bias: T) -> impl Fn(T) -> T {
    #[inline(always)]
    move |x| {
        let above = if x > lambda { x.sub(bias) } else { T::ZERO };
        if x < lambda.neg() { x.add(bias) } else { above }
    }
}
