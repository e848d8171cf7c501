//! The inner part of a product: blocks of packed panels, tile by tile, in registers.
//!
//! A tile is up to [`Simd::ROWS`] rows of two vectors. Its sums stay in registers over the whole block of `k`; for
//! every `k` the kernel loads two vectors of `B` and one number of `A` for each row. Sums of a block of `k` that is not
//! the first begin with what is in `C`, so that each element is one chain over all of `k`, whatever the blocks.

use core::ops::Range;

use super::LINE;
use super::finish::Finish;
use crate::simd::{Kernel, Simd};

/// Panels of `A`: of each, `k` after `k`, the rows.
#[derive(Clone, Copy)]
pub(crate) struct PanelsA<'a> {
    /// From the first panel on.
    pub(crate) data: &'a [f32],
    /// The rows of all panels in `data`, and in how many panels they are.
    pub(crate) rows: usize,
    pub(crate) count: usize,
    /// How many `k` a panel has, and which of them are multiplied.
    pub(crate) depth: usize,
    pub(crate) k: (usize, usize),
}

impl<'a> PanelsA<'a> {
    /// The rows of panel `at`.
    #[inline(always)]
    pub(crate) fn rows_of(&self, at: usize) -> Range<usize> {
        self.rows * at / self.count..self.rows * (at + 1) / self.count
    }

    #[inline(always)]
    fn panel(&self, rows: &Range<usize>) -> &'a [f32] {
        let (first, end) = self.k;
        let begin = rows.start * self.depth;
        &self.data[begin + first * rows.len()..begin + end * rows.len()]
    }
}

/// Panels of `B`: of each, `k` after `k`, two vectors of columns.
#[derive(Clone, Copy)]
pub(crate) struct PanelsB<'a> {
    /// From the first panel on.
    pub(crate) data: &'a [f32],
    /// Elements from one panel to the next.
    pub(crate) stride: usize,
    /// Elements from one `k` to the next.
    pub(crate) row: usize,
    /// Which `k` are multiplied.
    pub(crate) k: (usize, usize),
}

impl PanelsB<'_> {
    /// The same from a column on with which a panel begins; a panel has `width` columns.
    pub(crate) fn starting_at(self, column: usize, width: usize) -> Self {
        PanelsB { data: &self.data[column / width * self.stride..], ..self }
    }
}

/// Which factor of a block is not in the cache yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Far {
    A,
    B,
}

/// A block of `C`: the rows of some panels of `A`, the columns of some panels of `B`.
pub(crate) struct Block<'a> {
    pub(crate) a: PanelsA<'a>,
    /// Which panels of `A`.
    pub(crate) panels: Range<usize>,
    /// Which factor has to come from far.
    pub(crate) far: Far,
    pub(crate) b: PanelsB<'a>,
    /// The rows that `c` has, of those of all panels of `A`: others are computed and dropped.
    pub(crate) rows: Range<usize>,
    /// From the first of these rows, and the first column of the first panel of `B` on.
    pub(crate) c: &'a mut [f32],
    /// Elements from one row of `c` to the next.
    pub(crate) stride: usize,
    /// How many columns.
    pub(crate) columns: usize,
    /// Whether sums begin with zero, and not with what is in `c`.
    pub(crate) first: bool,
    /// What is done to the sums, if this is the last block of `k`.
    pub(crate) finish: Option<Finish<'a>>,
}

impl Kernel for Block<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let width = 2 * S::LANES;
        for panel in 0..self.columns.div_ceil(width) {
            let column = panel * width;
            let end = self.columns.min(column + width);
            let (first, last) = self.b.k;
            let b = &self.b.data[panel * self.b.stride + first * self.b.row..];
            let b = &b[..((last - first) * self.b.row).min(b.len())];
            for at in self.panels.clone() {
                let rows = self.a.rows_of(at);
                let a = self.a.panel(&rows);
                let next = self.next(panel, at);
                let tile = Tile { rows, columns: column..end, next };
                if end - column > S::LANES {
                    self.tile_of::<S, 2>(simd, &tile, a, b);
                } else {
                    self.tile_of::<S, 1>(simd, &tile, a, b);
                }
            }
        }
    }
}

/// Rows, as those of all panels of `A`, and columns of a tile.
struct Tile<'a> {
    rows: Range<usize>,
    columns: Range<usize>,
    /// What is asked for meanwhile, and how many elements for each `k`.
    next: (&'a [f32], usize),
}

/// Calls the tile of as many rows as there are.
macro_rules! by_rows {
    ($self:ident, $simd:ident, $tile:ident, $a:ident, $b:ident, [$($rows:literal)*]) => {
        match $tile.rows.len() {
            $($rows if $rows <= S::ROWS => $self.tile::<S, $rows, W>($simd, $tile, $a, $b),)*
            _ => unreachable!("a panel has at most as many rows as a tile"),
        }
    };
}

