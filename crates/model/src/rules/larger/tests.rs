//! Recurrence, attention, transforms and losses.

use plimsoll_graph::Dtype;

use super::super::tests::check;
use crate::model::{
    Attention, Cell, Custom, Direction, Effects, Loss, LossReduction, Operator, Recurrence,
    RotaryEmbedding,
};

#[test]
fn states_are_as_long_as_they_are_hidden() {
    let layer = |hidden, directions, batch_first| {
        let direction = if directions == 2 { Direction::Both } else { Direction::Reverse };
        let cell = Recurrence::new(Cell::Lstm { input_forget: false });
        Operator::Recurrent(Recurrence { hidden, direction, batch_first, ..cell })
    };
    let input = "f32[7, 2, 5]; f32[1, 32, 5]; f32[1, 32, 8]";
    check(&[
        (layer(Some(8), 1, false), input, "f32[7, 1, 2, 8]; f32[1, 2, 8]; f32[1, 2, 8]"),
        (layer(None, 1, true), input, "f32[7, 2, 1, 8]; f32[7, 1, 8]; f32[7, 1, 8]"),
        (layer(Some(8), 2, false), "f32[<=7, ?, 5]; f32; f32", "f32[<=7, 2, ?, 8]; f32[2, ?, 8]"),
        (layer(None, 1, false), "f32; f32; f32", "f32[?, 1, ?, ?]"),
        (layer(Some(9), 1, false), input, "error: 8 is not 9"),
        (layer(Some(9), 1, false), "f32[7, 2]; f32; f32", "error: 2 axes, not 3"),
    ]);
}

#[test]
fn heads_attend() {
    let attention = |query_heads, key_heads| {
        Operator::Attention(Attention { query_heads, key_heads, ..Attention::default() })
    };
    check(&[
        (
            attention(0, 0),
            "f16[2, 8, 5, 64]; f16[2, 4, 6, 64]; f32[2, 4, 6, 32]",
            "f16[2, 8, 5, 32]; f16[2, 4, 6, 64]; f32[2, 4, 6, 32]; f16[2, 8, 5, 6]",
        ),
        (
            attention(8, 4),
            "f16[2, 5, 512]; f16[2, 6, 256]; f16[2, 6, 128]",
            "f16[2, 5, 256]; f16[2, 4, 6, 64]; f16[2, 4, 6, 32]; f16[2, 8, 5, 6]",
        ),
        (
            attention(0, 0),
            "f16[2, 8, 1, 64]; f16[2, 8, 1, 64]; f16[2, 8, 1, 64]; - ; f16[2, 8, <=9, 64]; f16[2, 8, <=9, 64]",
            "f16[2, 8, 1, 64]; f16[2, 8, <=10, 64]; f16[2, 8, <=10, 64]; f16[2, 8, 1, <=10]",
        ),
        (attention(0, 0), "f16; f16[2, 4, 6, 64]; f32", "f16; f16; f32; f16"),
        (attention(0, 0), "f16[2, 5, 9]; f16[2, 5, 9]; f16[2, 5, 9]", "error: no number of heads"),
        (attention(2, 2), "f16[2, 5, 9]; f16[2, 5, 9]; f16[2, 5, 9]", "error: 9 in 2 heads"),
        (
            attention(0, 0),
            "f16[2, 8, 5, 64]; f16[2, 4, 6, 32]; f32[2, 4, 6, 32]",
            "error: queries of 64 against keys of 32",
        ),
        (
            Operator::RotaryEmbedding(RotaryEmbedding::default()),
            "f16[2, 8, 5, 64]; f16[9, 32]",
            "f16[2, 8, 5, 64]",
        ),
    ]);
}

