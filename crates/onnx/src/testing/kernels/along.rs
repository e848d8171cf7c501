//! Operators along axes, and larger ones.

use std::ops::Range;

use plimsoll_graph::testing::{Index, Tensors, mix};

use super::{At, axis};

pub(super) fn run(at: &At<'_>, tensors: &mut Tensors<'_>) -> bool {
    let rank = tensors.input(0).map_or(0, <[usize]>::len);
    match at.node.op_type() {
        "ReduceL2" | "ReduceMax" | "ReduceMean" | "ReduceMin" | "ReduceProd" | "ReduceSum"
        | "ReduceSumSquare" => reduce(at, tensors),
        "ArgMax" | "ArgMin" => {
            let along = at.axis(0, rank);
            reduced(at, tensors, 0, &[along], at.flag("keepdims", true));
        }
        "TopK" => top_k(at, tensors),
        "CumSum" => cumulate(at, tensors),
        // In old editions everything from the axis on is one row.
        "Hardmax" | "LogSoftmax" | "Softmax" if at.version < 13 => {
            let first = at.axis(1, rank);
            normalise(at, tensors, &(first..rank).collect::<Vec<_>>());
        }
        "Hardmax" | "LogSoftmax" | "LpNormalization" | "Softmax" => {
            let along = at.axis(-1, rank);
            normalise(at, tensors, &[along]);
        }
        "BiasSoftmax" | "SkipLayerNormalization" => normalise(at, tensors, &[rank - 1]),
        "LayerNormalization" | "RMSNormalization" => layer_norm(at, tensors),
        "MeanVarianceNormalization" => {
            let axes = at.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
            normalise(at, tensors, &axes.iter().map(|of| axis(*of, rank)).collect::<Vec<_>>());
        }
        "BatchNormalization" => batch_norm(at, tensors),
        "InstanceNormalization" => {
            let channels = tensors.dims(0)[1];
            group_norm(at, tensors, channels);
        }
        "GroupNormalization" => group_norm(at, tensors, at.int("num_groups", 1) as usize),
        "LRN" => local_norm(at, tensors),
        "GRU" | "LSTM" | "Mystery" | "RNN" => tensors.whole(at.salt),
        _ => return false,
    }
    true
}

fn reduce(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let axes = at.numbers("axes", tensors, 1).unwrap_or_default();
    let axes: Vec<usize> = match axes[..] {
        [] if at.flag("noop_with_empty_axes", false) => Vec::new(),
        [] => (0..rank).collect(),
        _ => axes.iter().map(|of| axis(*of, rank)).collect(),
    };
    reduced(at, tensors, 0, &axes, at.flag("keepdims", true));
}

/// An output of which each element depends on all of input 0 along axes.
fn reduced(at: &At<'_>, tensors: &mut Tensors<'_>, output: usize, axes: &[usize], keeps: bool) {
    let dims = tensors.dims(0).to_vec();
    let lengths: Vec<usize> = axes.iter().map(|axis| dims[*axis]).collect();
    tensors.each(output, |tensors, index| {
        let mut index = index.iter().copied();
        let kept = |axis: usize| !axes.contains(&axis) || keeps;
        let first: Index = (0..dims.len())
            .map(|axis| if kept(axis) { index.next() } else { None }.unwrap_or(0))
            .collect();
        let numbers = (0..lengths.iter().product()).map(|mut element: usize| {
            let mut place = first.clone();
            for (axis, length) in axes.iter().zip(&lengths).rev() {
                place[*axis] = element % length;
                element /= length;
            }
            tensors.read(0, &place)
        });
        mix([at.salt, output as u64].into_iter().chain(numbers))
    });
}

fn top_k(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(-1, tensors.dims(0).len());
    let dim = tensors.dims(0)[along];
    for output in 0..2 {
        tensors.each(output, |tensors, index| {
            let numbers = (0..dim).map(|at| {
                let mut place = index.to_vec();
                place[along] = at;
                tensors.read(0, &place)
            });
            mix([at.salt, output as u64, index[along] as u64].into_iter().chain(numbers))
        });
    }
}

