//! What every byte of every bank is at a moment.
//!
//! ```text
//!   0                                                          bank's end
//!   |  value  | value |guard|pad|     free      |  value  |  scratch  |
//! ```
//!
//! The pieces of a bank tile it: their lengths add up to its size exactly. A hole before something
//! that is aligned is padding as far as the alignment asks for it, and free beyond that.

use plimsoll_pack::Span;

use super::{heads, step_at, window};
use crate::plan::{Place, Plan};
use crate::point::Point;
use crate::program::Program;
use crate::{BankId, StepId, ValueId};

/// What a stretch of bytes is at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A value that is needed.
    Value(ValueId),
    /// What lies behind the end of a value, and may be written with it.
    Guard(ValueId),
    /// Scratch memory of a step.
    Scratch(StepId),
    /// Bytes between two parts of a buffer that are needed, which are kept with them.
    Between(ValueId),
    /// Where another plan has put a value.
    Imported(ValueId),
    /// Left out so that what follows is aligned.
    Padding,
    /// In nobody's use now; some other moment needs it.
    Free,
}

/// A stretch of bytes of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bank.
    pub bank: BankId,
    /// The bytes.
    pub span: Span,
    /// What they are.
    pub what: What,
}

/// All banks at a moment, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// When.
    pub point: Point,
    /// Every bank from its first byte to its last, bank after bank.
    pub pieces: Vec<Piece>,
}

impl Account {
    /// The bytes of the pieces that are `such`.
    #[must_use]
    pub fn bytes(&self, such: impl Fn(What) -> bool) -> u64 {
        self.pieces.iter().filter(|piece| such(piece.what)).map(|piece| piece.span.len()).sum()
    }

    /// The bytes of one value, in all its pieces.
    #[must_use]
    pub fn bytes_of(&self, value: ValueId) -> u64 {
        self.bytes(|what| what == What::Value(value))
    }
}

/// Says what every byte is at a moment. O(buffers × their gaps + values).
#[must_use]
pub fn account(program: &dyn Program, plan: &Plan, point: Point) -> Account {
    let mut taken = taken(program, plan, point);
    taken.sort_by_cached_key(|taken| (taken.piece.bank, taken.piece.span.lo, taken.piece.span.hi));
    let mut pieces = Vec::new();
    let mut taken = taken.into_iter().peekable();
    for (index, bank) in plan.banks.iter().enumerate() {
        let bank_id = BankId::new(index);
        let mut end = 0;
        while let Some(Taken { piece, align }) = taken.next_if(|t| t.piece.bank == bank_id) {
            hole(&mut pieces, bank_id, Span::new(end, piece.span.lo), align);
            // What overlaps is counted once: by rights nothing does.
            let span = Span::new(piece.span.lo.max(end), piece.span.hi.max(end));
            if !span.is_empty() {
                pieces.push(Piece { span, ..piece });
            }
            end = end.max(piece.span.hi);
        }
        hole(&mut pieces, bank_id, Span::new(end, bank.bytes.max(end)), None);
    }
    Account { point, pieces }
}

/// A piece that is no hole; with what the first one of a buffer is aligned to.
struct Taken {
    piece: Piece,
    align: Option<u64>,
}

/// Says what the bytes between two pieces are.
fn hole(pieces: &mut Vec<Piece>, bank: BankId, span: Span, align: Option<u64>) {
    if span.hi <= span.lo {
        return;
    }
    let aligned = align.map_or(span.lo, |align| span.lo.next_multiple_of(align)).min(span.hi);
    for (span, what) in
        [(Span::new(span.lo, aligned), What::Padding), (Span::new(aligned, span.hi), What::Free)]
    {
        if !span.is_empty() {
            pieces.push(Piece { bank, span, what });
        }
    }
}

