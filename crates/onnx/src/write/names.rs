//! What tensors are called in a file that is written.

use std::collections::HashSet;

use plimsoll_model::{Model, TensorId};

use crate::origin::Origins;

/// The name of every tensor: of those of the file as it is there, and of all others one that no graph of the file
/// has.
pub(super) fn names(model: &Model, origins: &Origins) -> Vec<String> {
    let mut names: Vec<Option<String>> = vec![None; model.tensors.len()];
    for (id, name) in origins.names() {
        names[id.index()] = Some(name.to_owned());
    }
    let mut taken: HashSet<String> = origins.all_names().map(str::to_owned).collect();
    let pairs = names.into_iter().zip((0..model.tensors.len()).map(TensorId::new));
    let name = |(known, id): (Option<String>, TensorId)| {
        known.unwrap_or_else(|| fresh(&mut taken, &model.tensor(id).name))
    };
    pairs.map(name).collect()
}

/// The name, or the first with a number behind it that nobody has.
fn fresh(taken: &mut HashSet<String>, name: &str) -> String {
    let mut free = name.to_owned();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        free = format!("{name}.{number}");
        number += 1;
    }
    free
}
