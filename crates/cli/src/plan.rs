//! `plimsoll plan`: what shares bytes with what, and where everything is.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use plimsoll::{NoRoom, PLAN_FORMAT, Program, Recorded, SharedLayout, Unplaced};
use plimsoll_report::{
    Asked, PlanReport, Regions, bold, one_line, plain, write_c_header, write_chrome_trace,
    write_json, write_map, write_rust_source, write_title,
};
use serde_json::json;

use crate::device::{Device, DeviceArgs, Uses};
use crate::input::Source;
use crate::model::LoadedFile;
use crate::output::{self, Output, OutputArgs, Outputs};
use crate::planning::{Improved, Planned, PlanningArgs, Subject};
use crate::{Answer, near, noted_onnx, planned_tflite, size};

const EXAMPLES: &str = "\
The model is an .onnx or .tflite file, a .plim file (a graph as text) or a .json file (a training graph).

Examples:
  plimsoll plan                                  the built-in sample
  plimsoll plan net.onnx                         a summary and a map
  plimsoll plan net.onnx --dim batch=1 --dim seq=1..512
                                                 sizes for its symbolic dims
  plimsoll plan net.onnx --input-shape x=1,3,224,224
                                                 the shape of an input that has none
  plimsoll plan net.onnx -o plan.json            the plan, for `plimsoll verify` and runtimes
  plimsoll plan net.onnx -o plan.tsv             offset, size and name of every value in the arena
  plimsoll plan net.onnx -o packing.csv          the underlying packing, for `plimsoll check`
  plimsoll plan net.onnx -o map.svg              a picture, time x address
  plimsoll plan net.onnx -o map.html             the same as an interactive page
  plimsoll plan net.onnx -o annotated.plim       the graph, annotated with offsets
  plimsoll plan net.onnx -o annotated.onnx       a copy of the model, annotated with offsets, in the order
                                                 of the file
  plimsoll plan net.onnx -o plan.trace.json      live ranges and live bytes, for Perfetto
  plimsoll plan net.onnx -o plan.h               for firmware in C or C++; plan.rs for Rust
  plimsoll plan net.onnx --align 16 -o net.tflm  an offline plan for TFLite Micro, in the order of the
                                                 file; in place only with --kernels standard
  plimsoll plan net.tflite -o planned.tflite     the same file with an offline plan for TFLite Micro; often
                                                 smaller with --kernels tflm --order best
  plimsoll plan net.onnx --budget 256KiB         does it fit? exit status 1 if not
  plimsoll plan net.onnx --place all --guard 128 everything in one arena, with guard bytes
  plimsoll plan net.onnx --bank sram=512KiB,align=16 --bank dram
                                                 two memories, the fast one first
  plimsoll plan decoder.onnx --donate past=present
                                                 a KV cache that is updated in place
  plimsoll plan edited.onnx --near plan.json     keep the offsets of an earlier plan where possible
  plimsoll plan net.onnx --no-reuse              every value its own place, to bisect a bug
  plimsoll plan net.onnx --no-reuse=Transpose,Narrow:0-9
                                                 only the outputs of these nodes
  plimsoll plan forward.plim --place params --write-shared weights.json
  plimsoll plan backward.plim --shared-from weights.json
                                                 the same place for the weights of two graphs

With several banks, a CSV has one row per buffer of each bank, named BANK/NAME; offsets are within the bank.";

/// Plan the memory of a model: schedule, sharing, and an offset for every tensor
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model; "-" reads standard input; without one, the built-in sample is planned
    #[arg(value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    /// Exit with status 1 if the arena (all banks together) is larger than this
    #[arg(long, visible_alias = "capacity", value_name = "SIZE", value_parser = size::parse,
          allow_hyphen_values = true, help_heading = "Placement")]
    budget: Option<u64>,

    /// Write the places of the params to this file, for --shared-from
    #[arg(long, value_name = "FILE.json", help_heading = "Placement")]
    write_shared: Option<PathBuf>,

    /// Keep the offsets that values of the same name have in this plan, where that does not enlarge the arena
    #[arg(long, value_name = "PLAN.json", help_heading = "Placement")]
    near: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,

    #[command(flatten)]
    output: OutputArgs<Format>,
}

