//! Models: from a file, and what the command line says of it, to a program.
//!
//! What a program is made from beside the graph is recorded in the plan, so that who verifies it need not say it.

mod fused;
mod kernel_set;
#[allow(clippy::similar_names, reason = "ranges, and what is ranged over them")]
mod ranges;
pub(crate) mod taken;
mod variants;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use clap::{Args, ValueEnum};
pub(crate) use fused::KernelChoice;
use kernel_set::KernelSet;
use plimsoll::{JsonFault, Options, OrderEffort, Recorded, object_from_json};
use plimsoll_graph::training_json::TrainingJsonError;
use plimsoll_graph::{
    Case, Graph, Improved, Kernels, LoweringError, LoweringOptions, RecordedChoice, ScheduledGraph,
    Selector, Tries, Width, improve, joined_as_recorded, order_by_names, text, topological_order,
    training_json,
};
use plimsoll_model::{Bindings, Model, Refused};
use plimsoll_onnx::{Annotatable, OnnxError, OnnxFile};
use plimsoll_pack::Effort;
use plimsoll_rewrite::fuse::FusionKind;
use plimsoll_tflite::TfliteFile;
use ranges::AtSizes;
pub(crate) use ranges::{Loaded, LoadedFile, LoadedOnnx, how_to_bind};
use serde::Deserialize;
use serde_json::{Value, json};
pub(crate) use variants::{Sequence, Sharing};

use crate::choices::check_kinds;
use crate::clock::Clock;
use crate::dims::{DimArgs, Dims, RecordedDims};
use crate::donations::{DonationArgs, Donations};
use crate::input::{Source, text_of};
use crate::kind::Wanted;

/// A little network, for those who have no model at hand.
pub(crate) const SAMPLE: &[u8] = include_bytes!("../samples/plan.onnx");

/// A model as it was read.
enum Read {
    /// With every shape known.
    Graph(Graph),
    /// With shapes to be found; and the file that it was read from.
    Model(Model, LoadedOnnx),
    /// With the file that stores its shapes.
    Tflite(TfliteFile),
}

/// Reads a model, once, also if it is to be written with notes: `.onnx`, `.tflite`, `.json` for training graphs,
/// all else is `.plim`.
fn read(source: &Source, annotates: bool) -> Result<Read> {
    let onnx = |file: Result<OnnxFile, OnnxError>| {
        let read = file.and_then(|file| {
            let (model, annotatable) = if annotates {
                let (model, annotatable) = Annotatable::read(file.clone())?;
                (model, Some(Arc::new(annotatable)))
            } else {
                (plimsoll_onnx::read(file.clone())?, None)
            };
            Ok(Read::Model(model, LoadedOnnx { file, annotatable }))
        });
        read.map_err(|error| anyhow!("{source}: {error}"))
    };
    match source {
        Source::Sample => return onnx(Ok(Bytes::from_static(SAMPLE).into())),
        Source::File(path) if source.has_extension("onnx") => {
            source.open(Wanted::Model).with_context(|| source.to_string())?;
            return onnx(plimsoll_onnx::open(path));
        }
        Source::Memory(bytes) if bytes.first() == Some(&ONNX_BEGINS) => {
            return onnx(Ok(bytes.clone().into()));
        }
        Source::File(_) | Source::Stdin | Source::Memory(_) => {}
    }
    let bytes = source.bytes(Wanted::Model).with_context(|| source.to_string())?;
    if bytes.first() == Some(&ONNX_BEGINS) {
        return onnx(Ok(Bytes::from(bytes).into()));
    }
    if source.has_extension("tflite") || bytes.get(4..8) == Some(TFLITE_BEGINS) {
        let file = TfliteFile::read(bytes).map_err(|error| anyhow!("{source}: {error}"))?;
        return Ok(Read::Tflite(file));
    }
    let text = text_of(bytes).with_context(|| source.to_string())?;
    read_text(&text, source).map(Read::Graph)
}

/// The first byte of most ONNX files: the header of the first field. No text begins with it.
const ONNX_BEGINS: u8 = 0x08;

/// The bytes from the fourth on of a TensorFlow Lite file.
const TFLITE_BEGINS: &[u8] = b"TFL3";

fn read_text(text: &str, source: &Source) -> Result<Graph> {
    let is_json = source.has_extension("json") || text.trim_start().starts_with('{');
    // As compilers do it: file:line:column.
    if is_json {
        return training_json::read(text.as_bytes()).map_err(|error| match error {
            TrainingJsonError::Json { .. } => anyhow!("{source}:{error}"),
            error => anyhow!("{source}: {error}"),
        });
    }
    text::parse(text).map_err(|error| anyhow!("{source}:{error}"))
}

