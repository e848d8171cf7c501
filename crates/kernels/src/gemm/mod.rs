//! Products of matrices: `C = epilogue(A · B)`, in single precision.
//!
//! `A` is `m × k`, `B` is `k × n`, `C` is `m × n`. Operands have any strides, so that transposed ones are not
//! copied, or are packed before: constant weights are packed once, by [`pack_a`] or [`pack_b`], for the level
//! that multiplies. Every output is one chain of additions over `k` from 0 up, whatever the blocks: its bits depend
//! neither on the rows that are computed with it nor on what is packed.

pub(crate) mod finish;
pub(crate) mod pack;
mod row;
pub(crate) mod tile;

use core::ops::Range;

use self::finish::Finish;
use self::row::Row;
use self::tile::{Block, Far, PanelsA, PanelsB};
use crate::Level;
use crate::chain::{Rows, Then};
use crate::epilogue::{Bias, Epilogue, Residual};

/// The dims of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of `A` and `C`.
    pub m: usize,
    /// Columns of `B` and `C`.
    pub n: usize,
    /// Columns of `A`, rows of `B`.
    pub k: usize,
}

/// A matrix in memory.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// The elements, from the first one on.
    pub data: &'a [f32],
    /// Elements from one row to the next.
    pub row_stride: usize,
    /// Elements from one column to the next.
    pub column_stride: usize,
}

/// A factor of a product.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// As it is in memory.
    Plain(Matrix<'a>),
    /// As [`pack_a`] or [`pack_b`] wrote it, for the same level.
    Packed(&'a [f32]),
}

/// A product: its dims, its factors and what is done to its sums.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a> {
    /// The dims.
    pub shape: Shape,
    /// The left factor, `m × k`.
    pub a: Operand<'a>,
    /// The right factor, `k × n`.
    pub b: Operand<'a>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a>,
}

impl<'a> Matrix<'a> {
    /// Row after row, `stride` elements apart.
    #[must_use]
    pub fn rows(data: &'a [f32], stride: usize) -> Matrix<'a> {
        Matrix { data, row_stride: stride, column_stride: 1 }
    }

    /// Column after column, `stride` elements apart: the transpose of [`Matrix::rows`].
    #[must_use]
    pub fn columns(data: &'a [f32], stride: usize) -> Matrix<'a> {
        Matrix { data, row_stride: 1, column_stride: stride }
    }

    /// The element at that row and column.
    #[must_use]
    #[inline]
    pub fn at(&self, row: usize, column: usize) -> f32 {
        self.data[row * self.row_stride + column * self.column_stride]
    }
}

/// Elements of `A` packed.
#[must_use]
pub fn packed_a_len(_level: Level, m: usize, k: usize) -> usize {
    m * k
}

/// Elements of `B` packed.
#[must_use]
pub fn packed_b_len(level: Level, k: usize, n: usize) -> usize {
    let (_, width) = level.tile();
    n.next_multiple_of(width) * k
}

/// Packs `A`, which is `m × k`, into [`packed_a_len`] elements.
pub fn pack_a(level: Level, m: usize, k: usize, a: Matrix<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), packed_a_len(level, m, k), "length of packed A");
    let count = pack::panel_count(m, level.tile().0);
    let mut rest = out;
    for at in 0..count {
        let rows = m * at / count..m * (at + 1) / count;
        let (panel, behind) = rest.split_at_mut(rows.len() * k);
        pack::panel_a(a, rows, 0..k, panel);
        rest = behind;
    }
}

/// Packs `B`, which is `k × n`, into [`packed_b_len`] elements.
pub fn pack_b(level: Level, k: usize, n: usize, b: Matrix<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), packed_b_len(level, k, n), "length of packed B");
    let (_, width) = level.tile();
    for (at, out) in out.chunks_exact_mut((k * width).max(1)).enumerate() {
        pack::panel_b(level, b, 0..k, at * width..n.min((at + 1) * width), width, out);
    }
}

