//! From a program to its cost model.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_pack::Span;
use plimsoll_pack::dense::CompressedRows;

use super::{
    CostModel, Group, GroupId, MOST_COMPARED, Overlay, Piece, PieceId, PieceTouch, Step, Takeover,
};
use crate::align::common_divisor;
use crate::assignment::Assignment;
use crate::ids::{StepId, ValueId};
use crate::liveness::classes::{Class, classes};
use crate::liveness::reserved;
use crate::liveness::uses::{By, Use, uses};
use crate::options::Options;
use crate::point::Point;
use crate::program::{AccessKind, Overwrite};
use crate::validate::ValidatedProgram;

/// A program, as far as its memory is concerned, in the order of its step ids.
pub(crate) struct Source<'a, 'p> {
    pub(crate) validated: &'a ValidatedProgram<'p>,
    pub(crate) assignments: &'a [Assignment],
    pub(crate) options: &'a Options,
    /// For every step those that come before it.
    pub(crate) before: &'a [Vec<StepId>],
    /// Steps of the same block are one group.
    pub(crate) blocks: &'a [Option<u32>],
}

impl CostModel {
    /// The model of a program. Peaks are counted in cells of the common alignment.
    pub(crate) fn of(source: &Source<'_, '_>) -> Self {
        Builder::new(source, alignment(source), false).build()
    }

    /// The same for a bound: sizes as they are, and what is written more than once is alive only
    /// where it is touched.
    pub(crate) fn bound_of(source: &Source<'_, '_>) -> Self {
        Builder::new(source, 1, true).build()
    }
}

/// The roots that are placed.
fn placed<'a>(source: &'a Source<'_, '_>) -> impl Iterator<Item = ValueId> + 'a {
    let Source { validated, assignments, .. } = *source;
    validated.value_ids().filter(move |value| {
        validated.is_root(*value)
            && matches!(assignments[value.index()], Assignment::Packed | Assignment::Kept)
    })
}

/// What all offsets are multiples of.
fn alignment(source: &Source<'_, '_>) -> u64 {
    let Source { validated, options, .. } = *source;
    let of = |value: ValueId| validated.values[value.index()].align.unwrap_or(options.align);
    let roots = placed(source).map(of);
    let scratch = validated.scratch.iter().flatten().map(|scratch| scratch.align);
    roots.chain(scratch).fold(0, common_divisor).max(1)
}

/// The bytes from `lo` to `hi` in whole cells: those that begin there.
fn cells(span: Span, align: u64) -> u64 {
    span.hi.next_multiple_of(align) - span.lo.next_multiple_of(align)
}

/// How much smaller than a number of cells all banks together can be, where the last cell of a bank
/// can be short of so many bytes.
fn padding(options: &Options, short: u64, align: u64) -> u64 {
    // The place of what another plan has put into a bank is anything.
    let short = if options.shared.is_some() { align - 1 } else { short };
    let banks = options.banks.len().max(1) as u64;
    let any_number = options.banks.iter().any(|bank| bank.repeat) && short > 0;
    if any_number { u64::MAX } else { short.saturating_mul(banks) }
}

struct Builder<'a, 'p> {
    source: &'a Source<'a, 'p>,
    align: u64,
    is_bound: bool,
    model: CostModel,
    /// By step, the pieces that it touches, in the order in which they are made: sorted.
    touches: Vec<Vec<PieceTouch>>,
    /// By root, its pieces with their bytes.
    pieces: Vec<Vec<(PieceId, Vec<Span>)>>,
    uses: CompressedRows<Use>,
}

impl<'a, 'p> Builder<'a, 'p> {
    fn new(source: &'a Source<'a, 'p>, align: u64, is_bound: bool) -> Self {
        let Source { validated, assignments, options, .. } = *source;
        Builder {
            source,
            align,
            is_bound,
            model: CostModel { is_bound: true, ..CostModel::default() },
            touches: vec![Vec::new(); validated.steps()],
            pieces: vec![Vec::new(); validated.values.len()],
            uses: uses(validated, assignments, options),
        }
    }

