//! Fused steps: several nodes as one call.
//!
//! [`Kernels`] is the one statement of what can be executed: the search for fusions asks it of every step, and the
//! session builds from the same answer, so that nothing is planned that is not executed. A step is set up in two
//! stages. *Prepared* it is known which kernel it is, what scratch that needs and which operands the output may
//! take over, all from shapes alone; *built* its weights are packed.

mod attention;
mod before;
mod chain;
mod product;
mod rows;
mod spelled;
mod view;

use std::collections::BTreeMap;

use plimsoll_graph::{Dtype, Fact};
use plimsoll_kernels::Level;
use plimsoll_kernels::chain::{Data, MOST_OPERANDS};
use plimsoll_model::{
    BatchNorm, Form, FusedAccesses, FusedKernels, FusedStep, Fusing, Model, ModelNode, TensorId,
};

use self::chain::{channel_numbers, compile};
use crate::at::At;
use crate::constants::Constants;
use crate::kernel::{Built, Call, Lack};
use crate::split::Threads;

/// A model with what is known of it before anything runs.
#[derive(Clone, Copy)]
pub(crate) struct On<'a> {
    pub(crate) model: &'a Model,
    pub(crate) facts: &'a [Fact],
    pub(crate) constants: &'a Constants<'a>,
    pub(crate) level: Level,
    pub(crate) threads: &'a Threads,
}

impl<'a> On<'a> {
    fn node(&self, node: usize) -> &'a ModelNode {
        &self.model.body.nodes[node]
    }

    fn at(&self, node: usize) -> At<'a> {
        let On { facts, constants, level, threads, .. } = *self;
        At { node: self.node(node), facts, constants, level, threads, wider: None }
    }

    fn dtype(&self, id: TensorId) -> Result<Dtype, Lack> {
        self.facts[id.index()].dtype.ok_or_else(|| "a type that is not known".to_owned())
    }

    fn dims(&self, id: TensorId) -> Result<Vec<usize>, Lack> {
        crate::at::known_dims(&self.facts[id.index()])
    }

    /// The number that an operand is, if it is one that does not change; `None` if it is absent.
    fn scalar(&self, node: &ModelNode, operand: usize) -> Result<Option<f32>, Lack> {
        let Some(id) = node.inputs.get(operand).copied().flatten() else { return Ok(None) };
        if self.dims(id)?.iter().product::<usize>() != 1 {
            return Err("it is more than one number".to_owned());
        }
        Ok(self.numbers(id)?.first().copied())
    }

    /// The elements of a tensor that does not change, as numbers of `f32`.
    fn numbers(&self, id: TensorId) -> Result<Vec<f32>, Lack> {
        let bytes = self.constants.bytes(id)?.ok_or("it changes from run to run")?;
        let loose = crate::memory::loose_elements::<f32>;
        match self.dtype(id)? {
            Dtype::F32 => Ok(loose(&bytes).into_owned()),
            Dtype::I64 => {
                let ints = crate::memory::loose_elements::<i64>(&bytes);
                Ok(ints.iter().map(|int| *int as f32).collect())
            }
            Dtype::I32 => {
                let ints = crate::memory::loose_elements::<i32>(&bytes);
                Ok(ints.iter().map(|int| *int as f32).collect())
            }
            dtype => Err(crate::at::no_kernel_for(dtype)),
        }
    }

    /// The factor and the summand of each channel.
    fn batch_norm(&self, node: &ModelNode, norm: BatchNorm) -> Result<(Vec<f32>, Vec<f32>), Lack> {
        let parameter = |operand: usize| {
            let id = node.inputs.get(operand).copied().flatten();
            self.numbers(id.ok_or("a batch normalisation without its numbers")?)
        };
        let [scale, bias, mean, variance] =
            [parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?];
        Ok(channel_numbers([&scale, &bias, &mean, &variance], norm.epsilon))
    }
}

/// A fused step whose kernel is known.
pub(crate) struct Prepared<'a> {
    /// Those of the operands that the output may take over.
    overwrites: Vec<TensorId>,
    /// The scratch that the kernel needs at least.
    scratch_bytes: usize,
    build: Box<dyn FnOnce() -> Result<Built, Lack> + 'a>,
}

/// The kernels of this crate for fused steps.
pub(crate) struct Kernels<'a> {
    pub(crate) on: On<'a>,
    /// The least scratch of nodes that run by themselves, by name.
    pub(crate) scratch: BTreeMap<String, u64>,
}

impl std::fmt::Debug for Kernels<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels").finish_non_exhaustive()
    }
}

impl FusedKernels for Kernels<'_> {
    fn accesses(
        &self,
        fusing: &Fusing<'_>,
        step: &FusedStep,
        may: FusedAccesses,
    ) -> Option<FusedAccesses> {
        let Prepared { overwrites, scratch_bytes, .. } =
            prepared(self.on, fusing, step, &may).ok()?;
        Some(FusedAccesses { overwrites, scratch_bytes: scratch_bytes as u64, ..may })
    }

    fn scratch_bytes(&self, node: &str) -> u64 {
        self.scratch.get(node).copied().unwrap_or_default()
    }
}

impl Kernels<'_> {
    /// The calls of a step.
    pub(crate) fn built(&self, fusing: &Fusing<'_>, step: &FusedStep) -> Result<Built, Lack> {
        let accesses = fusing.accesses(step).map_err(|fault| fault.to_string())?;
        (prepared(self.on, fusing, step, &accesses)?.build)()
    }
}

fn prepared<'a>(
    on: On<'a>,
    fusing: &Fusing<'_>,
    step: &FusedStep,
    may: &FusedAccesses,
) -> Result<Prepared<'a>, Lack> {
    match may.form {
        Form::Chain => whole_chain(on, step, may),
        Form::Rows { len } => rows::prepared(on, step, may, len),
        Form::Product { core } => product::prepared(on, fusing, step, may, core),
        Form::Attention { scores, values } => attention::prepared(on, step, may, (scores, values)),
    }
}

/// Where tensors are among what a step reads.
fn places(
    tensors: impl IntoIterator<Item = TensorId>,
    inputs: &[TensorId],
) -> Result<Vec<Option<usize>>, Lack> {
    let place = |id: TensorId| {
        let place = inputs.iter().position(|input| *input == id);
        place.map(Some).ok_or_else(|| "it reads what it does not declare".to_owned())
    };
    tensors.into_iter().map(place).collect()
}

/// A step of functions of elements.
fn whole_chain<'a>(
    on: On<'a>,
    step: &FusedStep,
    may: &FusedAccesses,
) -> Result<Prepared<'a>, Lack> {
    let compiled = compile(&on, &step.nodes, None)?;
    let reads = places(compiled.tensors(), &may.inputs)?;
    let aligned: Vec<TensorId> = compiled.aligned().collect();
    let overwrites =
        may.overwrites.iter().copied().filter(|input| aligned.contains(input)).collect();
    let level = on.level;
    let build = move || {
        let numbers = compiled.number_count();
        let kernel = Box::new(move |io: &mut crate::io::Io<'_>| {
            let mut data = [Data::InPlace; MOST_OPERANDS];
            let y = io.write(0);
            let operands = compiled.operands(io, 0, &mut data);
            compiled.chain().run(level, operands, 0, y);
            Ok(())
        });
        let call = Call { reads, writes: vec![0], joins: None, is_branch: false, kernel };
        Ok(Built::calls(vec![call]).with_packed::<f32>(numbers))
    };
    Ok(Prepared { overwrites, scratch_bytes: 0, build: Box::new(build) })
}
