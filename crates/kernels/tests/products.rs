//! Products, convolutions and pools against plain loops, over random shapes, strides, epilogues and levels.

mod naive;

use naive::{Random, close, outputs_of};
use plimsoll_kernels::conv::{
    self, Conv, Weights, conv_least, conv_scratch, made_least, made_scratch, pack_conv,
    packed_conv_len,
};
use plimsoll_kernels::conv_transpose::{self, ConvTranspose, conv_transpose_scratch};
use plimsoll_kernels::gemm::{
    Matrix, Operand, Product, Shape, gemm, gemm_least, gemm_scratch, pack_a, pack_b, packed_a_len,
    packed_b_len,
};
use plimsoll_kernels::matmul::{self, Stack, matmul_scratch};
use plimsoll_kernels::pool;
use plimsoll_kernels::{Bias, Epilogue, Level, Residual, Window};

/// A product with factors in any order, packed or not, and a random epilogue.
#[test]
fn products_are_those_of_plain_loops() {
    let mut random = Random(1);
    for round in 0..300 {
        let most = if round % 10 == 0 { 300 } else { 40 };
        let shape = Shape {
            m: random.upto(most),
            n: random.upto(most),
            k: random.below(if round % 7 == 0 { 600 } else { 50 }),
        };
        let Shape { m, n, k } = shape;
        let (a, b) = (random.floats(m * k), random.floats(k * n));
        let (bias, residual) = (random.floats(m.max(n)), random.floats(m * n));
        let epilogue = random.epilogue(&bias, &residual, n);
        let by_column = [random.flip(), random.flip()];
        let a = if by_column[0] { Matrix::columns(&a, m) } else { Matrix::rows(&a, k) };
        let b = if by_column[1] { Matrix::columns(&b, k) } else { Matrix::rows(&b, n) };
        let expected = naive::product(shape, a, b, &epilogue, &residual);
        for level in Level::available() {
            let mut packed_a = vec![f32::NAN; packed_a_len(level, m, k)];
            pack_a(level, m, k, a, &mut packed_a);
            let mut packed_b = vec![f32::NAN; packed_b_len(level, k, n)];
            pack_b(level, k, n, b, &mut packed_b);
            let mut first: Option<Vec<f32>> = None;
            for (packs_a, packs_b) in [(false, false), (true, false), (false, true), (true, true)] {
                let a = if packs_a { Operand::Packed(&packed_a) } else { Operand::Plain(a) };
                let b = if packs_b { Operand::Packed(&packed_b) } else { Operand::Plain(b) };
                let fast = gemm_scratch(level, shape, packs_a, packs_b);
                let in_place = epilogue.residual == Residual::InPlace;
                let least = gemm_least(level, shape, packs_a, packs_b, in_place);
                for len in [fast, least, least + random.below(fast.saturating_sub(least) + 1)] {
                    let mut scratch = vec![f32::NAN; len];
                    let mut c = residual.clone();
                    gemm(level, &Product { shape, a, b, epilogue }, &mut c, n, &mut scratch);
                    close(&c, &expected, k, &format!("{shape:?} {epilogue:?} {}", level.name()));
                    let first = first.get_or_insert_with(|| c.clone());
                    assert!(naive::same_bits(first, &c), "packing changes bits: {shape:?}, {len}");
                }
            }
        }
    }
}

/// Any rows of a product computed alone have the bits that they have in the whole.
#[test]
fn rows_alone_have_the_same_bits() {
    let mut random = Random(2);
    for _ in 0..60 {
        let shape = Shape { m: random.upto(60), n: random.upto(80), k: random.upto(700) };
        let Shape { m, n, k } = shape;
        let (a, b, bias) = (random.floats(m * k), random.floats(k * n), random.floats(n));
        let epilogue = Epilogue { bias: Bias::Column(&bias), ..Epilogue::NONE };
        for level in Level::available() {
            let run = |rows: core::ops::Range<usize>| {
                let shape = Shape { m: rows.len(), ..shape };
                let a = Operand::Plain(Matrix::rows(&a[rows.start * k..], k));
                let b = Operand::Plain(Matrix::rows(&b, n));
                let mut c = vec![f32::NAN; rows.len() * n];
                let mut scratch = vec![f32::NAN; gemm_scratch(level, shape, false, false)];
                gemm(level, &Product { shape, a, b, epilogue }, &mut c, n, &mut scratch);
                c
            };
            let at = random.below(m);
            let parts = [run(0..at), run(at..m)].concat();
            assert!(naive::same_bits(&run(0..m), &parts), "{shape:?} at {at} {}", level.name());
        }
    }
}

