//! What every step does to memory, in flat arrays.

use plimsoll::{Access, AccessKind, Overwrite, StepId, Until, ValueId};
use plimsoll_pack::dense::CompressedRows;

use super::LoweringError;
use super::size::Sizes;
use crate::effect::Effect;
use crate::graph::{Aliases, End, Folds, Graph, Node, NodeId, Window, copied, read_through};

/// What every step does to memory.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) accesses: CompressedRows<Access>,
    pub(super) overwrites: CompressedRows<Overwrite>,
    pub(super) after: CompressedRows<StepId>,
}

/// All that is needed to say it.
pub(super) struct Lowering<'a> {
    pub(super) graph: &'a Graph,
    pub(super) aliases: &'a Aliases,
    pub(super) folds: &'a Folds,
    pub(super) sizes: &'a Sizes,
    pub(super) overwriting: Vec<bool>,
    pub(super) steps_of: &'a [Option<StepId>],
}

impl Lowering<'_> {
    /// The steps of an order of nodes, none of them elided.
    pub(super) fn steps(&self, order: &[NodeId]) -> Result<Steps, LoweringError> {
        let mut steps = Steps {
            accesses: CompressedRows::new(),
            overwrites: CompressedRows::new(),
            after: CompressedRows::new(),
        };
        for (position, node) in order.iter().enumerate() {
            let step = StepId::new(position);
            let effect = self.graph.effect(*node, |value| self.sizes.slot_bits(self.graph, value));
            steps.accesses.push(self.accesses(*node, step, &effect)?);
            steps.overwrites.push(self.overwrites(*node, &effect));
            steps.after.push(self.graph.node(*node).after.iter().map(|node| self.step(*node)));
        }
        Ok(steps)
    }

    fn step(&self, node: NodeId) -> StepId {
        self.steps_of[node.index()].expect("nobody refers to the step of an elided node")
    }

    fn accesses(
        &self,
        id: NodeId,
        step: StepId,
        effect: &Effect,
    ) -> Result<Vec<Access>, LoweringError> {
        let node = self.graph.node(id);
        let pure = self.aliases.is_pure_view(id);
        let mut accesses = Accesses { lowering: self, step, list: Vec::new() };
        let copied = copied(self.graph, self.aliases, id);
        if let Some(copied) = &copied {
            copied.inputs.iter().try_for_each(|input| accesses.read(node, *input))?;
        } else if effect.reads && !pure {
            for value in node.inputs.iter().flatten() {
                accesses.read(node, *value)?;
            }
        }
        for value in &node.also_reads {
            accesses.read(node, *value)?;
        }
        let behind = self.folds.behind(id);
        for folded in behind.into_iter().flat_map(|behind| &behind.nodes) {
            let folded = self.graph.node(*folded);
            for value in
                folded.reads().filter(|value| behind.is_some_and(|b| b.reads.contains(value)))
            {
                accesses.read(folded, value)?;
            }
        }
        if let Some(copied) = &copied {
            for span in &copied.spans {
                let window = Window::new(copied.output, AccessKind::Write);
                accesses.push(node, Window { bytes: Some(*span), ..window })?;
            }
        } else if !pure {
            let written = |value: &ValueId| self.aliases.are_written(self.graph, id, *value);
            for value in node.results().filter(written) {
                accesses.write(node, value)?;
            }
        }
        for folded in behind.into_iter().flat_map(|behind| &behind.nodes) {
            let folded = self.graph.node(*folded);
            for value in
                folded.results().filter(|value| behind.is_some_and(|b| b.writes.contains(value)))
            {
                accesses.write(folded, value)?;
            }
        }
        Ok(accesses.list)
    }

    fn overwrites(&self, id: NodeId, effect: &Effect) -> Vec<Overwrite> {
        let node = self.graph.node(id);
        let elided = |value: ValueId| self.graph.value(value).elided;
        let mut list = node.overwrites.clone();
        for folded in self.folds.behind(id).into_iter().flat_map(|behind| &behind.nodes) {
            list.extend(&self.graph.node(*folded).overwrites);
        }
        list.retain(|overwrite| !elided(overwrite.output) && !elided(overwrite.input));
        list.retain(|o| o.must || self.sizes.bytes(o.output) <= self.sizes.bytes(o.input));
        if self.overwriting[id.index()] && !self.aliases.is_pure_view(id) {
            for (output, input) in &effect.overwrites {
                let (Some(output), Some(input)) = (node.outputs[*output], node.inputs[*input])
                else {
                    continue;
                };
                let decided = |o: &Overwrite| o.output == output && (o.must || o.input == input);
                let known = list.iter().any(decided);
                if !known && self.may_overwrite(id, output, input, !effect.scatters) {
                    list.push(Overwrite { output, input, must: false });
                }
            }
        }
        list
    }

    /// Whether an output can take over an input as far as the step is concerned: both are as the
    /// op expects them, and no other operand is a part of the same bytes. It may be the same bytes
    /// if the op reads both `together`.
    fn may_overwrite(&self, id: NodeId, output: ValueId, input: ValueId, together: bool) -> bool {
        let node = self.graph.node(id);
        let folded = self.folds.behind(id).map_or(&[][..], |behind| &behind.reads);
        let value = |value: ValueId| self.graph.value(value);
        let dense = |value: ValueId| self.sizes.is_dense(value);
        let windowed = node.windows.iter().any(|w| w.value == input || w.value == output);
        let (alias, made) = (self.aliases.resolve(input), self.aliases.resolve(output));
        let apart = made.root != alias.root && made.rows.is_none() && alias.rows.is_none();
        // Both may be the same bytes already: rows of something.
        let over = made == alias && self.sizes.bytes(output) == self.sizes.bytes(input);
        let clashes = |other: ValueId| {
            if over {
                return other != input && self.aliases.share_bytes(self.graph, other, input);
            }
            let at = self.aliases.resolve(other);
            let same = at == alias && self.sizes.bytes(other) == self.sizes.bytes(input);
            let twin = same && (together || other == input);
            at.root == alias.root && !(twin && value(other).shape == value(input).shape)
        };
        !value(output).elided
            && !value(input).elided
            && (apart || over)
            && dense(output)
            && dense(input)
            && self.sizes.bytes(output) <= self.sizes.bytes(input)
            && !windowed
            && !node
                .also_reads
                .iter()
                .chain(folded)
                .any(|other| self.aliases.resolve(*other).root == alias.root)
            && !node.inputs.iter().flatten().any(|other| clashes(*other))
            && (together || node.inputs.iter().filter(|i| **i == Some(input)).count() == 1)
    }
}

