//! Powers, whose exponents may be of another type than the bases.
//!
//! The result has the type of the base. One exponent of 2 or 3 for all elements, as models have
//! nearly always, becomes products; every other power costs what `libm` takes.

use crate::binary::{Apart, Loop, OnLeft};
use crate::broadcast::Broadcast;
use crate::element::Number;
use crate::simd::{Level, wide};

/// `y = a` to the power `b`.
pub fn pow<T: Number, E: Number>(
    level: Level,
    shape: &Broadcast<2>,
    (a, b): (&[T], &[E]),
    y: &mut [T],
) {
    let small = small_exponent(b);
    wide(
        level,
        #[inline(always)]
        || with(small, Apart { shape, a, b, y }),
    );
}

/// `y = y` to the power `b`.
pub fn pow_in_place<T: Number, E: Number>(
    level: Level,
    shape: &Broadcast<2>,
    b: &[E],
    y: &mut [T],
) {
    let small = small_exponent(b);
    wide(
        level,
        #[inline(always)]
        || with(small, OnLeft { shape, b, y }),
    );
}

/// `y = a` to the power `y`, of one type.
pub fn pow_on_exponents<T: Number>(level: Level, shape: &Broadcast<2>, a: &[T], y: &mut [T]) {
    let small = small_exponent(y);
    wide(
        level,
        #[inline(always)]
        || with(small, crate::binary::OnRight { shape, a, y }),
    );
}

/// The exponents for which there are products.
#[derive(Clone, Copy)]
enum Small {
    Two,
    Three,
}

fn small_exponent<E: Number>(exponents: &[E]) -> Option<Small> {
    let [exponent] = exponents else { return None };
    let two = E::ONE.add(E::ONE);
    if *exponent == two {
        Some(Small::Two)
    } else if *exponent == two.add(E::ONE) {
        Some(Small::Three)
    } else {
        None
    }
}

#[inline(always)]
fn with<T: Number, E: Number>(small: Option<Small>, rows: impl Loop<T, E, T>) {
    match small {
        Some(Small::Two) => rows.run(|x: T, _| x.mul(x)),
        Some(Small::Three) => rows.run(|x: T, _| x.mul(x).mul(x)),
        None => rows.run(power),
    }
}

#[inline(always)]
fn power<T: Number, E: Number>(base: T, exponent: E) -> T {
    if !T::IS_REAL && E::IS_REAL {
        T::from_f64(libm::pow(base.to_f64(), exponent.to_f64()))
    } else {
        base.pow(T::from_f64(exponent.to_f64()))
    }
}
