//! Parts of inner axes without copies: exact sizes of small graphs, and random graphs that are
//! really run within the planned bytes, row by row.

use plimsoll::testing::{Orders, corrupts};
use plimsoll::verify::{VerifiedPlan, violations};
use plimsoll::{
    Options, Place, Plan, Recorded, Strided, ValueId, View, plan, read_plan, write_plan,
};
use plimsoll_graph::testing::{Machine, class_kernel};
use plimsoll_graph::{
    Cut, Dtype, Graph, GraphBuilder, Joined, Kernels, LoweringOptions, Node, NodeId, Op, Preset,
    ScheduledGraph, Value, concat_candidates, join_concats, moved_bytes, text, without_concats,
};
use plimsoll_pack::testing::Rng;

fn strided() -> Kernels {
    Kernels::new(Preset::Strided)
}

fn lowering(kernels: Kernels) -> LoweringOptions {
    let mut lowering = LoweringOptions::default();
    lowering.kernels = kernels;
    lowering
}

fn planned(graph: &Graph) -> VerifiedPlan {
    let program = ScheduledGraph::new(graph, &lowering(strided())).expect("sizes are known");
    plan(&program, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{}", text::print(graph)))
}

fn arena(graph: &Graph) -> u64 {
    planned(graph).banks.iter().map(|bank| bank.bytes).sum()
}

fn joined(graph: &Graph) -> Joined<'_> {
    join_concats(graph, &lowering(strided()), &Options::default())
}

fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|node| graph.node(*node).name.clone()).collect()
}

fn parsed(body: &str) -> Graph {
    text::parse(&format!("plim 1\ninput x: u8[64]\n{body}")).unwrap_or_else(|e| panic!("{e}"))
}

fn view(graph: &Graph, name: &str) -> Option<View> {
    graph.value(graph.value_by_name(name).expect("a value")).view
}

const INNER: &str = "a: u8[4, 16] = custom \"a\"(x)\nb: u8[4, 48] = custom \"b\"(x)\n\
    y: u8[4, 64] = concat{axis=1}(a, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n";

#[test]
fn parts_of_an_inner_axis_are_made_in_their_places() {
    let graph = parsed(INNER);
    let joined = joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["y"]);
    assert_eq!((joined.moved_before, joined.moved), (256, 0));
    // Parts and whole at once; then only the whole, and what is made of it.
    assert_eq!((arena(&graph), arena(&joined.graph)), (512, 320));
    let y = graph.value_by_name("y").expect("a value");
    let rows = |bytes| Some(Strided { bytes, stride: 64 });
    assert_eq!(view(&joined.graph, "a"), Some(View { of: y, offset: 0, rows: rows(16) }));
    assert_eq!(view(&joined.graph, "b"), Some(View { of: y, offset: 16, rows: rows(48) }));
    // Kernels that know no strides copy, and so does one of them among others.
    assert_eq!(concat_candidates(&graph, &Kernels::default()), []);
    for (kinds, expected) in [(&["a", "b"][..], 1), (&["a"], 0)] {
        let mut kernels = Kernels::default();
        kernels.strided = kinds.iter().map(|kind| kind.parse().expect("a selector")).collect();
        assert_eq!(concat_candidates(&graph, &kernels).len(), expected, "{kinds:?}");
    }
}

