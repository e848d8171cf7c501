//! One element, and what its type makes of it.

use plimsoll_graph::{Class, Dtype, Int, Numbers};

use super::interval;
use crate::model::Content;

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer or a truth value.
    Int(Int),
    /// A real number.
    Float(f64),
}

impl Number {
    pub(super) fn int(self) -> Option<Int> {
        match self {
            Number::Int(int) => Some(int),
            Number::Float(_) => None,
        }
    }

    pub(super) fn is_float(&self) -> bool {
        matches!(self, Number::Float(_))
    }

    /// The integer, if it is known.
    pub(super) fn known_int(&self) -> Option<i64> {
        match self {
            Number::Int(int) => int.known(),
            Number::Float(_) => None,
        }
    }

    /// Whether it is other than 0, if that is known.
    pub(super) fn truth(&self) -> Option<bool> {
        match self {
            Number::Int(int) if !interval::contains(int, 0) => Some(true),
            Number::Int(int) => int.known().map(|_| false),
            Number::Float(float) => Some(*float != 0.0),
        }
    }

    /// What holds of both.
    pub(super) fn join(self, other: Number) -> Option<Number> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(Number::Int(interval::join(&a, &b))),
            (Number::Float(a), Number::Float(b)) if a.to_bits() == b.to_bits() => {
                Some(Number::Float(a))
            }
            _ => None,
        }
    }
}

impl From<bool> for Number {
    fn from(truth: bool) -> Self {
        Number::Int(Int::from(i64::from(truth)))
    }
}

