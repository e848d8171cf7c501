//! How alignments combine. The one place that decides it.

/// What an offset is a multiple of if it is a multiple of both: the least common multiple. One that
/// does not fit 64 bits is the largest number, which no packing has room for.
pub(crate) fn common_multiple(a: u64, b: u64) -> u64 {
    (a / common_divisor(a, b)).saturating_mul(b)
}

/// The greatest number that divides both.
pub(crate) fn common_divisor(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x
}

/// What an address can be a multiple of, of an alignment of offsets: the largest power of two that divides
/// it. Allocators and linkers know no others.
#[must_use]
pub fn address_align(align: u64) -> u64 {
    1 << align.max(1).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_combine_to_their_least_common_multiple() {
        assert_eq!(common_multiple(48, 64), 192);
        assert_eq!(common_multiple(16, 64), 64);
        assert_eq!(common_multiple(1, 7), 7);
        assert_eq!(common_multiple(u64::MAX, u64::MAX - 1), u64::MAX);
        assert_eq!(common_divisor(48, 64), 16);
    }

    #[test]
    fn only_powers_of_two_align_an_address() {
        assert_eq!([1, 2, 12, 48, 64, 0].map(address_align), [1, 2, 4, 16, 64, 1]);
    }
}
