//! Reshape and its like.

use super::super::tests::check;
use crate::model::{DepthOrder, Operator};

const MAX: &str = "18446744073709551615";

#[test]
fn reshapes_copy_and_work_out_dims() {
    let reshape = || Operator::Reshape { allow_zero: false };
    let zeros = || Operator::Reshape { allow_zero: true };
    check(&[
        (reshape(), "f32[2, 3, 4]; i64[2]{4, 6}", "f32[4, 6]"),
        (reshape(), "f32[2, 3, 4]; i64[2]{0, -1}", "f32[2, 12]"),
        (reshape(), "f32[2, 3, 4]; i64[3]{-1, 0, 2}", "f32[4, 3, 2]"),
        (reshape(), "f32[]; i64[2]{1, -1}", "f32[1, 1]"),
        (reshape(), "f32[1]; i64[0]", "f32[]"),
        (reshape(), "f32[2, 3]; i64[1]", "f32[6]"),
        (reshape(), "f32[2, 3]; i64[2]", "f32[?, ?]"),
        (reshape(), "f32[2, 3]; i64[?]", "f32"),
        (reshape(), "f32[2, 3]; i64", "f32"),
        (reshape(), "f32; i64[2]{3, -1}", "f32[3, ?]"),
        (reshape(), "f32; i64[2]{0, 4}", "f32[?, 4]"),
        // The batch is on both sides.
        (reshape(), "f32[?, 3, 4]; i64[2]{0, -1}", "f32[?, 12]"),
        (reshape(), "f32[<=9, 3, 4]; i64[2]{0, -1}", "f32[<=9, 12]"),
        (reshape(), "f32[<=9, 3, 4]; i64[2]{-1, 6}", "f32[<=18, 6]"),
        (reshape(), "f32[?, 3, 4]; i64[2]{-1, 6}", "f32[?, 6]"),
        (reshape(), "f32[9, 8]; i64[3]{0..9, -1, 2}", "f32[<=9, <=36, 2]"),
        // One number that is not known.
        (reshape(), "f32[2, 12]; i64[3]{2, 1.., 4}", "f32[2, 3, 4]"),
        (reshape(), "f32[<=6, 4]; i64[2]{0..6, 4}", "f32[<=6, 4]"),
        (reshape(), "f32[<=6, 4]; i64[2]{0..3, 4}", "f32[<=6, 4]"),
        (reshape(), "f32[?, 4]; i64[2]{0..3, 4}", "f32[?, 4]"),
        (zeros(), "f32[?, 4]; i64[2]{0..3, 4}", "f32[<=3, 4]"),
        (reshape(), "f32[0, 4]; i64[2]{5, ?}", "f32[5, 0]"),
        (reshape(), "f32[0, 4]; i64[2]{0, ?}", "f32[0, ?]"),
        (zeros(), "f32[0, 4]; i64[2]{3, 0}", "f32[3, 0]"),
        (zeros(), "f32[0, 4]; i64[2]{3, -1}", "f32[3, 0]"),
        (reshape(), "f32[0, 4]; i64[2]{0, -1}", "f32[0, 4]"),
    ]);
}

#[test]
fn reshapes_that_do_not_fit_are_errors() {
    let reshape = || Operator::Reshape { allow_zero: false };
    check(&[
        (reshape(), "f32[2, 3]; i64[2]{4, 2}", "error: 6 elements cannot become 8"),
        (reshape(), "f32[2, 3]; i64[2]{4, -1}", "error: 6 elements in parts of 4"),
        (reshape(), "f32[2, 3]; i64[2]{4, 1..}", "error: 6 elements in parts of 4"),
        (reshape(), "f32[2, 3]; i64[2]{-1, -1}", "error: more than one dim of -1"),
        (reshape(), "f32[6]; i64[2]{3, 0}", "error: axis 1 of 1 axes"),
        (reshape(), "f32[6]; i64[2]{3, -2}", "error: a dim of -2"),
        (
            Operator::Reshape { allow_zero: true },
            "f32[0]; i64[2]{0, -1}",
            "error: a dim of -1 beside one of 0",
        ),
    ]);
    let wide = format!("f32[{MAX}, {MAX}]; i64[1]{{-1}}");
    check(&[(reshape(), &wide, "f32[?]")]);
    let wide = format!("f32[{MAX}, {MAX}]; i64[2]{{0, -1}}");
    check(&[(reshape(), &wide, &format!("f32[{MAX}, {MAX}]"))]);
}

