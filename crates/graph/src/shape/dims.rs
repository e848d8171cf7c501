//! Reckoning with dims of which not all is known.
//!
//! Nothing here wraps: what does not fit a `u64` is not known.

use crate::shape::Dim;
use crate::shape::expr::{Expr, of_dims};

/// More axes than any tensor has. Where only their number is known, longer lists are not made.
pub const MOST_AXES: u64 = 64;

/// The largest that a dim can be, if it has a limit.
#[must_use]
pub fn limit(dim: &Dim) -> Option<u64> {
    match dim {
        Dim::Known(dim) | Dim::AtMost(dim) => Some(*dim),
        Dim::Follows(expr) => expr.most(),
        Dim::Unknown => None,
    }
}

/// A dim with this limit, if there is one.
pub fn at_most(limit: Option<u64>) -> Dim {
    limit.map_or(Dim::Unknown, Dim::AtMost)
}

/// A dim that follows from another and does not shrink when that grows.
pub fn grown(dim: &Dim, function: impl Fn(u64) -> Option<u64>) -> Dim {
    match dim {
        Dim::Known(dim) => function(*dim).map_or(Dim::Unknown, Dim::Known),
        Dim::AtMost(_) | Dim::Follows(_) => at_most(limit(dim).and_then(function)),
        Dim::Unknown => Dim::Unknown,
    }
}

/// A dim in parts of so many, without what is left over. There are no parts of 0.
#[must_use]
pub fn over(dim: &Dim, by: u64) -> Dim {
    match dim {
        Dim::Follows(expr) => {
            followed(expr.over(by.into()), || grown(dim, |dim| dim.checked_div(by)))
        }
        dim => grown(dim, |dim| dim.checked_div(by)),
    }
}

/// A dim in parts of so many, the last of which may be shorter.
#[must_use]
pub fn over_up(dim: &Dim, by: u64) -> Dim {
    let up = |dim: u64| (by > 0).then(|| dim.div_ceil(by));
    match dim {
        Dim::Follows(expr) => followed(expr.over_up(by.into()), || grown(dim, up)),
        dim => grown(dim, up),
    }
}

/// What follows from sizes, or what is known otherwise.
pub fn followed(expr: Option<Expr>, otherwise: impl FnOnce() -> Dim) -> Dim {
    expr.map_or_else(otherwise, |expr| expr.dim())
}

/// A dim that follows from two others and does not shrink when one of them grows.
fn combined(a: &Dim, b: &Dim, function: impl Fn(u64, u64) -> Option<u64>) -> Dim {
    match (a, b) {
        (Dim::Known(a), Dim::Known(b)) => function(*a, *b).map_or(Dim::Unknown, Dim::Known),
        _ => at_most(limit(a).zip(limit(b)).and_then(|(a, b)| function(a, b))),
    }
}

/// One dim after the other.
pub fn sum(a: &Dim, b: &Dim) -> Dim {
    let followed = of_dims(a, b, Expr::plus);
    followed.unwrap_or_else(|| combined(a, b, u64::checked_add))
}

/// One dim times the other.
pub fn times(a: &Dim, b: &Dim) -> Dim {
    match (a, b) {
        (Dim::Known(0), _) | (_, Dim::Known(0)) => Dim::Known(0),
        _ => of_dims(a, b, Expr::times).unwrap_or_else(|| combined(a, b, u64::checked_mul)),
    }
}

/// The limit of a number that is neither more than the one nor more than the other.
#[must_use]
pub fn lesser(a: &Dim, b: &Dim) -> Dim {
    match (limit(a), limit(b)) {
        (Some(a), Some(b)) => Dim::AtMost(a.min(b)),
        (a, b) => at_most(a.or(b)),
    }
}

/// How many elements these dims hold.
#[must_use]
pub fn count(dims: &[Dim]) -> Dim {
    dims.iter().fold(Dim::Known(1), |count, dim| times(&count, dim))
}

/// What is known of a dim of which two things are said; `None` if they contradict each other.
/// Where they do for some sizes of a range, there is nothing to be said for those sizes.
#[must_use]
pub fn agreed(a: &Dim, b: &Dim) -> Option<Dim> {
    match (a, b) {
        (Dim::Follows(expr), other) | (other, Dim::Follows(expr)) => match other {
            Dim::Known(_) | Dim::Follows(_) => {
                let other = expr.of_dim(other)?;
                if expr.equals(&other) == Some(false) {
                    return None;
                }
                expr.must_equal(&other);
                Some(a.clone())
            }
            Dim::AtMost(most) => {
                (expr.bounds().0 <= i128::from(*most)).then(|| Dim::Follows(expr.clone()))
            }
            Dim::Unknown => Some(Dim::Follows(expr.clone())),
        },
        (Dim::Known(a), Dim::Known(b)) => (a == b).then_some(Dim::Known(*a)),
        (Dim::Known(dim), Dim::AtMost(most)) | (Dim::AtMost(most), Dim::Known(dim)) => {
            (dim <= most).then_some(Dim::Known(*dim))
        }
        (Dim::AtMost(a), Dim::AtMost(b)) => Some(Dim::AtMost(*a.min(b))),
        (dim, Dim::Unknown) | (Dim::Unknown, dim) => Some(dim.clone()),
    }
}

/// The same, where the two must be equal for the node to run.
pub fn same(a: &Dim, b: &Dim) -> Result<Dim, String> {
    agreed(a, b).ok_or_else(|| format!("{} is not {}", shown(a), shown(b)))
}

