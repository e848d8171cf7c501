//! What is told of a plan is what was planned: lives against a naive definition, byte by byte; the
//! baseline against a plan in which nothing is shared.

use plimsoll::testing::{Shape, random_program};
use plimsoll::verify::VerifiedPlan;
use plimsoll::{
    AccessKind, Buffer, DeclaredProgram, Layout, LiveRange, NoShare, Options, Place, Point,
    Program, Recorded, Role, SharedLayout, SharedSlot, Storage, Totals, Until, ValueId, plan,
    write_plan,
};
use plimsoll_graph::testing::random_graph;
use plimsoll_graph::{Kernels, LoweringOptions, Preset, ScheduledGraph, text};
use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;
use plimsoll_report::write_c_header;

fn ids(program: &dyn Program) -> impl Iterator<Item = ValueId> {
    (0..program.values()).map(ValueId::new)
}

/// The value that is no view, and where in it the bytes of a value are.
fn root_of(program: &dyn Program, value: ValueId) -> (ValueId, Layout) {
    let info = program.value(value);
    let Some(view) = info.view_of else { return (value, Layout::WHOLE) };
    let (root, layout) = root_of(program, view.of);
    (root, layout.view(&view, info.bytes).expect("rows that can be told"))
}

/// Random options; shared values are where somebody has put them.
fn random_options(rng: &mut Rng, program: &DeclaredProgram) -> Options {
    let mut layout = SharedLayout::default();
    for (index, info) in program.values.iter().enumerate() {
        if info.storage == Storage::Shared {
            let (bank, offset) = ("other".to_owned(), 128 * index as u64);
            let slot = SharedSlot { bank, offset, bytes: info.bytes };
            layout.values.insert(format!("v{index}"), slot);
        }
    }
    let mut options = Options::default();
    options.shared = Some(layout);
    options.pack.work = Some(0);
    options.align = 1 << rng.below(3);
    options.place.inputs = rng.chance(60);
    options.place.params = rng.chance(60);
    options.reclaim_inputs = rng.chance(60);
    options.in_place = rng.chance(85);
    if rng.chance(10) {
        options.no_share = NoShare::Everything;
    }
    options
}

/// When the bytes of a root are first written, and until when each is needed.
struct Bytes {
    written: Vec<u64>,
    needed: Vec<u64>,
}

/// What a program does to the bytes of every root, by the letter of what it declares.
fn bytes_of(program: &dyn Program, plan: &VerifiedPlan) -> Vec<Bytes> {
    let end_of_run = Point::end_of_run(plan.schedule.len()).0;
    let position = |step| plan.schedule.iter().position(|other| *other == step).expect("a step");
    let mut all: Vec<Bytes> = ids(program)
        .map(|value| {
            let info = program.value(value);
            let outside = info.role != Role::Temporary || info.storage != Storage::Arena;
            let bytes = info.bytes as usize;
            let (written, needed) = if outside { (0, 1) } else { (u64::MAX, 0) };
            Bytes { written: vec![written; bytes], needed: vec![needed; bytes] }
        })
        .collect();
    let mut touch = |value: ValueId, bytes: Span, begin: Option<u64>, end: u64| {
        let (root, layout) = root_of(program, value);
        let Span { lo, hi } = layout.hull(bytes);
        // What lies behind the end of a value is written with it.
        let guarded = begin.is_some() && bytes.hi == program.value(value).bytes;
        let hi = hi + if guarded { program.value(value).guard } else { 0 };
        let bytes = &mut all[root.index()];
        let hi = hi.min(bytes.written.len() as u64);
        for byte in lo as usize..(hi as usize).max(lo as usize) {
            bytes.written[byte] = bytes.written[byte].min(begin.unwrap_or(u64::MAX));
            bytes.needed[byte] = bytes.needed[byte].max(end);
        }
    };
    for (here, step) in plan.schedule.iter().enumerate() {
        let (reads, writes, after) =
            (Point::reads(here).0, Point::writes(here).0, Point::after(here).0);
        for access in program.accesses(*step).iter() {
            let bytes = access.bytes.unwrap_or(Span::new(0, program.value(access.value).bytes));
            let is_write = access.kind == AccessKind::Write;
            let early = access.from.filter(|from| from != step);
            let begin = early.map_or(if is_write { writes } else { reads }, |from| {
                Point::reads(position(from)).0
            });
            let end = match access.until {
                Until::Writes if !is_write => writes,
                Until::Writes | Until::Step => after,
                Until::After(late) => Point::after(position(late)).0,
                Until::EndOfRun => end_of_run,
            };
            touch(access.value, bytes, is_write.then_some(begin), end);
        }
        for overwrite in program.overwrites(*step).iter().filter(|overwrite| overwrite.must) {
            let bytes = Span::new(0, program.value(overwrite.output).bytes);
            touch(overwrite.input, bytes, None, after);
            touch(overwrite.output, bytes, Some(writes), after);
        }
    }
    for value in ids(program) {
        let info = program.value(value);
        let bytes = Span::new(0, info.bytes);
        if info.role == Role::Input {
            touch(value, bytes, Some(0), 1);
        }
        if info.output {
            touch(value, bytes, None, end_of_run);
        }
    }
    all
}

