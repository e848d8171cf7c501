//! Shapes: dims that are known numbers, follow from the sizes of a range, have a known limit, or are not
//! known. [`expr`] has the numbers that follow from sizes, [`dims`] sums and products of dims, `fact`
//! what else can be known of a tensor.

pub mod dims;
pub mod expr;
mod fact;

use std::fmt;

use dims::count;
pub use expr::Expr;
pub use fact::{Fact, Int, Numbers};

/// One dimension of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// So many.
    Known(u64),
    /// So many or fewer, depending on data.
    AtMost(u64),
    /// A number that follows from the sizes of a range of dims. Only where shapes are found for all
    /// sizes of a range at once; a graph that is planned has none.
    Follows(Expr),
    /// Not known: whoever plans has to be told the size.
    Unknown,
}

impl Dim {
    /// Whether it is the same in every run with the same sizes of inputs.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self {
            Dim::Known(_) | Dim::Follows(_) => true,
            Dim::AtMost(_) | Dim::Unknown => false,
        }
    }
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
            Dim::AtMost(_) | Dim::Follows(_) | Dim::Unknown => None,
        });
        dims.collect()
    }

    /// The dims, if all are known or follow from the sizes of ranges.
    pub fn exact(&self) -> Option<&[Dim]> {
        self.0.iter().all(Dim::is_exact).then_some(&self.0[..])
    }

    /// The largest that every dim can be, if all have a limit.
    #[must_use]
    pub fn limit(&self) -> Option<Vec<u64>> {
        self.limits().collect()
    }

    /// The largest that each dim can be, if it has a limit.
    fn limits(&self) -> impl Iterator<Item = Option<u64>> + Clone {
        self.0.iter().map(|dim| match dim {
            Dim::Known(dim) | Dim::AtMost(dim) => Some(*dim),
            Dim::Follows(expr) => expr.most(),
            Dim::Unknown => None,
        })
    }

    /// How many elements there are, or can be at most.
    #[must_use]
    pub fn elements(&self) -> Elements {
        if self.0.iter().any(|dim| matches!(dim, Dim::Follows(_)))
            && let Dim::Follows(count) = count(&self.0)
        {
            // Of the product that is less than of the dims, which are not largest together.
            return count.most().map_or(Elements::TooMany, Elements::Known);
        }
        if self.limits().any(|limit| limit.is_none()) {
            return Elements::Unknown;
        }
        product_of(self.limits().flatten()).map_or(Elements::TooMany, Elements::Known)
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
#[must_use]
pub fn product(dims: &[u64]) -> Option<u64> {
    product_of(dims.iter().copied())
}

fn product_of(mut dims: impl Iterator<Item = u64> + Clone) -> Option<u64> {
    if dims.clone().any(|dim| dim == 0) {
        return Some(0);
    }
    dims.try_fold(1, u64::checked_mul)
}

impl From<&[u64]> for Shape {
    fn from(dims: &[u64]) -> Self {
        Shape(dims.iter().map(|dim| Dim::Known(*dim)).collect())
    }
}

impl From<Vec<u64>> for Shape {
    fn from(dims: Vec<u64>) -> Self {
        Shape::from(&dims[..])
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
                Dim::AtMost(dim) => write!(f, "{comma}<={dim}")?,
                Dim::Follows(_) => write!(f, "{comma}..")?,
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
        assert_eq!(Shape(vec![Dim::Known(2), Dim::AtMost(3)]).elements(), Elements::Known(6));
    }

    #[test]
    fn it_prints_like_the_text_form() {
        assert_eq!(Shape::default().to_string(), "[]");
        assert_eq!(Shape(vec![Dim::Known(2), Dim::Unknown]).to_string(), "[2, ?]");
    }
}
