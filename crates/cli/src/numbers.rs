//! The elements of arrays as numbers: what is told of them, and how far two arrays are apart.

use std::fmt;

use anyhow::{Result, ensure};
use plimsoll_graph::Dtype;
use plimsoll_report::plain;
use plimsoll_run::{Array, Bf16, F16};

/// The elements as numbers; `None` for types that have none here.
fn numbers(array: &Array) -> Option<Vec<f64>> {
    macro_rules! of {
        ($type:ty) => {
            array
                .bytes
                .chunks_exact(size_of::<$type>())
                .map(|bytes| <$type>::from_le_bytes(bytes.try_into().expect("as many")) as f64)
                .collect()
        };
    }
    #[allow(clippy::cast_lossless, reason = "one rule for all types")]
    let numbers = match array.dtype {
        Dtype::F32 => of!(f32),
        Dtype::F64 => of!(f64),
        Dtype::I64 => of!(i64),
        Dtype::I32 => of!(i32),
        Dtype::I16 => of!(i16),
        Dtype::I8 => of!(i8),
        Dtype::U64 => of!(u64),
        Dtype::U32 => of!(u32),
        Dtype::U16 => of!(u16),
        Dtype::U8 | Dtype::Bool => of!(u8),
        Dtype::F16 => halves(array, |bits| F16(bits).to_f32()),
        Dtype::Bf16 => halves(array, |bits| Bf16(bits).to_f32()),
        _ => return None,
    };
    Some(numbers)
}

/// Numbers of 16 bits.
fn halves(array: &Array, number: impl Fn(u16) -> f32) -> Vec<f64> {
    let bits = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    array.bytes.chunks_exact(2).map(|bytes| f64::from(number(bits(bytes)))).collect()
}

/// An output in one line: type, dims, range, the first elements.
pub(crate) struct Summary<'a> {
    pub(crate) name: &'a str,
    pub(crate) array: &'a Array,
}

/// The most elements that are shown.
const SHOWN: usize = 5;

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Array { dtype, dims, .. } = self.array;
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        write!(f, "{} {dtype}[{}]", plain(self.name), dims.join(","))?;
        let Some(numbers) = numbers(self.array).filter(|numbers| !numbers.is_empty()) else {
            return Ok(());
        };
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let first: Vec<String> = numbers.iter().take(SHOWN).map(|x| short(*x)).collect();
        let more = if numbers.len() > SHOWN { " …" } else { "" };
        write!(f, ", {} to {}: {}{more}", short(least), short(most), first.join(" "))
    }
}

/// A number with as many digits as people look at.
fn short(x: f64) -> String {
    if x.fract().abs() <= 0.0 && x.abs() < 1e15 { format!("{x}") } else { format!("{x:.5}") }
}

/// Where an array is the farthest from what is expected.
pub(crate) struct Worst {
    pub(crate) index: usize,
    pub(crate) found: f64,
    pub(crate) expected: f64,
    /// The largest that is expected, without its sign; at least the smallest number that there is.
    pub(crate) scale: f64,
}

/// The element that is the farthest from what is expected; a number that is none is farther than any.
pub(crate) fn worst(found: &Array, expected: &Array) -> Result<Worst> {
    ensure!(
        (found.dtype, &found.dims) == (expected.dtype, &expected.dims),
        "{} {:?}, where {} {:?} is expected",
        found.dtype,
        found.dims,
        expected.dtype,
        expected.dims
    );
    let (Some(found), Some(expected)) = (numbers(found), numbers(expected)) else {
        anyhow::bail!("elements that are not compared");
    };
    let finite = expected.iter().filter(|x| x.is_finite());
    let scale = finite.fold(f64::MIN_POSITIVE, |scale, x| scale.max(x.abs()));
    let far = |index: usize| {
        let (a, b): (f64, f64) = (found[index], expected[index]);
        let same = a.total_cmp(&b).is_eq() || (a.is_nan() && b.is_nan());
        let apart = if same { 0.0 } else { (a - b).abs() };
        if apart.is_nan() { f64::INFINITY } else { apart }
    };
    let index = (0..found.len()).max_by(|a, b| far(*a).total_cmp(&far(*b)).then(b.cmp(a)));
    let index = index.unwrap_or(0);
    let at = |numbers: &[f64]| numbers.get(index).copied().unwrap_or(0.0);
    Ok(Worst { index, found: at(&found), expected: at(&expected), scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_element_is_the_first_that_is_the_farthest() {
        let (a, b) = (Array::f32(&[3], &[1.0, 2.5, 8.5]), Array::f32(&[3], &[1.0, 2.0, 8.0]));
        let Worst { index, found, expected, scale } = worst(&a, &b).unwrap();
        assert_eq!((index, found, expected, scale), (1, 2.5, 2.0, 8.0));
        let nan = Array::f32(&[3], &[1.0, 2.0, f32::NAN]);
        assert_eq!(worst(&nan, &b).unwrap().index, 2);
        assert!(worst(&Array::i64(&[3], &[0; 3]), &b).is_err());
    }

    #[test]
    fn an_output_is_told_in_one_line() {
        let array = Array::f32(&[2, 3], &[0.5, -1.0, 2.0, 3.0, 4.0, 1.0 / 3.0]);
        let told = Summary { name: "y", array: &array }.to_string();
        assert_eq!(told, "y f32[2,3], -1 to 4: 0.50000 -1 2 3 4 …");
    }
}