#[test]
fn stacks_broadcast_as_onnx_says() {
    let cases: [(&[usize], &[usize], &[usize]); 7] = [
        (&[2, 3, 4, 5], &[5, 6], &[2, 3, 4, 6]),
        (&[2, 1, 4, 5], &[3, 5, 6], &[2, 3, 4, 6]),
        (&[3, 4, 5], &[2, 1, 5, 6], &[2, 3, 4, 6]),
        (&[5], &[2, 5, 6], &[2, 6]),
        (&[2, 4, 5], &[5], &[2, 4]),
        (&[5], &[5], &[]),
        (&[0, 4, 5], &[5, 6], &[0, 4, 6]),
    ];
    let mut random = Random(3);
    for (a_dims, b_dims, y_dims) in cases {
        let stack = Stack::new(a_dims, b_dims).expect("dims that fit");
        let a = random.floats(a_dims.iter().product());
        let b = random.floats(b_dims.iter().product());
        let mut y = vec![f32::NAN; y_dims.iter().product()];
        let level = Level::detect();
        let mut scratch = vec![f32::NAN; matmul_scratch(level, &stack, false)];
        let factor = Operand::Plain(Matrix::rows(&b, stack.shape.n));
        let operands = matmul::Operands { a: &a, b: factor, epilogue: Epilogue::NONE };
        matmul::matmul(level, &stack, &operands, 0..stack.len(), &mut y, &mut scratch);
        close(&y, &naive::matmul(&a, a_dims, &b, b_dims), 5, &format!("{a_dims:?} {b_dims:?}"));
    }
    assert_eq!(Stack::new(&[2, 3], &[4, 5]), None);
    assert_eq!(Stack::new(&[2, 3, 4], &[3, 4, 5]), None);
    assert_eq!(Stack::new(&[], &[3]), None);
}

fn random_conv(random: &mut Random) -> Conv {
    let rank = random.upto(3);
    let most = if rank == 3 { 7 } else { 40 / rank };
    let dims = |random: &mut Random, most: usize| -> Vec<usize> {
        (0..rank).map(|_| random.upto(most)).collect()
    };
    let (input, kernel) = (dims(random, most), dims(random, 4));
    let zero = |dims: Vec<usize>| -> Vec<usize> { dims.iter().map(|dim| dim - 1).collect() };
    let window = Window::new(&input, &kernel)
        .strides(&dims(random, 3))
        .dilations(&dims(random, 2))
        .pads(&zero(dims(random, 3)), &zero(dims(random, 3)));
    let groups = random.upto(4);
    let per_group = if random.flip() { 1 } else { random.upto(20) };
    Conv {
        window,
        batch: random.upto(2),
        in_channels: groups * per_group,
        out_channels: groups * random.upto(30),
        groups,
    }
}

/// Planes of a tensor in memory.
struct Copied<'a> {
    x: &'a [f32],
    len: usize,
}

impl conv::Planes for Copied<'_> {
    fn make(&self, plane: usize, elements: core::ops::Range<usize>, out: &mut [f32]) {
        out.copy_from_slice(&self.x[plane * self.len..][..self.len][elements]);
    }
}

#[test]
fn convolutions_are_those_of_plain_loops() {
    let mut random = Random(4);
    for _ in 0..400 {
        let shape = random_conv(&mut random);
        let len = shape.window.output_len();
        let x = random.floats(shape.batch * shape.in_channels * shape.window.input_len());
        let weights = random.floats(shape.weights_len());
        let bias = random.floats(shape.out_channels);
        let residual = random.floats(shape.planes() * len);
        let mut epilogue = random.epilogue(&bias, &residual, len);
        if matches!(epilogue.bias, Bias::Column(_)) {
            epilogue.bias = Bias::Row(&bias);
        }
        let expected = naive::conv(&shape, &x, &weights, &epilogue, &residual);
        let depth = weights.len() / shape.out_channels;
        for level in Level::available() {
            let mut packed = vec![f32::NAN; packed_conv_len(level, &shape)];
            pack_conv(level, &shape, &weights, &mut packed);
            let cut = random.below(shape.planes() + 1);
            let share = random.below(5);
            let run = |weights, is_packed, cuts: &[usize]| {
                let operands = conv::Operands { x: conv::Input::Plain(&x), weights, epilogue };
                let mut y = residual.clone();
                let fast = conv_scratch(level, &shape, is_packed);
                let in_place = epilogue.residual == Residual::InPlace;
                let least = conv_least(level, &shape, is_packed, in_place);
                for (at, cut) in cuts.windows(2).enumerate() {
                    // The first part is as fast as can be, the second has less scratch.
                    let less = fast.saturating_sub(least) * share / 4;
                    let mut scratch = vec![f32::NAN; fast - if at == 0 { 0 } else { less }];
                    let part = &mut y[cut[0] * len..cut[1] * len];
                    conv::conv(level, &shape, &operands, cut[0]..cut[1], part, &mut scratch);
                }
                y
            };
            let whole = run(Weights::Plain(&weights), false, &[0, shape.planes()]);
            close(&whole, &expected, depth, &format!("{shape:?} {epilogue:?} {}", level.name()));
            let parts = run(Weights::Plain(&weights), false, &[0, cut, shape.planes()]);
            assert!(naive::same_bits(&whole, &parts), "cut at {cut}: {shape:?}");
            if !packed.is_empty() {
                let bits = run(Weights::Packed(&packed), true, &[0, cut, shape.planes()]);
                assert!(naive::same_bits(&whole, &bits), "packed: {shape:?}");
                // The same where the input is made strip by strip.
                let planes = Copied { x: &x, len: shape.window.input_len() };
                let (x, weights) = (conv::Input::Made(&planes), Weights::Packed(&packed));
                let in_place = epilogue.residual == Residual::InPlace;
                let (fast, least) =
                    (made_scratch(level, &shape), made_least(level, &shape, in_place));
                let less = fast.saturating_sub(least) * share / 4;
                let mut y = residual.clone();
                let operands = conv::Operands { x, weights, epilogue };
                let mut scratch = vec![f32::NAN; fast - less];
                conv::conv(level, &shape, &operands, 0..shape.planes(), &mut y, &mut scratch);
                assert!(naive::same_bits(&whole, &y), "made: {shape:?}");
            }
        }
    }
}

