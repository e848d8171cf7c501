//! The search against all orders of small graphs, and what holds of every schedule.

mod graphs;
mod model;

use graphs::{Spice, random, shaped};
use model::Model;
use plimsoll::testing::OrderCosts;
use plimsoll::{BankSpec, Execution, Options, OrderEffort, Program, Schedule, plan, search_order};
use plimsoll_graph::testing::random_graph;
use plimsoll_graph::{
    Graph, GraphBuilder, LoweringOptions, Node, NodeId, Op, ScheduledGraph, order_by_names, text,
    topological_order,
};
use plimsoll_pack::testing::Rng;

/// A group of steps, by its number.
type GroupId = u32;

fn program(graph: &Graph) -> ScheduledGraph<'_> {
    ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes are known")
}

/// The costs of orders; a peak is counted in cells that sizes are multiples of.
fn costs(program: &ScheduledGraph<'_>) -> OrderCosts {
    OrderCosts::of(program, &Options::default()).expect("a valid program")
}

fn searched(graph: &Graph, effort: OrderEffort) -> Schedule {
    search_order(&program(graph), &Options::default(), effort).expect("a valid program")
}

/// Any order in which the groups can run.
fn any_order(rng: &mut Rng, model: &OrderCosts) -> Vec<GroupId> {
    let mut order: Vec<GroupId> = Vec::new();
    while order.len() < model.groups() {
        let ready: Vec<GroupId> = (0..model.groups() as GroupId)
            .filter(|group| !order.contains(group))
            .filter(|group| model.before(*group).iter().all(|before| order.contains(before)))
            .collect();
        order.push(ready[rng.below(ready.len() as u64) as usize]);
    }
    order
}

fn indices(order: &[GroupId]) -> Vec<usize> {
    order.iter().map(|group| *group as usize).collect()
}

/// What holds of the schedule of any graph; `best` is the lowest peak there is.
fn check(graph: &Graph, schedule: &Schedule, best: u64) {
    let program = program(graph);
    let model = Model::of(&program, &Options::default());
    let order: Vec<usize> = schedule.steps.iter().map(|step| step.index()).collect();
    let shown = || text::print(graph);
    assert_eq!(model.peak(&order), schedule.peak_bytes, "{}", shown());
    let own: Vec<usize> = (0..model.steps).collect();
    assert_eq!(model.peak(&own), schedule.own_peak_bytes, "{}", shown());
    assert!(schedule.peak_bytes <= schedule.own_peak_bytes);
    assert!(schedule.arena_bound_bytes <= best, "{schedule:?} {best}\n{}", shown());
    let nodes: Vec<NodeId> = schedule.steps.iter().map(|step| program.node_of(*step)).collect();
    let ordered = ScheduledGraph::with_order(graph, &nodes, &LoweringOptions::default());
    assert!(ordered.is_ok(), "{:?}\n{}", ordered.err(), shown());
}

/// The search finds the best, and knows it.
fn check_best(graph: &Graph) {
    let best = Model::of(&program(graph), &Options::default()).best();
    for effort in [OrderEffort::Fast, OrderEffort::Default] {
        let schedule = searched(graph, effort);
        check(graph, &schedule, best);
        if effort == OrderEffort::Default {
            assert_eq!(schedule.peak_bytes, best, "{}", text::print(graph));
            assert!(schedule.is_settled, "{schedule:?}\n{}", text::print(graph));
        }
    }
}

#[test]
fn the_peak_of_an_order_is_what_its_definition_says() {
    let mut rng = Rng::new(1);
    for round in 0..2000 {
        let spice = if round % 2 == 0 { Spice::Plain } else { Spice::Everything };
        let nodes = rng.within(1..20) as usize;
        let graph = random(&mut rng, nodes, spice);
        let program = program(&graph);
        let (costs, model) = (costs(&program), Model::of(&program, &Options::default()));
        for _ in 0..4 {
            let order = any_order(&mut rng, &costs);
            let shown = text::print(&graph);
            assert_eq!(costs.peak(&order), model.peak(&indices(&order)), "{order:?}\n{shown}");
        }
    }
}

