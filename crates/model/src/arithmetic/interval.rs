//! Integers between limits. `None` says that a result may not fit an `i64`.

use plimsoll_graph::Int;
use plimsoll_graph::shape::expr::{Expr, compared, of_ints};

pub(super) fn add(a: &Int, b: &Int) -> Option<Int> {
    let sum = Int::between(a.lo.checked_add(b.lo)?, a.hi.checked_add(b.hi)?);
    Some(of_ints(a, b, Expr::plus).unwrap_or(sum))
}

pub(super) fn sub(a: &Int, b: &Int) -> Option<Int> {
    let difference = Int::between(a.lo.checked_sub(b.hi)?, a.hi.checked_sub(b.lo)?);
    Some(of_ints(a, b, Expr::minus).unwrap_or(difference))
}

pub(super) fn mul(a: &Int, b: &Int) -> Option<Int> {
    let product = corners(a, b, i64::checked_mul)?;
    Some(of_ints(a, b, Expr::times).unwrap_or(product))
}

/// Truncated towards zero, as kernels do it.
pub(super) fn div(a: &Int, b: &Int) -> Option<Int> {
    if contains(b, 0) {
        return None;
    }
    let quotient = corners(a, b, i64::checked_div)?;
    Some(floor(a, b).and_then(|floor| floor.int()).unwrap_or(quotient))
}

/// What follows from sizes, divided by what is above 0 and rounded down, if it is not below 0.
fn floor(a: &Int, b: &Int) -> Option<Expr> {
    let dividend = a.expr.as_ref().filter(|_| a.lo >= 0 && b.lo > 0)?;
    match b.known() {
        Some(divisor) => dividend.over(i128::from(divisor)),
        None => dividend.exactly_over(&dividend.of_int(b)?),
    }
}

/// The remainder, with the sign of the dividend as in C, or with that of the divisor.
pub(super) fn modulo(a: &Int, b: &Int, as_in_c: bool) -> Option<Int> {
    if let (Some(a), Some(b)) = (a.known(), b.known()) {
        let rest = a.checked_rem(b)?;
        let other_sign = !as_in_c && rest != 0 && (rest < 0) != (b < 0);
        return Some(Int::from(if other_sign { rest + b } else { rest }));
    }
    if b.lo <= 0 {
        return None;
    }
    if a.lo >= 0 && a.hi < b.lo {
        return Some(a.clone());
    }
    let most = b.hi - 1;
    let rest = || {
        let floor = floor(a, b)?;
        let whole = floor.times(&floor.of_int(b)?)?;
        let rest = floor.of_int(a)?.minus(&whole)?;
        rest.known_between(0, i128::from(most));
        rest.int()
    };
    if let Some(rest) = rest() {
        return Some(rest);
    }
    if as_in_c {
        Some(Int::between(a.lo.clamp(-most, 0), a.hi.clamp(0, most)))
    } else {
        Some(Int::between(0, most))
    }
}

pub(super) fn neg(a: &Int) -> Option<Int> {
    sub(&Int::from(0), a)
}

pub(super) fn abs(a: Int) -> Option<Int> {
    if a.lo >= 0 {
        Some(a)
    } else if a.hi <= 0 {
        neg(&a)
    } else {
        Some(Int::between(0, a.hi.max(a.lo.checked_neg()?)))
    }
}

pub(super) fn pow(a: &Int, b: &Int) -> Option<Int> {
    let exponent = u32::try_from(b.known()?).ok()?;
    a.known()?.checked_pow(exponent).map(Int::from)
}

pub(super) fn max(a: Int, b: Int) -> Int {
    match compared(&a, &b, Expr::at_least) {
        Some(larger) => {
            if larger {
                a
            } else {
                b
            }
        }
        None => Int::between(a.lo.max(b.lo), a.hi.max(b.hi)),
    }
}

pub(super) fn min(a: Int, b: Int) -> Int {
    match compared(&a, &b, Expr::at_least) {
        Some(larger) => {
            if larger {
                b
            } else {
                a
            }
        }
        None => Int::between(a.lo.min(b.lo), a.hi.min(b.hi)),
    }
}

/// The smallest interval with both in it.
pub(super) fn join(a: &Int, b: &Int) -> Int {
    if a == b { a.clone() } else { Int::between(a.lo.min(b.lo), a.hi.max(b.hi)) }
}