/// How a product is cut into blocks: their greatest dims.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    pub(crate) panels: usize,
    pub(crate) columns: usize,
    pub(crate) k: usize,
}

/// What a block of `A` and one of `B` may take in the cache: half a megabyte together.
const BLOCK: usize = 64 * 1024;
/// The most `k` in a block: a panel of `B` then stays in the first cache.
const BLOCK_K: usize = 256;

/// The most columns of a strip of outputs, a multiple of those of any tile.
const STRIP: usize = 256;

/// The least `k` in a block: with fewer, sums are stored and read again more often than they are added to.
const LEAST_K: usize = 64;

impl Blocks {
    /// The blocks that a product is fastest with. `whole` keeps all of `k` in one block. Where `B` is packed, a block has
    /// all columns, so that `A` is packed once.
    pub(crate) fn new(level: Level, shape: Shape, whole: bool, packed_b: bool) -> Blocks {
        let (rows, width) = level.tile();
        let k = if whole { shape.k } else { shape.k.div_ceil(shape.k.div_ceil(BLOCK_K).max(1)) };
        let fitting = |size: usize| (BLOCK / (size * k.max(1))).max(1);
        let panels = fitting(rows).min(pack::panel_count(shape.m, rows)).max(1);
        let all = shape.n.div_ceil(width).max(1);
        let columns = if packed_b { all } else { fitting(width).min(all) } * width;
        Blocks { panels, columns, k }
    }

    /// The least blocks that there are.
    fn least(level: Level, shape: Shape, whole: bool, packed_b: bool) -> Blocks {
        let fast = Blocks::new(level, shape, whole, packed_b);
        let k = if whole { fast.k } else { fast.k.min(LEAST_K) };
        let columns = if packed_b { fast.columns } else { level.tile().1 };
        Blocks { panels: 1, columns, k }
    }

    /// The fastest blocks whose operands, where these are not packed, have room in so many elements; the least ones if
    /// none have. What is given up first are panels and columns, then `k`.
    pub(crate) fn within(
        level: Level,
        shape: Shape,
        whole: bool,
        packed: (bool, bool),
        room: usize,
    ) -> Blocks {
        let fast = Blocks::new(level, shape, whole, packed.1);
        if fast.elements(level, shape, packed) <= room {
            return fast;
        }
        let least = Blocks::least(level, shape, whole, packed.1);
        let mut k = fast.k;
        while k > least.k && (Blocks { k, ..least }).elements(level, shape, packed) > room {
            k = (k / 2).max(least.k);
        }
        let panels = if packed.0 { fast.panels } else { least.panels };
        let mut blocks = Blocks { panels, k, ..least };
        let (rows, width) = level.tile();
        if !packed.0 {
            let for_a = if packed.1 { room } else { room.saturating_sub(width * k).min(room / 2) };
            blocks.panels = (for_a / (rows * k).max(1)).clamp(1, fast.panels);
        }
        if !packed.1 {
            let left = room.saturating_sub(blocks.elements_of_a(level, shape, packed.0));
            blocks.columns = (left / (width * k).max(1)).clamp(1, fast.columns / width) * width;
        }
        blocks
    }

    /// Blocks of half the columns, or of half of `k` where there would be fewer columns than `least`; `None` for the
    /// least blocks.
    pub(crate) fn smaller(&self, level: Level, whole: bool, least: usize) -> Option<Blocks> {
        let columns = (self.columns / 2).next_multiple_of(level.tile().1);
        if columns < self.columns && columns >= least {
            return Some(Blocks { columns, ..*self });
        }
        let k = (self.k / 2).max(LEAST_K);
        (!whole && k < self.k).then_some(Blocks { k, ..*self })
    }

    fn elements_of_a(&self, level: Level, shape: Shape, packed: bool) -> usize {
        if packed { 0 } else { (self.panels * level.tile().0).min(shape.m) * self.k }
    }

