//! What is advised where it was worked out by hand; rewritten graphs compute what they did before.

use plimsoll::{Options, OrderEffort, plan};

use super::*;
use crate::best::Tries;
use crate::graph::topological_order;
use crate::scheduled::{LoweringOptions, ScheduledGraph};
use crate::testing::{Machine, class_kernel};
use crate::text;

fn graph(lines: &str) -> Graph {
    text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|e| panic!("{e}"))
}

/// A case in the order of the file, without padding.
fn case(lines: &str) -> Case {
    let options = Options::default().with_align(1);
    Case {
        graph: graph(lines),
        lowering: LoweringOptions::default(),
        options,
        tries: Tries::default(),
        spills: false,
    }
}

fn go_on(_: &Action) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn settled(lines: &str) -> PlannedGraph {
    case(lines).plan().unwrap_or_else(|e| panic!("{e}"))
}

/// What is advised: kind, arena afterwards, cost.
fn advised(settled: &PlannedGraph) -> Vec<(u8, u64, Cost)> {
    let advice = advise(settled, &[], &mut go_on);
    let told = |a: &Advice| {
        assert_eq!(a.settled.arena_bytes() + a.saved_bytes, settled.arena_bytes());
        (a.action.rank(), a.settled.arena_bytes(), a.cost.clone())
    };
    advice.iter().map(told).collect()
}

/// Two branches, each large at first and small at its end, begun before either is finished.
const BRANCHES: &str = "input x: f32[16]\na: f32[256] = matmul(x, x)\n\
    b: f32[256] = matmul(x, x)\nc: f32[16] = sum(a)\nd: f32[16] = sum(b)\n\
    y: f32[16] = matmul(c, d)\noutput y\n";

#[test]
fn another_order_is_advised_with_what_it_saves() {
    let settled = settled(BRANCHES);
    assert_eq!(settled.arena_bytes(), 2112);
    let order = (Action::Plan(PlanChange::Order).rank(), 1152, Cost::Nothing);
    assert!(advised(&settled).contains(&order), "{:?}", advised(&settled));
}

#[test]
fn what_does_not_help_is_not_advised() {
    let mut case = case(BRANCHES);
    case.tries.order = Some(OrderEffort::Default);
    let settled = case.plan().unwrap();
    let kinds: Vec<u8> = advised(&settled).iter().map(|(rank, ..)| *rank).collect();
    let absent = [
        Action::Plan(PlanChange::Order),
        Action::JoinConcats,
        Action::Plan(PlanChange::OutputsOutside),
        Action::Plan(PlanChange::ReclaimInputs),
    ];
    assert!(absent.iter().all(|action| !kinds.contains(&action.rank())), "{kinds:?}");
}

/// `r` waits for the last step while `big` comes and goes; it is `relu` of an input.
const WAITING: &str = "input x: f32[64, 2]\ninput w: f32[2, 64]\nr: f32[64, 2] = relu(x)\n\
    early: f32[64, 64] = matmul(r, w)\nlater: f32[64, 2] = matmul(early, x)\n\
    y: f32[64, 2] = add(later, r)\noutput y\n";

#[test]
fn a_cheap_value_is_made_again_instead_of_kept() {
    let settled = settled(WAITING);
    // r, early and later while later is made.
    assert_eq!(settled.arena_bytes(), 512 + 16384 + 512);
    let again = (10, 16384 + 512, Cost::Elements(128));
    assert!(advised(&settled).contains(&again), "{:?}", advised(&settled));
}

#[test]
fn what_may_be_random_is_not_made_again() {
    // An op on one tensor with more operands may be dropout, which is random.
    let lines = WAITING.replace("relu(x)", "relu(x, w)");
    let kinds: Vec<u8> = advised(&settled(&lines)).iter().map(|(rank, ..)| *rank).collect();
    assert!(!kinds.contains(&10), "{kinds:?}");
}

/// Rows of 8 become rows of 64 and 8 again, element by element in between.
const WIDE: &str = "input x: f32[6, 8]\nparam w: f32[8, 64]\nparam v: f32[64, 8]\nparam b: f32[64]\n\
    m: f32[6, 8] = relu(x)\na: f32[6, 64] = matmul(m, w)\nc: f32[6, 64] = add(a, b)\n\
    d: f32[6, 64] = sigmoid(c)\ne: f32[6, 64] = mul(c, d)\ny: f32[6, 8] = matmul(e, v)\n\
    output y\n";