    fn build(mut self) -> CostModel {
        let validated = self.source.validated;
        let in_kept = states_of_kept(self.source);
        let roots: Vec<ValueId> =
            placed(self.source).filter(|root| !in_kept[root.index()]).collect();
        for root in &roots {
            for class in classes(validated, self.uses.row(root.index())) {
                self.add_class(*root, &class);
            }
        }
        let reserved = roots.iter().map(|root| reserved(validated, *root, self.source.options));
        let scratch = validated.scratch.iter().flatten().map(|scratch| scratch.bytes);
        let short = |bytes: u64| bytes.next_multiple_of(self.align) - bytes;
        let short = reserved.chain(scratch).map(short).max().unwrap_or(0);
        self.model.padding = padding(self.source.options, short, self.align);
        let group_of = self.divide();
        for step in (0..validated.steps()).map(StepId::new) {
            let takeovers = self.takeovers(step);
            let group = &mut self.model.groups[group_of[step.index()] as usize];
            let before = &self.source.before[step.index()];
            group.before.extend(before.iter().map(|s| group_of[s.index()]));
            let scratch = validated.scratch[step.index()].map_or(0, |scratch| scratch.bytes);
            let touches = std::mem::take(&mut self.touches[step.index()]);
            add_exactly(
                &mut group.steps,
                Step {
                    touches: shrunk(touches),
                    takeovers,
                    scratch: scratch.next_multiple_of(self.align),
                },
            );
        }
        finish(&mut self.model);
        self.model
    }

    /// A piece for some bytes of a root that are used alike.
    fn add_class(&mut self, root: ValueId, class: &Class) {
        let bytes = class.spans.iter().map(|span| cells(*span, self.align)).sum();
        let writes =
            class.uses.iter().filter(|i| self.uses.row(root.index())[**i].writes()).count();
        let uses: Vec<Use> =
            class.uses.iter().map(|index| self.uses.row(root.index())[*index]).collect();
        if writes <= 1 || uses.iter().any(|one| matches!(one.by, By::Run)) {
            self.add_piece(root, class, bytes, &uses);
        } else if self.is_bound {
            self.add_moments(root, class, bytes, &uses);
        } else {
            self.model.is_bound = false;
            self.add_piece(root, class, bytes, &uses);
        }
    }

    /// A piece for every step at which some bytes are touched, and for that step alone: only one of them
    /// is alive at a time, whatever the order.
    fn add_moments(&mut self, root: ValueId, class: &Class, bytes: u64, uses: &[Use]) {
        let mut moments: BTreeMap<StepId, (bool, bool)> = BTreeMap::new();
        for (step, early, late) in uses.iter().filter_map(Use::touch).flat_map(|t| phases(&t)) {
            let moment = moments.entry(step).or_default();
            *moment = (moment.0 | early, moment.1 | late);
        }
        for (step, (early, late)) in moments.into_iter().filter(|_| bytes > 0) {
            let piece = self.model.pieces.len() as PieceId;
            self.model.pieces.push(Piece { bytes, ..Piece::default() });
            self.pieces[root.index()].push((piece, class.spans.clone()));
            let touch = PieceTouch { piece, early, late, first: true, last: true };
            self.touches[step.index()].push(touch);
        }
    }

    fn add_piece(&mut self, root: ValueId, class: &Class, bytes: u64, uses: &[Use]) {
        if bytes == 0 {
            return;
        }
        let piece = self.model.pieces.len() as PieceId;
        let end = Point::end_of_run(self.source.validated.steps());
        let kept = |one: &Use| one.live.end == end;
        let given = |one: &Use| matches!(one.by, By::Caller | By::Run);
        self.model.pieces.push(Piece {
            bytes,
            groups: Vec::new(),
            given: uses.iter().any(given),
            kept: uses.iter().any(kept),
        });
        add_exactly(&mut self.pieces[root.index()], (piece, class.spans.clone()));
        for touch in uses.iter().filter_map(Use::touch) {
            for (step, early, late) in phases(&touch) {
                let touches = &mut self.touches[step.index()];
                match touches.last_mut().filter(|known| known.piece == piece) {
                    Some(known) => {
                        known.early |= early;
                        known.late |= late;
                    }
                    None => {
                        touches.push(PieceTouch { piece, early, late, first: true, last: true });
                    }
                }
            }
        }
    }

