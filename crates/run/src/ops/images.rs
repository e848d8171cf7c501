//! Images of another size.
//!
//! What each output along an axis is made of follows from attributes and dims, and is found out once: places and
//! weights. A run then goes over one axis after the other, from the last to the first, with what is in between in
//! scratch. Coordinates are reckoned in `f32`, as other runtimes do: which of two neighbours is the nearest
//! depends on it.

use plimsoll_graph::Dtype;
use plimsoll_kernels::resize::{self, Taps};
use plimsoll_kernels::sample;
use plimsoll_model::{Beyond, Interpolation, Nearest, Resize, Sampling};

use crate::at::{At, axis_of};
use crate::kernel::{Built, Lack};
use crate::planes::Axis;
use crate::types::by_width;

/// `x, roi?, scales?, dims?`.
pub(super) fn resize(at: &At<'_>, resize: &Resize) -> Result<Built, Lack> {
    if let Interpolation::Nearest(nearest) = resize.mode {
        return pick(at, nearest_places(at, resize, nearest)?);
    }
    weigh(at, &at.dims(0)?, weighed_axes(at, resize)?)
}

/// The axes that change, and what their outputs are weighed of.
pub(crate) fn weighed_axes(at: &At<'_>, resize: &Resize) -> Result<Vec<(usize, Axis)>, Lack> {
    let (dims, to) = (at.dims(0)?, at.result_dims(0)?);
    let scales = scales(at, resize, &dims, &to)?;
    if at.dtype(0)? != Dtype::F32 {
        return Err(crate::at::no_kernel_for(at.dtype(0)?));
    }
    Ok((0..dims.len())
        .filter(|axis| dims[*axis] != to[*axis] || (scales[*axis] - 1.0).abs() > 0.0)
        .map(|axis| (axis, weighed(resize, (dims[axis], to[axis]), scales[axis])))
        .collect())
}

/// The scale of each axis: as it is given, else what the dims say.
fn scales(at: &At<'_>, resize: &Resize, dims: &[usize], to: &[usize]) -> Result<Vec<f32>, Lack> {
    if resize.crops() {
        return Err("no kernel that crops".to_owned());
    }
    if resize.antialias {
        return Err("no kernel against aliasing".to_owned());
    }
    let mut scales: Vec<f32> =
        dims.iter().zip(to).map(|(dim, to)| *to as f32 / *dim as f32).collect();
    let given = if at.has(2) { at.constant_f32(2)? } else { None };
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(scales) };
    let all = || (0..dims.len() as i64).collect();
    for (axis, scale) in resize.axes.clone().unwrap_or_else(all).iter().zip(given.iter()) {
        scales[axis_of(*axis, dims.len())?] = *scale;
    }
    Ok(scales)
}

/// For each axis the places of the nearest elements.
pub(crate) fn nearest_places(
    at: &At<'_>,
    resize: &Resize,
    nearest: Nearest,
) -> Result<Vec<Vec<usize>>, Lack> {
    let (dims, to) = (at.dims(0)?, at.result_dims(0)?);
    let scales = scales(at, resize, &dims, &to)?;
    let place = |axis: usize, i: usize| {
        let (m, n, scale) = (dims[axis], to[axis], scales[axis]);
        if m == n && (scale - 1.0).abs() == 0.0 {
            return i;
        }
        let x = resize.coordinates.place(i as u64, (m as u64, n as u64), scale);
        let nearest = match nearest {
            Nearest::RoundPreferFloor if (x - x.floor() - 0.5).abs() == 0.0 => x.floor(),
            Nearest::RoundPreferFloor | Nearest::RoundPreferCeil => (x + 0.5).floor(),
            Nearest::Floor => x.floor(),
            Nearest::Ceil => x.ceil(),
            Nearest::FloorOrCeil if scale < 1.0 => x.ceil(),
            Nearest::FloorOrCeil => x.floor(),
        };
        nearest.clamp(0.0, (m.max(1) - 1) as f32) as usize
    };
    Ok((0..dims.len()).map(|axis| (0..to[axis]).map(|i| place(axis, i)).collect()).collect())
}

/// Picks elements at these places of each axis.
fn pick(at: &At<'_>, places: Vec<Vec<usize>>) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    by_width!(at.dtype(0)?, T => Ok(Built::one(1, 1, move |io| {
        let mut slices: [&[usize]; plimsoll_kernels::MAX_RANK] = Default::default();
        slices.iter_mut().zip(&places).for_each(|(slice, places)| *slice = places);
        resize::pick::<T>((io.read(0), &dims), &slices[..dims.len()], io.write(0));
        Ok(())
    })))
}

