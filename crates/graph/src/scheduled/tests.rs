//! What a graph says as a program, with numbers worked out by hand.

use plimsoll::verify::{Violation, violations};
use plimsoll::{AccessKind, Fault, Options, PlanError, Role, Storage, Until, plan};
use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

use super::*;
use crate::graph::{GraphBuilder, Preset, order_by_names};
use crate::testing::random_graph;
use crate::text;

fn graph(lines: &str) -> Graph {
    text::parse(&format!("plim 1\n{lines}\n")).unwrap_or_else(|error| panic!("{error}"))
}

fn scheduled(graph: &Graph) -> ScheduledGraph<'_> {
    ScheduledGraph::new(graph, &LoweringOptions::default()).unwrap()
}

fn with_width(width: Width) -> LoweringOptions {
    LoweringOptions { width, ..LoweringOptions::default() }
}

/// The accesses of a node, as `r:x`, `w:y`.
fn accesses(program: &ScheduledGraph<'_>, node: &str) -> String {
    let step = program.step_of(program.graph().node_by_name(node).unwrap()).unwrap();
    let show = |access: &Access| {
        let kind = if access.kind == AccessKind::Read { "r" } else { "w" };
        format!("{kind}:{}", program.value_name(access.value))
    };
    program.accesses(step).iter().map(show).collect::<Vec<_>>().join(" ")
}

/// The overwrites of a node, as `y>x`, with `!` if they must be.
fn overwrites(program: &ScheduledGraph<'_>, node: &str) -> String {
    let step = program.step_of(program.graph().node_by_name(node).unwrap()).unwrap();
    let show = |o: &Overwrite| {
        let must = if o.must { "!" } else { "" };
        format!("{}>{}{must}", program.value_name(o.output), program.value_name(o.input))
    };
    program.overwrites(step).iter().map(show).collect::<Vec<_>>().join(" ")
}

fn info(program: &ScheduledGraph<'_>, name: &str) -> ValueInfo {
    program.value(program.value_by_name(name).unwrap())
}

#[test]
fn steps_read_inputs_and_write_outputs() {
    let graph = graph(
        "input x: f32[4]\nstate s: f16[3] align 32\na: f32[4] guard 8 = exp(x) scratch 10 align 4\n\
         b: f32[4], c: bool[4] = custom \"two\"(a, _, a, s) also_reads(x)\noutput c",
    );
    let program = scheduled(&graph);
    assert_eq!((program.steps(), program.values()), (2, 5));
    assert_eq!(accesses(&program, "a"), "r:x w:a");
    assert_eq!(accesses(&program, "b"), "r:a r:s r:x w:b w:c");
    assert_eq!(overwrites(&program, "a"), "a>x");
    assert_eq!(program.scratch(StepId(0)), Some(Scratch { bytes: 10, align: 4 }));
    assert_eq!(program.scratch(StepId(1)), None);
    let x = info(&program, "x");
    assert_eq!((x.bytes, x.role, x.storage), (16, Role::Input, Storage::Arena));
    let s = info(&program, "s");
    assert_eq!((s.bytes, s.align, s.storage), (6, Some(32), Storage::Persistent));
    assert_eq!(info(&program, "a").guard, 8);
    assert_eq!((info(&program, "c").output, info(&program, "b").output), (true, false));
    assert_eq!(program.step_name(StepId(1)), "b");
    assert_eq!(program.node_of(StepId(1)), NodeId(1));
}

#[test]
fn views_are_steps_without_accesses() {
    let graph = graph(
        "input x: f32[4, 4]\na: f32[16] = reshape(x)\nb: f32[8] = slice{axis=0, start=8, len=8}(a)\n\
         c = relu(b)\nd: f32[2] view c at 4 = custom \"part\"(c)",
    );
    let program = scheduled(&graph);
    assert_eq!(accesses(&program, "a"), "");
    assert_eq!(accesses(&program, "b"), "");
    assert_eq!(accesses(&program, "c"), "r:b w:c");
    assert_eq!(accesses(&program, "d"), "");
    assert_eq!(info(&program, "b").view_of, Some(View::new(ValueId(1), 32)));
    assert_eq!(info(&program, "d").view_of, Some(View::new(ValueId(3), 4)));
    assert_eq!(overwrites(&program, "c"), "c>b");
}

