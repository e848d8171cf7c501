//! Calls in parts, one for each thread: convolutions by planes, products by matrices, rows or columns.

use std::ops::Range;
use std::sync::Arc;

use plimsoll_kernels::Level;
use plimsoll_kernels::conv::{self, Conv};
use plimsoll_kernels::gemm::{self, Product};
use plimsoll_kernels::matmul::{self, Stack};

use crate::pool::{MOST_THREADS, Pool};

/// How many multiplications a part has at least: fewer are done before another thread has begun.
const LEAST_WORK: usize = 1 << 20;

/// A part of the outputs, with scratch of its own.
#[derive(Default)]
struct Part<'a> {
    range: Range<usize>,
    y: &'a mut [f32],
    scratch: &'a mut [f32],
}

/// The threads of a session as its kernels see them.
#[derive(Clone)]
pub(crate) struct Threads(pub(crate) Option<Arc<Pool>>);

impl Threads {
    /// So many, that of the caller included.
    pub(crate) fn new(count: usize) -> Self {
        Threads((count > 1).then(|| Pool::new(count)))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.threads())
    }

    /// In how many parts something is done that has so many rows and takes so many multiplications.
    pub(crate) fn parts(&self, rows: usize, work: usize) -> usize {
        self.count().min(rows).min(work / LEAST_WORK).max(1)
    }

    /// Does `work` with ranges of `rows` rows, each with its outputs, `len` for each row, and its scratch.
    fn each(
        &self,
        (rows, parts): (usize, usize),
        len: usize,
        (y, scratch): (&mut [f32], &mut [f32]),
        work: impl Fn(Range<usize>, &mut [f32], &mut [f32]) + Sync,
    ) {
        let pool = match &self.0 {
            Some(pool) if parts > 1 => pool,
            _ => return work(0..rows, y, scratch),
        };
        let share = scratch.len() / parts;
        let mut list: [Part<'_>; MOST_THREADS] = Default::default();
        let (mut y, mut scratch) = (y, scratch);
        for (at, part) in list[..parts].iter_mut().enumerate() {
            part.range = rows * at / parts..rows * (at + 1) / parts;
            (part.y, y) = y.split_at_mut(part.range.len() * len);
            (part.scratch, scratch) = scratch.split_at_mut(share);
        }
        pool.each(&mut list[..parts], |part| work(part.range.clone(), part.y, part.scratch));
    }

    /// [`conv::conv`] of all planes.
    pub(crate) fn conv(
        &self,
        level: Level,
        shape: &Conv,
        operands: &conv::Operands<'_>,
        (y, scratch): (&mut [f32], &mut [f32]),
    ) {
        let len = shape.window.output_len();
        let work = shape.weights_len() / shape.out_channels.max(1) * shape.planes() * len;
        let rows = shape.planes();
        self.each((rows, self.parts(rows, work)), len, (y, scratch), |planes, y, scratch| {
            conv::conv(level, shape, operands, planes, y, scratch);
        });
    }

    /// [`matmul::matmul`] of all products.
    pub(crate) fn matmul(
        &self,
        level: Level,
        stack: &Stack,
        operands: &matmul::Operands<'_>,
        (y, scratch): (&mut [f32], &mut [f32]),
    ) {
        let gemm::Shape { m, n, k } = stack.shape;
        if stack.len() == 1 {
            return self.gemm(level, &matmul::product(stack, operands, 0), (y, scratch));
        }
        let parts = self.parts(stack.len(), stack.len() * m * n * k);
        self.each((stack.len(), parts), m * n, (y, scratch), |products, y, scratch| {
            matmul::matmul(level, stack, operands, products, y, scratch);
        });
    }

    /// [`gemm::gemm`] of contiguous rows.
    pub(crate) fn gemm(
        &self,
        level: Level,
        product: &Product<'_>,
        (y, scratch): (&mut [f32], &mut [f32]),
    ) {
        let gemm::Shape { m, n, k } = product.shape;
        if m == 1 && product.can_split_columns() {
            let parts = self.parts(n, n * k);
            return self.each((n, parts), 1, (y, scratch), |columns, y, scratch| {
                let len = columns.len();
                gemm::gemm(level, &product.of_columns(columns), y, len, scratch);
            });
        }
        let parts = if product.can_split_rows() { self.parts(m, m * n * k) } else { 1 };
        self.each((m, parts), n, (y, scratch), |rows, y, scratch| {
            gemm::gemm(level, &product.of_rows(rows), y, n, scratch);
        });
    }
}
