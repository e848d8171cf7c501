//! Inputs that give their bytes to outputs: caches that are updated where they are.
//!
//! ```text
//!   past ──▶ scatter ──▶ present      [ past ]      present is written over past, in one step or
//!                                     [present]     in several that each work in place
//!
//!   past ──▶ concat ──▶ present       [ past │ new ]    past is a part of present: the caller has
//!   new  ──▶                          [  present   ]    filled it, and only the rest is written
//! ```
//!
//! Whoever asks for that gets it or is told what is in the way: [`donate`] declares that the steps
//! *must* work in place, so that nobody can read the old bytes afterwards, and planner and verifier
//! hold it to that.
//!
//! Cost: for each pair, linear in the graph.

use std::collections::BTreeSet;

use plimsoll::{AccessKind, Overwrite, Role, Storage, ValueId, View};
use plimsoll_pack::Span;
use thiserror::Error;

use crate::effect::{Views, traits};
use crate::graph::{
    self, Aliases, Graph, GraphBuilder, GraphError, Kernels, NodeId, Window, parts,
};

/// An input and the output that takes over its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Donation {
    /// Whose bytes.
    pub input: ValueId,
    /// Who takes them over.
    pub output: ValueId,
    /// Whether they are the plan's, and what a run leaves there is what the next one finds.
    pub is_state: bool,
}

/// Why an output cannot take over the bytes of an input.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum DonationError {
    #[error("`{input}` is not an input")]
    NotInput { input: String },
    #[error("`{output}` is not an output")]
    NotOutput { output: String },
    #[error("`{value}` is asked for twice")]
    Twice { value: String },
    #[error("`{output}` is not made from `{input}` in place")]
    NotMade { output: String, input: String },
    #[error("`{output}` is only a part of `{of}`")]
    Part { output: String, of: String },
    #[error("node `{node}` ({kind}) cannot write over `{input}`")]
    NotInPlace { node: String, kind: String, input: String },
    #[error("node `{node}` reads other operands in the bytes of `{input}`")]
    Clash { node: String, input: String },
    #[error(
        "node `{node}` concatenates on axis {axis}, which is not the outermost of more than one \
         element, so that its input is no stretch of its output"
    )]
    InnerAxis { node: String, axis: usize },
    #[error("node `{node}` inserts its input between other operands")]
    InTheMiddle { node: String },
    #[error("node `{reader}` reads `{input}` after node `{node}` has written over it")]
    ReadAfter { reader: String, input: String, node: String },
    #[error("output `{output}` also takes the bytes of `{input}`")]
    FetchedToo { input: String, output: String },
    #[error("`{output}` is larger than `{input}`, so it cannot be its next state")]
    Grows { input: String, output: String },
    #[error(transparent)]
    Graph(GraphError),
}

/// The graph in which outputs take over the bytes of inputs. Ids are as before.
pub fn donate(
    graph: &Graph,
    kernels: &Kernels,
    donations: &[Donation],
) -> Result<Graph, DonationError> {
    let donating = Donating {
        graph,
        aliases: graph.aliases(kernels),
        overwriting: kernels.overwriting(graph),
        readers: readers(graph),
    };
    let mut builder = GraphBuilder::from(graph);
    let mut taken = BTreeSet::new();
    for donation in donations {
        let way = donating.way(donation)?;
        let made = way.links.iter().map(|link| link.output).chain(way.part.map(|part| part.output));
        for value in [donation.input].into_iter().chain(made) {
            if !taken.insert(value) {
                return Err(DonationError::Twice { value: donating.name(value) });
            }
        }
        way.declare(donation, &mut builder);
    }
    builder.finish().map_err(DonationError::Graph)
}

/// How an output comes about in the bytes of an input.
struct Way {
    /// The steps that work in place, the last first.
    links: Vec<Link>,
    /// The concat before them, whose output has the input as a part.
    part: Option<DonatedPart>,
}

/// An output that is written over an input.
#[derive(Clone, Copy)]
struct Link {
    node: NodeId,
    output: ValueId,
    input: ValueId,
}

/// A part of the output of a concat.
#[derive(Clone, Copy)]
struct DonatedPart {
    node: NodeId,
    /// Which of its inputs.
    index: usize,
    output: ValueId,
    /// The first byte of the part.
    offset: u64,
    /// The bytes that the concat still writes.
    rest: Span,
}

