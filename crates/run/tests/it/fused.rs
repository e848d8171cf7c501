//! Fused steps: each computes what its nodes compute one by one, and the same bits wherever its operands lie.

use std::collections::BTreeMap;

use plimsoll_model::testing::ModelBuilder;
use plimsoll_model::{
    BatchNorm, Binary, Convolution, FusedStep, Gemm, Model, Operator, Padding, Reduce, Reduction,
    Softmax, TensorId, Unary, Variadic,
};
use plimsoll_pack::testing::Rng;
use plimsoll_run::{
    Array, Fuse, Options, SeededWeights, Session, SessionError, check, compare, outputs,
    random_inputs,
};

pub(crate) fn unary(function: Unary) -> Operator {
    Operator::Unary(function)
}

fn binary(function: Binary) -> Operator {
    Operator::Binary(function)
}

pub(crate) const ADD: Operator = Operator::Binary(Binary::Add);
pub(crate) const MUL: Operator = Operator::Binary(Binary::Mul);
const DIV: Operator = Operator::Binary(Binary::Div);

/// How far outputs are from others, as a part of the largest.
fn distance(found: &BTreeMap<String, Array>, expected: &BTreeMap<String, Array>) -> f32 {
    let mut worst = 0f32;
    for (name, expected) in expected {
        let (found, expected) = (found[name].to_f32().unwrap(), expected.to_f32().unwrap());
        let scale = expected.iter().fold(1e-20f32, |most, x| most.max(x.abs()));
        for (a, b) in found.iter().zip(&expected) {
            assert!(a.is_finite() && b.is_finite(), "{a} and {b}");
            worst = worst.max((a - b).abs() / scale);
        }
    }
    worst
}

/// Runs a model with fused steps and without: the distance of outputs, and the arenas.
fn both(model: &Model, fuse: Fuse, seed: u64) -> (f32, u64, u64, usize) {
    let weights = SeededWeights::new(model, &(), seed);
    let with = |fuse: Fuse| {
        let mut options = Options::default();
        options.fuse = fuse;
        options
    };
    let (fused, alone) = (with(fuse), with(Fuse::Nothing));
    let session = Session::new(model, &weights, &fused).unwrap();
    let unfused = Session::new(model, &weights, &alone).unwrap();
    let inputs = random_inputs(seed, session.inputs());
    let (found, difference) = compare(model, &weights, &inputs, &fused).unwrap();
    assert_eq!(difference, None, "the same bits wherever operands lie");
    let checked = check(model, &weights, &inputs, &fused).unwrap();
    let checked = checked.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(checked.outputs, found);
    let expected = outputs(model, &weights, &inputs, &alone).unwrap();
    let bytes = (session.arena_bytes(), unfused.arena_bytes());
    (distance(&found, &expected), bytes.0, bytes.1, session.fused().len())
}

/// All nodes of a model as one step, or these.
pub(crate) fn as_one(model: &Model, nodes: &[usize]) -> (u64, u64) {
    let steps = Fuse::Steps(vec![FusedStep { nodes: nodes.to_vec() }]);
    let (distance, fused, alone, _) = both(model, steps, 1);
    assert!(distance <= 1e-5, "{distance}");
    (fused, alone)
}

pub(crate) fn all(model: &Model) -> (u64, u64) {
    as_one(model, &(0..model.body.nodes.len()).collect::<Vec<_>>())
}

const IMAGE: [u64; 4] = [2, 6, 9, 11];
const IMAGE_BYTES: u64 = 2 * 6 * 9 * 11 * 4;
/// The bytes of two, of which each begins at a line of the cache.
const TWO_IMAGES: u64 = IMAGE_BYTES.next_multiple_of(64) + IMAGE_BYTES;

