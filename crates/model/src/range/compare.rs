//! What is shared at the largest sizes, and whether it is at others.

use std::collections::BTreeMap;

use plimsoll::{Overwrite, ValueId};
use plimsoll_graph::effect::{FoundView, Operand, sliced, traits, views};
use plimsoll_graph::shape::dims::count;
use plimsoll_graph::{Dim, Elements, Graph, Node, NodeId, Shape, Value};

use super::{GivenUp, Why};
use crate::lower::Lowered;

/// What is shared at the largest sizes: all that plans could rest on.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// The views that ops make, by the value that is one.
    pub(super) views: BTreeMap<ValueId, Link>,
    /// Inputs that an op may overwrite: the node, and the numbers of output and input.
    pub(super) overwrites: BTreeMap<(NodeId, usize, usize), TakeOver>,
    /// The same where the node declares it, by its number there.
    pub(super) declared: BTreeMap<(NodeId, usize), TakeOver>,
    /// The most elements of every value, if it has a limit at the largest sizes.
    pub(super) elements: Vec<Option<u64>>,
    /// Whether the shape of every value is the same at every size.
    pub(super) constant: Vec<bool>,
    /// What was found not to be shared, in the order in which it was.
    pub(super) given_up: Vec<GivenUp>,
    names: Vec<String>,
}

impl Shared {
    /// Gives up a view.
    pub(super) fn give_up_view(&mut self, value: ValueId, why: Why) {
        if let Some(link) = self.views.get_mut(&value).filter(|link| link.holds) {
            link.holds = false;
            let value = self.names[value.index()].clone();
            self.given_up.push(GivenUp { value, why });
        }
    }
}

/// A view: at which of all sizes it is one, and of which bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Of which value.
    pub(super) of: ValueId,
    /// Whether it is a view at every size.
    pub(super) holds: bool,
    /// Whether it is all of the other value at every size.
    pub(super) whole: bool,
    /// Whether it is the same bytes of the other value at every size.
    pub(super) fixed: bool,
}

impl Link {
    /// Whether reading it can be declared as it is at the largest sizes.
    pub(super) fn is_settled(self) -> bool {
        self.holds && (self.whole || self.fixed)
    }
}

/// An output that may take over an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakeOver {
    pub(super) output: ValueId,
    pub(super) input: ValueId,
    /// Whether it may at every size.
    pub(super) holds: bool,
}

/// The same for some of the sizes.
pub(super) struct Found {
    views: BTreeMap<ValueId, Link>,
    overwrites: BTreeMap<(NodeId, usize, usize), bool>,
    declared: BTreeMap<(NodeId, usize), bool>,
    elements: Vec<Option<u64>>,
    constant: Vec<bool>,
}

impl Shared {
    /// What is shared by a graph at the largest sizes.
    pub(super) fn of(top: &Graph) -> Self {
        let mut shared = Shared {
            views: BTreeMap::new(),
            overwrites: BTreeMap::new(),
            declared: BTreeMap::new(),
            elements: top.values().iter().map(|value| limit(&value.shape)).collect(),
            constant: vec![true; top.values().len()],
            given_up: Vec::new(),
            names: top.values().iter().map(|value| value.name.clone()).collect(),
        };
        let shown = |of: ValueId| Link { of, holds: true, whole: true, fixed: true };
        for value in top.value_ids() {
            let view = top.value(value).view;
            shared.views.extend(view.map(|view| (value, shown(view.of))));
        }
        for id in top.node_ids() {
            let node = top.node(id);
            for view in views_of(top, id, None) {
                if let (Some(value), Some(of)) =
                    (node.outputs[view.output], node.inputs[view.input])
                    && top.value(value).view.is_none()
                {
                    shared.views.insert(value, shown(of));
                }
            }
            for (to, from) in same_shapes(top, id) {
                if let (Some(output), Some(input)) = (node.outputs[to], node.inputs[from]) {
                    let taken = TakeOver { output, input, holds: true };
                    shared.overwrites.insert((id, to, from), taken);
                }
            }
            for (index, overwrite) in node.overwrites.iter().enumerate() {
                let Overwrite { output, input, .. } = *overwrite;
                shared.declared.insert((id, index), TakeOver { output, input, holds: true });
            }
        }
        shared
    }

