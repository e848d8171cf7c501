//! Which outputs take over the bytes of an input in place.
//!
//! Values that are the same storage form a *family*: a root with its views, whatever took over its
//! bytes, whatever took over theirs, and so on. An output joins the family of an input where the
//! step declares that it may (or must), the bytes that it would take are needed by nobody else any
//! more, they are ours to give, and it fits. What is left of the input behind a smaller output is
//! free, since needs are by bytes. An output that shares its storage with others already, as a part
//! of a concat does, brings them with it: two families become one, see [`coalesce`].
//!
//! Refusing is always allowed, except where the program says *must*; [`Policy`] says how much is
//! refused. Cost: O(overwrites × needs of a family that are still open), where outputs are alone.

mod coalesce;

use plimsoll_pack::Span;

use crate::align::common_multiple;
use crate::home::Home;
use crate::ids::{StepId, ValueId};
use crate::liveness::{Need, guard};
use crate::options::Options;
use crate::point::Point;
use crate::program::{AccessKind, Overwrite};
use crate::validate::{Checked, Fault, ProgramError};

/// How much is taken over in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Whatever may.
    Any,
    /// Only by outputs that share their storage with nobody yet: no two families become one.
    Alone,
    /// Only where input and output are equally large: nothing is held back for a smaller output.
    SameSize,
    /// Only what must.
    Must,
}

/// The families, and what they need.
pub(crate) struct Families {
    /// The head of each root's family, and where in it the root begins; by value.
    pub(crate) member: Vec<(ValueId, u64)>,
    /// Whose bytes each root took over; by value.
    pub(crate) took_over: Vec<Option<ValueId>>,
    /// What each family needs; by head.
    pub(crate) needs: Vec<Vec<Need>>,
    /// How often two families became one.
    pub(crate) coalesced: usize,
    /// The roots of each family but for the head; by head.
    joined: Vec<Vec<ValueId>>,
    /// What the first byte of each family is a multiple of; by head.
    pub(crate) align: Vec<u64>,
}

/// Decides who takes over what.
pub(crate) fn families(
    checked: &Checked<'_>,
    homes: &[Home],
    needs: Vec<Vec<Need>>,
    options: &Options,
    policy: Policy,
) -> Result<Families, ProgramError> {
    let member = checked.value_ids().map(|v| (v, 0)).collect();
    let open = needs.iter().map(|n| (0..n.len()).collect()).collect();
    let families = Families {
        member,
        took_over: vec![None; checked.values.len()],
        needs,
        coalesced: 0,
        joined: vec![Vec::new(); checked.values.len()],
        align: aligns(checked, options),
    };
    let horizon = horizon(checked, &families.needs);
    let mut deciding = Deciding { checked, homes, options, policy, families, open, horizon };
    for step in &checked.schedule {
        for overwrite in deciding.candidates(*step) {
            let decided = deciding.decide(*step, &overwrite);
            if overwrite.must && !decided {
                let Overwrite { output, input, .. } = overwrite;
                let fault = Fault::OverwriteImpossible { step: *step, output, input };
                return Err(fault.named(checked.program));
            }
        }
    }
    Ok(deciding.families)
}

struct Deciding<'a, 'p> {
    checked: &'a Checked<'p>,
    homes: &'a [Home],
    options: &'a Options,
    policy: Policy,
    families: Families,
    /// The needs of each family that may not be over when somebody joins it next; by head.
    open: Vec<Vec<usize>>,
    /// The earliest moment at which an output of this step or a later one begins; by step.
    horizon: Vec<Point>,
}

impl Deciding<'_, '_> {
    /// The overwrites of a step, in the order in which they are tried: what must be, then the
    /// inputs that fit best.
    fn candidates(&self, step: StepId) -> Vec<Overwrite> {
        let mut candidates = self.checked.overwrites[step.index()].clone();
        let bytes = |value: ValueId| self.checked.values[value.index()].bytes;
        candidates.sort_by_key(|o| (!o.must, bytes(o.input) - bytes(o.output)));
        candidates
    }

    /// Lets the output take over the input's bytes if that is allowed.
    fn decide(&mut self, step: StepId, overwrite: &Overwrite) -> bool {
        if !overwrite.must && !self.is_alone(overwrite.output) {
            return self.coalesce(step, overwrite);
        }
        let Some(span) = self.target(overwrite) else { return false };
        let (head, at) = self.place_of(overwrite.input);
        let output = overwrite.output;
        let needs = &self.families.needs[output.index()];
        let Some((begin, end)) = hull(needs) else { return false };
        let family = &self.families.needs[head.index()];
        let (in_order, horizon) = (self.checked.order.is_none(), self.horizon[step.index()]);
        self.open[head.index()].retain(|i| !in_order || family[*i].live.end > horizon);
        // Byte after byte only if the output is written by the step, not before it.
        let in_step = begin >= Point::writes(self.checked.position[step.index()]);
        let free = self.open[head.index()].iter().map(|i| &family[*i]).all(|need| {
            // Out of order nobody can say which bytes are needed first: the whole family counts,
            // and over in the schedule is not over.
            let apart = need.live.end <= begin || need.live.start >= end;
            let apart = in_order && (!need.span.meets(span) || apart);
            apart
                || need.is_fill()
                || in_step
                    && is_own_read(step, overwrite.input, need)
                    && self.is_first(step, need, output)
                || self.is_over(need, output)
                || overwrite.must && self.is_kept(need, head)
        });
        if free {
            self.join(output, head, at, overwrite.input);
        }
        free
    }

