//! Convolutions and pools.

use plimsoll_graph::Dim;

use super::super::tests::check;
use super::{Ceil, Lane};
use crate::model::{Convolution, GlobalPooling, Operator, Padding, Pool, Pooling, Windows};

fn windows(kernel: &[u64], strides: &[u64], pads: &[i64]) -> Windows {
    Windows {
        kernel: kernel.to_vec(),
        strides: strides.to_vec(),
        dilations: Vec::new(),
        padding: Padding::Given(pads.to_vec()),
    }
}

fn conv(strides: &[u64], pads: &[i64]) -> Operator {
    Operator::Conv(Convolution { windows: windows(&[], strides, pads), group: 1 })
}

fn padded(padding: Padding, strides: &[u64]) -> Convolution {
    Convolution { windows: Windows { padding, ..windows(&[], strides, &[]) }, group: 1 }
}

#[test]
fn windows_of_weights_lie_on_the_axes() {
    let in_groups = |group| Convolution { windows: Windows::default(), group };
    let grouped = Operator::Conv(in_groups(2));
    let transposed = |group| Operator::ConvTranspose {
        conv: in_groups(group),
        output_padding: Vec::new(),
        output_dims: None,
    };
    let dilated = Convolution {
        windows: Windows { dilations: vec![2], ..windows(&[3], &[], &[]) },
        group: 1,
    };
    check(&[
        (conv(&[], &[]), "f32[1, 3, 8, 9]; f32[5, 3, 3, 2]; f32[5]", "f32[1, 5, 6, 8]"),
        (conv(&[2, 2], &[1, 1, 1, 1]), "f32[?, 3, 8, <=9]; f32[5, 3, 3, 3]", "f32[?, 5, 4, <=5]"),
        (Operator::Conv(dilated), "f32[1, 3, 8]; f32[5, 3, 3]", "f32[1, 5, 4]"),
        (grouped.clone(), "f32[1, 6, 8]; f32[4, 3, 1]", "f32[1, 4, 8]"),
        (grouped.clone(), "f32[1, 6, 8]; f32[4, 4, 1]", "error: 6 channels in 2 groups of 4"),
        (grouped, "f32[1, 6, 8]; f32[5, 3, 1]", "error: 5 channels in 2 groups"),
        (Operator::Conv(in_groups(0)), "f32[1, 6, 8]; f32[4, 6, 1]", "error: channels in 0 groups"),
        (transposed(0), "f32[1, 6, 8]; f32[6, 4, 1]", "error: channels in 0 groups"),
        (transposed(4), "f32[1, 6, 8]; f32[6, 4, 1]", "error: 6 channels in 4 groups"),
        (transposed(3), "f32[1, 6, 8]; f32[6, 4, 1]", "f32[1, 12, 8]"),
        (conv(&[], &[]), "f32; f32[5, 3, 3]", "f32[?, 5, ?]"),
        (conv(&[], &[]), "f32[1, 3, 8]; f32", "f32[1, ?, ?]"),
        (conv(&[], &[]), "f32; f32", "f32"),
        (conv(&[], &[]), "f32[1, 3, 2]; f32[5, 3, 3]", "error: windows of 3 on 2"),
        (conv(&[], &[]), "f32[1, 3, 2]; f32[5, 3, 3, 3]", "error: 4 axes, not 3"),
        (conv(&[], &[]), "f32[1]; f32[5]", "error: 1 axes, not batch and channels"),
        (conv(&[0], &[]), "f32[1, 3, 8]; f32[5, 3, 3]", "error: strides of 0"),
        (conv(&[1, 1], &[]), "f32[1, 3, 8]; f32[5, 3, 3]", "error: 2 strides for 1 axes"),
        (conv(&[], &[1]), "f32[1, 3, 8]; f32[5, 3, 3]", "error: 1 pads for 1 axes"),
        (conv(&[], &[]), "f32[1, 3, 8]; f32[5, 3, 0]", "error: windows of 0"),
    ]);
}

