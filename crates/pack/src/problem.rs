//! The packing problem: buffers with lives, sizes and constraints.
//!
//! A [`Problem`] is validated once, when it is made; everything below it can rely on the rules of
//! [`Rule`]. Nothing here knows what a buffer is for: it is a number, not a name.
//!
//! ```text
//!  address ▲
//!          │        ┌───────────┐
//!          │   ┌────┴──┐   b    │        a, b, c alive together must not overlap;
//!          │   │   a   ├────────┤        a and d may share bytes: a's life ends
//!          │   └───────┤   c    │ d      where d's begins (lives are half-open)
//!          └───────────┴────────┴─────▶ time
//! ```

mod conflicts;

use std::fmt;

pub use conflicts::Conflicts;

/// A moment. Only the order of moments matters, so any integers do.
pub type Time = i64;

/// The dense number of a buffer in its [`Problem`], from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

impl BufferId {
    /// The id as an index into arrays that are parallel to [`Problem::buffers`].
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer {}", self.0)
    }
}

/// A half-open stretch of time `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Life {
    /// The first moment that belongs to it.
    pub start: Time,
    /// The first moment that no longer does.
    pub end: Time,
}

impl Life {
    /// The stretch `[start, end)`.
    #[must_use]
    #[inline]
    pub fn new(start: Time, end: Time) -> Self {
        Life { start, end }
    }

    /// Whether some moment belongs to both: the rule of conflict, written once.
    #[must_use]
    #[inline]
    pub fn meets(self, other: Life) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether every moment of `other` belongs to `self`.
    #[must_use]
    #[inline]
    pub fn covers(self, other: Life) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The moments that belong to both, which may be none (`start >= end`).
    #[must_use]
    #[inline]
    pub fn and(self, other: Life) -> Life {
        Life::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// How many moments it has, 0 if it is empty.
    #[must_use]
    #[inline]
    pub fn len(self) -> u64 {
        if self.is_empty() { 0 } else { self.end.abs_diff(self.start) }
    }

    /// Whether it has no moment at all.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

/// A half-open range of bytes `[lo, hi)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub lo: u64,
    /// One past the last byte.
    pub hi: u64,
}

impl Span {
    /// The bytes `[lo, hi)`.
    #[must_use]
    #[inline]
    pub fn new(lo: u64, hi: u64) -> Self {
        Span { lo, hi }
    }

    /// Whether some byte belongs to both.
    #[must_use]
    #[inline]
    pub fn meets(self, other: Span) -> bool {
        self.lo < other.hi && other.lo < self.hi
    }

    /// The bytes that belong to both, which may be none (`lo >= hi`).
    #[must_use]
    #[inline]
    pub fn and(self, other: Span) -> Span {
        Span::new(self.lo.max(other.lo), self.hi.min(other.hi))
    }

    /// The same bytes, `offset` further up.
    #[must_use]
    #[inline]
    pub fn shifted(self, offset: u64) -> Span {
        Span::new(self.lo.saturating_add(offset), self.hi.saturating_add(offset))
    }

    /// How many bytes it has.
    #[must_use]
    #[inline]
    pub fn len(self) -> u64 {
        self.hi.saturating_sub(self.lo)
    }

    /// Whether it has no byte at all.
    #[must_use]
    #[inline]
    pub fn is_empty(self) -> bool {
        self.lo >= self.hi
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.lo, self.hi)
    }
}

/// A stretch of a buffer's life in which it uses nothing, or only a part of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When.
    pub life: Life,
    /// The bytes of the buffer that stay in use, counted from its own start; `None` for none.
    pub window: Option<Span>,
}