/// What a command line can say about a model beside its file.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// Whether the file is to be written with notes.
    #[arg(skip)]
    pub(crate) annotates: bool,

    #[command(flatten)]
    dims: DimArgs,

    #[command(flatten)]
    donations: DonationArgs,

    /// The width of an element in memory: native, four, params-native, int-wide, half-wide or
    /// bf16-wide [default: native]
    ///
    /// four: 4 bytes for every element. params-native: native for params, 4 bytes for all else. int-wide: integers
    /// and booleans take at least 4 bytes. half-wide: floats take at least 4 bytes. bf16-wide: bf16 takes 4 bytes.
    #[arg(long, value_name = "NAME", value_parser = parse_width)]
    width: Option<Width>,

    /// Override the sizes of values: a JSON object from name to bytes
    #[arg(long, value_name = "FILE")]
    sizes: Option<PathBuf>,

    /// What the runtime's kernels can do: standard, strided, views, copying, tflm, fused, or
    /// fused=KIND,KIND [default: standard]
    ///
    /// standard: views are free, and ops that can work in place do. strided: every op can also read and write strided
    /// views. views: nothing works in place. copying: every op writes bytes of its own. tflm: as the reference kernels of
    /// TensorFlow Lite Micro; reshapes are free, elementwise ops work in place. fused: several nodes become one step
    /// where that lowers the arena; the kinds are activation, norm, epilogue, residual, attention, layout, prologue.
    #[arg(long, value_name = "NAME")]
    kernels: Option<KernelChoice>,

    /// Nodes whose kernels always write bytes of their own, never views and never in place:
    /// Transpose,Relu:0-9
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    own_bytes: Vec<Selector>,

    /// Nodes whose kernels can read and write strided views: Concat,Conv:0-9
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    strided: Vec<Selector>,

    /// Whether concats copy or are zero-copy [default: join; for `verify`, as in the plan]
    #[arg(long, value_enum, value_name = "HOW")]
    concat: Option<Concat>,

    /// The schedule: that of the file (given), a search for a smaller peak (fast, best), or a file
    /// [default: best; for `verify`, as in the plan]
    ///
    /// A file lists the names of the nodes, one per line or as a JSON array.
    #[arg(long, value_name = "given|fast|best|FILE")]
    order: Option<PathBuf>,
}

fn parse_width(name: &str) -> Result<Width, String> {
    name.parse().map_err(|error: plimsoll_graph::UnknownWidth| error.to_string())
}

/// What becomes of concats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Concat {
    /// Every concat copies its inputs
    Copy,
    /// Operands are computed in their place in the output where that does not enlarge the arena
    Join,
}

/// How a program is made from a graph, and who said so.
#[derive(Clone)]
pub(crate) struct Lowering {
    /// Whether the file is to be written with notes.
    annotates: bool,
    dims: Dims,
    donations: Donations,
    width: Width,
    kernels: KernelSet,
    /// The kinds of fused kernels that there are.
    fusions: BTreeSet<FusionKind>,
    /// The nodes of fused steps, as a plan tells.
    fused: Option<Vec<Vec<String>>>,
    own_bytes: Vec<Selector>,
    strided: Vec<Selector>,
    sizes: BTreeMap<String, u64>,
    sizes_from: Option<Source>,
    order: Order,
    concat: Concat,
    /// The concats that do not copy, as a plan tells.
    joined: Vec<RecordedChoice>,
}

/// In which order nodes run.
#[derive(Clone)]
enum Order {
    /// That of the file, as far as possible.
    Own,
    /// One that is searched for, by rules alone if it has to be fast.
    Searched { fast: bool },
    /// That of the file.
    Given,
    /// That, and where it was read.
    Names(Vec<String>, Source),
}

impl ModelArgs {
    /// Nothing but dims and kernels.
    pub(crate) fn plain(dims: DimArgs, kernels: Option<KernelChoice>) -> Self {
        ModelArgs { dims, kernels, ..ModelArgs::default() }
    }

    /// Whether kernels are asked for that compute several nodes as one.
    pub(crate) fn is_fused(&self) -> bool {
        self.kernels.as_ref().is_some_and(KernelChoice::is_fused)
    }