#[test]
fn spectra_are_whole_or_half() {
    let fourier = |one_sided, inverse| Operator::Fourier { one_sided, inverse };
    check(&[
        (fourier(false, false), "f32[1, 10, 1]", "f32[1, 10, 2]"),
        (fourier(true, false), "f32[1, <=10, 1]", "f32[1, <=6, 2]"),
        (fourier(true, true), "f32[1, 5, 2]", "f32[1, 8, 1]"),
        (fourier(true, true), "f32[1, 5, 2]; i64[]{9}", "f32[1, 9, 1]"),
        (fourier(false, true), "f32[1, 5, 2]", "f32[1, 5, 2]"),
        (fourier(true, false), "f32[4, 5, 1]; i64[]{9}; i64[]{0}", "f32[5, 5, 2]"),
        (fourier(false, false), "f32[4, 5, 1]; - ; i64[]", "f32[?, ?, 2]"),
        (fourier(true, true), "f32[1, 0, 2]", "error: an empty spectrum"),
        (
            fourier(false, false),
            "f32[5, 1]; - ; i64[]{-1}",
            "error: axis -1 holds real and imaginary parts",
        ),
        (fourier(false, false), "f32[5]", "error: axis -2 of 1 axes"),
        (fourier(false, false), "f32[]", "error: a scalar has no real part"),
    ]);
}

#[test]
fn frames_lie_on_signals() {
    let short = |one_sided| Operator::ShortFourier { one_sided };
    let mel = || Operator::MelWeights(Dtype::F32);
    check(&[
        (short(true), "f32[1, 10, 1]; i64[]{3}; f32[4]", "f32[1, 3, 3, 2]"),
        (short(false), "f32[1, <=10, 1]; i64[]{3}; - ; i64[]{6}", "f32[1, <=2, 6, 2]"),
        (short(true), "f32[2, 10]; i64[]{3}; f32[4]", "f32[2, 3, 3, 2]"),
        (short(false), "f32[?, <=10]; i64[]{3}; - ; i64[]{6}", "f32[?, <=2, 6, 2]"),
        (short(true), "f32[10]; i64[]{3}; f32[4]", "error: 1 axes, not 3"),
        (
            short(true),
            "f32[2, 10, 3]; i64[]{3}; f32[4]",
            "error: numbers of 3 parts, neither real nor complex",
        ),
        (short(true), "f32[1, 10, 1]; i64[]; f32[4]", "f32[1, ?, 3, 2]"),
        (short(true), "f32[1, 10, 1]; i64[]{3}; f32[4]; i64[]{6}", "error: 4 is not 6"),
        (short(true), "f32[1, 10, 1]; i64[]{0}; f32[4]", "error: a step of 0"),
        (short(true), "f32[1, 3, 1]; i64[]{1}; f32[4]", "error: frames of 4 on 3"),
        (mel(), "i64[]{8}; i64[]{16}; i64[]; f32[]; f32[]", "f32[9, 8]"),
        (mel(), "i64[]{8}; i64[]; i64[]; f32[]; f32[]", "f32[?, 8]"),
    ]);
}

#[test]
fn losses_are_one_or_many() {
    let loss = |reduced| {
        let reduction = if reduced { LossReduction::Mean } else { LossReduction::None };
        Operator::Loss(Loss { softmax: false, reduction, ignore: None })
    };
    check(&[
        (loss(true), "f32[2, 5, 7]; i64[2, 7]", "f32[]; f32[2, 5, 7]"),
        (loss(false), "f32[?, 5, 7]; i64[2, ?]", "f32[2, 7]; f32[?, 5, 7]"),
        (loss(false), "f32; i64[2]", "f32[2]"),
        (loss(false), "f32[2, 5]; i64[3]", "error: 2 is not 3"),
        (loss(false), "f32[2, 5]; i64[2, 2]", "error: labels of 2 axes, not 1"),
        (loss(false), "f32[2]; i64[2]", "error: scores without classes"),
        (Operator::Det, "f32[?, 3, 3]", "f32[?]"),
        (Operator::Det, "f32[3, ?]", "f32[]"),
        (Operator::Det, "f32[3, 4]", "error: 3 is not 4"),
        (Operator::Det, "f32[3]", "error: 1 axes, not those of a matrix"),
    ]);
}

#[test]
fn others_say_what_they_are_like() {
    let like = vec![None, Some(1), Some(7)];
    let custom = Operator::Custom(Custom { like, effects: Effects::Unknown });
    check(&[(custom, "f32[2]; i8[3]", "?; i8[3]; ?; ?")]);
}
