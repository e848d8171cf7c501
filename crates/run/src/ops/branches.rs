//! Branches: only the nodes of the one that is taken run, and what it has made is handed on.
//!
//! The graph has the nodes of both branches, one after the other, and then the node itself, which reads the condition
//! and what both have made. So the condition is there as long as it is asked for: each node of a branch has a
//! [`Guard`] for every condition around it, and takes no time if one does not hold.

use std::collections::BTreeMap;

use plimsoll_graph::Fact;
use plimsoll_model::{Body, Inferred, Model, ModelNode, Operator, TensorId};

use super::rounds::Rounds;
use crate::kernel::{Built, Call, Kernel, Lack};

/// A condition, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) condition: TensorId,
    pub(crate) holds: bool,
}

/// The guards of every node in a branch, by the name of the node; outermost first. Where the condition is known, or
/// one branch cannot run, the other one is always taken: nobody may read the condition then.
pub(crate) fn guards(model: &Model, inferred: &Inferred) -> BTreeMap<String, Vec<Guard>> {
    let mut found = BTreeMap::new();
    collect(&model.body, inferred, &mut Vec::new(), &mut found);
    found
}

fn collect(
    body: &Body,
    inferred: &Inferred,
    around: &mut Vec<Guard>,
    found: &mut BTreeMap<String, Vec<Guard>>,
) {
    for node in &body.nodes {
        if !around.is_empty() {
            found.insert(node.name.clone(), around.clone());
        }
        if let Some(rounds) = Rounds::of(node) {
            if !around.is_empty() {
                found.insert(rounds.begin_name(), around.clone());
            }
            collect(rounds.body, inferred, around, found);
        }
        let Operator::If(branches) = &node.operator else { continue };
        let Some(condition) = node.inputs.first().copied().flatten() else { continue };
        let is_known = inferred.facts[condition.index()].known_ints().is_some()
            || inferred.refused.iter().any(|refused| refused.node == node.name);
        for (body, holds) in [(&branches.then, true), (&branches.otherwise, false)] {
            around.extend((!is_known).then_some(Guard { condition, holds }));
            collect(body, inferred, around, found);
            around.truncate(around.len() - usize::from(!is_known));
        }
    }
}

/// A call for each result: from what the branch that was taken has made. The node of the graph reads the condition,
/// then what the first branch makes, then what the second does.
pub(crate) fn branch(node: &ModelNode, facts: &[Fact]) -> Result<Built, Lack> {
    let Operator::If(branches) = &node.operator else { return Err("no branches".to_owned()) };
    let (then, otherwise) = (&branches.then.outputs, &branches.otherwise.outputs);
    let count = node.outputs.len();
    if then.len() < count || otherwise.len() < count {
        return Err("branches that make less than is wanted".to_owned());
    }
    let mut calls = Vec::new();
    for (result, output) in node.outputs.iter().enumerate() {
        let Some(output) = output else { continue };
        let shape = |id: &TensorId| &facts[id.index()].shape;
        if shape(&then[result]) != shape(output) || shape(&otherwise[result]) != shape(output) {
            return Err("no kernel for branches that make different shapes".to_owned());
        }
        let kernel: Kernel = Box::new(|io| {
            let holds = io.scalar::<u8>(0).is_some_and(|condition| condition != 0);
            let taken = if holds { 1 } else { 2 };
            if !io.is_in_place(taken) {
                io.write_bytes(0).copy_from_slice(io.bytes(taken).unwrap_or_default());
            }
            Ok(())
        });
        let made = [0, 1 + result, 1 + then.len() + result];
        let reads = made.into_iter().map(Some).collect();
        calls.push(Call { reads, writes: vec![result], joins: None, is_branch: true, kernel });
    }
    Ok(Built::calls(calls))
}
