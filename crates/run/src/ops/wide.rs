//! Types that few models compute in: a node of these is computed in a wider type.
//!
//! Reals of 16 bits are computed as `f32`, integers of other widths than kernels are for as `i64`, which leaves the same
//! bits once it is cut off. What a call reads is converted into scratch before it, what it has made after it; so a
//! kernel for `f32` is one for `f16` too, at the cost of two passes and of scratch for both sides. Weights that kernels
//! pack are converted once.

use std::ops::Range;

use plimsoll_graph::Dtype;
use plimsoll_kernels::Level;
use plimsoll_kernels::cast::{self, CastFrom};
use plimsoll_kernels::half::{Bf16, F16};

use crate::at::At;
use crate::io::{Io, MOST_OUTPUTS};
use crate::kernel::{Built, Call, Done, Kernel, Lack};
use crate::memory::{LINE, Plain, elements, elements_mut};

/// Which types are computed in others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wider {
    /// Reals of 16 bits.
    Reals,
    /// These, and integers. Those of 64 bits without a sign are not: no type holds them.
    All,
}

impl Wider {
    /// The type that is computed in; `None` for a type that is computed in itself.
    pub(crate) fn of(self, dtype: Dtype) -> Option<Dtype> {
        match dtype {
            Dtype::F16 | Dtype::Bf16 => Some(Dtype::F32),
            Dtype::I8 | Dtype::U8 | Dtype::I16 | Dtype::U16 | Dtype::U32 if self == Wider::All => {
                Some(Dtype::I64)
            }
            _ => None,
        }
    }
}

/// The calls of a node in a wider type; `None` if there are none, or nothing becomes wider.
pub(super) fn build(
    at: &At<'_>,
    build: impl Fn(&At<'_>) -> Result<Built, Lack>,
) -> Option<Result<Built, Lack>> {
    [Wider::Reals, Wider::All].into_iter().find_map(|wider| {
        let wide = At { wider: Some(wider), ..*at };
        if !wide.is_wider() {
            return None;
        }
        let built = build(&wide).ok()?;
        Some(wrapped(at, wider, built))
    })
}

/// An operand or a result that is converted.
#[derive(Clone, Debug)]
struct Converted {
    /// Which, as the kernel counts them.
    slot: usize,
    /// The type that it has; `None` if its bytes are only copied.
    dtype: Option<Dtype>,
    /// How many bytes it has.
    bytes: usize,
    /// Where it is in scratch.
    range: Range<usize>,
}

/// Calls with conversions around them.
fn wrapped(at: &At<'_>, wider: Wider, built: Built) -> Result<Built, Lack> {
    let Built { calls, scratch_bytes, spare_bytes, packed_bytes } = built;
    let (mut wrapped, mut most) = (Vec::with_capacity(calls.len()), 0);
    for call in calls {
        let (call, end) = wrap(at, wider, call)?;
        most = most.max(end);
        wrapped.push(call);
    }
    let scratch_bytes = most + scratch_bytes;
    Ok(Built { calls: wrapped, scratch_bytes, spare_bytes, packed_bytes })
}

/// A call with conversions around it, and how many bytes of scratch these take.
fn wrap(at: &At<'_>, wider: Wider, call: Call) -> Result<(Call, usize), Lack> {
    let mut end = 0;
    let mut place = |slot, dtype: Dtype, dims: &[usize], wide: Option<Dtype>| {
        let count: usize = dims.iter().product();
        let bytes = count * dtype.bits() as usize / 8;
        let width = wide.unwrap_or(dtype).bits() as usize / 8;
        let range = end..end + count * width;
        end = range.end.next_multiple_of(LINE);
        Converted { slot, dtype: wide.map(|_| dtype), bytes, range }
    };
    let mut made = Vec::new();
    for (slot, result) in call.writes.iter().enumerate().filter(|(_, result)| at.wants(**result)) {
        let dtype = at.result_dtype(*result)?;
        if let Some(wide) = wider.of(dtype) {
            made.push(place(slot, dtype, &at.result_dims(*result)?, Some(wide)));
        }
    }
    // The first result may take the place of an operand that is as large as it.
    let over = made.iter().find(|made| made.slot == 0).map(|made| made.bytes);
    let mut read = Vec::new();
    for (slot, operand) in call.reads.iter().enumerate() {
        let Some(operand) = operand.filter(|operand| at.has(*operand)) else { continue };
        let (dtype, dims) = (at.dtype(operand)?, at.dims(operand)?);
        let bytes = dims.iter().product::<usize>() * dtype.bits() as usize / 8;
        match wider.of(dtype) {
            Some(wide) => read.push(place(slot, dtype, &dims, Some(wide))),
            None if over.is_some_and(|over| bytes >= over) => {
                read.push(place(slot, dtype, &dims, None));
            }
            None => {}
        }
    }
    let copies = copies(&read, call.reads.len());
    let first_bytes = match call.writes.first() {
        Some(first) if at.wants(*first) => {
            let count: usize = at.result_dims(*first)?.iter().product();
            count * at.result_dtype(*first)?.bits() as usize / 8
        }
        _ => 0,
    };
    let (level, inner) = (at.level, call.kernel);
    let kernel: Kernel = Box::new(move |io| {
        let (read, made, copies) = (&read[..], &made[..], &copies[..]);
        Conversions { level, read, made, copies, end, first_bytes }.run(io, &inner)
    });
    Ok((Call { kernel, ..call }, end))
}

/// Where in scratch each operand is that is converted.
fn copies(read: &[Converted], count: usize) -> Vec<Option<Range<usize>>> {
    let mut copies = vec![None; count];
    for converted in read {
        copies[converted.slot] = Some(converted.range.clone());
    }
    copies
}

/// What is around a call.
struct Conversions<'a> {
    level: Level,
    read: &'a [Converted],
    made: &'a [Converted],
    copies: &'a [Option<Range<usize>>],
    end: usize,
    /// How many bytes output 0 has.
    first_bytes: usize,
}

