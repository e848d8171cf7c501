//! What the planner must do, one test for each behaviour, with numbers worked out by hand.
//!
//! Alignment is 1 unless the test is about it, so that sums are plain.

use plimsoll::verify::violations;
use plimsoll::{
    Access, AccessKind, BankId, BankSpec, DeclaredProgram, Execution, NoShare, Options, Place,
    Plan, PlanError, Recorded, Role, Scratch, SharedLayout, Slot, StepId, Storage, Until, ValueId,
    ValueInfo, plan, read_plan, write_plan,
};
use plimsoll_pack::Span;

fn plain() -> Options {
    let mut options = Options::default();
    options.align = 1;
    options
}

fn in_order() -> DeclaredProgram {
    DeclaredProgram::new(Execution::InOrder)
}

/// The plan, verified.
fn planned(program: &DeclaredProgram, options: &Options) -> Plan {
    let planned = plan(program, options).unwrap_or_else(|error| panic!("{error}"));
    planned.into_plan()
}

fn arena(program: &DeclaredProgram, options: &Options) -> u64 {
    planned(program, options).banks.iter().map(|bank| bank.bytes).sum()
}

fn slot(plan: &Plan, value: ValueId) -> Slot {
    plan.slot(value).unwrap_or_else(|| panic!("{value} is {:?}", plan.places[value.index()]))
}

fn outside(role: Role, bytes: u64) -> ValueInfo {
    ValueInfo { role, ..ValueInfo::new(bytes) }
}

fn overlap(a: Slot, b: Slot) -> bool {
    a.bank == b.bank && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
}

#[test]
fn a2_a_value_lives_from_its_write_to_its_last_read_and_a_view_keeps_its_root() {
    // 100 → 10 → 20 → 30, with a view of the first that the last step reads.
    let mut program = in_order();
    let first = program.temporary(100);
    let view = program.view(first, 40, 10);
    let (second, third, last) = (program.temporary(10), program.temporary(20), program.output(30));
    program.step(&[], &[first]);
    program.step(&[first], &[second]);
    program.step(&[second], &[third]);
    program.step(&[third, view], &[last]);
    // At the second step 100 + 10. Later only the ten bytes of the view are kept: 10 + 20 + 30.
    assert_eq!(arena(&program, &plain()), 110);
    let plan = planned(&program, &plain());
    assert_eq!(slot(&plan, view).offset, slot(&plan, first).offset + 40);
    let member = plan.derivation.members[first.index()].expect("packed");
    assert_eq!((member.live.start.0, member.live.end.0), (1, 8));
}

#[test]
fn a3_boundary_values_live_through_the_run_unless_inputs_are_reclaimed() {
    let mut program = in_order();
    let input = program.add(outside(Role::Input, 50));
    let weight = program.add(outside(Role::Param, 40));
    let (middle, last) = (program.temporary(50), program.output(50));
    program.step(&[input, weight], &[middle]);
    program.step(&[middle], &[last]);
    let mut options = Options::inference();
    options.align = 1;
    options.min_slot = 0;
    // Input 50, weight 40, and the two others alive together: 100.
    assert_eq!(arena(&program, &options), 190);
    // The output may have the bytes of the input, which is dead by then.
    options.reclaim_inputs = true;
    assert_eq!(arena(&program, &options), 140);
}

#[test]
fn a4_views_cost_nothing_and_chains_of_views_add_up() {
    let mut program = in_order();
    let root = program.temporary(100);
    let half = program.view(root, 50, 50);
    let slice = program.view(half, 20, 10);
    let last = program.output(5);
    program.step(&[], &[root]);
    program.step(&[slice], &[last]);
    let plan = planned(&program, &plain());
    assert_eq!(slot(&plan, slice).offset, slot(&plan, root).offset + 70);
    // While the slice is read only its ten bytes are alive, so the output fits beside it.
    assert_eq!(plan.banks[0].bytes, 100);
}

#[test]
fn a7_each_kind_of_boundary_value_is_placed_or_not() {
    let mut program = in_order();
    let input = program.add(outside(Role::Input, 1));
    let weight = program.add(outside(Role::Param, 10));
    let constant = program.add(outside(Role::Constant, 100));
    let output = program.output(1000);
    program.step(&[input, weight, constant], &[output]);
    let with = |inputs, params, constants, outputs| {
        let mut options = plain();
        options.place = plimsoll::Boundary { inputs, params, constants, outputs };
        arena(&program, &options)
    };
    assert_eq!(with(false, false, false, false), 0);
    assert_eq!(with(true, false, false, false), 1);
    assert_eq!(with(false, true, false, false), 10);
    assert_eq!(with(false, false, true, false), 100);
    assert_eq!(with(false, false, false, true), 1000);
    assert_eq!(with(true, true, true, true), 1111);
    // All but the weight, and at least 64 bytes for what comes from outside.
    let mut activations = Options::activations_only();
    activations.align = 1;
    assert_eq!(arena(&program, &activations), 1000 + 100 + 64);
}

