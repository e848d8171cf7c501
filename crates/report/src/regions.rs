//! A rewritten model told by its regions: thousands of steps as a few flows and parts.
//!
//! Who rewrote the model has noted in which step of which region each node is, and which node of the original it
//! computes. Nothing was planned by that; it is told beside the plan.

use std::collections::BTreeSet;
use std::io::{self, Write};

use plimsoll::explain::{Alive, GroupPeak, Stage, group_peaks};
use plimsoll::{Plan, StepId};
use serde_json::{Value, json};

use crate::words::{counted, plain};

/// So many regions are listed for people.
const MOST_REGIONS: usize = 12;

/// What is noted of a rewritten model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    /// How each region is computed.
    pub ways: Vec<RegionWay>,
    /// Where each step is, by [`StepId`].
    pub steps: Vec<StagedStep>,
}

/// How a region is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionWay {
    /// In one word.
    pub name: &'static str,
    /// In a few words, such as `in 8 steps of rows`.
    pub words: String,
    /// In how many steps or parts, where there are several.
    pub count: Option<u64>,
}

/// Where a step is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedStep {
    /// In which stage of which region.
    pub stage: Option<Stage>,
    /// The node of the original that it computes.
    pub source: Option<String>,
}

/// A region, with what a plan says of it.
pub(crate) struct ToldRegion<'a> {
    way: &'a RegionWay,
    /// The nodes of the original that it computes, in the order in which they are first computed.
    sources: Vec<&'a str>,
    /// How many steps it has become.
    steps: usize,
    found: GroupPeak,
    peak_source: Option<&'a str>,
}

impl Regions {
    /// The regions that steps of a plan are in, each with its index.
    pub(crate) fn told(&self, plan: &Plan) -> Vec<(usize, ToldRegion<'_>)> {
        let stages: Vec<Option<Stage>> = self.steps.iter().map(|step| step.stage).collect();
        let found = group_peaks(plan, &stages, self.ways.len());
        let told = found.into_iter().enumerate().filter_map(|(region, found)| {
            let found = found?;
            let is_in = |step: &&StepId| self.stage(**step).is_some_and(|at| at.group == region);
            let steps: Vec<StepId> = plan.schedule.iter().filter(is_in).copied().collect();
            let mut known = BTreeSet::new();
            let sources = steps.iter().filter_map(|step| self.source(*step));
            Some((
                region,
                ToldRegion {
                    way: &self.ways[region],
                    sources: sources.filter(|source| known.insert(*source)).collect(),
                    steps: steps.len(),
                    found,
                    peak_source: found.peak.step.and_then(|step| self.source(step)),
                },
            ))
        });
        told.collect()
    }

    fn stage(&self, step: StepId) -> Option<Stage> {
        self.steps.get(step.index())?.stage
    }

    fn source(&self, step: StepId) -> Option<&str> {
        self.steps.get(step.index())?.source.as_deref()
    }

    /// What a step is a part of: `Conv_4, step 3 of 28 of region 1`.
    pub(crate) fn place(&self, step: StepId) -> Option<String> {
        let stage = self.stage(step)?;
        let way = &self.ways[stage.group];
        let of = way.count.map_or(String::new(), |count| format!(" of {count}"));
        let source =
            self.source(step).map_or(String::new(), |source| format!("{}, ", plain(source)));
        let what = if way.name == "flow" || way.count.is_none() { "step" } else { "part" };
        Some(format!("{source}{what} {}{of} of region {}", stage.stage + 1, stage.group + 1))
    }

    /// The same for every step, for a page.
    #[must_use]
    pub fn places(&self) -> Vec<String> {
        let places = (0..self.steps.len()).map(|step| self.place(StepId::new(step)));
        places.map(Option::unwrap_or_default).collect()
    }

