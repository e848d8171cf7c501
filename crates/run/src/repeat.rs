//! Steps around a body that runs again and again, with their places; [`step`](crate::step) shows them in order.

use plimsoll::ValueId;
use plimsoll_graph::NodeId;
use plimsoll_model::TensorId;

use crate::kernel::Lack;
use crate::ops::{Rounds, Share};
use crate::place::Spot;
use crate::resolve::Resolver;
use crate::step::{Action, Cycle, Most, Move, Side, Step};

/// Steps and cycles that are found so far.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) steps: Vec<Step>,
    pub(crate) cycles: Vec<Cycle>,
    /// The cycles that have begun and not ended, each with the step that enters it.
    open: Vec<(usize, usize)>,
}

/// The node that steps belong to, and the conditions that they run under.
type Under = (NodeId, Vec<(Spot, bool)>);

impl Resolver<'_> {
    /// What comes before the first step of a body.
    pub(crate) fn begin(
        &mut self,
        rounds: &Rounds<'_>,
        under: &Under,
        found: &mut Found,
    ) -> Result<(), Lack> {
        for state in 0..rounds.states {
            let given = rounds.given(state).ok_or("state without a first value")?;
            self.copy((given, rounds.state(state)), under, found)?;
        }
        let cycle = found.cycles.len();
        let new = self.cycle(rounds, under.0)?;
        found.cycles.push(new);
        found.open.push((cycle, found.steps.len()));
        let enter = Action::Enter { cycle, behind: 0 };
        let asked = self.operands_asked(rounds, 2)?;
        found.steps.push(step(under, enter, asked, Vec::new()));
        if rounds.first == 2 {
            let [number, condition] = [rounds.body.inputs[0], rounds.body.inputs[1]];
            let (value, to) = self.target(number)?;
            let count = Action::Count { cycle, to };
            found.steps.push(step(under, count, Vec::new(), vec![value]));
            let (value, to) = self.target(condition)?;
            let hold = Action::Hold { to };
            found.steps.push(step(under, hold, Vec::new(), vec![value]));
        }
        for share in rounds.elements() {
            self.share(&share, cycle, under, found)?;
        }
        Ok(())
    }

    /// What comes behind the last step of a body.
    pub(crate) fn end(
        &mut self,
        rounds: &Rounds<'_>,
        under: &Under,
        found: &mut Found,
    ) -> Result<(), Lack> {
        let (cycle, enter) = found.open.pop().ok_or("its body has not begun")?;
        for share in rounds.collected() {
            self.share(&share, cycle, under, found)?;
        }
        let asked = rounds.goes_on().map(|id| self.value_of(id)).transpose()?;
        let decide = Action::Decide { cycle };
        found.steps.push(step(under, decide, asked.into_iter().collect(), Vec::new()));
        self.leave(rounds, under, found)?;
        let repeat = Action::Repeat { cycle, first: enter + 1 };
        let most = self.operands_asked(rounds, 1)?;
        found.steps.push(step(under, repeat, most, Vec::new()));
        found.steps[enter].action = Action::Enter { cycle, behind: found.steps.len() };
        for state in 0..rounds.states {
            if let Some(wanted) = rounds.wanted(state) {
                self.copy((rounds.state(state), wanted), under, found)?;
            }
        }
        Ok(())
    }

    /// State as the body leaves it, for the next round. Where one is left in the bytes of another, all are brought to the
    /// results of the node first.
    fn leave(&mut self, rounds: &Rounds<'_>, under: &Under, found: &mut Found) -> Result<(), Lack> {
        let mut crossed = false;
        for (state, other) in pairs(rounds.states) {
            let (_, place) = self.target(rounds.state(state))?;
            let left = self.value_of(rounds.left(other))?;
            let is_within = |spot: Spot| match spot {
                Spot::Arena(left) => left.start < place.end && place.start < left.end,
                Spot::Constant(_) | Spot::Input(_) => false,
            };
            crossed |= is_within(self.spot(left)?);
        }
        let wanted: Option<Vec<TensorId>> =
            (0..rounds.states).map(|state| rounds.wanted(state)).collect();
        let direct = (0..rounds.states).map(|state| (rounds.left(state), rounds.state(state)));
        if !crossed {
            return direct.into_iter().try_for_each(|pair| self.copy(pair, under, found));
        }
        let wanted = wanted.ok_or("state that changes places and is not handed out")?;
        for (state, wanted) in wanted.iter().enumerate() {
            self.copy((rounds.left(state), *wanted), under, found)?;
        }
        for (state, wanted) in wanted.iter().enumerate() {
            self.copy((*wanted, rounds.state(state)), under, found)?;
        }
        Ok(())
    }

    fn cycle(&mut self, rounds: &Rounds<'_>, node: NodeId) -> Result<Cycle, Lack> {
        let facts = self.facts;
        let operand = |at: usize| rounds.node.inputs.get(at).copied().flatten();
        let mut spot = |id: Option<TensorId>| {
            let value = id.map(|id| self.value_of(id)).transpose()?;
            value.map(|value| self.spot(value)).transpose()
        };
        let (most, starts) = if rounds.first == 2 {
            (spot(operand(0))?.map_or(Most::Any, Most::Said), spot(operand(1))?)
        } else {
            let elements = rounds.elements();
            let first = elements.first().ok_or("no sequence to go through")?;
            (Most::Fixed(first.cut(facts)?.rounds as u64), None)
        };
        let goes_on = spot(rounds.goes_on())?;
        Ok(Cycle { node, most, starts, goes_on, over: 0, goes: true })
    }

    /// Of the operands that say how many rounds there are, the first ones.
    fn operands_asked(&self, rounds: &Rounds<'_>, count: usize) -> Result<Vec<ValueId>, Lack> {
        let operands = rounds.node.inputs.iter().take(count.min(rounds.first));
        operands.flatten().map(|id| self.value_of(*id)).collect()
    }

    /// A copy of a whole tensor; nothing to do where it is one.
    fn copy(
        &mut self,
        (from, to): (TensorId, TensorId),
        under: &Under,
        found: &mut Found,
    ) -> Result<(), Lack> {
        let (read, (write, range)) = (self.value_of(from)?, self.target(to)?);
        let spot = self.spot(read)?;
        if spot == Spot::Arena(range.clone()) {
            return Ok(());
        }
        let (rows, row_bytes) = (1, range.len());
        let (from, to) = (Side::all(spot), Side::all(range));
        let action = Action::Move(Move { cycle: None, from, to, rows, row_bytes });
        found.steps.push(step(under, action, vec![read], vec![write]));
        Ok(())
    }

    /// A copy of the share of a round, to or from its whole.
    fn share(
        &mut self,
        share: &Share,
        cycle: usize,
        under: &Under,
        found: &mut Found,
    ) -> Result<(), Lack> {
        let facts = self.facts;
        let cut = share.cut(facts)?;
        let bits = facts[share.part.index()].dtype.ok_or("elements of no type")?.bits() as usize;
        if !bits.is_multiple_of(8) {
            return Err("no kernel for elements that are no whole bytes".to_owned());
        }
        let row_bytes = cut.row * bits / 8;
        let rounds = Some((cut.rounds, share.reversed));
        let whole_pitch = cut.rounds * row_bytes;
        let Share { whole, part, is_read, .. } = *share;
        let (read, write) = if is_read { (whole, part) } else { (part, whole) };
        let (value, (target, to)) = (self.value_of(read)?, self.target(write)?);
        let from = self.spot(value)?;
        let (from, to) = if is_read {
            let to = Side { whole: to, pitch: row_bytes, rounds: None };
            (Side { whole: from, pitch: whole_pitch, rounds }, to)
        } else {
            let from = Side { whole: from, pitch: row_bytes, rounds: None };
            (from, Side { whole: to, pitch: whole_pitch, rounds })
        };
        let action = Action::Move(Move { cycle: Some(cycle), from, to, rows: cut.rows, row_bytes });
        let mut step = step(under, action, vec![value], vec![target]);
        step.joins = !is_read;
        found.steps.push(step);
        Ok(())
    }
}

/// All pairs of different numbers.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |a| (0..count).filter(move |b| *b != a).map(move |b| (a, b)))
}

fn step(under: &Under, action: Action, reads: Vec<ValueId>, writes: Vec<ValueId>) -> Step {
    let (node, guards) = under.clone();
    Step { node, action, reads, writes, joins: false, guards, is_branch: false }
}
