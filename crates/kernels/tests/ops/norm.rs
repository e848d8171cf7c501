//! Softmax and normalisations.

use plimsoll_kernels::norm::{
    Affine, BatchNorm, LocalResponse, Lp, RowNorm, Statistics, batch_norm, batch_norm_in_place,
    group_norm, group_norm_in_place, local_response_norm, lp_norm, lp_norm_in_place,
    mean_variance_norm, mean_variance_norm_in_place, norm_rows, norm_rows_in_place,
    scratch_lp_norm, scratch_mean_variance_norm,
};
use plimsoll_kernels::softmax::{Softmax, softmax, softmax_in_place};

use crate::world::{Random, assert_close, bits, count, indices, levels, place_of, wider};

/// Every row along an axis replaced by what `of` makes of it.
fn by_rows(x: &[f64], dims: &[usize], axis: usize, of: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    let mut starts = dims.to_vec();
    starts[axis] = 1.min(dims[axis]);
    for mut index in indices(&starts) {
        let places: Vec<usize> = (0..dims[axis])
            .map(|i| {
                index[axis] = i;
                place_of(&index, dims)
            })
            .collect();
        let row: Vec<f64> = places.iter().map(|&place| x[place]).collect();
        for (place, value) in places.into_iter().zip(of(&row)) {
            y[place] = value;
        }
    }
    y
}

fn softmax_definition(function: Softmax, row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
    let first = row.iter().position(|&x| x == most);
    let of = |(i, x): (usize, &f64)| match function {
        Softmax::Softmax => (x - most).exp() / sum,
        Softmax::LogSoftmax => x - most - sum.ln(),
        Softmax::Hardmax => f64::from(u8::from(Some(i) == first)),
    };
    row.iter().enumerate().map(of).collect()
}

