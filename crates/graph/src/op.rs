//! Operators, by classes of what they do to memory.
//!
//! The planner never sees an operator: it sees the accesses that [`effect`](crate::effect) derives
//! from the class. So `relu` and `exp` are the same thing here, and an attribute is kept only if
//! it matters to memory. What a node's operator is called where it comes from is its
//! [`kind`](crate::graph::Node::kind), by which nothing is decided but which class a name of the text
//! form means ([`Op::from_kind`]).

/// A class of operators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// One element in, one element out: `relu`, `exp`, `neg`.
    Unary,
    /// Two elements in (broadcast), one out: `add`, `mul`, `less`, `threshold_backward`.
    Binary,
    /// Any number of elements in (broadcast), one out. The output is gone over once for each operand,
    /// so that the later ones are read when it is no longer what the first was.
    Variadic,
    /// Elements or rows of tensors of the same shape: fused operators, and those in which an element
    /// depends on its place, or on random numbers. What each row depends on is not known.
    ByRows,
    /// A condition and two branches, element by element.
    Where,
    /// One element in, one out, with bounds as further operands.
    Clamp,
    /// Elements converted to the type of the output.
    Cast,
    /// Elements converted by a scale and a zero point, either way.
    Quantize,
    /// The same elements in other bytes.
    Copy,
    /// Elements that come from nowhere: zeros, ranges, random numbers.
    Fill,
    /// The shape of a tensor: reads no bytes of it.
    ShapeOf,
    /// Matrix products, with or without bias.
    MatMul,
    /// Convolutions.
    Conv,
    /// Transposed convolutions.
    ConvTranspose,
    /// Pooling.
    Pool,
    /// Sums, means and the like along axes.
    Reduce,
    /// Positions of maxima and minima along an axis.
    ArgReduce,
    /// Running sums and the like.
    Scan,
    /// The largest elements and their positions.
    TopK,
    /// Batch, layer, group, instance and RMS normalisation; output 0 has the shape of input 0.
    Norm,
    /// Softmax and its logarithm.
    Softmax,
    /// Attention in one kernel.
    Attention,
    /// Recurrent layers.
    Rnn,
    /// Another shape for the same elements.
    Reshape,
    /// Without dims of 1.
    Squeeze,
    /// With more dims of 1.
    Unsqueeze,
    /// Two dims.
    Flatten,
    /// The same.
    Identity,
    /// Dropout where it drops nothing: at inference.
    Dropout,
    /// Permuted dims.
    Transpose {
        /// The input's axis for each of the output's.
        perm: Vec<usize>,
    },
    /// A part of the elements.
    Slice {
        /// What is kept of which axis; axes that are not named are kept whole.
        cuts: Vec<Cut>,
    },
    /// Consecutive parts along an axis, as long as the outputs are.
    Split {
        /// Which axis.
        axis: usize,
    },
    /// Inputs one after another along an axis.
    Concat {
        /// Which axis.
        axis: usize,
    },
    /// Elements or slices at computed places.
    Gather,
    /// The first input with elements replaced at computed places.
    Scatter,
    /// The first input with a slice replaced.
    UpdateSlice,
    /// More elements at the edges.
    Pad,
    /// Interpolation to another size.
    Resize,
    /// Repeated elements: broadcasting to a shape, tiling.
    Expand,
    /// Anything else. What it does to memory beside reading inputs and writing outputs is
    /// declared on the node.
    Custom,
}

/// The part of an axis that a slice keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Which axis.
    pub axis: usize,
    /// The first element.
    pub start: u64,
    /// How many elements.
    pub len: u64,
    /// From one element to the next; negative for backwards.
    pub step: i64,
}

impl Cut {
    /// So many elements in a row.
    #[must_use]
    pub fn new(axis: usize, start: u64, len: u64) -> Self {
        Cut { axis, start, len, step: 1 }
    }

    /// Whether what is kept is side by side and in the order that it has: a single element is,
    /// whatever the step.
    #[must_use]
    pub fn is_run(&self) -> bool {
        self.step == 1 || self.len <= 1
    }

    /// Whether all of an axis of so many elements is kept as it is. A whole axis backwards is not.
    #[must_use]
    pub fn keeps_all(&self, dim: u64) -> bool {
        self.is_run() && self.len == dim
    }
}

