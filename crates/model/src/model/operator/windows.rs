//! Windows: convolutions and poolings.

/// How windows lie on the axes behind batch and channels. Empty lists mean 1s and 0s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The lengths of a window; empty if they follow from the weights.
    pub kernel: Vec<u64>,
    /// From one window to the next.
    pub strides: Vec<u64>,
    /// From one element of a window to the next.
    pub dilations: Vec<u64>,
    /// What is added at the edges.
    pub padding: Padding,
}

/// What is added at the edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// At the beginning of every axis, then at the end of every axis.
    Given(Vec<i64>),
    /// As much as makes the output as long as the input over the stride; the odd one at the end.
    SameUpper,
    /// The same with the odd one at the beginning.
    SameLower,
    /// Nothing.
    Valid,
}

impl Default for Padding {
    fn default() -> Self {
        Padding::Given(Vec::new())
    }
}

/// A convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// How its windows lie.
    pub windows: Windows,
    /// How many groups of channels there are, at least 1.
    pub group: u64,
}

impl Default for Convolution {
    fn default() -> Self {
        Convolution { windows: Windows::default(), group: 1 }
    }
}

/// A pooling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Of what.
    pub pooling: Pooling,
    /// How its windows lie.
    pub windows: Windows,
    /// Whether a window that is cut off at the end counts.
    pub ceil: bool,
}

/// What is made of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The largest.
    Max {
        /// Whether the indices, if they are wanted, count down columns first.
        column_major: bool,
    },
    /// The mean.
    Average {
        /// Whether what is added at the edges counts.
        count_padding: bool,
    },
    /// `(Σ |x|ᵖ)^(1/p)`.
    Lp {
        /// The power.
        p: i64,
    },
}

/// What is made of all elements of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobalPooling {
    /// The largest.
    Max,
    /// The mean.
    Average,
    /// `(Σ |x|ᵖ)^(1/p)`.
    Lp {
        /// The power.
        p: i64,
    },
}
