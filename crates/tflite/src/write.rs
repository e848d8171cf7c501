//! A plan written into a file, and operators in another order; everything else stays byte for byte as it was.
//!
//! References of a flatbuffer reach ahead only. So what is new comes in front: a root with new lists of buffers
//! and metadata, which refer to what was there already, and behind it the whole file as it was, moved by a
//! multiple of [`MOVED_BY`] bytes. A plan that takes the place of one of the same length is written over it, and
//! operators change places by the references to them.

use std::ops::Range;

use bytes::Bytes;

use crate::error::TfliteError;
use crate::file::{IDENTIFIER, TfliteFile};
use crate::flatbuffer::write::{Slot, Writer};
use crate::flatbuffer::{Malformed, Table, Vector, u32_at};
use crate::schema::{buffer, metadata, model};
use crate::tflm::AT_RUN_TIME;

/// The name of the metadata that a plan is.
const NAME: &str = "OfflineMemoryAllocation";

/// Data are at multiples of 16 at least, and of 64 where a writer means well.
const MOVED_BY: usize = 64;

impl TfliteFile {
    /// The plan that the file has, if it has one: what its metadata buffer holds, 32-bit integers.
    pub fn offline_plan(&self) -> Result<Option<Vec<i32>>, TfliteError> {
        let Some(range) = self.plan_data()? else { return Ok(None) };
        let numbers = self.bytes[range].chunks_exact(4);
        Ok(Some(numbers.map(|n| i32::from_le_bytes([n[0], n[1], n[2], n[3]])).collect()))
    }

    /// The offsets of the plan that the file has, one for each tensor of each subgraph; none if it has no plan,
    /// or one that is not for it.
    pub fn offline_offsets(&self) -> Result<Vec<i32>, TfliteError> {
        let plan = self.offline_plan()?.unwrap_or_default();
        let offsets = plan.get(3..).unwrap_or_default();
        Ok(if offsets.len() == self.tensor_count() { offsets.to_vec() } else { Vec::new() })
    }

    /// The file with a plan: what its metadata buffer holds.
    pub fn with_offline_plan(&self, plan: &[u8]) -> Result<TfliteFile, TfliteError> {
        if let Some(range) = self.plan_data()?.filter(|range| range.len() == plan.len()) {
            let mut bytes = self.bytes.to_vec();
            bytes[range].copy_from_slice(plan);
            return TfliteFile::read(bytes);
        }
        if self.has_data_behind {
            let fault = "has data behind its flatbuffer, which would have to be moved";
            return Err(TfliteError::Model(fault.to_owned()));
        }
        let mut bytes = self.front(plan)?;
        bytes.extend_from_slice(&self.bytes);
        TfliteFile::read(bytes)
    }

    /// The file without a plan: if it has one, all places of that are left to the interpreter.
    pub fn without_offline_plan(&self) -> Result<TfliteFile, TfliteError> {
        let Some(mut plan) = self.offline_plan()? else { return Ok(self.clone()) };
        plan.iter_mut().skip(3).for_each(|offset| *offset = AT_RUN_TIME);
        let bytes: Vec<u8> = plan.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.with_offline_plan(&bytes)
    }