#[test]
fn transposed_convolutions_are_those_of_plain_loops() {
    let mut random = Random(5);
    for _ in 0..200 {
        let Conv { window, batch, in_channels, out_channels, groups } = random_conv(&mut random);
        if window.output_len() == 0 {
            continue;
        }
        let shape = ConvTranspose { window, batch, in_channels, out_channels, groups };
        let x = random.floats(batch * in_channels * window.output_len());
        let weights = random.floats(shape.weights_len());
        let bias = random.floats(out_channels);
        let residual = random.floats(shape.planes() * window.input_len());
        let epilogue =
            Epilogue { bias: Bias::Row(&bias), residual: Residual::InPlace, ..Epilogue::NONE };
        let expected = naive::conv_transpose(&shape, &x, &weights, &epilogue, &residual);
        for level in Level::available() {
            let operands = conv_transpose::Operands { x: &x, weights: &weights, epilogue };
            let len = window.input_len();
            let run = |cuts: &[usize]| {
                let mut y = residual.clone();
                for cut in cuts.windows(2) {
                    let mut scratch = vec![f32::NAN; conv_transpose_scratch(level, &shape)];
                    let part = &mut y[cut[0] * len..cut[1] * len];
                    conv_transpose::conv_transpose(
                        level,
                        &shape,
                        &operands,
                        cut[0]..cut[1],
                        part,
                        &mut scratch,
                    );
                }
                y
            };
            let whole = run(&[0, shape.planes()]);
            close(
                &whole,
                &expected,
                in_channels * window.kernel_len(),
                &format!("{shape:?} {}", level.name()),
            );
            let cut = random.below(shape.planes() + 1);
            assert!(
                naive::same_bits(&whole, &run(&[0, cut, shape.planes()])),
                "cut at {cut}: {shape:?}"
            );
        }
    }
}

#[test]
fn pools_are_those_of_plain_loops() {
    let mut random = Random(6);
    for _ in 0..300 {
        let window = random_conv(&mut random).window;
        // A window beyond the padding, as with `ceil_mode`.
        let window = if random.flip() { window.output(&outputs_of(&window)) } else { window };
        let planes = random.upto(3);
        let x = random.floats(planes * window.input_len());
        let mut scratch = vec![f32::NAN; pool::pool_scratch(&window)];
        for level in Level::available() {
            let mut y = vec![f32::NAN; planes * window.output_len()];
            pool::max_pool(level, &window, &x, &mut y, &mut scratch);
            close(&y, &naive::max_pool(&window, &x), 1, &format!("max {window:?}"));
            for counts_pad in [false, true] {
                pool::average_pool(level, &window, counts_pad, &x, &mut y, &mut scratch);
                let expected = naive::average_pool(&window, counts_pad, &x);
                close(
                    &y,
                    &expected,
                    window.kernel_len(),
                    &format!("average {counts_pad} {window:?}"),
                );
            }
        }
        let mut y = vec![f32::NAN; planes * window.output_len()];
        let mut indices = vec![-1; y.len()];
        for p in 1..4 {
            pool::lp_pool(&window, p, &x, &mut y);
            close(
                &y,
                &naive::lp_pool(&window, p, &x),
                window.kernel_len(),
                &format!("{p}-norm {window:?}"),
            );
        }
        pool::max_pool_with_indices(&window, &x, &mut y, &mut indices, false, 0);
        for (y, index) in y.iter().zip(&indices) {
            let seen = x[usize::try_from(*index).expect("an index")];
            assert!(y.to_bits() == f32::MIN.to_bits() || seen.to_bits() == y.to_bits());
        }
    }
}
