//! What is made from nowhere: random numbers and windows of signal processing.

use plimsoll_graph::Dtype;

/// Random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// Their type, where it is said.
    pub dtype: Option<Dtype>,
    /// How they are distributed.
    pub distribution: Distribution,
    /// What they begin with, where it is said.
    pub seed: Option<f32>,
}

impl Default for Random {
    fn default() -> Self {
        let distribution = Distribution::Uniform { low: 0.0, high: 1.0 };
        Random { dtype: None, distribution, seed: None }
    }
}

/// How random numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Distribution {
    Normal { mean: f32, scale: f32 },
    Uniform { low: f32, high: f32 },
}

/// A window of signal processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalWindow {
    /// The type.
    pub dtype: Dtype,
    /// Its form.
    pub form: WindowForm,
    /// Whether it is one period of something longer, not symmetric.
    pub periodic: bool,
}

/// The form of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum WindowForm {
    Blackman,
    Hamming,
    Hann,
}
