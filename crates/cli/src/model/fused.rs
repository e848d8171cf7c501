//! Kernels that compute several nodes as one: which are asked for, and the graph with them.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use plimsoll::Options;
use plimsoll_graph::advise::{Variant, VariantKind};
use plimsoll_graph::{Case, Graph};
use plimsoll_model::{AllKernels, FusedStep, Inferred, Model};
use plimsoll_rewrite::fuse::{FusionKind, fuse, fuse_all};

use super::{KernelSet, Loaded, Lowering};
use crate::input::Source;

/// What `--kernels` says: a set of kernels, and of fused ones the kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelChoice {
    pub(super) set: KernelSet,
    pub(super) fusions: BTreeSet<FusionKind>,
}

impl KernelChoice {
    /// Whether kernels compute several nodes as one.
    pub(crate) fn is_fused(&self) -> bool {
        self.set == KernelSet::Fused
    }
}

impl From<KernelSet> for KernelChoice {
    fn from(set: KernelSet) -> Self {
        let fusions = if set == KernelSet::Fused { &FusionKind::ALL[..] } else { &[] };
        KernelChoice { set, fusions: fusions.iter().copied().collect() }
    }
}

impl FromStr for KernelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(kinds) = text.strip_prefix("fused=") {
            let kinds = kinds.split(',').map(str::parse).collect::<Result<_, _>>();
            let fusions =
                kinds.map_err(|error: plimsoll_rewrite::fuse::UnknownFusion| error.to_string())?;
            return Ok(KernelChoice { set: KernelSet::Fused, fusions });
        }
        let set = KernelSet::from_str(text, false).map_err(|_| {
            let names = KernelSet::value_variants().iter().map(|set| set.name());
            format!("there are {}, and fused=KIND,KIND", names.collect::<Vec<_>>().join(", "))
        })?;
        Ok(set.into())
    }
}

/// A model at one size, with what is known of its tensors: what fused steps are found in.
#[derive(Clone)]
pub(crate) struct Operators {
    pub(super) model: Model,
    pub(super) inferred: Inferred,
}

impl Lowering {
    /// The graph with fused steps, if fused kernels are asked for: those that a plan tells, or those that make the
    /// arena smallest.
    pub(crate) fn fuse(
        &self,
        loaded: &mut Loaded,
        options: &Options,
        source: &Source,
    ) -> Result<()> {
        if self.kernels != KernelSet::Fused {
            return Ok(());
        }
        let operators = self.operators(loaded, source)?.clone();
        let Operators { model, inferred } = &*operators;
        let steps = if let Some(told) = &self.fused {
            steps_by_names(model, told).with_context(|| format!("{source}: options.fused"))?
        } else {
            let (lowering, tries) = (self.options(), self.tries(options));
            let graph = loaded.graph.clone();
            let case = Case { graph, lowering, options: options.clone(), tries, spills: false };
            let fused = fuse(model, inferred, &case, &self.fusions, &AllKernels);
            fused.map_err(|error| anyhow!("{source}: {error}"))?.steps
        };
        let fused = inferred.fused(model, &steps).map_err(|error| anyhow!("{source}: {error}"))?;
        let names = |step: &FusedStep| {
            step.nodes.iter().map(|node| model.body.nodes[*node].name.clone()).collect()
        };
        loaded.fused = steps.iter().map(names).collect();
        loaded.graph = fused.graph;
        Ok(())
    }

    /// The kinds of fused kernels that there are.
    pub(crate) fn fusion_kinds(&self) -> &BTreeSet<FusionKind> {
        &self.fusions
    }

    /// Whether anything is known that could be fused.
    pub(crate) fn can_fuse(&self, loaded: &Loaded) -> bool {
        loaded.operators.is_some() && self.donations.is_empty()
    }

    /// What fused steps are found in.
    fn operators<'l>(
        &self,
        loaded: &'l Loaded,
        source: &Source,
    ) -> Result<&'l std::sync::Arc<Operators>> {
        if !self.donations.is_empty() {
            bail!("--kernels fused does not go together with --donate and --state");
        }
        if !self.dims.all_ranges().is_empty() {
            bail!(
                "{source}: fused kernels are planned for one size; say --dim NAME=N instead of a range"
            );
        }
        let missing = || {
            anyhow!(
                "{source}: it does not say what its nodes compute, so that nothing can be fused"
            )
        };
        loaded.operators.as_ref().ok_or_else(missing)
    }

    /// The same model with fused kernels of each kind, for those who wonder which ones to write.
    pub(crate) fn fusions(&self, loaded: &Loaded) -> Vec<Variant> {
        let operators = loaded.operators.as_ref();
        let wanted = self.kernels == KernelSet::Standard && self.can_fuse(loaded);
        let Some(operators) = operators.filter(|_| wanted) else {
            return Vec::new();
        };
        let sets: [&[FusionKind]; 6] = [
            &[FusionKind::Activation],
            &[FusionKind::Epilogue],
            &[FusionKind::Epilogue, FusionKind::Residual],
            &[FusionKind::Attention],
            &[FusionKind::Layout],
            &[FusionKind::Prologue],
        ];
        let variant = |kinds: &&[FusionKind]| {
            let label = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",");
            let kinds = kinds.iter().copied().collect();
            let graph: Graph = fuse_all(&operators.model, &operators.inferred, &kinds)?.graph;
            Some(Variant { kind: VariantKind::Fused, label, graph })
        };
        sets.iter().filter_map(variant).collect()
    }
}

impl Loaded {
    /// The graph without fused steps, as it was read.
    pub(crate) fn unfuse(&mut self) {
        if let (Some(operators), false) = (&self.operators, self.fused.is_empty()) {
            self.graph = operators.inferred.graph.clone();
            self.fused.clear();
        }
    }
}

/// Fused steps whose nodes are told by name.
fn steps_by_names(model: &Model, told: &[Vec<String>]) -> Result<Vec<FusedStep>> {
    let nodes = model.body.nodes.iter().enumerate();
    let by_name: std::collections::BTreeMap<&str, usize> =
        nodes.map(|(index, node)| (&node.name[..], index)).collect();
    let index = |name: &String| {
        by_name.get(&name[..]).copied().ok_or_else(|| anyhow!("there is no node `{name}`"))
    };
    let step = |names: &Vec<String>| {
        Ok(FusedStep { nodes: names.iter().map(index).collect::<Result<_>>()? })
    };
    told.iter().map(step).collect()
}
