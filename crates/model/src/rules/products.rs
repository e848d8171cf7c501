//! Products of matrices and tensors.

use plimsoll_graph::shape::dims::{agreed, broadcast, shown};
use plimsoll_graph::{Dim, Dtype, Fact};

use super::Inputs;
use super::operands::{Facts, check_broadcasts_to, dims_of_rank, made, operand, optional};

/// As numpy's.
pub(super) fn matmul(inputs: &Inputs<'_>) -> Facts {
    let (a, b) = (operand(inputs, 0)?, operand(inputs, 1)?);
    Ok(vec![made(a.dtype.or(b.dtype), multiplied(a, b)?)])
}

/// Of matrices that may be transposed first.
pub(super) fn transposed_matmul(inputs: &Inputs<'_>, a: bool, b: bool) -> Facts {
    let turned = |index, transpose: bool| -> Result<Fact, String> {
        let mut fact = operand(inputs, index)?.clone();
        if let Some([.., rows, columns]) = fact.shape.as_mut().map(|shape| &mut shape.0[..])
            && transpose
        {
            std::mem::swap(rows, columns);
        }
        Ok(fact)
    };
    let (a, b) = (turned(0, a)?, turned(1, b)?);
    Ok(vec![made(a.dtype.or(b.dtype), multiplied(&a, &b)?)])
}

/// `a, b, zero a?, zero b?`.
pub(super) fn matmul_integer(inputs: &Inputs<'_>) -> Facts {
    let dims = multiplied(operand(inputs, 0)?, operand(inputs, 1)?)?;
    Ok(vec![made(Some(Dtype::I32), dims)])
}

/// `a, scale, zero, b, scale, zero, scale, zero`.
pub(super) fn quantized_matmul(inputs: &Inputs<'_>) -> Facts {
    let dims = multiplied(operand(inputs, 0)?, operand(inputs, 3)?)?;
    Ok(vec![made(optional(inputs, 7).and_then(|zero| zero.dtype), dims)])
}

/// The dims of a product, if both ranks are known.
fn multiplied(a: &Fact, b: &Fact) -> Result<Option<Vec<Dim>>, String> {
    let (Some(a), Some(b)) = (a.dims(), b.dims()) else { return Ok(None) };
    let (a_batch, rows, inner_a) = match a {
        [] => return Err("a scalar times a matrix".to_owned()),
        [inner] => (&a[..0], None, inner.clone()),
        [batch @ .., rows, inner] => (batch, Some(rows.clone()), inner.clone()),
    };
    let (b_batch, columns, inner_b) = match b {
        [] => return Err("a matrix times a scalar".to_owned()),
        [inner] => (&b[..0], None, inner.clone()),
        [batch @ .., inner, columns] => (batch, Some(columns.clone()), inner.clone()),
    };
    fits(&inner_a, &inner_b)?;
    let mut dims = broadcast(a_batch, b_batch)?;
    dims.extend(rows.into_iter().chain(columns));
    Ok(Some(dims))
}

/// Whether the columns of one matrix can be as many as the rows of the other.
fn fits(columns: &Dim, rows: &Dim) -> Result<(), String> {
    match agreed(columns, rows) {
        Some(_) => Ok(()),
        None => Err(format!("{} columns times {} rows", shown(columns), shown(rows))),
    }
}

/// `a, b, c?`.
pub(super) fn gemm(inputs: &Inputs<'_>, transpose_a: bool, transpose_b: bool) -> Facts {
    let (a, b) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let turned = |fact, transposed| {
        dims_of_rank(fact, 2).map(|dims| {
            if transposed {
                (dims[1].clone(), dims[0].clone())
            } else {
                (dims[0].clone(), dims[1].clone())
            }
        })
    };
    let (rows, inner_a) = turned(a, transpose_a)?;
    let (inner_b, columns) = turned(b, transpose_b)?;
    fits(&inner_a, &inner_b)?;
    let dims = vec![rows, columns];
    check_broadcasts_to(inputs, 2, &dims)?;
    Ok(vec![made(a.dtype.or(b.dtype), Some(dims))])
}

#[cfg(test)]
mod tests;
