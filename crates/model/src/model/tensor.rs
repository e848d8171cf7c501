//! Tensors of a model: what is said of them where they come from.

use std::fmt;

use plimsoll_graph::Dtype;

/// A tensor of a model, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub u32);

impl TensorId {
    /// The id of an index.
    ///
    /// # Panics
    /// If the index does not fit: nothing has 2³² tensors.
    #[must_use]
    pub fn new(index: usize) -> Self {
        TensorId(u32::try_from(index).expect("fewer than 2^32 tensors"))
    }

    /// The id as an index into arrays by id.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TensorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor {}", self.0)
    }
}

/// What is said of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Any text, but not empty; no two tensors of a model have the same.
    pub name: String,
    /// Who makes it.
    pub origin: Origin,
    /// The type of its elements, where it is said.
    pub dtype: Option<Dtype>,
    /// Its dims, where their number is said.
    pub dims: Option<Vec<Axis>>,
    /// Its elements, where they are known and few enough to reckon with.
    pub content: Option<Content>,
}

impl Tensor {
    /// A tensor that a node makes, of which nothing is said.
    #[must_use]
    pub fn computed(name: impl Into<String>) -> Self {
        let name = name.into();
        Tensor { name, origin: Origin::Node, dtype: None, dims: None, content: None }
    }

    /// A tensor of known type and dims whose elements are in the file.
    #[must_use]
    pub fn stored(name: impl Into<String>, dtype: Dtype, dims: &[u64]) -> Self {
        Tensor {
            name: name.into(),
            origin: Origin::Stored,
            dtype: Some(dtype),
            dims: Some(dims.iter().map(|dim| Axis::Known(*dim)).collect()),
            content: None,
        }
    }
}

/// Who makes a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The caller of the model or of the body.
    Caller,
    /// Nobody: its elements come with the model. Weights and constants.
    Stored,
    /// A node.
    Node,
}

/// A dim as it is said where the model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// So many.
    Known(u64),
    /// As many as the caller says under that name.
    Symbol(String),
    /// Nothing is said.
    Unknown,
}

/// The elements of a tensor, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Integers and truth values.
    Ints(Vec<i64>),
    /// Real numbers.
    Floats(Vec<f64>),
}
