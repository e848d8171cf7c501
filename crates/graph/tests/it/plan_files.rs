//! What is written is read, is right, and is written again as the same bytes: with every combination
//! of options, whatever things are called.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use plimsoll::testing::{Shape, random_program};
use plimsoll::{
    Access, BankSpec, Boundary, DeclaredProgram, Execution, NoShare, Options, OrderEffort,
    Overwrite, Plan, PlanError, PlanReadError, Program, Recorded, Role, Scratch, StepId, Storage,
    ValueId, ValueInfo, false_claims, plan, read_plan, read_plan_file, unreserved, verify,
    write_plan,
};
use plimsoll_graph::testing::random_graph;
use plimsoll_graph::{
    Best, Donation, Graph, JoinError, Kernels, LoweringOptions, Preset, RecordedChoice,
    ScheduledGraph, Tries, Width, best, concat_candidates, donate, join_concats,
    joined_as_recorded, text,
};
use plimsoll_pack::testing::Rng;
use serde_json::{Value, json};

/// A plan comes back from its file as it was, and what the file says is so.
fn comes_back(program: &dyn Program, plan: &Plan, options: &Options) -> Result<(), String> {
    let told = Recorded::from([("align".to_owned(), json!(options.align))]);
    let mut found = Recorded::from([("moved_bytes".to_owned(), json!(0))]);
    let bound = plan.derivation.order_bound_bytes;
    found.extend(bound.map(|bound| ("schedule_lower_bound_bytes".to_owned(), json!(bound))));
    let written = write_plan(program, plan, told.clone(), found.clone());
    let read = read_plan_file(program, &written).map_err(|error| error.to_string())?;
    verify(program, read.plan.clone()).map_err(|rejected| rejected.to_string())?;
    let claims = false_claims(program, &read.plan, &written).map_err(|e| e.to_string())?;
    let unreserved = unreserved(program, &read.plan, &options.guards, options.min_slot);
    if let Some(claim) = claims.iter().chain(&unreserved).next() {
        return Err(claim.to_string());
    }
    if (&read.plan, &read.options, &read.found) != (plan, &told, &found) {
        return Err(format!("read as\n{:?}\ninstead of\n{plan:?}", read.plan));
    }
    if write_plan(program, &read.plan, read.options, read.found) != written {
        return Err("written again it is another text".to_owned());
    }
    Ok(())
}

/// The digits of a number, one for each option: every combination is a number.
struct Digits(usize);

impl Digits {
    fn next<T: Clone>(&mut self, levels: &[T]) -> T {
        let level = levels[self.0 % levels.len()].clone();
        self.0 /= levels.len();
        level
    }
}

/// How many combinations there are.
const COMBINATIONS: usize = 4 * 3 * 3 * 2 * 2 * 2 * 4 * 2 * 2 * 3 * 3;

/// All that can be chosen, but for what depends on the graph.
struct Combination {
    lowering: LoweringOptions,
    options: Options,
    tries: Tries,
    sized: bool,
    donated: bool,
    apart: bool,
}

