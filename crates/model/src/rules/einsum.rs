//! Sums of products by a formula such as `bij,bjk->bik`.

use std::collections::BTreeMap;

use plimsoll_graph::shape::dims::{broadcast, broadcast_dim};
use plimsoll_graph::{Dim, Fact};

use super::Inputs;
use super::operands::{Facts, made, operand};

/// One side of a comma: letters, and `None` where an ellipsis is.
type Term = Vec<Option<char>>;

/// What the formula says of dims: those of letters, and those that ellipses stand for, if it is
/// known how many these are.
struct Meaning {
    letters: BTreeMap<char, Dim>,
    ellipsis: Option<Vec<Dim>>,
}

/// Any number of tensors.
pub(super) fn einsum(inputs: &Inputs<'_>, equation: &str) -> Facts {
    let plain: String = equation.chars().filter(|char| !char.is_whitespace()).collect();
    let (left, right) = match plain.split_once("->") {
        Some((left, right)) => (left, Some(term(right)?)),
        None => (&plain[..], None),
    };
    let terms = left.split(',').map(term).collect::<Result<Vec<_>, _>>()?;
    if terms.len() != inputs.len() {
        return Err(format!("{} operands for {} terms", inputs.len(), terms.len()));
    }
    let mut meaning = Meaning { letters: BTreeMap::new(), ellipsis: Some(Vec::new()) };
    for (index, term) in terms.iter().enumerate() {
        meaning.learn(term, operand(inputs, index)?)?;
    }
    let dims = match right {
        Some(right) => meaning.dims(&right)?,
        None => implied(&terms, &meaning)?,
    };
    let dtype = inputs.iter().flatten().find_map(|fact| fact.dtype);
    Ok(vec![made(dtype, dims)])
}

/// Reads one term.
fn term(text: &str) -> Result<Term, String> {
    let mut term = Term::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            if term.contains(&None) {
                return Err(format!("two ellipses in `{text}`"));
            }
            term.push(None);
            rest = after;
        } else if char.is_ascii_alphabetic() {
            term.push(Some(char));
            rest = &rest[1..];
        } else {
            return Err(format!("`{char}` in `{text}`"));
        }
    }
    Ok(term)
}

impl Meaning {
    /// Learns from the dims of an operand.
    fn learn(&mut self, term: &Term, fact: &Fact) -> Result<(), String> {
        let dots = term.iter().position(Option::is_none);
        let letters = term.len() - usize::from(dots.is_some());
        let Some(dims) = fact.dims() else {
            if dots.is_some() {
                self.ellipsis = None;
            }
            return term.iter().flatten().try_for_each(|char| self.meet(*char, &Dim::Unknown));
        };
        let Some(more) = dims.len().checked_sub(letters) else {
            return Err(format!("{letters} letters for {} axes", dims.len()));
        };
        let Some(dots) = dots else {
            if more > 0 {
                return Err(format!("{letters} letters for {} axes", dims.len()));
            }
            return term.iter().flatten().zip(dims).try_for_each(|(c, dim)| self.meet(*c, dim));
        };
        if let Some(ellipsis) = &mut self.ellipsis {
            *ellipsis = broadcast(ellipsis, &dims[dots..dots + more])?;
        }
        let others = dims[..dots].iter().chain(&dims[dots + more..]);
        term.iter().flatten().zip(others).try_for_each(|(char, dim)| self.meet(*char, dim))
    }

    /// Learns of one dim of a letter.
    fn meet(&mut self, char: char, dim: &Dim) -> Result<(), String> {
        let known = self.letters.entry(char).or_insert(Dim::Known(1));
        *known = broadcast_dim(known, dim).map_err(|fault| format!("{fault} for `{char}`"))?;
        Ok(())
    }

    /// The dims of the output, if it is known how many there are.
    fn dims(&self, term: &Term) -> Result<Option<Vec<Dim>>, String> {
        let mut dims = Vec::new();
        for (index, char) in term.iter().enumerate() {
            match char {
                Some(char) if term[..index].contains(&Some(*char)) => {
                    return Err(format!("`{char}` twice in the output"));
                }
                Some(char) => {
                    let dim = self.letters.get(char);
                    let dim = dim.ok_or_else(|| format!("`{char}` only in the output"))?;
                    dims.push(dim.clone());
                }
                None => match &self.ellipsis {
                    Some(ellipsis) => dims.extend_from_slice(ellipsis),
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(dims))
    }
}

/// The dims of an output that is not given: what ellipses stand for, then the letters that are
/// there once, in alphabetical order. Whether capitals come first is up to the runtime.
fn implied(terms: &[Term], meaning: &Meaning) -> Result<Option<Vec<Dim>>, String> {
    let mut times = BTreeMap::new();
    for char in terms.iter().flatten() {
        *times.entry(*char).or_insert(0usize) += 1;
    }
    let dots = times.contains_key(&None);
    let once = times.into_iter().filter(|(char, times)| char.is_some() && *times == 1);
    let letters: Term = once.map(|(char, _)| char).collect();
    let capitals = letters.iter().flatten().filter(|char| char.is_ascii_uppercase()).count();
    let term: Term = dots.then_some(None).into_iter().chain(letters.iter().copied()).collect();
    let dims = meaning.dims(&term)?;
    if capitals == 0 || capitals == letters.len() {
        return Ok(dims);
    }
    Ok(dims.map(|dims| vec![Dim::Unknown; dims.len()]))
}

#[cfg(test)]
mod tests;
