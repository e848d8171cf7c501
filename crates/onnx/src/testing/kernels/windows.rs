//! Products, and operators on windows and images.

use std::collections::BTreeMap;

use plimsoll_graph::testing::{Index, Tensors, mix};

use super::At;

pub(super) fn run(at: &At<'_>, tensors: &mut Tensors<'_>) -> bool {
    match at.node.op_type() {
        "MatMul" | "MatMulInteger" => tensors.products(at.salt),
        "Gemm" => gemm(at, tensors),
        "Einsum" => einsum(at, tensors),
        "Conv" | "ConvInteger" => conv(at, tensors),
        "ConvTranspose" => conv_transpose(at, tensors),
        "AveragePool" | "LpPool" | "MaxPool" => pool(at, tensors),
        "GlobalAveragePool" | "GlobalMaxPool" => global_pool(at, tensors),
        "Resize" | "Upsample" => resize(tensors),
        _ => return false,
    }
    true
}

fn gemm(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let (of_left, of_right) = (at.flag("transA", false), at.flag("transB", false));
    let inner = tensors.dims(0)[usize::from(!of_left)];
    tensors.each(0, |tensors, index| {
        let (row, column) = (index[0], index[1]);
        let pairs = (0..inner).flat_map(|k| {
            let left = if of_left { [k, row] } else { [row, k] };
            let right = if of_right { [column, k] } else { [k, column] };
            [tensors.read(0, &left), tensors.read(1, &right)]
        });
        let added = tensors.input(2).map(|_| tensors.broadcast(2, index));
        mix([at.salt].into_iter().chain(pairs).chain(added))
    });
}

/// Letters for axes: those of the output are gone over, the others are summed up.
fn einsum(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let equation: String = at.text("equation", "").split_whitespace().collect();
    let (left, made) = equation.split_once("->").expect("the letters of the output are given");
    let read: Vec<Vec<char>> = left.split(',').map(|letters| letters.chars().collect()).collect();
    let dims: BTreeMap<char, usize> = read
        .iter()
        .enumerate()
        .flat_map(|(input, letters)| letters.iter().copied().zip(tensors.dims(input).to_vec()))
        .collect();
    let summed: Vec<char> = dims.keys().copied().filter(|letter| !made.contains(*letter)).collect();
    let lengths: Vec<usize> = summed.iter().map(|letter| dims[letter]).collect();
    tensors.each(0, |tensors, index| {
        let mut places: BTreeMap<char, usize> = made.chars().zip(index.iter().copied()).collect();
        let mut numbers = vec![at.salt];
        for mut element in 0..lengths.iter().product() {
            for (letter, length) in summed.iter().zip(&lengths) {
                places.insert(*letter, element % length);
                element /= length;
            }
            for (input, letters) in read.iter().enumerate() {
                let place: Index = letters.iter().map(|letter| places[letter]).collect();
                numbers.push(tensors.read(input, &place));
            }
        }
        mix(numbers)
    });
}

/// How windows lie on the axes behind batch and channels.
struct Windows {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// What is added in front of every axis.
    before: Vec<usize>,
}

