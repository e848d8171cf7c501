//! The ONNX model that was read, with notes of where everything is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use plimsoll::verify::VerifiedPlan;
use plimsoll::{Place, Program, Role, Totals};
use plimsoll_graph::ScheduledGraph;
use plimsoll_graph::annotate::{keeps_order, positions, value_notes};
use plimsoll_onnx::{Annotated, Note, Notes};

use crate::input::Source;
use crate::model::LoadedOnnx;
use crate::output;

/// The file with what a plan says of each of its tensors.
pub(crate) fn annotated(
    file: &LoadedOnnx,
    source: &Source,
    program: &ScheduledGraph<'_>,
    plan: &VerifiedPlan,
) -> Result<Annotated> {
    let totals = Totals::new(program, plan);
    let mut notes = Notes::default();
    let numbers = [
        ("arena_bytes", totals.arena_bytes),
        ("lower_bound_bytes", totals.lower_bound_bytes),
        ("align", plan.align),
    ];
    notes.model.extend(numbers.map(|(key, number)| (key.to_owned(), number.to_string())));
    let order = if keeps_order(program, plan) { "file" } else { "position" };
    notes.model.insert("order".to_owned(), order.to_owned());
    let positions = positions(program, plan);
    let graph = program.graph();
    for value in graph.value_ids() {
        // That weights are where they were need not be said of each.
        let stored = matches!(program.value(value).role, Role::Param | Role::Constant);
        if stored && plan.places[value.index()] == Place::External {
            continue;
        }
        let pairs = value_notes(graph, plan, value).into_iter().map(|(key, text)| {
            let is_name = key == "inplace_input";
            (key.to_owned(), if is_name { Note::Tensor(text) } else { Note::Text(text) })
        });
        let mut pairs: BTreeMap<String, Note> = pairs.collect();
        let step = graph.producer(value).and_then(|node| positions[node.index()]);
        pairs.extend(step.map(|at| ("position".to_owned(), Note::Text(at.to_string()))));
        notes.tensors.insert(graph.value(value).name.clone(), pairs);
    }
    let annotated = match &file.annotatable {
        Some(read) => read.with(&notes),
        None => Annotated::new(file.file.clone(), &notes),
    };
    annotated.map_err(|error| anyhow!("{source}: {error}"))
}

/// Says so if the weights will not be found from where the file is written.
pub(crate) fn tell_folder(noted: &Annotated, source: &Source, output: Option<&Path>) {
    if !is_beside(source, output) && noted.has_external_data() {
        output::note(&format!(
            "{source}: its weights are in other files, and are looked for in the folder of the \
             model; the one with notes has to be in the same"
        ));
    }
}

/// Whether a file is written to the folder of the model.
pub(crate) fn is_beside(source: &Source, output: Option<&Path>) -> bool {
    match (source, output) {
        (Source::File(input), Some(output)) => folder(input) == folder(output),
        (Source::Sample | Source::Stdin | Source::Memory(_), _) | (_, None) => false,
    }
}

fn folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()
}