impl<'a> Block<'a> {
    /// What is asked for while panel `at` of `A` is multiplied with panel `panel` of `B`: the next panel of `A`, or a part
    /// of the next panel of `B`.
    #[inline(always)]
    fn next(&self, panel: usize, at: usize) -> (&'a [f32], usize) {
        if self.far == Far::A {
            let rows = self.a.rows_of((at + 1).min(self.panels.end - 1));
            return (self.a.panel(&rows), rows.len());
        }
        let (first, last) = self.b.k;
        let step = self.b.row.div_ceil(self.panels.len()).min(LINE);
        let part = (at - self.panels.start) * (last - first) * step;
        let begin = (panel + 1) * self.b.stride + first * self.b.row + part;
        (self.b.data.get(begin..).unwrap_or(&[]), step)
    }

    #[inline(always)]
    fn tile_of<S: Simd, const W: usize>(&mut self, simd: S, tile: &Tile<'_>, a: &[f32], b: &[f32]) {
        by_rows!(self, simd, tile, a, b, [1 2 3 4 5 6 7 8 9 10 11 12]);
    }

    #[inline(always)]
    fn tile<S: Simd, const R: usize, const W: usize>(
        &mut self,
        simd: S,
        tile: &Tile<'_>,
        a: &[f32],
        b: &[f32],
    ) {
        let mut sums = [[simd.splat(0.0); W]; R];
        if !self.first {
            self.load(simd, tile, &mut sums);
        }
        multiply(simd, a, b, (self.b.row, tile.next), &mut sums);
        if let Some(finish) = &self.finish {
            finish.apply(simd, tile.rows.start, &tile.columns, &mut sums);
            if finish.in_place() {
                let mut before = [[simd.splat(0.0); W]; R];
                self.load(simd, tile, &mut before);
                finish.add_residual(simd, &before, &mut sums);
            }
            finish.clamp(simd, &mut sums);
        }
        self.store(simd, tile, &sums);
    }

    /// Where row `row` of a tile is in `c`, if it is there.
    #[inline(always)]
    fn place(&self, tile: &Tile<'_>, row: usize) -> Option<usize> {
        let row = tile.rows.start + row;
        let is_there = row >= self.rows.start && row < self.rows.end;
        is_there.then(|| (row - self.rows.start) * self.stride + tile.columns.start)
    }

    #[inline(always)]
    fn load<S: Simd, const R: usize, const W: usize>(
        &self,
        simd: S,
        tile: &Tile<'_>,
        sums: &mut [[S::V; W]; R],
    ) {
        for row in 0..R {
            let Some(place) = self.place(tile, row) else { continue };
            let from = &self.c[place..][..tile.columns.len()];
            for w in 0..W {
                sums[row][w] = load_at(simd, from, w);
            }
        }
    }

    #[inline(always)]
    fn store<S: Simd, const R: usize, const W: usize>(
        &mut self,
        simd: S,
        tile: &Tile<'_>,
        sums: &[[S::V; W]; R],
    ) {
        for row in 0..R {
            let Some(place) = self.place(tile, row) else { continue };
            let to = &mut self.c[place..][..tile.columns.len()];
            for w in 0..W {
                store_at(simd, sums[row][w], to, w);
            }
        }
    }
}

/// Vector `w` of a slice that may end in it.
#[inline(always)]
pub(crate) fn load_at<S: Simd>(simd: S, from: &[f32], w: usize) -> S::V {
    let rest = from.get(w * S::LANES..).unwrap_or(&[]);
    if rest.len() >= S::LANES { simd.load(rest) } else { simd.load_part(rest, rest.len()) }
}

/// Into vector `w` of a slice that may end in it.
#[inline(always)]
pub(crate) fn store_at<S: Simd>(simd: S, v: S::V, to: &mut [f32], w: usize) {
    let Some(rest) = to.get_mut(w * S::LANES..) else { return };
    let len = rest.len();
    if len >= S::LANES {
        simd.store(v, rest);
    } else {
        simd.store_part(v, rest, len);
    }
}

/// Adds the products of a panel of `A` and one of `B`, of which `row` elements are for each `k`. What is needed next is
/// asked for meanwhile: it may have to come from far.
#[inline(always)]
fn multiply<S: Simd, const R: usize, const W: usize>(
    simd: S,
    a: &[f32],
    b: &[f32],
    (row, (next, step)): (usize, (&[f32], usize)),
    sums: &mut [[S::V; W]; R],
) {
    let (a, _) = a.as_chunks::<R>();
    let mut local = *sums;
    for (k, (a, b)) in a.iter().zip(b.chunks(row)).enumerate() {
        simd.prefetch(next, k * step);
        let b = &b[..W * S::LANES];
        let mut vectors = [simd.splat(0.0); W];
        for w in 0..W {
            vectors[w] = simd.load(&b[w * S::LANES..]);
        }
        for r in 0..R {
            let a = simd.splat(a[r]);
            for w in 0..W {
                local[r][w] = simd.mul_add(a, vectors[w], local[r][w]);
            }
        }
    }
    *sums = local;
}
