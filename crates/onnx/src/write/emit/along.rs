//! Operators along axes: reductions, softmax, norms.

use plimsoll_model::{
    ArgReduce, BatchNorm, LayerNorm, LocalNorm, Norm, Reduce, Reduction, RowFunction, Softmax,
};

use super::{Form, Formed, number};
use crate::write::attribute::{float, int, ints};

impl Form<'_> {
    /// Axes are an attribute before edition 18, those of sums before 13.
    pub(super) fn reduce(&mut self, reduce: Reduce) -> Formed {
        let kind = match reduce.function {
            Reduction::Max => "ReduceMax",
            Reduction::Min => "ReduceMin",
            Reduction::Sum => "ReduceSum",
            Reduction::Mean => "ReduceMean",
            Reduction::Product => "ReduceProd",
            Reduction::L1 => "ReduceL1",
            Reduction::L2 => "ReduceL2",
            Reduction::LogSum => "ReduceLogSum",
            Reduction::LogSumExp => "ReduceLogSumExp",
            Reduction::SumSquare => "ReduceSumSquare",
        };
        let operand = if reduce.function == Reduction::Sum { 13 } else { 18 };
        self.with_axes(kind, operand)?;
        self.set(int("keepdims", reduce.keep_dims.into()));
        self.set_since(operand, int("noop_with_empty_axes", 1), !reduce.none_if_empty)
    }

    pub(super) fn arg_reduce(&mut self, reduce: &ArgReduce) -> Formed {
        self.along(if reduce.largest { "ArgMax" } else { "ArgMin" }, 1, reduce.axis)?;
        self.set(int("keepdims", reduce.keep_dims.into()));
        self.set_since(12, int("select_last_index", 1), !reduce.last)
    }

    /// Before edition 13 a row goes on to the last axis: the same if it is the last.
    pub(super) fn softmax(&mut self, softmax: &Softmax) -> Formed {
        let kind = match softmax.function {
            RowFunction::Softmax => "Softmax",
            RowFunction::LogSoftmax => "LogSoftmax",
            RowFunction::Hardmax => "Hardmax",
        };
        self.along(kind, 1, softmax.axis)?;
        if softmax.to_end != (self.version < 13) && softmax.axis != -1 {
            return Err(format!("version {} has other rows", self.version));
        }
        Ok(())
    }

    pub(super) fn batch_norm(&mut self, norm: &BatchNorm) -> Formed {
        self.is("BatchNormalization", 7)?;
        self.set(float("epsilon", norm.epsilon));
        self.set(float("momentum", norm.momentum));
        self.set_since(14, int("training_mode", 1), !norm.training)
    }

    pub(super) fn layer_norm(&mut self, norm: &LayerNorm) -> Formed {
        self.along("LayerNormalization", 17, norm.axis)?;
        self.set(float("epsilon", norm.epsilon));
        self.set(int("stash_type", number(norm.stash)));
        Ok(())
    }

    pub(super) fn norm(&mut self, norm: &Norm) -> Formed {
        match norm {
            Norm::Instance { epsilon } => {
                self.is("InstanceNormalization", 6)?;
                self.set(float("epsilon", *epsilon));
            }
            Norm::Group { groups, epsilon, stash, by_group } => {
                self.is("GroupNormalization", 18)?;
                if *by_group != (self.version < 21) {
                    return Err("scales of groups and of channels are of other versions".to_owned());
                }
                self.set(int("num_groups", groups.cast_signed()));
                self.set(float("epsilon", *epsilon));
                let stash = number(*stash);
                self.set_since(21, int("stash_type", stash), stash == 1)?;
            }
            Norm::Rms { axis, epsilon, stash } => {
                self.along("RMSNormalization", 23, *axis)?;
                self.set(float("epsilon", *epsilon));
                self.set(int("stash_type", number(*stash)));
            }
            Norm::Lp { axis, p } => {
                self.along("LpNormalization", 1, *axis)?;
                self.set(int("p", *p));
            }
            Norm::MeanVariance { axes } => {
                self.is("MeanVarianceNormalization", 9)?;
                self.set(ints("axes", axes));
            }
        }
        Ok(())
    }

    pub(super) fn local_norm(&mut self, norm: &LocalNorm) -> Formed {
        self.is("LRN", 1)?;
        self.set(float("alpha", norm.alpha));
        self.set(float("beta", norm.beta));
        self.set(float("bias", norm.bias));
        self.set(int("size", norm.size.cast_signed()));
        Ok(())
    }
}
