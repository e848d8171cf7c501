//! What a kernel gets to see of memory: disjoint slices.
//!
//! All that a call writes is in one arena. Its writes, in ascending order, cut the arena into what is written
//! and *gaps* between these; whatever the call reads there lies within one gap, or is the very bytes that an
//! output takes over. Which it is has been found out when the call was placed, so that here the arena is
//! only split: safe, and a few instructions for each call.
//!
//! ```text
//!   arena   │   gap 0   │ output │  gap 1  │ scratch │   gap 2   │
//!                 └ reads                └ reads
//! ```

use std::ops::Range;

use crate::memory::{Plain, elements, elements_mut};

/// The most outputs of a call.
pub(crate) const MOST_OUTPUTS: usize = 4;
/// The most that a call writes: outputs and scratch.
const MOST_WRITES: usize = MOST_OUTPUTS + 1;
/// Where scratch is among these.
pub(crate) const SCRATCH: usize = MOST_OUTPUTS;

/// Where an operand is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nowhere: it is optional.
    Absent,
    /// Among what does not change from run to run.
    Constant(Range<usize>),
    /// In the memory of inputs.
    Input(Range<usize>),
    /// In a gap of the arena, from its first byte on.
    Gap(usize, Range<usize>),
    /// Where output 0 is.
    InPlace,
    /// These bytes of output 0.
    Inside(Range<usize>),
}

/// Some bytes of the arena that a call writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) range: Range<usize>,
    /// Which output, or [`SCRATCH`].
    pub(crate) slot: usize,
}

/// Where everything is that a call touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operands {
    pub(crate) reads: Vec<Source>,
    /// In ascending order, none overlapping another.
    pub(crate) writes: Vec<Write>,
}

/// The memory of a run, apart from the arena.
#[derive(Clone, Copy)]
pub(crate) struct Given<'m> {
    pub(crate) constants: &'m [u8],
    pub(crate) inputs: &'m [u8],
}

