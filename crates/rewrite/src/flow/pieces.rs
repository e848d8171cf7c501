//! Tensors as lists of pieces: what is kept, put together and let go.

use std::ops::Range;

use plimsoll_model::{Operator, TensorId};

use super::Flow;
use crate::along::{Axis, Course};

/// The rows of a tensor that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    /// One behind the other.
    list: Vec<Piece>,
    /// Whether they come from outside, and take no memory of ours.
    outside: bool,
    /// The tensor as a whole, if it is there.
    whole: Option<TensorId>,
}

/// Some rows of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    rows: Range<u64>,
    id: TensorId,
}

impl Pieces {
    /// A tensor that is there in one piece.
    pub(super) fn whole(id: TensorId, axis: Option<Axis>) -> Self {
        let list = axis.map(|axis| Piece { rows: 0..axis.rows, id }).into_iter().collect();
        Pieces { list, outside: false, whole: Some(id) }
    }

    /// A tensor of the caller's.
    pub(super) fn outside(id: TensorId, axis: Option<Axis>) -> Self {
        Pieces { outside: true, ..Pieces::whole(id, axis) }
    }

    /// What is there, unless it comes from outside.
    pub(super) fn ids(&self) -> impl Iterator<Item = TensorId> {
        self.list.iter().filter(|_| !self.outside).map(|piece| piece.id)
    }

    /// Adds rows behind the last.
    pub(super) fn push(&mut self, rows: Range<u64>, id: TensorId) {
        self.list.push(Piece { rows, id });
    }
}

