//! Rows times columns.

use super::super::tests::check;
use crate::model::{Gemm, Operator};

#[test]
fn matrices_are_multiplied() {
    let product = || Operator::MatMul;
    check(&[
        (product(), "f32[2, 3]; f32[3, 4]", "f32[2, 4]"),
        (product(), "f32[3]; f32[3, 4]", "f32[4]"),
        (product(), "f32[2, 3]; f32[3]", "f32[2]"),
        (product(), "f32[3]; f32[3]", "f32[]"),
        (product(), "f32[7, 1, 2, 3]; f32[<=5, 3, ?]", "f32[7, <=5, 2, ?]"),
        (product(), "f32[2, 0]; f32[0, 4]", "f32[2, 4]"),
        (product(), "f32[?, ?]; f32[3, 4]", "f32[?, 4]"),
        (product(), "f32; f32[3, 4]", "f32"),
        (product(), "f32[2, 4]; f32[5, 2]", "error: 4 columns times 5 rows"),
        (product(), "f32[2, 1]; f32[5, 2]", "error: 1 columns times 5 rows"),
        (product(), "f32[2, 2, 3]; f32[3, 3, 4]", "error: 2 and 3 do not broadcast"),
        (product(), "f32[]; f32[3, 4]", "error: a scalar times a matrix"),
        (product(), "f32[3]; f32[]", "error: a matrix times a scalar"),
        (Operator::MatMulInteger, "u8[2, 3]; i8[3, 4]", "i32[2, 4]"),
        (
            Operator::QuantizedMatMul,
            "u8[2, 3]; f32[]; u8[]; i8[3, 4]; f32[]; i8[]; f32[]; i8[]",
            "i8[2, 4]",
        ),
    ]);
}

#[test]
fn matrices_are_turned() {
    let gemm = |transpose_a, transpose_b| {
        Operator::Gemm(Gemm { transpose_a, transpose_b, ..Gemm::default() })
    };
    check(&[
        (gemm(false, false), "f32[2, 3]; f32[3, 4]; f32[4]", "f32[2, 4]"),
        (gemm(true, true), "f32[3, <=2]; f32[4, 3]", "f32[<=2, 4]"),
        (gemm(false, true), "f32; ?[4, 3]", "f32[?, 4]"),
        (gemm(false, false), "f32[2, 3]; f32[4, 3]", "error: 3 columns times 4 rows"),
        (gemm(false, false), "f32[3]; f32[3, 3]", "error: 1 axes, not 2"),
    ]);
}