#[test]
fn a_part_of_something_else_is_written_where_it_is() {
    let graph = graph(
        "input x: f32[4]\nvalue all: f32[8]\na: f32[4] view all at 0 = exp(x)\n\
         b: f32[4] view all at 16 = neg(x)\nall = concat{axis=0}(a, b) elided\ny = exp(all)",
    );
    let program = scheduled(&graph);
    assert_eq!(program.steps(), 3);
    assert_eq!(accesses(&program, "a"), "r:x w:a");
    assert_eq!(accesses(&program, "b"), "r:x w:b");
    assert_eq!(accesses(&program, "y"), "r:all w:y");
    assert_eq!(overwrites(&program, "a"), "a>x", "what it takes over may be there before it");
}

#[test]
fn readers_read_through_what_is_folded_before_them() {
    let graph = graph(
        "input x: f32[4, 4]\nparam w: f32[4, 4]\nt: f32[4, 4] elided = transpose{perm=[1, 0]}(w) elided\n\
         y: f32[4, 4] = matmul(x, t) reads(t until end)\nz: f32[4, 4] = exp(y)",
    );
    let program = scheduled(&graph);
    assert_eq!(program.steps(), 2);
    assert_eq!(accesses(&program, "y"), "r:x r:w w:y");
    assert_eq!(program.accesses(StepId(0))[1].until, Until::EndOfRun);
    let t = info(&program, "t");
    assert_eq!((t.elided, t.bytes, t.view_of), (true, 0, None));
    assert_eq!(program.step_of(graph.node_by_name("t").unwrap()), None);
}

#[test]
fn makers_write_what_is_folded_behind_them() {
    let graph = graph(
        "input x: f32[4]\nbias: f32[4] = exp(x)\ny: f32[4] elided = matmul(x)\n\
         z: f32[4] = add(y, bias) elided may_overwrite(z: bias)\nout = exp(z)",
    );
    let program = scheduled(&graph);
    assert_eq!(accesses(&program, "y"), "r:x r:bias w:z");
    assert_eq!(overwrites(&program, "y"), "z>bias");
    assert_eq!(accesses(&program, "out"), "r:z w:out");
    // The maker waits for what it reads in place of the folded node.
    let order = order_by_names(&graph, &["y", "bias", "out"]).unwrap();
    let error = ScheduledGraph::with_order(&graph, &order, &LoweringOptions::default());
    assert_eq!(error.unwrap_err().to_string(), "node `y` comes before `bias`, for which it waits");
}

#[test]
fn windows_become_steps_of_the_schedule() {
    let text = include_str!("../../../../corpus/graphs/late_host_read.plim");
    let graph = text::parse(text).unwrap();
    let program = scheduled(&graph);
    let step = |name: &str| program.step_of(graph.node_by_name(name).unwrap()).unwrap();
    let host = program.accesses(step("host")).into_owned();
    assert_eq!(host[0].until, Until::After(step("flush")));
    assert_eq!(host[1].until, Until::After(step("flush")));
    assert_eq!(accesses(&program, "y"), "r:x r:w w:z");
    assert_eq!(overwrites(&program, "host"), "");
    // In an order where the flush comes first the window is wrong.
    let names = ["flush", "y", "logits", "host", "other", "score", "best"];
    let order = order_by_names(&graph, &names).unwrap();
    let error = ScheduledGraph::with_order(&graph, &order, &LoweringOptions::default());
    assert_eq!(
        error.unwrap_err().to_string(),
        "node `host`: its access to `logits` begins or ends with `flush`, which is on the wrong \
         side of it in this order"
    );
}

