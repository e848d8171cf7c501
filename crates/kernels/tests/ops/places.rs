//! Elements at computed places.

use plimsoll_kernels::OutOfRange;
use plimsoll_kernels::fill::{
    Triangle, compress, count_non_zero, eye, non_zero, one_hot, range, range_len, reverse_sequence,
    trilu, trilu_in_place,
};
use plimsoll_kernels::gather::{gather, gather_elements, gather_nd};
use plimsoll_kernels::order::{
    Extreme, Running, arg_extreme, cumulative_sum, cumulative_sum_in_place, top_k,
};
use plimsoll_kernels::scatter::{Scatter, scatter_elements, scatter_nd, tensor_scatter};

use crate::world::{Random, count, index_of, indices, place_of};

/// Dims without a 0.
fn solid(random: &mut Random, least: usize, most: usize) -> Vec<usize> {
    random.dims(least, most).into_iter().map(|dim| dim.max(1)).collect()
}

fn wrapped(index: i64, dim: usize) -> usize {
    (if index < 0 { index + dim as i64 } else { index }) as usize
}

#[test]
fn slices_are_gathered() {
    let mut random = Random::new(21);
    for _ in 0..200 {
        let dims = solid(&mut random, 1, 4);
        let axis = random.below(dims.len());
        let (dim, len) = (dims[axis] as i64, random.below(6));
        let at = random.ints(len, -dim, dim - 1);
        let x = random.floats(count(&dims));
        let mut to = dims.clone();
        to[axis] = at.len();
        let expected: Vec<f32> = indices(&to)
            .map(|mut index| {
                index[axis] = wrapped(at[index[axis]], dims[axis]);
                x[place_of(&index, &dims)]
            })
            .collect();
        let mut y = vec![0.0; expected.len()];
        gather(&x, &dims, axis, &at, &mut y).unwrap();
        assert_eq!(y, expected);
    }
    let refused = gather(&[1, 2, 3], &[3], 0, &[3i64], &mut [0]);
    assert_eq!(refused, Err(OutOfRange { index: 3, dim: 3 }));
    assert_eq!(gather(&[1, 2], &[1, 2], 1, &[-3i32], &mut [0]).unwrap_err().index, -3);
}

/// Dims of indices that fit those of a tensor: not longer but along the axis.
fn index_dims(random: &mut Random, dims: &[usize], axis: usize) -> Vec<usize> {
    let any = |(at, &dim): (usize, &usize)| 1 + random.below(if at == axis { 4 } else { dim });
    dims.iter().enumerate().map(any).collect()
}

#[test]
fn elements_are_gathered_and_scattered() {
    let mut random = Random::new(22);
    let reductions = [Scatter::Replace, Scatter::Add, Scatter::Mul, Scatter::Min, Scatter::Max];
    for round in 0..300 {
        let dims = solid(&mut random, 1, 4);
        let axis = random.below(dims.len());
        let of = index_dims(&mut random, &dims, axis);
        let dim = dims[axis] as i64;
        let at = random.ints(count(&of), -dim, dim - 1);
        let x = random.ints(count(&dims), -9, 9);
        let from = |i: usize| {
            let mut index = index_of(i, &of);
            index[axis] = wrapped(at[i], dims[axis]);
            place_of(&index, &dims)
        };
        let expected: Vec<i64> = (0..at.len()).map(|i| x[from(i)]).collect();
        let mut y = vec![0; at.len()];
        gather_elements((&x, &dims), axis, (&at, &of), &mut y).unwrap();
        assert_eq!(y, expected);

        let reduction = reductions[round % 5];
        let updates = random.ints(at.len(), -9, 9);
        let (mut expected, mut y) = (x.clone(), x);
        for (i, &update) in updates.iter().enumerate() {
            let old = expected[from(i)];
            expected[from(i)] = reduced(reduction, old, update);
        }
        scatter_elements((&mut y, &dims), axis, (&at, &of), &updates, reduction).unwrap();
        assert_eq!(y, expected, "{reduction:?}");
    }
    let refused = scatter_elements((&mut [1], &[1]), 0, (&[1i64], &[1]), &[5], Scatter::Replace);
    assert_eq!(refused, Err(OutOfRange { index: 1, dim: 1 }));
}

fn reduced(reduction: Scatter, old: i64, update: i64) -> i64 {
    match reduction {
        Scatter::Replace => update,
        Scatter::Add => old + update,
        Scatter::Mul => old.wrapping_mul(update),
        Scatter::Min => old.min(update),
        Scatter::Max => old.max(update),
    }
}

