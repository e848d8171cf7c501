//! Attention: `softmax(scores(Q · K)) · V`, some rows of scores at a time.
//!
//! The matrix of scores is never whole in memory. For each batch (an element of the batch and a head) keys and values
//! are packed into scratch once; then [`ROWS`] rows of queries at a time become scores, go through what follows
//! these (a scale, a mask), become weights and then sums. Operands and output have any strides, so that heads that
//! lie within tokens are read and written where they are, and several heads can share keys and values: those
//! are packed again only if they are others than before.
//!
//! Products of so few rows that packing does not pay read keys and values as they are.
//!
//! Cost: the two products, the exponentials, and a pass over keys and values for each batch.

use crate::Level;
use crate::chain::Then;
use crate::epilogue::Epilogue;
use crate::gemm::{
    LINE, Matrix, Operand, Product, Shape, aligned, gemm, gemm_scratch, pack_b, packed_b_len,
};
use crate::softmax::{Softmax, softmax_in_place};

/// The most rows of scores at a time: whole tiles of a product at every level.
pub const ROWS: usize = 24;
/// From so many rows on, keys and values are packed.
const PACKED_FROM: usize = 8;

/// The dims of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    /// How many pairs of products there are.
    pub batches: usize,
    /// Rows of queries.
    pub rows: usize,
    /// How many keys there are, and values.
    pub keys: usize,
    /// Columns of queries.
    pub depth: usize,
    /// Columns of values.
    pub width: usize,
}

/// Where the matrix of each batch is in a tensor.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// How many there are along each axis of the batch, outermost first, and elements from one to the next.
    pub batch: &'a [(usize, usize)],
    /// The first element of the first matrix.
    pub offset: usize,
    /// Elements from one row to the next.
    pub row: usize,
    /// Elements from one column to the next.
    pub column: usize,
}

impl Place<'_> {
    /// The first element of a batch's matrix.
    fn of(&self, batch: usize) -> usize {
        let (mut rest, mut at) = (batch, self.offset);
        for (len, stride) in self.batch.iter().rev() {
            at += rest % len * stride;
            rest /= len;
        }
        at
    }

    fn matrix<'x>(&self, x: &'x [f32], batch: usize) -> Matrix<'x> {
        Matrix { data: &x[self.of(batch)..], row_stride: self.row, column_stride: self.column }
    }
}

/// What is read, and what is done on the way.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// Queries, `rows × depth`.
    pub q: (&'a [f32], Place<'a>),
    /// Keys, `depth × keys`.
    pub k: (&'a [f32], Place<'a>),
    /// Values, `keys × width`.
    pub v: (&'a [f32], Place<'a>),
    /// Factors of scores, and of sums.
    pub scale: (f32, f32),
    /// What is done to scores before the softmax.
    pub scores: Option<Then<'a>>,
    /// What is done to weights.
    pub weights: Option<Then<'a>>,
    /// What is done to sums.
    pub sums: Option<Then<'a>>,
}

impl Attention {
    fn is_packed(&self) -> bool {
        self.rows >= PACKED_FROM
    }

    fn block(&self) -> usize {
        self.rows.min(ROWS)
    }

    /// The product that makes so many rows of scores, and the one that makes sums of them.
    fn products(&self, rows: usize) -> [Shape; 2] {
        let Attention { keys, depth, width, .. } = *self;
        [Shape { m: rows, n: keys, k: depth }, Shape { m: rows, n: width, k: keys }]
    }

    /// Elements of packed keys and values.
    fn packed(&self, level: Level) -> [usize; 2] {
        let len = |Shape { n, k, .. }: Shape| packed_b_len(level, k, n).next_multiple_of(LINE);
        if self.is_packed() { self.products(1).map(len) } else { [0; 2] }
    }
}

/// Elements of scratch that [`attention`] needs.
#[must_use]
pub fn attention_scratch(level: Level, shape: &Attention) -> usize {
    let of = |rows: usize| {
        let [a, b] = shape.products(rows);
        let scratch = |shape_of| gemm_scratch(level, shape_of, false, shape.is_packed());
        scratch(a).max(scratch(b))
    };
    // The last block has fewer rows; a single one is reckoned in another way.
    let least = if shape.rows % ROWS == 1 { 1 } else { shape.block() };
    let [keys, values] = shape.packed(level);
    let scores = (shape.block() * shape.keys).next_multiple_of(LINE);
    LINE + keys + values + scores + of(shape.block()).max(of(least))
}

