//! Arguments for what devices and their tools are told of a plan.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use plimsoll::verify::VerifiedPlan;
use plimsoll_graph::ScheduledGraph;
use plimsoll_graph::annotate::keeps_order;
use plimsoll_report::{OfflineMemoryAllocation, SymbolPrefix, TflmError};

use crate::input::Source;
use crate::kind::Wanted;
use crate::model::LoadedFile;
use crate::{output, planned_tflite};

#[derive(Args)]
#[command(next_help_heading = "Exports")]
pub(crate) struct DeviceArgs {
    /// The prefix of all symbols in a C header [default: plimsoll]
    #[arg(long, value_name = "NAME")]
    symbol_prefix: Option<SymbolPrefix>,

    /// The tensors of the flatbuffer for which an offline plan for TensorFlow Lite Micro is written
    /// [default: the values of the model]
    ///
    /// Their names in the order of their indices, one per line; a blank line for a tensor that the model lacks.
    #[arg(long, value_name = "FILE")]
    tensor_order: Option<PathBuf>,

    /// Write an offline plan into a TensorFlow Lite file even if it takes no less memory than TensorFlow Lite
    /// Micro's own planner [default: the file is then left without one]
    #[arg(long)]
    no_keep_better: bool,
}

/// What the arguments mean.
pub(crate) struct Device {
    pub(crate) prefix: SymbolPrefix,
    /// Whether a plan is only written where it takes less.
    pub(crate) keeps_better: bool,
    tensor_order: Option<(Source, Vec<String>)>,
}

/// What a form of a plan has a use for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Uses {
    pub(crate) symbols: bool,
    pub(crate) tensors: bool,
    pub(crate) files: bool,
}

impl DeviceArgs {
    /// The files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.tensor_order.as_deref().into_iter()
    }

    /// Reads what there is to read; arguments that the form has no use for are an error.
    pub(crate) fn resolve(&self, uses: Uses) -> Result<Device> {
        ensure!(
            uses.symbols || self.symbol_prefix.is_none(),
            "--symbol-prefix is for a C header: use it with -o FILE.h or --format h"
        );
        ensure!(
            uses.tensors || self.tensor_order.is_none(),
            "--tensor-order is for TFLite Micro: use it with -o FILE.tflm or --format tflm"
        );
        ensure!(
            uses.files || !self.no_keep_better,
            "--no-keep-better is for TensorFlow Lite files: use it with -o FILE.tflite or --format tflite"
        );
        let read = |path: &PathBuf| {
            let source = Source::named(path);
            let text = source.text(Wanted::Other).with_context(|| source.to_string())?;
            // A blank line is a tensor without a name, and has an index too.
            Ok::<_, anyhow::Error>((source, text.lines().map(str::to_owned).collect()))
        };
        let prefix = self.symbol_prefix.clone().unwrap_or_default();
        let tensor_order = self.tensor_order.as_ref().map(read).transpose()?;
        Ok(Device { prefix, keeps_better: !self.no_keep_better, tensor_order })
    }
}

impl Device {
    /// The offline plan for TensorFlow Lite Micro, which runs the nodes in the order of the file.
    pub(crate) fn offline_allocation(
        &self,
        source: &Source,
        program: &ScheduledGraph<'_>,
        plan: &VerifiedPlan,
        file: &LoadedFile,
    ) -> Result<OfflineMemoryAllocation> {
        let own = if keeps_order(program, plan) {
            OfflineMemoryAllocation::new(program, plan, None)
        } else {
            Err(TflmError::Order)
        };
        let own = own.map_err(|error| anyhow!("{source}: {error}{}", way_out(&error)))?;
        let Some((order_source, order)) = &self.tensor_order else {
            let LoadedFile::Tflite(tflite) = file else { return Ok(own) };
            return planned_tflite::allocation(tflite, source, program, plan);
        };
        let ordered = OfflineMemoryAllocation::new(program, plan, Some(order));
        let ordered = ordered.with_context(|| order_source.to_string())?;
        if let missing @ 1.. = own.placed() - ordered.placed() {
            output::note(&format!(
                "{order_source}: {missing} of {} values that have a place are not in it",
                own.placed()
            ));
        }
        Ok(ordered)
    }
}

/// What may help where a plan is none for TensorFlow Lite Micro.
pub(crate) fn way_out(error: &TflmError) -> &'static str {
    match error {
        TflmError::Misaligned { .. } => " (try --align 16, or --kernels copying if it is a view)",
        TflmError::Weight(_) => " (leave params and constants out of --place)",
        TflmError::Reserved(_) => " (do without --guard and --min-slot)",
        TflmError::Rows(_) => " (try --kernels views)",
        _ => "",
    }
}