/// One thing to place: `size` bytes that are taken during `life`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// How many bytes; at least one.
    pub size: u64,
    /// When the bytes are taken.
    pub life: Life,
    /// The offset is a multiple of this; at least one, not necessarily a power of two.
    pub align: u64,
    /// The offset, if it is not ours to choose.
    pub fixed: Option<u64>,
    /// An offset that would be welcome: where the buffer was in an earlier plan, say.
    pub hint: Option<u64>,
    /// Stretches of the life in which less is in use; in order of time, none meeting another.
    pub gaps: Vec<Gap>,
}

impl Buffer {
    /// A buffer without any constraint but its size and life.
    #[must_use]
    #[inline]
    pub fn new(size: u64, life: Life) -> Self {
        Buffer { size, life, align: 1, fixed: None, hint: None, gaps: Vec::new() }
    }

    /// The same with an alignment.
    #[must_use]
    pub fn aligned(self, align: u64) -> Self {
        Buffer { align, ..self }
    }

    /// The same with a place that is given.
    #[must_use]
    pub fn fixed_at(self, offset: u64) -> Self {
        Buffer { fixed: Some(offset), ..self }
    }

    /// The rectangles (time × bytes of the buffer) that are really in use: the life without its
    /// gaps at full size, and each gap's window. Stretches at full size come whole.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        let whole = Span::new(0, self.size);
        let ends = self.gaps.iter().map(|g| g.life.end);
        let starts = self.gaps.iter().map(|g| g.life.start);
        let between = std::iter::once(self.life.start)
            .chain(ends)
            .zip(starts.chain(std::iter::once(self.life.end)))
            .map(move |(start, end)| Piece { life: Life::new(start, end), span: whole });
        let windows = self
            .gaps
            .iter()
            .map(|g| Piece { life: g.life, span: g.window.unwrap_or(Span::new(0, 0)) });
        between.chain(windows).filter(|p| !p.life.is_empty() && !p.span.is_empty())
    }
}

/// A rectangle of a buffer that is in use; bytes are counted from the buffer's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When.
    pub life: Life,
    /// Which bytes.
    pub span: Span,
}

/// Buffers to be placed in one address space, and how large that may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    buffers: Vec<Buffer>,
    capacity: Option<u64>,
    conflicts: Option<Conflicts>,
}

impl Problem {
    /// Checks every rule of [`Rule`] and takes the buffers in.
    pub fn new(buffers: Vec<Buffer>) -> Result<Self, ProblemError> {
        if u32::try_from(buffers.len()).is_err() {
            return Err(ProblemError { buffer: BufferId(u32::MAX), rule: Rule::TooMany });
        }
        // What the greedy rules could use up at the very worst; see `Rule::TooLarge`.
        let mut worst: u64 = 0;
        for (i, buffer) in buffers.iter().enumerate() {
            let fail = |rule| ProblemError { buffer: BufferId(i as u32), rule };
            validate(buffer).map_err(fail)?;
            let reach = buffer.fixed.unwrap_or(0).checked_add(buffer.size);
            worst = reach
                .and_then(|r| r.checked_add(buffer.align))
                .and_then(|r| worst.checked_add(r))
                .filter(|w| i64::try_from(*w).is_ok())
                .ok_or_else(|| fail(Rule::TooLarge))?;
        }
        Ok(Problem { buffers, capacity: None, conflicts: None })
    }

    /// The same problem in an address space of `capacity` bytes.
    #[must_use]
    pub fn with_capacity(self, capacity: Option<u64>) -> Self {
        Problem { capacity, ..self }
    }

    /// The same problem with pairs that are kept apart beside those whose lives meet.
    ///
    /// # Panics
    /// If the pairs are over another number of buffers.
    #[must_use]
    pub fn with_conflicts(self, conflicts: Conflicts) -> Self {
        assert_eq!(conflicts.buffers(), self.len(), "conflicts over the same buffers");
        Problem { conflicts: Some(conflicts), ..self }
    }

    /// The pairs that are kept apart beside those whose lives meet, if there are any.
    #[must_use]
    #[inline]
    pub fn conflicts(&self) -> Option<&Conflicts> {
        self.conflicts.as_ref()
    }

