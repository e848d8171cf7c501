//! `plimsoll fit --bank fast=256KiB --bank slow`: models in two memories, for few bytes moved between them.
//!
//! The plan is one of the model that is written: its file is read again, planned as `plimsoll plan` does, and its
//! values wait in the slow memory from there. So `plimsoll verify` needs nothing but the two files.

use anyhow::{Result, anyhow, bail, ensure};
use plimsoll::{
    BankSpec, DeclaredProgram, Leave, Moved, Options, Program, Recorded, SpillBanks, Spilled,
    StepId, VerifiedPlan, spill, with_copies, write_plan,
};
use plimsoll_report::{InTwo, Tried};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::input::Source;
use crate::planning::{Planned, PlanningArgs};

/// Under which option a plan says what leaves when.
const KEY: &str = "spilled";

/// What leaves when, as a plan tells.
#[derive(Serialize, Deserialize)]
struct Told {
    #[serde(flatten)]
    banks: SpillBanks,
    /// The steps of the program without copies, in order.
    order: Vec<StepId>,
    leaves: Vec<Leave>,
    /// The steps that work in the slow memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    streamed: Vec<StepId>,
}

/// The two memories of a command line.
pub(crate) fn banks(specs: &[BankSpec]) -> Result<Option<SpillBanks>> {
    let plain = |spec: &BankSpec| {
        let mut bare = BankSpec::new(&spec.name);
        bare.capacity = spec.capacity;
        *spec == bare
    };
    match specs {
        [] => Ok(None),
        [fast, slow]
            if plain(fast) && plain(slow) && slow.capacity.is_none() && fast.name != slow.name =>
        {
            let Some(capacity) = fast.capacity else { return Err(expected()) };
            Ok(Some(SpillBanks { fast: fast.name.clone(), capacity, slow: slow.name.clone() }))
        }
        _ => Err(expected()),
    }
}

fn expected() -> anyhow::Error {
    anyhow!(
        "--bank: expected a fast memory with its size and a slow one, like --bank fast=256KiB --bank slow"
    )
}

/// What a form of a model takes of two memories.
pub(crate) fn in_two(moved: Moved, plan: &VerifiedPlan) -> InTwo {
    InTwo { moved, fast_bytes: plan.banks[0].bytes, slow_bytes: plan.banks[1].bytes }
}

/// The one that moves fewest bytes, with the least arithmetic.
pub(crate) fn best(tried: &[Tried]) -> Option<usize> {
    let moved = tried.iter().enumerate().filter_map(|(at, tried)| {
        let moved = tried.outcome.as_ref().ok()?.moved.bytes();
        Some((moved, tried.multiply_adds, tried.nodes, at))
    });
    moved.min().map(|(.., at)| at)
}

/// The plan of a model in two memories, as a file has it.
pub(crate) fn plan_file(
    planning: &PlanningArgs,
    source: Source,
    banks: &SpillBanks,
    clock: &mut Clock,
) -> Result<String> {
    let Some(subject) = planning.read(source)? else { bail!("there is nothing to plan") };
    let improved = subject.improve(clock)?;
    let program = improved.program()?;
    let source = &improved.subject.source;
    let Planned { plan, .. } =
        improved.plan(&program, clock)?.map_err(|why| anyhow!("{source}: {why}"))?;
    let order = plan.schedule.clone();
    let options = improved.subject.options.clone().with_schedule(Some(order.clone()));
    let mut pulse = || clock.tick(|| "letting values wait".to_owned());
    let spilled = spill(&program, &options, banks, &mut pulse);
    let Spilled { program, plan, leaves, streamed, moved, proven } =
        spilled.map_err(|error| anyhow!("{source}: {error}"))?;
    let mut recorded = improved.recorded();
    let told = Told { banks: banks.clone(), order, leaves, streamed };
    recorded.insert(KEY.to_owned(), serde_json::to_value(told)?);
    let mut fast = BankSpec::new(&banks.fast);
    fast.capacity = Some(banks.capacity);
    recorded.insert("banks".to_owned(), json!([fast, BankSpec::new(&banks.slow)]));
    let mut found = Recorded::new();
    found.insert("moved".to_owned(), moved_json(moved, proven));
    Ok(write_plan(&program, &plan, recorded, found))
}

fn moved_json(moved: Moved, proven: bool) -> Value {
    json!({
        "bytes": moved.bytes(),
        "out_bytes": moved.out_bytes,
        "back_bytes": moved.back_bytes,
        "out_copies": moved.out,
        "back_copies": moved.back,
        "streamed_bytes": moved.streamed_bytes,
        "proven": proven,
    })
}

/// The program with copies that a plan tells of, if it does.
pub(crate) fn recorded_copies(
    program: &dyn Program,
    options: &Options,
    recorded: &Recorded,
) -> Result<Option<DeclaredProgram>> {
    let Some(told) = recorded.get(KEY) else { return Ok(None) };
    let told: Told =
        serde_json::from_value(told.clone()).map_err(|error| anyhow!("options.{KEY}: {error}"))?;
    ensure!(told.banks.fast != told.banks.slow, "options.{KEY}: both memories are called the same");
    let options = options.clone().with_schedule(Some(told.order));
    let copies = with_copies(program, &options, &told.banks, &told.leaves, &told.streamed);
    let (program, _) = copies.map_err(|error| anyhow!("options.{KEY}: {error}"))?;
    Ok(Some(program))
}
