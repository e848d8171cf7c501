//! Operands whose lengths do not fit, each beside one that does.

use plimsoll_graph::Dtype;

use super::check;
use crate::model::{
    BatchNorm, Cell, Convolution, Gemm, LayerNorm, Norm, Operator, Quantization, Recurrence, Update,
};

#[test]
fn there_is_one_bias_and_one_scale_for_each_channel() {
    let conv = || Operator::Conv(Convolution::default());
    let deformed = Operator::DeformConv { conv: Convolution::default(), offset_groups: 1 };
    let transposed = Operator::ConvTranspose {
        conv: Convolution::default(),
        output_padding: Vec::new(),
        output_dims: None,
    };
    let gemm = || Operator::Gemm(Gemm::default());
    let norm = || Operator::LayerNorm(LayerNorm::default());
    let instance = || Operator::Norm(Norm::Instance { epsilon: 1e-5 });
    let grouped = |by_group| {
        let (groups, epsilon, stash) = (2, 1e-5, Dtype::F32);
        Operator::Norm(Norm::Group { groups, epsilon, stash, by_group })
    };
    let rms = || Operator::Norm(Norm::Rms { axis: -1, epsilon: 1e-5, stash: Dtype::F32 });
    let five = "error: operand 2 has 5 elements, not 4";
    check(&[
        (conv(), "f32[1, 3, 8]; f32[4, 3, 3]; f32[4]", "f32[1, 4, 6]"),
        (conv(), "f32[1, 3, 8]; f32[4, 3, 3]; f32[5]", five),
        (conv(), "f32[1, 3, 8]; f32[4, 3, 3]; f32[4, 1]", "error: 2 axes, not 1"),
        (transposed, "f32[1, 3, 8]; f32[3, 4, 3]; f32[5]", five),
        (
            deformed,
            "f32[1, 3, 8]; f32[4, 3, 3]; f32[1, 3, 6]; f32[5]",
            "error: operand 3 has 5 elements, not 4",
        ),
        (
            Operator::BatchNorm(BatchNorm::default()),
            "f32[1, 3, 8]; f32[3]; f32[3]; f32[4]; f32[3]",
            "error: operand 3 has 4 elements, not 3",
        ),
        (instance(), "f32[1, 4, 8]; f32[4]; f32[4]", "f32[1, 4, 8]"),
        (instance(), "f32[1, 4, 8]; f32[4]; f32[5]", five),
        (grouped(false), "f32[1, 4, 8]; f32[4]; f32[4]", "f32[1, 4, 8]"),
        (grouped(false), "f32[1, 4, 8]; f32[4]; f32[5]", five),
        (grouped(true), "f32[1, 4, 8]; f32[2]; f32[2]", "f32[1, 4, 8]"),
        (grouped(true), "f32[1, 4, 8]; f32[4]; f32[4]", "error: operand 1 has 4 elements, not 2"),
        (rms(), "f32[2, 8]; f32[8]", "f32[2, 8]"),
        (rms(), "f32[2, 8]; f32[7]", "error: operand 1 is [7], which does not broadcast to [2, 8]"),
        (gemm(), "f32[2, 3]; f32[3, 4]; f32[1, 4]", "f32[2, 4]"),
        (gemm(), "f32[2, 3]; f32[3, 4]; f32[2, 1]", "f32[2, 4]"),
        (
            gemm(),
            "f32[2, 3]; f32[3, 4]; f32[2]",
            "error: operand 2 is [2], which does not broadcast to [2, 4]",
        ),
        (norm(), "f32[2, 8]; f32[8]", "f32[2, 8]"),
        (
            norm(),
            "f32[2, 8]; f32[7]",
            "error: operand 1 is [7], which does not broadcast to [2, 8]",
        ),
        (
            Operator::Quantize(Quantization::default()),
            "f32[3, 4]; f32[4]; u8[3]",
            "error: 3 zero points for 4 scales",
        ),
        (Operator::Clip, "f32[4]; f32[]; f32[1]", "f32[4]"),
        (Operator::Clip, "f32[4]; f32[2]", "error: operand 1 has 2 elements, not 1"),
    ]);
}

#[test]
fn updates_are_as_long_as_their_places() {
    let elements = || Operator::ScatterElements { axis: 0, update: Update::Replace };
    check(&[
        (elements(), "f32[4, 8]; i64[2, 8]; f32[2, 8]", "f32[4, 8]"),
        (elements(), "f32[4, 8]; i64[2, 8]; f32[2, 7]", "error: 8 is not 7"),
        (elements(), "f32[4, 8]; i64[2]; f32[2]", "error: 1 axes, not 2"),
        (Operator::ScatterNd(Update::Replace), "f32[4, 8]; i64[2, 1]; f32[2, 8]", "f32[4, 8]"),
        (
            Operator::ScatterNd(Update::Replace),
            "f32[4, 8]; i64[2, 1]; f32[2, 7]",
            "error: 8 is not 7",
        ),
        (
            Operator::ScatterNd(Update::Replace),
            "f32[4]; i64[2, 2]; f32[2]",
            "error: 2 coordinates for 1 axes",
        ),
        (
            Operator::OneHot { axis: -1 },
            "i64[2]; i64[]{4}; f32[3]",
            "error: operand 2 has 3 elements, not 2",
        ),
        (
            Operator::NonMaxSuppression { centered: false },
            "f32[1, 6, 5]; f32[1, 1, 6]",
            "error: 5 is not 4",
        ),
        (
            Operator::TopK { axis: 0, largest: true, sorted: true },
            "f32[8]; i64[2]",
            "error: operand 1 has 2 elements, not 1",
        ),
    ]);
}

#[test]
fn weights_of_a_layer_fit_its_input_and_each_other() {
    let layer =
        || Operator::Recurrent(Recurrence { hidden: Some(4), ..Recurrence::new(Cell::Rnn) });
    check(&[
        (layer(), "f32[5, 1, 3]; f32[1, 16, 3]; f32[1, 16, 4]; f32[1, 32]", "f32[5, 1, 1, 4]"),
        (layer(), "f32[5, 1, 3]; f32[1, 16, 4]; f32[1, 16, 4]", "error: 4 is not 3"),
        (layer(), "f32[5, 1, 3]; f32[1, 12, 3]; f32[1, 16, 4]", "error: 12 is not 16"),
        (layer(), "f32[5, 1, 3]; f32[2, 16, 3]; f32[1, 16, 4]", "error: 2 is not 1"),
        (layer(), "f32[5, 1, 3]; f32[1, 16, 3]; f32[1, 16, 4]; f32[1, 30]", "error: 30 is not 32"),
    ]);
}