/// Few channels become many, each is convolved for itself, pooled, and enlarged again.
const IMAGE: &str = "input x: f32[1, 3, 4, 4]\nparam w: f32[8, 3, 1, 1]\nparam b: f32[8]\n\
    param v: f32[8, 1, 1, 1]\na: f32[1, 8, 4, 4] = conv(x, w, b)\nc: f32[1, 8, 4, 4] = relu(a)\n\
    d: f32[1, 8, 4, 4] = conv(c, v)\np: f32[1, 8, 2, 2] = max_pool(d)\n\
    y: f32[1, 8, 4, 4] = resize(p)\noutput y\n";

/// The second of two convolutions, and a product, need all of what was made before.
const MIXED: &str = "input x: f32[1, 3, 2, 2]\nparam w: f32[4, 3, 1, 1]\nparam v: f32[4, 4, 1, 1]\n\
    a: f32[1, 4, 2, 2] = conv(x, w)\nb: f32[1, 4, 2, 2] = relu(a)\nc: f32[1, 4, 2, 2] = conv(b, v)\n\
    d: f32[1, 4, 2, 2] = add(c, b)\ne: f32[4, 4] = reshape(d)\ninput q: f32[2, 4]\n\
    y: f32[2, 4] = matmul(q, e)\noutput y\n";

#[test]
fn channels_are_made_in_parts() {
    let settled = settled(IMAGE);
    // c and d: eight channels each.
    assert_eq!(settled.arena_bytes(), 2 * 8 * 16 * 4);
    let split = advise(&settled, &[], &mut go_on).into_iter().find(|a| a.action.rank() == 11);
    let split = split.expect("a split");
    let Action::Split { segments, parts } = &split.action else { panic!("{:?}", split.action) };
    assert_eq!((segments[0].len(), *parts), (5, 8));
    // The output, and a channel of c; a channel of d is where the output is not written yet.
    assert_eq!(split.settled.arena_bytes(), 8 * 16 * 4 + 16 * 4);
}

#[test]
fn steps_are_done_in_parts() {
    let settled = settled(WIDE);
    // c and d: two wide ones.
    assert_eq!(settled.arena_bytes(), 2 * 6 * 64 * 4);
    let split =
        advise(&settled, &[], &mut go_on).into_iter().find(|a| a.action.rank() == 11).unwrap();
    let Action::Split { segments, parts } = &split.action else { panic!("{:?}", split.action) };
    let names: Vec<&str> = segments
        .iter()
        .flatten()
        .map(|node| settled.case.graph.node(*node).name.as_str())
        .collect();
    assert_eq!((names, *parts), (vec!["m", "a", "c", "d", "e", "y"], 4));
    // A part of one or two rows: two wide ones and the output.
    assert_eq!(split.settled.arena_bytes(), 2 * 2 * 64 * 4 + 6 * 8 * 4 - 2 * 8 * 4);
    assert_eq!(split.cost, Cost::Steps(6 * 3));
}

#[test]
fn peaks_of_the_same_height_are_lowered_together() {
    let twice = WIDE.replace("output y\n", "")
        + "t: f32[6, 8] = softmax(y)\nb1: f32[6, 64] = matmul(t, w)\n\
        b2: f32[6, 64] = sigmoid(b1)\nb3: f32[6, 64] = mul(b1, b2)\n\
        b4: f32[6, 8] = matmul(b3, v)\noutput b4\n";
    let settled = settled(&twice);
    assert_eq!(settled.arena_bytes(), 2 * 6 * 64 * 4);
    let advice = advise(&settled, &[], &mut go_on);
    let split = advice.iter().find(|a| a.action.rank() == 11).expect("a split");
    let Action::Split { segments, .. } = &split.action else { panic!("{:?}", split.action) };
    assert_eq!(segments.len(), 2);
    assert!(split.settled.arena_bytes() < 6 * 64 * 4, "{}", split.settled.arena_bytes());
    let parted = split::in_parts(&settled.case.graph, segments, 3).unwrap();
    assert_eq!(run(&settled.case.graph), run(&parted));
}

#[test]
fn half_precision_is_half_of_what_is_not_seen_from_outside() {
    let settled = settled(WIDE);
    let half = (12, 6 * 64 * 4, Cost::Result);
    assert!(advised(&settled).contains(&half), "{:?}", advised(&settled));
}

#[test]
fn sizes_near_the_end_of_the_range_are_no_problem() {
    let huge = "input x: f32[16]\na: f32[1073741824, 268435456] = matmul(x, x)\n\
        y: f32[1073741824, 268435456] = matmul(a, x)\noutput y\n";
    let settled = settled(huge);
    assert_eq!(settled.arena_bytes(), 1 << 61);
    assert!(advised(&settled).contains(&(12, (1 << 60) + (1 << 59), Cost::Result)));
}

