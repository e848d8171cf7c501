//! What rules read of operands, and the facts they make.

use plimsoll_graph::shape::dims::{MOST_AXES, agreed, axes_of, count, shown};
use plimsoll_graph::{Dim, Dtype, Fact, Int, Shape};

use super::Inputs;

/// What is known of each output; the error says what does not fit.
pub(super) type Facts = Result<Vec<Fact>, String>;

/// An operand that must be there.
pub(super) fn operand<'a>(inputs: &Inputs<'a>, index: usize) -> Result<&'a Fact, String> {
    optional(inputs, index).ok_or_else(|| format!("operand {index} is missing"))
}

/// An operand that may be absent.
pub(super) fn optional<'a>(inputs: &Inputs<'a>, index: usize) -> Option<&'a Fact> {
    inputs.get(index).copied().flatten()
}

/// A tensor of this type and these dims, as far as they are known.
pub(super) fn made(dtype: Option<Dtype>, dims: Option<Vec<Dim>>) -> Fact {
    Fact { dtype, shape: dims.map(Shape), numbers: None }
}

/// A tensor of the type and the dims of another.
pub(super) fn like(fact: &Fact) -> Fact {
    Fact { numbers: None, ..fact.clone() }
}

/// The dims of an operand that has so many; unknown ones if nothing is known of them.
pub(super) fn dims_of_rank(fact: &Fact, rank: usize) -> Result<Vec<Dim>, String> {
    match fact.dims() {
        None => Ok(vec![Dim::Unknown; rank]),
        Some(dims) if dims.len() == rank => Ok(dims.to_vec()),
        Some(dims) => Err(format!("{} axes, not {rank}", dims.len())),
    }
}

/// The length of an operand with one axis.
pub(super) fn length(fact: &Fact) -> Dim {
    match fact.dims() {
        Some([length]) => length.clone(),
        _ => Dim::Unknown,
    }
}

/// An error if an operand, where it is there, is not one axis of so many.
pub(super) fn check_length(inputs: &Inputs<'_>, index: usize, dim: &Dim) -> Result<(), String> {
    let Some(fact) = optional(inputs, index) else { return Ok(()) };
    let found = dims_of_rank(fact, 1)?;
    if agreed(&found[0], dim).is_some() {
        return Ok(());
    }
    let (found, wanted) = (shown(&found[0]), shown(dim));
    Err(format!("operand {index} has {found} elements, not {wanted}"))
}

/// An error if an operand, where it is there, is not one element.
pub(super) fn check_single(inputs: &Inputs<'_>, index: usize) -> Result<(), String> {
    match optional(inputs, index).and_then(Fact::dims).map(count) {
        Some(Dim::Known(elements)) if elements != 1 => {
            Err(format!("operand {index} has {elements} elements, not 1"))
        }
        _ => Ok(()),
    }
}

/// An error if an operand, where it is there, does not broadcast to these dims.
pub(super) fn check_broadcasts_to(
    inputs: &Inputs<'_>,
    index: usize,
    dims: &[Dim],
) -> Result<(), String> {
    let Some(from) = optional(inputs, index).and_then(Fact::dims) else { return Ok(()) };
    let more = dims.len().checked_sub(from.len());
    let fits = |(from, to): (&Dim, &Dim)| match from {
        Dim::Known(1) | Dim::AtMost(_) | Dim::Unknown => true,
        Dim::Follows(expr) if expr.bounds().0 <= 1 => true,
        from => agreed(from, to).is_some(),
    };
    if more.is_some_and(|more| from.iter().zip(&dims[more..]).all(fits)) {
        return Ok(());
    }
    let (from, to) = (Shape(from.to_vec()), Shape(dims.to_vec()));
    Err(format!("operand {index} is {from}, which does not broadcast to {to}"))
}

/// The numbers of an operand, if it is known how many there are.
pub(super) fn list(fact: &Fact) -> Option<Vec<Int>> {
    if let Some(ints) = fact.ints() {
        return Some(ints.to_vec());
    }
    match length(fact) {
        Dim::Known(length) if length <= MOST_AXES => Some(vec![Int::ANY; length as usize]),
        _ => None,
    }
}

/// Whether an operand is known to have no elements.
pub(super) fn is_empty(fact: &Fact) -> bool {
    fact.dims().is_some_and(|dims| dims.contains(&Dim::Known(0)))
}

/// The one number of an operand.
pub(super) fn scalar(fact: &Fact) -> Int {
    match fact.ints() {
        Some([int]) => int.clone(),
        _ => Int::ANY,
    }
}

/// The dim that a number says.
pub(super) fn dim_in(int: Int) -> Result<Dim, String> {
    match int.known() {
        Some(dim) if dim < 0 => Err(format!("a dim of {dim}")),
        _ => Ok(Dim::from(int)),
    }
}

/// The dims that the numbers of an operand say, if it is known how many there are.
pub(super) fn dims_in(fact: &Fact) -> Result<Option<Vec<Dim>>, String> {
    list(fact).map(|ints| ints.into_iter().map(dim_in).collect()).transpose()
}

/// The axes that the numbers of an operand say, if all are known.
pub(super) fn axes_in(fact: &Fact, rank: usize) -> Result<Option<Vec<usize>>, String> {
    if is_empty(fact) {
        return Ok(Some(Vec::new()));
    }
    fact.known_ints().map(|axes| axes_of(&axes, rank)).transpose()
}
