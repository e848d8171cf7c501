//! Recurrent layers: RNN, GRU, LSTM, step by step.
//!
//! A step is two products, of the input and of the state with their weights, and what the cell makes of their sum,
//! row by row of the batch. Weights that do not change are transposed once. The state lives in scratch, so that
//! outputs that nobody wants take no memory.

use plimsoll_kernels::gemm::{self, Matrix, Operand, Product, Shape};
use plimsoll_kernels::{Epilogue, Level, Residual, unary};
use plimsoll_model::{Cell, Direction, Recurrence};

use crate::at::At;
use crate::functions::real_function;
use crate::io::Io;
use crate::kernel::{Built, Lack};

/// A layer that is set up.
struct Layer {
    level: Level,
    cell: Cell,
    /// For each direction, whether it goes from the end.
    reversed: Vec<bool>,
    /// The functions of each direction.
    functions: Vec<Vec<unary::Unary>>,
    clip: Option<f32>,
    times: usize,
    batch: usize,
    input: usize,
    hidden: usize,
    /// Weights of the input and of the state, transposed, one direction after the other, where they do not change.
    fixed: [Option<Vec<f32>>; 2],
}

/// `x, w, r, b?, lengths?, h?, c?, p?` to `y?, h?, c?`.
pub(super) fn recurrent(at: &At<'_>, layer: &Recurrence) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2, 3, 5, 6, 7])?;
    if layer.batch_first {
        return Err("no kernel for batches on the first axis".to_owned());
    }
    let (x, weights) = (at.dims(0)?, at.dims(2)?);
    let (&[times, batch, input], &[directions, rows, hidden]) = (&x[..], &weights[..]) else {
        return Err("operands of other than three dims".to_owned());
    };
    let count = layer.cell.activations().len();
    let functions: Result<Vec<_>, Lack> =
        layer.activations.iter().copied().map(real_function).collect();
    let functions: Vec<Vec<_>> = functions?.chunks(count).map(<[_]>::to_vec).collect();
    let reversed = match layer.direction {
        Direction::Forward => vec![false],
        Direction::Reverse => vec![true],
        Direction::Both => vec![false, true],
    };
    if functions.len() < directions || reversed.len() != directions {
        return Err(format!("{directions} directions, and functions for {}", functions.len()));
    }
    let transposed = |operand: usize, columns: usize| -> Result<Option<Vec<f32>>, Lack> {
        let constant = at.constant_f32(operand)?;
        Ok(constant.map(|weights| {
            let of = |weights: &[f32]| transpose(weights, rows, columns);
            weights.chunks_exact((rows * columns).max(1)).flat_map(of).collect()
        }))
    };
    let fixed = [transposed(1, input)?, transposed(2, hidden)?];
    let packed: usize = fixed.iter().flatten().map(Vec::len).sum();
    let level = at.level;
    let state = 2 * batch * rows + 3 * batch * hidden;
    let shape = |depth: usize| Shape { m: batch, n: rows, k: depth };
    let largest = |of: &dyn Fn(Shape) -> usize| of(shape(input)).max(of(shape(hidden)));
    // A single row is multiplied without scratch.
    let is_row = batch == 1 && fixed.iter().all(Option::is_some);
    let fast = largest(&|shape| gemm::gemm_scratch(level, shape, false, false));
    let least = largest(&|shape| gemm::gemm_least(level, shape, false, false, false));
    let [scratch, least] = [fast, least].map(|product| state + if is_row { 0 } else { product });
    let (cell, clip) = (layer.cell, layer.clip);
    let is_fixed = [fixed[0].is_some(), fixed[1].is_some()];
    let layer =
        Layer { level, cell, reversed, functions, clip, times, batch, input, hidden, fixed };
    let built = Built::one(8, 3, move |io| {
        layer.run(io);
        Ok(())
    });
    let built = built.with_scratch::<f32>(scratch).with_least::<f32>(least);
    let mut built = built.with_packed::<f32>(packed);
    for operand in [1, 2] {
        built = if is_fixed[operand - 1] { built.without_operand(operand) } else { built };
    }
    Ok(built)
}

fn transpose(weights: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let row = |column: usize| (0..rows).map(move |row| weights[row * columns + column]);
    (0..columns).flat_map(row).collect()
}

/// Weights as they are given, and as they were transposed once.
type Weights<'w> = (Option<&'w [f32]>, Option<&'w [f32]>);

/// What a run reads.
#[derive(Clone, Copy)]
struct Given<'m> {
    x: &'m [f32],
    w: Option<&'m [f32]>,
    r: Option<&'m [f32]>,
    bias: Option<&'m [f32]>,
    lengths: Option<&'m [i32]>,
    h: Option<&'m [f32]>,
    c: Option<&'m [f32]>,
    peepholes: Option<&'m [f32]>,
}

/// The state of one direction, and what a step makes it of.
struct State<'m> {
    /// Products with the input, and with the state.
    gates: &'m mut [f32],
    recurrent: &'m mut [f32],
    h: &'m mut [f32],
    c: &'m mut [f32],
    gated: &'m mut [f32],
    scratch: &'m mut [f32],
}

