//! Sharing decided as one: what works in place, what is made in the place that a concat gives it, what
//! is copied. Exact arenas of small networks.

use plimsoll::verify::VerifiedPlan;
use plimsoll::{Options, OrderEffort, ValueId, plan};
use plimsoll_graph::testing::{Machine, class_kernel};
use plimsoll_graph::{Best, Graph, LoweringOptions, ScheduledGraph, Tries, best, text};

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
    let graph = read(include_str!("../../../corpus/graphs/concat_in_place.plim"));
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
    let graph = read(include_str!("../../../corpus/graphs/concat_of_residual.plim"));
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
