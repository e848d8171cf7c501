//! The cost model of orders: the bytes alive while each step of an order runs.
//!
//! It is made from the same [uses](crate::liveness::uses) that the live ranges of a plan come from.
//! Bytes of a root that are used alike are one *piece* here. A piece is alive from the first step
//! that touches it to the last, so after any set of steps the bytes alive depend on the set and not on
//! the order in which they ran. A step reads, then writes: while it writes, what it makes and what it
//! reads are alive at the same time, except for reads that are over by then and for outputs that take
//! over an input that dies with the step.
//!
//! Sizes are counted in cells of the alignment that all offsets have in common: a piece has the cells
//! that begin in it. Since no two pieces share such a beginning, a plan of an order whose cost is
//! `peak` has at least `peak - padding` bytes, where `padding` is what the last cell of the arena can
//! be short of. A plan may need more: it may leave bytes between the first and the last that are
//! needed unused, may not take over what it could, and a packing may leave gaps.
//!
//! Bytes that are written more than once are the exception. They are alive from the first touch to the
//! last in an *estimate*, which a search goes by; in a *bound* only where they are touched.
//!
//! Steps that have to run one after another without others in between are a *group*; most groups are
//! one step. All searches order groups.

pub(crate) mod build;

use crate::ids::StepId;

/// A group of steps, from 0.
pub(crate) type GroupId = u32;

/// Some bytes that are used alike, from 0.
pub(crate) type PieceId = u32;

/// The groups of a program, and what they do to memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostModel {
    groups: Vec<Group>,
    pieces: Vec<Piece>,
    /// What is alive before the first step and is touched or kept.
    base: u64,
    /// What is alive before the first step and nobody wants any more.
    idle: u64,
    /// What is alive after the last step.
    end: u64,
    /// An arena is at most so much smaller than the peak.
    padding: u64,
    /// Whether a peak, less the padding, is a bound and not only an estimate.
    is_bound: bool,
    /// Whether time runs backwards: inputs are made and outputs die.
    backwards: bool,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// The program's steps, in order.
    ids: Vec<StepId>,
    steps: Vec<Step>,
    /// The pieces that it touches; sorted.
    touches: Vec<PieceId>,
    /// The groups that it waits for, and those that wait for it; sorted.
    before: Vec<GroupId>,
    behind: Vec<GroupId>,
}

/// What a step does to pieces.
#[derive(Clone, Debug, Default)]
struct Step {
    touches: Vec<PieceTouch>,
    takeovers: Vec<Takeover>,
    scratch: u64,
}

/// A step that touches a piece.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "four independent facts, each asked for on its own"
)]
struct PieceTouch {
    piece: PieceId,
    /// Whether that begins in the first phase of the step, reading, or only in the second.
    early: bool,
    /// Whether it goes on in the second phase of the step.
    late: bool,
    /// Whether no earlier step of the group touches it.
    first: bool,
    /// Whether no later one does.
    last: bool,
}

/// An output that may take over an input's bytes.
#[derive(Clone, Debug)]
struct Takeover {
    /// What of the output lies over what of the input, and how many bytes of it.
    pairs: Vec<Overlay>,
    /// Other takeovers of the step that cannot be done beside this one, as bits.
    excludes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Overlay {
    output: PieceId,
    input: PieceId,
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    bytes: u64,
    /// The groups that touch it; sorted.
    groups: Vec<GroupId>,
    /// Whether it lives from the beginning.
    given: bool,
    /// Whether it lives to the end.
    kept: bool,
}

/// More takeovers than this in one step are not compared with each other.
const MOST_COMPARED: usize = 8;

/// What a group does to the bytes that are alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// How many more are alive at most while it runs.
    pub(crate) during: i64,
    /// How many more are alive afterwards.
    pub(crate) after: i64,
}

impl CostModel {
    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The groups that a group waits for.
    pub(crate) fn before(&self, group: GroupId) -> &[GroupId] {
        &self.groups[group as usize].before
    }

    /// The groups that wait for a group.
    pub(crate) fn behind(&self, group: GroupId) -> &[GroupId] {
        &self.groups[group as usize].behind
    }