/// Adds the nodes of an activation that is spelled out.
fn activation(build: &mut ModelBuilder, which: usize, x: TensorId) -> TensorId {
    let number = |build: &mut ModelBuilder, x: f64| build.float(x);
    match which {
        0 => {
            let s = build.node(unary(Unary::Sigmoid), &[x]);
            build.node(MUL, &[x, s])
        }
        1 => {
            let (three, zero, six) = (number(build, 3.0), number(build, 0.0), number(build, 6.0));
            let a = build.node(ADD, &[x, three]);
            let b = build.node(Operator::Clip, &[a, zero, six]);
            let c = build.node(MUL, &[x, b]);
            build.node(DIV, &[c, six])
        }
        2 => {
            let (root, one, half) =
                (number(build, 2f64.sqrt()), number(build, 1.0), number(build, 0.5));
            let a = build.node(DIV, &[x, root]);
            let b = build.node(unary(Unary::Erf), &[a]);
            let c = build.node(ADD, &[b, one]);
            let d = build.node(MUL, &[x, c]);
            build.node(MUL, &[d, half])
        }
        3 => {
            let [three, small, factor, one, half] =
                [3.0, 0.044_715, 0.797_884_56, 1.0, 0.5].map(|x| number(build, x));
            let a = build.node(binary(Binary::Pow), &[x, three]);
            let b = build.node(MUL, &[a, small]);
            let c = build.node(ADD, &[x, b]);
            let d = build.node(MUL, &[c, factor]);
            let e = build.node(unary(Unary::Tanh), &[d]);
            let f = build.node(ADD, &[e, one]);
            let g = build.node(MUL, &[x, f]);
            build.node(MUL, &[g, half])
        }
        4 => {
            let factor = number(build, 1.702);
            let a = build.node(MUL, &[x, factor]);
            let b = build.node(unary(Unary::Sigmoid), &[a]);
            build.node(MUL, &[x, b])
        }
        5 => {
            let a = build.node(unary(Unary::Softplus), &[x]);
            let b = build.node(unary(Unary::Tanh), &[a]);
            build.node(MUL, &[x, b])
        }
        6 => build.node(unary(Unary::Relu), &[x]),
        7 => {
            let (least, most) = (number(build, -0.5), number(build, 0.75));
            build.node(Operator::Clip, &[x, least, most])
        }
        _ => build.node(unary(Unary::LeakyRelu { alpha: 0.1 }), &[x]),
    }
}

const ACTIVATIONS: usize = 9;

#[test]
fn activations_that_are_spelled_out_are_one_step_in_place() {
    for which in 0..6 {
        let mut build = ModelBuilder::default();
        let x = build.input(&IMAGE);
        let a = build.node(unary(Unary::Abs), &[x]);
        let y = activation(&mut build, which, a);
        let model = build.finish(&[y]);
        let nodes: Vec<usize> = (1..model.body.nodes.len()).collect();
        let (fused, alone) = as_one(&model, &nodes);
        assert_eq!((fused, alone), (IMAGE_BYTES, TWO_IMAGES), "activation {which}");
    }
}

#[test]
fn chains_read_operands_that_are_broadcast_in_any_way() {
    for dims in [&[6, 1, 1][..], &[11], &[2, 1, 9, 1], &[1, 6, 1, 11], &[], &[2, 6, 9, 11]] {
        let mut build = ModelBuilder::default();
        let (x, other) = (build.input(&IMAGE), build.input(dims));
        let a = build.node(unary(Unary::Tanh), &[x]);
        let b = build.node(binary(Binary::Sub), &[other, a]);
        let c = build.node(Operator::Variadic(Variadic::Max), &[b, a, other]);
        let y = build.node(MUL, &[c, other]);
        all(&build.finish(&[y]));
    }
}

#[test]
fn either_operand_of_a_chain_may_be_overwritten() {
    for reads_left in [false, true] {
        let mut build = ModelBuilder::default();
        let x = build.input(&IMAGE);
        let a = build.node(unary(Unary::Tanh), &[x]);
        let b = build.node(unary(Unary::Exp), &[x]);
        let s = build.node(unary(Unary::Sigmoid), &[a]);
        let y = build.node(binary(Binary::Sub), &[b, s]);
        let kept = build.node(unary(Unary::Neg), &[if reads_left { a } else { b }]);
        let model = build.finish(&[y, kept]);
        let (fused, _) = as_one(&model, &[2, 3]);
        assert_eq!(fused, TWO_IMAGES, "one is overwritten, the other is read again");
    }
}

#[test]
fn a_chain_may_change_its_shape() {
    let mut build = ModelBuilder::default();
    let (x, row) = (build.input(&[2, 3, 4]), build.input(&[8]));
    let shape = build.ints(&[3, 8]);
    let a = build.node(unary(Unary::Tanh), &[x]);
    let b = build.node(Operator::Reshape { allow_zero: false }, &[a, shape]);
    let c = build.node(ADD, &[b, row]);
    let y = build.node(MUL, &[c, b]);
    all(&build.finish(&[y]));
}

