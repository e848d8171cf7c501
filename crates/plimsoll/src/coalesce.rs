//! Which outputs take over the bytes of an input in place.
//!
//! Values that are the same storage form a *alias set*: a root with its views, whatever took over its
//! bytes, whatever took over theirs, and so on. An output joins the alias set of an input where the
//! step declares that it may (or must), the bytes that it would take are needed by nobody else any
//! more, they are ours to give, and it fits. What is left of the input behind a smaller output is
//! free, since needs are by bytes. An output that shares its storage with others already, as a part
//! of a concat does, brings them with it: two alias sets become one, see [`merge`].
//!
//! Refusing is always allowed, except where the program says *must*; [`Policy`] says how much is
//! refused. Cost: O(overwrites × needs of an alias set that are still open), where outputs are alone.

mod merge;

use plimsoll_pack::Span;

use crate::align::common_multiple;
use crate::assignment::Assignment;
use crate::ids::{StepId, ValueId};
use crate::liveness::{LiveSpan, guard};
use crate::options::Options;
use crate::point::Point;
use crate::program::{AccessKind, Overwrite};
use crate::validate::{Fault, ProgramError, ValidatedProgram};

/// How much is taken over in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Whatever may.
    Any,
    /// Only by outputs that share their storage with nobody yet: no two alias sets become one.
    Alone,
    /// Only where input and output are equally large: nothing is held back for a smaller output.
    SameSize,
    /// Only what must.
    Must,
}

/// The alias sets, and what they need.
pub(crate) struct AliasSets {
    /// The head of each root's alias set, and where in it the root begins; by value.
    pub(crate) member: Vec<(ValueId, u64)>,
    /// Whose bytes each root took over; by value.
    pub(crate) took_over: Vec<Option<ValueId>>,
    /// What each alias set needs; by head.
    pub(crate) live_spans: Vec<Vec<LiveSpan>>,
    /// How often two alias sets became one.
    pub(crate) coalesced: usize,
    /// The roots of each alias set but for the head; by head.
    joined: Vec<Vec<ValueId>>,
    /// What the first byte of each alias set is a multiple of; by head.
    pub(crate) align: Vec<u64>,
}

/// Decides who takes over what.
pub(crate) fn coalesce(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    live_spans: Vec<Vec<LiveSpan>>,
    options: &Options,
    policy: Policy,
) -> Result<AliasSets, ProgramError> {
    let member = validated.value_ids().map(|v| (v, 0)).collect();
    let open = live_spans.iter().map(|n| (0..n.len()).collect()).collect();
    let alias_sets = AliasSets {
        member,
        took_over: vec![None; validated.values.len()],
        live_spans,
        coalesced: 0,
        joined: vec![Vec::new(); validated.values.len()],
        align: aligns(validated, options),
    };
    let horizon = horizon(validated, &alias_sets.live_spans);
    let mut deciding =
        Deciding { validated, assignments, options, policy, alias_sets, open, horizon };
    for step in &validated.schedule {
        for overwrite in deciding.candidates(*step) {
            let decided = deciding.decide(*step, &overwrite);
            if overwrite.must && !decided {
                let Overwrite { output, input, .. } = overwrite;
                let fault = Fault::OverwriteImpossible { step: *step, output, input };
                return Err(fault.named(validated.program));
            }
        }
    }
    Ok(deciding.alias_sets)
}

struct Deciding<'a, 'p> {
    validated: &'a ValidatedProgram<'p>,
    assignments: &'a [Assignment],
    options: &'a Options,
    policy: Policy,
    alias_sets: AliasSets,
    /// The needs of each alias set that may not be over when somebody joins it next; by head.
    open: Vec<Vec<usize>>,
    /// The earliest moment at which an output of this step or a later one begins; by step.
    horizon: Vec<Point>,
}

impl Deciding<'_, '_> {
    /// The overwrites of a step, in the order in which they are tried: what must be, then the
    /// inputs that fit best.
    fn candidates(&self, step: StepId) -> Vec<Overwrite> {
        let mut candidates = self.validated.overwrites[step.index()].clone();
        let bytes = |value: ValueId| self.validated.values[value.index()].bytes;
        candidates.sort_by_key(|o| (!o.must, bytes(o.input) - bytes(o.output)));
        candidates
    }

