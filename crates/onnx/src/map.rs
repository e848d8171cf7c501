//! Files as bytes, without reading them: the one place that is unsafe.

use std::fs::File;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use crate::error::OnnxError;

/// The bytes of a file. Only what is looked at is brought into memory.
///
/// The file must not be changed while the bytes are in use.
pub(crate) fn map(path: &Path) -> Result<Bytes, OnnxError> {
    let fault = |error: std::io::Error| OnnxError::File(error.to_string());
    let file = File::open(path).map_err(fault)?;
    // A folder can be opened, but not mapped; an empty file has nothing to map.
    let about = file.metadata().map_err(fault)?;
    if !about.is_file() {
        return Err(OnnxError::File("it is not a file".to_owned()));
    }
    if about.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and only read. What Rust cannot know is that nobody shortens
    // or writes the file meanwhile: every program that maps files relies on that, and the doc of
    // `load` says so. The bytes are numbers and text that are checked wherever they are used.
    #[allow(unsafe_code, reason = "there is no other way to map a file")]
    let map = unsafe { Mmap::map(&file) }.map_err(fault)?;
    Ok(Bytes::from_owner(map))
}
