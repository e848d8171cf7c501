//! Several functions of elements as one pass: each block of the output goes through all of them before the next.
//!
//! A [`Chain`] is a list of [`Step`]s on registers, each of which holds a [`BLOCK`] of elements; the last step writes
//! the output. What lies between the functions is never a tensor: it stays on the stack, in the first cache. An
//! operand has an element for each of the output, at the same place, or is broadcast ([`Access`]). Where the output
//! has taken over an operand, the block is copied before it is overwritten, so that any operand with an
//! element for each of the output may be in its place.
//!
//! Every function is the one that [`unary`] and [`binary`] apply to a whole tensor: a chain computes the
//! same bits as these one after the other, whatever the blocks. Cost: a call for each step and block, about a tenth of
//! what the step takes.

use crate::binary::{self, Binary, Loop};
use crate::broadcast::Broadcast;
use crate::pow;
use crate::reduce::{Reduce, Reduction, reduce};
use crate::simd::{Level, wide};
use crate::unary::{self, Unary};

/// How many elements a register holds.
pub const BLOCK: usize = 512;
/// The least elements that are a block of their own where a broadcast operand changes behind them.
const LEAST_CUT: usize = 32;
/// The most registers of a chain.
pub const MOST_REGISTERS: usize = 16;
/// The most operands of a chain.
pub const MOST_OPERANDS: usize = 16;

/// A function of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Of one.
    Unary(Unary),
    /// Of two.
    Binary(Binary),
    /// The first times the second, plus the third.
    Affine,
    /// The first to the power of the second.
    Power,
    /// The second where the first, which is an operand of bytes, is not 0, else the third.
    Select,
    /// One number of all elements of a row: only where rows are gone over ([`rows`](crate::rows)).
    Reduce(Reduction),
}

/// What a function is applied to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// What a step has left in a register.
    Register(usize),
    /// An operand of the chain.
    Operand(usize),
    /// The same number everywhere.
    Number(f32),
    /// What a step has left as one number for a row.
    One(usize),
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A register.
    Register(usize),
    /// One number for a row.
    One(usize),
}

/// One function of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The function.
    pub op: Op,
    /// What it is applied to; those that the function does not have are ignored.
    pub args: [Arg; 3],
    /// Where the result goes: no register that the step reads. That of the last step is the output instead.
    pub to: To,
}

/// Which element of an operand belongs to an element of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// The one at the same place.
    Aligned,
    /// It is broadcast; a block of it that is no run of its elements is gathered into a register of its own.
    Broadcast(Broadcast<1>, usize),
    /// The same, of bytes that are a condition.
    Condition(Broadcast<1>),
}

/// Functions of elements, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain<'a> {
    /// The functions, at least one.
    pub steps: &'a [Step],
    /// How each operand is read.
    pub accesses: &'a [Access],
    /// How many registers there are.
    pub registers: usize,
    /// The register for what is in the output before, if that is an operand.
    pub held: usize,
}

/// The elements of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data<'a> {
    /// As they are.
    Floats(&'a [f32]),
    /// Conditions.
    Bytes(&'a [u8]),
    /// What is in the output before.
    InPlace,
}

/// A chain with its operands: what is done to the sums of a product once they are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Then<'a> {
    /// The functions.
    pub chain: Chain<'a>,
    /// Their operands; what is in place is the sums.
    pub operands: &'a [Data<'a>],
    /// Which element of all of the output the product's first one is: 0 if it is the only product.
    pub first: usize,
}

/// Rows of an output that a chain goes over.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// How many there are.
    pub count: usize,
    /// The elements of each.
    pub len: usize,
    /// Elements from one to the next where they are stored.
    pub stride: usize,
    /// Which element of the product's output the first one is.
    pub first: usize,
    /// How many elements of the output the next row is further on.
    pub step: usize,
}

impl Then<'_> {
    /// The same for a product whose output begins so many elements further on.
    #[must_use]
    pub fn from(self, elements: usize) -> Self {
        Then { first: self.first + elements, ..self }
    }

    /// Applies the chain to rows of the output.
    pub fn rows(&self, level: Level, rows: Rows, y: &mut [f32]) {
        let first = self.first + rows.first;
        self.chain.rows(level, self.operands, Rows { first, ..rows }, y);
    }
}

/// An operand, for one block.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Run(&'a [f32]),
    One(f32),
    Register(usize),
    Condition(&'a [u8], &'a Broadcast<1>),
}

