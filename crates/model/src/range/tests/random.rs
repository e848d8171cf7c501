//! Random models whose shapes are reckoned in every way that models do it.

use plimsoll_pack::testing::Rng;

use super::*;
use crate::lower::infer;
use crate::model::{PadMode, Reduce, Reduction};

/// A model in which every node can run at the largest sizes.
fn model(rng: &mut Rng, ranges: &[Range]) -> Model {
    let mut build = Build::default();
    let inputs: [&[&str]; 5] = [&["a", "4"], &["a", "b"], &["1", "b"], &["b", "2", "a"], &["a"]];
    let mut tensors: Vec<TensorId> = Vec::new();
    for (index, dims) in inputs.iter().enumerate() {
        tensors.push(build.input(&format!("x{index}"), dims));
    }
    if rng.chance(20) {
        // Parts may begin within a byte.
        build.model.tensors.iter_mut().for_each(|tensor| tensor.dtype = Some(Dtype::I4));
    }
    let nodes = rng.within(4..12);
    for _ in 0..nodes {
        for _ in 0..8 {
            let mut tried = build.clone();
            let made = random_node(rng, &mut tried, &tensors);
            if infer(&tried.clone().finish(&made), &largest(ranges)).is_ok() {
                build = tried;
                tensors.extend(made);
                break;
            }
        }
    }
    let last = *tensors.last().expect("inputs at least");
    let mut outputs = vec![last];
    if rng.chance(50) {
        outputs.push(tensors[rng.below(tensors.len() as u64) as usize]);
    }
    outputs.dedup();
    build.finish(&outputs)
}

/// A number that follows from a dim, as a list of one.
fn number(rng: &mut Rng, build: &mut Build, tensors: &[TensorId]) -> TensorId {
    let x = pick(rng, tensors);
    let mut number = build.length(x, i64::from(rng.chance(30)));
    for _ in 0..rng.below(3) {
        let by = rng.within(1..5).cast_signed();
        number = match rng.below(6) {
            0 => build.reckon(Binary::Add, number, by),
            1 => build.reckon(Binary::Sub, number, by),
            2 => build.reckon(Binary::Mul, number, by),
            3 => build.reckon(Binary::Div, number, by),
            4 => build.reckon(Binary::Mod { as_in_c: false }, number, by),
            _ => {
                let ten = build.list(&[10]);
                build.node(Operator::Binary(Binary::Sub), &[ten, number])
            }
        };
    }
    number
}

fn pick(rng: &mut Rng, tensors: &[TensorId]) -> TensorId {
    // The last ones more often, so that there are chains.
    let count = tensors.len() as u64;
    let back = rng.below(count).min(rng.below(count));
    tensors[(count - 1 - back) as usize]
}

fn random_node(rng: &mut Rng, build: &mut Build, tensors: &[TensorId]) -> Vec<TensorId> {
    let x = pick(rng, tensors);
    let axis = rng.below(2).cast_signed();
    let one = match rng.below(16) {
        0 | 1 => build.exp(x),
        2 | 3 => {
            let y = pick(rng, tensors);
            build.node(Operator::Binary(Binary::Add), &[x, y])
        }
        4 => {
            let dims: &[i64] = [&[-1][..], &[0, -1], &[-1, 2], &[2, -1], &[1, -1], &[-1, 1]]
                [rng.below(6) as usize];
            let dims = build.list(dims);
            build.node(Operator::Reshape { allow_zero: false }, &[x, dims])
        }
        5 => {
            let (number, rest) = (number(rng, build, tensors), build.list(&[-1]));
            let dims = build.node(Operator::Concat { axis: 0 }, &[number, rest]);
            build.node(Operator::Reshape { allow_zero: false }, &[x, dims])
        }
        6 => build.node(Operator::Transpose(Some(vec![1, 0])), &[x]),
        7 => build.node(Operator::Transpose(None), &[x]),
        8 | 9 => {
            let places = [-3, -2, -1, 0, 0, 0, 1, 2, 3];
            let start = build.list(&[places[rng.below(9) as usize]]);
            let end = if rng.chance(50) {
                number(rng, build, tensors)
            } else {
                build.list(&[[-1, 2, 4, i64::MAX][rng.below(4) as usize]])
            };
            let axes = build.list(&[axis]);
            let steps = build.list(&[if rng.chance(80) { 1 } else { 2 }]);
            build.node(Operator::Slice, &[x, start, end, axes, steps])
        }
        10 => {
            let y = pick(rng, tensors);
            build.node(Operator::Concat { axis }, &[x, y])
        }
        11 => return build.nodes(Operator::Split { axis }, &[x], 2),
        12 => {
            let (number, zero) = (number(rng, build, tensors), build.list(&[0]));
            let pads = build.node(Operator::Concat { axis: 0 }, &[zero, number]);
            let (value, axes) = (build.list(&[0]), build.list(&[axis]));
            build.node(Operator::Pad(PadMode::Constant), &[x, pads, value, axes])
        }
        13 => {
            let (rows, columns) = (number(rng, build, tensors), number(rng, build, tensors));
            let dims = build.node(Operator::Concat { axis: 0 }, &[rows, columns]);
            build.node(Operator::Expand, &[x, dims])
        }
        14 => {
            let axes = build.list(&[axis]);
            let reduce = Reduce {
                function: Reduction::Max,
                keep_dims: rng.chance(70),
                none_if_empty: false,
            };
            build.node(Operator::Reduce(reduce), &[x, axes])
        }
        _ => {
            let axes = build.list(&[axis]);
            build.node(Operator::Unsqueeze, &[x, axes])
        }
    };
    vec![one]
}

/// What was seen in all of the models.
#[derive(Debug, Default)]
struct Seen {
    sizes: usize,
    symbolic: usize,
    both: usize,
    given_up: usize,
    larger: usize,
    refused: usize,
}

/// No size of any range is one at which something is overwritten, or has no room.
#[test]
fn no_size_of_a_range_is_a_counterexample() {
    let mut seen = Seen::default();
    for seed in 0..600 {
        let rng = &mut Rng::new(seed);
        let (a, b) = (rng.within(1..5), rng.within(1..4));
        let ranges = [range("a", a, a + rng.below(10)), range("b", b, b + rng.below(5))];
        let model = model(rng, &ranges);
        let (proof, runs) = match planned(&model, &ranges) {
            Ok((proof, _, runs)) => (proof, runs),
            Err(error) => panic!("seed {seed}: {error}"),
        };
        seen.sizes += runs;
        seen.symbolic += usize::from(proof.method() == "symbolic");
        seen.both += usize::from(proof.method() == "symbolic and each size");
        seen.given_up += usize::from(!proof.given_up.is_empty());
        seen.larger += usize::from(!proof.larger.is_empty());
        seen.refused += usize::from(proof.sizes > runs as u64);
    }
    let Seen { sizes, symbolic, both, given_up, larger, refused } = seen;
    let least = [symbolic, both, given_up, larger, refused].into_iter().min();
    assert!(sizes > 4000 && least > Some(20), "{seen:?}");
}
