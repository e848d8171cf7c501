//! Types of values as they are declared.

use plimsoll_graph::Dtype;
use plimsoll_model::Axis;

use crate::dtype::dtype;
use crate::error::Fault;
use crate::proto::tensor_shape_proto::dimension::Value as Extent;
use crate::proto::{TensorShapeProto, TypeProto, type_proto};

/// What is declared of a tensor.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) dtype: Option<Dtype>,
    pub(crate) dims: Option<Vec<Axis>>,
}

/// What a type says. Nothing is fine; anything but a tensor of numbers is not.
pub(crate) fn declared(declaration: Option<&TypeProto>) -> Result<Declared, Fault> {
    let Some(value) = declaration.and_then(|declaration| declaration.value.as_ref()) else {
        return Ok(Declared::default());
    };
    let tensor = match value {
        type_proto::Value::TensorType(tensor) => tensor,
        type_proto::Value::SequenceType(_) => return Err(unplanned("a sequence")),
        type_proto::Value::MapType(_) => return Err(unplanned("a map")),
        type_proto::Value::OptionalType(_) => return Err(unplanned("an optional value")),
        type_proto::Value::SparseTensorType(_) => return Err(unplanned("a sparse tensor")),
        type_proto::Value::OpaqueType(_) => return Err(unplanned("of an opaque type")),
    };
    let dtype = match tensor.elem_type() {
        0 => None,
        number => Some(dtype(i64::from(number))?),
    };
    Ok(Declared { dtype, dims: tensor.shape.as_ref().map(axes) })
}

/// What is said of values whose size nobody can know.
fn unplanned(what: &str) -> Fault {
    format!("it is {what}, which has no size that could be planned")
}

/// Real files write 0, a negative number, an empty name or a question mark for what they do not
/// know.
fn axes(shape: &TensorShapeProto) -> Vec<Axis> {
    let axis = |extent: &Option<Extent>| match extent {
        Some(Extent::DimValue(dim)) if *dim > 0 => Axis::Known(dim.cast_unsigned()),
        Some(Extent::DimParam(name)) if !name.is_empty() && name != "?" => {
            Axis::Symbol(name.clone())
        }
        _ => Axis::Unknown,
    };
    shape.dim.iter().map(|dim| axis(&dim.value)).collect()
}