    /// The elements that are packed into scratch.
    fn elements(&self, level: Level, shape: Shape, packed: (bool, bool)) -> usize {
        let b = if packed.1 { 0 } else { self.columns * self.k };
        self.elements_of_a(level, shape, packed.0) + b
    }
}

/// Elements of scratch that [`gemm`] is fastest with.
#[must_use]
pub fn gemm_scratch(level: Level, shape: Shape, packed_a: bool, packed_b: bool) -> usize {
    let need = |whole| {
        let blocks = Blocks::new(level, shape, whole, packed_b);
        blocks.elements(level, shape, (packed_a, packed_b))
    };
    need(false).max(need(true)) + LINE
}

/// The least elements of scratch that [`gemm`] runs with; `in_place` says whether the output may take over what is added
/// to the sums.
#[must_use]
pub fn gemm_least(
    level: Level,
    shape: Shape,
    packed_a: bool,
    packed_b: bool,
    in_place: bool,
) -> usize {
    let blocks = Blocks::least(level, shape, in_place, packed_b);
    blocks.elements(level, shape, (packed_a, packed_b)) + LINE
}

/// Elements of a line of the cache: scratch begins with one.
pub(crate) const LINE: usize = 16;

/// The scratch from its first line of the cache on.
pub(crate) fn aligned(scratch: &mut [f32]) -> &mut [f32] {
    let skip = scratch.as_ptr().align_offset(LINE * size_of::<f32>()).min(scratch.len());
    &mut scratch[skip..]
}

/// `C = epilogue(A · B)`; `c` has rows of `n` elements, `stride` apart. Blocks are as large as there is scratch for, from
/// [`gemm_least`] to [`gemm_scratch`]; the bits of the output do not depend on it. One row with a plain `B` whose rows are
/// contiguous needs none.
pub fn gemm(
    level: Level,
    product: &Product<'_>,
    c: &mut [f32],
    stride: usize,
    scratch: &mut [f32],
) {
    let Shape { m, n, k } = product.shape;
    if m == 0 || n == 0 {
        return;
    }
    assert!(c.len() >= (m - 1) * stride + n, "length of C");
    product.check(level);
    if let (1, Operand::Plain(a), Operand::Plain(b)) = (m, product.a, product.b)
        && b.column_stride == 1
    {
        let finish = Finish::new(&product.epilogue, (0, 0), 0);
        level.run(Row { a, b, k, c: &mut c[..n], finish });
        let row = Rows { count: 1, len: n, stride: n, first: 0, step: n };
        product.epilogue.finish(level, row, c);
        return;
    }
    let whole = product.epilogue.residual == Residual::InPlace;
    let packed = product.packed();
    let least = gemm_least(level, product.shape, packed.0, packed.1, whole);
    assert!(scratch.len() >= least, "{} elements of scratch, {least} are needed", scratch.len());
    let blocks = Blocks::within(level, product.shape, whole, packed, scratch.len() - LINE);
    let walk = Walk { level, product, blocks };
    let scratch = aligned(scratch);
    for column in (0..n).step_by(blocks.columns) {
        let columns = column..n.min(column + blocks.columns);
        let mut first = 0;
        while first < k || first == 0 {
            let end = k.min(first + blocks.k);
            walk.block_of_k(&columns, first..end, c, stride, scratch);
            first = end.max(1);
        }
    }
}

/// One product on its way through its blocks.
struct Walk<'a> {
    level: Level,
    product: &'a Product<'a>,
    blocks: Blocks,
}

