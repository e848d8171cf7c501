//! Operators that move elements by what is known beforehand.

use plimsoll_graph::testing::{Index, Tensors, mix};

use super::{At, axis};

pub(super) fn run(at: &At<'_>, tensors: &mut Tensors<'_>) -> bool {
    match at.node.op_type() {
        "Flatten" | "Identity" | "Reshape" | "Squeeze" | "Unsqueeze" => tensors.same(),
        "Transpose" => transpose(at, tensors),
        "Slice" => slice(at, tensors),
        "Split" => split(at, tensors),
        "Concat" => concat(at, tensors),
        "Expand" => tensors.each(0, |tensors, index| tensors.broadcast(0, index)),
        "Tile" => tile(tensors),
        "Pad" => pad(at, tensors),
        "DepthToSpace" => depth_to_space(at, tensors),
        "SpaceToDepth" => space_to_depth(at, tensors),
        "Trilu" => trilu(at, tensors),
        "RandomNormal" | "RandomNormalLike" => {
            tensors.each(0, |_, index| mix(index.iter().map(|at| *at as u64)));
        }
        _ => return false,
    }
    true
}

fn transpose(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let reversed = || (0..rank as i64).rev().collect();
    let perm: Vec<i64> = at.ints("perm").unwrap_or_else(reversed);
    tensors.each(0, |tensors, index| {
        let mut from = vec![0; rank];
        perm.iter().zip(index).for_each(|(axis, at)| from[*axis as usize] = *at);
        tensors.read(0, &from)
    });
}

fn slice(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let starts = at.numbers("starts", tensors, 1).expect("starts");
    let axes = at.numbers("axes", tensors, 3);
    let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = tensors.ints(4).unwrap_or_else(|| vec![1; starts.len()]);
    tensors.each(0, |tensors, index| {
        let mut from = index.to_vec();
        for ((start, of), step) in starts.iter().zip(&axes).zip(&steps) {
            let of = axis(*of, rank);
            let dim = tensors.dims(0)[of] as i64;
            let start = if *start < 0 { start + dim } else { *start };
            let start = start.clamp(0, if *step < 0 { dim - 1 } else { dim });
            from[of] = (start + step * index[of] as i64) as usize;
        }
        tensors.read(0, &from)
    });
}

fn split(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(0, tensors.dims(0).len());
    let mut start = 0;
    for output in 0..tensors.outputs() {
        tensors.each(output, |tensors, index| {
            let mut from = index.to_vec();
            from[along] += start;
            tensors.read(0, &from)
        });
        start += tensors.output(output).expect("every part is wanted")[along];
    }
}

fn concat(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let along = at.axis(0, tensors.output(0).expect("an output").len());
    tensors.each(0, |tensors, index| {
        let mut from = index.to_vec();
        let mut input = 0;
        while from[along] >= tensors.dims(input)[along] {
            from[along] -= tensors.dims(input)[along];
            input += 1;
        }
        tensors.read(input, &from)
    });
}

fn tile(tensors: &mut Tensors<'_>) {
    tensors.each(0, |tensors, index| {
        let from: Index = index.iter().zip(tensors.dims(0)).map(|(at, dim)| at % dim).collect();
        tensors.read(0, &from)
    });
}

fn pad(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let pads = at.numbers("pads", tensors, 1).expect("pads");
    let axes = tensors.ints(3).unwrap_or_else(|| (0..rank as i64).collect());
    let mut before = vec![0; rank];
    axes.iter().zip(&pads).for_each(|(of, pad)| before[axis(*of, rank)] = *pad);
    let mode = at.text("mode", "constant");
    let filled = |tensors: &Tensors<'_>| tensors.input(2).map_or(0, |_| tensors.element(2, 0));
    tensors.each(0, |tensors, index| {
        let place = |of: usize| {
            let dim = tensors.dims(0)[of] as i64;
            let place = index[of] as i64 - before[of];
            let place = match &mode[..] {
                "edge" => place.clamp(0, dim - 1),
                "wrap" => place.rem_euclid(dim),
                "reflect" if dim == 1 => 0,
                "reflect" => {
                    let place = place.rem_euclid(2 * dim - 2);
                    if place < dim { place } else { 2 * dim - 2 - place }
                }
                _ => place,
            };
            (0..dim).contains(&place).then_some(place as usize)
        };
        let from: Option<Index> = (0..rank).map(place).collect();
        from.map_or_else(|| filled(tensors), |from| tensors.read(0, &from))
    });
}

fn depth_to_space(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let block = at.int("blocksize", 1) as usize;
    let by_columns = at.text("mode", "DCR") == "CRD";
    let channels = tensors.output(0).expect("an output")[1];
    tensors.each(0, |tensors, index| {
        let &[n, c, h, w] = index else { panic!("an image") };
        let within = h % block * block + w % block;
        let from = if by_columns { c * block * block + within } else { within * channels + c };
        tensors.read(0, &[n, from, h / block, w / block])
    });
}

fn space_to_depth(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let block = at.int("blocksize", 1) as usize;
    let channels = tensors.dims(0)[1];
    tensors.each(0, |tensors, index| {
        let &[n, c, h, w] = index else { panic!("an image") };
        let within = c / channels;
        let (row, column) = (h * block + within / block, w * block + within % block);
        tensors.read(0, &[n, c % channels, row, column])
    });
}

fn trilu(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let upper = at.flag("upper", true);
    let k = tensors.ints(1).map_or(0, |k| k[0]);
    tensors.each(0, |tensors, index| {
        let (row, column) = (index[index.len() - 2] as i64, index[index.len() - 1] as i64);
        let kept = if upper { column >= row + k } else { column <= row + k };
        if kept { tensors.read(0, index) } else { 0 }
    });
}
