//! Numbers from a seed: inputs for a first run, and weights where a model has none.
//!
//! Every number follows from the seed, the name of its tensor and its place there, by arithmetic on 64 bits that is as
//! easily written in any other language: whoever compares with another runtime gives it the same numbers.
//!
//! - *Inputs*: real numbers between -1 and 1, integers 0 or 1.
//! - *Weights* with one dim are between 1/2 and 3/2, so that variances are positive. Those with more are
//!   around 0, and the smaller the more of them are summed up, so that values neither vanish nor grow without
//!   bound through a deep network. Integers are 0 or 1.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll_graph::{Class, Dtype};
use plimsoll_model::{Axis, Content, Model, TensorId, Weights};

use crate::port::{Array, Port};

/// What numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Input,
    Weight,
}

/// An array for each input.
#[must_use]
pub fn random_inputs(seed: u64, inputs: &[Port]) -> BTreeMap<String, Array> {
    let array = |port: &Port| {
        let bytes = random_bytes(seed, &port.name, port.dtype, &port.dims, Purpose::Input);
        let (dtype, dims) = (port.dtype, port.dims.clone());
        (port.name.clone(), Array { dtype, dims, bytes: bytes.unwrap_or_default() })
    };
    inputs.iter().map(array).collect()
}

/// Weights as they are where they are there, and numbers from a seed elsewhere.
pub struct SeededWeights<'a> {
    model: &'a Model,
    there: &'a dyn Weights,
    seed: u64,
}

impl<'a> SeededWeights<'a> {
    /// For the weights of a model that others do not have.
    #[must_use]
    pub fn new(model: &'a Model, there: &'a dyn Weights, seed: u64) -> Self {
        SeededWeights { model, there, seed }
    }
}

impl Weights for SeededWeights<'_> {
    fn bytes(&self, tensor: TensorId) -> Result<Option<Cow<'_, [u8]>>, String> {
        let known = self.model.tensors.get(tensor.index());
        if let Ok(Some(bytes)) = self.there.bytes(tensor) {
            return Ok(Some(bytes));
        }
        let Some(known) = known.filter(|known| known.content.is_none()) else { return Ok(None) };
        let dim = |axis: &Axis| match axis {
            Axis::Known(dim) => Some(*dim),
            Axis::Symbol(_) | Axis::Unknown => None,
        };
        let dims: Option<Vec<u64>> = known.dims.iter().flatten().map(dim).collect();
        let (Some(dims), Some(dtype)) = (dims, known.dtype) else { return Ok(None) };
        let bytes = random_bytes(self.seed, &known.name, dtype, &dims, Purpose::Weight);
        Ok(bytes.map(Cow::Owned))
    }
}

/// The elements of a tensor; `None` for types that have no numbers, or too many elements.
fn random_bytes(
    seed: u64,
    name: &str,
    dtype: Dtype,
    dims: &[u64],
    purpose: Purpose,
) -> Option<Vec<u8>> {
    let count = plimsoll_graph::shape::product(dims)?;
    let start = mixed(seed ^ hash(name));
    let bits = |index: u64| mixed(start.wrapping_add(index));
    let content = match dtype.class() {
        Class::Integer => {
            Content::Ints((0..count).map(|i| (bits(i) >> 63).cast_signed()).collect())
        }
        Class::Float => {
            let (centre, half) = range(dims, purpose);
            // 24 bits, so that no number is rounded.
            let unit = |i: u64| (bits(i) >> 40) as f64 / f64::from(1 << 23) - 1.0;
            Content::Floats((0..count).map(|i| centre + half * unit(i)).collect())
        }
        Class::Complex => return None,
    };
    content.bytes(dtype)
}

/// The middle of the numbers, and how far they are from it at most.
fn range(dims: &[u64], purpose: Purpose) -> (f64, f64) {
    match (purpose, dims) {
        (Purpose::Input, _) => (0.0, 1.0),
        (Purpose::Weight, [] | [_]) => (1.0, 0.5),
        // Which axis is summed over is not known: half of each.
        (Purpose::Weight, [a, b]) => (0.0, (3.0 / (*a as f64 * *b as f64).sqrt().max(1.0)).sqrt()),
        (Purpose::Weight, [_, summed @ ..]) => {
            let summed: f64 = summed.iter().map(|dim| *dim as f64).product();
            (0.0, (3.0 / summed.max(1.0)).sqrt())
        }
    }
}

/// FNV-1a of a name.
fn hash(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The step of `SplitMix64`.
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
