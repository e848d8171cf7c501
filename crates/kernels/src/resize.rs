//! Images of another size: elements picked, or weighed along one axis after the other.
//!
//! Which elements of an axis an output is made of, and with which weights, is found out once by the caller: the
//! same for every row of the image.

use crate::simd::{Level, wide};

/// What the outputs along one axis are made of: `count` elements each, which are at these places of the axis
/// and have these weights.
#[derive(Clone, Copy, Debug)]
pub struct Taps<'a> {
    /// Elements for each output.
    pub count: usize,
    /// Places of the axis, output by output.
    pub places: &'a [usize],
    /// Weights, likewise.
    pub weights: &'a [f32],
}

/// `y [outer, n, inner]` from `x [outer, dim, inner]`: each output the weighed sum of its elements.
pub fn weigh(level: Level, (x, dim, inner): (&[f32], usize, usize), taps: Taps<'_>, y: &mut [f32]) {
    let Taps { count, places, weights } = taps;
    let n = places.len() / count.max(1);
    assert_eq!((places.len(), weights.len()), (n * count, n * count));
    assert!(places.iter().all(|place| *place < dim));
    assert_eq!(x.len() * n, y.len() * dim);
    let outputs = y.chunks_exact_mut((n * inner).max(1));
    for (x, y) in x.chunks_exact((dim * inner).max(1)).zip(outputs) {
        wide(
            level,
            #[inline(always)]
            || weigh_slice(x, inner, taps, y),
        );
    }
}

#[inline(always)]
fn weigh_slice(x: &[f32], inner: usize, taps: Taps<'_>, y: &mut [f32]) {
    let Taps { count, places, weights } = taps;
    let taps = places.chunks_exact(count).zip(weights.chunks_exact(count));
    for (y, (places, weights)) in y.chunks_exact_mut(inner).zip(taps) {
        if let [y] = y {
            *y = places
                .iter()
                .zip(weights)
                .fold(0.0, |sum, (&place, weight)| sum + weight * x[place]);
            continue;
        }
        y.fill(0.0);
        for (&place, &weight) in places.iter().zip(weights) {
            let row = &x[place * inner..(place + 1) * inner];
            y.iter_mut().zip(row).for_each(|(y, x)| *y += weight * x);
        }
    }
}

/// `y` from `x` of these dims: along axis `i` the elements at `places[i]`, one for each output.
pub fn pick<T: Copy>((x, dims): (&[T], &[usize]), places: &[&[usize]], y: &mut [T]) {
    assert_eq!(dims.len(), places.len());
    let (Some((&dim, dims)), Some((places, inner))) = (dims.split_first(), places.split_first())
    else {
        return y.copy_from_slice(x);
    };
    if y.is_empty() {
        return;
    }
    let (from, to) = (x.len() / dim, y.len() / places.len());
    if dims.is_empty() {
        return y.iter_mut().zip(*places).for_each(|(y, &place)| *y = x[place]);
    }
    for (y, &place) in y.chunks_exact_mut(to).zip(*places) {
        pick((&x[place * from..(place + 1) * from], dims), inner, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_weighed_along_one_axis() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let taps = Taps { count: 2, places: &[0, 1, 1, 2], weights: &[0.5, 0.5, 0.0, 1.0] };
        let mut y = [0.0; 4];
        for level in Level::available() {
            weigh(level, (&x, 3, 1), taps, &mut y);
            assert_eq!(y, [1.5, 3.0, 4.5, 6.0]);
            weigh(level, (&x, 3, 2), taps, &mut y);
            assert_eq!(y, [2.0, 3.0, 5.0, 6.0]);
        }
    }

    #[test]
    fn elements_are_picked_along_every_axis() {
        let mut y = [0; 6];
        pick((&[1, 2, 3, 4], &[2, 2]), &[&[1, 0], &[0, 0, 1]], &mut y);
        assert_eq!(y, [3, 3, 4, 1, 1, 2]);
    }
}