fn taken(program: &dyn Program, plan: &Plan, point: Point) -> Vec<Taken> {
    let heads = heads(program, plan);
    let needed = needed(program, plan, point);
    let mut taken = Vec::new();
    for (index, buffer) in plan.derivation.buffers.iter().enumerate() {
        let Some(window) = window(buffer, point) else { continue };
        let bank = buffer.slot.bank;
        let parts = match heads[index] {
            // Kept though nobody needs it now: an input that is not reclaimed, a weight, ….
            Some(head) if needed[index].is_empty() => {
                parts(window, &placed(program, plan, head).into_iter().collect::<Vec<_>>(), head)
            }
            Some(head) => parts(window, &needed[index], head),
            None => {
                let step = step_at(plan, buffer.live.start).unwrap_or(StepId(0));
                vec![(window, What::Scratch(step))]
            }
        };
        let mut align = Some(buffer.align);
        for (span, what) in parts {
            let span = span.shifted(buffer.slot.offset);
            // Only the beginning of a buffer is aligned, and only if it is in use.
            let align = align.take().filter(|_| span.lo == buffer.slot.offset);
            taken.push(Taken { piece: Piece { bank, span, what }, align });
        }
    }
    taken.extend(imported(program, plan));
    taken
}

/// Places that another plan lends: they have no buffer here.
fn imported(program: &dyn Program, plan: &Plan) -> Vec<Taken> {
    let mut imported = Vec::new();
    for (index, (place, member)) in plan.places.iter().zip(&plan.derivation.members).enumerate() {
        let value = ValueId::new(index);
        if let (Place::Bank(slot), None) = (place, member)
            && slot.reserved > 0
            && program.value(value).view_of.is_none()
        {
            let span = Span::new(slot.offset, slot.offset + slot.reserved);
            let piece = Piece { bank: slot.bank, span, what: What::Imported(value) };
            imported.push(Taken { piece, align: None });
        }
    }
    imported
}

/// A value in a buffer: its bytes, and those up to the end of its slot.
struct Needed {
    value: ValueId,
    bytes: Span,
    slot: Span,
}

/// The values that are needed at a moment, by buffer; those that speak for their bytes first.
fn needed(program: &dyn Program, plan: &Plan, point: Point) -> Vec<Vec<Needed>> {
    let mut needed: Vec<Vec<Needed>> = Vec::new();
    needed.resize_with(plan.derivation.buffers.len(), Vec::new);
    for (index, member) in plan.derivation.members.iter().enumerate() {
        let (value, Some(member)) = (ValueId::new(index), member) else { continue };
        let is_needed = member.live.start <= point && point < member.live.end;
        if is_needed && program.value(value).view_of.is_none() {
            needed[member.buffer.index()].extend(placed(program, plan, value));
        }
    }
    let born = |value: ValueId| plan.derivation.members[value.index()].map(|m| m.live.start);
    for values in &mut needed {
        // Of two that take each other over in this step the larger speaks, then the newer.
        values.sort_by_cached_key(|n| std::cmp::Reverse((n.bytes.len(), born(n.value), n.value)));
    }
    needed
}

/// A value in its buffer, if it has one.
fn placed(program: &dyn Program, plan: &Plan, value: ValueId) -> Option<Needed> {
    let from = plan.derivation.members[value.index()]?.offset;
    let slot = plan.slot(value)?;
    let bytes = Span::new(from, from + program.value(value).bytes);
    Some(Needed { value, bytes, slot: Span::new(from, from + slot.reserved) })
}

/// What the bytes of a window are: values first, then what is behind them, then what is between.
fn parts(window: Span, needed: &[Needed], head: ValueId) -> Vec<(Span, What)> {
    let mut painted: Vec<(Span, What)> = Vec::new();
    for value in needed {
        paint(&mut painted, value.bytes.and(window), What::Value(value.value));
    }
    for value in needed {
        paint(&mut painted, value.slot.and(window), What::Guard(value.value));
    }
    paint(&mut painted, window, What::Between(head));
    painted.sort_by_cached_key(|(span, _)| span.lo);
    painted
}

/// Gives the bytes of a span that are nobody's yet to `what`.
fn paint(painted: &mut Vec<(Span, What)>, span: Span, what: What) {
    let mut met: Vec<Span> = painted.iter().map(|(span, _)| *span).collect();
    met.retain(|other| other.meets(span));
    met.sort_by_cached_key(|other| other.lo);
    let mut from = span.lo;
    for other in met.into_iter().chain([Span::new(span.hi, span.hi)]) {
        if from < other.lo {
            painted.push((Span::new(from, other.lo), what));
        }
        from = from.max(other.hi);
    }
}