/// The forms of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A summary and a map, for people
    Text,
    /// One JSON object, for scripts and `plimsoll verify`
    Json,
    /// Offset, size, name and bank of every placed value
    Tsv,
    /// The underlying packing problem, with offsets
    Csv,
    /// A picture, time x address
    Svg,
    /// An interactive map
    Html,
    /// The graph as text, annotated with the offsets of every node's outputs
    Plim,
    /// Live ranges, steps and live bytes, for Perfetto
    Trace,
    /// A C header: offsets, sizes and storage, for firmware
    H,
    /// `no_std` Rust constants, for firmware
    Rs,
    /// TensorFlow Lite Micro's `OfflineMemoryAllocation`, as the bytes of its buffer
    Tflm,
    /// The same as JSON
    TflmJson,
    /// The ONNX model that was read, annotated with the offsets of every node's outputs
    Onnx,
    /// The TensorFlow Lite model that was read, with an offline plan for TensorFlow Lite Micro
    Tflite,
}

impl output::Format for Format {
    const TEXT: Self = Format::Text;

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Format::Text => &["txt"],
            Format::Json => &["json"],
            Format::Tsv => &["tsv"],
            Format::Csv => &["csv"],
            Format::Svg => &["svg"],
            Format::Html => &["html"],
            Format::Plim => &["plim"],
            Format::Trace => &["trace.json"],
            Format::H => &["h"],
            Format::Rs => &["rs"],
            Format::Tflm => &["tflm", "tflm.bin"],
            Format::TflmJson => &["tflm.json"],
            Format::Onnx => &["onnx"],
            Format::Tflite => &["tflite"],
        }
    }
}

impl Format {
    /// Whether a value is one stretch of bytes there, or nothing.
    fn wants_stretches(self) -> bool {
        matches!(self, Format::H | Format::Rs)
    }

    /// What there is to plan for it: some runtimes keep the order of the file.
    fn planning(self, asked: &PlanningArgs) -> Result<PlanningArgs> {
        let mut planning = asked.clone();
        match self {
            Format::Tflm | Format::TflmJson => {
                planning.how_to_read = asked.how_to_read.for_tflm()?;
            }
            Format::Onnx => planning.how_to_read = asked.how_to_read.in_order_of_file(),
            Format::Tflite => {
                let names_kernels = asked.how_to_read.names_kernels();
                planning.choices = asked.choices.for_tflite(names_kernels);
                planning.how_to_read = asked.how_to_read.for_tflite();
            }
            _ => {}
        }
        Ok(planning)
    }

