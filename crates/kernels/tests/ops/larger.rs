//! Attention, sums of labelled products, convolutions of integers and sampled images, against plain loops.

use plimsoll_kernels::attention::{Attention, Heads, Mask, Operands, Rotary, Stage, rotate};
use plimsoll_kernels::conv::Conv;
use plimsoll_kernels::einsum::einsum;
use plimsoll_kernels::integer::{conv_integer, conv_integer_scratch};
use plimsoll_kernels::sample::{Beyond, GridSample, Sampling};
use plimsoll_kernels::{Level, Window};

use crate::world::Random;

fn near(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*found) - expected).abs() < 1e-5, "{what} at {at}: {found}, {expected}");
    }
}

/// Attention in double precision, every head apart and nothing past: the average of values by the exponentials of scores.
fn plain_attention(shape: &Attention, q: &[f32], k: &[f32], v: &[f32], mask: &[f32]) -> Vec<f64> {
    let total = shape.past + shape.keys;
    let group = shape.query_heads / shape.key_heads;
    let mut y = Vec::new();
    for at in 0..shape.batch * shape.query_heads * shape.queries {
        let (bh, i) = (at / shape.queries, at % shape.queries);
        let (b, h) = (bh / shape.query_heads, bh % shape.query_heads);
        let row = |j: usize| (b * shape.key_heads + h / group) * total + j;
        let score = |j: usize| {
            let products = (0..shape.size)
                .map(|d| f64::from(q[at * shape.size + d]) * f64::from(k[row(j) * shape.size + d]));
            let mut score = products.sum::<f64>() * f64::from(shape.scale);
            if shape.softcap != 0.0 {
                score = f64::from(shape.softcap) * (score / f64::from(shape.softcap)).tanh();
            }
            let hidden = shape.is_causal && j > shape.past + i;
            score + f64::from(mask[i * total + j]) + if hidden { f64::NEG_INFINITY } else { 0.0 }
        };
        let weights: Vec<f64> = (0..total).map(|j| score(j).exp()).collect();
        let all: f64 = weights.iter().sum();
        for d in 0..shape.value_size {
            let sum: f64 =
                (0..total).map(|j| weights[j] * f64::from(v[row(j) * shape.value_size + d])).sum();
            y.push(if all == 0.0 { 0.0 } else { sum / all });
        }
    }
    y
}

#[test]
fn attention_is_the_average_of_values_by_their_scores() {
    let mut random = Random::new(11);
    for case in 0..60 {
        let key_heads = 1 + random.below(2);
        let shape = Attention {
            batch: 1 + random.below(2),
            query_heads: key_heads * (1 + random.below(3)),
            key_heads,
            queries: 1 + random.below(5),
            past: random.below(4),
            keys: 1 + random.below(5),
            size: 1 + random.below(19),
            value_size: 1 + random.below(9),
            heads: Heads::Apart,
            scale: 0.5,
            softcap: if random.coin() { 0.0 } else { 0.7 },
            is_causal: random.coin(),
        };
        let total = shape.past + shape.keys;
        let rows = shape.batch * shape.query_heads * shape.queries;
        let keys = shape.batch * shape.key_heads;
        let small = |mut floats: Vec<f32>| {
            floats.iter_mut().for_each(|x| *x /= 4.0);
            floats
        };
        let q = small(random.floats(rows * shape.size));
        let k = small(random.floats(keys * total * shape.size));
        let v = small(random.floats(keys * total * shape.value_size));
        let mask = random.floats(shape.queries * total);
        // What is past is the first rows of each head.
        let cut = |all: &[f32], size: usize, past: bool| -> Vec<f32> {
            let heads = all.chunks_exact(total * size);
            heads
                .flat_map(|head| {
                    if past { &head[..shape.past * size] } else { &head[shape.past * size..] }
                })
                .copied()
                .collect()
        };
        let (past_k, new_k) = (cut(&k, shape.size, true), cut(&k, shape.size, false));
        let (past_v, new_v) = (cut(&v, shape.value_size, true), cut(&v, shape.value_size, false));
        let operands = Operands {
            q: &q,
            k: &new_k,
            v: &new_v,
            past: Some((&past_k, &past_v)),
            mask: Mask::Numbers(&mask, [1, 1, shape.queries, total]),
            lengths: None,
        };
        let expected = plain_attention(&shape, &q, &k, &v, &mask);
        for level in Level::available() {
            let mut y = vec![f32::NAN; rows * shape.value_size];
            let (mut weights, mut row) =
                (vec![f32::NAN; rows * total], vec![f32::NAN; shape.scratch()]);
            shape.run(level, &operands, &mut y, Some((Stage::Weights, &mut weights)), &mut row);
            near(&y, &expected, &format!("case {case}"));
            for weights in weights.chunks_exact(total) {
                let sum: f32 = weights.iter().sum();
                assert!((sum - 1.0).abs() < 1e-5 || sum == 0.0, "case {case}: {sum}");
            }
        }
        let mut present = vec![f32::NAN; k.len()];
        shape.present(Some(&past_k), &new_k, shape.size, &mut present);
        assert_eq!(present, k, "case {case}");
    }
}

