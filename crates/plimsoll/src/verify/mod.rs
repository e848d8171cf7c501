//! Is this plan right? Everything re-derived from the declarations of the program.
//!
//! The verifier sees the [`Program`] and where the [`Plan`] puts things; it knows nothing of how
//! the plan was made and never looks at [`Plan::derivation`]. Four independent questions:
//!
//! - `places`: is everything where it can be at all (bank, size, alignment, views in their roots)?
//! - `order`: is the schedule a permutation of the steps that respects what they need?
//! - `in_order`: with steps one after another, a replay of two runs over the bytes of each bank
//!   must find every value unharmed wherever it is read;
//! - `unordered`: where only some steps are ordered, whatever shares bytes must be ordered.
//!
//! Values in the caller's memory are followed too, each in bytes of its own: the plan may put
//! other values over them only where they are donated, or must be overwritten. Races between
//! accesses to one and the same value in order are the program's own affair: no place of it could
//! cure them.
//!
//! In order O((accesses + pieces) log pieces), see `in_order`; unordered, see `unordered`.

mod before;
mod bytes;
mod facts;
mod in_order;
mod order;
mod places;
mod roots;
pub mod trace;
mod unordered;
mod violation;
mod words;

use std::{error, fmt, ops};

pub use violation::{Counted, Culprit, Region, Space, Thing, Violation};

use crate::plan::Plan;
use crate::program::{Execution, Program};

/// A plan without violations. Only [`verify`], or a [`Verifier`], makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedPlan(Plan);

impl VerifiedPlan {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.0
    }

    /// The plan, which then is no longer known to be right.
    #[must_use]
    pub fn into_plan(self) -> Plan {
        self.0
    }
}

impl ops::Deref for VerifiedPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

/// A plan that is wrong, and every way in which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The plan.
    pub plan: Box<Plan>,
    /// What is wrong; at least one.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.violations.first().map_or(String::new(), |v| format!(": {v}"));
        match self.violations.len() {
            1 => write!(f, "the plan is wrong{first}"),
            n => write!(f, "the plan is wrong in {n} ways, the first{first}"),
        }
    }
}

impl error::Error for Rejected {}

/// Verifies one plan after the other, in the same memory.
#[derive(Default)]
pub struct Verifier {
    facts: facts::FactsMemory,
    replay: in_order::ReplayMemory,
}

impl Verifier {
    /// What [`verify`] finds.
    ///
    /// # Errors
    /// [`Rejected`] if there is a violation.
    pub fn verify(&mut self, program: &dyn Program, plan: Plan) -> Result<VerifiedPlan, Rejected> {
        let violations = self.violations(program, &plan);
        if violations.is_empty() {
            Ok(VerifiedPlan(plan))
        } else {
            Err(Rejected { plan: Box::new(plan), violations })
        }
    }

    fn violations(&mut self, program: &dyn Program, plan: &Plan) -> Vec<Violation> {
        let mut found = Vec::new();
        let facts = facts::Facts::derive(program, plan, &mut self.facts, &mut found);
        places::check(&facts, &mut found);
        let positions = order::positions(&facts, &mut found);
        match program.execution() {
            Execution::InOrder => {
                if let Some(positions) = positions {
                    order::check_in_order(&facts, &positions, &mut found);
                    in_order::check(&facts, &positions, &mut self.replay, &mut found);
                }
            }
            Execution::Partial | Execution::Queues => {
                let uses = unordered::Uses::collect(&facts);
                let edges = unordered::edges(&facts);
                if let Some(positions) = positions {
                    order::check_edges(&edges, &positions, &mut found);
                    order::check_edges(&order::flowing(&facts), &positions, &mut found);
                }
                unordered::check(&facts, &uses, &edges, &mut found);
            }
        }
        self.facts.recycle(facts);
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Checks a plan: it is [verified](VerifiedPlan), or rejected with all violations.
///
/// # Errors
/// [`Rejected`] if there is a violation.
pub fn verify(program: &dyn Program, plan: Plan) -> Result<VerifiedPlan, Rejected> {
    Verifier::default().verify(program, plan)
}

/// All violations, sorted, each once; none if the plan is right.
///
/// Where several steps are in the way of one write at the same time, the one that needs the bytes
/// longest is named.
#[must_use]
pub fn violations(program: &dyn Program, plan: &Plan) -> Vec<Violation> {
    Verifier::default().violations(program, plan)
}

#[cfg(test)]
mod tests;