/// Running sums: an element is read and its sum is written before the next is read; if it is not part of its own
/// sum, the sum is written first.
fn cumulate(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let dims = tensors.dims(0).to_vec();
    let along = axis(tensors.ints(1).expect("an axis")[0], dims.len());
    let (is_exclusive, is_reversed) = (at.flag("exclusive", false), at.flag("reverse", false));
    let inner: usize = dims[along + 1..].iter().product();
    for first in 0..dims.iter().product::<usize>() / dims[along].max(1) {
        let first = first / inner * inner * dims[along] + first % inner;
        let mut sum = at.salt;
        for step in 0..dims[along] {
            let step = if is_reversed { dims[along] - 1 - step } else { step };
            let element = first + step * inner;
            if is_exclusive {
                tensors.write(0, element, sum);
                sum = mix([sum, tensors.element(0, element)]);
            } else {
                sum = mix([sum, tensors.element(0, element)]);
                tensors.write(0, element, sum);
            }
        }
    }
}

/// Rows along axes; inputs of the same shape are read as rows too, others are broadcast.
fn normalise(at: &At<'_>, tensors: &mut Tensors<'_>, axes: &[usize]) {
    tensors.each_row(axes, |tensors, row| {
        let is_whole = |input: &usize| tensors.input(*input) == tensors.input(0);
        let whole: Vec<usize> = (0..tensors.inputs()).filter(is_whole).collect();
        let numbers = |input: usize| row.iter().map(move |index| tensors.read(input, index));
        let sum = mix(whole.iter().flat_map(|input| numbers(*input)));
        let others = |input: &usize| tensors.input(*input).is_some() && !is_whole(input);
        let number = |index: &Index| {
            let scales = (0..tensors.inputs()).filter(others);
            let scales = scales.map(|input| tensors.broadcast(input, index));
            mix([at.salt, sum, tensors.read(0, index)].into_iter().chain(scales))
        };
        row.iter().map(number).collect()
    });
}

fn layer_norm(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let axes: Vec<usize> = (at.axis(-1, rank)..rank).collect();
    for output in 1..tensors.outputs() {
        reduced(at, tensors, output, &axes, true);
    }
    // What scales is read element by element, when the row is known already.
    tensors.each_row(&axes, |tensors, row| {
        let sum = mix(row.iter().map(|index| tensors.read(0, index)));
        let number = |index: &Index| {
            let scales = (1..tensors.inputs()).filter(|input| tensors.input(*input).is_some());
            let scales = scales.map(|input| tensors.broadcast(input, index));
            mix([at.salt, sum, tensors.read(0, index)].into_iter().chain(scales))
        };
        row.iter().map(number).collect()
    });
}

fn batch_norm(at: &At<'_>, tensors: &mut Tensors<'_>) {
    tensors.each(0, |tensors, index| {
        let channel = index.get(1).copied().unwrap_or(0);
        let scales = (1..5).map(|input| tensors.element(input, channel));
        mix([at.salt, tensors.read(0, index)].into_iter().chain(scales))
    });
}

/// Groups of channels of one image each are rows.
fn group_norm(at: &At<'_>, tensors: &mut Tensors<'_>, groups: usize) {
    let dims = tensors.dims(0).to_vec();
    let pixels: usize = dims[2..].iter().product();
    let length = dims[1] / groups.max(1) * pixels;
    for group in 0..dims[0] * groups {
        let row: Range<usize> = group * length..(group + 1) * length;
        let numbers: Vec<u64> = row.clone().map(|element| tensors.element(0, element)).collect();
        let sum = mix(numbers.iter().copied());
        for (element, number) in row.zip(numbers) {
            let channel = element / pixels % dims[1];
            let of = |input: usize| {
                let count = tensors.dims(input)[0];
                tensors.element(input, channel * count / dims[1])
            };
            let number = mix([at.salt, sum, number, of(1), of(2)]);
            tensors.write(0, element, number);
        }
    }
}

/// Every element with those of the channels beside it.
fn local_norm(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let (size, channels) = (at.int("size", 1) as usize, tensors.dims(0)[1]);
    tensors.each(0, |tensors, index| {
        let first = index[1].saturating_sub((size - 1) / 2);
        let beside = (first..channels.min(index[1] + size / 2 + 1)).map(|channel| {
            let mut place = index.to_vec();
            place[1] = channel;
            tensors.read(0, &place)
        });
        mix([at.salt].into_iter().chain(beside))
    });
}
