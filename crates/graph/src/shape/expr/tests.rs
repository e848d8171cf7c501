//! Expressions against the numbers that they stand for, at every size.

use super::*;
use crate::shape::fact::Int;

const RANGES: [(u64, u64); 2] = [(1, 6), (2, 9)];

/// An expression, and what it is at a size.
#[derive(Clone)]
struct Checked {
    expr: Expr,
    value: fn(i128, i128) -> i128,
}

fn sizes() -> impl Iterator<Item = (i128, i128)> {
    (1..=6).flat_map(|a| (2..=9).map(move |b| (a, b)))
}

fn symbols(scope: &Scope) -> [Expr; 2] {
    [0, 1].map(|index| symbol(&scope.symbols()[index]))
}

fn symbol(dim: &Dim) -> Expr {
    match dim {
        Dim::Follows(expr) => expr.clone(),
        _ => panic!("no symbol"),
    }
}

fn check(expr: &Expr, value: impl Fn(i128, i128) -> i128) {
    let (least, most) = expr.bounds();
    for (a, b) in sizes() {
        assert!((least..=most).contains(&value(a, b)), "{least}..={most} at {a}, {b}");
    }
}

#[test]
fn one_polynomial_is_one_expression() {
    let scope = Scope::new(&RANGES);
    let [a, b] = symbols(&scope);
    let square = a.plus(&b).unwrap();
    let square = square.times(&square).unwrap();
    let (aa, bb) = (a.times(&a).unwrap(), b.times(&b).unwrap());
    let twice = a.times(&b).unwrap().times_number(2).unwrap();
    assert_eq!(aa.plus(&twice).unwrap().plus(&bb).as_ref(), Some(&square));
    assert_eq!(a.minus(&a).unwrap().dim(), Dim::Known(0));
    assert_ne!(aa, bb);
    assert_eq!(square.exactly_over(&a.plus(&b).unwrap()), a.plus(&b));
    assert_eq!(twice.exactly_over(&b), a.times_number(2));
    assert_eq!(twice.exactly_over(&a.plus_number(1).unwrap()), None);
}

#[test]
fn quotients_have_one_form() {
    let scope = Scope::new(&[(1, 600), (1, 600)]);
    let [a, b] = symbols(&scope);
    let half = |expr: &Expr| expr.over(2).unwrap();
    assert_eq!(half(&a.times_number(4).unwrap()), a.times_number(2).unwrap());
    assert_eq!(half(&half(&a)), a.over(4).unwrap());
    assert_eq!(half(&half(&a).plus_number(3).unwrap()), a.plus_number(6).unwrap().over(4).unwrap());
    let padded = |expr: &Expr| half(&expr.plus_number(-1).unwrap()).plus_number(1).unwrap();
    assert_eq!(padded(&a), a.over_up(2).unwrap());
    assert_eq!(padded(&padded(&padded(&a))), a.over_up(8).unwrap());
    let both = a.times_number(2).unwrap().plus(&b).unwrap();
    assert_eq!(half(&both), a.plus(&half(&b)).unwrap());
    assert_eq!(a.over(0), None);
    assert_eq!(half(&a).dim(), Dim::Follows(half(&a)));
    let rest = a.minus(&a.over(1000).unwrap()).unwrap();
    assert_eq!(rest, a, "what is 0 for all sizes is 0");
}