    /// Lets the output take over the input's bytes if that is allowed.
    fn decide(&mut self, step: StepId, overwrite: &Overwrite) -> bool {
        let bank =
            |value: ValueId| self.validated.program.bank(self.validated.roots[value.index()].root);
        if bank(overwrite.output) != bank(overwrite.input) {
            return false;
        }
        if !overwrite.must && !self.is_alone(overwrite.output) {
            return self.coalesce(step, overwrite);
        }
        let Some(span) = self.target(overwrite) else { return false };
        let (head, at) = self.place_of(overwrite.input);
        let output = overwrite.output;
        let live_spans = &self.alias_sets.live_spans[output.index()];
        let Some((begin, end)) = hull(live_spans) else { return false };
        let alias_set = &self.alias_sets.live_spans[head.index()];
        let (in_order, horizon) = (self.validated.order.is_none(), self.horizon[step.index()]);
        self.open[head.index()].retain(|i| !in_order || alias_set[*i].live.end > horizon);
        // Byte after byte only if the output is written by the step, not before it.
        let in_step = begin >= Point::writes(self.validated.position[step.index()])
            && (overwrite.must || is_written_as_itself(step, output, live_spans));
        let free = self.open[head.index()].iter().map(|i| &alias_set[*i]).all(|live_span| {
            // Out of order nobody can say which bytes are needed first: the whole alias set counts,
            // and over in the schedule is not over.
            let apart = live_span.live.end <= begin || live_span.live.start >= end;
            let apart = in_order && (!live_span.span.meets(span) || apart);
            apart
                || live_span.is_fill()
                || in_step
                    && is_own_read(step, overwrite.input, live_span)
                    && self.is_first(step, live_span, output)
                || self.is_over(live_span, output)
                // A state survives in its next state; who fetches the old one has another need.
                || overwrite.must && live_span.is_kept
        });
        if free {
            self.join(output, head, at, overwrite.input);
        }
        free
    }

    /// The bytes of the alias set that the output would take, if everything but time allows it.
    fn target(&self, overwrite: &Overwrite) -> Option<Span> {
        let Overwrite { output, input, must } = *overwrite;
        let (out, into) =
            (&self.validated.values[output.index()], &self.validated.values[input.index()]);
        let allowed = must
            || match self.policy {
                Policy::Any | Policy::Alone => self.options.in_place,
                Policy::SameSize => self.options.in_place && out.bytes == into.bytes,
                Policy::Must => false,
            };
        // Only a value of its own that nobody has a claim on can move in, and only once.
        let movable = self.is_alone(output);
        let ours = match (&self.assignments[input.index()], &self.assignments[output.index()]) {
            (Assignment::Packed, Assignment::Packed) => true,
            (Assignment::Kept, Assignment::Packed)
            | (Assignment::External, Assignment::External) => must,
            (Assignment::Shared(old), Assignment::Shared(new)) => {
                let offset = old.offset + self.validated.roots[input.index()].offset;
                must && (&old.bank, offset) == (&new.bank, new.offset)
            }
            _ => false,
        };
        let (_, at) = self.place_of(input);
        let align = self.alias_sets.align[output.index()];
        let guarded = guard(self.validated, output, self.options);
        // What is written behind the end of the output may be what the step still reads.
        let stretch = self.validated.roots[input.index()].rows.is_none();
        let fits = guarded == 0 && out.bytes <= into.bytes && stretch;
        (allowed && movable && ours && fits && at.is_multiple_of(align))
            .then(|| Span::new(at, at + out.bytes))
    }

    /// Whether a value shares its storage with nobody but views of it.
    fn is_alone(&self, value: ValueId) -> bool {
        let sets = &self.alias_sets;
        self.validated.is_root(value)
            && sets.member[value.index()].0 == value
            && sets.joined[value.index()].is_empty()
    }

    /// The alias set of a value, and where in it the value begins.
    fn place_of(&self, value: ValueId) -> (ValueId, u64) {
        let rooted = self.validated.roots[value.index()];
        let (head, at) = self.alias_sets.member[rooted.root.index()];
        (head, at + rooted.offset)
    }

