//! What is donated is where it should be, what cannot be is said, and wrong plans are found.

use plimsoll::verify::{Violation, violations};
use plimsoll::{Options, Place, Plan, plan, read_plan, write_plan};

use super::*;
use crate::scheduled::{LoweringOptions, ScheduledGraph};
use crate::text;

/// A cache of eight rows, one of which is replaced.
const UPDATED: &str = "input past: f32[8, 4]\ninput row: f32[1, 4]\ninput pos: i64[1]\n\
    param w: f32[8, 4]\nold: f32[4, 4] = matmul(past, w)\n\
    present: f32[8, 4] = scatter(past, pos, row)\nseen: f32[4, 4] = matmul(present, old)\n\
    output present\noutput seen\n";

/// A cache that grows by a row.
const GROWN: &str = "input past: f32[8, 4]\ninput x: f32[1, 4]\nrow: f32[1, 4] = matmul(x, x)\n\
    score: f32[8] = matmul(past, x)\npresent: f32[9, 4] = concat{axis=0}(past, row)\n\
    seen: f32[1, 4] = matmul(present, score)\noutput present\noutput seen\n";

fn parsed(lines: &str) -> Graph {
    text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|error| panic!("{error}"))
}

fn pair(graph: &Graph, input: &str, output: &str, is_state: bool) -> Donation {
    let find = |name: &str| graph.value_by_name(name).unwrap_or_else(|| panic!("no {name}"));
    Donation { input: find(input), output: find(output), is_state }
}

fn donated(lines: &str, pairs: &[(&str, &str)]) -> Result<Graph, DonationError> {
    let graph = parsed(lines);
    let pairs: Vec<_> = pairs.iter().map(|(i, o)| pair(&graph, i, o, false)).collect();
    donate(&graph, &Kernels::default(), &pairs)
}

fn state(lines: &str) -> Result<Graph, DonationError> {
    let graph = parsed(lines);
    donate(&graph, &Kernels::default(), &[pair(&graph, "past", "present", true)])
}

fn refused(lines: &str) -> String {
    donated(lines, &[("past", "present")]).expect_err(lines).to_string()
}

fn scheduled(graph: &Graph) -> ScheduledGraph<'_> {
    ScheduledGraph::new(graph, &LoweringOptions::default()).unwrap()
}

fn placed() -> Options {
    let mut options = Options::default();
    options.place.inputs = true;
    options
}

fn planned(graph: &Graph, options: &Options) -> Plan {
    Plan::clone(&plan(&scheduled(graph), options).unwrap_or_else(|error| panic!("{error}")))
}

fn place(graph: &Graph, plan: &Plan, name: &str) -> Place {
    plan.places[graph.value_by_name(name).unwrap().index()]
}

fn offset(graph: &Graph, plan: &Plan, name: &str) -> u64 {
    match place(graph, plan, name) {
        Place::Bank(slot) => slot.offset,
        other => panic!("{name}: {other:?}"),
    }
}

fn arena(plan: &Plan) -> u64 {
    plan.banks.iter().map(|bank| bank.bytes).sum()
}

#[test]
fn what_is_updated_is_written_over_the_callers_memory() {
    let graph = donated(UPDATED, &[("past", "present")]).unwrap();
    let made = planned(&graph, &Options::default());
    let past = graph.value_by_name("past").unwrap();
    assert_eq!(place(&graph, &made, "past"), Place::External);
    assert_eq!(place(&graph, &made, "present"), Place::Outside { root: past, offset: 0 });
    // Only `old` and `seen` are ours: neither can take over the other.
    assert_eq!(arena(&made), 128);
    let before = planned(&parsed(UPDATED), &Options::default());
    assert_eq!(arena(&before), 256);
}

#[test]
fn what_is_updated_and_placed_has_one_place() {
    let graph = donated(UPDATED, &[("past", "present")]).unwrap();
    let made = planned(&graph, &placed());
    assert_eq!(offset(&graph, &made, "past"), offset(&graph, &made, "present"));
    // The cache of 128, `old`, `seen` and a row of 64 each as aligned, and an index of 8.
    assert_eq!(arena(&made), 328);
    assert_eq!(arena(&planned(&parsed(UPDATED), &placed())), 456);
}

#[test]
fn what_grows_is_around_the_callers_memory() {
    let graph = donated(GROWN, &[("past", "present")]).unwrap();
    let made = planned(&graph, &Options::default());
    let present = graph.value_by_name("present").unwrap();
    assert_eq!(place(&graph, &made, "present"), Place::External);
    assert_eq!(place(&graph, &made, "past"), Place::Outside { root: present, offset: 0 });
    // The score, and a row beside it; what is seen is where the row was.
    assert_eq!(arena(&made), 64 + 16);
    // One row is copied, where nine were before.
    assert_eq!(crate::concat::moved_bytes(&graph, &Kernels::default()), 16);
    assert_eq!(crate::concat::moved_bytes(&parsed(GROWN), &Kernels::default()), 144);
}