impl Layer {
    fn rows(&self) -> usize {
        let gates = match self.cell {
            Cell::Rnn => 1,
            Cell::Gru { .. } => 3,
            Cell::Lstm { .. } => 4,
        };
        gates * self.hidden
    }

    fn run(&self, io: &mut Io<'_>) {
        let given = Given {
            x: io.read(0),
            w: io.optional(1),
            r: io.optional(2),
            bias: io.optional(3),
            lengths: io.optional(4),
            h: io.optional(5),
            c: io.optional(6),
            peepholes: io.optional(7),
        };
        let (mut y, mut last_h, mut last_c) =
            (io.wanted::<f32>(0), io.wanted::<f32>(1), io.wanted::<f32>(2));
        let (rows, state) = (self.batch * self.rows(), self.batch * self.hidden);
        let (gates, rest) = io.scratch::<f32>().split_at_mut(rows);
        let (recurrent, rest) = rest.split_at_mut(rows);
        let (h, rest) = rest.split_at_mut(state);
        let (c, rest) = rest.split_at_mut(state);
        let (gated, scratch) = rest.split_at_mut(state);
        let mut now = State { gates, recurrent, h, c, gated, scratch };
        for direction in 0..self.reversed.len() {
            let first = |of: Option<&[f32]>, to: &mut [f32]| match of {
                Some(of) => to.copy_from_slice(&of[direction * state..(direction + 1) * state]),
                None => to.fill(0.0),
            };
            first(given.h, now.h);
            first(given.c, now.c);
            self.direction(direction, given, &mut now, y.as_deref_mut());
            for (last, of) in [(&mut last_h, &now.h), (&mut last_c, &now.c)] {
                if let Some(last) = last {
                    last[direction * state..(direction + 1) * state].copy_from_slice(of);
                }
            }
        }
    }

    fn direction(
        &self,
        direction: usize,
        given: Given<'_>,
        now: &mut State<'_>,
        mut y: Option<&mut [f32]>,
    ) {
        let (batch, hidden, rows) = (self.batch, self.hidden, self.rows());
        let directions = self.reversed.len();
        if let Some(y) = &mut y {
            let own = y.chunks_exact_mut((batch * hidden).max(1)).skip(direction);
            own.step_by(directions).for_each(|y| y.fill(0.0));
        }
        let length = |row: usize| {
            let length = given.lengths.map(|lengths| lengths[row].max(0) as usize);
            length.map_or(self.times, |length| length.min(self.times))
        };
        // Which element of the sequence a row of the batch is at.
        let time = |step: usize, row: usize| {
            let is_over = step >= length(row);
            let time =
                if self.reversed[direction] { length(row).wrapping_sub(1 + step) } else { step };
            (!is_over).then_some(time)
        };
        for step in 0..self.times {
            let w = (given.w, self.fixed[0].as_deref());
            for row in 0..batch {
                let Some(time) = time(step, row) else { continue };
                let alike = row > 0 && given.lengths.is_none();
                if alike {
                    continue;
                }
                // Without lengths all rows are at the same element: one product for all.
                let rows_at_once = if given.lengths.is_none() { batch } else { 1 };
                let x = &given.x[(time * batch + row) * self.input..][..rows_at_once * self.input];
                let gates = &mut now.gates[row * rows..(row + rows_at_once) * rows];
                self.product(x, self.input, (w, direction), gates, now.scratch);
            }
            let r = (given.r, self.fixed[1].as_deref());
            self.product(now.h, hidden, (r, direction), now.recurrent, now.scratch);
            for row in 0..batch {
                let Some(time) = time(step, row) else { continue };
                self.cell(direction, row, given, now);
                if let Some(y) = &mut y {
                    let at = ((time * directions + direction) * batch + row) * hidden;
                    y[at..at + hidden].copy_from_slice(&now.h[row * hidden..(row + 1) * hidden]);
                }
            }
        }
    }

