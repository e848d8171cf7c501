//! Functions of two elements, broadcast against each other: arithmetic, comparisons, logic and bits.
//!
//! The dims are prepared once as a [`Broadcast`]; a kernel then goes over rows, along which each
//! operand is a run of elements or one element. The in-place forms have one operand in the output
//! already, which then has the output's shape, and compute the same bits.

use crate::broadcast::Broadcast;
use crate::element::{Bits, Number, level_for};
use crate::simd::{Level, wide};

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Of integers towards zero.
    Div,
    /// With the sign of the divisor.
    Mod,
    /// With the sign of the dividend, as in C.
    Fmod,
    Min,
    Max,
    /// Half of the sum.
    Mean,
    /// `a` if it is not negative, else `a * b`.
    Prelu,
}

/// A function of the bits of two integers. On booleans the first three are logical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Bitwise {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// A question about two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Which operand is in the output already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// `y = function(a, b)`.
#[inline(never)]
pub fn binary<T: Number>(
    level: Level,
    function: Binary,
    shape: &Broadcast<2>,
    (a, b): (&[T], &[T]),
    y: &mut [T],
) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || with(function, Apart { shape, a, b, y }),
    );
}

/// `y = function(y, other)`, or `function(other, y)` if `y` holds the right operand.
#[inline(never)]
pub fn binary_in_place<T: Number>(
    level: Level,
    function: Binary,
    shape: &Broadcast<2>,
    (side, other): (Side, &[T]),
    y: &mut [T],
) {
    match side {
        Side::Left => wide(
            level_for::<T>(level),
            #[inline(always)]
            || with(function, OnLeft { shape, b: other, y }),
        ),
        Side::Right => wide(
            level_for::<T>(level),
            #[inline(always)]
            || with(function, OnRight { shape, a: other, y }),
        ),
    }
}

/// `y = function(a, b)` on bits.
#[inline(never)]
pub fn bitwise<T: Bits>(
    level: Level,
    function: Bitwise,
    shape: &Broadcast<2>,
    (a, b): (&[T], &[T]),
    y: &mut [T],
) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || with_bits(function, Apart { shape, a, b, y }),
    );
}

/// `y = function(y, other)` on bits, or `function(other, y)` if `y` holds the right operand.
#[inline(never)]
pub fn bitwise_in_place<T: Bits>(
    level: Level,
    function: Bitwise,
    shape: &Broadcast<2>,
    (side, other): (Side, &[T]),
    y: &mut [T],
) {
    match side {
        Side::Left => wide(
            level_for::<T>(level),
            #[inline(always)]
            || with_bits(function, OnLeft { shape, b: other, y }),
        ),
        Side::Right => wide(
            level_for::<T>(level),
            #[inline(always)]
            || with_bits(function, OnRight { shape, a: other, y }),
        ),
    }
}

/// `y = 1` where the answer is yes, else 0.
#[inline(never)]
pub fn compare<T: Number>(
    level: Level,
    question: Comparison,
    shape: &Broadcast<2>,
    (a, b): (&[T], &[T]),
    y: &mut [u8],
) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || with_comparison(question, Apart { shape, a, b, y }),
    );
}

/// An element of one byte, in whose place the answer to a question can be.
pub trait Byte: Number {
    /// The element for an answer.
    fn from_bool(answer: bool) -> Self;
}

impl Byte for u8 {
    #[inline(always)]
    fn from_bool(answer: bool) -> Self {
        u8::from(answer)
    }
}

impl Byte for i8 {
    #[inline(always)]
    fn from_bool(answer: bool) -> Self {
        i8::from(answer)
    }
}

/// `y = 1` where the answer is yes for `y, other`, or for `other, y` if `y` holds the right operand.
#[inline(never)]
pub fn compare_in_place<T: Byte>(
    level: Level,
    question: Comparison,
    shape: &Broadcast<2>,
    (side, other): (Side, &[T]),
    y: &mut [T],
) {
    match side {
        Side::Left => wide(
            level_for::<T>(level),
            #[inline(always)]
            || with_comparison(question, OnLeft { shape, b: other, y }),
        ),
        Side::Right => wide(
            level_for::<T>(level),
            #[inline(always)]
            || with_comparison(question, OnRight { shape, a: other, y }),
        ),
    }
}

/// A loop over rows that is yet to be told its function.
pub(crate) trait Loop<A, B, Y> {
    fn run(self, function: impl Fn(A, B) -> Y);
}

/// Both operands apart from the output.
pub(crate) struct Apart<'a, A, B, Y> {
    pub(crate) shape: &'a Broadcast<2>,
    pub(crate) a: &'a [A],
    pub(crate) b: &'a [B],
    pub(crate) y: &'a mut [Y],
}

/// The left operand in the output.
pub(crate) struct OnLeft<'a, B, Y> {
    pub(crate) shape: &'a Broadcast<2>,
    pub(crate) b: &'a [B],
    pub(crate) y: &'a mut [Y],
}

/// The right operand in the output.
pub(crate) struct OnRight<'a, A, Y> {
    pub(crate) shape: &'a Broadcast<2>,
    pub(crate) a: &'a [A],
    pub(crate) y: &'a mut [Y],
}