pub(super) fn contains(a: &Int, number: i64) -> bool {
    a.lo <= number && number <= a.hi
}

/// Whether `a < b`, if that is decided.
pub(super) fn less(a: &Int, b: &Int) -> Option<bool> {
    if a.hi < b.lo {
        Some(true)
    } else if a.lo >= b.hi {
        Some(false)
    } else {
        compared(a, b, Expr::at_least).map(|at_least| !at_least)
    }
}

/// Whether both are the same, if that is decided.
pub(super) fn equal(a: &Int, b: &Int) -> Option<bool> {
    if a.hi < b.lo || b.hi < a.lo {
        Some(false)
    } else {
        match (a.known(), b.known()) {
            (Some(a), Some(b)) => (a == b).then_some(true),
            _ => compared(a, b, Expr::equals),
        }
    }
}

pub(super) fn sum(mut ints: impl Iterator<Item = Int>) -> Option<Int> {
    ints.try_fold(Int::from(0), |sum, int| add(&sum, &int))
}

pub(super) fn product(mut ints: impl Iterator<Item = Int>) -> Option<Int> {
    ints.try_fold(Int::from(1), |product, int| mul(&product, &int))
}

/// The limits of a function that is monotone in both operands: they are at the corners.
fn corners(a: &Int, b: &Int, function: fn(i64, i64) -> Option<i64>) -> Option<Int> {
    let mut found = Int::from(function(a.lo, b.lo)?);
    for (a, b) in [(a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)] {
        found = join(&found, &Int::from(function(a, b)?));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(range: std::ops::RangeInclusive<i64>) -> impl Iterator<Item = Int> {
        let (least, most) = range.into_inner();
        (least..=most).flat_map(move |lo| (lo..=most).map(move |hi| Int::between(lo, hi)))
    }

    /// Every result of members is in the result of the intervals.
    fn holds(interval: fn(&Int, &Int) -> Option<Int>, exact: fn(i64, i64) -> Option<i64>) {
        for a in between(-4..=4) {
            for b in between(-4..=4) {
                let Some(result) = interval(&a, &b) else { continue };
                for (x, y) in (a.lo..=a.hi).flat_map(|x| (b.lo..=b.hi).map(move |y| (x, y))) {
                    let number = exact(x, y).expect("what may fail has no interval");
                    assert!(contains(&result, number), "{a:?} and {b:?}: {x}, {y}");
                }
            }
        }
    }

    #[test]
    fn results_of_members_are_members() {
        holds(add, i64::checked_add);
        holds(sub, i64::checked_sub);
        holds(mul, i64::checked_mul);
        holds(div, i64::checked_div);
        holds(|a, b| modulo(a, b, true), i64::checked_rem);
        holds(
            |a, b| modulo(a, b, false),
            |a, b| Some(a - b * (a as f64 / b as f64).floor() as i64),
        );
        holds(|a, b| Some(max(a.clone(), b.clone())), |a, b| Some(a.max(b)));
        holds(|a, b| Some(min(a.clone(), b.clone())), |a, b| Some(a.min(b)));
        holds(|a, _| abs(a.clone()), |a, _| Some(a.abs()));
        holds(|a, _| neg(a), |a, _| Some(-a));
        holds(|a, b| less(a, b).map(|t| Int::from(i64::from(t))), |a, b| Some(i64::from(a < b)));
        holds(|a, b| equal(a, b).map(|t| Int::from(i64::from(t))), |a, b| Some(i64::from(a == b)));
    }

    #[test]
    fn what_does_not_fit_is_not_claimed() {
        let most = Int::from(i64::MAX);
        assert_eq!(add(&most, &Int::from(1)), None);
        assert_eq!(mul(&most, &Int::from(2)), None);
        assert_eq!(div(&Int::from(i64::MIN), &Int::from(-1)), None);
        assert_eq!(div(&Int::from(1), &Int::from(0)), None);
        assert_eq!(modulo(&Int::from(1), &Int::from(0), true), None);
        assert_eq!(neg(&Int::ANY), None);
        assert_eq!(pow(&Int::from(2), &Int::from(64)), None);
        assert_eq!(pow(&Int::from(2), &Int::from(5)), Some(Int::from(32)));
    }
}
