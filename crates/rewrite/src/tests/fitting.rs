//! What fitting finds for small networks, in bytes.

use std::ops::ControlFlow;

use crate::fuse::{FusionKind, fuse};
use crate::tests::net::{Layer, Net};
use crate::tests::values::{difference, run};
use crate::{FitOptions, Frontier, Goal, Way, fit};
use plimsoll::OrderEffort;
use plimsoll_graph::{Case, Tries};
use plimsoll_model::{AllKernels, Bindings, Model, infer};

fn fitted(model: &Model) -> Frontier {
    let options = FitOptions::new(Goal::Frontier);
    let mut pulse = || ControlFlow::Continue(());
    fit(model, &Bindings::default(), &options, &mut pulse).unwrap_or_else(|e| panic!("{e}"))
}

/// Three inverted bottlenecks on images of 32 rows, and their mean.
fn bottlenecks() -> Model {
    let mut net = Net::default();
    let mut x = net.input(&[1, 8, 32, 32]);
    for (from, to, stride) in [(8, 8, 1), (8, 16, 2), (16, 16, 1)] {
        x = net.bottleneck(x, from, to, stride);
    }
    let y = net.mean(x);
    net.finish(&[y])
}

#[test]
fn bottlenecks_flow_without_more_arithmetic() {
    let frontier = fitted(&bottlenecks());
    let point = frontier.at_most(0.0).unwrap();
    let (before, after) = (frontier.source_arena_bytes, point.arena_bytes);
    assert!(5 * after <= before, "{before} to {after}");
    assert_eq!(point.multiply_adds, frontier.source_multiply_adds);
    assert!(point.rewritten.regions.iter().any(|applied| matches!(applied.way, Way::Flow { .. })));
}

#[test]
fn what_is_smallest_already_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 8, 1, 1]);
    let y = net.conv(x, 8, 8, Layer::POINTWISE);
    let model = net.finish(&[y]);
    let frontier = fitted(&model);
    assert_eq!(frontier.points.len(), 1);
    assert_eq!(frontier.points[0].rewritten.model, model);
    assert_eq!(frontier.points[0].rewritten.regions, []);
}

#[test]
fn wide_rows_that_are_computed_again_cost_arithmetic_and_save_memory() {
    let frontier = fitted(&bottlenecks());
    let [first, .., last] = &frontier.points[..] else { panic!("more than one point") };
    assert_eq!(first.multiply_adds, frontier.source_multiply_adds);
    assert!(last.multiply_adds > first.multiply_adds && last.arena_bytes < first.arena_bytes);
    let (model, source) = (&last.rewritten.model, bottlenecks());
    let apart = difference(&run(&source, &source, 5), &run(model, &source, 5));
    assert!(apart <= 1e-5, "{apart}");
}

#[test]
fn no_candidate_is_planned_without_work() {
    let mut options = FitOptions::new(Goal::Frontier);
    options.work = 0;
    let mut pulse = || ControlFlow::Continue(());
    let frontier = fit(&bottlenecks(), &Bindings::default(), &options, &mut pulse).unwrap();
    assert_eq!(frontier.points.len(), 1);
}

#[test]
fn a_runtime_that_fuses_is_fitted_for_its_own_arenas() {
    let mut net = Net::default();
    let mut x = net.input(&[1, 8, 32, 32]);
    let layer = Layer { kernel: 3, stride: 1, group: 1 };
    x = net.conv(x, 8, 8, layer);
    for _ in 0..2 {
        let inner = net.conv(x, 8, 8, layer);
        let inner = net.conv(inner, 8, 8, layer);
        let sum = net.add(inner, x);
        x = net.relu(sum);
    }
    let y = net.mean(x);
    let model = net.finish(&[y]);
    let plain = fitted(&model);
    let mut options = FitOptions::new(Goal::Frontier);
    options.fusions = FusionKind::ALL.into_iter().collect();
    let mut pulse = || ControlFlow::Continue(());
    let fused = fit(&model, &Bindings::default(), &options, &mut pulse).unwrap();
    let inferred = infer(&model, &Bindings::default()).unwrap();
    let mut case = Case::new(inferred.graph.clone());
    case.tries = Tries { order: Some(OrderEffort::Default), join: true };
    let as_it_is = fuse(&model, &inferred, &case, &options.fusions, &AllKernels).unwrap();
    assert_eq!(fused.source_arena_bytes, as_it_is.planned.arena_bytes());
    assert!(fused.source_arena_bytes < plain.source_arena_bytes);
    let (fused, plain) = (fused.at_most(0.0).unwrap(), plain.at_most(0.0).unwrap());
    assert!(fused.arena_bytes <= plain.arena_bytes);
    let apart = difference(&run(&model, &model, 9), &run(&fused.rewritten.model, &model, 9));
    assert!(apart <= 1e-5, "{apart}");
}

#[test]
fn a_budget_is_met_with_the_least_overhead() {
    let smallest = fitted(&bottlenecks()).at_most(0.0).unwrap().clone();
    let nodes = |budget: u64| {
        let options = FitOptions::new(Goal::Budget(budget));
        let mut pulse = || ControlFlow::Continue(());
        let frontier = fit(&bottlenecks(), &Bindings::default(), &options, &mut pulse).unwrap();
        let point = frontier.within(budget).unwrap().clone();
        assert!(point.arena_bytes <= budget);
        assert_eq!(point.multiply_adds, frontier.source_multiply_adds);
        let source = bottlenecks();
        let apart = difference(&run(&source, &source, 7), &run(&point.rewritten.model, &source, 7));
        assert!(apart <= 1e-5, "{apart}");
        (point.overhead_bytes, point.rewritten.model.body.nodes.len())
    };
    let (tight, wide) = (nodes(smallest.arena_bytes), nodes(2 * smallest.arena_bytes));
    assert!(wide.0 < tight.0 && wide.1 < tight.1, "{wide:?} is less than {tight:?}");
}
