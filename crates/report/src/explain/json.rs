//! The explanation as JSON.

use std::io::{self, Write};

use plimsoll::explain::{Alive, Peak, Why, account, alive, peaks};
use plimsoll::{Program, StepId, Unplaced, ValueId};
use plimsoll_graph::advise::{Action, Cost, Fit, Reached, Refusal};
use plimsoll_graph::{PlannedGraph, ScheduledGraph};
use serde_json::{Value, json};

use super::text::sums;
use super::{ExplainReport, RUNNERS_UP, words};
use crate::regions::Regions;
use crate::words as shared_words;

/// What such an object says of itself.
const EXPLAIN_FORMAT: &str = "plimsoll.explain/1";

/// The keys of an account, in the order of [`sums`].
const ACCOUNT_KEYS: [&str; 7] = [
    "values_bytes",
    "guards_bytes",
    "scratch_bytes",
    "between_bytes",
    "lent_bytes",
    "alignment_bytes",
    "free_bytes",
];

impl ExplainReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let program = self.settled.program();
        let plan = &self.settled.plan;
        let peaks = peaks(plan, 1 + RUNNERS_UP);
        let told = Telling { program: &program, settled: self.settled, regions: self.regions };
        let mut object = json!({
            "format": EXPLAIN_FORMAT,
            "arena_bytes": self.settled.arena_bytes(),
            "lower_bound_bytes": plan.derivation.lower_bound_bytes,
            "status": if plan.derivation.optimal { "optimal" } else { "feasible" },
            "peaks": peaks.iter().map(|peak| told.peak(peak)).collect::<Vec<_>>(),
            "advice": self.advice.iter().map(|advice| {
                let mut row = self.action(&advice.action, &advice.cost, self.settled);
                row["saved_bytes"] = json!(advice.saved_bytes);
                row["arena_bytes"] = json!(advice.settled.arena_bytes());
                row
            }).collect::<Vec<_>>(),
        });
        if let Some(what) = self.optimal_for() {
            object["optimal_for"] = json!(what.key());
        }
        if let Some(regions) = self.regions {
            object["regions"] = regions.json(plan);
        }
        if let Some((budget, fit)) = &self.fit {
            object["budget"] = self.fit(*budget, fit);
        }
        if self.stopped {
            object["reproducible"] = json!(false);
        }
        shared_words::write_json(out, &object)
    }

    fn action(&self, action: &Action, cost: &Cost, before: &PlannedGraph) -> Value {
        let mut row = json!({
            "action": words::kind(action),
            "what": words::what(action, &before.case, self.variants),
            "keeps_result": action.keeps_result(),
        });
        if let Some(how) = words::how(action, &before.case, self.variants) {
            row["how"] = json!(how);
        }
        match cost {
            Cost::BytesElsewhere(bytes) => row["bytes_elsewhere"] = json!(bytes),
            Cost::Elements(elements) => row["elements_again"] = json!(elements),
            Cost::Steps(steps) => row["more_steps"] = json!(steps),
            _ => {}
        }
        let graph = &before.case.graph;
        let node = |node: &plimsoll_graph::NodeId| graph.node(*node).name.clone();
        match action {
            Action::Split { segments, parts } => {
                let names = |nodes: &Vec<plimsoll_graph::NodeId>| -> Value {
                    nodes.iter().map(node).collect()
                };
                row["segments"] = segments.iter().map(names).collect();
                row["parts"] = json!(parts);
            }
            Action::Recompute { node: again, readers } => {
                row["nodes"] = json!([node(again)]);
                row["readers"] = readers.iter().map(node).collect();
            }
            Action::InPlaceAt(nodes) => {
                row["nodes"] = nodes.iter().map(|(at, _)| node(at)).collect();
            }
            Action::Half(values) => {
                let name = |value: &ValueId| graph.value(*value).name.clone();
                row["values"] = values.iter().map(name).collect();
            }
            _ => {}
        }
        row
    }

    fn fit(&self, budget: u64, fit: &Fit) -> Value {
        match fit {
            Fit::AsItIs => json!({ "bytes": budget, "fits": true, "actions": [] }),
            Fit::With(reached) => json!({
                "bytes": budget,
                "fits": true,
                "arena_bytes": reached.settled.arena_bytes(),
                "actions": self.steps(reached),
            }),
            Fit::No(refusal) => self.refusal(budget, refusal),
            _ => Value::Null,
        }
    }

    fn steps(&self, reached: &Reached) -> Vec<Value> {
        let step = |(action, cost, before): &(Action, Cost, PlannedGraph)| {
            self.action(action, cost, before)
        };
        reached.steps.iter().map(step).collect()
    }

    fn refusal(&self, budget: u64, refusal: &Refusal) -> Value {
        let row = |one: &Unplaced| {
            let key = if one.is_scratch { "step" } else { "value" };
            json!({ key: one.name, "bytes": one.bytes })
        };
        let mut object = json!({
            "bytes": budget,
            "fits": false,
            "arena_bytes": refusal.lowest.settled.arena_bytes(),
            "actions": self.steps(&refusal.lowest),
            "any_order_bytes": refusal.any_order_bytes,
            "second_bank_bytes": refusal.second_bank,
        });
        if let Some(why) = &refusal.no_room {
            object["misfit"] = why.misfit.iter().map(row).collect();
            object["misfit_irreducible"] = json!(why.irreducible);
            object["proven"] = json!(why.proven);
        }
        object
    }
}

