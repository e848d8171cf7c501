//! Constants that are nodes: stored tensors, without a node.

use plimsoll_graph::Dtype;
use plimsoll_model::{Axis, Content, Model, Origin, Tensor, TensorId};

use crate::attribute::Attributes;
use crate::dtype::NO_TEXT;
use crate::error::Fault;
use crate::tensor::stored;

/// Makes the result of a `Constant` a stored tensor.
pub(crate) fn constant(
    model: &mut Model,
    attributes: &Attributes<'_>,
    outputs: &[Option<TensorId>],
) -> Result<(), Fault> {
    let Some(Some(id)) = outputs.first() else { return Ok(()) };
    let place = &mut model.tensors[id.index()];
    let tensor = value(place.name.clone(), attributes)?;
    *place = tensor;
    Ok(())
}

fn value(name: String, attributes: &Attributes<'_>) -> Result<Tensor, Fault> {
    if let Some(tensor) = attributes.tensor("value")? {
        return stored(name, tensor);
    }
    if let Some(value) = attributes.float("value_float")? {
        return Ok(number(name, Dtype::F32, None, Content::Floats(vec![value])));
    }
    if let Some(values) = attributes.floats("value_floats")? {
        return Ok(number(name, Dtype::F32, Some(values.len()), Content::Floats(values)));
    }
    if let Some(value) = attributes.int("value_int")? {
        return Ok(number(name, Dtype::I64, None, Content::Ints(vec![value])));
    }
    if let Some(values) = attributes.ints("value_ints")? {
        return Ok(number(name, Dtype::I64, Some(values.len()), Content::Ints(values.to_vec())));
    }
    if attributes.has("value_string") || attributes.has("value_strings") {
        return Err(NO_TEXT.to_owned());
    }
    if attributes.has("sparse_value") {
        return Err("sparse constants are not supported".to_owned());
    }
    Err("a constant without a value".to_owned())
}

/// A list of so many elements, or a single one.
fn number(name: String, dtype: Dtype, length: Option<usize>, content: Content) -> Tensor {
    Tensor {
        name,
        origin: Origin::Stored,
        dtype: Some(dtype),
        dims: Some(length.map(|length| Axis::Known(length as u64)).into_iter().collect()),
        content: Some(content),
    }
}
