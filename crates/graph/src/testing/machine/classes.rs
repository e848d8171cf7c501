//! What classes of ops compute, as far as a class says it: for graphs that come from nowhere else.

use super::index::{Index, Tensors, mix};
use crate::graph::{Graph, NodeId};
use crate::op::{Cut, Op};

/// The kernels of a graph in which attributes are those that classes have: a convolution looks at one
/// pixel, with all channels of the image or one each; pooling and interpolation are by the proportion of the dims.
/// What a node is called is mixed into what it computes, without what is told of it behind a dot or a blank.
///
/// # Panics
/// If a node is of a class that is not computed here.
pub fn class_kernel(graph: &Graph) -> impl Fn(NodeId, &mut Tensors<'_>) + '_ {
    |id, tensors| {
        let node = graph.node(id);
        let name = node.name.split(['.', ' ']).next().unwrap_or_default();
        let salt = mix(name.bytes().map(u64::from));
        match &node.op {
            Op::Unary | Op::Binary | Op::Where | Op::Clamp => tensors.elementwise(salt),
            Op::Variadic => tensors.accumulate(salt),
            Op::Cast | Op::Copy => tensors.same(),
            Op::Reshape | Op::Squeeze | Op::Unsqueeze | Op::Flatten | Op::Identity => {
                tensors.same();
            }
            Op::Expand => tensors.each(0, |tensors, index| tensors.broadcast(0, index)),
            Op::Transpose { perm } => transpose(tensors, perm),
            Op::Slice { cuts } => slice(tensors, cuts),
            Op::Split { axis } => split(tensors, *axis),
            Op::Concat { axis } => concat(tensors, *axis),
            Op::Softmax => softmax(tensors, salt),
            Op::MatMul => tensors.products(salt),
            Op::Conv => conv(tensors, salt),
            Op::Pool | Op::Resize => resize(tensors, salt),
            Op::Custom => tensors.whole(salt),
            op => panic!("{op:?} is not run here"),
        }
    }
}

fn transpose(tensors: &mut Tensors<'_>, perm: &[usize]) {
    tensors.each(0, |tensors, index| {
        let mut from = vec![0; perm.len()];
        perm.iter().zip(index).for_each(|(axis, at)| from[*axis] = *at);
        tensors.read(0, &from)
    });
}

fn slice(tensors: &mut Tensors<'_>, cuts: &[Cut]) {
    tensors.each(0, |tensors, index| {
        let mut from = index.to_vec();
        for cut in cuts {
            let steps = cut.step.wrapping_mul(index[cut.axis].cast_signed() as i64);
            from[cut.axis] = cut.start.wrapping_add_signed(steps) as usize;
        }
        tensors.read(0, &from)
    });
}

fn split(tensors: &mut Tensors<'_>, axis: usize) {
    let mut start = 0;
    for output in 0..tensors.outputs() {
        tensors.each(output, |tensors, index| {
            let mut from = index.to_vec();
            from[axis] += start;
            tensors.read(0, &from)
        });
        start += tensors.output(output).map_or(0, |dims| dims[axis]);
    }
}

fn concat(tensors: &mut Tensors<'_>, axis: usize) {
    tensors.each(0, |tensors, index| {
        let mut from = index.to_vec();
        let mut input = 0;
        while tensors.input(input).is_some_and(|dims| from[axis] >= dims[axis]) {
            from[axis] -= tensors.dims(input)[axis];
            input += 1;
        }
        tensors.read(input, &from)
    });
}

fn softmax(tensors: &mut Tensors<'_>, salt: u64) {
    let last = tensors.dims(0).len().saturating_sub(1);
    tensors.each_row(&[last], |tensors, row| {
        let all: Vec<u64> = row.iter().map(|index| tensors.read(0, index)).collect();
        let sum = mix(all.iter().copied());
        all.iter().map(|number| mix([salt, sum, *number])).collect()
    });
}

fn conv(tensors: &mut Tensors<'_>, salt: u64) {
    let (image, each) = (tensors.dims(0)[1], tensors.dims(1)[1]);
    tensors.each(0, |tensors, index| {
        let channel = index[1];
        // Groups follow from how many channels the weights have.
        let per_group = tensors.dims(1)[0] / (image / each);
        let first = channel / per_group * each;
        let pairs = (0..each).flat_map(|k| {
            let (mut x, mut w): (Index, Index) = (index.to_vec(), vec![0; index.len()]);
            (x[1], w[0], w[1]) = (first + k, channel, k);
            [tensors.read(0, &x), tensors.read(1, &w)]
        });
        let sum = mix([salt].into_iter().chain(pairs));
        match tensors.input(2) {
            Some(_) => mix([sum, tensors.element(2, channel)]),
            None => sum,
        }
    });
}

/// The elements of the input that are in the same place, in proportion.
fn resize(tensors: &mut Tensors<'_>, salt: u64) {
    let (from, to) = (tensors.dims(0).to_vec(), tensors.output(0).expect("an output").to_vec());
    tensors.each(0, |tensors, index| {
        let mut places: Vec<Index> = vec![Vec::new()];
        for ((at, from), to) in index.iter().zip(&from).zip(&to) {
            let first = at * from / to;
            let range = first..((at + 1) * from / to).max(first + 1);
            let longer = |place: &Index| {
                let place = place.clone();
                range.clone().map(move |at| place.iter().copied().chain([at]).collect())
            };
            places = places.iter().flat_map(longer).collect();
        }
        mix([salt].into_iter().chain(places.iter().map(|place| tensors.read(0, place))))
    });
}
