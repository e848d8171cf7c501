//! Operands of types that do not go together.

use plimsoll_graph::{Dtype, Fact};

use super::super::outputs;
use crate::model::{Binary, Gemm, Operator, Unary, Update, Variadic};

fn refused(operator: &Operator, types: &[Dtype]) -> Option<String> {
    let facts: Vec<Fact> = types.iter().map(|dtype| Fact::of_type(Some(*dtype))).collect();
    let inputs: Vec<Option<&Fact>> = facts.iter().map(Some).collect();
    outputs(operator, &inputs, 1).err()
}

#[test]
fn operands_that_must_have_one_type_have_it() {
    let (f, i) = (Dtype::F32, Dtype::I64);
    let words = Some("f32 and i64 are not one type".to_owned());
    let of_two = [
        Operator::Binary(Binary::Add),
        Operator::Binary(Binary::Less),
        Operator::Binary(Binary::Prelu),
        Operator::Variadic(Variadic::Max),
        Operator::Concat { axis: 0 },
        Operator::MatMul,
        Operator::Clip,
    ];
    for operator in &of_two {
        assert_eq!(refused(operator, &[f, i]), words, "{operator:?}");
        assert_eq!(refused(operator, &[f, f]), None, "{operator:?}");
    }
    assert_eq!(refused(&Operator::Where, &[Dtype::Bool, f, i]), words);
    assert_eq!(refused(&Operator::Range, &[f, f, i]), words);
    let gemm = Operator::Gemm(Gemm::default());
    assert_eq!(refused(&gemm, &[f, f, i]), words);
    assert_eq!(refused(&Operator::ScatterNd(Update::Replace), &[f, i, i]), words);
    // A power may be of another type, and a limit of an older edition is stored as `f32`.
    assert_eq!(refused(&Operator::Binary(Binary::Pow), &[f, i]), None);
    assert_eq!(refused(&Operator::Clip, &[Dtype::F16, f]), None);
    assert_eq!(refused(&Operator::DynamicQuantizedMatMul, &[f, Dtype::I8, f]), None);
}

#[test]
fn truths_and_integers_are_what_they_are() {
    let (f, truth) = (Dtype::F32, Dtype::Bool);
    let no_truth = Some("f32 where truth values are wanted".to_owned());
    assert_eq!(refused(&Operator::Binary(Binary::And), &[truth, f]), no_truth);
    assert_eq!(refused(&Operator::Unary(Unary::Not), &[f]), no_truth);
    assert_eq!(refused(&Operator::Where, &[f, f, f]), no_truth);
    let no_integer = Some("f32 where integers are wanted".to_owned());
    assert_eq!(refused(&Operator::Gather { axis: 0 }, &[f, f]), no_integer);
    assert_eq!(refused(&Operator::Reshape { allow_zero: false }, &[f, f]), no_integer);
    assert_eq!(refused(&Operator::Expand, &[f, f]), no_integer);
    assert_eq!(refused(&Operator::Gather { axis: 0 }, &[f, Dtype::I32]), None);
}
