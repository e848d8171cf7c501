//! Names of values and nodes: in the file they may be missing, and the same again and again.

use std::collections::HashSet;

/// The names that are taken.
#[derive(Default)]
pub(super) struct Names {
    values: HashSet<String>,
    nodes: HashSet<String>,
}

impl Names {
    /// The name of a tensor: its own if it has one that nobody else has.
    pub(super) fn of_value(&mut self, own: &str, at: (usize, usize)) -> String {
        let own = if own.is_empty() { "tensor" } else { own };
        unique(&mut self.values, own, at)
    }

    /// The name of an operator, which has none in the file: that of the first tensor that it makes.
    pub(super) fn of_node(&mut self, made: &str, kind: &str, at: (usize, usize)) -> String {
        let own = if made.is_empty() { kind } else { made };
        unique(&mut self.nodes, own, at)
    }
}

/// The name, with its subgraph behind it if that is not the first, and its index if it is taken.
fn unique(taken: &mut HashSet<String>, own: &str, (subgraph, index): (usize, usize)) -> String {
    let mut name = if subgraph == 0 { own.to_owned() } else { format!("{own}@{subgraph}") };
    if taken.contains(&name) {
        name = format!("{name}#{index}");
    }
    while !taken.insert(name.clone()) {
        name.push('\'');
    }
    name
}
