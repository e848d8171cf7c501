//! The plan as a Chrome trace, for Perfetto and `chrome://tracing`.
//!
//! A point takes a microsecond, so that a step takes two. Steps are slices; lives overlap, and are
//! async events; live bytes are a counter for each bank, that changes where something begins or ends
//! to be in use. Banks are processes, after one for the steps and the totals.

use std::collections::BTreeMap;

use plimsoll::verify::VerifiedPlan;
use plimsoll::{Execution, LiveRange, Member, Place, Plan, Point, Program, Slot, ValueId};
use serde_json::{Value as Json, json};

/// The process of the steps and the totals; banks follow.
const STEPS: usize = 0;

/// The plan as an array of events, one a line, in order of time. O(n log n).
#[must_use]
pub fn write_chrome_trace(program: &dyn Program, plan: &VerifiedPlan) -> String {
    let mut trace = Trace { program, plan, events: Vec::new() };
    trace.names();
    trace.steps();
    trace.lives();
    trace.scratch();
    trace.loads();
    trace.levels();
    trace.events.sort_by_cached_key(|event| (event.at, event.rank));
    let lines: Vec<String> = trace.events.iter().map(|event| event.json.to_string()).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// What comes first at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Name,
    End,
    Begin,
    /// The end of what has just begun.
    EndAtOnce,
    Step,
    Counter,
}

struct Event {
    at: u64,
    rank: Rank,
    json: Json,
}

struct Trace<'a> {
    program: &'a dyn Program,
    plan: &'a Plan,
    events: Vec<Event>,
}

impl Trace<'_> {
    fn push(&mut self, at: u64, rank: Rank, json: Json) {
        self.events.push(Event { at, rank, json });
    }

    fn names(&mut self) {
        let mut name = |what: &str, pid: usize, tid: u32, name: &str| {
            let args = json!({ "name": name });
            let json = json!({ "ph": "M", "name": what, "pid": pid, "tid": tid, "args": args });
            self.events.push(Event { at: 0, rank: Rank::Name, json });
        };
        name("process_name", STEPS, 0, "steps");
        for (index, bank) in self.plan.banks.iter().enumerate() {
            name("process_name", process(index), 0, &format!("bank {}", bank.name));
        }
        let mut queues: Vec<u32> =
            self.plan.schedule.iter().map(|step| self.program.queue(*step)).collect();
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            let called = match self.program.execution() {
                Execution::Queues => format!("queue {queue}"),
                Execution::InOrder | Execution::Partial => "steps".to_owned(),
            };
            name("thread_name", STEPS, queue, &called);
        }
    }

    fn steps(&mut self) {
        for (position, step) in self.plan.schedule.iter().enumerate() {
            let (start, end) = (Point::reads(position).0, Point::after(position).0);
            let json = json!({
                "ph": "X", "name": self.program.step_name(*step), "cat": "step", "ts": start,
                "dur": end - start, "pid": STEPS, "tid": self.program.queue(*step),
                "args": { "position": position },
            });
            self.push(start, Rank::Step, json);
        }
    }

    fn lives(&mut self) {
        for (index, place) in self.plan.places.iter().enumerate() {
            let member = self.plan.derivation.members.get(index).copied().flatten();
            let (Place::Bank(slot), Some(member)) = (place, member) else { continue };
            let value = ValueId::new(index);
            let Member { buffer, live, took_over, .. } = member;
            let mut args = self.args(*slot, self.program.value(value).bytes);
            args["buffer"] = json!(buffer.0);
            if let Some(view) = self.program.value(value).view_of {
                args["view_of"] = json!(self.program.value_name(view.of));
            }
            if let Some(input) = took_over {
                args["in_place_of"] = json!(self.program.value_name(input));
            }
            let name = self.program.value_name(value).into_owned();
            self.life("value", index, &name, process(slot.bank.index()), live, &args);
        }
    }

    fn scratch(&mut self) {
        for (position, step) in self.plan.schedule.iter().enumerate() {
            let slot = self.plan.scratch.get(step.index()).copied().flatten();
            let Some(slot) = slot else { continue };
            let live = LiveRange::new(Point::reads(position), Point::after(position));
            let args = self.args(slot, slot.bytes);
            let id = self.plan.places.len() + step.index();
            let name = self.program.step_name(*step).into_owned();
            self.life("scratch", id, &name, process(slot.bank.index()), live, &args);
        }
    }

    fn args(&self, slot: Slot, bytes: u64) -> Json {
        let bank = &self.plan.banks[slot.bank.index()].name;
        json!({ "bytes": bytes, "offset": slot.offset, "bank": bank })
    }

    fn life(&mut self, cat: &str, id: usize, name: &str, pid: usize, live: LiveRange, args: &Json) {
        let (start, end) = (live.start.0, live.end.0);
        let event = |ph: &str, ts: u64| {
            json!({
                "ph": ph, "name": name, "cat": cat, "id": id.to_string(), "ts": ts, "pid": pid,
                "tid": 0,
            })
        };
        let mut begin = event("b", start);
        begin["args"] = args.clone();
        self.push(start, Rank::Begin, begin);
        self.push(end, if start == end { Rank::EndAtOnce } else { Rank::End }, event("e", end));
    }

    /// Live bytes of each bank, wherever they change.
    fn loads(&mut self) {
        let from_zero = BTreeMap::from([(0, 0)]);
        let mut changes: Vec<BTreeMap<u64, i128>> = vec![from_zero; self.plan.banks.len()];
        for buffer in &self.plan.derivation.buffers {
            let changes = &mut changes[buffer.slot.bank.index()];
            let mut change = |at: u64, bytes: i128| *changes.entry(at).or_default() += bytes;
            let size = i128::from(buffer.slot.bytes);
            change(buffer.live.start.0, size);
            change(buffer.live.end.0, -size);
            for gap in &buffer.gaps {
                let unused = size - gap.window.map_or(0, |window| i128::from(window.len()));
                change(gap.life.start.unsigned_abs(), -unused);
                change(gap.life.end.unsigned_abs(), unused);
            }
        }
        for (bank, changes) in changes.into_iter().enumerate() {
            let mut live = 0;
            let changes = changes.into_iter().filter(|(at, change)| *at == 0 || *change != 0);
            for (at, change) in changes {
                live += change;
                self.counter(at, process(bank), "live bytes", live.unsigned_abs() as u64);
            }
        }
    }

    /// What does not change: the sizes of banks, all of them together, and the bound.
    fn levels(&mut self) {
        let plan = self.plan;
        let mut levels: Vec<(usize, &str, u64)> = vec![
            (STEPS, "arena bytes", plan.banks.iter().map(|bank| bank.bytes).sum()),
            (STEPS, "lower bound bytes", plan.derivation.lower_bound_bytes),
        ];
        let banks = plan.banks.iter().enumerate();
        levels.extend(banks.map(|(index, bank)| (process(index), "bank bytes", bank.bytes)));
        for (pid, name, bytes) in levels {
            for at in [0, Point::end_of_run(plan.schedule.len()).0] {
                self.counter(at, pid, name, bytes);
            }
        }
    }

    fn counter(&mut self, at: u64, pid: usize, name: &str, bytes: u64) {
        let args = json!({ "bytes": bytes });
        let json = json!({ "ph": "C", "name": name, "ts": at, "pid": pid, "tid": 0, "args": args });
        self.push(at, Rank::Counter, json);
    }
}

/// The process that a bank is shown as.
fn process(bank: usize) -> usize {
    STEPS + 1 + bank
}