    /// The files that are read beside the model.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.sizes, &self.order].into_iter().flatten().map(PathBuf::as_path)
    }

    /// What the arguments mean.
    pub(crate) fn resolve(&self) -> Result<Lowering> {
        let mut lowering = self.or_as_recorded(&Recorded::new(), &Source::Sample)?;
        if self.order.is_none() {
            lowering.order = Order::Searched { fast: false };
        }
        lowering.concat = self.concat.unwrap_or(Concat::Join);
        Ok(lowering)
    }

    /// The same; where they say nothing, what a plan tells.
    pub(crate) fn or_as_recorded(&self, recorded: &Recorded, plan: &Source) -> Result<Lowering> {
        let recorded = RecordedModel::from(recorded).with_context(|| format!("{plan}: options"))?;
        let (sizes, sizes_from) = match &self.sizes {
            Some(path) => {
                let source = Source::named(path);
                (read_sizes(&source).with_context(|| source.to_string())?, Some(source))
            }
            None => (recorded.sizes, Some(plan.clone())),
        };
        let order = match &self.order {
            Some(path) if path.as_os_str() == "given" => Order::Given,
            Some(path) if path.as_os_str() == "fast" => Order::Searched { fast: true },
            Some(path) if path.as_os_str() == "best" => Order::Searched { fast: false },
            Some(path) => read_order(path)?,
            None => match recorded.order {
                Some(RecordedOrder::Names(names)) => Order::Names(names, plan.clone()),
                Some(RecordedOrder::Word(word)) if word == "given" => Order::Given,
                _ => Order::Own,
            },
        };
        let width = match (self.width, recorded.width) {
            (Some(width), _) => width,
            (None, Some(name)) => {
                name.parse::<Width>().with_context(|| format!("{plan}: options.width"))?
            }
            (None, None) => Width::default(),
        };
        let nodes = |said: &[Selector], recorded: &[String], key: &str| {
            if !said.is_empty() {
                return Ok(said.to_vec());
            }
            let read: Result<Vec<Selector>, _> = recorded.iter().map(|text| text.parse()).collect();
            read.with_context(|| format!("{plan}: options.{key}"))
        };
        let own_bytes = nodes(&self.own_bytes, &recorded.own_bytes, "own_bytes")?;
        let strided = nodes(&self.strided, &recorded.strided, "strided")?;
        let KernelChoice { set: kernels, fusions } = match (&self.kernels, recorded.kernels) {
            (Some(kernels), _) => kernels.clone(),
            (None, Some(name)) => KernelSet::from_str(&name, false)
                .map_err(|_| anyhow!("{plan}: options.kernels: unknown {name:?}"))?
                .into(),
            (None, None) => KernelSet::Standard.into(),
        };
        let dims =
            self.dims.or_as_recorded(recorded.dims).with_context(|| format!("{plan}: options"))?;
        let donations = self.donations.or_as_recorded(recorded.donations);
        Ok(Lowering {
            annotates: self.annotates,
            donations,
            concat: Concat::Copy,
            joined: recorded.joined,
            own_bytes,
            strided,
            dims,
            width,
            kernels,
            fusions,
            fused: recorded.fused,
            sizes,
            sizes_from,
            order,
        })
    }
}

/// What a plan tells of its model.
#[derive(Default, Deserialize)]
struct RecordedModel {
    width: Option<String>,
    kernels: Option<String>,
    fused: Option<Vec<Vec<String>>>,
    #[serde(default)]
    own_bytes: Vec<String>,
    #[serde(default)]
    strided: Vec<String>,
    #[serde(default)]
    sizes: BTreeMap<String, u64>,
    order: Option<RecordedOrder>,
    #[serde(default)]
    joined: Vec<RecordedChoice>,
    #[serde(flatten)]
    dims: RecordedDims,
    #[serde(flatten)]
    donations: Donations,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`order` has to be a word or a list of names")]
enum RecordedOrder {
    Word(String),
    Names(Vec<String>),
}

impl RecordedModel {
    fn from(recorded: &Recorded) -> Result<Self> {
        let object = Value::Object(recorded.clone().into_iter().collect());
        Ok(serde_json::from_value(object).map_err(JsonFault::from)?)
    }
}

fn read_sizes(source: &Source) -> Result<BTreeMap<String, u64>> {
    let text = source.text(Wanted::Other)?;
    object_from_json(&text).context("not an object from names to bytes")
}

fn read_order(path: &Path) -> Result<Order> {
    let source = Source::named(path);
    if source != Source::Stdin && !path.exists() {
        bail!("--order: `{}` is neither given, fast or best nor a file", path.display());
    }
    let read = || -> Result<Vec<String>> {
        let text = source.text(Wanted::Other)?;
        if text.trim_start().starts_with('[') {
            let names = serde_json::from_str(&text).map_err(JsonFault::from);
            return names.context("not a list of names");
        }
        Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
    };
    let names = read().with_context(|| source.to_string())?;
    Ok(Order::Names(names, source))
}

/// How long to search for an order where so much is put into packing.
pub(crate) fn search_effort(fast: bool, effort: Effort) -> OrderEffort {
    match effort {
        _ if fast => OrderEffort::Fast,
        Effort::Fast => OrderEffort::Fast,
        Effort::Default => OrderEffort::Default,
        Effort::High | Effort::Exhaustive => OrderEffort::High,
    }
}

impl Lowering {
    /// Reads a model that can be rewritten, with its file, and what its dims are bound to.
    pub(crate) fn model(&self, source: &Source) -> Result<(Model, OnnxFile, Bindings)> {
        match read(source, false)? {
            Read::Graph(_) | Read::Tflite(_) => {
                bail!("{source}: only ONNX models and training graphs (.json) can be fitted")
            }
            Read::Model(..) if self.dims.ranges().next().is_some() => {
                bail!("{source}: a model is fitted for one size of each dim, not for a range")
            }
            Read::Model(model, file) => Ok((model, file.file, self.dims.largest())),
        }
    }

