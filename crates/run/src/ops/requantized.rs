//! Kernels from quantized numbers to quantized numbers: products and convolutions in integers, functions of elements by
//! way of real numbers.

use plimsoll_graph::Dtype;
use plimsoll_kernels::conv::Conv;
use plimsoll_kernels::element::{Element, Number};
use plimsoll_kernels::integer::{conv_integer, conv_integer_scratch};
use plimsoll_kernels::matmul::Stack;
use plimsoll_kernels::quantize::{self, Scales};
use plimsoll_kernels::{Broadcast, math, pool, unary};
use plimsoll_model::{Binary, Convolution, GlobalPooling, Pool, Pooling, Unary};

use super::windows::{conv_shape, pool_window};
use crate::at::{At, no_kernel_for};
use crate::functions::real_function;
use crate::io::Io;
use crate::kernel::{Built, Lack};
use crate::memory::{Plain, elements_mut};

/// Integers of 8 bits, with and without a sign.
macro_rules! by_byte {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            Dtype::U8 => crate::types::with!($type = u8, $body),
            Dtype::I8 => crate::types::with!($type = i8, $body),
            other => Err(no_kernel_for(other)),
        }
    };
}

/// A zero point that may be absent.
fn zero<Q: Plain + Number>(io: &Io<'_>, operand: usize) -> i32 {
    io.scalar::<Q>(operand).map_or(0, |zero| zero.to_i64() as i32)
}

/// The scale of a place: one for all, or one for each.
fn scale(scales: &[f32], place: usize) -> f32 {
    scales[place % scales.len().max(1)]
}

/// A sum as a quantized number.
fn requantized<Q: Number>(sum: i32, scale: f32, zero: i32) -> Q {
    Q::from_f32(math::round_even(sum as f32 * scale) + zero as f32)
}

/// `x, w, zero x?, zero w?` to `i32`.
pub(super) fn conv_to_integers(at: &At<'_>, convolution: &Convolution) -> Result<Built, Lack> {
    let (level, shape) = (at.level, conv_shape(at, (0, 1), convolution)?);
    let scratch = conv_integer_scratch(&shape);
    let built: Result<Built, Lack> = by_byte!(at.dtype(0)?, X => by_byte!(at.dtype(1)?, W => {
        Ok(Built::one(4, 1, move |io| {
            let (y, sums) = (io.write::<i32>(0), io.scratch());
            let zeros = io.optional::<W>(3).unwrap_or_default();
            let weight_zero = |channel: usize| {
                zeros.get(channel % zeros.len().max(1)).map_or(0, |zero| zero.to_i64() as i32)
            };
            let x = (io.read::<X>(0), zero::<X>(io, 2));
            conv_integer(level, &shape, x, (io.read::<W>(1), weight_zero), sums, |first, _, row| {
                y[first..first + row.len()].copy_from_slice(row);
            });
            Ok(())
        }))
    }));
    Ok(built?.with_scratch::<i32>(scratch))
}

/// `x, scale, zero, w, scale, zero, scale, zero, bias?`.
pub(super) fn conv(at: &At<'_>, convolution: &Convolution) -> Result<Built, Lack> {
    at.only_f32(&[1, 4, 6])?;
    let (level, shape): (_, Conv) = (at.level, conv_shape(at, (0, 3), convolution)?);
    let scratch = conv_integer_scratch(&shape);
    let built: Result<Built, Lack> = by_byte!(at.dtype(0)?, X => by_byte!(at.dtype(3)?, W => {
        by_byte!(at.result_dtype(0)?, Y => Ok(Built::one(9, 1, move |io| {
            let (y, sums) = (io.write::<Y>(0), io.scratch());
            let zeros = io.optional::<W>(5).unwrap_or_default();
            let weight_zero = |channel: usize| {
                zeros.get(channel % zeros.len().max(1)).map_or(0, |zero| zero.to_i64() as i32)
            };
            let (x_scale, y_scale) = (io.read::<f32>(1)[0], io.read::<f32>(6)[0]);
            let (scales, y_zero) = (io.read::<f32>(4), zero::<Y>(io, 7));
            let bias = io.optional::<i32>(8).unwrap_or_default();
            let x = (io.read::<X>(0), zero::<X>(io, 2));
            let weights = (io.read::<W>(3), weight_zero);
            conv_integer(level, &shape, x, weights, sums, |first, channel, row| {
                let scale = x_scale * scale(scales, channel) / y_scale;
                let bias = bias.get(channel).copied().unwrap_or(0);
                for (y, sum) in y[first..].iter_mut().zip(row) {
                    *y = requantized(sum.wrapping_add(bias), scale, y_zero);
                }
            });
            Ok(())
        })))
    }));
    Ok(built?.with_scratch::<i32>(scratch))
}

