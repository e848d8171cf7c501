//! What is wrong with operands, where the table would otherwise have to guess.

use super::{Operand, Operands, Views, traits};
use crate::op::{Cut, Op};
use crate::shape::dims::broadcast;
use crate::shape::{Shape, product};

/// What is wrong with an op on these operands.
#[must_use]
pub fn misfit(op: &Op, inputs: &Operands<'_>, outputs: &Operands<'_>) -> Option<String> {
    if *op == Op::Binary {
        return binary_misfit(inputs, outputs);
    }
    let first = |operands: &Operands<'_>| operands.first().copied().flatten().and_then(dims);
    let (input, output) = (first(inputs), first(outputs));
    let traits = traits(op);
    match traits.views {
        Views::Whole if traits.copies => {
            let (from, to) = (product(&input?)?, product(&output?)?);
            (from != to).then(|| format!("{from} elements cannot become {to}"))
        }
        Views::None | Views::Whole | Views::Repeat => None,
        Views::Permute { perm } => {
            let rank = input?.len();
            let mut sorted = perm.to_vec();
            sorted.sort_unstable();
            let fits = sorted.iter().copied().eq(0..rank);
            (!fits).then(|| format!("{perm:?} is not a permutation of {rank} axes"))
        }
        Views::Cut { cuts } => {
            let misfit = cuts.iter().find_map(|cut| cut_misfit(cut, input.as_deref()?));
            misfit.or_else(|| cut_twice(cuts))
        }
        Views::Split { axis } => split_misfit(axis, &input?, outputs),
        Views::Concat { axis } => {
            let rank = output?.len();
            (axis >= rank).then(|| format!("axis {axis} of {rank} axes"))
        }
    }
}

/// Operands behind the first two are scales and the like.
fn binary_misfit(inputs: &Operands<'_>, outputs: &Operands<'_>) -> Option<String> {
    let (Some(Some(a)), Some(Some(b))) = (inputs.first(), inputs.get(1)) else {
        let count = inputs.iter().flatten().count();
        return Some(format!("an op on two operands, of which there {}", is_or_are(count)));
    };
    let Some(Some(output)) = outputs.first() else { return None };
    let dims = match broadcast(&a.shape.0, &b.shape.0) {
        Ok(dims) => Shape(dims),
        Err(why) => return Some(format!("{} and {} do not fit: {why}", a.shape, b.shape)),
    };
    let fits = dims.known().zip(output.shape.known()).is_none_or(|(dims, made)| dims == made);
    (!fits).then(|| format!("{} and {} make {dims}, not {}", a.shape, b.shape, output.shape))
}

fn is_or_are(count: usize) -> String {
    if count == 1 { "is 1".to_owned() } else { format!("are {count}") }
}

fn cut_misfit(cut: &Cut, dims: &[u64]) -> Option<String> {
    let Some(dim) = dims.get(cut.axis) else {
        return Some(format!("axis {} of {} axes", cut.axis, dims.len()));
    };
    let travel = cut.len.saturating_sub(1).checked_mul(cut.step.unsigned_abs());
    let inside = match travel {
        Some(travel) if cut.step < 0 => cut.start < *dim && travel <= cut.start,
        Some(travel) => cut.start.checked_add(travel).is_some_and(|last| last < *dim),
        None => false,
    };
    let fits = cut.step != 0 && (inside || (cut.len == 0 && cut.start <= *dim));
    (!fits).then(|| {
        let Cut { axis, start, len, step } = cut;
        format!("{len} elements from {start} by {step} of axis {axis}, which has {dim}")
    })
}

/// One axis has one part: which of two would count is not said anywhere.
fn cut_twice(cuts: &[Cut]) -> Option<String> {
    let is_again = |index: &usize| cuts[..*index].iter().any(|cut| cut.axis == cuts[*index].axis);
    let again = (0..cuts.len()).find(is_again)?;
    Some(format!("axis {} is cut twice", cuts[again].axis))
}

fn split_misfit(axis: usize, input: &[u64], outputs: &Operands<'_>) -> Option<String> {
    let Some(dim) = input.get(axis) else {
        return Some(format!("axis {axis} of {} axes", input.len()));
    };
    let mut sum = 0u64;
    for output in outputs {
        let dims = dims((*output)?)?;
        sum = sum.saturating_add(dims.get(axis).copied().unwrap_or(0));
    }
    (sum != *dim).then(|| format!("parts of {sum} along axis {axis}, which has {dim}"))
}

fn dims(operand: Operand<'_>) -> Option<Vec<u64>> {
    operand.shape.known()
}
