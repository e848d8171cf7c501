//! What is known of a tensor before anything runs.

use std::fmt;

use super::{Dim, Expr, Shape};
use crate::dtype::Dtype;

/// What is known of a tensor before anything runs. All of it holds in every run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    /// The type of its elements.
    pub dtype: Option<Dtype>,
    /// Its dims; `None` if not even their number is known.
    pub shape: Option<Shape>,
    /// Its elements in row-major order, if anything is known of them. Only where every dim is
    /// known, and there are as many as the dims say.
    pub numbers: Option<Numbers>,
}

/// What is known of the elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Integers and truth values.
    Ints(Vec<Int>),
    /// Real numbers, all known, as precise as the type of the tensor makes them.
    Floats(Vec<f64>),
}

impl Numbers {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Numbers::Ints(ints) => ints.len(),
            Numbers::Floats(floats) => floats.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An integer of which two limits are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Int {
    /// It is not less.
    pub lo: i64,
    /// It is not more.
    pub hi: i64,
    /// What it is exactly, if it is no single number but follows from the sizes of ranges.
    pub expr: Option<Expr>,
}

impl Int {
    /// Anything.
    pub const ANY: Int = Int::between(i64::MIN, i64::MAX);

    /// Of which nothing is known but two limits.
    #[must_use]
    pub const fn between(lo: i64, hi: i64) -> Int {
        Int { lo, hi, expr: None }
    }

    /// The number, if the limits are equal.
    #[must_use]
    pub fn known(&self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether it is the same in every run with the same sizes of inputs.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.expr.is_some() || self.lo == self.hi
    }
}

impl From<i64> for Int {
    fn from(number: i64) -> Self {
        Int::between(number, number)
    }
}

impl From<Dim> for Int {
    fn from(dim: Dim) -> Self {
        let number = |dim: u64| i64::try_from(dim).unwrap_or(i64::MAX);
        match dim {
            Dim::Known(dim) => Int::from(number(dim)),
            Dim::AtMost(dim) => Int::between(0, number(dim)),
            Dim::Follows(expr) => expr.int().unwrap_or(Int::between(0, i64::MAX)),
            Dim::Unknown => Int::between(0, i64::MAX),
        }
    }
}

impl From<Int> for Dim {
    /// The dim that a number says; numbers below 0 are not dims, and nothing is known then.
    fn from(int: Int) -> Self {
        if let Some(expr) = int.expr {
            return expr.dim();
        }
        match (int.known(), u64::try_from(int.hi)) {
            (Some(dim), _) => u64::try_from(dim).map_or(Dim::Unknown, Dim::Known),
            (None, Ok(most)) if int.hi != i64::MAX => Dim::AtMost(most),
            _ => Dim::Unknown,
        }
    }
}

impl Fact {
    /// A tensor of known type and shape.
    #[must_use]
    pub fn new(dtype: Dtype, shape: impl Into<Shape>) -> Self {
        Fact { dtype: Some(dtype), shape: Some(shape.into()), numbers: None }
    }

    /// A tensor of known type.
    #[must_use]
    pub fn of_type(dtype: Option<Dtype>) -> Self {
        Fact { dtype, ..Fact::default() }
    }

    /// The same with dims.
    #[must_use]
    pub fn with_dims(self, dims: Vec<Dim>) -> Self {
        Fact { shape: Some(Shape(dims)), ..self }
    }

    /// The dims, if their number is known.
    #[must_use]
    pub fn dims(&self) -> Option<&[Dim]> {
        self.shape.as_ref().map(|shape| &shape.0[..])
    }

    /// The number of dims, if it is known.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[Dim]>::len)
    }

    /// Its elements as integers, if anything is known of them.
    #[must_use]
    pub fn ints(&self) -> Option<&[Int]> {
        match &self.numbers {
            Some(Numbers::Ints(ints)) => Some(ints),
            Some(Numbers::Floats(_)) | None => None,
        }
    }

    /// Its elements as integers, if all are known.
    #[must_use]
    pub fn known_ints(&self) -> Option<Vec<i64>> {
        self.ints()?.iter().map(Int::known).collect()
    }

    /// Its elements as real numbers, if all are known.
    #[must_use]
    pub fn floats(&self) -> Option<&[f64]> {
        match &self.numbers {
            Some(Numbers::Floats(floats)) => Some(floats),
            Some(Numbers::Ints(_)) | None => None,
        }
    }

    /// Whether everything is known of it: it is a constant, for the same sizes of inputs.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        match &self.numbers {
            Some(Numbers::Ints(ints)) => ints.iter().all(Int::is_exact),
            Some(Numbers::Floats(_)) => true,
            None => false,
        }
    }
}

/// The most elements that are shown of a tensor.
const SHOWN: usize = 8;

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dtype) = self.dtype {
            write!(f, "{dtype}")?;
        }
        match &self.shape {
            Some(shape) => write!(f, "{shape}")?,
            None => f.write_str("[…]")?,
        }
        match self.known_ints() {
            Some(ints) if ints.len() <= SHOWN => write!(f, " = {ints:?}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_and_numbers_become_each_other() {
        assert_eq!(Int::from(Dim::Known(3)).known(), Some(3));
        assert_eq!(Int::from(Dim::AtMost(3)), Int::between(0, 3));
        assert_eq!(Dim::from(Int::from(3)), Dim::Known(3));
        assert_eq!(Dim::from(Int::between(1, 3)), Dim::AtMost(3));
        assert_eq!(Dim::from(Int::between(-1, 3)), Dim::AtMost(3));
        assert_eq!(Dim::from(Int::from(-1)), Dim::Unknown);
        assert_eq!(Dim::from(Int::from(Dim::Unknown)), Dim::Unknown);
    }

    #[test]
    fn only_known_numbers_make_a_constant() {
        let fact = |numbers| Fact { numbers, ..Fact::new(Dtype::I64, [2]) };
        assert!(fact(Some(Numbers::Ints(vec![1.into(), 2.into()]))).is_constant());
        assert!(!fact(Some(Numbers::Ints(vec![1.into(), Int::ANY]))).is_constant());
        assert!(!fact(None).is_constant());
    }
}