#[test]
fn heads_that_are_flat_are_the_same_rows_elsewhere() {
    let mut random = Random::new(5);
    let (batch, heads, rows, size) = (2, 3, 4, 6);
    let apart = random.floats(batch * heads * rows * size);
    let flat = |apart: &[f32]| -> Vec<f32> {
        let mut flat = vec![0.0; apart.len()];
        for (at, element) in apart.iter().enumerate() {
            let (b, h, row, d) =
                (at / size / rows / heads, at / size / rows % heads, at / size % rows, at % size);
            flat[((b * rows + row) * heads + h) * size + d] = *element;
        }
        flat
    };
    let shape = Attention {
        batch,
        query_heads: heads,
        key_heads: heads,
        queries: rows,
        past: 0,
        keys: rows,
        size,
        value_size: size,
        heads: Heads::Apart,
        scale: 1.0,
        softcap: 0.0,
        is_causal: false,
    };
    let run = |shape: &Attention, x: &[f32]| {
        let operands =
            Operands { q: x, k: x, v: x, past: None, mask: Mask::None, lengths: Some(&[4, 2]) };
        let (mut y, mut row) = (vec![0.0; x.len()], vec![0.0; shape.scratch()]);
        shape.run(Level::portable(), &operands, &mut y, None, &mut row);
        y
    };
    let expected = flat(&run(&shape, &apart));
    assert_eq!(run(&Attention { heads: Heads::Flat, ..shape }, &flat(&apart)), expected);

    let rotary =
        |layout, interleaved| Rotary { batch, heads, rows, size, turned: 4, layout, interleaved };
    let (angles, positions) = (random.floats(2 * 5), [0i64, 4, 1, 1, 2, 3, 0, 0]);
    let turn = |shape: &Rotary, x: &[f32]| {
        let mut y = vec![0.0; x.len()];
        rotate(shape, x, (&angles, &angles), Some(&positions), &mut y).unwrap();
        y
    };
    for interleaved in [false, true] {
        let turned = turn(&rotary(Heads::Apart, interleaved), &apart);
        assert_eq!(turn(&rotary(Heads::Flat, interleaved), &flat(&apart)), flat(&turned));
        // The second row is at position 4, and its first pair turned by its first angle.
        let (x, y, a) = (&apart[size..2 * size], &turned[size..2 * size], angles[8]);
        let other = if interleaved { 1 } else { 2 };
        assert!((y[0] - (a * x[0] - a * x[other])).abs() < 1e-6);
        assert_eq!(y[4..], x[4..]);
    }
    let beyond = [0i64, 5, 0, 0, 0, 0, 0, 0];
    let found = rotate(
        &rotary(Heads::Apart, false),
        &apart,
        (&angles, &angles),
        Some(&beyond),
        &mut vec![0.0; apart.len()],
    );
    assert_eq!(found.unwrap_err().index, 5);
}

#[test]
fn sums_of_labelled_products() {
    let mut random = Random::new(3);
    for _ in 0..40 {
        let (i, j, k) = (1 + random.below(4), 1 + random.below(4), 1 + random.below(4));
        let (a, b) = (random.floats(i * j), random.floats(k * j));
        // ij,kj->ki.
        let mut y = vec![0.0; k * i];
        let operands = [(&a[..], &[0, j, 1][..]), (&b[..], &[j, 0, 1][..])];
        einsum(&[k, i, j], 2, operands.iter().copied(), &mut y);
        let expected: Vec<f64> = (0..k * i)
            .map(|at| {
                let product =
                    |s: usize| f64::from(a[at % i * j + s]) * f64::from(b[at / i * j + s]);
                (0..j).map(product).sum()
            })
            .collect();
        near(&y, &expected, "ij,kj->ki");
    }
}