/// A convolution of so many channels, in groups.
pub(crate) fn conv(
    build: &mut ModelBuilder,
    x: TensorId,
    [from, to, group, size]: [u64; 4],
) -> TensorId {
    let (w, bias) = (build.weight(&[to, from / group, size, size]), build.weight(&[to]));
    let mut conv = Convolution { group, ..Convolution::default() };
    conv.windows.padding = Padding::SameUpper;
    build.node(Operator::Conv(conv), &[x, w, bias])
}

pub(crate) fn batch_norm(build: &mut ModelBuilder, x: TensorId, channels: u64) -> TensorId {
    let [scale, bias, mean, variance] = [(); 4].map(|()| build.weight(&[channels]));
    build.node(Operator::BatchNorm(BatchNorm::default()), &[x, scale, bias, mean, variance])
}

#[test]
fn convolutions_end_with_norms_residuals_and_activations() {
    for [group, size] in [[1, 1], [1, 3], [2, 3], [6, 3]] {
        for which in 0..ACTIVATIONS {
            let mut build = ModelBuilder::default();
            let x = build.input(&IMAGE);
            let r = build.node(unary(Unary::Tanh), &[x]);
            let a = conv(&mut build, x, [6, 6, group, size]);
            let b = batch_norm(&mut build, a, 6);
            let c = build.node(ADD, &[b, r]);
            let y = activation(&mut build, which, c);
            let model = build.finish(&[y]);
            let nodes: Vec<usize> = (1..model.body.nodes.len()).collect();
            as_one(&model, &nodes);
        }
    }
}

#[test]
fn what_is_computed_of_another_operand_is_not_taken_for_what_follows() {
    let kinds = [Operator::BatchNorm(BatchNorm::default()), unary(Unary::Relu), Operator::Clip];
    for (kind, of_product) in
        kinds.into_iter().flat_map(|kind| [(kind.clone(), false), (kind, true)])
    {
        let mut build = ModelBuilder::default();
        let x = build.input(&IMAGE);
        let r = build.node(unary(Unary::Tanh), &[x]);
        let a = conv(&mut build, x, [6, 6, 1, 1]);
        let of = if of_product { a } else { r };
        let b = match &kind {
            Operator::BatchNorm(_) => batch_norm(&mut build, of, 6),
            Operator::Clip => {
                let (least, most) = (build.float(-0.5), build.float(0.1));
                build.node(Operator::Clip, &[of, least, most])
            }
            kind => build.node(kind.clone(), &[of]),
        };
        let y = build.node(ADD, &[b, if of_product { r } else { a }]);
        as_one(&build.finish(&[y]), &[1, 2, 3]);
    }
}

#[test]
fn the_output_takes_over_the_residual() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 16, 32, 32]);
    let r = build.node(unary(Unary::Tanh), &[x]);
    // All have the same scratch.
    let a = conv(&mut build, r, [16, 16, 1, 1]);
    let b = conv(&mut build, a, [16, 16, 1, 1]);
    let c = build.node(ADD, &[r, b]);
    let y = build.node(unary(Unary::Relu), &[c]);
    let model = build.finish(&[y]);
    let image = 16 * 32 * 32 * 4;
    let (fused, alone) = as_one(&model, &[2, 3, 4]);
    assert_eq!(alone - fused, image, "a tensor less");
}

#[test]
fn what_multiplies_channels_is_folded_or_applied() {
    for is_static in [false, true] {
        let mut build = ModelBuilder::default();
        let x = build.input(&IMAGE);
        let gate = if is_static { build.weight(&[6, 1, 1]) } else { build.input(&[2, 6, 1, 1]) };
        let a = conv(&mut build, x, [6, 6, 1, 3]);
        let b = build.node(MUL, &[gate, a]);
        let half = build.float(0.5);
        let c = build.node(binary(Binary::Sub), &[b, half]);
        let y = activation(&mut build, 0, c);
        all(&build.finish(&[y]));
    }
}

