//! Operators: from the name, the edition and the attributes to what is computed.
//!
//! Each file reads one class. An operator that none of them knows is [`Custom`], of which nothing
//! is assumed.

mod along;
mod elements;
mod images;
mod layout;
mod microsoft;
mod plain;
mod recurrent;
mod special;
mod windows;

use plimsoll_model::{Custom, Effects, Operator};

use crate::draft::Draft;
use crate::error::Fault;

/// What a node computes. Its operands are brought into the order of the newest edition.
pub(crate) fn operator(draft: &mut Draft<'_, '_>, domain: &str) -> Result<Operator, Fault> {
    let known = match domain {
        "" => own(draft)?,
        "com.microsoft" => microsoft::read(draft)?,
        _ => None,
    };
    Ok(known.unwrap_or_else(|| Operator::Custom(Custom::default())))
}

/// ONNX's own operators.
fn own(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    if is_placed(draft)? {
        return Ok(Some(elementwise()));
    }
    if let Some(operator) = plain::read(draft.kind) {
        return Ok(Some(operator));
    }
    if let Some(operator) = elements::read(draft)? {
        return Ok(Some(operator));
    }
    if let Some(operator) = layout::read(draft)? {
        return Ok(Some(operator));
    }
    if let Some(operator) = windows::read(draft)? {
        return Ok(Some(operator));
    }
    if let Some(operator) = along::read(draft)? {
        return Ok(Some(operator));
    }
    special::read(draft)
}

/// Whether an operand is put at axes of the other that an attribute names, as version 6 has it. The
/// result is like the first operand then.
fn is_placed(draft: &Draft<'_, '_>) -> Result<bool, Fault> {
    let is_placed = match draft.kind {
        "Add" | "Div" | "Mul" | "Pow" | "Sub" => draft.attributes.int("axis")?.is_some(),
        "PRelu" => true,
        _ => false,
    };
    Ok(is_placed && draft.version < 7)
}

/// An operator whose result is made element by element, or row by row, and is like operand 0.
fn elementwise() -> Operator {
    Operator::Custom(Custom { like: vec![Some(0)], effects: Effects::Elementwise })
}

/// An operator of which nothing is known but which operand each result is like.
fn like(like: Vec<Option<usize>>) -> Operator {
    Operator::Custom(Custom { like, effects: Effects::Unknown })
}