#[test]
fn what_grows_and_is_placed_has_one_place() {
    let graph = donated(GROWN, &[("past", "present")]).unwrap();
    let made = planned(&graph, &placed());
    assert_eq!(offset(&graph, &made, "past"), offset(&graph, &made, "present"));
    let last = "input x: f32[1, 4]\ninput past: f32[8, 4]\nrow: f32[1, 4] = matmul(x, x)\n\
        present: f32[9, 4] = concat{axis=0}(row, past)\noutput present\n";
    let graph = donated(last, &[("past", "present")]).unwrap();
    let made = planned(&graph, &placed());
    assert_eq!(offset(&graph, &made, "past"), offset(&graph, &made, "present") + 16);
}

#[test]
fn what_is_changed_in_several_steps_and_shapes_stays_where_it_is() {
    let lines = "input past: f32[8, 4]\ninput pos: i64[1]\ninput row: f32[1, 4]\n\
        flat: f32[32] = reshape(past)\nhalf: f32[32] = mul(flat, flat)\n\
        rows: f32[8, 4] = reshape(half)\nnext: f32[8, 4] = scatter(rows, pos, row)\n\
        present: f32[32] = reshape(next)\noutput present\n";
    let graph = donated(lines, &[("past", "present")]).unwrap();
    let made = planned(&graph, &Options::default());
    let past = graph.value_by_name("past").unwrap();
    for name in ["half", "rows", "next", "present"] {
        assert_eq!(place(&graph, &made, name), Place::Outside { root: past, offset: 0 }, "{name}");
    }
    assert_eq!(arena(&made), 0);
}

#[test]
fn a_state_is_updated_from_run_to_run() {
    let graph = state(UPDATED).unwrap();
    let made = planned(&graph, &Options::default());
    assert_eq!(offset(&graph, &made, "past"), offset(&graph, &made, "present"));
    assert_eq!(arena(&made), 256);
    // Whoever else writes there takes it from the next run.
    let mut wrong = made.clone();
    let old = graph.value_by_name("old").unwrap().index();
    let Place::Bank(slot) = &mut wrong.places[old] else { panic!("it is in a bank") };
    slot.offset = offset(&graph, &made, "past");
    let found = violations(&scheduled(&graph), &wrong);
    let lost = |violation: &Violation| matches!(violation, Violation::PersistentLost { .. });
    assert!(found.iter().any(lost), "{found:?}");
    let said = state(GROWN).unwrap_err().to_string();
    assert_eq!(said, "`present` is larger than `past`, so it cannot be its next state");
}

#[test]
fn a_plan_that_reads_the_past_afterwards_is_rejected() {
    let graph = donated(UPDATED, &[("past", "present")]).unwrap();
    let program = scheduled(&graph);
    let mut made = planned(&graph, &Options::default());
    // `old` reads the past; now it comes after the update.
    made.schedule.swap(0, 1);
    let said: Vec<String> = violations(&program, &made)
        .iter()
        .map(|violation| violation.describe(&program, &made).to_string())
        .collect();
    let lost = "step \"old\" reads";
    assert!(said.iter().any(|line| line.contains("past") && line.contains(lost)), "{said:#?}");
}

#[test]
fn a_plan_that_puts_the_present_elsewhere_is_rejected() {
    let graph = donated(UPDATED, &[("past", "present")]).unwrap();
    let program = scheduled(&graph);
    let mut made = planned(&graph, &Options::default());
    made.places[graph.value_by_name("present").unwrap().index()] = Place::External;
    let found = violations(&program, &made);
    assert!(matches!(found[..], [Violation::OverwriteIgnored { .. }]), "{found:?}");
}

#[test]
fn plans_are_read_back_as_they_were() {
    for (lines, options) in
        [(UPDATED, Options::default()), (GROWN, Options::default()), (GROWN, placed())]
    {
        let graph = donated(lines, &[("past", "present")]).unwrap();
        let (program, made) = (scheduled(&graph), planned(&graph, &options));
        let written =
            write_plan(&program, &made, plimsoll::Recorded::new(), plimsoll::Recorded::new());
        let read = read_plan(&program, &written).unwrap();
        assert_eq!(read.places, made.places);
        assert_eq!(violations(&program, &read), []);
    }
}

