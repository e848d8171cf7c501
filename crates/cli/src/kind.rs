//! What a file of ours is, by its first bytes, and which command takes it.
//!
//! A command that gets a file of another kind says so, instead of what its parser stumbles over. What
//! is not recognised is left to the parser, which knows the line.

use anyhow::{Result, bail};

use crate::foreign::{self, holds};

/// What a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Model,
    Problem,
    Solution,
    Plan,
    /// Something beside those: sizes, an order, a trace.
    Other,
}

/// What a file of ours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Onnx,
    Tflite,
    Graph,
    TrainingGraph,
    Plan,
    Solution,
    Explanation,
    Comparison,
    Difference,
    Problem,
    Offsets,
    PlanRows,
}

/// Says what the file is, if it is not what is wanted.
pub(crate) fn check(start: &[u8], wanted: Wanted) -> Result<()> {
    if let Some(format) = foreign::recognise(start) {
        bail!("is {}: {}", format.what, format.advice);
    }
    match Kind::of(start) {
        Some(kind) if !kind.suits(wanted) => {
            bail!("is {}, not {}: {}", kind.what(), wanted.what(), kind.taken_by());
        }
        _ => Ok(()),
    }
}

impl Wanted {
    fn what(self) -> &'static str {
        match self {
            Wanted::Model => "a model or graph",
            Wanted::Problem => "a packing problem (CSV)",
            Wanted::Solution => "a packing (CSV or JSON)",
            Wanted::Plan => "a plan (JSON)",
            Wanted::Other => "what is wanted here",
        }
    }
}

impl Kind {
    fn of(start: &[u8]) -> Option<Kind> {
        // The version of the format comes first; no text begins with this byte.
        if start.first() == Some(&0x08) {
            return Some(Kind::Onnx);
        }
        if start.get(4..8) == Some(b"TFL3") {
            return Some(Kind::Tflite);
        }
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        match text.first()? {
            b'{' => Kind::of_json(text),
            b'#' if text.starts_with(b"# arena_bytes=") => Some(Kind::PlanRows),
            _ if text.starts_with(b"plim ") => Some(Kind::Graph),
            _ => Kind::of_header(text.split(|byte| *byte == b'\n').next()?),
        }
    }

    fn of_json(text: &[u8]) -> Option<Kind> {
        let formats = [
            ("\"plimsoll.plan/", Kind::Plan),
            ("\"plimsoll.solution/", Kind::Solution),
            ("\"plimsoll.explain/", Kind::Explanation),
            ("\"plimsoll.comparison/", Kind::Comparison),
            ("\"plimsoll.diff/", Kind::Difference),
            ("\"tensors\"", Kind::TrainingGraph),
        ];
        formats.into_iter().find(|(sign, _)| holds(text, sign)).map(|(_, kind)| kind)
    }

    /// A table, by the names of its columns.
    fn of_header(line: &[u8]) -> Option<Kind> {
        let line = String::from_utf8_lossy(line).to_ascii_lowercase();
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        let has = |names: &[&str]| names.iter().any(|name| columns.contains(name));
        match (has(&["lower", "start", "begin"]), has(&["size"]), has(&["offset"])) {
            (true, true, _) => Some(Kind::Problem),
            (_, _, true) if has(&["id", "buffer", "buffer_id"]) => Some(Kind::Offsets),
            _ => None,
        }
    }

    fn suits(self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::Model => {
                matches!(self, Kind::Onnx | Kind::Tflite | Kind::Graph | Kind::TrainingGraph)
            }
            // What is missing in a table of offsets is best said by name.
            Wanted::Problem => matches!(self, Kind::Problem | Kind::Offsets),
            Wanted::Solution => matches!(self, Kind::Solution | Kind::Offsets | Kind::Problem),
            Wanted::Plan => self == Kind::Plan,
            Wanted::Other => true,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Kind::Onnx => "an ONNX model",
            Kind::Tflite => "a TensorFlow Lite model",
            Kind::Graph => "a graph (.plim)",
            Kind::TrainingGraph => "a training graph (JSON)",
            Kind::Plan => "a plan (JSON)",
            Kind::Solution => "a packing (JSON)",
            Kind::Explanation => "what `plimsoll explain` found",
            Kind::Comparison => "what `plimsoll compare` found",
            Kind::Difference => "what `plimsoll diff` found",
            Kind::Problem => "a packing problem (CSV)",
            Kind::Offsets => "a table of offsets (CSV)",
            Kind::PlanRows => "a table of a plan (TSV)",
        }
    }

    fn taken_by(self) -> &'static str {
        match self {
            Kind::Onnx | Kind::Tflite | Kind::Graph | Kind::TrainingGraph => {
                "`plimsoll plan MODEL` plans it, `plimsoll verify MODEL PLAN` checks a plan of it"
            }
            Kind::Plan => {
                "`plimsoll verify MODEL PLAN` checks it, `plimsoll diff OLD NEW` compares two"
            }
            Kind::Solution | Kind::Offsets => "`plimsoll check PROBLEM SOLUTION` checks it",
            Kind::Problem => "`plimsoll solve PROBLEM` packs it",
            Kind::Explanation | Kind::Comparison | Kind::Difference | Kind::PlanRows => {
                "no command reads it; give the model, or a plan in JSON"
            }
        }
    }
}
