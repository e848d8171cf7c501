//! Concats without copies: exact sizes of small networks, and random graphs that are really run
//! within the planned bytes.

use plimsoll::verify::VerifiedPlan;
use plimsoll::{Options, ValueId, plan};
use plimsoll_graph::testing::{Machine, class_kernel};
use plimsoll_graph::{
    Dtype, Graph, GraphBuilder, Joined, Kernels, LoweringOptions, NodeId, Op, Preset,
    ScheduledGraph, Tries, best, concat_candidates, join_concats, moved_bytes, text,
    without_concats,
};
use plimsoll_pack::testing::Rng;

fn planned(graph: &Graph) -> VerifiedPlan {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes are known");
    plan(&program, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{}", text::print(graph)))
}

fn arena(graph: &Graph) -> u64 {
    planned(graph).banks.iter().map(|bank| bank.bytes).sum()
}

fn joined(graph: &Graph) -> Joined<'_> {
    join_concats(graph, &LoweringOptions::default(), &Options::default())
}

fn candidates(graph: &Graph) -> Vec<NodeId> {
    concat_candidates(graph, &Kernels::default())
}

fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|node| graph.node(*node).name.clone()).collect()
}

fn parsed(body: &str) -> Graph {
    text::parse(&format!("plim 1\ninput x: u8[64]\n{body}")).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn inputs_are_made_in_their_places() {
    let graph = parsed(
        "a: u8[64] = custom \"a\"(x)\nb: u8[128] = custom \"b\"(x)\n\
         y: u8[192] = concat{axis=0}(a, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n",
    );
    let joined = joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["y"]);
    assert_eq!((joined.moved_before, joined.moved), (192, 0));
    // Parts and whole at once; then only the whole, and what is made of it.
    assert_eq!((arena(&graph), arena(&joined.graph)), (384, 256));
}

#[test]
fn a_copy_is_left_out_where_that_changes_nothing_of_the_arena() {
    // What comes first takes more than the concat with its copies: 512 + 64.
    let graph = parsed(
        "p: u8[512] = custom \"p\"(x)\nq: u8[64] = custom \"q\"(p)\n\
         a: u8[64] = custom \"a\"(q)\nb: u8[64] = custom \"b\"(q)\n\
         y: u8[128] = concat{axis=0}(a, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n",
    );
    assert_eq!((arena(&graph), arena(&joined(&graph).graph)), (576, 576));
    let tries = Tries { order: None, join: true };
    let best = best(&graph, &LoweringOptions::default(), &Options::default(), tries);
    let best = best.expect("sizes are known");
    assert_eq!(names(&graph, &best.elided), ["y"]);
    assert_eq!((best.moved_before, best.moved_bytes), (128, 0));
}

#[test]
fn a_concat_of_what_lies_in_a_row_is_a_view() {
    // A dense block: every layer reads all that was made before.
    let graph = parsed(
        "a: u8[64] = custom \"a\"(x)\nb: u8[64] = custom \"b\"(a)\n\
         ab: u8[128] = concat{axis=0}(a, b)\nc: u8[64] = custom \"c\"(ab)\n\
         abc: u8[192] = concat{axis=0}(a, b, c)\nd: u8[64] = custom \"d\"(abc)\n\
         abcd: u8[256] = concat{axis=0}(a, b, c, d)\nz: u8[64] = custom \"z\"(abcd)\noutput z\n",
    );
    let joined = joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["abcd", "abc", "ab"]);
    assert_eq!((joined.moved_before, joined.moved), (576, 0));
    assert_eq!((arena(&graph), arena(&joined.graph)), (512, 320));
}

#[test]
fn concats_of_concats_are_elided_too() {
    let graph = parsed(
        "a: u8[64] = custom \"a\"(x)\nb: u8[64] = custom \"b\"(x)\n\
         ab: u8[128] = concat{axis=0}(a, b)\nc: u8[64] = custom \"c\"(x)\n\
         cab: u8[192] = concat{axis=0}(c, ab)\nz: u8[64] = custom \"z\"(cab)\noutput z\n",
    );
    assert_eq!(names(&graph, &joined(&graph).elided), ["cab", "ab"]);
    assert_eq!(arena(&joined(&graph).graph), 256);
}

#[test]
fn an_input_can_be_an_output_of_the_graph() {
    let graph = parsed(
        "a: u8[64] = custom \"a\"(x)\nb: u8[64] = custom \"b\"(x)\n\
         y: u8[128] = concat{axis=0}(a, b)\nz: u8[64] = custom \"z\"(y)\noutput a, z\n",
    );
    let joined = joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["y"]);
    // The output outlives the rest of y, in its bytes.
    assert_eq!((arena(&graph), arena(&joined.graph)), (256, 192));
}

