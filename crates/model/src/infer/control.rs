//! What follows for control flow from its bodies.
//!
//! What iterations carry is widened until another round changes nothing: dims and elements that
//! differ from one round to the next are given up, after a few rounds whole shapes are, and at last
//! everything but the types. So a body is gone through [`ROUNDS`] + 2 times at most.

use std::collections::BTreeMap;

use plimsoll_graph::{Dim, Dtype, Fact, Int, Numbers};

use super::join::{Care, join, widen};
use super::order::Order;
use super::{Branch, Engine, Refused, ShapeError, arithmetic, fault_of};
use crate::model::{Body, Branches, Iteration, ModelNode, Operator, TensorId};

/// After how many rounds nothing is claimed of what an iteration carries but its type.
const ROUNDS: usize = 5;

impl Engine<'_> {
    /// The outputs of a node that runs one of two bodies. If it is known which one, or if the other
    /// cannot run, nothing is found out of the tensors of the other.
    pub(super) fn branch(
        &mut self,
        node: &ModelNode,
        branches: &Branches,
        then: &Order,
        otherwise: &Order,
    ) -> Result<Vec<Fact>, ShapeError> {
        check_branch(node, &branches.then)?;
        check_branch(node, &branches.otherwise)?;
        match self.input(node, 0).and_then(truth) {
            Some(true) => self.handed_out(&branches.then, then),
            Some(false) => self.handed_out(&branches.otherwise, otherwise),
            None => {
                let then = self.handed_out(&branches.then, then);
                let otherwise = self.handed_out(&branches.otherwise, otherwise);
                self.either(node, then, otherwise)
            }
        }
    }

    /// What a branch hands out.
    fn handed_out(&mut self, body: &Body, order: &Order) -> Result<Vec<Fact>, ShapeError> {
        self.body(body, order)?;
        Ok(self.outputs(&body.outputs))
    }

    /// What holds of what either branch hands out. One whose shapes do not fit is none that could
    /// be taken, so the other counts; what was found in an earlier round counts no longer.
    fn either(
        &mut self,
        node: &ModelNode,
        then: Result<Vec<Fact>, ShapeError>,
        otherwise: Result<Vec<Fact>, ShapeError>,
    ) -> Result<Vec<Fact>, ShapeError> {
        self.refused.remove(&node.name);
        let (made, branch, fault) = match (then, otherwise) {
            (Ok(then), Ok(otherwise)) => {
                let pairs = then.iter().zip(&otherwise);
                let joined = pairs.map(|(then, otherwise)| {
                    same_type(node, then, otherwise)?;
                    Ok(join(then, otherwise))
                });
                return joined.collect();
            }
            (Ok(made), Err(fault)) => (made, Branch::Else, fault),
            (Err(fault), Ok(made)) => (made, Branch::Then, fault),
            (Err(fault), Err(_)) => return Err(fault),
        };
        let refused = Refused { node: node.name.clone(), branch, fault };
        self.refused.insert(node.name.clone(), refused);
        Ok(made)
    }

    /// The outputs of a node that runs a body over and over.
    pub(super) fn repeat(
        &mut self,
        node: &ModelNode,
        body: &Body,
        order: &Order,
    ) -> Result<Vec<Fact>, ShapeError> {
        let [trip, condition, carried @ ..] = &body.inputs[..] else {
            return Err(fault_of(node, "the body does not take a trip and a condition"));
        };
        let [goes_on, results @ ..] = &body.outputs[..] else {
            return Err(fault_of(node, "the body does not make a condition"));
        };
        let count = carried.len();
        check_count(node, "results of the body", count.max(node.outputs.len()), results.len())?;
        check_count(node, "inputs of the body", node.inputs.len(), count + 2)?;
        let trips = trips(self.input(node, 0));
        let starts = node
            .inputs
            .get(1)
            .copied()
            .flatten()
            .map_or(Some(true), |id| truth(&self.facts[id.index()]));

        let last = Int::between(0, trips.hi.saturating_sub(1).max(0));
        self.facts[trip.index()] = self.single(*trip, Dtype::I64, last);
        // Otherwise the body would not run.
        self.facts[condition.index()] = self.single(*condition, Dtype::Bool, Int::from(1));
        let state = self.settle(node, 2, body, order, carried, &results[..count])?;

        let stays = truth(&self.facts[goes_on.index()]) == Some(true);
        let length = match (starts, trips.known()) {
            (Some(false), _) => Dim::Known(0),
            (_, Some(trips)) if trips <= 0 => Dim::Known(0),
            (Some(true), Some(trips)) if stays && trips < i64::MAX => Dim::from(Int::from(trips)),
            _ => Dim::from(Int::between(0, trips.hi.max(0))),
        };
        let runs = starts == Some(true) && trips.lo > 0;
        let mut outputs = if runs { self.outputs(&results[..count]) } else { state };
        for result in &results[count..] {
            outputs.push(stacked(&self.facts[result.index()], 0, &length, node)?);
        }
        Ok(outputs)
    }

    /// The outputs of a node that runs a body for each element of sequences.
    pub(super) fn scan(
        &mut self,
        node: &ModelNode,
        iteration: &Iteration,
        order: &Order,
    ) -> Result<Vec<Fact>, ShapeError> {
        let Iteration { body, sequences, input_axes, output_axes, .. } = iteration;
        let Some(count) = node.inputs.len().checked_sub(*sequences) else {
            return Err(fault_of(
                node,
                format!("there are fewer inputs than {sequences} sequences"),
            ));
        };
        if body.inputs.len() != node.inputs.len() {
            let (takes, given) = (body.inputs.len(), node.inputs.len());
            return Err(fault_of(node, format!("the body takes {takes} inputs, not {given}")));
        }
        check_count(
            node,
            "outputs of the body",
            count.max(node.outputs.len()),
            body.outputs.len(),
        )?;
        let (carried, elements) = body.inputs.split_at(count);
        let (results, collected) = body.outputs.split_at(count);

        let mut length = Dim::Unknown;
        for (index, element) in elements.iter().enumerate() {
            let Some(sequence) = self.input(node, count + index) else {
                return Err(fault_of(node, format!("input {} is missing", count + index)));
            };
            let axis = input_axes.get(index).copied().unwrap_or(0);
            let (fact, dim) = unstacked(sequence, axis, node)?;
            length = same_length(length, dim)
                .ok_or_else(|| fault_of(node, "the sequences are not equally long"))?;
            self.facts[element.index()] = fact;
        }
        let state = self.settle(node, 0, body, order, carried, results)?;

        let runs = matches!(length, Dim::Known(1..));
        let mut outputs = if runs { self.outputs(results) } else { state };
        for (index, result) in collected.iter().enumerate() {
            let axis = output_axes.get(index).copied().unwrap_or(0);
            outputs.push(stacked(&self.facts[result.index()], axis, &length, node)?);
        }
        Ok(outputs)
    }

    /// Goes through a body until what is known of the carried tensors holds before and after every
    /// iteration, and says what that is. Their first values are inputs of the node.
    fn settle(
        &mut self,
        node: &ModelNode,
        first_input: usize,
        body: &Body,
        order: &Order,
        carried: &[TensorId],
        results: &[TensorId],
    ) -> Result<Vec<Fact>, ShapeError> {
        let mut state = Vec::new();
        for index in first_input..first_input + carried.len() {
            let Some(first) = self.input(node, index) else {
                return Err(fault_of(node, format!("input {index} is missing")));
            };
            state.push(first.clone());
        }
        for round in 0.. {
            if self.visits == 0 || round >= ROUNDS {
                state = state.iter().map(|fact| Fact::of_type(fact.dtype)).collect();
            }
            for (id, fact) in carried.iter().zip(&state) {
                self.facts[id.index()] = fact.clone();
            }
            self.body(body, order)?;
            let care = match round {
                0..=2 => Care::Parts,
                3 => Care::Ranks,
                _ => Care::Types,
            };
            let mut next = Vec::new();
            for (state, result) in state.iter().zip(results) {
                let result = &self.facts[result.index()];
                same_type(node, state, result)?;
                next.push(widen(state, result, care));
            }
            if next == state {
                break;
            }
            state = next;
        }
        Ok(state)
    }

    fn outputs(&self, ids: &[TensorId]) -> Vec<Fact> {
        ids.iter().map(|id| self.facts[id.index()].clone()).collect()
    }

    /// One element that is handed to a body: a scalar, or a list of one where the body says so.
    fn single(&self, id: TensorId, dtype: Dtype, int: Int) -> Fact {
        let listed = self.model.tensor(id).dims.as_ref().is_some_and(|dims| dims.len() == 1);
        let dims = if listed { vec![Dim::Known(1)] } else { Vec::new() };
        let numbers = Some(Numbers::Ints(vec![int]));
        Fact { numbers, ..Fact::of_type(Some(dtype)).with_dims(dims) }
    }
}