#[test]
fn what_is_handed_out_or_viewed_is_whole() {
    let make = "a: u8[4, 16] = custom \"a\"(x)\nb: u8[4, 48] = custom \"b\"(x)\n\
        y: u8[4, 64] = concat{axis=1}(a, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n";
    for more in [
        "output a\n",
        "v: u8[64] = reshape(a)\noutput v\n",
        "v: u8[1, 16] = narrow{axis=0, start=1, len=1}(a)\nw: u8[4] = custom \"w\"(v)\noutput w\n",
    ] {
        assert_eq!(concat_candidates(&parsed(&format!("{make}{more}")), &strided()), [], "{more}");
    }
    let partial = format!("execution partial\ninput x: u8[64]\n{make}");
    let graph = text::parse(&format!("plim 1\n{partial}")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(concat_candidates(&graph, &strided()), []);
}

#[test]
fn rows_stay_whole_in_another_shape() {
    let make = "qkv: u8[4, 192] = custom \"make\"(x)\n\
        q: u8[4, 64], k: u8[4, 128] = split{axis=1}(qkv) as parts\n";
    let heads = |shape: &str| {
        parsed(&format!(
            "{make}h: u8[{shape}] = reshape(q)\ny: u8[64] = custom \"y\"(h, k)\noutput y\n"
        ))
    };
    let graph = heads("2, 2, 4, 16");
    let joined = self::joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["parts"]);
    let h = graph.value_by_name("h").expect("a value");
    let rows = Some(Strided { bytes: 64, stride: 192 });
    assert_eq!(joined.graph.aliases(&strided()).resolve(h).rows, rows);
    assert_eq!((arena(&graph), arena(&joined.graph)), (1536, 832));
    // In eight rows of 32 the four of 64 are no longer to be seen.
    for shape in ["8, 32", "256"] {
        assert_eq!(self::joined(&heads(shape)).elided, [], "{shape}");
    }
}

#[test]
fn a_dense_block_of_inner_axes_is_one_value() {
    let graph = parsed(
        "a: u8[4, 16] = custom \"a\"(x)\nb: u8[4, 16] = custom \"b\"(a)\n\
         ab: u8[4, 32] = concat{axis=1}(a, b)\nc: u8[4, 16] = custom \"c\"(ab)\n\
         abc: u8[4, 48] = concat{axis=1}(a, b, c)\nz: u8[64] = custom \"z\"(abc)\noutput z\n",
    );
    let joined = joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["abc", "ab"]);
    let abc = graph.value_by_name("abc").expect("a value");
    let rows = Some(Strided { bytes: 32, stride: 48 });
    assert_eq!(view(&joined.graph, "ab"), Some(View { of: abc, offset: 0, rows }));
    assert_eq!((arena(&graph), arena(&joined.graph)), (384, 256));
}

#[test]
fn splits_slices_and_repetitions_of_inner_axes_are_views() {
    let graph = parsed(
        "qkv: u8[4, 192] = custom \"make\"(x)\n\
         q: u8[4, 64], k: u8[4, 64], v: u8[4, 64] = split{axis=1}(qkv) as parts\n\
         y: u8[256] = custom \"attend\"(q, k, v)\noutput y\n",
    );
    let joined = joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["parts"]);
    assert_eq!((joined.moved_before, joined.moved), (768, 0));
    assert_eq!((arena(&graph), arena(&joined.graph)), (1536, 1024));

    let graph = parsed(
        "h: u8[4, 64] = custom \"make\"(x)\ns: u8[4, 16] = narrow{axis=1, start=8, len=16}(h)\n\
         y: u8[64] = custom \"y\"(h, s)\n\
         small: u8[1, 64] = custom \"small\"(x)\nmany: u8[32, 64] = expand(small)\n\
         z: u8[64] = custom \"z\"(many, y)\noutput z\n",
    );
    let joined = self::joined(&graph);
    assert_eq!(names(&graph, &joined.elided), ["many", "s"]);
    let small = graph.value_by_name("small").expect("a value");
    let rows = Some(Strided { bytes: 64, stride: 0 });
    assert_eq!(view(&joined.graph, "many"), Some(View { of: small, offset: 0, rows }));
    assert_eq!((arena(&graph), arena(&joined.graph)), (2176, 320));
}

