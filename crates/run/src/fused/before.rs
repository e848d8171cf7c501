//! What a convolution reads and nobody keeps: made again where it is read.
//!
//! The nodes before a convolution become a [`Source`]: where the elements of its input come from. *Functions of elements*
//! are a chain, evaluated on whatever elements are wanted; *tensors side by side* hand on the planes of one of them; *pads*
//! and *interpolations* of a tensor find its elements by arithmetic on indices. A chain may follow one of the others, whose
//! elements are in its place before it runs. The kernel asks for strips of planes, which are in its scratch
//! ([`Planes`](plimsoll_kernels::conv::Planes)).

use std::collections::BTreeSet;

use plimsoll_graph::Dtype;
use plimsoll_model::{Fusing, Interpolation, Operator, Role, TensorId};

use super::On;
use super::chain::compile;
use crate::at::axis_of;
use crate::kernel::Lack;
use crate::ops;
use crate::planes::{Axis, Before, Grid, Source};

/// What the nodes make that a convolution reads as `input`; all of them are needed for it.
pub(super) fn before(
    on: On<'_>,
    fusing: &Fusing<'_>,
    nodes: &[usize],
    input: TensorId,
) -> Result<Before, Lack> {
    let dims = on.dims(input)?;
    let plane = dims.get(2..).ok_or("an input without planes")?.iter().product();
    let mut builder = Builder { on, fusing, nodes, tensors: Vec::new(), used: BTreeSet::new() };
    let source = builder.source(input, &dims)?;
    if builder.used.len() != nodes.len() {
        return Err("no kernel that computes again what it does not read".to_owned());
    }
    Ok(Before { source, tensors: builder.tensors, level: on.level, plane })
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