/// `a, scale, zero, b, scale, zero, scale, zero`.
pub(super) fn matmul(at: &At<'_>) -> Result<Built, Lack> {
    at.only_f32(&[1, 4, 6])?;
    let stack = Stack::new(&at.dims(0)?, &at.dims(3)?).ok_or("matrices that do not fit")?;
    let (m, n, k) = (stack.shape.m, stack.shape.n, stack.shape.k);
    let built: Result<Built, Lack> = by_byte!(at.dtype(0)?, A => by_byte!(at.dtype(3)?, B => {
        by_byte!(at.result_dtype(0)?, Y => Ok(Built::one(8, 1, move |io| {
            let (a, b): (&[A], &[B]) = (io.read(0), io.read(3));
            let (y, sums) = (io.write::<Y>(0), io.scratch::<i32>());
            let (a_scales, b_scales) = (io.read::<f32>(1), io.read::<f32>(4));
            let (y_scale, y_zero) = (io.read::<f32>(6)[0], zero::<Y>(io, 7));
            let a_zeros = io.optional::<A>(2).unwrap_or_default();
            let b_zeros = io.optional::<B>(5).unwrap_or_default();
            for (row, y) in y.chunks_exact_mut(n.max(1)).enumerate() {
                let ((a_at, b_at), of) = (stack.operands(row / m.max(1)), row % m.max(1));
                let (a, b) = (&a[(a_at * m + of) * k..][..k], &b[b_at * k * n..][..k * n]);
                let a_zero = if a_zeros.len() > 1 { &a_zeros[of..=of] } else { a_zeros };
                quantize::matmul_integer((1, n, k), (a, a_zero), (b, b_zeros), sums);
                for (column, (y, sum)) in y.iter_mut().zip(&*sums).enumerate() {
                    let scale = scale(a_scales, of) * scale(b_scales, column) / y_scale;
                    *y = requantized(*sum, scale, y_zero);
                }
            }
            Ok(())
        })))
    }));
    Ok(built?.with_scratch::<i32>(n))
}

/// `a, b, scale, zero?, bias?`: `a` is quantized first.
pub(super) fn dynamic_matmul(at: &At<'_>) -> Result<Built, Lack> {
    at.only_f32(&[0, 2, 4])?;
    let stack = Stack::new(&at.dims(0)?, &at.dims(1)?).ok_or("matrices that do not fit")?;
    let (m, n, k) = (stack.shape.m, stack.shape.n, stack.shape.k);
    let (row_bytes, scratch) = ((4 * n).next_multiple_of(64), k);
    let built: Result<Built, Lack> = by_byte!(at.dtype(1)?, B => Ok(Built::one(5, 1, move |io| {
        let (a, b): (&[f32], &[B]) = (io.read(0), io.read(1));
        let (sums, quantized) = io.scratch::<u8>().split_at_mut(row_bytes);
        let sums = &mut elements_mut::<i32>(sums)[..n];
        let (a_scale, a_zero) = quantize::fitting(a);
        let (one, zero) = ([a_scale], [a_zero]);
        let scales = Scales { scales: &one, zeros: Some(&zero), inner: 1, block: None };
        let (b_scales, b_zeros) = (io.read::<f32>(2), io.optional::<B>(3).unwrap_or_default());
        let bias = io.optional::<f32>(4).unwrap_or_default();
        for (row, y) in io.write::<f32>(0).chunks_exact_mut(n.max(1)).enumerate() {
            let ((a_at, b_at), of) = (stack.operands(row / m.max(1)), row % m.max(1));
            let b = &b[b_at * k * n..][..k * n];
            quantize::quantize(&scales, &a[(a_at * m + of) * k..][..k], &mut quantized[..k]);
            quantize::matmul_integer((1, n, k), (&quantized[..k], &zero), (b, b_zeros), sums);
            for (column, (y, sum)) in y.iter_mut().zip(&*sums).enumerate() {
                let bias = bias.get(column % bias.len().max(1)).copied().unwrap_or(0.0);
                *y = *sum as f32 * (a_scale * scale(b_scales, column)) + bias;
            }
        }
        Ok(())
    })));
    Ok(built?.with_scratch::<u8>(row_bytes + scratch))
}

/// The real numbers of a tensor that has one scale.
fn one_scale<'m, Q: Plain + Number>(io: &Io<'m>, scale: usize) -> Scales<'m, Q> {
    Scales { scales: io.read(scale), zeros: io.optional(scale + 1), inner: 1, block: None }
}

