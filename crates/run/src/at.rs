//! A node whose kernel is chosen: what is known of it before anything runs.

use std::borrow::Cow;

use plimsoll_graph::{Dtype, Fact};
use plimsoll_kernels::{Level, MAX_RANK};
use plimsoll_model::{ModelNode, TensorId};

use crate::constants::Constants;
use crate::kernel::Lack;
use crate::memory::{Plain, loose_elements};
use crate::ops::{Wider, widened};
use crate::split::Threads;

/// A node, the facts of its operands, and the constants among them.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) node: &'a ModelNode,
    pub(crate) facts: &'a [Fact],
    pub(crate) constants: &'a Constants<'a>,
    /// Which instructions kernels may use.
    pub(crate) level: Level,
    /// What kernels may divide their work among.
    pub(crate) threads: &'a Threads,
    /// If the kernel is to compute in wider types than those of the tensors, which.
    pub(crate) wider: Option<Wider>,
}

impl<'a> At<'a> {
    fn input(&self, operand: usize) -> Option<TensorId> {
        self.node.inputs.get(operand).copied().flatten()
    }

    fn fact(&self, id: Option<TensorId>, what: &str, number: usize) -> Result<&'a Fact, Lack> {
        let id = id.ok_or_else(|| format!("{what} {number} is absent"))?;
        Ok(&self.facts[id.index()])
    }

    /// Whether an operand is there.
    pub(crate) fn has(&self, operand: usize) -> bool {
        self.input(operand).is_some()
    }

    /// How many operands there are, absent ones too.
    pub(crate) fn operands(&self) -> usize {
        self.node.inputs.len()
    }

    /// How many results there are, unwanted ones too.
    pub(crate) fn results(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether somebody wants a result.
    pub(crate) fn wants(&self, result: usize) -> bool {
        self.node.outputs.get(result).is_some_and(Option::is_some)
    }

    /// The dims of an operand.
    pub(crate) fn dims(&self, operand: usize) -> Result<Vec<usize>, Lack> {
        known(self.fact(self.input(operand), "operand", operand)?, "operand", operand)
    }

    /// The type of an operand.
    pub(crate) fn dtype(&self, operand: usize) -> Result<Dtype, Lack> {
        self.stored_dtype(operand).map(|dtype| self.computed_in(dtype))
    }

    /// The type that an operand has in memory.
    fn stored_dtype(&self, operand: usize) -> Result<Dtype, Lack> {
        let dtype = self.fact(self.input(operand), "operand", operand)?.dtype;
        dtype.ok_or_else(|| format!("the type of operand {operand} is not known"))
    }

    /// The type that elements of a type are computed in.
    fn computed_in(&self, dtype: Dtype) -> Dtype {
        self.wider.and_then(|wider| wider.of(dtype)).unwrap_or(dtype)
    }

    /// Whether an operand or a result is computed in another type than it has.
    pub(crate) fn is_wider(&self) -> bool {
        let (inputs, outputs) = (self.node.inputs.iter(), self.node.outputs.iter());
        let facts = inputs.chain(outputs).flatten().map(|id| &self.facts[id.index()]);
        facts.filter_map(|fact| fact.dtype).any(|dtype| self.computed_in(dtype) != dtype)
    }

    /// The dims of a result.
    pub(crate) fn result_dims(&self, result: usize) -> Result<Vec<usize>, Lack> {
        let id = self.node.outputs.get(result).copied().flatten();
        known(self.fact(id, "result", result)?, "result", result)
    }

    /// The type of a result.
    pub(crate) fn result_dtype(&self, result: usize) -> Result<Dtype, Lack> {
        let id = self.node.outputs.get(result).copied().flatten();
        let dtype = self.fact(id, "result", result)?.dtype;
        let dtype = dtype.ok_or_else(|| format!("the type of result {result} is not known"))?;
        Ok(self.computed_in(dtype))
    }

    /// The integers of an operand that decides how a kernel is set up; `None` if it is absent.
    pub(crate) fn ints(&self, operand: usize) -> Result<Option<Vec<i64>>, Lack> {
        let Some(id) = self.input(operand) else { return Ok(None) };
        match self.facts[id.index()].known_ints() {
            Some(ints) => Ok(Some(ints)),
            None => self.constant::<i64>(operand)?.map_or_else(
                || Err(format!("operand {operand} is not known before the run")),
                |ints| Ok(Some(ints.into_owned())),
            ),
        }
    }

    /// The elements of an operand that does not change from run to run; `None` for all others, and if
    /// it is of another type.
    pub(crate) fn constant<T: Plain>(&self, operand: usize) -> Result<Option<Cow<'a, [T]>>, Lack> {
        let Some(id) = self.input(operand) else { return Ok(None) };
        let width = self.dtype(operand)?.bits() as usize;
        if width != 8 * size_of::<T>() {
            return Ok(None);
        }
        let stored = self.stored_dtype(operand)?;
        Ok(match self.constants.bytes(id)? {
            Some(bytes) if self.computed_in(stored) != stored => {
                Some(Cow::Owned(loose_elements(&widened(stored, &bytes)).into_owned()))
            }
            Some(Cow::Borrowed(bytes)) => Some(loose_elements(bytes)),
            Some(Cow::Owned(bytes)) => Some(Cow::Owned(loose_elements(&bytes).into_owned())),
            None => None,
        })
    }

    /// The same for the elements of an operand of `f32`.
    pub(crate) fn constant_f32(&self, operand: usize) -> Result<Option<Cow<'a, [f32]>>, Lack> {
        if self.has(operand) && self.dtype(operand)? == Dtype::F32 {
            self.constant(operand)
        } else {
            Ok(None)
        }
    }

    /// Whether an operand does not change from run to run, and is of `f32`.
    pub(crate) fn is_constant(&self, operand: usize) -> bool {
        let id = self.input(operand).filter(|id| self.constants.is_constant(*id));
        id.is_some() && self.dtype(operand) == Ok(Dtype::F32)
    }

    /// That an operand is of `f32`, where there is a kernel for nothing else.
    pub(crate) fn only_f32(&self, operands: &[usize]) -> Result<(), Lack> {
        for operand in operands.iter().filter(|operand| self.has(**operand)) {
            let dtype = self.dtype(*operand)?;
            if dtype != Dtype::F32 {
                return Err(no_kernel_for(dtype));
            }
        }
        Ok(())
    }
}

