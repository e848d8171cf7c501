//! Element by element: functions of one, two and many tensors, choices, limits, conversions.

use plimsoll_graph::Dtype;
use plimsoll_kernels::binary::{self, Bitwise, Byte, Comparison, Side};
use plimsoll_kernels::cast::{self, CastFrom};
use plimsoll_kernels::element::{Bits, Element, Number, Real};
use plimsoll_kernels::unary::{Test, UnaryInteger};
use plimsoll_kernels::{Broadcast, Level, pow, select, unary};
use plimsoll_model::{Binary, Unary, Variadic};

use crate::at::At;
use crate::functions::real_function;
use crate::io::Io;
use crate::kernel::{Built, Done, Lack};
use crate::memory::{Plain, elements, elements_mut};
use crate::types::{by_any, by_number, by_real, by_width};

/// Runs a kernel on operand 0 and output 0, or on the output alone if it holds the operand already.
pub(super) fn each<T: Plain>(
    io: &mut Io<'_>,
    apart: impl FnOnce(&[T], &mut [T]),
    in_place: impl FnOnce(&mut [T]),
) -> Done {
    if io.is_in_place(0) {
        in_place(io.write(0));
    } else {
        apart(io.read(0), io.write(0));
    }
    Ok(())
}

pub(super) fn unary(at: &At<'_>, function: Unary) -> Result<Built, Lack> {
    let (level, dtype) = (at.level, at.dtype(0)?);
    match function {
        Unary::Not => Ok(Built::one(1, 1, |io| each(io, unary::not, unary::not_in_place))),
        Unary::IsNan => test(dtype, Test::IsNan),
        Unary::IsInf { negative, positive } => test(dtype, Test::IsInf { negative, positive }),
        Unary::Affine { alpha, beta } => mapped(dtype, move |x| alpha * x + beta),
        Unary::Clamp { least, most } => mapped(dtype, move |x| x.max(least).min(most)),
        Unary::ScaledTanh { alpha, beta } => {
            mapped(dtype, move |x| alpha * plimsoll_kernels::math::tanh(beta * x))
        }
        _ => match dtype {
            Dtype::I64 => integer::<i64>(level, function),
            Dtype::I32 => integer::<i32>(level, function),
            Dtype::I8 => integer::<i8>(level, function),
            Dtype::U8 => integer::<u8>(level, function),
            _ => by_real!(dtype, T => real::<T>(level, function)),
        },
    }
}

fn real<T: Plain + Real>(level: Level, function: Unary) -> Result<Built, Lack> {
    let function = real_function(function)?;
    Ok(Built::one(1, 1, move |io| {
        each(
            io,
            |x: &[T], y: &mut [T]| unary::unary(level, function, x, y),
            |y| unary::unary_in_place(level, function, y),
        )
    }))
}

fn integer<T: Plain + Bits>(level: Level, function: Unary) -> Result<Built, Lack> {
    let function = match function {
        Unary::Abs => UnaryInteger::Abs,
        Unary::Neg => UnaryInteger::Neg,
        Unary::Relu => UnaryInteger::Relu,
        Unary::Sign => UnaryInteger::Sign,
        Unary::BitwiseNot => UnaryInteger::BitwiseNot,
        _ => return Err("no kernel for integers".to_owned()),
    };
    Ok(Built::one(1, 1, move |io| {
        each(
            io,
            |x: &[T], y: &mut [T]| unary::unary_integer(level, function, x, y),
            |y| unary::unary_integer_in_place(level, function, y),
        )
    }))
}

/// A function of one number that is reckoned in `f32`.
fn mapped(
    dtype: Dtype,
    function: impl Fn(f32) -> f32 + Copy + Send + Sync + 'static,
) -> Result<Built, Lack> {
    by_real!(dtype, T => {
        let function = move |x: T| T::from_f32(function(x.to_f32()));
        Ok(Built::one(1, 1, move |io| each(
            io,
            |x: &[T], y: &mut [T]| y.iter_mut().zip(x).for_each(|(y, x)| *y = function(*x)),
            |y| y.iter_mut().for_each(|y| *y = function(*y)),
        )))
    })
}

fn test(dtype: Dtype, question: Test) -> Result<Built, Lack> {
    by_real!(dtype, T => Ok(Built::one(1, 1, move |io| {
        unary::test::<T>(question, io.read(0), io.write(0));
        Ok(())
    })))
}

