//! A node on the way from its edition of an operator to the newest.

use plimsoll_graph::Dtype;
use plimsoll_model::{Axis, Content, Model, Origin, Tensor, TensorId};

use crate::attribute::Attributes;
use crate::name::Names;

/// The tensors of a model, no two of the same name.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) model: Model,
    pub(crate) names: Names,
}

impl Table {
    /// Adds a tensor under its name, or if that is taken under one that says where it is.
    pub(crate) fn add(&mut self, path: &str, mut tensor: Tensor) -> TensorId {
        tensor.name = self.names.unique(path, &tensor.name);
        self.model.add(tensor)
    }
}

/// A node whose operator is being read. What its edition has as attributes and the newest as
/// operands is stored.
pub(crate) struct Draft<'r, 'm> {
    pub(crate) table: &'r mut Table,
    /// The name that no other node has.
    pub(crate) name: &'r str,
    pub(crate) kind: &'m str,
    /// The edition of the operators.
    pub(crate) version: i64,
    pub(crate) attributes: Attributes<'m>,
    pub(crate) inputs: Vec<Option<TensorId>>,
    pub(crate) outputs: Vec<Option<TensorId>>,
}

impl Draft<'_, '_> {
    /// What is known of an operand, if it is there.
    pub(crate) fn input(&self, slot: usize) -> Option<&Tensor> {
        let id = self.inputs.get(slot).copied().flatten()?;
        Some(self.table.model.tensor(id))
    }

    /// Makes a list of integers an operand.
    pub(crate) fn store_ints(&mut self, slot: usize, what: &str, values: &[i64]) {
        let dims = vec![Axis::Known(values.len() as u64)];
        self.store(slot, what, Dtype::I64, dims, Content::Ints(values.to_vec()));
    }

    /// Makes a single integer an operand.
    pub(crate) fn store_int(&mut self, slot: usize, what: &str, value: i64) {
        self.store(slot, what, Dtype::I64, Vec::new(), Content::Ints(vec![value]));
    }

    /// Makes a list of numbers an operand.
    pub(crate) fn store_floats(&mut self, slot: usize, what: &str, values: Vec<f64>) {
        let dims = vec![Axis::Known(values.len() as u64)];
        self.store(slot, what, Dtype::F32, dims, Content::Floats(values));
    }

    /// Makes a single number an operand, of the type of the first.
    pub(crate) fn store_float(&mut self, slot: usize, what: &str, value: f64) {
        let dtype = self.input(0).and_then(|first| first.dtype).unwrap_or(Dtype::F32);
        self.store(slot, what, dtype, Vec::new(), Content::Floats(vec![value]));
    }

    fn store(&mut self, slot: usize, what: &str, dtype: Dtype, dims: Vec<Axis>, content: Content) {
        let tensor = Tensor {
            name: format!("{}:{what}", self.name),
            origin: Origin::Stored,
            dtype: Some(dtype),
            dims: Some(dims),
            content: Some(content),
        };
        let id = self.table.add("", tensor);
        if self.inputs.len() <= slot {
            self.inputs.resize(slot + 1, None);
        }
        self.inputs[slot] = Some(id);
    }
}
