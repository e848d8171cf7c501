//! Attention as one call: from two products with a softmax between them to where queries, keys and values lie.
//!
//! Nodes before the products that only change layouts, or multiply by a number, become places and factors. What is
//! between the products becomes chains on a block of scores, and so does what follows the second one. If that is a
//! transpose at the end, sums are stored where it would bring them.

use plimsoll_graph::Dtype;
use plimsoll_kernels::attention_blocks::{self as kernel, Attention, Place};
use plimsoll_kernels::chain::{Data, MOST_OPERANDS, Then};
use plimsoll_model::{FusedAccesses, FusedStep, Operator, TensorId};

use super::chain::compile;
use super::view::{Seen, Strides, View, seen};
use super::{On, Prepared, places};
use crate::compiled::Compiled;
use crate::io::Io;
use crate::kernel::{Built, Call, Kernel, Lack};

/// The nodes of attention by what they do.
#[derive(Default)]
struct Stages {
    /// Before the products, or of what they read.
    early: Vec<usize>,
    /// On scores, on weights, and on sums.
    late: [Vec<usize>; 3],
    /// Where sums are stored.
    transpose: Option<usize>,
}

impl Stages {
    fn new(on: &On<'_>, nodes: &[usize], (scores, values): (usize, usize)) -> Self {
        let mut stages = Stages::default();
        let mut made: Vec<TensorId> = Vec::new();
        let mut stage = 0;
        for node in nodes {
            let of = on.node(*node);
            let is_late = of.inputs.iter().flatten().any(|input| made.contains(input));
            let is_core = *node == scores || *node == values;
            let is_softmax = matches!(of.operator, Operator::Softmax(_));
            match () {
                () if is_core || (is_softmax && is_late) => stage += usize::from(*node != scores),
                () if !is_late => stages.early.push(*node),
                () if stage == 2 && matches!(of.operator, Operator::Transpose(_)) => {
                    stages.transpose = Some(*node);
                }
                () => stages.late[stage].push(*node),
            }
            if is_late || is_core {
                made.extend(of.outputs.iter().flatten());
            }
        }
        stages
    }
}

/// Where the matrices of an operand lie.
struct Matrices {
    batch: Strides,
    offset: usize,
    row: usize,
    column: usize,
}

impl Matrices {
    /// Of a view whose last two axes are those of matrices, for batches of these dims.
    fn new(view: &View, batch: &[usize]) -> Result<Self, Lack> {
        let dims = view.dims();
        let [.., rows, columns] = dims[..] else {
            return Err("no kernel for vectors".to_owned());
        };
        let to: Vec<usize> = batch.iter().copied().chain([rows, columns]).collect();
        let view = view.expanded(&to).ok_or("batches that do not fit")?;
        let stride = |axis: usize| view.stride(axis).ok_or("no kernel for rows in parts");
        let (row, column) = (stride(batch.len())?, stride(batch.len() + 1)?);
        let batch = view.axes[..batch.len()].iter().flatten().copied().collect();
        Ok(Matrices { batch, offset: view.offset, row, column })
    }

    fn place(&self) -> Place<'_> {
        let Matrices { batch, offset, row, column } = self;
        Place { batch, offset: *offset, row: *row, column: *column }
    }
}

/// Attention that is set up: shape, where matrices are, what is done on the way.
struct Step {
    shape: Attention,
    /// Queries, keys, values and sums.
    matrices: [Matrices; 4],
    scale: (f32, f32),
    /// The operands of each chain are those of the call behind the three and those of the chains before.
    chains: [Option<Compiled>; 3],
}

/// The first operand of a call that is one of a chain.
const SLOT_CHAIN: usize = 3;

pub(super) fn prepared<'a>(
    on: On<'a>,
    step: &FusedStep,
    may: &FusedAccesses,
    (scores, values): (usize, usize),
) -> Result<Prepared<'a>, Lack> {
    let stages = Stages::new(&on, &step.nodes, (scores, values));
    let is_product = |node: usize| matches!(on.node(node).operator, Operator::MatMul);
    if !is_product(scores) || !is_product(values) {
        return Err("no kernel for such products".to_owned());
    }
    let operand = |node: usize, at: usize| {
        let id = on.node(node).inputs.get(at).copied().flatten();
        seen(&on, &stages.early, id.ok_or("an operand is absent")?)
    };
    let [q, k, v] = [operand(scores, 0)?, operand(scores, 1)?, operand(values, 1)?];
    let attention = set_up(&on, &stages, (scores, values), [&q, &k, &v], may.output)?;
    let chains = attention.chains.iter().flatten().flat_map(Compiled::tensors);
    let tensors = [q.tensor, k.tensor, v.tensor].into_iter().chain(chains);
    let reads = places(tensors, &may.inputs)?;
    let scratch = kernel::attention_scratch(on.level, &attention.shape) * size_of::<f32>();
    let level = on.level;
    let build = move || {
        let kernel: Kernel = Box::new(move |io| {
            attention.run(level, io);
            Ok(())
        });
        let call = Call { reads, writes: vec![0], joins: None, is_branch: false, kernel };
        Ok(Built { scratch_bytes: scratch, ..Built::calls(vec![call]) })
    };
    Ok(Prepared { overwrites: Vec::new(), scratch_bytes: scratch, build: Box::new(build) })
}