#[test]
fn queues_and_waits_are_carried_over() {
    let text = include_str!("../../../../corpus/graphs/two_queues.plim");
    let graph = text::parse(text).unwrap();
    let program = scheduled(&graph);
    assert_eq!(program.execution(), Execution::Queues);
    let queues: Vec<u32> = (0..4).map(|step| program.queue(StepId(step))).collect();
    assert_eq!(queues, [1, 0, 0, 1]);
    assert_eq!(*program.after(StepId(2)), [StepId(0)]);
    assert_eq!(*program.after(StepId(3)), [StepId(2)]);
}

#[test]
fn forced_overwrites_are_carried_over() {
    let text = include_str!("../../../../corpus/graphs/kv_cache_decode.plim");
    let graph = text::parse(text).unwrap();
    let program = scheduled(&graph);
    assert_eq!(overwrites(&program, "append"), "grown>cache!");
    // The cache is exempt, so what must overwrite it is as well; the rest is widened.
    let wide = ScheduledGraph::new(&graph, &with_width(Width::Four)).unwrap();
    assert_eq!(info(&wide, "cache").bytes, 512 * 64 * 2);
    assert_eq!(info(&wide, "grown").bytes, 512 * 64 * 2);
    assert_eq!(info(&wide, "row").bytes, 64 * 4);
}

#[test]
fn an_operand_that_is_a_part_of_another_is_not_overwritten() {
    let graph = graph(
        "input x: f32[4, 4]\na: f32[4, 4] = exp(x)\nrow: f32[1, 4] = slice{axis=0, start=0, len=1}(a)\n\
         b = add(a, row)\nc = add(b, b)\nd = add(c, c) also_reads(c)\ne = exp(d) reads(d until end)",
    );
    let program = scheduled(&graph);
    assert_eq!(overwrites(&program, "b"), "", "the row is still read");
    assert_eq!(overwrites(&program, "c"), "c>b");
    assert_eq!(overwrites(&program, "d"), "");
    assert_eq!(overwrites(&program, "e"), "");
}

#[test]
fn kernels_can_do_without_overwrites() {
    let graph = graph(
        "input x: f32[4]\na = exp(x)\nb = relu(a)\nc: f32[4] = custom \"f\"(b) may_overwrite(c: b)",
    );
    let count = |kernels: Kernels| {
        let options = LoweringOptions { kernels, ..LoweringOptions::default() };
        let program = ScheduledGraph::new(&graph, &options).unwrap();
        (0..3).map(|step| program.overwrites(StepId(step)).len()).collect::<Vec<_>>()
    };
    assert_eq!(count(Kernels::default()), [1, 1, 1]);
    assert_eq!(count(Kernels::new(Preset::Views)), [0, 0, 1]);
    let tflm = Kernels::new(Preset::Tflm);
    let no_relu = Kernels { no_overwrites: vec!["relu".parse().unwrap()], ..Kernels::default() };
    assert_eq!(count(no_relu), [1, 0, 1]);
    assert_eq!(count(tflm), [1, 1, 1]);
}

#[test]
fn kernels_of_tflite_micro_work_in_place_element_by_element_alone() {
    let graph = graph("input x: f32[4, 4]\na = softmax(x)\nb = add(a, x)\nc = cumsum(b)");
    let kernels = Kernels::new(Preset::Tflm);
    let options = LoweringOptions { kernels, ..LoweringOptions::default() };
    let program = ScheduledGraph::new(&graph, &options).unwrap();
    let counts = (0..3).map(|step| program.overwrites(StepId(step)).len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 2, 0]);
}

