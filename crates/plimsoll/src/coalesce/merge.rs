//! Two alias sets that become one: an output that shares its storage with others already takes over an
//! input.
//!
//! ```text
//!   r ──▶ y = r + …          [ r ]              r is where y will be: in the place that the
//!   y, s ──▶ concat ──▶ c    [ y │ s ] = [ c ]  concat gives to y
//! ```
//!
//! The first byte of the output and that of the input become the same byte, and everything else of
//! both alias sets keeps its distance to it. That is right where no two needs that meet in time then
//! meet in bytes, but for the step's own read of the input, byte after byte before it writes.
//!
//! Only where steps run in order: otherwise nobody can say what is over when. Cost: O(needs of both
//! alias sets), times the needs of the other that meet the same bytes; the smaller alias set moves.

use plimsoll_pack::Span;

use super::{AliasSets, Deciding, Policy, hull, is_own_read};
use crate::assignment::Assignment;
use crate::ids::{StepId, ValueId};
use crate::liveness::{LiveSpan, guard};
use crate::point::{LiveRange, Point};
use crate::program::{AccessKind, Overwrite, Role};
use crate::validate::StepAccess;

/// Two alias sets, and how far each has to move up so that an output of one begins where an input of
/// the other does.
struct Fit {
    /// Of the input.
    old: Side,
    /// Of the output.
    new: Side,
    /// The bytes of the output, once both have moved.
    output: Span,
}

#[derive(Clone, Copy)]
struct Side {
    head: ValueId,
    up: u64,
}

impl Deciding<'_, '_, '_> {
    /// Makes one alias set of those of the output and of the input if that is allowed.
    pub(super) fn coalesce(&mut self, step: StepId, overwrite: &Overwrite) -> bool {
        let Some(fit) = self.fit(overwrite) else { return false };
        if !self.is_apart(step, overwrite, &fit) {
            return false;
        }
        self.alias_sets.took_over[overwrite.output.index()] = Some(overwrite.input);
        self.alias_sets.coalesced += 1;
        self.merge(&fit);
        true
    }

    /// How the alias sets would lie, if everything but time allows it.
    fn fit(&self, overwrite: &Overwrite) -> Option<Fit> {
        let Overwrite { output, input, must } = *overwrite;
        let validated = self.validated;
        let (out, into) = (&validated.values[output.index()], &validated.values[input.index()]);
        let allowed = self.options.in_place
            && !must
            && match self.policy {
                Policy::Any => true,
                Policy::Alone | Policy::SameSize | Policy::Must => false,
            };
        let stretch = |value: ValueId| validated.roots[value.index()].rows.is_none();
        let fits = out.bytes <= into.bytes && guard(validated, output, self.options) == 0;
        let free = self.alias_sets.took_over[output.index()].is_none();
        if !allowed || !fits || !free || !stretch(output) || !stretch(input) {
            return None;
        }
        if validated.order.is_some() {
            return None;
        }
        let ((old, at), (new, place)) = (self.place_of(input), self.place_of(output));
        let ours = |head: ValueId| self.assignments[head.index()] == Assignment::Packed;
        // What the options say of boundaries is said of the head.
        let plain = validated.values[new.index()].role == Role::Temporary;
        // What has yet to move in somewhere does that alone.
        let settled = |head: ValueId| !validated.is_next_state[head.index()];
        if old == new || !plain || ![old, new].into_iter().all(|head| ours(head) && settled(head)) {
            return None;
        }
        let old = Side { head: old, up: place.saturating_sub(at) };
        let new = Side { head: new, up: at.saturating_sub(place) };
        let aligned = |side: Side| side.up.is_multiple_of(self.alias_sets.align[side.head.index()]);
        let begin = at.max(place);
        let output = Span::new(begin, begin.checked_add(out.bytes)?);
        (aligned(old) && aligned(new)).then_some(Fit { old, new, output })
    }

    /// Whether no need of one alias set would be harmed by the other.
    fn is_apart(&self, step: StepId, overwrite: &Overwrite, fit: &Fit) -> bool {
        let all = |side: Side| {
            self.alias_sets.live_spans(side.head).map(move |need| moved(need, side.up))
        };
        let extent = |side: Side| extent(all(side));
        let (Some(olds), Some(news)) = (extent(fit.old), extent(fit.new)) else { return false };
        let near = |(span, live): (Span, LiveRange)| {
            move |live_span: &LiveSpan| live_span.span.meets(span) && live_span.live.meets(live)
        };
        let olds_near: Vec<LiveSpan> = all(fit.old).filter(near(news)).collect();
        let news_near: Vec<LiveSpan> = all(fit.new).filter(near(olds)).collect();
        let writes = Point::writes(self.validated.position[step.index()]);
        olds_near.iter().all(|old| {
            let own = is_own_read(step, overwrite.input, old);
            news_near.iter().all(|new| {
                let both = old.span.and(new.span);
                let in_place = own && new.live.start >= writes && fit.output.and(both) == both;
                let in_place = in_place && !is_other_write(step, overwrite.output, new);
                both.is_empty() || !old.live.meets(new.live) || in_place
            })
        })
    }

    /// Puts both alias sets into one, the smaller into the larger; a head that is more than temporary
    /// stays one.
    fn merge(&mut self, fit: &Fit) {
        let needs = |side: Side| self.alias_sets.count[side.head.index()];
        let bound = self.validated.values[fit.old.head.index()].role != Role::Temporary;
        let (stays, goes) = if bound || needs(fit.old) >= needs(fit.new) {
            (fit.old, fit.new)
        } else {
            (fit.new, fit.old)
        };
        self.settle(stays, stays.head);
        self.settle(goes, stays.head);
        self.alias_sets.append(stays.head, goes.head);
        self.open.first[stays.head.index()] = None;
    }

    /// Moves all of an alias set up, to where it has that head.
    fn settle(&mut self, side: Side, head: ValueId) {
        if side.up == 0 && side.head == head {
            return;
        }
        let AliasSets { member, next, .. } = &mut self.alias_sets;
        for root in std::iter::successors(Some(side.head), |root| next[root.index()]) {
            let (of, at) = &mut member[root.index()];
            *of = head;
            *at = at.saturating_add(side.up);
        }
    }
}

/// Whether a step writes these bytes by another name than that of the output, which is not declared to
/// be in place.
fn is_other_write(step: StepId, output: ValueId, live_span: &LiveSpan) -> bool {
    let other = |access: StepAccess| access.step == step && access.value != output;
    live_span.access.is_some_and(|access| access.kind == AccessKind::Write && other(access))
}

/// A need of an alias set that is further up.
fn moved(live_span: LiveSpan, up: u64) -> LiveSpan {
    LiveSpan { span: live_span.span.shifted(up), ..live_span }
}

/// The bytes and the time of all of these, from the first to the last.
fn extent(live_spans: impl Iterator<Item = LiveSpan> + Clone) -> Option<(Span, LiveRange)> {
    let (start, end) = hull(live_spans.clone())?;
    let lo = live_spans.clone().map(|live_span| live_span.span.lo).min()?;
    let hi = live_spans.map(|live_span| live_span.span.hi).max()?;
    Some((Span::new(lo, hi), LiveRange::new(start, end)))
}
