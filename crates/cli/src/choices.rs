//! The choices of a plan on the command line, and as a plan tells them.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use plimsoll::{BankSpec, Boundary, NoShare, Options, Recorded};
use plimsoll_graph::{Graph, Selector, no_reuse, selected_nodes};
use serde_json::{Value, json};

use crate::input::Source;
use crate::packing::PackingArgs;
use crate::{bank, boundary, shared, size};

/// What a command line can say about a plan.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Placement")]
pub(crate) struct ChoiceArgs {
    /// Align every offset to this many bytes, unless the value declares its own alignment [default: 64]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_align, allow_hyphen_values = true)]
    pub(crate) align: Option<NonZeroU64>,

    /// Which inputs, weights and outputs are placed in the arena [default: outputs]
    ///
    /// A list of inputs, weights, outputs, or "all", or "none". Weights are params and constants, which can
    /// also be named one by one. What is not placed is memory of the caller.
    #[arg(long, value_name = "KINDS", value_parser = boundary::parse_place)]
    place: Option<Boundary<bool>>,

    /// Start from this set of options instead of the defaults
    #[arg(long, value_enum, value_name = "NAME")]
    preset: Option<Preset>,

    /// Reuse the bytes of placed inputs after their last read
    #[arg(long)]
    reclaim_inputs: bool,

    /// Leave this many bytes free after every placed input, weight and output, or by kind:
    /// inputs=SIZE,outputs=SIZE [default: 0]
    #[arg(long, value_name = "SIZE", value_parser = boundary::parse_guards, allow_hyphen_values = true)]
    guard: Option<Boundary<u64>>,

    /// Reserve at least this many bytes for every placed input, weight and output, so that even an empty
    /// one has an address
    #[arg(long, value_name = "SIZE", value_parser = size::parse, allow_hyphen_values = true)]
    min_slot: Option<u64>,

    /// Never compute in place, except where an op requires it
    #[arg(long)]
    no_in_place: bool,

    /// Give every value its own bytes for the whole run, to bisect a bug
    ///
    /// With a list of ops and indices, only the outputs of these nodes: --no-reuse=Transpose,Narrow:0-9
    #[arg(long, value_name = "NODES", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_parser = parse_no_reuse)]
    no_reuse: Option<NoReuse>,

    /// Add a memory bank, the preferred one first [default: one unbounded bank, "arena"]
    ///
    /// NAME, or NAME=CAPACITY, then options: sram=512KiB,align=16,buffer=64KiB,repeat,roles=params. "buffer"
    /// limits the size of one buffer, "repeat" adds banks of this kind as needed, "roles" says which values
    /// may be in it.
    #[arg(long = "bank", value_name = "BANK", value_parser = bank::parse)]
    banks: Vec<BankSpec>,

    /// Read the places of shared values from another plan (its params), or from what --write-shared wrote
    #[arg(long, value_name = "FILE.json")]
    shared_from: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) packing: PackingArgs,
}

/// Choices that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// Place inputs, weights and outputs, empty ones too
    Inference,
    /// Place inputs, constants and outputs, empty ones too; params are outside the arena
    Activations,
}

/// What can follow `--no-reuse`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NoReuse {
    Everything,
    Of(Vec<Selector>),
}

/// Whether there are nodes of the kinds that an option selects.
pub(crate) fn check_kinds(graph: &Graph, selectors: &[Selector], option: &str) -> Result<()> {
    for selector in selectors {
        // A range may reach beyond the last: whoever halves ranges need not know where it is.
        let kind = Selector { range: None, ..selector.clone() };
        if selected_nodes(graph, &[kind]).is_empty() {
            bail!("{option}: no node is of kind {:?}", selector.kind);
        }
    }
    Ok(())
}

fn parse_no_reuse(text: &str) -> Result<NoReuse, String> {
    if text.is_empty() {
        return Ok(NoReuse::Everything);
    }
    let selector =
        |part: &str| part.parse().map_err(|e: plimsoll_graph::BadSelector| e.to_string());
    text.split(',').map(selector).collect::<Result<_, _>>().map(NoReuse::Of)
}

impl ChoiceArgs {
    /// Nothing but alignment, what has a place, what is in place, and how to pack.
    pub(crate) fn plain(
        align: Option<NonZeroU64>,
        place: Option<Boundary<bool>>,
        no_in_place: bool,
        packing: PackingArgs,
    ) -> Self {
        ChoiceArgs { align, place, no_in_place, packing, ..ChoiceArgs::default() }
    }