impl Flow<'_> {
    /// Pretends that a tensor is there in so many pieces, and says which.
    pub(super) fn in_pieces(&mut self, tensor: TensorId, rows: u64, count: u64) -> Vec<TensorId> {
        let share = rows.div_ceil(count).max(1);
        let mut pieces = Pieces::default();
        for start in (0..rows).step_by(usize::try_from(share).unwrap_or(usize::MAX)) {
            let run = start..(start + share).min(rows);
            let id = self.draft.tensor("");
            self.note(id, self.along.bytes_of_rows(tensor, run.end - run.start));
            pieces.push(run, id);
        }
        let ids = pieces.ids().collect();
        self.pieces[tensor.index()] = pieces;
        ids
    }

    /// All of a tensor, in one piece.
    pub(super) fn whole(&mut self, tensor: TensorId) -> TensorId {
        let Some(axis) = self.along.axis(tensor) else {
            if let Some(maker) = self.along.makers[tensor.index()] {
                self.finish(maker);
            }
            return tensor;
        };
        if let Some(id) = self.pieces[tensor.index()].whole {
            return id;
        }
        let own = (!self.is_made[tensor.index()]).then_some(tensor);
        let id = self.rows_into(tensor, &(0..axis.rows), own);
        self.is_made[tensor.index()] |= id == tensor;
        self.pieces[tensor.index()] = Pieces::whole(id, Some(axis));
        id
    }

    /// Rows of a tensor, in one piece.
    pub(super) fn rows(&mut self, tensor: TensorId, run: &Range<u64>) -> TensorId {
        self.rows_into(tensor, run, None)
    }

    /// The same, under an id if they have to be put together.
    fn rows_into(
        &mut self,
        tensor: TensorId,
        run: &Range<u64>,
        into: Option<TensorId>,
    ) -> TensorId {
        if let Some(maker) = self.along.makers[tensor.index()] {
            if self.is_again(maker) {
                return self.computed_again(maker, tensor, run);
            }
            match self.along.courses[maker] {
                Course::Rows { .. } if self.progress[maker] < run.end => {
                    self.compute(maker, self.progress[maker]..run.end);
                }
                Course::Rows { .. } => {}
                Course::Gather(_) | Course::Whole => self.finish(maker),
            }
        }
        let pieces = &self.pieces[tensor.index()].list;
        let meets = |piece: &&Piece| piece.rows.start < run.end && run.start < piece.rows.end;
        let pieces: Vec<Piece> = pieces.iter().filter(meets).cloned().collect();
        let cut: Vec<TensorId> = pieces.iter().map(|piece| self.cut(tensor, piece, run)).collect();
        match cut[..] {
            [one] => one,
            _ => self.joined(tensor, run, &cut, into),
        }
    }

    /// What a piece has of a run.
    fn cut(&mut self, tensor: TensorId, piece: &Piece, run: &Range<u64>) -> TensorId {
        let rows = piece.rows.start.max(run.start)..piece.rows.end.min(run.end);
        if rows == piece.rows {
            return piece.id;
        }
        let within = rows.start - piece.rows.start..rows.end - piece.rows.start;
        self.sliced(tensor, piece.id, &within)
    }

    /// Some rows of a tensor with the axis of rows of another.
    pub(super) fn sliced(&mut self, like: TensorId, id: TensorId, rows: &Range<u64>) -> TensorId {
        let axis = self.along.axis(like).map_or(0, |axis| axis.index);
        self.sliced_at(like, axis, id, rows)
    }

    /// The same along an axis.
    pub(super) fn sliced_at(
        &mut self,
        like: TensorId,
        axis: usize,
        id: TensorId,
        rows: &Range<u64>,
    ) -> TensorId {
        let name = self.named(like, ".rows");
        let bounds = [rows.start, rows.end, axis as u64];
        let [start, end, axis] = bounds.map(|bound| Some(self.int(bound)));
        let cut = self.draft.node(&name, Operator::Slice, &[Some(id), start, end, axis], None);
        self.note(cut, self.along.bytes_of_rows(like, rows.end - rows.start));
        cut
    }

    fn joined(
        &mut self,
        tensor: TensorId,
        run: &Range<u64>,
        pieces: &[TensorId],
        into: Option<TensorId>,
    ) -> TensorId {
        let name = self.named(tensor, ".joined");
        let joined = into.unwrap_or_else(|| self.draft.tensor(&name));
        let axis = self.along.axis(tensor).map_or(0, |axis| axis.index);
        let inputs: Vec<_> = pieces.iter().map(|piece| Some(*piece)).collect();
        let operator = Operator::Concat { axis: i64::try_from(axis).unwrap_or(0) };
        self.draft.node_into(&name, operator, &inputs, &[Some(joined)], None);
        self.note(joined, self.along.bytes_of_rows(tensor, run.end - run.start));
        joined
    }

    /// A stored number, one for all who use it.
    pub(super) fn int(&mut self, int: u64) -> TensorId {
        self.stored_ints(&[i64::try_from(int).unwrap_or(i64::MAX)])
    }

    /// Stored numbers, one list for all who use it.
    pub(super) fn stored_ints(&mut self, ints: &[i64]) -> TensorId {
        if let Some(id) = self.ints.get(ints) {
            return *id;
        }
        let id = self.draft.ints("bound", ints);
        self.ints.insert(ints.to_vec(), id);
        id
    }

    /// Stored numbers, one list for all who use it.
    pub(super) fn stored_floats(&mut self, floats: &[f64]) -> TensorId {
        self.stored_matrix(floats, [floats.len() as u64])
    }

    /// The same in any dims.
    pub(super) fn stored_matrix<const N: usize>(
        &mut self,
        floats: &[f64],
        dims: [u64; N],
    ) -> TensorId {
        let key = (dims.to_vec(), floats.iter().map(|float| float.to_bits()).collect());
        if let Some(id) = self.floats.get(&key) {
            return *id;
        }
        let id = self.draft.floats_of("weights", floats, &dims);
        self.floats.insert(key, id);
        id
    }

    /// Remembers how large a tensor is.
    pub(super) fn note(&mut self, tensor: TensorId, bytes: u64) {
        if self.bytes.len() <= tensor.index() {
            self.bytes.resize(tensor.index() + 1, 0);
        }
        self.bytes[tensor.index()] = bytes;
    }

    /// Lets go of the rows of a tensor that nobody needs any more.
    pub(super) fn trim(&mut self, tensor: TensorId) {
        let Some(axis) = self.along.axis(tensor) else { return };
        if let Some(maker) = self.along.makers[tensor.index()]
            && self.is_again(maker)
        {
            let operands: Vec<TensorId> =
                self.node(maker).inputs.iter().flatten().copied().collect();
            return operands.into_iter().for_each(|operand| self.trim(operand));
        }
        if self.pieces[tensor.index()].outside {
            return;
        }
        let first = self.needed_from(tensor);
        let list = std::mem::take(&mut self.pieces[tensor.index()].list);
        let is_made_in_steps =
            list.len() > 1 || list.iter().any(|piece| piece.rows.end < axis.rows);
        let mut kept: Vec<Piece> =
            list.into_iter().filter(|piece| piece.rows.end > first).collect();
        if let Some(piece) = kept.first_mut()
            && piece.rows.start < first
            && is_made_in_steps
            && 2 * (piece.rows.end - first) <= piece.rows.end - piece.rows.start
        {
            let rows = first..piece.rows.end;
            let within = rows.start - piece.rows.start..rows.end - piece.rows.start;
            let id = self.sliced(tensor, piece.id, &within);
            *piece = Piece { rows, id };
        }
        let pieces = &mut self.pieces[tensor.index()];
        pieces.list = kept;
        pieces.whole =
            pieces.whole.filter(|whole| pieces.list.first().is_some_and(|p| p.id == *whole));
    }

    /// The first row of a tensor that somebody still needs.
    fn needed_from(&self, tensor: TensorId) -> u64 {
        if self.along.model.body.outputs.contains(&tensor) {
            return 0;
        }
        let rows = self.along.axis(tensor).map_or(1, |axis| axis.rows);
        let maker = self.along.makers[tensor.index()];
        let remade =
            maker.and_then(|maker| self.restarted_in[maker]).filter(|at| *at > self.segment);
        let readers = self.along.readers[tensor.index()].iter();
        let readers =
            readers.filter(|reader| remade.is_none_or(|at| self.segment_of[**reader] < at));
        let read_from = |reader: &usize| {
            // Whoever is computed once more reads it once more, unless that is too.
            let again = self.restarted_in[*reader].is_some_and(|at| at > self.segment);
            if again && remade.is_none() { 0 } else { self.read_from(*reader, tensor) }
        };
        readers.map(read_from).min().unwrap_or(rows).min(rows)
    }

    /// The first row of a tensor that a reader still needs.
    pub(super) fn read_from(&self, reader: usize, tensor: TensorId) -> u64 {
        let node = self.node(reader);
        match &self.along.courses[reader] {
            Course::Rows { lanes } => {
                let next = if self.is_again(reader) {
                    node.outputs
                        .iter()
                        .flatten()
                        .map(|made| self.needed_from(*made))
                        .min()
                        .unwrap_or(0)
                } else {
                    self.progress[reader]
                };
                let done = next >= self.length[reader];
                let operands =
                    node.inputs.iter().zip(lanes).filter(|(operand, _)| **operand == Some(tensor));
                let first = operands.map(|(_, lane)| match lane {
                    Some(lane) => lane.first(next),
                    None if done => u64::MAX,
                    None => 0,
                });
                first.min().unwrap_or(u64::MAX)
            }
            Course::Gather(_) => self.progress[reader],
            Course::Whole if self.is_done(reader) => u64::MAX,
            Course::Whole => 0,
        }
    }
}