/// `x, scale, zero, y scale, y zero`.
pub(super) fn unary(at: &At<'_>, function: Unary) -> Result<Built, Lack> {
    at.only_f32(&[1, 3])?;
    let (level, function) = (at.level, real_function(function)?);
    by_byte!(at.dtype(0)?, Q => Ok(Built::one(5, 1, move |io| {
        let (from, to) = (one_scale::<Q>(io, 1), one_scale::<Q>(io, 3));
        // There are no more than 256 numbers: each is reckoned once.
        let every: [Q; 256] = std::array::from_fn(|byte| Q::read(&[byte as u8]));
        let mut reals = every.map(|x| from.real(0, x));
        unary::unary_in_place(level, function, &mut reals);
        let table = reals.map(|x| to.quantized(0, x));
        let in_place = io.is_in_place(0);
        let y: &mut [u8] = io.write(0);
        if !in_place {
            y.copy_from_slice(io.read(0));
        }
        y.iter_mut().for_each(|y| table[usize::from(*y)].write(std::slice::from_mut(y)));
        Ok(())
    })))
}

/// `a, b, a scale, a zero, b scale, b zero, y scale, y zero`.
pub(super) fn binary(at: &At<'_>, function: Binary) -> Result<Built, Lack> {
    at.only_f32(&[2, 4, 6])?;
    let shape = Broadcast::<2>::new(&at.result_dims(0)?, [&at.dims(0)?, &at.dims(1)?]);
    let is_sum = function == Binary::QuantizedAdd;
    by_byte!(at.dtype(0)?, Q => Ok(Built::one(8, 1, move |io| {
        let scales = [2, 4, 6].map(|operand| one_scale::<Q>(io, operand));
        let in_place = [0, 1].map(|operand| io.is_in_place(operand));
        let y: &mut [Q] = io.write(0);
        let apart = |operand: usize| if in_place[operand] { &[] } else { io.read::<Q>(operand) };
        let operands = [apart(0), apart(1)];
        shape.for_each(|place, from| {
            let real = |of: usize| {
                let x = if in_place[of] { y[place] } else { operands[of][from[of]] };
                scales[of].real(0, x)
            };
            let (a, b) = (real(0), real(1));
            y[place] = scales[2].quantized(0, if is_sum { a + b } else { a * b });
        });
        Ok(())
    })))
}

/// `x, scale, zero, y scale, y zero`: the average over all of space.
pub(super) fn global_pool(at: &At<'_>, pooling: GlobalPooling) -> Result<Built, Lack> {
    at.only_f32(&[1, 3])?;
    if pooling != GlobalPooling::Average {
        return Err("no kernel for quantized pools but averages".to_owned());
    }
    let dims = at.dims(0)?;
    let plane: usize = dims.iter().skip(2).product();
    by_byte!(at.dtype(0)?, Q => Ok(Built::one(5, 1, move |io| {
        let (from, to) = (one_scale::<Q>(io, 1), one_scale::<Q>(io, 3));
        let (x, y): (&[Q], &mut [Q]) = (io.read(0), io.write(0));
        for (y, x) in y.iter_mut().zip(x.chunks_exact(plane.max(1))) {
            let sum: i64 = x.iter().map(|x| x.to_i64()).sum();
            let (scale, zero) = from.at(0);
            let mean = (sum as f32 - zero * plane as f32) * scale / plane as f32;
            *y = to.quantized(0, mean);
        }
        Ok(())
    })))
}

/// The same: the average under a window.
pub(super) fn average_pool(at: &At<'_>, pool: &Pool) -> Result<Built, Lack> {
    at.only_f32(&[1, 3])?;
    let Pooling::Average { count_padding } = pool.pooling else {
        return Err("no kernel for quantized pools but averages".to_owned());
    };
    let (level, window) = (at.level, pool_window(at, pool)?);
    let (from, to): (usize, usize) =
        (at.dims(0)?.iter().product(), at.result_dims(0)?.iter().product());
    let padded = |count: usize| count.next_multiple_of(16);
    let scratch = padded(from) + padded(to) + pool::pool_scratch(&window);
    let built: Result<Built, Lack> = by_byte!(at.dtype(0)?, Q => Ok(Built::one(5, 1, move |io| {
        let scales = [1, 3].map(|operand| one_scale::<Q>(io, operand));
        let (x, rest) = io.scratch::<f32>().split_at_mut(padded(from));
        let (y, rest) = rest.split_at_mut(padded(to));
        let (x, y) = (&mut x[..from], &mut y[..to]);
        quantize::dequantize(&scales[0], io.read::<Q>(0), x);
        pool::average_pool(level, &window, count_padding, x, y, rest);
        quantize::quantize(&scales[1], y, io.write::<Q>(0));
        Ok(())
    })));
    Ok(built?.with_scratch::<f32>(scratch))
}
