//! Blocks of channels and blocks of pixels: each is a transpose of six axes.

use crate::strided::Strided;

/// In which order the channels of a block lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOrder {
    /// The block's pixels first, then the channels: ONNX's `DCR`.
    DepthFirst,
    /// The channels first, then the pixels of a block: ONNX's `CRD`.
    ColumnsFirst,
}

/// `[n, c, h, w]` to `[n, c / block², h · block, w · block]`: read the view that this gives.
#[must_use]
pub fn depth_to_space(dims: [usize; 4], block: usize, order: BlockOrder) -> Strided {
    let [n, c, h, w] = dims;
    let depth = c / (block * block);
    match order {
        BlockOrder::DepthFirst => {
            Strided::transpose(&[n, block, block, depth, h, w], &[0, 3, 4, 1, 5, 2])
        }
        BlockOrder::ColumnsFirst => {
            Strided::transpose(&[n, depth, block, block, h, w], &[0, 1, 4, 2, 5, 3])
        }
    }
}

/// `[n, c, h, w]` to `[n, c · block², h / block, w / block]`: read the view that this gives.
#[must_use]
pub fn space_to_depth(dims: [usize; 4], block: usize) -> Strided {
    let [n, c, h, w] = dims;
    Strided::transpose(&[n, c, h / block, block, w / block, block], &[0, 3, 5, 1, 2, 4])
}

/// `x` of these dims, `repeats[i]` times along each axis.
pub fn tile<T: Copy>((x, dims): (&[T], &[usize]), repeats: &[usize], y: &mut [T]) {
    assert_eq!(dims.len(), repeats.len());
    assert_eq!(y.len(), x.len() * repeats.iter().product::<usize>());
    if y.is_empty() {
        return;
    }
    // What is made of the axes from `axis` on is at the beginning of its place; copies follow it.
    tile_axis(x, dims, repeats, y);
}

/// Fills `y` with the tiles of the outermost axis, each made of the tiles of the others.
fn tile_axis<T: Copy>(x: &[T], dims: &[usize], repeats: &[usize], y: &mut [T]) {
    let (&[dim, ref inner_dims @ ..], &[repeat, ref inner_repeats @ ..]) = (dims, repeats) else {
        return y.copy_from_slice(x);
    };
    let once = y.len() / repeat;
    let slices = x.chunks_exact(x.len() / dim);
    for (x, y) in slices.zip(y[..once].chunks_exact_mut(once / dim)) {
        tile_axis(x, inner_dims, inner_repeats, y);
    }
    for copy in 1..repeat {
        y.copy_within(..once, copy * once);
    }
}