/// A forward program with two weights, and a backward one that borrows them.
fn borrowing() -> (DeclaredProgram, DeclaredProgram) {
    let mut forward = in_order();
    let first = forward.add(outside(Role::Param, 40));
    let second = forward.add(outside(Role::Param, 24));
    let output = forward.output(10);
    forward.step(&[first, second], &[output]);
    let mut backward = in_order();
    let shared = |bytes| ValueInfo { storage: Storage::Shared, ..outside(Role::Param, bytes) };
    let first = backward.add(shared(40));
    let second = backward.add(shared(24));
    let (gradient, output) = (backward.temporary(30), backward.output(20));
    backward.step(&[first], &[gradient]);
    backward.step(&[second, gradient], &[output]);
    (forward, backward)
}

#[test]
fn a8_e2_borrowed_weights_stay_where_they_are_and_nothing_is_put_over_them() {
    let (forward, backward) = borrowing();
    let lender = planned(&forward, &placing_params());
    let layout = SharedLayout::from_plan(&forward, &lender);
    let layout = SharedLayout::from_json(&layout.to_json()).expect("own output");
    let mut options = plain();
    options.shared = Some(layout);
    let plan = planned(&backward, &options);
    for weight in [ValueId(0), ValueId(1)] {
        assert_eq!(slot(&plan, weight), slot(&lender, weight));
        for other in [ValueId(2), ValueId(3)] {
            assert!(!overlap(slot(&plan, weight), slot(&plan, other)));
        }
    }
    // 40 + 24 borrowed bytes, 30 + 20 of our own.
    assert_eq!(plan.banks[0].bytes, 114);
}

fn placing_params() -> Options {
    let mut options = plain();
    options.place.params = true;
    options.place.outputs = false;
    options
}

#[test]
fn a8_a_borrowed_weight_that_is_missing_or_has_another_size_is_an_error() {
    let (forward, mut backward) = borrowing();
    let error = plan(&backward, &plain()).expect_err("nobody lends anything").to_string();
    assert_eq!(error, "value \"v0\" is shared, but the shared layout does not have it");
    let lender = planned(&forward, &placing_params());
    let mut options = plain();
    options.shared = Some(SharedLayout::from_plan(&forward, &lender));
    backward.values[1].bytes = 25;
    let error = plan(&backward, &options).expect_err("another size").to_string();
    assert_eq!(error, "value \"v1\" has 25 bytes, but the shared layout has 24 for it");
}

#[test]
fn a9_without_reuse_the_arena_is_the_sum_and_single_values_can_be_kept_apart() {
    let mut program = in_order();
    let values: Vec<ValueId> = (0..5).map(|i| program.temporary(10 + i)).collect();
    program.step(&[], &[values[0]]);
    for pair in values.windows(2) {
        program.step(&[pair[0]], &[pair[1]]);
    }
    // 13 + 14, the two last.
    assert_eq!(arena(&program, &plain()), 27);
    let mut options = plain();
    options.no_share = NoShare::Everything;
    assert_eq!(arena(&program, &options), 10 + 11 + 12 + 13 + 14);
    // The first keeps its 10 bytes to itself.
    options.no_share = NoShare::Values(vec![values[0]]);
    assert_eq!(arena(&program, &options), 37);
}

/// A chain with a side branch: `first → second → third → last`, and `first → side → last`.
fn branchy(execution: Execution) -> DeclaredProgram {
    let mut program = DeclaredProgram::new(execution);
    let [first, second, third, side] = [(); 4].map(|()| program.temporary(100));
    let last = program.output(100);
    program.step(&[], &[first]);
    program.step(&[first], &[second]);
    program.step(&[second], &[third]);
    program.step(&[first], &[side]);
    program.step(&[third, side], &[last]);
    program
}

#[test]
fn a10_out_of_order_execution_shares_exactly_what_happens_before_allows() {
    // In order: first (read later), second and third, then first, third and side: 300.
    assert_eq!(arena(&branchy(Execution::InOrder), &plain()), 300);
    // Out of order the side may be made at any time after the first, so it shares with none of
    // the chain: four of 100, and the last goes over the first or the second.
    assert_eq!(arena(&branchy(Execution::Partial), &plain()), 400);
    // A plain chain is in order whatever the executor does.
    let chain = |execution| {
        let mut program = DeclaredProgram::new(execution);
        let values: Vec<ValueId> = (0..8).map(|_| program.temporary(10)).collect();
        program.step(&[], &[values[0]]);
        for pair in values.windows(2) {
            program.step(&[pair[0]], &[pair[1]]);
        }
        arena(&program, &plain())
    };
    assert_eq!(chain(Execution::InOrder), 20);
    assert_eq!(chain(Execution::Partial), 20);
}

