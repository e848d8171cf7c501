//! Gathered, scattered, chosen and found.

use super::super::tests::check;
use crate::model::{Operator, Update};

#[test]
fn slices_are_gathered() {
    let gather = |axis| Operator::Gather { axis };
    let elements = |axis| Operator::GatherElements { axis };
    check(&[
        (gather(0), "f32[9, 8]; i64[2, ?]", "f32[2, ?, 8]"),
        (gather(-1), "f32[9, 8]; i64[]", "f32[9]"),
        (gather(1), "f32[9, 8, 7]; i64[<=5]", "f32[9, <=5, 7]"),
        (gather(0), "f32[9, 8]; i64", "f32"),
        (gather(0), "f32; i64[2]", "f32"),
        (gather(2), "f32[9, 8]; i64[2]", "error: axis 2 of 2 axes"),
        (elements(0), "f32[9, 8]; i64[2, <=3]", "f32[2, <=3]"),
        (elements(0), "f32[9, 8]; i64", "f32"),
        (elements(0), "f32[9, 8]; i64[2]", "error: 1 axes, not 2"),
        (
            Operator::ScatterElements { axis: 0, update: Update::Replace },
            "f32[9, ?]; i64[2, 3]; f32[2, 3]",
            "f32[9, ?]",
        ),
        (Operator::ScatterNd(Update::Replace), "f32[9]; i64[1, 1]; f32[1]", "f32[9]"),
        (
            Operator::TensorScatter { axis: -2, circular: false },
            "f32[1, 2, 9, 4]; f32[1, 2, 1, 4]",
            "f32[1, 2, 9, 4]",
        ),
    ]);
}

#[test]
fn slices_are_gathered_at_coordinates() {
    let gather = |batch_dims| Operator::GatherNd { batch_dims };
    check(&[
        (gather(0), "f32[9, 8, 7]; i64[5, 2]", "f32[5, 7]"),
        (gather(0), "f32[9, 8, 7]; i64[?, 4, 3]", "f32[?, 4]"),
        (gather(1), "f32[2, 8, 7]; i64[<=2, 1]", "f32[2, 7]"),
        (gather(1), "f32[2, 8, 7]; i64[2, 6, 2]", "f32[2, 6]"),
        (gather(0), "f32[9, 8, 7]; i64[5, ?]", "f32"),
        (gather(0), "f32[9]; i64[5, 2]", "error: 2 coordinates for 1 axes"),
        (gather(1), "f32[2, 8]; i64[3, 1]", "error: 3 is not 2"),
        (gather(2), "f32[2, 8]; i64[2, 1]", "error: 2 batch axes of 2 axes"),
        (gather(u64::MAX), "f32[2]; i64[1]", "error: 18446744073709551615 batch axes of 1 axes"),
        (gather(0), "f32[2, 8]; i64[]", "error: indices without axes"),
    ]);
}

#[test]
fn one_axis_is_hot() {
    let one_hot = |axis| Operator::OneHot { axis };
    check(&[
        (one_hot(-1), "i64[2, ?]; i64[]{5}; f32[2]", "f32[2, ?, 5]"),
        (one_hot(0), "i64[2]; i64[1]{0..5}; i8[2]", "i8[<=5, 2]"),
        (one_hot(1), "i64[2, 3]; f32[1]{5}; f32[2]", "f32[2, 5, 3]"),
        (one_hot(-1), "i64[2]; i64[]; f32[2]", "f32[2, ?]"),
        (one_hot(-1), "i64; i64[]{5}; f32[2]", "f32"),
        (one_hot(2), "i64[2]; i64[]{5}; f32[2]", "error: axis 2 of 2 axes"),
        (one_hot(0), "i64[2]; i64[]{-5}; f32[2]", "error: a dim of -5"),
    ]);
}

#[test]
fn as_many_as_the_data_say() {
    let compress = |axis| Operator::Compress { axis };
    let unique = |axis| Operator::Unique { axis, sorted: true };
    check(&[
        (Operator::NonZero, "f32[3, <=4]", "i64[2, <=12]"),
        (Operator::NonZero, "f32[3, ?]", "i64[2, ?]"),
        (Operator::NonZero, "f32[]", "i64[<=1, <=1]"),
        (Operator::NonZero, "f32", "i64[?, ?]"),
        (compress(None), "f32[3, 4]; bool[5]", "f32[<=5]"),
        (compress(None), "f32[3, 4]; bool[50]", "f32[<=12]"),
        (compress(Some(0)), "f32[3, 4]; bool[?]", "f32[<=3, 4]"),
        (compress(Some(0)), "f32[3, 4]; bool[3]{1, 0, 1}", "f32[2, 4]"),
        (compress(Some(-1)), "f32[3, ?]; bool[3]", "f32[3, <=3]"),
        (compress(Some(2)), "f32[3, 4]; bool[3]", "error: axis 2 of 2 axes"),
        (unique(None), "f32[3, <=4]", "f32[<=12]; i64[<=12]; i64[<=12]; i64[<=12]"),
        (unique(None), "f32[3, 4]", "f32[<=12]; i64[<=12]; i64[12]; i64[<=12]"),
        (unique(Some(1)), "i8[3, 4]", "i8[3, <=4]; i64[<=4]; i64[4]; i64[<=4]"),
        (unique(None), "f32", "f32[?]; i64[?]; i64[?]; i64[?]"),
    ]);
}

#[test]
fn the_largest_are_at_most_all() {
    let top = |axis| Operator::TopK { axis, largest: true, sorted: true };
    check(&[
        (top(-1), "f32[2, 9]; i64[1]{3}", "f32[2, 3]; i64[2, 3]"),
        (top(-1), "f32[2, 9]; i64[1]", "f32[2, <=9]; i64[2, <=9]"),
        (top(0), "f32[?, 9]; i64[1]{0..4}", "f32[<=4, 9]; i64[<=4, 9]"),
        (top(0), "f32[<=9]; i64[1]{0..20}", "f32[<=9]; i64[<=9]"),
        (top(0), "f32[<=9]; i64[1]{3}", "f32[3]; i64[3]"),
        (top(0), "f32; i64[1]{3}", "f32; i64"),
        (top(0), "f32[2]; i64[1]{3}", "error: 3 of 2"),
    ]);
}

#[test]
fn boxes_are_few_for_each_class() {
    let nms = || Operator::NonMaxSuppression { centered: false };
    check(&[
        (nms(), "f32[2, 100, 4]; f32[2, 5, 100]; i64[]{10}", "i64[<=100, 3]"),
        (nms(), "f32[2, 6, 4]; f32[2, 5, 6]; i64[]{10}", "i64[<=60, 3]"),
        (nms(), "f32[2, ?, 4]; f32[2, 5, ?]; i64[]{10}", "i64[<=100, 3]"),
        (nms(), "f32[2, 6, 4]; f32[2, 5, 6]; i64[]", "i64[<=60, 3]"),
        (nms(), "f32[2, ?, 4]; f32[2, 5, ?]; i64[]", "i64[?, 3]"),
        (nms(), "f32[2, 6, 4]; f32[2, 5, 6]", "i64[0, 3]"),
        (nms(), "f32[2, 6, 4]; f32[2, 5, 6]; i64[]{-1}", "i64[<=0, 3]"),
        (nms(), "f32[2, 6, 4]; f32[2, 5, 7]; i64[]{10}", "error: 6 is not 7"),
        (nms(), "f32; f32; i64[]{9223372036854775807}", "i64[?, 3]"),
    ]);
}
