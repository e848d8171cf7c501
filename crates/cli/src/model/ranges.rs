//! Models for ranges of dims: the graph whose plans hold at every size, and what they use at corners.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use plimsoll::Plan;
use plimsoll_graph::advise::{Variant, VariantKind};
use plimsoll_graph::at_sizes::{DoesNotHold, used_at};
use plimsoll_graph::{Choice, Graph, Kernels, ScheduledGraph, with_choices};
use plimsoll_model::range::{Proof, Range, RangeError, Ranged, over_ranges};
use plimsoll_model::{BindingFault, Bindings, Inferred, Model, Refused, ShapeError};
use plimsoll_onnx::{Annotatable, OnnxFile, Stages};
use plimsoll_tflite::{Imported, TfliteFile};

use super::fused::Operators;
use super::{Lowering, Read, read};
use crate::input::Source;

/// A model as a graph, at the largest dims that are asked for.
#[derive(Clone, Default)]
pub(crate) struct Loaded {
    /// The graph that is planned. With ranges of dims nothing is declared in it but what holds at
    /// every size.
    pub(crate) graph: Graph,
    /// The model at the other corners of ranges of dims, with what they are called.
    pub(crate) corners: Vec<(String, Graph)>,
    /// How it was shown that plans hold at every size of these ranges, if there are any.
    pub(crate) proof: Option<Proof>,
    /// The file that a copy with the plan in it can be made of.
    pub(crate) file: LoadedFile,
    /// What of the model was passed over.
    pub(crate) notes: Vec<String>,
    /// What its nodes compute, if that is known and all sizes are.
    pub(crate) operators: Option<Arc<Operators>>,
    /// The nodes of every fused step of the graph, by name.
    pub(crate) fused: Vec<Vec<String>>,
}

/// The file of a model, if it is of a kind that takes plans.
#[derive(Clone, Default)]
pub(crate) enum LoadedFile {
    /// A graph has no place for plans.
    #[default]
    None,
    Onnx(LoadedOnnx),
    Tflite(Box<(TfliteFile, Imported)>),
}

/// An ONNX file, and what notes are found by in it, if notes are wanted.
#[derive(Clone)]
pub(crate) struct LoadedOnnx {
    pub(crate) file: OnnxFile,
    pub(crate) annotatable: Option<Arc<Annotatable>>,
}

/// A model at the sizes that are asked for.
pub(super) struct AtSizes {
    pub(super) graph: Graph,
    pub(super) refused: Vec<Refused>,
    pub(super) corners: Vec<(String, Graph)>,
    pub(super) proof: Option<Proof>,
    pub(super) operators: Option<Arc<Operators>>,
}

impl Loaded {
    /// What a rewritten file says of where its nodes come from.
    pub(crate) fn staged(&self) -> Option<Stages> {
        match &self.file {
            LoadedFile::Onnx(onnx) => Stages::read(&onnx.file),
            LoadedFile::None | LoadedFile::Tflite(_) => None,
        }
    }

    /// Does without the copies of these concats at the corners too.
    pub(super) fn join_corners(
        &mut self,
        kernels: &Kernels,
        joined: &[Choice],
        source: &Source,
    ) -> Result<()> {
        for (name, graph) in &mut self.corners {
            *graph = with_choices(graph, kernels, joined)
                .map_err(|error| anyhow!("{source}: at {name}: {error} (try --concat copy)"))?;
        }
        Ok(())
    }
}

impl Lowering {
    /// Finds the shapes of a model, for all sizes of its ranges if it has some.
    pub(super) fn at_sizes(&self, model: Model, source: &Source) -> Result<AtSizes> {
        let ranges = self.dims.all_ranges();
        let ranged = inferred(&model, &self.dims.largest(), &ranges);
        let ranged = ranged.map_err(|error| blamed(&error, source))?;
        let (ranged, refused) = match ranged {
            Shapes::Of(inferred) => {
                let (graph, refused) = (inferred.graph.clone(), inferred.refused.clone());
                let operators = Some(Arc::new(Operators { model, inferred: *inferred }));
                return Ok(AtSizes { graph, refused, corners: Vec::new(), proof: None, operators });
            }
            Shapes::Over(ranged) => {
                let refused = ranged.refused.clone();
                (ranged, refused)
            }
        };
        let mut corners = Vec::new();
        for (name, bindings) in self.dims.corners() {
            // Where the model cannot run, a plan uses nothing.
            corners.extend(ranged.at(&model, &bindings).ok().map(|graph| (name, graph)));
        }
        let Ranged { graph, proof, .. } = *ranged;
        Ok(AtSizes { graph, refused, corners, proof: Some(proof), operators: None })
    }