    /// Which arguments for devices it has a use for.
    fn uses(self) -> Uses {
        Uses {
            symbols: self == Format::H,
            tensors: matches!(self, Format::Tflm | Format::TflmJson),
            files: self == Format::Tflite,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve(&args.files())?;
    args.check_shared()?;
    let device = args.device.resolve(uses(&output))?;
    let source = Source::or_sample(args.model.as_deref());
    let mut planning = planning(&output, &args.planning)?;
    planning.how_to_read.annotates = output.has(|format| format == Format::Onnx);
    let Some(mut subject) = planning.read(source)?.map(Subject::noted) else {
        return Ok(Answer::Yes);
    };
    args.stay_near(&mut subject)?;
    for one in output.iter() {
        check_model(one.format, &subject)?;
    }
    let mut clock = args.planning.choices.packing.start_clock();
    let improved = subject.without_operators().improve(&mut clock)?;
    let program = improved.program()?;
    let recorded = args.recorded(&improved);
    let source = &improved.subject.source;
    let answer = match improved.plan(&program, &mut clock)? {
        Ok(Planned { plan, corners }) => {
            let origin = source.origin();
            let regions = improved.regions(&program);
            let asked = args.asked(&improved, &corners, regions.as_ref());
            let report = PlanReport::new(&origin, &program, &plan, asked);
            args.show(&output, &report, &improved.subject, &device, &recorded)?
        }
        Err(why) => {
            refuse(&output, source, &program, &why, &recorded)?;
            Answer::No
        }
    };
    if *source == Source::Sample {
        output.note("no model given; this is the built-in sample");
    }
    Ok(answer)
}

/// Which arguments for devices the forms have a use for.
fn uses(output: &Outputs<Format>) -> Uses {
    Uses {
        symbols: output.has(|format| format.uses().symbols),
        tensors: output.has(|format| format.uses().tensors),
        files: output.has(|format| format.uses().files),
    }
}

/// What there is to plan for all forms; one plan has one order.
fn planning(output: &Outputs<Format>, asked: &PlanningArgs) -> Result<PlanningArgs> {
    let mut all = output.iter().map(|output| output.format.planning(asked));
    let first = all.next().unwrap_or_else(|| Ok(asked.clone()))?;
    for other in all {
        ensure!(
            other? == first,
            "-o: .onnx, .tflm and .tflite keep the order of the file, and .tflm and .tflite work in place \
             only if told: write them in runs of their own, or say --order, --kernels and --place"
        );
    }
    Ok(first)
}

impl Args {
    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<&Path> {
        let model = self.model.as_deref().into_iter();
        let near = self.near.as_deref().into_iter();
        model.chain(self.planning.files()).chain(self.device.files()).chain(near).collect()
    }

    /// Has the plan stay near to another, if that is asked for.
    pub(crate) fn stay_near(&self, subject: &mut Subject) -> Result<()> {
        if let Some(path) = &self.near {
            let program = subject.lowering.program(&subject.loaded.graph, &subject.source)?;
            let near = near::read(&Source::named(path), &program)?;
            subject.options.near = Some(near);
        }
        Ok(())
    }

    /// Whether the file for shared places is not one that is read.
    fn check_shared(&self) -> Result<()> {
        self.write_shared.as_ref().map_or(Ok(()), |path| output::spare(path, &self.files()))
    }

    /// What a plan has to say of its model and its options.
    pub(crate) fn recorded(&self, improved: &Improved) -> Recorded {
        let mut recorded = improved.recorded();
        if let Some(budget) = self.budget {
            recorded.insert("budget_bytes".to_owned(), json!(budget));
        }
        recorded
    }

    /// What was asked of a plan, and what was found on the way.
    pub(crate) fn asked<'a>(
        &self,
        improved: &'a Improved,
        corners: &'a [(String, u64)],
        regions: Option<&'a Regions>,
    ) -> Asked<'a> {
        Asked {
            budget: self.budget,
            is_timed: self.planning.choices.packing.is_timed(),
            proof: improved.subject.loaded.proof.as_ref(),
            corners,
            best: &improved.best,
            regions,
        }
    }

    fn show(
        &self,
        output: &Outputs<Format>,
        report: &PlanReport<'_>,
        subject: &Subject,
        device: &Device,
        recorded: &Recorded,
    ) -> Result<Answer> {
        let PlanReport { program, plan, .. } = *report;
        for one in output.iter() {
            check_form(one.format, report, subject)?;
        }
        for one in output.iter() {
            write(one, report, subject, device, recorded.clone())?;
        }
        if let Some(path) = &self.write_shared {
            let layout = SharedLayout::from_plan(program, plan);
            if layout.values.is_empty() {
                output::note("no param has a place, so none is shared; try --place params,outputs");
            }
            output::to_path(path, layout.to_json())?;
        }
        let Some(refusal) = report.refusal() else { return Ok(Answer::Yes) };
        output.note(&format!("{}: {refusal}", subject.source));
        Ok(Answer::No)
    }
}

/// Whether a form is one for the model.
fn check_model(format: Format, subject: &Subject) -> Result<()> {
    let Subject { source, loaded, .. } = subject;
    ensure!(
        format != Format::Onnx || matches!(loaded.file, LoadedFile::Onnx(_)),
        "{source}: is not an ONNX model, and only such a one can be written with notes"
    );
    ensure!(
        format != Format::Tflite || matches!(loaded.file, LoadedFile::Tflite(_)),
        "{source}: is not a TensorFlow Lite model, and only such a one can have a plan for TFLite Micro in it"
    );
    Ok(())
}

/// Whether a form can tell where everything is.
pub(crate) fn check_form(format: Format, report: &PlanReport<'_>, subject: &Subject) -> Result<()> {
    check_model(format, subject)?;
    if format.wants_stretches()
        && let Some(value) = report.first_of_rows()
    {
        let (source, name) = (&subject.source, plain(&report.program.value_name(value)));
        bail!("{source}: {name} is a strided view, and this format cannot express strides");
    }
    Ok(())
}

/// Writes the plan to one place, in its form.
fn write(
    output: &Output<Format>,
    report: &PlanReport<'_>,
    subject: &Subject,
    device: &Device,
    recorded: Recorded,
) -> Result<()> {
    output.write(writing(output.format, report, subject, device, recorded, output.path())?)
}