#[test]
fn a_budget_is_met_by_the_smallest_set_that_keeps_the_result() {
    let settled = settled(WIDE);
    assert!(matches!(fit(&settled, &[], 3072, &mut go_on), Fit::AsItIs));
    let Fit::With(reached) = fit(&settled, &[], 1200, &mut go_on) else { panic!("parts fit") };
    let ranks: Vec<u8> = reached.steps.iter().map(|(action, ..)| action.rank()).collect();
    assert_eq!(ranks, [11]);
    assert!(reached.settled.arena_bytes() <= 1200);
}

#[test]
fn a_budget_that_cannot_be_met_says_what_has_to_be_there_together() {
    let lines = "input x: f32[16]\nparam w: f32[16, 100]\na: f32[100] = matmul(x, w)\n\
        y: f32[50] = matmul(a, x)\noutput y\n";
    let mut case = case(lines);
    case.tries.order = Some(OrderEffort::Default);
    let settled = case.plan().unwrap();
    let Fit::No(refusal) = fit(&settled, &[], 150, &mut go_on) else {
        panic!("200 bytes are too many")
    };
    let no_room = refusal.no_room.unwrap();
    assert!(no_room.proven && no_room.irreducible);
    assert_eq!(refusal.any_order_bytes, Some(200));
    assert!(refusal.lowest.settled.arena_bytes() < settled.arena_bytes());
    assert!(refusal.second_bank.is_some());
}

#[test]
fn smaller_dims_are_tried_as_the_caller_makes_them() {
    let settled = settled(WIDE);
    let smaller = graph(&WIDE.replace("[6, ", "[3, "));
    let variants =
        [Variant { kind: VariantKind::Smaller, label: "rows=3".to_owned(), graph: smaller }];
    let advice = advise(&settled, &variants, &mut go_on);
    let found = advice.iter().find(|a| a.action == Action::Smaller(0)).unwrap();
    assert_eq!(found.saved_bytes, 3 * 64 * 4 * 2);
}

#[test]
fn rewritten_graphs_compute_the_same() {
    let wide = graph(WIDE);
    let order = topological_order(&wide);
    let mut tried = 0;
    for at in 0..order.len() {
        for segment in split::segments(&wide, &order, at) {
            for parts in [2, 4, 6] {
                let parted = split::in_parts(&wide, std::slice::from_ref(&segment.nodes), parts)
                    .expect("it is a graph");
                assert_eq!(run(&wide), run(&parted), "{segment:?} in {parts}");
                tried += 1;
            }
        }
    }
    assert!(tried >= 30, "{tried}");
    let image = graph(IMAGE);
    let order = topological_order(&image);
    for at in 0..order.len() {
        let segments = split::segments(&image, &order, at);
        assert!(!segments.is_empty(), "step {at}");
        for segment in segments {
            let parted = split::in_parts(&image, std::slice::from_ref(&segment.nodes), 4)
                .expect("it is a graph");
            assert_eq!(run(&image), run(&parted), "{segment:?}");
        }
    }
    let mixed = graph(MIXED);
    let order = topological_order(&mixed);
    let all = (0..order.len()).flat_map(|at| split::segments(&mixed, &order, at));
    let mut longest = 0;
    for segment in all {
        let parted = split::in_parts(&mixed, std::slice::from_ref(&segment.nodes), 2)
            .expect("it is a graph");
        assert_eq!(run(&mixed), run(&parted), "{segment:?}");
        longest = longest.max(segment.nodes.len());
    }
    assert_eq!(longest, 3);
    let waiting = graph(WAITING);
    let node = |name: &str| waiting.node_by_name(name).unwrap();
    let again = recompute::again(&waiting, node("r"), &[node("y")]).unwrap();
    assert_eq!(again.nodes().len(), waiting.nodes().len() + 1);
    assert_eq!(run(&waiting), run(&again));
}

#[test]
fn kernels_with_strides_are_advised_where_copies_take_the_peak() {
    let settled = settled(
        "input x: f32[8, 8]\na: f32[8, 8] = matmul(x, x)\nb: f32[8, 8] = matmul(x, x)\n\
         c: f32[8, 16] = concat{axis=1}(a, b)\ny: f32[8, 8] = matmul(c, x)\noutput y\n",
    );
    assert_eq!(settled.arena_bytes(), 4 * 8 * 32);
    let strided = (Action::Strided.rank(), 4 * 8 * 24, Cost::Kernels);
    assert!(advised(&settled).contains(&strided), "{:?}", advised(&settled));
}

