//! Arrays of numpy: `.npy` files, and `.npz`, which are zip archives of these.
//!
//! An array is a header in the syntax of Python and its elements; an archive is read where its members are stored
//! as they are (`numpy.savez`), and written so. What is compressed is told so.

use anyhow::{Context, Result, anyhow, bail, ensure};
use plimsoll_graph::Dtype;
use plimsoll_run::Array;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What numpy calls types of elements.
const TYPES: [(&str, Dtype); 13] = [
    ("<f4", Dtype::F32),
    ("<f8", Dtype::F64),
    ("<f2", Dtype::F16),
    ("<i8", Dtype::I64),
    ("<i4", Dtype::I32),
    ("<i2", Dtype::I16),
    ("|i1", Dtype::I8),
    ("<u8", Dtype::U64),
    ("<u4", Dtype::U32),
    ("<u2", Dtype::U16),
    ("|u1", Dtype::U8),
    ("|b1", Dtype::Bool),
    ("<V2", Dtype::Bf16),
];

/// What numpy calls a type of elements; `None` if it has none like it.
#[must_use]
pub fn numpy_name(dtype: Dtype) -> Option<&'static str> {
    TYPES.iter().find(|(_, other)| *other == dtype).map(|(name, _)| *name)
}

/// The type of elements that numpy calls so.
#[must_use]
pub fn dtype_by_numpy_name(name: &str) -> Option<Dtype> {
    TYPES.iter().find(|(other, _)| *other == name).map(|(_, dtype)| *dtype)
}

/// The array in the bytes of a `.npy` file.
pub(crate) fn read(bytes: &[u8]) -> Result<Array> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| anyhow!("not an array of numpy"))?;
    let (major, rest) = match rest {
        [major, _, rest @ ..] => (*major, rest),
        _ => bail!("an array of numpy without a header"),
    };
    let wide = if major >= 2 { 4 } else { 2 };
    let length = little_endian(rest, 0, wide).context("an array of numpy without a header")?;
    let header = rest.get(wide..wide.saturating_add(length));
    let header = header.context("an array of numpy whose header is cut off")?;
    let header = String::from_utf8_lossy(header);
    let descr = quoted(&header, "descr").context("a header without a type")?;
    let dtype = dtype_by_numpy_name(&descr);
    let dtype = dtype.ok_or_else(|| anyhow!("elements of type `{descr}` are not read"))?;
    let dims = shape(&header).context("a header without a shape")?;
    let count = plimsoll_graph::shape::product(&dims).and_then(|count| dtype.bytes(count));
    let elements = &rest[wide + length..];
    ensure!(
        count == Some(elements.len() as u64),
        "{} bytes of elements, where {dims:?} of {dtype} needs {}",
        elements.len(),
        count.map_or("more".to_owned(), |count| count.to_string())
    );
    let bytes = if header.contains("'fortran_order': True") {
        by_rows(elements, &dims, dtype.bits() as usize / 8)
    } else {
        elements.to_vec()
    };
    Ok(Array { dtype, dims, bytes })
}

/// Elements whose first axis moves fastest, in the order in which the last one does.
fn by_rows(elements: &[u8], dims: &[u64], width: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len());
    for index in 0..elements.len() / width {
        // The index along each axis, the last one first, and where the element is that has them.
        let (mut left, mut at, mut behind) = (index, 0, elements.len() / width);
        for dim in dims.iter().rev().map(|dim| *dim as usize) {
            behind /= dim;
            at += left % dim * behind;
            left /= dim;
        }
        bytes.extend(&elements[at * width..(at + 1) * width]);
    }
    bytes
}

/// The text of an entry of the header.
fn quoted(header: &str, key: &str) -> Option<String> {
    let behind = &header[header.find(&format!("'{key}'"))? + key.len() + 2..];
    let value = behind.split_once(':')?.1.trim_start();
    Some(value.strip_prefix('\'')?.split_once('\'')?.0.to_owned())
}

fn shape(header: &str) -> Option<Vec<u64>> {
    let behind = &header[header.find("'shape'")?..];
    let list = behind.split_once('(')?.1.split_once(')')?.0;
    let dims = list.split(',').map(str::trim).filter(|dim| !dim.is_empty());
    dims.map(|dim| dim.parse().ok()).collect()
}

/// The bytes of a `.npy` file.
pub(crate) fn write(array: &Array) -> Result<Vec<u8>> {
    let descr =
        numpy_name(array.dtype).ok_or_else(|| anyhow!("numpy has no type {}", array.dtype))?;
    let dims: Vec<String> = array.dims.iter().map(u64::to_string).collect();
    // A single dim is followed by a comma: otherwise it would be a number.
    let dims = if dims.len() == 1 { format!("{},", dims[0]) } else { dims.join(", ") };
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // The elements begin at a multiple of 64.
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    let mut bytes = [MAGIC, &[1, 0], &u16::try_from(padded)?.to_le_bytes()].concat();
    bytes.extend(header.bytes().chain(std::iter::repeat(b' ')).take(padded - 1));
    bytes.push(b'\n');
    bytes.extend(&array.bytes);
    Ok(bytes)
}