#[test]
fn slices_at_coordinates_are_gathered_and_scattered() {
    let mut random = Random::new(23);
    for round in 0..300 {
        let dims = solid(&mut random, 1, 4);
        let batch_dims = random.below(dims.len());
        let depth = 1 + random.below(dims.len() - batch_dims);
        let mut of: Vec<usize> = dims[..batch_dims].to_vec();
        of.push(1 + random.below(3));
        let leading = of.clone();
        of.push(depth);
        let mut at = vec![];
        for _ in 0..count(&leading) {
            for &dim in &dims[batch_dims..batch_dims + depth] {
                at.push(random.between(-(dim as i64), dim as i64 - 1));
            }
        }
        let x = random.ints(count(&dims), -9, 9);
        let tail = &dims[batch_dims + depth..];
        let from = |lead: usize, inner: &[usize]| {
            let mut index = index_of(lead, &leading)[..batch_dims].to_vec();
            for (k, &dim) in dims[batch_dims..batch_dims + depth].iter().enumerate() {
                index.push(wrapped(at[lead * depth + k], dim));
            }
            index.extend(inner);
            place_of(&index, &dims)
        };
        let places: Vec<usize> = (0..count(&leading))
            .flat_map(|lead| indices(tail).map(move |inner| (lead, inner)))
            .map(|(lead, inner)| from(lead, &inner))
            .collect();
        let expected: Vec<i64> = places.iter().map(|&place| x[place]).collect();
        let mut y = vec![0; expected.len()];
        gather_nd((&x, &dims), batch_dims, (&at, &of), &mut y).unwrap();
        assert_eq!(y, expected, "{dims:?} {batch_dims} {of:?}");
        if batch_dims == 0 {
            let reduction = [Scatter::Replace, Scatter::Add, Scatter::Max][round % 3];
            let updates = random.ints(places.len(), -9, 9);
            let (mut expected, mut y) = (x.clone(), x);
            for (&place, &update) in places.iter().zip(&updates) {
                expected[place] = reduced(reduction, expected[place], update);
            }
            scatter_nd((&mut y, &dims), (&at, &of), &updates, reduction).unwrap();
            assert_eq!(y, expected);
        }
    }
}

#[test]
fn caches_get_their_updates() {
    // Two batches of one head, four places of one element.
    let mut y = [0; 8];
    let update = [1, 2, 3, 4];
    tensor_scatter((&mut y, &[2, 1, 4, 1]), 2, (&update, 2), Some(&[1, 3]), true).unwrap();
    assert_eq!(y, [0, 1, 2, 0, 4, 0, 0, 3]);
    let refused = tensor_scatter((&mut y, &[2, 1, 4, 1]), 2, (&update, 2), Some(&[1, 3]), false);
    assert_eq!(refused, Err(OutOfRange { index: 4, dim: 4 }));
}

#[test]
fn tensors_from_little() {
    let mut y = [0.0; 4];
    range(1.0, -0.5, &mut y);
    assert_eq!(y, [1.0, 0.5, 0.0, -0.5]);
    assert_eq!((range_len(1, 10, 3), range_len(10, 1, -3), range_len(1, 1, 1)), (3, 3, 0));
    assert_eq!((range_len(0.0, 1.0, 0.3), range_len(3, 1, 1), range_len(1, 2, 0)), (4, 0, 0));
    let mut y = [9; 6];
    eye(3, 1, &mut y);
    assert_eq!(y, [0, 1, 0, 0, 0, 1]);
    eye(3, -1, &mut y);
    assert_eq!(y, [0, 0, 0, 1, 0, 0]);
    // indices [2], axis last, then axis first.
    one_hot(&[1i64, -1], (3, 1), (0, 5), &mut y);
    assert_eq!(y, [0, 5, 0, 0, 0, 5]);
    one_hot(&[1i64, 7], (3, 2), (0, 5), &mut y);
    assert_eq!(y, [0, 0, 5, 0, 0, 0]);
}

#[test]
fn triangles_are_kept() {
    let mut random = Random::new(24);
    for _ in 0..100 {
        let mut dims = random.dims(0, 2);
        dims.extend([1 + random.below(5), 1 + random.below(5)]);
        let (k, x) = (random.between(-6, 6), random.ints(count(&dims), 1, 9));
        for triangle in [Triangle::Upper, Triangle::Lower] {
            let kept = |index: &[usize]| {
                let [.., row, column] = *index else { unreachable!() };
                let right = column as i64 - row as i64;
                if triangle == Triangle::Upper { right >= k } else { right <= k }
            };
            let expected: Vec<i64> = indices(&dims)
                .zip(&x)
                .map(|(index, &x)| if kept(&index) { x } else { 0 })
                .collect();
            let (mut y, mut in_place) = (vec![0; x.len()], x.clone());
            trilu(triangle, k, &dims, &x, &mut y);
            trilu_in_place(triangle, k, &dims, &mut in_place);
            assert_eq!((&y, &in_place), (&expected, &expected));
        }
    }
}