pub(super) fn binary(at: &At<'_>, function: Binary) -> Result<Built, Lack> {
    use binary::Binary as To;
    let dtype = at.dtype(0)?;
    match function {
        Binary::Add => arithmetic(at, To::Add),
        Binary::Sub => arithmetic(at, To::Sub),
        Binary::Mul => arithmetic(at, To::Mul),
        Binary::Div => arithmetic(at, To::Div),
        Binary::Mod { as_in_c: false } => arithmetic(at, To::Mod),
        Binary::Mod { as_in_c: true } => arithmetic(at, To::Fmod),
        Binary::Prelu => arithmetic(at, To::Prelu),
        Binary::Pow => power(at),
        Binary::And | Binary::BitwiseAnd => bitwise(at, Bitwise::And),
        Binary::Or | Binary::BitwiseOr => bitwise(at, Bitwise::Or),
        Binary::Xor | Binary::BitwiseXor => bitwise(at, Bitwise::Xor),
        Binary::ShiftLeft => bitwise(at, Bitwise::ShiftLeft),
        Binary::ShiftRight => bitwise(at, Bitwise::ShiftRight),
        Binary::Equal => comparison(at, dtype, Comparison::Equal),
        Binary::Less => comparison(at, dtype, Comparison::Less),
        Binary::LessOrEqual => comparison(at, dtype, Comparison::LessOrEqual),
        Binary::Greater => comparison(at, dtype, Comparison::Greater),
        Binary::GreaterOrEqual => comparison(at, dtype, Comparison::GreaterOrEqual),
        Binary::AddGelu { tanh } => add_gelu(at, tanh),
        Binary::QuantizedAdd | Binary::QuantizedMul => super::requantized::binary(at, function),
    }
}

/// How operands 0 and 1 are broadcast to result 0.
fn broadcast(at: &At<'_>) -> Result<Broadcast<2>, Lack> {
    Ok(Broadcast::new(&at.result_dims(0)?, [&at.dims(0)?, &at.dims(1)?]))
}

/// Runs a kernel of two operands apart, or with one of them, or both, in the output.
fn pair<A: Plain, B: Plain, Y: Plain>(
    io: &mut Io<'_>,
    apart: impl FnOnce(&[A], &[B], &mut [Y]),
    on_left: impl FnOnce(&[B], &mut [Y]),
    on_right: impl FnOnce(&[A], &mut [Y]),
    on_both: impl Fn(&[Y], &mut [Y]),
) -> Done {
    match (io.is_in_place(0), io.is_in_place(1)) {
        (false, false) => apart(io.read(0), io.read(1), io.write(0)),
        (true, false) => on_left(io.read(1), io.write(0)),
        (false, true) => on_right(io.read(0), io.write(0)),
        (true, true) => with_itself(io.write(0), on_both),
    }
    Ok(())
}

/// Both operands are what is in the output: a few elements at a time are copied beside it.
fn with_itself<T: Plain>(y: &mut [T], function: impl Fn(&[T], &mut [T])) {
    const FEW: usize = 256;
    let Some(first) = y.first() else { return };
    let mut copied = [*first; FEW];
    for y in y.chunks_mut(FEW) {
        copied[..y.len()].copy_from_slice(y);
        function(&copied[..y.len()], y);
    }
}

/// Operands of the same, few elements.
fn alike(len: usize) -> Broadcast<2> {
    Broadcast::new(&[len], [&[len], &[len]])
}

fn arithmetic(at: &At<'_>, function: binary::Binary) -> Result<Built, Lack> {
    let (level, shape, dtype) = (at.level, broadcast(at)?, at.dtype(0)?);
    by_number!(dtype, T => Ok(Built::one(2, 1, move |io| two::<T>(io, level, function, &shape))))
}

fn two<T: Plain + Number>(
    io: &mut Io<'_>,
    level: Level,
    function: binary::Binary,
    shape: &Broadcast<2>,
) -> Done {
    let on = |shape: &Broadcast<2>, side: Side, other: &[T], y: &mut [T]| {
        binary::binary_in_place(level, function, shape, (side, other), y);
    };
    pair(
        io,
        |a: &[T], b: &[T], y: &mut [T]| binary::binary(level, function, shape, (a, b), y),
        |b, y| on(shape, Side::Left, b, y),
        |a, y| on(shape, Side::Right, a, y),
        |other, y| on(&alike(y.len()), Side::Left, other, y),
    )
}