    /// Reads a model, and finds its shapes.
    pub(crate) fn load(&self, source: &Source) -> Result<Loaded> {
        let kernels = self.options().kernels;
        let donated = |graph: Graph| {
            let donated = self.donations.apply(graph, &kernels);
            donated.map_err(|error| anyhow!("{source}: {error}"))
        };
        let no_dims = || {
            let fault = || {
                anyhow!(
                    "{source}: has neither symbolic dims nor inputs without a shape, so no dims can be given"
                )
            };
            self.dims.is_empty().then_some(()).ok_or_else(fault)
        };
        let (model, file) = match read(source, self.annotates)? {
            Read::Graph(graph) => {
                no_dims()?;
                return Ok(Loaded { graph: donated(graph)?, ..Loaded::default() });
            }
            Read::Tflite(file) => {
                no_dims()?;
                let imported = file.import().map_err(|error| anyhow!("{source}: {error}"))?;
                let graph = donated(imported.graph.clone())?;
                let file = LoadedFile::Tflite(Box::new((file, imported)));
                return Ok(Loaded { graph, file, ..Loaded::default() });
            }
            Read::Model(model, file) => (model, LoadedFile::Onnx(file)),
        };
        let AtSizes { graph, refused, corners, proof, operators } = self.at_sizes(model, source)?;
        let passed_over = |refused: &Refused| format!("{source}: {refused}; planned without it");
        let notes = refused.iter().map(passed_over).collect();
        let corners = corners.into_iter().map(|(name, graph)| Ok((name, donated(graph)?)));
        let corners = corners.collect::<Result<_>>()?;
        let (graph, fused) = (donated(graph)?, Vec::new());
        Ok(Loaded { graph, corners, proof, file, notes, operators, fused })
    }

    /// The same without the copies that a plan tells it does without.
    pub(crate) fn load_as_recorded(&self, source: &Source) -> Result<Loaded> {
        let mut loaded = self.load(source)?;
        self.fuse(&mut loaded, &Options::default(), source)?;
        let lowering = self.options();
        let joined = joined_as_recorded(&loaded.graph, &lowering, &self.joined);
        let (graph, joined) =
            joined.map_err(|error| anyhow!("{source}: options.joined: {error}"))?;
        loaded.graph = graph;
        loaded.join_corners(&lowering.kernels, &joined, source)?;
        Ok(loaded)
    }

    /// Tries other orders and joined concats, as far as nothing else is said.
    pub(crate) fn improve(
        &self,
        loaded: &mut Loaded,
        options: &Options,
        source: &Source,
        clock: &mut Clock,
    ) -> Result<Improved> {
        check_kinds(&loaded.graph, &self.own_bytes, "--own-bytes")?;
        check_kinds(&loaded.graph, &self.strided, "--strided")?;
        let lowering = self.options();
        let mut pulse = || clock.tick(|| "searching for an order".to_owned());
        let tries = self.tries(options);
        let graph = std::mem::take(&mut loaded.graph);
        let improved = improve(graph, &lowering, options, tries, &mut pulse);
        let mut improved = improved.map_err(|error| self.blamed(&error, source))?;
        loaded.graph = std::mem::take(&mut improved.best.graph);
        // What was compared has the order that the graph finds for itself.
        let is_compared = match self.order {
            Order::Own | Order::Searched { .. } => true,
            Order::Given => topological_order(&loaded.graph).is_sorted(),
            Order::Names(..) => false,
        };
        improved.best.plan = improved.best.plan.filter(|_| is_compared);
        loaded.join_corners(&lowering.kernels, &improved.best.choices, source)?;
        Ok(improved)
    }

