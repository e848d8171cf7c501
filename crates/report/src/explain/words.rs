//! What can be done about an arena, in words, and how it is said on the command line.

use plimsoll::advise::PlanChange;
use plimsoll::{Boundary, ValueId};
use plimsoll_graph::advise::{Action, Cost, Variant};
use plimsoll_graph::{Case, NodeId};

use crate::size;
use crate::words::{counted, plain};

/// One word for a kind of action, for programs.
pub(super) fn kind(action: &Action) -> &'static str {
    match action {
        Action::Plan(PlanChange::Order) => "order",
        Action::Plan(PlanChange::Effort) => "effort",
        Action::Plan(PlanChange::InPlace) => "in_place",
        Action::InPlaceAt(_) => "in_place_at",
        Action::Strided => "strided",
        Action::JoinConcats => "join_concats",
        Action::Plan(PlanChange::ReclaimInputs) => "reclaim_inputs",
        Action::Plan(PlanChange::OutputsOutside) => "outputs_outside",
        Action::Plan(PlanChange::Align(_)) => "align",
        Action::Plan(PlanChange::NoGuards) => "no_guards",
        Action::Recompute { .. } => "recompute",
        Action::Split { .. } => "split",
        Action::Smaller(_) => "smaller",
        Action::Fuse(_) => "fuse",
        Action::Half(_) => "half",
        Action::Plan(PlanChange::SecondBank(_)) => "second_bank",
        _ => "other",
    }
}

/// What to do. Ids are those of the case that the action is for.
pub(super) fn what(action: &Action, case: &Case, variants: &[Variant]) -> String {
    let node = |node: &NodeId| plain(&case.graph.node(*node).name);
    let made = |node: &NodeId| {
        let output = case.graph.node(*node).outputs.first().copied().flatten();
        output.map_or(String::new(), |value| plain(&case.graph.value(value).name))
    };
    match action {
        Action::Plan(PlanChange::Order) => "run the steps in another order".to_owned(),
        Action::Plan(PlanChange::Effort) => "search longer for an order and a packing".to_owned(),
        Action::Plan(PlanChange::InPlace) => "compute in place where ops can".to_owned(),
        Action::InPlaceAt(nodes) => {
            let names: Vec<String> = nodes.iter().map(|(at, _)| node(at)).collect();
            format!("compute {} in place, if its kernel can", names.join(", "))
        }
        Action::Strided => "read and write strided views instead of copying".to_owned(),
        Action::JoinConcats => {
            "compute the operands of concats in their places in the output".to_owned()
        }
        Action::Plan(PlanChange::ReclaimInputs) => {
            "reuse the bytes of inputs after their last read".to_owned()
        }
        Action::Plan(PlanChange::OutputsOutside) => {
            "leave the outputs in the caller's memory".to_owned()
        }
        Action::Plan(PlanChange::Align(align)) => {
            format!("align to {align} bytes instead of {}", case.options.align)
        }
        Action::Plan(PlanChange::NoGuards) => "leave no guard bytes".to_owned(),
        Action::Recompute { node: again, readers } => {
            let readers = listed(readers, node);
            format!("recompute {} for {readers} instead of keeping it", made(again))
        }
        Action::Split { segments, parts } => {
            let segment = |nodes: &Vec<NodeId>| match nodes.as_slice() {
                [first, .., last] => {
                    let steps = counted(nodes.len(), "step");
                    format!("{steps} from {} to {}", node(first), node(last))
                }
                nodes => nodes.iter().map(node).collect(),
            };
            format!("compute in {parts} parts: {}", listed(segments, segment))
        }
        Action::Smaller(index) => format!("plan for {}", plain(&variants[*index].label)),
        Action::Fuse(index) => {
            let label = plain(&variants[*index].label).replace(',', " and ");
            format!("compute several nodes as one step: {label}")
        }
        Action::Half(values) => {
            let names = listed(values, |value: &ValueId| plain(&case.graph.value(*value).name));
            format!("store {} in half precision: {names}", counted(values.len(), "value"))
        }
        Action::Plan(PlanChange::SecondBank(capacity)) => {
            format!("spill what exceeds {} to a second memory", size::short(*capacity))
        }
        _ => String::new(),
    }
}

/// A few names, and how many more there are.
fn listed<T>(all: &[T], name: impl Fn(&T) -> String) -> String {
    const MOST: usize = 3;
    let mut names: Vec<String> = all.iter().take(MOST).map(name).collect();
    if all.len() > MOST {
        names.push(format!("{} more", all.len() - MOST));
    }
    names.join(", ")
}

/// The arguments that do it; `None` if it has to be done to the model or its runtime.
pub(super) fn how(action: &Action, case: &Case, variants: &[Variant]) -> Option<String> {
    match action {
        Action::Plan(PlanChange::Order) => Some("--order best".to_owned()),
        Action::Plan(PlanChange::Effort) => Some("--effort high".to_owned()),
        Action::Plan(PlanChange::InPlace) => {
            Some("--kernels standard, without --no-in-place and --own-bytes".to_owned())
        }
        Action::Strided => Some("--kernels strided".to_owned()),
        Action::JoinConcats => Some("--concat join".to_owned()),
        Action::Plan(PlanChange::ReclaimInputs) => Some("--reclaim-inputs".to_owned()),
        Action::Plan(PlanChange::OutputsOutside) => {
            Some(format!("--place {}", others(case.options.place)))
        }
        Action::Plan(PlanChange::Align(align)) => Some(format!("--align {align}")),
        Action::Plan(PlanChange::NoGuards) => Some("--guard 0".to_owned()),
        Action::Smaller(index) => Some(format!("--dim {}", variants[*index].label)),
        Action::Fuse(index) => Some(format!("--kernels fused={}", variants[*index].label)),
        Action::Plan(PlanChange::SecondBank(capacity)) => {
            Some(format!("--bank arena={capacity} --bank second"))
        }
        _ => None,
    }
}

/// What has a place beside outputs.
fn others(place: Boundary<bool>) -> String {
    let kinds =
        [("inputs", place.inputs), ("params", place.params), ("constants", place.constants)];
    let kinds: Vec<&str> = kinds.iter().filter(|(_, on)| *on).map(|(kind, _)| *kind).collect();
    if kinds.is_empty() { "none".to_owned() } else { kinds.join(",") }
}

/// What it costs.
pub(super) fn cost(action: &Action, cost: &Cost) -> String {
    match (action, cost) {
        (_, Cost::Nothing) => "nothing".to_owned(),
        (Action::Plan(PlanChange::Align(_) | PlanChange::NoGuards), _) => {
            "kernels that need less".to_owned()
        }
        (_, Cost::Kernels) => "kernels that can do it".to_owned(),
        (_, Cost::BytesElsewhere(bytes)) => format!("{} elsewhere", size::long(*bytes)),
        (_, Cost::Elements(elements)) => format!("{elements} more elements computed per run"),
        (_, Cost::Steps(steps)) => {
            format!("{steps} more {} per run", if *steps == 1 { "step" } else { "steps" })
        }
        (Action::Half(_), _) => "precision: 11 bits of each element instead of 24".to_owned(),
        (Action::Smaller(_), _) => "less in one run".to_owned(),
        _ => String::new(),
    }
}