/// An axis that may count from the end.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize, Lack> {
    let counted = if axis < 0 { axis.checked_add_unsigned(rank as u64) } else { Some(axis) };
    let counted = counted.and_then(|axis| usize::try_from(axis).ok());
    counted.filter(|axis| *axis < rank).ok_or_else(|| format!("axis {axis} of {rank} axes"))
}

/// What is said where no kernel is for a type.
pub(crate) fn no_kernel_for(dtype: Dtype) -> Lack {
    format!("no kernel for {dtype}")
}

fn known(fact: &Fact, what: &str, number: usize) -> Result<Vec<usize>, Lack> {
    known_dims(fact).map_err(|fault| format!("{what} {number} {fault}"))
}

/// The dims of a tensor that kernels can have.
pub(crate) fn known_dims(fact: &Fact) -> Result<Vec<usize>, Lack> {
    let dims = fact.shape.as_ref().and_then(plimsoll_graph::Shape::known);
    let dims = dims.ok_or_else(|| "has dims that depend on data".to_owned())?;
    if dims.len() > MAX_RANK {
        return Err(format!("has {} dims, at most {MAX_RANK}", dims.len()));
    }
    let dims: Result<_, _> = dims.into_iter().map(usize::try_from).collect();
    dims.map_err(|_| "is too large".to_owned())
}
