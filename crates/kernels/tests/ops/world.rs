//! Random shapes and elements, and indices as ONNX writes them.

use plimsoll_kernels::Level;

/// Numbers that look random and are the same in every run (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From 0 to before `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 33) % limit as u64) as usize
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// From -`size` to `size`.
    pub(crate) fn float(&mut self, size: f32) -> f32 {
        ((self.next() >> 40) as f32 / 8_388_608.0 - 1.0) * size
    }

    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.float(4.0)).collect()
    }

    pub(crate) fn ints(&mut self, len: usize, low: i64, high: i64) -> Vec<i64> {
        (0..len).map(|_| self.between(low, high)).collect()
    }

    pub(crate) fn bools(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| u8::from(self.coin())).collect()
    }

    /// Up to `most` dims; small ones are likely, 0 is seldom.
    pub(crate) fn dims(&mut self, least: usize, most: usize) -> Vec<usize> {
        let rank = least + self.below(most - least + 1);
        (0..rank)
            .map(|_| match self.below(12) {
                0 if rank > 0 && self.below(4) == 0 => 0,
                0..=2 => 1,
                3 => 17 + self.below(20),
                _ => 2 + self.below(5),
            })
            .collect()
    }

    /// Dims that are broadcast to these.
    pub(crate) fn smaller(&mut self, dims: &[usize]) -> Vec<usize> {
        let skipped = if self.coin() { 0 } else { self.below(dims.len() + 1) };
        dims[skipped..].iter().map(|&dim| if self.below(3) == 0 { 1 } else { dim }).collect()
    }

    /// An order of so many axes.
    pub(crate) fn permutation(&mut self, rank: usize) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            axes.swap(i, self.below(i + 1));
        }
        axes
    }
}

pub(crate) fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

/// The index of an element of a row-major tensor.
pub(crate) fn index_of(mut place: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for axis in (0..dims.len()).rev() {
        index[axis] = place % dims[axis];
        place /= dims[axis];
    }
    index
}

/// The place of an index in a row-major tensor.
pub(crate) fn place_of(index: &[usize], dims: &[usize]) -> usize {
    assert_eq!(index.len(), dims.len());
    index.iter().zip(dims).fold(0, |place, (&i, &dim)| {
        assert!(i < dim);
        place * dim + i
    })
}

/// The place in a tensor of smaller dims that an index is broadcast from.
pub(crate) fn broadcast_place(index: &[usize], dims: &[usize]) -> usize {
    let tail = &index[index.len() - dims.len()..];
    let own: Vec<usize> =
        tail.iter().zip(dims).map(|(&i, &dim)| if dim == 1 { 0 } else { i }).collect();
    place_of(&own, dims)
}

/// Every index of these dims.
pub(crate) fn indices(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..count(dims)).map(move |place| index_of(place, dims))
}

pub(crate) fn levels() -> Vec<Level> {
    Level::available().collect()
}

pub(crate) fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Asserts that elements differ by at most `tolerance`, relative to what is larger than 1.
#[track_caller]
pub(crate) fn assert_close(
    found: &[f32],
    expected: &[f64],
    tolerance: f64,
    what: impl std::fmt::Debug,
) {
    assert_eq!(found.len(), expected.len(), "{what:?}");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let found = f64::from(found);
        let same = found == expected || (found.is_nan() && expected.is_nan());
        let close = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        assert!(same || close, "{what:?}: element {i} is {found}, not {expected}");
    }
}

pub(crate) fn wider(x: &[f32]) -> Vec<f64> {
    x.iter().copied().map(f64::from).collect()
}
