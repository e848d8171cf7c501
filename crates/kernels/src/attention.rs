//! Attention: every query looks at the keys, and takes the average of the values that they belong to.
//!
//! One row of scores at a time is in scratch, so that the memory does not grow with the number of queries. Scores are
//! `scale · q · k`, capped, then masked; what is masked counts for nothing. A query that sees no key at all gets zeros.

use crate::math;
use crate::places::{OutOfRange, place};
use crate::simd::{Level, wide};
use crate::softmax::softmax_row;

/// Where the rows of heads lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// `batch × heads × rows × size`.
    Apart,
    /// `batch × rows × heads · size`.
    Flat,
}

/// The shape of an attention.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Elements of the batch.
    pub batch: usize,
    /// Heads of queries.
    pub query_heads: usize,
    /// Heads of keys and values, each for as many heads of queries.
    pub key_heads: usize,
    /// Queries.
    pub queries: usize,
    /// Keys that come before the new ones.
    pub past: usize,
    /// New keys.
    pub keys: usize,
    /// Elements of a query and of a key.
    pub size: usize,
    /// Elements of a value.
    pub value_size: usize,
    /// How queries, keys, values and results lie; what is past lies apart.
    pub heads: Heads,
    /// What products are multiplied by.
    pub scale: f32,
    /// `softcap · tanh(score / softcap)`, if it is not 0.
    pub softcap: f32,
    /// Whether a query sees no keys behind its own place.
    pub is_causal: bool,
}

/// What is added to scores, broadcast to `batch × heads × queries × keys`; keys beyond it are masked.
#[derive(Clone, Copy, Debug)]
pub enum Mask<'a> {
    /// Nothing.
    None,
    /// Minus infinity where it is 0.
    Truths(&'a [u8], [usize; 4]),
    /// These numbers.
    Numbers(&'a [f32], [usize; 4]),
}

impl Mask<'_> {
    fn at(&self, place: [usize; 4]) -> f32 {
        let (Mask::Truths(_, dims) | Mask::Numbers(_, dims)) = self else { return 0.0 };
        if place[3] >= dims[3] && dims[3] != 1 {
            return f32::NEG_INFINITY;
        }
        let index =
            place.iter().zip(dims).fold(0, |index, (at, dim)| index * dim + (*at).min(dim - 1));
        match self {
            Mask::Truths(truths, _) if truths[index] == 0 => f32::NEG_INFINITY,
            Mask::Numbers(numbers, _) => numbers[index],
            _ => 0.0,
        }
    }
}

/// Which scores are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Products of queries and keys.
    Products,
    /// Capped.
    Capped,
    /// With the mask.
    Masked,
    /// What the softmax makes.
    Weights,
}

/// What attention reads.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// Queries.
    pub q: &'a [f32],
    /// New keys.
    pub k: &'a [f32],
    /// New values.
    pub v: &'a [f32],
    /// Keys and values that come before these, apart.
    pub past: Option<(&'a [f32], &'a [f32])>,
    /// What is added to scores.
    pub mask: Mask<'a>,
    /// How many keys there are for each element of the batch; the others are padding.
    pub lengths: Option<&'a [i64]>,
}

impl Attention {
    /// Elements of scratch.
    #[must_use]
    pub fn scratch(&self) -> usize {
        self.past + self.keys
    }

    /// Where a row of a head is.
    fn row(&self, heads: usize, rows: usize, size: usize, [b, h, row]: [usize; 3]) -> usize {
        match self.heads {
            Heads::Apart => ((b * heads + h) * rows + row) * size,
            Heads::Flat => ((b * rows + row) * heads + h) * size,
        }
    }

