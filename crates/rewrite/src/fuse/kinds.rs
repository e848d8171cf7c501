//! Kinds of fusions, by what a runtime's kernels have to be able to do.

use std::fmt;
use std::str::FromStr;

/// A kind of fusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FusionKind {
    /// Functions of elements as one step: `x · sigmoid(x)`, GELU from its parts, and any other chain.
    Activation,
    /// Functions of rows as one step: a normalisation or a softmax that is spelled out.
    Norm,
    /// A chain on the sums of a convolution or a product, before they are stored.
    Epilogue,
    /// The same with an operand of the output's shape, such as a residual.
    Residual,
    /// Two products with a softmax between them, some rows at a time.
    Attention,
    /// Pads, concats, interpolations and other layouts, read through by the convolution or product behind them.
    Layout,
    /// Functions of elements, computed again where a convolution or a product reads them.
    Prologue,
}

impl FusionKind {
    /// All of them, those first that never cost arithmetic.
    pub const ALL: [FusionKind; 7] = [
        FusionKind::Activation,
        FusionKind::Norm,
        FusionKind::Epilogue,
        FusionKind::Residual,
        FusionKind::Attention,
        FusionKind::Layout,
        FusionKind::Prologue,
    ];

    /// What it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FusionKind::Activation => "activation",
            FusionKind::Norm => "norm",
            FusionKind::Epilogue => "epilogue",
            FusionKind::Residual => "residual",
            FusionKind::Attention => "attention",
            FusionKind::Layout => "layout",
            FusionKind::Prologue => "prologue",
        }
    }
}

impl fmt::Display for FusionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no kind of fusion has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFusion(String);

impl fmt::Display for UnknownFusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = FusionKind::ALL.map(FusionKind::name).join(", ");
        write!(f, "unknown kind of fusion {:?}; there are {known}", self.0)
    }
}

impl std::error::Error for UnknownFusion {}

impl FromStr for FusionKind {
    type Err = UnknownFusion;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = FusionKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownFusion(name.to_owned()))
    }
}
