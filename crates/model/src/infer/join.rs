//! What holds of one tensor or of another.

use plimsoll_graph::{Dim, Fact, Int, Numbers, Shape};

/// What holds of both.
pub(super) fn join(a: &Fact, b: &Fact) -> Fact {
    let shape = zip_dims(a, b, |a, b| match (a, b) {
        (a, b) if a == b => a.clone(),
        (a, b) => {
            let limits = Shape(vec![a.clone(), b.clone()]).limit();
            limits.map_or(Dim::Unknown, |limits| Dim::AtMost(limits[0].max(limits[1])))
        }
    });
    let union = |a: &Int, b: &Int| {
        if a == b { a.clone() } else { Int::between(a.lo.min(b.lo), a.hi.max(b.hi)) }
    };
    let numbers = if a.shape == b.shape { zip_numbers(a, b, union) } else { None };
    Fact { dtype: a.dtype.filter(|_| a.dtype == b.dtype), shape, numbers }
}

/// How much is kept of a tensor that changes.
#[derive(Clone, Copy)]
pub(super) enum Care {
    /// The dims and elements that do not change.
    Parts,
    /// The number of its dims.
    Ranks,
    /// Its type.
    Types,
}

/// What still holds of a tensor that changes from one iteration to the next. The same, if that
/// holds of what it becomes too.
pub(super) fn widen(before: &Fact, after: &Fact, care: Care) -> Fact {
    let shape =
        zip_dims(
            before,
            after,
            |before, after| {
                if covers(before, after) { before.clone() } else { Dim::Unknown }
            },
        );
    let numbers = if shape == before.shape { zip_numbers(before, after, widened) } else { None };
    let dtype = before.dtype.filter(|_| before.dtype == after.dtype);
    let wide = Fact { dtype, shape, numbers };
    match (care, wide.rank()) {
        _ if wide == *before => wide,
        (Care::Parts, _) => wide,
        (Care::Ranks, Some(rank)) => Fact::of_type(dtype).with_dims(vec![Dim::Unknown; rank]),
        (Care::Ranks, None) | (Care::Types, _) => Fact::of_type(dtype),
    }
}

/// Whether everything that the second dim can be the first can be too.
fn covers(wide: &Dim, dim: &Dim) -> bool {
    match (wide, dim) {
        (Dim::Unknown, _) => true,
        (Dim::AtMost(most), Dim::Known(dim) | Dim::AtMost(dim)) => dim <= most,
        (wide, dim) => wide == dim,
    }
}

/// An integer that changes: the limits that it keeps to.
fn widened(before: &Int, after: &Int) -> Int {
    if before == after {
        return before.clone();
    }
    Int::between(
        if after.lo < before.lo { i64::MIN } else { before.lo },
        if after.hi > before.hi { i64::MAX } else { before.hi },
    )
}

fn zip_dims(a: &Fact, b: &Fact, dim: impl Fn(&Dim, &Dim) -> Dim) -> Option<Shape> {
    let (a, b) = (a.dims()?, b.dims()?);
    let dims = a.iter().zip(b).map(|(a, b)| dim(a, b)).collect();
    (a.len() == b.len()).then_some(Shape(dims))
}

fn zip_numbers(a: &Fact, b: &Fact, int: impl Fn(&Int, &Int) -> Int) -> Option<Numbers> {
    match (a.numbers.as_ref()?, b.numbers.as_ref()?) {
        (Numbers::Ints(a), Numbers::Ints(b)) if a.len() == b.len() => {
            let ints: Vec<Int> = a.iter().zip(b).map(|(a, b)| int(a, b)).collect();
            let tells = ints.is_empty() || ints.iter().any(|int| *int != Int::ANY);
            tells.then_some(Numbers::Ints(ints))
        }
        (Numbers::Floats(a), Numbers::Floats(b)) if a == b => Some(Numbers::Floats(a.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_graph::Dtype;

    use super::*;

    fn ints(ints: &[(i64, i64)]) -> Fact {
        let numbers = ints.iter().map(|(lo, hi)| Int::between(*lo, *hi)).collect();
        let shape = Shape(vec![Dim::Known(ints.len() as u64)]);
        Fact { numbers: Some(Numbers::Ints(numbers)), ..Fact::new(Dtype::I64, shape) }
    }

    fn dims(dims: &[Dim]) -> Fact {
        Fact::new(Dtype::F32, Shape(dims.to_vec()))
    }

    #[test]
    fn a_join_holds_of_both() {
        let a = dims(&[Dim::Known(2), Dim::Known(3), Dim::AtMost(9), Dim::Known(1)]);
        let b = dims(&[Dim::Known(2), Dim::Known(5), Dim::Known(4), Dim::Unknown]);
        let both = dims(&[Dim::Known(2), Dim::AtMost(5), Dim::AtMost(9), Dim::Unknown]);
        assert_eq!(join(&a, &b), both);
        assert_eq!(join(&a, &dims(&[])), Fact::of_type(Some(Dtype::F32)));
        assert_eq!(
            join(&ints(&[(1, 1), (2, 3)]), &ints(&[(4, 4), (2, 2)])),
            ints(&[(1, 4), (2, 3)])
        );
    }

    #[test]
    fn what_changes_is_given_up() {
        let before = dims(&[Dim::Known(2), Dim::Known(3), Dim::AtMost(9)]);
        let after = dims(&[Dim::Known(2), Dim::Known(4), Dim::Known(5)]);
        let wide = dims(&[Dim::Known(2), Dim::Unknown, Dim::AtMost(9)]);
        assert_eq!(widen(&before, &after, Care::Parts), wide);
        assert_eq!(widen(&before, &before, Care::Types), before);
        assert_eq!(widen(&before, &after, Care::Ranks), dims(&vec![Dim::Unknown; 3]));
        assert_eq!(widen(&before, &after, Care::Types), Fact::of_type(Some(Dtype::F32)));
        let counts = widen(&ints(&[(0, 0), (7, 7)]), &ints(&[(1, 1), (7, 7)]), Care::Parts);
        assert_eq!(counts, ints(&[(0, i64::MAX), (7, 7)]));
    }
}
