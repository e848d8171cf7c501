//! Random networks by random recipes: they compute the same, to the last bit where no sum is cut into parts.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_graph::Dtype;
use plimsoll_model::{
    BatchNorm, Bindings, Convolution, Coordinates, Interpolation, Model, Operator, Padding, Pool,
    Pooling, Resize, Softmax, TensorId, Unary, Windows, infer,
};
use plimsoll_run::{Array, Options, SeededWeights, Session, outputs, random_inputs};

use super::net::{Layer, Net};
use crate::along::{Along, Course};
use crate::channels::chains;
use crate::flow::{Recipe, Segment, flow};
use crate::norms::written_out;
use crate::recipes::ancestors;
use crate::rows::Reach;
use crate::search::parts_of;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A tensor of a network that is being made up.
#[derive(Clone, Copy)]
struct Known {
    id: TensorId,
    channels: u64,
    rows: u64,
    columns: u64,
}

/// A network of convolutions with all attributes, pools, branches and the like.
fn random_net(dice: &mut Dice) -> Model {
    let mut net = Net::default();
    let (rows, columns) = (6 + dice.below(9), 5 + dice.below(4));
    let mut known =
        vec![Known { id: net.input(&[1, 4, rows, columns]), channels: 4, rows, columns }];
    for _ in 0..3 + dice.below(8) {
        let from = known.len().saturating_sub(3);
        let x = known[from + usize::try_from(dice.below((known.len() - from) as u64)).unwrap()];
        let made = layer(&mut net, dice, x, &known);
        known.extend(made);
    }
    let last = known[known.len() - 1];
    let outputs = match dice.below(3) {
        0 => vec![net.mean(last.id)],
        1 => vec![last.id],
        _ => vec![known[known.len() / 2].id, last.id],
    };
    let outputs: BTreeSet<TensorId> = outputs.into_iter().filter(|id| *id != known[0].id).collect();
    net.finish(&outputs.into_iter().collect::<Vec<_>>())
}

/// Windows of any kind that fit on a tensor, and how many come out along rows and columns.
fn any_windows(dice: &mut Dice, x: Known) -> Option<(Windows, u64, u64)> {
    let mut draw = |most: u64| [dice.below(most) + 1, dice.below(most) + 1];
    let (kernel, strides, dilations) = (draw(4), draw(3), draw(2));
    let pads = [(); 4].map(|()| dice.below(2));
    let count = |at: usize, length: u64| {
        let reach = (kernel[at] - 1) * dilations[at] + 1;
        let fits = pads[at] < reach && pads[at + 2] < reach;
        let way = (length + pads[at] + pads[at + 2]).checked_sub(reach).filter(|_| fits)?;
        Some(way / strides[at] + 1)
    };
    let (rows, columns) = (count(0, x.rows)?, count(1, x.columns)?);
    let padding = Padding::Given(pads.map(|pad| i64::try_from(pad).unwrap()).to_vec());
    let [kernel, strides, dilations] = [kernel, strides, dilations].map(|list| list.to_vec());
    Some((Windows { kernel, strides, dilations, padding }, rows, columns))
}

