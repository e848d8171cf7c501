//! Where the tensors and nodes of a model come from: which name of which graph of the file each tensor is, and which
//! node of the file's own graph a node.

use std::collections::HashMap;

use plimsoll_model::TensorId;

/// A graph of a file: for each that it is in, outermost first, the node and its attribute. The
/// model's own is empty.
pub(crate) type Path = Vec<(usize, String)>;

/// The tensors that names stand for, by graph.
#[derive(Default)]
pub(crate) struct Origins {
    graphs: HashMap<Path, HashMap<String, TensorId>>,
    /// For every node of the model's own graph that of the file's. The nodes of a function have that of its call.
    nodes: Vec<usize>,
    /// The graph that is read.
    at: Path,
}

impl Origins {
    /// Goes into a body of a node.
    pub(crate) fn enter(&mut self, node: usize, attribute: &str) {
        self.at.push((node, attribute.to_owned()));
    }

    /// Goes back to the graph around it.
    pub(crate) fn leave(&mut self) {
        self.at.pop();
    }

    /// Keeps the names of the graph that is read.
    pub(crate) fn add<'n>(&mut self, names: impl Iterator<Item = (&'n str, TensorId)>) {
        let names = names.map(|(name, id)| (name.to_owned(), id)).collect();
        self.graphs.insert(self.at.clone(), names);
    }

    /// Says which node of the graph that is read made the newest of so many nodes.
    pub(crate) fn made(&mut self, by: usize, nodes: usize) {
        if self.at.is_empty() {
            self.nodes.resize(nodes, by);
        }
    }

    /// For every node of the model's own graph the node of the file's.
    pub(crate) fn nodes(&self) -> &[usize] {
        &self.nodes
    }

    /// The names of a graph; `None` for one that was not read.
    pub(crate) fn graph(&self, path: &Path) -> Option<&HashMap<String, TensorId>> {
        self.graphs.get(path)
    }

    /// Every name of every graph that was read.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.graphs.values().flat_map(|names| names.keys().map(String::as_str))
    }

    /// What each tensor is called in the file.
    pub(crate) fn names(&self) -> HashMap<TensorId, &str> {
        let all = self.graphs.values().flatten();
        all.map(|(name, id)| (*id, name.as_str())).collect()
    }
}
