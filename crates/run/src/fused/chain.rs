//! Chains of functions of elements, from the nodes of a fused step.
//!
//! Nodes become steps of a [`Chain`](plimsoll_kernels::chain::Chain) one after the other. What a node makes is in a
//! register until its last reader; what only has another shape is the same register. Numbers that do not change become
//! part of the steps, a static batch normalisation a factor and a summand of each channel:
//! `scale / √(variance + ε) · x + (bias - scale / √(variance + ε) · mean)`.

use std::collections::BTreeMap;

use plimsoll_graph::Dtype;
use plimsoll_kernels::binary::Binary as Pair;
use plimsoll_kernels::chain::{Access, Arg, MOST_OPERANDS, MOST_REGISTERS, Op, Step, To};
use plimsoll_kernels::reduce;
use plimsoll_kernels::unary::Unary as Function;
use plimsoll_kernels::{Broadcast, math};
use plimsoll_model::{
    BatchNorm, Binary, ModelNode, Operator, Reduction, TensorId, Unary, Variadic,
};

use super::On;
use super::spelled::shorten;
use crate::compiled::{Compiled, HELD, Source};
use crate::functions::real_function;
use crate::kernel::Lack;

/// Compiles nodes, in the order in which they run, of which the last makes the output. `sums` is what is in the output
/// before, if it is that of a product.
pub(crate) fn compile(
    on: &On<'_>,
    nodes: &[usize],
    sums: Option<TensorId>,
) -> Result<Compiled, Lack> {
    compile_rows(on, nodes, sums, None)
}

/// The same for functions of rows of so many elements.
pub(crate) fn compile_rows(
    on: &On<'_>,
    nodes: &[usize],
    sums: Option<TensorId>,
    row: Option<usize>,
) -> Result<Compiled, Lack> {
    let mut compiler = Compiler {
        on,
        made: BTreeMap::new(),
        uses: BTreeMap::new(),
        free: (0..MOST_REGISTERS).rev().filter(|register| *register != HELD).collect(),
        free_ones: (0..MOST_REGISTERS).rev().collect(),
        row,
        makes_one: false,
        result: Compiled { registers: 1, ..Compiled::default() },
    };
    if let Some(sums) = sums {
        let operand = compiler.operand(Source::Sums, Access::Aligned)?;
        compiler.made.insert(sums, operand);
    }
    for node in nodes {
        for input in on.node(*node).inputs.iter().flatten() {
            *compiler.uses.entry(*input).or_default() += 1;
        }
    }
    for node in nodes {
        compiler.node(on.node(*node))?;
    }
    compiler.finish(nodes)
}

struct Compiler<'a> {
    on: &'a On<'a>,
    /// Where what nodes make is.
    made: BTreeMap<TensorId, Arg>,
    /// How often tensors are still read.
    uses: BTreeMap<TensorId, usize>,
    /// Registers that hold nothing, and numbers of rows that are nothing.
    free: Vec<usize>,
    free_ones: Vec<usize>,
    /// How many elements a row has, if rows are gone over.
    row: Option<usize>,
    /// Whether the node that is compiled makes one number for each row.
    makes_one: bool,
    result: Compiled,
}