/// Lists the branches that cannot run, without those inside of others.
pub(super) fn list_refused(
    body: &Body,
    order: &Order,
    refused: &BTreeMap<String, Refused>,
    list: &mut Vec<Refused>,
) {
    if refused.is_empty() {
        return;
    }
    for step in &order.steps {
        let node = &body.nodes[step.node];
        let found = refused.get(&node.name);
        list.extend(found.cloned());
        let dead = found.map(|refused| refused.branch);
        match (&node.operator, &step.bodies[..]) {
            (Operator::If(branches), [then, otherwise]) => {
                if dead != Some(Branch::Then) {
                    list_refused(&branches.then, then, refused, list);
                }
                if dead != Some(Branch::Else) {
                    list_refused(&branches.otherwise, otherwise, refused, list);
                }
            }
            (Operator::Loop(body), [order]) => list_refused(body, order, refused, list),
            (Operator::Scan(scan), [order]) => list_refused(&scan.body, order, refused, list),
            _ => {}
        }
    }
}

/// Whether a branch is one that a node can run.
fn check_branch(node: &ModelNode, body: &Body) -> Result<(), ShapeError> {
    let (made, wanted) = (body.outputs.len(), node.outputs.len());
    match body.inputs.len() {
        0 if made >= wanted => Ok(()),
        0 => Err(fault_of(node, format!("a branch makes {made} outputs, not {wanted}"))),
        inputs => Err(fault_of(node, format!("a branch takes {inputs} inputs, not 0"))),
    }
}

