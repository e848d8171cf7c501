//! The arithmetic of shapes as exporters write it.

use plimsoll_graph::Numbers;

use super::*;
use crate::model::{Binary, Custom, Resize, Unary};

const SHAPE: Operator = Operator::Shape { start: 0, end: None };

#[test]
fn a_reshape_to_gathered_dims() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2, 7, 8, 3]);
    let shape = build.node(SHAPE, &[x]);
    let (zero, minus_one) = (build.scalar(0), build.list(&[-1]));
    let batch = build.node(Operator::Gather { axis: 0 }, &[shape, zero]);
    let axes = build.list(&[0]);
    let batch = build.node(Operator::Unsqueeze, &[batch, axes]);
    let target = build.node(Operator::Concat { axis: 0 }, &[batch, minus_one]);
    let y = build.node(Operator::Reshape { allow_zero: false }, &[x, target]);
    assert_eq!(found(build, y), Fact::new(Dtype::F32, [2, 168]));
}

#[test]
fn a_resize_to_reckoned_dims() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[1, 3, 5, 7]);
    let shape = build.node(SHAPE, &[x]);
    let (two, four, zero) = (build.list(&[2]), build.list(&[4]), build.list(&[0]));
    let outer = build.node(Operator::Slice, &[shape, zero, two, zero]);
    let inner = build.node(Operator::Slice, &[shape, two, four, zero]);
    let inner = build.node(Operator::cast(Dtype::F32), &[inner]);
    let scale = build.stored(Dtype::F32, &[], Content::Floats(vec![1.5]));
    let inner = build.node(Operator::Binary(Binary::Mul), &[inner, scale]);
    let inner = build.node(Operator::Unary(Unary::Floor), &[inner]);
    let inner = build.node(Operator::cast(Dtype::I64), &[inner]);
    let sizes = build.node(Operator::Concat { axis: 0 }, &[outer, inner]);
    let inputs = vec![Some(x), None, None, Some(sizes)];
    let y = build.optional(Operator::Resize(Resize::default()), inputs, 1)[0];
    assert_eq!(found(build, y), Fact::new(Dtype::F32, [1, 3, 7, 10]));
}

#[test]
fn a_resize_by_reckoned_scales() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[1, 3, 4, 4]);
    let ones = build.stored(Dtype::F32, &[2], Content::Floats(vec![1.0, 1.0]));
    let sizes = build.list(&[6, 8]);
    let sizes = build.node(Operator::cast(Dtype::F32), &[sizes]);
    let shape = build.node(Operator::Shape { start: 2, end: None }, &[x]);
    let shape = build.node(Operator::cast(Dtype::F32), &[shape]);
    let scales = build.node(Operator::Binary(Binary::Div), &[sizes, shape]);
    let scales = build.node(Operator::Concat { axis: 0 }, &[ones, scales]);
    let inputs = vec![Some(x), None, Some(scales)];
    let y = build.optional(Operator::Resize(Resize::default()), inputs, 1)[0];
    assert_eq!(found(build, y), Fact::new(Dtype::F32, [1, 3, 6, 8]));
}

#[test]
fn an_expand_where_minus_one_keeps_a_dim() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[4, 1]);
    let wanted = build.list(&[-1, 6]);
    let rank = build.node(SHAPE, &[wanted]);
    let ones = build.node(Operator::Fill { dtype: Dtype::I64, value: 1.0, bits: 1 }, &[rank]);
    let minus_one = build.scalar(-1);
    let minus_ones = build.node(Operator::Binary(Binary::Mul), &[ones, minus_one]);
    let keeps = build.node(Operator::Binary(Binary::Equal), &[wanted, minus_ones]);
    let target = build.node(Operator::Where, &[keeps, ones, wanted]);
    let y = build.node(Operator::Expand, &[x, target]);
    assert_eq!(found(build, y), Fact::new(Dtype::F32, [4, 6]));
}

#[test]
fn a_range_as_long_as_a_dim() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::I64, &[1, 5]);
    let shape = build.node(SHAPE, &[x]);
    let (zero, one) = (build.scalar(0), build.scalar(1));
    let length = build.node(Operator::Gather { axis: 0 }, &[shape, one]);
    let range = build.node(Operator::Range, &[zero, length, one]);
    let numbers = Some(Numbers::Ints((0..5).map(Int::from).collect()));
    assert_eq!(found(build, range), Fact { numbers, ..Fact::new(Dtype::I64, [5]) });
}

#[test]
fn the_places_of_ones_are_counted() {
    let mut build = Build::new();
    let target = build.list(&[2, 3]);
    let ones = build.node(Operator::Fill { dtype: Dtype::I64, value: 1.0, bits: 1 }, &[target]);
    let places = build.node(Operator::NonZero, &[ones]);
    let rows = build.node(Operator::Transpose(None), &[places]);
    assert_eq!(found_dims(build, rows), [6, 2]);
}

#[test]
fn a_dim_that_depends_on_data_keeps_its_limit() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[10]);
    let places = build.node(Operator::NonZero, &[x]);
    let shape = build.node(SHAPE, &[places]);
    let (one, two) = (build.list(&[1]), build.list(&[2]));
    let count = build.node(Operator::Slice, &[shape, one, two]);
    let double = build.node(Operator::Binary(Binary::Mul), &[count, two]);
    let y = build.node(Operator::Fill { dtype: Dtype::F32, value: 0.0, bits: 0 }, &[double]);
    assert_eq!(found(build, y).shape, Some(Shape(vec![Dim::AtMost(20)])));
}

#[test]
fn only_of_operators_of_others_the_declared_shape_is_taken() {
    let declare = |model: &mut Model, id: TensorId| {
        model.tensors[id.index()].dtype = Some(Dtype::F32);
        model.tensors[id.index()].dims = Some(vec![symbol("n"), Axis::Known(9), symbol("other")]);
    };
    let mut build = Build::new();
    let x = build.input("x", Dtype::F32, vec![symbol("n")]);
    let custom = build.node(Operator::Custom(Custom::default()), &[x]);
    let plain = build.node(Operator::Identity, &[x]);
    let mut model = build.finish(&[custom, plain]);
    declare(&mut model, custom);
    declare(&mut model, plain);
    let symbols = [("n".to_owned(), 3)].into();
    let facts = facts(&model, &Bindings { symbols, ..Bindings::default() }).expect("bound");
    let shape = Shape(vec![Dim::Known(3), Dim::Known(9), Dim::Unknown]);
    assert_eq!(facts[custom.index()], Fact::new(Dtype::F32, shape));
    assert_eq!(facts[plain.index()], Fact::new(Dtype::F32, [3]));
}