/// Any integer of a type, if it is a type of integers whose limits an [`Int`] can have.
pub(super) fn any(dtype: Dtype) -> Option<Int> {
    let signed = |bits: u32| Int::between(-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
    let unsigned = |bits: u32| Int::between(0, (1 << bits) - 1);
    match dtype {
        Dtype::Bool => Some(unsigned(1)),
        Dtype::U2 => Some(unsigned(2)),
        Dtype::U4 => Some(unsigned(4)),
        Dtype::U8 => Some(unsigned(8)),
        Dtype::U16 => Some(unsigned(16)),
        Dtype::U32 => Some(unsigned(32)),
        Dtype::I2 => Some(signed(2)),
        Dtype::I4 => Some(signed(4)),
        Dtype::I8 => Some(signed(8)),
        Dtype::I16 => Some(signed(16)),
        Dtype::I32 => Some(signed(32)),
        Dtype::I64 => Some(Int::ANY),
        _ => None,
    }
}

/// An integer as an element of a type: anything, if it may not fit.
pub(super) fn fitted(int: Int, dtype: Dtype) -> Option<Int> {
    let any = any(dtype)?;
    if any.lo <= int.lo && int.hi <= any.hi { Some(int) } else { Some(any) }
}

/// A real number as the type rounds it. The half-precise types are not rounded to, since kernels
/// reckon more precisely in between: what is not exact is not known.
pub(super) fn rounded(float: f64, dtype: Dtype) -> Option<f64> {
    let exact = |is_exact: bool| is_exact.then_some(float);
    match dtype {
        Dtype::F64 => Some(float),
        Dtype::F32 => Some(f64::from(float as f32)),
        Dtype::Bf16 => {
            exact(has_bits(float, 8) && f64::from(float as f32).total_cmp(&float).is_eq())
        }
        Dtype::F16 => {
            let subnormal = float * f64::from(1 << 24);
            exact(has_bits(float, 11) && float.abs() <= 65504.0 && subnormal.fract() == 0.0)
        }
        _ => None,
    }
}

/// Whether a number needs no more than so many bits, the first one included.
fn has_bits(float: f64, bits: u32) -> bool {
    float.is_finite() && float.to_bits().trailing_zeros() >= 53 - bits
}

/// Whether a real number is whole and so small that the type has all whole numbers up to it. What
/// is reckoned among these is exact, in whichever order.
pub(super) fn small_whole(float: f64, dtype: Dtype) -> bool {
    let bits = match dtype {
        Dtype::F16 => 11,
        Dtype::Bf16 => 8,
        Dtype::F32 => 24,
        _ => 53,
    };
    float.fract() == 0.0 && float.abs() <= f64::from(bits).exp2()
}

/// Elements of a type; an element that is not known is `None`.
///
/// Nothing if nothing is known: of real numbers if one is missing, of integers if all are.
pub(super) fn collected(
    dtype: Dtype,
    numbers: impl Iterator<Item = Option<Number>>,
) -> Option<Numbers> {
    match dtype.class() {
        Class::Integer => {
            let any = any(dtype)?;
            let int = |number: Option<Number>| match number {
                None => Some(any.clone()),
                Some(number) => fitted(number.int()?, dtype),
            };
            let ints = numbers.map(int).collect::<Option<Vec<Int>>>()?;
            let tells = ints.is_empty() || ints.iter().any(|int| *int != any);
            tells.then_some(Numbers::Ints(ints))
        }
        Class::Float => {
            let float = |number: Option<Number>| match number? {
                Number::Float(float) => rounded(float, dtype),
                Number::Int(_) => None,
            };
            numbers.map(float).collect::<Option<Vec<f64>>>().map(Numbers::Floats)
        }
        Class::Complex => None,
    }
}

/// The elements of a stored tensor, if there are as many as there should be.
pub(crate) fn from_content(content: &Content, dtype: Dtype, elements: u64) -> Option<Numbers> {
    let len = match content {
        Content::Ints(ints) => ints.len(),
        Content::Floats(floats) => floats.len(),
    };
    if len > super::LIMIT || len as u64 != elements {
        return None;
    }
    match content {
        Content::Ints(ints) if dtype == Dtype::Bool => {
            collected(dtype, ints.iter().map(|int| Some(Number::from(*int != 0))))
        }
        Content::Ints(ints) => {
            collected(dtype, ints.iter().map(|int| Some(Number::Int(Int::from(*int)))))
        }
        Content::Floats(floats) => {
            collected(dtype, floats.iter().map(|float| Some(Number::Float(*float))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_floats_are_exact_or_not_known() {
        assert_eq!(rounded(0.1, Dtype::F32), Some(f64::from(0.1f32)));
        assert_eq!(rounded(0.5, Dtype::F16), Some(0.5));
        assert_eq!(rounded(2049.0, Dtype::F16), None);
        assert_eq!(rounded(65504.0, Dtype::F16), Some(65504.0));
        assert_eq!(rounded(65536.0, Dtype::F16), None);
        assert_eq!(rounded(f64::from(1 << 25).recip(), Dtype::F16), None);
        assert_eq!(rounded(f64::from(1 << 24).recip(), Dtype::F16), Some(2f64.powi(-24)));
        assert_eq!(rounded(256.0, Dtype::Bf16), Some(256.0));
        assert_eq!(rounded(257.0, Dtype::Bf16), None);
        assert_eq!(rounded(1.0, Dtype::F8E5m2), None);
        assert_eq!(rounded(0.0, Dtype::Bf16), Some(0.0));
    }

    #[test]
    fn every_type_of_integers_but_the_widest_has_limits() {
        for dtype in Dtype::all().filter(|dtype| dtype.class() == Class::Integer) {
            assert_eq!(any(dtype).is_some(), dtype != Dtype::U64, "{dtype}");
        }
        assert_eq!(any(Dtype::I4), Some(Int::between(-8, 7)));
        assert_eq!(any(Dtype::U32), Some(Int::between(0, 4_294_967_295)));
        assert_eq!(fitted(Int::from(300), Dtype::U8), Some(Int::between(0, 255)));
    }

    #[test]
    fn content_that_does_not_fit_its_tensor_is_ignored() {
        let ints = Content::Ints(vec![1, 2]);
        assert!(from_content(&ints, Dtype::I64, 2).is_some());
        assert_eq!(from_content(&ints, Dtype::I64, 3), None);
        assert_eq!(from_content(&ints, Dtype::F32, 2), None);
        let truths = from_content(&Content::Ints(vec![7, 0]), Dtype::Bool, 2);
        assert_eq!(truths, Some(Numbers::Ints(vec![1.into(), 0.into()])));
    }
}
