//! How elements are moved.

/// What is put around a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PadMode {
    /// One value.
    #[default]
    Constant,
    /// What is inside, mirrored at the outermost element.
    Reflect,
    /// The outermost element.
    Edge,
    /// What is at the other end.
    Wrap,
}

/// Which part of the channels is the place in a block of pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DepthOrder {
    /// The first: `[block, block, channels]`.
    #[default]
    BlockFirst,
    /// The last: `[channels, block, block]`.
    ChannelsFirst,
}

/// What an update does to the element that it meets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Update {
    #[default]
    Replace,
    Add,
    Mul,
    Max,
    Min,
}
