//! Products and convolutions with what follows them, and what convolutions read that is made again ([`Before`]).
//!
//! What follows the sums is taken off one node after the other:
//!
//! 1. *Folded* into weights that do not change: a static batch normalisation, factors and summands of channels.
//!    `s · (W x + b) + t = (s W) x + (s b + t)`.
//! 2. *Added* to the sums as the kernel stores them: one residual, whose bytes the output may take over.
//! 3. *Applied* by the kernel: an activation that it knows.
//! 4. Whatever is left is a chain on rows of outputs that are stored and still near. It reads no operand
//!    whose bytes the output has, so that only the residual may be overwritten.

use plimsoll_graph::Dtype;
use plimsoll_kernels::Activation;
use plimsoll_model::{
    Binary, FusedAccesses, FusedStep, Fusing, Gemm, ModelNode, Operator, TensorId, Unary, Variadic,
};

use super::chain::compile;
use super::{On, Prepared, places};
use crate::at::At;
use crate::compiled::Compiled;
use crate::kernel::{Built, Lack};
use crate::ops;
use crate::planes::Before;
use crate::tail::{Follows, SLOT_RESIDUAL, Tail};

/// Which kernel a product is.
#[derive(Clone, Copy)]
enum Core {
    Conv,
    MatMul,
    Gemm(Gemm),
}

/// A product while what follows it is taken off.
struct Peeled<'a, 'f> {
    on: On<'a>,
    fusing: &'f Fusing<'f>,
    step: &'f FusedStep,
    core: Core,
    at: At<'a>,
    /// What the kernel makes so far.
    made: TensorId,
    tail: Tail,
    residual: Option<TensorId>,
    /// Whether something is done to the sums that cannot be folded any more.
    is_added: bool,
}

pub(super) fn prepared<'a>(
    on: On<'a>,
    fusing: &Fusing<'_>,
    step: &FusedStep,
    may: &FusedAccesses,
    core: usize,
) -> Result<Prepared<'a>, Lack> {
    let nodes = &step.nodes;
    let place = nodes.iter().position(|node| *node == core).ok_or("no product")?;
    let (at, kind) = (on.at(core), core_of(on.node(core))?);
    let before = before(on, fusing, (kind, core), &nodes[..place])?;
    let made = on.node(core).outputs.first().copied().flatten().ok_or("no result")?;
    let mut peeled = Peeled {
        on,
        fusing,
        step,
        core: kind,
        at,
        made,
        tail: Tail::default(),
        residual: None,
        is_added: false,
    };
    let mut rest = &nodes[place + 1..];
    while let [node, behind @ ..] = rest
        && peeled.takes(*node)?
    {
        rest = behind;
    }
    let Peeled { made, mut tail, residual, .. } = peeled;
    if !rest.is_empty() {
        tail.chain = Some(compile(&on, rest, Some(made))?);
    }
    let own = on.node(core).inputs.clone();
    let again = |id: TensorId| {
        own.contains(&Some(id))
            || tail.chain.as_ref().is_some_and(|c| c.tensors().any(|t| t == id))
            || before.as_ref().is_some_and(|before| before.tensors().contains(&id))
    };
    let overwritten = residual.filter(|id| may.overwrites.contains(id) && !again(*id));
    let slots = Slots::new(&own, residual, tail.chain.as_ref(), before.as_ref(), &may.inputs)?;
    let is_made = before.is_some();
    let scratch = least(&at, on.node(core), overwritten.is_some(), is_made)? * size_of::<f32>();
    let build = move || built(&at, before, tail, &slots);
    Ok(Prepared {
        overwrites: overwritten.into_iter().collect(),
        scratch_bytes: scratch,
        build: Box::new(build),
    })
}

/// What the nodes before a convolution make, which it reads.
fn before(
    on: On<'_>,
    fusing: &Fusing<'_>,
    (kind, core): (Core, usize),
    nodes: &[usize],
) -> Result<Option<Before>, Lack> {
    if nodes.is_empty() {
        return Ok(None);
    }
    match (kind, on.node(core).inputs.first().copied().flatten()) {
        (Core::Conv, Some(input)) => super::before::before(on, fusing, nodes, input).map(Some),
        _ => Err("no product that computes again what it reads".to_owned()),
    }
}

fn core_of(node: &ModelNode) -> Result<Core, Lack> {
    match &node.operator {
        Operator::Conv(_) => Ok(Core::Conv),
        Operator::MatMul => Ok(Core::MatMul),
        Operator::Gemm(gemm) => Ok(Core::Gemm(*gemm)),
        _ => Err(format!("no kernel of {} with what follows", node.kind)),
    }
}