    /// `y = x · weightsᵀ` of one direction.
    fn product(
        &self,
        x: &[f32],
        depth: usize,
        (weights, direction): (Weights<'_>, usize),
        y: &mut [f32],
        scratch: &mut [f32],
    ) {
        let (given, fixed) = weights;
        let (n, len) = (self.rows(), self.rows() * depth);
        let own = |weights: &'_ [f32]| direction * len..(direction * len + len).min(weights.len());
        let b = match (fixed, given) {
            (Some(fixed), _) => Matrix::rows(&fixed[own(fixed)], n),
            (None, Some(given)) => Matrix::columns(&given[own(given)], depth),
            (None, None) => return y.fill(0.0),
        };
        let shape = Shape { m: y.len() / n.max(1), n, k: depth };
        let (a, b) = (Operand::Plain(Matrix::rows(x, depth)), Operand::Plain(b));
        let epilogue = Epilogue { residual: Residual::None, ..Epilogue::NONE };
        gemm::gemm(self.level, &Product { shape, a, b, epilogue }, y, n, scratch);
    }

    /// The next state of one row of the batch.
    fn cell(&self, direction: usize, row: usize, given: Given<'_>, now: &mut State<'_>) {
        let (hidden, rows) = (self.hidden, self.rows());
        let bias = given.bias.map(|bias| &bias[direction * 2 * rows..(direction + 1) * 2 * rows]);
        let gates = &mut now.gates[row * rows..(row + 1) * rows];
        let recurrent = &mut now.recurrent[row * rows..(row + 1) * rows];
        let state = row * hidden..(row + 1) * hidden;
        let h = &mut now.h[state.clone()];
        if let Some(bias) = bias {
            gates.iter_mut().zip(&bias[..rows]).for_each(|(gate, bias)| *gate += bias);
            recurrent.iter_mut().zip(&bias[rows..]).for_each(|(gate, bias)| *gate += bias);
        }
        match self.cell {
            Cell::Rnn => {
                add(gates, recurrent);
                self.apply(direction, 0, gates);
                h.copy_from_slice(gates);
            }
            Cell::Gru { linear_before_reset } => {
                let (zr, candidate) = gates.split_at_mut(2 * hidden);
                add(zr, &recurrent[..2 * hidden]);
                self.apply(direction, 0, zr);
                let (z, r) = zr.split_at(hidden);
                if linear_before_reset {
                    let products = r.iter().zip(&recurrent[2 * hidden..]);
                    candidate.iter_mut().zip(products).for_each(|(gate, (r, of))| *gate += r * of);
                } else {
                    let gated = &mut now.gated[state];
                    gated.iter_mut().zip(r.iter().zip(&*h)).for_each(|(to, (r, h))| *to = r * h);
                    let last = &mut recurrent[2 * hidden..];
                    let weights = self.last_gate(direction, given);
                    let added = bias.map(|bias| &bias[rows + 2 * hidden..]);
                    for (column, last) in last.iter_mut().enumerate() {
                        let sum = gated.iter().enumerate();
                        let sum: f32 = sum.map(|(at, x)| x * weights.at(at, column)).sum();
                        *last = sum + added.map_or(0.0, |bias| bias[column]);
                    }
                    add(candidate, last);
                }
                self.apply(direction, 1, candidate);
                for ((h, z), candidate) in h.iter_mut().zip(z).zip(&*candidate) {
                    *h = (1.0 - z) * candidate + z * *h;
                }
            }
            Cell::Lstm { input_forget } => {
                add(gates, recurrent);
                let c = &mut now.c[state];
                let p = given
                    .peepholes
                    .map(|p| &p[direction * 3 * hidden..(direction + 1) * 3 * hidden]);
                let (i, rest) = gates.split_at_mut(hidden);
                let (o, rest) = rest.split_at_mut(hidden);
                let (f, candidate) = rest.split_at_mut(hidden);
                if let Some(p) = p {
                    add_products(i, &p[..hidden], c);
                    add_products(f, &p[2 * hidden..], c);
                }
                self.apply(direction, 0, i);
                self.apply(direction, 0, f);
                self.apply(direction, 1, candidate);
                if input_forget {
                    f.iter_mut().zip(&*i).for_each(|(f, i)| *f = 1.0 - i);
                }
                for (((c, f), i), candidate) in c.iter_mut().zip(&*f).zip(&*i).zip(&*candidate) {
                    *c = f * *c + i * candidate;
                }
                if let Some(p) = p {
                    add_products(o, &p[hidden..2 * hidden], c);
                }
                self.apply(direction, 0, o);
                h.copy_from_slice(c);
                unary::unary_in_place(self.level, self.functions[direction][2], h);
                h.iter_mut().zip(&*o).for_each(|(h, o)| *h *= o);
            }
        }
    }

    /// The weights of the state for the last gate, `hidden × hidden`.
    fn last_gate<'w>(&'w self, direction: usize, given: Given<'w>) -> Matrix<'w> {
        let (hidden, rows) = (self.hidden, self.rows());
        let first = direction * rows * hidden;
        match (&self.fixed[1], given.r) {
            (Some(fixed), _) => Matrix::rows(&fixed[first + 2 * hidden..], rows),
            (None, given) => {
                Matrix::columns(&given.unwrap_or_default()[first + 2 * hidden * hidden..], hidden)
            }
        }
    }

    /// A function of a gate, its operand cut off first.
    fn apply(&self, direction: usize, function: usize, gate: &mut [f32]) {
        if let Some(clip) = self.clip {
            for x in &mut *gate {
                *x = x.clamp(-clip, clip);
            }
        }
        unary::unary_in_place(self.level, self.functions[direction][function], gate);
    }
}

fn add(to: &mut [f32], of: &[f32]) {
    to.iter_mut().zip(of).for_each(|(to, of)| *to += of);
}

fn add_products(to: &mut [f32], a: &[f32], b: &[f32]) {
    to.iter_mut().zip(a.iter().zip(b)).for_each(|(to, (a, b))| *to += a * b);
}