impl Compiler<'_> {
    fn node(&mut self, node: &ModelNode) -> Result<(), Lack> {
        let output = node.outputs.first().copied().flatten().ok_or("no result")?;
        if self.on.dtype(output)? != Dtype::F32 {
            return Err("no chain of elements but f32".to_owned());
        }
        let is_row = |row: usize| Ok::<_, Lack>(self.on.dims(output)?.last() == Some(&row));
        self.makes_one = !self.row.map_or(Ok(true), is_row)?;
        let made = self.function(node, output)?;
        for input in node.inputs.iter().flatten() {
            let left = self.uses.entry(*input).or_default();
            *left = left.saturating_sub(1);
            let is_dead = *left == 0;
            let held = self.made.get(input).copied();
            // What has another name is alive under that.
            if let (true, Some(held)) = (is_dead, held.filter(|held| *held != made)) {
                self.release(held);
            }
        }
        if matches!(made, Arg::Register(_) | Arg::One(_)) {
            self.made.retain(|_, arg| *arg != made);
        }
        self.made.insert(output, made);
        Ok(())
    }

    /// The steps of a node; where the result is.
    fn function(&mut self, node: &ModelNode, output: TensorId) -> Result<Arg, Lack> {
        match &node.operator {
            Operator::Unary(unary) => self.unary(node, output, *unary),
            Operator::Binary(binary) => self.binary(node, output, *binary),
            Operator::Variadic(variadic) => self.variadic(node, output, *variadic),
            Operator::Where => self.choice(node, output),
            Operator::Clip => {
                let x = self.arg(node, 0, output)?;
                let limit = |operand: usize| self.on.scalar(node, operand);
                let (least, most) = (limit(1)?, limit(2)?);
                self.clamp(x, least, most)
            }
            Operator::Reduce(reduce) if self.makes_one => {
                let x = self.arg(node, 0, node.inputs[0].unwrap_or(output))?;
                self.step(Op::Reduce(reduction(reduce.function)?), [x, x, x])
            }
            Operator::BatchNorm(norm) => self.batch_norm(node, output, *norm),
            Operator::Cast { .. }
            | Operator::CastLike(_)
            | Operator::Identity
            | Operator::Dropout { .. }
            | Operator::Reshape { .. }
            | Operator::Squeeze
            | Operator::Unsqueeze
            | Operator::Flatten { .. } => self.same(node, output),
            _ => Err(format!("no chain with {}", node.kind)),
        }
    }

    /// The same elements under another name.
    fn same(&mut self, node: &ModelNode, output: TensorId) -> Result<Arg, Lack> {
        let x = self.arg(node, 0, output)?;
        let input = node.inputs.first().copied().flatten();
        let last = input.is_some_and(|input| self.uses.get(&input) == Some(&1));
        match x {
            Arg::Register(_) | Arg::One(_) if last => Ok(x),
            _ => self.step(Op::Unary(Function::Identity), [x, x, x]),
        }
    }

    fn unary(&mut self, node: &ModelNode, output: TensorId, unary: Unary) -> Result<Arg, Lack> {
        let x = self.arg(node, 0, output)?;
        match unary {
            Unary::Clamp { least, most } => self.clamp(x, Some(least), Some(most)),
            Unary::Affine { alpha, beta } => {
                let scaled = self.pair(Pair::Mul, x, Arg::Number(alpha))?;
                self.then(Pair::Add, scaled, Arg::Number(beta))
            }
            Unary::ScaledTanh { .. } => Err("no chain with a scaled tanh".to_owned()),
            _ => self.step(Op::Unary(real_function(unary)?), [x, x, x]),
        }
    }

    fn binary(&mut self, node: &ModelNode, output: TensorId, binary: Binary) -> Result<Arg, Lack> {
        let (a, b) = (self.arg(node, 0, output)?, self.factor(node, 1, output)?);
        match binary {
            Binary::Add => self.pair(Pair::Add, a, b),
            Binary::Sub => self.pair(Pair::Sub, a, b),
            Binary::Mul => self.pair(Pair::Mul, a, b),
            Binary::Div => self.pair(Pair::Div, a, b),
            Binary::Prelu => self.pair(Pair::Prelu, a, b),
            Binary::Pow => self.step(Op::Power, [a, b, a]),
            Binary::AddGelu { tanh } => {
                let sum = self.pair(Pair::Add, a, b)?;
                let gelu = if tanh { Function::GeluTanh } else { Function::Gelu };
                let made = self.step(Op::Unary(gelu), [sum, sum, sum])?;
                self.release(sum);
                Ok(made)
            }
            _ => Err(format!("no chain with {}", node.kind)),
        }
    }

    fn variadic(
        &mut self,
        node: &ModelNode,
        output: TensorId,
        variadic: Variadic,
    ) -> Result<Arg, Lack> {
        let function = match variadic {
            Variadic::Max => Pair::Max,
            Variadic::Min => Pair::Min,
            Variadic::Mean if node.inputs.len() == 2 => Pair::Mean,
            Variadic::Sum | Variadic::Mean => Pair::Add,
        };
        if node.inputs.len() < 2 {
            return self.same(node, output);
        }
        let (a, b) = (self.arg(node, 0, output)?, self.arg(node, 1, output)?);
        let mut sum = self.pair(function, a, b)?;
        for operand in 2..node.inputs.len() {
            let next = self.arg(node, operand, output)?;
            sum = self.then(function, sum, next)?;
        }
        if variadic == Variadic::Mean && node.inputs.len() > 2 {
            sum = self.then(Pair::Div, sum, Arg::Number(node.inputs.len() as f32))?;
        }
        Ok(sum)
    }

    fn choice(&mut self, node: &ModelNode, output: TensorId) -> Result<Arg, Lack> {
        let condition = node.inputs.first().copied().flatten().ok_or("no condition")?;
        if self.made.contains_key(&condition) || self.on.dtype(condition)? != Dtype::Bool {
            return Err("no chain with a condition of its own".to_owned());
        }
        let dims = self.on.dims(condition)?;
        let shape = Broadcast::new(&self.on.dims(output)?, [&dims]);
        let condition = self.operand(Source::Tensor(condition), Access::Condition(shape))?;
        let (then, otherwise) = (self.arg(node, 1, output)?, self.arg(node, 2, output)?);
        self.step(Op::Select, [condition, then, otherwise])
    }

    fn clamp(&mut self, x: Arg, least: Option<f32>, most: Option<f32>) -> Result<Arg, Lack> {
        match (least, most) {
            (Some(least), most) => {
                let above = self.pair(Pair::Max, x, Arg::Number(least))?;
                match most {
                    Some(most) => self.then(Pair::Min, above, Arg::Number(most)),
                    None => Ok(above),
                }
            }
            (None, Some(most)) => self.pair(Pair::Min, x, Arg::Number(most)),
            (None, None) => self.step(Op::Unary(Function::Identity), [x, x, x]),
        }
    }

    fn batch_norm(
        &mut self,
        node: &ModelNode,
        output: TensorId,
        norm: BatchNorm,
    ) -> Result<Arg, Lack> {
        let x = self.arg(node, 0, output)?;
        let (factors, summands) = self.on.batch_norm(node, norm)?;
        let to = self.on.dims(output)?;
        let mut dims = vec![1; to.len()];
        *dims.get_mut(1).ok_or("no channels")? = factors.len();
        let mut channels = |numbers: Vec<f32>| {
            let shape = Broadcast::new(&to, [&dims]);
            let register = self.gathered();
            self.operand(Source::Numbers(numbers), Access::Broadcast(shape, register))
        };
        let (factors, summands) = (channels(factors)?, channels(summands)?);
        self.step(Op::Affine, [x, factors, summands])
    }

    fn pair(&mut self, function: Pair, a: Arg, b: Arg) -> Result<Arg, Lack> {
        self.step(Op::Binary(function), [a, b, a])
    }

    /// A function of what only it reads.
    fn then(&mut self, function: Pair, a: Arg, b: Arg) -> Result<Arg, Lack> {
        let made = self.pair(function, a, b)?;
        self.release(a);
        Ok(made)
    }

    fn release(&mut self, arg: Arg) {
        match arg {
            Arg::Register(register) => self.free.push(register),
            Arg::One(one) => self.free_ones.push(one),
            Arg::Operand(_) | Arg::Number(_) => {}
        }
    }

    fn step(&mut self, op: Op, args: [Arg; 3]) -> Result<Arg, Lack> {
        if self.makes_one {
            let to = self.free_ones.pop().ok_or("no chain that holds so much")?;
            self.result.steps.push(Step { op, args, to: To::One(to) });
            return Ok(Arg::One(to));
        }
        let to = self.register()?;
        self.result.steps.push(Step { op, args, to: To::Register(to) });
        Ok(Arg::Register(to))
    }

    fn register(&mut self) -> Result<usize, Lack> {
        let register = self.free.pop().ok_or("no chain that holds so much")?;
        self.result.registers = self.result.registers.max(register + 1);
        Ok(register)
    }

    /// A register for an operand that is gathered before the first step. They are counted apart, and come behind
    /// those of steps in the end.
    fn gathered(&mut self) -> usize {
        let is_broadcast = |access: &&Access| matches!(access, Access::Broadcast(..));
        self.result.accesses.iter().filter(is_broadcast).count()
    }

    /// An exponent, or any other second operand.
    fn factor(&mut self, node: &ModelNode, at: usize, output: TensorId) -> Result<Arg, Lack> {
        match self.on.scalar(node, at) {
            Ok(Some(number)) => Ok(Arg::Number(number)),
            _ => self.arg(node, at, output),
        }
    }

    /// An operand of a node whose result has the dims of `output`.
    fn arg(&mut self, node: &ModelNode, at: usize, output: TensorId) -> Result<Arg, Lack> {
        let id = node.inputs.get(at).copied().flatten().ok_or("an operand is absent")?;
        if let Some(made) = self.made.get(&id) {
            return Ok(*made);
        }
        if self.on.dtype(id)? != Dtype::F32 {
            return Err("no chain of elements but f32".to_owned());
        }
        if let Ok(Some(number)) = self.on.scalar(node, at) {
            return Ok(Arg::Number(number));
        }
        let (dims, to) = (self.on.dims(id)?, self.on.dims(output)?);
        if self.row.is_some_and(|row| to.last() != Some(&row)) {
            return Err("no chain that reads numbers of rows".to_owned());
        }
        if dims.iter().product::<usize>() == to.iter().product::<usize>() {
            return self.operand(Source::Tensor(id), Access::Aligned);
        }
        let source = Source::Tensor(id);
        let shape = Broadcast::new(&to, [&dims]);
        let same = |(known, access): (&Source, &Access)| {
            *known == source && matches!(access, Access::Broadcast(known, _) if *known == shape)
        };
        let known = self.result.sources.iter().zip(&self.result.accesses).position(same);
        if let Some(known) = known {
            return Ok(Arg::Operand(known));
        }
        let register = self.gathered();
        self.operand(source, Access::Broadcast(shape, register))
    }

    fn operand(&mut self, source: Source, access: Access) -> Result<Arg, Lack> {
        let Compiled { sources, accesses, .. } = &mut self.result;
        let same = |(known, how): (&Source, &Access)| *known == source && *how == access;
        if let Some(known) = sources.iter().zip(&*accesses).position(same) {
            return Ok(Arg::Operand(known));
        }
        if sources.len() == MOST_OPERANDS {
            return Err("no chain of so many operands".to_owned());
        }
        sources.push(source);
        accesses.push(access);
        Ok(Arg::Operand(sources.len() - 1))
    }

    /// The last step must make the output.
    fn finish(mut self, nodes: &[usize]) -> Result<Compiled, Lack> {
        let last = nodes.last().and_then(|last| self.on.node(*last).outputs.first().copied());
        let made = last.flatten().and_then(|output| self.made.get(&output).copied());
        let made = made.ok_or("a chain makes nothing")?;
        let is_last = self.result.steps.last().is_some_and(|step| match step.to {
            To::Register(at) => Arg::Register(at) == made,
            To::One(_) => false,
        });
        if !is_last {
            self.step(Op::Unary(Function::Identity), [made, made, made])?;
        }
        shorten(&mut self.result.steps);
        let (steps, gathered) = (self.result.registers, self.gathered());
        self.result.registers = steps + gathered;
        if self.result.registers > MOST_REGISTERS {
            return Err("no chain that holds so much".to_owned());
        }
        for access in &mut self.result.accesses {
            if let Access::Broadcast(_, register) = access {
                *register += steps;
            }
        }
        Ok(self.result)
    }
}

fn reduction(function: Reduction) -> Result<reduce::Reduction, Lack> {
    match function {
        Reduction::Max => Ok(reduce::Reduction::Max),
        Reduction::Min => Ok(reduce::Reduction::Min),
        Reduction::Sum => Ok(reduce::Reduction::Sum),
        Reduction::Mean => Ok(reduce::Reduction::Mean),
        Reduction::SumSquare => Ok(reduce::Reduction::SumSquare),
        Reduction::L1 => Ok(reduce::Reduction::L1),
        Reduction::Product | Reduction::L2 | Reduction::LogSum | Reduction::LogSumExp => {
            Err("no chain with such a reduction".to_owned())
        }
    }
}

/// `1 / √(variance + ε)` times scale for each channel, and what is added.
pub(crate) fn channel_numbers(
    [scale, bias, mean, variance]: [&[f32]; 4],
    epsilon: f32,
) -> (Vec<f32>, Vec<f32>) {
    let factor = |c: usize| scale[c] / math::sqrt(variance[c] + epsilon);
    let factors: Vec<f32> = (0..scale.len()).map(factor).collect();
    let summands = (0..scale.len()).map(|c| bias[c] - factors[c] * mean[c]).collect();
    (factors, summands)
}
