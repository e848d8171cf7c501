//! Sums of products along axes that have letters.

use plimsoll_kernels::einsum;

use crate::at::At;
use crate::kernel::{Built, Lack};
use crate::types::by_number;

/// Any number of tensors, with a letter for each axis.
pub(super) fn einsum(at: &At<'_>, equation: &str) -> Result<Built, Lack> {
    let Labels { lens, kept, strides } = Labels::of(at, equation)?;
    by_number!(at.dtype(0)?, T => Ok(Built::one(strides.len(), 1, move |io| {
        let y = io.write::<T>(0);
        let io = &*io;
        let operands = strides.iter().enumerate().map(|(i, strides)| (io.read::<T>(i), &strides[..]));
        einsum::einsum(&lens, kept, operands, y);
        Ok(())
    })))
}

/// The labels of an equation: those of the result first, and the strides of every operand along them.
struct Labels {
    lens: Vec<usize>,
    kept: usize,
    strides: Vec<Vec<usize>>,
}

impl Labels {
    fn of(at: &At<'_>, equation: &str) -> Result<Self, Lack> {
        let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match equation.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&equation[..], None),
        };
        let mut terms = Vec::new();
        for (operand, term) in left.split(',').enumerate() {
            terms.push(spelled(term, at.dims(operand)?.len())?);
        }
        let result = match right {
            Some(right) => spelled(right, at.result_dims(0)?.len())?,
            None => implied(&terms),
        };
        let mut labels = result.clone();
        for label in terms.iter().flatten() {
            if !labels.contains(label) {
                labels.push(*label);
            }
        }
        if labels.len() > einsum::MOST_LABELS {
            return Err(format!("{} labels, at most {}", labels.len(), einsum::MOST_LABELS));
        }
        let (mut lens, mut strides) = (vec![1; labels.len()], Vec::new());
        for (operand, term) in terms.iter().enumerate() {
            let dims = at.dims(operand)?;
            let (mut along, mut stride) = (vec![0; labels.len()], 1);
            for (label, dim) in term.iter().zip(&dims).rev() {
                let at = labels.iter().position(|other| other == label).unwrap_or(0);
                // What is one long is the same everywhere along the label.
                if *dim != 1 {
                    along[at] += stride;
                    lens[at] = *dim;
                }
                stride *= dim;
            }
            strides.push(along);
        }
        Ok(Labels { lens, kept: result.len(), strides })
    }
}

/// The labels of a term of so many axes; those that dots stand for are numbers, counted from the last.
fn spelled(term: &str, rank: usize) -> Result<Vec<u32>, Lack> {
    let (before, behind) = match term.split_once("...") {
        Some((before, behind)) => (before, Some(behind)),
        None => (term, None),
    };
    let count = before.chars().count() + behind.map_or(0, |behind| behind.chars().count());
    let dots = rank.checked_sub(count).filter(|dots| *dots == 0 || behind.is_some());
    let dots = dots.ok_or_else(|| format!("`{term}` for {rank} axes"))?;
    let dots = (0..dots as u32).rev();
    let behind = behind.unwrap_or_default();
    Ok(before.chars().map(u32::from).chain(dots).chain(behind.chars().map(u32::from)).collect())
}

/// Without a result: what dots stand for, and then every letter that is there once, in alphabetical order.
fn implied(terms: &[Vec<u32>]) -> Vec<u32> {
    let all: Vec<u32> = terms.iter().flatten().copied().collect();
    let dots = all.iter().filter(|label| **label < LETTERS).max().map_or(0, |most| most + 1);
    let once = |label: &u32| *label >= LETTERS && all.iter().filter(|l| *l == label).count() == 1;
    let mut letters: Vec<u32> = all.iter().copied().filter(once).collect();
    letters.sort_unstable();
    (0..dots).rev().chain(letters).collect()
}

/// Where letters begin among labels.
const LETTERS: u32 = 32;
