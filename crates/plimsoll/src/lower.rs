//! From alias sets and scratch memory to the packer's rectangles.
//!
//! Points become times. Where only a part of an alias set's bytes is needed for a while, or none, the
//! rectangle has a gap, in which it is as large as the part from the first to the last byte that is
//! needed; what is not needed in between is a hole, which the packer cannot use. Where steps do not
//! run in order there are neither, and pairs that no order keeps apart are listed as conflicts beside
//! the lives.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll_pack::dense::BitMatrix;
use plimsoll_pack::{Conflicts, Gap, Life, Span};

use crate::assignment::Assignment;
use crate::coalesce::{AliasSets, hull};
use crate::ids::{StepId, ValueId};
use crate::liveness::{LiveBytes, LiveSpan, Liveness, whole};
use crate::options::Options;
use crate::point::{LiveRange, Point};
use crate::program::Role;
use crate::validate::ValidatedProgram;

/// One thing to place.
pub(crate) struct Request {
    pub(crate) what: What,
    /// Size, life, gaps and alignment, without a bank's own wishes.
    pub(crate) buffer: plimsoll_pack::Buffer,
    pub(crate) role: Role,
    /// The bank that it has to be in.
    pub(crate) bank: Option<String>,
    /// Times in which fewer bytes are needed than the rectangle has then, with how many fewer.
    pub(crate) holes: Vec<(Life, u64)>,
    /// The steps that may touch it first, and those with which it may be over; `None` for the end
    /// of the run. Only where steps do not run in order.
    firsts: Vec<StepId>,
    lasts: Vec<Option<StepId>>,
}

/// What is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The alias set of that head.
    AliasSet(ValueId),
    /// The scratch memory of that step.
    Scratch(StepId),
}

/// Everything that is to be placed, alias sets first.
pub(crate) fn requests(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    liveness: &Liveness,
    alias_sets: &AliasSets<'_>,
    options: &Options,
) -> Vec<Request> {
    let sizes = sizes(validated, assignments, alias_sets, options);
    let mut lowering = Lowering { validated, liveness, alias_sets, ranges: Vec::new() };
    let mut requests: Vec<Request> = Vec::with_capacity(validated.values.len());
    let heads = validated.value_ids().filter(|v| {
        matches!(assignments[v.index()], Assignment::Packed | Assignment::Kept)
            && validated.is_root(*v)
            && alias_sets.member[v.index()].0 == *v
    });
    requests.extend(heads.map(|head| lowering.alias_set(head, sizes[head.index()])));
    let scratch = validated.schedule.iter().filter_map(|step| {
        let scratch = validated.scratch[step.index()]?;
        let at = validated.position[step.index()];
        let live = LiveRange::new(Point::reads(at), Point::after(at));
        let buffer = plimsoll_pack::Buffer::new(scratch.bytes, life(live)).aligned(scratch.align);
        let what = What::Scratch(*step);
        let own = validated.order.as_ref().map(|_| *step);
        let (firsts, lasts) = (own.into_iter().collect(), own.map(Some).into_iter().collect());
        Some(Request {
            what,
            buffer,
            role: Role::Temporary,
            bank: None,
            holes: Vec::new(),
            firsts,
            lasts,
        })
    });
    requests.extend(scratch);
    requests.retain(|request| request.buffer.size > 0);
    requests
}

/// The bytes and the alignment of every alias set; by head.
fn sizes(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    alias_sets: &AliasSets<'_>,
    options: &Options,
) -> Vec<(u64, u64)> {
    let mut sizes = vec![(0, 1); validated.values.len()];
    for value in validated.value_ids() {
        if !matches!(assignments[value.index()], Assignment::Packed | Assignment::Kept) {
            continue;
        }
        let rooted = validated.roots[value.index()];
        let (head, at) = alias_sets.member[rooted.root.index()];
        let (size, align) = &mut sizes[head.index()];
        *size = (*size).max(at + whole(validated, value, options).hi);
        *align = alias_sets.align[head.index()];
    }
    sizes
}

/// From alias sets to rectangles.
struct Lowering<'a, 'p, 'l> {
    validated: &'a ValidatedProgram<'p>,
    liveness: &'l Liveness,
    alias_sets: &'a AliasSets<'l>,
    /// Kept to be filled again.
    ranges: Vec<LiveRange>,
}