impl Chain<'_> {
    /// Elements of the output from element `first` on into `y`.
    ///
    /// # Panics
    /// If an operand is too short, or a step names a register or an operand that is not there.
    pub fn run(&self, level: Level, operands: &[Data<'_>], first: usize, y: &mut [f32]) {
        let len = y.len();
        let rows = Rows { count: 1, len, stride: len, first, step: len };
        self.rows(level, operands, rows, y);
    }

    /// The same for rows of the output.
    fn rows(&self, level: Level, operands: &[Data<'_>], rows: Rows, y: &mut [f32]) {
        match self.registers {
            0..=2 => self.blocks::<2>(level, operands, rows, y),
            3..=4 => self.blocks::<4>(level, operands, rows, y),
            5..=8 => self.blocks::<8>(level, operands, rows, y),
            _ => self.blocks::<MOST_REGISTERS>(level, operands, rows, y),
        }
    }

    fn blocks<const R: usize>(
        &self,
        level: Level,
        operands: &[Data<'_>],
        rows: Rows,
        y: &mut [f32],
    ) {
        assert_eq!(operands.len(), self.accesses.len(), "operands of a chain");
        let Rows { mut count, mut len, stride, first, step } = rows;
        if len == 0 {
            return;
        }
        // Rows that follow each other are one.
        if stride == len && step == len {
            (len, count) = (count * len, 1);
        }
        let mut registers = [[0.0; BLOCK]; R];
        let cut = self.cut();
        for row in 0..count {
            let (mut first, mut rest) = (first + row * step, &mut y[row * stride..][..len]);
            while !rest.is_empty() {
                let most = cut.map_or(BLOCK, |cut| BLOCK.min(cut - first % cut));
                let (now, behind) = rest.split_at_mut(most.min(rest.len()));
                self.block(level, operands, first, &mut registers, now);
                (first, rest) = (first + now.len(), behind);
            }
        }
    }

    /// After how many elements a broadcast operand has another number, if these are enough for a block of their own: then
    /// it is one number for each block, and nothing is gathered.
    fn cut(&self) -> Option<usize> {
        let row = |access: &Access| match access {
            Access::Broadcast(shape, _) if !shape.is_run(0) => Some(shape.row()),
            Access::Aligned | Access::Broadcast(..) | Access::Condition(_) => None,
        };
        self.accesses.iter().filter_map(row).min().filter(|row| *row >= LEAST_CUT)
    }

    fn block<const R: usize>(
        &self,
        level: Level,
        operands: &[Data<'_>],
        first: usize,
        registers: &mut [[f32; BLOCK]; R],
        y: &mut [f32],
    ) {
        let len = y.len();
        if operands.iter().any(|operand| matches!(operand, Data::InPlace)) {
            registers[self.held][..len].copy_from_slice(y);
        }
        let mut found = [Found::One(0.0); MOST_OPERANDS];
        for (found, (operand, access)) in found.iter_mut().zip(operands.iter().zip(self.accesses)) {
            *found = match (*operand, access) {
                (Data::InPlace, _) => Found::Register(self.held),
                (Data::Floats(data), Access::Aligned) => Found::Run(&data[first..first + len]),
                (Data::Floats(data), Access::Broadcast(shape, register)) => {
                    gathered(shape, data, first, *register, &mut registers[*register][..len])
                }
                (Data::Bytes(data), Access::Condition(shape)) => Found::Condition(data, shape),
                _ => panic!("an operand that is not what the chain takes"),
            };
        }
        let Some((last, steps)) = self.steps.split_last() else { return };
        for step in steps {
            let To::Register(at) = step.to else { panic!("a chain has no rows") };
            let (before, rest) = registers.split_at_mut(at);
            let Some((to, behind)) = rest.split_first_mut() else { panic!("no such register") };
            let register = |of: usize| {
                if of < at { &before[of][..len] } else { &behind[of - at - 1][..len] }
            };
            apply(level, step, first, (&found, &[]), register, &mut to[..len]);
        }
        apply(level, last, first, (&found, &[]), |at| &registers[at][..len], y);
    }
}

/// The elements of a broadcast operand that belong to a block: a run of them, one, or gathered.
pub(crate) fn gathered<'a>(
    shape: &Broadcast<1>,
    data: &'a [f32],
    first: usize,
    register: usize,
    block: &mut [f32],
) -> Found<'a> {
    let row = shape.row();
    if first % row + block.len() <= row {
        let place = shape.place(first);
        return if shape.is_run(0) {
            Found::Run(&data[place..place + block.len()])
        } else {
            Found::One(data[place])
        };
    }
    gather(shape, data, first, block);
    Found::Register(register)
}

/// The elements that belong to a block, one after the other.
fn gather<T: Copy>(shape: &Broadcast<1>, data: &[T], first: usize, block: &mut [T]) {
    let mut rows = shape.rows_from(first);
    let mut rest = block;
    while !rest.is_empty() {
        let (place, left) = rows.next_row();
        let len = left.min(rest.len());
        let (to, behind) = rest.split_at_mut(len);
        if shape.is_run(0) {
            to.copy_from_slice(&data[place..place + len]);
        } else {
            to.fill(data[place]);
        }
        rest = behind;
    }
}

/// Runs one step, with what operands are and the numbers of the row.
pub(crate) fn apply<'r>(
    level: Level,
    step: &Step,
    first: usize,
    (found, ones): (&[Found<'r>; MOST_OPERANDS], &[f32]),
    register: impl Fn(usize) -> &'r [f32],
    y: &mut [f32],
) {
    let arg = |at: usize| match step.args[at] {
        Arg::Number(x) => Side::One(x),
        Arg::One(at) => Side::One(ones[at]),
        Arg::Register(at) => Side::Run(register(at)),
        Arg::Operand(at) => match found[at] {
            Found::Run(run) => Side::Run(run),
            Found::One(x) => Side::One(x),
            Found::Register(at) => Side::Run(register(at)),
            Found::Condition(..) => panic!("a condition where a number is needed"),
        },
    };
    match step.op {
        Op::Unary(function) => match arg(0) {
            Side::Run(x) => unary::unary(level, function, x, y),
            Side::One(x) => {
                y.fill(x);
                unary::unary_in_place(level, function, y);
            }
        },
        Op::Binary(function) => {
            let pair = Pair { a: arg(0), b: arg(1), y };
            wide(
                level,
                #[inline(always)]
                || binary::with(function, pair),
            );
        }
        Op::Affine => wide(level, || affine(arg(0), arg(1), arg(2), y)),
        Op::Power => power(level, arg(0), arg(1), y),
        Op::Select => {
            let Arg::Operand(at) = step.args[0] else { panic!("a condition is an operand") };
            let Found::Condition(data, shape) = found[at] else { panic!("a condition is bytes") };
            let (then, otherwise) = (arg(1), arg(2));
            let mut condition = [0; BLOCK];
            for (at, y) in y.chunks_mut(BLOCK).enumerate() {
                let at = at * BLOCK;
                let condition = &mut condition[..y.len()];
                gather(shape, data, first + at, condition);
                select(condition, then.from(at), otherwise.from(at), y);
            }
        }
        Op::Reduce(reduction) => match arg(0) {
            Side::Run(x) => {
                reduce(level, reduction, &Reduce::new(&[x.len()], |_| true), x, &mut y[..1]);
            }
            Side::One(_) => panic!("a row of one number"),
        },
    }
}

/// Elements of a block, or one for all of it.
#[derive(Clone, Copy)]
enum Side<'a> {
    Run(&'a [f32]),
    One(f32),
}

impl Side<'_> {
    /// The same from an element on.
    fn from(self, at: usize) -> Self {
        match self {
            Side::Run(run) => Side::Run(&run[at..]),
            Side::One(x) => Side::One(x),
        }
    }

    fn at(&self, at: usize) -> f32 {
        match self {
            Side::Run(run) => run[at],
            Side::One(x) => *x,
        }
    }
}

struct Pair<'a> {
    a: Side<'a>,
    b: Side<'a>,
    y: &'a mut [f32],
}