    /// Puts steps into groups; gives the group of each.
    fn divide(&mut self) -> Vec<GroupId> {
        let mut group_of: Vec<GroupId> = Vec::with_capacity(self.source.blocks.len());
        let mut current = None;
        for (index, block) in self.source.blocks.iter().enumerate() {
            if block.is_none() || *block != current {
                self.model.groups.push(Group::default());
            }
            current = *block;
            let group = self.model.groups.len() - 1;
            add_exactly(&mut self.model.groups[group].ids, StepId::new(index));
            group_of.push(group as GroupId);
        }
        group_of
    }

    /// What outputs of a step can take over.
    fn takeovers(&self, step: StepId) -> Vec<Takeover> {
        let Source { validated, options, .. } = *self.source;
        let declared = validated.overwrites.row(step.index()).iter();
        let allowed = declared.filter(|o| o.must || options.in_place);
        let found: Vec<(Target, Vec<Overlay>)> =
            allowed.filter_map(|overwrite| self.takeover(step, overwrite)).collect();
        let conflicts = |a: &Target, b: &Target| {
            a.output == b.output || a.input == b.input && a.span.meets(b.span)
        };
        let excludes = |index: usize| {
            let others = found.iter().enumerate().take(MOST_COMPARED);
            let others = others.filter(|(other, (target, _))| {
                *other != index && conflicts(target, &found[index].0)
            });
            others.fold(0u64, |bits, (other, _)| bits | 1 << other)
        };
        let excludes: Vec<u64> = (0..found.len()).map(excludes).collect();
        let takeovers = found.into_iter().zip(excludes);
        let takeovers = takeovers.map(|((_, pairs), excludes)| Takeover { pairs, excludes });
        shrunk(takeovers.collect())
    }

    /// What of an output would lie over what of an input, unless the step itself is in the way.
    fn takeover(&self, step: StepId, overwrite: &Overwrite) -> Option<(Target, Vec<Overlay>)> {
        let validated = self.source.validated;
        let Overwrite { output, input, .. } = *overwrite;
        let (into, from) = (validated.roots[input.index()], validated.roots[output.index()]);
        let has_rows = into.rows.is_some() || from.rows.is_some();
        if has_rows || into.root == from.root {
            return None;
        }
        let bytes = validated.values[output.index()].bytes;
        let span = Span::new(into.offset, into.offset + bytes);
        let made = Span::new(from.offset, from.offset + bytes);
        let touches = &self.touches[step.index()];
        let is_touched =
            |piece: PieceId| touches.binary_search_by_key(&piece, |touch| touch.piece).is_ok();
        let in_the_way = |one: &Use| {
            let Some(touch) = one.touch().filter(|touch| touch.span.meets(span)) else {
                return false;
            };
            let own = touch.step == step && touch.value == input && touch.ends_with_step;
            let own = own && touch.kind == AccessKind::Read;
            !own && phases(&touch).iter().any(|(at, _, late)| *at == step && *late)
        };
        let early = |one: &Use| {
            one.touch().filter(|touch| touch.span.meets(made)).is_some_and(|touch| {
                phases(&touch).iter().any(|(at, early, _)| *at == step && *early)
            })
        };
        if self.uses.row(into.root.index()).iter().any(in_the_way)
            || self.uses.row(from.root.index()).iter().any(early)
        {
            return None;
        }
        let mut pairs = Vec::new();
        for (new, news) in self.pieces[from.root.index()].iter().filter(|(id, _)| is_touched(*id)) {
            for (old, olds) in &self.pieces[into.root.index()] {
                if is_touched(*old) {
                    let bytes = common_cells(news, made, olds, span, self.align);
                    pairs.extend((bytes > 0).then_some(Overlay {
                        output: *new,
                        input: *old,
                        bytes,
                    }));
                }
            }
        }
        let target = Target { output, input: into.root, span };
        (!pairs.is_empty()).then_some((target, shrunk(pairs)))
    }
}

/// Adds to a list that mostly stays at one: there are as many as steps, and room for four would be most of
/// the memory.
fn add_exactly<T>(list: &mut Vec<T>, item: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(item);
}