#[test]
fn what_is_not_zero_is_found() {
    let x = [0, 5, 0, 6, 7, 0];
    assert_eq!(count_non_zero(&x), 3);
    let mut y = [9; 6];
    non_zero(&x, &[2, 3], &mut y);
    assert_eq!(y, [0, 1, 1, 1, 0, 1]);
    let mut y = [0; 4];
    compress(&[1, 2, 3, 4, 5, 6], (3, 1), &[0, 1, 1], &mut y);
    assert_eq!(y, [2, 3, 5, 6]);
    let mut y = [0; 3];
    compress(&[1, 2, 3, 4, 5, 6], (2, 3), &[0, 1], &mut y);
    assert_eq!(y, [4, 5, 6]);
}

#[test]
fn sequences_are_reversed_up_to_their_lengths() {
    let x = [0, 1, 2, 3, 4, 5, 6, 7];
    let mut y = [0; 8];
    reverse_sequence(&x, (2, 4, 1), true, &[3i64, 4], &mut y);
    assert_eq!(y, [2, 1, 0, 3, 7, 6, 5, 4]);
    reverse_sequence(&x, (2, 4, 1), false, &[1i64, 4], &mut y);
    assert_eq!(y, [0, 7, 2, 5, 4, 3, 6, 1]);
}

#[test]
fn extremes_and_the_largest_are_found() {
    let mut random = Random::new(25);
    for round in 0..300 {
        let dims = solid(&mut random, 1, 4);
        let axis = random.below(dims.len());
        let x = random.ints(count(&dims), -5, 5);
        let extreme = [Extreme::Max, Extreme::Min][round % 2];
        let k = 1 + random.below(dims[axis]);
        let mut rows = dims.clone();
        rows[axis] = 1;
        let (mut to, mut first, mut last) = (dims.clone(), vec![], vec![]);
        to[axis] = k;
        let (mut values, mut places) = (vec![0; count(&to)], vec![0; count(&to)]);
        for index in indices(&rows) {
            let at = |i: usize| {
                let mut index = index.clone();
                index[axis] = i;
                index
            };
            let value = |i: usize| x[place_of(&at(i), &dims)];
            let mut order: Vec<usize> = (0..dims[axis]).collect();
            let sign = if extreme == Extreme::Max { -1 } else { 1 };
            order.sort_by_key(|&i| sign * value(i));
            first.push(order[0] as i64);
            last.push((0..dims[axis]).rfind(|&i| value(i) == value(order[0])).unwrap() as i64);
            for (i, &from) in order[..k].iter().enumerate() {
                values[place_of(&at(i), &to)] = value(from);
                places[place_of(&at(i), &to)] = from as i64;
            }
        }
        let mut y = vec![0; first.len()];
        arg_extreme(extreme, false, (&x, &dims), axis, &mut y);
        assert_eq!(y, first);
        arg_extreme(extreme, true, (&x, &dims), axis, &mut y);
        assert_eq!(y, last);
        let (mut found, mut found_places) = (vec![0; values.len()], vec![0; values.len()]);
        top_k(extreme, (&x, &dims), axis, k, (&mut found, &mut found_places));
        assert_eq!((found, found_places), (values, places), "{extreme:?} {k} {dims:?} {axis}");
    }
}

#[test]
fn sums_run_along_an_axis() {
    let mut random = Random::new(26);
    for round in 0..200 {
        let dims = solid(&mut random, 1, 4);
        let axis = random.below(dims.len());
        let product = round % 3 == 0;
        let running = Running { product, exclusive: round % 2 == 0, reverse: random.coin() };
        let x = random.ints(count(&dims), -9, 9);
        let expected: Vec<i64> = indices(&dims)
            .map(|index| {
                let counts = |i: &usize| match (running.reverse, running.exclusive) {
                    (false, false) => *i <= index[axis],
                    (false, true) => *i < index[axis],
                    (true, false) => *i >= index[axis],
                    (true, true) => *i > index[axis],
                };
                let value = |i: usize| {
                    let mut from = index.clone();
                    from[axis] = i;
                    x[place_of(&from, &dims)]
                };
                let values = (0..dims[axis]).filter(counts).map(value);
                if product { values.fold(1, i64::wrapping_mul) } else { values.sum() }
            })
            .collect();
        let (mut y, mut in_place) = (vec![0; x.len()], x.clone());
        cumulative_sum(running, (&x, &dims), axis, &mut y);
        cumulative_sum_in_place(running, &mut in_place, &dims, axis);
        assert_eq!((&y, &in_place), (&expected, &expected));
    }
}
