//! Chains: from a node on, what follows element by element and comes together again.
//!
//! From the first node on, readers are added in the order in which they run, as long as they go over the elements
//! of the first one by one, in whatever shape, or over its rows. Whenever just one of the tensors that were made is read by others, or handed out, the
//! nodes up to there can be one step. `x · sigmoid(x)` behind a convolution is such a place twice: behind the convolution
//! and behind the product, but not between them.

use std::collections::BTreeSet;

use plimsoll_model::{Fusing, Role, TensorId};

/// More nodes than this are not looked at: activations that are spelled out have up to nine.
const MOST_NODES: usize = 24;

/// The beginnings of a chain that can be one step, shortest first, each of at least two nodes. Nodes that are taken by
/// another step end it.
pub(super) fn beginnings(fusing: &Fusing<'_>, first: usize, taken: &[bool]) -> Vec<Vec<usize>> {
    let Some(made) = only_output(fusing, first) else { return Vec::new() };
    let is_of_rows = fusing.role(first) != Role::Product;
    let mut chain = Chain { fusing, first: made, nodes: vec![first], made: vec![made], is_of_rows };
    let mut found = Vec::new();
    while chain.nodes.len() < MOST_NODES {
        let Some(next) = chain.next(taken) else { break };
        chain.nodes.push(next);
        chain.made.extend(only_output(fusing, next));
        if fusing.role(next) == Role::Elementwise && chain.is_closed() {
            found.push(chain.nodes.clone());
        }
    }
    found
}

/// What a node makes, if that is one tensor.
pub(super) fn only_output(fusing: &Fusing<'_>, node: usize) -> Option<TensorId> {
    let mut outputs = fusing.model.body.nodes[node].outputs.iter().flatten();
    let only = outputs.next().copied();
    only.filter(|_| outputs.next().is_none())
}

struct Chain<'a> {
    fusing: &'a Fusing<'a>,
    /// What the first node makes: all have as many elements.
    first: TensorId,
    nodes: Vec<usize>,
    /// What they make, in the same order.
    made: Vec<TensorId>,
    /// Whether numbers of rows may be made on the way.
    is_of_rows: bool,
}

impl Chain<'_> {
    /// The reader that runs first.
    fn next(&self, taken: &[bool]) -> Option<usize> {
        let wiring = self.fusing.wiring;
        let readers = self.made.iter().flat_map(|made| wiring.readers(*made)).copied();
        let outside: BTreeSet<usize> = readers.filter(|node| !self.nodes.contains(node)).collect();
        let fits = |node: &usize| {
            let made = only_output(self.fusing, *node);
            let role = self.fusing.role(*node);
            let is_element = matches!(role, Role::Elementwise | Role::Reshape);
            let fits = |made: TensorId| {
                (is_element && self.fusing.same_elements(made, self.first))
                    || (self.is_of_rows
                        && matches!(role, Role::Elementwise | Role::Reduce)
                        && self.has_rows(made))
            };
            !taken[*node] && made.is_some_and(fits)
        };
        outside.into_iter().filter(fits).min_by_key(|node| wiring.place(*node))
    }

    /// Whether a tensor has rows where the first has, or one number for each.
    fn has_rows(&self, made: TensorId) -> bool {
        let (made, first) = (self.fusing.dims(made), self.fusing.dims(self.first));
        let outer = |dims: Option<Vec<u64>>| dims?.split_last().map(|(_, outer)| outer.to_vec());
        let made = outer(made);
        made.is_some() && made == outer(first)
    }

    /// Whether others read only what the last node makes, which runs last.
    fn is_closed(&self) -> bool {
        let wiring = self.fusing.wiring;
        let Some((last, between)) = self.made.split_last() else { return false };
        let is_inside = |made: &TensorId| {
            let inside = |reader: &usize| self.nodes.contains(reader);
            !wiring.is_output(*made) && wiring.readers(*made).iter().all(inside)
        };
        let read = wiring.is_output(*last) || !wiring.readers(*last).is_empty();
        let ordered = self.nodes.is_sorted_by_key(|node| wiring.place(*node));
        read && ordered && between.iter().all(is_inside)
    }
}
