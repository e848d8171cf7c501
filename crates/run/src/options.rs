//! How a model is run.

use plimsoll_graph::{Case, LoweringOptions, Tries};
use plimsoll_kernels::Level;
use plimsoll_model::range::Range;
use plimsoll_model::{Bindings, FusedStep};

/// How a model is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How large the dims of inputs are.
    pub bindings: Bindings,
    /// How values are held, and what may be a view or in place.
    pub lowering: LoweringOptions,
    /// How to plan.
    pub plan: plimsoll::Options,
    /// What is tried to make the arena smaller.
    pub tries: Tries,
    /// Which instructions kernels may use.
    pub level: Level,
    /// How many threads a run may use, that of the caller included; at most 16. Each has scratch of its own in the plan.
    /// Outputs have the same bits with any number.
    pub threads: usize,
    /// Which nodes are one step.
    pub fuse: Fuse,
    /// Inputs, each with the output whose elements it has after a run: what a run leaves, the next one finds. The output is
    /// made in the bytes of the input where it can be, and copied there otherwise.
    pub states: Vec<(String, String)>,
    /// Inputs, each with the output that is made in its bytes; an error if it cannot be.
    pub donations: Vec<(String, String)>,
    /// Dims of which any size of a range may be asked for; bound to their largest. Every node is then a step by itself.
    pub ranges: Vec<Range>,
}

/// Which nodes are one step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fuse {
    /// Every node by itself.
    Nothing,
    /// Those for which there is a kernel, as long as the arena is not larger.
    Best,
    /// These.
    Steps(Vec<FusedStep>),
}

impl Default for Options {
    /// The best plan, and the instructions of this processor.
    fn default() -> Self {
        let Case { lowering, options: plan, tries, .. } =
            Case::new(plimsoll_graph::Graph::default());
        let (bindings, level) = (Bindings::default(), Level::detect());
        Options {
            bindings,
            lowering,
            plan,
            tries,
            level,
            threads: 1,
            fuse: Fuse::Best,
            states: Vec::new(),
            donations: Vec::new(),
            ranges: Vec::new(),
        }
    }
}

impl Options {
    /// Every tensor in bytes of its own: nothing is a view, nothing works in place, nothing is used again, and every
    /// node runs by itself. What a run in a plan is compared with.
    #[must_use]
    pub fn apart() -> Self {
        let mut options = Options::quick();
        options.lowering.kernels.preset = plimsoll_graph::Preset::Copying;
        options.plan =
            options.plan.with_in_place(false).with_no_share(plimsoll::NoShare::Everything);
        options.tries.join = false;
        options.fuse = Fuse::Nothing;
        options
    }

    /// What a session is compared with that runs these fused steps: the same steps, with every tensor apart.
    pub(crate) fn apart_from(&self, steps: &[FusedStep]) -> Self {
        Options {
            bindings: self.bindings.clone(),
            level: self.level,
            fuse: Fuse::Steps(steps.to_vec()),
            ..Options::apart()
        }
    }

    /// A plan by rules alone, in the order of the model.
    #[must_use]
    pub fn quick() -> Self {
        let mut options = Options::default();
        options.tries.order = None;
        options.plan = options.plan.with_work(0);
        options
    }

    /// The same with these dims.
    #[must_use]
    pub fn with_bindings(self, bindings: Bindings) -> Self {
        Options { bindings, ..self }
    }

    /// The same with so many threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Options { threads, ..self }
    }

    /// The same with states.
    #[must_use]
    pub fn with_states(self, states: &[(&str, &str)]) -> Self {
        let named = |(input, output): &(&str, &str)| ((*input).to_owned(), (*output).to_owned());
        Options { states: states.iter().map(named).collect(), ..self }
    }

    /// The same for every size of ranges, each with its symbol, least and largest size.
    #[must_use]
    pub fn with_ranges(mut self, ranges: &[(&str, u64, u64)]) -> Self {
        for (symbol, least, most) in ranges {
            self.bindings.symbols.insert((*symbol).to_owned(), *most);
            self.ranges.push(Range { symbol: (*symbol).to_owned(), least: *least, most: *most });
        }
        self
    }

    /// Whether nothing is ever made in the bytes of something else.
    pub(crate) fn is_apart(&self) -> bool {
        self.lowering.kernels.preset == plimsoll_graph::Preset::Copying
    }
}
