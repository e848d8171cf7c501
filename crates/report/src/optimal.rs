//! For what an arena is known to be the smallest: the one place that says so.

use plimsoll::{Execution, Ordering, Plan};

/// For what no arena is smaller than that of a plan, with the same values sharing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptimalFor {
    /// The order in which the steps run.
    Order,
    /// Every order in which they could run.
    EveryOrder,
    /// Steps that do not run in order: one plan for all the ways in which they may.
    Execution,
}

impl OptimalFor {
    /// What a plan is optimal for, if it is; `ordering` is what came of the search for an order.
    pub(crate) fn of(
        plan: &Plan,
        execution: Execution,
        ordering: Option<&Ordering>,
    ) -> Option<Self> {
        let arena: u64 = plan.banks.iter().map(|bank| bank.bytes).sum();
        let bound = ordering.map(|ordering| ordering.schedule.arena_bound_bytes);
        match execution {
            _ if !plan.derivation.optimal => None,
            Execution::Partial | Execution::Queues => Some(OptimalFor::Execution),
            Execution::InOrder if bound.is_some_and(|bound| bound >= arena) => {
                Some(OptimalFor::EveryOrder)
            }
            Execution::InOrder => Some(OptimalFor::Order),
        }
    }

    /// As JSON has it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            OptimalFor::Order => "order",
            OptimalFor::EveryOrder => "every order",
            OptimalFor::Execution => "execution",
        }
    }

    /// What follows the word "optimal".
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            OptimalFor::Order => "for this order and sharing",
            OptimalFor::EveryOrder => "for every order, with this sharing",
            OptimalFor::Execution => "for steps that are not in order, with this sharing",
        }
    }

    /// The same as a sentence for a reader who does not know the term.
    pub(crate) fn in_full(self) -> &'static str {
        match self {
            OptimalFor::Order => "no arena is smaller with this order and this sharing",
            OptimalFor::EveryOrder => "no order of the steps needs less, with this sharing",
            OptimalFor::Execution => {
                "no arena is smaller for steps that need not run in order, with this sharing"
            }
        }
    }
}