/// Whether a root is there for the whole run, by what is said of it and asked for.
fn is_kept(program: &dyn Program, options: &Options, root: ValueId) -> bool {
    let info = program.value(root);
    let given = match info.role {
        Role::Param | Role::Constant | Role::Static => true,
        Role::Input => !options.reclaim_inputs && !info.donated,
        Role::Temporary => false,
    };
    given || info.storage == Storage::Persistent || options.no_share == NoShare::Everything
}

/// Whether a root is one of the states of something that is changed in place.
fn is_state(program: &DeclaredProgram, root: ValueId) -> bool {
    let all = program.steps.iter().flat_map(|step| &step.overwrites).filter(|o| o.must);
    let mut states = all.flat_map(|overwrite| [overwrite.output, overwrite.input]);
    states.any(|state| root_of(program, state).0 == root)
}

#[test]
fn a_life_is_what_the_bytes_are_needed_for() {
    let (mut through_views, mut compared) = (0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape::everything());
        let options = random_options(&mut rng, &program);
        let Ok(plan) = plan(&program, &options) else { continue };
        let bytes = bytes_of(&program, &plan);
        for value in ids(&program) {
            let (root, layout) = root_of(&program, value);
            let info = program.value(value);
            let Some(member) = plan.derivation.members[value.index()] else { continue };
            if info.bytes == 0 || is_state(&program, root) {
                continue;
            }
            let span = layout.hull(Span::new(0, info.bytes));
            let here = span.lo as usize..span.hi as usize;
            let start = bytes[root.index()].written[here.clone()].iter().min().copied();
            let end = bytes[root.index()].needed[here].iter().max().copied();
            let naive = match (start, end) {
                _ if is_kept(&program, &options, root) => LiveRange::whole_run(plan.schedule.len()),
                (Some(start), Some(end)) if start < end => LiveRange::new(Point(start), Point(end)),
                // Never written, and never needed.
                _ => LiveRange::new(Point(0), Point(0)),
            };
            assert_eq!(member.live, naive, "seed {seed}: v{} of {program:?}", value.0);
            compared += 1;
            let fetched = ids(&program).any(|view| {
                program.value(view).output && view != root && root_of(&program, view).0 == root
            });
            through_views += u32::from(fetched && value == root && !info.output);
        }
    }
    assert!(compared > 10_000 && through_views > 100, "{compared}, {through_views}");
}

/// The bytes of a buffer that are needed at a moment.
fn window(buffer: &Buffer, moment: u64) -> Span {
    let at = moment.cast_signed();
    let pieces = buffer.packed();
    let here = pieces.pieces().find(|piece| piece.life.start <= at && at < piece.life.end);
    here.map_or(Span::new(0, 0), |piece| piece.span)
}

#[test]
fn values_that_are_told_to_be_in_the_same_bytes_at_a_time_share_them() {
    let mut met = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape::everything());
        let options = random_options(&mut rng, &program);
        let Ok(plan) = plan(&program, &options) else { continue };
        let told: Vec<_> = ids(&program)
            .filter_map(|value| {
                let member = plan.derivation.members[value.index()]?;
                let buffer = &plan.derivation.buffers[member.buffer.index()];
                let LiveRange { start, end } = member.live;
                let within = buffer.live.start <= start && end <= buffer.live.end;
                assert!(within || start == end, "seed {seed}: v{}", value.0);
                let Place::Bank(slot) = plan.places[value.index()] else { return None };
                let (_, layout) = root_of(&program, value);
                let bytes = layout.hull(Span::new(0, program.value(value).bytes)).len();
                Some((value, member, buffer, Span::new(slot.offset, slot.offset + bytes)))
            })
            .collect();
        for (index, (one, a, in_a, at_a)) in told.iter().enumerate() {
            for (other, b, in_b, at_b) in &told[index + 1..] {
                if !at_a.meets(*at_b) || !a.live.meets(b.live) || in_a.slot.bank != in_b.slot.bank {
                    continue;
                }
                if a.buffer == b.buffer {
                    met += 1;
                    continue;
                }
                let from = a.live.start.max(b.live.start).0;
                for moment in from..a.live.end.min(b.live.end).0 {
                    let a = at_a.and(window(in_a, moment).shifted(in_a.slot.offset));
                    let b = at_b.and(window(in_b, moment).shifted(in_b.slot.offset));
                    assert!(!a.meets(b), "seed {seed}: v{} and v{} at {moment}", one.0, other.0);
                }
            }
        }
    }
    assert!(met > 500, "{met}");
}

