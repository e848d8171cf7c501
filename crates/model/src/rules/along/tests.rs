//! Reductions and norms.

use super::super::tests::check;
use crate::model::{
    ArgReduce, BatchNorm, Cumulate, LayerNorm, LocalNorm, Norm, Operator, Reduce, Reduction,
    Softmax,
};

fn reduce(keep_dims: bool, none_if_empty: bool) -> Operator {
    Operator::Reduce(Reduce { function: Reduction::Sum, keep_dims, none_if_empty })
}

#[test]
fn reduced_axes_stay_or_go() {
    check(&[
        (reduce(true, false), "f32[2, ?, 4]; i64[1]{-1}", "f32[2, ?, 1]"),
        (reduce(false, false), "f32[2, <=3, 4]; i64[2]{0, 2}", "f32[<=3]"),
        (reduce(true, false), "f32[2, 3]", "f32[1, 1]"),
        (reduce(false, false), "f32[2, 3]", "f32[]"),
        (reduce(false, false), "f32[2, 3]; i64[0]", "f32[]"),
        (reduce(false, true), "f32[2, 3]; i64[0]", "f32[2, 3]"),
        (reduce(false, true), "f32[2, 3]", "f32[2, 3]"),
        (reduce(false, false), "f32", "f32[]"),
        (reduce(true, false), "f32", "f32"),
        (reduce(false, false), "f32[2, 3]; i64[2]{0, 5}", "error: axis 5 of 2 axes"),
        (reduce(false, false), "f32[0, 3]; i64[1]{0}", "f32[3]"),
    ]);
}

#[test]
fn any_axis_may_be_reduced() {
    check(&[
        (reduce(true, false), "f32[2, 1, 0, ?, <=5]; i64[2]", "f32[<=2, 1, <=1, ?, <=5]"),
        (reduce(false, false), "f32[2, 3, 4]; i64[1]", "f32[?, ?]"),
        (reduce(false, false), "f32[2, 3, 4]; i64[2]", "f32"),
        (reduce(false, true), "f32[2, 3, 4]; i64", "f32"),
        (reduce(false, false), "f32[]; i64[1]", "error: an axis of a scalar"),
    ]);
}

#[test]
fn positions_are_integers() {
    let arg = |axis, keep_dims| {
        Operator::ArgReduce(ArgReduce { axis, keep_dims, largest: true, last: false })
    };
    check(&[
        (arg(-1, true), "f32[2, 3]", "i64[2, 1]"),
        (arg(0, false), "f32[2, <=3]", "i64[<=3]"),
        (arg(0, false), "f32", "i64"),
        (arg(2, false), "f32[2, 3]", "error: axis 2 of 2 axes"),
    ]);
}

#[test]
fn norms_keep_the_shape() {
    let layer = |axis| Operator::LayerNorm(LayerNorm { axis, ..LayerNorm::default() });
    check(&[
        (layer(-1), "f16[2, ?, 4]; f16[4]", "f16[2, ?, 4]; f32[2, ?, 1]; f32[2, ?, 1]"),
        (layer(1), "f16[2, 3, 4]; f16[4]", "f16[2, 3, 4]; f32[2, 1, 1]; f32[2, 1, 1]"),
        (layer(3), "f16[2, 3, 4]; f16[4]", "error: axis 3 of 3 axes"),
        (layer(3), "f16; f16[4]", "f16; f32; f32"),
        (
            Operator::BatchNorm(BatchNorm::default()),
            "f16[2, 3, 4]; f16[3]; f16[3]; f32[3]; f32[3]",
            "f16[2, 3, 4]; f32[3]; f32[3]",
        ),
        (Operator::Norm(Norm::Instance { epsilon: 1e-5 }), "f32[2, 3]; f32[3]", "f32[2, 3]"),
        (Operator::LocalNorm(LocalNorm::default()), "f32[2, 3]", "f32[2, 3]"),
        (Operator::Softmax(Softmax::along(-1)), "f32[2, ?]", "f32[2, ?]"),
        (Operator::Cumulate(Cumulate::default()), "i32[2, <=3]; i64[]", "i32[2, <=3]"),
    ]);
}