#[test]
fn a10_queues_share_only_across_waits() {
    // Two queues with a chain of two values each, and nothing else in common.
    let two_queues = |wait: bool| {
        let mut program = DeclaredProgram::new(Execution::Queues);
        let values: Vec<ValueId> = (0..4).map(|_| program.temporary(10)).collect();
        for pair in values.chunks(2) {
            program.step(&[], &[pair[0]]);
            program.step(&[pair[0]], &[pair[1]]);
        }
        program.steps[2].queue = 1;
        program.steps[3].queue = 1;
        if wait {
            program.steps[2].after = vec![StepId(1)];
        }
        arena(&program, &plain())
    };
    assert_eq!(two_queues(false), 40);
    assert_eq!(two_queues(true), 20);
}

#[test]
fn a10_a_read_across_queues_without_a_wait_is_rejected() {
    let mut program = DeclaredProgram::new(Execution::Queues);
    let (a, b) = (program.temporary(4), program.output(4));
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.steps[1].queue = 1;
    let error = plan(&program, &plain()).expect_err("a race").to_string();
    assert_eq!(
        error,
        "step \"s1\" reads value \"v0\" without waiting for step \"s0\", which writes it"
    );
}

#[test]
fn a11_e7_outputs_live_to_the_end_and_nothing_else_does() {
    let mut program = in_order();
    let (early, a, b, c) =
        (program.output(10), program.temporary(20), program.temporary(20), program.temporary(20));
    program.step(&[], &[early]);
    program.step(&[early], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    assert_eq!(arena(&program, &plain()), 10 + 20 + 20);
}

#[test]
fn a12_an_empty_input_still_has_an_address_of_its_own() {
    let mut program = in_order();
    let empty = program.add(outside(Role::Input, 0));
    let other = program.add(outside(Role::Input, 8));
    let output = program.output(8);
    program.step(&[empty, other], &[output]);
    let mut options = Options::inference();
    options.align = 64;
    let plan = planned(&program, &options);
    let places = [empty, other, output].map(|v| slot(&plan, v).offset);
    assert!(places.iter().all(|offset| offset % 64 == 0));
    assert!(places[0] != places[1] && places[0] != places[2]);
    // Two inputs of at least 64 bytes, and 8 bytes of output above or below them.
    assert_eq!(plan.banks[0].bytes, 64 + 64 + 8);
}

#[test]
fn a13_guards_are_left_free_behind_values_at_the_boundary_and_where_declared() {
    let mut program = in_order();
    let input = program.add(outside(Role::Input, 10));
    let output = program.output(10);
    program.step(&[input], &[output]);
    let mut options = plain();
    options.place.inputs = true;
    assert_eq!(arena(&program, &options), 20);
    options.guards.inputs = 7;
    options.guards.outputs = 5;
    assert_eq!(arena(&program, &options), 32);
    options.guards.inputs = 0;
    program.values[output.index()].guard = 100;
    assert_eq!(arena(&program, &options), 10 + 10 + 5 + 100);
}

#[test]
fn a14_a_step_may_read_what_is_not_its_operand() {
    // Packed qkv, a slice of it copied out, something large, and a fused step that reads qkv again.
    let mut program = in_order();
    let (qkv, q, large, out) =
        (program.temporary(30), program.temporary(10), program.temporary(40), program.output(10));
    program.step(&[], &[qkv]);
    program.step(&[qkv], &[q]);
    program.step(&[q], &[large]);
    program.step(&[large, q], &[out]);
    // q and large, with the output: 10 + 40 + 10; qkv is dead.
    assert_eq!(arena(&program, &plain()), 60);
    program.steps[3].accesses.push(Access::read(qkv));
    assert_eq!(arena(&program, &plain()), 90);
}

#[test]
fn a15_reads_that_go_on_after_their_step_keep_the_value() {
    let mut program = in_order();
    let (a, b, c, d) =
        (program.temporary(10), program.temporary(10), program.temporary(10), program.output(10));
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    program.step(&[c], &[d]);
    assert_eq!(arena(&program, &plain()), 20);
    program.access(StepId(1), a, AccessKind::Read).until = Until::After(StepId(2));
    assert_eq!(arena(&program, &plain()), 30);
    program.access(StepId(1), a, AccessKind::Read).until = Until::EndOfRun;
    // a is kept to the end: 10 + 10 + 10.
    assert_eq!(arena(&program, &plain()), 30);
    let plan = planned(&program, &plain());
    assert!(!overlap(slot(&plan, a), slot(&plan, d)));
}

#[test]
fn a16_a_write_that_begins_early_takes_its_bytes_early() {
    let mut program = in_order();
    let (a, b, c) = (program.temporary(10), program.temporary(10), program.output(10));
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    assert_eq!(arena(&program, &plain()), 20);
    // An epilogue writes c while the second step still reads a.
    program.access(StepId(2), c, AccessKind::Write).from = Some(StepId(1));
    assert_eq!(arena(&program, &plain()), 30);
}

#[test]
fn a17_an_elided_value_takes_no_bytes_and_nobody_may_touch_it() {
    let mut program = in_order();
    let (a, folded, c) = (program.temporary(10), program.temporary(1000), program.output(10));
    program.values[folded.index()].elided = true;
    program.step(&[], &[a]);
    program.step(&[a], &[c]);
    let plan = planned(&program, &plain());
    assert_eq!(plan.places[folded.index()], Place::Elided);
    assert_eq!(plan.banks[0].bytes, 20);
    program.steps[1].accesses.push(Access::read(folded));
    let error = plimsoll::plan(&program, &plain()).expect_err("elided").to_string();
    assert_eq!(error, "step \"s1\" accesses value \"v1\", which is elided");
}

#[test]
fn a18_persistent_values_have_bytes_that_nobody_else_ever_uses() {
    let mut program = in_order();
    let pack = program.add(ValueInfo { storage: Storage::Persistent, ..ValueInfo::new(30) });
    let (a, b, c) = (program.temporary(20), program.temporary(20), program.output(20));
    program.step(&[], &[pack]);
    program.step(&[pack], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    // Although it is read by the second step for the last time: 30 + 20 + 20.
    assert_eq!(arena(&program, &plain()), 70);
}

#[test]
fn a19_scratch_is_there_during_its_step_only() {
    let mut program = in_order();
    let (a, b, c) = (program.temporary(10), program.temporary(10), program.output(10));
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    program.steps[0].scratch = Some(Scratch { bytes: 6, align: 2 });
    assert_eq!(arena(&program, &plain()), 20, "beside one value of ten there is room");
    program.steps[1].scratch = Some(Scratch { bytes: 6, align: 2 });
    assert_eq!(arena(&program, &plain()), 26);
    let plan = planned(&program, &plain());
    assert_eq!(plan.scratch[1].map(|slot| (slot.bytes, slot.offset % 2)), Some((6, 0)));
}

#[test]
fn a21_banks_with_caps_take_what_fits_and_the_rest_goes_on() {
    let mut program = in_order();
    let weights: Vec<ValueId> = (0..4).map(|_| program.add(outside(Role::Param, 40))).collect();
    let (a, b) = (program.temporary(50), program.output(60));
    program.step(&weights, &[a]);
    program.step(&[a], &[b]);
    let mut options = plain();
    options.place.params = true;
    let bank = |name: &str, capacity, roles: &[Role]| {
        let mut spec = BankSpec::new(name);
        spec.capacity = capacity;
        spec.roles = roles.to_vec();
        spec
    };
    // Weights in buffers of at most 100 bytes: two banks of two weights each.
    let mut weight_bank = bank("weights", Some(100), &[Role::Param]);
    weight_bank.repeat = true;
    options.banks = vec![weight_bank, bank("arena", None, &[])];
    let plan = planned(&program, &options);
    let banks: Vec<_> = plan.banks.iter().map(|b| (b.name.as_str(), b.bytes)).collect();
    assert_eq!(banks, [("weights", 80), ("weights.1", 80), ("arena", 110)]);
    // A small fast bank first: the larger of the two values at the peak goes to the slow one.
    options.place.params = false;
    options.banks = vec![bank("sram", Some(100), &[]), bank("dram", None, &[])];
    let plan = planned(&program, &options);
    let banks: Vec<_> = plan.banks.iter().map(|b| (b.name.as_str(), b.bytes)).collect();
    assert_eq!(banks, [("sram", 50), ("dram", 60)]);
    // A cap on single buffers keeps both out.
    options.banks[0].buffer_capacity = Some(49);
    let plan = planned(&program, &options);
    assert_eq!((plan.banks[0].bytes, plan.banks[1].bytes), (0, 110));
    assert_eq!(slot(&plan, a).bank, BankId(1));
    // No room anywhere is an answer, not a plan.
    options.banks = vec![bank("sram", Some(100), &[])];
    let error = plimsoll::plan(&program, &options).expect_err("110 bytes in 100");
    let expected = "1 buffer fits into no bank: \"v5\" (60 bytes); \
                    2 do not fit together: \"v4\" (50 bytes), \"v5\" (60 bytes)";
    assert_eq!(error.to_string(), expected);
    let PlanError::NoRoom(why) = error else { panic!("{error}") };
    assert_eq!((why.lower_bound_bytes, why.proven, why.irreducible), (110, true, true));
    // One that is too large alone is all that there is to say.
    options.banks = vec![bank("sram", Some(55), &[])];
    let error = plimsoll::plan(&program, &options).expect_err("60 bytes in 55");
    assert_eq!(error.to_string(), "1 buffer fits into no bank: \"v5\" (60 bytes)");
}

#[test]
fn a22_a_cache_that_is_appended_to_stays_where_it_is() {
    let mut program = in_order();
    let cache = program.add(ValueInfo { storage: Storage::Persistent, ..ValueInfo::new(64) });
    let (token, next, out) = (program.temporary(8), program.temporary(64), program.output(8));
    program.step(&[], &[token]);
    let append = program.step(&[token, cache], &[]);
    let written = Access { bytes: Some(Span::new(16, 24)), ..Access::write(next) };
    program.steps[append.index()].accesses.push(written);
    program.overwrite(append, next, cache, true);
    program.step(&[next], &[out]);
    let plan = planned(&program, &plain());
    assert_eq!(slot(&plan, next), slot(&plan, cache));
    // 64 bytes of cache, and token and output one after the other.
    assert_eq!(plan.banks[0].bytes, 72);
    // Somebody who still wants the old state makes it impossible.
    program.step(&[cache], &[]);
    let error = plimsoll::plan(&program, &plain()).expect_err("the old state is read").to_string();
    assert_eq!(
        error,
        "step \"s1\": value \"v2\" must overwrite value \"v0\", which is still needed or not ours \
         to overwrite"
    );
}

#[test]
fn b1_an_order_given_by_the_caller_is_kept_and_checked() {
    // Two independent chains: large then small each.
    let mut program = in_order();
    let (a, b) = (program.temporary(100), program.output(10));
    let (c, d) = (program.temporary(100), program.output(10));
    program.step(&[], &[a]);
    program.step(&[], &[c]);
    program.step(&[a], &[b]);
    program.step(&[c], &[d]);
    assert_eq!(arena(&program, &plain()), 210);
    let mut options = plain();
    options.schedule = Some([0, 2, 1, 3].map(StepId).to_vec());
    assert_eq!(arena(&program, &options), 120);
    options.schedule = Some([2, 0, 1, 3].map(StepId).to_vec());
    let error = plan(&program, &options).expect_err("b before a").to_string();
    assert_eq!(error, "step \"s2\" reads value \"v0\" before anything of it is written");
    options.schedule = Some([0, 2, 1].map(StepId).to_vec());
    let error = plan(&program, &options).expect_err("one is missing").to_string();
    assert_eq!(error, "step \"s3\" is not in the schedule");
    options.schedule = Some([0, 2, 1, 1].map(StepId).to_vec());
    let error = plan(&program, &options).expect_err("one is there twice").to_string();
    assert_eq!(error, "step \"s1\" is in the schedule twice");
}

#[test]
fn b3_the_plan_says_whose_bytes_each_value_follows() {
    let mut program = in_order();
    let (a, b, c, d) =
        (program.temporary(16), program.temporary(16), program.temporary(16), program.output(16));
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    let relu = program.step(&[b], &[c]);
    program.overwrite(relu, c, b, false);
    program.step(&[c], &[d]);
    let plan = planned(&program, &plain());
    let json = write_plan(&program, &plan, Recorded::new(), Recorded::new());
    let read: serde_json::Value = serde_json::from_str(&json).expect("own output");
    let value = |i: usize| &read["values"][i];
    assert_eq!(value(2)["in_place_of"], "v1");
    assert_eq!(value(2)["follows"], serde_json::json!(["v1"]));
    assert_eq!(value(3)["follows"], serde_json::json!(["v0"]));
    assert_eq!((value(1)["start"].as_u64(), value(1)["end"].as_u64()), (Some(3), Some(6)));
    assert_eq!(read["arena_bytes"], 32);
    assert_eq!(read["status"], "optimal");
}

#[test]
fn b4_b6_e9_the_arena_is_the_extent_of_the_offsets_and_never_below_the_bound() {
    let mut program = in_order();
    let values: Vec<ValueId> = (0..12).map(|i| program.temporary(8 + (i * 7) % 30)).collect();
    program.step(&[], &[values[0], values[1]]);
    for three in values.windows(3) {
        program.step(&[three[0], three[1]], &[three[2]]);
    }
    let plan = planned(&program, &plain());
    let ends = values.iter().map(|v| slot(&plan, *v)).map(|s| s.offset + s.bytes);
    assert_eq!(Some(plan.banks[0].bytes), ends.max());
    assert!(plan.derivation.lower_bound_bytes <= plan.banks[0].bytes);
    assert_eq!(plan.derivation.unshared_bytes, (0..12).map(|i| 8 + (i * 7) % 30).sum::<u64>());
}

#[test]
fn b5_an_empty_program_has_an_empty_plan() {
    let program = in_order();
    let plan = planned(&program, &Options::default());
    assert_eq!(plan.banks[0].bytes, 0);
    assert!(plan.derivation.optimal && plan.schedule.is_empty() && plan.places.is_empty());
}

#[test]
fn c3_in_place_takes_over_what_dies_and_never_what_is_needed() {
    let chain = |later_reader: bool, role: Role| {
        let mut program = in_order();
        let first = match role {
            Role::Temporary => program.temporary(40),
            _ => program.add(outside(role, 40)),
        };
        let (second, third) = (program.temporary(40), program.output(40));
        if role == Role::Temporary {
            program.step(&[], &[first]);
        }
        let one = program.step(&[first], &[second]);
        program.overwrite(one, second, first, false);
        let reads = if later_reader { vec![second, first] } else { vec![second] };
        let two = program.step(&reads, &[third]);
        program.overwrite(two, third, second, false);
        let mut options = plain();
        options.place.inputs = true;
        options.place.params = true;
        arena(&program, &options)
    };
    assert_eq!(chain(false, Role::Temporary), 40, "all three in the same bytes");
    assert_eq!(chain(true, Role::Temporary), 80, "the first is read later");
    assert_eq!(chain(false, Role::Param), 80, "a weight is never given up");
    assert_eq!(chain(false, Role::Input), 80, "nor an input (E8)");
}

#[test]
fn c3_in_place_can_be_switched_off() {
    let mut program = in_order();
    let (a, b) = (program.temporary(40), program.output(40));
    program.step(&[], &[a]);
    let step = program.step(&[a], &[b]);
    program.overwrite(step, b, a, false);
    assert_eq!(arena(&program, &plain()), 40);
    let mut options = plain();
    options.in_place = false;
    assert_eq!(arena(&program, &options), 80);
}

#[test]
fn c3_a_smaller_output_in_place_frees_the_rest() {
    let mut program = in_order();
    let (large, small, other, last) =
        (program.temporary(100), program.temporary(10), program.temporary(90), program.output(5));
    program.step(&[], &[large]);
    let step = program.step(&[large], &[small]);
    program.overwrite(step, small, large, false);
    program.step(&[small], &[other]);
    program.step(&[small, other], &[last]);
    // small in the first ten bytes of large, other in the rest of them, and the output above.
    assert_eq!(arena(&program, &plain()), 105);
}

#[test]
fn c4_values_that_share_memory_are_one_buffer() {
    let mut program = in_order();
    let (a, b) = (program.temporary(40), program.output(40));
    let view = program.view(a, 8, 8);
    program.step(&[], &[a]);
    let step = program.step(&[a], &[b]);
    program.overwrite(step, b, a, false);
    let plan = planned(&program, &plain());
    let buffer = |value: ValueId| plan.derivation.members[value.index()].map(|m| m.buffer);
    assert!(buffer(a).is_some() && buffer(a) == buffer(b) && buffer(a) == buffer(view));
    assert_eq!(plan.derivation.buffers.len(), 1);
}

#[test]
fn e1_a_view_of_an_external_value_is_resolved_against_it() {
    let mut program = in_order();
    let weight = program.add(outside(Role::Param, 40));
    let slice = program.view(weight, 8, 8);
    let out = program.output(8);
    program.step(&[slice], &[out]);
    let plan = planned(&program, &plain());
    assert_eq!(plan.places[weight.index()], Place::External);
    assert_eq!(plan.places[slice.index()], Place::Outside { root: weight, offset: 8 });
}

#[test]
fn e4_an_update_does_not_take_over_an_operand_that_is_read_later() {
    let mut program = in_order();
    let (base, patch, updated, out) =
        (program.temporary(40), program.temporary(8), program.temporary(40), program.output(40));
    program.step(&[], &[base]);
    program.step(&[], &[patch]);
    let update = program.step(&[base, patch], &[updated]);
    program.overwrite(update, updated, base, false);
    program.step(&[updated, base], &[out]);
    let plan = planned(&program, &plain());
    assert!(!overlap(slot(&plan, base), slot(&plan, updated)));
    assert_eq!(plan.banks[0].bytes, 120);
}

#[test]
fn e6_an_input_that_is_read_late_is_not_overwritten_before() {
    let mut program = in_order();
    let late = program.add(outside(Role::Input, 30));
    let (a, b) = (program.temporary(30), program.temporary(30));
    let out = program.output(30);
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b, late], &[out]);
    let mut options = plain();
    options.place.inputs = true;
    options.reclaim_inputs = true;
    let plan = planned(&program, &options);
    for early in [a, b] {
        assert!(!overlap(slot(&plan, late), slot(&plan, early)));
    }
}