#[test]
fn what_is_backwards_is_no_view() {
    let cut = |cuts: &str, dims: &str| {
        let graph = parsed(&format!(
            "h: u8[4, 16] = custom \"make\"(x)\ns: u8[{dims}] = slice{{{cuts}}}(h)\n\
             y: u8[4] = custom \"y\"(s)\noutput y\n"
        ));
        concat_candidates(&graph, &strided()).len()
    };
    assert_eq!(cut("axis=1, start=2, len=8", "4, 8"), 1);
    assert_eq!(cut("axis=0, start=0, len=4; axis=1, start=2, len=8", "4, 8"), 1);
    assert_eq!(cut("axis=1, start=9, len=1, step=-3", "4, 1"), 1);
    // A whole axis too.
    assert_eq!(cut("axis=0, start=3, len=4, step=-1; axis=1, start=2, len=8", "4, 8"), 0);
    assert_eq!(cut("axis=1, start=9, len=8, step=-1", "4, 8"), 0);
    assert_eq!(cut("axis=1, start=15, len=16, step=-1", "4, 16"), 0);
    assert_eq!(cut("axis=1, start=0, len=8, step=2", "4, 8"), 0);
}

#[test]
fn a_constant_that_is_repeated_takes_no_memory() {
    let graph = parsed(
        "param w: u8[1, 64]\nmany: u8[32, 64] = expand(w)\n\
         z: u8[64] = custom \"z\"(many, x)\noutput z\n",
    );
    let joined = joined(&graph);
    assert_eq!((arena(&graph), arena(&joined.graph)), (2048 + 64, 64));
    let made = planned(&joined.graph);
    let many = graph.value_by_name("many").expect("a value");
    let w = graph.value_by_name("w").expect("a value");
    assert_eq!(made.places[many.index()], Place::Outside { root: w, offset: 0 });
}

#[test]
fn text_and_plans_keep_rows() {
    let inner = parsed(INNER);
    let graph = joined(&inner).graph;
    let again = text::parse(&text::print(&graph)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, *graph);
    let program = ScheduledGraph::new(&graph, &lowering(strided())).expect("sizes are known");
    let made = plan(&program, &Options::default()).expect("a plan");
    let written = write_plan(&program, &made, Recorded::new(), Recorded::new());
    let rows = "\"row_bytes\": 48,\n      \"pitch_bytes\": 64";
    assert!(written.contains(rows), "{written}");
    let read = read_plan(&program, &written).expect("a plan");
    assert_eq!((&read.places, violations(&program, &read)), (&made.places, Vec::new()));
    // One byte further down, the last row of `b` is beyond its place.
    let mut wrong: Plan = read;
    let b = graph.value_by_name("b").expect("a value");
    let Place::Bank(slot) = &mut wrong.places[b.index()] else { panic!("it is in a bank") };
    slot.offset += 1;
    assert_eq!(violations(&program, &wrong).len(), 1);
}

