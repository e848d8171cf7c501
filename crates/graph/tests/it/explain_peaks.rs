//! What is said of plans that were worked out by hand.

use plimsoll::explain::{What, Why, account, alive, peaks};
use plimsoll::verify::VerifiedPlan;
use plimsoll::{AccessKind, DeclaredProgram, Execution, Options, Point, Program, StepId, plan};
use plimsoll_graph::{LoweringOptions, ScheduledGraph, text};
use plimsoll_pack::Span;

/// Plans a graph in its own order, and hands both over.
fn planned(lines: &str, options: &Options, look: impl FnOnce(&ScheduledGraph<'_>, &VerifiedPlan)) {
    let graph = text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|e| panic!("{e}"));
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
    let plan = plan(&program, options).unwrap_or_else(|e| panic!("{e}"));
    look(&program, &plan);
}

/// Three matrices: `a` waits for the last step while `b` and `c` pass by.
const WAITING: &str = "input x: f32[16]\na: f32[16] = matmul(x, x)\nb: f32[64] = matmul(x, x)\n\
    c: f32[32] = matmul(b, x)\nd: f32[16] = matmul(a, c)\noutput d\n";

#[test]
fn the_highest_peak_comes_first_and_the_next_would_show() {
    planned(WAITING, &Options::default(), |program, plan| {
        let name = |step: StepId| program.step_name(step).into_owned();
        let found: Vec<_> =
            peaks(plan, 3).iter().map(|p| (name(p.step.unwrap()), p.point.0, p.bytes)).collect();
        // a + b + c while c is written; a + c + d while d is.
        assert_eq!(found, [("c".to_owned(), 5, 448), ("d".to_owned(), 7, 256)]);
        assert_eq!(peaks(plan, 1).len(), 1);
    });
}

#[test]
fn of_peaks_with_the_same_buffers_only_the_first_is_listed() {
    // s0 writes all of a, s1 everything but its first four bytes again, which nobody wants; the
    // four are kept for s2.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, b) = (program.temporary(16), program.output(2));
    let [_, again, last] =
        [program.step(&[], &[a]), program.step(&[], &[a]), program.step(&[a], &[b])];
    program.access(again, a, AccessKind::Write).bytes = Some(Span::new(4, 16));
    program.access(last, a, AccessKind::Read).bytes = Some(Span::new(0, 4));
    let plan = plan(&program, &Options::default().with_align(1)).expect("a plan");
    // 16 bytes at point 1, 4 at point 2, and the same 16 at point 3; last 4 + 2 at point 5.
    let found: Vec<_> = peaks(&plan, 9).iter().map(|peak| (peak.point.0, peak.bytes)).collect();
    assert_eq!(found, [(1, 16), (5, 6)]);
}

#[test]
fn who_made_a_value_and_whom_it_waits_for() {
    planned(WAITING, &Options::default(), |program, plan| {
        let peak = peaks(plan, 1)[0];
        let account = account(program, plan, peak.point);
        let alive = alive(program, plan, &account);
        let value = |name: &str| program.value_by_name(name).unwrap();
        let step = |name: &str| {
            let steps = (0..program.steps()).map(StepId::new);
            steps.into_iter().find(|step| program.step_name(*step) == name)
        };
        let seen: Vec<_> = alive.iter().map(|a| (a.value, a.bytes, a.made_by, a.why)).collect();
        let waits = Why::Waits { next: step("d").unwrap(), last: step("d").unwrap(), steps: 1 };
        assert_eq!(
            seen,
            [
                (value("b"), 256, step("b"), Why::Read),
                (value("c"), 128, step("c"), Why::Written),
                (value("a"), 64, step("a"), waits),
            ]
        );
        assert_eq!(alive[0].last_read_by, step("c"));
    });
}

#[test]
fn every_byte_is_something() {
    let lines = "input x: f32[4]\na: f32[5] = matmul(x, x)\nb: f32[3] = matmul(x, x)\n\
        c: f32[2] = matmul(a, b) scratch 10\noutput c\n";
    let mut options = Options::default();
    options.guards.outputs = 7;
    planned(lines, &options, |program, plan| {
        let peak = peaks(plan, 1)[0];
        let account = account(program, plan, peak.point);
        let bytes = |such: fn(What) -> bool| account.bytes(such);
        let sums = [
            bytes(|w| matches!(w, What::Value(_))),
            bytes(|w| matches!(w, What::Guard(_))),
            bytes(|w| matches!(w, What::Scratch(_))),
            bytes(|w| w == What::Padding),
            bytes(|w| w == What::Free),
        ];
        // a, b and c; behind c; of that node; three holes up to the next 64 at most.
        assert_eq!((sums[0], sums[1], sums[2]), (20 + 12 + 8, 7, 10));
        let arena: u64 = plan.banks.iter().map(|bank| bank.bytes).sum();
        assert_eq!(sums.iter().sum::<u64>(), arena);
        assert_eq!(peak.bytes, 57);
    });
}

#[test]
fn what_is_kept_says_so_and_outputs_stay() {
    let lines = "input x: f32[16]\ny: f32[16] = matmul(x, x)\nz: f32[64] = matmul(x, x)\n\
        w: f32[64] = matmul(z, z)\noutput y\noutput w\n";
    planned(lines, &Options::inference(), |program, plan| {
        let peak = peaks(plan, 1)[0];
        let account = account(program, plan, peak.point);
        let whys: Vec<_> = alive(program, plan, &account)
            .iter()
            .map(|a| (program.value_name(a.value).into_owned(), a.why))
            .collect();
        let expected =
            [("z", Why::Read), ("w", Why::Written), ("x", Why::Kept), ("y", Why::Output)];
        assert_eq!(whys, expected.map(|(name, why)| (name.to_owned(), why)));
    });
}

#[test]
fn whose_bytes_a_value_has_and_who_has_its_bytes_next() {
    let lines = "input x: f32[16]\na: f32[16] = matmul(x, x)\nb: f32[16] = relu(a)\n\
        v: f32[4, 4] = reshape(b)\nc: f32[64] = matmul(v, x)\nd: f32[16] = relu(b)\n\
        y: f32[16] = matmul(c, d)\noutput y\n";
    planned(lines, &Options::default(), |program, plan| {
        let at = plan.schedule.iter().position(|step| program.step_name(*step) == "c").unwrap();
        let account = account(program, plan, Point(2 * at as u64 + 1));
        let alive = alive(program, plan, &account);
        let value = |name: &str| program.value_by_name(name).unwrap();
        let seen: Vec<_> = alive
            .iter()
            .map(|a| (a.value, a.bytes, a.in_place_of, a.taken_over_by.clone(), a.views.clone()))
            .collect();
        assert_eq!(
            seen,
            [
                (value("c"), 256, None, vec![], vec![]),
                (value("b"), 64, Some(value("a")), vec![value("d")], vec![value("v")]),
            ]
        );
    });
}
