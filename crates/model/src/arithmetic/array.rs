//! Elements at coordinates.

use std::borrow::Cow;

use plimsoll_graph::shape::product;
use plimsoll_graph::{Dtype, Fact, Numbers};

use super::number::{self, Number, collected};

/// The elements of an operand.
pub(super) struct Array<'a> {
    pub(super) dims: Vec<usize>,
    numbers: Cow<'a, Numbers>,
}

impl<'a> Array<'a> {
    /// The elements of a tensor, if something can be known of them; integers of which nothing is
    /// known can be anything.
    pub(super) fn new(fact: &'a Fact, limit: usize) -> Option<Self> {
        let target = Target::new(fact, limit)?;
        let numbers = match &fact.numbers {
            Some(numbers) => Cow::Borrowed(numbers),
            None => Cow::Owned(Numbers::Ints(vec![number::any(target.dtype)?; target.len()])),
        };
        let array = Array { dims: target.dims, numbers };
        (array.len() == count(&array.dims)).then_some(array)
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// An element by its index in row-major order.
    pub(super) fn flat(&self, index: usize) -> Option<Number> {
        match &*self.numbers {
            Numbers::Ints(ints) => ints.get(index).map(|int| Number::Int(int.clone())),
            Numbers::Floats(floats) => floats.get(index).map(|float| Number::Float(*float)),
        }
    }

    /// All elements in row-major order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Number> {
        (0..self.len()).filter_map(|index| self.flat(index))
    }

    /// The element at coordinates.
    pub(super) fn at(&self, at: &[usize]) -> Option<Number> {
        self.element(at, false)
    }

    /// The element that is broadcast to coordinates of as many axes or more.
    pub(super) fn broadcast(&self, at: &[usize]) -> Option<Number> {
        self.element(at.get(at.len().checked_sub(self.rank())?..)?, true)
    }

    fn element(&self, at: &[usize], broadcast: bool) -> Option<Number> {
        if at.len() != self.rank() {
            return None;
        }
        let mut index = 0usize;
        for (at, dim) in at.iter().zip(&self.dims) {
            let at = if broadcast && *dim == 1 { 0 } else { *at };
            if at >= *dim {
                return None;
            }
            index = index * dim + at;
        }
        self.flat(index)
    }
}

/// A result whose elements are looked for.
pub(super) struct Target {
    pub(super) dtype: Dtype,
    pub(super) dims: Vec<usize>,
}

impl Target {
    /// A tensor whose type and dims are known, and that has few enough elements.
    pub(super) fn new(fact: &Fact, limit: usize) -> Option<Self> {
        let dims = fact.shape.as_ref()?.known()?;
        if product(&dims)? > limit as u64 {
            return None;
        }
        let dims = dims.into_iter().map(|dim| usize::try_from(dim).ok());
        Some(Target { dtype: fact.dtype?, dims: dims.collect::<Option<_>>()? })
    }

    pub(super) fn len(&self) -> usize {
        count(&self.dims)
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Every element by its coordinates; `None` for one that is not known.
    pub(super) fn fill(
        &self,
        mut element: impl FnMut(&[usize]) -> Option<Number>,
    ) -> Option<Numbers> {
        let mut numbers = Vec::with_capacity(self.len());
        each(&self.dims, |at| numbers.push(element(at)));
        collected(self.dtype, numbers.into_iter())
    }

    /// The elements of an operand, in the same order.
    pub(super) fn same(&self, array: &Array<'_>) -> Option<Numbers> {
        let numbers = collected(self.dtype, array.iter().map(Some))?;
        (array.len() == self.len()).then_some(numbers)
    }
}

/// Goes through all coordinates in row-major order.
pub(super) fn each(dims: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut at = vec![0; dims.len()];
    for _ in 0..count(dims) {
        visit(&at);
        for (at, dim) in at.iter_mut().zip(dims).rev() {
            *at += 1;
            if *at < *dim {
                break;
            }
            *at = 0;
        }
    }
}

/// How many elements dims have that are known to have few.
fn count(dims: &[usize]) -> usize {
    if dims.contains(&0) { 0 } else { dims.iter().product() }
}