/// The elements of scratch that a product needs at least; `in_place` says whether it may overwrite what it adds.
fn least(at: &At<'_>, node: &ModelNode, in_place: bool, made: bool) -> Result<usize, Lack> {
    match &node.operator {
        Operator::Conv(conv) => ops::conv_least(at, conv, in_place, made),
        Operator::MatMul => ops::matmul_least(at, in_place),
        Operator::Gemm(gemm) => ops::gemm_least(at, *gemm, in_place),
        _ => Err("no kernel".to_owned()),
    }
}

/// Where the operands of a call are among what the step reads.
struct Slots {
    own: Vec<Option<usize>>,
    residual: Option<usize>,
    chain: Vec<Option<usize>>,
    before: Vec<Option<usize>>,
}

impl Slots {
    fn new(
        own: &[Option<TensorId>],
        residual: Option<TensorId>,
        chain: Option<&Compiled>,
        before: Option<&Before>,
        inputs: &[TensorId],
    ) -> Result<Self, Lack> {
        let place = |id: TensorId| inputs.iter().position(|input| *input == id);
        let chain = chain.map(|compiled| places(compiled.tensors(), inputs)).transpose()?;
        let before = before.map(|before| places(before.tensors().iter().copied(), inputs));
        Ok(Slots {
            before: before.transpose()?.unwrap_or_default(),
            own: own.iter().map(|id| id.and_then(place)).collect(),
            residual: residual.and_then(place),
            chain: chain.unwrap_or_default(),
        })
    }
}

fn built(at: &At<'_>, before: Option<Before>, tail: Tail, slots: &Slots) -> Result<Built, Lack> {
    let numbers = tail.number_count() + before.as_ref().map_or(0, Before::number_count);
    let numbers = numbers * size_of::<f32>();
    let mut built = match &at.node.operator {
        Operator::Conv(conv) => ops::conv(at, conv, before, tail)?,
        Operator::MatMul => ops::matmul(at, tail)?,
        Operator::Gemm(gemm) => ops::gemm(at, *gemm, tail)?,
        _ => return Err("no kernel".to_owned()),
    };
    built.packed_bytes += numbers;
    for call in &mut built.calls {
        let own = |read: &Option<usize>| slots.own.get((*read)?).copied().flatten();
        let mut reads: Vec<Option<usize>> = call.reads.iter().map(own).collect();
        reads.resize(SLOT_RESIDUAL, None);
        reads.push(slots.residual);
        reads.extend(&slots.chain);
        reads.extend(&slots.before);
        call.reads = reads;
    }
    Ok(built)
}

impl Peeled<'_, '_> {
    /// Takes a node off, if it is the only one that reads what is made so far and the kernel can do it.
    fn takes(&mut self, node: usize) -> Result<bool, Lack> {
        let inside = |reader: &&usize| self.step.nodes.contains(reader);
        let readers = self.fusing.wiring.readers(self.made).iter().filter(inside).count();
        let node = self.on.node(node);
        let Some(made) = node.outputs.first().copied().flatten() else { return Ok(false) };
        let is_plain = self.tail.follows.activation == Activation::None;
        if readers != 1 || !is_plain || self.on.dtype(made)? != Dtype::F32 {
            return Ok(false);
        }
        let other = self.other(node);
        let is_taken = match &node.operator {
            Operator::BatchNorm(norm) if self.is_first(node) => {
                let numbers = self.on.batch_norm(node, *norm);
                numbers.is_ok_and(|(scale, shift)| self.fold(&scale, &shift))
            }
            Operator::Binary(Binary::Add) | Operator::Variadic(Variadic::Sum) => {
                other.is_some_and(|other| self.fold_summand(other, 1.0) || self.add(other))
            }
            Operator::Binary(Binary::Sub) if self.is_first(node) => {
                other.is_some_and(|other| self.fold_summand(other, -1.0))
            }
            Operator::Binary(Binary::Mul) => {
                other.is_some_and(|other| self.fold_factor(other, |x| x))
            }
            Operator::Binary(Binary::Div) if self.is_first(node) => {
                other.is_some_and(|other| self.fold_factor(other, |x| 1.0 / x))
            }
            Operator::Unary(unary) if self.is_first(node) => self.activate(Follows::within(*unary)),
            Operator::Clip if self.is_first(node) => {
                let limits = (self.on.scalar(node, 1), self.on.scalar(node, 2));
                let (Ok(least), Ok(most)) = limits else { return Ok(false) };
                let (least, most) = (least.unwrap_or(f32::MIN), most.unwrap_or(f32::MAX));
                self.activate(Follows::within(Unary::Clamp { least, most }))
            }
            _ => false,
        };
        if is_taken {
            self.made = made;
        }
        Ok(is_taken)
    }

    /// The other operand of a node of two, if what is made so far is one of them.
    fn other(&self, node: &ModelNode) -> Option<TensorId> {
        match node.inputs[..] {
            [Some(a), Some(b)] if a == self.made && b != self.made => Some(b),
            [Some(a), Some(b)] if b == self.made && a != self.made => Some(a),
            _ => None,
        }
    }