#[test]
fn softmax_is_along_any_axis() {
    let mut random = Random::new(41);
    for round in 0..200 {
        let dims = random.dims(1, 4);
        let axis = random.below(dims.len());
        let x: Vec<f32> = random.floats(count(&dims)).into_iter().map(|x| x * 20.0).collect();
        let function = [Softmax::Softmax, Softmax::LogSoftmax, Softmax::Hardmax][round % 3];
        let expected = by_rows(&wider(&x), &dims, axis, |row| softmax_definition(function, row));
        for level in levels() {
            let (mut y, mut in_place) = (vec![9.0; x.len()], x.clone());
            softmax(level, function, (&x, &dims), axis, &mut y);
            assert_close(&y, &expected, 1e-6, (function, &dims, axis));
            softmax_in_place(level, function, &mut in_place, &dims, axis);
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
}

fn normalised(row: &[f64], epsilon: f64) -> (Vec<f64>, f64, f64) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
    let inverse = 1.0 / (variance + epsilon).sqrt();
    (row.iter().map(|x| (x - mean) * inverse).collect(), mean, inverse)
}

#[test]
fn rows_are_normalised_scaled_and_biased() {
    let mut random = Random::new(42);
    for round in 0..100 {
        let (rows, len) = (random.below(4), 1 + random.below(70));
        let x: Vec<f32> = random.floats(rows * len).into_iter().map(|x| x + 10.0).collect();
        let (scale, bias) = (random.floats(len), random.floats(len));
        let affine = match round % 3 {
            0 => Affine::default(),
            1 => Affine { scale: Some(&scale), bias: None },
            _ => Affine { scale: Some(&scale), bias: Some(&bias) },
        };
        let norm = [RowNorm::Layer, RowNorm::Rms][round / 3 % 2];
        let (mut expected, mut means, mut inverses) = (vec![], vec![], vec![]);
        for row in wider(&x).chunks(len) {
            let (mut y, mean, inverse) = normalised(row, 1e-3);
            if norm == RowNorm::Rms {
                let square = row.iter().map(|x| x * x).sum::<f64>() / len as f64;
                y = row.iter().map(|x| x / (square + 1e-3).sqrt()).collect();
            }
            for (i, y) in y.into_iter().enumerate() {
                let scaled = y * affine.scale.map_or(1.0, |s| f64::from(s[i]));
                expected.push(scaled + affine.bias.map_or(0.0, |b| f64::from(b[i])));
            }
            means.push(mean);
            inverses.push(inverse);
        }
        for level in levels() {
            let (mut y, mut in_place) = (vec![0.0; x.len()], x.clone());
            let (mut mean, mut inverse) = (vec![0.0; rows], vec![0.0; rows]);
            let told = Statistics { mean: Some(&mut mean), inverse_deviation: Some(&mut inverse) };
            norm_rows(level, (norm, 1e-3), (&x, len), affine, &mut y, told);
            assert_close(&y, &expected, 2e-5, (norm, rows, len));
            if norm == RowNorm::Layer {
                assert_close(&mean, &means, 1e-6, "means");
                assert_close(&inverse, &inverses, 1e-5, "deviations");
            }
            let none = Statistics::default();
            norm_rows_in_place(level, (norm, 1e-3), (&mut in_place, len), affine, none);
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
}

#[test]
fn groups_of_channels_are_normalised() {
    let mut random = Random::new(43);
    for _ in 0..100 {
        let (groups, each) = (1 + random.below(3), 1 + random.below(3));
        let channels = groups * each;
        let dims = [random.below(3), channels, 1 + random.below(5), 1 + random.below(9)];
        let x = random.floats(count(&dims));
        let (scale, bias) = (random.floats(channels), random.floats(channels));
        let inner = dims[2] * dims[3];
        let expected: Vec<f64> = wider(&x)
            .chunks(each * inner)
            .flat_map(|group| normalised(group, 1e-2).0)
            .enumerate()
            .map(|(i, y)| {
                let channel = i / inner % channels;
                y * f64::from(scale[channel]) + f64::from(bias[channel])
            })
            .collect();
        let affine = Affine { scale: Some(&scale), bias: Some(&bias) };
        for level in levels() {
            let (mut y, mut in_place) = (vec![0.0; x.len()], x.clone());
            group_norm(level, (groups, 1e-2), (&x, &dims), affine, &mut y);
            assert_close(&y, &expected, 1e-5, dims);
            group_norm_in_place(level, (groups, 1e-2), (&mut in_place, &dims), affine);
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
}

#[test]
fn batches_are_normalised_by_what_is_known() {
    let mut random = Random::new(44);
    for _ in 0..100 {
        let mut dims = vec![random.below(3), 1 + random.below(20)];
        dims.extend(random.dims(0, 2));
        let channels = dims[1];
        let x = random.floats(count(&dims));
        let (scale, bias, mean) =
            (random.floats(channels), random.floats(channels), random.floats(channels));
        let variance: Vec<f32> = random.floats(channels).into_iter().map(f32::abs).collect();
        let norm = BatchNorm {
            scale: &scale,
            bias: &bias,
            mean: &mean,
            variance: &variance,
            epsilon: 0.1,
        };
        let expected: Vec<f64> = indices(&dims)
            .zip(wider(&x))
            .map(|(index, x)| {
                let of = |part: &[f32]| f64::from(part[index[1]]);
                of(&scale) * (x - of(&mean)) / (of(&variance) + 0.1).sqrt() + of(&bias)
            })
            .collect();
        for level in levels() {
            let (mut y, mut in_place) = (vec![0.0; x.len()], x.clone());
            batch_norm(level, &norm, (&x, &dims), &mut y);
            assert_close(&y, &expected, 1e-5, &dims);
            batch_norm_in_place(level, &norm, (&mut in_place, &dims));
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
}

#[test]
fn rows_are_divided_by_their_norms() {
    let mut random = Random::new(45);
    for round in 0..60 {
        let dims = random.dims(1, 4);
        let axis = random.below(dims.len());
        let x = random.floats(count(&dims));
        let lp = [Lp::One, Lp::Two][round % 2];
        let expected = by_rows(&wider(&x), &dims, axis, |row| {
            let norm = match lp {
                Lp::One => row.iter().map(|x| x.abs()).sum::<f64>(),
                Lp::Two => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
            };
            row.iter().map(|x| if norm == 0.0 { *x } else { x / norm }).collect()
        });
        for level in levels() {
            let mut scratch = vec![f32::NAN; scratch_lp_norm(&dims, axis)];
            let (mut y, mut in_place) = (vec![0.0; x.len()], x.clone());
            lp_norm(level, lp, (&x, &dims), axis, &mut y, &mut scratch);
            assert_close(&y, &expected, 1e-6, (lp, &dims, axis));
            lp_norm_in_place(level, lp, (&mut in_place, &dims), axis, &mut scratch);
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
    let (mut zeros, mut scratch) = ([0.0; 3], [0.0]);
    lp_norm_in_place(levels()[0], Lp::Two, (&mut zeros, &[3]), 0, &mut scratch);
    assert_eq!(zeros, [0.0; 3]);
}

#[test]
fn mean_and_variance_are_those_of_the_axes() {
    let mut random = Random::new(46);
    for _ in 0..60 {
        let dims = [2, 3, 1 + random.below(6), 2 + random.below(6)];
        let x = random.floats(count(&dims));
        let reduced = |axis: usize| axis != 1;
        let mut expected = vec![0.0; x.len()];
        for channel in 0..3 {
            let of: Vec<usize> =
                (0..x.len()).filter(|i| i / (dims[2] * dims[3]) % 3 == channel).collect();
            let row: Vec<f64> = of.iter().map(|&i| f64::from(x[i])).collect();
            for (i, y) in of.into_iter().zip(normalised(&row, 0.0).0) {
                expected[i] = y;
            }
        }
        for level in levels() {
            let mut scratch = vec![f32::NAN; scratch_mean_variance_norm(&dims, reduced)];
            let (mut y, mut in_place) = (vec![0.0; x.len()], x.clone());
            mean_variance_norm(level, (&x, &dims), reduced, &mut y, &mut scratch);
            assert_close(&y, &expected, 1e-5, dims);
            mean_variance_norm_in_place(level, (&mut in_place, &dims), reduced, &mut scratch);
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
}

#[test]
fn responses_are_divided_by_their_neighbours() {
    let mut random = Random::new(47);
    for _ in 0..40 {
        let dims = [1 + random.below(2), 1 + random.below(7), 2, 3];
        let x = random.floats(count(&dims));
        let size = 1 + random.below(5);
        let norm = LocalResponse { size, alpha: 0.5, beta: 0.75, bias: 2.0 };
        let expected: Vec<f64> = indices(&dims)
            .map(|index| {
                let from = index[1].saturating_sub((size - 1) / 2);
                let to = (index[1] + size / 2).min(dims[1] - 1);
                let at = |channel: usize| {
                    f64::from(x[place_of(&[index[0], channel, index[2], index[3]], &dims)])
                };
                let squares: f64 = (from..=to).map(|channel| at(channel).powi(2)).sum();
                at(index[1]) / (2.0 + 0.5 / size as f64 * squares).powf(0.75)
            })
            .collect();
        let mut y = vec![0.0; x.len()];
        local_response_norm(norm, (&x, &dims), &mut y);
        assert_close(&y, &expected, 1e-6, dims);
    }
}
