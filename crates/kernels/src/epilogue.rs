//! What happens to an output of a product before it is stored: scale, bias, residual, activation.
//!
//! `y = activation(alpha · sum + beta · bias + beta · residual)`, in that order for every element, and then whatever
//! a chain makes of it. A fused
//! epilogue saves a pass over memory for each of these, and the tensor between them. In a product the rows are
//! those of the output; in a convolution a row is the plane of one output channel.

use crate::Level;
use crate::activation::Activation;
use crate::chain::{Rows, Then};

/// What is done to the sums of a product or a convolution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Epilogue<'a> {
    /// Factor of the sums.
    pub alpha: f32,
    /// Factor of bias and residual.
    pub beta: f32,
    /// What is added to all elements of a row or of a column.
    pub bias: Bias<'a>,
    /// What is added element by element.
    pub residual: Residual<'a>,
    /// What is applied then.
    pub activation: Activation,
    /// What is applied last, block by block as the outputs are stored.
    pub then: Option<Then<'a>>,
}

/// What is added to all elements of a row or of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bias<'a> {
    /// Nothing.
    None,
    /// One number for all.
    Scalar(f32),
    /// One number for each row: output channels of a convolution.
    Row(&'a [f32]),
    /// One number for each column.
    Column(&'a [f32]),
}

/// What is added element by element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Residual<'a> {
    /// Nothing.
    None,
    /// What is in the output before: the output takes over the residual's bytes.
    InPlace,
    /// A tensor of the output's shape.
    Rows {
        /// Its elements.
        data: &'a [f32],
        /// Elements from one row to the next.
        stride: usize,
    },
}

impl Epilogue<'_> {
    /// The sums as they are.
    pub const NONE: Epilogue<'static> = Epilogue {
        alpha: 1.0,
        beta: 1.0,
        bias: Bias::None,
        residual: Residual::None,
        activation: Activation::None,
        then: None,
    };

    /// What is left to do for rows of outputs that are stored: the activation, if it is no clamp, and the chain.
    pub(crate) fn finish(&self, level: Level, rows: Rows, y: &mut [f32]) {
        if let Some(activation) = left_over(self.activation) {
            for row in 0..rows.count {
                activation.apply(level, &mut y[row * rows.stride..][..rows.len]);
            }
        }
        if let Some(then) = &self.then {
            then.rows(level, rows, y);
        }
    }

    /// The output from a sum, but for the chain. The bias is that of row `bias_row`; `before` is what is in the output now.
    #[must_use]
    pub fn at(&self, sum: f32, bias_row: usize, row: usize, column: usize, before: f32) -> f32 {
        let residual = match self.residual {
            Residual::None => 0.0,
            Residual::InPlace => before,
            Residual::Rows { data, stride } => data[row * stride + column],
        };
        let bias = self.bias.at(bias_row, column);
        self.activation.at(self.alpha * sum + self.beta * bias + self.beta * residual)
    }
}

/// The activation that is still to do once the blocks are stored.
fn left_over(activation: Activation) -> Option<Activation> {
    let is_done = activation == Activation::None || activation.as_clamp().is_some();
    (!is_done).then_some(activation)
}

impl Default for Epilogue<'_> {
    fn default() -> Self {
        Epilogue::NONE
    }
}

impl Bias<'_> {
    /// What is added at that row and column.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> f32 {
        match self {
            Bias::None => 0.0,
            Bias::Scalar(x) => *x,
            Bias::Row(x) => x[row],
            Bias::Column(x) => x[column],
        }
    }
}
