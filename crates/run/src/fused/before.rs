//! What a convolution reads and nobody keeps: made again where it is read.
//!
//! The nodes before a convolution become a [`Source`]: where the elements of its input come from. *Functions of elements*
//! are a chain, evaluated on whatever elements are wanted; *tensors side by side* hand on the planes of one of them; *pads*
//! and *interpolations* of a tensor find its elements by arithmetic on indices. A chain may follow one of the others, whose
//! elements are in its place before it runs. The kernel asks for strips of planes, which are in its scratch
//! ([`Planes`](plimsoll_kernels::conv::Planes)).

use std::collections::BTreeSet;
use std::ops::Range;

use plimsoll_graph::Dtype;
use plimsoll_kernels::Level;
use plimsoll_kernels::chain::{Data, MOST_OPERANDS};
use plimsoll_kernels::conv::Planes;
use plimsoll_model::{Fusing, Interpolation, Operator, Role, TensorId};

use super::On;
use super::chain::compile;
use crate::at::axis_of;
use crate::compiled::Compiled;
use crate::io::Io;
use crate::kernel::Lack;
use crate::ops::{self, Axis};

/// The input of a convolution that is made where it is read.
pub(crate) struct Before {
    source: Source,
    /// The tensors that are read, in the order of their slots.
    tensors: Vec<TensorId>,
    level: Level,
    /// Elements of a plane of the input.
    plane: usize,
}

/// Where planes come from.
enum Source {
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
enum Grid {
    /// The nearest one.
    Nearest([Vec<usize>; 2]),
    /// Some, weighed; as it is where nothing is said.
    Weighed([Option<Axis>; 2]),
}

impl Before {
    /// What the nodes make that a convolution reads as `input`; all of them are needed for it.
    pub(super) fn new(
        on: On<'_>,
        fusing: &Fusing<'_>,
        nodes: &[usize],
        input: TensorId,
    ) -> Result<Self, Lack> {
        let dims = on.dims(input)?;
        let plane = dims.get(2..).ok_or("an input without planes")?.iter().product();
        let mut builder = Builder { on, fusing, nodes, tensors: Vec::new(), used: BTreeSet::new() };
        let source = builder.source(input, &dims)?;
        if builder.used.len() != nodes.len() {
            return Err("no kernel that computes again what it does not read".to_owned());
        }
        Ok(Before { source, tensors: builder.tensors, level: on.level, plane })
    }

    /// The tensors that are read, in the order of their slots.
    pub(super) fn tensors(&self) -> &[TensorId] {
        &self.tensors
    }

