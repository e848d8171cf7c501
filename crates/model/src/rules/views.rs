//! The same elements under other dims: reshape, squeeze, transpose, expand and their like.

use plimsoll_graph::shape::dims::{
    at_most, axis_of, broadcast, count, limit, once, over, same, times,
};
use plimsoll_graph::shape::expr::of_dims;
use plimsoll_graph::{Dim, Expr, Int};

use super::Inputs;
use super::operands::{
    Facts, axes_in, dims_in, dims_of_rank, is_empty, list, made, operand, optional,
};

/// `x, dims`.
pub(super) fn reshape(inputs: &Inputs<'_>, allow_zero: bool) -> Facts {
    let (x, dims) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let dims = match list(dims) {
        Some(wanted) => Some(reshaped(x.dims(), &wanted, allow_zero)?),
        None => None,
    };
    Ok(vec![made(x.dtype, dims)])
}

/// What one number of the dims of a reshape asks for.
enum Wanted {
    /// A dim of its own.
    Given(Dim),
    /// The dim of the input at that place.
    Copied(Dim),
    /// What is left over.
    Rest,
}

fn reshaped(from: Option<&[Dim]>, wanted: &[Int], allow_zero: bool) -> Result<Vec<Dim>, String> {
    let wanted = wanted
        .iter()
        .enumerate()
        .map(|(index, int)| wanted_dim(from, index, int, allow_zero))
        .collect::<Result<Vec<_>, _>>()?;
    if wanted.iter().filter(|dim| matches!(dim, Wanted::Rest)).count() > 1 {
        return Err("more than one dim of -1".to_owned());
    }
    let mut dims: Vec<Dim> = wanted
        .iter()
        .map(|dim| match dim {
            Wanted::Given(dim) | Wanted::Copied(dim) => dim.clone(),
            Wanted::Rest => Dim::Unknown,
        })
        .collect();
    let Some(from) = from else { return Ok(dims) };
    if let Some(rest) = wanted.iter().position(|dim| matches!(dim, Wanted::Rest)) {
        dims[rest] = left_over(from, &wanted)?;
    } else {
        solve(from, &mut dims)?;
    }
    Ok(dims)
}

/// A number that is not known may turn out to be a 0 that copies.
fn wanted_dim(
    from: Option<&[Dim]>,
    index: usize,
    int: &Int,
    allow_zero: bool,
) -> Result<Wanted, String> {
    let copied = || match from {
        None => Ok(Dim::Unknown),
        Some(dims) => {
            let rank = dims.len();
            dims.get(index).cloned().ok_or_else(|| format!("axis {index} of {rank} axes"))
        }
    };
    match int.known() {
        Some(-1) => return Ok(Wanted::Rest),
        Some(0) if !allow_zero => return copied().map(Wanted::Copied),
        Some(dim) if dim < 0 => return Err(format!("a dim of {dim}")),
        Some(_) | None => {}
    }
    let plain = int.lo > 0 || (int.lo == 0 && allow_zero) || int.known().is_some();
    Ok(Wanted::Given(match (plain, Dim::from(int.clone())) {
        (true, dim) => dim,
        (false, Dim::AtMost(most)) if int.lo == 0 => {
            let copied = copied().unwrap_or(Dim::Known(0));
            limit(&copied).map_or(Dim::Unknown, |copied| Dim::AtMost(copied.max(most)))
        }
        (false, _) => Dim::Unknown,
    }))
}

/// What a -1 stands for. Copied dims are on both sides; if one of them were 0 at run time, there
/// would be no answer at all.
fn left_over(from: &[Dim], wanted: &[Wanted]) -> Result<Dim, String> {
    let copied = |index: usize| matches!(wanted.get(index), Some(Wanted::Copied(_)));
    let kept = from.iter().enumerate().filter(|(index, _)| !copied(*index));
    let total = count(&kept.map(|(_, dim)| dim.clone()).collect::<Vec<_>>());
    let mut others = Dim::Known(1);
    let mut exact = true;
    for dim in wanted {
        match dim {
            Wanted::Given(dim @ (Dim::Known(_) | Dim::Follows(_))) => others = times(&others, dim),
            // At least 1, or there is no answer.
            Wanted::Given(Dim::AtMost(_) | Dim::Unknown) => exact = false,
            Wanted::Copied(_) | Wanted::Rest => {}
        }
    }
    match (&total, &others) {
        (_, Dim::Known(0)) => Err("a dim of -1 beside one of 0".to_owned()),
        (Dim::Follows(_), _) | (_, Dim::Follows(_)) => {
            let quotient = of_dims(&total, &others, Expr::exactly_over).filter(|_| exact);
            // The others are at least 1, or there is no answer.
            Ok(quotient.unwrap_or_else(|| at_most(limit(&total))))
        }
        (Dim::Unknown, _) | (_, Dim::AtMost(_) | Dim::Unknown) => Ok(Dim::Unknown),
        (Dim::Known(total), Dim::Known(others)) if exact => {
            if total.is_multiple_of(*others) {
                Ok(Dim::Known(total / others))
            } else {
                Err(format!("{total} elements in parts of {others}"))
            }
        }
        (Dim::Known(total) | Dim::AtMost(total), Dim::Known(others)) => {
            Ok(Dim::AtMost(total / others))
        }
    }
}

