//! Lengths that follow from numbers.

use plimsoll_graph::Dtype;

use super::super::tests::check;
use crate::model::{Operator, Random, SignalWindow, WindowForm};

#[test]
fn dims_follow_from_numbers() {
    let fill = || Operator::Fill { dtype: Dtype::F32, value: 0.0, bits: 0 };
    let window = || {
        Operator::SignalWindow(SignalWindow {
            dtype: Dtype::F64,
            form: WindowForm::Hann,
            periodic: true,
        })
    };
    check(&[
        (fill(), "i64[3]{2, 0, 0..5}", "f32[2, 0, <=5]"),
        (fill(), "i64[0]", "f32[]"),
        (fill(), "i64[2]", "f32[?, ?]"),
        (fill(), "i64[?]", "f32"),
        (fill(), "i64[1000000000000]", "f32"),
        (fill(), "i64[1]{-1}", "error: a dim of -1"),
        (window(), "i64[]{7}", "f64[7]"),
        (window(), "i64[]", "f64[?]"),
        (
            Operator::Random {
                random: Random { dtype: Some(Dtype::F16), ..Random::default() },
                dims: vec![2, 3],
            },
            "-",
            "f16[2, 3]",
        ),
        (Operator::RandomLike(Random::default()), "f32[2, ?]", "f32[2, ?]"),
        (
            Operator::RandomLike(Random { dtype: Some(Dtype::F16), ..Random::default() }),
            "f32[2, ?]",
            "f16[2, ?]",
        ),
        (Operator::EyeLike { dtype: Some(Dtype::Bool), k: 0 }, "f32[2, 3]", "bool[2, 3]"),
        (
            Operator::Multinomial { dtype: Dtype::I32, samples: 5, seed: None },
            "f32[<=3, 9]",
            "i32[<=3, 5]",
        ),
        (
            Operator::Multinomial { dtype: Dtype::I32, samples: 5, seed: None },
            "f32[3]",
            "error: 1 axes, not 2",
        ),
    ]);
}

#[test]
fn shapes_have_shapes() {
    let shape = |start, end| Operator::Shape { start, end };
    check(&[
        (shape(0, None), "f32[2, ?, 4]", "i64[3]"),
        (shape(0, None), "f32", "i64[?]"),
        (shape(1, Some(-1)), "f32[2, ?, 4]", "i64[1]"),
        (shape(-9, Some(9)), "f32[2, ?, 4]", "i64[3]"),
        (shape(2, Some(1)), "f32[2, ?, 4]", "i64[0]"),
        (shape(i64::MIN, Some(i64::MAX)), "f32[]", "i64[0]"),
        (Operator::Size, "f32", "i64[]"),
    ]);
}

#[test]
fn ranges_are_as_long_as_their_steps() {
    let range = || Operator::Range;
    check(&[
        (range(), "i64[]{3}; i64[]{10}; i64[]{3}", "i64[3]"),
        (range(), "i64[]{10}; i64[]{4}; i64[]{-2}", "i64[3]"),
        (range(), "i32[]{10}; i32[]{4}; i32[]{2}", "i32[0]"),
        (range(), "i64[]{0}; i64[]{0..8}; i64[]{1}", "i64[<=8]"),
        (range(), "i64[]{2..4}; i64[]{8}; i64[]{2..3}", "i64[<=3]"),
        (range(), "i64[]{0..9}; i64[]{0}; i64[]{-3..-2}", "i64[<=5]"),
        (range(), "i64[]{0}; i64[]{0..}; i64[]{1}", "i64[?]"),
        (range(), "i64[]{0}; i64[]{8}; i64[]", "i64[?]"),
        (range(), "i64[]{0}; i64[]{8}; i64[]{0}", "error: a step of 0"),
        (
            range(),
            "i64[]{-9223372036854775807}; i64[]{9223372036854775806}; i64[]{1}",
            "i64[18446744073709551613]",
        ),
        (range(), "f32[]{0}; f32[]{1}; f32[]{0.3}", "f32[4]"),
        (range(), "f32[]{1}; f32[]{0}; f32[]{-0.25}", "f32[4]"),
        (range(), "f32[]{0}; f32[]{1}; f32[]{-0.25}", "f32[0]"),
        (range(), "f64[]{0}; f64[]{0.3}; f64[]{0.1}", "f64[3]"),
        (range(), "f32[]{0}; f32[]{inf}; f32[]{1}", "f32[?]"),
        (range(), "f32[]{0}; f32[]{NaN}; f32[]{1}", "f32[?]"),
        (range(), "f32[]{0}; f32[]{1}; f32[]{0}", "error: a step of 0"),
        // In single precision, 3 of these steps are the whole way; more precisely, they are not.
        (range(), "f32[]{0}; f32[]{0.30000001192092896}; f32[]{0.10000000149011612}", "f32[<=4]"),
        (range(), "f32; f32[]; f32[]", "f32[?]"),
    ]);
}
