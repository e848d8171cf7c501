//! Bodies that run again and again: what can be run of `Loop` and `Scan`, found out before anything is planned.
//!
//! State keeps its dims from round to round, so that it has one place. Results are collected where their number follows
//! from shapes and stored numbers; the planner has given them bytes then.

use plimsoll_graph::Fact;
use plimsoll_model::{Body, Iteration, ModelNode, Operator, TensorId};

use crate::at::{axis_of, known_dims};
use crate::kernel::{Built, Lack};

/// A node with a body that runs again and again, its tensors sorted by what they are.
#[derive(Clone, Copy)]
pub(crate) struct Rounds<'m> {
    pub(crate) node: &'m ModelNode,
    pub(crate) body: &'m Body,
    /// How many of the first inputs of the body are not state: those of a `Loop` that count.
    pub(crate) first: usize,
    /// How many tensors are state.
    pub(crate) states: usize,
    scan: Option<&'m Iteration>,
}

/// A tensor of which each round reads or writes a part.
pub(crate) struct Share {
    pub(crate) whole: TensorId,
    pub(crate) part: TensorId,
    /// Along which axis parts follow each other.
    axis: i64,
    /// Whether the last part comes first.
    pub(crate) reversed: bool,
    /// Whether rounds read it, or write it.
    pub(crate) is_read: bool,
}

impl<'m> Rounds<'m> {
    /// Those of a node; `None` for any other operator.
    pub(crate) fn of(node: &'m ModelNode) -> Option<Self> {
        match &node.operator {
            Operator::Loop(body) => {
                let states = node.inputs.len().saturating_sub(2);
                Some(Rounds { node, body, first: 2, states, scan: None })
            }
            Operator::Scan(scan) => {
                let states = node.inputs.len().saturating_sub(scan.sequences);
                Some(Rounds { node, body: &scan.body, first: 0, states, scan: Some(scan) })
            }
            _ => None,
        }
    }

    /// The name of the node of the graph that sets up the first round.
    pub(crate) fn begin_name(&self) -> String {
        format!("{}/begin", self.node.name)
    }

    /// What state is at first, if it is told.
    pub(crate) fn given(&self, state: usize) -> Option<TensorId> {
        self.node.inputs.get(self.first + state).copied().flatten()
    }

    /// A state as the body finds it.
    pub(crate) fn state(&self, state: usize) -> TensorId {
        self.body.inputs[self.first + state]
    }

    /// A state as the body leaves it. The first result of a `Loop`'s body is whether it goes on.
    pub(crate) fn left(&self, state: usize) -> TensorId {
        self.body.outputs[self.conditions() + state]
    }

    /// A result of the node, if it is wanted.
    pub(crate) fn wanted(&self, result: usize) -> Option<TensorId> {
        self.node.outputs.get(result).copied().flatten()
    }

    /// Whether a round goes on, as its body says.
    pub(crate) fn goes_on(&self) -> Option<TensorId> {
        self.body.outputs.first().copied().filter(|_| self.scan.is_none())
    }

    fn conditions(&self) -> usize {
        usize::from(self.scan.is_none())
    }

    /// The sequences that rounds read an element of.
    pub(crate) fn elements(&self) -> Vec<Share> {
        let Some(scan) = self.scan else { return Vec::new() };
        let share = |index: usize| {
            let whole = self.node.inputs[self.states + index]?;
            let part = self.body.inputs[self.states + index];
            let axis = scan.input_axes.get(index).copied().unwrap_or(0);
            let reversed = scan.input_reversed.get(index).copied().unwrap_or(false);
            Some(Share { whole, part, axis, reversed, is_read: true })
        };
        (0..scan.sequences).filter_map(share).collect()
    }

    /// The results that rounds add an element to.
    pub(crate) fn collected(&self) -> Vec<Share> {
        let made = &self.body.outputs[self.conditions() + self.states..];
        let share = |(index, part): (usize, &TensorId)| {
            let whole = self.wanted(self.states + index)?;
            let told = |axes: &[i64]| axes.get(index).copied().unwrap_or(0);
            let axis = self.scan.map_or(0, |scan| told(&scan.output_axes));
            let reversed = self
                .scan
                .and_then(|scan| scan.output_reversed.get(index).copied())
                .unwrap_or(false);
            Some(Share { whole, part: *part, axis, reversed, is_read: false })
        };
        made.iter().enumerate().filter_map(share).collect()
    }
}

/// How a share lies in its whole.
pub(crate) struct Cut {
    /// How many rounds there are.
    pub(crate) rounds: usize,
    /// How many rows a share has, and elements each.
    pub(crate) rows: usize,
    pub(crate) row: usize,
}

impl Share {
    pub(crate) fn cut(&self, facts: &[Fact]) -> Result<Cut, Lack> {
        let dims = known_dims(&facts[self.whole.index()])?;
        let axis = axis_of(self.axis, dims.len())?;
        let (rows, row) = (dims[..axis].iter().product(), dims[axis + 1..].iter().product());
        let part: usize = known_dims(&facts[self.part.index()])?.iter().product();
        if part != rows * row {
            return Err("rounds whose elements have not the same dims".to_owned());
        }
        Ok(Cut { rounds: dims[axis], rows, row })
    }
}

/// No call of its own: its steps are placed with those of its body. Or why it cannot be run.
pub(crate) fn repeated(node: &ModelNode, facts: &[Fact]) -> Result<Built, Lack> {
    let rounds = Rounds::of(node).ok_or("no body")?;
    for state in 0..rounds.states {
        let tensors = [rounds.given(state), Some(rounds.state(state)), Some(rounds.left(state))];
        let wanted = rounds.wanted(state);
        let mut kinds = tensors.into_iter().chain([wanted]).flatten().map(|id| {
            let fact = &facts[id.index()];
            known_dims(fact).map(|dims| (fact.dtype, dims))
        });
        let first = kinds.next().ok_or("state without a first value")?;
        let first = first.map_err(|fault| format!("state {state} {fault}"))?;
        if kinds.any(|kind| kind.as_ref() != Ok(&first)) {
            return Err(format!("state {state} has other dims in another round"));
        }
    }
    for (index, share) in rounds.collected().iter().enumerate() {
        share.cut(facts).map_err(|fault| format!("collected result {index} {fault}"))?;
    }
    for (index, share) in rounds.elements().iter().enumerate() {
        share.cut(facts).map_err(|fault| format!("sequence {index} {fault}"))?;
    }
    if let Some(goes_on) = rounds.goes_on() {
        let is_bounded = node.inputs.first().is_some_and(Option::is_some);
        let always = facts[goes_on.index()].known_ints().is_some_and(|known| known != [0]);
        if !is_bounded && always {
            return Err("its rounds never end".to_owned());
        }
    }
    Ok(Built::calls(Vec::new()))
}
