//! Real numbers as integers of 8 bits and back, and products of these.

use plimsoll_graph::Dtype;
use plimsoll_kernels::element::{Element, Number};
use plimsoll_kernels::matmul::Stack;
use plimsoll_kernels::quantize::{self, Scales};
use plimsoll_model::Quantization;

use crate::at::{At, axis_of, no_kernel_for};
use crate::io::Io;
use crate::kernel::{Built, Lack};
use crate::memory::{Plain, elements};

/// How scales change along an axis.
#[derive(Clone, Copy)]
struct Along {
    inner: usize,
    block: Option<(usize, usize)>,
}

impl Along {
    /// Of operand 0, whose scales are operand 1.
    fn new(at: &At<'_>, quantization: Quantization) -> Result<Self, Lack> {
        let (dims, scales) = (at.dims(0)?, at.dims(1)?);
        if scales.iter().product::<usize>() == 1 && quantization.block == 0 {
            return Ok(Along { inner: 1, block: None });
        }
        let axis = axis_of(quantization.axis, dims.len())?;
        let inner = dims[axis + 1..].iter().product();
        let block = (quantization.block != 0).then_some((quantization.block as usize, dims[axis]));
        Ok(Along { inner, block })
    }

    fn scales<'m, Q: Plain + Number>(self, io: &Io<'m>) -> Scales<'m, Q> {
        let Along { inner, block } = self;
        Scales { scales: io.read(1), zeros: io.optional(2), inner, block }
    }
}

/// `x, scale, zero?`: what is narrower may take the place of what it is made of.
pub(super) fn quantize(at: &At<'_>, quantization: Quantization) -> Result<Built, Lack> {
    at.only_f32(&[1])?;
    let along = Along::new(at, quantization)?;
    match (at.dtype(0)?, at.result_dtype(0)?) {
        (Dtype::F32, Dtype::U8) => Ok(to::<f32, u8>(along)),
        (Dtype::F32, Dtype::I8) => Ok(to::<f32, i8>(along)),
        (Dtype::F32, Dtype::U16) => Ok(to::<f32, u16>(along)),
        (Dtype::F32, Dtype::I16) => Ok(to::<f32, i16>(along)),
        (Dtype::I32, Dtype::U8) => Ok(to::<i32, u8>(along)),
        (Dtype::I32, Dtype::I8) => Ok(to::<i32, i8>(along)),
        (Dtype::F32, other) | (other, _) => Err(no_kernel_for(other)),
    }
}

fn to<T: Plain + Number, Q: Plain + Number>(along: Along) -> Built {
    Built::one(3, 1, move |io| {
        let scales = along.scales::<Q>(io);
        if io.is_in_place(0) {
            let count = |bytes: &[u8]| bytes.len() / T::BYTES;
            within(io.write_bytes(0), count, |element, x: T| scales.quantized(element, x.to_f32()));
        } else {
            let (x, y): (&[T], &mut [Q]) = (io.read(0), io.write(0));
            for (element, (y, x)) in y.iter_mut().zip(x).enumerate() {
                *y = scales.quantized(element, x.to_f32());
            }
        }
        Ok(())
    })
}

/// Converts elements where they are, in ascending order, to others that are not wider.
fn within<T: Element, U: Element>(
    bytes: &mut [u8],
    count: impl Fn(&[u8]) -> usize,
    convert: impl Fn(usize, T) -> U,
) {
    for element in 0..count(bytes) {
        let converted = convert(element, T::read(&bytes[element * T::BYTES..]));
        converted.write(&mut bytes[element * U::BYTES..]);
    }
}

/// `x, scale, zero?`.
pub(super) fn dequantize(at: &At<'_>, quantization: Quantization) -> Result<Built, Lack> {
    at.only_f32(&[1])?;
    let along = Along::new(at, quantization)?;
    if at.result_dtype(0)? != Dtype::F32 {
        return Err(no_kernel_for(at.result_dtype(0)?));
    }
    match at.dtype(0)? {
        Dtype::U8 => Ok(from::<u8>(along)),
        Dtype::I8 => Ok(from::<i8>(along)),
        Dtype::U16 => Ok(from::<u16>(along)),
        Dtype::I16 => Ok(from::<i16>(along)),
        Dtype::I32 => Ok(from::<i32>(along)),
        other => Err(no_kernel_for(other)),
    }
}

fn from<Q: Plain + Number>(along: Along) -> Built {
    Built::one(3, 1, move |io| {
        let scales = along.scales::<Q>(io);
        if io.is_in_place(0) {
            let count = |bytes: &[u8]| bytes.len() / Q::BYTES;
            within(io.write_bytes(0), count, |element, x: Q| scales.real(element, x));
        } else {
            quantize::dequantize(&scales, io.read(0), io.write(0));
        }
        Ok(())
    })
}

/// `x` to `y: u8, scale, zero`.
pub(super) fn dynamic(at: &At<'_>) -> Result<Built, Lack> {
    at.only_f32(&[0])?;
    if !(at.wants(0) && at.wants(1) && at.wants(2)) {
        return Err("no kernel that makes less than all results".to_owned());
    }
    Ok(Built::one(1, 3, |io| {
        let (y, in_place) = (io.write_bytes(0), io.is_in_place(0));
        let (scale, zero) = quantize::fitting(if in_place { elements(y) } else { io.read(0) });
        (io.write(1)[0], io.write(2)[0]) = (scale, zero);
        let (scale, zero) = ([scale], [zero]);
        let scales = Scales { scales: &scale, zeros: Some(&zero), inner: 1, block: None };
        if in_place {
            let count = |bytes: &[u8]| bytes.len() / <f32 as Element>::BYTES;
            within(y, count, |element, x: f32| scales.quantized(element, x));
        } else {
            quantize::quantize(&scales, io.read(0), y);
        }
        Ok(())
    }))
}

/// `a, b, zero a?, zero b?` to `i32`.
pub(super) fn matmul_integer(at: &At<'_>) -> Result<Built, Lack> {
    let stack = Stack::new(&at.dims(0)?, &at.dims(1)?).ok_or("matrices that do not fit")?;
    match (at.dtype(0)?, at.dtype(1)?) {
        (Dtype::U8, Dtype::U8) => Ok(products::<u8, u8>(stack)),
        (Dtype::U8, Dtype::I8) => Ok(products::<u8, i8>(stack)),
        (Dtype::I8, Dtype::U8) => Ok(products::<i8, u8>(stack)),
        (Dtype::I8, Dtype::I8) => Ok(products::<i8, i8>(stack)),
        (a, b) => Err(format!("no kernel for {a} by {b}")),
    }
}

fn products<A: Plain + Number, B: Plain + Number>(stack: Stack) -> Built {
    let (m, n, k) = (stack.shape.m, stack.shape.n, stack.shape.k);
    Built::one(4, 1, move |io| {
        let (a, b): (&[A], &[B]) = (io.read(0), io.read(1));
        let zeros = (io.optional(2).unwrap_or_default(), io.optional(3).unwrap_or_default());
        for (at, c) in io.write(0).chunks_exact_mut((m * n).max(1)).enumerate() {
            let (a_at, b_at) = stack.operands(at);
            let (a, b) = (&a[a_at * m * k..][..m * k], &b[b_at * k * n..][..k * n]);
            quantize::matmul_integer((m, n, k), (a, zeros.0), (b, zeros.1), c);
        }
        Ok(())
    })
}
