//! Protobuf on the wire: messages gone through field by field, and put together again in pieces.
//!
//! A message that is written consists of bytes of the file that was read, which are copied as they are,
//! and of fresh ones. So what is not changed is neither decoded nor held in memory, weights least of all.

use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;

use crate::error::Malformed;
use crate::file::OnnxFile;
use crate::weight::{take, varint};

/// A message in pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    list: Vec<Piece>,
    pub(crate) length: usize,
}

enum Piece {
    /// Bytes of the file.
    Same(Range<usize>),
    Fresh(Vec<u8>),
}

impl Pieces {
    /// Writes them, with what is the same copied from the file.
    pub(crate) fn write(&self, file: &OnnxFile, out: &mut dyn Write) -> io::Result<()> {
        for piece in &self.list {
            match piece {
                Piece::Same(range) => file.copy(range.clone(), out)?,
                Piece::Fresh(bytes) => out.write_all(bytes)?,
            }
        }
        Ok(())
    }

    /// Appends bytes of the file.
    pub(crate) fn same(&mut self, range: Range<usize>) {
        self.length += range.len();
        match self.list.last_mut() {
            Some(Piece::Same(last)) if last.end == range.start => last.end = range.end,
            _ => self.list.push(Piece::Same(range)),
        }
    }

    /// Appends other bytes.
    pub(crate) fn fresh(&mut self, bytes: Vec<u8>) {
        self.length += bytes.len();
        match self.list.last_mut() {
            Some(Piece::Fresh(last)) => last.extend(bytes),
            _ => self.list.push(Piece::Fresh(bytes)),
        }
    }

    /// Appends a field with its message in pieces; as it is, if these are what it holds.
    pub(crate) fn field(&mut self, field: &Field, message: Pieces) {
        let old = &field.content;
        if let ([Piece::Same(same)], Content::Bytes(content)) = (&message.list[..], old)
            && same == content
        {
            return self.same(field.whole.clone());
        }
        self.message(field.number, message);
    }

    /// Appends a field of that number with its message in pieces.
    pub(crate) fn message(&mut self, number: u64, message: Pieces) {
        let mut head = Vec::new();
        push_varint(&mut head, number << 3 | 2);
        push_varint(&mut head, message.length as u64);
        self.fresh(head);
        self.append(message);
    }

    /// Appends the pieces of another message.
    pub(crate) fn append(&mut self, message: Pieces) {
        for piece in message.list {
            match piece {
                Piece::Same(range) => self.same(range),
                Piece::Fresh(bytes) => self.fresh(bytes),
            }
        }
    }
}

/// Appends a number.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a field that holds bytes.
pub(crate) fn push_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    push_varint(out, field << 3 | 2);
    push_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// A field of a message.
pub(crate) struct Field {
    pub(crate) number: u64,
    /// With its head, in the file.
    pub(crate) whole: Range<usize>,
    pub(crate) content: Content,
}

/// What a field holds.
pub(crate) enum Content {
    /// A message, text or data, without its head.
    Bytes(Range<usize>),
    Number(u64),
    Other,
}

/// The fields of a message that lies there in the file, without looking into them.
pub(crate) fn fields(bytes: &Bytes, range: Range<usize>) -> Fields<'_> {
    Fields { rest: &bytes[range.clone()], end: range.end }
}

/// What the last field of a number holds, which counts where there is to be one.
pub(crate) fn last_bytes(
    bytes: &Bytes,
    of: Range<usize>,
    number: u64,
) -> Result<Option<Range<usize>>, Malformed> {
    let mut last = None;
    for field in fields(bytes, of) {
        match field? {
            Field { number: n, content: Content::Bytes(range), .. } if n == number => {
                last = Some(range);
            }
            _ => {}
        }
    }
    Ok(last)
}

/// The fields of a message, one after the other.
pub(crate) struct Fields<'b> {
    rest: &'b [u8],
    /// Where the message ends in the file.
    end: usize,
}

impl Iterator for Fields<'_> {
    type Item = Result<Field, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl Fields<'_> {
    fn field(&mut self) -> Result<Field, Malformed> {
        let at = |rest: &[u8]| self.end - rest.len();
        let start = at(self.rest);
        let key = varint(&mut self.rest)?;
        let content = match key & 7 {
            0 => Content::Number(varint(&mut self.rest)?),
            2 => {
                let length = varint(&mut self.rest)?;
                let begin = at(self.rest);
                take(&mut self.rest, length)?;
                Content::Bytes(begin..at(self.rest))
            }
            wire => {
                skip(&mut self.rest, wire)?;
                Content::Other
            }
        };
        Ok(Field { number: key >> 3, whole: start..at(self.rest), content })
    }
}

/// Skips what is neither a number nor bytes: fixed numbers, and groups with all that is in them.
fn skip(rest: &mut &[u8], wire: u64) -> Result<(), Malformed> {
    let mut groups = 0;
    let mut wire = wire;
    loop {
        match wire {
            0 => drop(varint(rest)?),
            1 => drop(take(rest, 8)?),
            2 => {
                let length = varint(rest)?;
                take(rest, length)?;
            }
            3 => groups += 1,
            4 if groups > 0 => groups -= 1,
            5 => drop(take(rest, 4)?),
            _ => return Err(Malformed("a field is of no known wire type")),
        }
        if groups == 0 {
            return Ok(());
        }
        wire = varint(rest)? & 7;
    }
}
