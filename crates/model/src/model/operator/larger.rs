//! The larger ones: products with more to them, recurrence, attention, losses.

use plimsoll_graph::Dtype;

use super::{Convolution, Unary};

/// `alpha * a * b + beta * c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// Whether `a` is transposed.
    pub transpose_a: bool,
    /// Whether `b` is.
    pub transpose_b: bool,
    /// What the product is multiplied by.
    pub alpha: f32,
    /// What `c` is.
    pub beta: f32,
}

impl Default for Gemm {
    fn default() -> Self {
        Gemm { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 }
    }
}

/// A product of matrices that are transposed first, and what is made of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FusedMatMul {
    /// Whether the last two axes of `a` are swapped; not if it has one.
    pub transpose_a: bool,
    /// Whether those of `b` are.
    pub transpose_b: bool,
    /// What the product is multiplied by.
    pub alpha: f32,
    /// What follows, if anything does.
    pub activation: Option<Unary>,
}

/// `x, w, bias?, more?`: a convolution, `more` added, and what is made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedConv {
    /// The convolution.
    pub conv: Convolution,
    /// What follows, if anything does.
    pub activation: Option<Unary>,
}

/// A recurrent layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrence {
    /// What a step computes.
    pub cell: Cell,
    /// The length of the hidden state; `None` if it follows from the weights.
    pub hidden: Option<u64>,
    /// Which way it goes.
    pub direction: Direction,
    /// Whether the batch is the first axis, not the sequence.
    pub batch_first: bool,
    /// What follows each gate, for one direction after the other: of [`Cell::Rnn`] `f`, of
    /// [`Cell::Gru`] `f, g`, of [`Cell::Lstm`] `f, g, h`.
    pub activations: Vec<Unary>,
    /// Where the operands of these are cut off: between `-clip` and `clip`.
    pub clip: Option<f32>,
}

impl Recurrence {
    /// A layer that goes forward, with the functions that its cell has if none are said.
    #[must_use]
    pub fn new(cell: Cell) -> Self {
        let (direction, activations) = (Direction::Forward, cell.activations().to_vec());
        Recurrence { cell, hidden: None, direction, batch_first: false, activations, clip: None }
    }

    /// 1, or 2 for both ways.
    #[must_use]
    pub fn directions(&self) -> u64 {
        match self.direction {
            Direction::Forward | Direction::Reverse => 1,
            Direction::Both => 2,
        }
    }
}

/// What a step of a recurrent layer computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// One gate.
    Rnn,
    /// Gates `z, r, h`.
    Gru {
        /// Whether the state is multiplied by its weights before it is by the gate.
        linear_before_reset: bool,
    },
    /// Gates `i, o, f, c`.
    Lstm {
        /// Whether the forget gate is what is left of the input gate.
        input_forget: bool,
    },
}

impl Cell {
    /// What follows each gate, if nothing else is said.
    #[must_use]
    pub fn activations(self) -> &'static [Unary] {
        match self {
            Cell::Rnn => &[Unary::Tanh],
            Cell::Gru { .. } => &[Unary::Sigmoid, Unary::Tanh],
            Cell::Lstm { .. } => &[Unary::Sigmoid, Unary::Tanh, Unary::Tanh],
        }
    }
}

/// Which way a recurrent layer goes through its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Direction {
    Forward,
    Reverse,
    Both,
}

/// Attention in one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attention {
    /// Heads of queries, where they are flattened into the last axis.
    pub query_heads: u64,
    /// Heads of keys and values, likewise.
    pub key_heads: u64,
    /// Whether a query sees no keys behind it.
    pub is_causal: bool,
    /// What scores are multiplied by; `None` for one over the root of the size of a head.
    pub scale: Option<f32>,
    /// `softcap * tanh(score / softcap)`, if it is not 0.
    pub softcap: f32,
    /// The type in which the softmax is reckoned, if it is not that of the operands.
    pub softmax_precision: Option<Dtype>,
    /// Which scores are handed out.
    pub scores: Scores,
}

/// Which scores attention hands out, if they are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scores {
    /// Products of queries and keys.
    #[default]
    Products,
    /// With the mask added.
    Masked,
    /// With the soft cap.
    Capped,
    /// What the softmax makes.
    Weights,
}

/// Vectors turned by the angles of their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RotaryEmbedding {
    /// Whether pairs are neighbours, not halves apart.
    pub interleaved: bool,
    /// Heads, where they are flattened into the last axis.
    pub heads: u64,
    /// How much of a head is turned; 0 for all.
    pub dims: u64,
}

/// A loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Whether scores become log probabilities first.
    pub softmax: bool,
    /// What is made of the losses.
    pub reduction: LossReduction,
    /// A label that counts for nothing.
    pub ignore: Option<i64>,
}

/// What is made of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReduction {
    /// Nothing.
    None,
    /// Their sum.
    Sum,
    /// Their mean, weighed.
    Mean,
}