/// What a call reads and writes.
pub(crate) struct Io<'m> {
    operands: &'m Operands,
    given: Given<'m>,
    gaps: [&'m [u8]; MOST_WRITES + 1],
    writes: [&'m mut [u8]; MOST_WRITES],
    /// Operands that are elsewhere than `operands` says: in `copied`, whose first byte is counted so.
    copies: &'m [Option<Range<usize>>],
    first_copied: usize,
    copied: &'m [u8],
}

impl<'m> Io<'m> {
    /// Splits the arena.
    pub(crate) fn new(operands: &'m Operands, given: Given<'m>, arena: &'m mut [u8]) -> Self {
        let mut gaps: [&[u8]; MOST_WRITES + 1] = [&[]; MOST_WRITES + 1];
        let mut writes: [&mut [u8]; MOST_WRITES] = Default::default();
        let (mut rest, mut at) = (arena, 0);
        for (index, Write { range, slot }) in operands.writes.iter().enumerate() {
            let (gap, behind) = rest.split_at_mut(range.start - at);
            let (written, behind) = behind.split_at_mut(range.len());
            (gaps[index], writes[*slot]) = (gap, written);
            (rest, at) = (behind, range.end);
        }
        gaps[operands.writes.len()] = rest;
        Io { operands, given, gaps, writes, copies: &[], first_copied: 0, copied: &[] }
    }

    /// The same memory for a call that computes in other types: operands of `copies` are in its bytes, outputs of a
    /// range in other bytes, and scratch is what is left. Outputs that are not elsewhere are this call's own.
    pub(crate) fn within<'n>(
        &'n mut self,
        (copies, first_copied, copied): (&'n [Option<Range<usize>>], usize, &'n [u8]),
        (made, ranges): (&'n mut [u8], &[Range<usize>; MOST_OUTPUTS]),
        scratch: &'n mut [u8],
    ) -> Io<'n> {
        let (operands, given, gaps) = (self.operands, self.given, self.gaps);
        let mut writes: [&mut [u8]; MOST_WRITES] = Default::default();
        for (write, own) in writes.iter_mut().zip(&mut self.writes) {
            *write = own;
        }
        writes[SCRATCH] = scratch;
        let (mut rest, mut at) = (made, 0);
        for (slot, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
            let (range_bytes, behind) = rest.split_at_mut(range.end - at);
            (writes[slot], rest) = (&mut range_bytes[range.start - at..], behind);
            at = range.end;
        }
        Io { operands, given, gaps, writes, copies, first_copied, copied }
    }

    /// The bytes of an operand, wherever they are: in output 0 too.
    pub(crate) fn held(&self, operand: usize) -> Option<&[u8]> {
        match self.operands.reads.get(operand)? {
            Source::InPlace => Some(self.writes[0]),
            Source::Inside(range) => Some(&self.writes[0][range.clone()]),
            _ => self.bytes(operand),
        }
    }

    /// Leaves output 0 its first so many bytes.
    pub(crate) fn cut_first(&mut self, bytes: usize) {
        let write = std::mem::take(&mut self.writes[0]);
        self.writes[0] = &mut write[..bytes];
    }

    /// Where an operand is that is elsewhere than the plan says.
    fn copy_of(&self, operand: usize) -> Option<&'m [u8]> {
        let range = self.copies.get(operand)?.as_ref()?;
        Some(&self.copied[range.start - self.first_copied..range.end - self.first_copied])
    }

    /// How many operands there are, absent ones too.
    pub(crate) fn count(&self) -> usize {
        self.operands.reads.len()
    }

    /// The bytes of an operand; `None` if it is absent.
    pub(crate) fn bytes(&self, operand: usize) -> Option<&'m [u8]> {
        if let Some(copy) = self.copy_of(operand) {
            return Some(copy);
        }
        match self.operands.reads.get(operand)? {
            Source::Absent => None,
            Source::Constant(range) => Some(&self.given.constants[range.clone()]),
            Source::Input(range) => Some(&self.given.inputs[range.clone()]),
            Source::Gap(gap, range) => Some(&self.gaps[*gap][range.clone()]),
            Source::InPlace | Source::Inside(_) => {
                panic!("an operand that is in the output already")
            }
        }
    }

    /// An operand that may be absent.
    pub(crate) fn optional<T: Plain>(&self, operand: usize) -> Option<&'m [T]> {
        self.bytes(operand).map(elements)
    }

    /// An operand that is there, and not in place.
    pub(crate) fn read<T: Plain>(&self, operand: usize) -> &'m [T] {
        self.optional(operand).expect("an operand that is there")
    }

    /// The first element of an operand that may be absent.
    pub(crate) fn scalar<T: Plain>(&self, operand: usize) -> Option<T> {
        self.optional(operand).and_then(|elements| elements.first().copied())
    }

    /// Whether output 0 takes over the bytes of an operand.
    pub(crate) fn is_in_place(&self, operand: usize) -> bool {
        self.copy_of(operand).is_none()
            && self.operands.reads.get(operand) == Some(&Source::InPlace)
    }

    /// Which bytes of output 0 an operand is, if it is a part of it.
    pub(crate) fn inside(&self, operand: usize) -> Option<Range<usize>> {
        match self.operands.reads.get(operand) {
            Some(Source::Inside(range)) => Some(range.clone()),
            _ => None,
        }
    }

    /// The bytes of an output, once.
    pub(crate) fn write_bytes(&mut self, output: usize) -> &'m mut [u8] {
        std::mem::take(&mut self.writes[output])
    }

    /// An output, once; empty if nobody wants it.
    pub(crate) fn write<T: Plain>(&mut self, output: usize) -> &'m mut [T] {
        elements_mut(self.write_bytes(output))
    }

    /// An output, once; `None` if nobody wants it.
    pub(crate) fn wanted<T: Plain>(&mut self, output: usize) -> Option<&'m mut [T]> {
        let is_wanted = self.operands.writes.iter().any(|write| write.slot == output);
        is_wanted.then(|| self.write(output))
    }

    /// The scratch memory, once.
    pub(crate) fn scratch<T: Plain>(&mut self) -> &'m mut [T] {
        self.write(SCRATCH)
    }
}
