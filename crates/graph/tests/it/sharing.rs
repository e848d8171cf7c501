//! Sharing decided as one: what works in place, what is made in the place that a concat gives it, what
//! is copied. Exact arenas of small networks.

use std::borrow::Cow;
use std::ops::ControlFlow;

use plimsoll::verify::VerifiedPlan;
use plimsoll::{
    Access, Options, OrderEffort, Overwrite, Program, StepId, ValueId, ValueInfo, plan,
    search_order, unverified_plan,
};
use plimsoll_graph::testing::{Machine, class_kernel};
use plimsoll_graph::{
    Best, Choice, Dtype, Graph, GraphBuilder, Kernels, LoweringOptions, Node, NodeId, Op, Preset,
    RecordedChoice, ScheduledGraph, Tries, Value, best, join_concats, joined_as_recorded, text,
};
use plimsoll_pack::testing::Rng;

fn read(source: &str) -> Graph {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

fn tried(graph: &Graph) -> Best {
    let tries = Tries { order: Some(OrderEffort::Default), join: true };
    best(graph, &LoweringOptions::default(), &Options::default(), tries).expect("sizes are known")
}

/// The plan of what is best, executed in its bytes.
fn planned(graph: &Graph) -> (Graph, VerifiedPlan) {
    let best = tried(graph);
    let options = Options::default();
    let options = best.ordering.as_ref().map_or(options.clone(), |found| found.applied(&options));
    let program = ScheduledGraph::new(&best.graph, &LoweringOptions::default()).expect("sizes");
    let plan = plan(&program, &options).unwrap_or_else(|error| panic!("{error}"));
    if graph.values().iter().all(|value| value.native_size().known().is_some_and(|b| b < 1 << 16)) {
        execute(graph, &program, &plan);
    }
    (best.graph.clone(), plan)
}

fn execute(graph: &Graph, program: &ScheduledGraph<'_>, plan: &VerifiedPlan) {
    let mut machine = Machine::computing(graph, program, plan);
    for value in graph.value_ids().filter(|value| graph.producer(*value).is_none()) {
        machine.fill(value, |element| (element as u64 * 7 + u64::from(value.0)) % 251);
    }
    let run = machine.run(&class_kernel(graph));
    run.unwrap_or_else(|wrong| panic!("{wrong}\n{}", text::print(program.graph())));
}

fn arena(graph: &Graph) -> u64 {
    planned(graph).1.banks.iter().map(|bank| bank.bytes).sum()
}

fn value(graph: &Graph, name: &str) -> ValueId {
    graph.value_by_name(name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn what_is_made_in_its_place_in_a_concat_is_taken_over_there() {
    let graph = read(include_str!("../../../../corpus/graphs/concat_in_place.plim"));
    // Two parts of 262144 bytes, and the 4 bytes that are made of the whole.
    assert_eq!(arena(&graph), 2 * 262_144 + 4);
    let (_, plan) = planned(&graph);
    let taken = |name: &str| {
        plan.derivation.members[value(&graph, name).index()].and_then(|member| member.took_over)
    };
    assert_eq!(taken("a1"), Some(value(&graph, "c1")));
    assert_eq!(taken("a2"), Some(value(&graph, "c2")));
}

#[test]
fn a_residual_is_taken_over_by_a_part_of_a_concat() {
    let graph = read(include_str!("../../../../corpus/graphs/concat_of_residual.plim"));
    assert_eq!(arena(&graph), 2 * 262_144 + 4);
}

#[test]
fn whole_chains_are_in_the_places_of_parts() {
    let graph = read(
        "plim 1\ninput x: u8[64]\na: u8[64] = custom \"a\"(x)\nb: u8[64] = exp(a)\nc: u8[64] = neg(b)\n\
         d: u8[128] = custom \"d\"(c)\ne: u8[128] = exp(d)\ny: u8[192] = concat{axis=0}(c, e)\n\
         z: u8[64] = custom \"z\"(y)\noutput z\n",
    );
    assert_eq!(arena(&graph), 192 + 64);
}

#[test]
fn a_part_does_not_take_over_what_another_part_would_lose() {
    // The input of the second part is read once more while the first part is there: its place in the
    // concat is behind that of the first, and does no harm.
    let graph = read(
        "plim 1\ninput x: u8[64]\na: u8[64] = custom \"a\"(x)\nb: u8[64] = custom \"b\"(a)\n\
         c: u8[64] = add(a, b)\ny: u8[128] = concat{axis=0}(c, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n",
    );
    assert_eq!(arena(&graph), 192);
}

#[test]
fn a_concat_is_joined_through_other_shapes() {
    let graph = read(include_str!("../../../../corpus/graphs/concat_of_unsqueezed.plim"));
    assert_eq!(arena(&graph), 2 * 262_144 + 4);
}

#[test]
fn one_input_is_made_in_place_and_another_copied() {
    // What is kept of the last is a view, and cannot be made anywhere else.
    let graph = read(
        "plim 1\ninput x: u8[64]\na: u8[256] = custom \"a\"(x)\nk: u8[64] = slice{axis=0, start=192, len=64}(a)\n\
         b: u8[512] = custom \"b\"(x)\ny: u8[576] = concat{axis=0}(k, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n",
    );
    let best = tried(&graph);
    let node = graph.producer(value(&graph, "y")).expect("a concat");
    assert_eq!(best.choices, [Choice::Join(node, vec![1])]);
    assert_eq!((best.moved_before, best.moved_bytes), (576, 64));
    // The whole with what is kept, and not all three.
    assert_eq!(arena(&graph), 576 + 64);
}

#[test]
fn rows_of_one_input_are_made_in_place_and_those_of_another_copied() {
    let graph = read(
        "plim 1\ninput x: u8[64]\na: u8[2, 128] = custom \"a\"(x)\n\
         k: u8[2, 32] = slice{axis=1, start=96, len=32}(a)\nb: u8[2, 128] = custom \"b\"(x)\n\
         y: u8[2, 160] = concat{axis=1}(k, b)\nz: u8[64] = custom \"z\"(y)\noutput z\n",
    );
    let mut lowering = LoweringOptions::default();
    lowering.kernels = Kernels::new(Preset::Strided);
    let joined = join_concats(&graph, &lowering, &Options::default());
    let node = graph.producer(value(&graph, "y")).expect("a concat");
    assert_eq!(joined.choices, [Choice::Join(node, vec![1])]);
    // The slice and what the concat still copies of it.
    assert_eq!((joined.moved_before, joined.moved), (64 + 320, 64 + 64));
    let program = ScheduledGraph::new(&joined.graph, &lowering).expect("sizes are known");
    let plan = plan(&program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    // The whole, with what is kept of the last.
    assert_eq!(plan.banks[0].bytes, 320 + 64);
    execute(&graph, &program, &plan);
}

#[test]
fn a_view_is_copied_where_it_keeps_too_much() {
    let graph = read(
        "plim 1\ninput x: u8[64]\nr: u8[768] = custom \"r\"(x)\n\
         a: u8[256], b: u8[256], c: u8[256] = split{axis=0}(r) as parts\np: u8[64] = custom \"p\"(b)\n\
         t: u8[512] = custom \"t\"(p)\nu: u8[64] = custom \"u\"(t)\nz: u8[64] = custom \"z\"(a, c, u)\noutput z\n",
    );
    let best = tried(&graph);
    let parts = graph.producer(value(&graph, "a")).expect("a split");
    assert_eq!(best.choices, [Choice::Copy(parts, 2)]);
    assert_eq!(best.moved_bytes, 256);
    // Between `a` and `c` there would be no room for `t`: 768 + 64 + 512.
    assert_eq!(arena(&graph), 256 + 256 + 64 + 512);
    let told = text::print(&best.graph);
    assert!(told.contains("c: u8[256] copied"), "{told}");
    assert_eq!(text::parse(&told).as_ref(), Ok(&best.graph));
}

/// A random graph of at most eight nodes: what is made from nothing, what works in place and what does not,
/// other shapes, slices, splits and concats of bytes.
fn random(rng: &mut Rng) -> Graph {
    let mut graph = GraphBuilder::new();
    let mut values: Vec<(ValueId, u64)> = Vec::new();
    for index in 0..rng.within(4..9) {
        let name = format!("n{index}");
        let latest = values.len().saturating_sub(3);
        let pick =
            |rng: &mut Rng| values[latest + rng.below((values.len() - latest) as u64) as usize];
        let kind = if index == 0 { 0 } else { rng.below(9) };
        let (op, reads, size) = match kind {
            0 => (Op::Custom, Vec::new(), rng.within(1..5)),
            1 | 2 => {
                let (value, size) = pick(rng);
                (Op::Unary, vec![value], size)
            }
            3 => {
                let (value, _) = pick(rng);
                (Op::Custom, vec![value], rng.within(1..5))
            }
            4 => {
                let (value, size) = pick(rng);
                (Op::Reshape, vec![value], size)
            }
            5 if values.last().is_some_and(|(_, size)| *size > 1) => {
                let (value, size) = values[values.len() - 1];
                let mut part = |part: &str, size: u64| {
                    let value = Value::new(format!("{name}{part}"), Dtype::U8, [64 * size]);
                    graph.value(value).expect("fresh")
                };
                let (a, b) = (part("a", 1), part("b", size - 1));
                graph
                    .node(Node::new(&name, Op::Split { axis: 0 }, &[value], &[a, b]))
                    .expect("fresh");
                values.extend([(a, 1), (b, size - 1)]);
                continue;
            }
            _ => {
                let parts: Vec<_> = (0..rng.within(2..4)).map(|_| pick(rng)).collect();
                let size = parts.iter().map(|(_, size)| size).sum();
                let values = parts.into_iter().map(|(value, _)| value).collect();
                (Op::Concat { axis: 0 }, values, size)
            }
        };
        if size > 16 {
            continue;
        }
        let made = graph.op(&name, op, &reads, Dtype::U8, [64 * size]).expect("fresh");
        values.push((made, size));
    }
    let last = values.len() - 1;
    for (index, (value, _)) in values.iter().enumerate() {
        if index == last || rng.chance(10) {
            graph.output(*value);
        }
    }
    graph.finish().expect("a valid graph")
}

/// A random graph of at most seven nodes on rows: what works in place and what does not, slices, splits
/// and concats of an inner axis.
fn random_rows(rng: &mut Rng) -> Graph {
    let rows = rng.within(2..4);
    let mut graph = GraphBuilder::new();
    let mut values: Vec<(ValueId, u64)> = Vec::new();
    for index in 0..rng.within(4..8) {
        let name = format!("n{index}");
        let latest = values.len().saturating_sub(2);
        let pick =
            |rng: &mut Rng| values[latest + rng.below((values.len() - latest) as u64) as usize];
        let kind = if index == 0 { 0 } else { rng.below(9) };
        let (op, reads, width) = match kind {
            0 => (Op::Custom, Vec::new(), rng.within(1..4)),
            1..=4 => {
                let (value, width) = pick(rng);
                (Op::Unary, vec![value], width)
            }
            5 => {
                let (value, _) = pick(rng);
                (Op::Custom, vec![value], rng.within(1..4))
            }
            6 if values.last().is_some_and(|(_, width)| *width > 1) => {
                let (value, width) = values[values.len() - 1];
                let mut part = |part: &str, width: u64| {
                    let value = Value::new(format!("{name}{part}"), Dtype::U8, [rows, 64 * width]);
                    graph.value(value).expect("fresh")
                };
                let (a, b) = (part("a", 1), part("b", width - 1));
                let node = Node::new(&name, Op::Split { axis: 1 }, &[value], &[a, b]);
                graph.node(node).expect("fresh");
                values.extend([(a, 1), (b, width - 1)]);
                continue;
            }
            _ => {
                let parts = [pick(rng), pick(rng)];
                let width = parts.iter().map(|(_, width)| width).sum();
                (Op::Concat { axis: 1 }, parts.map(|(value, _)| value).to_vec(), width)
            }
        };
        if width > 8 {
            continue;
        }
        let made = graph.op(&name, op, &reads, Dtype::U8, [rows, 64 * width]).expect("fresh");
        values.push((made, width));
    }
    graph.output(values[values.len() - 1].0);
    graph.finish().expect("a valid graph")
}

/// Kernels that know strides.
fn strided() -> LoweringOptions {
    let mut lowering = LoweringOptions::default();
    lowering.kernels = Kernels::new(Preset::Strided);
    lowering
}

/// The arena of a graph in its own order, by rules alone.
fn quick(graph: &Graph) -> Option<u64> {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).ok()?;
    let mut options = Options::default();
    options.pack.work = Some(0);
    let plan = unverified_plan(&program, &options, &mut || ControlFlow::Continue(()));
    plan.ok().map(|plan| plan.arena_bytes())
}

/// An order in which the steps of a program can run.
fn any_order(rng: &mut Rng, program: &ScheduledGraph<'_>) -> Vec<StepId> {
    let mut order: Vec<StepId> = Vec::new();
    while order.len() < program.steps() {
        let steps = (0..program.steps()).map(StepId::new).filter(|step| !order.contains(step));
        let is_ready = |step: &StepId| program.flows_from(*step).iter().all(|s| order.contains(s));
        let ready: Vec<StepId> = steps.filter(is_ready).collect();
        order.push(ready[rng.below(ready.len() as u64) as usize]);
    }
    order
}

#[test]
fn no_order_of_what_is_shared_is_below_its_bound() {
    let mut rng = Rng::new(11);
    let (mut plans, mut met, mut parts) = (0, 0, 0);
    for round in 0..500 {
        let graph = random(&mut rng);
        let mut options = Options::default();
        options.align = [1, 16, 64, 128][round % 4];
        let graph = join_concats(&graph, &LoweringOptions::default(), &options).graph;
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
        for effort in [OrderEffort::Fast, OrderEffort::Default] {
            let found = search_order(&program, &options, effort).expect("a valid program");
            for _ in 0..6 {
                let order = any_order(&mut rng, &program);
                let ordered = options.clone().with_schedule(Some(order));
                let plan = plan(&program, &ordered).unwrap_or_else(|error| panic!("{error}"));
                let arena: u64 = plan.banks.iter().map(|bank| bank.bytes).sum();
                assert!(found.arena_bound_bytes <= arena, "{found:?}\n{}", text::print(&graph));
                let taken = plan.derivation.members.iter().zip(graph.value_ids());
                let is_part = |value: ValueId| program.value(value).view_of.is_some();
                let taken = taken.filter(|(member, value)| {
                    member.is_some_and(|member| member.took_over.is_some()) && is_part(*value)
                });
                (plans, parts) = (plans + 1, parts + taken.count());
                met += usize::from(found.arena_bound_bytes == arena);
            }
        }
    }
    assert!(parts > 400 && met > plans / 2, "{parts} {met} of {plans}");
}

/// A program in which some overwrites are not declared.
struct Fewer<'a> {
    program: &'a ScheduledGraph<'a>,
    declared: Vec<Vec<Overwrite>>,
}

impl Program for Fewer<'_> {
    fn steps(&self) -> usize {
        self.program.steps()
    }
    fn values(&self) -> usize {
        self.program.values()
    }
    fn value(&self, value: ValueId) -> ValueInfo {
        self.program.value(value)
    }
    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        self.program.accesses(step)
    }
    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        Cow::Borrowed(&self.declared[step.index()])
    }
}

