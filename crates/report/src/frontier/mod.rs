//! What fitting a model found: arenas against arithmetic, as text, JSON, a picture and a page.

mod json;
mod picture;
mod text;

use crate::origin::Origin;

/// A model in forms that take less memory for more arithmetic.
#[derive(Clone, Debug)]
pub struct FrontierReport<'a> {
    /// The model.
    pub source: &'a Origin,
    /// The arena of the model as it is.
    pub source_arena_bytes: u64,
    /// The multiply-adds of the model as it is.
    pub source_multiply_adds: u64,
    /// The nodes of the model as it is.
    pub source_nodes: usize,
    /// What was asked for.
    pub wanted: Wanted,
    /// With falling arenas and rising arithmetic.
    pub points: Vec<FrontierPoint>,
    /// The point that is the answer, if there is one.
    pub chosen: Option<usize>,
    /// Whether the time limit ended the search before everything was tried.
    pub stopped: bool,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// An arena of at most so many bytes.
    Budget(u64),
    /// At most so much more arithmetic, in percent.
    MostArithmetic(f64),
    /// Everything.
    Frontier,
}

/// One form of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontierPoint {
    /// The arena of its plan.
    pub arena_bytes: u64,
    /// Its multiply-adds.
    pub multiply_adds: u64,
    /// How many nodes it has.
    pub nodes: usize,
    /// What is computed otherwise.
    pub regions: Vec<Region>,
    /// The node that runs when most bytes are in use.
    pub peak_node: Option<String>,
    /// The tensors that are in use then and their bytes, the largest first.
    pub peak_tensors: Vec<(String, u64)>,
}

/// Nodes that are computed otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// In which way, in one word.
    pub way: &'static str,
    /// The same in a few words, such as `in 8 steps of rows`.
    pub words: String,
    /// The names of the nodes of the source, in their order.
    pub nodes: Vec<String>,
    /// The most bytes in use while these nodes run in the model as it is.
    pub source_peak_bytes: u64,
    /// What it takes now; `None` if it has no nodes of its own: they are in the steps of another region.
    pub peak: Option<RegionPeak>,
}

/// What a region takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionPeak {
    /// How many nodes it has become.
    pub nodes: usize,
    /// The most bytes in use while it runs.
    pub bytes: u64,
    /// In which of its steps, counted from 0.
    pub step: u64,
    /// The node of the source that is computed then.
    pub source: Option<String>,
    /// The most bytes that one of its steps finds of what earlier ones have made.
    pub carried_bytes: u64,
}

impl FrontierReport<'_> {
    /// How much more arithmetic a point has than the source, in percent.
    #[allow(clippy::cast_precision_loss, reason = "for people; the counts are exact beside it")]
    fn extra_percent(&self, point: &FrontierPoint) -> f64 {
        let source = self.source_multiply_adds.max(1) as f64;
        (point.multiply_adds as f64 - self.source_multiply_adds as f64) / source * 100.0
    }

    /// The same in words, with a sign.
    fn extra(&self, point: &FrontierPoint) -> String {
        match self.extra_percent(point) {
            0.0 => "0 %".to_owned(),
            extra if extra.abs() < 0.05 => {
                format!("{}0.1 %", if extra > 0.0 { "< +" } else { "> -" })
            }
            extra => format!("{extra:+.1} %"),
        }
    }
}