/// A dim as it is printed.
#[must_use]
pub fn shown(dim: &Dim) -> String {
    match dim {
        Dim::Known(dim) => dim.to_string(),
        Dim::AtMost(dim) => format!("at most {dim}"),
        Dim::Follows(_) => "a dim that is not fixed".to_owned(),
        Dim::Unknown => "an unknown dim".to_owned(),
    }
}

/// One dim against another, where a 1 becomes whatever the other is.
pub fn broadcast_dim(a: &Dim, b: &Dim) -> Result<Dim, String> {
    match (a, b) {
        (Dim::Known(1), dim) | (dim, Dim::Known(1)) => Ok(dim.clone()),
        (Dim::Known(a), Dim::Known(b)) if a != b => Err(format!("{a} and {b} do not broadcast")),
        // What is not 1 is the result: the other is 1 or the same.
        (known @ Dim::Known(_), follows @ Dim::Follows(dim))
        | (follows @ Dim::Follows(dim), known @ Dim::Known(_))
            if dim.bounds().0 > 1 =>
        {
            same(known, follows)
        }
        (Dim::Known(dim), _) | (_, Dim::Known(dim)) => Ok(Dim::Known(*dim)),
        (Dim::Follows(one), Dim::Follows(other)) if one == other => Ok(a.clone()),
        (Dim::Follows(one), Dim::Follows(other)) if one.bounds().0 > 1 && other.bounds().0 > 1 => {
            same(a, b)
        }
        (Dim::Follows(dim), _) | (_, Dim::Follows(dim)) if dim.bounds().0 > 1 => {
            Ok(Dim::Follows(dim.clone()))
        }
        _ => Ok(at_most(limit(a).zip(limit(b)).map(|(a, b)| a.max(b)))),
    }
}

/// Dims against each other, aligned at the end.
pub fn broadcast(a: &[Dim], b: &[Dim]) -> Result<Vec<Dim>, String> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let more = long.len() - short.len();
    let mut dims = long.to_vec();
    for (dim, other) in dims[more..].iter_mut().zip(short) {
        *dim = broadcast_dim(dim, other)?;
    }
    Ok(dims)
}

/// An axis counted from the beginning.
pub fn axis_of(axis: i64, rank: usize) -> Result<usize, String> {
    let number = if axis < 0 { i128::from(axis) + rank as i128 } else { i128::from(axis) };
    let index = usize::try_from(number).ok().filter(|index| *index < rank);
    index.ok_or_else(|| format!("axis {axis} of {rank} axes"))
}

/// Axes counted from the beginning.
pub fn axes_of(axes: &[i64], rank: usize) -> Result<Vec<usize>, String> {
    axes.iter().map(|axis| axis_of(*axis, rank)).collect()
}

/// Axes of which none may be there twice.
pub fn once(axes: Vec<usize>) -> Result<Vec<usize>, String> {
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("axis {} twice", pair[0])),
        None => Ok(axes),
    }
}

/// A number as a dim, if it is one.
#[must_use]
pub fn number(number: i128) -> Option<u64> {
    u64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use Dim::{AtMost, Known, Unknown};

    use super::*;

    #[test]
    fn what_does_not_fit_is_unknown() {
        assert_eq!(sum(&Known(u64::MAX), &Known(1)), Unknown);
        assert_eq!(times(&Known(1 << 40), &AtMost(1 << 40)), Unknown);
        assert_eq!(count(&[Known(1 << 40), Known(1 << 40), Known(0)]), Known(0));
        assert_eq!(count(&[Unknown, Known(0)]), Known(0));
        assert_eq!(count(&[]), Known(1));
    }

    #[test]
    fn limits_are_kept() {
        assert_eq!(sum(&Known(2), &AtMost(3)), AtMost(5));
        assert_eq!(times(&Known(2), &AtMost(3)), AtMost(6));
        assert_eq!(sum(&Unknown, &Known(2)), Unknown);
        assert_eq!(lesser(&Known(2), &Unknown), AtMost(2));
        assert_eq!(agreed(&Known(2), &AtMost(1)), None);
        assert_eq!(agreed(&AtMost(2), &AtMost(1)), Some(AtMost(1)));
    }

    #[test]
    fn dims_are_broadcast_as_far_as_they_are_known() {
        let cases = [
            (Known(1), AtMost(4), Ok(AtMost(4))),
            (Known(1), Unknown, Ok(Unknown)),
            (Known(3), Unknown, Ok(Known(3))),
            (AtMost(9), Known(3), Ok(Known(3))),
            (Known(0), AtMost(3), Ok(Known(0))),
            (Known(0), Known(1), Ok(Known(0))),
            (AtMost(2), AtMost(5), Ok(AtMost(5))),
            (AtMost(2), Unknown, Ok(Unknown)),
            (Known(2), Known(3), Err("2 and 3 do not broadcast".to_owned())),
        ];
        for (a, b, expected) in cases {
            assert_eq!(broadcast_dim(&a, &b), expected, "{a:?} {b:?}");
        }
        assert_eq!(broadcast(&[Known(3)], &[Known(2), Known(1)]), Ok(vec![Known(2), Known(3)]));
    }

    #[test]
    fn axes_count_from_both_ends() {
        assert_eq!(axis_of(-1, 3), Ok(2));
        assert_eq!(axis_of(5, 3), Err("axis 5 of 3 axes".to_owned()));
        assert_eq!(axis_of(i64::MIN, 3), Err(format!("axis {} of 3 axes", i64::MIN)));
        assert_eq!(axes_of(&[0, -3], 3).and_then(once), Err("axis 0 twice".to_owned()));
    }
}
