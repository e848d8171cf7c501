//! Windows: convolutions, transposed ones, pools.

use plimsoll_kernels::chain::{Data, MOST_OPERANDS};
use plimsoll_kernels::conv::{self, Conv, Weights};
use plimsoll_kernels::conv_transpose::{self, ConvTranspose};
use plimsoll_kernels::reduce::{self, RealReduction, Reduce, Reduction};
use plimsoll_kernels::{Bias, Epilogue, Window, pool};
use plimsoll_model::{Convolution, GlobalPooling, Operator, Padding, Pool, Pooling, Windows};

use crate::at::At;
use crate::kernel::{Built, Lack};
use crate::planes::Before;
use crate::tail::{SLOT_RESIDUAL, Tail};

/// Batch, channels, and what is behind them: at most three dims of space.
struct Image {
    batch: usize,
    channels: usize,
    space: Vec<usize>,
}

fn image(dims: &[usize]) -> Result<Image, Lack> {
    match dims {
        [batch, channels, space @ ..] if (1..=3).contains(&space.len()) => {
            Ok(Image { batch: *batch, channels: *channels, space: space.to_vec() })
        }
        _ => Err(format!("no kernel for images of {} dims", dims.len())),
    }
}

/// Numbers for each dim of space, with what stands for an empty list.
fn numbers(given: &[u64], rank: usize, missing: usize) -> Vec<usize> {
    if given.is_empty() { vec![missing; rank] } else { given.iter().map(|n| *n as usize).collect() }
}

/// The window that slides over dims `from` to make dims `to`.
fn window(
    from: &[usize],
    kernel: &[usize],
    windows: &Windows,
    to: &[usize],
) -> Result<Window, Lack> {
    let rank = from.len();
    let strides = numbers(&windows.strides, rank, 1);
    let dilations = numbers(&windows.dilations, rank, 1);
    let missing = |d: usize| {
        let reach =
            to[d].saturating_sub(1) * strides[d] + (kernel[d].max(1) - 1) * dilations[d] + 1;
        reach.saturating_sub(from[d])
    };
    let (begin, end): (Vec<usize>, Vec<usize>) = match &windows.padding {
        Padding::Given(pads) if pads.is_empty() => (vec![0; rank], vec![0; rank]),
        Padding::Given(pads) => {
            let pads: Result<Vec<usize>, _> =
                pads.iter().map(|pad| usize::try_from(*pad)).collect();
            let pads = pads.map_err(|_| "no kernel for negative pads")?;
            (pads[..rank].to_vec(), pads[rank..].to_vec())
        }
        Padding::Valid => (vec![0; rank], vec![0; rank]),
        Padding::SameUpper => {
            let less = |d: usize| missing(d) / 2;
            ((0..rank).map(less).collect(), (0..rank).map(|d| missing(d) - less(d)).collect())
        }
        Padding::SameLower => {
            let less = |d: usize| missing(d) / 2;
            ((0..rank).map(|d| missing(d) - less(d)).collect(), (0..rank).map(less).collect())
        }
    };
    let window = Window::new(from, kernel).strides(&strides).dilations(&dilations);
    Ok(window.pads(&begin, &end).output(to))
}

/// The shape of a convolution of one operand with another.
pub(super) fn conv_shape(
    at: &At<'_>,
    (x, weights): (usize, usize),
    convolution: &Convolution,
) -> Result<Conv, Lack> {
    let (x, y, weights) = (image(&at.dims(x)?)?, image(&at.result_dims(0)?)?, at.dims(weights)?);
    Ok(Conv {
        window: window(&x.space, &weights[2..], &convolution.windows, &y.space)?,
        batch: x.batch,
        in_channels: x.channels,
        out_channels: y.channels,
        groups: convolution.group as usize,
    })
}

/// The elements that [`conv`] needs as scratch at least; `in_place` says whether it may overwrite what it adds, `made`
/// whether its input is made where it is read.
pub(crate) fn conv_least(
    at: &At<'_>,
    convolution: &Convolution,
    in_place: bool,
    made: bool,
) -> Result<usize, Lack> {
    at.only_f32(&[0, 1, 2, 3])?;
    let shape = conv_shape(at, (0, 1), convolution)?;
    let is_packed = at.is_constant(1) && conv::packed_conv_len(at.level, &shape) > 0;
    let least = match made {
        true if !is_packed => return Err("no kernel that makes what such weights meet".to_owned()),
        true => conv::made_least(at.level, &shape, in_place),
        false => conv::conv_least(at.level, &shape, is_packed, in_place),
    };
    Ok(at.threads.count() * least)
}

