//! Copies between contiguous tensors and strided views: what slicing, transposing, expanding,
//! concatenating and their like come down to.
//!
//! A [`Strided`] describes a view of a tensor: for each axis of the view how many elements there are
//! and how far apart they lie, which may be 0 (repeated) or negative (backwards). It is made once from the
//! dims; axes that go on from each other are joined, so that copies move the longest runs that there
//! are. [`read`](Strided::read) makes the view contiguous, [`write`](Strided::write) puts contiguous elements into it.
//!
//! Where the view's last axis is not the one whose elements lie side by side, as in a transpose, the
//! two axes are gone over in square tiles, so that every cache line that is fetched is used up: about
//! as fast as memory.

use crate::MAX_RANK;

/// A view of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Axes after joining, outermost first.
    rank: usize,
    dims: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
    /// The place of the first element.
    offset: usize,
    /// How many elements the view has.
    len: usize,
    /// How many elements the tensor must have.
    span: usize,
}

/// The side of a tile, in elements.
const TILE: usize = 16;

impl Strided {
    /// A view with these dims and strides, in elements, whose first element is at `offset`.
    #[must_use]
    pub fn new(dims: &[usize], strides: &[isize], offset: usize) -> Self {
        assert!(dims.len() <= MAX_RANK, "rank {}", dims.len());
        assert_eq!(dims.len(), strides.len());
        let len = dims.iter().product();
        let mut view = Strided {
            rank: 0,
            dims: [1; MAX_RANK],
            strides: [1; MAX_RANK],
            offset,
            len,
            span: span(dims, strides, offset),
        };
        for (&dim, &stride) in dims.iter().zip(strides) {
            if dim != 1 {
                view.push(dim, stride);
            }
        }
        view.rank = view.rank.max(1);
        view
    }

    /// Adds an axis inside of those that there are, or makes the last one longer.
    fn push(&mut self, dim: usize, stride: isize) {
        if self.rank > 0 && self.strides[self.rank - 1] == stride * dim.cast_signed() {
            self.dims[self.rank - 1] *= dim;
            self.strides[self.rank - 1] = stride;
            return;
        }
        self.dims[self.rank] = dim;
        self.strides[self.rank] = stride;
        self.rank += 1;
    }

    /// The axes of a tensor of these dims in another order: axis `i` of the view is axis
    /// `permutation[i]` of the tensor.
    #[must_use]
    pub fn transpose(dims: &[usize], permutation: &[usize]) -> Self {
        let strides = contiguous_strides(dims);
        let (mut view_dims, mut view_strides) = ([0; MAX_RANK], [0; MAX_RANK]);
        for (axis, &from) in permutation.iter().enumerate() {
            view_dims[axis] = dims[from];
            view_strides[axis] = strides[from];
        }
        let rank = dims.len();
        assert_eq!(rank, permutation.len());
        Self::new(&view_dims[..rank], &view_strides[..rank], 0)
    }

    /// A part of a tensor of these dims: along each axis `lens[i]` elements from `starts[i]` on,
    /// `steps[i]` apart.
    #[must_use]
    pub fn slice(dims: &[usize], starts: &[usize], steps: &[isize], lens: &[usize]) -> Self {
        let mut strides = contiguous_strides(dims);
        let mut offset = 0;
        for axis in 0..dims.len() {
            offset += starts[axis] * strides[axis].unsigned_abs();
            strides[axis] *= steps[axis];
        }
        let empty = lens.contains(&0);
        Self::new(lens, &strides[..dims.len()], if empty { 0 } else { offset })
    }

    /// The part of a tensor of these dims from `start` on along one axis: what one operand of a concat
    /// is of the result, and one result of a split of the operand.
    #[must_use]
    pub fn part(dims: &[usize], axis: usize, start: usize, len: usize) -> Self {
        assert!(start + len <= dims[axis], "{len} from {start} on of {}", dims[axis]);
        let strides = contiguous_strides(dims);
        let mut part = [0; MAX_RANK];
        part[..dims.len()].copy_from_slice(dims);
        part[axis] = len;
        let empty = part[..dims.len()].contains(&0);
        let offset = if empty { 0 } else { start * strides[axis].unsigned_abs() };
        Self::new(&part[..dims.len()], &strides[..dims.len()], offset)
    }

    /// A tensor of these dims broadcast to others.
    #[must_use]
    pub fn expand(dims: &[usize], to: &[usize]) -> Self {
        assert!(dims.len() <= to.len() && to.len() <= MAX_RANK, "{dims:?} to {to:?}");
        let skipped = to.len() - dims.len();
        let strides = contiguous_strides(dims);
        let mut view = [0; MAX_RANK];
        for (axis, &dim) in dims.iter().enumerate() {
            assert!(dim == 1 || dim == to[skipped + axis], "{dims:?} to {to:?}");
            view[skipped + axis] = if dim == 1 { 0 } else { strides[axis] };
        }
        Self::new(to, &view[..to.len()], 0)
    }

    /// How many elements the view has.
    #[must_use]
    pub fn view_len(&self) -> usize {
        self.len
    }

    /// Whether the view is a run of elements from the offset on, in their order.
    #[must_use]
    pub fn is_run(&self) -> bool {
        self.rank == 1 && (self.strides[0] == 1 || self.dims[0] <= 1)
    }

    /// The place of the view's first element.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// `y =` the view of `x`.
    pub fn read<T: Copy>(&self, x: &[T], y: &mut [T]) {
        assert_eq!(y.len(), self.len);
        assert!(x.len() >= self.span);
        let inner = self.rank - 1;
        let (dim, stride) = (self.dims[inner], self.strides[inner]);
        if let Some(axis) = self.axis_of_tiles() {
            return self.read_tiles(axis, x, y);
        }
        let mut rows = y.chunks_exact_mut(dim.max(1));
        self.for_each(inner, usize::MAX, |place| {
            let Some(row) = rows.next() else { return };
            match stride {
                1 => row.copy_from_slice(&x[place..place + dim]),
                0 => row.fill(x[place]),
                _ => {
                    for (i, y) in row.iter_mut().enumerate() {
                        *y = x[step(place, i, stride)];
                    }
                }
            }
        });
    }