impl Windows {
    fn of(at: &At<'_>, kernel: &[usize], image: &[usize], made: &[usize]) -> Self {
        let counts = |name: &str| {
            let given = at.ints(name).unwrap_or_else(|| vec![1; kernel.len()]);
            given.iter().map(|count| *count as usize).collect::<Vec<_>>()
        };
        let (strides, dilations) = (counts("strides"), counts("dilations"));
        let padding = at.text("auto_pad", "NOTSET");
        let before = |axis: usize| {
            let reach = (made[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
            let all = reach.saturating_sub(image[axis]);
            match &padding[..] {
                "SAME_UPPER" => all / 2,
                "SAME_LOWER" => all.div_ceil(2),
                "VALID" => 0,
                _ => at.ints("pads").map_or(0, |pads| pads[axis] as usize),
            }
        };
        let empty = made.contains(&0);
        let before = (0..kernel.len()).map(|axis| if empty { 0 } else { before(axis) }).collect();
        Windows { kernel: kernel.to_vec(), strides, dilations, before }
    }

    /// The places of a window, in order.
    fn places(&self) -> Vec<Index> {
        let place = |mut element: usize| {
            let mut index = vec![0; self.kernel.len()];
            for (at, length) in index.iter_mut().zip(&self.kernel).rev() {
                *at = element % length;
                element /= length;
            }
            index
        };
        (0..self.kernel.iter().product()).map(place).collect()
    }

    /// Where a place of a window is in the image, if it is not beyond an edge.
    fn inside(&self, image: &[usize], window: &[usize], place: &[usize]) -> Option<Index> {
        let on = |axis: usize| {
            let ahead = window[axis] * self.strides[axis] + place[axis] * self.dilations[axis];
            ahead.checked_sub(self.before[axis]).filter(|at| *at < image[axis])
        };
        (0..self.kernel.len()).map(on).collect()
    }

    /// Where in the image a convolution has been that goes the other way.
    fn origin(&self, image: &[usize], made: &[usize], place: &[usize]) -> Option<Index> {
        let on = |axis: usize| {
            let ahead = made[axis] + self.before[axis];
            let ahead = ahead.checked_sub(place[axis] * self.dilations[axis])?;
            let stride = self.strides[axis];
            (ahead % stride == 0).then_some(ahead / stride).filter(|at| *at < image[axis])
        };
        (0..self.kernel.len()).map(on).collect()
    }
}

fn conv(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let (image, weights) = (tensors.dims(0).to_vec(), tensors.dims(1).to_vec());
    let made = tensors.output(0).expect("an output").to_vec();
    let windows = Windows::of(at, &weights[2..], &image[2..], &made[2..]);
    let each = weights[1];
    let groups = image[1].checked_div(each).unwrap_or(1).max(1);
    let places = windows.places();
    tensors.each(0, |tensors, index| {
        let channel = index[1];
        let first = channel / (weights[0] / groups) * each;
        let mut numbers = vec![at.salt];
        for k in 0..each {
            for place in &places {
                let Some(inside) = windows.inside(&image[2..], &index[2..], place) else {
                    continue;
                };
                let x: Index = [index[0], first + k].into_iter().chain(inside).collect();
                let w: Index = [channel, k].into_iter().chain(place.iter().copied()).collect();
                numbers.extend([tensors.read(0, &x), tensors.read(1, &w)]);
            }
        }
        let is_for_all = |dims: &[usize]| dims.iter().all(|dim| *dim == 1);
        let of = |input: usize| {
            let dims = tensors.input(input)?;
            Some(tensors.element(input, if is_for_all(dims) { 0 } else { channel }))
        };
        mix(numbers.into_iter().chain(of(2)).chain(of(3)))
    });
}

fn conv_transpose(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let (image, weights) = (tensors.dims(0).to_vec(), tensors.dims(1).to_vec());
    let made = tensors.output(0).expect("an output").to_vec();
    let windows = Windows::of(at, &weights[2..], &image[2..], &made[2..]);
    let (each, groups) = (weights[1], at.int("group", 1) as usize);
    let places = windows.places();
    tensors.each(0, |tensors, index| {
        let (group, within) = (index[1] / each, index[1] % each);
        let from = image[1] / groups;
        let mut numbers = vec![at.salt];
        for k in group * from..(group + 1) * from {
            for place in &places {
                let Some(origin) = windows.origin(&image[2..], &index[2..], place) else {
                    continue;
                };
                let x: Index = [index[0], k].into_iter().chain(origin).collect();
                let w: Index = [k, within].into_iter().chain(place.iter().copied()).collect();
                numbers.extend([tensors.read(0, &x), tensors.read(1, &w)]);
            }
        }
        let bias = tensors.input(2).map(|_| tensors.element(2, index[1]));
        mix(numbers.into_iter().chain(bias))
    });
}

fn pool(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let image = tensors.dims(0).to_vec();
    let made = tensors.output(0).expect("an output").to_vec();
    let kernel: Vec<usize> =
        at.ints("kernel_shape").expect("a kernel").iter().map(|length| *length as usize).collect();
    let windows = Windows::of(at, &kernel, &image[2..], &made[2..]);
    let places = windows.places();
    for output in [1, 0] {
        tensors.each(output, |tensors, index| {
            let inside =
                places.iter().filter_map(|place| windows.inside(&image[2..], &index[2..], place));
            let numbers = inside.map(|inside| {
                let x: Index = index[..2].iter().copied().chain(inside).collect();
                tensors.read(0, &x)
            });
            mix([at.salt, output as u64].into_iter().chain(numbers))
        });
    }
}

fn global_pool(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let pixels = tensors.dims(0)[2..].iter().product::<usize>();
    let channels = tensors.dims(0)[1];
    tensors.each(0, |tensors, index| {
        let first = (index[0] * channels + index[1]) * pixels;
        let numbers = (first..first + pixels).map(|element| tensors.element(0, element));
        mix([at.salt].into_iter().chain(numbers))
    });
}

/// The nearest element, rounded down.
fn resize(tensors: &mut Tensors<'_>) {
    let (from, to) = (tensors.dims(0).to_vec(), tensors.output(0).expect("an output").to_vec());
    tensors.each(0, |tensors, index| {
        let lengths = from.iter().zip(&to);
        let nearest: Index =
            index.iter().zip(lengths).map(|(at, (from, to))| at * from / to).collect();
        tensors.read(0, &nearest)
    });
}
