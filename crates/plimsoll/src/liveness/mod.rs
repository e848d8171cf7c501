//! Live ranges: which bytes of a root must be left alone from when until when. The one place that
//! decides it; whoever wants to know (coalescing, the packer, the cost of an order and its bound,
//! reports) asks here.
//!
//! A write needs its bytes while it lasts; a read needs them from the moment they were written
//! until it is over; an output needs them until the end of the run. Live ranges are those of bytes,
//! not of values: when only a slice of a value is read later, the rest of it is free, and so are
//! bytes that nobody has written yet. [`uses`] resolves the declarations to roots, [`classes`] finds
//! the bytes that are used alike, and what is live follows for each class.
//!
//! Cost: O(uses), times the number of classes of one root and of writes to one class.

pub(crate) mod classes;
mod extent;
pub(crate) mod uses;

use classes::{Class, classes};
pub(crate) use extent::{check_sizes, guard, reserved, whole};
use plimsoll_pack::Span;
use plimsoll_pack::dense::CompressedRows;
use uses::{By, Use, fill_uses};

use crate::assignment::Assignment;
use crate::options::Options;
use crate::point::{LiveRange, Point};
use crate::validate::{StepAccess, ValidatedProgram};

/// Some bytes that must be left alone for a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveSpan {
    pub(crate) live: LiveRange,
    /// Bytes of the root, or of the alias set once it is part of one: from the first to the last.
    pub(crate) span: Span,
    /// The access that they are needed for; `None` if somebody outside needs them.
    pub(crate) access: Option<StepAccess>,
    /// Whether they are needed only because they are kept from run to run.
    pub(crate) is_kept: bool,
}

impl LiveSpan {
    /// Whether it is that of the caller who fills a value, which is over before any step begins.
    pub(crate) fn is_fill(&self) -> bool {
        self.access.is_none() && self.live.end <= Point(1)
    }
}

/// When bytes of a root that are used alike are live.
#[derive(Clone, Debug)]
pub(crate) struct LiveBytes {
    /// Which bytes.
    pub(crate) spans: Vec<Span>,
    /// When: ranges in order that do not meet.
    pub(crate) live: Vec<LiveRange>,
}

/// What is live when, in the order of a schedule; by value, empty for all but roots that are placed
/// or changed in place.
pub(crate) struct Liveness {
    /// For each use when its bytes must be left alone.
    pub(crate) live_spans: CompressedRows<LiveSpan>,
    /// The same, byte by byte. Only where steps run in order, and for roots of which not all uses are of
    /// the same bytes: of the others the live spans say all.
    pub(crate) bytes: CompressedRows<LiveBytes>,
}

/// What live ranges are computed and kept in, to be filled again.
#[derive(Default)]
pub(crate) struct LivenessMemory {
    found: Vec<(u32, Use)>,
    uses: CompressedRows<Use>,
    live_spans: CompressedRows<LiveSpan>,
    bytes: CompressedRows<LiveBytes>,
}

impl LivenessMemory {
    /// Takes back what live ranges were kept in.
    pub(crate) fn recycle(&mut self, used: Liveness) {
        (self.live_spans, self.bytes) = (used.live_spans, used.bytes);
    }
}

/// What is live when.
pub(crate) fn liveness(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    options: &Options,
    buffers: &mut LivenessMemory,
) -> Liveness {
    let mut liveness = Liveness {
        live_spans: std::mem::take(&mut buffers.live_spans),
        bytes: std::mem::take(&mut buffers.bytes),
    };
    liveness.live_spans.clear();
    liveness.bytes.clear();
    fill_uses(validated, assignments, options, &mut buffers.found, &mut buffers.uses);
    let is_large = buffers.found.len() > MOST_KEPT;
    if is_large {
        buffers.found = Vec::new();
    }
    fill_liveness(validated, &buffers.uses, &mut liveness);
    if is_large {
        buffers.uses = CompressedRows::new();
    }
    liveness
}

/// How many uses memory is kept for until the next program: that of larger ones is needed elsewhere.
const MOST_KEPT: usize = 1 << 14;

fn fill_liveness(
    validated: &ValidatedProgram<'_>,
    uses: &CompressedRows<Use>,
    liveness: &mut Liveness,
) {
    if validated.order.is_some() {
        for uses in uses.iter() {
            liveness.live_spans.push(unordered(uses));
            liveness.bytes.push([]);
        }
        return;
    }
    for uses in uses.iter() {
        if are_alike(uses) {
            liveness.live_spans.push(uses.iter().map(|one| alike(one, uses)));
            liveness.bytes.push([]);
            continue;
        }
        let classes = classes(validated, uses);
        let born: Vec<Births> = classes.iter().map(|class| births(class, uses)).collect();
        liveness.live_spans.push(live_spans(uses, &classes, &born));
        let bytes = classes
            .into_iter()
            .zip(&born)
            .map(|(class, born)| LiveBytes { live: live(&class, uses, born), spans: class.spans });
        liveness.bytes.push(bytes);
    }
}