    /// The pieces that a group touches.
    pub(crate) fn touches(&self, group: GroupId) -> &[PieceId] {
        &self.groups[group as usize].touches
    }

    /// The groups that touch a piece.
    pub(crate) fn touching(&self, piece: PieceId) -> &[GroupId] {
        &self.pieces[piece as usize].groups
    }

    /// The size of a piece.
    pub(crate) fn bytes(&self, piece: PieceId) -> u64 {
        self.pieces[piece as usize].bytes
    }

    /// How many pieces there are.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Whether a piece lives from the beginning, and whether it lives to the end.
    pub(crate) fn ends(&self, piece: PieceId) -> (bool, bool) {
        let piece = &self.pieces[piece as usize];
        (piece.given, piece.kept)
    }

    /// What is alive when the first step begins.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// What is alive after the last step.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// What is alive before the first step or after the last, whichever is more.
    pub(crate) fn at_the_ends(&self) -> u64 {
        (self.base + self.idle).max(self.end)
    }

    /// The arena below which no plan is if no order has a lower peak than `peak`; `None` if peaks are
    /// estimates.
    pub(crate) fn arena_bound(&self, peak: u64) -> Option<u64> {
        self.is_bound.then(|| peak.saturating_sub(self.padding))
    }

    /// The steps of groups, in order.
    pub(crate) fn steps(&self, order: &[GroupId]) -> Vec<StepId> {
        order.iter().flat_map(|group| &self.groups[*group as usize].ids).copied().collect()
    }

    /// What a group does where `fresh` pieces are touched by it first and `last` ones by nobody
    /// after it.
    pub(crate) fn change(
        &self,
        group: GroupId,
        fresh: impl Fn(PieceId) -> bool,
        last: impl Fn(PieceId) -> bool,
    ) -> Change {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let (mut most, mut live) = (i64::MIN, 0i64);
        for step in &self.groups[group as usize].steps {
            // What is made in either phase, and what is gone after it.
            let (mut made, mut gone) = ([0u64; 2], [0u64; 2]);
            for touch in &step.touches {
                let piece = &self.pieces[touch.piece as usize];
                if touch.first && !piece.given && fresh(touch.piece) {
                    made[usize::from(!touch.early)] += piece.bytes;
                }
                if touch.last && !piece.kept && last(touch.piece) {
                    gone[usize::from(touch.late)] += piece.bytes;
                }
            }
            let taken = if step.takeovers.is_empty() { 0 } else { self.taken(step, &fresh, &last) };
            let taken = if self.backwards { [taken, 0] } else { [0, taken] };
            let reading = live + signed(made[0]);
            let writing = reading - signed(gone[0]) + signed(made[1]);
            let phases = (reading - signed(taken[0])).max(writing - signed(taken[1]));
            most = most.max(phases + signed(step.scratch));
            live = writing - signed(gone[1]);
        }
        Change { during: most, after: live }
    }

    /// How many bytes of outputs take over inputs, at the most.
    fn taken(
        &self,
        step: &Step,
        fresh: &impl Fn(PieceId) -> bool,
        last: &impl Fn(PieceId) -> bool,
    ) -> u64 {
        let touch = |piece: PieceId| step.touches.iter().find(|touch| touch.piece == piece);
        let possible = |pair: &Overlay| {
            let (new, old) =
                if self.backwards { (pair.input, pair.output) } else { (pair.output, pair.input) };
            let born = touch(new).is_some_and(|t| t.first) && !self.ends(new).0 && fresh(new);
            let dies = touch(old).is_some_and(|t| t.last) && !self.ends(old).1 && last(old);
            born && dies
        };
        let gain = |takeover: &Takeover| {
            let all = takeover.pairs.iter().all(possible);
            if all { takeover.pairs.iter().map(|pair| pair.bytes).sum() } else { 0 }
        };
        most_taken(&step.takeovers, &gain, 0, 0)
    }

    /// What is alive while each group of an order runs.
    pub(crate) fn alive(&self, order: &[GroupId]) -> Vec<u64> {
        let mut walk = Walk::new(self);
        order.iter().map(|group| walk.run(*group)).collect()
    }