    /// Whether a need that is open is certainly over before the output is touched at all.
    fn is_over(&self, live_span: &LiveSpan, output: ValueId) -> bool {
        // In order it would not be open any more.
        let (Some(order), Some(last)) = (&self.validated.order, &live_span.touch) else {
            return false;
        };
        let touches = self.alias_sets.live_spans[output.index()].iter().filter_map(|n| n.touch);
        touches.into_iter().all(|touch| order.ordered(last, &touch))
    }

    /// Whether no other step than this one touches the output before a need is over.
    fn is_first(&self, step: StepId, live_span: &LiveSpan, output: ValueId) -> bool {
        let (Some(order), Some(own)) = (&self.validated.order, &live_span.touch) else {
            return true;
        };
        let touches = self.alias_sets.live_spans[output.index()].iter().filter_map(|n| n.touch);
        touches.into_iter().all(|touch| touch.step == step || order.ordered(own, &touch))
    }

    fn join(&mut self, output: ValueId, head: ValueId, at: u64, input: ValueId) {
        self.alias_sets.took_over[output.index()] = Some(input);
        self.alias_sets.member[output.index()] = (head, at);
        self.alias_sets.joined[head.index()].push(output);
        let align = self.alias_sets.align[output.index()];
        self.alias_sets.align[head.index()] =
            common_multiple(self.alias_sets.align[head.index()], align);
        for mut live_span in std::mem::take(&mut self.alias_sets.live_spans[output.index()]) {
            live_span.span = live_span.span.shifted(at);
            self.open[head.index()].push(self.alias_sets.live_spans[head.index()].len());
            self.alias_sets.live_spans[head.index()].push(live_span);
        }
        self.open[output.index()].clear();
    }
}

/// What the first byte of every root is a multiple of; by root. Views have wishes too.
fn aligns(validated: &ValidatedProgram<'_>, options: &Options) -> Vec<u64> {
    let mut aligns = vec![1; validated.values.len()];
    for value in validated.value_ids() {
        let own = validated.is_root(value).then_some(options.align);
        let align = validated.values[value.index()].align.or(own).unwrap_or(1);
        let root = &mut aligns[validated.roots[value.index()].root.index()];
        *root = common_multiple(*root, align);
    }
    aligns
}

/// The earliest moment at which any output of a step or of a later one begins; by step.
fn horizon(validated: &ValidatedProgram<'_>, live_spans: &[Vec<LiveSpan>]) -> Vec<Point> {
    let mut horizon = vec![Point(0); validated.steps()];
    let mut earliest = Point::end_of_run(validated.steps());
    for step in validated.schedule.iter().rev() {
        let outputs =
            validated.overwrites[step.index()].iter().map(|o| &live_spans[o.output.index()]);
        let begins = outputs.flatten().map(|live_span| live_span.live.start);
        earliest = begins.fold(earliest, Point::min);
        horizon[step.index()] = earliest;
    }
    horizon
}

/// Whether a need is the step's own read of the value that it overwrites, byte after byte.
fn is_own_read(step: StepId, input: ValueId, live_span: &LiveSpan) -> bool {
    live_span.touch.is_some_and(|t| {
        t.step == step && t.value == input && t.kind == AccessKind::Read && t.ends_with_step
    })
}

/// Whether a step writes an output by no other name: what it does to a part of it, or behind that,
/// is not declared to be in place.
fn is_written_as_itself(step: StepId, output: ValueId, live_spans: &[LiveSpan]) -> bool {
    let mut writes = live_spans.iter().filter_map(|live_span| live_span.touch);
    writes.all(|t| t.step != step || t.kind == AccessKind::Read || t.value == output)
}

/// The moment from which on an alias set's bytes are needed, and until when.
pub(crate) fn hull(live_spans: &[LiveSpan]) -> Option<(Point, Point)> {
    let start = live_spans.iter().map(|n| n.live.start).min()?;
    let end = live_spans.iter().map(|n| n.live.end).max()?;
    Some((start, end))
}
