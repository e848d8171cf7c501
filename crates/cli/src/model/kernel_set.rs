//! Sets of kernels, as `--kernels` names them.

use clap::ValueEnum;
use plimsoll_graph::Preset;

/// What kernels can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum KernelSet {
    /// Views are free, and ops that can work in place do
    Standard,
    /// The same, and every op can read and write strided views
    Strided,
    /// Views are free; nothing works in place
    Views,
    /// Every op writes bytes of its own
    Copying,
    /// As the reference kernels of TensorFlow Lite Micro: reshapes are free, elementwise ops work in place
    Tflm,
    /// Several nodes are one step where that lowers the arena
    Fused,
}

impl KernelSet {
    pub(super) fn preset(self) -> Preset {
        match self {
            KernelSet::Standard | KernelSet::Fused => Preset::Standard,
            KernelSet::Strided => Preset::Strided,
            KernelSet::Views => Preset::Views,
            KernelSet::Copying => Preset::Copying,
            KernelSet::Tflm => Preset::Tflm,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            KernelSet::Standard => "standard",
            KernelSet::Strided => "strided",
            KernelSet::Views => "views",
            KernelSet::Copying => "copying",
            KernelSet::Fused => "fused",
            KernelSet::Tflm => "tflm",
        }
    }
}
