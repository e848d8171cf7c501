//! A plan at other sizes than those that it was made for.
//!
//! A model with a range of sizes is planned at the largest. At smaller ones every buffer stays
//! where it is and is used in part: what is a view there is one still, at the place that follows
//! from the smaller sizes, and what is overwritten in place is. Whether that is right for some
//! sizes, the verifier says of the program as it is executed then.

use std::borrow::Cow;

use plimsoll::verify::violations;
use plimsoll::{
    Access, Execution, Overwrite, Place, Plan, Program, Scratch, Slot, StepId, ValueId, ValueInfo,
    roots_of,
};
use plimsoll_pack::Span;
use thiserror::Error;

use crate::scheduled::ScheduledGraph;

/// Why a plan does not hold at other sizes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DoesNotHold {
    /// The program there has other steps or values, or another order.
    #[error("`{what}` is another step or value there")]
    OtherProgram {
        /// A step or value that is different.
        what: String,
    },
    /// A value has to be a view, and is none there.
    #[error("`{value}` is not a view there")]
    NoView {
        /// The value.
        value: String,
    },
    /// A value is larger there.
    #[error("`{value}` has {bytes} bytes there, more than the {planned} planned")]
    Larger {
        /// The value.
        value: String,
        /// Its size there.
        bytes: u64,
        /// Its size in the plan.
        planned: u64,
    },
    /// Something would be overwritten.
    #[error("{0}")]
    Violation(String),
}

/// The bytes that a plan uses at the sizes of `other`, the same graph with other shapes; an error
/// if it does not hold there.
pub fn used_at(
    planned: &ScheduledGraph<'_>,
    plan: &Plan,
    other: &ScheduledGraph<'_>,
) -> Result<u64, DoesNotHold> {
    let plan = plan_at(planned, plan, other)?;
    Ok(plan.banks.iter().map(|bank| bank.bytes).sum())
}

/// A plan as it is used at the sizes of `other`, the same graph with other shapes: every value where it is, and as large
/// as it is there; an error if it does not hold there.
pub fn plan_at(
    planned: &ScheduledGraph<'_>,
    plan: &Plan,
    other: &ScheduledGraph<'_>,
) -> Result<Plan, DoesNotHold> {
    let there = There::new(planned, other)?;
    let plan = there.plan(plan)?;
    match violations(&there, &plan).first() {
        None => Ok(plan),
        Some(violation) => {
            Err(DoesNotHold::Violation(violation.describe(&there, &plan).to_string()))
        }
    }
}

/// The steps of the planned program on values of other sizes.
struct There<'p, 'g> {
    planned: &'p ScheduledGraph<'g>,
    other: &'p ScheduledGraph<'g>,
}

impl<'p, 'g> There<'p, 'g> {
    fn new(
        planned: &'p ScheduledGraph<'g>,
        other: &'p ScheduledGraph<'g>,
    ) -> Result<Self, DoesNotHold> {
        let differs = |what: Cow<'_, str>| DoesNotHold::OtherProgram { what: what.into_owned() };
        let steps = planned.steps().max(other.steps());
        for step in (0..steps).map(StepId::new) {
            let name = |program: &ScheduledGraph<'_>| {
                (step.index() < program.steps()).then(|| program.step_name(step).into_owned())
            };
            if name(planned) != name(other) {
                let name = name(planned).or(name(other)).unwrap_or_default();
                return Err(differs(Cow::Owned(name)));
            }
        }
        for value in (0..planned.values()).map(ValueId::new) {
            let name = planned.value_name(value);
            let same = value.index() < other.values() && other.value_name(value) == name;
            if !same || other.value(value).role != planned.value(value).role {
                return Err(differs(name));
            }
            let of = |program: &ScheduledGraph<'_>| program.value(value).view_of.map(|v| v.of);
            if of(planned).is_some() && of(planned) != of(other) {
                return Err(DoesNotHold::NoView { value: name.into_owned() });
            }
        }
        Ok(There { planned, other })
    }

    /// The plan with every value as large as it is here.
    fn plan(&self, plan: &Plan) -> Result<Plan, DoesNotHold> {
        let mut plan = plan.clone();
        for (index, (root, layout)) in roots_of(self).into_iter().enumerate() {
            let value = ValueId::new(index);
            let info = self.value(value);
            let (offset, planned) = (layout.first, self.planned.value(value).bytes);
            let bytes = info.bytes;
            if bytes > planned {
                let value = self.value_name(value).into_owned();
                return Err(DoesNotHold::Larger { value, bytes, planned });
            }
            // What is kept free behind it here is kept free there.
            let behind = match plan.places[value.index()] {
                Place::Bank(slot) => slot.reserved.saturating_sub(slot.bytes),
                _ => 0,
            };
            plan.places[value.index()] =
                match (plan.places[value.index()], plan.places[root.index()]) {
                    (Place::Bank(_), Place::Bank(slot)) => {
                        let bytes = layout.hull(Span::new(0, bytes)).len();
                        let reserved = bytes.saturating_add(behind);
                        Place::Bank(Slot { offset: slot.offset + offset, bytes, reserved, ..slot })
                    }
                    (Place::Outside { .. }, Place::Outside { root, offset: at }) => {
                        Place::Outside { root, offset: at + offset }
                    }
                    (Place::Outside { root, .. }, _) => Place::Outside { root, offset },
                    (place, _) => place,
                };
        }
        for (index, bank) in plan.banks.iter_mut().enumerate() {
            let guarded = plan.places.iter().enumerate().filter_map(|(value, place)| match place {
                Place::Bank(slot) => Some((*slot, self.value(ValueId::new(value)).guard)),
                _ => None,
            });
            let scratch = plan.scratch.iter().flatten().map(|slot| (*slot, 0));
            let here = guarded.chain(scratch).filter(|(slot, _)| slot.bank.index() == index);
            let end = |(slot, guard): (Slot, u64)| {
                slot.offset.saturating_add(slot.reserved.max(slot.bytes.saturating_add(guard)))
            };
            bank.bytes = here.map(end).max().unwrap_or(0);
        }
        Ok(plan)
    }
}