#[test]
fn what_cannot_be_in_its_place_is_copied() {
    let cases = [
        (
            "not a stretch of memory",
            "a: u8[2, 32] = custom \"a\"(x)\nb: u8[2, 32] = custom \"b\"(x)\ny: u8[2, 64] = concat{axis=1}(a, b)\n",
        ),
        ("twice", "a: u8[64] = custom \"a\"(x)\ny: u8[128] = concat{axis=0}(a, a)\n"),
        ("from outside", "a: u8[64] = custom \"a\"(x)\ny: u8[128] = concat{axis=0}(a, x)\n"),
        (
            "a view",
            "a: u8[64] = custom \"a\"(x)\nb: u8[32] = slice{axis=0, start=0, len=32}(a)\ny: u8[32] = concat{axis=0}(b)\n",
        ),
        ("aligned", "a: u8[64] align 128 = custom \"a\"(x)\ny: u8[64] = concat{axis=0}(a)\n"),
        ("guarded", "a: u8[64] guard 8 = custom \"a\"(x)\ny: u8[64] = concat{axis=0}(a)\n"),
        ("kept", "a: u8[64] = custom \"a\"(x)\ny: u8[64] persistent = concat{axis=0}(a)\n"),
        (
            "changed in place",
            "a: u8[64] = custom \"a\"(x)\ny: u8[64] = concat{axis=0}(a)\nb: u8[64] = custom \"b\"(y) must_overwrite(b: y)\n",
        ),
        (
            "waited for",
            "a: u8[64] = custom \"a\"(x)\ny: u8[64] = concat{axis=0}(a)\nb: u8[64] = custom \"b\"(x) after(y)\n",
        ),
        (
            "of half bytes",
            "a: i4[3] = custom \"a\"(x)\nb: i4[3] = custom \"b\"(x)\ny: i4[6] = concat{axis=0}(a, b)\n",
        ),
    ];
    for (why, body) in cases {
        assert_eq!(candidates(&parsed(body)), [], "{why}");
    }
    let graph = parsed("a: u8[64] = custom \"a\"(x)\ny: u8[64] = concat{axis=0}(a)\n");
    assert_eq!(candidates(&graph).len(), 1);
    for preset in [Preset::Views, Preset::Copying] {
        assert_eq!(concat_candidates(&graph, &Kernels::new(preset)), []);
    }
}

#[test]
fn two_concats_do_not_get_the_same_value() {
    let graph = parsed(
        "a: u8[64] = custom \"a\"(x)\nb: u8[64] = custom \"b\"(x)\nc: u8[64] = custom \"c\"(x)\n\
         ab: u8[128] = concat{axis=0}(a, b)\nca: u8[128] = concat{axis=0}(c, a)\noutput ab, ca\n",
    );
    let joined = joined(&graph);
    assert_eq!(joined.elided.len(), 1);
    // Of the other, the input that is its own is made in its place.
    assert_eq!((joined.choices.len(), joined.moved_before, joined.moved), (2, 256, 64));
}

/// A random graph of fills, ops in place and not, slices and concats of bytes.
fn random(rng: &mut Rng) -> Graph {
    let mut graph = GraphBuilder::new();
    let mut values: Vec<(ValueId, u64)> = Vec::new();
    for index in 0..rng.within(4..16) {
        let name = format!("n{index}");
        let pick = |rng: &mut Rng| values[rng.below(values.len() as u64) as usize];
        let kind = if index < 2 { 0 } else { rng.below(8) };
        let (op, reads, size) = match kind {
            0 => (Op::Custom, Vec::new(), rng.within(1..40)),
            1 => {
                let (value, size) = pick(rng);
                (Op::Unary, vec![value], size)
            }
            2 => {
                let (value, _) = pick(rng);
                (Op::Custom, vec![value], rng.within(1..40))
            }
            3 => {
                let (value, size) = pick(rng);
                (Op::Reshape, vec![value], size)
            }
            _ => {
                // Often the latest, so that concats grow as in a dense block.
                let count = rng.within(1..5).min(values.len() as u64) as usize;
                let latest = &values[values.len() - count..];
                let parts: Vec<_> = if rng.chance(60) {
                    latest.to_vec()
                } else {
                    (0..count).map(|_| pick(rng)).collect()
                };
                let size = parts.iter().map(|(_, size)| size).sum();
                let values = parts.into_iter().map(|(value, _)| value).collect();
                (Op::Concat { axis: 0 }, values, size)
            }
        };
        if size > 2000 {
            continue;
        }
        let made = graph.op(&name, op, &reads, Dtype::U8, [size]).expect("fresh");
        values.push((made, size));
        if rng.chance(15) {
            graph.output(made);
        }
    }
    graph.finish().expect("a valid graph")
}

/// Runs a graph within the bytes of its plan, twice; its outputs.
fn run(graph: &Graph) -> Vec<Vec<u64>> {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes are known");
    let plan = plan(&program, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(&program, &plan);
    let shown = |wrong: String| panic!("{wrong}\n{}", text::print(graph));
    machine.run(&class_kernel(graph)).unwrap_or_else(shown);
    machine.run(&class_kernel(graph)).unwrap_or_else(shown)
}

#[test]
fn random_graphs_without_copies_do_the_same() {
    let mut rng = Rng::new(1);
    let (mut elided, mut smaller) = (0, 0);
    for _ in 0..600 {
        let graph = random(&mut rng);
        let expected = run(&graph);
        let all = without_concats(&graph, &Kernels::default(), &candidates(&graph));
        let all = all.unwrap_or_else(|e| panic!("{e}\n{}", text::print(&graph)));
        assert_eq!(run(&all), expected);
        let some: Vec<NodeId> = candidates(&graph).into_iter().filter(|_| rng.chance(50)).collect();
        let some = without_concats(&graph, &Kernels::default(), &some).expect("fewer are fine too");
        assert_eq!(run(&some), expected);
        let joined = joined(&graph);
        assert_eq!(run(&joined.graph), expected);
        assert_eq!(joined.moved, moved_bytes(&joined.graph, &Kernels::default()));
        assert!(joined.moved <= joined.moved_before);
        elided += joined.elided.len();
        smaller += usize::from(arena(&joined.graph) < arena(&graph));
    }
    assert!(elided > 500 && smaller > 100, "{elided} {smaller}");
}