fn set_up(
    on: &On<'_>,
    stages: &Stages,
    (scores, values): (usize, usize),
    [q, k, v]: [&Seen; 3],
    output: TensorId,
) -> Result<Step, Lack> {
    for tensor in [q.tensor, k.tensor, v.tensor, output] {
        if on.dtype(tensor)? != Dtype::F32 {
            return Err("no attention but of f32".to_owned());
        }
    }
    let made = |node: usize| on.node(node).outputs.first().copied().flatten().ok_or("no result");
    let (made_scores, made_sums) = (on.dims(made(scores)?)?, on.dims(made(values)?)?);
    let ([batch @ .., rows, keys], [sum_batch @ .., sum_rows, width]) =
        (&made_scores[..], &made_sums[..])
    else {
        return Err("no kernel for vectors".to_owned());
    };
    // Between the products only shapes of batches may change.
    if batch.iter().product::<usize>() != sum_batch.iter().product::<usize>() || rows != sum_rows {
        return Err("weights of another shape than scores".to_owned());
    }
    let depth = q.view.dims().last().copied().unwrap_or(1);
    let batches = batch.iter().product();
    let shape = Attention { batches, rows: *rows, keys: *keys, depth, width: *width };
    let sums = stored(on, stages.transpose, output, &made_sums)?;
    let sums = Matrices::new(&sums, sum_batch)?;
    if sums.column != 1 && *width != 1 {
        return Err("no kernel that stores sums apart".to_owned());
    }
    let softmax_in = chain(on, &stages.late[0], made(scores)?)?;
    let matrices = [
        Matrices::new(&q.view, batch)?,
        Matrices::new(&k.view, batch)?,
        Matrices::new(&v.view, sum_batch)?,
        Matrices { column: 1, ..sums },
    ];
    let first_weights = on_weights(on, &stages.late[1])?;
    let weights = match first_weights {
        Some(sums) => chain(on, &stages.late[1], sums)?,
        None => None,
    };
    let chains = [softmax_in, weights, chain(on, &stages.late[2], made(values)?)?];
    Ok(Step { shape, matrices, scale: (q.factor * k.factor, v.factor), chains })
}

/// What the softmax makes, if something is done to it.
fn on_weights(on: &On<'_>, nodes: &[usize]) -> Result<Option<TensorId>, Lack> {
    let Some(first) = nodes.first() else { return Ok(None) };
    let inside =
        |id: &TensorId| nodes.iter().any(|node| on.node(*node).outputs.contains(&Some(*id)));
    let made_by_softmax = |id: &TensorId| {
        let maker = on.model.body.nodes.iter().find(|node| node.outputs.contains(&Some(*id)));
        maker.is_some_and(|maker| matches!(maker.operator, Operator::Softmax(_))) && !inside(id)
    };
    let weights = on.node(*first).inputs.iter().flatten().copied().find(made_by_softmax);
    weights.map(Some).ok_or_else(|| "weights that come from elsewhere".to_owned())
}

/// The functions of nodes, if they are more than another shape.
fn chain(on: &On<'_>, nodes: &[usize], sums: TensorId) -> Result<Option<Compiled>, Lack> {
    let is_shape = |node: &usize| {
        matches!(
            on.node(*node).operator,
            Operator::Reshape { .. }
                | Operator::Squeeze
                | Operator::Unsqueeze
                | Operator::Flatten { .. }
                | Operator::Identity
                | Operator::Dropout { .. }
        )
    };
    if nodes.iter().all(is_shape) {
        return Ok(None);
    }
    compile(on, nodes, Some(sums)).map(Some)
}

/// Where sums of these dims are in the output: transposed, if that is the last node.
fn stored(
    on: &On<'_>,
    transpose: Option<usize>,
    output: TensorId,
    sums: &[usize],
) -> Result<View, Lack> {
    let dims = on.dims(output)?;
    let whole = View::whole(&dims);
    let view = match transpose.map(|node| &on.node(node).operator) {
        Some(Operator::Transpose(permutation)) => {
            let reversed = || (0..dims.len()).rev().collect();
            let permutation: Vec<usize> = permutation.clone().unwrap_or_else(reversed);
            let mut inverse = vec![0; permutation.len()];
            permutation.iter().enumerate().for_each(|(to, from)| inverse[*from] = to);
            whole.transposed(&inverse)
        }
        _ => whole,
    };
    view.reshaped(sums).ok_or_else(|| "no kernel that stores sums so".to_owned())
}

impl Step {
    fn run(&self, level: plimsoll_kernels::Level, io: &mut Io<'_>) {
        let (y, scratch) = (io.write(0), io.scratch());
        let mut data = [[Data::InPlace; MOST_OPERANDS]; 3];
        let mut slot = SLOT_CHAIN;
        let mut thens = [None; 3];
        for ((then, chain), data) in thens.iter_mut().zip(&self.chains).zip(&mut data) {
            let Some(compiled) = chain else { continue };
            let operands = compiled.operands(io, slot, data);
            *then = Some(Then { chain: compiled.chain(), operands, first: 0 });
            slot += compiled.tensors().count();
        }
        let [q, k, v, sums] = &self.matrices;
        let operands = kernel::Operands {
            q: (io.read(0), q.place()),
            k: (io.read(1), k.place()),
            v: (io.read(2), v.place()),
            scale: self.scale,
            scores: thens[0],
            weights: thens[1],
            sums: thens[2],
        };
        kernel::attention(level, &self.shape, &operands, (y, sums.place()), scratch);
    }
}
