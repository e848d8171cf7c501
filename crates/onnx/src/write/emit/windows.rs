//! Windows and images.

use plimsoll_model::{
    Convolution, Coordinates, GlobalPooling, Interpolation, Nearest, Padding, Pool, Pooling,
    Resize, Sizing, Windows,
};

use super::{Form, Formed};
use crate::error::Fault;
use crate::write::attribute::{float, int, ints, text};

impl Form<'_> {
    pub(super) fn conv(&mut self, conv: &Convolution) -> Formed {
        self.is("Conv", 1)?;
        self.windows(&conv.windows, 1)?;
        self.set(int("group", signed(conv.group)?));
        Ok(())
    }

    pub(super) fn conv_transpose(
        &mut self,
        conv: &Convolution,
        output_padding: &[u64],
        output_dims: Option<&[u64]>,
    ) -> Formed {
        self.is("ConvTranspose", 1)?;
        self.windows(&conv.windows, 1)?;
        self.set(int("group", signed(conv.group)?));
        self.counts("output_padding", output_padding)?;
        self.counts("output_shape", output_dims.unwrap_or_default())
    }

    pub(super) fn pool(&mut self, pool: &Pool) -> Formed {
        let dilated = match pool.pooling {
            Pooling::Max { column_major } => {
                self.is("MaxPool", 8)?;
                self.set_since(8, int("storage_order", 1), !column_major)?;
                10
            }
            Pooling::Average { count_padding } => {
                self.is("AveragePool", 7)?;
                self.set_since(7, int("count_include_pad", 1), !count_padding)?;
                19
            }
            Pooling::Lp { p } => {
                self.is("LpPool", 2)?;
                self.set(int("p", p));
                18
            }
        };
        let ceil = if matches!(pool.pooling, Pooling::Lp { .. }) { 18 } else { 10 };
        self.windows(&pool.windows, dilated)?;
        self.set_since(ceil, int("ceil_mode", 1), !pool.ceil)
    }

    pub(super) fn global_pool(&mut self, pooling: GlobalPooling) -> Formed {
        match pooling {
            GlobalPooling::Max => self.is("GlobalMaxPool", 1),
            GlobalPooling::Average => self.is("GlobalAveragePool", 1),
            GlobalPooling::Lp { p } => {
                self.is("GlobalLpPool", 2)?;
                self.set(int("p", p));
                Ok(())
            }
        }
    }

    /// Windows, which may be dilated from an edition on.
    fn windows(&mut self, windows: &Windows, dilated: i64) -> Formed {
        self.counts("kernel_shape", &windows.kernel)?;
        self.counts("strides", &windows.strides)?;
        let dilations: Vec<i64> =
            windows.dilations.iter().map(|dilation| signed(*dilation)).collect::<Result<_, _>>()?;
        let is_dense = dilations.iter().all(|dilation| *dilation == 1);
        self.set_since(dilated, ints("dilations", &dilations), is_dense)?;
        match &windows.padding {
            Padding::Given(pads) if pads.is_empty() => {}
            Padding::Given(pads) => self.set(ints("pads", pads)),
            Padding::SameUpper => self.set(text("auto_pad", "SAME_UPPER")),
            Padding::SameLower => self.set(text("auto_pad", "SAME_LOWER")),
            Padding::Valid => self.set(text("auto_pad", "VALID")),
        }
        Ok(())
    }

    /// A list of numbers, if there are any.
    fn counts(&mut self, name: &str, counts: &[u64]) -> Formed {
        if !counts.is_empty() {
            let counts = counts.iter().map(|count| signed(*count));
            self.set(ints(name, &counts.collect::<Result<Vec<i64>, _>>()?));
        }
        Ok(())
    }

    /// Before edition 11 there are scales alone, and one way to interpolate.
    pub(super) fn resize(&mut self, resize: &Resize) -> Formed {
        if self.version < 11 {
            return self.old_resize(resize);
        }
        self.is("Resize", 11)?;
        let has_all = self.emitted.inputs.iter().skip(1).take(2).flatten().count() == 2;
        if self.version < 13 && !has_all {
            return Err("a resize without regions and scales is there since version 13".to_owned());
        }
        self.interpolation(resize.mode)?;
        let (coordinates, since) = coordinates(resize.coordinates);
        let is_default = resize.coordinates == Coordinates::HalfPixel;
        self.set_since(since, text("coordinate_transformation_mode", coordinates), is_default)?;
        let axes = resize.axes.clone().unwrap_or_default();
        self.set_since(18, ints("axes", &axes), resize.axes.is_none())?;
        self.set_since(18, int("antialias", 1), !resize.antialias)?;
        let sizing = match resize.sizing {
            Sizing::Exact => "stretch",
            Sizing::NotLarger => "not_larger",
            Sizing::NotSmaller => "not_smaller",
        };
        let is_exact = resize.sizing == Sizing::Exact;
        self.set_since(18, text("keep_aspect_ratio_policy", sizing), is_exact)?;
        self.set_since(11, int("exclude_outside", 1), !resize.exclude_outside)?;
        let is_zero = resize.extrapolation == 0.0;
        self.set_since(11, float("extrapolation_value", resize.extrapolation), is_zero)
    }

    fn interpolation(&mut self, mode: Interpolation) -> Formed {
        match mode {
            Interpolation::Nearest(nearest) => {
                let nearest = match nearest {
                    Nearest::RoundPreferFloor => "round_prefer_floor",
                    Nearest::RoundPreferCeil => "round_prefer_ceil",
                    Nearest::Floor => "floor",
                    Nearest::Ceil => "ceil",
                    Nearest::FloorOrCeil => {
                        return Err("no edition since 11 rounds to either side".to_owned());
                    }
                };
                self.set(text("mode", "nearest"));
                self.set(text("nearest_mode", nearest));
            }
            Interpolation::Linear => self.set(text("mode", "linear")),
            Interpolation::Cubic { a } => {
                self.set(text("mode", "cubic"));
                self.set(float("cubic_coeff_a", a));
            }
        }
        Ok(())
    }

    fn old_resize(&mut self, resize: &Resize) -> Formed {
        let mode = match resize.mode {
            Interpolation::Nearest(Nearest::FloorOrCeil) => "nearest",
            Interpolation::Linear => "linear",
            Interpolation::Nearest(_) | Interpolation::Cubic { .. } => "",
        };
        let plain =
            Resize { mode: resize.mode, coordinates: resize.coordinates, ..Resize::default() };
        let has_dims = self.emitted.inputs.get(3).is_some_and(Option::is_some);
        let is_known = resize.coordinates == Coordinates::Asymmetric && *resize == plain;
        if mode.is_empty() || has_dims || !is_known || self.version < 9 {
            return Err(format!("version {} cannot interpolate like that", self.version));
        }
        self.is(if self.version < 10 { "Upsample" } else { "Resize" }, 9)?;
        self.set(text("mode", mode));
        // The scales are the second operand.
        self.emitted.inputs.remove(1);
        Ok(())
    }
}

fn coordinates(coordinates: Coordinates) -> (&'static str, i64) {
    match coordinates {
        Coordinates::HalfPixel => ("half_pixel", 11),
        Coordinates::HalfPixelSymmetric => ("half_pixel_symmetric", 19),
        Coordinates::PytorchHalfPixel => ("pytorch_half_pixel", 11),
        Coordinates::HalfPixelForNearest => ("tf_half_pixel_for_nn", 11),
        Coordinates::AlignCorners => ("align_corners", 11),
        Coordinates::Asymmetric => ("asymmetric", 11),
        Coordinates::CropAndResize => ("tf_crop_and_resize", 11),
    }
}

fn signed(count: u64) -> Result<i64, Fault> {
    i64::try_from(count).map_err(|_| format!("{count} is too large for an attribute"))
}
