//! A map from bytes to what is there: pieces that do not overlap, ordered by first byte.
//!
//! The pieces are in chunks of at most [`CHUNK`], so that most plans have one or two, and what is written
//! anew moves few. Every operation looks only at the pieces that meet its span: O(log n) to find the
//! first, O([`CHUNK`] + n / [`CHUNK`]²) to add one. Writing a span replaces all of them by one.

use plimsoll_pack::Span;

/// As many pieces as a chunk has at most.
const CHUNK: usize = 128;

/// What is at each byte.
#[derive(Clone, Debug)]
pub(super) struct Bytes<T> {
    /// None is empty.
    chunks: Vec<Vec<Piece<T>>>,
    /// Chunks that are out of use, to be filled again.
    spare: Vec<Vec<Piece<T>>>,
}

/// Some bytes that are alike.
#[derive(Clone, Copy, Debug)]
struct Piece<T> {
    span: Span,
    what: T,
}

/// The place of a piece: its chunk, and which of that it is.
#[derive(Clone, Copy)]
struct ChunkIndex {
    chunk: usize,
    index: usize,
}

impl<T> Default for Bytes<T> {
    fn default() -> Self {
        Bytes { chunks: Vec::new(), spare: Vec::new() }
    }
}

impl<T: Copy> Bytes<T> {
    /// Forgets all, and keeps the memory.
    pub(super) fn clear(&mut self) {
        for mut chunk in self.chunks.drain(..) {
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    /// The piece that is exactly this span, if there is one.
    pub(super) fn exactly(&mut self, span: Span) -> Option<&mut T> {
        let ChunkIndex { chunk, index } = self.seek(span.lo);
        let piece = self.chunks.get_mut(chunk)?.get_mut(index)?;
        (piece.span == span).then_some(&mut piece.what)
    }

    /// Lists what is in the span, and where there is nothing, in order.
    pub(super) fn list(&self, span: Span, into: &mut Vec<(Span, Option<T>)>) {
        into.clear();
        if span.is_empty() {
            return;
        }
        let ChunkIndex { chunk, index } = self.seek(span.lo);
        let skipped = self.chunks.get(chunk).into_iter().flat_map(|chunk| &chunk[index..]);
        let behind = self.chunks.iter().skip(chunk + 1).flatten();
        let mut at = span.lo;
        for piece in skipped.chain(behind).take_while(|piece| piece.span.lo < span.hi) {
            let part = piece.span.and(span);
            if at < part.lo {
                into.push((Span::new(at, part.lo), None));
            }
            into.push((part, Some(piece.what)));
            at = part.hi;
        }
        if at < span.hi {
            into.push((Span::new(at, span.hi), None));
        }
    }

    /// Makes the span a piece of its own.
    pub(super) fn set(&mut self, span: Span, what: T) {
        if span.is_empty() {
            return;
        }
        let mut at = self.seek(span.lo);
        let first = self.chunks.get_mut(at.chunk).map(|chunk| &mut chunk[at.index]);
        if let Some(first) = first.filter(|first| first.span.lo < span.lo) {
            let above = Piece { span: Span::new(span.hi, first.span.hi), what: first.what };
            first.span.hi = span.lo;
            at.index += 1;
            if !above.span.is_empty() {
                self.insert(at, above);
                at = self.seek(span.lo);
            }
        }
        self.replace(at, Piece { span, what });
    }

    /// The first piece that ends behind a byte.
    fn seek(&self, byte: u64) -> ChunkIndex {
        let ends = |piece: &Piece<T>| piece.span.hi <= byte;
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(ends));
        let index = self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(ends));
        ChunkIndex { chunk, index }
    }

    /// Puts a piece in place of those from there on that it meets; what is left of the last of them stays.
    fn replace(&mut self, mut at: ChunkIndex, piece: Piece<T>) {
        let mut is_there = false;
        while let Some(chunk) = self.chunks.get_mut(at.chunk) {
            let behind = &chunk[at.index..];
            let mut covered = behind.partition_point(|other| other.span.hi <= piece.span.hi);
            if covered > 0 && !is_there {
                chunk[at.index] = piece;
                is_there = true;
                at.index += 1;
                covered -= 1;
            }
            chunk.drain(at.index..at.index + covered);
            if let Some(last) = chunk.get_mut(at.index) {
                last.span.lo = last.span.lo.max(piece.span.hi);
                break;
            }
            if chunk.is_empty() {
                self.spare.push(self.chunks.remove(at.chunk));
            } else {
                at = ChunkIndex { chunk: at.chunk + 1, index: 0 };
            }
        }
        if !is_there {
            self.insert(at, piece);
        }
    }

    /// Puts a piece before another, or behind the last.
    fn insert(&mut self, mut at: ChunkIndex, piece: Piece<T>) {
        if self.chunks.is_empty() {
            self.chunks.push(self.spare.pop().unwrap_or_default());
        }
        if at.chunk == self.chunks.len() {
            at.chunk -= 1;
            at.index = self.chunks[at.chunk].len();
        }
        let chunk = &mut self.chunks[at.chunk];
        chunk.insert(at.index, piece);
        if chunk.len() > CHUNK {
            let mut upper = self.spare.pop().unwrap_or_default();
            upper.extend(chunk.drain(CHUNK / 2..));
            self.chunks.insert(at.chunk + 1, upper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_split_and_replaced() {
        let mut bytes = Bytes::default();
        bytes.set(Span::new(0, 10), 'a');
        bytes.set(Span::new(4, 6), 'b');
        bytes.set(Span::new(5, 5), 'x');
        let mut list = Vec::new();
        bytes.list(Span::new(2, 12), &mut list);
        assert_eq!(
            list,
            [
                (Span::new(2, 4), Some('a')),
                (Span::new(4, 6), Some('b')),
                (Span::new(6, 10), Some('a')),
                (Span::new(10, 12), None)
            ]
        );
        bytes.list(Span::new(3, 3), &mut list);
        assert_eq!(list, [], "nothing is in no bytes");
        bytes.set(Span::new(3, 7), 'c');
        assert!(bytes.exactly(Span::new(3, 7)).is_some());
        assert!(bytes.exactly(Span::new(3, 6)).is_none());
        bytes.list(Span::new(0, 10), &mut list);
        assert_eq!(
            list,
            [
                (Span::new(0, 3), Some('a')),
                (Span::new(3, 7), Some('c')),
                (Span::new(7, 10), Some('a'))
            ]
        );
    }

    #[test]
    fn many_pieces_are_what_a_plain_array_says() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        let (mut bytes, mut plain) = (Bytes::default(), vec![None; 4000]);
        let mut list = Vec::new();
        for what in 0..6000u32 {
            let lo = below(4000);
            // Many small ones, so that there are several chunks; now and then one that clears them.
            let most = if below(500) == 0 { 4000 } else { 9 };
            let span = Span::new(lo, (lo + below(most)).min(4000));
            bytes.set(span, what);
            plain[lo as usize..span.hi as usize].fill(Some(what));
            let asked = Span::new(below(4000), 4000);
            bytes.list(asked, &mut list);
            let listed = list.iter().flat_map(|(span, what)| vec![*what; span.len() as usize]);
            assert!(listed.eq(plain[asked.lo as usize..].iter().copied()), "round {what}");
            assert_eq!(bytes.exactly(span).is_some(), !span.is_empty());
        }
        assert!(bytes.chunks.len() > 1 && bytes.chunks.iter().all(|chunk| !chunk.is_empty()));
        bytes.clear();
        bytes.list(Span::new(0, 9), &mut list);
        assert_eq!(list, [(Span::new(0, 9), None)]);
    }
}
