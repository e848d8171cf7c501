//! Writes notes into a model's file, and leaves the rest of it as it is.
//!
//! Notes are `metadata_props` of nodes, of stored tensors, of declared values and of the model. They
//! are spliced in on the wire: what is not changed is copied from the bytes that were read, weights
//! among it, which are not looked at. Only the lengths of the messages around a note are written
//! anew. Notes of ours that are there already are replaced, so that doing it twice changes nothing.
//!
//! A note on a node is about one of its results: the key of the first is as it is, that of the one at
//! index `i` has `.i` behind it. Bodies of control flow have notes too. Functions have none, since
//! one definition stands for all calls; the node that calls has those of its results.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;
use plimsoll_model::{Model, TensorId};

use crate::error::{Malformed, OnnxError};
use crate::file::OnnxFile;
use crate::origin::{Origins, Path};
use crate::stages::is_of_stages;
use crate::wire::{Content, Pieces, fields, last_bytes, push_bytes};
use crate::{LIMITS, Wanted, read_within};

/// What the keys of our notes begin with.
const OURS: &str = "plimsoll.";

/// What is to be noted. Keys get `plimsoll.` in front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Of the model.
    pub model: BTreeMap<String, String>,
    /// Of each tensor, by its name in the [`Model`].
    pub tensors: BTreeMap<String, BTreeMap<String, Note>>,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Any text.
    Text(String),
    /// The name of a tensor in the [`Model`], to be written as the file calls it.
    Tensor(String),
}

/// A file that was read, with what the notes on its tensors are found by.
pub struct Annotatable {
    file: OnnxFile,
    origins: Origins,
    /// The tensors of the model, by name.
    ids: HashMap<String, TensorId>,
}

impl Annotatable {
    /// The model that a file, or the [`Bytes`] of one, describes, and the file, to be written with notes.
    pub fn read(file: impl Into<OnnxFile>) -> Result<(Model, Self), OnnxError> {
        let file = file.into();
        let wanted = Wanted { origins: Some(Origins::default()), ..Wanted::default() };
        let (model, found) = read_within(&file, LIMITS, wanted)?;
        let origins = found.origins.unwrap_or_default();
        let ids = (0..model.tensors.len()).map(TensorId::new);
        let ids = ids.map(|id| (model.tensor(id).name.clone(), id)).collect();
        Ok((model, Annotatable { file, origins, ids }))
    }

    /// The file with notes.
    pub fn with(&self, notes: &Notes) -> Result<Annotated, OnnxError> {
        let mut splicer = Splicer {
            bytes: &self.file.bytes,
            origins: &self.origins,
            notes: self.by_tensor(notes),
            has_external_data: false,
        };
        let pieces = splicer.model(&notes.model);
        let has_external_data = splicer.has_external_data;
        Ok(Annotated { pieces: pieces?, file: self.file.clone(), has_external_data })
    }

    /// The notes on each tensor, with names as the file has them.
    fn by_tensor(&self, notes: &Notes) -> HashMap<TensorId, Texts> {
        let Annotatable { origins, ids, .. } = self;
        let in_file = origins.names();
        let text = |note: &Note| match note {
            Note::Text(text) => text.clone(),
            Note::Tensor(name) => {
                let known = ids.get(name.as_str()).and_then(|id| in_file.get(id));
                known.map_or(name.clone(), |name| (*name).to_owned())
            }
        };
        let texts = |notes: &BTreeMap<String, Note>| {
            notes.iter().map(|(key, note)| (key.clone(), text(note))).collect()
        };
        let found = notes.tensors.iter();
        found.filter_map(|(name, notes)| Some((*ids.get(name.as_str())?, texts(notes)))).collect()
    }
}

/// A file with notes, ready to be written.
pub struct Annotated {
    file: OnnxFile,
    pieces: Pieces,
    has_external_data: bool,
}

impl Annotated {
    /// The file, or the one that [`Bytes`] are, with notes.
    pub fn new(file: impl Into<OnnxFile>, notes: &Notes) -> Result<Self, OnnxError> {
        Annotatable::read(file)?.1.with(notes)
    }

    /// Writes it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.pieces.write(&self.file, out)
    }

    /// Whether weights are in other files, which are found from the folder of this one.
    #[must_use]
    pub fn has_external_data(&self) -> bool {
        self.has_external_data
    }
}

/// Keys and texts, in order of the keys.
type Texts = Vec<(String, String)>;

/// The messages that hold notes: where in each, and by which field a name is told.
#[derive(Clone, Copy)]
struct Noted {
    notes: u64,
    name: u64,
}

const VALUE: Noted = Noted { notes: 4, name: 1 };
const TENSOR: Noted = Noted { notes: 16, name: 8 };

struct Splicer<'a> {
    bytes: &'a Bytes,
    origins: &'a Origins,
    notes: HashMap<TensorId, Texts>,
    has_external_data: bool,
}

type Spliced = Result<Pieces, Malformed>;

