//! Types and broadcasting.

use plimsoll_graph::Dtype;

use super::super::tests::check;
use crate::model::{Binary, Conversion, Operator, Quantization, Unary, Variadic};

#[test]
fn elements_keep_their_shape() {
    check(&[
        (Operator::Unary(Unary::Abs), "f16[2, <=3, ?]", "f16[2, <=3, ?]"),
        (Operator::Unary(Unary::IsNan), "f16[2]", "bool[2]"),
        (Operator::Unary(Unary::Exp), "f32", "f32"),
        (Operator::Clip, "i8[0, 3]; i8[]", "i8[0, 3]"),
        (Operator::cast(Dtype::Bf16), "?[2]", "bf16[2]"),
        (Operator::CastLike(Conversion::default()), "i64[?]; u4", "u4[?]"),
        (Operator::Dropout { early_mask: false }, "f16[2, 3]; f32[]", "f16[2, 3]; bool[2, 3]"),
        (Operator::Identity, "i64[2]{3, 4}", "i64[2]"),
        (Operator::Trilu { upper: true }, "f64[2, 2]; i64[]", "f64[2, 2]"),
    ]);
}

#[test]
fn operands_are_broadcast() {
    let add = || Operator::Binary(Binary::Add);
    check(&[
        (add(), "f32[2, 1, 4]; f32[3, 1]", "f32[2, 3, 4]"),
        (add(), "?[<=5]; f32[1]", "f32[<=5]"),
        (add(), "f32[<=5]; f32[3]", "f32[3]"),
        (add(), "f32[?]; f32[1]", "f32[?]"),
        (add(), "f32[?, 2]; f32[7, ?]", "f32[7, 2]"),
        (add(), "f32[0]; f32[1]", "f32[0]"),
        (add(), "f32[0]; f32[2]", "error: 0 and 2 do not broadcast"),
        (add(), "f32[4]; f32[5]", "error: 4 and 5 do not broadcast"),
        (add(), "f32[4]; f32", "f32"),
        (add(), "f32[18446744073709551615]; f32[1]", "f32[18446744073709551615]"),
        (Operator::Binary(Binary::Less), "f32[2]; f32[]", "bool[2]"),
        (Operator::Binary(Binary::And), "?[2]; ?[3, 1]", "bool[3, 2]"),
        (Operator::Binary(Binary::Pow), "f32[2]; i64[2]", "f32[2]"),
        (Operator::Binary(Binary::Prelu), "f16[2, 3]; f16[3]", "f16[2, 3]"),
        (Operator::Variadic(Variadic::Max), "f32[2, 1]; f32[<=3]; f32[]", "f32[2, <=3]"),
        (Operator::Variadic(Variadic::Sum), "f32[]", "f32[]"),
        (Operator::Where, "bool[2, 1]; ?[3]; i8[]", "i8[2, 3]"),
    ]);
}

#[test]
fn quantised_types_come_from_zero_points() {
    check(&[
        (Operator::Quantize(Quantization::default()), "f32[2]; f32[]", "u8[2]"),
        (Operator::Quantize(Quantization::default()), "f32[2]; f32[]; i4[]", "i4[2]"),
        (Operator::Quantize(Quantization::default()), "f32[2]; f32[]; ?[]", "?[2]"),
        (
            Operator::Quantize(Quantization {
                dtype: Some(Dtype::F8E5m2),
                ..Quantization::default()
            }),
            "f32[2]; f32[]",
            "f8e5m2[2]",
        ),
        (Operator::Dequantize(Quantization::default()), "i8[2]; f16[]", "f16[2]"),
        (
            Operator::Dequantize(Quantization {
                dtype: Some(Dtype::F32),
                ..Quantization::default()
            }),
            "i8[2]; f16[]",
            "f32[2]",
        ),
        (Operator::DynamicQuantize, "f32[2, ?]", "u8[2, ?]; f32[]; u8[]"),
    ]);
}

#[test]
fn bits_are_as_many_as_before() {
    check(&[
        (Operator::BitCast(Dtype::I32), "f32[2, 3]", "i32[2, 3]"),
        (Operator::BitCast(Dtype::U8), "f32[2, <=3]", "u8[2, <=12]"),
        (Operator::BitCast(Dtype::F32), "u8[2, 12]", "f32[2, 3]"),
        (Operator::BitCast(Dtype::F32), "?[2, 12]", "f32[2, ?]"),
        (Operator::BitCast(Dtype::I32), "f32[]", "i32[]"),
        (
            Operator::BitCast(Dtype::F32),
            "u8[5]",
            "error: 5 elements of u8 are not whole ones of f32",
        ),
        (Operator::BitCast(Dtype::F32), "u8[]", "error: a scalar of u8 is none of f32"),
        (Operator::BitCast(Dtype::U8), "f32[18446744073709551615]", "u8[?]"),
    ]);
}
