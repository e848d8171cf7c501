//! Operators that leave rows as they are, or move their axis.

use plimsoll_model::{ModelNode, TensorId};

use super::{Along, Course, Found, first, position};
use crate::rows::Lane;

impl Along<'_> {
    /// Operands broadcast against each other: those that have the rows of the output are read by rows.
    pub(super) fn broadcast(&self, node: &ModelNode) -> Option<Found> {
        let made = self.dims((*node.outputs.first()?)?)?;
        if node.outputs.len() != 1 {
            return None;
        }
        let operands = || node.inputs.iter().flatten();
        let axis = operands().find_map(|operand| self.aligned(*operand, made.len()))?;
        let rows = made[axis];
        let lane = |operand: &Option<TensorId>| -> Option<Option<Lane>> {
            let Some(operand) = *operand else { return Some(None) };
            let dims = self.dims(operand)?;
            let own = (axis + dims.len()).checked_sub(made.len());
            let Some(own) = own.filter(|own| dims[*own] != 1 || rows == 1) else {
                // One row for all of them: there has to be no other axis of rows.
                return self.aligned(operand, made.len()).is_none().then_some(None);
            };
            let along = self.aligned(operand, made.len()) == Some(axis);
            let by_rows = dims[own] == rows && (along || self.statics[operand.index()]);
            by_rows.then(|| Some(Lane::each(rows)))
        };
        let lanes = node.inputs.iter().map(lane).collect::<Option<Vec<_>>>()?;
        Some(Found { course: Course::Rows { lanes }, axis: Some(axis) })
    }

    /// The axis of rows of an operand as one of what it is broadcast to.
    fn aligned(&self, operand: TensorId, rank: usize) -> Option<usize> {
        let own = self.dims(operand)?.len();
        Some(self.axis(operand)?.index + rank.checked_sub(own)?)
    }

    /// Along any axis but that of rows.
    pub(super) fn concat(&self, node: &ModelNode, over: i64) -> Option<Found> {
        let over = self.position(node, over)?;
        let axis = node.inputs.iter().flatten().find_map(|operand| self.axis(*operand))?;
        let lane = |operand: &Option<TensorId>| {
            let operand = (*operand)?;
            let own = self.axis(operand);
            let by_rows = own == Some(axis)
                || (self.statics[operand.index()]
                    && self.dims(operand)?.get(axis.index) == Some(&axis.rows));
            by_rows.then(|| Some(Lane::each(axis.rows)))
        };
        let lanes = node.inputs.iter().map(lane).collect::<Option<Vec<_>>>()?;
        let found = Found { course: Course::Rows { lanes }, axis: Some(axis.index) };
        (over != axis.index).then_some(found)
    }

    /// Along any axes but that of rows, which have to be stored.
    pub(super) fn slice(&self, node: &ModelNode) -> Option<Found> {
        let rows = self.axis(first(node)?)?.index;
        let rank = self.dims(first(node)?)?.len();
        let axes = self.ints((*node.inputs.get(3)?)?)?;
        let beside =
            axes.into_iter().all(|axis| position(axis, rank).is_some_and(|axis| axis != rows));
        beside.then(|| self.by_rows(node, rows))?
    }

    /// Other dims before the rows and behind them, but as many elements of each.
    pub(super) fn reshaped(&self, node: &ModelNode) -> Option<Found> {
        let axis = self.axis(first(node)?)?;
        let from = self.dims(first(node)?)?;
        let to = self.dims((*node.outputs.first()?)?)?;
        let before: u64 = from[..axis.index].iter().product();
        let kept = |index: &usize| {
            to[*index] == axis.rows && to[..*index].iter().product::<u64>() == before
        };
        self.by_rows(node, (0..to.len()).find(kept)?)
    }

    /// A product with a matrix that is the same for all rows.
    pub(super) fn product(&self, node: &ModelNode) -> Option<Found> {
        let (a, b) = ((*node.inputs.first()?)?, (*node.inputs.get(1)?)?);
        let axis = self.axis(a)?;
        let (left, right) = (self.dims(a)?, self.dims(b)?);
        let rows_stay = axis.index + 1 < left.len() && right.len() == 2;
        (rows_stay && self.axis(b).is_none()).then(|| self.by_rows(node, axis.index))?
    }
}
