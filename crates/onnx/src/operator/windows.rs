//! Operators on windows and images.

use plimsoll_model::{Convolution, Operator, Padding, Pool, Pooling, Resize, Sizing, Windows};

use crate::attribute::{Attributes, missing};
use crate::draft::Draft;
use crate::error::Fault;

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    let attributes = &draft.attributes;
    Ok(Some(match draft.kind {
        "Conv" => Operator::Conv(convolution(attributes)?),
        "ConvInteger" => Operator::ConvInteger(convolution(attributes)?),
        "QLinearConv" => Operator::QuantizedConv(convolution(attributes)?),
        "DeformConv" => Operator::DeformConv(convolution(attributes)?),
        "ConvTranspose" => Operator::ConvTranspose {
            conv: convolution(attributes)?,
            output_padding: attributes.counts("output_padding")?.unwrap_or_default(),
            output_dims: attributes.counts("output_shape")?,
        },
        "MaxPool" => pool(attributes, Pooling::Max)?,
        "AveragePool" => pool(attributes, Pooling::Average)?,
        "LpPool" => pool(attributes, Pooling::Lp)?,
        "MaxUnpool" => Operator::MaxUnpool(kernel(attributes)?),
        "Col2Im" => Operator::Col2Im(windows(attributes)?),
        "RoiAlign" => Operator::RoiAlign {
            height: attributes.count("output_height")?.unwrap_or(1),
            width: attributes.count("output_width")?.unwrap_or(1),
        },
        "MaxRoiPool" => max_roi_pool(attributes)?,
        "Resize" | "Upsample" => resize(draft)?,
        _ => return Ok(None),
    }))
}

pub(super) fn convolution(attributes: &Attributes<'_>) -> Result<Convolution, Fault> {
    let group = attributes.count("group")?.unwrap_or(1);
    Ok(Convolution { windows: windows(attributes)?, group })
}

pub(super) fn pool(attributes: &Attributes<'_>, pooling: Pooling) -> Result<Operator, Fault> {
    let ceil = attributes.flag("ceil_mode", false)?;
    Ok(Operator::Pool(Pool { pooling, windows: kernel(attributes)?, ceil }))
}

/// Windows whose lengths have to be said.
fn kernel(attributes: &Attributes<'_>) -> Result<Windows, Fault> {
    let windows = windows(attributes)?;
    if windows.kernel.is_empty() { Err(missing("kernel_shape")) } else { Ok(windows) }
}

fn windows(attributes: &Attributes<'_>) -> Result<Windows, Fault> {
    let counts = |name| Ok::<_, Fault>(attributes.counts(name)?.unwrap_or_default());
    let strides = counts("strides")?;
    if strides.contains(&0) {
        return Err("a stride of 0".to_owned());
    }
    let (kernel, dilations) = (counts("kernel_shape")?, counts("dilations")?);
    Ok(Windows { kernel, strides, dilations, padding: padding(attributes)? })
}

fn padding(attributes: &Attributes<'_>) -> Result<Padding, Fault> {
    Ok(match attributes.text("auto_pad")? {
        None | Some("" | "NOTSET") => {
            Padding::Given(attributes.ints("pads")?.unwrap_or_default().to_vec())
        }
        Some("SAME_UPPER") => Padding::SameUpper,
        Some("SAME_LOWER") => Padding::SameLower,
        Some("VALID") => Padding::Valid,
        Some(other) => return Err(format!("`{other}` is no way to pad")),
    })
}

/// In the shape of an aligned pooling of the same size.
fn max_roi_pool(attributes: &Attributes<'_>) -> Result<Operator, Fault> {
    let dims = attributes.counts("pooled_shape")?;
    let Some([height, width]) = dims.as_deref() else {
        return Err("attribute `pooled_shape` is not two numbers".to_owned());
    };
    Ok(Operator::RoiAlign { height: *height, width: *width })
}

fn resize(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.kind == "Upsample" && draft.version < 9 {
        let scales = draft.attributes.floats("scales")?.ok_or_else(|| missing("scales"))?;
        draft.store_floats(2, "scales", scales);
    } else if draft.kind == "Upsample" || draft.version < 11 {
        // The scales were the second operand.
        draft.inputs.insert(draft.inputs.len().min(1), None);
    }
    let attributes = &draft.attributes;
    let sizing = match attributes.text("keep_aspect_ratio_policy")? {
        None | Some("" | "stretch") => Sizing::Exact,
        Some("not_larger") => Sizing::NotLarger,
        Some("not_smaller") => Sizing::NotSmaller,
        Some(other) => return Err(format!("`{other}` is no policy of sizes")),
    };
    Ok(Operator::Resize(Resize {
        axes: attributes.ints("axes")?.map(<[i64]>::to_vec),
        sizing,
        crops: attributes.text("coordinate_transformation_mode")? == Some("tf_crop_and_resize"),
    }))
}