/// `y` has rows of `width` elements side by side.
pub fn attention(
    level: Level,
    shape: &Attention,
    operands: &Operands<'_>,
    (y, to): (&mut [f32], Place<'_>),
    scratch: &mut [f32],
) {
    assert!(scratch.len() >= attention_scratch(level, shape), "length of scratch");
    assert_eq!(to.column, 1, "rows of sums are side by side");
    let [keys, values] = shape.packed(level);
    let (for_keys, rest) = aligned(scratch).split_at_mut(keys);
    let (for_values, rest) = rest.split_at_mut(values);
    let scores = (shape.block() * shape.keys).next_multiple_of(LINE);
    let (scores, scratch) = rest.split_at_mut(scores);
    let mut packed = None;
    for batch in 0..shape.batches {
        let places = (operands.k.1.of(batch), operands.v.1.of(batch));
        if shape.is_packed() && packed != Some(places) {
            pack(level, shape, operands, batch, for_keys, for_values);
            packed = Some(places);
        }
        let mut part = Part { level, shape, operands, batch, keys: for_keys, values: for_values };
        part.run(y, to, scores, scratch);
    }
}

fn pack(
    level: Level,
    Attention { keys, depth, width, .. }: &Attention,
    operands: &Operands<'_>,
    batch: usize,
    for_keys: &mut [f32],
    for_values: &mut [f32],
) {
    let (k, v) =
        (operands.k.1.matrix(operands.k.0, batch), operands.v.1.matrix(operands.v.0, batch));
    let len = packed_b_len(level, *depth, *keys);
    pack_b(level, *depth, *keys, k, &mut for_keys[..len]);
    let len = packed_b_len(level, *keys, *width);
    pack_b(level, *keys, *width, v, &mut for_values[..len]);
}

/// One batch.
struct Part<'a> {
    level: Level,
    shape: &'a Attention,
    operands: &'a Operands<'a>,
    batch: usize,
    keys: &'a [f32],
    values: &'a [f32],
}

impl Part<'_> {
    fn run(&mut self, y: &mut [f32], to: Place<'_>, scores: &mut [f32], scratch: &mut [f32]) {
        let rows = self.shape.rows;
        for first in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - first);
            let scores = &mut scores[..count * self.shape.keys];
            self.scores(first, count, scores, scratch);
            let y = &mut y[to.of(self.batch) + first * to.row..];
            self.sums(first, count, scores, (y, to.row), scratch);
        }
    }

    /// What follows a product whose rows are some of all batches'.
    fn then<'t>(&self, then: Option<Then<'t>>, first: usize, columns: usize) -> Option<Then<'t>> {
        then.map(|then| then.from((self.batch * self.shape.rows + first) * columns))
    }

    /// Rows of scores, and then of weights.
    fn scores(&self, first: usize, count: usize, scores: &mut [f32], scratch: &mut [f32]) {
        let (shape, keys) = (self.shape.products(count)[0], self.shape.keys);
        let (q, at) = self.operands.q;
        let a =
            Matrix { data: &q[at.of(self.batch) + first * at.row..], ..at.matrix(q, self.batch) };
        let b = self.factor(self.keys, packed_b_len(self.level, shape.k, shape.n), self.operands.k);
        let then = self.then(self.operands.scores, first, keys);
        let epilogue = Epilogue { alpha: self.operands.scale.0, then, ..Epilogue::NONE };
        let product = Product { shape, a: Operand::Plain(a), b, epilogue };
        gemm(self.level, &product, scores, keys, scratch);
        softmax_in_place(self.level, Softmax::Softmax, scores, &[count, keys], 1);
        if let Some(then) = self.then(self.operands.weights, first, keys) {
            then.chain.run(self.level, then.operands, then.first, scores);
        }
    }

    fn sums(
        &self,
        first: usize,
        count: usize,
        weights: &[f32],
        (y, stride): (&mut [f32], usize),
        scratch: &mut [f32],
    ) {
        let shape = self.shape.products(count)[1];
        let b =
            self.factor(self.values, packed_b_len(self.level, shape.k, shape.n), self.operands.v);
        let then = self.then(self.operands.sums, first, self.shape.width);
        let epilogue = Epilogue { alpha: self.operands.scale.1, then, ..Epilogue::NONE };
        let a = Operand::Plain(Matrix::rows(weights, self.shape.keys));
        gemm(self.level, &Product { shape, a, b, epilogue }, y, stride, scratch);
    }

    /// A right factor: as it is packed, or as it is.
    fn factor<'x>(
        &self,
        packed: &'x [f32],
        len: usize,
        (plain, at): (&'x [f32], Place<'_>),
    ) -> Operand<'x> {
        if self.shape.is_packed() {
            Operand::Packed(&packed[..len])
        } else {
            Operand::Plain(at.matrix(plain, self.batch))
        }
    }
}