fn bitwise(at: &At<'_>, function: Bitwise) -> Result<Built, Lack> {
    let (level, shape, dtype) = (at.level, broadcast(at)?, at.dtype(0)?);
    // Bits are bits, whatever the sign; only unsigned integers are shifted.
    by_width!(dtype, T => Ok(Built::one(2, 1, move |io| {
        let on = |shape: &Broadcast<2>, side: Side, other: &[T], y: &mut [T]| {
            binary::bitwise_in_place(level, function, shape, (side, other), y);
        };
        pair(
            io,
            |a: &[T], b: &[T], y: &mut [T]| binary::bitwise(level, function, &shape, (a, b), y),
            |b, y| on(&shape, Side::Left, b, y),
            |a, y| on(&shape, Side::Right, a, y),
            |other, y| on(&alike(y.len()), Side::Left, other, y),
        )
    })))
}

fn comparison(at: &At<'_>, dtype: Dtype, question: Comparison) -> Result<Built, Lack> {
    let (level, shape) = (at.level, broadcast(at)?);
    let wide = |question| -> Result<Built, Lack> {
        by_number!(dtype, T => Ok(Built::one(2, 1, move |io| {
            binary::compare::<T>(level, question, &shape, (io.read(0), io.read(1)), io.write(0));
            Ok(())
        })))
    };
    match dtype {
        Dtype::Bool | Dtype::U8 => Ok(of_bytes::<u8>(level, shape, question)),
        Dtype::I8 => Ok(of_bytes::<i8>(level, shape, question)),
        _ => wide(question),
    }
}

/// A question about elements of one byte, whose answer may take their place.
fn of_bytes<T: Plain + Byte>(level: Level, shape: Broadcast<2>, question: Comparison) -> Built {
    Built::one(2, 1, move |io| {
        if !io.is_in_place(0) && !io.is_in_place(1) {
            binary::compare::<T>(level, question, &shape, (io.read(0), io.read(1)), io.write(0));
            return Ok(());
        }
        let on = |shape: &Broadcast<2>, side: Side, other: &[T], y: &mut [T]| {
            binary::compare_in_place(level, question, shape, (side, other), y);
        };
        pair(
            io,
            |_: &[T], _: &[T], _: &mut [T]| {},
            |b, y| on(&shape, Side::Left, b, y),
            |a, y| on(&shape, Side::Right, a, y),
            |other, y| on(&alike(y.len()), Side::Left, other, y),
        )
    })
}

/// The exponents may be of another type.
fn power(at: &At<'_>) -> Result<Built, Lack> {
    let (level, shape) = (at.level, broadcast(at)?);
    let (dtype, exponents) = (at.dtype(0)?, at.dtype(1)?);
    if dtype == exponents {
        return by_number!(dtype, T => Ok(Built::one(2, 1, move |io| pair(
            io,
            |a: &[T], b: &[T], y: &mut [T]| pow::pow(level, &shape, (a, b), y),
            |b, y| pow::pow_in_place(level, &shape, b, y),
            |a, y| pow::pow_on_exponents(level, &shape, a, y),
            |other, y| pow::pow_in_place(level, &alike(y.len()), other, y),
        ))));
    }
    let count = at.dims(1)?.iter().product();
    let mixed = match (dtype, exponents) {
        (Dtype::F32, Dtype::I64) => converted_power::<f32, i64>,
        (Dtype::F32, Dtype::I32) => converted_power::<f32, i32>,
        (Dtype::F32, Dtype::F64) => converted_power::<f32, f64>,
        (Dtype::F64, Dtype::I64) => converted_power::<f64, i64>,
        (Dtype::F64, Dtype::F32) => converted_power::<f64, f32>,
        (Dtype::I64, Dtype::F32) => mixed_power::<i64, f32>,
        (Dtype::I32, Dtype::F32) => mixed_power::<i32, f32>,
        (Dtype::I64, Dtype::I32) => converted_power::<i64, i32>,
        (Dtype::I32, Dtype::I64) => converted_power::<i32, i64>,
        (dtype, exponents) => {
            return Err(format!("no kernel for {dtype} to the power of {exponents}"));
        }
    };
    Ok(mixed(level, shape, count))
}