impl Walk<'_> {
    /// Adds the products of a range of `k` to the columns `columns` of all rows.
    fn block_of_k(
        &self,
        columns: &Range<usize>,
        k: Range<usize>,
        c: &mut [f32],
        stride: usize,
        scratch: &mut [f32],
    ) {
        let Shape { m, k: depth, .. } = self.product.shape;
        let (for_b, for_a) = scratch.split_at_mut(self.scratch_of_b(&k));
        let b = self.panels_b(columns, &k, for_b);
        let count = pack::panel_count(m, self.level.tile().0);
        for panel in (0..count).step_by(self.blocks.panels) {
            let panels = panel..count.min(panel + self.blocks.panels);
            let rows = m * panels.start / count..m * panels.end / count;
            let (a, panels) = self.panels_a(panels, &rows, &k, for_a);
            // Rows count from the first one of the panels that there are.
            let first_row = if a.rows == m { 0 } else { rows.start };
            for strip in columns.clone().step_by(self.strip()) {
                let strip = strip..columns.end.min(strip + self.strip());
                let finish =
                    Finish::new(&self.product.epilogue, (first_row, first_row), strip.start);
                self.level.run(Block {
                    a,
                    panels: panels.clone(),
                    b: b.starting_at(strip.start - columns.start, self.level.tile().1),
                    far: if matches!(self.product.b, Operand::Packed(_)) { Far::B } else { Far::A },
                    rows: rows.start - first_row..rows.end - first_row,
                    c: &mut c[rows.start * stride + strip.start..],
                    stride,
                    columns: strip.len(),
                    first: k.start == 0,
                    finish: (k.end == depth).then_some(finish),
                });
                self.activate(&rows, &strip, k.end == depth, c, stride);
            }
        }
    }

    /// How many columns are multiplied before what is left of the epilogue is done: so few that they are still in the
    /// cache.
    fn strip(&self) -> usize {
        self.blocks.columns.min(STRIP)
    }

    fn scratch_of_b(&self, k: &Range<usize>) -> usize {
        match self.product.b {
            Operand::Packed(_) => 0,
            Operand::Plain(_) => self.blocks.columns * k.len(),
        }
    }

    fn panels_b<'a>(
        &'a self,
        columns: &Range<usize>,
        k: &Range<usize>,
        scratch: &'a mut [f32],
    ) -> PanelsB<'a> {
        let (_, width) = self.level.tile();
        let depth = self.product.shape.k;
        match self.product.b {
            Operand::Packed(data) => {
                let data = &data[columns.start * depth..];
                PanelsB { data, stride: width * depth, row: width, k: (k.start, k.end) }
            }
            Operand::Plain(b) => {
                let panels = scratch.chunks_exact_mut((width * k.len()).max(1));
                for (column, panel) in columns.clone().step_by(width).zip(panels) {
                    let part = column..columns.end.min(column + width);
                    pack::panel_b(self.level, b, k.clone(), part, width, panel);
                }
                PanelsB { data: scratch, stride: width * k.len(), row: width, k: (0, k.len()) }
            }
        }
    }

    /// The panels, and which of them are meant.
    fn panels_a<'a>(
        &'a self,
        panels: Range<usize>,
        rows: &Range<usize>,
        k: &Range<usize>,
        scratch: &'a mut [f32],
    ) -> (PanelsA<'a>, Range<usize>) {
        let Shape { m, k: depth, .. } = self.product.shape;
        let count = pack::panel_count(m, self.level.tile().0);
        match self.product.a {
            Operand::Packed(data) => {
                (PanelsA { data, rows: m, count, depth, k: (k.start, k.end) }, panels)
            }
            Operand::Plain(a) => {
                let count = panels.len();
                let mut at = 0;
                for panel in 0..count {
                    let part = rows.len() * panel / count..rows.len() * (panel + 1) / count;
                    let len = part.len() * k.len();
                    let part = rows.start + part.start..rows.start + part.end;
                    pack::panel_a(a, part, k.clone(), &mut scratch[at..at + len]);
                    at += len;
                }
                (
                    PanelsA {
                        data: scratch,
                        rows: rows.len(),
                        count,
                        depth: k.len(),
                        k: (0, k.len()),
                    },
                    0..count,
                )
            }
        }
    }

    /// What is left of the epilogue once a block is stored.
    fn activate(
        &self,
        rows: &Range<usize>,
        columns: &Range<usize>,
        is_last: bool,
        c: &mut [f32],
        stride: usize,
    ) {
        if !is_last {
            return;
        }
        let (n, Range { start, end }) = (self.product.shape.n, rows.clone());
        let first = start * n + columns.start;
        let rows = Rows { count: end - start, len: columns.len(), stride, first, step: n };
        let c = &mut c[start * stride + columns.start..];
        self.product.epilogue.finish(self.level, rows, c);
    }
}

