//! The TensorFlow Lite model that was read, with the plan in it, as TensorFlow Lite Micro takes it.
//!
//! The interpreter places what a plan leaves to it, and scratch memory of which the file says nothing. So what it
//! takes in the end is simulated: with our plan, and without one. Unless told otherwise, ours is written only where it
//! takes less. On a tie the interpreter finds places itself, since it knows of all scratch memory.

use std::fmt;

use anyhow::{Result, anyhow};
use plimsoll::verify::VerifiedPlan;
use plimsoll_graph::ScheduledGraph;
use plimsoll_graph::annotate::keeps_order;
use plimsoll_report::OfflineMemoryAllocation;
use plimsoll_tflite::{Imported, TfliteFile};

use crate::device::way_out;
use crate::input::Source;

/// The file that is written, and what is in it.
pub(crate) struct Written {
    pub(crate) file: TfliteFile,
    /// What the interpreter takes for the file that was read.
    before: u64,
    /// The same with its operators in another order, if they are.
    reordered: Option<u64>,
    /// The same with our plan, and whether that was written.
    planned: u64,
    has_plan: bool,
    /// Custom operators that may ask for scratch memory.
    unknown: Vec<String>,
    source: String,
}

/// The offsets of all tensors of the file, as the interpreter wants them.
pub(crate) fn allocation(
    (file, imported): &(TfliteFile, Imported),
    source: &Source,
    program: &ScheduledGraph<'_>,
    plan: &VerifiedPlan,
) -> Result<OfflineMemoryAllocation> {
    let graph = program.graph();
    let name =
        |value: &Option<_>| value.map_or_else(String::new, |value| graph.value(value).name.clone());
    let names: Vec<String> = imported.values.iter().flatten().map(name).collect();
    let own = OfflineMemoryAllocation::in_order_of_plan(program, plan, Some(&names))
        .map_err(|error| anyhow!("{source}: {error}{}", way_out(&error)))?;
    let settled = imported.settled_offsets(file, own.offsets());
    Ok(own.with_offsets(settled))
}

/// The file with its operators in the order of the plan, and with the plan in it if the interpreter takes less with it, or
/// if that does not matter.
pub(crate) fn written(
    tflite: &(TfliteFile, Imported),
    source: &Source,
    program: &ScheduledGraph<'_>,
    plan: &VerifiedPlan,
    keeps_better: bool,
) -> Result<Written> {
    let (file, imported) = tflite;
    let fault = |error| anyhow!("{source}: {error}");
    let allocation = allocation(tflite, source, program, plan)?;
    let before = file.head_bytes(&file.offline_offsets().map_err(fault)?).map_err(fault)?;
    let ordered = if keeps_order(program, plan) {
        None
    } else {
        let order =
            imported.operator_order(plan.schedule.iter().map(|step| program.node_of(*step)));
        Some(file.with_operators_in_order(&order).map_err(fault)?)
    };
    let base = ordered.as_ref().unwrap_or(file);
    let planned = base.head_bytes(allocation.offsets()).map_err(fault)?;
    let reordered = ordered.as_ref().map(|file| file.head_bytes(&[])).transpose().map_err(fault)?;
    let has_plan = !keeps_better || planned < before.min(reordered.unwrap_or(before));
    let file = match reordered {
        _ if has_plan => base.with_offline_plan(&allocation.to_bytes()).map_err(fault)?,
        // A plan that was there was for the other order.
        Some(bytes) if bytes < before => base.without_offline_plan().map_err(fault)?,
        _ => file.clone(),
    };
    let unknown = file.unknown_operators().into_iter().map(str::to_owned).collect();
    Ok(Written { file, before, reordered, planned, has_plan, unknown, source: source.to_string() })
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { before, reordered, planned, has_plan, source, unknown, .. } = self;
        write!(f, "{source}: ")?;
        match reordered {
            _ if *has_plan => {
                write!(f, "{planned} bytes with the plan that was written, {before} before")
            }
            Some(bytes) if bytes < before => write!(
                f,
                "{bytes} bytes with its operators in another order, {before} before; no plan was written, since \
                 TFLite Micro's own takes no more than ours ({planned})"
            ),
            _ => write!(
                f,
                "{before} bytes as before, and {planned} with our plan: the file was written as it is"
            ),
        }?;
        if !unknown.is_empty() {
            write!(
                f,
                " (without the scratch memory of {}, which is not known)",
                unknown.join(", ")
            )?;
        }
        Ok(())
    }
}