#[test]
fn e8_in_place_over_an_input_only_if_it_is_donated() {
    let mut program = in_order();
    let input = program.add(outside(Role::Input, 30));
    let out = program.output(30);
    let step = program.step(&[input], &[out]);
    program.overwrite(step, out, input, false);
    let mut options = plain();
    options.place.inputs = true;
    assert_eq!(arena(&program, &options), 60);
    program.values[input.index()].donated = true;
    assert_eq!(arena(&program, &options), 30);
}

#[test]
fn a_written_plan_reads_back_and_verifies_and_names_do_not_matter() {
    let program = branchy(Execution::InOrder);
    let plan = planned(&program, &Options::default());
    let json = write_plan(&program, &plan, Recorded::new(), Recorded::new());
    let read = read_plan(&program, &json).expect("own output");
    assert_eq!(violations(&program, &read), []);
    assert_eq!((read.places, read.schedule, read.banks), (plan.places, plan.schedule, plan.banks));
}

#[test]
fn an_empty_output_inside_of_other_bytes_is_not_lost() {
    // The output is no byte in the middle of a; b is written over that place later.
    let mut program = in_order();
    let a = program.temporary(8);
    program.step(&[], &[a]);
    let empty = program.view(a, 4, 0);
    program.values[empty.index()].output = true;
    let b = program.output(8);
    program.step(&[], &[b]);
    let plan = plan(&program, &plain()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.banks[0].bytes, 8);
}

