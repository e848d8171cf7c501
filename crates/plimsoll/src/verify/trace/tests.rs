//! Traces, right and wrong, against a small program.

use super::super::violation::Space;
use super::*;
use crate::declared::DeclaredProgram;
use crate::ids::BankId;
use crate::program::Execution;
use crate::testing::plan_at;

/// v0 → v1 → v2 at 0, 8 and 0; v2 is an output.
fn line() -> (DeclaredProgram, Plan) {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b] = [program.temporary(8), program.temporary(8)];
    let c = program.output(8);
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    let mut offsets = [0, 8, 0].into_iter();
    let plan = plan_at(&program, 1, |_, _, _| offsets.next().expect("three"));
    (program, plan)
}

fn access(value: u32, offset: u64, bytes: u64) -> String {
    format!(r#"{{"value":"v{value}","bank":"arena","offset":{offset},"bytes":{bytes}}}"#)
}

fn made_by(access: &str, step: u32) -> String {
    format!("{},\"made_by\":{step}}}", access.trim_end_matches('}'))
}

fn step(id: u32, reads: &[String], writes: &[String]) -> String {
    let (reads, writes) = (reads.join(","), writes.join(","));
    format!("{{\"step\":{id},\"reads\":[{reads}],\"writes\":[{writes}]}}\n")
}

fn right() -> Vec<String> {
    vec![
        step(0, &[], &[access(0, 0, 8)]),
        step(1, &[made_by(&access(0, 0, 8), 0)], &[access(1, 8, 8)]),
        step(2, &[made_by(&access(1, 8, 8), 1)], &[access(2, 0, 8)]),
    ]
}

fn found(program: &DeclaredProgram, plan: &Plan, lines: &[String]) -> Vec<TraceViolation> {
    let found = check(program, plan, lines.concat().as_bytes()).expect("a trace");
    for violation in &found {
        assert!(!violation.describe(program, plan).to_string().is_empty());
    }
    found
}

fn region(lo: u64, hi: u64) -> Region {
    Region { space: Space::Bank(BankId(0)), lo, hi }
}

fn fault(line: usize, step: u32, kind: TraceFault) -> TraceViolation {
    TraceViolation { line, step: StepId(step), kind }
}

const V: [ValueId; 3] = [ValueId(0), ValueId(1), ValueId(2)];

#[test]
fn what_was_planned_and_declared_is_right_over_several_runs() {
    let (program, plan) = line();
    let twice: Vec<String> = right().into_iter().chain(right()).collect();
    assert_eq!(found(&program, &plan, &twice), []);
    let named = [
        "{\"name\":\"s0\",\"writes\":[{\"id\":0,\"bank\":\"arena\",\"offset\":0,\"bytes\":4}]}\n\n"
            .to_owned(),
    ];
    assert_eq!(found(&program, &plan, &named), []);
}

#[test]
fn a_clobbered_read() {
    let (program, plan) = line();
    let mut lines = right();
    // s2 runs before s1, which finds what s2 has written over v0.
    lines.swap(1, 2);
    let clobbered = |value, made_by, found, at| TraceFault::Clobbered { value, made_by, found, at };
    assert_eq!(
        found(&program, &plan, &lines),
        [
            fault(2, 2, clobbered(V[1], Some(StepId(1)), None, region(8, 16))),
            fault(3, 1, clobbered(V[0], Some(StepId(0)), Some(StepId(2)), region(0, 8))),
        ]
    );
    // What an earlier run has left is not what this run has made.
    let mut lines: Vec<String> = right().into_iter().chain(right()).collect();
    lines.remove(4);
    let stale = clobbered(V[1], Some(StepId(1)), Some(StepId(1)), region(8, 16));
    assert_eq!(found(&program, &plan, &lines), [fault(5, 2, stale)]);
    // Without saying who made it: nobody who is declared to write the value did.
    let mut lines = right();
    lines.swap(1, 2);
    lines[2] = step(1, &[access(0, 0, 8)], &[access(1, 8, 8)]);
    let by_other = clobbered(V[0], None, Some(StepId(2)), region(0, 8));
    assert!(found(&program, &plan, &lines).contains(&fault(3, 1, by_other)));
}

#[test]
fn a_step_that_writes_its_own_input() {
    let (mut program, mut plan) = line();
    plan.places[1] = plan.places[0];
    let mut lines = right();
    lines[1] = step(1, &[made_by(&access(0, 0, 8), 0)], &[access(1, 0, 8)]);
    let lines = &lines[..2];
    let kind = TraceFault::WroteOwnInput { input: V[0], output: V[1], at: region(0, 8) };
    assert_eq!(found(&program, &plan, lines), [fault(2, 1, kind)]);
    program.overwrite(StepId(1), V[1], V[0], false);
    assert_eq!(found(&program, &plan, lines), []);
}

#[test]
fn two_outputs_on_the_same_bytes() {
    let (mut program, mut plan) = line();
    program.steps[0].accesses.push(crate::program::Access::write(V[1]));
    plan.places[1] = plan.places[0];
    let lines = [step(0, &[], &[access(0, 0, 8), access(1, 0, 4)])];
    let kind = TraceFault::SharedOutputs { first: V[0], second: V[1], at: region(0, 4) };
    assert_eq!(found(&program, &plan, &lines), [fault(1, 0, kind)]);
}

#[test]
fn a_step_that_says_nothing() {
    let (program, plan) = line();
    let lines = [step(0, &[], &[])];
    assert_eq!(found(&program, &plan, &lines), [fault(1, 0, TraceFault::Silent)]);
}

#[test]
fn accesses_elsewhere_or_of_something_else() {
    let (program, plan) = line();
    let lines = [step(0, &[], &[access(0, 4, 8)])];
    let (value, write) = (V[0], true);
    assert_eq!(
        found(&program, &plan, &lines),
        [
            fault(1, 0, TraceFault::NotWherePlanned { value, write, at: region(4, 12) }),
            fault(1, 0, TraceFault::NotDeclared { value, write, at: region(8, 12) })
        ]
    );
    // A fused step that reads its parent's parent, which it has not declared.
    let mut lines = right();
    lines[2] = step(2, &[made_by(&access(1, 8, 8), 1), made_by(&access(0, 0, 8), 0)], &[]);
    let (value, write) = (V[0], false);
    let kind = TraceFault::NotDeclared { value, write, at: region(0, 8) };
    assert_eq!(found(&program, &plan, &lines), [fault(3, 2, kind)]);
}

#[test]
fn what_is_no_trace_is_an_error_with_its_line() {
    let (program, plan) = line();
    let error = |text: &str| {
        let text = format!("{}{text}\n", right()[0]);
        check(&program, &plan, text.as_bytes()).expect_err("no trace").to_string()
    };
    assert!(error("[]").starts_with("line 2: "));
    assert!(error("{\"step\":0,\"colour\":1}").starts_with("line 2: unknown field"));
    assert_eq!(error("{\"step\":3}"), "line 2: no step 3: there are 3");
    assert_eq!(error("{}"), "line 2: which step?");
    assert_eq!(error("{\"name\":\"s9\"}"), "line 2: no step \"s9\"");
    assert_eq!(error("{\"step\":1,\"name\":\"s0\"}"), "line 2: step 1 is not \"s0\"");
    let far = "{\"step\":0,\"reads\":[{\"id\":0,\"offset\":18446744073709551615,\"bytes\":1}]}";
    assert_eq!(error(far), "line 2: bytes beyond the address space");
    assert!(error(&format!("{{\"step\":0,\"reads\":[{}]}}", access(7, 0, 1))).contains("\"v7\""));
    let bank = access(0, 0, 1).replace("arena", "dram");
    assert_eq!(error(&format!("{{\"step\":0,\"reads\":[{bank}]}}")), "line 2: no bank \"dram\"");
    assert!(check(&program, &plan, &b"\xff\xfe\n"[..]).is_err());
}

#[test]
fn a_trace_is_bounded() {
    let (program, plan) = line();
    let lines = right().concat();
    let within = |limits: Limits| {
        check_within(&program, &plan, lines.as_bytes(), limits).map_err(|error| error.to_string())
    };
    let longest = right().iter().map(String::len).max().expect("three lines") as u64;
    let exact = Limits { line: longest, trace: lines.len() as u64, ..LIMITS };
    assert_eq!(within(exact), Ok(vec![]));
    let short = Limits { line: longest - 1, ..exact };
    assert_eq!(within(short), Err(format!("line 2: longer than {} bytes", longest - 1)));
    let small = Limits { trace: exact.trace - 1, ..exact };
    let said = format!("line 3: the trace is longer than {} bytes", exact.trace - 1);
    assert_eq!(within(small), Err(said));
    let idle = Limits { work: 4, ..exact };
    let said = "line 2: its steps touch too many pieces of memory to be compared";
    assert_eq!(within(idle), Err(said.to_owned()));
}

#[test]
fn a_line_without_an_end_is_not_read_to_it() {
    let (program, plan) = line();
    let endless = std::io::BufReader::new(std::io::repeat(b'x'));
    let error = check(&program, &plan, endless).unwrap_err();
    assert_eq!(error.to_string(), "line 1: longer than 1048576 bytes");
    let blank = std::io::BufReader::new(std::io::repeat(b'\n'));
    let few = Limits { trace: 1000, ..LIMITS };
    let error = check_within(&program, &plan, blank, few).unwrap_err();
    assert_eq!(error.to_string(), "line 1001: the trace is longer than 1000 bytes");
}

#[test]
fn only_the_first_violations_are_told() {
    let (program, plan) = line();
    let silent = step(0, &[], &[]).repeat(10);
    let few = Limits { violations: 3, ..LIMITS };
    let found = check_within(&program, &plan, silent.as_bytes(), few).expect("a trace");
    assert_eq!(found.iter().map(|found| found.line).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(check(&program, &plan, silent.as_bytes()).expect("a trace").len(), 10);
}