    /// The files that are read.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.shared_from.as_deref().into_iter()
    }

    /// The options; `None` if only the list of algorithms was asked for, which is printed then.
    pub(crate) fn resolve(&self) -> Result<Option<Options>> {
        let Some(pack) = self.packing.resolve(Options::default().pack)? else { return Ok(None) };
        if let Err(error) = bank::check_names(&self.banks) {
            bail!("--bank: {error}");
        }
        let mut options = match self.preset {
            None => Options::default(),
            Some(Preset::Inference) => Options::inference(),
            Some(Preset::Activations) => Options::activations_only(),
        };
        options.pack = pack;
        options.align = self.align.map_or(options.align, NonZeroU64::get);
        options.place = self.place.unwrap_or(options.place);
        options.guards = self.guard.unwrap_or(options.guards);
        options.min_slot = self.min_slot.unwrap_or(options.min_slot);
        options.reclaim_inputs = self.reclaim_inputs;
        options.in_place = !self.no_in_place;
        options.banks.clone_from(&self.banks);
        if let Some(path) = &self.shared_from {
            options.shared = Some(shared::read(&Source::named(path))?);
        }
        Ok(Some(options))
    }

    /// The same for a file that TensorFlow Lite Micro runs, where nothing else is said: its alignment; inputs are
    /// in the arena, and are overwritten once they are read. Nothing is in place unless it is said what kernels
    /// can do.
    pub(crate) fn for_tflite(&self, names_kernels: bool) -> Self {
        let placed = Boundary { inputs: true, params: false, constants: false, outputs: true };
        let (place, preset) = (self.place, self.preset);
        ChoiceArgs {
            align: self.align.or(NonZeroU64::new(plimsoll_tflite::tflm::ALIGN)),
            place: place.or_else(|| preset.is_none().then_some(placed)),
            reclaim_inputs: true,
            no_in_place: self.no_in_place || !names_kernels,
            ..self.clone()
        }
    }

    /// What is kept apart in a graph.
    pub(crate) fn no_share(&self, graph: &Graph) -> Result<NoShare> {
        let selectors = match &self.no_reuse {
            None => return Ok(NoShare::Nothing),
            Some(NoReuse::Everything) => return Ok(NoShare::Everything),
            Some(NoReuse::Of(selectors)) => selectors,
        };
        check_kinds(graph, selectors, "--no-reuse")?;
        Ok(NoShare::Values(no_reuse(graph, selectors)))
    }

    /// What is kept apart in a program without kinds of nodes.
    pub(crate) fn no_share_at_all(&self) -> Result<NoShare> {
        match &self.no_reuse {
            None => Ok(NoShare::Nothing),
            Some(NoReuse::Everything) => Ok(NoShare::Everything),
            Some(NoReuse::Of(_)) => bail!("--no-reuse: the steps of a program have no kinds"),
        }
    }

    /// Whether every value is to have bytes of its own.
    pub(crate) fn keeps_all_apart(&self) -> bool {
        self.no_reuse == Some(NoReuse::Everything)
    }

    /// Whether nothing is to be taken over in place.
    pub(crate) fn is_never_in_place(&self) -> bool {
        self.no_in_place
    }

    /// Whether nothing is said that a problem has no use for.
    pub(crate) fn fits_problems(&self) -> bool {
        let ChoiceArgs { align, packing, .. } = self.clone();
        *self == ChoiceArgs { align, packing, ..ChoiceArgs::default() }
    }

    /// Tells the options in a plan.
    pub(crate) fn record(&self, options: &Options, recorded: &mut Recorded) {
        // Values are recorded by what selects them.
        let options = options.clone().with_no_share(NoShare::Nothing);
        if let Ok(Value::Object(options)) = serde_json::to_value(&options) {
            recorded.extend(options);
        }
        let mut record = |key: &str, value: Value| recorded.insert(key.to_owned(), value);
        match &self.no_reuse {
            None => record("no_reuse", json!([])),
            Some(NoReuse::Everything) => record("no_reuse", json!("everything")),
            Some(NoReuse::Of(selectors)) => {
                let texts: Vec<String> = selectors.iter().map(Selector::to_string).collect();
                record("no_reuse", json!(texts))
            }
        };
        if let Some(algorithm) = self.packing.algorithm() {
            record("algorithm", json!(algorithm.to_string()));
        }
    }

    /// Whom to blame for what is wrong with shared values.
    pub(crate) fn shared_source(&self) -> Option<Source> {
        self.shared_from.as_deref().map(Source::named)
    }
}