fn combination(number: usize) -> Combination {
    let mut digits = Digits(number);
    let mut lowering = LoweringOptions::default();
    let presets = [Preset::Standard, Preset::Strided, Preset::Views, Preset::Copying];
    lowering.kernels = Kernels::new(digits.next(&presets));
    match digits.next(&[0, 1, 2]) {
        0 => {}
        1 => {
            let some = ["relu", "reshape", "concat:0-1"].map(|text| text.parse().expect("nodes"));
            lowering.kernels.no_views = some.to_vec();
            lowering.kernels.no_overwrites = some.to_vec();
        }
        _ => lowering.kernels.strided = vec!["matmul".parse().expect("nodes")],
    }
    let sized = match digits.next(&[0, 1, 2]) {
        0 => false,
        1 => {
            let widths = ["four", "params-native", "int-wide", "half-wide", "bf16-wide"];
            lowering.width = widths[number % 5].parse::<Width>().expect("a width");
            false
        }
        _ => true,
    };
    let order = digits.next(&[None, Some(OrderEffort::Fast)]);
    let tries = Tries { order, join: digits.next(&[false, true]) };
    let mut options = Options::default();
    options.pack.work = Some(0);
    options.in_place = digits.next(&[true, false]);
    let all =
        |placed| Boundary { inputs: placed, params: placed, constants: placed, outputs: placed };
    let some = Boundary { inputs: true, outputs: false, ..all(false) };
    options.place = digits.next(&[options.place, all(false), all(true), some]);
    options.reclaim_inputs = options.place.inputs && number % 2 == 1;
    if digits.next(&[false, true]) {
        options.guards = Boundary { inputs: 40, params: 0, constants: 7, outputs: 128 };
        options.min_slot = 64;
    }
    let donated = digits.next(&[false, true]);
    let apart = match digits.next(&[0, 1, 2]) {
        0 => false,
        1 => true,
        _ => {
            options.no_share = NoShare::Everything;
            false
        }
    };
    match digits.next(&[0, 1, 2]) {
        0 => {}
        1 => {
            let mut small = BankSpec::new("sram");
            small.capacity = Some(256);
            small.repeat = number.is_multiple_of(3);
            options.banks = vec![small, BankSpec::new("dram")];
            options.align = 1;
        }
        _ => {
            let mut aligned = BankSpec::new("rom");
            aligned.align = Some(48);
            aligned.roles = vec![Role::Param, Role::Constant];
            options.banks = vec![aligned, BankSpec::new("ram")];
            options.align = 16;
        }
    }
    assert_eq!(digits.0, 0, "no combination is left out");
    Combination { lowering, options, tries, sized, donated, apart }
}

/// Values joined in rows that overlap, as in dense blocks, on outer and inner axes.
fn dense(rng: &mut Rng) -> Graph {
    let mut lines = String::from("plim 1\ninput x: f32[2, 4]\n");
    // Name and rows of what is joined along the outer axis: each has four columns.
    let mut made: Vec<(String, u64)> = Vec::new();
    let mut last = "x".to_owned();
    for index in 0..rng.within(2..9) {
        let (name, rows, what) = if made.len() < 2 || rng.chance(45) {
            let rows = rng.within(1..4);
            made.push((format!("f{index}"), rows));
            (format!("f{index}"), rows, format!("matmul(x, {last})"))
        } else if rng.chance(30) {
            let of = &made[rng.below(made.len() as u64) as usize];
            (format!("r{index}"), of.1, format!("relu({})", of.0))
        } else {
            let from = rng.below(made.len() as u64 - 1) as usize;
            let to = rng.within(from as u64 + 2..made.len() as u64 + 1) as usize;
            let parts: Vec<&str> = made[from..to].iter().map(|(name, _)| name.as_str()).collect();
            let rows = made[from..to].iter().map(|(_, rows)| rows).sum();
            (format!("c{index}"), rows, format!("concat{{axis=0}}({})", parts.join(", ")))
        };
        writeln!(lines, "{name}: f32[{rows}, 4] = {what}").expect("a string");
        last = name;
    }
    writeln!(lines, "y: f32[2, 4] = matmul({last}, x)\noutput y").expect("a string");
    text::parse(&lines).unwrap_or_else(|error| panic!("{error}\n{lines}"))
}

