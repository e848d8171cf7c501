//! Windows that go along the axes behind batch and channels: convolutions and pools.

use plimsoll_graph::shape::dims::{
    agreed, at_most, count, followed, grown, limit, number, over, over_up, same, shown, times,
};
use plimsoll_graph::{Dim, Dtype, Fact};

use super::Inputs;
use super::operands::{Facts, check_length, dims_in, dims_of_rank, like, made, operand, optional};
use crate::model::{Convolution, Padding, Pool, Windows};

/// How windows lie along one axis.
#[derive(Clone, Debug)]
struct Lane {
    /// The length of a window.
    kernel: Dim,
    /// From one window to the next.
    stride: u64,
    /// From one element of a window to the next.
    dilation: u64,
    /// What is added at the beginning and at the end; `None` for what makes the output as long as
    /// the input over the stride.
    pads: Option<(i64, i64)>,
}

impl Lane {
    /// How far a window reaches, if it is known.
    fn reach(&self) -> Option<i128> {
        match self.kernel {
            Dim::Known(kernel) => {
                (i128::from(kernel) - 1).checked_mul(i128::from(self.dilation))?.checked_add(1)
            }
            Dim::AtMost(_) | Dim::Follows(_) | Dim::Unknown => None,
        }
    }

    /// How many windows fit on a dim.
    fn windows(&self, dim: &Dim, ceil: Ceil) -> Result<Dim, String> {
        let Some((begin, end)) = self.pads else {
            return Ok(over_up(dim, self.stride));
        };
        let (Some(reach), Some(most)) = (self.reach(), limit(dim)) else {
            return Ok(Dim::Unknown);
        };
        let padded = i128::from(most) + i128::from(begin) + i128::from(end);
        let way = padded - reach;
        if way < 0 {
            return Err(format!("windows of {reach} on {padded}"));
        }
        let stride = i128::from(self.stride);
        if let (Dim::Follows(expr), Ceil::No) = (dim, ceil) {
            let way = expr.plus_number(i128::from(begin) + i128::from(end) - reach);
            if let Some(floor) = way.and_then(|way| way.over(stride)?.plus_number(1)) {
                return Ok(floor.dim());
            }
        }
        let floor = way / stride + 1;
        let mut ceiled = floor + i128::from(way % stride != 0);
        // A window that would start behind the last element is dropped.
        if (ceiled - 1) * stride >= i128::from(most) + i128::from(begin) {
            ceiled -= 1;
        }
        let (least, most) = match ceil {
            Ceil::No => (floor, floor),
            Ceil::Yes => (ceiled, ceiled),
            Ceil::Unclear => (floor.min(ceiled), floor.max(ceiled)),
        };
        let exact = matches!(dim, Dim::Known(_)) && least == most;
        Ok(match number(most) {
            Some(most) if exact => Dim::Known(most),
            most => at_most(most),
        })
    }

    /// The dim on which so many windows lie, one after the other.
    fn spread(&self, windows: &Dim, more: u64) -> Result<Dim, String> {
        let Some((begin, end)) = self.pads else {
            return Ok(times(windows, &Dim::Known(self.stride)));
        };
        let (Some(reach), Some(most)) = (self.reach(), limit(windows)) else {
            return Ok(Dim::Unknown);
        };
        let pads = i128::from(begin) + i128::from(end);
        let ways = (i128::from(most) - 1).checked_mul(i128::from(self.stride));
        let whole = ways
            .and_then(|ways| ways.checked_add(reach))
            .and_then(|ways| ways.checked_add(i128::from(more)));
        let Some(length) = whole.and_then(|whole| whole.checked_sub(pads)) else {
            return Ok(Dim::Unknown);
        };
        if length < 0 {
            return Err(format!("{} elements less {pads}", length + pads));
        }
        if let Dim::Follows(expr) = windows {
            let more = length - i128::from(most) * i128::from(self.stride);
            let spread = expr.times_number(i128::from(self.stride));
            let spread = spread.and_then(|spread| spread.plus_number(more));
            return Ok(followed(spread, || at_most(number(length))));
        }
        Ok(grown(windows, |_| number(length)))
    }
}

