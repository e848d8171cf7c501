//! Layouts that are read through: a tensor seen as elements of another one, by arithmetic on indices.
//!
//! A [`View`] has for each of its axes a list of *strides*: how many steps there are and how far apart they lie. Most
//! axes have one; an axis that was joined of two that do not go on from each other has both, and is taken apart again
//! by whoever reads it. So every reshape of a view is a view, unless it would cut a step in two:
//! heads that are repeated (expanded, and then joined with those that are not) are no exception.

use plimsoll_model::{Binary, ModelNode, Operator, TensorId};

use super::On;
use crate::at::axis_of;
use crate::kernel::Lack;

/// Steps along an axis: how many, and elements from one to the next.
pub(super) type Strides = Vec<(usize, usize)>;

/// Elements of a tensor in other places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) axes: Vec<Strides>,
    pub(super) offset: usize,
}

/// A tensor as it is read: elements of another one, times a factor.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) tensor: TensorId,
    pub(super) view: View,
    pub(super) factor: f32,
}

impl View {
    /// All of a tensor of these dims.
    pub(super) fn whole(dims: &[usize]) -> Self {
        let mut stride = 1;
        let mut axes: Vec<Strides> = Vec::with_capacity(dims.len());
        for dim in dims.iter().rev() {
            axes.push(vec![(*dim, stride)]);
            stride *= dim;
        }
        axes.reverse();
        View { axes, offset: 0 }
    }

    pub(super) fn dims(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.iter().map(|(len, _)| len).product()).collect()
    }

    /// Axis `i` is axis `permutation[i]` of this one.
    pub(super) fn transposed(&self, permutation: &[usize]) -> Self {
        let axes = permutation.iter().map(|axis| self.axes[*axis].clone()).collect();
        View { axes, offset: self.offset }
    }

    /// The same elements in the same order; `None` if an axis would be cut where it has no step.
    pub(super) fn reshaped(&self, dims: &[usize]) -> Option<Self> {
        let mut steps: Strides = self.axes.iter().flatten().copied().rev().collect();
        steps.retain(|(len, _)| *len != 1);
        let mut rest = steps.into_iter();
        let mut open: Option<(usize, usize)> = None;
        let mut axes = Vec::with_capacity(dims.len());
        for dim in dims.iter().rev() {
            let (mut axis, mut left) = (Strides::new(), *dim);
            while left > 1 {
                let (len, stride) = open.take().or_else(|| rest.next())?;
                if len <= left && left % len == 0 {
                    axis.push((len, stride));
                    left /= len;
                } else if len % left == 0 {
                    axis.push((left, stride));
                    open = Some((len / left, stride * left));
                    left = 1;
                } else {
                    return None;
                }
            }
            axis.reverse();
            axes.push(joined(axis));
        }
        axes.reverse();
        (open.is_none() && rest.next().is_none()).then_some(View { axes, offset: self.offset })
    }

    /// Broadcast to these dims.
    pub(super) fn expanded(&self, dims: &[usize]) -> Option<Self> {
        let added = dims.len().checked_sub(self.axes.len())?;
        let axis = |(at, dim): (usize, &usize)| {
            let own = at.checked_sub(added).map(|at| &self.axes[at]);
            let len: usize = own.map_or(1, |axis| axis.iter().map(|(len, _)| len).product());
            match own {
                Some(axis) if len == *dim => Some(axis.clone()),
                _ if len == 1 => Some(vec![(*dim, 0)]),
                _ => None,
            }
        };
        let axes = dims.iter().enumerate().map(axis).collect::<Option<Vec<_>>>()?;
        Some(View { axes, offset: self.offset })
    }

    /// So many elements of an axis, from one on, every `step`th.
    fn part(mut self, axis: usize, start: usize, step: usize, len: usize) -> Option<Self> {
        match self.axes[axis][..] {
            [(_, stride)] => {
                self.offset += start * stride;
                self.axes[axis] = vec![(len, stride * step)];
                Some(self)
            }
            [] if (start, len) == (0, 1) => Some(self),
            _ => None,
        }
    }

    /// The stride of an axis, if it has but one.
    pub(super) fn stride(&self, axis: usize) -> Option<usize> {
        match joined(self.axes[axis].clone())[..] {
            [] => Some(1),
            [(1, _)] => Some(1),
            [(_, stride)] => Some(stride),
            _ => None,
        }
    }
}

/// Steps that go on from each other as one.
fn joined(axis: Strides) -> Strides {
    let mut result: Strides = Vec::with_capacity(axis.len());
    for (len, stride) in axis.into_iter().filter(|(len, _)| *len != 1) {
        match result.last_mut() {
            Some(last) if last.1 == stride * len => *last = (last.0 * len, stride),
            _ => result.push((len, stride)),
        }
    }
    result
}

/// A tensor as elements of what is not made by these nodes.
pub(super) fn seen(on: &On<'_>, nodes: &[usize], tensor: TensorId) -> Result<Seen, Lack> {
    let makes = |node: &&usize| on.node(**node).outputs.contains(&Some(tensor));
    let Some(node) = nodes.iter().find(makes) else {
        let view = View::whole(&on.dims(tensor)?);
        return Ok(Seen { tensor, view, factor: 1.0 });
    };
    let node = on.node(*node);
    if let Operator::Binary(function @ (Binary::Mul | Binary::Div)) = node.operator {
        return scaled(on, nodes, node, function);
    }
    let input = node.inputs.first().copied().flatten().ok_or("an operand is absent")?;
    let seen = seen(on, nodes, input)?;
    let view = viewed(on, node, tensor, seen.view);
    Ok(Seen { view: view?.ok_or("no kernel for that layout")?, ..seen })
}

