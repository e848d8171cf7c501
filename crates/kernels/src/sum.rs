//! Sums of many numbers in a fixed order.
//!
//! Sixteen lanes each take every sixteenth element, for 1 024 elements; the lanes are then added in
//! pairs, and the blocks one after another. The order does not depend on the vectors of the machine,
//! and rounding errors grow with the length of a lane and the number of blocks, not with the number
//! of elements.

/// How many sums run side by side.
pub(crate) const LANES: usize = 16;
/// How many elements are added before lanes are joined.
pub(crate) const BLOCK: usize = 64 * LANES;

/// The sum of `of(x)` over all elements.
#[inline(always)]
pub(crate) fn sum_of(x: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut total = 0.0;
    for block in x.chunks(BLOCK) {
        total += block_sum(block, &of);
    }
    total
}

#[inline(always)]
fn block_sum(block: &[f32], of: &impl Fn(f32) -> f32) -> f32 {
    let (vectors, rest) = block.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for vector in vectors {
        for lane in 0..LANES {
            lanes[lane] += of(vector[lane]);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane += of(x);
    }
    join(lanes, |a, b| a + b)
}

/// The lanes joined in pairs.
#[inline(always)]
pub(crate) fn join<T: Copy>(mut lanes: [T; LANES], add: impl Fn(T, T) -> T) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = add(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// The largest element; NaN if one is. Of none it is negative infinity.
#[inline(always)]
pub(crate) fn max_of(x: &[f32]) -> f32 {
    let most = |a: f32, b: f32| if a > b || a.is_nan() { a } else { b };
    let (vectors, rest) = x.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for vector in vectors {
        for lane in 0..LANES {
            lanes[lane] = most(lanes[lane], vector[lane]);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = most(*lane, x);
    }
    join(lanes, most)
}