/// Finds the one dim that is not known, if the number of elements is.
fn solve(from: &[Dim], dims: &mut [Dim]) -> Result<(), String> {
    let open: Vec<usize> = (0..dims.len()).filter(|index| !dims[*index].is_exact()).collect();
    let total = match (count(from), &open[..]) {
        (Dim::Known(total), _) => total,
        (total @ Dim::Follows(_), [open]) => return solve_followed(&total, dims, *open),
        _ => return Ok(()),
    };
    match open[..] {
        [] => match count(dims) {
            Dim::Known(found) if found != total => {
                Err(format!("{total} elements cannot become {found}"))
            }
            _ => Ok(()),
        },
        [open] => {
            let before = dims[open].clone();
            dims[open] = Dim::Known(1);
            let others = count(dims);
            dims[open] = match others {
                Dim::Known(others) if others > 0 && total.is_multiple_of(others) => {
                    same(&Dim::Known(total / others), &before)?
                }
                Dim::Known(others) if others > 0 => {
                    return Err(format!("{total} elements in parts of {others}"));
                }
                _ => before,
            };
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Finds a dim that is not known, of dims that hold as many elements as follow from sizes.
fn solve_followed(total: &Dim, dims: &mut [Dim], open: usize) -> Result<(), String> {
    let before = dims[open].clone();
    dims[open] = Dim::Known(1);
    let found = of_dims(total, &count(dims), Expr::exactly_over);
    dims[open] = match found {
        Some(found) => same(&found, &before)?,
        None => before,
    };
    Ok(())
}

/// `x, axes?`.
pub(super) fn squeeze(inputs: &Inputs<'_>) -> Facts {
    let x = operand(inputs, 0)?;
    let Some(dims) = x.dims() else { return Ok(vec![made(x.dtype, None)]) };
    let dims = match optional(inputs, 1) {
        None => without_ones(dims),
        // Runtimes do not agree on what no axes mean.
        Some(axes) if is_empty(axes) => without_ones(dims).filter(|left| left.len() == dims.len()),
        Some(axes) => match axes_in(axes, dims.len())? {
            Some(axes) => Some(squeezed(dims, &axes)?),
            None if list(axes).is_some_and(|axes| axes.len() == 1) && !dims.is_empty() => {
                Some(vec![Dim::Unknown; dims.len() - 1])
            }
            None => None,
        },
    };
    Ok(vec![made(x.dtype, dims)])
}

/// The dims that are not 1, if all are known.
fn without_ones(dims: &[Dim]) -> Option<Vec<Dim>> {
    let known = dims.iter().all(|dim| match dim {
        Dim::Known(_) => true,
        Dim::Follows(expr) => expr.bounds().0 > 1,
        Dim::AtMost(_) | Dim::Unknown => false,
    });
    known.then(|| dims.iter().filter(|&dim| *dim != Dim::Known(1)).cloned().collect())
}

fn squeezed(dims: &[Dim], axes: &[usize]) -> Result<Vec<Dim>, String> {
    let mut gone = vec![false; dims.len()];
    for axis in axes {
        match dims[*axis] {
            Dim::Known(dim) if dim != 1 => return Err(format!("axis {axis} has {dim}, not 1")),
            _ => gone[*axis] = true,
        }
    }
    Ok(dims.iter().zip(gone).filter(|(_, gone)| !gone).map(|(dim, _)| dim.clone()).collect())
}

/// `x, axes`.
pub(super) fn unsqueeze(inputs: &Inputs<'_>) -> Facts {
    let (x, axes) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let (Some(dims), Some(wanted)) = (x.dims(), list(axes)) else {
        return Ok(vec![made(x.dtype, None)]);
    };
    let rank = dims.len() + wanted.len();
    let mut output = vec![Dim::Unknown; rank];
    if let Some(axes) = axes_in(axes, rank)? {
        let mut new = vec![false; rank];
        for axis in once(axes)? {
            new[axis] = true;
        }
        let mut old = dims.iter().cloned();
        for (dim, new) in output.iter_mut().zip(new) {
            *dim = if new { Dim::Known(1) } else { old.next().unwrap_or(Dim::Unknown) };
        }
    }
    Ok(vec![made(x.dtype, Some(output))])
}

/// Two dims.
pub(super) fn flatten(inputs: &Inputs<'_>, axis: i64) -> Facts {
    let x = operand(inputs, 0)?;
    let dims = match x.dims() {
        None => vec![Dim::Unknown; 2],
        Some(dims) => {
            // The axis may be one past the last.
            let rank = dims.len();
            let axis = if i64::try_from(rank) == Ok(axis) { rank } else { axis_of(axis, rank)? };
            vec![count(&dims[..axis]), count(&dims[axis..])]
        }
    };
    Ok(vec![made(x.dtype, Some(dims))])
}

/// Axes permuted.
pub(super) fn transpose(inputs: &Inputs<'_>, perm: Option<&[usize]>) -> Facts {
    let x = operand(inputs, 0)?;
    let dims = match (x.dims(), perm) {
        (None, None) => None,
        (Some(dims), None) => Some(dims.iter().rev().cloned().collect()),
        (dims, Some(perm)) => {
            let rank = dims.map_or(perm.len(), <[Dim]>::len);
            let mut sorted = perm.to_vec();
            sorted.sort_unstable();
            if !sorted.iter().copied().eq(0..rank) {
                return Err(format!("{perm:?} is not a permutation of {rank} axes"));
            }
            let dim = |axis: &usize| dims.map_or(Dim::Unknown, |dims| dims[*axis].clone());
            Some(perm.iter().map(dim).collect())
        }
    };
    Ok(vec![made(x.dtype, dims)])
}

/// `x, dims`: broadcast both ways.
pub(super) fn expand(inputs: &Inputs<'_>) -> Facts {
    let (x, wanted) = (operand(inputs, 0)?, dims_in(operand(inputs, 1)?)?);
    let dims = match (x.dims(), wanted) {
        (Some(dims), Some(wanted)) => Some(broadcast(dims, &wanted)?),
        _ => None,
    };
    Ok(vec![made(x.dtype, dims)])
}

/// Blocks of channels become blocks of pixels.
pub(super) fn depth_to_space(inputs: &Inputs<'_>, block: u64) -> Facts {
    let x = operand(inputs, 0)?;
    let (dims, area) = image(inputs, block)?;
    let longer = |dim| times(&dim, &Dim::Known(block));
    let dims = vec![
        dims[0].clone(),
        divided(&dims[1], area)?,
        longer(dims[2].clone()),
        longer(dims[3].clone()),
    ];
    Ok(vec![made(x.dtype, Some(dims))])
}

/// Blocks of pixels become channels.
pub(super) fn space_to_depth(inputs: &Inputs<'_>, block: u64) -> Facts {
    let x = operand(inputs, 0)?;
    let (dims, area) = image(inputs, block)?;
    let channels = times(&dims[1], &Dim::Known(area));
    let dims =
        vec![dims[0].clone(), channels, divided(&dims[2], block)?, divided(&dims[3], block)?];
    Ok(vec![made(x.dtype, Some(dims))])
}

/// The four dims of an image, and the area of a block.
fn image(inputs: &Inputs<'_>, block: u64) -> Result<(Vec<Dim>, u64), String> {
    let dims = dims_of_rank(operand(inputs, 0)?, 4)?;
    let area = block.checked_mul(block).filter(|area| *area > 0);
    Ok((dims, area.ok_or_else(|| format!("blocks of {block}"))?))
}

/// A dim in whole parts.
fn divided(dim: &Dim, by: u64) -> Result<Dim, String> {
    match dim {
        Dim::Known(dim) if !dim.is_multiple_of(by) => Err(format!("{dim} in parts of {by}")),
        _ => Ok(over(dim, by)),
    }
}

#[cfg(test)]
mod tests;