#[test]
fn padding_may_follow_from_the_axis() {
    let conv = |padding, strides: &[u64]| Operator::Conv(padded(padding, strides));
    check(&[
        (conv(Padding::SameUpper, &[2]), "f32[1, 3, 7]; f32[5, 3, 3]", "f32[1, 5, 4]"),
        (conv(Padding::SameLower, &[3]), "f32[1, 3, <=7]; f32[5, 3, ?]", "f32[1, 5, <=3]"),
        (conv(Padding::Valid, &[2]), "f32[1, 3, 7]; f32[5, 3, 2]", "f32[1, 5, 3]"),
    ]);
}

#[test]
fn convolutions_have_other_types() {
    let plain = Convolution::default;
    check(&[
        (Operator::ConvInteger(plain()), "u8[1, 1, 3]; i8[1, 1, 2]", "i32[1, 1, 2]"),
        (
            Operator::QuantizedConv(plain()),
            "u8[1, 1, 3]; f32[]; u8[]; i8[2, 1, 2]; f32[]; i8[]; f32[]; i8[]",
            "i8[1, 2, 2]",
        ),
        (
            Operator::DeformConv { conv: plain(), offset_groups: 1 },
            "f32[1, 1, 3, 3]; f32[1, 1, 2, 2]; f32[1, 8, 2, 2]",
            "f32[1, 1, 2, 2]",
        ),
        (
            Operator::CausalConv(None),
            "f32[2, 8, <=5]; f32[8, 1, 4]",
            "f32[2, 8, <=5]; f32[2, 8, 3]",
        ),
        (Operator::CausalConv(None), "f32; f32[8, 1, 0]", "error: windows of 0"),
        (Operator::CausalConv(None), "f32; f32", "f32[?, ?, ?]; f32[?, ?, ?]"),
    ]);
}

#[test]
fn transposed_convolutions_spread() {
    let spread = |conv, more: &[u64], dims: Option<&[u64]>| Operator::ConvTranspose {
        conv,
        output_padding: more.to_vec(),
        output_dims: dims.map(<[u64]>::to_vec),
    };
    let plain = |strides: &[u64], pads: &[i64]| Convolution {
        windows: windows(&[], strides, pads),
        group: 2,
    };
    let input = "f32[1, 4, 5]; f32[4, 3, 3]";
    check(&[
        (spread(plain(&[], &[]), &[], None), input, "f32[1, 6, 7]"),
        (spread(plain(&[2], &[1, 1]), &[1], None), input, "f32[1, 6, 10]"),
        (spread(plain(&[2], &[]), &[1], Some(&[20])), input, "f32[1, 6, 20]"),
        (spread(padded(Padding::SameUpper, &[2]), &[1], None), input, "f32[1, 3, 10]"),
        (spread(plain(&[2], &[]), &[], None), "f32[?, 4, <=5]; f32[4, 3, 3]", "f32[?, 6, <=11]"),
        (spread(plain(&[2], &[]), &[], None), "f32[?, 4, 0]; f32[4, 3, 3]", "f32[?, 6, 1]"),
        (spread(plain(&[], &[9, 9]), &[], None), input, "error: 7 elements less 18"),
        (spread(plain(&[], &[]), &[1, 1], None), input, "error: 2 numbers for 1 axes"),
        (spread(plain(&[], &[]), &[], None), "f32[1, 5, 5]; f32[4, 3, 3]", "error: 5 is not 4"),
        (
            spread(plain(&[u64::MAX], &[]), &[u64::MAX], None),
            "f32[1, 4, 18446744073709551615]; f32[4, 3, 18446744073709551615]",
            "f32[1, 6, ?]",
        ),
    ]);
}