    /// How many numbers it keeps.
    pub(super) fn number_count(&self) -> usize {
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

struct Builder<'a, 'f> {
    on: On<'a>,
    fusing: &'f Fusing<'f>,
    nodes: &'f [usize],
    tensors: Vec<TensorId>,
    used: BTreeSet<usize>,
}

impl Builder<'_, '_> {
    /// The node of these that makes a tensor.
    fn maker(&self, tensor: TensorId) -> Option<usize> {
        self.fusing.wiring.maker(tensor).filter(|maker| self.nodes.contains(maker))
    }

    fn slot(&mut self, tensor: TensorId) -> Result<usize, Lack> {
        if self.on.dtype(tensor)? != Dtype::F32 {
            return Err("no convolution of what is not f32".to_owned());
        }
        if self.on.constants.is_constant(tensor) {
            return Err("no convolution of what does not change".to_owned());
        }
        self.tensors.push(tensor);
        Ok(self.tensors.len() - 1)
    }

    /// Where the planes of a tensor of these dims come from.
    fn source(&mut self, tensor: TensorId, dims: &[usize]) -> Result<Source, Lack> {
        if self.on.dims(tensor)? != dims {
            return Err("planes of other dims".to_owned());
        }
        let Some(maker) = self.maker(tensor) else { return self.slot(tensor).map(Source::Tensor) };
        if self.fusing.role(maker) == Role::Elementwise {
            return self.chain(tensor, maker, dims);
        }
        self.used.insert(maker);
        let at = self.on.at(maker);
        let first = at.node.inputs.first().copied().flatten().ok_or("no operand")?;
        match &at.node.operator {
            Operator::Concat { axis } if axis_of(*axis, dims.len())? == 1 => {
                let mut parts = Vec::new();
                for part in at.node.inputs.iter().flatten() {
                    let of = self.on.dims(*part)?;
                    parts.push((of[1], self.source(*part, &of)?));
                }
                Ok(Source::Concat(parts))
            }
            Operator::Pad(_) => {
                let (from, to) = (image(&self.on.dims(first)?)?, image(dims)?);
                let begin = ops::pad_begins(&at)?;
                if begin[..2] != [0, 0] || self.on.dims(first)?[..2] != dims[..2] {
                    return Err("edges of channels".to_owned());
                }
                let begin = [if begin.len() == 4 { begin[2] } else { 0 }, begin[begin.len() - 1]];
                let edge = self.on.scalar(at.node, 2)?.unwrap_or_default();
                Ok(Source::Pad { slot: self.tensor(first)?, from, to, begin, edge })
            }
            Operator::Resize(resize) => {
                let (from, to) = (image(&self.on.dims(first)?)?, image(dims)?);
                let grid = match resize.mode {
                    Interpolation::Nearest(nearest) => {
                        let is_own =
                            |places: &Vec<usize>| places.iter().copied().eq(0..places.len());
                        Grid::Nearest(of_image(ops::nearest_places(&at, resize, nearest)?, is_own)?)
                    }
                    Interpolation::Linear | Interpolation::Cubic { .. } => {
                        let mut axes: Vec<Option<Axis>> = dims.iter().map(|_| None).collect();
                        for (axis, weighed) in ops::weighed_axes(&at, resize)? {
                            axes[axis] = Some(weighed);
                        }
                        Grid::Weighed(of_image(axes, Option::is_none)?)
                    }
                };
                let slot = self.tensor(first)?;
                Ok(Source::Resize { slot, from, columns: to[1], grid })
            }
            _ => Err(format!("no convolution of what {} makes", at.node.kind)),
        }
    }

    /// The slot of a tensor that none of these nodes makes.
    fn tensor(&mut self, tensor: TensorId) -> Result<usize, Lack> {
        if self.maker(tensor).is_some() {
            return Err("no layout of what is made again".to_owned());
        }
        self.slot(tensor)
    }

    /// Functions of elements up to a node.
    fn chain(&mut self, tensor: TensorId, last: usize, dims: &[usize]) -> Result<Source, Lack> {
        let (mut nodes, mut open) = (BTreeSet::new(), vec![last]);
        let mut of: Option<TensorId> = None;
        while let Some(node) = open.pop() {
            let made = self.on.node(node).outputs.first().copied().flatten().ok_or("no result")?;
            if self.on.dims(made)? != dims {
                return Err("a chain of other dims".to_owned());
            }
            nodes.insert((self.fusing.wiring.place(node), node));
            for read in self.on.node(node).inputs.iter().flatten() {
                match self.maker(*read) {
                    Some(maker) if self.fusing.role(maker) == Role::Elementwise => {
                        open.push(maker);
                    }
                    Some(_) if of.is_some_and(|of| of != *read) => {
                        return Err("a chain of two layouts".to_owned());
                    }
                    Some(_) => of = Some(*read),
                    None => {}
                }
            }
        }
        let nodes: Vec<usize> = nodes.into_iter().map(|(_, node)| node).collect();
        if nodes.last() != self.fusing.wiring.maker(tensor).as_ref() {
            return Err("a chain that does not end with what is read".to_owned());
        }
        self.used.extend(&nodes);
        let compiled = compile(&self.on, &nodes, of)?;
        let slot = self.tensors.len();
        self.tensors.extend(compiled.tensors());
        let of = of.map(|of| self.source(of, dims)).transpose()?.map(Box::new);
        Ok(Source::Chain { compiled, slot, of })
    }
}

/// Rows and columns.
fn image(dims: &[usize]) -> Result<[usize; 2], Lack> {
    match *dims {
        [_, _, columns] => Ok([1, columns]),
        [_, _, rows, columns] => Ok([rows, columns]),
        _ => Err(format!("no layout of images of {} dims", dims.len())),
    }
}

/// What is said of rows and columns, where nothing is said of batch and channels.
fn of_image<T>(mut axes: Vec<T>, is_nothing: impl Fn(&T) -> bool) -> Result<[T; 2], Lack> {
    let (Some(columns), Some(rows)) = (axes.pop(), axes.pop()) else {
        return Err("an image without rows".to_owned());
    };
    if axes.len() != 2 || !axes.iter().all(is_nothing) {
        return Err("an interpolation of channels".to_owned());
    }
    Ok([rows, columns])
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
