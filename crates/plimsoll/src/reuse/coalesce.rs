//! Two families that become one: an output that shares its storage with others already takes over an
//! input.
//!
//! ```text
//!   r ──▶ y = r + …          [ r ]              r is where y will be: in the place that the
//!   y, s ──▶ concat ──▶ c    [ y │ s ] = [ c ]  concat gives to y
//! ```
//!
//! The first byte of the output and that of the input become the same byte, and everything else of
//! both families keeps its distance to it. That is right where no two needs that meet in time then
//! meet in bytes, but for the step's own read of the input, byte after byte before it writes.
//!
//! Only where steps run in order: otherwise nobody can say what is over when. Cost: O(needs of both
//! families), times the needs of the other that meet the same bytes; the smaller family moves.

use plimsoll_pack::Span;

use super::{Deciding, Policy, hull, is_own_read};
use crate::align::common_multiple;
use crate::home::Home;
use crate::ids::{StepId, ValueId};
use crate::liveness::{Need, guard};
use crate::point::{LiveRange, Point};
use crate::program::{Overwrite, Role};

/// Two families, and how far each has to move up so that an output of one begins where an input of
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

impl Deciding<'_, '_> {
    /// Makes one family of those of the output and of the input if that is allowed.
    pub(super) fn coalesce(&mut self, step: StepId, overwrite: &Overwrite) -> bool {
        let Some(fit) = self.fit(overwrite) else { return false };
        if !self.is_apart(step, overwrite.input, &fit) {
            return false;
        }
        self.families.took_over[overwrite.output.index()] = Some(overwrite.input);
        self.families.coalesced += 1;
        self.merge(&fit);
        true
    }

    /// How the families would lie, if everything but time allows it.
    fn fit(&self, overwrite: &Overwrite) -> Option<Fit> {
        let Overwrite { output, input, must } = *overwrite;
        let checked = self.checked;
        let (out, into) = (&checked.values[output.index()], &checked.values[input.index()]);
        let allowed = self.options.in_place
            && !must
            && match self.policy {
                Policy::Any => true,
                Policy::Alone | Policy::SameSize | Policy::Must => false,
            };
        let stretch = |value: ValueId| checked.roots[value.index()].rows.is_none();
        let fits = out.bytes <= into.bytes && guard(checked, output, self.options) == 0;
        let free = self.families.took_over[output.index()].is_none();
        if !allowed || !fits || !free || !stretch(output) || !stretch(input) {
            return None;
        }
        if checked.order.is_some() {
            return None;
        }
        let ((old, at), (new, place)) = (self.place_of(input), self.place_of(output));
        let ours = |head: ValueId| self.homes[head.index()] == Home::Packed;
        // What the options say of boundaries is said of the head.
        let plain = checked.values[new.index()].role == Role::Temporary;
        if old == new || !ours(old) || !ours(new) || !plain {
            return None;
        }
        let old = Side { head: old, up: place.saturating_sub(at) };
        let new = Side { head: new, up: at.saturating_sub(place) };
        let aligned = |side: Side| side.up.is_multiple_of(self.families.align[side.head.index()]);
        let begin = at.max(place);
        let output = Span::new(begin, begin.checked_add(out.bytes)?);
        (aligned(old) && aligned(new)).then_some(Fit { old, new, output })
    }

    /// Whether no need of one family would be harmed by the other.
    fn is_apart(&self, step: StepId, input: ValueId, fit: &Fit) -> bool {
        let all = |side: Side| {
            self.families.needs[side.head.index()].iter().map(move |n| moved(n, side.up))
        };
        let extent = |side: Side| extent(all(side));
        let (Some(olds), Some(news)) = (extent(fit.old), extent(fit.new)) else { return false };
        let near = |(span, live): (Span, LiveRange)| {
            move |need: &Need| need.span.meets(span) && need.live.meets(live)
        };
        let olds_near: Vec<Need> = all(fit.old).filter(near(news)).collect();
        let news_near: Vec<Need> = all(fit.new).filter(near(olds)).collect();
        let writes = Point::writes(self.checked.position[step.index()]);
        olds_near.iter().all(|old| {
            let own = is_own_read(step, input, old);
            news_near.iter().all(|new| {
                let both = old.span.and(new.span);
                let sanctioned = own && new.live.start >= writes && (fit.output.and(both) == both);
                both.is_empty() || !old.live.meets(new.live) || sanctioned
            })
        })
    }

    /// Puts both families into one, the smaller into the larger; a head that is more than temporary
    /// stays one.
    fn merge(&mut self, fit: &Fit) {
        let needs = |side: Side| self.families.needs[side.head.index()].len();
        let bound = self.checked.values[fit.old.head.index()].role != Role::Temporary;
        let (stays, goes) = if bound || needs(fit.old) >= needs(fit.new) {
            (fit.old, fit.new)
        } else {
            (fit.new, fit.old)
        };
        self.move_up(stays);
        self.move_up(goes);
        let (to, from) = (stays.head.index(), goes.head.index());
        let mut roots = std::mem::take(&mut self.families.joined[from]);
        roots.push(goes.head);
        for root in &roots {
            self.families.member[root.index()].0 = stays.head;
        }
        self.families.joined[to].append(&mut roots);
        let mut needs = std::mem::take(&mut self.families.needs[from]);
        self.families.needs[to].append(&mut needs);
        self.families.align[to] =
            common_multiple(self.families.align[to], self.families.align[from]);
        self.open[from].clear();
        self.open[to] = (0..self.families.needs[to].len()).collect();
    }

    /// Moves all of a family.
    fn move_up(&mut self, side: Side) {
        if side.up == 0 {
            return;
        }
        let index = side.head.index();
        for root in self.families.joined[index].iter().chain([&side.head]) {
            let at = &mut self.families.member[root.index()].1;
            *at = at.saturating_add(side.up);
        }
        for need in &mut self.families.needs[index] {
            need.span = need.span.shifted(side.up);
        }
    }
}

/// A need of a family that is further up.
fn moved(need: &Need, up: u64) -> Need {
    Need { span: need.span.shifted(up), ..*need }
}

/// The bytes and the time of all of these, from the first to the last.
fn extent(needs: impl Iterator<Item = Need> + Clone) -> Option<(Span, LiveRange)> {
    let all: Vec<Need> = needs.collect();
    let (start, end) = hull(&all)?;
    let lo = all.iter().map(|need| need.span.lo).min()?;
    let hi = all.iter().map(|need| need.span.hi).max()?;
    Some((Span::new(lo, hi), LiveRange::new(start, end)))
}
