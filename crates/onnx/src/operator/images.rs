//! Operators on images.

use plimsoll_model::{
    Beyond, Coordinates, GridSample, Interpolation, Nearest, Operator, Resize, RoiAlign,
    RoiPooling, Sampling, Sizing,
};

use crate::attribute::{Attributes, missing};
use crate::draft::Draft;
use crate::error::Fault;

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    let attributes = &draft.attributes;
    Ok(Some(match draft.kind {
        "RoiAlign" => Operator::RoiAlign(roi_align(draft)?),
        "MaxRoiPool" => max_roi_pool(attributes)?,
        "GridSample" => Operator::GridSample(GridSample {
            mode: attributes.choice("mode", SAMPLING)?,
            padding: attributes.choice("padding_mode", BEYOND)?,
            align_corners: attributes.flag("align_corners", false)?,
        }),
        "AffineGrid" => {
            Operator::AffineGrid { align_corners: attributes.flag("align_corners", false)? }
        }
        "Resize" | "Upsample" => Operator::Resize(resize(draft)?),
        _ => return Ok(None),
    }))
}

const SAMPLING: &[(&str, Sampling)] = &[
    ("linear", Sampling::Linear),
    ("bilinear", Sampling::Linear),
    ("nearest", Sampling::Nearest),
    ("cubic", Sampling::Cubic),
    ("bicubic", Sampling::Cubic),
];
const BEYOND: &[(&str, Beyond)] =
    &[("zeros", Beyond::Zeros), ("border", Beyond::Border), ("reflection", Beyond::Reflection)];
const SIZING: &[(&str, Sizing)] = &[
    ("stretch", Sizing::Exact),
    ("not_larger", Sizing::NotLarger),
    ("not_smaller", Sizing::NotSmaller),
];
const COORDINATES: &[(&str, Coordinates)] = &[
    ("half_pixel", Coordinates::HalfPixel),
    ("half_pixel_symmetric", Coordinates::HalfPixelSymmetric),
    ("pytorch_half_pixel", Coordinates::PytorchHalfPixel),
    ("align_corners", Coordinates::AlignCorners),
    ("asymmetric", Coordinates::Asymmetric),
    ("tf_crop_and_resize", Coordinates::CropAndResize),
    ("tf_half_pixel_for_nn", Coordinates::HalfPixelForNearest),
];
const NEAREST: &[(&str, Nearest)] = &[
    ("round_prefer_floor", Nearest::RoundPreferFloor),
    ("round_prefer_ceil", Nearest::RoundPreferCeil),
    ("floor", Nearest::Floor),
    ("ceil", Nearest::Ceil),
];

/// Half a pixel is taken off since edition 16.
fn roi_align(draft: &Draft<'_, '_>) -> Result<RoiAlign, Fault> {
    let attributes = &draft.attributes;
    let modes = [("half_pixel", true), ("output_half_pixel", false)];
    let half_pixel = attributes.choice("coordinate_transformation_mode", &modes)?;
    Ok(RoiAlign {
        height: attributes.count("output_height")?.unwrap_or(1),
        width: attributes.count("output_width")?.unwrap_or(1),
        pooling: attributes
            .choice("mode", &[("avg", RoiPooling::Average), ("max", RoiPooling::Max)])?,
        sampling_ratio: attributes.count("sampling_ratio")?.unwrap_or(0),
        spatial_scale: attributes.number("spatial_scale", 1.0)?,
        half_pixel: half_pixel && draft.version >= 16,
    })
}

fn max_roi_pool(attributes: &Attributes<'_>) -> Result<Operator, Fault> {
    let dims = attributes.counts("pooled_shape")?;
    let Some([height, width]) = dims.as_deref() else {
        return Err("attribute `pooled_shape` is not two numbers".to_owned());
    };
    let spatial_scale = attributes.number("spatial_scale", 1.0)?;
    Ok(Operator::MaxRoiPool { height: *height, width: *width, spatial_scale })
}

fn resize(draft: &mut Draft<'_, '_>) -> Result<Resize, Fault> {
    let is_old = draft.kind == "Upsample" || draft.version < 11;
    if draft.kind == "Upsample" && draft.version < 9 {
        let scales = draft.attributes.floats("scales")?.ok_or_else(|| missing("scales"))?;
        draft.store_floats(2, "scales", scales);
    } else if is_old {
        // The scales were the second operand.
        draft.inputs.insert(draft.inputs.len().min(1), None);
    }
    let attributes = &draft.attributes;
    if is_old {
        let mode = interpolation(attributes, Nearest::FloorOrCeil)?;
        return Ok(Resize { mode, coordinates: Coordinates::Asymmetric, ..Resize::default() });
    }
    Ok(Resize {
        axes: attributes.ints("axes")?.map(<[i64]>::to_vec),
        sizing: attributes.choice("keep_aspect_ratio_policy", SIZING)?,
        mode: interpolation(attributes, attributes.choice("nearest_mode", NEAREST)?)?,
        coordinates: attributes.choice("coordinate_transformation_mode", COORDINATES)?,
        antialias: attributes.flag("antialias", false)?,
        exclude_outside: attributes.flag("exclude_outside", false)?,
        extrapolation: attributes.number("extrapolation_value", 0.0)?,
    })
}

fn interpolation(attributes: &Attributes<'_>, nearest: Nearest) -> Result<Interpolation, Fault> {
    let modes = [
        ("nearest", Interpolation::Nearest(nearest)),
        ("linear", Interpolation::Linear),
        ("bilinear", Interpolation::Linear),
        ("cubic", Interpolation::Cubic { a: attributes.number("cubic_coeff_a", -0.75)? }),
    ];
    attributes.choice("mode", &modes)
}