    /// Writes a few lines for each region.
    pub(crate) fn write_text(&self, out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
        let told = self.told(plan);
        for (region, told) in told.iter().take(MOST_REGIONS) {
            let (nodes, ends) = (counted(told.sources.len(), "node"), told.ends());
            let way = format!("{}. {}", region + 1, told.way.name);
            writeln!(
                out,
                "{way:>12}  {nodes}, {ends}, {}: {} here",
                told.way.words,
                counted(told.steps, "step")
            )?;
            writeln!(out, "{:14}{}", "", told.peak())?;
        }
        let more = told.len().saturating_sub(MOST_REGIONS);
        if more > 0 { writeln!(out, "{:14}and {}", "", counted(more, "region")) } else { Ok(()) }
    }

    /// The same for programs.
    pub(crate) fn json(&self, plan: &Plan) -> Value {
        let rows = self.told(plan).into_iter().map(|(region, told)| {
            json!({
                "region": region,
                "way": told.way.name,
                "how": told.way.words,
                "steps": told.way.count,
                "sources": told.sources,
                "program_steps": told.steps,
                "carried_bytes": told.found.carried_bytes,
                "peak": {
                    "bytes": told.found.peak.bytes,
                    "point": told.found.peak.point.0,
                    "region_step": told.found.stage,
                    "source": told.peak_source,
                },
            })
        });
        rows.collect()
    }

    /// Where a step is, as keys of an object.
    pub(crate) fn mark(&self, row: &mut Value, step: StepId) {
        if let Some(Stage { group, stage }) = self.stage(step) {
            row["region"] = json!(group);
            row["region_step"] = json!(stage);
        }
        if let Some(source) = self.source(step) {
            row["source"] = json!(source);
        }
    }

    /// What is there at a moment, with pieces of one result of the original together, the largest first.
    pub(crate) fn together<'v>(&self, alive: &'v [Alive]) -> Vec<Vec<&'v Alive>> {
        let made = |one: &Alive| {
            one.made_by.and_then(|step| Some((self.stage(step)?.group, self.source(step)?)))
        };
        let mut groups: Vec<Vec<&Alive>> = Vec::new();
        for one in alive {
            let of = made(one);
            match groups.iter_mut().find(|group| of.is_some() && made(group[0]) == of) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        let bytes = |group: &Vec<&Alive>| group.iter().map(|one| one.bytes).sum::<u64>();
        groups.sort_by_key(|group| std::cmp::Reverse(bytes(group)));
        groups
    }

    /// What several pieces are of, and when they were made: `3 pieces of Conv_4` and `steps 2 to 4 of region 1`.
    pub(crate) fn pieces(&self, group: &[&Alive]) -> (String, String) {
        let made = || group.iter().filter_map(|one| one.made_by);
        let source = made().find_map(|step| self.source(step)).map_or(String::new(), plain);
        let stages = || made().filter_map(|step| self.stage(step));
        let (first, last) = (stages().min(), stages().max());
        let when = first.zip(last).map_or(String::new(), |(first, last)| {
            let region = first.group + 1;
            match (first.stage + 1, last.stage + 1) {
                (first, last) if first == last => {
                    format!("made in step {first} of region {region}")
                }
                (first, last) => format!("made in steps {first} to {last} of region {region}"),
            }
        });
        (format!("{} of {source}", counted(group.len(), "piece")), when)
    }
}

impl ToldRegion<'_> {
    fn ends(&self) -> String {
        match self.sources[..] {
            [] => "only moved".to_owned(),
            [one] => plain(one),
            [first, .., last] => format!("{} to {}", plain(first), plain(last)),
        }
    }

    fn peak(&self) -> String {
        let GroupPeak { peak, stage, carried_bytes } = self.found;
        let of = self.way.count.map_or(String::new(), |count| format!(" of {count}"));
        let at = self.peak_source.map_or(String::new(), |source| format!(", at {}", plain(source)));
        let carried = match carried_bytes {
            0 => "nothing is carried on".to_owned(),
            bytes => format!("at most {bytes} are carried on"),
        };
        format!("peak {} in step {}{of}{at}; {carried}", peak.bytes, stage + 1)
    }
}