/// Plans a graph with a combination of options, and has the plan come back. Whether there is one.
fn tried(graph: &Graph, number: usize) -> bool {
    let Combination { mut lowering, mut options, tries, sized, donated, apart } =
        combination(number);
    let mut graph = graph.clone();
    if donated {
        let given = |v: &ValueId| graph.value(*v).role == Role::Input;
        let mut pairs = graph.value_ids().filter(given).flat_map(|input| {
            graph.outputs().iter().map(move |output| (input, *output)).collect::<Vec<_>>()
        });
        let is_state = number.is_multiple_of(2);
        let give = |(input, output)| {
            donate(&graph, &lowering.kernels, &[Donation { input, output, is_state }]).ok()
        };
        let given = pairs.find_map(give);
        graph = given.unwrap_or(graph);
    }
    let middle = ValueId::new(graph.values().len() / 2);
    if sized {
        lowering.sizes = BTreeMap::from([(graph.value(middle).name.clone(), 100)]);
    }
    if apart {
        options.no_share = NoShare::Values(vec![middle]);
    }
    // Sizes that are given may not go together with views.
    let Ok(found) = best(&graph, &lowering, &options, tries) else { return false };
    let Best { graph: joined, ordering, choices, .. } = found;
    let names = choices.iter().map(|choice| RecordedChoice::of(&graph, choice));
    let names: Vec<RecordedChoice> = names.collect();
    let shown = || format!("combination {number}\n{}", text::print(&graph));
    let as_told = joined_as_recorded(&graph, &lowering, &names);
    assert!(as_told == Ok((joined.clone(), choices.clone())), "{names:?} {}", shown());
    options.order_bound_bytes = ordering.as_ref().map(|found| found.schedule.arena_bound_bytes);
    options.schedule = ordering.and_then(|ordering| ordering.steps);
    let program = ScheduledGraph::new(&joined, &lowering).expect("it was planned");
    let plan = match plan(&program, &options) {
        Ok(plan) => plan,
        Err(PlanError::NoRoom(_) | PlanError::Program(_)) => return false,
        Err(error) => panic!("{error} {}", shown()),
    };
    comes_back(&program, &plan, &options).unwrap_or_else(|why| panic!("{why} {}", shown()));
    true
}

#[test]
fn random_graphs_come_back_with_every_combination_of_options() {
    let mut rng = Rng::new(1);
    let planned = (0..COMBINATIONS).filter(|number| tried(&random_graph(&mut rng, 6), *number));
    let planned = planned.count();
    assert!(planned > COMBINATIONS * 3 / 4, "{planned} of {COMBINATIONS}");
}

#[test]
fn joined_concats_come_back_with_every_fifth_combination_of_options() {
    // No option has five levels, so that every pair of levels is there.
    let mut rng = Rng::new(2);
    let numbers = (0..COMBINATIONS).step_by(5);
    let (all, planned) = (numbers.len(), numbers.filter(|n| tried(&dense(&mut rng), *n)).count());
    assert!(planned > all * 3 / 4, "{planned} of {all}");
}

/// A program whose values and steps have the same names, or none.
struct Nameless<'p>(&'p DeclaredProgram, &'static str);

impl Program for Nameless<'_> {
    fn steps(&self) -> usize {
        self.0.steps()
    }
    fn values(&self) -> usize {
        self.0.values()
    }
    fn value(&self, value: ValueId) -> ValueInfo {
        self.0.value(value)
    }
    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        self.0.accesses(step)
    }
    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        self.0.overwrites(step)
    }
    fn scratch(&self, step: StepId) -> Option<Scratch> {
        self.0.scratch(step)
    }
    fn execution(&self) -> Execution {
        self.0.execution()
    }
    fn queue(&self, step: StepId) -> u32 {
        self.0.queue(step)
    }
    fn after(&self, step: StepId) -> Cow<'_, [StepId]> {
        self.0.after(step)
    }
    fn value_name(&self, _value: ValueId) -> Cow<'_, str> {
        self.1.into()
    }
    fn step_name(&self, _step: StepId) -> Cow<'_, str> {
        self.1.into()
    }
}

#[test]
fn plans_of_programs_come_back_whatever_things_are_called() {
    let mut rng = Rng::new(3);
    for index in 0..1_500 {
        let mut program = random_program(&mut rng, &Shape::everything());
        // Where shared values are is found by name.
        for info in program.values.iter_mut().filter(|info| info.storage == Storage::Shared) {
            info.storage = Storage::Persistent;
        }
        let mut options = Options::inference();
        options.align = 4;
        options.pack.work = Some(0);
        let program = Nameless(&program, ["", "same", "#1"][index % 3]);
        let plan = plan(&program, &options).unwrap_or_else(|error| panic!("{index}: {error}"));
        comes_back(&program, &plan, &options).unwrap_or_else(|why| panic!("{index}: {why}"));
    }
}