#[test]
fn views_and_roots_have_slots_of_one_width() {
    // Offsets of views are counted in slots, not in native bytes: element 6 of f16 is byte 12
    // natively and byte 24 in slots of four bytes.
    let graph = graph(
        "param p: f16[10]\nx: f16[10] = exp(p)\nv: f16[4] = slice{axis=0, start=6, len=4}(x)\n\
         flags: bool[8] = custom \"test\"(x)\nlow: bool[2] = slice{axis=0, start=5, len=2}(flags)\n\
         nib: i4[6] = cast(x)\nhalf: i4[2] = slice{axis=0, start=4, len=2}(nib)\n\
         keep: f16[10] exempt = exp(p)\ntail: f16[2] = slice{axis=0, start=8, len=2}(keep)\n\
         w: f16[5] = slice{axis=0, start=5, len=5}(p)",
    );
    let of = |width, name: &str| {
        let program = ScheduledGraph::new(&graph, &with_width(width)).unwrap();
        let info = info(&program, name);
        (info.bytes, info.view_of.map_or(0, |view| view.offset))
    };
    assert_eq!((of(Width::Native, "x"), of(Width::Native, "v")), ((20, 0), (8, 12)));
    assert_eq!((of(Width::Four, "x"), of(Width::Four, "v")), ((40, 0), (16, 24)));
    assert_eq!((of(Width::Native, "flags"), of(Width::Native, "low")), ((8, 0), (2, 5)));
    assert_eq!((of(Width::IntWide, "flags"), of(Width::IntWide, "low")), ((32, 0), (8, 20)));
    assert_eq!((of(Width::IntWide, "x"), of(Width::IntWide, "v")), ((20, 0), (8, 12)));
    assert_eq!((of(Width::Native, "nib"), of(Width::Native, "half")), ((3, 0), (1, 2)));
    assert_eq!((of(Width::Four, "nib"), of(Width::Four, "half")), ((24, 0), (8, 16)));
    assert_eq!((of(Width::Four, "keep"), of(Width::Four, "tail")), ((20, 0), (4, 16)));
    assert_eq!((of(Width::ParamsNative, "p"), of(Width::ParamsNative, "w")), ((20, 0), (10, 10)));
    assert_eq!(of(Width::ParamsNative, "x"), (40, 0));
    assert_eq!((of(Width::Four, "p"), of(Width::Four, "w")), ((40, 0), (20, 20)));
}

#[test]
fn exempting_a_view_exempts_its_root() {
    let graph = graph(
        "x: f16[4] = fill()\nv: f16[2] exempt = slice{axis=0, start=2, len=2}(x)\ny: f16[4] = exp(x)",
    );
    let program = ScheduledGraph::new(&graph, &with_width(Width::Four)).unwrap();
    assert_eq!((info(&program, "x").bytes, info(&program, "v").bytes), (8, 4));
    assert_eq!(info(&program, "v").view_of, Some(View::new(ValueId(0), 4)));
    assert_eq!(info(&program, "y").bytes, 16);
    assert_eq!(overwrites(&program, "y"), "", "it is wider than what it would overwrite");
}

#[test]
fn what_cannot_be_counted_in_elements_stays_native() {
    let graph = graph(
        "x: f16[4] = fill()\nvalue odd: u8[3] view x at 1\ny: f16[4] = fill()\n\
         z: f16[4] = exp(y) reads(y bytes 2..6) writes(z bytes 3..6)\nb: f16[4] bytes 9 = fill()",
    );
    let program = ScheduledGraph::new(&graph, &with_width(Width::Four)).unwrap();
    assert_eq!((info(&program, "x").bytes, info(&program, "y").bytes), (8, 16));
    assert_eq!((info(&program, "z").bytes, info(&program, "b").bytes), (8, 9));
    let accesses = program.accesses(StepId(2));
    assert_eq!(accesses[0].bytes, Some(Span::new(4, 12)));
    assert_eq!(accesses[1].bytes, Some(Span::new(3, 6)));
}

#[test]
fn casts_overwrite_by_the_width_of_slots() {
    let graph = graph("x: f16[4] = fill()\ny: f32[4] = cast(x)\nz: f16[4] = cast(y)");
    assert_eq!(overwrites(&scheduled(&graph), "y"), "");
    assert_eq!(overwrites(&scheduled(&graph), "z"), "z>y");
    let four = ScheduledGraph::new(&graph, &with_width(Width::Four)).unwrap();
    assert_eq!(overwrites(&four, "y"), "y>x");
}