/// What writes a plan, once everything that can be wrong with it has been asked.
pub(crate) type Writing<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'a>;

/// What writes the plan in one of its forms; `path` is where it will be, if that is a file.
pub(crate) fn writing<'a>(
    format: Format,
    report: &'a PlanReport<'_>,
    subject: &'a Subject,
    device: &Device,
    recorded: Recorded,
    path: Option<&Path>,
) -> Result<Writing<'a>> {
    let PlanReport { program, plan, .. } = *report;
    let source = &subject.source;
    let (banks, file) = (&subject.options.banks, &subject.loaded.file);
    Ok(match format {
        Format::Text => Box::new(|out| report.write_text(out)),
        Format::Json => Box::new(|out| report.write_json(out, recorded)),
        Format::Tsv => Box::new(|out| report.write_tsv(out)),
        Format::Csv => Box::new(|out| report.write_csv(out)),
        Format::Svg => Box::new(|out| report.write_svg(out)),
        Format::Html => all(write_map(program, plan, &report.labels())),
        Format::Plim => Box::new(|out| report.write_plim(out)),
        Format::Trace => all(write_chrome_trace(program, plan)),
        Format::H => all(write_c_header(program, plan, banks, &device.prefix)),
        Format::Rs => all(write_rust_source(program, plan, banks)),
        Format::Tflm => all(device.offline_allocation(source, program, plan, file)?.to_bytes()),
        Format::TflmJson => all(device.offline_allocation(source, program, plan, file)?.to_json()),
        Format::Tflite => {
            let LoadedFile::Tflite(tflite) = file else { return Ok(Box::new(|_| Ok(()))) };
            let keeps_better = device.keeps_better;
            let written = planned_tflite::written(tflite, source, program, plan, keeps_better)?;
            output::note(&written.to_string());
            Box::new(move |out| out.write_all(written.file.bytes()))
        }
        Format::Onnx => {
            let LoadedFile::Onnx(file) = file else { return Ok(Box::new(|_| Ok(()))) };
            let noted = noted_onnx::annotated(file, source, program, plan)?;
            noted_onnx::tell_folder(&noted, source, path);
            Box::new(move |out| noted.write(out))
        }
    })
}

fn all<'a>(bytes: impl AsRef<[u8]> + 'a) -> Writing<'a> {
    Box::new(move |out| out.write_all(bytes.as_ref()))
}

/// Says that there is no plan: in the forms that were asked for, where they can say so.
fn refuse(
    outputs: &Outputs<Format>,
    source: &Source,
    program: &dyn Program,
    why: &NoRoom,
    recorded: &Recorded,
) -> Result<()> {
    let style = bold(AnsiColor::Red);
    let (word, refusal) = (if why.proven { "infeasible" } else { "not found" }, why.to_string());
    for output in outputs.iter() {
        match output.format {
            Format::Text => output.write(|out| {
                write_title(out, &source.origin(), program, "plan")?;
                writeln!(out, "{style}{word}{style:#}: {}", one_line(&refusal))
            })?,
            Format::Json => output.write(|out| write_infeasible(out, why, recorded))?,
            // Without a plan there is nothing to draw or to list.
            Format::Tsv
            | Format::Csv
            | Format::Svg
            | Format::Html
            | Format::Plim
            | Format::Trace
            | Format::H
            | Format::Rs
            | Format::Tflm
            | Format::TflmJson
            | Format::Onnx
            | Format::Tflite => {}
        }
    }
    outputs.note(&format!("{source}: {word}: {refusal}"));
    Ok(())
}

fn write_infeasible(out: &mut dyn Write, why: &NoRoom, recorded: &Recorded) -> io::Result<()> {
    let mut object = json!({
        "format": PLAN_FORMAT,
        "arena_bytes": null,
        "lower_bound_bytes": why.lower_bound_bytes,
        "status": "infeasible",
        "proven": why.proven,
        "reason": why.to_string(),
        "options": recorded,
    });
    if !why.misfit.is_empty() {
        let row = |one: &Unplaced| {
            let key = if one.is_scratch { "step" } else { "value" };
            json!({ key: one.name, "bytes": one.bytes })
        };
        object["misfit"] = why.misfit.iter().map(row).collect();
        object["misfit_irreducible"] = json!(why.irreducible);
    }
    write_json(out, &object)
}
