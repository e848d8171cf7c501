//! Writes flatbuffers from front to back: references are left open, and closed once it is known where what
//! they refer to is.
//!
//! References reach ahead only, so that whatever refers to something comes before it.

/// A field of a table that is being written.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    /// A number; of one that is narrower the lowest bytes count.
    U32(u32),
    /// To be closed.
    Reference,
}

/// A flatbuffer that is being written.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    /// Goes on at a multiple of so many bytes.
    pub(crate) fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    fn u16(&mut self, number: usize) {
        // Tables here have a dozen fields at most.
        self.bytes.extend((number as u16).to_le_bytes());
    }

    fn u32(&mut self, number: u32) -> usize {
        self.align(4);
        self.bytes.extend(number.to_le_bytes());
        self.bytes.len() - 4
    }

    /// A reference that is to be closed.
    pub(crate) fn reference(&mut self) -> usize {
        self.u32(0)
    }

    /// Closes a reference.
    pub(crate) fn refer(&mut self, place: usize, target: usize) {
        let ahead = (target - place) as u32;
        self.bytes[place..place + 4].copy_from_slice(&ahead.to_le_bytes());
    }

    /// A table with these fields, by number: where it is, and where each of them is.
    pub(crate) fn table(&mut self, fields: &[(usize, Slot)]) -> (usize, Vec<usize>) {
        let count = fields.iter().map(|(field, _)| field + 1).max().unwrap_or(0);
        self.align(4);
        let vtable = self.bytes.len();
        self.u16(4 + 2 * count);
        self.u16(4 + 4 * fields.len());
        for field in 0..count {
            let slot = fields.iter().position(|(other, _)| *other == field);
            self.u16(slot.map_or(0, |slot| 4 + 4 * slot));
        }
        self.align(4);
        let back = (self.bytes.len() - vtable) as u32;
        let at = self.u32(back);
        let places = fields.iter().map(|(_, slot)| match slot {
            Slot::U32(number) => self.u32(*number),
            Slot::Reference => self.reference(),
        });
        (at, places.collect())
    }

    /// A vector of references, which are to be closed: where it is, and where each of them is.
    pub(crate) fn references(&mut self, len: usize) -> (usize, Vec<usize>) {
        let at = self.u32(len as u32);
        (at, (0..len).map(|_| self.reference()).collect())
    }

    /// A vector of bytes, the first of which is at a multiple of so many bytes.
    pub(crate) fn data(&mut self, data: &[u8], align: usize) -> usize {
        self.align(4);
        while !(self.bytes.len() + 4).is_multiple_of(align) {
            self.bytes.push(0);
        }
        let at = self.u32(data.len() as u32);
        self.bytes.extend(data);
        at
    }

    /// A string, which ends in a byte that does not count.
    pub(crate) fn string(&mut self, text: &str) -> usize {
        let at = self.data(text.as_bytes(), 4);
        self.bytes.push(0);
        at
    }
}