impl<A: Copy, B: Copy, Y> Loop<A, B, Y> for Apart<'_, A, B, Y> {
    #[inline(always)]
    fn run(self, function: impl Fn(A, B) -> Y) {
        let Apart { shape, a, b, y } = self;
        assert_eq!((a.len(), b.len()), (shape.operand_len(0), shape.operand_len(1)));
        assert_eq!(y.len(), shape.output_len());
        let n = shape.row();
        shape.for_each_row(
            #[inline(always)]
            |start, [from_a, from_b]| {
                let y = &mut y[start..start + n];
                match (shape.is_run(0), shape.is_run(1)) {
                    (true, true) => {
                        let operands = a[from_a..from_a + n].iter().zip(&b[from_b..from_b + n]);
                        for (y, (&a, &b)) in y.iter_mut().zip(operands) {
                            *y = function(a, b);
                        }
                    }
                    (true, false) => {
                        let b = b[from_b];
                        for (y, &a) in y.iter_mut().zip(&a[from_a..from_a + n]) {
                            *y = function(a, b);
                        }
                    }
                    (false, true) => {
                        let a = a[from_a];
                        for (y, &b) in y.iter_mut().zip(&b[from_b..from_b + n]) {
                            *y = function(a, b);
                        }
                    }
                    (false, false) => y.fill_with(|| function(a[from_a], b[from_b])),
                }
            },
        );
    }
}

impl<B: Copy, Y: Copy> Loop<Y, B, Y> for OnLeft<'_, B, Y> {
    #[inline(always)]
    fn run(self, function: impl Fn(Y, B) -> Y) {
        let OnLeft { shape, b, y } = self;
        assert_eq!((shape.operand_len(0), y.len()), (y.len(), shape.output_len()));
        assert_eq!(b.len(), shape.operand_len(1));
        rows_in_place(shape, 1, b, y, function);
    }
}

impl<A: Copy, Y: Copy> Loop<A, Y, Y> for OnRight<'_, A, Y> {
    #[inline(always)]
    fn run(self, function: impl Fn(A, Y) -> Y) {
        let OnRight { shape, a, y } = self;
        assert_eq!((shape.operand_len(1), y.len()), (y.len(), shape.output_len()));
        assert_eq!(a.len(), shape.operand_len(0));
        rows_in_place(
            shape,
            0,
            a,
            y,
            #[inline(always)]
            |y, a| function(a, y),
        );
    }
}

/// `y = function(y, other)`, where `operand` tells which one the other is.
#[inline(always)]
fn rows_in_place<Y: Copy, O: Copy>(
    shape: &Broadcast<2>,
    operand: usize,
    other: &[O],
    y: &mut [Y],
    function: impl Fn(Y, O) -> Y,
) {
    let n = shape.row();
    shape.for_each_row(
        #[inline(always)]
        |start, from| {
            let (y, from) = (&mut y[start..start + n], from[operand]);
            if shape.is_run(operand) {
                for (y, &other) in y.iter_mut().zip(&other[from..from + n]) {
                    *y = function(*y, other);
                }
            } else {
                let other = other[from];
                for y in y {
                    *y = function(*y, other);
                }
            }
        },
    );
}

/// Runs a loop with a function, which is chosen outside of it.
#[inline(always)]
pub(crate) fn with<T: Number>(function: Binary, rows: impl Loop<T, T, T>) {
    match function {
        Binary::Add => rows.run(T::add),
        Binary::Sub => rows.run(T::sub),
        Binary::Mul => rows.run(T::mul),
        Binary::Div => rows.run(T::div),
        Binary::Mod => rows.run(T::rem_floored),
        Binary::Fmod => rows.run(T::rem_truncated),
        Binary::Min => rows.run(T::least),
        Binary::Max => rows.run(T::most),
        Binary::Mean => rows.run(
            #[inline(always)]
            |a: T, b: T| a.add(b).div(T::ONE.add(T::ONE)),
        ),
        Binary::Prelu => rows.run(
            #[inline(always)]
            |a: T, b: T| if a < T::ZERO { a.mul(b) } else { a },
        ),
    }
}

#[inline(always)]
fn with_bits<T: Bits>(function: Bitwise, rows: impl Loop<T, T, T>) {
    match function {
        Bitwise::And => rows.run(T::and),
        Bitwise::Or => rows.run(T::or),
        Bitwise::Xor => rows.run(T::xor),
        Bitwise::ShiftLeft => rows.run(T::shift_up),
        Bitwise::ShiftRight => rows.run(T::shift_down),
    }
}

#[inline(always)]
fn with_comparison<T: PartialOrd, Y: Byte>(question: Comparison, rows: impl Loop<T, T, Y>) {
    match question {
        Comparison::Equal => rows.run(
            #[inline(always)]
            |a, b| Y::from_bool(a == b),
        ),
        Comparison::Less => rows.run(
            #[inline(always)]
            |a, b| Y::from_bool(a < b),
        ),
        Comparison::LessOrEqual => rows.run(
            #[inline(always)]
            |a, b| Y::from_bool(a <= b),
        ),
        Comparison::Greater => rows.run(
            #[inline(always)]
            |a, b| Y::from_bool(a > b),
        ),
        Comparison::GreaterOrEqual => rows.run(
            #[inline(always)]
            |a, b| Y::from_bool(a >= b),
        ),
    }
}
