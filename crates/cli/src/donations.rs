//! Inputs that give their bytes to outputs, on the command line and as a plan tells them:
//! `--donate past=present --state cache=grown`.

use anyhow::{Result, anyhow};
use clap::Args;
use plimsoll_graph::{Donation, Graph, Kernels, donate};
use plimsoll_model::Model;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a command line can say of caches.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Model")]
pub(crate) struct DonationArgs {
    /// Compute an output in the bytes of a donated input
    ///
    /// The output overwrites the input, or, if it is a concat of the input, extends it. It is an error, with the
    /// reason, where that is impossible.
    #[arg(long, value_name = "INPUT=OUTPUT", value_parser = parse)]
    donate: Vec<String>,

    /// Keep state from run to run: the next run finds in the input what this one left in the output
    ///
    /// As --donate, but the bytes are in the arena.
    #[arg(long, value_name = "INPUT=OUTPUT", value_parser = parse)]
    state: Vec<String>,
}

fn parse(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((input, output)) if !input.is_empty() && !output.is_empty() => Ok(text.to_owned()),
        _ => Err("expected INPUT=OUTPUT".to_owned()),
    }
}

/// The pairs, as they were written.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Donations {
    #[serde(default)]
    donate: Vec<String>,
    #[serde(default)]
    state: Vec<String>,
}

impl Donations {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.donate.is_empty() && self.state.is_empty()
    }
}

impl DonationArgs {
    /// Whether pairs are given under an option of that name.
    pub(crate) fn says(&self, key: &str) -> bool {
        match key {
            "donate" => !self.donate.is_empty(),
            "state" => !self.state.is_empty(),
            _ => false,
        }
    }

    /// The names of donations and of states of a model that is run. Names may have an equals sign themselves.
    #[allow(clippy::type_complexity, reason = "two lists of pairs")]
    pub(crate) fn of(
        &self,
        model: &Model,
    ) -> Result<(Vec<(String, String)>, Vec<(String, String)>)> {
        let is_input =
            |name: &str| model.body.inputs.iter().any(|id| model.tensor(*id).name == name);
        let split = |option: &str, pair: &String| {
            let splits = pair.match_indices('=').map(|(at, _)| (&pair[..at], &pair[at + 1..]));
            let found = splits.clone().find(|(input, _)| is_input(input));
            let (input, output) =
                found.ok_or_else(|| anyhow!("{option} {pair}: there is no such input"))?;
            Ok((input.to_owned(), output.to_owned()))
        };
        let all = |option: &str, pairs: &[String]| -> Result<Vec<(String, String)>> {
            pairs.iter().map(|pair| split(option, pair)).collect()
        };
        Ok((all("--donate", &self.donate)?, all("--state", &self.state)?))
    }

    /// What the arguments say, and where they say nothing, what a plan tells.
    pub(crate) fn or_as_recorded(&self, recorded: Donations) -> Donations {
        let said = |own: &[String], recorded| if own.is_empty() { recorded } else { own.to_vec() };
        Donations {
            donate: said(&self.donate, recorded.donate),
            state: said(&self.state, recorded.state),
        }
    }
}

impl Donations {
    /// The graph in which outputs take over the bytes of inputs.
    pub(crate) fn apply(&self, graph: Graph, kernels: &Kernels) -> Result<Graph> {
        let asked = self.donate.iter().map(|pair| ("--donate", pair, false));
        let asked = asked.chain(self.state.iter().map(|pair| ("--state", pair, true)));
        let mut donations = Vec::new();
        for (option, pair, is_state) in asked {
            let blame = |why: &dyn std::fmt::Display| anyhow!("{option} {pair}: {why}");
            donations.push(find(&graph, pair, is_state).map_err(|error| blame(&error))?);
            // With those before it, so that an error is that of this one.
            donate(&graph, kernels, &donations).map_err(|error| blame(&error))?;
        }
        if donations.is_empty() { Ok(graph) } else { Ok(donate(&graph, kernels, &donations)?) }
    }

    /// Tells them in a plan.
    pub(crate) fn record(&self, record: &mut impl FnMut(&str, Value)) {
        for (key, pairs) in [("donate", &self.donate), ("state", &self.state)] {
            if !pairs.is_empty() {
                record(key, json!(pairs));
            }
        }
    }
}

/// The values of a pair. Names may have an equals sign themselves.
fn find(graph: &Graph, pair: &str, is_state: bool) -> Result<Donation> {
    let splits = pair.match_indices('=').map(|(at, _)| (&pair[..at], &pair[at + 1..]));
    let known = |(input, output): (&str, &str)| {
        let (input, output) = (graph.value_by_name(input)?, graph.value_by_name(output)?);
        Some(Donation { input, output, is_state })
    };
    splits.clone().find_map(known).ok_or_else(|| {
        let unknown = |name: &&str| graph.value_by_name(name).is_none();
        let names = splits.flat_map(|(input, output)| [input, output]);
        let name = names.into_iter().find(unknown).unwrap_or(pair);
        anyhow!("there is no value `{name}`")
    })
}
