//! Elements that move: views, pads, tiles, blocks.

use plimsoll_kernels::Strided;
use plimsoll_kernels::blocks::{BlockOrder, depth_to_space, space_to_depth, tile};
use plimsoll_kernels::pad::{Pad, pad};

use crate::world::{Random, broadcast_place, count, indices, place_of};

fn numbers(len: usize) -> Vec<u32> {
    (1..=len as u32).collect()
}

#[test]
fn axes_are_permuted() {
    let mut random = Random::new(11);
    for _ in 0..300 {
        let dims = random.dims(0, 6);
        let permutation = random.permutation(dims.len());
        let to: Vec<usize> = permutation.iter().map(|&axis| dims[axis]).collect();
        let x = numbers(count(&dims));
        let expected: Vec<u32> = indices(&to)
            .map(|index| {
                let mut from = vec![0; dims.len()];
                for (axis, &at) in permutation.iter().zip(&index) {
                    from[*axis] = at;
                }
                x[place_of(&from, &dims)]
            })
            .collect();
        let mut y = vec![0; x.len()];
        Strided::transpose(&dims, &permutation).read(&x, &mut y);
        assert_eq!(y, expected, "{dims:?} {permutation:?}");
    }
}

#[test]
fn large_matrices_are_transposed_in_tiles() {
    for dims in [[33, 70], [16, 16], [100, 3], [1, 50], [257, 64]] {
        let x = numbers(count(&dims));
        let mut y = vec![0; x.len()];
        Strided::transpose(&dims, &[1, 0]).read(&x, &mut y);
        for row in 0..dims[0] {
            for column in 0..dims[1] {
                assert_eq!(y[column * dims[0] + row], x[row * dims[1] + column]);
            }
        }
    }
}

#[test]
fn parts_are_read_and_written_with_any_step() {
    let mut random = Random::new(12);
    for _ in 0..400 {
        let dims = random.dims(0, 5);
        let (mut starts, mut steps, mut lens) = (vec![], vec![], vec![]);
        for &dim in &dims {
            let step = [1isize, 1, 2, 3, -1, -2][random.below(6)];
            let start = if dim == 0 { 0 } else { random.below(dim) };
            let reach: usize = if step > 0 { dim - start } else { start + 1 };
            let most = if dim == 0 { 0 } else { reach.div_ceil(step.unsigned_abs()) };
            starts.push(start);
            steps.push(step);
            lens.push(random.below(most + 1));
        }
        let x = numbers(count(&dims));
        let from = |index: Vec<usize>| {
            let at =
                |axis: usize| starts[axis].wrapping_add_signed(index[axis] as isize * steps[axis]);
            place_of(&(0..dims.len()).map(at).collect::<Vec<usize>>(), &dims)
        };
        let expected: Vec<u32> = indices(&lens).map(|index| x[from(index)]).collect();
        let view = Strided::slice(&dims, &starts, &steps, &lens);
        assert_eq!(view.view_len(), expected.len());
        let mut y = vec![0; expected.len()];
        view.read(&x, &mut y);
        assert_eq!(y, expected, "{dims:?} {starts:?} {steps:?} {lens:?}");
        let (mut back, mut plain) = (vec![0; x.len()], vec![0; x.len()]);
        view.write(&y, &mut back);
        for (index, &y) in indices(&lens).zip(&y) {
            plain[from(index)] = y;
        }
        assert_eq!(back, plain);
    }
}

#[test]
fn concats_are_parts_written_and_splits_are_parts_read() {
    let mut random = Random::new(13);
    for _ in 0..200 {
        let mut dims = random.dims(1, 4);
        let axis = random.below(dims.len());
        let lens: Vec<usize> = (0..=random.below(4)).map(|_| random.below(5)).collect();
        dims[axis] = lens.iter().sum();
        let whole = numbers(count(&dims));
        let (mut start, mut joined) = (0, vec![0; whole.len()]);
        for len in lens {
            let mut part_dims = dims.clone();
            part_dims[axis] = len;
            let expected: Vec<u32> = indices(&part_dims)
                .map(|mut index| {
                    index[axis] += start;
                    whole[place_of(&index, &dims)]
                })
                .collect();
            let view = Strided::part(&dims, axis, start, len);
            let mut part = vec![0; expected.len()];
            view.read(&whole, &mut part);
            assert_eq!(part, expected);
            view.write(&part, &mut joined);
            start += len;
        }
        assert_eq!(joined, whole);
    }
}

#[test]
fn a_run_is_told_from_what_is_scattered() {
    assert!(Strided::part(&[4, 3], 0, 1, 2).is_run());
    assert_eq!(Strided::part(&[4, 3], 0, 1, 2).offset(), 3);
    assert!(!Strided::part(&[4, 3], 1, 1, 2).is_run());
    assert!(Strided::transpose(&[1, 5, 1, 7], &[2, 1, 0, 3]).is_run());
    assert!(!Strided::transpose(&[5, 7], &[1, 0]).is_run());
    assert!(!Strided::slice(&[5], &[4], &[-1], &[5]).is_run());
}