#[test]
fn products_end_with_biases_residuals_and_activations() {
    for rows in [1, 7, 40] {
        for which in 0..ACTIVATIONS {
            let mut build = ModelBuilder::default();
            let x = build.input(&[2, rows, 33]);
            let (w, bias, r) =
                (build.weight(&[33, 50]), build.weight(&[50]), build.input(&[2, rows, 50]));
            let a = build.node(Operator::MatMul, &[x, w]);
            let b = build.node(ADD, &[bias, a]);
            let c = build.node(ADD, &[b, r]);
            let y = activation(&mut build, which, c);
            all(&build.finish(&[y]));
        }
    }
}

#[test]
fn stacks_of_products_end_with_what_is_broadcast_over_them() {
    let mut build = ModelBuilder::default();
    let (a, b, mask) =
        (build.input(&[2, 3, 9, 8]), build.input(&[2, 3, 8, 70]), build.input(&[2, 1, 1, 70]));
    let y = build.node(Operator::MatMul, &[a, b]);
    let eighth = build.float(0.125);
    let y = build.node(MUL, &[y, eighth]);
    let y = build.node(ADD, &[y, mask]);
    all(&build.finish(&[y]));
}

#[test]
fn gemm_ends_with_a_residual_and_an_activation() {
    for has_bias in [false, true] {
        let mut build = ModelBuilder::default();
        let (x, w, bias, r) = (
            build.input(&[20, 12]),
            build.weight(&[9, 12]),
            build.weight(&[9]),
            build.input(&[20, 9]),
        );
        let gemm = Gemm { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 };
        let inputs = if has_bias { &[x, w, bias][..] } else { &[x, w] };
        let a = build.node(Operator::Gemm(gemm), inputs);
        let b = build.node(ADD, &[a, r]);
        let y = activation(&mut build, 2, b);
        all(&build.finish(&[y]));
    }
}

/// What attention is made of.
#[derive(Clone, Copy, Debug)]
struct Attended {
    /// Tokens of queries, tokens of keys.
    tokens: [u64; 2],
    /// Heads of queries, and of keys and values.
    heads: [u64; 2],
    depth: u64,
    mask: bool,
    stored: bool,
}

fn transpose(build: &mut ModelBuilder, x: TensorId, permutation: [usize; 4]) -> TensorId {
    build.node(Operator::Transpose(Some(permutation.to_vec())), &[x])
}

/// Every head of keys for several of queries.
fn repeated(build: &mut ModelBuilder, x: TensorId, of: Attended) -> TensorId {
    let (Attended { tokens, heads: [all, few], depth, .. }, batch) = (of, 2);
    if all == few {
        return x;
    }
    let axis = build.ints(&[2]);
    let dims = |dims: &[u64]| dims.iter().map(|dim| *dim as i64).collect::<Vec<_>>();
    let wide = build.ints(&dims(&[batch, few, all / few, tokens[1], depth]));
    let shape = build.ints(&dims(&[batch, all, tokens[1], depth]));
    let a = build.node(Operator::Unsqueeze, &[x, axis]);
    let b = build.node(Operator::Expand, &[a, wide]);
    build.node(Operator::Reshape { allow_zero: false }, &[b, shape])
}

fn attention(of: Attended) -> Model {
    let Attended { tokens: [rows, keys], heads: [all, few], depth, mask, stored } = of;
    let mut build = ModelBuilder::default();
    let q = build.input(&[2, rows, all, depth]);
    let [k, v] = [(); 2].map(|()| build.input(&[2, keys, few, depth]));
    let q = transpose(&mut build, q, [0, 2, 1, 3]);
    let k = transpose(&mut build, k, [0, 2, 1, 3]);
    let k = repeated(&mut build, k, of);
    let k = transpose(&mut build, k, [0, 1, 3, 2]);
    let v = transpose(&mut build, v, [0, 2, 1, 3]);
    let v = repeated(&mut build, v, of);
    let third = build.float(0.3);
    let q = build.node(MUL, &[q, third]);
    let mut scores = build.node(Operator::MatMul, &[q, k]);
    if mask {
        let mask = build.input(&[2, 1, rows, keys]);
        let two = build.float(2.0);
        scores = build.node(DIV, &[scores, two]);
        scores = build.node(ADD, &[scores, mask]);
    }
    let weights = build.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
    let mut y = build.node(Operator::MatMul, &[weights, v]);
    if stored {
        y = transpose(&mut build, y, [0, 2, 1, 3]);
    }
    build.finish(&[y])
}

