//! What is given for the inputs of a model that is run: arrays of files, read before the model is planned.
//!
//! An array says how large its input is: what its symbols stand for need not be said once more. Raw elements say nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use plimsoll_model::range::Range;
use plimsoll_model::{Axis, Bindings, Model};
use plimsoll_report::plain;
use plimsoll_run::{Array, Port, random_inputs};

use crate::npy;

/// What is given for inputs, by name.
#[derive(Default)]
pub(crate) struct GivenInputs(BTreeMap<String, Given>);

enum Given {
    Array(Array),
    /// Elements, least byte first, of the type and dims of the input.
    Raw(Vec<u8>),
}

impl GivenInputs {
    /// Reads all files: each for an input, or an archive for those that it has arrays for.
    pub(crate) fn read(files: &[(Option<String>, PathBuf)], model: &Model) -> Result<Self> {
        let inputs = &model.body.inputs;
        let known = |name: &str| -> Result<()> {
            let is_known = inputs.iter().any(|id| model.tensor(*id).name == name);
            ensure!(is_known, "--input: there is no input `{}`", plain(name));
            Ok(())
        };
        let mut found = BTreeMap::new();
        for (name, path) in files {
            let named = || path.display().to_string();
            let given = if let Some(name) = name {
                known(name)?;
                vec![(name.clone(), given(path, name).with_context(named)?)]
            } else {
                let bytes = fs::read(path).context("cannot read").with_context(named)?;
                let arrays = npy::read_archive(&bytes).with_context(named)?;
                arrays.into_iter().map(|(name, array)| (name, Given::Array(array))).collect()
            };
            for (name, given) in given {
                known(&name)?;
                let is_first = found.insert(name.clone(), given).is_none();
                ensure!(is_first, "--input: `{}` is given more than once", plain(&name));
            }
        }
        Ok(GivenInputs(found))
    }

    /// Binds what arrays say of dims and nobody else does; gives the sizes of dims that have a range.
    pub(crate) fn bind(
        &self,
        model: &Model,
        ranges: &[Range],
        bindings: &mut Bindings,
    ) -> BTreeMap<String, u64> {
        let mut sizes = BTreeMap::new();
        for input in model.body.inputs.iter().map(|id| model.tensor(*id)) {
            let Some(Given::Array(array)) = self.0.get(&input.name) else { continue };
            let declared = input.dims.as_deref().filter(|dims| dims.len() == array.dims.len());
            for (axis, dim) in declared.unwrap_or_default().iter().zip(&array.dims) {
                let Axis::Symbol(symbol) = axis else { continue };
                let has_range = ranges.iter().any(|range| range.symbol == *symbol);
                let bound = if has_range { &mut sizes } else { &mut bindings.symbols };
                bound.entry(symbol.clone()).or_insert(*dim);
            }
            let is_open = |dims: &[Axis]| dims.contains(&Axis::Unknown);
            if input.dims.as_deref().is_none_or(is_open) {
                let name = input.name.clone();
                bindings.inputs.entry(name).or_insert_with(|| array.dims.clone());
            }
        }
        sizes
    }

    /// An array for each input: what is given, and numbers from a seed for the others.
    pub(crate) fn filled(&self, seed: u64, inputs: &[Port]) -> BTreeMap<String, Array> {
        let mut filled = random_inputs(seed, inputs);
        for port in inputs {
            let array = match self.0.get(&port.name) {
                Some(Given::Array(array)) => array.clone(),
                Some(Given::Raw(bytes)) => {
                    let (dtype, dims, bytes) = (port.dtype, port.dims.clone(), bytes.clone());
                    Array { dtype, dims, bytes }
                }
                None => continue,
            };
            filled.insert(port.name.clone(), array);
        }
        filled
    }
}

/// What a file gives for an input.
fn given(path: &Path, name: &str) -> Result<Given> {
    let bytes = fs::read(path).context("cannot read")?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => npy::read(&bytes).map(Given::Array),
        Some("npz") => {
            let mut arrays = npy::read_archive(&bytes)?;
            let at = arrays.iter().position(|(other, _)| other == name);
            let at = at.or_else(|| (arrays.len() == 1).then_some(0));
            let at = at.ok_or_else(|| anyhow!("no array is called `{}`", plain(name)))?;
            Ok(Given::Array(arrays.swap_remove(at).1))
        }
        _ => Ok(Given::Raw(bytes)),
    }
}