    /// Whether everything that is still shared is shown to be for some sizes, and no value is larger.
    pub(super) fn is_shown_by(&self, found: &Found) -> bool {
        let views = self.views.iter().all(|(value, link)| !link.holds || found.views[value].holds);
        let ops = self.overwrites.iter().all(|(at, over)| !over.holds || found.overwrites[at]);
        let declared = self.declared.iter().all(|(at, over)| !over.holds || found.declared[at]);
        let sizes = self.elements.iter().zip(&found.elements);
        views && ops && declared && sizes.into_iter().all(|(most, here)| here <= most)
    }

    /// Takes in what was found at some sizes. What is not shared there is given up.
    pub(super) fn learn(&mut self, found: &Found, why: &Why) {
        for (value, link) in &mut self.views {
            let here = found.views[value];
            if link.holds && !here.holds {
                let value = self.names[value.index()].clone();
                self.given_up.push(GivenUp { value, why: why.clone() });
            }
            link.holds &= here.holds;
            link.whole &= here.whole;
            link.fixed &= here.fixed;
        }
        let ops = self.overwrites.iter_mut().map(|(key, holds)| (holds, found.overwrites[key]));
        let declared = self.declared.iter_mut().map(|(key, holds)| (holds, found.declared[key]));
        for (overwrite, here) in ops.chain(declared) {
            if overwrite.holds && !here {
                let value = self.names[overwrite.output.index()].clone();
                self.given_up.push(GivenUp { value, why: why.clone() });
            }
            overwrite.holds &= here;
        }
        for (most, here) in self.elements.iter_mut().zip(&found.elements) {
            *most = (*most).max(*here);
        }
        for (constant, here) in self.constant.iter_mut().zip(&found.constant) {
            *constant &= here;
        }
    }
}

impl Found {
    /// What of all that is shared is shared for the sizes of `over` too; an error says which step or
    /// value is not the same there.
    pub(super) fn of(top: &Graph, over: &Lowered, shared: &Shared) -> Result<Self, String> {
        let here = &over.graph;
        check_same(top, here)?;
        let pairs = || top.values().iter().zip(here.values());
        let mut found = Found {
            views: BTreeMap::new(),
            overwrites: BTreeMap::new(),
            declared: BTreeMap::new(),
            elements: pairs().map(|(top, here)| elements(top, here)).collect::<Result<_, _>>()?,
            constant: pairs().map(|(top, here)| top.shape == here.shape).collect(),
        };
        for value in shared.views.keys() {
            found.views.insert(*value, link(top, over, *value));
        }
        for id in top.node_ids() {
            let shapes = same_shapes(here, id);
            let keys = shared.overwrites.range((id, 0, 0)..=(id, usize::MAX, usize::MAX));
            for (key, _) in keys {
                found.overwrites.insert(*key, shapes.contains(&(key.1, key.2)));
            }
            for index in 0..top.node(id).overwrites.len() {
                found.declared.insert((id, index), declares(top, here, id, index));
            }
        }
        Ok(found)
    }
}

/// Whether two graphs are the same but for shapes, and what follows from these.
fn check_same(top: &Graph, here: &Graph) -> Result<(), String> {
    let other = |name: &str| Err(format!("`{name}` is another step or value there"));
    let (steps, values) = (top.nodes().len(), top.values().len());
    for (index, node) in top.nodes().iter().chain(here.nodes().iter().skip(steps)).enumerate() {
        let same = |here: &Node| {
            (&node.name, &node.inputs, &node.outputs) == (&here.name, &here.inputs, &here.outputs)
                && (&node.also_reads, &node.windows) == (&here.also_reads, &here.windows)
                && (&node.after, node.block, node.elided) == (&here.after, here.block, here.elided)
        };
        if index >= steps || !here.nodes().get(index).is_some_and(same) {
            return other(&node.name);
        }
    }
    for (index, value) in top.values().iter().chain(here.values().iter().skip(values)).enumerate() {
        let same = |here: &Value| {
            (&value.name, value.role, value.dtype) == (&here.name, here.role, here.dtype)
                && (value.storage, value.view) == (here.storage, here.view)
        };
        if index >= values || !here.values().get(index).is_some_and(same) {
            return other(&value.name);
        }
    }
    if top.outputs() == here.outputs() { Ok(()) } else { Err("there are other outputs".to_owned()) }
}