/// The smallest arena of all sets of overwrites of a graph, by rules alone.
fn least_in_place(graph: &Graph) -> u64 {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes");
    let steps = (0..program.steps()).map(StepId::new);
    let all: Vec<(StepId, Overwrite)> = steps
        .flat_map(|step| {
            program.overwrites(step).iter().map(move |o| (step, *o)).collect::<Vec<_>>()
        })
        .collect();
    let mut options = Options::default();
    options.pack.work = Some(0);
    let arena = |bits: u32| {
        let mut declared = vec![Vec::new(); program.steps()];
        for (at, (step, overwrite)) in all.iter().enumerate() {
            if bits >> at & 1 == 1 {
                declared[step.index()].push(*overwrite);
            }
        }
        let fewer = Fewer { program: &program, declared };
        let plan = unverified_plan(&fewer, &options, &mut || ControlFlow::Continue(()));
        plan.expect("a plan").arena_bytes()
    };
    (0..1u32 << all.len()).map(arena).min().expect("a set")
}

#[test]
fn no_set_of_overwrites_gives_less() {
    let mut rng = Rng::new(5);
    let mut worse = 0;
    for _ in 0..600 {
        let graph = random(&mut rng);
        let joined = join_concats(&graph, &LoweringOptions::default(), &Options::default()).graph;
        let (found, least) = (quick(&joined).expect("a plan"), least_in_place(&joined));
        if found != least {
            worse += 1;
            eprintln!("{found} {least}\n{}", text::print(&joined));
        }
    }
    assert_eq!(worse, 0);
}