#[test]
fn attention_is_one_step_with_its_layouts() {
    let plain = Attended { tokens: [40, 40], heads: [4, 4], depth: 16, mask: true, stored: true };
    let cases = [
        plain,
        Attended { mask: false, ..plain },
        Attended { stored: false, ..plain },
        Attended { tokens: [25, 33], ..plain },
        Attended { tokens: [1, 50], ..plain },
        Attended { tokens: [5, 50], stored: false, ..plain },
        Attended { heads: [4, 2], ..plain },
        Attended { heads: [6, 1], tokens: [9, 9], ..plain },
    ];
    for case in cases {
        all(&attention(case));
    }
}

#[test]
fn scores_are_scratch_of_some_rows() {
    let case = Attended { tokens: [256, 256], heads: [4, 4], depth: 16, mask: false, stored: true };
    let model = attention(case);
    let (distance, fused, alone, steps) = both(&model, Fuse::Best, 3);
    assert!(distance <= 1e-5, "{distance}");
    assert_eq!(steps, 1);
    let scores = 2 * 4 * 256 * 256 * 4;
    assert!(fused < scores / 4 && alone > scores, "{fused} and {alone}");
}

#[test]
fn queries_keys_and_values_are_parts_of_one_tensor() {
    let mut build = ModelBuilder::default();
    let qkv = build.input(&[2, 30, 3 * 32]);
    let shape = build.ints(&[2, 30, 3, 4, 8]);
    let five = build.node(Operator::Reshape { allow_zero: false }, &[qkv, shape]);
    let turned = build.node(Operator::Transpose(Some(vec![2, 0, 3, 1, 4])), &[five]);
    let [zero, one, two] = [0, 1, 2].map(|index| build.ints(&[index]));
    let axis = build.ints(&[0]);
    let part = |build: &mut ModelBuilder, index: TensorId| {
        let part = build.node(Operator::Gather { axis: 0 }, &[turned, index]);
        build.node(Operator::Squeeze, &[part, axis])
    };
    let (q, k, v) = (part(&mut build, zero), part(&mut build, one), part(&mut build, two));
    let k = transpose(&mut build, k, [0, 1, 3, 2]);
    let scores = build.node(Operator::MatMul, &[q, k]);
    let weights = build.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
    let sums = build.node(Operator::MatMul, &[weights, v]);
    let y = transpose(&mut build, sums, [0, 2, 1, 3]);
    all(&build.finish(&[y]));
}

