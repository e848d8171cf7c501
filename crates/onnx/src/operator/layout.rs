//! Operators that move elements, and those about shapes.

use plimsoll_model::{DepthOrder, Operator, PadMode, Update};

use crate::attribute::missing;
use crate::draft::Draft;
use crate::error::Fault;

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    let axis = |draft: &Draft<'_, '_>, default| draft.attributes.int_or("axis", default);
    Ok(Some(match draft.kind {
        "Shape" => Operator::Shape {
            start: draft.attributes.int_or("start", 0)?,
            end: draft.attributes.int("end")?,
        },
        "Reshape" => Operator::Reshape { allow_zero: draft.attributes.flag("allowzero", false)? },
        "Squeeze" => {
            axes_before(draft, 13)?;
            Operator::Squeeze
        }
        "Unsqueeze" => {
            axes_before(draft, 13)?;
            Operator::Unsqueeze
        }
        "Flatten" => Operator::Flatten { axis: axis(draft, 1)? },
        "Transpose" => Operator::Transpose(permutation(draft)?),
        "Slice" => slice(draft)?,
        "Split" => split(draft)?,
        "Concat" => {
            let axis = draft.attributes.int("axis")?.ok_or_else(|| missing("axis"))?;
            Operator::Concat { axis }
        }
        "Pad" => pad(draft)?,
        "CenterCropPad" => {
            Operator::CenterCropPad(draft.attributes.ints("axes")?.map(<[i64]>::to_vec))
        }
        "DepthToSpace" => Operator::DepthToSpace {
            block: block(draft)?,
            order: draft.attributes.choice("mode", DEPTH)?,
        },
        "SpaceToDepth" => Operator::SpaceToDepth { block: block(draft)? },
        "ReverseSequence" => Operator::ReverseSequence {
            batch_axis: draft.attributes.int_or("batch_axis", 1)?,
            time_axis: draft.attributes.int_or("time_axis", 0)?,
        },
        "Trilu" => Operator::Trilu { upper: draft.attributes.flag("upper", true)? },
        "Gather" => Operator::Gather { axis: axis(draft, 0)? },
        "GatherElements" => Operator::GatherElements { axis: axis(draft, 0)? },
        "GatherND" => {
            let batch_dims = draft.attributes.count("batch_dims")?.unwrap_or(0);
            Operator::GatherNd { batch_dims }
        }
        "Scatter" | "ScatterElements" => {
            Operator::ScatterElements { axis: axis(draft, 0)?, update: update(draft)? }
        }
        "ScatterND" => Operator::ScatterNd(update(draft)?),
        "TensorScatter" => Operator::TensorScatter {
            axis: axis(draft, -2)?,
            circular: draft.attributes.choice("mode", &[("linear", false), ("circular", true)])?,
        },
        "OneHot" => Operator::OneHot { axis: axis(draft, -1)? },
        "Compress" => Operator::Compress { axis: draft.attributes.int("axis")? },
        "Unique" => Operator::Unique {
            axis: draft.attributes.int("axis")?,
            sorted: draft.attributes.flag("sorted", true)?,
        },
        "NonMaxSuppression" => Operator::NonMaxSuppression {
            centered: draft.attributes.flag("center_point_box", false)?,
        },
        "TopK" => top_k(draft)?,
        _ => return Ok(None),
    }))
}

const DEPTH: &[(&str, DepthOrder)] =
    &[("DCR", DepthOrder::BlockFirst), ("CRD", DepthOrder::ChannelsFirst)];
const PADS: &[(&str, PadMode)] = &[
    ("constant", PadMode::Constant),
    ("reflect", PadMode::Reflect),
    ("edge", PadMode::Edge),
    ("wrap", PadMode::Wrap),
];
const UPDATES: &[(&str, Update)] = &[
    ("none", Update::Replace),
    ("add", Update::Add),
    ("mul", Update::Mul),
    ("max", Update::Max),
    ("min", Update::Min),
];

fn update(draft: &Draft<'_, '_>) -> Result<Update, Fault> {
    draft.attributes.choice("reduction", UPDATES)
}

/// Makes the axes an operand that were an attribute before a version.
pub(super) fn axes_before(draft: &mut Draft<'_, '_>, version: i64) -> Result<(), Fault> {
    if draft.version < version
        && let Some(axes) = draft.attributes.ints("axes")?
    {
        draft.store_ints(1, "axes", axes);
    }
    Ok(())
}

fn permutation(draft: &Draft<'_, '_>) -> Result<Option<Vec<usize>>, Fault> {
    let Some(axes) = draft.attributes.counts("perm")? else { return Ok(None) };
    let mut seen = vec![false; axes.len()];
    for axis in &axes {
        match seen.get_mut(*axis as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(format!("{axes:?} is not a permutation")),
        }
    }
    Ok(Some(axes.into_iter().map(|axis| axis as usize).collect()))
}

fn slice(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 10 {
        for (slot, name) in [(1, "starts"), (2, "ends")] {
            let values = draft.attributes.ints(name)?.ok_or_else(|| missing(name))?;
            draft.store_ints(slot, name, values);
        }
        if let Some(axes) = draft.attributes.ints("axes")? {
            draft.store_ints(3, "axes", axes);
        }
    }
    Ok(Operator::Slice)
}

fn split(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 13
        && let Some(lengths) = draft.attributes.ints("split")?
    {
        draft.store_ints(1, "split", lengths);
    }
    let parts = draft.outputs.len();
    if let Some(count) = draft.attributes.int("num_outputs")?
        && usize::try_from(count) != Ok(parts)
    {
        return Err(format!("{parts} results of a split into {count}"));
    }
    Ok(Operator::Split { axis: draft.attributes.int_or("axis", 0)? })
}

fn pad(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 11 {
        let pads = draft.attributes.ints("pads")?.ok_or_else(|| missing("pads"))?;
        draft.store_ints(1, "pads", pads);
        if let Some(value) = draft.attributes.float("value")? {
            draft.store_float(2, "value", value);
        }
    }
    Ok(Operator::Pad(draft.attributes.choice("mode", PADS)?))
}

fn block(draft: &Draft<'_, '_>) -> Result<u64, Fault> {
    let block = draft.attributes.count("blocksize")?.ok_or_else(|| missing("blocksize"))?;
    if block == 0 { Err("blocks of size 0".to_owned()) } else { Ok(block) }
}

fn top_k(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 10 {
        let k = draft.attributes.int("k")?.ok_or_else(|| missing("k"))?;
        draft.store_ints(1, "k", &[k]);
    }
    Ok(Operator::TopK {
        axis: draft.attributes.int_or("axis", -1)?,
        largest: draft.attributes.flag("largest", true)?,
        sorted: draft.attributes.flag("sorted", true)?,
    })
}