#[test]
fn a_peak_is_the_same_backwards() {
    let mut rng = Rng::new(2);
    for _ in 0..1000 {
        let nodes = rng.within(1..20) as usize;
        let graph = random(&mut rng, nodes, Spice::Everything);
        let model = costs(&program(&graph));
        let order = any_order(&mut rng, &model);
        assert_eq!(model.peak(&order), model.peak_backwards(&order));
    }
}

#[test]
fn a_peak_is_the_load_of_the_plan() {
    let mut rng = Rng::new(3);
    let mut options = Options::default();
    options.pack.work = Some(0);
    let (mut special, mut equal) = (0, 0);
    for round in 0..2000 {
        let spice = if round % 2 == 0 { Spice::Plain } else { Spice::Everything };
        let nodes = rng.within(1..20) as usize;
        let graph = random(&mut rng, nodes, spice);
        let program = program(&graph);
        let costs = costs(&program);
        let order = any_order(&mut rng, &costs);
        let planned = plan(&in_order(&graph, &program, &costs, &order), &options);
        let load = planned.expect("a valid program").derivation.lower_bound_bytes;
        let peak = costs.peak(&order);
        let shown = || format!("{order:?}\n{}", text::print(&graph));
        assert!(peak <= load, "{peak} {load} {}", shown());
        // What lies behind the end of a value is needed only while that is written, and where a part
        // is read on its own a plan may do without taking over the whole.
        let sliced = graph.nodes().iter().any(|node| matches!(node.op, Op::Slice { .. }));
        if sliced || graph.values().iter().any(|value| value.guard > 0) {
            special += 1;
            equal += usize::from(peak == load);
        } else {
            assert_eq!(peak, load, "{}", shown());
        }
    }
    assert!(special > 500 && equal > special * 8 / 10, "{equal} of {special}");
}

/// The graph in an order of the groups of its program.
fn in_order<'g>(
    graph: &'g Graph,
    program: &ScheduledGraph<'_>,
    costs: &OrderCosts,
    order: &[GroupId],
) -> ScheduledGraph<'g> {
    let nodes: Vec<NodeId> = costs.steps(order).iter().map(|step| program.node_of(*step)).collect();
    let ordered = ScheduledGraph::with_order(graph, &nodes, &LoweringOptions::default());
    ordered.expect("an order in which they can run")
}

/// Options that change which bytes are placed, how many there are, and what they may share.
fn any_options(rng: &mut Rng) -> Options {
    let mut options = Options::default();
    options.pack.work = Some(0);
    options.align = [1, 4, 64][rng.below(3) as usize];
    options.place.inputs = rng.chance(50);
    options.place.params = rng.chance(30);
    options.place.outputs = rng.chance(70);
    options.guards.inputs = rng.below(3) * 20;
    options.guards.outputs = rng.below(3) * 20;
    options.min_slot = rng.below(2) * 64;
    options.reclaim_inputs = rng.chance(50);
    options.in_place = rng.chance(80);
    if rng.chance(30) {
        let mut small = BankSpec::new("a");
        small.capacity = Some(rng.within(1..400));
        options.banks = vec![small, BankSpec::new("b")];
    }
    options
}

