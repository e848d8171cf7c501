//! Walks up lists of taken spans, to find where something still fits.

use crate::problem::Span;
use crate::sweep::Strip;

/// A walk up one list of taken spans, on behalf of one piece of a buffer.
///
/// The offset that is asked for only grows, so a span that is behind stays behind and every span
/// is looked at once.
pub(super) struct Probe<'t> {
    taken: Taken<'t>,
    /// The bytes of the buffer that are asked for, and when.
    piece: Strip,
    /// The next span to look at.
    at: usize,
    /// How many were looked at so far.
    looked_at: u64,
}

/// Taken spans, by their lowest byte.
enum Taken<'t> {
    /// All in the way, none meeting another, so that their highest bytes are in order too.
    Disjoint(&'t [Span]),
    /// In the way at their times only; they may meet each other.
    Timed(&'t [Strip]),
}

impl<'t> Probe<'t> {
    /// A walk up disjoint spans that are all in the way.
    pub(super) fn disjoint(spans: &'t [Span], piece: Strip) -> Self {
        Probe { taken: Taken::Disjoint(spans), piece, at: 0, looked_at: 1 }
    }

    /// A walk up pieces that may meet each other, and that are in the way at their times only.
    pub(super) fn timed(pieces: &'t [Strip], piece: Strip) -> Self {
        Probe { taken: Taken::Timed(pieces), piece, at: 0, looked_at: 1 }
    }

    /// The lowest offset of at least `offset` that is free here.
    fn push(&mut self, offset: u64) -> u64 {
        match self.taken {
            Taken::Disjoint(spans) => self.push_disjoint(spans, offset),
            Taken::Timed(pieces) => self.push_timed(pieces, offset),
        }
    }

    fn push_disjoint(&mut self, spans: &[Span], mut offset: u64) -> u64 {
        self.leap(spans, offset + self.piece.span.lo);
        while let Some(span) = spans.get(self.at) {
            if span.lo >= offset + self.piece.span.hi {
                break;
            }
            offset = span.hi - self.piece.span.lo;
            self.at += 1;
            self.looked_at += 1;
        }
        offset
    }

    fn push_timed(&mut self, pieces: &[Strip], mut offset: u64) -> u64 {
        let before = self.at;
        while let Some(Strip { sections, span }) = pieces.get(self.at) {
            if span.lo >= offset + self.piece.span.hi {
                break;
            }
            if span.hi > offset + self.piece.span.lo && sections.meets(self.piece.sections) {
                offset = span.hi - self.piece.span.lo;
            }
            self.at += 1;
        }
        self.looked_at += (self.at - before) as u64;
        offset
    }

    /// Goes on to the first span that ends above `byte`, in steps that double: another list may
    /// have pushed the offset far up.
    fn leap(&mut self, spans: &[Span], byte: u64) {
        let ahead = &spans[self.at..];
        let mut step = 1;
        while step < ahead.len() && ahead[step].hi <= byte {
            step *= 2;
            self.looked_at += 1;
        }
        let (from, to) = (step / 2, ahead.len().min(step + 1));
        self.at += from + ahead[from..to].partition_point(|span| span.hi <= byte);
    }

    /// Where the next span in the way limits the buffer: the highest offset below it and the
    /// lowest offset above it.
    fn ahead(&mut self) -> Option<(u64, u64)> {
        let span = match self.taken {
            Taken::Disjoint(spans) => *spans.get(self.at)?,
            Taken::Timed(pieces) => {
                let in_the_way = |p: &Strip| p.sections.meets(self.piece.sections);
                self.at += pieces[self.at..].iter().position(in_the_way)?;
                pieces[self.at].span
            }
        };
        Some((span.lo - self.piece.span.hi, span.hi - self.piece.span.lo))
    }
}

/// The lowest multiple of `align`, at least `from`, that is free for every probe.
///
/// The probes take turns in pushing the offset up, until it has stayed for a whole round.
pub(super) fn lowest(probes: &mut [Probe<'_>], align: u64, from: u64) -> u64 {
    let mut offset = from.next_multiple_of(align);
    let mut agreed = 0;
    let mut turn = 0;
    while agreed < probes.len() {
        let free = probes[turn].push(offset);
        if free == offset {
            agreed += 1;
        } else {
            offset = free.next_multiple_of(align);
            agreed = usize::from(offset == free);
        }
        turn += 1;
        if turn == probes.len() {
            turn = 0;
        }
    }
    offset
}

/// The lowest multiple of `align` in the hole that is filled best, among the `holes` lowest that
/// are large enough; above everything if there is none.
pub(super) fn tightest(probes: &mut [Probe<'_>], align: u64, holes: usize) -> u64 {
    let mut offset = lowest(probes, align, 0);
    let mut best: Option<(u64, u64)> = None;
    for _ in 0..holes {
        // The next thing above: how far up could the buffer still move?
        let Some((room, next)) = probes.iter_mut().filter_map(Probe::ahead).min() else {
            break;
        };
        let slack = room - offset;
        if best.is_none_or(|(least, _)| slack < least) {
            best = Some((slack, offset));
        }
        if slack == 0 {
            break;
        }
        offset = lowest(probes, align, next);
    }
    best.map_or(offset, |(_, offset)| offset)
}

/// Spans looked at by all of these.
pub(super) fn looked_at(probes: &[Probe<'_>]) -> u64 {
    probes.iter().map(|p| p.looked_at).sum()
}