/// Exponents that are converted to the type of the bases first, beside the output.
fn converted_power<T: Plain + Number, E: Plain + Number>(
    level: Level,
    shape: Broadcast<2>,
    count: usize,
) -> Built {
    let built = Built::one(2, 1, move |io| {
        let exponents = io.scratch::<T>();
        let given: &[E] = if io.is_in_place(1) { elements(io.write_bytes(0)) } else { io.read(1) };
        for (exponent, given) in exponents.iter_mut().zip(given) {
            *exponent = T::from_f64(given.to_f64());
        }
        if io.is_in_place(0) {
            pow::pow_in_place(level, &shape, exponents, io.write::<T>(0));
        } else {
            pow::pow(level, &shape, (io.read(0), exponents), io.write::<T>(0));
        }
        Ok(())
    });
    built.with_scratch::<T>(count)
}

/// Integers to the power of fractions. Where the output takes the place of these, they are copied beside it first.
fn mixed_power<T: Plain + Number, E: Plain + Number>(
    level: Level,
    shape: Broadcast<2>,
    count: usize,
) -> Built {
    let built = Built::one(2, 1, move |io| {
        if io.is_in_place(0) {
            pow::pow_in_place::<T, E>(level, &shape, io.read(1), io.write(0));
        } else if io.is_in_place(1) {
            let (exponents, y) = (io.scratch::<E>(), io.write_bytes(0));
            exponents.copy_from_slice(elements(y));
            pow::pow::<T, E>(level, &shape, (io.read(0), exponents), elements_mut(y));
        } else {
            pow::pow::<T, E>(level, &shape, (io.read(0), io.read(1)), io.write(0));
        }
        Ok(())
    });
    built.with_scratch::<E>(count)
}

fn add_gelu(at: &At<'_>, tanh: bool) -> Result<Built, Lack> {
    at.only_f32(&[0, 1])?;
    let (level, shape) = (at.level, broadcast(at)?);
    let gelu = if tanh { unary::Unary::GeluTanh } else { unary::Unary::Gelu };
    let on = move |shape: &Broadcast<2>, side: Side, other: &[f32], y: &mut [f32]| {
        binary::binary_in_place(level, binary::Binary::Add, shape, (side, other), y);
        unary::unary_in_place(level, gelu, y);
    };
    Ok(Built::one(2, 1, move |io| {
        pair(
            io,
            |a: &[f32], b: &[f32], y: &mut [f32]| {
                binary::binary(level, binary::Binary::Add, &shape, (a, b), y);
                unary::unary_in_place(level, gelu, y);
            },
            |b, y| on(&shape, Side::Left, b, y),
            |a, y| on(&shape, Side::Right, a, y),
            |other, y| on(&alike(y.len()), Side::Left, other, y),
        )
    }))
}

/// Any number of tensors: the first two, and then each of the others with what is there.
pub(super) fn variadic(at: &At<'_>, variadic: Variadic) -> Result<Built, Lack> {
    let (level, dtype, count) = (at.level, at.dtype(0)?, at.operands());
    let output = at.result_dims(0)?;
    let function = match variadic {
        Variadic::Max => binary::Binary::Max,
        Variadic::Min => binary::Binary::Min,
        Variadic::Mean if count == 2 => binary::Binary::Mean,
        Variadic::Sum | Variadic::Mean => binary::Binary::Add,
    };
    if count == 1 {
        return super::layout::copy(at);
    }
    if count == 2 {
        return arithmetic(at, function);
    }
    let first = Broadcast::new(&output, [&at.dims(0)?, &at.dims(1)?]);
    let others: Result<Vec<Broadcast<2>>, Lack> =
        (2..count).map(|i| Ok(Broadcast::new(&output, [&output, &at.dims(i)?]))).collect();
    let others = others?;
    let divides = variadic == Variadic::Mean;
    by_number!(dtype, T => Ok(Built::one(count, 1, move |io| {
        let y: &mut [T] = io.write(0);
        if io.is_in_place(0) {
            binary::binary_in_place(level, function, &first, (Side::Left, io.read(1)), y);
        } else {
            binary::binary(level, function, &first, (io.read(0), io.read(1)), y);
        }
        for (shape, operand) in others.iter().zip(2..) {
            binary::binary_in_place(level, function, shape, (Side::Left, io.read(operand)), y);
        }
        if divides {
            select::divide_by_count(level, io.count(), y);
        }
        Ok(())
    })))
}

/// `condition, then, else`.
pub(super) fn select(at: &At<'_>) -> Result<Built, Lack> {
    let dims = [at.dims(0)?, at.dims(1)?, at.dims(2)?];
    let output = at.result_dims(0)?;
    let shape = Broadcast::new(&output, [&dims[0], &dims[1], &dims[2]]);
    let dtype = at.dtype(1)?;
    if dtype.bits() == 8 {
        let others = [1, 2].map(|branch| Broadcast::new(&output, [&output, &dims[branch]]));
        return Ok(Built::one(3, 1, move |io| select_bytes(io, &shape, &others)));
    }
    by_width!(dtype, T => Ok(Built::one(3, 1, move |io| select_wide::<T>(io, &shape))))
}