#[test]
fn matrices_of_a_product_are_done_in_parts() {
    let heads = graph(
        "input q: f32[1, 4, 3, 5]\ninput k: f32[1, 4, 5, 3]\na: f32[1, 4, 3, 5] = relu(q)\n\
         b: f32[1, 4, 5, 3] = relu(k)\ns: f32[1, 4, 3, 3] = matmul(a, b)\noutput s\n",
    );
    let order = topological_order(&heads);
    let segments = split::segments(&heads, &order, 2);
    assert_eq!(segments[0].nodes.len(), 3);
    let parted = split::in_parts(&heads, &[segments[0].nodes.clone()], 4).unwrap();
    assert_eq!(run(&heads), run(&parted));
}

#[test]
fn what_needs_all_channels_is_not_made_of_some() {
    let deep = graph(
        "input x: f32[1, 8, 4, 4]\nparam w: f32[8, 8, 1, 1]\na: f32[1, 8, 4, 4] = relu(x)\n\
         y: f32[1, 8, 4, 4] = conv(a, w)\noutput y\n",
    );
    let segments = split::segments(&deep, &topological_order(&deep), 1);
    assert_eq!(segments.iter().map(|segment| segment.nodes.len()).collect::<Vec<_>>(), [1]);
    // From outside both are there: some channels for `a`, all of them for `b`.
    let beside = graph(
        "input x: f32[1, 8, 4, 4]\nparam w: f32[8, 8, 1, 1]\na: f32[1, 8, 4, 4] = relu(x)\n\
         b: f32[1, 8, 4, 4] = conv(x, w)\ny: f32[1, 8, 4, 4] = add(a, b)\noutput y\n",
    );
    let segments = split::segments(&beside, &topological_order(&beside), 2);
    assert_eq!(segments[0].nodes.len(), 3);
    let parted = split::in_parts(&beside, &[segments[0].nodes.clone()], 4).unwrap();
    assert_eq!(run(&beside), run(&parted));
}

#[test]
fn channels_that_read_another_channel_are_not_made_one_by_one() {
    // Two of the output's channels for each of the image's: parts of both are not the same.
    let deep = graph(
        "input x: f32[1, 4, 2, 2]\nparam w: f32[8, 1, 1, 1]\na: f32[1, 8, 2, 2] = conv(x, w)\n\
         b: f32[1, 8, 2, 2] = relu(a)\noutput b\n",
    );
    let segments = split::segments(&deep, &topological_order(&deep), 0);
    assert_eq!(segments, []);
    // One for each.
    let even = graph(
        "input x: f32[1, 4, 2, 2]\nparam w: f32[4, 1, 1, 1]\na: f32[1, 4, 2, 2] = conv(x, w)\n\
         b: f32[1, 4, 2, 2] = relu(a)\noutput b\n",
    );
    let segments = split::segments(&even, &topological_order(&even), 0);
    assert_eq!(segments.iter().map(|segment| segment.nodes.len()).collect::<Vec<_>>(), [2, 1]);
    let parted = split::in_parts(&even, &[segments[0].nodes.clone()], 4).unwrap();
    assert_eq!(run(&even), run(&parted));
}

#[test]
fn what_depends_on_its_place_is_left_whole() {
    let triangle = graph(
        "input x: f32[4, 4]\na: f32[4, 4] = by_rows \"Trilu\"(x)\nb: f32[4, 4] = relu(a)\noutput b\n",
    );
    assert_eq!(split::segments(&triangle, &topological_order(&triangle), 0), []);
}

#[test]
fn a_product_that_could_be_transposed_is_left_whole() {
    let square =
        graph("input x: f32[8, 8]\nparam w: f32[8, 8]\na: f32[8, 8] = matmul(x, w)\noutput a\n");
    assert!(split::segments(&square, &topological_order(&square), 0).is_empty());
}

/// Runs a graph within a plan of it, on numbers that differ from element to element; its outputs.
fn run(graph: &Graph) -> Vec<Vec<u64>> {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).unwrap();
    let plan = plan(&program, &Options::default()).unwrap();
    let mut machine = Machine::new(&program, &plan);
    for value in graph.value_ids().filter(|value| graph.value(*value).is_given()) {
        machine.fill(value, |element| (element * 7919 + value.index() * 104_729) as u64);
    }
    machine.run(&class_kernel(graph)).unwrap_or_else(|wrong| panic!("{wrong}"))
}