    /// A row of what is past, or of what is new.
    fn seen<'a>(
        &self,
        (past, new): (Option<&'a [f32]>, &'a [f32]),
        size: usize,
        [b, h, row]: [usize; 3],
    ) -> &'a [f32] {
        match (past, row.checked_sub(self.past)) {
            (_, Some(row)) => {
                &new[self.row(self.key_heads, self.keys, size, [b, h, row])..][..size]
            }
            (Some(past), None) => {
                &past[((b * self.key_heads + h) * self.past + row) * size..][..size]
            }
            (None, None) => &[],
        }
    }

    /// `y`, and the scores of a stage if they are wanted, `batch × heads × queries × keys`.
    pub fn run(
        &self,
        level: Level,
        operands: &Operands<'_>,
        y: &mut [f32],
        mut scores: Option<(Stage, &mut [f32])>,
        row: &mut [f32],
    ) {
        let total = self.past + self.keys;
        let row = &mut row[..total];
        for b in 0..self.batch {
            for h in 0..self.query_heads {
                for i in 0..self.queries {
                    let out = ((b * self.query_heads + h) * self.queries + i) * total;
                    let wanted =
                        scores.as_mut().map(|(stage, all)| (*stage, &mut all[out..][..total]));
                    let at = self.row(self.query_heads, self.queries, self.value_size, [b, h, i]);
                    let y = &mut y[at..][..self.value_size];
                    wide(
                        level,
                        #[inline(always)]
                        || self.query(operands, [b, h, i], y, wanted, row),
                    );
                }
            }
        }
    }

    /// One query of one head.
    #[inline(always)]
    fn query(
        &self,
        operands: &Operands<'_>,
        [b, h, i]: [usize; 3],
        y: &mut [f32],
        wanted: Option<(Stage, &mut [f32])>,
        row: &mut [f32],
    ) {
        let of = h / (self.query_heads / self.key_heads.max(1)).max(1);
        let q = self.row(self.query_heads, self.queries, self.size, [b, h, i]);
        let q = &operands.q[q..][..self.size];
        let keys = (operands.past.map(|past| past.0), operands.k);
        for (j, score) in row.iter_mut().enumerate() {
            *score = self.scale * dot(q, self.seen(keys, self.size, [b, of, j]));
        }
        let mut wanted = wanted;
        let mut hand_out = |at: Stage, row: &[f32]| match &mut wanted {
            Some((stage, scores)) if *stage == at => scores.copy_from_slice(row),
            _ => {}
        };
        hand_out(Stage::Products, row);
        if self.softcap != 0.0 {
            row.iter_mut().for_each(|s| *s = self.softcap * math::tanh(*s / self.softcap));
        }
        hand_out(Stage::Capped, row);
        let length = operands.lengths.map_or(i64::MAX, |lengths| lengths[b]);
        for (j, score) in row.iter_mut().enumerate() {
            let is_behind = self.is_causal && j > self.past + i;
            let is_hidden = is_behind || j as i64 >= length;
            *score += if is_hidden { f32::NEG_INFINITY } else { operands.mask.at([b, h, i, j]) };
        }
        hand_out(Stage::Masked, row);
        if row.iter().all(|score| *score == f32::NEG_INFINITY) {
            row.fill(0.0);
        } else {
            softmax_row(row);
        }
        hand_out(Stage::Weights, row);
        let values = (operands.past.map(|past| past.1), operands.v);
        y.fill(0.0);
        for (j, weight) in row.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let value = self.seen(values, self.value_size, [b, of, j]);
            y.iter_mut().zip(value).for_each(|(y, v)| *y += weight * v);
        }
    }

    /// Keys or values, what is past and what is new, `batch × heads × rows × size`.
    pub fn present(&self, past: Option<&[f32]>, new: &[f32], size: usize, y: &mut [f32]) {
        let total = self.past + self.keys;
        for (at, row) in y.chunks_exact_mut(size.max(1)).enumerate() {
            let (b, h) = (at / total / self.key_heads, at / total % self.key_heads);
            row.copy_from_slice(self.seen((past, new), size, [b, h, at % total]));
        }
    }
}

/// The shape of a rotary embedding: rows of heads of which the first `turned` elements are turned in pairs.
#[derive(Clone, Copy, Debug)]
pub struct Rotary {
    /// Elements of the batch.
    pub batch: usize,
    /// Heads.
    pub heads: usize,
    /// Rows of a head.
    pub rows: usize,
    /// Elements of a row.
    pub size: usize,
    /// How many of these are turned.
    pub turned: usize,
    /// How heads lie.
    pub layout: Heads,
    /// Whether pairs are neighbours, not halves apart.
    pub interleaved: bool,
}

/// Turns pairs of elements by angles, given as cosines and sines: one row of these for each position, or, without
/// positions, for each row of each element of the batch.
pub fn rotate(
    shape: &Rotary,
    x: &[f32],
    (cosines, sines): (&[f32], &[f32]),
    positions: Option<&[i64]>,
    y: &mut [f32],
) -> Result<(), OutOfRange> {
    let Rotary { batch, heads, rows, size, turned, layout, interleaved } = *shape;
    let half = turned / 2;
    y.copy_from_slice(x);
    for b in 0..batch {
        for row in 0..rows {
            let angles = cosines.len() / half.max(1);
            let place = match positions {
                None => b * rows + row,
                Some(positions) if positions.len() == 1 => {
                    place(positions[0] + row as i64, angles)?
                }
                Some(positions) => place(positions[b * rows + row], angles)?,
            };
            let (cosines, sines) =
                (&cosines[place * half..][..half], &sines[place * half..][..half]);
            for h in 0..heads {
                let at = match layout {
                    Heads::Apart => (b * heads + h) * rows + row,
                    Heads::Flat => (b * rows + row) * heads + h,
                };
                let y = &mut y[at * size..][..turned];
                for (pair, (cosine, sine)) in cosines.iter().zip(sines).enumerate() {
                    let (p, q) =
                        if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, half + pair) };
                    (y[p], y[q]) = (cosine * y[p] - sine * y[q], sine * y[p] + cosine * y[q]);
                }
            }
        }
    }
    Ok(())
}

/// The sum of products, in a fixed order.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0f32; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}
