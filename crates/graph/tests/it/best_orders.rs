//! The best order is never worse: not than the graph's own, not than what rules find, and not with
//! kernels that can do more.

use plimsoll::{Options, OrderEffort, Plan, plan};
use plimsoll_graph::testing::{
    band_graph, column_graph, layered_graph, random_graph, series_parallel_graph, training_graph,
};
use plimsoll_graph::{
    Best, Graph, Kernels, LoweringOptions, Preset, ScheduledGraph, Tries, best, text,
};
use plimsoll_pack::testing::Rng;

fn found(graph: &Graph, preset: Preset, options: &Options, tries: Tries) -> Option<Best> {
    let mut lowering = LoweringOptions::default();
    lowering.kernels = Kernels::new(preset);
    best(graph, &lowering, options, tries).ok().filter(|best| best.plan.is_some())
}

fn arena(best: &Best) -> u64 {
    best.plan.as_deref().map_or(0, Plan::arena_bytes)
}

const EFFORTS: [Option<OrderEffort>; 3] =
    [None, Some(OrderEffort::Fast), Some(OrderEffort::Default)];

#[test]
fn the_best_order_has_the_smallest_arena_of_all_that_are_known() {
    let mut rng = Rng::new(47);
    let (mut smaller, mut compared) = (0, 0);
    for _ in 0..250 {
        let nodes = rng.within(4..20);
        let graph = random_graph(&mut rng, nodes);
        for join in [false, true] {
            let options = Options::default();
            let all = EFFORTS.map(|order| {
                found(&graph, Preset::Standard, &options, Tries { order, join })
                    .map(|best| arena(&best))
            });
            let [Some(given), Some(fast), Some(best)] = all else { continue };
            assert!(fast <= given && best <= fast, "{all:?}\n{}", text::print(&graph));
            smaller += u32::from(best < given);
            compared += 1;
        }
    }
    assert!(compared > 250 && smaller > 20, "{smaller} of {compared}");
}

#[test]
fn it_has_so_on_graphs_that_are_wide_too() {
    let mut rng = Rng::new(49);
    let mut smaller = 0;
    for round in 0..60 {
        let graph = match round % 4 {
            0 => column_graph(rng.within(2..20) as usize),
            1 => {
                let (nodes, width) = (rng.within(20..70), rng.within(2..10));
                layered_graph(&mut rng, nodes as usize, width as usize, 3)
            }
            2 => series_parallel_graph(&mut rng, 60),
            _ => training_graph(&mut rng, 12),
        };
        let all = EFFORTS.map(|order| {
            let tries = Tries { order, join: true };
            let best = found(&graph, Preset::Standard, &Options::default(), tries);
            best.map(|best| arena(&best)).expect("there is a plan")
        });
        assert!(all[1] <= all[0] && all[2] <= all[1], "{all:?}\n{}", text::print(&graph));
        smaller += u32::from(all[2] < all[0]);
    }
    assert!(smaller > 30, "{smaller}");
}

/// Concats and slices of columns, which only kernels that know strides can do without.
fn columns(rng: &mut Rng, nodes: usize) -> Graph {
    let mut lines = vec!["plim 1\ninput x: f32[8, 16]\nv0: f32[8, 16] = exp(x)".to_owned()];
    let mut widths = vec![16];
    for node in 1..nodes {
        let any = |rng: &mut Rng| rng.below(node as u64) as usize;
        let (a, b) = (any(rng), any(rng));
        let (width, made) = match rng.below(4) {
            0 if widths[a] + widths[b] <= 64 && a != b => {
                (widths[a] + widths[b], format!("concat{{axis=1}}(v{a}, v{b})"))
            }
            1 if widths[a] > 4 => {
                let (len, start) = (widths[a] / 2, 4 * rng.below(widths[a] / 8 + 1));
                (len, format!("slice{{axis=1, start={start}, len={len}}}(v{a})"))
            }
            _ => (widths[a], format!("exp(v{a})")),
        };
        lines.push(format!("v{node}: f32[8, {width}] = {made}"));
        widths.push(width);
    }
    lines.push(format!("output v{}\n", nodes - 1));
    let lines = lines.join("\n");
    text::parse(&lines).unwrap_or_else(|error| panic!("{error}\n{lines}"))
}

#[test]
fn kernels_that_know_strides_never_need_more() {
    let mut rng = Rng::new(48);
    let mut smaller = 0;
    for _ in 0..200 {
        let nodes = rng.within(4..16) as usize;
        let graph = columns(&mut rng, nodes);
        let tries = Tries { order: Some(OrderEffort::Fast), join: true };
        let options = Options::default();
        let [standard, strided] =
            [Preset::Standard, Preset::Strided].map(|set| found(&graph, set, &options, tries));
        let (Some(standard), Some(strided)) = (standard, strided) else { continue };
        let (standard, strided) = (arena(&standard), arena(&strided));
        assert!(strided <= standard, "{strided} {standard}\n{}", text::print(&graph));
        smaller += u32::from(strided < standard);
    }
    assert!(smaller > 20, "{smaller}");
}

#[test]
fn the_plan_that_was_compared_is_what_planning_gives() {
    let graph = band_graph(6, 12);
    let options = Options::default();
    let tries = Tries { order: None, join: false };
    let best = found(&graph, Preset::Standard, &options, tries).expect("there is a plan");
    let program =
        ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes are known");
    let planned = plan(&program, &options).expect("there is a plan");
    assert_eq!(best.plan.as_deref(), Some(&*planned));
}
