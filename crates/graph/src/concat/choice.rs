//! Choices of how values share bytes, and the graph that follows from them.
//!
//! A choice is taken whole or not at all: it is refused where it wants a value in a place and another,
//! taken before it, has it elsewhere. So the graph depends on the order in which choices are taken.

use plimsoll::{ValueId, View};

use super::takeover::{Takeover, check_takeovers, harmful, is_free};
use super::{check_rows, in_a_row, made_as, row_views};
use crate::graph::{Aliases, Graph, GraphError, Kernels, NodeId, Parts, Resolved, parts};

/// Something that is done otherwise than nodes do it by themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The node takes no step: a concat whose inputs are made in its output, or lie in a row already; a
    /// split, a slice or a repetition whose outputs are rows of its input.
    Elide(NodeId),
    /// These inputs of a concat, by index, are made in its output. It copies the others.
    Join(NodeId, Vec<usize>),
    /// An output of a node, by index, has bytes of its own though it could be a view.
    Copy(NodeId, usize),
    /// An output of a node and an input, by index, are the same rows of something: the output takes over
    /// the rows of the input, or the input is made in the rows of the output.
    TakeOver(NodeId, usize, usize),
}

impl Choice {
    /// The node that it is about.
    #[must_use]
    pub fn node(&self) -> NodeId {
        match self {
            Choice::Elide(node)
            | Choice::Join(node, _)
            | Choice::Copy(node, _)
            | Choice::TakeOver(node, ..) => *node,
        }
    }
}

/// Where values are, as far as that is chosen.
#[derive(Clone)]
pub(super) struct Layouts<'g> {
    graph: &'g Graph,
    aliases: &'g Aliases,
    views: Vec<Option<View>>,
    elided: Vec<bool>,
    copied: Vec<ValueId>,
    taken_over: Vec<Takeover>,
}

impl<'g> Layouts<'g> {
    /// As the graph says; the aliases are its own.
    pub(super) fn of(graph: &'g Graph, aliases: &'g Aliases) -> Self {
        Layouts {
            graph,
            aliases,
            views: graph.values().iter().map(|value| value.view).collect(),
            elided: graph.nodes().iter().map(|node| node.elided).collect(),
            copied: Vec::new(),
            taken_over: Vec::new(),
        }
    }

    /// Takes a choice, if those before it leave that open.
    pub(super) fn take(&mut self, choice: &Choice) -> bool {
        match (choice, parts(self.graph, choice.node())) {
            (Choice::Copy(node, output), _) => self.copy(*node, *output),
            (Choice::TakeOver(node, output, input), _) => self.take_over(*node, *output, *input),
            (Choice::Elide(node), None) => self.view_rows(*node),
            (Choice::Elide(node), Some(parts)) => self.elide(*node, &parts),
            (Choice::Join(_, _), None) => false,
            (Choice::Join(node, inputs), Some(parts)) => self.join(*node, &parts, inputs),
        }
    }

    /// Takes what can be taken of these; gives that, in the order in which it was taken. Where something
    /// takes over something else depends on those before and behind it.
    pub(super) fn take_all(&mut self, choices: &[Choice]) -> Vec<Choice> {
        let mut taken = Vec::with_capacity(choices.len());
        let mut left: Vec<&Choice> = choices.iter().collect();
        loop {
            let before = taken.len();
            left.retain(|choice| {
                let fits = self.take(choice);
                if fits {
                    taken.push((*choice).clone());
                }
                !fits && matches!(choice, Choice::TakeOver(..))
            });
            if left.is_empty() || taken.len() == before {
                return taken;
            }
        }
    }

    /// The inputs of a concat among these that nobody has put anywhere.
    pub(super) fn free(&self, parts: &Parts, inputs: &[usize]) -> Vec<usize> {
        let is_free = |index: &&usize| {
            let part = parts.list.get(**index);
            part.is_some_and(|part| self.views[self.made(part.value).index()].is_none())
        };
        inputs.iter().filter(is_free).copied().collect()
    }