impl Loop<f32, f32, f32> for Pair<'_> {
    #[inline(always)]
    fn run(self, function: impl Fn(f32, f32) -> f32) {
        match (self.a, self.b) {
            (Side::Run(a), Side::Run(b)) => {
                for (y, (a, b)) in self.y.iter_mut().zip(a.iter().zip(b)) {
                    *y = function(*a, *b);
                }
            }
            (Side::Run(a), Side::One(b)) => {
                self.y.iter_mut().zip(a).for_each(
                    #[inline(always)]
                    |(y, a)| *y = function(*a, b),
                );
            }
            (Side::One(a), Side::Run(b)) => {
                self.y.iter_mut().zip(b).for_each(
                    #[inline(always)]
                    |(y, b)| *y = function(a, *b),
                );
            }
            (Side::One(a), Side::One(b)) => self.y.fill(function(a, b)),
        }
    }
}

#[inline(always)]
fn affine(x: Side<'_>, factor: Side<'_>, summand: Side<'_>, y: &mut [f32]) {
    match (x, factor, summand) {
        (Side::Run(x), Side::One(factor), Side::One(summand)) => {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = x * factor + summand);
        }
        (Side::Run(x), Side::Run(factors), Side::Run(summands)) => {
            let numbers = factors.iter().zip(summands);
            for (y, (x, (factor, summand))) in y.iter_mut().zip(x.iter().zip(numbers)) {
                *y = x * factor + summand;
            }
        }
        (x, factor, summand) => {
            for (at, y) in y.iter_mut().enumerate() {
                *y = x.at(at) * factor.at(at) + summand.at(at);
            }
        }
    }
}

fn power(level: Level, base: Side<'_>, exponent: Side<'_>, y: &mut [f32]) {
    let len = y.len();
    let dims = |side: &Side<'_>| [if matches!(side, Side::Run(_)) { len } else { 1 }];
    let shape = Broadcast::new(&[len], [&dims(&base), &dims(&exponent)]);
    let (one_base, one_exponent) = ([base.at(0)], [exponent.at(0)]);
    let slice = |side, one| if let Side::Run(run) = side { run } else { one };
    pow::pow(level, &shape, (slice(base, &one_base[..]), slice(exponent, &one_exponent[..])), y);
}

fn select(condition: &[u8], then: Side<'_>, otherwise: Side<'_>, y: &mut [f32]) {
    for (at, (y, condition)) in y.iter_mut().zip(condition).enumerate() {
        *y = if *condition == 0 { otherwise.at(at) } else { then.at(at) };
    }
}
