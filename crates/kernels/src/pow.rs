//! Powers, whose exponents may be of another type than the bases.
//!
//! The result has the type of the base. One exponent of 2 or 3 for all elements, as models have
//! nearly always, becomes products; every other power costs what `libm` takes.

use crate::binary::{Apart, Loop, OnLeft, OnRight};
use crate::broadcast::Broadcast;
use crate::element::{Number, level_for};
use crate::simd::{Level, wide};

/// `y = a` to the power `b`.
#[inline(never)]
pub fn pow<T: Number, E: Number>(
    level: Level,
    shape: &Broadcast<2>,
    (a, b): (&[T], &[E]),
    y: &mut [T],
) {
    raise(level, small_exponent(b), Apart { shape, a, b, y });
}

/// `y = y` to the power `b`.
#[inline(never)]
pub fn pow_in_place<T: Number, E: Number>(
    level: Level,
    shape: &Broadcast<2>,
    b: &[E],
    y: &mut [T],
) {
    raise(level, small_exponent(b), OnLeft { shape, b, y });
}

/// `y = a` to the power `y`, of one type.
#[inline(never)]
pub fn pow_on_exponents<T: Number>(level: Level, shape: &Broadcast<2>, a: &[T], y: &mut [T]) {
    raise(level, small_exponent(y), OnRight { shape, a, y });
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

/// Runs a loop with products, in vectors, or with powers, for which there are none.
#[inline(always)]
fn raise<T: Number, E: Number>(level: Level, small: Option<Small>, rows: impl Loop<T, E, T>) {
    let Some(small) = small else { return rows.run(power) };
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || match small {
            Small::Two => rows.run(
                #[inline(always)]
                |x: T, _| x.mul(x),
            ),
            Small::Three => rows.run(
                #[inline(always)]
                |x: T, _| x.mul(x).mul(x),
            ),
        },
    );
}

#[inline(always)]
fn power<T: Number, E: Number>(base: T, exponent: E) -> T {
    if !T::IS_REAL && E::IS_REAL {
        T::from_f64(libm::pow(base.to_f64(), exponent.to_f64()))
    } else {
        base.pow(T::from_f64(exponent.to_f64()))
    }
}