#[test]
fn convolutions_of_integers() {
    let mut random = Random::new(8);
    for case in 0..60 {
        let groups = 1 + random.below(2);
        let kernel = [1 + random.below(3), 1 + random.below(3)];
        let input = [kernel[0] + random.below(5), kernel[1] + random.below(9)];
        let pads = [random.below(3), random.below(3)];
        let window = Window::new(&input, &kernel)
            .strides(&[1 + random.below(2), 1 + random.below(3)])
            .dilations(&[1, 1])
            .pads(&pads, &pads);
        let shape = Conv {
            window,
            batch: 1 + random.below(2),
            in_channels: groups * (1 + random.below(3)),
            out_channels: groups * (1 + random.below(3)),
            groups,
        };
        let inputs = shape.in_channels / groups;
        let bytes = |random: &mut Random, len: usize| {
            (0..len).map(|_| random.below(256) as u8).collect::<Vec<u8>>()
        };
        let x = bytes(&mut random, shape.batch * shape.in_channels * window.input_len());
        let w: Vec<i8> = bytes(&mut random, shape.out_channels * inputs * window.kernel_len())
            .iter()
            .map(|b| *b as i8)
            .collect();
        let zeros: Vec<i32> = (0..shape.out_channels).map(|_| random.below(9) as i32 - 4).collect();
        let mut y = vec![0; shape.batch * shape.out_channels * window.output_len()];
        let mut sums = vec![0; conv_integer_scratch(&shape)];
        let level = Level::detect();
        conv_integer(
            level,
            &shape,
            (&x, 7),
            (&w, |channel| zeros[channel]),
            &mut sums,
            |first, _, row| {
                y[first..first + row.len()].copy_from_slice(row);
            },
        );
        let [_, height, width] = window.output;
        for (at, found) in y.iter().enumerate() {
            let (plane, r, c) = (at / (height * width), at / width % height, at % width);
            let (b, channel) = (plane / shape.out_channels, plane % shape.out_channels);
            let mut sum = 0;
            for i in 0..inputs {
                for tap in 0..window.kernel_len() {
                    let from = (
                        window.source(1, r, tap / kernel[1]),
                        window.source(2, c, tap % kernel[1]),
                    );
                    let (Some(row), Some(column)) = from else { continue };
                    let of = b * shape.in_channels
                        + channel / (shape.out_channels / groups) * inputs
                        + i;
                    let x = i32::from(x[(of * input[0] + row) * input[1] + column]) - 7;
                    sum += x
                        * (i32::from(w[(channel * inputs + i) * window.kernel_len() + tap])
                            - zeros[channel]);
                }
            }
            assert_eq!(*found, sum, "case {case} at {at}");
        }
    }
}

#[test]
fn grids_that_are_the_image_itself_change_nothing() {
    let x: Vec<f32> = (0..12).map(|i| i as f32).collect();
    for sampling in [Sampling::Linear, Sampling::Nearest, Sampling::Cubic] {
        for beyond in [Beyond::Zeros, Beyond::Border, Beyond::Reflection] {
            let shape = GridSample {
                batch: 1,
                channels: 1,
                input: [1, 3, 4],
                is_deep: false,
                places: 12,
                sampling,
                beyond,
                align_corners: true,
            };
            let grid: Vec<f32> = (0..12)
                .flat_map(|at| [(at % 4) as f32 * 2.0 / 3.0 - 1.0, (at / 4) as f32 - 1.0])
                .collect();
            let mut y = vec![f32::NAN; 12];
            shape.run(&x, &grid, &mut y);
            let expected: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            near(&y, &expected, &format!("{sampling:?} {beyond:?}"));
            // Between two, and beyond the edge: the left half of a step, and one step to the left.
            let mut y = [f32::NAN; 2];
            let shape = GridSample { places: 2, ..shape };
            shape.run(&x, &[-2.0 / 3.0, -1.0, -1.0 - 2.0 / 3.0, -1.0], &mut y);
            match (sampling, beyond) {
                (Sampling::Linear, _) => assert!((y[0] - 0.5).abs() < 1e-5, "{y:?}"),
                _ => {}
            }
            let outside = match beyond {
                Beyond::Zeros | Beyond::Border => 0.0,
                Beyond::Reflection => 1.0,
            };
            assert!((y[1] - outside).abs() < 1e-5, "{sampling:?} {beyond:?}: {y:?}");
        }
    }
}