impl Program for There<'_, '_> {
    fn steps(&self) -> usize {
        self.planned.steps()
    }

    fn values(&self) -> usize {
        self.planned.values()
    }

    fn value(&self, value: ValueId) -> ValueInfo {
        let (planned, other) = (self.planned.value(value), self.other.value(value));
        let view_of = planned.view_of.and(other.view_of);
        ValueInfo { bytes: other.bytes, view_of, ..planned }
    }

    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        self.planned.accesses(step)
    }

    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        let there = self.other.overwrites(step);
        let mut both = self.planned.overwrites(step).into_owned();
        both.retain(|overwrite| there.contains(overwrite));
        Cow::Owned(both)
    }

    fn scratch(&self, step: StepId) -> Option<Scratch> {
        self.planned.scratch(step)
    }

    fn execution(&self) -> Execution {
        self.planned.execution()
    }

    fn queue(&self, step: StepId) -> u32 {
        self.planned.queue(step)
    }

    fn after(&self, step: StepId) -> Cow<'_, [StepId]> {
        self.planned.after(step)
    }

    fn flows_from(&self, step: StepId) -> Cow<'_, [StepId]> {
        self.planned.flows_from(step)
    }

    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        self.planned.value_name(value)
    }

    fn step_name(&self, step: StepId) -> Cow<'_, str> {
        self.planned.step_name(step)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::{Options, plan};

    use super::*;
    use crate::scheduled::LoweringOptions;
    use crate::text;

    /// `a` and `b` share bytes; `v` is the second half of `a`.
    fn at(rows: u64) -> crate::graph::Graph {
        let half = rows / 2;
        text::parse(&format!(
            "plim 1\ninput x: f32[{rows}, 4]\na: f32[{rows}, 4] = matmul(x, x)\n\
             v: f32[{half}, 4] = narrow{{axis=0, start={half}, len={half}}}(a)\nb: f32[{rows}, 4] = exp(a)\n\
             c: f32[{half}, 4] = matmul(v, b)\noutput c\n"
        ))
        .unwrap_or_else(|error| panic!("{error}"))
    }

    fn scheduled(graph: &crate::graph::Graph) -> ScheduledGraph<'_> {
        ScheduledGraph::new(graph, &LoweringOptions::default()).unwrap()
    }

    #[test]
    fn a_plan_holds_at_smaller_sizes() {
        let (large, small) = (at(64), at(8));
        let (large, small) = (scheduled(&large), scheduled(&small));
        let made = plan(&large, &Options::default()).unwrap();
        let own: u64 = made.banks.iter().map(|bank| bank.bytes).sum();
        assert_eq!(used_at(&large, &made, &large), Ok(own));
        let used = used_at(&large, &made, &small).unwrap();
        assert!(used < own, "{used} of {own}");
        let made = plan(&small, &Options::default()).unwrap();
        let larger = DoesNotHold::Larger { value: "x".to_owned(), bytes: 1024, planned: 128 };
        assert_eq!(used_at(&small, &made, &large), Err(larger));
    }

    #[test]
    fn what_is_no_view_or_in_place_at_other_sizes_is_found() {
        let graph = |n: u64, m: u64| {
            text::parse(&format!(
                "plim 1\ninput x: f32[{m}]\ninput y: f32[{n}]\na: f32[{n}] = matmul(y, y)\n\
                 b: f32[{m}] = add(a, x)\nt: f32[{m}, {n}] = expand(b)\noutput t\n"
            ))
            .unwrap_or_else(|error| panic!("{error}"))
        };
        let (planned, other) = (graph(1, 1), graph(1, 1));
        let (planned, same) = (scheduled(&planned), scheduled(&other));
        let made = plan(&planned, &Options::default()).unwrap();
        assert_eq!(used_at(&planned, &made, &same), Ok(4));

        let (planned, other) = (graph(8, 8), graph(1, 8));
        let (planned, other) = (scheduled(&planned), scheduled(&other));
        let made = plan(&planned, &Options::default()).unwrap();
        let error = used_at(&planned, &made, &other).unwrap_err();
        let words = "step \"b\" overwrites \"a\" with \"b\" while it reads it";
        assert!(error.to_string().starts_with(words), "{error}");

        let (planned, other) = (graph(1, 8), graph(2, 2));
        let (planned, other) = (scheduled(&planned), scheduled(&other));
        let made = plan(&planned, &Options::default()).unwrap();
        let no_view = DoesNotHold::NoView { value: "t".to_owned() };
        assert_eq!(used_at(&planned, &made, &other), Err(no_view));
    }
}