/// Places and weights of an axis from `m` to `n` elements.
fn weighed(resize: &Resize, (m, n): (usize, usize), scale: f32) -> Axis {
    let count = if matches!(resize.mode, Interpolation::Cubic { .. }) { 4 } else { 2 };
    let mut axis = Axis { dim: m, count, places: Vec::new(), weights: Vec::new() };
    for i in 0..n {
        let x = resize.coordinates.place(i as u64, (m as u64, n as u64), scale);
        let (first, mut weights) = match resize.mode {
            Interpolation::Cubic { a } => (x.floor() as i64 - 1, cubic(a, x - x.floor()).to_vec()),
            Interpolation::Linear | Interpolation::Nearest(_) => {
                // What is beyond the edge is the edge.
                let x = x.clamp(0.0, (m.max(1) - 1) as f32);
                (x.floor() as i64, vec![1.0 - (x - x.floor()), x - x.floor()])
            }
        };
        let inside = |place: i64| (0..m as i64).contains(&place);
        if resize.exclude_outside {
            let places = (first..).zip(weights.iter_mut());
            places.filter(|(place, _)| !inside(*place)).for_each(|(_, weight)| *weight = 0.0);
            let sum: f32 = weights.iter().sum();
            for weight in &mut weights {
                *weight /= sum;
            }
        }
        let last = m.max(1) as i64 - 1;
        axis.places.extend((first..).take(count).map(|place| place.clamp(0, last) as usize));
        axis.weights.extend(weights);
    }
    axis
}

/// The weights of the four elements around a place, which is that far behind the second.
fn cubic(a: f32, x: f32) -> [f32; 4] {
    let near = |x: f32| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)]
}

/// One axis after the other, from the last on.
fn weigh(at: &At<'_>, dims: &[usize], mut axes: Vec<(usize, Axis)>) -> Result<Built, Lack> {
    if axes.is_empty() {
        return super::layout::copy(at);
    }
    axes.reverse();
    let mut between = dims.to_vec();
    let mut passes = Vec::new();
    for (axis, taps) in axes {
        let inner: usize = between[axis + 1..].iter().product();
        between[axis] = taps.places.len() / taps.count;
        passes.push((taps, inner, between.iter().product::<usize>()));
    }
    let scratch: usize = passes[..passes.len() - 1].iter().map(|(.., len)| len).sum();
    let level = at.level;
    let built = Built::one(1, 1, move |io| {
        let (y, mut rest): (&mut [f32], &mut [f32]) = (io.write(0), io.scratch());
        let mut x: &[f32] = io.read(0);
        let (last, before) = passes.split_last().expect("at least one axis");
        let run = |(axis, inner, _): &(Axis, usize, usize), x: &[f32], y: &mut [f32]| {
            let Axis { dim, count, places, weights } = axis;
            let taps = Taps { count: *count, places, weights };
            resize::weigh(level, (x, *dim, *inner), taps, y);
        };
        for pass in before {
            let (made, behind) = rest.split_at_mut(pass.2);
            run(pass, x, made);
            (x, rest) = (made, behind);
        }
        run(last, x, y);
        Ok(())
    });
    Ok(built.with_scratch::<f32>(scratch))
}

/// `x, grid`.
pub(super) fn grid_sample(at: &At<'_>, sample: plimsoll_model::GridSample) -> Result<Built, Lack> {
    at.only_f32(&[0, 1])?;
    let (dims, places) = (at.dims(0)?, at.result_dims(0)?);
    let input = match dims[..] {
        [_, _, height, width] => [1, height, width],
        [_, _, depth, height, width] => [depth, height, width],
        _ => return Err(format!("no kernel for images of {} dims", dims.len())),
    };
    let shape = sample::GridSample {
        batch: dims[0],
        channels: dims[1],
        input,
        is_deep: dims.len() == 5,
        places: places[2..].iter().product(),
        sampling: match sample.mode {
            Sampling::Linear => sample::Sampling::Linear,
            Sampling::Nearest => sample::Sampling::Nearest,
            Sampling::Cubic => sample::Sampling::Cubic,
        },
        beyond: match sample.padding {
            Beyond::Zeros => sample::Beyond::Zeros,
            Beyond::Border => sample::Beyond::Border,
            Beyond::Reflection => sample::Beyond::Reflection,
        },
        align_corners: sample.align_corners,
    };
    Ok(Built::one(2, 1, move |io| {
        shape.run(io.read(0), io.read(1), io.write(0));
        Ok(())
    }))
}
