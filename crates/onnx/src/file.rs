//! A file, of which only the structure is in memory.
//!
//! Mapping a file would be as fast, but then a file that somebody shortens meanwhile ends the
//! process: a read beyond the new end is no error that a program could look at. So nothing is
//! mapped. What the walk through the messages goes over is read with plain reads, which can fail,
//! into memory that is as large as the file and of which only that is ever touched; the data of
//! weights are gone past. They are *holes*: zeros in memory, which nobody looks at, and copied from
//! the file where it is written again.
//!
//! Cost: what is read is the structure, and a page at each hole.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{MmapMut, MmapOptions};

use crate::error::OnnxError;
use crate::weight::{Source, weight};

/// The least that is read at a time; twice as much follows each time, as long as nothing is gone
/// past.
const LEAST_READ: u64 = 4 << 10;
/// The most that is read at a time.
const MOST_READ: u64 = 256 << 10;

/// The file of a model: its structure in memory, the data of its weights where they are.
///
/// If it is changed while it is in use, what is read may be no model, or one that never was;
/// if it is shortened, reading or copying it is an error.
#[derive(Clone, Debug)]
pub struct OnnxFile {
    /// As large as the file, and zeros in the holes.
    pub(crate) bytes: Bytes,
    /// How much memory its messages take once they are decoded, if that is known already.
    pub(crate) weight: Option<u64>,
    /// In order.
    holes: Vec<Range<usize>>,
    /// Where the holes are to be found, if there are any.
    file: Option<Arc<File>>,
}

impl From<Bytes> for OnnxFile {
    /// All of it is in memory.
    fn from(bytes: Bytes) -> Self {
        OnnxFile { bytes, weight: None, holes: Vec::new(), file: None }
    }
}

impl OnnxFile {
    /// Opens a file of any size.
    pub(crate) fn open(path: &Path) -> Result<Self, OnnxError> {
        let file = File::open(path).map_err(|error| file_fault(&error))?;
        // A folder can be opened, but not read.
        let about = file.metadata().map_err(|error| file_fault(&error))?;
        if !about.is_file() {
            return Err(OnnxError::File("it is not a file".to_owned()));
        }
        OnnxFile::of_length(file, about.len())
    }

    /// The file, if it is as long as it is said to be.
    fn of_length(file: File, length: u64) -> Result<Self, OnnxError> {
        if length == 0 {
            return Ok(OnnxFile::from(Bytes::new()));
        }
        let too_large = |_| OnnxError::File(format!("{length} bytes are too many"));
        let memory = usize::try_from(length).map_err(too_large)?;
        // Pages that are not touched are not there.
        let memory = MmapOptions::new().len(memory).no_reserve_swap().map_anon();
        let memory = memory.map_err(|error| file_fault(&error))?;
        let mut loading =
            Loading { file, memory, at: 0, loaded: 0..0, step: LEAST_READ, holes: Vec::new() };
        let weight = weight(&mut loading, length)?;
        let Loading { file, memory, holes, .. } = loading;
        let bytes = Bytes::from_owner(memory.make_read_only().map_err(|error| file_fault(&error))?);
        Ok(OnnxFile { bytes, weight: Some(weight), holes, file: Some(Arc::new(file)) })
    }

    /// Writes a part of the file as it is.
    pub(crate) fn copy(&self, range: Range<usize>, out: &mut dyn Write) -> io::Result<()> {
        let first = self.holes.partition_point(|hole| hole.end <= range.start);
        let mut at = range.start;
        for hole in self.holes[first..].iter().take_while(|hole| hole.start < range.end) {
            let hole = hole.start.max(range.start)..hole.end.min(range.end);
            out.write_all(&self.bytes[at..hole.start])?;
            at = hole.end;
            self.copy_hole(hole, out)?;
        }
        out.write_all(&self.bytes[at..range.end])
    }