    /// The same model at smaller dims: each symbol's halved, one at a time. Where that is no model,
    /// it is left out.
    pub(crate) fn smaller(&self, source: &Source) -> Result<Vec<Variant>> {
        let halves = self.dims.halves();
        if halves.is_empty() || *source == Source::Stdin {
            return Ok(Vec::new());
        }
        let Read::Model(model, _) = read(source, false)? else { return Ok(Vec::new()) };
        let variant = |(label, bindings): (String, Bindings)| {
            let mut ranges = self.dims.all_ranges();
            for range in &mut ranges {
                range.most = range.most.min(bindings.symbols[&range.symbol]);
                range.least = range.least.min(range.most);
            }
            ranges.retain(|range| range.least < range.most);
            let graph = match inferred(&model, &bindings, &ranges).ok()? {
                Shapes::Of(inferred) => inferred.graph,
                Shapes::Over(ranged) => ranged.graph,
            };
            let graph = self.donations.apply(graph, &self.options().kernels).ok()?;
            Some(Variant { kind: VariantKind::Smaller, label, graph })
        };
        Ok(halves.into_iter().filter_map(variant).collect())
    }

    /// What a plan uses at the other corners of ranges.
    pub(crate) fn used_at_corners(
        &self,
        loaded: &Loaded,
        program: &ScheduledGraph<'_>,
        plan: &Plan,
        source: &Source,
    ) -> Result<Vec<(String, u64)>> {
        let mut corners = Vec::with_capacity(loaded.corners.len());
        for (name, used) in self.at_corners(loaded, program, plan, source)? {
            let used =
                used.with_context(|| format!("{source}: the plan does not hold at {name}"))?;
            corners.push((name, used));
        }
        Ok(corners)
    }

    /// What a plan uses at each of the other corners, or why it does not hold there.
    pub(crate) fn at_corners(
        &self,
        loaded: &Loaded,
        program: &ScheduledGraph<'_>,
        plan: &Plan,
        source: &Source,
    ) -> Result<Vec<(String, Result<u64, DoesNotHold>)>> {
        let used = |(name, graph): &(String, Graph)| {
            let other = self.program(graph, source)?;
            Ok((name.clone(), used_at(program, plan, &other)))
        };
        loaded.corners.iter().map(used).collect()
    }
}

/// A model at one size or for all sizes of ranges.
enum Shapes {
    Of(Box<Inferred>),
    Over(Box<Ranged>),
}

fn inferred(model: &Model, largest: &Bindings, ranges: &[Range]) -> Result<Shapes, RangeError> {
    if ranges.is_empty() {
        return Ok(Shapes::Of(Box::new(plimsoll_model::infer(model, largest)?)));
    }
    Ok(Shapes::Over(Box::new(over_ranges(model, largest, ranges)?)))
}

fn blamed(error: &RangeError, source: &Source) -> anyhow::Error {
    let how = match error {
        RangeError::Shape(error) => how_to_bind(error),
        _ => "",
    };
    anyhow!("{source}: {error}{how}")
}

/// How to say what is not known of inputs, if that is what is wrong.
pub(crate) fn how_to_bind(error: &ShapeError) -> &'static str {
    let ShapeError::Bindings(faults) = error else { return "" };
    let any = |kind: fn(&BindingFault) -> bool| faults.iter().any(kind);
    let symbol = any(|fault| matches!(fault, BindingFault::Unbound { .. }));
    let shape =
        any(|fault| matches!(fault, BindingFault::NoDim { .. } | BindingFault::NoRank { .. }));
    match (symbol, shape) {
        (true, false) => " (give it with --dim NAME=N)",
        (false, true) => {
            " (give it with --input-shape INPUT=N,N; the file declares a dim of 0 or less, which is unknown)"
        }
        (true, true) => " (give it with --dim NAME=N or --input-shape INPUT=N,N)",
        (false, false) => "",
    }
}