const DENSE: &str = "plim 1\ninput x: f32[8]\na: f32[2] = matmul(x, x)\nb: f32[3] = matmul(x, a)\n\
    ab: f32[5] = concat{axis=0}(a, b)\nc: f32[4] = matmul(x, ab)\n\
    abc: f32[9] = concat{axis=0}(a, b, c)\ny: f32[8] = matmul(abc, x)\noutput y\n";

#[test]
fn concats_are_joined_in_the_order_in_which_they_were_taken() {
    let graph = text::parse(DENSE).expect("a graph");
    let lowering = LoweringOptions::default();
    let joined = join_concats(&graph, &lowering, &Options::default());
    let names: Vec<&str> =
        joined.elided.iter().map(|node| graph.node(*node).name.as_str()).collect();
    // The larger is first: what is in the other lies in a row in it already.
    assert_eq!(names, ["abc", "ab"]);
    let told =
        |names: &[&str]| joined_as_recorded(&graph, &lowering, names).map(|(graph, _)| graph);
    assert_eq!(told(&names), Ok(joined.graph.into_owned()));
    assert_eq!(told(&["ab", "abc"]), Err(JoinError::Excluded("abc".to_owned())));
}

#[test]
fn a_plan_can_name_only_copies_that_can_be_done_without() {
    let lines = DENSE.replace("output y", "p: f32[16] = concat{axis=0}(y, x)\noutput p");
    let graph = text::parse(&lines).expect("a graph");
    let mut lowering = LoweringOptions::default();
    let told = |lowering: &LoweringOptions, names: &[&str]| {
        joined_as_recorded(&graph, lowering, names).map(|_| ()).map_err(|error| error.to_string())
    };
    let error = |text: &str| Err(text.to_owned());
    assert_eq!(told(&lowering, &["ab"]), Ok(()));
    assert_eq!(told(&lowering, &["zz"]), error("there is no node `zz`"));
    assert_eq!(told(&lowering, &["ab", "ab"]), error("node `ab` is named twice"));
    let copies = |node: &str| error(&format!("the copy of node `{node}` cannot be elided"));
    // No concat, one that joins an input, and one whose part has a size of its own.
    assert_eq!(told(&lowering, &["c"]), copies("c"));
    assert_eq!(told(&lowering, &["p"]), copies("p"));
    lowering.sizes = BTreeMap::from([("a".to_owned(), 64)]);
    assert_eq!(concat_candidates(&graph, &lowering.kernels).len(), 2);
    assert_eq!(told(&lowering, &["ab"]), copies("ab"));
}

#[test]
fn a_place_tells_what_is_used_and_what_is_reserved() {
    let lines = "plim 1\ninput x: f32[4]\nparam w: f32[2]\na: f32[4] guard 8 = matmul(x, w)\n\
        y: f32[4] = matmul(a, w)\noutput y\n";
    let graph = text::parse(lines).expect("a graph");
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
    let mut options = Options::inference();
    options.guards.inputs = 100;
    let plan = plan(&program, &options).expect("a plan");
    let slot = |name: &str| match plan.places[program.value_by_name(name).expect(name).index()] {
        plimsoll::Place::Bank(slot) => (slot.bytes, slot.reserved),
        place => panic!("{place:?}"),
    };
    // A guard of the options, the least slot, a guard of its own, and nothing.
    assert_eq!(
        [slot("x"), slot("w"), slot("a"), slot("y")],
        [(16, 116), (8, 64), (16, 24), (16, 16)]
    );
    assert_eq!(unreserved(&program, &plan, &options.guards, options.min_slot), []);
    let said = |guards: Boundary<u64>, min_slot| {
        let found = unreserved(&program, &plan, &guards, min_slot);
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let none = Boundary { inputs: 0, params: 0, constants: 0, outputs: 0 };
    let lack = |value: &str, has: u64, needs: u64| {
        let what = "with what the options leave free";
        format!("\"{value}\" has {has} bytes reserved, and needs {needs} {what}")
    };
    assert_eq!(said(Boundary { inputs: 101, ..none }, 0), [lack("x", 116, 117)]);
    assert_eq!(said(Boundary { outputs: 1, ..none }, 0), [lack("y", 16, 17)]);
    assert_eq!(said(none, 65), [lack("w", 64, 65)]);
}

/// A plan of `DENSE`, with one thing changed.
fn changed(change: impl Fn(&mut Value)) -> Result<Vec<String>, PlanReadError> {
    let graph = text::parse(DENSE).expect("a graph");
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
    let plan = plan(&program, &Options::default()).expect("a plan");
    let text = write_plan(&program, &plan, Recorded::new(), Recorded::new());
    let mut file: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut file);
    let text = file.to_string();
    let read = read_plan(&program, &text)?;
    let claims = false_claims(&program, &read, &text)?;
    Ok(claims.iter().map(ToString::to_string).collect())
}