impl Lowering<'_, '_, '_> {
    fn alias_set(&mut self, head: ValueId, (size, align): (u64, u64)) -> Request {
        let live_spans = self.alias_sets.live_spans(head);
        // What nobody ever touches still has a place, for a moment.
        let (start, end) = hull(live_spans.clone()).unwrap_or((Point(0), Point(1)));
        let live = LiveRange::new(start, end.max(Point(start.0 + 1)));
        let mut buffer = plimsoll_pack::Buffer::new(size, life(live)).aligned(align);
        let mut holes = Vec::new();
        let mut item_order = (Vec::new(), Vec::new());
        if self.validated.order.is_some() {
            item_order = ends(self.validated, live_spans);
        } else {
            let is_covered =
                covered(live_spans.clone(), live, Span::new(0, size), &mut self.ranges);
            if !is_covered {
                buffer.gaps = gaps(live_spans, size);
            }
            // A need for rows covers what is between them too.
            if !is_covered || self.has_rows(head) {
                holes = unneeded(&buffer, &needed(&self.live_bytes(head)));
            }
        }
        let (firsts, lasts) = item_order;
        let role = self.validated.values[head.index()].role;
        let bank = self.validated.program.bank(head).map(Cow::into_owned);
        Request { what: What::AliasSet(head), buffer, role, bank, holes, firsts, lasts }
    }

    /// Whether some bytes that are used alike are apart.
    fn has_rows(&self, head: ValueId) -> bool {
        let mut roots = self.alias_sets.roots(head);
        roots.any(|root| self.liveness.bytes.row(root.index()).iter().any(|b| b.spans.len() > 1))
    }

    /// Which bytes of an alias set are live when.
    fn live_bytes(&self, head: ValueId) -> Vec<(Span, LiveRange)> {
        let mut found = Vec::new();
        for root in self.alias_sets.roots(head) {
            let (_, at) = self.alias_sets.member[root.index()];
            let classes = self.liveness.bytes.row(root.index());
            if classes.is_empty() {
                let needs = self.liveness.live_spans.row(root.index()).iter();
                found.extend(needs.map(|need| (need.span.shifted(at), need.live)));
            }
            for LiveBytes { spans, live } in classes {
                for live in live {
                    found.extend(spans.iter().map(|span| (span.shifted(at), *live)));
                }
            }
        }
        found
    }
}

pub(crate) fn life(live: LiveRange) -> Life {
    let time = |point: Point| i64::try_from(point.0).expect("fewer than 2^62 steps");
    Life::new(time(live.start), time(live.end))
}

/// The stretches of a life in which not all bytes are needed. O(n log n) for n needs.
fn gaps(live_spans: impl Iterator<Item = LiveSpan>, size: u64) -> Vec<Gap> {
    let mut events: Vec<(Point, bool, Span)> = Vec::new();
    for live_span in live_spans {
        events.extend([
            (live_span.live.start, true, live_span.span),
            (live_span.live.end, false, live_span.span),
        ]);
    }
    events.sort_unstable_by_key(|(at, ..)| *at);
    let (mut lows, mut highs) = (Counted::default(), Counted::default());
    let mut gaps: Vec<Gap> = Vec::new();
    for at in events.chunk_by(|a, b| a.0 == b.0) {
        for (_, begins, span) in at.iter().filter(|(.., span)| !span.is_empty()) {
            lows.count(span.lo, *begins);
            highs.count(span.hi, *begins);
        }
        let now = life(LiveRange::new(at[0].0, at[0].0)).start;
        if let Some(gap) = gaps.last_mut().filter(|gap| gap.life.end == i64::MAX) {
            gap.life.end = now;
        }
        let used = lows.least().zip(highs.most()).map(|(lo, hi)| Span::new(lo, hi));
        if used == Some(Span::new(0, size)) {
            continue;
        }
        match gaps.last_mut() {
            Some(last) if last.window == used && last.life.end == now => last.life.end = i64::MAX,
            _ => gaps.push(Gap { life: Life::new(now, i64::MAX), window: used }),
        }
    }
    // Behind the last event there is no life.
    let end = events.last().map_or(0, |(at, ..)| life(LiveRange::new(*at, *at)).start);
    if let Some(gap) = gaps.last_mut().filter(|gap| gap.life.end == i64::MAX) {
        gap.life.end = end;
    }
    gaps.pop_if(|gap| gap.life.is_empty());
    gaps
}

/// Numbers, each with how often it is there.
#[derive(Default)]
struct Counted(BTreeMap<u64, usize>);

impl Counted {
    fn count(&mut self, number: u64, more: bool) {
        let count = self.0.entry(number).or_insert(0);
        *count = if more { *count + 1 } else { *count - 1 };
        if *count == 0 {
            self.0.remove(&number);
        }
    }

    fn least(&self) -> Option<u64> {
        self.0.first_key_value().map(|(number, _)| *number)
    }

    fn most(&self) -> Option<u64> {
        self.0.last_key_value().map(|(number, _)| *number)
    }
}

