//! Broadcasting: how the elements of smaller operands belong to those of an output.
//!
//! A [`Broadcast`] is made once from the dims and used in every run. Neighbouring axes along which all
//! operands go on alike are joined, so that what is left is a few outer axes and rows along
//! which each operand is either a run of elements or one element:
//!
//! | operands | rows of the output | operand a | operand b |
//! |---|---|---|---|
//! | same shape, or a scalar | 1 | run | run, or one |
//! | `[n, c] + [c]` | n | run | run |
//! | `[n, c, h, w] + [c, 1, 1]` | n · c | run | one |

use crate::MAX_RANK;

/// How `N` operands are broadcast to an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broadcast<const N: usize> {
    /// Axes after joining, outermost first; the last one is the row.
    rank: usize,
    dims: [usize; MAX_RANK],
    /// From one element to the next along each axis, 0 where an operand has but one.
    strides: [[usize; N]; MAX_RANK],
    /// How many elements the output has.
    len: usize,
    /// How many elements each operand has.
    operand_lens: [usize; N],
}

impl<const N: usize> Broadcast<N> {
    /// Of operands with these dims to an output of those; each operand's dims, counted from the last,
    /// are the output's or 1.
    #[must_use]
    pub fn new(output: &[usize], operands: [&[usize]; N]) -> Self {
        assert!(output.len() <= MAX_RANK, "rank {}", output.len());
        let mut this = Broadcast {
            rank: 0,
            dims: [1; MAX_RANK],
            strides: [[0; N]; MAX_RANK],
            len: output.iter().product(),
            operand_lens: operands.map(|dims| dims.iter().product()),
        };
        let strides = operands.map(|dims| broadcast_strides(output, dims));
        for (axis, &dim) in output.iter().enumerate() {
            if dim != 1 {
                this.push(dim, core::array::from_fn(|operand| strides[operand][axis]));
            }
        }
        this.rank = this.rank.max(1);
        this
    }

    /// Adds an axis inside of those that there are, or makes the last one longer.
    fn push(&mut self, dim: usize, strides: [usize; N]) {
        if self.rank > 0 {
            let last = self.rank - 1;
            let goes_on =
                (0..N).all(|operand| self.strides[last][operand] == strides[operand] * dim);
            if goes_on {
                self.dims[last] *= dim;
                self.strides[last] = strides;
                return;
            }
        }
        self.dims[self.rank] = dim;
        self.strides[self.rank] = strides;
        self.rank += 1;
    }

    /// How many elements the output has.
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.len
    }

    /// How many elements an operand has.
    #[must_use]
    pub fn operand_len(&self, operand: usize) -> usize {
        self.operand_lens[operand]
    }

    /// How long a row is.
    #[inline(always)]
    pub(crate) fn row(&self) -> usize {
        self.dims[self.rank - 1]
    }

    /// Whether an operand has an element for each of a row; otherwise it has one for all of them.
    #[inline(always)]
    pub(crate) fn is_run(&self, operand: usize) -> bool {
        self.strides[self.rank - 1][operand] != 0
    }

    /// Calls `row` with the place where each row of the output begins and the place in each
    /// operand, in ascending order of the output.
    #[inline(always)]
    pub(crate) fn for_each_row(&self, mut row: impl FnMut(usize, [usize; N])) {
        if self.len == 0 {
            return;
        }
        let outer = self.rank - 1;
        let (row_len, mut index, mut places) = (self.row(), [0; MAX_RANK], [0; N]);
        for start in (0..self.len).step_by(row_len) {
            row(start, places);
            self.step(outer, &mut index, &mut places);
        }
    }

    /// Calls `each` with every place of the output, in ascending order, and the place in each operand.
    #[inline(always)]
    pub fn for_each(&self, mut each: impl FnMut(usize, [usize; N])) {
        let steps: [usize; N] = core::array::from_fn(|operand| usize::from(self.is_run(operand)));
        let row = self.row();
        self.for_each_row(|start, places| {
            for i in 0..row {
                each(start + i, core::array::from_fn(|o| places[o] + i * steps[o]));
            }
        });
    }

    /// Goes on to the next row.
    #[inline(always)]
    fn step(&self, outer: usize, index: &mut [usize; MAX_RANK], places: &mut [usize; N]) {
        for axis in (0..outer).rev() {
            index[axis] += 1;
            for (place, stride) in places.iter_mut().zip(self.strides[axis]) {
                *place += stride;
            }
            if index[axis] < self.dims[axis] {
                return;
            }
            index[axis] = 0;
            for (place, stride) in places.iter_mut().zip(self.strides[axis]) {
                *place -= stride * self.dims[axis];
            }
        }
    }
}

impl Broadcast<1> {
    /// The element of the operand that belongs to an element of the output.
    pub(crate) fn place(&self, element: usize) -> usize {
        let (mut rest, mut place) = (element, 0);
        for axis in (0..self.rank).rev() {
            place += rest % self.dims[axis] * self.strides[axis][0];
            rest /= self.dims[axis];
        }
        place
    }

    /// The rows of the output from an element on.
    pub(crate) fn rows_from(&self, element: usize) -> RowsFrom<'_> {
        let (row, mut index) = (self.row(), [0; MAX_RANK]);
        let mut rest = element / row;
        for axis in (0..self.rank - 1).rev() {
            index[axis] = rest % self.dims[axis];
            rest /= self.dims[axis];
        }
        RowsFrom { shape: self, index, place: [self.place(element)], skipped: element % row }
    }
}

/// Rows of an output, from one of its elements on.
pub(crate) struct RowsFrom<'a> {
    shape: &'a Broadcast<1>,
    index: [usize; MAX_RANK],
    place: [usize; 1],
    /// How much of the row is over already.
    skipped: usize,
}

impl RowsFrom<'_> {
    /// Where the next row, or what is left of it, begins in the operand, and how many elements that are.
    pub(crate) fn next_row(&mut self) -> (usize, usize) {
        let (place, left) = (self.place[0], self.shape.row() - self.skipped);
        if self.shape.is_run(0) {
            self.place[0] -= self.skipped;
        }
        self.skipped = 0;
        self.shape.step(self.shape.rank - 1, &mut self.index, &mut self.place);
        (place, left)
    }
}

/// An operand's strides along the axes of the output: 0 where it is broadcast.
fn broadcast_strides(output: &[usize], operand: &[usize]) -> [usize; MAX_RANK] {
    assert!(operand.len() <= output.len(), "{operand:?} to {output:?}");
    let skipped = output.len() - operand.len();
    let mut strides = [0; MAX_RANK];
    let mut stride = 1;
    for (axis, &dim) in operand.iter().enumerate().rev() {
        assert!(dim == output[skipped + axis] || dim == 1, "{operand:?} to {output:?}");
        if dim != 1 {
            strides[skipped + axis] = stride;
        }
        stride *= dim;
    }
    strides
}
