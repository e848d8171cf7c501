//! What ONNX's operators are defined to compute, as far as it matters which elements reach which.
//!
//! Written from the definitions of the operators, attributes included, and from nothing that this
//! project says of them elsewhere: it knows no views and nothing that works in place. Elements are moved as they
//! are defined to be; arithmetic is a mixture of bits. A kernel goes over its output in ascending order, and reads
//! what it needs of its inputs when it gets there, unless its definition needs a row at once.

mod along;
mod layout;
mod places;
mod windows;

use plimsoll_graph::testing::{Tensors, mix};

use crate::proto::{AttributeProto, NodeProto};

/// Runs a node on its operands, in the edition of operators of that version.
///
/// # Panics
/// If the operator is not one that is computed here.
pub fn onnx_kernel(node: &NodeProto, version: i64, tensors: &mut Tensors<'_>) {
    let at = At { node, version, salt: salt(node) };
    let done = elementwise(&at, tensors)
        || layout::run(&at, tensors)
        || places::run(&at, tensors)
        || windows::run(&at, tensors)
        || along::run(&at, tensors);
    assert!(done, "{} is not run here", node.op_type());
}

/// What is mixed into everything that an operator computes.
fn salt(node: &NodeProto) -> u64 {
    mix(node.op_type().bytes().map(u64::from))
}

/// A node, and what there is to know of it.
struct At<'n> {
    node: &'n NodeProto,
    version: i64,
    salt: u64,
}

impl At<'_> {
    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name() == name)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, AttributeProto::i)
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.int(name, i64::from(default)) != 0
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).map(|attribute| attribute.ints.clone())
    }

    fn text(&self, name: &str, default: &str) -> String {
        let text = self.attribute(name).and_then(|attribute| attribute.s.clone());
        text.map_or(default.to_owned(), |text| String::from_utf8_lossy(&text).into_owned())
    }

    /// An axis that counts from the end if it is negative.
    fn axis(&self, default: i64, rank: usize) -> usize {
        axis(self.int("axis", default), rank)
    }

    /// Numbers that are an attribute in old editions, and an operand in new ones.
    fn numbers(&self, name: &str, tensors: &Tensors<'_>, input: usize) -> Option<Vec<i64>> {
        self.ints(name).or_else(|| tensors.ints(input))
    }
}

/// An axis that counts from the end if it is negative.
fn axis(axis: i64, rank: usize) -> usize {
    if axis < 0 { (axis + rank as i64) as usize } else { axis as usize }
}

/// A place on an axis that counts from the end if it is negative; any number is one.
fn place(number: i64, dim: usize) -> usize {
    number.rem_euclid(dim as i64) as usize
}

/// Operators that go element by element.
fn elementwise(at: &At<'_>, tensors: &mut Tensors<'_>) -> bool {
    match at.node.op_type() {
        "Abs" | "Add" | "And" | "BiasGelu" | "BitShift" | "BitwiseAnd" | "Clip" | "Div"
        | "Equal" | "Erf" | "Exp" | "FastGelu" | "Gelu" | "Greater" | "HardSwish" | "IsNaN"
        | "LeakyRelu" | "Less" | "Mod" | "Mul" | "Neg" | "Not" | "Or" | "PRelu" | "Pow"
        | "Relu" | "Sigmoid" | "Sqrt" | "Sub" | "Tanh" | "Where" | "Xor" => {
            tensors.elementwise(at.salt);
        }
        "Max" | "Mean" | "Min" | "Sum" if tensors.inputs() > 2 => tensors.accumulate(at.salt),
        "Max" | "Mean" | "Min" | "Sum" => tensors.elementwise(at.salt),
        "Cast" | "CastLike" => tensors.same(),
        "Dropout" => dropout(at, tensors),
        "DequantizeLinear" | "QuantizeLinear" => quantize(at, tensors),
        "DynamicQuantizeLinear" => quantize_dynamically(at, tensors),
        _ => return false,
    }
    true
}

/// Drops elements if it is training, and says which.
fn dropout(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let trains = match at.version {
        ..7 => !at.flag("is_test", false),
        7..12 => false,
        _ => tensors.ints(2).is_some_and(|training| training[0] != 0),
    };
    let lot = |index: &[usize]| mix([at.salt].into_iter().chain(index.iter().map(|i| *i as u64)));
    if trains {
        tensors.each(0, |tensors, index| mix([lot(index), tensors.read(0, index)]));
    } else {
        tensors.same();
    }
    tensors.each(1, |_, index| if trains { lot(index) } else { 1 });
}

/// A scale and a zero point, for all or for each place on an axis.
fn quantize(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let rank = tensors.dims(0).len();
    let along = if rank == 0 { 0 } else { at.axis(1, rank).min(rank - 1) };
    tensors.each(0, |tensors, index| {
        let of = |input: usize| match tensors.input(input)?.len() {
            0 => Some(tensors.element(input, 0)),
            _ => Some(
                tensors.element(input, if tensors.dims(input) == [1] { 0 } else { index[along] }),
            ),
        };
        mix([at.salt, tensors.read(0, index)].into_iter().chain(of(1)).chain(of(2)))
    });
}

/// A scale and a zero point that depend on all elements.
fn quantize_dynamically(at: &At<'_>, tensors: &mut Tensors<'_>) {
    let range = mix([at.salt].into_iter().chain(tensors.all(0)));
    tensors.each(1, |_, _| mix([range, 1]));
    tensors.each(2, |_, _| mix([range, 2]));
    tensors.each(0, |tensors, index| mix([range, tensors.read(0, index)]));
}
