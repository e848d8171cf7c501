//! The cost model of orders, for tests that hold it against its definition.

use crate::error::PlanError;
use crate::ids::StepId;
use crate::options::Options;
use crate::program::Program;
use crate::schedule::{CostModel, GroupId, OrderableProgram, lower_bound};

/// What orders of a program's groups of steps cost. Groups are numbered in the program's own order.
#[derive(Clone, Debug)]
pub struct OrderCosts(CostModel);

impl OrderCosts {
    /// The costs of a program.
    pub fn of(program: &dyn Program, options: &Options) -> Result<Self, PlanError> {
        let ordered = OrderableProgram::of(program, options)?;
        Ok(OrderCosts(CostModel::of(&ordered.source(options))))
    }

    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.0.len()
    }

    /// The groups that come before a group.
    #[must_use]
    pub fn before(&self, group: u32) -> &[u32] {
        self.0.before(group)
    }

    /// The most bytes that are alive in an order.
    #[must_use]
    pub fn peak(&self, order: &[u32]) -> u64 {
        self.0.peak(order)
    }

    /// The same, counted with time running backwards.
    #[must_use]
    pub fn peak_backwards(&self, order: &[u32]) -> u64 {
        let last = self.0.len() as GroupId - 1;
        let mirrored: Vec<GroupId> = order.iter().rev().map(|group| last - group).collect();
        self.0.reversed().peak(&mirrored)
    }

    /// What no order is below, without any search.
    #[must_use]
    pub fn lower_bound(&self) -> u64 {
        let own: Vec<GroupId> = (0..self.0.len() as GroupId).collect();
        lower_bound(&self.0, &own)
    }

    /// The steps of groups, in order.
    #[must_use]
    pub fn steps(&self, order: &[u32]) -> Vec<StepId> {
        self.0.steps(order)
    }
}