fn layer(net: &mut Net, dice: &mut Dice, x: Known, known: &[Known]) -> Option<Known> {
    let alike = |other: &&Known| (other.rows, other.columns) == (x.rows, x.columns);
    match dice.below(14) {
        0..=2 => {
            let (windows, rows, columns) = any_windows(dice, x)?;
            let group = [1, 2, x.channels][usize::try_from(dice.below(3)).unwrap()];
            let channels = x.channels * (1 + dice.below(2));
            let kernel = &windows.kernel;
            let weights = net.weights(&[channels, x.channels / group, kernel[0], kernel[1]]);
            let id = net.node(Operator::Conv(Convolution { windows, group }), &[x.id, weights]);
            Some(Known { id, channels, rows, columns })
        }
        3 => Some(Known { id: net.bottleneck(x.id, x.channels, x.channels, 1), ..x }),
        4 => {
            let (windows, rows, columns) = any_windows(dice, x)?;
            let pooling = match dice.below(3) {
                0 => Pooling::Average { count_padding: true },
                1 => Pooling::Average { count_padding: false },
                _ => Pooling::Max { column_major: false },
            };
            let windows = Windows { dilations: Vec::new(), ..windows };
            let (rows, columns) = pooled(&windows, x).unwrap_or((rows, columns));
            let id = net.node(Operator::Pool(Pool { pooling, windows, ceil: false }), &[x.id]);
            Some(Known { id, rows, columns, ..x })
        }
        5 if x.rows > 3 && x.columns > 3 => {
            let ceil = |length: u64| (length - 3).div_ceil(2) + 1;
            Some(Known {
                id: net.max_pool(x.id, true),
                rows: ceil(x.rows),
                columns: ceil(x.columns),
                ..x
            })
        }
        6 if x.rows < 20 => {
            let mode = Interpolation::Nearest(plimsoll_model::Nearest::default());
            let resize = Resize { mode, ..Resize::default() };
            Some(resized(net, x, resize, (2 * x.rows, 2 * x.columns)))
        }
        11 if x.rows < 20 => {
            let coordinates = [
                Coordinates::HalfPixel,
                Coordinates::PytorchHalfPixel,
                Coordinates::AlignCorners,
                Coordinates::Asymmetric,
            ][usize::try_from(dice.below(4)).unwrap()];
            let to = (1 + dice.below(3 * x.rows), 1 + dice.below(2 * x.columns));
            let mode = Interpolation::Linear;
            Some(resized(net, x, Resize { mode, coordinates, ..Resize::default() }, to))
        }
        12 if x.rows < 20 => {
            let (kernel, stride) = (2 + dice.below(2), 1 + dice.below(2));
            let before = dice.below(2);
            let long = |length: u64| {
                let long = ((length - 1) * stride + kernel).checked_sub(2 * before);
                long.filter(|long| *long > 0)
            };
            let (rows, columns) = (long(x.rows)?, long(x.columns)?);
            let padding = Padding::Given(vec![i64::try_from(before).unwrap(); 4]);
            let (kernel, strides) = (vec![kernel; 2], vec![stride; 2]);
            let weights = net.weights(&[x.channels, x.channels, kernel[0], kernel[1]]);
            let windows = Windows { kernel, strides, dilations: Vec::new(), padding };
            let conv = Convolution { windows, group: 1 };
            let (output_padding, output_dims) = (Vec::new(), None);
            let operator = Operator::ConvTranspose { conv, output_padding, output_dims };
            let id = net.node(operator, &[x.id, weights]);
            Some(Known { id, rows, columns, ..x })
        }
        7 => {
            let other =
                known.iter().rev().filter(alike).find(|other| other.channels == x.channels)?;
            Some(Known { id: net.add(x.id, other.id), ..x })
        }
        8 => {
            let other = known.iter().rev().filter(alike).find(|other| other.id != x.id)?;
            let channels = x.channels + other.channels;
            Some(Known { id: net.concat(&[x.id, other.id]), channels, ..x })
        }
        9 => {
            let norm: Vec<TensorId> = (0..4).map(|_| net.weights(&[x.channels])).collect();
            let inputs = [&[x.id], &norm[..]].concat();
            Some(Known { id: net.node(Operator::BatchNorm(BatchNorm::default()), &inputs), ..x })
        }
        10 => Some(Known { id: net.node(Operator::Softmax(Softmax::along(1)), &[x.id]), ..x }),
        _ => {
            // Squeeze and excite: all rows are needed before the first comes out.
            let mean = net.mean(x.id);
            let scale = net.conv(mean, x.channels, x.channels, Layer::POINTWISE);
            let scale = net.node(Operator::Unary(Unary::Sigmoid), &[scale]);
            let id = net.node(Operator::Binary(plimsoll_model::Binary::Mul), &[x.id, scale]);
            Some(Known { id, ..x })
        }
    }
}

/// Interpolates to so many rows and columns.
fn resized(net: &mut Net, x: Known, resize: Resize, (rows, columns): (u64, u64)) -> Known {
    let dims = [1, x.channels, rows, columns].map(|dim| i64::try_from(dim).unwrap());
    let sizes = net.ints(&dims);
    let id = net.node(Operator::Resize(resize), &[x.id]);
    let inputs = &mut net.model.body.nodes.last_mut().unwrap().inputs;
    inputs.extend([None, None, Some(sizes)]);
    Known { id, rows, columns, ..x }
}