/// A random graph of fills, ops in place and not, splits, slices, repetitions and concats of rows.
fn random(rng: &mut Rng) -> Graph {
    let rows = rng.within(1..4);
    let mut graph = GraphBuilder::new();
    let mut values: Vec<(ValueId, u64)> = Vec::new();
    for index in 0..rng.within(5..16) {
        let name = format!("n{index}");
        let (value, width) = match values.len() {
            0 => (ValueId(0), 1),
            count => values[rng.below(count as u64) as usize],
        };
        let kind = if index < 2 { 0 } else { rng.below(9) };
        let (op, reads, made) = match kind {
            0 => (Op::Custom, Vec::new(), rng.within(1..9)),
            1 => (Op::Unary, vec![value], width),
            2 => (Op::Custom, vec![value], rng.within(1..9)),
            3 if width > 1 => {
                let (start, len) = (rng.below(width - 1), 1);
                let len = len + rng.below(width - start - 1).min(4);
                let mut cut = Cut::new(1, start, len);
                if rng.chance(20) {
                    (cut.start, cut.step) = (start + len - 1, -1);
                }
                let mut cuts = vec![cut];
                if rng.chance(30) {
                    // All rows, in order or backwards.
                    let backwards = Cut { axis: 0, start: rows - 1, len: rows, step: -1 };
                    let all = Cut::new(0, 0, rows);
                    cuts.insert(0, if rng.chance(50) { backwards } else { all });
                }
                (Op::Slice { cuts }, vec![value], len)
            }
            4 if width > 1 => {
                let first = 1 + rng.below(width - 1);
                let mut part = |part: &str, width: u64| {
                    let value = Value::new(format!("{name}{part}"), Dtype::U8, [rows, width]);
                    graph.value(value).expect("fresh")
                };
                let (a, b) = (part("a", first), part("b", width - first));
                let node = Node::new(&name, Op::Split { axis: 1 }, &[value], &[a, b]);
                graph.node(node).expect("fresh");
                values.extend([(a, first), (b, width - first)]);
                continue;
            }
            _ => {
                let count = rng.within(1..4).min(values.len() as u64) as usize;
                let parts: Vec<_> = if rng.chance(60) {
                    values[values.len() - count..].to_vec()
                } else {
                    (0..count).map(|_| values[rng.below(values.len() as u64) as usize]).collect()
                };
                let width = parts.iter().map(|(_, width)| width).sum();
                let parts = parts.into_iter().map(|(value, _)| value).collect();
                (Op::Concat { axis: 1 }, parts, width)
            }
        };
        if made > 200 {
            continue;
        }
        let value = graph.op(&name, op, &reads, Dtype::U8, [rows, made]).expect("fresh");
        values.push((value, made));
        if rng.chance(15) {
            graph.output(value);
        }
    }
    graph.finish().expect("a valid graph")
}

/// Runs a graph within the bytes of its plan, twice; its outputs, and how many values were in rows.
fn run(graph: &Graph) -> (Vec<Vec<u64>>, usize) {
    let program = ScheduledGraph::new(graph, &lowering(strided())).expect("sizes are known");
    let made = plan(&program, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(!corrupts(&program, &made, Orders(1)), "{}", text::print(graph));
    let mut machine = Machine::new(&program, &made);
    let shown = |wrong: String| panic!("{wrong}\n{}", text::print(graph));
    machine.run(&class_kernel(graph)).unwrap_or_else(shown);
    let outputs = machine.run(&class_kernel(graph)).unwrap_or_else(shown);
    let aliases = graph.aliases(&strided());
    let in_rows = graph.value_ids().filter(|value| aliases.resolve(*value).rows.is_some());
    (outputs, in_rows.count())
}

#[test]
fn random_graphs_in_rows_do_the_same() {
    let mut rng = Rng::new(7);
    let (mut in_rows, mut elided, mut smaller) = (0, 0, 0);
    for _ in 0..400 {
        let graph = random(&mut rng);
        let (expected, _) = run(&graph);
        let kernels = strided();
        let candidates = concat_candidates(&graph, &kernels);
        let some: Vec<NodeId> = candidates.iter().copied().filter(|_| rng.chance(50)).collect();
        for chosen in [&candidates, &some] {
            // Some choices do not go together, which the search for the best passes over.
            if let Ok(graph) = without_concats(&graph, &kernels, chosen) {
                let (outputs, count) = run(&graph);
                assert_eq!(outputs, expected);
                in_rows += count;
            }
        }
        let joined = joined(&graph);
        assert_eq!(run(&joined.graph).0, expected);
        assert_eq!(joined.moved, moved_bytes(&joined.graph, &kernels));
        assert!(joined.moved <= joined.moved_before);
        assert!(arena(&joined.graph) <= arena(&graph));
        elided += joined.elided.len();
        smaller += usize::from(arena(&joined.graph) < arena(&graph));
    }
    assert!(in_rows > 500 && elided > 200 && smaller > 50, "{in_rows} {elided} {smaller}");
}