#[test]
fn no_arena_of_any_order_is_below_the_bound() {
    let mut rng = Rng::new(8);
    let (mut plans, mut met) = (0, 0);
    for _ in 0..3000 {
        let nodes = rng.within(1..8);
        let graph = random_graph(&mut rng, nodes);
        let program = program(&graph);
        let options = any_options(&mut rng);
        if program.execution() != Execution::InOrder || plan(&program, &options).is_err() {
            continue;
        }
        let costs = costs(&program);
        for effort in [OrderEffort::Fast, OrderEffort::Default] {
            let found = search_order(&program, &options, effort).expect("a valid program");
            for _ in 0..4 {
                let order = any_order(&mut rng, &costs);
                let planned = plan(&in_order(&graph, &program, &costs, &order), &options);
                let Ok(planned) = planned else { continue };
                let arena: u64 = planned.banks.iter().map(|bank| bank.bytes).sum();
                let shown = || format!("{options:?}\n{}", text::print(&graph));
                assert!(found.arena_bound_bytes <= arena, "{found:?} {arena} {}", shown());
                assert!(planned.derivation.lower_bound_bytes <= arena);
                plans += 1;
                met += usize::from(found.arena_bound_bytes == arena);
            }
        }
    }
    assert!(plans > 5000 && met > plans / 2, "{met} of {plans}");
}

#[test]
fn all_small_shapes_are_ordered_best() {
    for nodes in 1..=5usize {
        let pairs = nodes * (nodes - 1) / 2;
        let choices: u64 = if nodes == 5 { 2 } else { 3 };
        for shape in 0..1u32 << pairs {
            let mut bits = shape;
            let mut inputs = Vec::new();
            for index in 0..nodes {
                inputs.push(bits & ((1 << index) - 1));
                bits >>= index;
            }
            for code in 0..choices.pow(nodes as u32) {
                let size =
                    |index: u32| 1 << (code / choices.pow(index) % choices * 2 / (choices - 1));
                let sizes: Vec<u64> = (0..nodes as u32).map(size).collect();
                check_best(&shaped(&inputs, &sizes, shape % 2 == 1));
            }
        }
    }
}

#[test]
fn small_graphs_are_ordered_best() {
    let mut rng = Rng::new(4);
    for round in 0..4000 {
        let spice = if round % 2 == 0 { Spice::Plain } else { Spice::Everything };
        let nodes = rng.within(6..9) as usize;
        let graph = random(&mut rng, nodes, spice);
        if round % 40 == 0 {
            let model = Model::of(&program(&graph), &Options::default());
            assert_eq!(model.best(), model.best_of_all_orders());
        }
        check_best(&graph);
    }
}

#[test]
fn graphs_of_twenty_nodes_are_ordered_best() {
    let mut rng = Rng::new(5);
    for round in 0..120 {
        let spice = if round % 2 == 0 { Spice::Plain } else { Spice::Everything };
        let nodes = rng.within(12..21) as usize;
        check_best(&random(&mut rng, nodes, spice));
    }
}

#[test]
fn large_graphs_get_orders_that_are_valid_and_always_the_same() {
    let mut rng = Rng::new(6);
    for _ in 0..6 {
        let graph = random(&mut rng, 400, Spice::Everything);
        for effort in [OrderEffort::Fast, OrderEffort::Default] {
            let schedule = searched(&graph, effort);
            assert_eq!(schedule, searched(&graph, effort));
            assert!(schedule.peak_bytes <= schedule.own_peak_bytes);
            assert!(schedule.arena_bound_bytes <= schedule.peak_bytes);
            let lowering = LoweringOptions::default();
            let own = program(&graph);
            let nodes: Vec<NodeId> = schedule.steps.iter().map(|step| own.node_of(*step)).collect();
            let ordered = ScheduledGraph::with_order(&graph, &nodes, &lowering);
            let ordered = ordered.expect("an order in which they can run");
            assert_eq!(ordered.steps(), graph.nodes().len());
            let model = costs(&ordered);
            let own: Vec<GroupId> = (0..model.groups() as GroupId).collect();
            assert_eq!(model.peak(&own), schedule.peak_bytes);
        }
    }
}