    /// The graph with all that was taken, and what follows from it and these kernels.
    pub(super) fn finish(self, kernels: &Kernels) -> Result<(Graph, Resolved), GraphError> {
        let (joined, resolved) = self.graph.sharing(&self.views, &self.elided, &self.copied)?;
        let resolved = resolved.with(&joined, kernels)?;
        check_rows(self.graph, self.aliases, &joined, &resolved.aliases, kernels)?;
        check_takeovers(self.graph, &joined, &resolved, &self.taken_over)?;
        Ok((joined, resolved))
    }

    /// Who would take over what somebody still reads; nothing is said of a graph that breaks a rule.
    pub(super) fn harmful(&self, kernels: &Kernels) -> Option<Vec<Takeover>> {
        let shared = self.graph.sharing(&self.views, &self.elided, &self.copied);
        let (joined, resolved) = shared.ok()?;
        let resolved = resolved.with(&joined, kernels).ok()?;
        Some(harmful(self.graph, &joined, &resolved, &self.taken_over))
    }

    /// The value that an operand is all bytes of, and that somebody makes.
    fn made(&self, operand: ValueId) -> ValueId {
        made_as(self.graph, self.aliases, operand)
    }

    fn copy(&mut self, node: NodeId, output: usize) -> bool {
        let output = self.graph.node(node).outputs.get(output).copied().flatten();
        let output = output.filter(|output| self.views[output.index()].is_none());
        self.copied.extend(output);
        output.is_some()
    }

    fn take_over(&mut self, node: NodeId, output: usize, input: usize) -> bool {
        let Some(takeover) = Takeover::of(self.graph, node, output, input) else { return false };
        let Takeover { output, input, .. } = takeover;
        let is_rows = |view: &View| view.rows.is_some_and(|rows| rows.stride > rows.bytes);
        let rows = |value: ValueId| self.views[value.index()].filter(is_rows);
        let is_free = |value: ValueId| {
            self.views[value.index()].is_none() && is_free(self.graph, self.aliases, value)
        };
        let (view, moved) = match (rows(input), rows(output)) {
            (Some(view), None) if is_free(output) => (view, output),
            (None, Some(view)) if is_free(input) => (view, input),
            _ => return false,
        };
        self.views[moved.index()] = Some(view);
        self.taken_over.push(takeover);
        true
    }

    fn view_rows(&mut self, node: NodeId) -> bool {
        let made = row_views(self.graph, node).unwrap_or_default();
        let free = made.iter().all(|(value, _)| self.views[value.index()].is_none());
        for (value, view) in made.iter().filter(|_| free) {
            self.views[value.index()] = Some(*view);
        }
        free && !made.is_empty()
    }

    fn elide(&mut self, node: NodeId, parts: &Parts) -> bool {
        let Some(output) = self.graph.node(node).outputs[0] else { return false };
        let all: Vec<usize> = (0..parts.list.len()).collect();
        let row = || in_a_row(self.graph, &self.views, parts, |value| self.made(value));
        if self.free(parts, &all).len() == all.len() {
            self.place(output, parts, &all);
        } else if let Some(view) = row().filter(|_| self.views[output.index()].is_none()) {
            self.views[output.index()] = Some(view);
        } else {
            return false;
        }
        self.elided[node.index()] = true;
        true
    }

    fn join(&mut self, node: NodeId, parts: &Parts, inputs: &[usize]) -> bool {
        let Some(output) = self.graph.node(node).outputs[0] else { return false };
        if inputs.is_empty() || self.free(parts, inputs).len() < inputs.len() {
            return false;
        }
        self.place(output, parts, inputs);
        true
    }

    fn place(&mut self, output: ValueId, parts: &Parts, inputs: &[usize]) {
        for part in inputs.iter().map(|index| &parts.list[*index]) {
            let made = self.made(part.value);
            self.views[made.index()] = Some(parts.view(output, part));
        }
    }
}
