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
use plimsoll_pack::dense::CompressedRows;

use crate::align::common_multiple;
use crate::assignment::Assignment;
use crate::ids::{StepId, ValueId};
use crate::liveness::{LiveSpan, guard};
use crate::options::Options;
use crate::point::{LiveRange, Point};
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
pub(crate) struct AliasSets<'l> {
    /// The head of each root's alias set, and where in it the root begins; by value.
    pub(crate) member: Vec<(ValueId, u64)>,
    /// Whose bytes each root took over; by value.
    pub(crate) took_over: Vec<Option<ValueId>>,
    /// How often two alias sets became one.
    pub(crate) coalesced: usize,
    /// What the first byte of each alias set is a multiple of; by head.
    pub(crate) align: Vec<u64>,
    /// What each root needs; by value.
    needs: &'l CompressedRows<LiveSpan>,
    /// The root that is listed behind each in its alias set; by value.
    next: Vec<Option<ValueId>>,
    /// The last of each alias set, and how many needs all of it has; by head.
    last: Vec<ValueId>,
    count: Vec<usize>,
}

impl<'l> AliasSets<'l> {
    /// Every root alone.
    fn new(
        validated: &ValidatedProgram<'_>,
        needs: &'l CompressedRows<LiveSpan>,
        options: &Options,
    ) -> Self {
        AliasSets {
            member: validated.value_ids().map(|value| (value, 0)).collect(),
            took_over: vec![None; validated.values.len()],
            coalesced: 0,
            align: aligns(validated, options),
            needs,
            next: vec![None; validated.values.len()],
            last: validated.value_ids().collect(),
            count: needs.iter().map(<[LiveSpan]>::len).collect(),
        }
    }

    /// The roots of an alias set, the head first.
    pub(crate) fn roots(&self, head: ValueId) -> impl Iterator<Item = ValueId> + Clone + '_ {
        std::iter::successors(Some(head), |root| self.next[root.index()])
    }

    /// What an alias set needs.
    pub(crate) fn live_spans(&self, head: ValueId) -> impl Iterator<Item = LiveSpan> + Clone + '_ {
        self.roots(head).flat_map(|root| {
            let at = self.member[root.index()].1;
            let own = self.needs.row(root.index()).iter();
            own.map(move |one| LiveSpan { span: one.span.shifted(at), ..*one })
        })
    }

    /// One need of a root, as a part of its alias set.
    fn need(&self, root: ValueId, index: u32) -> LiveSpan {
        let one = self.needs.items()[index as usize];
        LiveSpan { span: one.span.shifted(self.member[root.index()].1), ..one }
    }

    /// Puts all of an alias set behind another, whose head stays.
    fn append(&mut self, to: ValueId, from: ValueId) {
        self.next[self.last[to.index()].index()] = Some(from);
        self.last[to.index()] = self.last[from.index()];
        self.count[to.index()] += self.count[from.index()];
        self.align[to.index()] = common_multiple(self.align[to.index()], self.align[from.index()]);
    }
}

/// Decides who takes over what.
pub(crate) fn coalesce<'l>(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    live_spans: &'l CompressedRows<LiveSpan>,
    options: &Options,
    policy: Policy,
) -> Result<AliasSets<'l>, ProgramError> {
    let mut deciding = Deciding {
        validated,
        assignments,
        options,
        policy,
        alias_sets: AliasSets::new(validated, live_spans, options),
        open: OpenNeeds::new(validated.values.len()),
        horizon: horizon(validated, live_spans),
    };
    let mut candidates = Vec::new();
    for step in &validated.schedule {
        deciding.candidates(*step, &mut candidates);
        for overwrite in &candidates {
            let decided = deciding.decide(*step, overwrite);
            if overwrite.must && !decided {
                let Overwrite { output, input, .. } = *overwrite;
                let fault = Fault::OverwriteImpossible { step: *step, output, input };
                return Err(fault.named(validated.program));
            }
        }
    }
    Ok(deciding.alias_sets)
}

/// The needs of each alias set that may not be over when somebody joins it next: lists in one array.
struct OpenNeeds {
    /// Where the list of each alias set begins, `None` if it is to be made of all needs; by head.
    first: Vec<Option<u32>>,
    listed: Vec<OpenNeed>,
}

/// A need of a root, and the next in the list.
#[derive(Clone, Copy)]
struct OpenNeed {
    root: ValueId,
    need: u32,
    next: u32,
}

impl OpenNeeds {
    /// Where a list ends.
    const END: u32 = u32::MAX;

    fn new(values: usize) -> Self {
        OpenNeeds { first: vec![None; values], listed: Vec::new() }
    }

    /// Adds the needs of some roots to the list of a head.
    fn add(
        &mut self,
        needs: &CompressedRows<LiveSpan>,
        head: ValueId,
        roots: impl Iterator<Item = ValueId>,
    ) {
        let mut next = self.first[head.index()].unwrap_or(Self::END);
        for root in roots {
            for need in needs.range(root.index()) {
                let need = u32::try_from(need).expect("fewer than 2^32 needs");
                self.listed.push(OpenNeed { root, need, next });
                next = u32::try_from(self.listed.len() - 1).expect("fewer than 2^32 needs");
            }
        }
        self.first[head.index()] = Some(next);
    }

    /// Keeps those of a head's list that are `kept`.
    fn retain(&mut self, head: ValueId, mut kept: impl FnMut(OpenNeed) -> bool) {
        let mut before: Option<u32> = None;
        let mut at = self.first[head.index()].unwrap_or(Self::END);
        while at != Self::END {
            let one = self.listed[at as usize];
            if kept(one) {
                before = Some(at);
            } else {
                match before {
                    Some(before) => self.listed[before as usize].next = one.next,
                    None => self.first[head.index()] = Some(one.next),
                }
            }
            at = one.next;
        }
    }