struct Telling<'a> {
    program: &'a ScheduledGraph<'a>,
    settled: &'a PlannedGraph,
    regions: Option<&'a Regions>,
}

impl Telling<'_> {
    fn peak(&self, peak: &Peak) -> Value {
        let plan = &self.settled.plan;
        let account = account(self.program, plan, peak.point);
        let mut sums_told = json!({});
        for (key, (bytes, _)) in ACCOUNT_KEYS.iter().zip(sums(&account)) {
            sums_told[key] = json!(bytes);
        }
        let alive = alive(self.program, plan, &account);
        let mut row = json!({
            "point": peak.point.0,
            "step": peak.step.map(|step| self.step(step)),
            "bytes": peak.bytes,
            "account": sums_told,
            "alive": alive.iter().map(|alive| self.alive(alive)).collect::<Vec<_>>(),
        });
        if let (Some(regions), Some(step)) = (self.regions, peak.step) {
            regions.mark(&mut row, step);
        }
        row
    }

    fn alive(&self, alive: &Alive) -> Value {
        let mut row = json!({
            "value": self.value(alive.value),
            "bytes": alive.bytes,
            "made_by": alive.made_by.map(|step| self.step(step)),
            "last_read_by": alive.last_read_by.map(|step| self.step(step)),
            "why": match alive.why {
                Why::Written => "written",
                Why::Read => "read",
                Why::Waits { .. } => "waits",
                Why::Output => "output",
                Why::Kept => "kept",
            },
        });
        if let Why::Waits { next, last, steps } = alive.why {
            row["waits_for"] = json!(self.step(last));
            row["next_read_by"] = json!(self.step(next));
            row["steps"] = json!(steps);
        }
        if let (Some(regions), Some(step)) = (self.regions, alive.made_by) {
            regions.mark(&mut row, step);
        }
        if let Some(before) = alive.in_place_of {
            row["in_place_of"] = json!(self.value(before));
        }
        for (key, values) in [("taken_over_by", &alive.taken_over_by), ("views", &alive.views)] {
            if !values.is_empty() {
                row[key] = values.iter().map(|value| self.value(*value)).collect();
            }
        }
        row
    }

    fn value(&self, value: ValueId) -> String {
        self.program.value_name(value).into_owned()
    }

    fn step(&self, step: StepId) -> String {
        self.program.step_name(step).into_owned()
    }
}
