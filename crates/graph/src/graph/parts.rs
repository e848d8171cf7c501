//! Where the inputs of a concat are in its output.

use plimsoll::{Strided, ValueId, View};

use super::{Graph, NodeId};
use crate::op::Op;
use crate::shape::product;

/// The inputs of a concat, and where they are in the output.
pub(crate) struct Parts {
    /// How many rows each part has; one if the parts are stretches.
    pub(crate) rows: u64,
    /// From row to row.
    pub(crate) stride: u64,
    pub(crate) list: Vec<Part>,
}

/// An input of a concat.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) value: ValueId,
    /// Its first byte in the output, and the bytes of each row.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Parts {
    pub(crate) fn view(&self, of: ValueId, part: &Part) -> View {
        let rows = Strided { bytes: part.bytes, stride: self.stride };
        View { of, offset: part.offset, rows: (self.rows > 1).then_some(rows) }
    }
}

/// The inputs of a concat and where they are in the output, as far as they are whole bytes.
pub(crate) fn parts(graph: &Graph, id: NodeId) -> Option<Parts> {
    let node = graph.node(id);
    let Op::Concat { axis } = node.op else { return None };
    if !node.is_bare() || node.outputs.len() != 1 {
        return None;
    }
    let output = graph.value(node.outputs[0]?);
    let rows: u64 = product(output.shape.known()?.get(..axis)?)?;
    if rows == 0 || rows > Strided::MOST {
        return None;
    }
    let mut list = Vec::with_capacity(node.inputs.len());
    let mut bits = 0u64;
    for input in &node.inputs {
        let id = (*input)?;
        let value = graph.value(id);
        let elements = product(&value.shape.known()?)?;
        let end = bits.checked_add((elements / rows).checked_mul(value.dtype.bits())?)?;
        let whole = elements.is_multiple_of(rows) && (bits | end).is_multiple_of(8);
        if value.dtype != output.dtype || elements == 0 || !whole {
            return None;
        }
        list.push(Part { value: id, offset: bits / 8, bytes: (end - bits) / 8 });
        bits = end;
    }
    let stride = bits / 8;
    (output.native_size().known() == stride.checked_mul(rows)).then_some(Parts {
        rows,
        stride,
        list,
    })
}
