//! Extremes and their places, the largest elements, running sums.

use crate::element::Number;
use crate::places::Along;

/// Which extreme is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Extreme {
    /// Whether `a` comes before `b`; what is not a number comes first.
    #[inline(always)]
    pub(crate) fn precedes<T: Number>(self, a: T, b: T) -> bool {
        let ahead = match self {
            Extreme::Max => a > b,
            Extreme::Min => a < b,
        };
        #[allow(clippy::eq_op, reason = "what is not a number is not equal to itself")]
        let first_nan = a != a && b == b;
        ahead || first_nan
    }
}

/// `y =` the places of the extremes of `x` along `axis`: the first of several, or the last.
pub fn arg_extreme<T: Number>(
    extreme: Extreme,
    takes_last: bool,
    (x, dims): (&[T], &[usize]),
    axis: usize,
    y: &mut [i64],
) {
    let Along { outer, dim, inner } = Along::new(dims, axis);
    assert_eq!(x.len(), outer * dim * inner);
    assert_eq!(y.len(), outer * inner);
    for (i, y) in y.iter_mut().enumerate() {
        let at = |place: usize| x[(i / inner * dim + place) * inner + i % inner];
        let mut best = 0;
        for place in 1..dim {
            let better = extreme.precedes(at(place), at(best));
            if better || (takes_last && !extreme.precedes(at(best), at(place))) {
                best = place;
            }
        }
        *y = best as i64;
    }
}

/// The `k` first elements of `x` along `axis` in the order of the extreme, and their places. Of equal
/// ones the one of the lower place comes first. Takes `n log k` steps for each row of `n`: the outputs
/// are a heap while they are filled, and sorted at the end.
pub fn top_k<T: Number>(
    extreme: Extreme,
    (x, dims): (&[T], &[usize]),
    axis: usize,
    k: usize,
    (values, places): (&mut [T], &mut [i64]),
) {
    let Along { outer, dim, inner } = Along::new(dims, axis);
    assert_eq!(x.len(), outer * dim * inner);
    assert!(k <= dim, "{k} of {dim}");
    assert_eq!((values.len(), places.len()), (outer * k * inner, outer * k * inner));
    if k == 0 {
        return;
    }
    for row in 0..outer * inner {
        let first = row / inner * k * inner + row % inner;
        let mut heap = Heap { extreme, values, places, first, inner };
        let at = |place: usize| x[(row / inner * dim + place) * inner + row % inner];
        for place in 0..k {
            heap.set(place, (at(place), place as i64));
        }
        for root in (0..k / 2).rev() {
            heap.sink(root, k);
        }
        for place in k..dim {
            let entry = (at(place), place as i64);
            if heap.precedes(entry, heap.get(0)) {
                heap.set(0, entry);
                heap.sink(0, k);
            }
        }
        for end in (1..k).rev() {
            heap.swap(0, end);
            heap.sink(0, end);
        }
    }
}

/// A heap whose first entry is the one that comes last, in strided parts of two slices.
struct Heap<'a, T> {
    extreme: Extreme,
    values: &'a mut [T],
    places: &'a mut [i64],
    first: usize,
    inner: usize,
}

impl<T: Number> Heap<'_, T> {
    fn get(&self, i: usize) -> (T, i64) {
        let at = self.first + i * self.inner;
        (self.values[at], self.places[at])
    }

    fn set(&mut self, i: usize, (value, place): (T, i64)) {
        let at = self.first + i * self.inner;
        (self.values[at], self.places[at]) = (value, place);
    }

    fn swap(&mut self, i: usize, j: usize) {
        let (a, b) = (self.get(i), self.get(j));
        self.set(i, b);
        self.set(j, a);
    }

    fn precedes(&self, a: (T, i64), b: (T, i64)) -> bool {
        let ahead = self.extreme.precedes(a.0, b.0);
        ahead || (a.1 < b.1 && !self.extreme.precedes(b.0, a.0))
    }

    /// Moves an entry down to where no entry below it comes after it.
    fn sink(&mut self, mut root: usize, len: usize) {
        loop {
            let mut last = root;
            for child in [2 * root + 1, 2 * root + 2] {
                if child < len && self.precedes(self.get(last), self.get(child)) {
                    last = child;
                }
            }
            if last == root {
                return;
            }
            self.swap(root, last);
            root = last;
        }
    }
}

/// How sums run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// Whether they are products.
    pub product: bool,
    /// Whether an element is not part of its own sum.
    pub exclusive: bool,
    /// Whether they run from the end.
    pub reverse: bool,
}

/// `y =` the running sums of `x` along `axis`.
pub fn cumulative_sum<T: Number>(
    running: Running,
    (x, dims): (&[T], &[usize]),
    axis: usize,
    y: &mut [T],
) {
    y.copy_from_slice(x);
    cumulative_sum_in_place(running, y, dims, axis);
}

/// [`cumulative_sum`] with `x` in `y` already.
pub fn cumulative_sum_in_place<T: Number>(
    running: Running,
    y: &mut [T],
    dims: &[usize],
    axis: usize,
) {
    let Along { outer, dim, inner } = Along::new(dims, axis);
    assert_eq!(y.len(), outer * dim * inner);
    for row in 0..outer * inner {
        let first = row / inner * dim * inner + row % inner;
        let mut sum = if running.product { T::ONE } else { T::ZERO };
        for i in 0..dim {
            let place = if running.reverse { dim - 1 - i } else { i };
            let y = &mut y[first + place * inner];
            let next = if running.product { sum.mul(*y) } else { sum.add(*y) };
            *y = if running.exclusive { sum } else { next };
            sum = next;
        }
    }
}