/// How many bytes of an alias set are needed, from each moment at which that changes. O(n log n) for n
/// stretches of live bytes.
fn needed(live_bytes: &[(Span, LiveRange)]) -> Vec<(Point, u64)> {
    let mut cuts: Vec<u64> = live_bytes.iter().flat_map(|(span, _)| [span.lo, span.hi]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut events: Vec<(Point, bool, Span)> = Vec::with_capacity(2 * live_bytes.len());
    for (span, live) in live_bytes {
        events.extend([(live.start, true, *span), (live.end, false, *span)]);
    }
    events.sort_unstable_by_key(|(at, ..)| *at);
    let mut users = vec![0usize; cuts.len()];
    let (mut bytes, mut needed) = (0, Vec::new());
    for at in events.chunk_by(|a, b| a.0 == b.0) {
        for (_, begins, span) in at {
            let first = cuts.partition_point(|cut| *cut < span.lo);
            for piece in (first..).take_while(|piece| cuts[*piece] < span.hi) {
                let length = cuts[piece + 1] - cuts[piece];
                let before = users[piece];
                users[piece] = if *begins { before + 1 } else { before.wrapping_sub(1) };
                match (before, users[piece]) {
                    (0, 1) => bytes += length,
                    (1, 0) => bytes -= length,
                    _ => {}
                }
            }
        }
        needed.push((at[0].0, bytes));
    }
    needed
}

/// Times in which fewer bytes are needed than a rectangle has, with how many fewer.
fn unneeded(buffer: &plimsoll_pack::Buffer, needed: &[(Point, u64)]) -> Vec<(Life, u64)> {
    let mut holes = Vec::new();
    for piece in buffer.pieces() {
        let time = |at: &Point| life(LiveRange::new(*at, *at)).start;
        let first = needed.partition_point(|(at, _)| time(at) <= piece.life.start);
        let mut from = first.saturating_sub(1);
        while from < needed.len() && time(&needed[from].0) < piece.life.end {
            let until = needed.get(from + 1).map_or(i64::MAX, |(at, _)| time(at));
            let start = time(&needed[from].0).max(piece.life.start);
            let hole = piece.span.len().saturating_sub(needed[from].1);
            if hole > 0 {
                holes.push((Life::new(start, until.min(piece.life.end)), hole));
            }
            from += 1;
        }
    }
    holes
}

/// Whether the needs for all bytes cover the whole life without a break.
fn covered(
    live_spans: impl Iterator<Item = LiveSpan>,
    live: LiveRange,
    whole: Span,
    spans: &mut Vec<LiveRange>,
) -> bool {
    spans.clear();
    spans.extend(live_spans.filter(|n| n.span == whole).map(|n| n.live));
    spans.sort_unstable();
    let mut until = live.start;
    for span in &*spans {
        if span.start > until {
            return false;
        }
        until = until.max(span.end);
    }
    until >= live.end
}

/// The steps that may touch an alias set first, and those with which it may be over.
fn ends(
    validated: &ValidatedProgram<'_>,
    live_spans: impl Iterator<Item = LiveSpan> + Clone,
) -> (Vec<StepId>, Vec<Option<StepId>>) {
    let mut firsts: Vec<StepId> = Vec::new();
    let mut lasts: Vec<Option<StepId>> = Vec::new();
    for live_span in live_spans.clone() {
        if let Some(access) = live_span.access {
            firsts.extend([access.step, access.first]);
            lasts.extend([Some(access.step), access.last]);
        } else if live_span.live.end == Point::end_of_run(validated.steps()) {
            lasts.push(None);
        }
    }
    let mut live_spans = live_spans;
    let from_outside = live_spans.any(|n| n.access.is_none() && n.live.start == Point(0));
    if from_outside {
        // Nothing is certainly over before a run begins.
        firsts.clear();
    }
    (firsts, lasts)
}

/// The pairs that no order keeps apart although their lives in the schedule do not meet.
///
/// One may give its bytes to another only if every access to it is certainly over before any
/// access to the other may begin. O(n² + n × steps / 64). Behind the items there is room for
/// obstacles that live all the time, which no pair is about.
pub(crate) fn conflicts(
    validated: &ValidatedProgram<'_>,
    requests: &[&Request],
    obstacles: usize,
) -> Option<Conflicts> {
    let order = validated.order.as_ref()?;
    // By item: the steps (by position) that begin only once the item is over.
    let mut free_after = BitMatrix::new(requests.len(), validated.steps());
    for (index, request) in requests.iter().enumerate() {
        let bits = free_after.row_mut(index);
        bits.fill(u64::MAX);
        for last in &request.lasts {
            match last {
                Some(last) => {
                    let after = order.all_after(*last);
                    bits.iter_mut().zip(after).for_each(|(bits, after)| *bits &= after);
                }
                None => bits.fill(0),
            }
        }
    }
    let gives_to = |a: usize, b: usize| {
        let has = |step: &StepId| free_after.contains(a, validated.position[step.index()]);
        !requests[b].firsts.is_empty() && requests[b].firsts.iter().all(has)
    };
    let mut conflicts = Conflicts::new(requests.len() + obstacles);
    for a in 0..requests.len() {
        for b in a + 1..requests.len() {
            let apart = !requests[a].buffer.life.meets(requests[b].buffer.life);
            if apart && !gives_to(a, b) && !gives_to(b, a) {
                conflicts.add(a, b);
            }
        }
    }
    Some(conflicts)
}