impl<'a> Product<'a> {
    /// Whether some of its rows are a product of their own: `A` is not packed.
    #[must_use]
    pub fn can_split_rows(&self) -> bool {
        matches!(self.a, Operand::Plain(_))
    }

    /// These rows alone.
    #[must_use]
    pub fn of_rows(&self, rows: Range<usize>) -> Product<'a> {
        if rows.len() == self.shape.m {
            return *self;
        }
        let Operand::Plain(a) = self.a else { panic!("rows of a packed factor") };
        let a = Operand::Plain(Matrix { data: &a.data[rows.start * a.row_stride..], ..a });
        let (shape, n) = (Shape { m: rows.len(), ..self.shape }, self.shape.n);
        let mut epilogue = self.epilogue;
        if let Bias::Row(bias) = epilogue.bias {
            epilogue.bias = Bias::Row(&bias[rows.clone()]);
        }
        if let Residual::Rows { data, stride } = epilogue.residual {
            epilogue.residual = Residual::Rows { data: &data[rows.start * stride..], stride };
        }
        epilogue.then =
            epilogue.then.map(|then| Then { first: then.first + rows.start * n, ..then });
        Product { shape, a, epilogue, ..*self }
    }

    /// Whether some columns of its only row are a product of their own: rows of `B` are contiguous.
    #[must_use]
    pub fn can_split_columns(&self) -> bool {
        self.shape.m == 1 && matches!(self.b, Operand::Plain(b) if b.column_stride == 1)
    }

    /// These columns of its only row.
    #[must_use]
    pub fn of_columns(&self, columns: Range<usize>) -> Product<'a> {
        let Operand::Plain(b) = self.b else { panic!("columns of a packed factor") };
        let b = Operand::Plain(Matrix { data: &b.data[columns.start..], ..b });
        let mut epilogue = self.epilogue;
        if let Bias::Column(bias) = epilogue.bias {
            epilogue.bias = Bias::Column(&bias[columns.clone()]);
        }
        if let Residual::Rows { data, stride } = epilogue.residual {
            epilogue.residual = Residual::Rows { data: &data[columns.start..], stride };
        }
        let first = columns.start;
        epilogue.then = epilogue.then.map(|then| Then { first: then.first + first, ..then });
        Product { shape: Shape { n: columns.len(), ..self.shape }, b, epilogue, ..*self }
    }

    /// Which of the factors are packed.
    fn packed(&self) -> (bool, bool) {
        (matches!(self.a, Operand::Packed(_)), matches!(self.b, Operand::Packed(_)))
    }

    fn check(&self, level: Level) {
        let Shape { m, n, k } = self.shape;
        check_operand(self.a, m, k, packed_a_len(level, m, k));
        check_operand(self.b, k, n, packed_b_len(level, k, n));
    }
}

fn check_operand(operand: Operand<'_>, rows: usize, columns: usize, packed: usize) {
    match operand {
        Operand::Packed(data) => assert_eq!(data.len(), packed, "length of a packed operand"),
        Operand::Plain(matrix) if rows > 0 && columns > 0 => {
            let last = (rows - 1) * matrix.row_stride + (columns - 1) * matrix.column_stride;
            assert!(last < matrix.data.len(), "length of an operand");
        }
        Operand::Plain(_) => {}
    }
}