#[test]
fn a_decoder_of_several_layers_takes_no_memory_for_its_caches() {
    let mut lines =
        vec!["input x: f32[1, 64]\nparam w: f32[64, 64]\ninput pos: i64[1]\n".to_owned()];
    let mut outputs = Vec::new();
    let mut pairs = Vec::new();
    let mut before = "x".to_owned();
    for layer in 0..4 {
        lines.push(format!(
            "input k{layer}: f32[128, 64]\ninput v{layer}: f32[128, 64]\n\
             rk{layer}: f32[1, 64] = matmul({before}, w)\n\
             rv{layer}: f32[1, 64] = matmul({before}, w)\n\
             nk{layer}: f32[129, 64] = concat{{axis=0}}(k{layer}, rk{layer})\n\
             nv{layer}: f32[128, 64] = scatter(v{layer}, pos, rv{layer})\n\
             y{layer}: f32[1, 64] = attention({before}, nk{layer}, nv{layer})\n"
        ));
        outputs.push(format!("output nk{layer}\noutput nv{layer}\n"));
        pairs.extend([(format!("k{layer}"), format!("nk{layer}"))]);
        pairs.extend([(format!("v{layer}"), format!("nv{layer}"))]);
        before = format!("y{layer}");
    }
    let lines = format!("{}{}output {before}\n", lines.concat(), outputs.concat());
    let named: Vec<_> = pairs.iter().map(|(i, o)| (i.as_str(), o.as_str())).collect();
    let graph = donated(&lines, &named).unwrap();
    let made = planned(&graph, &Options::default());
    // What goes from layer to layer, and a new row of each cache, at a time.
    assert_eq!(arena(&made), 3 * 256);
    assert_eq!(arena(&planned(&parsed(&lines), &Options::default())), 4 * (129 + 128) * 256 + 512);
}

#[test]
fn what_is_in_the_way_is_said() {
    let of = |lines: &str| {
        format!("input past: f32[8, 4]\ninput x: f32[8, 4]\n{lines}\noutput present\n")
    };
    for (lines, why) in [
        (
            "present: f32[8, 4] = matmul(past, x)",
            "node `present` (matmul) cannot write over `past`",
        ),
        ("present: f32[8, 4] = exp(x)", "`x` is not made from `past` in place"),
        (
            "present: f32[4, 4] = narrow{axis=0, start=0, len=4}(past)",
            "`present` is only a part of `past`",
        ),
        (
            "present: f32[8, 8] = concat{axis=1}(past, x)",
            "node `present` concatenates on axis 1, which is not the outermost of more than one \
             element, so that its input is no stretch of its output",
        ),
        (
            "present: f32[24, 4] = concat{axis=0}(x, past, x)",
            "node `present` inserts its input between other operands",
        ),
        (
            "present: f32[16, 4] = concat{axis=0}(past, past)",
            "node `present` reads other operands in the bytes of `past`",
        ),
        (
            "present: f32[16, 4] = concat{axis=0}(x, x)",
            "`present` is not made from `past` in place",
        ),
        (
            "part: f32[1, 4] = narrow{axis=0, start=2, len=1}(past)\npresent: f32[8, 4] = scatter(past, x, part)",
            "node `present` reads other operands in the bytes of `past`",
        ),
        (
            "present: f32[8, 4] = scatter(past, x, past)",
            "node `present` reads other operands in the bytes of `past`",
        ),
        (
            "present: f32[8, 4] = exp(past)\nlate: f32[8, 4] = add(present, past)\noutput late",
            "node `late` reads `past` after node `present` has written over it",
        ),
        (
            "present: f32[8, 4] = exp(past)\nsame: f32[32] = reshape(past)\noutput same",
            "output `same` also takes the bytes of `past`",
        ),
        // As a part of what is written over, the input is gone as well.
        (
            "both: f32[16, 4] = concat{axis=0}(past, x)\npresent: f32[16, 4] = exp(both)\n\
             same: f32[32] = reshape(past)\noutput same",
            "output `same` also takes the bytes of `both`",
        ),
        (
            "both: f32[16, 4] = concat{axis=0}(past, x)\npresent: f32[16, 4] = exp(both)\n\
             late: f32[8, 4] = matmul(present, past)\noutput late",
            "node `late` reads `both` after node `present` has written over it",
        ),
    ] {
        assert_eq!(refused(&of(lines)), why, "{lines}");
    }
    let graph = parsed(UPDATED);
    let refused = |pairs: &[(&str, &str)], kernels: &Kernels| {
        let pairs: Vec<_> = pairs.iter().map(|(i, o)| pair(&graph, i, o, false)).collect();
        donate(&graph, kernels, &pairs).unwrap_err().to_string()
    };
    let standard = Kernels::default();
    assert_eq!(refused(&[("w", "present")], &standard), "`w` is not an input");
    assert_eq!(refused(&[("past", "old")], &standard), "`old` is not an output");
    let twice = [("past", "present"), ("past", "present")];
    assert_eq!(refused(&twice, &standard), "`past` is asked for twice");
    let copying = Kernels::new(crate::graph::Preset::Copying);
    let why = "node `present` (scatter) cannot write over `past`";
    assert_eq!(refused(&[("past", "present")], &copying), why);
}