#[test]
fn pools_round_up_or_down() {
    let pool = |kernel: &[u64], strides: &[u64], pads: &[i64], ceil| {
        let windows = windows(kernel, strides, pads);
        Operator::Pool(Pool { pooling: Pooling::Max { column_major: false }, windows, ceil })
    };
    let auto = |padding, ceil| {
        let windows = Windows { padding, ..windows(&[3], &[2], &[]) };
        Operator::Pool(Pool { pooling: Pooling::Average { count_padding: false }, windows, ceil })
    };
    check(&[
        (pool(&[3], &[2], &[], false), "f32[1, 3, 6]", "f32[1, 3, 2]; i64[1, 3, 2]"),
        (pool(&[3], &[2], &[], true), "f32[1, 3, 6]", "f32[1, 3, 3]"),
        (pool(&[3], &[2], &[], true), "f32[1, 3, <=6]", "f32[1, 3, <=3]"),
        // Windows that would start in the padding at the end are dropped.
        (pool(&[2], &[3], &[1, 1], true), "f32[1, 3, 4]", "f32[1, 3, 2]"),
        (pool(&[2], &[3], &[0, 1], true), "f32[1, 3, 5]", "f32[1, 3, 2]"),
        (pool(&[3], &[2], &[0, 2], true), "f32[1, 3, 4]", "f32[1, 3, 2]"),
        (auto(Padding::SameUpper, true), "f32[1, 3, 7]", "f32[1, 3, 4]"),
        (auto(Padding::SameLower, false), "f32[1, 3, ?]", "f32[1, 3, ?]"),
        (auto(Padding::Valid, true), "f32[1, 3, 6]", "f32[1, 3, <=3]"),
        (auto(Padding::Valid, true), "f32[1, 3, 7]", "f32[1, 3, 3]"),
        (auto(Padding::Valid, false), "f32[1, 3, 6]", "f32[1, 3, 2]"),
        (pool(&[3], &[], &[], false), "f32", "f32[?, ?, ?]"),
        (pool(&[3], &[], &[], false), "f32[1, 3, 2]", "error: windows of 3 on 2"),
        (pool(&[3], &[], &[], false), "f32[1, 3, 5, 5]", "error: 4 axes, not 3"),
        (Operator::GlobalPool(GlobalPooling::Max), "f32[?, 3, 5, <=5]", "f32[?, 3, 1, 1]"),
        (Operator::GlobalPool(GlobalPooling::Max), "f32", "f32"),
    ]);
}

#[test]
fn more_elements_never_mean_fewer_windows() {
    for (kernel, stride) in (1..4).flat_map(|kernel| (1..5).map(move |stride| (kernel, stride))) {
        for (begin, end) in (0..3).flat_map(|begin| (0..3).map(move |end| (begin, end))) {
            let pads = Some((begin, end));
            let lane = Lane { kernel: Dim::Known(kernel), stride, dilation: 1, pads };
            for ceil in [Ceil::No, Ceil::Yes] {
                let found = |dim| match lane.windows(&Dim::Known(dim), ceil) {
                    Ok(Dim::Known(found)) => found,
                    _ => 0,
                };
                assert!((kernel..20).all(|dim| found(dim) <= found(dim + 1)), "{lane:?}");
            }
        }
    }
}

#[test]
fn pools_and_columns_go_back() {
    let back = |pads: &[i64]| Operator::MaxUnpool(windows(&[2, 2], &[2, 2], pads));
    let image = || Operator::Col2Im(Windows::default());
    check(&[
        (back(&[]), "f32[1, 3, 2, <=3]; i64[1, 3, 2, 3]", "f32[1, 3, 4, <=6]"),
        (back(&[0, 1, 0, 1]), "f32[1, 3, 2, 3]; i64[1, 3, 2, 3]", "f32[1, 3, 4, 4]"),
        (back(&[]), "f32[1, 3, 2, 2]; i64; i64[4]{1, 3, 5, 0..6}", "f32[1, 3, 5, <=6]"),
        (back(&[]), "f32[1, 3, 2, 2]; i64; i64", "f32[?, ?, ?, ?]"),
        (image(), "f32[2, 12, 9]; i64[2]{5, 6}; i64[2]{2, 3}", "f32[2, 2, 5, 6]"),
        (image(), "f32[2, 12, 9]; i64[2]{5, 6}; i64[2]", "f32[2, <=12, 5, 6]"),
        (image(), "f32[2, 12, 9]; i64; i64[2]{2, 3}", "f32[2, 2, ?, ?]"),
        (image(), "f32[2, 12, 9]; i64; i64", "f32"),
        (image(), "f32[2, 8, 9]; i64[2]{5, 6}; i64[2]{2, 3}", "error: 8 channels in blocks of 6"),
        (
            image(),
            "f32[2, 8, 9]; i64[2]{5, 6}; i64[1]{2}",
            "error: blocks of 1 axes in images of 2",
        ),
    ]);
}