impl Conversions<'_> {
    fn run(&self, io: &mut Io<'_>, inner: &Kernel) -> Done {
        let (wide, scratch) = io.scratch::<u8>().split_at_mut(self.end);
        let first = self.made.last().map_or(0, |made| made.range.end.next_multiple_of(LINE));
        let (results, copied) = wide.split_at_mut(first.min(self.end));
        for Converted { slot, dtype, bytes, range } in self.read {
            let from = &io.held(*slot).unwrap_or_default()[..*bytes];
            let to = &mut copied[range.start - first..range.end - first];
            match dtype {
                Some(dtype) => widen(self.level, *dtype, from, to),
                None => to.copy_from_slice(from),
            }
        }
        // What is narrower than an operand that is copied now is not made within all of that any more.
        if self.read.iter().any(|read| io.is_in_place(read.slot)) {
            io.cut_first(self.first_bytes);
        }
        let mut ranges: [Range<usize>; MOST_OUTPUTS] = Default::default();
        for made in self.made {
            ranges[made.slot] = made.range.clone();
        }
        let copies = (self.copies, first, &*copied);
        inner(&mut io.within(copies, (&mut *results, &ranges), scratch))?;
        for Converted { slot, dtype, bytes, range } in self.made {
            let to = &mut io.write_bytes(*slot)[..*bytes];
            if let Some(dtype) = dtype {
                narrow(self.level, *dtype, &results[range.clone()], to);
            }
        }
        Ok(())
    }
}

/// Converts elements to the type that is computed in.
fn widen(level: Level, dtype: Dtype, from: &[u8], to: &mut [u8]) {
    match dtype {
        Dtype::F16 => convert::<F16, f32>(level, from, to),
        Dtype::Bf16 => convert::<Bf16, f32>(level, from, to),
        Dtype::I8 => convert::<i8, i64>(level, from, to),
        Dtype::U8 => convert::<u8, i64>(level, from, to),
        Dtype::I16 => convert::<i16, i64>(level, from, to),
        Dtype::U16 => convert::<u16, i64>(level, from, to),
        Dtype::U32 => convert::<u32, i64>(level, from, to),
        other => unreachable!("{other} is computed in itself"),
    }
}

/// Converts elements back.
fn narrow(level: Level, dtype: Dtype, from: &[u8], to: &mut [u8]) {
    match dtype {
        Dtype::F16 => convert::<f32, F16>(level, from, to),
        Dtype::Bf16 => convert::<f32, Bf16>(level, from, to),
        Dtype::I8 => convert::<i64, i8>(level, from, to),
        Dtype::U8 => convert::<i64, u8>(level, from, to),
        Dtype::I16 => convert::<i64, i16>(level, from, to),
        Dtype::U16 => convert::<i64, u16>(level, from, to),
        Dtype::U32 => convert::<i64, u32>(level, from, to),
        other => unreachable!("{other} is computed in itself"),
    }
}

fn convert<T: Plain, U: Plain + CastFrom<T>>(level: Level, from: &[u8], to: &mut [u8]) {
    cast::cast::<T, U>(level, elements(from), elements_mut(to));
}

/// The elements of a constant in the type that is computed in.
pub(crate) fn widened(dtype: Dtype, from: &[u8]) -> Vec<u8> {
    let wide = Wider::All.of(dtype).map_or(0, Dtype::bits) as usize;
    let mut lines = crate::memory::Lines::new(from.len() * wide / dtype.bits() as usize);
    let mut aligned = crate::memory::Lines::new(from.len());
    aligned.bytes_mut().copy_from_slice(from);
    widen(Level::portable(), dtype, aligned.bytes(), lines.bytes_mut());
    lines.bytes().to_vec()
}