/// A tensor times a number.
fn scaled(on: &On<'_>, nodes: &[usize], node: &ModelNode, function: Binary) -> Result<Seen, Lack> {
    let operand = |at: usize| node.inputs.get(at).copied().flatten().ok_or("an operand is absent");
    let (x, number) = match on.scalar(node, 1) {
        Ok(Some(number)) => (operand(0)?, number),
        _ if function == Binary::Mul => {
            (operand(1)?, on.scalar(node, 0)?.ok_or("an operand is absent")?)
        }
        _ => return Err("no kernel that divides so".to_owned()),
    };
    let seen = seen(on, nodes, x)?;
    let factor = if function == Binary::Mul { number } else { 1.0 / number };
    Ok(Seen { factor: seen.factor * factor, ..seen })
}

/// What a node makes of a view.
fn viewed(
    on: &On<'_>,
    node: &ModelNode,
    output: TensorId,
    view: View,
) -> Result<Option<View>, Lack> {
    let dims = on.dims(output)?;
    match &node.operator {
        Operator::Reshape { .. }
        | Operator::Squeeze
        | Operator::Unsqueeze
        | Operator::Flatten { .. }
        | Operator::Identity
        | Operator::Dropout { .. } => Ok(view.reshaped(&dims)),
        Operator::Transpose(Some(permutation)) => Ok(Some(view.transposed(permutation))),
        Operator::Transpose(None) => {
            let reversed: Vec<usize> = (0..dims.len()).rev().collect();
            Ok(Some(view.transposed(&reversed)))
        }
        Operator::Expand => Ok(view.expanded(&dims)),
        Operator::Split { axis } => {
            let axis = axis_of(*axis, dims.len())?;
            let before = node.outputs.iter().take_while(|made| **made != Some(output));
            let mut start = 0;
            for made in before {
                start += on.dims(made.ok_or("a part that nobody wants")?)?[axis];
            }
            Ok(view.part(axis, start, 1, dims[axis]))
        }
        Operator::Slice => sliced(on, node, &dims, view),
        Operator::Gather { axis } => {
            let axis = axis_of(*axis, view.axes.len())?;
            let index = on.scalar(node, 1)?.ok_or("an operand is absent")?;
            let len = view.dims()[axis];
            let index = if index < 0.0 { index + len as f32 } else { index } as usize;
            if index >= len {
                return Err("an index that is beyond its axis".to_owned());
            }
            Ok(view.part(axis, index, 1, 1).and_then(|view| view.reshaped(&dims)))
        }
        _ => Err(format!("no kernel that reads through {}", node.kind)),
    }
}

/// A slice whose bounds do not change.
fn sliced(on: &On<'_>, node: &ModelNode, dims: &[usize], view: View) -> Result<Option<View>, Lack> {
    let ints = |operand: usize| -> Result<Option<Vec<i64>>, Lack> {
        let Some(id) = node.inputs.get(operand).copied().flatten() else { return Ok(None) };
        match on.facts[id.index()].known_ints() {
            Some(ints) => Ok(Some(ints)),
            None => Err("bounds that change".to_owned()),
        }
    };
    let starts = ints(1)?.ok_or("a slice without its bounds")?;
    let axes = ints(3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = ints(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let mut view = Some(view);
    for ((start, axis), step) in starts.iter().zip(axes).zip(steps) {
        let Some(whole) = view else { return Ok(None) };
        let axis = axis_of(axis, dims.len())?;
        let len = whole.dims()[axis] as i64;
        let start = if *start < 0 { start + len } else { *start }.clamp(0, len);
        let step = usize::try_from(step).map_err(|_| "no kernel that reads backwards")?;
        view = whole.part(axis, start as usize, step, dims[axis]);
    }
    Ok(view)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshapes_join_and_cut_axes() {
        let view = View::whole(&[2, 6, 4]);
        assert_eq!(view.reshaped(&[12, 4]), Some(View::whole(&[12, 4])));
        let cut = view.reshaped(&[2, 2, 3, 2, 2]).unwrap();
        assert_eq!(cut, View::whole(&[2, 2, 3, 2, 2]));
        assert_eq!(cut.reshaped(&[2, 6, 4]), Some(view.clone()));
        assert_eq!(view.reshaped(&[5, 9]), None);
        let turned = view.transposed(&[1, 0, 2]);
        let joined = turned.reshaped(&[12, 4]).unwrap();
        assert_eq!(joined.axes, [vec![(6, 4), (2, 24)], vec![(4, 1)]]);
        assert_eq!(joined.reshaped(&[6, 2, 4]), Some(turned));
        assert_eq!(joined.stride(0), None);
    }

    #[test]
    fn heads_that_are_repeated_are_a_view() {
        // Two heads of keys for four of queries: [1, 2, 5, 8], expanded to [1, 2, 2, 5, 8], joined to [1, 4, 5, 8].
        let heads = View::whole(&[1, 2, 5, 8]).reshaped(&[1, 2, 1, 5, 8]).unwrap();
        let heads = heads.expanded(&[1, 2, 2, 5, 8]).unwrap().reshaped(&[1, 4, 5, 8]).unwrap();
        assert_eq!(heads.axes[1], [(2, 40), (2, 0)]);
        assert_eq!((heads.dims(), heads.stride(2)), (vec![1, 4, 5, 8], Some(8)));
        assert_eq!(View::whole(&[3, 2]).expanded(&[3, 4]), None);
    }

    #[test]
    fn a_part_begins_further_on() {
        let part = View::whole(&[4, 6]).part(1, 2, 2, 2).unwrap();
        assert_eq!((part.offset, part.axes), (2, vec![vec![(4, 6)], vec![(2, 2)]]));
    }
}
