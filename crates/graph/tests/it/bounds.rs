//! What is proven of a plan and of every order holds: bounds are never above an arena.

use plimsoll::{BankSpec, Derivation, Options, OrderEffort, PlanError, plan};
use plimsoll_graph::{Graph, LoweringOptions, ScheduledGraph, Tries, best, order_by_names, text};

fn graph(lines: &str) -> Graph {
    text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|error| panic!("{error}"))
}

/// The arena of the best plan, and the bound of every order.
fn planned(graph: &Graph, mut options: Options) -> (u64, u64) {
    let lowering = LoweringOptions::default();
    let tries = Tries { order: Some(OrderEffort::Default), join: true };
    let best = best(graph, &lowering, &options, tries).expect("sizes are known");
    let ordering = best.ordering.expect("steps run in order");
    options.schedule = ordering.steps;
    options.order_bound_bytes = Some(ordering.schedule.arena_bound_bytes);
    let program = ScheduledGraph::new(&best.graph, &lowering).expect("sizes are known");
    let plan = plan(&program, &options).unwrap_or_else(|error| panic!("{error}"));
    (plan.banks.iter().map(|bank| bank.bytes).sum(), ordering.schedule.arena_bound_bytes)
}

#[test]
fn of_a_value_only_what_is_read_late_counts() {
    let graph = graph(
        "input x: f32[16]\na: f32[1024] = matmul(x, x)\n\
         s: f32[16] = narrow{axis=0, start=0, len=16}(a)\nt: f32[16] = sum(a)\n\
         b: f32[1008] = matmul(t, x)\nu: f32[16] = sum(b)\ny: f32[16] = matmul(s, u)\noutput y\n",
    );
    // a whole, and t.
    assert_eq!(planned(&graph, Options::default()), (4096 + 64, 4096 + 64));
}

#[test]
fn an_order_is_found_in_which_the_rest_of_a_value_is_free() {
    let graph = graph(
        "input x: f32[16]\na: f32[1024] = matmul(x, x)\nb: f32[1024] = matmul(x, x)\n\
         sa: f32[16] = narrow{axis=0, start=0, len=16}(a)\n\
         sb: f32[16] = narrow{axis=0, start=0, len=16}(b)\nta: f32[16] = sum(a)\n\
         tb: f32[16] = sum(b)\np: f32[16] = matmul(ta, tb)\nq: f32[16] = matmul(sa, p)\n\
         y: f32[16] = matmul(sb, q)\noutput y\n",
    );
    // b whole while it is summed up, the part of a that is read late, ta and tb.
    assert_eq!(planned(&graph, Options::default()), (4096 + 3 * 64, 4096 + 3 * 64));
    let names = ["a", "sa", "ta", "b", "sb", "tb", "p", "q", "y"];
    let order = order_by_names(&graph, &names).expect("nodes");
    let given = ScheduledGraph::with_order(&graph, &order, &LoweringOptions::default());
    let given = plan(&given.expect("an order"), &Options::default()).expect("a plan");
    assert_eq!(given.banks[0].bytes, 4096 + 3 * 64);
}

#[test]
fn of_steps_in_no_order_all_that_may_be_alive_together_counts() {
    let graph = graph(
        "execution partial\ninput x: f32[1024]\na1: f32[1000] = conv(x)\na2: f32[700] = conv(a1)\n\
         a3: f32[900] = conv(a2)\nb1: f32[300] = conv(x)\nb2: f32[1100] = conv(b1)\n\
         b3: f32[400] = conv(b2)\nc1: f32[800] = conv(a2, b1)\nc2: f32[350] = conv(c1)\n\
         e: f32[64] = matmul(a3, b3, c2)\noutput e\n",
    );
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("a program");
    let plan = plan(&program, &Options::default()).expect("a plan");
    let Derivation { lower_bound_bytes, optimal, .. } = plan.derivation;
    // Along any one order less is alive at once.
    assert_eq!((plan.banks[0].bytes, lower_bound_bytes, optimal), (18256, 18256, true));
}

#[test]
fn a_state_that_is_changed_in_place_has_one_guard() {
    let graph = graph(
        "input x: f32[16]\nstate cache: f32[64]\nrow: f32[16] = matmul(x, x)\n\
         grown: f32[64] = kv_append(cache, row) as append must_overwrite(grown: cache)\n\
         y: f32[16] = matmul(grown, x)\noutput grown\noutput y\n",
    );
    let mut options = Options::default();
    options.guards.outputs = 4096;
    // The cache, and y with its guard: row is over when y is written.
    assert_eq!(planned(&graph, options), (256 + 64 + 4096, 256 + 64 + 4096));
}

#[test]
fn alignments_of_banks_and_values_combine() {
    let graph = graph(
        "input x: f32[16]\na: f32[16] = matmul(x, x)\nb: f32[16] align 48 = matmul(a, x)\n\
         c: f32[16] = matmul(a, b)\nd: f32[16] align 48 = matmul(c, b)\n\
         y: f32[16] = matmul(c, d)\noutput y\n",
    );
    let mut sram = BankSpec::new("sram");
    (sram.capacity, sram.align) = (Some(1 << 20), Some(64));
    let mut options = Options::default();
    (options.align, options.banks) = (1, vec![sram]);
    // b and d are at multiples of 192, with c between them.
    assert_eq!(planned(&graph, options), (256, 192));
}

#[test]
fn what_is_too_large_is_refused_by_name() {
    let error = |lines: &str, options: &Options| {
        let graph = graph(lines);
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
        match plan(&program, options) {
            Err(PlanError::Program(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let plain = Options::default();
    let of_x = "value \"x\" is too large: its bytes and guard are more than 2^62";
    let of_y = "value \"y\" is too large: its bytes and guard are more than 2^62";
    let large = "input x: u8[4611686018427387905]\ny = relu(x)\noutput y\n";
    assert_eq!(error(large, &plain), of_x);
    let guarded = "input x: f32[4]\ny: f32[4] guard 18446744073709551615 = relu(x)\noutput y\n";
    assert_eq!(error(guarded, &plain), of_y);
    let mut options = Options::default();
    options.guards.outputs = u64::MAX;
    assert_eq!(error("input x: f32[4]\ny: f32[4] = relu(x)\noutput y\n", &options), of_y);
}

#[test]
fn outputs_are_alive_together_at_the_end() {
    // Whatever the order, both outputs and what the last of them is made from are there at the end.
    let graph = graph(
        "input x: f32[16]\na: f32[64] = matmul(x, x)\nb: f32[64] = matmul(x, x)\n\
         y: f32[256] = matmul(a, x)\nz: f32[256] = matmul(b, x)\noutput y, z\n",
    );
    assert_eq!(planned(&graph, Options::default()), (2 * 1024 + 256, 2 * 1024 + 256));
}

#[test]
fn a_bound_above_the_arena_is_an_error() {
    let graph = graph("input x: f32[16]\ny: f32[16] = matmul(x, x)\noutput y\n");
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
    let mut options = Options::default();
    options.order_bound_bytes = Some(65);
    let Err(error) = plan(&program, &options) else { panic!("64 bytes are below 65") };
    assert!(matches!(error, PlanError::BoundAboveArena { bound: 65, arena: 64 }), "{error}");
}