    /// The buffers, by [`BufferId`].
    #[must_use]
    #[inline]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The buffer of that id.
    ///
    /// # Panics
    /// If the id is not one of this problem.
    #[must_use]
    #[inline]
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// All ids, in order.
    #[inline]
    pub fn ids(&self) -> impl ExactSizeIterator<Item = BufferId> + use<> {
        (0..self.buffers.len() as u32).map(BufferId)
    }

    /// How many buffers there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.buffers.len()
    }

    /// Whether there is nothing to place.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// How large the address space may be, if that is limited.
    #[must_use]
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    /// The bytes that it would take to give every buffer a place of its own.
    #[must_use]
    pub fn unshared_bytes(&self) -> u64 {
        self.buffers.iter().map(|b| b.size).sum()
    }
}

fn validate(buffer: &Buffer) -> Result<(), Rule> {
    if buffer.size == 0 {
        return Err(Rule::SizeZero);
    }
    if buffer.life.is_empty() {
        return Err(Rule::LifeEmpty(buffer.life));
    }
    if buffer.align == 0 {
        return Err(Rule::AlignZero);
    }
    if let Some(offset) = buffer.fixed
        && !offset.is_multiple_of(buffer.align)
    {
        return Err(Rule::FixedMisaligned { offset, align: buffer.align });
    }
    let mut last_end = buffer.life.start;
    for gap in &buffer.gaps {
        if gap.life.is_empty() {
            return Err(Rule::GapEmpty(gap.life));
        }
        if !buffer.life.covers(gap.life) {
            return Err(Rule::GapOutside { gap: gap.life, life: buffer.life });
        }
        if gap.life.start < last_end {
            return Err(Rule::GapOrder(gap.life));
        }
        last_end = gap.life.end;
        if let Some(window) = gap.window
            && (window.is_empty() || window.hi > buffer.size)
        {
            return Err(Rule::WindowOutside { window, size: buffer.size });
        }
    }
    Ok(())
}

/// Why a problem was rejected: the first buffer that breaks a rule, and the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemError {
    /// The buffer.
    pub buffer: BufferId,
    /// What is wrong with it.
    pub rule: Rule,
}

/// What holds for every buffer of a [`Problem`]; each variant is one way to break it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// There are at most 2³² − 1 buffers.
    TooMany,
    /// A size is at least one byte.
    SizeZero,
    /// A life has at least one moment.
    LifeEmpty(Life),
    /// An alignment is at least 1.
    AlignZero,
    /// A fixed offset is a multiple of the alignment.
    FixedMisaligned {
        /// The offset that was asked for.
        offset: u64,
        /// The alignment that it breaks.
        align: u64,
    },
    /// A gap has at least one moment.
    GapEmpty(Life),
    /// A gap lies within the life.
    GapOutside {
        /// The gap.
        gap: Life,
        /// The life of the buffer.
        life: Life,
    },
    /// Gaps are in order of time and do not meet.
    GapOrder(Life),
    /// A gap's window has at least one byte and lies within the buffer.
    WindowOutside {
        /// The window.
        window: Span,
        /// The size of the buffer.
        size: u64,
    },
    /// All sizes, alignments and fixed offsets add up to less than 2⁶³, so that no sum of
    /// offsets and sizes can overflow later.
    TooLarge,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::TooMany => write!(f, "there are more than {} buffers", u32::MAX),
            Rule::SizeZero => write!(f, "size is 0; a buffer has at least one byte"),
            Rule::LifeEmpty(life) => {
                write!(f, "life {life} is empty; it must end after it starts")
            }
            Rule::AlignZero => write!(f, "alignment is 0; it is at least 1"),
            Rule::FixedMisaligned { offset, align } => {
                write!(f, "fixed offset {offset} is not a multiple of the alignment {align}")
            }
            Rule::GapEmpty(gap) => write!(f, "gap {gap} is empty; it must end after it starts"),
            Rule::GapOutside { gap, life } => write!(f, "gap {gap} is outside the life {life}"),
            Rule::GapOrder(gap) => write!(f, "gap {gap} starts before the gap before it ends"),
            Rule::WindowOutside { window, size } => {
                write!(f, "window {window} of a gap is empty or outside the {size} bytes")
            }
            Rule::TooLarge => {
                write!(f, "sizes, alignments and fixed offsets add up to 2^63 bytes or more")
            }
        }
    }
}

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.buffer, self.rule)
    }
}