#[test]
fn sizes_given_by_the_caller_count_for_more() {
    let graph = graph(
        "input x: f32[?, 4]\ny: f32[?] = custom \"f\"(x)\nz: f32[4] = mean(y)\nv: f32[?] = reshape(x)",
    );
    let sized = |sizes: &[(&str, u64)]| {
        let sizes = sizes.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        let options = LoweringOptions { sizes, ..LoweringOptions::default() };
        ScheduledGraph::new(&graph, &options)
    };
    assert_eq!(
        sized(&[]).unwrap_err().to_string(),
        "sizes are not known and have to be given: x, y, v"
    );
    assert_eq!(
        sized(&[("x", 64), ("u", 1), ("w", 2)]).unwrap_err().to_string(),
        "sizes are given for values that are not there: u, w"
    );
    assert_eq!(
        sized(&[("x", 64), ("y", 100), ("v", 65)]).unwrap_err().to_string(),
        "value `v`: a view up to byte 65 of `x`, which has 64"
    );
    let program = sized(&[("x", 64), ("y", 100), ("z", 32), ("v", 64)]).unwrap();
    let bytes: Vec<u64> = (0..4).map(|value| program.value(ValueId(value)).bytes).collect();
    assert_eq!(bytes, [64, 100, 32, 64]);
    let mut builder = GraphBuilder::new();
    builder.input("big", crate::dtype::Dtype::I4, [u64::MAX / 2]).unwrap();
    let big = builder.finish().unwrap();
    let error = ScheduledGraph::new(&big, &with_width(Width::Four)).unwrap_err().to_string();
    assert_eq!(error, "value `big`: its size does not fit 64 bits");
}