    /// The bytes of the family that the output would take, if everything but time allows it.
    fn target(&self, overwrite: &Overwrite) -> Option<Span> {
        let Overwrite { output, input, must } = *overwrite;
        let (out, into) =
            (&self.checked.values[output.index()], &self.checked.values[input.index()]);
        let allowed = must
            || match self.policy {
                Policy::Any | Policy::Alone => self.options.in_place,
                Policy::SameSize => self.options.in_place && out.bytes == into.bytes,
                Policy::Must => false,
            };
        // Only a value of its own that nobody has a claim on can move in, and only once.
        let movable = self.is_alone(output);
        let ours = match (&self.homes[input.index()], &self.homes[output.index()]) {
            (Home::Packed, Home::Packed) => true,
            (Home::Kept, Home::Packed) | (Home::External, Home::External) => must,
            (Home::Shared(old), Home::Shared(new)) => {
                let offset = old.offset + self.checked.roots[input.index()].offset;
                must && (&old.bank, offset) == (&new.bank, new.offset)
            }
            _ => false,
        };
        let (_, at) = self.place_of(input);
        let align = self.families.align[output.index()];
        let guarded = guard(self.checked, output, self.options);
        // What is written behind the end of the output may be what the step still reads.
        let stretch = self.checked.roots[input.index()].rows.is_none();
        let fits = guarded == 0 && out.bytes <= into.bytes && stretch;
        (allowed && movable && ours && fits && at.is_multiple_of(align))
            .then(|| Span::new(at, at + out.bytes))
    }

    /// Whether a value shares its storage with nobody but views of it.
    fn is_alone(&self, value: ValueId) -> bool {
        let families = &self.families;
        self.checked.is_root(value)
            && families.member[value.index()].0 == value
            && families.joined[value.index()].is_empty()
    }

    /// The family of a value, and where in it the value begins.
    fn place_of(&self, value: ValueId) -> (ValueId, u64) {
        let rooted = self.checked.roots[value.index()];
        let (head, at) = self.families.member[rooted.root.index()];
        (head, at + rooted.offset)
    }

    /// Whether a need that is open is certainly over before the output is touched at all.
    fn is_over(&self, need: &Need, output: ValueId) -> bool {
        // In order it would not be open any more.
        let (Some(order), Some(last)) = (&self.checked.order, &need.touch) else {
            return false;
        };
        let touches = self.families.needs[output.index()].iter().filter_map(|n| n.touch);
        touches.into_iter().all(|touch| order.ordered(last, &touch))
    }

    /// Whether no other step than this one touches the output before a need is over.
    fn is_first(&self, step: StepId, need: &Need, output: ValueId) -> bool {
        let (Some(order), Some(own)) = (&self.checked.order, &need.touch) else { return true };
        let touches = self.families.needs[output.index()].iter().filter_map(|n| n.touch);
        touches.into_iter().all(|touch| touch.step == step || order.ordered(own, &touch))
    }

    /// Whether the need is only that a state survives, which its next state does for it.
    fn is_kept(&self, need: &Need, head: ValueId) -> bool {
        need.touch.is_none() && self.homes[head.index()] == Home::Kept
    }

    fn join(&mut self, output: ValueId, head: ValueId, at: u64, input: ValueId) {
        self.families.took_over[output.index()] = Some(input);
        self.families.member[output.index()] = (head, at);
        self.families.joined[head.index()].push(output);
        let align = self.families.align[output.index()];
        self.families.align[head.index()] =
            common_multiple(self.families.align[head.index()], align);
        for mut need in std::mem::take(&mut self.families.needs[output.index()]) {
            need.span = need.span.shifted(at);
            self.open[head.index()].push(self.families.needs[head.index()].len());
            self.families.needs[head.index()].push(need);
        }
        self.open[output.index()].clear();
    }
}

/// What the first byte of every root is a multiple of; by root. Views have wishes too.
fn aligns(checked: &Checked<'_>, options: &Options) -> Vec<u64> {
    let mut aligns = vec![1; checked.values.len()];
    for value in checked.value_ids() {
        let own = checked.is_root(value).then_some(options.align);
        let align = checked.values[value.index()].align.or(own).unwrap_or(1);
        let root = &mut aligns[checked.roots[value.index()].root.index()];
        *root = common_multiple(*root, align);
    }
    aligns
}

/// The earliest moment at which any output of a step or of a later one begins; by step.
fn horizon(checked: &Checked<'_>, needs: &[Vec<Need>]) -> Vec<Point> {
    let mut horizon = vec![Point(0); checked.steps()];
    let mut earliest = Point::end_of_run(checked.steps());
    for step in checked.schedule.iter().rev() {
        let outputs = checked.overwrites[step.index()].iter().map(|o| &needs[o.output.index()]);
        let begins = outputs.flatten().map(|need| need.live.start);
        earliest = begins.fold(earliest, Point::min);
        horizon[step.index()] = earliest;
    }
    horizon
}

/// Whether a need is the step's own read of the value that it overwrites, byte after byte.
fn is_own_read(step: StepId, input: ValueId, need: &Need) -> bool {
    need.touch.is_some_and(|t| {
        t.step == step && t.value == input && t.kind == AccessKind::Read && t.ends_with_step
    })
}

/// The moment from which on a family's bytes are needed, and until when.
pub(crate) fn hull(needs: &[Need]) -> Option<(Point, Point)> {
    let start = needs.iter().map(|n| n.live.start).min()?;
    let end = needs.iter().map(|n| n.live.end).max()?;
    Some((start, end))
}
