//! What fitting a model asks for, and what it answers.

use std::collections::BTreeSet;
use std::fmt;

use plimsoll::Options;
use plimsoll_graph::{CaseError, LoweringOptions};
use plimsoll_model::ShapeError;

use crate::fuse::FusionKind;
use crate::rewritten::Rewritten;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// An arena of at most so many bytes, for the least arithmetic.
    Budget(u64),
    /// The smallest arena for at most so much more arithmetic, in percent of what the model has.
    MostArithmetic {
        /// How much.
        percent: f64,
    },
    /// All points at which less memory costs more arithmetic.
    Frontier,
}

/// How a model is fitted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FitOptions {
    /// What is asked for.
    pub goal: Goal,
    /// How models are planned.
    pub options: Options,
    /// How values are held, and what kernels can do.
    pub lowering: LoweringOptions,
    /// How many candidates are planned at most.
    pub work: u64,
    /// The kinds of fused kernels that models are planned for; none for a runtime that computes node by node.
    pub fusions: BTreeSet<FusionKind>,
    /// The size of a fast memory that every node has to find room in, if there are two memories.
    pub fast_bytes: Option<u64>,
}

impl FitOptions {
    /// All defaults for a goal.
    #[must_use]
    pub fn new(goal: Goal) -> Self {
        let (options, lowering) = (Options::default(), LoweringOptions::default());
        let fusions = BTreeSet::new();
        FitOptions { goal, options, lowering, work: 64, fusions, fast_bytes: None }
    }
}

/// How a part of a model is computed otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// In steps of a few rows, from the first node to the last.
    Flow {
        /// How many steps there are.
        steps: u64,
    },
    /// In parts of the channels, which are added up.
    Channels {
        /// How many parts there are.
        parts: u64,
    },
    /// Once more, where it is needed again.
    Again,
    /// Again for every window that reads some of its rows, in the steps of a flow: none are kept.
    EveryWindow,
    /// In parts along an axis that nothing mixes: tokens, heads, batches.
    Parts {
        /// How many parts there are.
        parts: u64,
    },
}

impl Way {
    /// One word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Way::Flow { .. } => "flow",
            Way::Channels { .. } => "channels",
            Way::Again => "again",
            Way::EveryWindow => "windows",
            Way::Parts { .. } => "parts",
        }
    }
}

impl Way {
    /// In how many steps or parts, where there are several.
    #[must_use]
    pub fn count(self) -> Option<u64> {
        match self {
            Way::Flow { steps: count }
            | Way::Channels { parts: count }
            | Way::Parts { parts: count } => Some(count),
            Way::Again | Way::EveryWindow => None,
        }
    }

    /// The way of that [name](Way::name) and [count](Way::count).
    #[must_use]
    pub fn named(name: &str, count: Option<u64>) -> Option<Self> {
        let many = count.map(|count| {
            [
                Way::Flow { steps: count },
                Way::Channels { parts: count },
                Way::Parts { parts: count },
            ]
        });
        let one = [Way::Again, Way::EveryWindow].into_iter().filter(|_| count.is_none());
        many.into_iter().flatten().chain(one).find(|way| way.name() == name)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Flow { steps } => write!(f, "in {steps} steps of rows"),
            Way::Channels { parts } => write!(f, "in {parts} parts of channels, added up"),
            Way::Again => f.write_str("once more, where it is needed again"),
            Way::EveryWindow => f.write_str("again for every window that reads it"),
            Way::Parts { parts } => write!(f, "in {parts} parts"),
        }
    }
}

/// A part of a model that is computed otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// How.
    pub way: Way,
    /// Which nodes of the source, sorted.
    pub nodes: Vec<usize>,
}

/// A model that computes the same, and what it takes.
#[derive(Clone, Debug)]
pub struct Point {
    /// The model. Its nodes are in the order in which they were planned.
    pub rewritten: Rewritten,
    /// The arena of its plan.
    pub arena_bytes: u64,
    /// Its multiply-adds.
    pub multiply_adds: u64,
    /// What it costs beside them, in bytes: those that are copied, weights that are read, and 32 KiB for every node.
    pub overhead_bytes: u64,
    /// Why its arena is not smaller.
    pub peak: AtPeak,
    /// By region of the model, what it takes; `None` if it has no nodes of its own.
    pub regions: Vec<Option<RegionPeak>>,
}

