//! How large a model becomes once its functions are put in their places, known before that is
//! done.
//!
//! Functions that call functions grow exponentially in the size of the file, and names that are
//! told apart by where they are grow with the depth. Both are counted here, each function once,
//! so that a file that is too much is turned away in time linear in its size.
//!
//! Too much is what takes too much memory, and what is out of proportion to the file: a kilobyte can
//! become a million nodes, which nobody has written and which take minutes to be planned.

use std::collections::HashMap;

use crate::attribute::attribute_bytes;
use crate::error::OnnxError;
use crate::proto::{GraphProto, NodeProto};
use crate::reader::{Functions, Key, key};
use crate::tensor::content_bytes;

/// How deep bodies and functions may be nested in each other.
const MOST_LEVELS: usize = 64;
/// So many nodes a file of any size may become.
const MOST_NODES: u64 = 1 << 17;
/// So many times its own nodes a larger one may.
const MOST_TIMES: u64 = 16;
/// What a node or a tensor takes, without its name.
const EACH: u64 = 200;

/// What a part of the model becomes.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Bytes of memory.
    bytes: u64,
    /// Nodes and tensors: names, each of which may get the place in front.
    names: u64,
    /// Nodes that call no function.
    nodes: u64,
    /// How deep it is.
    levels: usize,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.names = self.names.saturating_add(other.names);
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.levels = self.levels.max(other.levels);
    }

    /// As a part of a node of that name.
    fn inside(mut self, node: &NodeProto) -> Self {
        let name = node.name().len().max(node.output.iter().map(String::len).max().unwrap_or(0));
        // Behind the name come the part, such as `/else`, and a number.
        let prefix = self.names.saturating_mul(name as u64 + 16);
        self.bytes = self.bytes.saturating_add(prefix);
        self.levels += 1;
        self
    }
}

/// Fails if the model would take more than so many bytes or become too many nodes, is nested too
/// deeply, or if a function calls itself.
pub(crate) fn check(
    graph: &GraphProto,
    functions: &Functions<'_>,
    most_bytes: u64,
) -> Result<(), OnnxError> {
    let mut counter = Counter { functions, done: HashMap::new(), own_nodes: 0 };
    let cost = counter.graph(graph, 0)?;
    if cost.bytes > most_bytes {
        let fault = format!("it would become more than {most_bytes} bytes large");
        return Err(OnnxError::Model(fault));
    }
    let most = counter.own_nodes.saturating_mul(MOST_TIMES).max(MOST_NODES);
    if cost.nodes > most {
        let fault =
            format!("its functions would become {} nodes: at most {most} are read", cost.nodes);
        return Err(OnnxError::Model(fault));
    }
    Ok(())
}

struct Counter<'c, 'm> {
    functions: &'c Functions<'m>,
    /// What is known of functions; `None` while they are counted.
    done: HashMap<Key<'m>, Option<Cost>>,
    /// How many nodes the file has itself.
    own_nodes: u64,
}

impl<'m> Counter<'_, 'm> {
    fn graph(&mut self, graph: &'m GraphProto, level: usize) -> Result<Cost, OnnxError> {
        let mut cost = Cost::default();
        for tensor in &graph.initializer {
            cost.add(named(tensor.name(), content_bytes(tensor)));
        }
        for value in graph.input.iter().chain(&graph.output) {
            cost.add(named(value.name(), 0));
        }
        cost.add(self.nodes(&graph.node, level)?);
        Ok(cost)
    }

    fn nodes(&mut self, nodes: &'m [NodeProto], level: usize) -> Result<Cost, OnnxError> {
        let mut cost = Cost::default();
        for (index, node) in nodes.iter().enumerate() {
            if level > MOST_LEVELS {
                return Err(OnnxError::node(index, node, "it is nested too deeply"));
            }
            self.own_nodes += 1;
            cost.add(own(node));
            let graphs = node
                .attribute
                .iter()
                .flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs));
            for graph in graphs {
                cost.add(self.graph(graph, level + 1)?.inside(node));
            }
            match self.call(node, level)? {
                Some(called) => cost.add(called.inside(node)),
                None => cost.add(Cost { nodes: 1, ..Cost::default() }),
            }
            if cost.levels + level > MOST_LEVELS + 1 {
                return Err(OnnxError::node(index, node, "functions are nested too deeply"));
            }
        }
        Ok(cost)
    }

    /// What a node becomes if it calls a function.
    fn call(&mut self, node: &'m NodeProto, level: usize) -> Result<Option<Cost>, OnnxError> {
        let key = key(node);
        let Some(function) = self.functions.get(&key) else { return Ok(None) };
        match self.done.get(&key) {
            Some(Some(cost)) => return Ok(Some(*cost)),
            Some(None) => {
                let name = key.to_string();
                return Err(OnnxError::Function { name, fault: "it calls itself".to_owned() });
            }
            None => {}
        }
        self.done.insert(key, None);
        let cost = self.nodes(&function.node, level + 1)?;
        self.done.insert(key, Some(cost));
        Ok(Some(cost))
    }
}

fn named(name: &str, more: u64) -> Cost {
    Cost { bytes: EACH + 2 * name.len() as u64 + more, names: 1, ..Cost::default() }
}

/// A node with what it makes, without its bodies. A few operands may be added to it.
fn own(node: &NodeProto) -> Cost {
    let mut cost = named(node.name(), node.op_type().len() as u64 + 8 * node.input.len() as u64);
    for output in &node.output {
        cost.add(named(output, 0));
    }
    for attribute in &node.attribute {
        cost.add(named(node.name(), attribute_bytes(attribute)));
    }
    cost
}