/// Whether a window that is cut off at the end counts.
#[derive(Clone, Copy, Debug)]
enum Ceil {
    No,
    Yes,
    /// It depends on the runtime.
    Unclear,
}

/// A lane for each axis of the kernel.
fn lanes(windows: &Windows, kernel: &[Dim]) -> Result<Vec<Lane>, String> {
    let axes = kernel.len();
    let strides = numbers(&windows.strides, axes, "strides")?;
    let dilations = numbers(&windows.dilations, axes, "dilations")?;
    let pads: Vec<Option<(i64, i64)>> = match &windows.padding {
        Padding::Given(pads) if pads.is_empty() => vec![Some((0, 0)); axes],
        Padding::Given(pads) if pads.len() != axes.saturating_mul(2) => {
            return Err(format!("{} pads for {axes} axes", pads.len()));
        }
        Padding::Given(pads) => {
            let (begins, ends) = pads.split_at(axes);
            begins.iter().copied().zip(ends.iter().copied()).map(Some).collect()
        }
        Padding::SameUpper | Padding::SameLower => vec![None; axes],
        Padding::Valid => vec![Some((0, 0)); axes],
    };
    if kernel.contains(&Dim::Known(0)) {
        return Err("windows of 0".to_owned());
    }
    let lane = |axis: usize| Lane {
        kernel: kernel[axis].clone(),
        stride: strides[axis],
        dilation: dilations[axis],
        pads: pads[axis],
    };
    Ok((0..axes).map(lane).collect())
}

/// One number for each axis; 1s if none are given.
fn numbers(given: &[u64], axes: usize, what: &str) -> Result<Vec<u64>, String> {
    if given.is_empty() {
        return Ok(vec![1; axes]);
    }
    if given.len() != axes {
        return Err(format!("{} {what} for {axes} axes", given.len()));
    }
    if given.contains(&0) {
        return Err(format!("{what} of 0"));
    }
    Ok(given.to_vec())
}

/// The dims of an operand and of weights for it, with as many axes, and the lengths of windows; if
/// it is known how many axes there are.
struct Weighted {
    x: Vec<Dim>,
    w: Vec<Dim>,
    lanes: Vec<Lane>,
}

fn weighted(x: &Fact, w: &Fact, windows: &Windows) -> Result<Option<Weighted>, String> {
    let given = (!windows.kernel.is_empty()).then(|| windows.kernel.len() + 2);
    let Some(rank) = x.rank().or(w.rank()).or(given) else { return Ok(None) };
    if rank < 2 {
        return Err(format!("{rank} axes, not batch and channels"));
    }
    let (x, w) = (dims_of_rank(x, rank)?, dims_of_rank(w, rank)?);
    let mut kernel = w[2..].to_vec();
    if let Some(given) = given {
        if given != rank {
            return Err(format!("windows of {} axes on {}", given - 2, rank - 2));
        }
        for (dim, given) in kernel.iter_mut().zip(&windows.kernel) {
            *dim = same(dim, &Dim::Known(*given))?;
        }
    }
    let lanes = lanes(windows, &kernel)?;
    Ok(Some(Weighted { x, w, lanes }))
}

/// In how many groups channels are.
fn groups(conv: &Convolution) -> Result<u64, String> {
    if conv.group == 0 { Err("channels in 0 groups".to_owned()) } else { Ok(conv.group) }
}

/// Whether channels can be in so many groups of one size.
fn divides(group: u64, channels: &Dim) -> Result<(), String> {
    match channels {
        Dim::Known(channels) if !channels.is_multiple_of(group) => {
            Err(format!("{channels} channels in {group} groups"))
        }
        _ => Ok(()),
    }
}

/// Whether channels can be in so many groups of so many.
fn fits(channels: &Dim, group: u64, each: &Dim) -> Result<(), String> {
    match agreed(channels, &times(each, &Dim::Known(group))) {
        Some(_) => Ok(()),
        None => Err(format!("{} channels in {group} groups of {}", shown(channels), shown(each))),
    }
}

