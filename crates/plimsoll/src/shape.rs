//! Shapes: dims that are known numbers, or not known yet.

use std::fmt;

/// One dimension of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// So many.
    Known(u64),
    /// Not known: whoever plans has to be told the size.
    Unknown,
}

impl From<u64> for Dim {
    fn from(dim: u64) -> Self {
        Dim::Known(dim)
    }
}

/// The dims of a tensor, outermost first; none for a scalar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(pub Vec<Dim>);

impl Shape {
    /// The dims, if all are known.
    #[must_use]
    pub fn known(&self) -> Option<Vec<u64>> {
        let dims = self.0.iter().map(|dim| match dim {
            Dim::Known(dim) => Some(*dim),
            Dim::Unknown => None,
        });
        dims.collect()
    }

    /// How many elements there are.
    #[must_use]
    pub fn elements(&self) -> Elements {
        match self.known() {
            None => Elements::Unknown,
            Some(dims) => product(&dims).map_or(Elements::TooMany, Elements::Known),
        }
    }
}

/// How many elements a shape has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// So many.
    Known(u64),
    /// A dim is not known.
    Unknown,
    /// More than fit a `u64`.
    TooMany,
}

/// The product of dims; a dim of 0 makes it 0, however large the others are.
pub(crate) fn product(dims: &[u64]) -> Option<u64> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim))
}

impl From<&[u64]> for Shape {
    fn from(dims: &[u64]) -> Self {
        Shape(dims.iter().map(|dim| Dim::Known(*dim)).collect())
    }
}

impl<const N: usize> From<[u64; N]> for Shape {
    fn from(dims: [u64; N]) -> Self {
        Shape::from(&dims[..])
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, dim) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match dim {
                Dim::Known(dim) => write!(f, "{comma}{dim}")?,
                Dim::Unknown => write!(f, "{comma}?")?,
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_counted_exactly() {
        assert_eq!(Shape::from([2, 3, 4]).elements(), Elements::Known(24));
        assert_eq!(Shape::default().elements(), Elements::Known(1));
        assert_eq!(Shape::from([u64::MAX, 0, u64::MAX]).elements(), Elements::Known(0));
        assert_eq!(Shape::from([1 << 40, 1 << 40]).elements(), Elements::TooMany);
        assert_eq!(Shape(vec![Dim::Known(2), Dim::Unknown]).elements(), Elements::Unknown);
    }

    #[test]
    fn it_prints_like_the_text_form() {
        assert_eq!(Shape::default().to_string(), "[]");
        assert_eq!(Shape(vec![Dim::Known(2), Dim::Unknown]).to_string(), "[2, ?]");
    }
}