#[test]
fn bounds_hold_at_every_size() {
    let scope = Scope::new(&RANGES);
    let [a, b] = symbols(&scope);
    let numbers: [Checked; 5] = [
        Checked { expr: a.clone(), value: |a, _| a },
        Checked { expr: b.clone(), value: |_, b| b },
        Checked { expr: a.times(&b).unwrap().minus(&b).unwrap(), value: |a, b| a * b - b },
        Checked {
            expr: b.plus_number(-5).unwrap().over(3).unwrap(),
            value: |_, b| (b - 5).div_euclid(3),
        },
        Checked { expr: a.times_number(-2).unwrap(), value: |a, _| -2 * a },
    ];
    for x in &numbers {
        check(&x.expr, x.value);
        for divisor in 1..5 {
            let value = |a, b| (x.value)(a, b).div_euclid(divisor);
            check(&x.expr.over(divisor).unwrap(), value);
        }
        for y in &numbers {
            check(&x.expr.plus(&y.expr).unwrap(), |a, b| (x.value)(a, b) + (y.value)(a, b));
            check(&x.expr.minus(&y.expr).unwrap(), |a, b| (x.value)(a, b) - (y.value)(a, b));
            check(&x.expr.times(&y.expr).unwrap(), |a, b| (x.value)(a, b) * (y.value)(a, b));
            let compared = |holds: fn(i128, i128) -> bool| {
                let mut all = sizes().map(|(a, b)| holds((x.value)(a, b), (y.value)(a, b)));
                let first = all.next();
                if all.all(|holds| Some(holds) == first) { first } else { None }
            };
            let at_least = x.expr.at_least(&y.expr);
            assert!(at_least.is_none() || at_least == compared(|x, y| x >= y));
            let equal = x.expr.equals(&y.expr);
            assert!(equal.is_none() || equal == compared(|x, y| x == y));
        }
    }
    // The least of a product of symbols is seen.
    assert_eq!(numbers[2].expr.bounds(), (0, 45));
}

#[test]
fn what_is_undecided_is_counted_by_symbol() {
    let scope = Scope::new(&RANGES);
    let [a, b] = symbols(&scope);
    assert_eq!(a.plus_number(10).unwrap().at_least(&b), Some(true));
    assert_eq!(scope.undecided(), [0, 0]);
    assert_eq!(a.at_least(&b), None);
    assert_eq!(a.equals(&a.times(&a).unwrap()), None);
    assert_eq!(b.equals(&b.times(&b).unwrap()), Some(false));
    assert_eq!(scope.undecided(), [2, 1]);
    assert_eq!(a.minus(&b).unwrap().dim(), Dim::AtMost(4));
    assert_eq!(scope.undecided(), [3, 2]);
}

#[test]
fn numbers_are_what_they_follow_from() {
    let scope = Scope::new(&[(1, 4), (7, 7)]);
    assert_eq!(scope.symbols()[1], Dim::Known(7), "a range of one is a number");
    let a = symbol(&scope.symbols()[0]);
    let int = a.int().unwrap();
    assert_eq!((int.lo, int.hi, int.known()), (1, 4, None));
    assert!(int.is_exact());
    assert_eq!(Dim::from(int.clone()), Dim::Follows(a.clone()));
    assert_eq!(Int::from(Dim::Follows(a.clone())), int);
    assert_eq!(of_ints(&Int::from(1), &Int::from(2), Expr::plus), None);
    assert_eq!(of_ints(&int, &Int::ANY, Expr::plus), None);
    assert_eq!(of_ints(&int, &Int::from(2), Expr::plus).map(|int| (int.lo, int.hi)), Some((3, 6)));
    assert_eq!(of_dims(&Dim::Known(1), &Dim::Known(2), Expr::plus), None);
    let rest = a.minus(&a.over(2).unwrap().times_number(2).unwrap()).unwrap();
    rest.known_between(0, 1);
    assert_eq!(rest.bounds(), (0, 1));
}

#[test]
fn what_must_be_equal_has_one_name() {
    let scope = Scope::new(&RANGES);
    let [a, b] = symbols(&scope);
    a.must_equal(&b);
    assert_eq!(settled(&Dim::Follows(b.clone())), Dim::Follows(b.clone()), "not in a branch");
    scope.set_always(true);
    a.must_equal(&b);
    assert_eq!(settled(&Dim::Follows(b.clone())), settled(&Dim::Follows(a.clone())));
    b.must_equal(&a.number(5).unwrap());
    assert_eq!(settled(&Dim::Follows(a)), Dim::Known(5));
    assert_eq!(settled(&Dim::Unknown), Dim::Unknown);
}

#[test]
fn what_has_too_many_terms_is_not_followed() {
    let scope = Scope::new(&[(1, 9); 6]);
    let all = scope.symbols().iter().map(symbol);
    let sum = all.reduce(|a, b| a.plus(&b).unwrap()).unwrap();
    let square = sum.times(&sum).unwrap();
    assert_eq!(square.times(&square), None);
    let large = sum.times_number(i128::MAX / 4);
    assert_eq!(large, None, "its largest value does not fit");
}
