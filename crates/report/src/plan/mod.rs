//! A plan, told to people and to programs.
//!
//! A [`PlanReport`] is a verified plan with the program that it is for; `pictures` turns the
//! buffers of each bank back into a packing, so that what draws packings draws plans.

mod pictures;
mod text;

use std::collections::BTreeMap;
use std::io::{self, Write};

use pictures::Picture;
use plimsoll::verify::VerifiedPlan;
use plimsoll::{
    Labels, Ordering, Place, Plan, Program, Recorded, Role, Totals, ValueId, write_plan_to,
};
use plimsoll_graph::annotate::annotate;
use plimsoll_graph::{Best, ScheduledGraph, text as plim};
use plimsoll_model::range::Proof;
use plimsoll_pack::csv;
use serde_json::json;
pub use text::write_title;

use crate::optimal::OptimalFor;
use crate::origin::Origin;
use crate::picture::{Panel, write_svg};
use crate::ranges::ranges_json;
use crate::regions::Regions;
use crate::tsv::write_tsv;
use crate::words::levels;

/// A plan, what it is for, and what was asked of it.
pub struct PlanReport<'a> {
    /// Where the model came from.
    pub source: &'a Origin,
    /// What it is a plan of.
    pub program: &'a ScheduledGraph<'a>,
    /// The plan.
    pub plan: &'a VerifiedPlan,
    totals: Totals,
    asked: Asked<'a>,
    pictures: Vec<Picture>,
}

/// What was asked of a plan, and what was found on the way.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// How large the arena may be.
    pub budget: Option<u64>,
    /// Whether there was a limit in time.
    pub is_timed: bool,
    /// How it was shown that the plan holds at every size of ranges of dims.
    pub proof: Option<&'a Proof>,
    /// What is used of the arena at other dims.
    pub corners: &'a [(String, u64)],
    /// What was tried for a smaller arena.
    pub best: &'a Best,
    /// What a rewritten model says of its steps.
    pub regions: Option<&'a Regions>,
}

impl<'a> PlanReport<'a> {
    /// A report of that.
    #[must_use]
    pub fn new(
        source: &'a Origin,
        program: &'a ScheduledGraph<'a>,
        plan: &'a VerifiedPlan,
        asked: Asked<'a>,
    ) -> Self {
        let totals = Totals::new(program, plan);
        let pictures = Picture::all(program, plan);
        PlanReport { source, program, plan, totals, asked, pictures }
    }

    /// For what the arena is known to be the smallest, if it is.
    fn optimal_for(&self) -> Option<OptimalFor> {
        let ordering = self.asked.best.ordering.as_ref();
        OptimalFor::of(self.plan, self.program.execution(), ordering)
    }

    /// What was found on the way, for the JSON.
    fn found(&self) -> Recorded {
        let mut found = Recorded::new();
        if let Some(what) = self.optimal_for() {
            found.insert("optimal_for".to_owned(), json!(what.key()));
        }
        if let Some(Ordering { schedule, .. }) = &self.asked.best.ordering {
            let is_best = self.totals.arena_bytes == schedule.arena_bound_bytes;
            let status = if is_best { "optimal" } else { "feasible" };
            found
                .insert("schedule_lower_bound_bytes".to_owned(), json!(schedule.arena_bound_bytes));
            found.insert("schedule_status".to_owned(), json!(status));
        }
        found.insert("moved_bytes".to_owned(), json!(self.asked.best.moved_bytes));
        if let Some(proof) = self.asked.proof {
            found.insert("ranges".to_owned(), ranges_json(proof));
        }
        if let Some(regions) = self.asked.regions {
            found.insert("regions".to_owned(), regions.json(self.plan));
        }
        if !self.asked.corners.is_empty() {
            let used: BTreeMap<&str, u64> =
                self.asked.corners.iter().map(|(at, used)| (&at[..], *used)).collect();
            found.insert("used_bytes_at".to_owned(), json!(used));
        }
        found
    }

    /// The first value that is not one stretch of bytes.
    pub fn first_of_rows(&self) -> Option<ValueId> {
        let in_rows = |value: &ValueId| {
            self.program.value(*value).view_of.is_some_and(|view| view.rows.is_some())
        };
        (0..self.program.values()).map(ValueId::new).find(in_rows)
    }

    /// What is told of the program on a page.
    #[must_use]
    pub fn labels(&self) -> Labels {
        let mut labels = self.program.labels(&self.source.title[..]);
        labels.places = self.asked.regions.map_or_else(Vec::new, Regions::places);
        labels
    }

    /// Why the answer is no, in a line; `None` if it is yes.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let (arena, bound) = (self.totals.arena_bytes, self.totals.lower_bound_bytes);
        let budget = self.asked.budget.filter(|budget| arena > *budget)?;
        let hope = if bound > budget {
            format!("the lower bound of {bound} is above it too, so no packing of this order fits")
        } else {
            format!("the lower bound of {bound} is not above it, so a better packing may exist")
        };
        Some(format!("over budget: the arena has {arena} bytes, the budget is {budget}; {hope}"))
    }

    /// Writes the plan as JSON.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write, recorded: Recorded) -> io::Result<()> {
        write_plan_to(out, self.program, self.plan, recorded, self.found())
    }

    /// Writes a row for each value that has a place of its own.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_tsv(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(write_tsv(self.program, self.plan).as_bytes())
    }

    /// Writes the packing below the plan, all banks in one table.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let (table, solution) = pictures::all_banks(self.program, self.plan);
        csv::write_solution(out, &table, &solution)
    }

    /// Writes the graph, with what the plan says of each node.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_plim(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut graph = self.program.graph().clone();
        annotate(self.program, self.plan).apply(&mut graph);
        out.write_all(plim::print(&graph).as_bytes())
    }

    /// Writes a picture of each bank.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_svg(&self, out: &mut dyn Write) -> io::Result<()> {
        let many = self.pictures.len() > 1;
        let panels: Vec<Panel<'_>> = self
            .pictures
            .iter()
            .map(|picture| {
                let name = if many { format!("{}: ", picture.name) } else { String::new() };
                let levels = levels(picture.bytes, picture.bound_bytes);
                let caption = format!("{}: {name}{levels}", self.source.title);
                Panel { caption, drawing: picture.drawing() }
            })
            .collect();
        write_svg(out, &self.source.name, &panels)
    }
}

/// Bytes of one kind of values: in banks, in the caller's memory, and in bytes there that count for
/// another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Split {
    inside: u64,
    outside: u64,
    parts: u64,
}

/// The whole picture: what is where, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Boundaries {
    weights: Split,
    statics: Split,
    inputs: Split,
    outputs: Split,
}

impl Boundaries {
    fn new(program: &dyn Program, plan: &Plan) -> Self {
        let mut sums = Boundaries::default();
        for (index, place) in plan.places.iter().enumerate() {
            let info = program.value(ValueId::new(index));
            let split = match info.role {
                Role::Param | Role::Constant => &mut sums.weights,
                Role::Static => &mut sums.statics,
                Role::Input => &mut sums.inputs,
                Role::Temporary if info.output => &mut sums.outputs,
                Role::Temporary => continue,
            };
            match place {
                // A view adds nothing to its root, unless only the view is an output.
                _ if info.view_of.is_some() && info.role != Role::Temporary => {}
                Place::Bank(_) => split.inside += info.bytes,
                Place::External => split.outside += info.bytes,
                Place::Outside { .. } => split.parts += info.bytes,
                Place::Elided => {}
            }
        }
        sums
    }

    fn outside(&self) -> u64 {
        self.weights.outside + self.statics.outside + self.inputs.outside + self.outputs.outside
    }
}