/// How many windows of a pool without dilation there are.
fn pooled(windows: &Windows, x: Known) -> Option<(u64, u64)> {
    let Padding::Given(pads) = &windows.padding else { return None };
    let count = |at: usize, length: u64| {
        let pads = u64::try_from(pads[at] + pads[at + 2]).ok()?;
        Some((length + pads).checked_sub(windows.kernel[at])? / windows.strides[at] + 1)
    };
    Some((count(0, x.rows)?, count(1, x.columns)?))
}

/// Any cuts, any steps, and any nodes again that can be.
fn random_recipe(along: &Along<'_>, dice: &mut Dice) -> Recipe {
    let mut segments =
        vec![Segment { nodes: Vec::new(), steps: 1 + dice.below(8), restarted: Vec::new() }];
    for node in &along.order {
        if dice.below(4) == 0 && segments.last().is_some_and(|segment| !segment.nodes.is_empty()) {
            let steps = 1 + dice.below(8);
            segments.push(Segment { nodes: Vec::new(), steps, restarted: Vec::new() });
        }
        segments.last_mut().unwrap().nodes.push(*node);
    }
    let by_rows = |node: &&usize| matches!(along.courses[**node], Course::Rows { .. });
    let inner = |node: &&usize| {
        let made = along.model.body.nodes[**node].outputs[0];
        made.is_some_and(|made| !along.model.body.outputs.contains(&made))
    };
    let again = along.order.iter().filter(by_rows).filter(inner).filter(|_| dice.below(5) == 0);
    let again: BTreeSet<usize> = again.copied().collect();
    let parts = parts_of(&chains(along), 1 + dice.below(4));
    restart_some(along, &mut segments, dice);
    Recipe { segments, again, parts }
}

/// Computes some nodes once more in a later segment.
fn restart_some(along: &Along<'_>, segments: &mut [Segment], dice: &mut Dice) {
    let mut taken = BTreeSet::new();
    for node in &along.order {
        let Some(nodes) = ancestors(along, *node).filter(|_| dice.below(4) == 0) else { continue };
        let own = |node: &usize| segments.iter().position(|segment| segment.nodes.contains(node));
        let last = nodes.iter().filter_map(own).max().unwrap_or(0);
        if last + 1 < segments.len() && nodes.iter().all(|node| !taken.contains(node)) {
            let later =
                last + 1 + usize::try_from(dice.below((segments.len() - last - 1) as u64)).unwrap();
            taken.extend(nodes.iter().copied());
            segments[later].restarted.extend(nodes);
        }
    }
}

/// What a model computes node by node.
pub(crate) fn run(model: &Model, source: &Model, seed: u64) -> BTreeMap<String, Array> {
    run_with(model, source, seed, &Options::apart())
}

fn run_with(
    model: &Model,
    source: &Model,
    seed: u64,
    options: &Options,
) -> BTreeMap<String, Array> {
    let weights = SeededWeights::new(source, &(), seed);
    let session =
        Session::new(source, &weights, &Options::quick()).unwrap_or_else(|e| panic!("{e}"));
    let inputs = random_inputs(seed, session.inputs());
    outputs(model, &weights, &inputs, options).unwrap_or_else(|e| panic!("{e}"))
}

/// The largest difference of two outputs, over the largest number of the first.
pub(crate) fn difference(a: &BTreeMap<String, Array>, b: &BTreeMap<String, Array>) -> f32 {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    let mut most = 0f32;
    for (a, b) in a.values().zip(b.values()) {
        assert_eq!(a.dims, b.dims);
        let numbers = |array: &Array| -> Vec<f32> {
            array
                .bytes
                .chunks_exact(4)
                .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
                .collect()
        };
        let (a, b) = (numbers(a), numbers(b));
        let scale = a.iter().fold(1e-20f32, |most, a| most.max(a.abs()));
        let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs());
        most = most.max(apart.fold(0.0, f32::max) / scale);
    }
    most
}