/// All that can be chosen about a node, each independent of the others.
fn choices(graph: &Graph, lowering: &LoweringOptions, node: NodeId) -> Vec<Vec<Choice>> {
    if let Op::Concat { .. } = graph.node(node).op {
        let subsets = 1..1u32 << graph.node(node).inputs.len();
        let inputs = |bits: u32| (0..32).filter(|at| bits >> at & 1 == 1).collect();
        let choices = subsets.map(|bits| Choice::Join(node, inputs(bits)));
        return vec![choices.chain([Choice::Elide(node)]).collect()];
    }
    let Node { inputs, outputs, .. } = graph.node(node);
    let copies = (0..outputs.len()).map(|output| vec![Choice::Copy(node, output)]);
    let over = (0..inputs.len()).map(|input| vec![Choice::TakeOver(node, 0, input)]);
    // Whether something can be taken over depends on other choices.
    let over = over.filter(|_| lowering.kernels.preset == Preset::Strided);
    let allowed = |choices: &Vec<Choice>| with_allowed(graph, lowering, choices).is_some();
    let alone = copies.chain([vec![Choice::Elide(node)]]).filter(allowed);
    alone.chain(over).collect()
}

/// The smallest arena of all combinations of choices, taken from the first node to the
/// last and from the last to the first.
fn least(graph: &Graph, lowering: &LoweringOptions) -> u64 {
    let mut combinations: Vec<Vec<Choice>> = vec![Vec::new()];
    for choices in graph.node_ids().flat_map(|node| choices(graph, lowering, node)) {
        let more = combinations.iter().flat_map(|begun| {
            choices.iter().map(|choice| [&begun[..], std::slice::from_ref(choice)].concat())
        });
        let more: Vec<Vec<Choice>> = more.collect();
        combinations.extend(more);
    }
    let backwards = combinations.iter().map(|choices| choices.iter().rev().cloned().collect());
    let backwards: Vec<Vec<Choice>> = backwards.collect();
    let all = combinations.iter().chain(&backwards);
    let arena = |choices: &Vec<Choice>| quick(&with_allowed(graph, lowering, choices)?);
    all.filter_map(arena).min().expect("a plan")
}

