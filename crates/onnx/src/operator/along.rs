//! Operators along axes: reductions, softmax, norms.

use plimsoll_graph::Dtype;
use plimsoll_model::{
    ArgReduce, BatchNorm, Cumulate, LayerNorm, LocalNorm, Norm, Operator, Reduce, Reduction,
    RowFunction, Softmax,
};

use super::layout::axes_before;
use super::like;
use crate::attribute::{Attributes, missing};
use crate::draft::Draft;
use crate::error::Fault;

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    if let Some(function) = reduction(draft.kind) {
        return reduce(draft, function).map(Some);
    }
    let attributes = &draft.attributes;
    let epsilon = || attributes.number("epsilon", EPSILON);
    Ok(Some(match draft.kind {
        "ArgMax" | "ArgMin" => Operator::ArgReduce(ArgReduce {
            axis: attributes.int_or("axis", 0)?,
            keep_dims: attributes.flag("keepdims", true)?,
            largest: draft.kind == "ArgMax",
            last: attributes.flag("select_last_index", false)?,
        }),
        "CumProd" | "CumSum" => Operator::Cumulate(Cumulate {
            product: draft.kind == "CumProd",
            exclusive: attributes.flag("exclusive", false)?,
            reverse: attributes.flag("reverse", false)?,
        }),
        "Softmax" => softmax(draft, RowFunction::Softmax)?,
        "LogSoftmax" => softmax(draft, RowFunction::LogSoftmax)?,
        "Hardmax" => softmax(draft, RowFunction::Hardmax)?,
        "BatchNormalization" => batch_norm(draft)?,
        "LayerNormalization" => Operator::LayerNorm(LayerNorm {
            axis: attributes.int_or("axis", -1)?,
            epsilon: epsilon()?,
            stash: stash(attributes)?,
        }),
        "InstanceNormalization" => Operator::Norm(Norm::Instance { epsilon: epsilon()? }),
        "GroupNormalization" => Operator::Norm(Norm::Group {
            groups: attributes.count("num_groups")?.ok_or_else(|| missing("num_groups"))?,
            epsilon: epsilon()?,
            stash: stash(attributes)?,
            by_group: draft.version < 21,
        }),
        "RMSNormalization" => Operator::Norm(rms(attributes)?),
        // Written by a runtime's exporter into ONNX's own domain.
        "SimplifiedLayerNormalization" => simplified(draft)?,
        "LpNormalization" => Operator::Norm(Norm::Lp {
            axis: attributes.int_or("axis", -1)?,
            p: attributes.int_or("p", 2)?,
        }),
        "MeanVarianceNormalization" => Operator::Norm(Norm::MeanVariance {
            axes: attributes.ints("axes")?.unwrap_or(&[0, 2, 3]).to_vec(),
        }),
        "LRN" => Operator::LocalNorm(LocalNorm {
            alpha: attributes.number("alpha", 1e-4)?,
            beta: attributes.number("beta", 0.75)?,
            bias: attributes.number("bias", 1.0)?,
            size: attributes.count("size")?.ok_or_else(|| missing("size"))?,
        }),
        _ => return Ok(None),
    }))
}

/// What norms add to variances if nothing is said.
const EPSILON: f32 = 1e-5;

fn reduction(kind: &str) -> Option<Reduction> {
    Some(match kind {
        "ReduceMax" => Reduction::Max,
        "ReduceMin" => Reduction::Min,
        "ReduceSum" => Reduction::Sum,
        "ReduceMean" => Reduction::Mean,
        "ReduceProd" => Reduction::Product,
        "ReduceL1" => Reduction::L1,
        "ReduceL2" => Reduction::L2,
        "ReduceLogSum" => Reduction::LogSum,
        "ReduceLogSumExp" => Reduction::LogSumExp,
        "ReduceSumSquare" => Reduction::SumSquare,
        _ => return None,
    })
}

fn reduce(draft: &mut Draft<'_, '_>, function: Reduction) -> Result<Operator, Fault> {
    axes_before(draft, if function == Reduction::Sum { 13 } else { 18 })?;
    Ok(Operator::Reduce(Reduce {
        function,
        keep_dims: draft.attributes.flag("keepdims", true)?,
        none_if_empty: draft.attributes.flag("noop_with_empty_axes", false)?,
    }))
}

/// Before edition 13 a row went on to the last axis, and began at the second if nothing was said.
fn softmax(draft: &Draft<'_, '_>, function: RowFunction) -> Result<Operator, Fault> {
    let to_end = draft.version < 13;
    let axis = draft.attributes.int_or("axis", if to_end { 1 } else { -1 })?;
    Ok(Operator::Softmax(Softmax { function, axis, to_end }))
}

/// Editions before 14 trained if more than one result was wanted, the first of all unless told.
/// They had five results, the last two like those before them. The first ones could normalise every
/// element by itself.
fn batch_norm(draft: &Draft<'_, '_>) -> Result<Operator, Fault> {
    let attributes = &draft.attributes;
    let trains = draft.version < 14 && draft.outputs.len() > 1
        || draft.version < 7 && !attributes.flag("is_test", false)?;
    if trains || draft.outputs.len() > 3 || !attributes.flag("spatial", true)? {
        return Ok(like(vec![Some(0), Some(3), Some(4), Some(3), Some(4)]));
    }
    Ok(Operator::BatchNorm(BatchNorm {
        epsilon: attributes.number("epsilon", EPSILON)?,
        momentum: attributes.number("momentum", 0.9)?,
        training: attributes.flag("training_mode", false)?,
    }))
}

/// The type in which norms reckon.
fn stash(attributes: &Attributes<'_>) -> Result<Dtype, Fault> {
    Ok(attributes.dtype("stash_type")?.unwrap_or(Dtype::F32))
}

fn rms(attributes: &Attributes<'_>) -> Result<Norm, Fault> {
    Ok(Norm::Rms {
        axis: attributes.int_or("axis", -1)?,
        epsilon: attributes.number("epsilon", EPSILON)?,
        stash: stash(attributes)?,
    })
}

/// A norm that may have a second result, of which nothing is known.
pub(super) fn simplified(draft: &Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.outputs.len() > 1 {
        return Ok(like(vec![Some(0)]));
    }
    rms(&draft.attributes).map(Operator::Norm)
}
