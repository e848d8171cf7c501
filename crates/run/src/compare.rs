//! Runs for tests: a model on given inputs, in a plan and with every tensor apart.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_model::{Model, Weights};

use crate::error::SessionError;
use crate::options::Options;
use crate::port::Array;
use crate::session::Session;

/// The outputs of a model on inputs, whose dims are those of the arrays. Names are those of the model.
pub fn outputs(
    model: &Model,
    weights: &dyn Weights,
    inputs: &BTreeMap<String, Array>,
    options: &Options,
) -> Result<BTreeMap<String, Array>, SessionError> {
    let mut options = options.clone();
    for (name, array) in inputs {
        options.bindings.inputs.insert(name.clone(), array.dims.clone());
    }
    let mut session = Session::new(model, weights, &options)?;
    run(&mut session, inputs)
}

/// Runs a session on inputs.
pub(crate) fn run(
    session: &mut Session<'_>,
    inputs: &BTreeMap<String, Array>,
) -> Result<BTreeMap<String, Array>, SessionError> {
    session.fill(inputs)?;
    session.run()?;
    let output = |port: &crate::port::Port| {
        let bytes = session.output_bytes(&port.name).unwrap_or_default().to_vec();
        let (dtype, dims) = (port.dtype, port.dims.clone());
        (port.name.clone(), Array { dtype, dims, bytes })
    };
    Ok(session.outputs().iter().map(output).collect())
}

/// Where a run in a plan differs from one with every tensor apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The output.
    pub output: String,
    /// The first byte that is another.
    pub byte: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output `{}` differs from byte {} on", self.output, self.byte)
    }
}

/// Runs a model in a plan, twice, and with every tensor apart; the outputs, and the first difference if there is
/// one.
pub fn compare(
    model: &Model,
    weights: &dyn Weights,
    inputs: &BTreeMap<String, Array>,
    options: &Options,
) -> Result<(BTreeMap<String, Array>, Option<Difference>), SessionError> {
    let mut options = options.clone();
    for (name, array) in inputs {
        options.bindings.inputs.insert(name.clone(), array.dims.clone());
    }
    let mut session = Session::new(model, weights, &options)?;
    let expected = outputs(model, weights, inputs, &options.apart_from(session.fused()))?;
    session.poison();
    let first = run(&mut session, inputs)?;
    let second = run(&mut session, inputs)?;
    let difference = difference(&expected, &first).or_else(|| difference(&expected, &second));
    Ok((expected, difference))
}

fn difference(a: &BTreeMap<String, Array>, b: &BTreeMap<String, Array>) -> Option<Difference> {
    a.iter().zip(b).find_map(|((name, a), (_, b))| {
        let differs = a.bytes.iter().zip(&b.bytes).position(|(a, b)| a != b);
        let short = (a.bytes.len() != b.bytes.len()).then_some(a.bytes.len().min(b.bytes.len()));
        let byte = differs.or(short)?;
        Some(Difference { output: name.clone(), byte })
    })
}
