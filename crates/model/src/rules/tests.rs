//! Tables of operators, operands and what follows, all written as text.
//!
//! `f32[2, <=3, ?]` is a tensor, `f32` one whose rank is not known, `?[2]` one whose type is not,
//! `-` an operand that is absent. Elements are in braces: `i64[3]{2, 0..5, ?}`, `f32[1]{0.5}`.

mod hostile;
mod misfit;

use plimsoll_graph::{Class, Dim, Dtype, Int, Numbers, Shape};

use super::{Fact, outputs};
use crate::model::Operator;

/// Operands with ` ; ` between them, and the outputs, or `error: …`.
pub(super) type Case<'a> = (Operator, &'a str, &'a str);

/// Checks what follows in every case.
pub(super) fn check(cases: &[Case<'_>]) {
    for (operator, inputs, expected) in cases {
        let count = expected.split(';').count();
        assert_eq!(answer(operator, inputs, count), *expected, "{operator:?} of {inputs}");
    }
}

fn answer(operator: &Operator, inputs: &str, count: usize) -> String {
    let inputs: Vec<Option<Fact>> = inputs.split(';').map(|text| fact(text.trim())).collect();
    let inputs: Vec<Option<&Fact>> = inputs.iter().map(Option::as_ref).collect();
    match outputs(operator, &inputs, count) {
        Err(fault) => format!("error: {fault}"),
        Ok(facts) => facts.iter().map(shown).collect::<Vec<_>>().join("; "),
    }
}

fn shown(fact: &Fact) -> String {
    assert_eq!(fact.numbers, None);
    let dtype = fact.dtype.map_or("?", Dtype::name);
    format!("{dtype}{}", fact.shape.as_ref().map(Shape::to_string).unwrap_or_default())
}

fn fact(text: &str) -> Option<Fact> {
    if text == "-" {
        return None;
    }
    let (rest, numbers) = match text.strip_suffix('}').and_then(|text| text.split_once('{')) {
        Some((rest, numbers)) => (rest, Some(numbers)),
        None => (text, None),
    };
    let (dtype, dims) = match rest.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        Some((dtype, dims)) => (dtype, Some(list(dims, dim))),
        None => (rest, None),
    };
    let dtype: Option<Dtype> = (dtype != "?").then(|| dtype.parse().expect("a type"));
    let numbers = numbers.map(|numbers| match dtype.map(Dtype::class) {
        Some(Class::Float) => {
            Numbers::Floats(list(numbers, |number| number.parse().expect("a number")))
        }
        _ => Numbers::Ints(list(numbers, int)),
    });
    Some(Fact { dtype, shape: dims.map(Shape), numbers })
}

fn list<T>(text: &str, read: impl Fn(&str) -> T) -> Vec<T> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(read).collect()
}

fn dim(text: &str) -> Dim {
    match text.strip_prefix("<=") {
        Some(most) => Dim::AtMost(most.parse().expect("a limit")),
        None if text == "?" => Dim::Unknown,
        None => Dim::Known(text.parse().expect("a dim")),
    }
}

fn int(text: &str) -> Int {
    match text.split_once("..") {
        Some((lo, "")) => Int::between(lo.parse().expect("a limit"), i64::MAX),
        Some((lo, hi)) => Int::between(lo.parse().expect("a limit"), hi.parse().expect("a limit")),
        None if text == "?" => Int::ANY,
        None => Int::from(text.parse::<i64>().expect("a number")),
    }
}

#[test]
fn text_is_read_as_it_is_written() {
    let fact = fact("i64[3]{2, 0..5, ?}").expect("an operand");
    assert_eq!(shown(&Fact { numbers: None, ..fact.clone() }), "i64[3]");
    assert_eq!(fact.ints(), Some(&[Int::from(2), Int::between(0, 5), Int::ANY][..]));
}

#[test]
fn an_operand_that_is_missing_is_an_error() {
    check(&[
        (Operator::MatMul, "f32[2, 3]", "error: operand 1 is missing"),
        (Operator::Where, "bool[2]; - ; f32[2]", "error: operand 1 is missing"),
        (Operator::Identity, "-", "error: operand 0 is missing"),
    ]);
}

#[test]
fn control_flow_says_nothing() {
    let body = crate::model::Body::default();
    check(&[(Operator::Loop(Box::new(body)), "i64[]; bool[]; f32[2]", "?; ?")]);
}