/// The most elements of a value, if it has a limit at the largest sizes.
fn elements(top: &Value, here: &Value) -> Result<Option<u64>, String> {
    match (limit(&top.shape), limit(&here.shape)) {
        (None, _) => Ok(None),
        (Some(_), None) => Err(format!("the size of `{}` is not known", top.name)),
        (Some(_), here) => Ok(here),
    }
}

fn limit(shape: &Shape) -> Option<u64> {
    match shape.elements() {
        Elements::Known(elements) => Some(elements),
        Elements::Unknown | Elements::TooMany => None,
    }
}

/// What a view at the largest sizes is at others.
fn link(top: &Graph, over: &Lowered, value: ValueId) -> Link {
    let here = &over.graph;
    if let Some(view) = here.value(value).view {
        let counts = [value, view.of].map(|value| here.value(value).shape.exact().map(count));
        let whole = view.offset == 0 && counts[0].is_some() && counts[0] == counts[1];
        let fixed = here.value(value).shape == top.value(value).shape;
        return Link { of: view.of, holds: true, whole, fixed };
    }
    let none = Link { of: value, holds: false, whole: false, fixed: false };
    let Some(id) = top.producer(value) else { return none };
    let made = |graph: &Graph, kept| {
        let made = views_of(graph, id, kept);
        made.into_iter().find(|view| graph.node(id).outputs[view.output] == Some(value))
    };
    let (Some(planned), Some(found)) = (made(top, None), made(here, Some(over))) else {
        return none;
    };
    let same = here.value(value).shape == top.value(value).shape;
    Link {
        of: top.node(id).inputs[planned.input].unwrap_or(value),
        holds: planned.input == found.input,
        whole: found.is_whole,
        fixed: same && planned.offset == found.offset,
    }
}

/// A view that a node makes.
struct Made {
    output: usize,
    input: usize,
    offset: Dim,
    /// Whether it is all of the input.
    is_whole: bool,
}

/// The views that a node makes for all sizes of a graph.
fn views_of(graph: &Graph, id: NodeId, over: Option<&Lowered>) -> Vec<Made> {
    let node = graph.node(id);
    let (inputs, outputs) = graph.operands(id);
    let kept = over.and_then(|over| over.kept.get(&id));
    let found = match kept {
        Some(kept) => sliced(kept, &inputs, &outputs).into_iter().collect(),
        None => views(&node.op, &inputs, &outputs),
    };
    let parts = kept.is_some() || traits(&node.op).views.takes_parts();
    let made = |view: FoundView| {
        let count = |operand: Option<&Option<Operand<'_>>>| {
            operand.copied().flatten().and_then(|operand| operand.shape.exact()).map(count)
        };
        let counts = [count(inputs.get(view.input)), count(outputs.get(view.output))];
        Made {
            output: view.output,
            input: view.input,
            offset: view.offset,
            is_whole: !parts || counts[0].is_some() && counts[0] == counts[1],
        }
    };
    found.into_iter().map(made).collect()
}

/// The inputs that the op of a node may overwrite as far as shapes are concerned: their slots are as
/// wide as those of outputs.
fn same_shapes(graph: &Graph, id: NodeId) -> Vec<(usize, usize)> {
    graph.effect(id, |_| 64).overwrites
}

/// Whether a node declares there too that an output may take over an input, which is as large.
fn declares(top: &Graph, here: &Graph, id: NodeId, index: usize) -> bool {
    let overwrite = top.node(id).overwrites[index];
    let shape = |value: ValueId| &here.value(value).shape;
    let (output, input) = (shape(overwrite.output), shape(overwrite.input));
    let fits = match (limit(output), limit(input)) {
        _ if output == input => true,
        (Some(output), Some(input)) => output <= input && here_is_known(here, overwrite),
        _ => false,
    };
    fits && here.node(id).overwrites.contains(&overwrite)
}

/// Whether both shapes are numbers, so that limits are sizes.
fn here_is_known(here: &Graph, overwrite: Overwrite) -> bool {
    let known = |value: ValueId| here.value(value).shape.known().is_some();
    known(overwrite.output) && known(overwrite.input)
}