/// An output that is a view, and what is made while its bytes wait.
const TOLD: &str = "plim 1
input x: f32[1024]
mm: f32[1024] = matmul(x)
r: f32[32, 32] = reshape(mm)
q: f32[2048] = conv(x)
s: f32[1024] = conv(q)
output r, s
";

#[test]
fn every_export_tells_the_same_life() {
    let graph = text::parse(TOLD).unwrap_or_else(|error| panic!("{error}"));
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("a program");
    let plan = plan(&program, &Options::default()).expect("a plan");
    let json = write_plan(&program, &plan, Recorded::new(), Recorded::new());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["values"].as_array().expect("rows");
    let lives: Vec<_> = rows
        .iter()
        .filter(|row| !row["start"].is_null())
        .map(|row| (row["name"].as_str(), row["start"].as_u64(), row["end"].as_u64()))
        .collect();
    // Four steps: the bytes of mm are there from the first to the end, by either name.
    let life = |name, start, end| (Some(name), Some(start), Some(end));
    let expected = [life("mm", 1, 9), life("r", 1, 9), life("q", 5, 8), life("s", 7, 9)];
    assert_eq!(lives, expected);
    let header = write_c_header(&program, &plan, &[], &plimsoll_report::SymbolPrefix::default());
    for (row, last) in [("MM", "0u, 4u}"), ("R", "0u, 4u}"), ("Q", "2u, 3u}"), ("S", "3u, 4u}")] {
        let found = header.lines().find(|line| line.contains(&format!("PLIMSOLL_OFFSET_{row},")));
        let found = found.unwrap_or_else(|| panic!("{row} has no row"));
        assert!(found.trim_end_matches(',').ends_with(last), "{found}");
    }
}

#[test]
fn the_baseline_is_what_it_takes_with_every_tensor_apart() {
    let (mut shared, mut compared, mut whole) = (0, 0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let graph = random_graph(&mut rng, 12);
        let mut options = Options::default();
        options.align = 1;
        options.pack.work = Some(0);
        options.place.inputs = rng.chance(50);
        options.place.outputs = rng.chance(70);
        options.guards.inputs = 16 * rng.below(2);
        options.guards.outputs = 16 * rng.below(2);
        let planned = |preset: Preset, options: &Options| {
            let mut lowering = LoweringOptions::default();
            lowering.kernels = Kernels::new(preset);
            let program = ScheduledGraph::new(&graph, &lowering).ok()?;
            let plan = plan(&program, options).ok()?;
            // What is declared to be a part of another is so whatever the kernels can do.
            let is_plain = |value: ValueId| {
                let info = program.value(value);
                info.view_of.is_none() && info.align.is_none()
            };
            let is_plain = ids(&program).all(is_plain) && plan.scratch.iter().all(Option::is_none);
            Some((Totals::new(&program, &plan), is_plain))
        };
        let mut apart = options.clone();
        apart.no_share = NoShare::Everything;
        let (Some((totals, _)), Some((apart, is_plain))) =
            (planned(Preset::Standard, &options), planned(Preset::Copying, &apart))
        else {
            continue;
        };
        if is_plain {
            assert_eq!(apart.arena_bytes, apart.unshared_bytes, "seed {seed}");
            whole += 1;
        }
        assert_eq!(totals.unshared_bytes, apart.unshared_bytes, "seed {seed}");
        let saved = totals.unshared_bytes.cast_signed() - totals.arena_bytes.cast_signed();
        assert_eq!(totals.saved_bytes(), saved, "seed {seed}");
        compared += 1;
        shared += u32::from(totals.buffers_bytes < totals.unshared_bytes);
    }
    assert!(compared > 200 && shared > 50 && whole > 50, "{compared}, {shared}, {whole}");
}