impl Way {
    fn declare(&self, donation: &Donation, builder: &mut GraphBuilder) {
        let input = builder.value_mut(donation.input);
        if donation.is_state {
            (input.role, input.storage) = (Role::Temporary, Storage::Persistent);
        } else {
            input.donated = true;
        }
        if let Some(part) = self.part {
            input.view = Some(View::new(part.output, part.offset));
            let node = builder.node_mut(part.node);
            node.inputs[part.index] = None;
            let written = Window::new(part.output, AccessKind::Write);
            node.windows.push(Window { bytes: Some(part.rest), ..written });
        }
        for Link { node, output, input } in &self.links {
            let overwrites = &mut builder.node_mut(*node).overwrites;
            overwrites.retain(|o| (o.output, o.input) != (*output, *input));
            overwrites.push(Overwrite { output: *output, input: *input, must: true });
        }
    }
}

struct Donating<'g> {
    graph: &'g Graph,
    aliases: Aliases,
    /// The nodes whose kernels work in place; by node.
    overwriting: Vec<bool>,
    /// The nodes that read each value; by value.
    readers: Vec<Vec<NodeId>>,
}

impl Donating<'_> {
    fn name(&self, value: ValueId) -> String {
        self.graph.value(value).name.clone()
    }

    /// How the output can take over the input, if it can.
    fn way(&self, donation: &Donation) -> Result<Way, DonationError> {
        let Donation { input, output, is_state } = *donation;
        let given = self.graph.value(input);
        let plain = (given.role, given.storage) == (Role::Input, Storage::Arena);
        if !plain || self.aliases.view(input).is_some() || given.elided {
            return Err(DonationError::NotInput { input: self.name(input) });
        }
        if !self.graph.outputs().contains(&output) {
            return Err(DonationError::NotOutput { output: self.name(output) });
        }
        let way = self.search(input, output)?;
        if is_state && way.part.is_some() {
            let (input, output) = (self.name(input), self.name(output));
            return Err(DonationError::Grows { input, output });
        }
        let part = way.part.map(|_| input);
        for link in &way.links {
            self.check_readers(link, part)?;
        }
        Ok(way)
    }

    /// Goes back from the output, over whatever could have been overwritten, until it meets the
    /// input. If it does not, the first obstacle says why.
    fn search(&self, input: ValueId, output: ValueId) -> Result<Way, DonationError> {
        let mut obstacle = None;
        let mut seen = BTreeSet::new();
        let mut ways = vec![(output, Vec::new())];
        while let Some((value, links)) = ways.pop() {
            match self.before(input, value) {
                Ok(Before::Input) => return Ok(Way { links, part: None }),
                Ok(Before::Part(part)) => return Ok(Way { links, part: Some(part) }),
                Ok(Before::Links(before)) => {
                    for link in before.into_iter().rev().filter(|link| seen.insert(link.input)) {
                        let mut links = links.clone();
                        links.push(link);
                        ways.push((link.input, links));
                    }
                }
                Err(why) => obstacle = obstacle.or(Some(why)),
            }
        }
        let (input, output) = (self.name(input), self.name(output));
        Err(obstacle.unwrap_or(DonationError::NotMade { output, input }))
    }

    /// What was in the bytes of a value before it.
    fn before(&self, input: ValueId, value: ValueId) -> Result<Before, DonationError> {
        let root = self.aliases.resolve(value).root;
        if !self.is_whole(value, root) {
            let (output, of) = (self.name(value), self.name(root));
            return Err(DonationError::Part { output, of });
        }
        if root == input {
            return Ok(Before::Input);
        }
        let not_made =
            || DonationError::NotMade { output: self.name(value), input: self.name(input) };
        let id = self.graph.producer(root).ok_or_else(not_made)?;
        let node = self.graph.node(id);
        if let Views::Concat { axis } = traits(&node.op).views {
            return self.part(input, id, root, axis);
        }
        let effect = self.graph.native_effect(id);
        let by_op = effect.overwrites.iter().filter(|_| self.overwriting[id.index()]);
        let by_op = by_op.filter_map(|(o, i)| Some((node.outputs[*o]?, node.inputs[*i]?)));
        let windowed = |value: ValueId| node.windows.iter().any(|window| window.value == value);
        let by_op = by_op.filter(|(output, input)| !windowed(*output) && !windowed(*input));
        let declared = node.overwrites.iter().map(|o| (o.output, o.input));
        let links: Vec<Link> = by_op
            .chain(declared)
            .filter(|(output, input)| *output == root && self.has_size_of(root, *input))
            .map(|(output, input)| Link { node: id, output, input })
            .collect();
        if links.is_empty() || node.elided || self.graph.value(root).elided {
            let (node, kind) = (node.name.clone(), node.kind.clone());
            return Err(DonationError::NotInPlace { node, kind, input: self.name(input) });
        }
        let clash = |link: &&Link| self.clashes(link, effect.scatters);
        match links.iter().find(clash) {
            Some(Link { input, .. }) if links.len() == 1 => {
                Err(DonationError::Clash { node: node.name.clone(), input: self.name(*input) })
            }
            _ => Ok(Before::Links(links.into_iter().filter(|link| !clash(&link)).collect())),
        }
    }

    /// The input as a part of what a concat makes.
    fn part(
        &self,
        input: ValueId,
        id: NodeId,
        output: ValueId,
        axis: usize,
    ) -> Result<Before, DonationError> {
        let node = self.graph.node(id);
        let is_input = |value: ValueId| {
            self.aliases.resolve(value).root == input && self.is_whole(value, input)
        };
        let shares = |value: ValueId| self.aliases.resolve(value).root == input;
        let Some(index) = node.inputs.iter().position(|value| value.is_some_and(is_input)) else {
            let (output, input) = (self.name(output), self.name(input));
            return Err(DonationError::NotMade { output, input });
        };
        if node.inputs.iter().flatten().filter(|value| shares(**value)).count() > 1 {
            return Err(DonationError::Clash { node: node.name.clone(), input: self.name(input) });
        }
        let name = || node.name.clone();
        let parts = parts(self.graph, id).filter(|parts| parts.rows == 1);
        let parts = parts.ok_or_else(|| DonationError::InnerAxis { node: name(), axis })?;
        let span = |part: &graph::Part| Span::new(part.offset, part.offset + part.bytes);
        let own = span(&parts.list[index]);
        let end = parts.list.last().map_or(own.hi, |last| span(last).hi);
        let rest = match (own.lo, own.hi) {
            (0, hi) => Span::new(hi, end),
            (lo, hi) if hi == end => Span::new(0, lo),
            _ => return Err(DonationError::InTheMiddle { node: name() }),
        };
        Ok(Before::Part(DonatedPart { node: id, index, output, offset: own.lo, rest }))
    }

    /// Whether a value is all bytes of another.
    fn is_whole(&self, value: ValueId, root: ValueId) -> bool {
        let alias = self.aliases.resolve(value);
        (alias.offset, alias.rows) == (0, None) && self.has_size_of(value, root)
    }

    fn has_size_of(&self, a: ValueId, b: ValueId) -> bool {
        let bytes = |value: ValueId| self.graph.value(value).native_size().known();
        bytes(a).is_some() && bytes(a) == bytes(b)
    }

    /// Whether a node reads other operands in the bytes that it would write over. An op that goes
    /// element by element may read the same value twice.
    fn clashes(&self, link: &Link, scatters: bool) -> bool {
        let node = self.graph.node(link.node);
        let root = self.aliases.resolve(link.input).root;
        let in_bytes = |value: &ValueId| self.aliases.resolve(*value).root == root;
        let same = node.reads().filter(|value| *value == link.input).count();
        node.reads().filter(in_bytes).count() > same || scatters && same > 1
    }

    /// Nobody reads what a node writes over once it has, or fetches it; that includes the input, if it
    /// is a part of that.
    fn check_readers(&self, link: &Link, part: Option<ValueId>) -> Result<(), DonationError> {
        let own = self.aliases.resolve(link.input).root;
        let in_bytes = |value: ValueId| {
            let root = self.aliases.resolve(value).root;
            root == own || Some(root) == part
        };
        if let Some(output) = self.graph.outputs().iter().find(|value| in_bytes(**value)) {
            let (input, output) = (self.name(link.input), self.name(*output));
            return Err(DonationError::FetchedToo { input, output });
        }
        let mut after = vec![false; self.graph.nodes().len()];
        let mut stack = vec![link.node];
        while let Some(node) = stack.pop() {
            for value in self.graph.node(node).results() {
                for reader in &self.readers[value.index()] {
                    if !std::mem::replace(&mut after[reader.index()], true) {
                        stack.push(*reader);
                    }
                }
            }
        }
        let reads =
            |node: &NodeId| after[node.index()] && self.graph.node(*node).reads().any(in_bytes);
        match self.graph.node_ids().find(reads) {
            None => Ok(()),
            Some(reader) => Err(DonationError::ReadAfter {
                reader: self.graph.node(reader).name.clone(),
                input: self.name(link.input),
                node: self.graph.node(link.node).name.clone(),
            }),
        }
    }
}

/// What was in the bytes of a value before it.
enum Before {
    /// The input itself.
    Input,
    /// The input, in a part of them.
    Part(DonatedPart),
    /// What the node that makes it may overwrite.
    Links(Vec<Link>),
}

fn readers(graph: &Graph) -> Vec<Vec<NodeId>> {
    let mut readers = vec![Vec::new(); graph.values().len()];
    for node in graph.node_ids() {
        for value in graph.node(node).reads() {
            readers[value.index()].push(node);
        }
    }
    readers
}

#[cfg(test)]
mod tests;
