//! The packing that a plan is made of: one for each bank, with names.

use std::collections::HashSet;

use plimsoll::explain::heads;
use plimsoll::{BankId, Buffer, Plan, Program, ValueId};
use plimsoll_pack::csv::Table;
use plimsoll_pack::{Problem, Solution, Sweep, bound};

use crate::picture::{Clock, Drawing};

/// A bank with what is in it.
pub(super) struct Picture {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) bound_bytes: u64,
    pub(super) capacity: Option<u64>,
    pub(super) buffers: usize,
    steps: usize,
    table: Table,
    solution: Solution,
    sweep: Sweep,
}

impl Picture {
    /// Every bank of a plan, in order.
    pub(super) fn all(program: &dyn Program, plan: &Plan) -> Vec<Picture> {
        let names = buffer_names(program, plan);
        let picture = |(index, bank): (usize, &plimsoll::Bank)| {
            let here = |buffer: &Buffer| buffer.slot.bank == BankId::new(index);
            let buffers = plan.derivation.buffers.iter().zip(&names).filter(|(b, _)| here(b));
            let (buffers, ids): (Vec<_>, Vec<_>) = buffers.map(|(b, n)| (b, n.clone())).unzip();
            let (table, solution) = packing(&buffers, ids);
            let sweep = Sweep::new(&table.problem);
            let bound_bytes = match plan.banks.len() {
                1 => plan.derivation.lower_bound_bytes,
                _ => bound(&table.problem, &sweep).bytes,
            };
            Picture {
                name: bank.name.clone(),
                bytes: bank.bytes,
                bound_bytes,
                capacity: bank.capacity,
                buffers: buffers.len(),
                steps: plan.schedule.len(),
                table,
                solution,
                sweep,
            }
        };
        plan.banks.iter().enumerate().map(picture).collect()
    }

    pub(super) fn drawing(&self) -> Drawing<'_> {
        Drawing {
            table: &self.table,
            solution: &self.solution,
            sweep: &self.sweep,
            arena_bytes: self.bytes,
            bound_bytes: self.bound_bytes,
            capacity: self.capacity,
            clock: Clock::Steps(self.steps),
        }
    }
}

/// All buffers in one table; where there are several banks, their names come first.
pub(super) fn all_banks(program: &dyn Program, plan: &Plan) -> (Table, Solution) {
    let mut ids = buffer_names(program, plan);
    if plan.banks.len() > 1 {
        for (id, buffer) in ids.iter_mut().zip(&plan.derivation.buffers) {
            *id = format!("{}/{id}", plan.banks[buffer.slot.bank.index()].name);
        }
    }
    let buffers: Vec<&Buffer> = plan.derivation.buffers.iter().collect();
    packing(&buffers, ids)
}

fn packing(buffers: &[&Buffer], ids: Vec<String>) -> (Table, Solution) {
    let offsets = buffers.iter().map(|buffer| buffer.slot.offset).collect();
    let problem = Problem::new(buffers.iter().map(|buffer| buffer.packed()).collect());
    (Table { ids, problem: problem.expect("it was packed") }, Solution::new(offsets))
}

/// What buffers are called: like their first value, or like the step whose scratch they are. No
/// two are equal.
fn buffer_names(program: &dyn Program, plan: &Plan) -> Vec<String> {
    let heads = heads(program, plan);
    let mut taken = HashSet::new();
    let buffers = plan.derivation.buffers.iter().zip(heads);
    let name = |(buffer, head): (&Buffer, Option<ValueId>)| {
        let mut name = match head {
            Some(head) => program.value_name(head).into_owned(),
            None => scratch_name(program, plan, buffer),
        };
        while !taken.insert(name.clone()) {
            name.push('\'');
        }
        name
    };
    buffers.map(name).collect()
}

/// What the scratch memory in a buffer is called.
fn scratch_name(program: &dyn Program, plan: &Plan, buffer: &Buffer) -> String {
    // It lives while its step does.
    let step = plan.schedule.get((buffer.live.start.0 / 2) as usize);
    step.map_or("scratch".to_owned(), |step| format!("{} (scratch)", program.step_name(*step)))
}