    /// What is tried for a smaller arena.
    fn tries(&self, options: &Options) -> Tries {
        let joins =
            matches!(self.kernels, KernelSet::Standard | KernelSet::Strided | KernelSet::Fused);
        Tries {
            order: self.order_effort(options.pack.effort),
            join: self.concat == Concat::Join && joins,
        }
    }

    /// The graph with all that is said of it, for those who change some of that.
    pub(crate) fn case(&self, graph: Graph, options: Options) -> Result<Case> {
        if let Order::Names(_, from) = &self.order {
            bail!("{from}: an order from a file cannot be explained; try --order given");
        }
        check_kinds(&graph, &self.own_bytes, "--own-bytes")?;
        let (lowering, tries) = (self.options(), self.tries(&options));
        Ok(Case { graph, lowering, options, tries, spills: false })
    }

    /// How long to search for an order, if one is searched for.
    fn order_effort(&self, effort: Effort) -> Option<OrderEffort> {
        match &self.order {
            Order::Searched { fast } => Some(search_effort(*fast, effort)),
            Order::Own | Order::Given | Order::Names(..) => None,
        }
    }

    /// The graph as a program.
    pub(crate) fn program<'g>(
        &self,
        graph: &'g Graph,
        source: &Source,
    ) -> Result<ScheduledGraph<'g>> {
        let options = self.options();
        let lowered = match &self.order {
            Order::Own | Order::Searched { .. } => ScheduledGraph::new(graph, &options),
            Order::Given => {
                let order: Vec<_> = graph.node_ids().collect();
                ScheduledGraph::with_order(graph, &order, &options)
            }
            Order::Names(names, _) => order_by_names(graph, names)
                .map_err(LoweringError::from)
                .and_then(|order| ScheduledGraph::with_order(graph, &order, &options)),
        };
        lowered.map_err(|error| self.blamed(&error, source))
    }

    /// What is said of widths, sizes and kernels.
    pub(crate) fn options(&self) -> LoweringOptions {
        let mut options = LoweringOptions::default();
        options.width = self.width;
        options.sizes = self.sizes.clone();
        options.kernels = Kernels::new(self.kernels.preset());
        options.kernels.no_views.clone_from(&self.own_bytes);
        options.kernels.no_overwrites.clone_from(&self.own_bytes);
        options.kernels.strided.clone_from(&self.strided);
        options
    }

    /// An error with the file that is to blame for it.
    pub(crate) fn blamed(&self, error: &LoweringError, source: &Source) -> anyhow::Error {
        let at_fault = match (error, &self.order, &self.sizes_from) {
            (LoweringError::Order(_), Order::Names(_, order), _) => order,
            (LoweringError::NoSuchValues(_), _, Some(sizes)) => sizes,
            _ => source,
        };
        let how = match error {
            LoweringError::UnknownSizes(_) => " (with --sizes)",
            _ => "",
        };
        anyhow!("{at_fault}: {error}{how}")
    }

    /// Tells what a plan has to say of its model.
    pub(crate) fn record(&self, recorded: &mut Recorded) {
        let mut record = |key: &str, value: Value| {
            recorded.insert(key.to_owned(), value);
        };
        self.dims.record(&mut record);
        self.donations.record(&mut record);
        record("width", json!(self.width.name()));
        record("kernels", json!(self.kernels.name()));
        for (key, nodes) in [("own_bytes", &self.own_bytes), ("strided", &self.strided)] {
            if !nodes.is_empty() {
                let texts: Vec<String> = nodes.iter().map(Selector::to_string).collect();
                record(key, json!(texts));
            }
        }
        if !self.sizes.is_empty() {
            record("sizes", json!(self.sizes));
        }
        match &self.order {
            Order::Own => {}
            Order::Searched { fast } => {
                record("order", json!(if *fast { "fast" } else { "best" }));
            }
            Order::Given => record("order", json!("given")),
            Order::Names(names, _) => record("order", json!(names)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_a_model() {
        let Read::Model(model, _) = read(&Source::Sample, false).expect("the sample is valid")
        else {
            panic!("the sample is an ONNX model");
        };
        assert!(model.body.nodes.len() >= 10);
    }
}