/// The arrays in the bytes of a `.npz` file, with their names.
pub(crate) fn read_archive(bytes: &[u8]) -> Result<Vec<(String, Array)>> {
    // The end of the directory is the last thing in the file, but for a comment.
    let end = (0..bytes.len().saturating_sub(21)).rev().take(1 << 16);
    let end = end.into_iter().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"));
    let end = end.ok_or_else(|| anyhow!("not an archive of numpy"))?;
    let cut_off = "an archive that is cut off";
    let count = little_endian(bytes, end + 10, 2).context(cut_off)?;
    let mut at = little_endian(bytes, end + 16, 4).context(cut_off)?;
    let mut arrays = Vec::new();
    for _ in 0..count {
        let field =
            |offset: usize, wide: usize| little_endian(bytes, at + offset, wide).context(cut_off);
        ensure!(bytes.get(at..at + 4) == Some(b"PK\x01\x02"), cut_off);
        let (name, extra, comment) = (field(28, 2)?, field(30, 2)?, field(32, 2)?);
        let (method, size, start) = (field(10, 2)?, field(24, 4)?, field(42, 4)?);
        let text = bytes.get(at + 46..at + 46 + name).context(cut_off)?;
        let text = String::from_utf8_lossy(text).into_owned();
        ensure!(method == 0, "`{text}` is compressed; write it with numpy.savez");
        let behind = |offset| little_endian(bytes, start + offset, 2).context(cut_off);
        let data = start + 30 + behind(26)? + behind(28)?;
        let member = bytes.get(data..data.saturating_add(size)).context(cut_off)?;
        let array = read(member).with_context(|| text.clone())?;
        arrays.push((text.trim_end_matches(".npy").to_owned(), array));
        at += 46 + name + extra + comment;
    }
    Ok(arrays)
}

/// The bytes of a `.npz` file.
pub(crate) fn write_archive<'a>(
    arrays: impl Iterator<Item = (&'a str, &'a Array)>,
) -> Result<Vec<u8>> {
    let (mut bytes, mut directory, mut count) = (Vec::new(), Vec::new(), 0u16);
    for (name, array) in arrays {
        let (name, member) = (format!("{name}.npy"), write(array)?);
        let (start, size) = (u32::try_from(bytes.len()), u32::try_from(member.len()));
        let (start, size) = (start.context("more than 4 GiB")?, size.context("more than 4 GiB")?);
        let mut about = Vec::new();
        // Version, flags, stored, the earliest time that there is, checksum, sizes.
        about.extend([20u16, 0, 0, 0, 0x21].iter().flat_map(|field| field.to_le_bytes()));
        about.extend([checksum(&member), size, size].iter().flat_map(|field| field.to_le_bytes()));
        about.extend(u16::try_from(name.len())?.to_le_bytes());
        about.extend([0, 0]);
        bytes.extend([&b"PK\x03\x04"[..], &about, name.as_bytes(), &member].concat());
        directory.extend([&b"PK\x01\x02"[..], &20u16.to_le_bytes(), &about].concat());
        // Comment, disk, attributes.
        directory.extend([0; 10]);
        directory.extend([&start.to_le_bytes()[..], name.as_bytes()].concat());
        count = count.checked_add(1).context("too many outputs")?;
    }
    let (start, size) = (u32::try_from(bytes.len())?, u32::try_from(directory.len())?);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].iter().flat_map(|count| count.to_le_bytes()));
    bytes.extend([size, start].iter().flat_map(|field| field.to_le_bytes()));
    bytes.extend([0, 0]);
    Ok(bytes)
}

/// The checksum of zip archives.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let table: Vec<u32> = (0..256).map(|byte| (0..8).fold(byte, |crc, _| step(crc))).collect();
    let next = |crc: u32, byte: &u8| table[(crc as u8 ^ byte) as usize] ^ crc >> 8;
    !bytes.iter().fold(!0, next)
}

fn little_endian(bytes: &[u8], at: usize, wide: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(wide)?)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_archives_are_read_as_they_are_written() {
        let arrays = [
            ("a", Array::f32(&[2, 1], &[1.5, -2.0])),
            ("b/c", Array::i64(&[], &[7])),
            ("none", Array::f32(&[0], &[])),
        ];
        for (_, array) in &arrays {
            let bytes = write(array).unwrap();
            assert_eq!((read(&bytes).unwrap(), bytes.len() % 64 % 4), (array.clone(), 0));
        }
        let archive = write_archive(arrays.iter().map(|(name, array)| (*name, array))).unwrap();
        let found = read_archive(&archive).unwrap();
        assert_eq!(found, arrays.map(|(name, array)| (name.to_owned(), array)));
    }

    #[test]
    fn the_order_of_fortran_is_turned() {
        let bytes = write(&Array::f32(&[2, 1, 3], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0])).unwrap();
        let text = String::from_utf8_lossy(&bytes[10..]).find("False").unwrap();
        let turned = [&bytes[..10 + text], b"True ", &bytes[15 + text..]].concat();
        let found = read(&turned).unwrap();
        assert_eq!(found, Array::f32(&[2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    }

    #[test]
    fn what_is_no_array_is_told_so() {
        let wrong = |bytes: &[u8]| format!("{:#}", read(bytes).unwrap_err());
        assert_eq!(wrong(b"PK"), "not an array of numpy");
        let mut bytes = write(&Array::f32(&[3], &[1.0; 3])).unwrap();
        bytes.pop();
        assert_eq!(wrong(&bytes), "11 bytes of elements, where [3] of f32 needs 12");
        assert!(read_archive(b"not a zip").is_err());
        // The checksum of "123456789" is known to everybody.
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
