//! A map from bytes to what is there: pieces that do not overlap, ordered by first byte.
//!
//! Every operation looks only at the pieces that meet its span: O(log n) and O(log n) for each of
//! them. Writing a span replaces all of them by one, so that a sequence of m writes costs
//! O(m log m) in all.

use std::collections::BTreeMap;

use plimsoll_pack::Span;

/// What is at each byte.
#[derive(Clone, Debug)]
pub(super) struct Bytes<T> {
    /// By first byte, one past the last byte and what is there.
    pieces: BTreeMap<u64, (u64, T)>,
}

impl<T> Default for Bytes<T> {
    fn default() -> Self {
        Bytes { pieces: BTreeMap::new() }
    }
}

impl<T: Copy> Bytes<T> {
    /// The piece that is exactly this span, if there is one.
    pub(super) fn exactly(&mut self, span: Span) -> Option<&mut T> {
        self.pieces.get_mut(&span.lo).filter(|(hi, _)| *hi == span.hi).map(|(_, what)| what)
    }

    /// Lists what is in the span, and where there is nothing, in order.
    pub(super) fn list(&self, span: Span, into: &mut Vec<(Span, Option<T>)>) {
        into.clear();
        if span.is_empty() {
            return;
        }
        let mut at = span.lo;
        let before = self.pieces.range(..span.lo).next_back().filter(|(_, (hi, _))| *hi > span.lo);
        for (lo, (hi, what)) in before.into_iter().chain(self.pieces.range(span.lo..span.hi)) {
            let piece = Span::new(*lo, *hi).and(span);
            if at < piece.lo {
                into.push((Span::new(at, piece.lo), None));
            }
            into.push((piece, Some(*what)));
            at = piece.hi;
        }
        if at < span.hi {
            into.push((Span::new(at, span.hi), None));
        }
    }

    /// Makes the span a piece of its own.
    pub(super) fn set(&mut self, span: Span, what: T) {
        if !span.is_empty() {
            self.clear(span);
            self.pieces.insert(span.lo, (span.hi, what));
        }
    }

    /// Empties the span.
    fn clear(&mut self, span: Span) {
        if let Some((_, (hi, what))) = self.pieces.range_mut(..span.lo).next_back()
            && *hi > span.lo
        {
            let (end, what) = (*hi, *what);
            *hi = span.lo;
            if end > span.hi {
                self.pieces.insert(span.hi, (end, what));
                return;
            }
        }
        while let Some((lo, (hi, what))) = self.pieces.range(span.lo..span.hi).next_back() {
            let (lo, hi, what) = (*lo, *hi, *what);
            self.pieces.remove(&lo);
            if hi > span.hi {
                self.pieces.insert(span.hi, (hi, what));
            }
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
}