impl Splicer<'_> {
    fn model(&mut self, notes: &BTreeMap<String, String>) -> Spliced {
        let mut pieces = Pieces::default();
        let mut graphs = 0;
        for field in fields(self.bytes, 0..self.bytes.len()) {
            let field = field?;
            match (field.number, &field.content) {
                (7, Content::Bytes(range)) => {
                    graphs += 1;
                    pieces.field(&field, self.graph(range.clone(), &Path::new())?);
                }
                (14, Content::Bytes(range)) if self.is_ours(range.clone())? => {}
                _ => pieces.same(field.whole),
            }
        }
        // Their nodes would count as those of one.
        if graphs > 1 {
            return Err(Malformed("its graph is in several parts"));
        }
        let notes: Texts = notes.clone().into_iter().collect();
        push_notes(&mut pieces, 14, &notes);
        Ok(pieces)
    }

    fn graph(&mut self, range: Range<usize>, path: &Path) -> Spliced {
        let mut pieces = Pieces::default();
        let mut nodes = 0;
        for field in fields(self.bytes, range) {
            let field = field?;
            match (field.number, &field.content) {
                (1, Content::Bytes(range)) => {
                    pieces.field(&field, self.node(range.clone(), path, nodes)?);
                    nodes += 1;
                }
                (5, Content::Bytes(range)) => {
                    pieces.field(&field, self.named(range.clone(), path, TENSOR)?);
                }
                (11..=13, Content::Bytes(range)) => {
                    pieces.field(&field, self.named(range.clone(), path, VALUE)?);
                }
                _ => pieces.same(field.whole),
            }
        }
        Ok(pieces)
    }

    fn node(&mut self, range: Range<usize>, path: &Path, index: usize) -> Spliced {
        let mut pieces = Pieces::default();
        let mut notes = Texts::new();
        let mut outputs = 0;
        for field in fields(self.bytes, range) {
            let field = field?;
            match (field.number, &field.content) {
                (9, Content::Bytes(range)) if self.is_ours(range.clone())? => continue,
                (5, Content::Bytes(range)) => {
                    pieces.field(&field, self.attribute(range.clone(), path, index)?);
                    continue;
                }
                (2, Content::Bytes(range)) => {
                    let behind = if outputs == 0 { String::new() } else { format!(".{outputs}") };
                    for (key, text) in self.about(path, range.clone()).into_iter().flatten() {
                        notes.push((format!("{key}{behind}"), text.clone()));
                    }
                    outputs += 1;
                }
                _ => {}
            }
            pieces.same(field.whole);
        }
        push_notes(&mut pieces, 9, &notes);
        Ok(pieces)
    }

    fn attribute(&mut self, range: Range<usize>, path: &Path, node: usize) -> Spliced {
        let mut inner = path.clone();
        let name = last_bytes(self.bytes, range.clone(), 1)?.unwrap_or_default();
        inner.push((node, String::from_utf8_lossy(&self.bytes[name]).into_owned()));
        let mut pieces = Pieces::default();
        if self.origins.graph(&inner).is_none() {
            pieces.same(range);
            return Ok(pieces);
        }
        let mut graphs = 0;
        for field in fields(self.bytes, range) {
            let field = field?;
            match (field.number, &field.content) {
                (6, Content::Bytes(range)) => {
                    graphs += 1;
                    pieces.field(&field, self.graph(range.clone(), &inner)?);
                }
                _ => pieces.same(field.whole),
            }
        }
        if graphs > 1 {
            return Err(Malformed("a body is in several parts"));
        }
        Ok(pieces)
    }

    /// A message about one tensor, which it names.
    fn named(&mut self, range: Range<usize>, path: &Path, kind: Noted) -> Spliced {
        let name = last_bytes(self.bytes, range.clone(), kind.name)?;
        let mut pieces = Pieces::default();
        for field in fields(self.bytes, range) {
            let field = field?;
            match (field.number, &field.content) {
                (number, Content::Bytes(range))
                    if number == kind.notes && self.is_ours(range.clone())? => {}
                (14, Content::Number(location)) => {
                    // Of stored tensors, where the data are; values have no such field.
                    self.has_external_data |= *location == 1;
                    pieces.same(field.whole);
                }
                _ => pieces.same(field.whole),
            }
        }
        if let Some(notes) = name.and_then(|name| self.about(path, name)) {
            push_notes(&mut pieces, kind.notes, notes);
        }
        Ok(pieces)
    }

    /// The notes on the tensor that a name stands for.
    fn about(&self, path: &Path, name: Range<usize>) -> Option<&Texts> {
        let name = str::from_utf8(&self.bytes[name]).ok()?;
        self.notes.get(self.origins.graph(path)?.get(name)?)
    }

    /// Whether an entry is a note of ours.
    fn is_ours(&self, range: Range<usize>) -> Result<bool, Malformed> {
        let key = last_bytes(self.bytes, range, 1)?;
        let key = key.map(|key| &self.bytes[key]);
        // Where nodes come from is no note of a plan.
        let key = key.and_then(|key| str::from_utf8(key).ok());
        Ok(key.is_some_and(|key| key.starts_with(OURS) && !is_of_stages(key)))
    }
}

/// Appends notes as entries of a field.
fn push_notes(pieces: &mut Pieces, number: u64, texts: &[(String, String)]) {
    for (key, text) in texts {
        let mut entry = Vec::new();
        push_bytes(&mut entry, 1, format!("{OURS}{key}").as_bytes());
        push_bytes(&mut entry, 2, text.as_bytes());
        let mut field = Vec::new();
        push_bytes(&mut field, number, &entry);
        pieces.fresh(field);
    }
}