/// `x, w, bias?, more?`. What is made `before` is read in the place of `x`, from operands behind those of the tail.
pub(crate) fn conv(
    at: &At<'_>,
    convolution: &Convolution,
    before: Option<Before>,
    tail: Tail,
) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2, 3])?;
    let shape = conv_shape(at, (0, 1), convolution)?;
    let level = at.level;
    let len = conv::packed_conv_len(level, &shape);
    let weights = at.constant_f32(1)?.map(|weights| tail.scaled_rows(weights, shape.out_channels));
    let fixed = weights.map(|weights| {
        if len == 0 {
            return weights.into_owned();
        }
        let mut packed = vec![0.0; len];
        conv::pack_conv(level, &shape, &weights, &mut packed);
        packed
    });
    // Weights that are not packed are read where they are, unless something is folded into them.
    let fixed = fixed.filter(|_| len > 0 || tail.is_folded());
    let threads = at.threads.clone();
    let is_packed = fixed.is_some() && len > 0;
    let scratch = match before {
        Some(_) => conv::made_scratch(level, &shape),
        None => conv::conv_scratch(level, &shape, is_packed),
    };
    let scratch = threads.count() * scratch;
    let least = conv_least(at, convolution, at.has(SLOT_RESIDUAL), before.is_some())?;
    let behind_tail = tail.slots();
    let (kept, plane) = (fixed.as_ref().map(Vec::len), shape.window.output_len());
    let built = Built::one(SLOT_RESIDUAL + 1, 1, move |io| {
        let (y, scratch) = (io.write(0), io.scratch());
        let mut data = [Data::InPlace; MOST_OPERANDS];
        let mut epilogue = tail.epilogue(io, Bias::Row, plane, &mut data);
        if let (Bias::None, Some(bias)) = (epilogue.bias, io.optional(2)) {
            epilogue.bias = Bias::Row(bias);
        }
        let weights = match &fixed {
            Some(packed) if len > 0 => Weights::Packed(packed),
            Some(weights) => Weights::Plain(weights),
            None => Weights::Plain(io.read(1)),
        };
        let made = before.as_ref().map(|before| before.planes(io, behind_tail));
        let x = match &made {
            Some(planes) => conv::Input::Made(planes),
            None => conv::Input::Plain(io.read(0)),
        };
        let operands = conv::Operands { x, weights, epilogue };
        threads.conv(level, &shape, &operands, (y, scratch));
        tail.follows.finish(level, y);
        Ok(())
    });
    let built = built.with_scratch::<f32>(scratch).with_least::<f32>(least);
    Ok(match kept {
        Some(kept) => built.with_packed::<f32>(kept).without_operand(1),
        None => built,
    })
}

