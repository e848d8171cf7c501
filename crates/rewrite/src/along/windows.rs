//! Operators that go along rows by windows.

use plimsoll_model::{
    Convolution, Coordinates, Interpolation, ModelNode, Nearest, Padding, Pool, Pooling, Resize,
    Windows,
};

use super::{Along, Course, Found, first, position};
use crate::linear::Linear;
use crate::rows::{Lane, Reach};

/// Windows along one axis, with all that is often left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sized {
    pub(crate) stride: u64,
    /// From the first to behind the last element of a window.
    pub(crate) reach: u64,
    pub(crate) before: u64,
    pub(crate) behind: u64,
}

impl Along<'_> {
    pub(super) fn windows(&self, node: &ModelNode, windows: &Windows, ceil: bool) -> Option<Found> {
        let (x, y) = (first(node)?, (*node.outputs.first()?)?);
        let axis = self.axis(x).filter(|axis| axis.index == 2)?;
        let Sized { stride, reach, before, .. } = self.sized(node, windows, ceil)?[0];
        let reach = Reach::Windows { stride, reach, before };
        let lane = Lane { reach, input: axis.rows, output: self.dims(y)?[2] };
        self.along_lane(node, lane)
    }

    pub(super) fn pool(&self, node: &ModelNode, pool: &Pool) -> Option<Found> {
        let counts = matches!(pool.pooling, Pooling::Average { count_padding: true });
        let dilated = pool.windows.dilations.iter().any(|dilation| *dilation != 1);
        let odd = counts && (pool.ceil || dilated);
        (node.outputs.len() == 1 && !odd).then(|| self.windows(node, &pool.windows, pool.ceil))?
    }

    pub(super) fn spread(
        &self,
        node: &ModelNode,
        conv: &Convolution,
        more: &[u64],
        dims: Option<&Vec<u64>>,
    ) -> Option<Found> {
        let (x, y) = (first(node)?, (*node.outputs.first()?)?);
        let axis = self.axis(x).filter(|axis| axis.index == 2)?;
        let Padding::Given(_) = conv.windows.padding else { return None };
        if dims.is_some() || more.iter().any(|more| *more != 0) {
            return None;
        }
        let Sized { stride, reach, before, .. } = self.sized(node, &conv.windows, false)?[0];
        let reach = Reach::Spread { stride, reach, before };
        self.along_lane(node, Lane { reach, input: axis.rows, output: self.dims(y)?[2] })
    }

    /// Interpolations that repeat every row a whole number of times.
    pub(super) fn repeated(&self, node: &ModelNode, resize: &Resize) -> Option<Found> {
        let (x, y) = (first(node)?, (*node.outputs.first()?)?);
        let axis = self.axis(x)?;
        let (from, to) = (self.dims(x)?, self.dims(y)?);
        let Interpolation::Nearest(nearest) = resize.mode else { return None };
        let times = to[axis.index] / axis.rows;
        let whole = from.iter().zip(&to).all(|(from, to)| to % from == 0);
        let repeats = match resize.coordinates {
            Coordinates::Asymmetric => matches!(nearest, Nearest::Floor | Nearest::FloorOrCeil),
            // With halves between two rows, which never happens.
            Coordinates::HalfPixel
            | Coordinates::PytorchHalfPixel
            | Coordinates::HalfPixelSymmetric => {
                matches!(nearest, Nearest::RoundPreferFloor | Nearest::RoundPreferCeil)
            }
            Coordinates::HalfPixelForNearest
            | Coordinates::AlignCorners
            | Coordinates::CropAndResize => false,
        };
        // Scales are multiplied before they are rounded: with 1.99 the same dims may come out.
        let stored =
            node.inputs.iter().skip(1).flatten().all(|operand| self.statics[operand.index()]);
        let reach = Reach::Repeat(times);
        let lane = Lane { reach, input: axis.rows, output: to[axis.index] };
        (whole && repeats && stored).then(|| self.along_lane(node, lane))?
    }

    /// Images that are interpolated along rows and columns.
    pub(super) fn interpolated(&self, node: &ModelNode, resize: &Resize) -> Option<Found> {
        let (x, y) = (first(node)?, (*node.outputs.first()?)?);
        let axis = self.axis(x).filter(|axis| axis.index == 2)?;
        let (from, to) = (self.dims(x)?, self.dims(y)?);
        let is_image = from.len() == 4 && from[..2] == to[..2];
        let is_known = match resize.coordinates {
            Coordinates::HalfPixel
            | Coordinates::PytorchHalfPixel
            | Coordinates::AlignCorners
            | Coordinates::Asymmetric => true,
            Coordinates::HalfPixelSymmetric
            | Coordinates::HalfPixelForNearest
            | Coordinates::CropAndResize => false,
        };
        let is_float = self.facts[x.index()].dtype == Some(plimsoll_graph::Dtype::F32);
        let plain = !resize.antialias && !resize.exclude_outside && is_float;
        let stored =
            node.inputs.iter().skip(1).flatten().all(|operand| self.statics[operand.index()]);
        let scale = self.scale(node, resize, 2)?.to_bits();
        let (input, output) = (axis.rows, to[2]);
        let linear = Linear { input, output, coordinates: resize.coordinates, scale };
        let lane = Lane { reach: Reach::Between(linear), input, output };
        (is_image && is_known && plain && stored).then(|| self.along_lane(node, lane))?
    }

    /// The scale of an interpolation along an axis: as it is given, else what the dims say.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "as runtimes do"
    )]
    pub(crate) fn scale(&self, node: &ModelNode, resize: &Resize, axis: usize) -> Option<f32> {
        let (x, y) = (first(node)?, (*node.outputs.first()?)?);
        let (from, to) = (self.dims(x)?, self.dims(y)?);
        let of_dims = to[axis] as f32 / from[axis] as f32;
        let Some(scales) = node.inputs.get(2).copied().flatten() else { return Some(of_dims) };
        if self.dims(scales)? == [0] {
            return Some(of_dims);
        }
        let Some(plimsoll_graph::Numbers::Floats(scales)) = &self.facts[scales.index()].numbers
        else {
            return None;
        };
        let every = || (0..from.len()).map(|axis| i64::try_from(axis).unwrap_or(0)).collect();
        let order = resize.axes.clone().unwrap_or_else(every);
        let at = order.iter().position(|over| position(*over, from.len()) == Some(axis));
        Some(at.and_then(|at| scales.get(at)).map_or(of_dims, |scale| *scale as f32))
    }

    /// Padding of other axes than that of rows.
    pub(super) fn padded(&self, node: &ModelNode) -> Option<Found> {
        let axis = self.axis(first(node)?)?;
        (self.pads(node)?[axis.index] == (0, 0)).then(|| self.by_rows(node, axis.index))?
    }

    /// What is added before and behind every axis, where that is stored.
    fn pads(&self, node: &ModelNode) -> Option<Vec<(i64, i64)>> {
        let rank = self.dims(first(node)?)?.len();
        let pads = self.ints((*node.inputs.get(1)?)?)?;
        let axes = match node.inputs.get(3).copied().flatten() {
            Some(axes) => self.ints(axes)?,
            None => (0..i64::try_from(rank).ok()?).collect(),
        };
        let mut all = vec![(0, 0); rank];
        for (at, over) in axes.iter().enumerate() {
            all[position(*over, rank)?] = (*pads.get(at)?, *pads.get(at + axes.len())?);
        }
        Some(all)
    }

    fn along_lane(&self, node: &ModelNode, lane: Lane) -> Option<Found> {
        let mut lanes = vec![None; node.inputs.len()];
        lanes[0] = Some(lane);
        let rows = node.inputs[1..].iter().flatten().any(|operand| self.axis(*operand).is_some());
        let axis = self.axis(first(node)?)?.index;
        let found = Found { course: Course::Rows { lanes }, axis: Some(axis) };
        (lane.is_sound() && !rows).then_some(found)
    }

    /// The windows along every axis behind batch and channels.
    pub(crate) fn sized(
        &self,
        node: &ModelNode,
        windows: &Windows,
        ceil: bool,
    ) -> Option<Vec<Sized>> {
        let from = self.dims(first(node)?)?;
        let to = self.dims((*node.outputs.first()?)?)?;
        let kernel = if windows.kernel.is_empty() {
            self.dims((*node.inputs.get(1)?)?)?[2..].to_vec()
        } else {
            windows.kernel.clone()
        };
        let count = from.len().checked_sub(2)?;
        let sized =
            |at: usize| sized(windows, ceil, (at, count), kernel[at], (from[at + 2], to[at + 2]));
        (0..count).map(sized).collect()
    }
}

/// The windows along one of so many axes, from so many elements to so many.
fn sized(
    windows: &Windows,
    ceil: bool,
    (at, count): (usize, usize),
    kernel: u64,
    (from, to): (u64, u64),
) -> Option<Sized> {
    let or_one = |list: &[u64]| list.get(at).copied().unwrap_or(1);
    let (stride, dilation) = (or_one(&windows.strides), or_one(&windows.dilations));
    let reach = kernel.checked_sub(1)? * dilation + 1;
    let span = (to.checked_sub(1)? * stride + reach).saturating_sub(from);
    let (before, behind) = match &windows.padding {
        Padding::Given(pads) => {
            let pad = |at: usize| u64::try_from(pads.get(at).copied().unwrap_or(0)).ok();
            (pad(at)?, pad(at + count)?)
        }
        Padding::SameUpper => (span / 2, span - span / 2),
        Padding::SameLower => (span - span / 2, span / 2),
        Padding::Valid => (0, 0),
    };
    // A window that is cut off at the end is one with more behind it.
    let behind = if ceil { behind.max(span.saturating_sub(before)) } else { behind };
    Some(Sized { stride, reach, before, behind })
}