/// The dims of a convolution.
fn convolved(x: &Fact, w: &Fact, conv: &Convolution) -> Result<Option<Vec<Dim>>, String> {
    let Some(Weighted { x, w, lanes }) = weighted(x, w, &conv.windows)? else { return Ok(None) };
    let group = groups(conv)?;
    fits(&x[1], group, &w[1])?;
    divides(group, &w[0])?;
    let mut dims = vec![x[0].clone(), w[0].clone()];
    for (lane, dim) in lanes.iter().zip(&x[2..]) {
        dims.push(lane.windows(dim, Ceil::No)?);
    }
    Ok(Some(dims))
}

/// `x, w, …`, with a bias among them.
pub(super) fn conv(inputs: &Inputs<'_>, conv: &Convolution, bias: usize) -> Facts {
    let (x, w) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let dims = convolved(x, w, conv)?;
    check_bias(inputs, bias, dims.as_deref())?;
    Ok(vec![made(x.dtype.or(w.dtype), dims)])
}

/// An error if there is not one bias for each channel of an output.
fn check_bias(inputs: &Inputs<'_>, bias: usize, output: Option<&[Dim]>) -> Result<(), String> {
    output.map_or(Ok(()), |dims| check_length(inputs, bias, &dims[1]))
}

/// `x, w, zero x?, zero w?`.
pub(super) fn conv_integer(inputs: &Inputs<'_>, conv: &Convolution) -> Facts {
    let dims = convolved(operand(inputs, 0)?, operand(inputs, 1)?, conv)?;
    Ok(vec![made(Some(Dtype::I32), dims)])
}

/// `x, scale, zero, w, scale, zero, scale, zero, bias?`.
pub(super) fn quantized_conv(inputs: &Inputs<'_>, conv: &Convolution) -> Facts {
    let dims = convolved(operand(inputs, 0)?, operand(inputs, 3)?, conv)?;
    check_bias(inputs, 8, dims.as_deref())?;
    Ok(vec![made(optional(inputs, 7).and_then(|zero| zero.dtype), dims)])
}

/// `x, w, bias?`.
pub(super) fn conv_transpose(
    inputs: &Inputs<'_>,
    conv: &Convolution,
    output_padding: &[u64],
    output_dims: Option<&[u64]>,
) -> Facts {
    let (x, w) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let dtype = x.dtype.or(w.dtype);
    let Some(Weighted { x, w, lanes }) = weighted(x, w, &conv.windows)? else {
        return Ok(vec![made(dtype, None)]);
    };
    let group = groups(conv)?;
    divides(group, &same(&x[1], &w[0])?)?;
    let mut dims = vec![x[0].clone(), times(&w[1], &Dim::Known(group))];
    check_bias(inputs, 2, Some(&dims))?;
    let axes = lanes.len();
    for given in [Some(output_padding).filter(|more| !more.is_empty()), output_dims] {
        if let Some(given) = given.filter(|given| given.len() != axes) {
            return Err(format!("{} numbers for {axes} axes", given.len()));
        }
    }
    for (axis, lane) in lanes.iter().enumerate() {
        let more = output_padding.get(axis).copied().unwrap_or(0);
        dims.push(match output_dims {
            Some(given) => Dim::Known(given[axis]),
            None => lane.spread(&x[axis + 2], more)?,
        });
    }
    Ok(vec![made(dtype, Some(dims))])
}

/// `x, w, bias?, past?` to `y, present?`.
pub(super) fn causal_conv(inputs: &Inputs<'_>) -> Facts {
    let (x, w) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let (dims, kernel) = (dims_of_rank(x, 3)?, dims_of_rank(w, 3)?);
    if kernel[2] == Dim::Known(0) {
        return Err("windows of 0".to_owned());
    }
    let before = grown(&kernel[2], |kernel| Some(kernel.saturating_sub(1)));
    let state = vec![dims[0].clone(), dims[1].clone(), before];
    Ok(vec![made(x.dtype, Some(dims)), made(x.dtype, Some(state))])
}