/// `x, w, bias?`: the window slides over the output.
pub(super) fn conv_transpose(at: &At<'_>, convolution: &Convolution) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2])?;
    let (x, y, weights) = (image(&at.dims(0)?)?, image(&at.result_dims(0)?)?, at.dims(1)?);
    let Operator::ConvTranspose { output_padding, output_dims, .. } = &at.node.operator else {
        return Err("no transposed convolution".to_owned());
    };
    let rank = x.space.len();
    let (strides, dilations) = (
        numbers(&convolution.windows.strides, rank, 1),
        numbers(&convolution.windows.dilations, rank, 1),
    );
    let more = numbers(output_padding, rank, 0);
    let begin = |d: usize| {
        let reach = (weights[2 + d].max(1) - 1) * dilations[d] + 1;
        let full = x.space[d].saturating_sub(1) * strides[d] + reach + more[d];
        let total = full.saturating_sub(y.space[d]);
        match &convolution.windows.padding {
            Padding::SameUpper => total / 2,
            Padding::Given(pads) if output_dims.is_none() => {
                pads.get(d).map_or(0, |pad| (*pad).max(0) as usize)
            }
            Padding::Valid if output_dims.is_none() => 0,
            Padding::Given(_) | Padding::Valid | Padding::SameLower => total - total / 2,
        }
    };
    let begin: Vec<usize> = (0..rank).map(begin).collect();
    let window = Window::new(&y.space, &weights[2..]).strides(&strides).dilations(&dilations);
    let shape = ConvTranspose {
        window: window.pads(&begin, &vec![0; rank]).output(&x.space),
        batch: x.batch,
        in_channels: x.channels,
        out_channels: y.channels,
        groups: convolution.group as usize,
    };
    let level = at.level;
    let scratch = conv_transpose::conv_transpose_scratch(level, &shape);
    let built = Built::one(3, 1, move |io| {
        let bias = io.optional(2).map_or(Bias::None, Bias::Row);
        let epilogue = Epilogue { bias, ..Epilogue::NONE };
        let operands = conv_transpose::Operands { x: io.read(0), weights: io.read(1), epilogue };
        let (y, scratch) = (io.write(0), io.scratch());
        conv_transpose::conv_transpose(level, &shape, &operands, 0..shape.planes(), y, scratch);
        Ok(())
    });
    Ok(built.with_scratch::<f32>(scratch))
}

/// The window of a pool.
pub(super) fn pool_window(at: &At<'_>, pool: &Pool) -> Result<Window, Lack> {
    let (x, y) = (image(&at.dims(0)?)?, image(&at.result_dims(0)?)?);
    let kernel = numbers(&pool.windows.kernel, x.space.len(), 1);
    window(&x.space, &kernel, &pool.windows, &y.space)
}

/// `x` to `y, indices?`.
pub(super) fn pool(at: &At<'_>, pool: &Pool) -> Result<Built, Lack> {
    at.only_f32(&[0])?;
    let window = pool_window(at, pool)?;
    let level = at.level;
    let (scratch, least) = (pool::pool_scratch(&window), pool::pool_least(&window));
    let built = match pool.pooling {
        Pooling::Max { column_major } if at.wants(1) => Built::one(1, 2, move |io| {
            let (y, indices) = (io.write(0), io.write(1));
            pool::max_pool_with_indices(&window, io.read(0), y, indices, column_major, 0);
            Ok(())
        }),
        Pooling::Max { .. } => Built::one(1, 1, move |io| {
            pool::max_pool(level, &window, io.read(0), io.write(0), io.scratch());
            Ok(())
        }),
        Pooling::Average { count_padding } => Built::one(1, 1, move |io| {
            let (y, scratch) = (io.write(0), io.scratch());
            pool::average_pool(level, &window, count_padding, io.read(0), y, scratch);
            Ok(())
        }),
        Pooling::Lp { p } => {
            let p = u32::try_from(p).map_err(|_| format!("a norm of power {p}"))?;
            Built::one(1, 1, move |io| {
                pool::lp_pool(&window, p, io.read(0), io.write(0));
                Ok(())
            })
        }
    };
    Ok(built.with_scratch::<f32>(scratch).with_least::<f32>(least))
}

/// Every axis but batch and channels.
pub(super) fn global_pool(at: &At<'_>, pooling: GlobalPooling) -> Result<Built, Lack> {
    at.only_f32(&[0])?;
    let (level, shape) = (at.level, Reduce::new(&at.dims(0)?, |axis| axis >= 2));
    let plain = |function: Reduction| {
        Built::one(1, 1, move |io| {
            reduce::reduce::<f32>(level, function, &shape, io.read(0), io.write(0));
            Ok(())
        })
    };
    match pooling {
        GlobalPooling::Max => Ok(plain(Reduction::Max)),
        GlobalPooling::Average => Ok(plain(Reduction::Mean)),
        GlobalPooling::Lp { p: 1 } => Ok(plain(Reduction::L1)),
        GlobalPooling::Lp { p: 2 } => Ok(Built::one(1, 1, move |io| {
            reduce::reduce_real::<f32>(level, RealReduction::L2, &shape, io.read(0), io.write(0));
            Ok(())
        })),
        GlobalPooling::Lp { p } => Err(format!("no kernel for norms of power {p}")),
    }
}