#[test]
fn what_breaks_a_precondition_is_rejected_with_names() {
    let base = || {
        let mut program = in_order();
        let (a, b) = (program.temporary(8), program.output(8));
        program.step(&[], &[a]);
        program.step(&[a], &[b]);
        program
    };
    let rejected = |program: &DeclaredProgram| match plan(program, &plain()) {
        Err(PlanError::Program(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let mut program = base();
    program.view(ValueId(0), 4, 8);
    assert_eq!(rejected(&program), "value \"v2\" goes beyond value \"v0\", which it is a view of");

    let mut program = base();
    let view = program.view(ValueId(2), 0, 8);
    assert_eq!(view, ValueId(2));
    assert_eq!(rejected(&program), "value \"v2\" is a view of itself");

    let mut program = base();
    program.view(ValueId(9), 0, 8);
    assert_eq!(rejected(&program), "value 9 does not exist");

    let mut program = base();
    program.access(StepId(1), ValueId(0), AccessKind::Read).bytes = Some(Span::new(4, 9));
    assert_eq!(rejected(&program), "step \"s1\" accesses bytes beyond value \"v0\"");

    let mut program = base();
    program.access(StepId(0), ValueId(0), AccessKind::Write).from = Some(StepId(1));
    assert_eq!(
        rejected(&program),
        "step \"s0\" accesses value \"v0\" from after itself, or until before itself"
    );

    let mut program = base();
    program.steps[0].after = vec![StepId(1)];
    assert_eq!(rejected(&program), "step \"s0\" is to run after step \"s1\", but comes before it");

    let mut program = base();
    program.overwrite(StepId(1), ValueId(1), ValueId(1), false);
    assert_eq!(
        rejected(&program),
        "step \"s1\": value \"v1\" does not fit into value \"v1\", which it is to overwrite"
    );

    let mut program = base();
    program.output(8);
    assert_eq!(
        rejected(&program),
        "value \"v2\" is an output that no step writes and that does not come from outside"
    );

    // Parts: the output's last bytes, the middle of what is read, and a part that nobody makes.
    let mut program = base();
    program.access(StepId(1), ValueId(1), AccessKind::Write).bytes = Some(Span::new(0, 6));
    assert_eq!(rejected(&program), "value \"v1\" is an output, but no step writes its bytes 6..8");
    let mut program = base();
    program.access(StepId(0), ValueId(0), AccessKind::Write).bytes = Some(Span::new(0, 2));
    let mut rest = Access::write(ValueId(0));
    rest.bytes = Some(Span::new(5, 8));
    program.steps[0].accesses.push(rest);
    assert_eq!(
        rejected(&program),
        "step \"s1\" reads bytes 2..5 of value \"v0\", which no step writes"
    );
    program.access(StepId(1), ValueId(0), AccessKind::Read).bytes = Some(Span::new(5, 8));
    let part = program.view(ValueId(0), 1, 3);
    program.values[part.index()].output = true;
    assert_eq!(rejected(&program), "value \"v2\" is an output, but no step writes its bytes 1..3");
    // What must be overwritten and is not there.
    let mut program = base();
    let hollow = program.temporary(8);
    program.overwrite(StepId(1), ValueId(1), hollow, true);
    assert_eq!(
        rejected(&program),
        "step \"s1\" reads bytes 0..8 of value \"v2\", which no step writes"
    );

    let mut program = base();
    program.access(StepId(0), ValueId(0), AccessKind::Write).until = Until::EndOfRun;
    let unfinished = "step \"s1\" reads value \"v0\" before step \"s0\" has finished to write it";
    assert_eq!(rejected(&program), unfinished);
    program.access(StepId(0), ValueId(0), AccessKind::Write).until = Until::After(StepId(1));
    assert_eq!(rejected(&program), unfinished);

    let mut program = base();
    program.steps[0].flows_from = vec![StepId(1)];
    assert_eq!(rejected(&program), "step \"s0\" is to run after step \"s1\", but comes before it");

    let mut program = base();
    program.steps[0].scratch = Some(Scratch { bytes: 8, align: 0 });
    assert_eq!(rejected(&program), "step \"s0\": scratch has an alignment of 0");

    let mut program = base();
    program.values[0].align = Some(0);
    assert_eq!(
        rejected(&program),
        "value \"v0\" has an alignment of 0, or one that its offset breaks"
    );
}

#[test]
fn a_buffer_is_aligned_for_all_of_its_values_at_once() {
    // Two values at multiples of 48, each taken over by one at a multiple of 64: at 0 and at 192.
    let mut program = in_order();
    let aligned = |align, output| ValueInfo { align: Some(align), output, ..ValueInfo::new(100) };
    let [a, c] = [(); 2].map(|()| program.add(aligned(48, false)));
    let [b, d] = [(); 2].map(|()| program.add(aligned(64, true)));
    program.step(&[], &[a, c]);
    for (input, output) in [(a, b), (c, d)] {
        let step = program.step(&[input], &[output]);
        program.overwrite(step, output, input, true);
    }
    assert_eq!(arena(&program, &plain()), 192 + 100);
}

#[test]
fn a_buffer_is_aligned_for_its_views_too() {
    // Two values at multiples of 64, each with a part at a multiple of 48: at 0 and at 192.
    let mut program = in_order();
    let whole = ValueInfo { align: Some(64), output: true, ..ValueInfo::new(100) };
    let wholes = [(); 2].map(|()| program.add(whole));
    for value in wholes {
        let part = program.view(value, 0, 50);
        program.values[part.index()].align = Some(48);
    }
    program.step(&[], &wholes);
    assert_eq!(arena(&program, &plain()), 192 + 100);
}

#[test]
fn a_state_that_is_kept_apart_keeps_what_it_was_before() {
    // b is written over a, then c and d follow: 8 bytes each, two of them at a time.
    let mut program = in_order();
    let [a, b, c] = [(); 3].map(|()| program.temporary(8));
    let d = program.output(8);
    program.step(&[], &[a]);
    let step = program.step(&[], &[b]);
    program.overwrite(step, b, a, true);
    program.step(&[b], &[c]);
    program.step(&[c], &[d]);
    assert_eq!(arena(&program, &plain()), 16);
    // Nobody else may have the bytes of b, which are those of a.
    let mut options = plain();
    options.no_share = NoShare::Values(vec![b]);
    let plan = planned(&program, &options);
    assert_eq!((plan.banks[0].bytes, slot(&plan, a)), (24, slot(&plan, b)));
}

#[test]
fn bytes_that_are_free_from_the_very_moment_are_taken_over() {
    // s1 reads a part of a before it writes, and must write b over a. What follows may be written
    // early, so that this is looked at and not taken for granted.
    let mut program = in_order();
    let a = program.temporary(8);
    let part = program.view(a, 0, 4);
    let (b, c) = (program.temporary(8), program.output(8));
    program.step(&[], &[a]);
    let [over, last] = [program.step(&[part], &[b]), program.step(&[b], &[c])];
    program.access(over, part, AccessKind::Read).until = Until::Writes;
    program.overwrite(over, b, a, true);
    program.access(last, c, AccessKind::Write).from = Some(over);
    program.overwrite(last, c, b, false);
    let plan = planned(&program, &plain());
    assert_eq!((plan.banks[0].bytes, slot(&plan, b)), (16, slot(&plan, a)));
}

#[test]
fn a_bank_takes_what_is_exactly_as_large_as_it_may_be() {
    let mut program = in_order();
    let a = program.output(8);
    program.step(&[], &[a]);
    for (capacity, buffer_capacity) in [(Some(8), None), (None, Some(8))] {
        let mut first = BankSpec::new("first");
        (first.capacity, first.buffer_capacity) = (capacity, buffer_capacity);
        let mut options = plain();
        options.banks = vec![first, BankSpec::new("second")];
        assert_eq!(slot(&planned(&program, &options), a).bank, BankId(0));
        program.values[a.index()].bytes = 9;
        assert_eq!(slot(&planned(&program, &options), a).bank, BankId(1));
        program.values[a.index()].bytes = 8;
    }
}

#[test]
fn guards_of_the_options_are_behind_values_with_bytes_of_their_own() {
    // The output is all of a temporary, or the next state of one.
    let mut options = plain();
    options.guards.outputs = 7;
    let mut program = in_order();
    let a = program.temporary(8);
    let all = program.view(a, 0, 8);
    program.values[all.index()].output = true;
    program.step(&[], &[a]);
    assert_eq!(arena(&program, &options), 8);
    let b = program.output(8);
    let step = program.step(&[], &[b]);
    program.values[all.index()].output = false;
    program.overwrite(step, b, a, true);
    assert_eq!(arena(&program, &options), 8);
}

#[test]
fn the_input_that_fits_best_is_taken_over() {
    let mut program = in_order();
    let (large, small, output) = (program.temporary(16), program.temporary(8), program.output(8));
    program.step(&[], &[large, small]);
    let step = program.step(&[large, small], &[output]);
    program.overwrite(step, output, large, false);
    program.overwrite(step, output, small, false);
    let plan = planned(&program, &plain());
    assert_eq!((plan.banks[0].bytes, slot(&plan, output)), (24, slot(&plan, small)));
}
