//! Operators that move elements by places that are computed.

use plimsoll_graph::testing::{Index, Tensors, ints, mix};

use super::{At, axis, place};

pub(super) fn run(at: &At<'_>, tensors: &mut Tensors<'_>) -> bool {
    match at.node.op_type() {
        "Gather" => gather(at, tensors),
        "GatherElements" => gather_elements(at, tensors),
        "GatherND" => gather_nd(at, tensors),
        "ScatterElements" => scatter_elements(at, tensors),
        "ScatterND" => scatter_nd(at, tensors),
        "TensorScatter" => tensor_scatter(at, tensors),
        "ReverseSequence" => reverse_sequence(at, tensors),
        "OneHot" => one_hot(at, tensors),
        _ => return false,
    }
    true
}

/// An element as a place on an axis.
fn place_at(tensors: &Tensors<'_>, input: usize, index: &[usize], dim: usize) -> usize {
    place(ints(&[tensors.read(input, index)])[0], dim)
}

fn gather(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(0, tensors.dims(0).len());
    let rank = tensors.dims(1).len();
    tensors.each(0, |tensors, index| {
        let dim = tensors.dims(0)[along];
        let mut from = index[..along].to_vec();
        from.push(place_at(tensors, 1, &index[along..along + rank], dim));
        from.extend(&index[along + rank..]);
        tensors.read(0, &from)
    });
}

fn gather_elements(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(0, tensors.dims(0).len());
    tensors.each(0, |tensors, index| {
        let mut from = index.to_vec();
        from[along] = place_at(tensors, 1, index, tensors.dims(0)[along]);
        tensors.read(0, &from)
    });
}

fn gather_nd(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let batch = at.int("batch_dims", 0) as usize;
    let outer = tensors.dims(1).len() - 1;
    tensors.each(0, |tensors, index| {
        let mut from = index[..batch].to_vec();
        from.extend(coordinates(tensors, &index[..outer], batch));
        from.extend(&index[outer..]);
        tensors.read(0, &from)
    });
}

/// The places that a row of input 1 names on the axes of input 0 from one on.
fn coordinates(tensors: &Tensors<'_>, row: &[usize], first: usize) -> Index {
    let count = *tensors.dims(1).last().expect("rows of places");
    let coordinate = |k: usize| {
        let index: Index = row.iter().copied().chain([k]).collect();
        place_at(tensors, 1, &index, tensors.dims(0)[first + k])
    };
    (0..count).map(coordinate).collect()
}

/// Copies input 0, then puts the elements of input 2 where they belong, one after another.
fn scatter(at: &At<'_>, tensors: &mut Tensors<'_>, to: impl Fn(&Tensors<'_>, &[usize]) -> Index) {
    tensors.same();
    let (dims, updates) = (tensors.dims(0).to_vec(), tensors.dims(2).to_vec());
    let adds = at.text("reduction", "none") != "none";
    for index in places(&updates) {
        let to = to(tensors, &index);
        let element = dims.iter().zip(&to).fold(0, |element, (dim, at)| element * dim + at);
        let update = tensors.read(2, &index);
        let number = if adds { mix([tensors.written(0, element), update]) } else { update };
        tensors.write(0, element, number);
    }
}

/// Every place of a tensor, in order.
fn places(dims: &[usize]) -> Vec<Index> {
    let longer = |places: Vec<Index>, dim: &usize| {
        let all = places.iter().flat_map(|place| (0..*dim).map(move |at| (place.clone(), at)));
        all.map(|(mut place, at)| {
            place.push(at);
            place
        })
        .collect()
    };
    dims.iter().fold(vec![Vec::new()], longer)
}

fn scatter_elements(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(0, tensors.dims(0).len());
    scatter(at, tensors, |tensors, index| {
        let mut to = index.to_vec();
        to[along] = place_at(tensors, 1, index, tensors.dims(0)[along]);
        to
    });
}

fn scatter_nd(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let outer = tensors.dims(1).len() - 1;
    scatter(at, tensors, |tensors, index| {
        let mut to = coordinates(tensors, &index[..outer], 0);
        to.extend(&index[outer..]);
        to
    });
}

fn tensor_scatter(at: &At<'_>, tensors: &mut Tensors<'_>) {
    tensors.same();
    let (dims, updates) = (tensors.dims(0).to_vec(), tensors.dims(1).to_vec());
    let along = at.axis(-2, dims.len());
    for index in places(&updates) {
        let start = tensors.input(2).map_or(0, |_| ints(&[tensors.element(2, index[0])])[0]);
        let mut to = index.clone();
        to[along] = place(start + index[along] as i64, dims[along]);
        let element = dims.iter().zip(&to).fold(0, |element, (dim, at)| element * dim + at);
        let update = tensors.read(1, &index);
        tensors.write(0, element, update);
    }
}

fn reverse_sequence(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let batch = axis(at.int("batch_axis", 1), rank);
    let time = axis(at.int("time_axis", 0), rank);
    tensors.each(0, |tensors, index| {
        let dim = tensors.dims(0)[time];
        let length = 1 + place_at(tensors, 1, &[index[batch]], dim);
        let mut from = index.to_vec();
        if from[time] < length {
            from[time] = length - 1 - from[time];
        }
        tensors.read(0, &from)
    });
}

fn one_hot(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(-1, tensors.output(0).expect("an output").len());
    let depth = tensors.output(0).expect("an output")[along];
    tensors.each(0, |tensors, index| {
        let mut from = index.to_vec();
        let own = from.remove(along);
        let is_hot = own == place_at(tensors, 0, &from, depth);
        tensors.element(2, usize::from(is_hot))
    });
}