/// Whether all uses are of the same bytes, all of which are used: one class. What is kept is needed from
/// the start of the run, and is there from then on only if the caller fills it.
fn are_alike(uses: &[Use]) -> bool {
    let same = |one: &Use| one.strided.is_none() && one.span == uses[0].span;
    let is_filled = || uses.iter().any(|one| matches!(one.by, By::Caller));
    let one_class = |one: &Use| same(one) && !one.span.is_empty();
    uses.iter().all(|one| one_class(one) && (!one.is_kept() || is_filled()))
}

/// The need of a use, where all are of the same bytes.
fn alike(one: &Use, uses: &[Use]) -> LiveSpan {
    let start = if one.writes() || one.is_kept() {
        one.live.start
    } else {
        birth(one, uses.iter().filter(|one| one.writes()))
    };
    need(one, one.span, start)
}

/// Some bytes of a use, from when on they are needed.
fn need(one: &Use, span: Span, start: Point) -> LiveSpan {
    let live = LiveRange::new(start, one.live.end);
    LiveSpan { live, span, access: one.access(), is_kept: one.is_kept() }
}

/// When the bytes of a class get what each of its uses finds there; by use of the class.
type Births = Vec<Point>;

fn births(class: &Class, uses: &[Use]) -> Births {
    let writes = || class.uses.iter().map(|index| &uses[*index]).filter(|one| one.writes());
    let birth = |index: &usize| {
        let one = &uses[*index];
        if one.writes() { one.live.start } else { birth(one, writes()) }
    };
    class.uses.iter().map(birth).collect()
}

/// When bytes get what a read of them finds: with the write that is over last before it, or any of
/// those that may be the last; if none is over, with the first of all.
fn birth<'a>(read: &Use, writes: impl Iterator<Item = &'a Use> + Clone) -> Point {
    let over = || writes.clone().map(|w| w.live).filter(|live| live.end <= read.live.start);
    let Some(latest) = over().map(|live| live.start).max() else {
        return writes.map(|w| w.live.start).min().unwrap_or(Point(0));
    };
    let last = over().filter(|live| live.end > latest).map(|live| live.start);
    last.min().unwrap_or(latest)
}

/// The needs of every use: bytes that are born together are one need.
fn live_spans(uses: &[Use], classes: &[Class], born: &[Births]) -> Vec<LiveSpan> {
    let mut parts: Vec<Vec<(Span, Point)>> = vec![Vec::new(); uses.len()];
    for (class, born) in classes.iter().zip(born) {
        for (index, birth) in class.uses.iter().zip(born) {
            let (parts, hull) = (&mut parts[*index], class.hull());
            match parts.last_mut() {
                Some((last, start)) if start == birth && last.hi >= hull.lo => {
                    last.hi = last.hi.max(hull.hi);
                }
                _ => parts.push((hull, *birth)),
            }
        }
    }
    let mut live_spans = Vec::with_capacity(uses.len());
    for (one, parts) in uses.iter().zip(parts) {
        if one.writes() || one.is_kept() {
            live_spans.push(need(one, one.span, one.live.start));
        } else {
            live_spans.extend(parts.into_iter().map(|(span, start)| need(one, span, start)));
        }
    }
    live_spans
}

/// When the bytes of a class are live.
fn live(class: &Class, uses: &[Use], born: &Births) -> Vec<LiveRange> {
    let ranges = class.uses.iter().zip(born);
    let mut ranges: Vec<LiveRange> =
        ranges.map(|(index, start)| LiveRange::new(*start, uses[*index].live.end)).collect();
    ranges.sort_unstable();
    let mut live: Vec<LiveRange> = Vec::new();
    for range in ranges {
        match live.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => live.push(range),
        }
    }
    live
}

/// The needs where steps do not run in order: nobody can say which write is the last before a read,
/// or which bytes are written first.
fn unordered(uses: &[Use]) -> Vec<LiveSpan> {
    let live_span = |one: &Use| {
        let writes = uses.iter().filter(|w| w.writes() && w.span.meets(one.span));
        let first = writes.map(|w| w.live.start).min().unwrap_or(Point(0));
        let reads = !one.writes() && !one.is_kept();
        need(one, one.span, if reads { first } else { one.live.start })
    };
    uses.iter().map(live_span).collect()
}