/// Whether a condition holds, if that is known.
fn truth(fact: &Fact) -> Option<bool> {
    match fact.ints()? {
        [condition] => condition.known().map(|truth| truth != 0),
        _ => None,
    }
}

/// How often a body runs at most; the largest number there is means without end.
fn trips(fact: Option<&Fact>) -> Int {
    match fact.map(Fact::ints) {
        Some(Some([trips])) => trips.clone(),
        Some(_) => Int::ANY,
        None => Int::from(i64::MAX),
    }
}

fn check_count(node: &ModelNode, what: &str, least: usize, count: usize) -> Result<(), ShapeError> {
    if least <= count {
        return Ok(());
    }
    Err(fault_of(node, format!("there are {count} {what}, but {least} are needed")))
}

fn same_type(node: &ModelNode, one: &Fact, other: &Fact) -> Result<(), ShapeError> {
    match (one.dtype, other.dtype) {
        (Some(one), Some(other)) if one != other => {
            Err(fault_of(node, format!("its bodies make {one} and {other} of one tensor")))
        }
        _ => Ok(()),
    }
}

/// An element of a sequence, and how long the sequence is.
fn unstacked(sequence: &Fact, axis: i64, node: &ModelNode) -> Result<(Fact, Dim), ShapeError> {
    let element = Fact::of_type(sequence.dtype);
    let Some(dims) = sequence.dims() else {
        return Ok((element, Dim::Unknown));
    };
    let Some(axis) = arithmetic::normal(axis, dims.len()) else {
        return Err(fault_of(
            node,
            format!("a sequence of {} axes has no axis {axis}", dims.len()),
        ));
    };
    let mut dims = dims.to_vec();
    let length = dims.remove(axis);
    Ok((element.with_dims(dims), length))
}

/// What is collected from all iterations.
fn stacked(element: &Fact, axis: i64, length: &Dim, node: &ModelNode) -> Result<Fact, ShapeError> {
    let collected = Fact::of_type(element.dtype);
    let Some(dims) = element.dims() else {
        return Ok(collected);
    };
    let rank = dims.len() + 1;
    let Some(axis) = arithmetic::normal(axis, rank) else {
        return Err(fault_of(node, format!("a result of {rank} axes has no axis {axis}")));
    };
    let mut dims = dims.to_vec();
    dims.insert(axis, length.clone());
    Ok(collected.with_dims(dims))
}

/// What is known of a length of which two things are known; `None` if they contradict.
fn same_length(a: Dim, b: Dim) -> Option<Dim> {
    match (a, b) {
        (Dim::Known(a), Dim::Known(b)) => (a == b).then_some(Dim::Known(a)),
        (Dim::Known(known), _) | (_, Dim::Known(known)) => Some(Dim::Known(known)),
        (Dim::Follows(expr), _) | (_, Dim::Follows(expr)) => Some(Dim::Follows(expr)),
        (Dim::AtMost(a), Dim::AtMost(b)) => Some(Dim::AtMost(a.min(b))),
        (Dim::AtMost(most), Dim::Unknown) | (Dim::Unknown, Dim::AtMost(most)) => {
            Some(Dim::AtMost(most))
        }
        (Dim::Unknown, Dim::Unknown) => Some(Dim::Unknown),
    }
}
