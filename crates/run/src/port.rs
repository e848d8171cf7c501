//! Inputs and outputs, and tensors that are handed in and out.

use plimsoll_graph::Dtype;

use crate::place::Spot;

/// An input or an output of a session.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its dims.
    pub dims: Vec<u64>,
    pub(crate) spot: Spot,
}

/// A tensor with its elements, in row-major order, each with its least byte first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its dims.
    pub dims: Vec<u64>,
    /// Its elements.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Of `f32`.
    #[must_use]
    pub fn f32(dims: &[u64], elements: &[f32]) -> Self {
        let bytes = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        Array { dtype: Dtype::F32, dims: dims.to_vec(), bytes }
    }

    /// Of `i64`.
    #[must_use]
    pub fn i64(dims: &[u64], elements: &[i64]) -> Self {
        let bytes = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        Array { dtype: Dtype::I64, dims: dims.to_vec(), bytes }
    }

    /// Its elements, if they are of `f32`.
    #[must_use]
    pub fn to_f32(&self) -> Option<Vec<f32>> {
        let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        (self.dtype == Dtype::F32).then(|| self.bytes.chunks_exact(4).map(number).collect())
    }
}
