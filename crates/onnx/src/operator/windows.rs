//! Operators on windows and images.

use plimsoll_model::{
    Convolution, GlobalPooling, Operator, Padding, Pool, Pooling, Unary, Windows,
};

use super::images;
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
        "DeformConv" => Operator::DeformConv {
            conv: convolution(attributes)?,
            offset_groups: attributes.count("offset_group")?.unwrap_or(1),
        },
        "CausalConvWithState" => Operator::CausalConv(attributes.choice("activation", CAUSAL)?),
        "ConvTranspose" => Operator::ConvTranspose {
            conv: convolution(attributes)?,
            output_padding: attributes.counts("output_padding")?.unwrap_or_default(),
            output_dims: attributes.counts("output_shape")?,
        },
        "MaxPool" => {
            let column_major = attributes.flag("storage_order", false)?;
            Operator::Pool(pool(attributes, Pooling::Max { column_major })?)
        }
        "AveragePool" => Operator::Pool(average(attributes)?),
        "LpPool" => {
            Operator::Pool(pool(attributes, Pooling::Lp { p: attributes.int_or("p", 2)? })?)
        }
        "GlobalLpPool" => Operator::GlobalPool(GlobalPooling::Lp { p: attributes.int_or("p", 2)? }),
        "MaxUnpool" => Operator::MaxUnpool(kernel(attributes)?),
        "Col2Im" => Operator::Col2Im(windows(attributes)?),
        _ => return images::read(draft),
    }))
}

pub(super) fn convolution(attributes: &Attributes<'_>) -> Result<Convolution, Fault> {
    let group = attributes.count("group")?.unwrap_or(1);
    Ok(Convolution { windows: windows(attributes)?, group })
}

/// What a causal convolution ends with.
const CAUSAL: &[(&str, Option<Unary>)] = &[
    ("none", None),
    ("silu", Some(Unary::Swish { alpha: 1.0 })),
    ("swish", Some(Unary::Swish { alpha: 1.0 })),
];

fn pool(attributes: &Attributes<'_>, pooling: Pooling) -> Result<Pool, Fault> {
    let ceil = attributes.flag("ceil_mode", false)?;
    Ok(Pool { pooling, windows: kernel(attributes)?, ceil })
}

pub(super) fn average(attributes: &Attributes<'_>) -> Result<Pool, Fault> {
    let count_padding = attributes.flag("count_include_pad", false)?;
    pool(attributes, Pooling::Average { count_padding })
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