/// The accesses of one step, as they are found.
struct Accesses<'a> {
    lowering: &'a Lowering<'a>,
    step: StepId,
    list: Vec<Access>,
}

impl Accesses<'_> {
    /// A read that a node makes, or that is made in its place.
    fn read(&mut self, node: &Node, value: ValueId) -> Result<(), LoweringError> {
        let Lowering { graph, aliases, .. } = self.lowering;
        let window = node.window(value, AccessKind::Read);
        if !graph.value(value).elided {
            return self.push(node, window);
        }
        let sources = read_through(graph, aliases, value);
        for source in sources.expect("checked with the folds") {
            self.push(node, Window { value: source, bytes: None, ..window })?;
        }
        Ok(())
    }

    fn write(&mut self, node: &Node, value: ValueId) -> Result<(), LoweringError> {
        self.push(node, node.window(value, AccessKind::Write))
    }

    fn push(&mut self, node: &Node, window: Window) -> Result<(), LoweringError> {
        let lowering = self.lowering;
        let from = window.from.map(|node| lowering.step(node));
        let until = match window.until {
            End::Writes => Until::Writes,
            End::Step => Until::Step,
            End::After(node) => Until::After(lowering.step(node)),
            End::EndOfRun => Until::EndOfRun,
        };
        let late = window.from.filter(|node| lowering.step(*node) > self.step);
        let early = match window.until {
            End::After(node) if lowering.step(node) < self.step => Some(node),
            _ => None,
        };
        if let Some(other) = late.or(early) {
            return Err(LoweringError::Window {
                node: node.name.clone(),
                value: lowering.graph.value(window.value).name.clone(),
                other: lowering.graph.node(other).name.clone(),
            });
        }
        let bytes = window.bytes.map(|span| lowering.sizes.span(window.value, span));
        let access = Access { value: window.value, bytes, kind: window.kind, from, until };
        if !self.list.contains(&access) {
            self.list.push(access);
        }
        Ok(())
    }
}