/// A graph with some of its nodes in blocks.
fn in_blocks(rng: &mut Rng, graph: &Graph) -> Graph {
    let mut builder = GraphBuilder::new();
    for value in graph.values() {
        builder.value(value.clone()).expect("names are fresh");
    }
    let (mut block, mut left) = (0, 0);
    for node in graph.nodes() {
        if left == 0 && rng.chance(30) {
            (block, left) = (block + 1, rng.within(1..5));
        }
        let within = (left > 0).then_some(block);
        left = u64::saturating_sub(left, 1);
        builder.node(Node { block: within, ..node.clone() }).expect("names are fresh");
    }
    for output in graph.outputs() {
        builder.output(*output);
    }
    builder.finish().expect("rows of a valid order are blocks")
}

#[test]
fn blocks_stay_together_in_the_best_order() {
    let mut rng = Rng::new(7);
    let mut worse = 0;
    for _ in 0..1000 {
        let nodes = rng.within(4..12) as usize;
        let free = random(&mut rng, nodes, Spice::Everything);
        let graph = in_blocks(&mut rng, &free);
        let program = program(&graph);
        let blocks: Vec<Option<u32>> = graph.nodes().iter().map(|node| node.block).collect();
        let model = Model::of(&program, &Options::default()).with_rows(&blocks);
        let best = model.best();
        let schedule = searched(&graph, OrderEffort::Default);
        check(&graph, &schedule, best);
        assert_eq!(schedule.peak_bytes, best, "{}", text::print(&graph));
        assert!(schedule.is_settled);
        worse += usize::from(best > Model::of(&program, &Options::default()).best());
        let order = any_order(&mut rng, &costs(&program));
        assert_eq!(costs(&program).peak(&order), costs(&program).peak_backwards(&order));
    }
    assert!(worse > 50, "{worse}");
}

#[test]
fn an_order_that_breaks_a_block_is_rejected() {
    let text = "plim 1\ninput x: f32[8]\na = relu(x) block 1\nb = relu(x) block 1\nc = relu(x)\n";
    let graph = text::parse(text).expect("a graph");
    let lowering = LoweringOptions::default();
    let ordered = |names: [&str; 3]| {
        let order = order_by_names(&graph, &names).expect("nodes");
        ScheduledGraph::with_order(&graph, &order, &lowering).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(ordered(["c", "a", "b"]), Ok(()));
    let broken = Err("node `b` is not right behind `a`, as their block wants it".to_owned());
    assert_eq!(ordered(["a", "c", "b"]), broken);
    assert_eq!(ordered(["b", "a", "c"]), broken);
}

#[test]
fn blocks_stay_together_where_the_graph_has_them_apart() {
    let text =
        "plim 1\ninput x: f32[8]\nb = relu(x) block 1\nc: f32[8] = relu(d) block 1\nd = relu(x)\n";
    let graph = text::parse(text).expect("a graph");
    let names: Vec<&str> =
        topological_order(&graph).iter().map(|node| graph.node(*node).name.as_str()).collect();
    assert_eq!(names, ["d", "b", "c"]);
    let text =
        "plim 1\ninput x: f32[8]\nb = relu(x) block 1\nc: f32[8] = relu(d) block 1\nd = relu(b)\n";
    let error = text::parse(text).expect_err("d has to be between b and c");
    let expected = "3:1: nodes wait for each other: `b` -> `c` -> `d` -> `b`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn of_very_many_groups_what_each_touches_is_the_bound() {
    // A chain of more groups than are compared with each other: two values of 64 bytes at a time.
    let line = |index: usize| format!("v{}: f32[16] = matmul(v{index}, v{index})\n", index + 1);
    let lines: String = (0..16_385).map(line).collect();
    let text = format!("plim 1\ninput v0: f32[16]\n{lines}output v16385\n");
    let graph = text::parse(&text).expect("a graph");
    let program = program(&graph);
    let model = costs(&program);
    let order: Vec<GroupId> = (0..model.groups() as GroupId).collect();
    assert_eq!(model.lower_bound(), model.peak(&order));
    assert_eq!(model.peak(&order), 128);
}
