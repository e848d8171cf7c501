//! The input of a convolution that is made where it is read: where its planes come from in a call.
//!
//! The kernel asks for strips of planes ([`Planes`]); each is made of the operands of the call, and nothing is kept.

use std::ops::Range;

use plimsoll_kernels::Level;
use plimsoll_kernels::chain::{Data, MOST_OPERANDS};
use plimsoll_kernels::conv::Planes;
use plimsoll_model::TensorId;

use crate::compiled::Compiled;
use crate::io::Io;

/// The input of a convolution that is made where it is read.
pub(crate) struct Before {
    pub(crate) source: Source,
    /// The tensors that are read, in the order of their slots.
    pub(crate) tensors: Vec<TensorId>,
    pub(crate) level: Level,
    /// Elements of a plane of the input.
    pub(crate) plane: usize,
}

/// Where planes come from.
pub(crate) enum Source {
    /// A tensor of the same planes, by its slot.
    Tensor(usize),
    /// Functions of elements of tensors from a slot on, and of what is made in their place before.
    Chain { compiled: Compiled, slot: usize, of: Option<Box<Source>> },
    /// Planes of several, each with how many channels it has.
    Concat(Vec<(usize, Source)>),
    /// A tensor with edges: its rows and columns, those with edges, and how many are before its own.
    Pad { slot: usize, from: [usize; 2], to: [usize; 2], begin: [isize; 2], edge: f32 },
    /// A tensor of other rows and columns.
    Resize { slot: usize, from: [usize; 2], columns: usize, grid: Grid },
}

/// Which elements a row or a column is made of.
pub(crate) enum Grid {
    /// The nearest one.
    Nearest([Vec<usize>; 2]),
    /// Some, weighed; as it is where nothing is said.
    Weighed([Option<Axis>; 2]),
}

/// What the outputs along an axis are made of.
pub(crate) struct Axis {
    /// How many elements the axis has, and how many each output is made of.
    pub(crate) dim: usize,
    pub(crate) count: usize,
    /// Which ones, and their weights.
    pub(crate) places: Vec<usize>,
    pub(crate) weights: Vec<f32>,
}

impl Axis {
    /// The elements that an output is made of, and their weights.
    pub(crate) fn taps(&self, output: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let own = output * self.count..(output + 1) * self.count;
        self.places[own.clone()].iter().copied().zip(self.weights[own].iter().copied())
    }
}

impl Before {
    /// The tensors that are read, in the order of their slots.
    pub(crate) fn tensors(&self) -> &[TensorId] {
        &self.tensors
    }

    /// How many numbers it keeps.
    pub(crate) fn number_count(&self) -> usize {
        self.source.number_count()
    }

    /// The planes, of tensors that are operands of a call from `slot` on.
    pub(crate) fn planes<'a>(&'a self, io: &'a Io<'a>, slot: usize) -> Reading<'a> {
        Reading { before: self, io, slot }
    }
}

impl Source {
    fn number_count(&self) -> usize {
        match self {
            Source::Tensor(_) | Source::Pad { .. } => 0,
            Source::Chain { compiled, of, .. } => {
                compiled.number_count() + of.as_ref().map_or(0, |of| of.number_count())
            }
            Source::Concat(parts) => parts.iter().map(|(_, part)| part.number_count()).sum(),
            Source::Resize { grid: Grid::Nearest(places), .. } => {
                places.iter().map(|places| 2 * places.len()).sum()
            }
            Source::Resize { grid: Grid::Weighed(axes), .. } => {
                axes.iter().flatten().map(|axis| 3 * axis.weights.len()).sum()
            }
        }
    }
}

/// Planes that are made of the operands of a call.
pub(crate) struct Reading<'a> {
    before: &'a Before,
    io: &'a Io<'a>,
    slot: usize,
}

impl Planes for Reading<'_> {
    fn make(&self, plane: usize, elements: Range<usize>, out: &mut [f32]) {
        self.made(&self.before.source, plane, elements, out);
    }
}