    /// A head's list.
    fn of(&self, head: ValueId) -> impl Iterator<Item = OpenNeed> + '_ {
        let get = |at: u32| self.listed.get(at as usize).copied();
        let first = self.first[head.index()].and_then(get);
        std::iter::successors(first, move |one| get(one.next))
    }
}

struct Deciding<'a, 'p, 'l> {
    validated: &'a ValidatedProgram<'p>,
    assignments: &'a [Assignment],
    options: &'a Options,
    policy: Policy,
    alias_sets: AliasSets<'l>,
    open: OpenNeeds,
    /// The earliest moment at which an output of this step or a later one begins; by step.
    horizon: Vec<Point>,
}

impl Deciding<'_, '_, '_> {
    /// The overwrites of a step, in the order in which they are tried: what must be, then the
    /// inputs that fit best.
    fn candidates(&self, step: StepId, candidates: &mut Vec<Overwrite>) {
        candidates.clear();
        candidates.extend_from_slice(self.validated.overwrites.row(step.index()));
        let bytes = |value: ValueId| self.validated.values[value.index()].bytes;
        candidates.sort_by_key(|o| (!o.must, bytes(o.input) - bytes(o.output)));
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
        let free = self.is_free(step, overwrite, head, span);
        if free {
            self.join(overwrite.output, head, at, overwrite.input);
        }
        free
    }

    /// Whether the bytes of an alias set that the output would take are needed by nobody else any more.
    fn is_free(&mut self, step: StepId, overwrite: &Overwrite, head: ValueId, span: Span) -> bool {
        let Deciding { validated, alias_sets, open, .. } = self;
        let output = overwrite.output;
        let Some((begin, end)) = hull(alias_sets.live_spans(output)) else { return false };
        if open.first[head.index()].is_none() {
            open.add(alias_sets.needs, head, alias_sets.roots(head));
        }
        let (in_order, horizon) = (validated.order.is_none(), self.horizon[step.index()]);
        let ends = |one: OpenNeed| alias_sets.needs.items()[one.need as usize].live.end;
        open.retain(head, |one| !in_order || ends(one) > horizon);
        // Byte after byte only if the output is written by the step, not before it.
        let in_step = begin >= Point::writes(validated.position[step.index()])
            && (overwrite.must
                || is_written_as_itself(step, output, alias_sets.live_spans(output)));
        self.open.of(head).all(|one| {
            let live_span = &self.alias_sets.need(one.root, one.need);
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
        })
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
            && sets.next[value.index()].is_none()
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
        let (Some(order), Some(last)) = (&self.validated.order, &live_span.access) else {
            return false;
        };
        let mut accesses = self.alias_sets.live_spans(output).filter_map(|need| need.access);
        accesses.all(|access| order.ordered(last, &access))
    }

    /// Whether no other step than this one touches the output before a need is over.
    fn is_first(&self, step: StepId, live_span: &LiveSpan, output: ValueId) -> bool {
        let (Some(order), Some(own)) = (&self.validated.order, &live_span.access) else {
            return true;
        };
        let mut accesses = self.alias_sets.live_spans(output).filter_map(|need| need.access);
        accesses.all(|access| access.step == step || order.ordered(own, &access))
    }

    fn join(&mut self, output: ValueId, head: ValueId, at: u64, input: ValueId) {
        self.alias_sets.took_over[output.index()] = Some(input);
        self.alias_sets.member[output.index()] = (head, at);
        if self.open.first[head.index()].is_some() {
            self.open.add(self.alias_sets.needs, head, std::iter::once(output));
        }
        self.alias_sets.append(head, output);
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
fn horizon(validated: &ValidatedProgram<'_>, live_spans: &CompressedRows<LiveSpan>) -> Vec<Point> {
    let mut horizon = vec![Point(0); validated.steps()];
    let mut earliest = Point::end_of_run(validated.steps());
    for step in validated.schedule.iter().rev() {
        let outputs =
            validated.overwrites.row(step.index()).iter().map(|o| live_spans.row(o.output.index()));
        let begins = outputs.flatten().map(|live_span| live_span.live.start);
        earliest = begins.fold(earliest, Point::min);
        horizon[step.index()] = earliest;
    }
    horizon
}

/// Whether a need is the step's own read of the value that it overwrites, byte after byte.
fn is_own_read(step: StepId, input: ValueId, live_span: &LiveSpan) -> bool {
    live_span.access.is_some_and(|t| {
        t.step == step && t.value == input && t.kind == AccessKind::Read && t.ends_with_step
    })
}

/// Whether a step writes an output by no other name: what it does to a part of it, or behind that,
/// is not declared to be in place.
fn is_written_as_itself(
    step: StepId,
    output: ValueId,
    live_spans: impl Iterator<Item = LiveSpan>,
) -> bool {
    let mut writes = live_spans.filter_map(|live_span| live_span.access);
    writes.all(|t| t.step != step || t.kind == AccessKind::Read || t.value == output)
}

/// The moment from which on an alias set's bytes are needed, and until when.
pub(crate) fn hull(live_spans: impl Iterator<Item = LiveSpan>) -> Option<(Point, Point)> {
    let lives = live_spans.map(|need| need.live);
    lives.reduce(LiveRange::hull).map(|live| (live.start, live.end))
}