#[test]
fn tensors_are_expanded() {
    let mut random = Random::new(14);
    for _ in 0..200 {
        let to = random.dims(0, 5);
        let dims = random.smaller(&to);
        let x = numbers(count(&dims));
        let expected: Vec<u32> =
            indices(&to).map(|index| x[broadcast_place(&index, &dims)]).collect();
        let mut y = vec![0; expected.len()];
        Strided::expand(&dims, &to).read(&x, &mut y);
        assert_eq!(y, expected, "{dims:?} {to:?}");
    }
}

#[test]
fn tensors_are_tiled() {
    let mut random = Random::new(15);
    for _ in 0..200 {
        let dims = random.dims(0, 4);
        let repeats: Vec<usize> = dims.iter().map(|_| random.below(4)).collect();
        let to: Vec<usize> = dims.iter().zip(&repeats).map(|(dim, repeat)| dim * repeat).collect();
        let x = numbers(count(&dims));
        let expected: Vec<u32> = indices(&to)
            .map(|index| {
                let from: Vec<usize> = index.iter().zip(&dims).map(|(i, dim)| i % dim).collect();
                x[place_of(&from, &dims)]
            })
            .collect();
        let mut y = vec![0; expected.len()];
        tile((&x, &dims), &repeats, &mut y);
        assert_eq!(y, expected);
    }
}

/// One axis padded as numpy defines it.
fn padded_axis(mode: Pad<u32>, at: i64, dim: i64) -> Option<i64> {
    if (0..dim).contains(&at) {
        return Some(at);
    }
    match mode {
        Pad::Constant(_) => None,
        Pad::Edge => Some(if at < 0 { 0 } else { dim - 1 }),
        Pad::Wrap => Some(((at % dim) + dim) % dim),
        Pad::Reflect => {
            let mut at = at;
            while !(0..dim).contains(&at) {
                at = if at < 0 { -at } else { 2 * (dim - 1) - at };
                if dim == 1 {
                    at = 0;
                }
            }
            Some(at)
        }
    }
}

#[test]
fn edges_are_padded_and_cut() {
    let mut random = Random::new(16);
    for round in 0..600 {
        let mode = [Pad::Constant(99), Pad::Reflect, Pad::Edge, Pad::Wrap][round % 4];
        let dims: Vec<usize> = random.dims(0, 4).into_iter().map(|dim| dim.max(1)).collect();
        let before: Vec<isize> = dims.iter().map(|_| random.between(-2, 4) as isize).collect();
        let to: Vec<usize> = (dims.iter().zip(&before))
            .map(|(&dim, &before)| {
                (dim as i64 + before as i64 + random.between(-2, 4)).max(0) as usize
            })
            .collect();
        let x = numbers(count(&dims));
        let expected: Vec<u32> = indices(&to)
            .map(|index| {
                let mut from = vec![];
                for (axis, &i) in index.iter().enumerate() {
                    let at = i as i64 - before[axis] as i64;
                    match padded_axis(mode, at, dims[axis] as i64) {
                        Some(at) => from.push(at as usize),
                        None => return 99,
                    }
                }
                x[place_of(&from, &dims)]
            })
            .collect();
        let mut y = vec![0; expected.len()];
        pad(mode, (&x, &dims), &before, (&mut y, &to));
        assert_eq!(y, expected, "{mode:?} {dims:?} {before:?} {to:?}");
    }
}

#[test]
fn nothing_is_padded_to_something() {
    let mut y = [0; 6];
    pad(Pad::Constant(7), (&[], &[0, 3]), &[1, 0], (&mut y, &[2, 3]));
    assert_eq!(y, [7; 6]);
}

#[test]
fn channels_become_pixels_and_come_back() {
    let (n, c, h, w, block) = (2, 3, 2, 3, 2);
    let dims = [n, c * block * block, h, w];
    let to = [n, c, h * block, w * block];
    let x = numbers(count(&dims));
    for order in [BlockOrder::DepthFirst, BlockOrder::ColumnsFirst] {
        let expected: Vec<u32> = indices(&to)
            .map(|i| {
                let (row, column) = (i[2] % block, i[3] % block);
                let channel = match order {
                    BlockOrder::DepthFirst => (row * block + column) * c + i[1],
                    BlockOrder::ColumnsFirst => (i[1] * block + row) * block + column,
                };
                x[place_of(&[i[0], channel, i[2] / block, i[3] / block], &dims)]
            })
            .collect();
        let mut y = vec![0; x.len()];
        depth_to_space(dims, block, order).read(&x, &mut y);
        assert_eq!(y, expected, "{order:?}");
        if order == BlockOrder::DepthFirst {
            let mut back = vec![0; x.len()];
            space_to_depth(to, block).read(&y, &mut back);
            assert_eq!(back, x);
        }
    }
}
