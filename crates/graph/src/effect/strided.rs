//! Outputs that are rows of an input, and inputs that are rows of an output.
//!
//! Where a part is no stretch of memory it is still rows of the same length at the same distance: a
//! strided view, for kernels that know strides. Repetition is a stride of nothing. The inputs of a
//! concat are to its output what the outputs of a split are to its input.

use plimsoll::Strided;

use super::{Operand, Operands, Views, traits};
use crate::dtype::Dtype;
use crate::op::{Cut, Op};
use crate::shape::product;

/// An output as rows of the first input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StridedEffect {
    /// Which output.
    pub(crate) output: usize,
    /// The first byte in the input.
    pub(crate) offset: u64,
    /// How long rows are, and how far from each other.
    pub(crate) rows: Strided,
}

/// The outputs of a split, a slice or a repetition as rows of the first input, at the native width.
pub(crate) fn strided_views(
    op: &Op,
    inputs: &Operands<'_>,
    outputs: &Operands<'_>,
) -> Option<Vec<StridedEffect>> {
    let input = (*inputs.first()?)?;
    let dims = input.shape.known()?;
    let whole = Whole { dtype: input.dtype, dims: &dims };
    let output = || outputs.first().copied()?;
    match traits(op).views {
        Views::None | Views::Whole | Views::Permute { .. } | Views::Concat { .. } => None,
        Views::Repeat => Some(vec![whole.repeated(output()?)?]),
        Views::Cut { cuts } => {
            let is_part = |cut: &&Cut| !dims.get(cut.axis).is_some_and(|dim| cut.keeps_all(*dim));
            let mut cut = cuts.iter().filter(is_part);
            let (cut, None) = (cut.next()?, cut.next()) else { return None };
            let part = cut.is_run().then(|| whole.part(0, output()?, cut))??;
            Some(vec![part])
        }
        Views::Split { axis } => {
            let mut start = 0;
            let mut views = Vec::with_capacity(outputs.len());
            for (index, output) in outputs.iter().enumerate() {
                let len = *(*output)?.shape.known()?.get(axis)?;
                views.push(whole.part(index, (*output)?, &Cut::new(axis, start, len))?);
                start += len;
            }
            Some(views)
        }
    }
}

/// What parts are taken of.
struct Whole<'a> {
    dtype: Dtype,
    dims: &'a [u64],
}

impl Whole<'_> {
    fn bytes(&self, elements: u64) -> Option<u64> {
        let bits = elements.checked_mul(self.dtype.bits())?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    /// So many elements of an axis, from the first one on, of every row.
    fn part(&self, index: usize, output: Operand<'_>, cut: &Cut) -> Option<StridedEffect> {
        let inner = product(self.dims.get(cut.axis + 1..)?)?;
        let size = |elements: u64| self.bytes(inner.checked_mul(elements)?);
        let rows = Strided { bytes: size(cut.len)?, stride: size(*self.dims.get(cut.axis)?)? };
        let count = product(self.dims.get(..cut.axis)?)?;
        let made = self.bytes(product(&output.shape.known()?)?);
        let fits = output.dtype == self.dtype
            && made == rows.bytes.checked_mul(count)
            && (2..=Strided::MOST).contains(&count)
            && rows.bytes > 0;
        let offset = size(cut.start)?;
        fits.then_some(StridedEffect { output: index, offset, rows })
    }

    /// The whole again and again, if that is what the output is.
    fn repeated(&self, output: Operand<'_>) -> Option<StridedEffect> {
        let made = output.shape.known()?;
        let ones = self.dims.iter().take_while(|dim| **dim == 1).count();
        let elements = product(self.dims)?;
        let count = product(&made)?.checked_div(elements)?;
        let fits = made.ends_with(&self.dims[ones..]) && count > 1 && output.dtype == self.dtype;
        let rows = Strided { bytes: self.bytes(elements)?, stride: 0 };
        fits.then_some(StridedEffect { output: 0, offset: 0, rows })
    }
}

/// Where the inputs of a concat are in its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConcatParts {
    /// How many rows each part has; one if the parts are stretches.
    pub(crate) rows: u64,
    /// From row to row.
    pub(crate) stride: u64,
    /// The part of every input.
    pub(crate) list: Vec<ConcatPart>,
}

/// One input of a concat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConcatPart {
    /// Its first byte in the output.
    pub(crate) offset: u64,
    /// The bytes of each row.
    pub(crate) bytes: u64,
}

/// The inputs of a concat as parts of its output, at the native width, as far as they are whole bytes.
pub(crate) fn concat_parts(
    op: &Op,
    inputs: &Operands<'_>,
    outputs: &Operands<'_>,
) -> Option<ConcatParts> {
    let Views::Concat { axis } = traits(op).views else { return None };
    let [output] = outputs else { return None };
    let output = (*output)?;
    let dims = output.shape.known()?;
    let rows: u64 = product(dims.get(..axis)?)?;
    if rows == 0 || rows > Strided::MOST {
        return None;
    }
    let mut list = Vec::with_capacity(inputs.len());
    let mut bits = 0u64;
    for input in inputs {
        let input = (*input)?;
        let elements = product(&input.shape.known()?)?;
        let end = bits.checked_add((elements / rows).checked_mul(input.dtype.bits())?)?;
        let whole = elements.is_multiple_of(rows) && (bits | end).is_multiple_of(8);
        if input.dtype != output.dtype || elements == 0 || !whole {
            return None;
        }
        list.push(ConcatPart { offset: bits / 8, bytes: (end - bits) / 8 });
        bits = end;
    }
    let all = product(&dims)?.checked_mul(output.dtype.bits());
    (all == bits.checked_mul(rows)).then_some(ConcatParts { rows, stride: bits / 8, list })
}
