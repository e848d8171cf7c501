//! A chain of functions of elements, and where its operands come from in a call.

use plimsoll_kernels::chain::{Access, Chain, Data, MOST_OPERANDS, Step};
use plimsoll_model::TensorId;

use crate::io::Io;

/// A chain with where its operands come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) steps: Vec<Step>,
    /// How each operand is read.
    pub(crate) accesses: Vec<Access>,
    pub(crate) registers: usize,
    /// Where each operand comes from.
    pub(crate) sources: Vec<Source>,
}

/// Where an operand of a chain comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// What is in the output.
    Sums,
    /// A tensor.
    Tensor(TensorId),
    /// Numbers that do not change.
    Numbers(Vec<f32>),
}

/// The register for what is in the output before.
pub(crate) const HELD: usize = 0;

impl Compiled {
    /// The tensors that it reads, in the order of its operands.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.sources.iter().filter_map(|source| match source {
            Source::Tensor(id) => Some(*id),
            Source::Sums | Source::Numbers(_) => None,
        })
    }

    /// Those of them of which it reads just the element at the place of the output's.
    pub(crate) fn aligned(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.sources.iter().zip(&self.accesses).filter_map(|pair| match pair {
            (Source::Tensor(id), Access::Aligned) => Some(*id),
            _ => None,
        })
    }

    /// How many it has of its own.
    pub(crate) fn number_count(&self) -> usize {
        let count = |source: &Source| match source {
            Source::Numbers(numbers) => numbers.len(),
            Source::Sums | Source::Tensor(_) => 0,
        };
        self.sources.iter().map(count).sum()
    }

    pub(crate) fn chain(&self) -> Chain<'_> {
        let Compiled { steps, accesses, registers, .. } = self;
        Chain { steps, accesses, registers: *registers, held: HELD }
    }

    /// The elements of its operands; tensors are those of the call from `slot` on.
    pub(crate) fn operands<'a>(
        &'a self,
        io: &Io<'a>,
        slot: usize,
        data: &'a mut [Data<'a>; MOST_OPERANDS],
    ) -> &'a [Data<'a>] {
        let mut slot = slot;
        for ((data, source), access) in data.iter_mut().zip(&self.sources).zip(&self.accesses) {
            *data = match source {
                Source::Sums => Data::InPlace,
                Source::Numbers(numbers) => Data::Floats(numbers),
                Source::Tensor(_) => {
                    slot += 1;
                    match access {
                        _ if io.is_in_place(slot - 1) => Data::InPlace,
                        Access::Condition(_) => Data::Bytes(io.read(slot - 1)),
                        Access::Aligned | Access::Broadcast(..) => Data::Floats(io.read(slot - 1)),
                    }
                }
            };
        }
        &data[..self.sources.len()]
    }
}
