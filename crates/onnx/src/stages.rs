//! What a rewritten file says of where its nodes come from, for reports; nobody plans by it.
//!
//! - A node says under `plimsoll.source` which node of the original it computes, and under `plimsoll.step` in which
//!   region and in which step of it it does, as two numbers: `2 13`.
//! - The model says under `plimsoll.regions` how each region is computed: `flow 28, parts 4, again`.
//!
//! What is not of that form says nothing.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;
use plimsoll_rewrite::{Stage, Way};
use prost::Message;

use crate::error::Malformed;
use crate::file::OnnxFile;
use crate::proto::{NodeProto, StringStringEntryProto};
use crate::wire::{Content, fields, last_bytes};

/// Under which key a node says which node it comes from.
pub(crate) const SOURCE: &str = "plimsoll.source";
/// Under which key a node says in which step of which region it is.
pub(crate) const STEP: &str = "plimsoll.step";
/// Under which key a model says which regions there are.
pub(crate) const REGIONS: &str = "plimsoll.regions";

/// Whether a key is one of these: what is said under it holds for every plan.
pub(crate) fn is_of_stages(key: &str) -> bool {
    [SOURCE, STEP, REGIONS].contains(&key)
}

/// Where the nodes of a rewritten file come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// How each region is computed.
    pub regions: Vec<Way>,
    /// What nodes say, by name.
    pub nodes: BTreeMap<String, StagedNode>,
}

/// What a node says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedNode {
    /// In which step of which region it is.
    pub stage: Option<Stage>,
    /// The node of the original that it computes.
    pub source: Option<String>,
}

impl Stages {
    /// What the file of a model says; `None` if no rewrite has made it.
    #[must_use]
    pub fn read(file: &OnnxFile) -> Option<Self> {
        let regions = regions(&file.bytes).ok()??;
        let regions = regions.split(", ").map(way).collect::<Option<Vec<_>>>()?;
        let nodes = nodes(&file.bytes, regions.len()).ok()?;
        Some(Stages { regions, nodes })
    }
}

/// What a model says of its regions.
pub(crate) fn regions(bytes: &Bytes) -> Result<Option<String>, Malformed> {
    for field in fields(bytes, 0..bytes.len()) {
        let field = field?;
        if let (14, Content::Bytes(entry)) = (field.number, field.content)
            && text(bytes, &entry, 1)? == Some(REGIONS)
        {
            return Ok(text(bytes, &entry, 2)?.map(str::to_owned));
        }
    }
    Ok(None)
}

/// The entry of a model with these regions behind those that it has.
pub(crate) fn regions_entry(before: Option<&str>, ways: &[Way]) -> StringStringEntryProto {
    let ways = ways.iter().map(|way| match way.count() {
        Some(count) => format!("{} {count}", way.name()),
        None => way.name().to_owned(),
    });
    let all: Vec<String> = before.map(str::to_owned).into_iter().chain(ways).collect();
    entry(REGIONS, all.join(", "))
}

/// How many regions a model says that it has.
pub(crate) fn count(regions: Option<&str>) -> usize {
    regions.map_or(0, |regions| regions.split(", ").count())
}

/// The entry of a node in a step.
pub(crate) fn step_entry(stage: Stage) -> StringStringEntryProto {
    entry(STEP, format!("{} {}", stage.region, stage.step))
}

pub(crate) fn entry(key: &str, value: String) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) }
}

/// What a node says under a key.
pub(crate) fn said<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

fn text<'b>(bytes: &'b Bytes, of: &Range<usize>, field: u64) -> Result<Option<&'b str>, Malformed> {
    let range = last_bytes(bytes, of.clone(), field)?;
    Ok(range.and_then(|range| str::from_utf8(&bytes[range]).ok()))
}

fn way(text: &str) -> Option<Way> {
    let (name, count) =
        text.split_once(' ').map_or((text, None), |(name, count)| (name, Some(count)));
    let count = count.map(str::parse).transpose().ok()?;
    Way::named(name, count)
}

fn nodes(bytes: &Bytes, regions: usize) -> Result<BTreeMap<String, StagedNode>, Malformed> {
    let mut nodes = BTreeMap::new();
    for field in fields(bytes, 0..bytes.len()) {
        let field = field?;
        let (7, Content::Bytes(graph)) = (field.number, field.content) else { continue };
        for field in fields(bytes, graph) {
            let field = field?;
            let (1, Content::Bytes(message)) = (field.number, field.content) else { continue };
            let Ok(node) = NodeProto::decode(bytes.slice(message)) else { continue };
            let stage = said(&node, STEP).and_then(stage).filter(|stage| stage.region < regions);
            let source = said(&node, SOURCE).map(str::to_owned);
            nodes.insert(node.name().to_owned(), StagedNode { stage, source });
        }
    }
    Ok(nodes)
}

fn stage(text: &str) -> Option<Stage> {
    let (region, step) = text.split_once(' ')?;
    Some(Stage { region: region.parse().ok()?, step: step.parse().ok()? })
}