#[test]
fn random_networks_compute_the_same_by_random_recipes() {
    let (mut flows, mut exact) = (0, 0);
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let model = random_net(&mut dice);
        let inferred =
            infer(&model, &Bindings::default()).unwrap_or_else(|e| panic!("{seed}: {e}"));
        let along = Along::new(&model, &inferred.facts, &inferred.statics, &inferred.order);
        if along.order.is_empty() {
            continue;
        }
        let expected = run(&model, &model, seed);
        for _ in 0..4 {
            let recipe = random_recipe(&along, &mut dice);
            let rewritten = flow(&along, &recipe);
            let difference = difference(&expected, &run(&rewritten.model, &model, seed));
            let is_mixed = |course: &Course| match course {
                Course::Rows { lanes } => lanes
                    .iter()
                    .flatten()
                    .any(|lane| matches!(lane.reach, Reach::Between(_) | Reach::Spread { .. })),
                Course::Gather(_) => true,
                Course::Whole => false,
            };
            let sums = recipe.parts.is_empty() && !along.courses.iter().any(is_mixed);
            let most = if sums { 0.0 } else { 1e-5 };
            assert!(difference <= most, "{seed}: {difference} by {recipe:?} of {model:?}");
            if flows % 4 == 0 {
                let fused = run_with(&rewritten.model, &model, seed, &Options::quick());
                let difference = self::difference(&expected, &fused);
                assert!(
                    difference <= 1e-5,
                    "{seed}: {difference} fused, by {recipe:?} of {model:?}"
                );
            }
            flows += usize::from(rewritten.model.body.nodes.len() > model.body.nodes.len());
            exact += usize::from(sums);
        }
    }
    assert!(flows > 1000 && exact > 250, "{flows} flows, {exact} of them exact");
}

/// A norm of two groups of channels, as files have it, between two convolutions.
fn normed() -> Model {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 9, 5]);
    let x = net.conv(x, 4, 8, Layer::POINTWISE);
    let mut dims = |dims: &[i64]| {
        let id = net.weights(&[dims.len() as u64]);
        let tensor = &mut net.model.tensors[id.index()];
        tensor.dtype = Some(Dtype::I64);
        tensor.content = Some(plimsoll_model::Content::Ints(dims.to_vec()));
        id
    };
    let (groups, back) = (dims(&[1, 2, -1]), dims(&[1, 8, 9, 5]));
    let (scale, bias) = (net.weights(&[2]), net.weights(&[2]));
    let grouped = net.node(Operator::Reshape { allow_zero: false }, &[x, groups]);
    let norm = Operator::Norm(plimsoll_model::Norm::Instance { epsilon: 1e-5 });
    let normed = net.node(norm, &[grouped, scale, bias]);
    let normed = net.node(Operator::Reshape { allow_zero: false }, &[normed, back]);
    let normed = net.relu(normed);
    let y = net.conv(normed, 8, 4, Layer::depthwise(1, 1));
    net.finish(&[y])
}

#[test]
fn norms_that_are_written_out_flow_in_pieces() {
    let model = normed();
    let inferred = infer(&model, &Bindings::default()).unwrap();
    assert_eq!(written_out(&model, &inferred.facts, 4 * 8 * 9 * 5 + 1), None);
    let variant = written_out(&model, &inferred.facts, 4 * 8 * 9 * 5).unwrap();
    let inferred = infer(&variant.model, &Bindings::default()).unwrap();
    let along = Along::new(&variant.model, &inferred.facts, &inferred.statics, &inferred.order);
    let nodes = along.order.clone();
    let segments = vec![Segment { nodes, steps: 3, restarted: Vec::new() }];
    let rewritten = flow(&along, &Recipe { segments, ..Recipe::default() });
    let dims = |tensor: TensorId| {
        infer(&rewritten.model, &Bindings::default()).unwrap().facts[tensor.index()]
            .shape
            .as_ref()
            .and_then(plimsoll_graph::Shape::known)
            .unwrap()
    };
    let convs =
        rewritten.model.body.nodes.iter().filter(|node| matches!(node.operator, Operator::Conv(_)));
    assert!(convs.clone().count() >= 6, "each convolution in three steps");
    assert!(convs.flat_map(|node| node.outputs.iter().flatten()).all(|made| dims(*made)[2] <= 4));
    let apart = difference(&run(&model, &model, 7), &run(&rewritten.model, &model, 7));
    assert!(apart < 1e-5, "{apart}");
}