/// The graph with these choices, if a plan could record them.
fn with_allowed(graph: &Graph, lowering: &LoweringOptions, choices: &[Choice]) -> Option<Graph> {
    let recorded: Vec<RecordedChoice> =
        choices.iter().map(|choice| RecordedChoice::of(graph, choice)).collect();
    joined_as_recorded(graph, lowering, &recorded).ok().map(|(graph, _)| graph)
}

#[test]
fn no_choice_gives_less_than_what_is_chosen() {
    let mut rng = Rng::new(3);
    let (mut smaller, mut partly) = (0, 0);
    for _ in 0..400 {
        let graph = random(&mut rng);
        let joined = join_concats(&graph, &LoweringOptions::default(), &Options::default());
        let found = quick(&joined.graph).expect("a plan");
        let least = least(&graph, &LoweringOptions::default());
        assert_eq!(found, least, "{}", text::print(&graph));
        let program =
            ScheduledGraph::new(&joined.graph, &LoweringOptions::default()).expect("sizes");
        let plan = plan(&program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        execute(&graph, &program, &plan);
        smaller += usize::from(found < quick(&graph).expect("a plan"));
        let is_join = |choice: &&Choice| matches!(choice, Choice::Join(..));
        partly += joined.choices.iter().filter(is_join).count();
    }
    assert!(smaller > 50 && partly > 20, "{smaller} {partly}");
}

/// The plan of a graph in its own order with kernels that know strides, executed in its bytes.
fn in_rows(graph: &Graph) -> (Best, u64) {
    let tries = Tries { order: None, join: true };
    let best = best(graph, &strided(), &Options::default(), tries).expect("sizes are known");
    let program = ScheduledGraph::new(&best.graph, &strided()).expect("sizes are known");
    let plan = plan(&program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    execute(graph, &program, &plan);
    let arena = plan.arena_bytes();
    (best, arena)
}

#[test]
fn an_output_takes_over_rows_that_nobody_reads_any_more() {
    let attention = |reads: &str| {
        read(&format!(
            "plim 1\ninput x: f32[16, 8]\nqkv: f32[16, 24] = custom \"matmul\"(x)\n\
             q: f32[16, 8], k: f32[16, 8], v: f32[16, 8] = split{{axis=1}}(qkv) as parts\n\
             o: f32[16, 8] = custom \"attention\"({reads}) scratch 64 may_overwrite(o: q)\n\
             y: f32[16, 2] = custom \"matmul\"(o)\noutput y\n"
        ))
    };
    let (best, arena) = in_rows(&attention("q, k, v"));
    assert_eq!((best.choices.len(), arena), (2, 1536 + 64));
    // What is read as a part of the whole too is not.
    let (best, arena) = in_rows(&attention("q, qkv"));
    assert_eq!((best.choices.len(), arena), (1, 1536 + 512 + 64));
    // Kernels that know no strides have copies of all three.
    let graph = attention("q, k, v");
    assert_eq!(planned(&graph).1.arena_bytes(), 2 * 1536);
    // A plan keeps it by name.
    let (best, _) = in_rows(&graph);
    let recorded: Vec<RecordedChoice> =
        best.choices.iter().map(|choice| RecordedChoice::of(&graph, choice)).collect();
    let text = serde_json::to_string(&recorded).expect("rows");
    assert_eq!(text, r#"["parts",{"node":"o","output":0,"takes_over":0}]"#);
    let again = joined_as_recorded(&graph, &strided(), &recorded).expect("as it was recorded");
    assert_eq!(again, (best.graph, best.choices));
}

#[test]
fn rows_that_are_read_later_are_not_taken_over() {
    let graph = read(
        "plim 1\ninput x: f32[16, 8]\nqk: f32[16, 16] = custom \"matmul\"(x)\n\
         q: f32[16, 8], k: f32[16, 8] = split{axis=1}(qk)\n\
         o: f32[16, 8] = relu(q)\np: f32[16, 2] = custom \"matmul\"(q)\ny: f32[16, 2] = custom \"matmul\"(o, p)\n\
         output y\n",
    );
    let (views, over) = (Choice::Elide(NodeId(1)), Choice::TakeOver(NodeId(2), 0, 0));
    assert!(with_allowed(&graph, &strided(), std::slice::from_ref(&views)).is_some());
    assert_eq!(with_allowed(&graph, &strided(), &[views, over.clone()]), None);
    let (best, _) = in_rows(&graph);
    assert!(!best.choices.contains(&over));
}

#[test]
fn bands_are_made_in_the_rows_of_their_concat() {
    let graph = read(
        "plim 1\ninput x: f32[2, 8, 4]\n\
         s0: f32[2, 4, 4] = slice{axis=1, start=0, len=4}(x)\nc0: f32[2, 4, 4] = custom \"conv\"(s0)\n\
         r0: f32[2, 4, 4] = relu(c0)\n\
         s1: f32[2, 4, 4] = slice{axis=1, start=4, len=4}(x)\nc1: f32[2, 4, 4] = custom \"conv\"(s1)\n\
         r1: f32[2, 4, 4] = relu(c1)\n\
         y: f32[2, 8, 4] = concat{axis=1}(r0, r1)\noutput y\n",
    );
    let (best, arena) = in_rows(&graph);
    assert_eq!((arena, best.moved_bytes), (256, 0));
}

#[test]
fn no_choice_of_rows_gives_less_than_what_is_chosen() {
    let mut rng = Rng::new(11);
    let (mut smaller, mut over) = (0, 0);
    for _ in 0..300 {
        let graph = random_rows(&mut rng);
        let joined = join_concats(&graph, &strided(), &Options::default());
        let program = ScheduledGraph::new(&joined.graph, &strided()).expect("sizes");
        let plan = plan(&program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        execute(&graph, &program, &plan);
        let found = plan.arena_bytes();
        assert!(found <= least(&graph, &strided()), "{}", text::print(&graph));
        let is_over = |choice: &&Choice| matches!(choice, Choice::TakeOver(..));
        over += joined.choices.iter().filter(is_over).count();
        smaller += usize::from(found < quick(&graph).expect("a plan"));
    }
    assert!(smaller > 50 && over > 20, "{smaller} {over}");
}