impl std::error::Error for ProblemError {}

/// The greatest common divisor; that of 0 and a number is the number.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(buffer: Buffer) -> Rule {
        let fine = Buffer::new(1, Life::new(0, 1));
        let error = Problem::new(vec![fine, buffer]).expect_err("must be rejected");
        assert_eq!(error.buffer, BufferId(1));
        error.rule
    }

    #[test]
    fn every_rule_names_the_buffer_that_breaks_it() {
        let life = Life::new(2, 8);
        let plain = Buffer::new(16, life);
        let gapped = |gaps| Buffer { gaps, ..plain.clone() };
        let gap = |start, end, window| Gap { life: Life::new(start, end), window };

        assert_eq!(rejected(Buffer::new(0, life)), Rule::SizeZero);
        let backwards = Life::new(3, 3);
        assert_eq!(rejected(Buffer::new(1, backwards)), Rule::LifeEmpty(backwards));
        assert_eq!(rejected(plain.clone().aligned(0)), Rule::AlignZero);
        assert_eq!(
            rejected(plain.clone().aligned(4).fixed_at(6)),
            Rule::FixedMisaligned { offset: 6, align: 4 }
        );
        assert_eq!(rejected(gapped(vec![gap(4, 4, None)])), Rule::GapEmpty(Life::new(4, 4)));
        assert_eq!(
            rejected(gapped(vec![gap(1, 4, None)])),
            Rule::GapOutside { gap: Life::new(1, 4), life }
        );
        assert_eq!(
            rejected(gapped(vec![gap(4, 6, None), gap(5, 7, None)])),
            Rule::GapOrder(Life::new(5, 7))
        );
        let window = Span::new(8, 17);
        assert_eq!(
            rejected(gapped(vec![gap(4, 6, Some(window))])),
            Rule::WindowOutside { window, size: 16 }
        );
        let window = Span::new(8, 8);
        assert_eq!(
            rejected(gapped(vec![gap(4, 6, Some(window))])),
            Rule::WindowOutside { window, size: 16 }
        );
        assert_eq!(rejected(Buffer::new(u64::MAX, life)), Rule::TooLarge);
        assert_eq!(rejected(Buffer::new(i64::MAX as u64, life)), Rule::TooLarge);
        assert_eq!(rejected(plain.clone().fixed_at(u64::MAX)), Rule::TooLarge);
    }

    #[test]
    fn pieces_are_the_life_without_gaps_and_the_windows() {
        let buffer = Buffer {
            gaps: vec![
                Gap { life: Life::new(0, 2), window: Some(Span::new(4, 8)) },
                Gap { life: Life::new(5, 6), window: None },
            ],
            ..Buffer::new(16, Life::new(0, 9))
        };
        let piece =
            |start, end, lo, hi| Piece { life: Life::new(start, end), span: Span::new(lo, hi) };
        assert_eq!(
            buffer.pieces().collect::<Vec<_>>(),
            [piece(2, 5, 0, 16), piece(6, 9, 0, 16), piece(0, 2, 4, 8)]
        );
    }

    #[test]
    fn lives_that_touch_do_not_meet() {
        assert!(!Life::new(0, 3).meets(Life::new(3, 5)));
        assert!(Life::new(0, 4).meets(Life::new(3, 5)));
        assert_eq!(Life::new(i64::MIN, i64::MAX).len(), u64::MAX);
    }
}