    /// Whether what is made so far is what a node is a function of: not so where it is computed beside it, for an
    /// operand of a later one.
    fn is_first(&self, node: &ModelNode) -> bool {
        node.inputs.first() == Some(&Some(self.made))
    }

    fn activate(&mut self, follows: Option<Follows>) -> bool {
        let Some(follows) = follows else { return false };
        (self.tail.follows, self.is_added) = (follows, true);
        true
    }

    /// Adds a tensor of the shape of the sums.
    fn add(&mut self, other: TensorId) -> bool {
        let has_own = self.at.has(SLOT_RESIDUAL - 1) && matches!(self.core, Core::Gemm(_));
        let (Ok(dims), Ok(made)) = (self.on.dims(other), self.on.dims(self.made)) else {
            return false;
        };
        let is_f32 = self.on.dtype(other) == Ok(Dtype::F32);
        let fits = dims == made && is_f32 && !has_own && self.residual.is_none();
        let is_plain = !matches!(self.core, Core::Gemm(Gemm { alpha, beta, .. }) if alpha.to_bits() != 1f32.to_bits() || beta.to_bits() != 1f32.to_bits());
        if !fits || !is_plain {
            return false;
        }
        (self.residual, self.is_added) = (Some(other), true);
        true
    }

    /// How many channels there are, if numbers of each can be folded into the weights.
    fn channels(&self) -> Option<usize> {
        let dims = self.on.dims(self.made).ok()?;
        let is_open = !self.is_added && self.residual.is_none();
        let channels = match self.core {
            Core::Conv => dims.get(1).copied()?,
            Core::MatMul if dims.len() >= 2 => dims.last().copied()?,
            Core::MatMul | Core::Gemm(_) => return None,
        };
        is_open.then_some(channels)
    }

    /// One number for each channel, from a tensor that does not change.
    fn of_channels(&self, other: TensorId) -> Option<Vec<f32>> {
        let channels = self.channels()?;
        let (dims, made) = (self.on.dims(other).ok()?, self.on.dims(self.made).ok()?);
        let axis = match self.core {
            Core::Conv => 1,
            Core::MatMul | Core::Gemm(_) => made.len() - 1,
        };
        let from_end = made.len() - axis - 1;
        let fits = |(at, dim): (usize, &usize)| *dim == 1 || (at == from_end && *dim == channels);
        if dims.len() > made.len() || !dims.iter().rev().enumerate().all(fits) {
            return None;
        }
        let numbers = self.on.numbers(other).ok()?;
        match numbers[..] {
            [number] => Some(vec![number; channels]),
            _ => Some(numbers),
        }
    }

    fn fold_summand(&mut self, other: TensorId, factor: f32) -> bool {
        let Some(numbers) = self.of_channels(other) else { return false };
        let numbers: Vec<f32> = numbers.iter().map(|number| number * factor).collect();
        self.fold(&[], &numbers)
    }

    fn fold_factor(&mut self, other: TensorId, of: impl Fn(f32) -> f32) -> bool {
        let Some(numbers) = self.of_channels(other) else { return false };
        let numbers: Vec<f32> = numbers.into_iter().map(of).collect();
        self.fold(&numbers, &[])
    }

    /// Folds factors and summands of channels into weights and bias; an empty list is none.
    fn fold(&mut self, scale: &[f32], shift: &[f32]) -> bool {
        let Some(channels) = self.channels() else { return false };
        let fits = |numbers: &[f32]| numbers.is_empty() || numbers.len() == channels;
        let is_fixed = match self.core {
            Core::Conv => self.at.is_constant(1),
            Core::MatMul => ops::has_fixed_factor(&self.at).unwrap_or(false),
            Core::Gemm(_) => false,
        };
        if !fits(scale) || !fits(shift) || (!scale.is_empty() && !is_fixed) {
            return false;
        }
        let Some(bias) = self.bias(channels) else { return false };
        let number =
            |numbers: &[f32], at: usize, none: f32| numbers.get(at).copied().unwrap_or(none);
        let shifted = |at: usize| bias[at] * number(scale, at, 1.0) + number(shift, at, 0.0);
        self.tail.shift = (0..channels).map(shifted).collect();
        if !scale.is_empty() {
            let before = &self.tail.scale;
            let scaled = |at: usize| scale[at] * number(before, at, 1.0);
            self.tail.scale = (0..channels).map(scaled).collect();
        }
        true
    }

    /// What is added to each channel so far; `None` if that changes from run to run.
    fn bias(&self, channels: usize) -> Option<Vec<f32>> {
        if !self.tail.shift.is_empty() {
            return Some(self.tail.shift.clone());
        }
        let own = self.at.node.inputs.get(2).copied().flatten();
        match (self.core, own) {
            (Core::Conv, Some(own)) => {
                self.on.numbers(own).ok().filter(|bias| bias.len() == channels)
            }
            _ => Some(vec![0.0; channels]),
        }
    }
}
