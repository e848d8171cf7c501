//! Sums of products over labelled axes, of any number of tensors.
//!
//! Every label has a length, and every operand a stride along each label: 0 where it does not have it, the sum of two
//! where it has it twice. An output is one chain over the labels that it does not have. Cost: a product for each element
//! of the space of all labels.

use crate::MAX_RANK;
use crate::element::Number;

/// The most labels.
pub const MOST_LABELS: usize = 2 * MAX_RANK;

/// `y`, whose labels, given by their lengths, come first, in its order; the others are summed over. Each operand comes with its strides along
/// the labels.
pub fn einsum<'a, T: Number + 'a>(
    labels: &[usize],
    kept: usize,
    operands: impl Iterator<Item = (&'a [T], &'a [usize])> + Clone,
    y: &mut [T],
) {
    assert!(labels.len() <= MOST_LABELS, "at most {MOST_LABELS} labels");
    let mut at = [0; MOST_LABELS];
    let summed: usize = labels[kept..].iter().product();
    for y in y.iter_mut() {
        *y = T::ZERO;
        at[kept..labels.len()].fill(0);
        for _ in 0..summed {
            let product = operands.clone().fold(T::ONE, |product, (x, strides)| {
                let index = at.iter().zip(strides).map(|(at, stride)| at * stride).sum::<usize>();
                product.mul(x[index])
            });
            *y = y.add(product);
            advance(&mut at[kept..labels.len()], &labels[kept..]);
        }
        advance(&mut at[..kept], &labels[..kept]);
    }
}

/// The next place, the last label the fastest; back to the first behind the last.
fn advance(at: &mut [usize], lens: &[usize]) {
    for (at, len) in at.iter_mut().zip(lens).rev() {
        *at += 1;
        if *at < *len {
            return;
        }
        *at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_multiplied_and_diagonals_taken() {
        let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut y = [0.0; 4];
        // ij,jk->ik: labels i, k, j.
        let operands = [(&a[..], &[2, 0, 1][..]), (&b[..], &[0, 1, 2][..])];
        einsum(&[2, 2, 2], 2, operands.iter().copied(), &mut y);
        assert_eq!(y, [19.0, 22.0, 43.0, 50.0]);
        // ii->i.
        let mut y = [0.0; 2];
        einsum(&[2], 1, [(&a[..], &[3][..])].iter().copied(), &mut y);
        assert_eq!(y, [1.0, 4.0]);
    }
}
