//! Lines of a trace, with names resolved.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use plimsoll_pack::Span;
use serde::Deserialize;

use super::{Limits, TraceError};
use crate::ids::{StepId, ValueId};
use crate::plan::Plan;
use crate::program::Program;

/// A step that ran.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) step: StepId,
    pub(super) reads: Vec<Access>,
    pub(super) writes: Vec<Access>,
}

/// Bytes that it touched.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) value: ValueId,
    /// `None` for memory outside of the plan, where bytes are those of the value.
    pub(super) bank: Option<u32>,
    pub(super) span: Span,
    pub(super) made_by: Option<StepId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLine {
    step: Option<u32>,
    name: Option<String>,
    #[serde(default)]
    reads: Vec<RawAccess>,
    #[serde(default)]
    writes: Vec<RawAccess>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAccess {
    value: Option<String>,
    id: Option<u32>,
    bank: Option<String>,
    offset: u64,
    bytes: u64,
    made_by: Option<u32>,
}

/// The lines of a trace, one at a time.
pub(super) struct Lines<R> {
    names: Names,
    trace: R,
    limits: Limits,
    /// How many lines, and how many bytes, were read.
    count: usize,
    bytes: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// From the first one on.
    pub(super) fn new(program: &dyn Program, plan: &Plan, trace: R, limits: Limits) -> Self {
        let names = Names::new(program, plan);
        Lines { names, trace, limits, count: 0, bytes: 0, text: Vec::new() }
    }

    /// Reads the text of the next line. Says whether there is one.
    fn read(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        self.count += 1;
        let line = self.count;
        let mut most = (&mut self.trace).take(self.limits.line.saturating_add(1));
        let read = most.read_until(b'\n', &mut self.text);
        let read = read.map_err(|source| TraceError::Io { line, source })? as u64;
        self.bytes = self.bytes.saturating_add(read);
        let too_large = |what: String| Err(TraceError::TooLarge { line, what });
        if read > self.limits.line {
            return too_large(format!("longer than {} bytes", self.limits.line));
        }
        if self.bytes > self.limits.trace {
            return too_large(format!("the trace is longer than {} bytes", self.limits.trace));
        }
        Ok(read > 0)
    }

    fn parse(&self) -> Result<Line, TraceError> {
        let line = self.count;
        let raw: RawLine = serde_json::from_slice(&self.text)
            .map_err(|source| TraceError::Syntax { line, source })?;
        self.names.line(line, &raw).map_err(|what| TraceError::Unknown { line, what })
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Line, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read() {
                Err(error) => return Some(Err(error)),
                Ok(false) => return None,
                Ok(true) if self.text.trim_ascii().is_empty() => {}
                Ok(true) => return Some(self.parse()),
            }
        }
    }
}

/// What names mean; `None` for those that mean several things.
struct Names {
    steps: HashMap<String, Option<u32>>,
    values: HashMap<String, Option<u32>>,
    banks: HashMap<String, Option<u32>>,
    counts: (usize, usize),
}

fn index(names: impl Iterator<Item = String>) -> HashMap<String, Option<u32>> {
    let mut index = HashMap::new();
    for (id, name) in names.enumerate() {
        index.entry(name).and_modify(|known| *known = None).or_insert(Some(id as u32));
    }
    index
}

impl Names {
    fn new(program: &dyn Program, plan: &Plan) -> Self {
        let steps = (0..program.steps()).map(StepId::new);
        let values = (0..program.values()).map(ValueId::new);
        Names {
            steps: index(steps.map(|s| program.step_name(s).into_owned())),
            values: index(values.map(|v| program.value_name(v).into_owned())),
            banks: index(plan.banks.iter().map(|bank| bank.name.clone())),
            counts: (program.steps(), program.values()),
        }
    }

    fn line(&self, number: usize, raw: &RawLine) -> Result<Line, String> {
        let step = resolve("step", raw.step, raw.name.as_deref(), &self.steps, self.counts.0)?;
        let reads = self.accesses(&raw.reads)?;
        let writes = self.accesses(&raw.writes)?;
        Ok(Line { number, step: StepId(step), reads, writes })
    }

    fn accesses(&self, list: &[RawAccess]) -> Result<Vec<Access>, String> {
        list.iter().map(|raw| self.access(raw)).collect()
    }

    fn access(&self, raw: &RawAccess) -> Result<Access, String> {
        let value = resolve("value", raw.id, raw.value.as_deref(), &self.values, self.counts.1)?;
        let bank = raw.bank.as_deref();
        let bank = bank.map(|b| resolve("bank", None, Some(b), &self.banks, 0)).transpose()?;
        let made_by =
            raw.made_by.map(|s| resolve("step", Some(s), None, &self.steps, self.counts.0));
        let end = raw.offset.checked_add(raw.bytes).ok_or("bytes beyond the address space")?;
        Ok(Access {
            value: ValueId(value),
            bank,
            span: Span::new(raw.offset, end),
            made_by: made_by.transpose()?.map(StepId),
        })
    }
}

fn resolve(
    noun: &str,
    id: Option<u32>,
    name: Option<&str>,
    names: &HashMap<String, Option<u32>>,
    count: usize,
) -> Result<u32, String> {
    if let Some(id) = id.filter(|id| *id as usize >= count) {
        return Err(format!("no {noun} {id}: there are {count}"));
    }
    let meant = name.map(|name| names.get(name).ok_or(format!("no {noun} {name:?}")));
    match (id, meant.transpose()?, name) {
        (None, None, _) => Err(format!("which {noun}?")),
        (Some(id), Some(Some(meant)), Some(name)) if id != *meant => {
            Err(format!("{noun} {id} is not {name:?}"))
        }
        (Some(id), ..) => Ok(id),
        (None, Some(Some(meant)), _) => Ok(*meant),
        (None, Some(None), name) => {
            Err(format!("several {noun}s are called {:?}", name.unwrap_or_default()))
        }
    }
}