#[test]
fn what_a_plan_says_of_itself_has_to_be_so() {
    let said = |key: &'static str, number: u64| {
        changed(move |file| file[key] = json!(number)).expect("a plan")
    };
    let none: [&str; 0] = [];
    assert_eq!(changed(|_| {}).expect("a plan"), none);
    // a, b, c and abc are 8 + 12 + 16 + 36 bytes; y is an output of 32, x an input of 32.
    let arena = changed(|file| file["arena_bytes"] = json!(1)).expect("a plan");
    assert_eq!(arena.len(), 1);
    assert!(arena[0].starts_with("the plan says arena_bytes 1, and it is "), "{arena:?}");
    for key in ["weights_bytes", "static_bytes"] {
        assert_eq!(said(key, 7), [format!("the plan says {key} 7, and it is 0")]);
    }
    for key in ["inputs_bytes", "outputs_bytes"] {
        assert_eq!(said(key, 7), [format!("the plan says {key} 7, and it is 32")]);
    }
    assert_eq!(said("saved_bytes", 1 << 40).len(), 1);
    for key in ["lower_bound_bytes", "schedule_lower_bound_bytes"] {
        let above = said(key, 1 << 40);
        assert_eq!(above.len(), 1);
        let words = format!("the plan says {key} {}, and its own arena is ", 1u64 << 40);
        assert!(above[0].starts_with(&words), "{above:?}");
    }
    let row = |key: &'static str, value: Value| {
        changed(move |file| file["values"][1][key] = value.clone()).expect("a plan")
    };
    assert_eq!(row("bytes", json!(9)), ["the plan says that \"a\" has 9 bytes, and it has 8"]);
    let no_part = ["the plan says that \"a\" is a part of what it is no part of"];
    assert_eq!(row("root", json!("x")), no_part);
    assert_eq!(row("row_bytes", json!(4)), no_part);
    // What a plan does not say is not held against it.
    let silent = changed(|file| {
        let file = file.as_object_mut().expect("an object");
        file.retain(|key, _| !key.ends_with("_bytes"));
    });
    assert_eq!(silent.expect("a plan"), none);
}

#[test]
fn values_that_are_not_in_their_buffer_are_an_error() {
    let wrong = |change: fn(&mut Value)| changed(change).expect_err("no plan").to_string();
    let expected = "value \"a\" is not in the buffer that its row names";
    assert_eq!(wrong(|file| file["values"][1]["buffer"] = json!(99)), expected);
    assert_eq!(wrong(|file| file["values"][1]["start"] = Value::Null), expected);
    let unknown = wrong(|file| file["buffers"][0]["bank"] = json!("moon"));
    assert_eq!(unknown, "\"moon\" is not in the program");
    // Nobody has to tell buffers.
    let without = changed(|file| drop(file.as_object_mut().map(|file| file.remove("buffers"))));
    assert_eq!(without.expect("a plan").len(), 0);
}