impl Reading<'_> {
    /// A plane of a tensor.
    fn plane(&self, slot: usize, plane: usize, len: usize) -> &[f32] {
        &self.io.read::<f32>(self.slot + slot)[plane * len..][..len]
    }

    fn made(&self, source: &Source, plane: usize, elements: Range<usize>, out: &mut [f32]) {
        let len = self.before.plane;
        match source {
            Source::Tensor(slot) => {
                out.copy_from_slice(&self.plane(*slot, plane, len)[elements]);
            }
            Source::Chain { compiled, slot, of } => {
                if let Some(of) = of {
                    self.made(of, plane, elements.clone(), out);
                }
                let mut data = [Data::InPlace; MOST_OPERANDS];
                let operands = compiled.operands(self.io, self.slot + slot, &mut data);
                let first = plane * len + elements.start;
                compiled.chain().run(self.before.level, operands, first, out);
            }
            Source::Concat(parts) => {
                let channels: usize = parts.iter().map(|(channels, _)| channels).sum();
                let (batch, mut channel) = (plane / channels, plane % channels);
                for (channels, part) in parts {
                    if channel < *channels {
                        return self.made(part, batch * channels + channel, elements, out);
                    }
                    channel -= channels;
                }
            }
            Source::Pad { slot, from: [height, width], to: [_, columns], begin, edge } => {
                let x = self.plane(*slot, plane, height * width);
                let inside = |at: usize, begin: isize, len: usize| {
                    usize::try_from(at.cast_signed() - begin).ok().filter(|at| *at < len)
                };
                for_rows(*columns, elements, out, |row, first, out| {
                    let Some(row) = inside(row, begin[0], *height) else { return out.fill(*edge) };
                    let x = &x[row * width..][..*width];
                    for (column, out) in (first..).zip(out) {
                        *out = inside(column, begin[1], *width).map_or(*edge, |at| x[at]);
                    }
                });
            }
            Source::Resize { slot, from: [height, width], columns, grid } => {
                let x = self.plane(*slot, plane, height * width);
                for_rows(*columns, elements, out, |row, first, out| match grid {
                    Grid::Nearest([rows, places]) => {
                        let x = &x[rows[row] * width..][..*width];
                        for (place, out) in places[first..].iter().zip(out) {
                            *out = x[*place];
                        }
                    }
                    Grid::Weighed(axes) => weighed_row(x, *width, axes, (row, first), out),
                });
            }
        }
    }
}

/// Goes over elements row by row: which row, its first element that is wanted, and where they go.
fn for_rows(
    columns: usize,
    elements: Range<usize>,
    out: &mut [f32],
    mut each: impl FnMut(usize, usize, &mut [f32]),
) {
    let (mut at, mut rest) = (elements.start, out);
    while at < elements.end {
        let (row, first) = (at / columns, at % columns);
        let len = (columns - first).min(elements.end - at);
        let (now, behind) = rest.split_at_mut(len);
        each(row, first, now);
        (at, rest) = (at + len, behind);
    }
}

/// Elements of a row of an image that is weighed along columns, then along rows, in the order in which the operator by
/// itself adds them up.
fn weighed_row(
    x: &[f32],
    width: usize,
    [rows, columns]: &[Option<Axis>; 2],
    (row, first): (usize, usize),
    out: &mut [f32],
) {
    let along = |row: usize, column: usize| match columns {
        None => x[row * width + column],
        Some(axis) => {
            let x = &x[row * width..][..width];
            axis.taps(column).fold(0.0, |sum, (place, weight)| sum + weight * x[place])
        }
    };
    for (column, out) in (first..).zip(out) {
        *out = match rows {
            None => along(row, column),
            Some(axis) => {
                let taps = axis.taps(row);
                taps.fold(0.0, |sum, (place, weight)| sum + weight * along(place, column))
            }
        };
    }
}
