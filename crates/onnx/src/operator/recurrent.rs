//! Recurrent layers, and the functions that follow their gates or other operators.

use plimsoll_model::{Cell, Direction, Operator, Recurrence, Unary};

use super::plain;
use crate::draft::Draft;
use crate::error::Fault;

/// A layer.
pub(super) fn read(draft: &Draft<'_, '_>, cell: Cell) -> Result<Operator, Fault> {
    let attributes = &draft.attributes;
    let direction = attributes.choice("direction", DIRECTIONS)?;
    let ways = if direction == Direction::Both { 2 } else { 1 };
    let activations = match attributes.texts("activations")? {
        Some(names) => {
            let (alpha, beta) = (list(draft, "activation_alpha")?, list(draft, "activation_beta")?);
            activations(&names, &alpha, &beta)?
        }
        None => cell.activations().repeat(ways),
    };
    let (found, wanted) = (activations.len(), ways * cell.activations().len());
    // The default of one kind is for both ways, and is written for one too.
    if found < wanted {
        return Err(format!("{found} functions where {wanted} are needed"));
    }
    Ok(Operator::Recurrent(Recurrence {
        cell,
        hidden: attributes.count("hidden_size")?,
        direction,
        batch_first: attributes.flag("layout", false)?,
        activations: activations[..wanted].to_vec(),
        clip: attributes.float("clip")?.map(|clip| clip as f32),
    }))
}

const DIRECTIONS: &[(&str, Direction)] = &[
    ("forward", Direction::Forward),
    ("reverse", Direction::Reverse),
    ("bidirectional", Direction::Both),
];

fn list(draft: &Draft<'_, '_>, name: &str) -> Result<Vec<f32>, Fault> {
    let numbers = draft.attributes.floats(name)?.unwrap_or_default();
    Ok(numbers.into_iter().map(|number| number as f32).collect())
}

/// Functions by their names. Those that have numbers take the next of each list.
fn activations(names: &[&str], alpha: &[f32], beta: &[f32]) -> Result<Vec<Unary>, Fault> {
    let (mut alpha, mut beta) = (alpha.iter().copied(), beta.iter().copied());
    let next = |name: &&str| activation(name, || alpha.next(), || beta.next());
    names.iter().map(next).collect()
}

/// The function of a name, in whichever case. Numbers are asked for if it has them.
pub(super) fn activation(
    name: &str,
    mut alpha: impl FnMut() -> Option<f32>,
    mut beta: impl FnMut() -> Option<f32>,
) -> Result<Unary, Fault> {
    let lower = name.to_ascii_lowercase();
    Ok(match &lower[..] {
        "affine" => Unary::Affine { alpha: alpha().unwrap_or(1.0), beta: beta().unwrap_or(0.0) },
        "elu" => Unary::Elu { alpha: alpha().unwrap_or(1.0) },
        "hardsigmoid" => {
            Unary::HardSigmoid { alpha: alpha().unwrap_or(0.2), beta: beta().unwrap_or(0.5) }
        }
        "leakyrelu" => Unary::LeakyRelu { alpha: alpha().unwrap_or(0.01) },
        "scaledtanh" => {
            Unary::ScaledTanh { alpha: alpha().unwrap_or(1.0), beta: beta().unwrap_or(1.0) }
        }
        "thresholdedrelu" => Unary::ThresholdedRelu { alpha: alpha().unwrap_or(1.0) },
        "softsign" => Unary::Softsign,
        "softplus" => Unary::Softplus,
        "relu" => Unary::Relu,
        "tanh" => Unary::Tanh,
        "sigmoid" => Unary::Sigmoid,
        _ => plain::unary(name).ok_or_else(|| format!("`{name}` is no function of a gate"))?,
    })
}