    /// The file with the operators of its first subgraph in this order. A plan that it has is for its own order.
    pub fn with_operators_in_order(&self, order: &[usize]) -> Result<TfliteFile, TfliteError> {
        let graph = &self.subgraphs[0];
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..graph.operators.len()) {
            return Err(TfliteError::Model(
                "the order does not have every operator once".to_owned(),
            ));
        }
        let place = |index: usize| graph.operators_at + 4 * index;
        let mut bytes = self.bytes.to_vec();
        for (index, operator) in order.iter().copied().enumerate() {
            let ahead = u32_at(&self.bytes, place(operator), "a reference")?;
            let target = place(operator) + ahead as usize;
            let ahead = target.checked_sub(place(index)).filter(|ahead| *ahead > 0);
            let ahead = ahead.and_then(|ahead| u32::try_from(ahead).ok()).ok_or_else(|| {
                TfliteError::Model("its operators are not behind the list of them".to_owned())
            })?;
            bytes[place(index)..place(index) + 4].copy_from_slice(&ahead.to_le_bytes());
        }
        TfliteFile::read(bytes)
    }

    fn root(&self) -> Result<Table<'_>, Malformed> {
        Table::root(&self.bytes)
    }

    /// Where in the file the plan is that it has.
    fn plan_data(&self) -> Result<Option<Range<usize>>, TfliteError> {
        let root = self.root()?;
        let (Some(notes), Some(buffers)) =
            (root.vector(model::METADATA, 4)?, root.vector(model::BUFFERS, 4)?)
        else {
            return Ok(None);
        };
        // The interpreter goes by the last of that name.
        let mut found = None;
        for note in notes.tables() {
            let note = note?;
            if is_plan(note)? {
                let table = buffers.tables().nth(note.u32(metadata::BUFFER, 0)? as usize);
                let data = table.transpose()?.map(|table| table.vector(buffer::DATA, 1));
                found = data.transpose()?.flatten().map(|data| data.at..data.at + data.len);
            }
        }
        Ok(found)
    }

    /// What comes in front of the file to make it one with a plan.
    fn front(&self, plan: &[u8]) -> Result<Vec<u8>, TfliteError> {
        let root = self.root()?;
        if root.last_field().is_some_and(|field| field >= model::FIELDS) {
            let fault = "has fields that are not known here, which would be lost".to_owned();
            return Err(TfliteError::Model(fault));
        }
        let buffers: Vec<usize> = targets(root.vector(model::BUFFERS, 4)?)?;
        let mut notes = Vec::new();
        if let Some(listed) = root.vector(model::METADATA, 4)? {
            for (note, target) in listed.tables().zip(listed.targets()) {
                let target = target?;
                notes.extend((!is_plan(note?)?).then_some(target));
            }
        }
        // Offset 0 is not that of a field: it is where the root is said to be.
        let is_kept = |field: &usize| *field != model::BUFFERS && *field != model::METADATA;
        let mut kept = Vec::new();
        for field in (1..model::FIELDS).filter(is_kept) {
            kept.extend(root.target(field)?.map(|target| (field, target)));
        }
        let mut writer = Writer::default();
        let first = writer.reference();
        writer.bytes.extend(IDENTIFIER);
        let mut fields = vec![(0, Slot::U32(root.u32(0, 0)?))];
        fields.extend(kept.iter().map(|(field, _)| (*field, Slot::Reference)));
        fields.extend([(model::BUFFERS, Slot::Reference), (model::METADATA, Slot::Reference)]);
        let (at, places) = writer.table(&fields);
        writer.refer(first, at);

        let mut moved: Vec<(usize, usize)> = Vec::new();
        moved.extend(places[1..].iter().copied().zip(kept.iter().map(|(_, target)| *target)));
        let (at, listed) = writer.references(buffers.len() + 1);
        writer.refer(places[places.len() - 2], at);
        moved.extend(listed.iter().copied().zip(buffers.iter().copied()));
        let data = listed[buffers.len()];
        let (at, listed) = writer.references(notes.len() + 1);
        writer.refer(places[places.len() - 1], at);
        moved.extend(listed.iter().copied().zip(notes.iter().copied()));
        let note = listed[notes.len()];

        let index = (metadata::BUFFER, Slot::U32(buffers.len() as u32));
        let (at, places) = writer.table(&[(metadata::NAME, Slot::Reference), index]);
        writer.refer(note, at);
        let name = writer.string(NAME);
        writer.refer(places[0], name);
        let (at, places) = writer.table(&[(buffer::DATA, Slot::Reference)]);
        writer.refer(data, at);
        let at = writer.data(plan, 16);
        writer.refer(places[0], at);
        writer.align(MOVED_BY);
        let front = writer.bytes.len();
        for (place, target) in moved {
            writer.refer(place, front + target);
        }
        Ok(writer.bytes)
    }
}

fn is_plan(note: Table<'_>) -> Result<bool, Malformed> {
    Ok(note.vector(metadata::NAME, 1)?.is_some_and(|name| name.as_bytes() == NAME.as_bytes()))
}

fn targets(listed: Option<Vector<'_>>) -> Result<Vec<usize>, Malformed> {
    listed.iter().flat_map(Vector::targets).collect()
}

impl From<TfliteFile> for Bytes {
    fn from(file: TfliteFile) -> Self {
        file.bytes
    }
}