/// `x` to `y, indices?`.
pub(super) fn pool(inputs: &Inputs<'_>, pool: &Pool) -> Facts {
    let x = operand(inputs, 0)?;
    let windows = &pool.windows;
    let kernel: Vec<Dim> = windows.kernel.iter().map(|dim| Dim::Known(*dim)).collect();
    let dims = dims_of_rank(x, kernel.len() + 2)?;
    let ceil = match windows.padding {
        // The text says that it does not count, runtimes count it.
        Padding::Valid if pool.ceil => Ceil::Unclear,
        _ if pool.ceil => Ceil::Yes,
        _ => Ceil::No,
    };
    let mut output = dims[..2].to_vec();
    for (lane, dim) in lanes(windows, &kernel)?.iter().zip(&dims[2..]) {
        output.push(lane.windows(dim, ceil)?);
    }
    Ok(vec![made(x.dtype, Some(output.clone())), made(Some(Dtype::I64), Some(output))])
}

/// Every axis but batch and channels becomes 1.
pub(super) fn global_pool(inputs: &Inputs<'_>) -> Facts {
    let mut output = like(operand(inputs, 0)?);
    if let Some(shape) = &mut output.shape {
        shape.0.iter_mut().skip(2).for_each(|dim| *dim = Dim::Known(1));
    }
    Ok(vec![output])
}

/// `x, indices, dims?`.
pub(super) fn max_unpool(inputs: &Inputs<'_>, windows: &Windows) -> Facts {
    let x = operand(inputs, 0)?;
    let rank = windows.kernel.len() + 2;
    let dims = dims_of_rank(x, rank)?;
    for (dim, place) in dims.iter().zip(&dims_of_rank(operand(inputs, 1)?, rank)?) {
        same(dim, place)?;
    }
    if let Some(wanted) = optional(inputs, 2) {
        let wanted = dims_in(wanted)?.unwrap_or_else(|| vec![Dim::Unknown; rank]);
        if wanted.len() != rank {
            return Err(format!("{} dims for {rank} axes", wanted.len()));
        }
        return Ok(vec![made(x.dtype, Some(wanted))]);
    }
    let kernel: Vec<Dim> = windows.kernel.iter().map(|dim| Dim::Known(*dim)).collect();
    let mut output = dims[..2].to_vec();
    for (lane, dim) in lanes(windows, &kernel)?.iter().zip(&dims[2..]) {
        output.push(lane.spread(dim, 0)?);
    }
    Ok(vec![made(x.dtype, Some(output))])
}

/// `x [batch, channels of blocks, blocks], image dims, block dims`.
pub(super) fn col2im(inputs: &Inputs<'_>) -> Facts {
    let x = operand(inputs, 0)?;
    let dims = dims_of_rank(x, 3)?;
    let (image, block) = (dims_in(operand(inputs, 1)?)?, dims_in(operand(inputs, 2)?)?);
    if let (Some(image), Some(block)) = (&image, &block)
        && image.len() != block.len()
    {
        return Err(format!("blocks of {} axes in images of {}", block.len(), image.len()));
    }
    let channels = match block.as_ref().map_or(Dim::Unknown, |block| count(block)) {
        Dim::Known(0) => return Err("blocks of 0".to_owned()),
        Dim::Known(block) => match dims[1].clone() {
            Dim::Known(dim) if !dim.is_multiple_of(block) => {
                return Err(format!("{dim} channels in blocks of {block}"));
            }
            dim => over(&dim, block),
        },
        Dim::AtMost(_) | Dim::Follows(_) | Dim::Unknown => at_most(limit(&dims[1])),
    };
    let axes = image.or_else(|| block.map(|block| vec![Dim::Unknown; block.len()]));
    let dims = axes.map(|axes| [&[dims[0].clone(), channels][..], &axes].concat());
    Ok(vec![made(x.dtype, dims)])
}

#[cfg(test)]
mod tests;
