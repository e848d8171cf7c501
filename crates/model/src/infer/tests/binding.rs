//! What the caller says of inputs.

use super::*;

fn bindings(symbols: &[(&str, u64)], inputs: &[(&str, &[u64])]) -> Bindings {
    Bindings {
        symbols: symbols.iter().map(|(name, dim)| ((*name).to_owned(), *dim)).collect(),
        inputs: inputs.iter().map(|(name, dims)| ((*name).to_owned(), dims.to_vec())).collect(),
    }
}

/// Inputs `x: [batch, 3]` and `y: [batch, length]`.
fn model() -> Model {
    let mut build = Build::new();
    build.input("x", Dtype::F32, vec![symbol("batch"), Axis::Known(3)]);
    build.input("y", Dtype::I64, vec![symbol("batch"), symbol("length")]);
    build.finish(&[])
}

/// Everything that is wrong, in words.
fn faults(model: &Model, bindings: &Bindings) -> Vec<String> {
    match facts(model, bindings) {
        Err(ShapeError::Bindings(faults)) => faults.iter().map(ToString::to_string).collect(),
        other => panic!("not an error of bindings: {other:?}"),
    }
}

#[test]
fn symbols_are_bound_by_name_or_by_a_shape() {
    let by_name = facts(&model(), &bindings(&[("batch", 2), ("length", 7)], &[]));
    let by_shape = facts(&model(), &bindings(&[], &[("y", &[2, 7])]));
    let bound = vec![Fact::new(Dtype::F32, [2, 3]), Fact::new(Dtype::I64, [2, 7])];
    assert_eq!(by_name, Ok(bound.clone()));
    assert_eq!(by_shape, Ok(bound));
}

#[test]
fn unbound_symbols_are_all_named() {
    let expected = [
        "symbol `batch` is not bound: it is axis 0 of input `x`, axis 0 of input `y`",
        "symbol `length` is not bound: it is axis 1 of input `y`",
    ];
    assert_eq!(faults(&model(), &Bindings::default()), expected);
    let error = facts(&model(), &Bindings::default()).expect_err("unbound");
    assert_eq!(error.to_string(), expected.join("; "));
}

#[test]
fn bindings_agree_with_the_model_and_each_other() {
    let wrong = |inputs: &[(&str, &[u64])]| faults(&model(), &bindings(&[("length", 7)], inputs));
    assert_eq!(wrong(&[("x", &[2, 4]), ("y", &[2, 7])]), ["axis 1 of input `x` is 3, not 4"]);
    assert_eq!(wrong(&[("x", &[2]), ("y", &[2, 7])]), ["input `x` has 2 dims, not 1"]);
    assert_eq!(
        wrong(&[("x", &[2, 3]), ("y", &[5, 8])]),
        [
            "symbol `batch` is 2, but 5 by the shape of input `y`",
            "symbol `length` is 7, but 8 by the shape of input `y`",
        ]
    );
}

#[test]
fn bindings_are_of_what_there_is() {
    let bound = bindings(&[("batch", 2), ("length", 7), ("width", 1)], &[("z", &[1])]);
    let expected = [
        "there is no symbol `width`; the symbols are `batch`, `length`",
        "there is no input `z`; the inputs are `x`, `y`",
    ];
    assert_eq!(faults(&model(), &bound), expected);
    let empty = Build::new().finish(&[]);
    let expected = ["there is no symbol `n`; there are no symbols"];
    assert_eq!(faults(&empty, &bindings(&[("n", 1)], &[])), expected);
}

#[test]
fn what_the_model_does_not_say_has_to_be_given() {
    let mut build = Build::new();
    let x = build.input("x", Dtype::F32, vec![Axis::Known(2), Axis::Unknown]);
    let y = build.input("y", Dtype::F32, Vec::new());
    let z = build.known("z", Dtype::F32, &[1]);
    let mut model = build.finish(&[]);
    model.tensors[y.index()].dims = None;
    model.tensors[z.index()].dtype = None;
    let expected = [
        "axis 1 of input `x` is not known: its shape has to be given",
        "the rank of input `y` is not known: its shape has to be given",
        "the element type of input `z` is not known",
    ];
    assert_eq!(faults(&model, &Bindings::default()), expected);
    model.tensors[z.index()].dtype = Some(Dtype::F32);
    let given = facts(&model, &bindings(&[], &[("x", &[2, 9]), ("y", &[4])])).expect("given");
    assert_eq!(given[x.index()].shape, Some(Shape::from([2, 9])));
    assert_eq!(given[y.index()].shape, Some(Shape::from([4])));
}

#[test]
fn an_input_that_comes_with_the_model_needs_nothing() {
    let mut build = Build::new();
    let weight = build.stored(Dtype::F32, &[3], Content::Floats(vec![1.0, 2.0, 3.0]));
    build.model.body.inputs.push(weight);
    assert!(found(build, weight).is_constant());
}