fn select_wide<T: Plain>(io: &mut Io<'_>, shape: &Broadcast<3>) -> Done {
    let y: &mut [T] = io.write(0);
    match (io.is_in_place(1), io.is_in_place(2)) {
        (false, false) => select::select(shape, io.read(0), io.read(1), io.read(2), y),
        (true, false) => {
            let branch = select::Branch::Then { otherwise: io.read(2) };
            select::select_in_place(shape, io.read(0), branch, y);
        }
        (false, true) => {
            let branch = select::Branch::Otherwise { then: io.read(1) };
            select::select_in_place(shape, io.read(0), branch, y);
        }
        // Whichever is chosen is there.
        (true, true) => {}
    }
    Ok(())
}

/// Elements of one byte, which may take the place of the condition. If that is a branch too, elements are
/// truth values: `c ? c : other` is `c or other`, and `c ? other : c` is `c and other`.
fn select_bytes(io: &mut Io<'_>, shape: &Broadcast<3>, others: &[Broadcast<2>; 2]) -> Done {
    if !io.is_in_place(0) {
        return select_wide::<u8>(io, shape);
    }
    let y: &mut [u8] = io.write(0);
    let logical = |function: Bitwise, shape: &Broadcast<2>, other: &[u8], y: &mut [u8]| {
        binary::bitwise_in_place(Level::portable(), function, shape, (Side::Left, other), y);
    };
    match (io.is_in_place(1), io.is_in_place(2)) {
        (false, false) => select::select_on_condition(shape, io.read(1), io.read(2), y),
        (true, false) => logical(Bitwise::Or, &others[1], io.read(2), y),
        (false, true) => logical(Bitwise::And, &others[0], io.read(1), y),
        (true, true) => {}
    }
    Ok(())
}

/// `x, least?, most?`.
pub(super) fn clip(at: &At<'_>) -> Result<Built, Lack> {
    let (level, dtype) = (at.level, at.dtype(0)?);
    by_number!(dtype, T => Ok(Built::one(3, 1, move |io| {
        let limits = (
            io.scalar(1).unwrap_or(<T as Number>::LOWEST),
            io.scalar(2).unwrap_or(<T as Number>::HIGHEST),
        );
        each(
            io,
            |x: &[T], y: &mut [T]| select::clip(level, limits, x, y),
            |y| select::clip_in_place(level, limits, y),
        )
    })))
}

/// To the type of the result.
pub(super) fn cast(at: &At<'_>) -> Result<Built, Lack> {
    let (from, to) = (at.dtype(0)?, at.result_dtype(0)?);
    let (level, count) = (at.level, at.dims(0)?.iter().product());
    if from == to {
        return super::layout::copy(at);
    }
    if to == Dtype::Bool {
        return by_any!(from, T => Ok(Built::one(1, 1, move |io| {
            if io.is_in_place(0) {
                cast::cast_to_bool_in_place::<T>(level, count, io.write_bytes(0));
            } else {
                cast::cast_to_bool::<T>(level, io.read(0), io.write(0));
            }
            Ok(())
        })));
    }
    // What is true is 1.
    let from = if from == Dtype::Bool { Dtype::U8 } else { from };
    by_any!(from, T => by_any!(to, U => Ok(cast_from::<T, U>(level, count))))
}

fn cast_from<T, U>(level: Level, count: usize) -> Built
where
    T: Plain + Element,
    U: Plain + Element + CastFrom<T>,
{
    Built::one(1, 1, move |io| {
        if io.is_in_place(0) {
            cast_within::<T, U>(count, io.write_bytes(0));
        } else {
            cast::cast::<T, U>(level, io.read(0), io.write(0));
        }
        Ok(())
    })
}

/// Converts elements in ascending order where they are; to wider ones is never planned so.
fn cast_within<T: Element, U: Element + CastFrom<T>>(count: usize, bytes: &mut [u8]) {
    assert!(U::BYTES <= T::BYTES, "elements that become wider overtake themselves");
    for element in 0..count {
        let converted = U::cast_from(T::read(&bytes[element * T::BYTES..]));
        converted.write(&mut bytes[element * U::BYTES..]);
    }
}