    /// The same, with time running backwards: the last group is group 0, and what lives to the end
    /// lives from the beginning. An order of it, read backwards, has the same peak here.
    pub(crate) fn reversed(&self) -> CostModel {
        let mirrored = |group: &GroupId| self.groups.len() as GroupId - 1 - group;
        let mirror = |groups: &[GroupId]| groups.iter().rev().map(mirrored).collect::<Vec<_>>();
        let group = |group: &Group| Group {
            ids: group.ids.clone(),
            steps: group.steps.iter().rev().map(Step::reversed).collect(),
            touches: group.touches.clone(),
            before: mirror(&group.behind),
            behind: mirror(&group.before),
        };
        let piece = |piece: &Piece| Piece {
            bytes: piece.bytes,
            groups: mirror(&piece.groups),
            given: piece.kept,
            kept: piece.given,
        };
        CostModel {
            groups: self.groups.iter().rev().map(group).collect(),
            pieces: self.pieces.iter().map(piece).collect(),
            base: self.end,
            idle: 0,
            end: self.base + self.idle,
            padding: self.padding,
            is_bound: self.is_bound,
            backwards: !self.backwards,
        }
    }

    /// The most bytes that are alive in an order.
    pub(crate) fn peak(&self, order: &[GroupId]) -> u64 {
        self.alive(order).into_iter().max().unwrap_or(0).max(self.at_the_ends())
    }
}

impl Step {
    fn reversed(&self) -> Self {
        let touch = |touch: &PieceTouch| PieceTouch {
            piece: touch.piece,
            early: touch.late,
            late: touch.early,
            first: touch.last,
            last: touch.first,
        };
        Step { touches: self.touches.iter().map(touch).collect(), ..self.clone() }
    }
}

/// The most that takeovers from `next` on can gain, none of which is among `excluded`.
fn most_taken(
    takeovers: &[Takeover],
    gain: &impl Fn(&Takeover) -> u64,
    next: usize,
    excluded: u64,
) -> u64 {
    let Some(takeover) = takeovers.get(next) else { return 0 };
    let without = || most_taken(takeovers, gain, next + 1, excluded);
    // With more of them than there are bits nothing is excluded, and more is taken than can be.
    let bit = 1u64.checked_shl(next as u32).unwrap_or(0);
    if excluded & bit != 0 {
        return without();
    }
    match gain(takeover) {
        0 => without(),
        bytes => {
            let with = bytes + most_taken(takeovers, gain, next + 1, excluded | takeover.excludes);
            if takeover.excludes >> next == 0 { with } else { with.max(without()) }
        }
    }
}

/// A run through some order.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'c> {
    model: &'c CostModel,
    /// How many groups have yet to touch each piece.
    left: Vec<u32>,
    live: u64,
}

impl<'c> Walk<'c> {
    pub(crate) fn new(model: &'c CostModel) -> Self {
        let left = model.pieces.iter().map(|piece| piece.groups.len() as u32).collect();
        Walk { model, left, live: model.base }
    }

    /// What is alive now.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// What a group would do now.
    pub(crate) fn change(&self, group: GroupId) -> Change {
        let all = |piece: PieceId| self.model.pieces[piece as usize].groups.len() as u32;
        self.model.change(
            group,
            |piece| self.left[piece as usize] == all(piece),
            |piece| self.left[piece as usize] == 1,
        )
    }

    /// Runs a group; gives the most that is alive meanwhile.
    pub(crate) fn run(&mut self, group: GroupId) -> u64 {
        let change = self.change(group);
        for piece in &self.model.groups[group as usize].touches {
            self.left[*piece as usize] -= 1;
        }
        let most = self.live.saturating_add_signed(change.during);
        self.live = self.live.saturating_add_signed(change.after);
        most
    }

    /// Takes back the group that ran last, before which so much was alive.
    pub(crate) fn undo(&mut self, group: GroupId, live: u64) {
        for piece in &self.model.groups[group as usize].touches {
            self.left[*piece as usize] += 1;
        }
        self.live = live;
    }

    /// Whether the group that ran last was the first at a piece, or the last but one.
    pub(crate) fn is_turning(&self, piece: PieceId) -> bool {
        let (left, all) = (self.left[piece as usize], self.model.touching(piece).len() as u32);
        left + 1 == all || left == 1
    }
}