    /// The view of `y = x`.
    pub fn write<T: Copy>(&self, x: &[T], y: &mut [T]) {
        assert_eq!(x.len(), self.len);
        assert!(y.len() >= self.span);
        let inner = self.rank - 1;
        let (dim, stride) = (self.dims[inner], self.strides[inner]);
        let mut rows = x.chunks_exact(dim.max(1));
        self.for_each(inner, usize::MAX, |place| {
            let Some(row) = rows.next() else { return };
            if stride == 1 {
                y[place..place + dim].copy_from_slice(row);
            } else {
                for (i, &x) in row.iter().enumerate() {
                    y[step(place, i, stride)] = x;
                }
            }
        });
    }

    /// The outer axis along which elements lie side by side, if the last one is none such.
    fn axis_of_tiles(&self) -> Option<usize> {
        let inner = self.rank - 1;
        let scattered = self.strides[inner].unsigned_abs() > 1 && self.dims[inner] > 1;
        if !scattered {
            return None;
        }
        (0..inner).find(|&axis| self.strides[axis] == 1 && self.dims[axis] > 1)
    }

    /// [`Strided::read`] in tiles of the last axis and `axis`, whose elements lie side by side.
    fn read_tiles<T: Copy>(&self, axis: usize, x: &[T], y: &mut [T]) {
        let inner = self.rank - 1;
        let (columns, rows) = (self.dims[inner], self.dims[axis]);
        let stride = self.strides[inner];
        // How far apart two of the rows are in the output.
        let apart: usize = self.dims[axis + 1..self.rank].iter().product();
        let mut output = OutputPlaces::new(self, axis);
        self.for_each(inner, axis, |place| {
            let to = output.next();
            for row in (0..rows).step_by(TILE) {
                let height = TILE.min(rows - row);
                for column in (0..columns).step_by(TILE) {
                    let width = TILE.min(columns - column);
                    let from = step(place + row, column, stride);
                    let to = to + row * apart + column;
                    tile((x, from, stride), (y, to, apart), height, width);
                }
            }
        });
    }

    /// Calls `visit` with the place in the tensor of the first element of each run along the axes
    /// that are not counted: `inner` and, if it is one, `skipped`.
    #[inline(always)]
    fn for_each(&self, inner: usize, skipped: usize, mut visit: impl FnMut(usize)) {
        if self.len == 0 {
            return;
        }
        let mut index = [0; MAX_RANK];
        let mut place = self.offset.cast_signed();
        loop {
            visit(place.cast_unsigned());
            let mut axis = inner;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                if axis == skipped {
                    continue;
                }
                index[axis] += 1;
                place += self.strides[axis];
                if index[axis] < self.dims[axis] {
                    break;
                }
                place -= self.strides[axis] * self.dims[axis].cast_signed();
                index[axis] = 0;
            }
        }
    }
}

/// The places in the output that belong to the outer axes without one of them, in order.
struct OutputPlaces {
    rank: usize,
    dims: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    index: [usize; MAX_RANK],
}

impl OutputPlaces {
    fn new(view: &Strided, skipped: usize) -> Self {
        let inner = view.rank - 1;
        let mut this = OutputPlaces {
            rank: 0,
            dims: [0; MAX_RANK],
            strides: [0; MAX_RANK],
            index: [0; MAX_RANK],
        };
        for axis in (0..inner).filter(|&axis| axis != skipped) {
            this.dims[this.rank] = view.dims[axis];
            this.strides[this.rank] = view.dims[axis + 1..view.rank].iter().product();
            this.rank += 1;
        }
        this
    }

    fn next(&mut self) -> usize {
        let place = (0..self.rank).map(|axis| self.index[axis] * self.strides[axis]).sum();
        for axis in (0..self.rank).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.dims[axis] {
                break;
            }
            self.index[axis] = 0;
        }
        place
    }
}

/// Copies a tile: column by column of what is read, so that reads are side by side and writes stay
/// within so many rows.
#[inline(always)]
fn tile<T: Copy>(
    (x, from, stride): (&[T], usize, isize),
    (y, to, apart): (&mut [T], usize, usize),
    height: usize,
    width: usize,
) {
    for row in 0..height {
        let y = &mut y[to + row * apart..][..width];
        for (column, y) in y.iter_mut().enumerate() {
            *y = x[step(from, column, stride) + row];
        }
    }
}

#[inline(always)]
fn step(place: usize, count: usize, stride: isize) -> usize {
    place.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}

/// How many elements lie up to the last one that a view reaches.
fn span(dims: &[usize], strides: &[isize], offset: usize) -> usize {
    if dims.contains(&0) {
        return 0;
    }
    let mut last = offset;
    for (&dim, &stride) in dims.iter().zip(strides) {
        let travel = (dim - 1) * stride.unsigned_abs();
        if stride > 0 {
            last += travel;
        }
    }
    last + 1
}

/// From one element to the next along each axis of a contiguous tensor.
pub(crate) fn contiguous_strides(dims: &[usize]) -> [isize; MAX_RANK] {
    assert!(dims.len() <= MAX_RANK, "rank {}", dims.len());
    let mut strides = [1; MAX_RANK];
    let mut stride = 1isize;
    for (axis, &dim) in dims.iter().enumerate().rev() {
        strides[axis] = stride;
        stride *= dim.cast_signed();
    }
    strides
}