    /// A part of the file as it is.
    pub(crate) fn part(&self, range: Range<usize>) -> Result<Cow<'_, [u8]>, String> {
        let first = self.holes.partition_point(|hole| hole.end <= range.start);
        if self.holes.get(first).is_none_or(|hole| hole.start >= range.end) {
            return Ok(Cow::Borrowed(&self.bytes[range]));
        }
        let mut bytes = Vec::with_capacity(range.len());
        self.copy(range, &mut bytes).map_err(|error| error.to_string())?;
        Ok(Cow::Owned(bytes))
    }

    fn copy_hole(&self, hole: Range<usize>, out: &mut dyn Write) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut file: &File = file;
        file.seek(SeekFrom::Start(hole.start as u64))?;
        let copied = io::copy(&mut file.take(hole.len() as u64), out)?;
        if copied == hole.len() as u64 { Ok(()) } else { Err(io::Error::other(SHORTENED)) }
    }
}

/// Some bytes of another file.
pub(crate) fn read_part(path: &Path, range: Range<u64>) -> Result<Vec<u8>, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() || about.len() < range.end {
            let fault = format!("it has no bytes {} to {}", range.start, range.end);
            return Err(io::Error::other(fault));
        }
        file.seek(SeekFrom::Start(range.start))?;
        // As many as the file has, so that no memory is asked for that nothing could fill.
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => SHORTENED.to_owned(),
        _ => error.to_string(),
    })
}

/// What is said of a file that ends before it should.
const SHORTENED: &str = "it was shortened while it was read";

fn file_fault(error: &io::Error) -> OnnxError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => OnnxError::File(SHORTENED.to_owned()),
        _ => OnnxError::File(error.to_string()),
    }
}

/// A file whose structure is on its way into memory.
struct Loading {
    file: File,
    memory: MmapMut,
    /// Where the walk is.
    at: u64,
    /// The bytes that are in memory since something was last gone past.
    loaded: Range<u64>,
    /// How much is read next.
    step: u64,
    holes: Vec<Range<usize>>,
}

impl Loading {
    /// Reads a part of the file to its place in memory.
    fn load(&mut self, range: Range<u64>) -> Result<(), OnnxError> {
        self.file.seek(SeekFrom::Start(range.start)).map_err(|error| file_fault(&error))?;
        let place = &mut self.memory[range.start as usize..range.end as usize];
        self.file.read_exact(place).map_err(|error| file_fault(&error))
    }

    /// Reads on, at least up to there.
    fn load_to(&mut self, end: u64) -> Result<(), OnnxError> {
        if end <= self.loaded.end {
            return Ok(());
        }
        let length = self.memory.len() as u64;
        let next = (self.loaded.end + self.step).max(end).min(length);
        self.load(self.loaded.end..next)?;
        self.step = (self.step * 2).min(MOST_READ);
        self.loaded.end = next;
        Ok(())
    }
}

impl Source for Loading {
    type Error = OnnxError;

    fn at(&self) -> u64 {
        self.at
    }

    fn byte(&mut self) -> Result<u8, OnnxError> {
        self.load_to(self.at + 1)?;
        let byte = self.memory[self.at as usize];
        self.at += 1;
        Ok(byte)
    }

    fn pass(&mut self, to: u64) -> Result<(), OnnxError> {
        self.load_to(to)?;
        self.at = to;
        Ok(())
    }

    fn leave(&mut self, to: u64) {
        self.holes.push(self.at as usize..to as usize);
        self.at = to;
        if to > self.loaded.end {
            self.loaded = to..to;
            self.step = LEAST_READ;
        }
    }

    fn want(&mut self, left: Range<u64>) -> Result<(), OnnxError> {
        let range = left.start as usize..left.end as usize;
        // It is one of the last.
        if let Some(at) = self.holes.iter().rposition(|hole| *hole == range) {
            self.holes.remove(at);
        }
        if left.start >= self.loaded.start { Ok(()) } else { self.load(left) }
    }
}

#[cfg(test)]
mod tests;