#[test]
fn ones_come_and_go() {
    check(&[
        (Operator::Squeeze, "f32[1, 3, 1]", "f32[3]"),
        (Operator::Squeeze, "f32[1, ?, 1]", "f32"),
        (Operator::Squeeze, "f32[1, 3, 1]; i64[1]{-1}", "f32[1, 3]"),
        (Operator::Squeeze, "f32[?, <=3, 1]; i64[2]{0, 2}", "f32[<=3]"),
        (Operator::Squeeze, "f32[1, 3, 1]; i64[1]", "f32[?, ?]"),
        (Operator::Squeeze, "f32[1, 3, 1]; i64[2]", "f32"),
        (Operator::Squeeze, "f32[1, 3]; i64[0]", "f32"),
        (Operator::Squeeze, "f32[2, 3]; i64[0]", "f32[2, 3]"),
        (Operator::Squeeze, "f32[1, 3]; i64[1]{1}", "error: axis 1 has 3, not 1"),
        (Operator::Squeeze, "f32[1, 3]; i64[1]{2}", "error: axis 2 of 2 axes"),
        (Operator::Unsqueeze, "f32[2, ?]; i64[2]{0, -1}", "f32[1, 2, ?, 1]"),
        (Operator::Unsqueeze, "f32[]; i64[1]{0}", "f32[1]"),
        (Operator::Unsqueeze, "f32[2]; i64[1]", "f32[?, ?]"),
        (Operator::Unsqueeze, "f32[2]; i64[0]", "f32[2]"),
        (Operator::Unsqueeze, "f32[2]; i64", "f32"),
        (Operator::Unsqueeze, "f32[2]; i64[2]{0, -3}", "error: axis 0 twice"),
        (Operator::Unsqueeze, "f32[2]; i64[1]{3}", "error: axis 3 of 2 axes"),
    ]);
}

#[test]
fn axes_are_flattened_and_permuted() {
    let flatten = |axis| Operator::Flatten { axis };
    let transpose = |perm: &[usize]| Operator::Transpose(Some(perm.to_vec()));
    check(&[
        (flatten(1), "f32[2, 3, 4]", "f32[2, 12]"),
        (flatten(-1), "f32[2, 3, ?]", "f32[6, ?]"),
        (flatten(0), "f32[2, <=3]", "f32[1, <=6]"),
        (flatten(2), "f32[2, 3]", "f32[6, 1]"),
        (flatten(0), "f32[]", "f32[1, 1]"),
        (flatten(3), "f32", "f32[?, ?]"),
        (flatten(3), "f32[2, 3]", "error: axis 3 of 2 axes"),
        (Operator::Transpose(None), "f32[2, ?, 4]", "f32[4, ?, 2]"),
        (transpose(&[1, 0]), "f32[2, <=3]", "f32[<=3, 2]"),
        (transpose(&[1, 0]), "f32", "f32[?, ?]"),
        (transpose(&[1, 1]), "f32[2, 3]", "error: [1, 1] is not a permutation of 2 axes"),
        (transpose(&[0]), "f32[2, 3]", "error: [0] is not a permutation of 2 axes"),
    ]);
}

#[test]
fn dims_are_widened() {
    check(&[
        (Operator::Expand, "f32[3, 1]; i64[3]{2, 1, 4}", "f32[2, 3, 4]"),
        (Operator::Expand, "f32[3, 1]; i64[2]{0..3, 0..9}", "f32[3, <=9]"),
        (Operator::Expand, "f32[3, 1]; i64[1]", "f32[3, ?]"),
        (Operator::Expand, "f32[3, 1]; i64", "f32"),
        (Operator::Expand, "f32[3]; i64[1]{4}", "error: 3 and 4 do not broadcast"),
    ]);
}

#[test]
fn blocks_move_between_channels_and_pixels() {
    let up = |block| Operator::DepthToSpace { order: DepthOrder::default(), block };
    let down = |block| Operator::SpaceToDepth { block };
    check(&[
        (up(2), "f32[?, 8, 3, <=5]", "f32[?, 2, 6, <=10]"),
        (down(2), "f32[1, 3, 4, <=7]", "f32[1, 12, 2, <=3]"),
        (up(2), "f32[1, 6, 2, 2]", "error: 6 in parts of 4"),
        (down(3), "f32[1, 6, 2, 3]", "error: 2 in parts of 3"),
        (up(0), "f32[1, 6, 2, 2]", "error: blocks of 0"),
        (up(2), "f32[6, 2, 2]", "error: 3 axes, not 4"),
        (up(2), "f32", "f32[?, ?, ?, ?]"),
    ]);
}