#[test]
fn orders_are_checked() {
    let graph = graph("input x: f32[1]\na = exp(x)\nb = exp(x)\nc = add(a, b)");
    let run = |names: &[&str]| {
        let order = order_by_names(&graph, names)?;
        let program = ScheduledGraph::with_order(&graph, &order, &LoweringOptions::default());
        program.map(|p| (0..3).map(|s| p.step_name(StepId(s)).into_owned()).collect::<Vec<_>>())
    };
    assert_eq!(run(&["b", "a", "c"]).unwrap(), ["b", "a", "c"]);
    let message = |names: &[&str]| run(names).unwrap_err().to_string();
    assert_eq!(message(&["a", "c", "b"]), "node `c` comes before `b`, for which it waits");
    assert_eq!(message(&["a", "c"]), "node `b` is not in the order");
    assert_eq!(message(&["a", "b", "a", "c"]), "node `a` is in the order twice");
    assert_eq!(message(&["a", "b", "d"]), "there is no node `d`");
    let far = [NodeId(0), NodeId(7)];
    let error = ScheduledGraph::with_order(&graph, &far, &LoweringOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no node `node 7`");
}

/// Everything that a program says, without names.
fn said(program: &ScheduledGraph<'_>) -> String {
    let steps = (0..program.steps()).map(StepId::new).map(|step| {
        let (accesses, overwrites) = (program.accesses(step), program.overwrites(step));
        let (after, queue) = (program.after(step), program.queue(step));
        format!("{accesses:?} {overwrites:?} {after:?} {queue} {:?}\n", program.scratch(step))
    });
    let values = (0..program.values()).map(|v| format!("{:?}\n", program.value(ValueId::new(v))));
    format!("{:?}\n", program.execution()) + &steps.chain(values).collect::<String>()
}

/// The same graph with other names and kinds.
fn renamed(graph: &Graph) -> Graph {
    let mut builder = GraphBuilder::new();
    builder.execution(graph.execution());
    for (index, value) in graph.values().iter().enumerate() {
        let name = format!("other {}", graph.values().len() - index);
        builder.value(crate::graph::Value { name, ..value.clone() }).unwrap();
    }
    for (index, node) in graph.nodes().iter().enumerate() {
        let name = format!("{}", graph.nodes().len() - index);
        builder.node(crate::graph::Node { name, kind: "thing".into(), ..node.clone() }).unwrap();
    }
    graph.outputs().iter().for_each(|output| builder.output(*output));
    builder.finish().unwrap()
}

#[test]
fn random_graphs_survive_text_and_renaming() {
    let mut rng = Rng::new(7);
    let mut elided = 0;
    for case in 0..5000u32 {
        let graph = random_graph(&mut rng, 12);
        let printed = text::print(&graph);
        let read = text::parse(&printed).unwrap_or_else(|e| panic!("case {case}: {e}\n{printed}"));
        assert_eq!(read, graph, "case {case}\n{printed}");
        assert_eq!(text::print(&read), printed, "case {case}");
        let width = Width::all().nth(case as usize % 6).unwrap();
        let program = ScheduledGraph::new(&graph, &with_width(width));
        let program = program.unwrap_or_else(|e| panic!("case {case}: {e}\n{printed}"));
        let other = renamed(&graph);
        let other = ScheduledGraph::new(&other, &with_width(width)).unwrap();
        assert_eq!(said(&program), said(&other), "case {case}\n{printed}");
        check_contract(&program, case);
        elided += usize::from(graph.nodes().iter().any(|node| node.elided));
    }
    assert!(elided > 1000, "{elided}");
}

/// What the trait asks of a program.
fn check_contract(program: &ScheduledGraph<'_>, case: u32) {
    for step in (0..program.steps()).map(StepId::new) {
        for access in program.accesses(step).iter() {
            let info = program.value(access.value);
            assert!(!info.elided, "case {case}");
            assert!(access.bytes.is_none_or(|span| span.lo <= span.hi && span.hi <= info.bytes));
        }
        for overwrite in program.overwrites(step).iter() {
            let bytes = |value| program.value(value).bytes;
            assert!(bytes(overwrite.output) <= bytes(overwrite.input), "case {case}");
        }
    }
    for value in (0..program.values()).map(ValueId::new) {
        let info = program.value(value);
        if let Some(view) = info.view_of {
            assert!(view.offset + info.bytes <= program.value(view.of).bytes, "case {case}");
        }
    }
}

#[test]
fn what_is_scattered_over_is_not_what_is_scattered() {
    let graph = graph(
        "input x: f32[4]\ninput i: i64[4]\na: f32[4] = exp(x)\nb: f32[4] = exp(x)\n\
         c: f32[4] = scatter(a, i, b)\nd: f32[4] = scatter(b, i, b)\nv: f32[4] = reshape(b)\n\
         e: f32[4] = scatter(b, i, v)\nf: f32[4] = add(b, b)\noutput c, d, e, f",
    );
    let program = scheduled(&graph);
    assert_eq!(overwrites(&program, "c"), "c>a");
    assert_eq!(overwrites(&program, "d"), "");
    assert_eq!(overwrites(&program, "e"), "");
    assert_eq!(overwrites(&program, "f"), "f>b");
}

#[test]
fn views_come_behind_what_they_are_views_of() {
    for execution in ["", "execution partial\n", "execution queues\n"] {
        let graph = text::parse(&format!(
            "plim 1\n{execution}input x: f32[4, 6]\na: f32[4, 6] = relu(x)\n\
             b: f32[24] = reshape(a)\nc: f32[24] = exp(b)\noutput c\n"
        ));
        let graph = graph.unwrap_or_else(|error| panic!("{error}"));
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
        let [a, b, c] = [StepId(0), StepId(1), StepId(2)];
        assert!(program.accesses(b).is_empty());
        assert_eq!([&program.flows_from(b)[..], &program.flows_from(c)[..]], [[a], [b]]);
        let made = plan(&program, &Options::default()).unwrap();
        for (schedule, step, needs) in [([b, a, c], b, a), ([a, c, b], c, b)] {
            let mut moved = made.plan().clone();
            moved.schedule = schedule.to_vec();
            let expected = Violation::OrderViolated { step, needs };
            assert_eq!(violations(&program, &moved), [expected], "{execution}");
            let options = Options::default().with_schedule(Some(schedule.to_vec()));
            let Err(PlanError::Program(error)) = plan(&program, &options) else {
                panic!("it is no order");
            };
            assert_eq!(error.fault, Fault::OutOfOrder { step, needs }, "{execution}");
        }
    }
}