/// The classes and the kinds that mean them. The first kind of each is the class's own name.
const KINDS: [(&str, &[&str]); 39] = [
    (
        "unary",
        &[
            "abs",
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "bitwise_not",
            "ceil",
            "celu",
            "cos",
            "cosh",
            "elu",
            "erf",
            "exp",
            "floor",
            "gelu",
            "hardsigmoid",
            "hardswish",
            "isinf",
            "isnan",
            "leaky_relu",
            "log",
            "mish",
            "neg",
            "not",
            "reciprocal",
            "relu",
            "round",
            "rsqrt",
            "selu",
            "sigmoid",
            "sign",
            "silu",
            "sin",
            "sinh",
            "softplus",
            "softsign",
            "sqrt",
            "square",
            "tan",
            "tanh",
        ],
    ),
    (
        "binary",
        &[
            "add",
            "and",
            "atan2",
            "bitand",
            "bitor",
            "bitshift",
            "bitxor",
            "div",
            "equal",
            "greater",
            "greater_equal",
            "less",
            "less_equal",
            "max",
            "min",
            "mod",
            "mul",
            "not_equal",
            "or",
            "pow",
            "prelu",
            "sub",
            "xor",
        ],
    ),
    ("variadic", &[]),
    ("by_rows", &[]),
    ("where", &["select"]),
    ("clamp", &["clip"]),
    ("cast", &["convert"]),
    ("quantize", &["dequantize"]),
    ("copy", &["clone"]),
    ("fill", &["arange", "ones", "random", "range", "zeros"]),
    ("shape_of", &["shape"]),
    ("matmul", &["bmm", "dot", "gemm", "linear"]),
    ("conv", &["conv1d", "conv2d", "conv3d", "convolution"]),
    ("conv_transpose", &["deconv"]),
    ("pool", &["avg_pool", "global_avg_pool", "lp_pool", "max_pool"]),
    ("reduce", &["all", "any", "mean", "prod", "reduce_max", "reduce_min", "sum"]),
    ("arg_reduce", &["argmax", "argmin"]),
    ("scan", &["cumprod", "cumsum"]),
    ("top_k", &["sort", "topk"]),
    ("norm", &["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]),
    ("softmax", &["log_softmax"]),
    ("attention", &["sdpa"]),
    ("rnn", &["gru", "lstm"]),
    ("reshape", &["view_as"]),
    ("squeeze", &[]),
    ("unsqueeze", &[]),
    ("flatten", &[]),
    ("identity", &[]),
    ("dropout", &[]),
    ("transpose", &["permute"]),
    ("slice", &["narrow"]),
    ("split", &["chunk"]),
    ("concat", &["cat"]),
    ("gather", &["embedding", "index_select"]),
    ("scatter", &["index_put", "scatter_add"]),
    ("update_slice", &["kv_append"]),
    ("pad", &[]),
    ("resize", &["upsample"]),
    ("expand", &["broadcast", "tile"]),
];

impl Op {
    /// What the class is called in the text form.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Op::Unary => "unary",
            Op::Binary => "binary",
            Op::Variadic => "variadic",
            Op::ByRows => "by_rows",
            Op::Where => "where",
            Op::Clamp => "clamp",
            Op::Cast => "cast",
            Op::Quantize => "quantize",
            Op::Copy => "copy",
            Op::Fill => "fill",
            Op::ShapeOf => "shape_of",
            Op::MatMul => "matmul",
            Op::Conv => "conv",
            Op::ConvTranspose => "conv_transpose",
            Op::Pool => "pool",
            Op::Reduce => "reduce",
            Op::ArgReduce => "arg_reduce",
            Op::Scan => "scan",
            Op::TopK => "top_k",
            Op::Norm => "norm",
            Op::Softmax => "softmax",
            Op::Attention => "attention",
            Op::Rnn => "rnn",
            Op::Reshape => "reshape",
            Op::Squeeze => "squeeze",
            Op::Unsqueeze => "unsqueeze",
            Op::Flatten => "flatten",
            Op::Identity => "identity",
            Op::Dropout => "dropout",
            Op::Transpose { .. } => "transpose",
            Op::Slice { .. } => "slice",
            Op::Split { .. } => "split",
            Op::Concat { .. } => "concat",
            Op::Gather => "gather",
            Op::Scatter => "scatter",
            Op::UpdateSlice => "update_slice",
            Op::Pad => "pad",
            Op::Resize => "resize",
            Op::Expand => "expand",
            Op::Custom => "custom",
        }
    }

    /// The class of that name, with attributes still to be filled in.
    #[must_use]
    pub fn from_class(name: &str) -> Option<Op> {
        Op::every().into_iter().find(|op| op.class() == name)
    }

    /// The class that a kind belongs to, in any case of letters: `relu`, `MatMul`, `narrow`.
    #[must_use]
    pub fn from_kind(kind: &str) -> Option<Op> {
        let is_kind = |name: &str| name.eq_ignore_ascii_case(kind);
        let row = KINDS.iter().find(|row| is_kind(row.0) || row.1.iter().any(|name| is_kind(name)));
        row.and_then(|row| Op::from_class(row.0))
    }

    /// One op of every class, without attributes.
    #[must_use]
    pub fn every() -> [Op; 40] {
        [
            Op::Unary,
            Op::Binary,
            Op::Variadic,
            Op::ByRows,
            Op::Where,
            Op::Clamp,
            Op::Cast,
            Op::Quantize,
            Op::Copy,
            Op::Fill,
            Op::ShapeOf,
            Op::MatMul,
            Op::Conv,
            Op::ConvTranspose,
            Op::Pool,
            Op::Reduce,
            Op::ArgReduce,
            Op::Scan,
            Op::TopK,
            Op::Norm,
            Op::Softmax,
            Op::Attention,
            Op::Rnn,
            Op::Reshape,
            Op::Squeeze,
            Op::Unsqueeze,
            Op::Flatten,
            Op::Identity,
            Op::Dropout,
            Op::Transpose { perm: Vec::new() },
            Op::Slice { cuts: Vec::new() },
            Op::Split { axis: 0 },
            Op::Concat { axis: 0 },
            Op::Gather,
            Op::Scatter,
            Op::UpdateSlice,
            Op::Pad,
            Op::Resize,
            Op::Expand,
            Op::Custom,
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn classes_and_kinds_are_told_apart() {
        let names =
            KINDS.iter().flat_map(|row| std::iter::once(row.0).chain(row.1.iter().copied()));
        let names: Vec<&str> = names.collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), distinct.len());
        for op in Op::every() {
            assert_eq!(Op::from_class(op.class()), Some(op.clone()));
            let by_kind = if op == Op::Custom { None } else { Some(op.clone()) };
            assert_eq!(Op::from_kind(op.class()), by_kind);
        }
    }

    #[test]
    fn kinds_are_read_in_any_case() {
        assert_eq!(Op::from_kind("Relu"), Some(Op::Unary));
        assert_eq!(Op::from_kind("MatMul"), Some(Op::MatMul));
        assert_eq!(Op::from_kind("narrow"), Some(Op::Slice { cuts: Vec::new() }));
        assert_eq!(Op::from_kind("frobnicate"), None);
    }
}