/// A list without room for more.
fn shrunk<T>(mut list: Vec<T>) -> Vec<T> {
    list.shrink_to_fit();
    list
}

/// Where an output would go.
struct Target {
    output: ValueId,
    /// The root, and its bytes.
    input: ValueId,
    span: Span,
}

/// The cells of two sets of bytes that are the same where `made` of the first lies in `target` of the
/// second. What is written behind the end of an output stays clear of what the step reads.
fn common_cells(news: &[Span], made: Span, olds: &[Span], target: Span, align: u64) -> u64 {
    let (mut new, mut old, mut bytes) = (0, 0, 0);
    while new < news.len() && old < olds.len() {
        let inside = news[new].and(made);
        if inside.is_empty() {
            new += 1;
            continue;
        }
        let span = Span::new(inside.lo - made.lo, inside.hi - made.lo).shifted(target.lo);
        let both = span.and(olds[old]);
        if both.lo < both.hi {
            bytes += cells(both, align);
        }
        if span.hi <= olds[old].hi { new += 1 } else { old += 1 }
    }
    bytes
}

/// The steps at which an access begins, is made and ends, with whether it is there while that step
/// reads, before it has begun to write, and while it writes.
fn phases(touch: &crate::validate::Touch) -> Vec<(StepId, bool, bool)> {
    let own_early = touch.first != touch.step || touch.kind == AccessKind::Read;
    let over_early = touch.live.end.0 % 2 == 1 && touch.last == Some(touch.step);
    let mut phases = vec![(touch.step, own_early, !over_early)];
    if touch.first != touch.step {
        phases.push((touch.first, true, true));
    }
    if let Some(last) = touch.last.filter(|last| *last != touch.step) {
        phases.push((last, true, true));
    }
    phases
}

/// Whether a root is a later state of one that is kept: its bytes are counted there. By value.
fn states_of_kept(source: &Source<'_, '_>) -> Vec<bool> {
    let Source { validated, assignments, .. } = *source;
    let mut inside: Vec<bool> = vec![false; validated.values.len()];
    for overwrite in validated.overwrites.items().iter().filter(|overwrite| overwrite.must) {
        let root = validated.roots[overwrite.input.index()].root.index();
        inside[overwrite.output.index()] = assignments[root] == Assignment::Kept || inside[root];
    }
    inside
}

/// Fills in what follows from the rest.
fn finish(model: &mut CostModel) {
    for index in 0..model.groups.len() {
        let id = index as GroupId;
        let mut before = std::mem::take(&mut model.groups[index].before);
        before.sort_unstable();
        before.dedup();
        before.retain(|other| *other != id);
        for other in &before {
            model.groups[*other as usize].behind.push(id);
        }
        let group = &mut model.groups[index];
        group.before = before;
        mark_ends(&mut group.steps);
        let firsts = group.steps.iter().flat_map(|step| &step.touches).filter(|t| t.first);
        group.touches = firsts.map(|touch| touch.piece).collect();
        group.touches.sort_unstable();
        for piece in &group.touches {
            model.pieces[*piece as usize].groups.push(id);
        }
    }
    let sum = |alive: fn(&Piece) -> bool| -> u64 {
        model.pieces.iter().filter(|piece| alive(piece)).map(|piece| piece.bytes).sum()
    };
    let (given, end) = (sum(|piece| piece.given), sum(|piece| piece.kept));
    let idle = sum(|piece| piece.given && !piece.kept && piece.groups.is_empty());
    (model.base, model.idle, model.end) = (given - idle, idle, end);
}

/// Says which touches of steps that run in a row are the first and the last of their piece.
fn mark_ends(steps: &mut [Step]) {
    if steps.len() < 2 {
        return;
    }
    let mut seen = BTreeSet::new();
    for touch in steps.iter_mut().flat_map(|step| &mut step.touches) {
        touch.first = seen.insert(touch.piece);
    }
    seen.clear();
    for touch in steps.iter_mut().rev().flat_map(|step| &mut step.touches) {
        touch.last = seen.insert(touch.piece);
    }
}
