//! What a convolution reads through: its operand is made where it is read, and computes what it computes by itself.

use plimsoll_model::testing::ModelBuilder;
use plimsoll_model::{
    Convolution, Coordinates, FusedStep, Interpolation, Model, Nearest, Operator, PadMode, Padding,
    Resize, TensorId, Unary,
};
use plimsoll_run::{Fuse, Options, SeededWeights, Session};

use crate::fused::{ADD, MUL, all, as_one, batch_norm, conv, unary};

const IMAGE: [u64; 4] = [2, 6, 9, 11];

/// A convolution by steps of `stride`, without padding of its own.
fn bare_conv(build: &mut ModelBuilder, x: TensorId, dims: [u64; 4], stride: u64) -> TensorId {
    let mut conv = Convolution::default();
    conv.windows.padding = Padding::Valid;
    conv.windows.strides = vec![stride; 2];
    let w = build.weight(&dims);
    build.node(Operator::Conv(conv), &[x, w])
}

fn resize(build: &mut ModelBuilder, x: TensorId, mode: Interpolation, to: [i64; 2]) -> TensorId {
    let resize = Resize { mode, coordinates: Coordinates::HalfPixel, ..Resize::default() };
    let dims = build.ints(&[2, 6, to[0], to[1]]);
    let nothing = build.weight(&[0]);
    build.node(Operator::Resize(resize), &[x, nothing, nothing, dims])
}

#[test]
fn functions_of_elements_are_computed_where_convolutions_read_them() {
    for [group, size] in [[1, 1], [1, 3], [2, 3], [3, 5]] {
        for gated in [false, true] {
            let mut build = ModelBuilder::default();
            let (x, gate) = (build.input(&IMAGE), build.input(&[2, 6, 1, 1]));
            let a = batch_norm(&mut build, x, 6);
            let b = build.node(unary(Unary::Relu), &[a]);
            let b = if gated { build.node(MUL, &[b, gate]) } else { b };
            let c = conv(&mut build, b, [6, 12, group, size]);
            let y = build.node(unary(Unary::Relu), &[c]);
            all(&build.finish(&[y]));
        }
    }
}

#[test]
fn what_is_computed_again_has_no_bytes() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 16, 32, 32]);
    let t = build.node(unary(Unary::Tanh), &[x]);
    let a = batch_norm(&mut build, t, 16);
    let b = build.node(unary(Unary::Relu), &[a]);
    let c = conv(&mut build, b, [16, 16, 1, 1]);
    let y = build.node(ADD, &[c, t]);
    let model = build.finish(&[y]);
    let image = 16 * 32 * 32 * 4;
    let (fused, alone) = as_one(&model, &[1, 2, 3, 4]);
    assert!((2 * image..3 * image).contains(&fused), "{fused}");
    assert!(alone >= 3 * image, "{alone}");
}

#[test]
fn edges_are_read_through() {
    for (pads, stride) in [([1, 2, 3, 0], 1), ([0, 1, 2, 1], 2), ([-1, 0, 1, -2], 1)] {
        let mut build = ModelBuilder::default();
        let x = build.input(&IMAGE);
        let pads = build.ints(&[0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]]);
        let edge = build.float(0.5);
        let a = build.node(Operator::Pad(PadMode::Constant), &[x, pads, edge]);
        let y = bare_conv(&mut build, a, [8, 6, 3, 2], stride);
        all(&build.finish(&[y]));
    }
}

#[test]
fn tensors_side_by_side_are_read_through() {
    let mut build = ModelBuilder::default();
    let (x, z) = (build.input(&IMAGE), build.input(&[2, 5, 9, 11]));
    let a = build.node(unary(Unary::Tanh), &[z]);
    let b = build.node(Operator::Concat { axis: 1 }, &[x, a, x]);
    let c = build.node(unary(Unary::Relu), &[b]);
    let y = bare_conv(&mut build, c, [7, 17, 3, 3], 1);
    let model = build.finish(&[y]);
    all(&model);
    as_one(&model, &[1, 2, 3]);
}

#[test]
fn interpolations_are_read_through() {
    let modes = [Interpolation::Nearest(Nearest::default()), Interpolation::Linear];
    for mode in modes {
        for to in [[18, 22], [9, 16], [5, 11], [4, 7]] {
            let mut build = ModelBuilder::default();
            let x = build.input(&IMAGE);
            let a = resize(&mut build, x, mode, to);
            let b = build.node(unary(Unary::Tanh), &[a]);
            let y = bare_conv(&mut build, b, [7, 6, 3, 3], 1);
            all(&build.finish(&[y]));
        }
    }
}

/// A larger image, a skip and a convolution: what networks that segment end with.
fn upsampled() -> Model {
    let mut build = ModelBuilder::default();
    let x = build.input(&IMAGE);
    let skip = build.input(&[2, 4, 18, 22]);
    let t = build.node(unary(Unary::Tanh), &[x]);
    let a = resize(&mut build, t, Interpolation::Nearest(Nearest::Floor), [18, 22]);
    let s = build.node(unary(Unary::Tanh), &[skip]);
    let b = build.node(Operator::Concat { axis: 1 }, &[a, s]);
    let y = conv(&mut build, b, [10, 3, 1, 3]);
    build.finish(&[y])
}

#[test]
fn layouts_of_layouts_are_read_through_where_that_needs_less() {
    let model = upsampled();
    as_one(&model, &[1, 2, 3, 4]);
    let weights = SeededWeights::new(&model, &(), 1);
    let session = Session::new(&model, &weights, &Options::default()).unwrap();
    let read_through = session.fused().iter().any(|step| step.nodes.contains(&3));
    assert!(read_through, "{:?}", session.fused());
}

#[test]
fn what_cannot_be_made_where_it_is_read_is_refused() {
    let refused = |model: &Model, nodes: &[usize]| {
        let mut options = Options::default();
        options.fuse = Fuse::Steps(vec![FusedStep { nodes: nodes.to_vec() }]);
        let weights = SeededWeights::new(model, &(), 1);
        Session::new(model, &weights, &options).err().unwrap().to_string()
    };
    let said = "a step cannot be fused: there is no kernel that ends with node";
    // Depthwise: planes are read in bands.
    let mut build = ModelBuilder::default();
    let x = build.input(&IMAGE);
    let a = build.node(unary(Unary::Relu), &[x]);
    let y = conv(&mut build, a, [6, 6, 6, 3]);
    assert_eq!(refused(&build.finish(&[y]), &[0, 1]), format!("{said} `t4`"));
    // A product of matrices.
    let mut build = ModelBuilder::default();
    let x = build.input(&[5, 6]);
    let a = build.node(unary(Unary::Relu), &[x]);
    let w = build.weight(&[6, 7]);
    let y = build.node(Operator::MatMul, &[a, w]);
    assert_eq!(refused(&build.finish(&[y]), &[0, 1]), format!("{said} `t3`"));
    // Rows side by side.
    let mut build = ModelBuilder::default();
    let x = build.input(&IMAGE);
    let a = build.node(Operator::Concat { axis: 2 }, &[x, x]);
    let y = conv(&mut build, a, [6, 6, 1, 3]);
    assert_eq!(refused(&build.finish(&[y]), &[0, 1]), format!("{said} `t4`"));
}
