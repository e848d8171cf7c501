//! Weights of a file: where the elements of stored tensors are, and how they get into memory.
//!
//! Nothing is read before somebody asks. Data in the file are read with plain reads, for the same reason as
//! the rest of it ([`file`](crate::file)); data beside the file are looked for in its folder and below it,
//! and nowhere else, whatever the file says. A link in that folder is followed: whoever put it there had
//! the right to.
//!
//! Cost: one read for each tensor that is asked for, each time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use plimsoll_graph::Dtype;
use plimsoll_model::{TensorId, Weights};

use crate::error::Fault;
use crate::file::{OnnxFile, read_part};
use crate::proto::tensor_proto::DataLocation;
use crate::proto::{StringStringEntryProto, TensorProto};
use crate::tensor::{element_bytes, stored_bytes};

/// The weights of a file. It keeps the file open, and shows what is in it when it is asked.
#[derive(Debug)]
pub struct OnnxWeights {
    file: OnnxFile,
    /// Where data beside the file are; `None` if it was not a file on a disk.
    folder: Option<PathBuf>,
    sources: HashMap<TensorId, Source>,
}

impl OnnxWeights {
    pub(crate) fn new(file: OnnxFile, folder: Option<&Path>, sources: Sources) -> Self {
        OnnxWeights { file, folder: folder.map(Path::to_owned), sources: sources.found }
    }

    fn external(&self, external: &External) -> Result<Vec<u8>, Fault> {
        let folder =
            self.folder.as_ref().ok_or("its data are in a file, of a model that is in none")?;
        let External { location, offset, bytes } = external;
        let path = folder.join(inner_path(location)?);
        let end = offset.checked_add(*bytes).ok_or("its data are beyond any file")?;
        read_part(&path, *offset..end).map_err(|fault| format!("its data in `{location}`: {fault}"))
    }
}

impl Weights for OnnxWeights {
    fn bytes(&self, tensor: TensorId) -> Result<Option<Cow<'_, [u8]>>, String> {
        Ok(match self.sources.get(&tensor) {
            Some(Source::File(range)) => Some(self.file.part(range.clone())?),
            Some(Source::Own(bytes)) => Some(Cow::Borrowed(bytes)),
            Some(Source::External(external)) => Some(Cow::Owned(self.external(external)?)),
            Some(Source::Fault(fault)) => return Err(fault.clone()),
            None => None,
        })
    }
}

/// Where the elements of a tensor are.
#[derive(Debug)]
enum Source {
    /// These bytes of the file.
    File(Range<usize>),
    /// Here: in the file they are not as they lie in memory.
    Own(Vec<u8>),
    /// In a file beside it.
    External(External),
    /// Nowhere that makes sense.
    Fault(Fault),
}

#[derive(Debug)]
struct External {
    location: String,
    offset: u64,
    bytes: u64,
}

/// Where the elements of all stored tensors are, while a model is read.
pub(crate) struct Sources {
    file: Bytes,
    found: HashMap<TensorId, Source>,
}

impl Sources {
    pub(crate) fn of(file: &OnnxFile) -> Self {
        Sources { file: file.bytes.clone(), found: HashMap::new() }
    }

    /// Keeps where the elements of a tensor are, of which type and dims are known to be sound.
    pub(crate) fn add(&mut self, id: TensorId, proto: &TensorProto, dtype: Option<Dtype>) {
        let Some(dtype) = dtype else { return };
        let source = if proto.data_location() == DataLocation::External {
            external(proto, dtype).map_or_else(Source::Fault, Source::External)
        } else {
            match self.place(proto) {
                Some(range) => Source::File(range),
                None => Source::Own(element_bytes(proto, dtype).into_owned()),
            }
        };
        self.found.insert(id, source);
    }

    /// Where raw data are in the file that they are a part of.
    fn place(&self, proto: &TensorProto) -> Option<Range<usize>> {
        let raw = proto.raw_data.as_ref().filter(|raw| !raw.is_empty())?;
        let start = (raw.as_ptr() as usize).checked_sub(self.file.as_ptr() as usize)?;
        let end = start.checked_add(raw.len())?;
        (end <= self.file.len()).then_some(start..end)
    }
}

/// What the file says of data beside it.
fn external(proto: &TensorProto, dtype: Dtype) -> Result<External, Fault> {
    let entry = |key: &str| proto.external_data.iter().find(|entry| entry.key() == key);
    let number = |key: &str| match entry(key).map(StringStringEntryProto::value) {
        None | Some("") => Ok(None),
        Some(text) => {
            let number = text.parse::<u64>().map(Some);
            number.map_err(|_| format!("its data have a {key} of `{text}`"))
        }
    };
    let location = entry("location").map(|entry| entry.value().to_owned());
    let location = location.ok_or("its data are in a file that is not named")?;
    let bytes = stored_bytes(proto, dtype)?;
    match number("length")? {
        Some(length) if length != bytes => {
            Err(format!("{length} bytes of data in `{location}`, where {bytes} are needed"))
        }
        _ => Ok(External { location, offset: number("offset")?.unwrap_or(0), bytes }),
    }
}

/// The path of a file in a folder, or in one below it.
fn inner_path(location: &str) -> Result<PathBuf, Fault> {
    let path = Path::new(location);
    let is_inner = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if location.contains('\\') || location.is_empty() || !path.components().all(is_inner) {
        return Err(format!(
            "its data are in `{location}`, which is not in the folder of the model"
        ));
    }
    Ok(path.to_owned())
}