#[test]
fn steps_without_a_kernel_are_refused() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[4, 4]);
    let a = build.node(unary(Unary::Relu), &[x]);
    let y = build.node(Operator::Softmax(Softmax::along(-1)), &[a]);
    let model = build.finish(&[y]);
    let mut options = Options::default();
    options.fuse = Fuse::Steps(vec![FusedStep { nodes: vec![0, 1] }]);
    let error = Session::new(&model, &(), &options).err().unwrap();
    assert!(matches!(error, SessionError::Fused(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "a step cannot be fused: node `t2` cannot be fused with those before it"
    );
}

/// A normalisation or a softmax that is spelled out.
fn spelled_norm(build: &mut ModelBuilder, which: usize, x: TensorId, len: u64) -> TensorId {
    let reduce = |build: &mut ModelBuilder, function: Reduction, x: TensorId| {
        let axes = build.ints(&[-1]);
        let reduce = Reduce { function, keep_dims: true, none_if_empty: false };
        build.node(Operator::Reduce(reduce), &[x, axes])
    };
    let [one, two, small] = [1.0, 2.0, 1e-5].map(|x| build.float(x));
    let (scale, bias) = (build.weight(&[len]), build.weight(&[len]));
    match which {
        // Layer normalisation.
        0 => {
            let mean = reduce(build, Reduction::Mean, x);
            let centred = build.node(binary(Binary::Sub), &[x, mean]);
            let squares = build.node(binary(Binary::Pow), &[centred, two]);
            let variance = reduce(build, Reduction::Mean, squares);
            let above = build.node(ADD, &[variance, small]);
            let root = build.node(unary(Unary::Sqrt), &[above]);
            let normal = build.node(DIV, &[centred, root]);
            let scaled = build.node(MUL, &[normal, scale]);
            build.node(ADD, &[scaled, bias])
        }
        // By the root of the mean square.
        1 => {
            let squares = build.node(MUL, &[x, x]);
            let mean = reduce(build, Reduction::Mean, squares);
            let above = build.node(ADD, &[mean, small]);
            let root = build.node(unary(Unary::Sqrt), &[above]);
            let inverse = build.node(DIV, &[one, root]);
            let normal = build.node(MUL, &[x, inverse]);
            build.node(MUL, &[scale, normal])
        }
        // Softmax, below the greatest.
        2 => {
            let most = reduce(build, Reduction::Max, x);
            let below = build.node(binary(Binary::Sub), &[x, most]);
            let powers = build.node(unary(Unary::Exp), &[below]);
            let sum = reduce(build, Reduction::Sum, powers);
            build.node(DIV, &[powers, sum])
        }
        _ => {
            let powers = build.node(unary(Unary::Exp), &[x]);
            let sum = reduce(build, Reduction::Sum, powers);
            build.node(DIV, &[powers, sum])
        }
    }
}

#[test]
fn norms_and_softmax_that_are_spelled_out_are_one_step_in_place() {
    for which in 0..4 {
        for len in [5, 700] {
            let mut build = ModelBuilder::default();
            let x = build.input(&[3, 4, len]);
            let a = build.node(unary(Unary::Tanh), &[x]);
            let y = spelled_norm(&mut build, which, a, len);
            let model = build.finish(&[y]);
            let nodes: Vec<usize> = (1..model.body.nodes.len()).collect();
            as_one(&model, &nodes);
            let (distance, fused, alone, steps) = both(&model, Fuse::Best, 2);
            assert!(distance <= 1e-5 && fused <= alone, "{distance}, {fused}, {alone}");
            // A softmax works in place already: whether a few rows of scratch fit depends on the others.
            if which < 2 {
                assert_eq!(steps, 1, "norm {which}");
            }
        }
    }
}

/// A network of convolutions or products with random tails, residuals and chains.
fn random_network(rng: &mut Rng) -> Model {
    let mut build = ModelBuilder::default();
    let dims = if rng.chance(50) { vec![1, 6, 7, 9] } else { vec![2, 13, 6] };
    let x = build.input(&dims);
    let mut made = vec![x];
    let pick = |rng: &mut Rng, made: &[TensorId]| made[rng.below(made.len() as u64) as usize];
    for _ in 0..rng.within(3..9) {
        let x = pick(rng, &made);
        let mut y = match rng.below(4) {
            0 if dims.len() == 4 => {
                let size = 1 + 2 * rng.below(2);
                let group = [1, 2, 6][rng.below(3) as usize];
                conv(&mut build, x, [6, 6, group, size])
            }
            0 => {
                let w = build.weight(&[6, 6]);
                build.node(Operator::MatMul, &[x, w])
            }
            1 if dims.len() == 4 => batch_norm(&mut build, x, 6),
            _ => build.node(unary(Unary::Tanh), &[x]),
        };
        for _ in 0..rng.below(3) {
            y = match rng.below(4) {
                0 => {
                    let mut other = pick(rng, &made);
                    if rng.chance(50) {
                        other =
                            activation(&mut build, rng.below(ACTIVATIONS as u64) as usize, other);
                    }
                    let operands = if rng.chance(50) { [y, other] } else { [other, y] };
                    build.node(ADD, &operands)
                }
                1 => {
                    let one = build.weight(&if dims.len() == 4 { vec![6, 1, 1] } else { vec![6] });
                    build.node(if rng.chance(50) { MUL } else { ADD }, &[y, one])
                }
                _ => activation(&mut build, rng.below(ACTIVATIONS as u64) as usize, y),
            };
        }
        made.push(build.node(unary(Unary::Tanh), &[y]));
    }
    let last = made.pop().unwrap_or(x);
    build.finish(&[last])
}

#[test]
fn random_networks_compute_the_same_fused_in_no_more_memory() {
    let mut steps = 0;
    for seed in 0..120 {
        let model = random_network(&mut Rng::new(seed));
        let (distance, fused, alone, count) = both(&model, Fuse::Best, seed);
        assert!(distance <= 1e-5, "seed {seed}: {distance}");
        assert!(fused <= alone, "seed {seed}: {fused} and {alone}");
        steps += count;
    }
    assert!(steps >= 200, "{steps} steps were fused");
}
