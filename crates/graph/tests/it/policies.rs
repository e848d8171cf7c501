//! Which way to share is taken where some do not fit.

use plimsoll::{BankSpec, Options, PlanError, plan};
use plimsoll_graph::{LoweringOptions, ScheduledGraph, text};
use plimsoll_pack::Algorithm;

#[test]
fn what_fits_is_kept_where_less_sharing_does_not_fit() {
    // NoShare, q and r are 1792 bytes. With r in the place of q the most is k, l and c: 1536, and
    // largest-first leaves a hole of 64. Whether less sharing does better is tried.
    let graph = text::parse(
        "plim 1\ninput x: f32[16]\nq: f32[224] = matmul(x, x)\nr: f32[224] = relu(q)\n\
         t: f32[16] = sum(r)\nk: f32[96] = matmul(t, x)\nl: f32[96] = matmul(t, t)\n\
         c: f32[192] = concat{axis=0}(k, l)\ny: f32[16] = sum(c)\noutput y\n",
    );
    let graph = graph.unwrap_or_else(|error| panic!("{error}"));
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
    let mut options = Options::default();
    options.pack.algorithms = vec![Algorithm::LargestFirst];
    let arena = |capacity: u64| {
        let mut options = options.clone();
        let mut sram = BankSpec::new("sram");
        sram.capacity = Some(capacity);
        options.banks = vec![sram];
        match plan(&program, &options) {
            Ok(plan) => Ok(plan.banks[0].bytes),
            Err(PlanError::NoRoom(why)) => Err((why.proven, why.lower_bound_bytes)),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(arena(1792), Ok(1600));
    assert_eq!(arena(1600), Ok(1600));
    // With in-place there may be room, without it there is none: nothing is proven.
    assert_eq!(arena(1536), Err((false, 1536)));
    assert_eq!(arena(1535), Err((true, 1536)));
}
