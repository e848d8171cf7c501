//! What an order of execution costs: exact sizes of the networks of the benchmark `orders`.

#[path = "../../../../benches/order_graphs.rs"]
mod order_graphs;

use order_graphs::{random, transformer, vocoder};
use plimsoll::{Execution, NoShare, Options, plan};
use plimsoll_graph::{Graph, LoweringOptions, ScheduledGraph};
use plimsoll_pack::Algorithm;

fn arena(graph: &Graph, options: &Options) -> u64 {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes are known");
    let plan = plan(&program, options).unwrap_or_else(|error| panic!("{error}"));
    plan.banks.iter().map(|bank| bank.bytes).sum()
}

/// The arena in order, in a partial order, and in a partial order with everything pinned.
fn arenas(make: impl Fn(Execution) -> Graph) -> [u64; 3] {
    let partial = make(Execution::Partial);
    let mut pinned = Options::default();
    pinned.no_share = NoShare::Everything;
    let in_order = arena(&make(Execution::InOrder), &Options::default());
    [in_order, arena(&partial, &Options::default()), arena(&partial, &pinned)]
}

/// The largest tensors of the vocoder: 128 channels at 64 000 samples, 64 at 128 000 and so on.
const LARGEST: u64 = 4 * 128 * 64_000;

#[test]
fn a_chain_costs_nothing_out_of_order() {
    let [in_order, partial, pinned] = arenas(|execution| vocoder(execution, 1));
    // What goes in, and both sides of a convolution.
    assert_eq!((in_order, partial), (3 * LARGEST, 3 * LARGEST));
    assert!(partial * 10 <= in_order * 11);
    assert_eq!(pinned, 1_890_304_000);
}

#[test]
fn branches_cost_what_runs_at_once_and_far_less_than_pinning_all() {
    let [in_order, partial, pinned] = arenas(|execution| vocoder(execution, 3));
    // In order: what goes into all blocks, the ends of two of them, and both sides of a
    // convolution in the third. Out of order: what goes into all blocks, and in each what its
    // layer goes back to and both sides of a convolution.
    assert_eq!((in_order, partial), (5 * LARGEST, 10 * LARGEST));
    assert_eq!(pinned, 5_298_176_000);
    assert!(pinned > 16 * partial);

    let [in_order, partial, pinned] = arenas(|execution| transformer(execution, 12));
    assert_eq!([in_order, partial, pinned], [18_874_368, 20_447_232, 643_301_376]);

    let [in_order, partial, pinned] = arenas(|execution| random(execution, 2000, 8));
    assert!(in_order <= partial && pinned > 40 * partial, "{in_order} {partial} {pinned}");
}

#[test]
fn no_arena_is_above_largest_first() {
    for execution in [Execution::InOrder, Execution::Partial] {
        for graph in [vocoder(execution, 3), transformer(execution, 4), random(execution, 500, 8)] {
            let mut largest_first = Options::default();
            largest_first.pack.algorithms = vec![Algorithm::LargestFirst];
            assert!(arena(&graph, &Options::default()) <= arena(&graph, &largest_first));
        }
    }
}