/// What a region takes in the plan of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionPeak {
    /// The most bytes in use while one of its nodes runs.
    pub bytes: u64,
    /// In which of its steps, counted from 0.
    pub step: u64,
    /// The node of the source that is computed then.
    pub source: Option<usize>,
    /// The most bytes that one of its steps finds of what earlier ones have made.
    pub carried_bytes: u64,
}

/// What is there when most bytes are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtPeak {
    /// The node that runs; `None` if none does.
    pub node: Option<String>,
    /// The tensors that are in use and their bytes, the largest first.
    pub tensors: Vec<(String, u64)>,
}

/// The points that were found.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The arena of the model as it is.
    pub source_arena_bytes: u64,
    /// The multiply-adds of the model as it is.
    pub source_multiply_adds: u64,
    /// By node of the model as it is, the most bytes in use while it runs; 0 if it takes no step.
    pub source_loads: Vec<u64>,
    /// All arenas of at most so many bytes are as good.
    pub enough_bytes: u64,
    /// With falling arenas and rising arithmetic. The first is the model as it is, unless another one is smaller
    /// for as much arithmetic.
    pub points: Vec<Point>,
    /// For two memories: the model as it is, and others whose nodes touch less at once, whatever their arenas.
    pub narrow: Vec<Point>,
}

impl Frontier {
    /// The model as it is, and nothing else yet.
    pub(crate) fn of(source: Point, source_loads: Vec<u64>, options: &FitOptions) -> Self {
        let enough_bytes = match options.goal {
            Goal::Budget(bytes) => bytes,
            Goal::MostArithmetic { .. } | Goal::Frontier => 0,
        };
        Frontier {
            source_arena_bytes: source.arena_bytes,
            source_multiply_adds: source.multiply_adds,
            source_loads,
            enough_bytes,
            narrow: options.fast_bytes.map(|_| source.clone()).into_iter().collect(),
            points: vec![source],
        }
    }

    /// The point that meets a goal; `None` if none does, or if all are asked for.
    #[must_use]
    pub fn asked_for(&self, goal: Goal) -> Option<&Point> {
        match goal {
            Goal::Budget(bytes) => self.within(bytes),
            Goal::MostArithmetic { percent } => self.at_most(percent),
            Goal::Frontier => None,
        }
    }

    /// Adds a point, unless another one is at least as good; those that it is better than go. What costs the same
    /// memory and arithmetic is told apart by what it costs beside them.
    pub(crate) fn add(&mut self, point: Point) {
        let enough = self.enough_bytes;
        let cost = |point: &Point| (point.arena_bytes.max(enough), point.multiply_adds);
        let (arena, arithmetic) = cost(&point);
        let is_beaten = |other: &Point| {
            let (others, its) = cost(other);
            let is_equal = (others, its) == (arena, arithmetic);
            let is_no_worse = others <= arena && its <= arithmetic;
            is_no_worse && !(is_equal && point.overhead_bytes < other.overhead_bytes)
        };
        if self.points.iter().any(is_beaten) {
            return;
        }
        self.points.retain(|other| cost(other).0 < arena || cost(other).1 < arithmetic);
        self.points.push(point);
        self.points.sort_by_cached_key(|point| std::cmp::Reverse(cost(point)));
    }

    /// The point with the least arithmetic that fits, if one does.
    #[must_use]
    pub fn within(&self, arena_bytes: u64) -> Option<&Point> {
        self.points.iter().find(|point| point.arena_bytes <= arena_bytes)
    }

    /// The point with the smallest arena that has at most so much more arithmetic than the source, in percent.
    #[must_use]
    pub fn at_most(&self, percent: f64) -> Option<&Point> {
        self.points.iter().rev().find(|point| self.extra_percent(point) <= percent)
    }

    /// How much more arithmetic a point has than the source, in percent.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "for people; counts are exact beside it")]
    pub fn extra_percent(&self, point: &Point) -> f64 {
        let source = self.source_multiply_adds.max(1) as f64;
        (point.multiply_adds as f64 - self.source_multiply_adds as f64) / source * 100.0
    }
}

/// Why a model cannot be fitted.
#[derive(Debug)]
#[non_exhaustive]
pub enum FitError {
    /// Its shapes are not known.
    Shapes(ShapeError),
    /// It has no plan.
    Plan(CaseError),
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitError::Shapes(error) => error.fmt(f),
            FitError::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FitError {}

impl From<ShapeError> for FitError {
    fn from(error: ShapeError) -> Self {
        FitError::Shapes(error)
    }
}

impl From<CaseError> for FitError {
    fn from(error: CaseError) -> Self {
        FitError::Plan(error)
    }
}
