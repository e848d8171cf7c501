//! Our engine, for the driver: `ours plimsoll THREADS MODEL …`.

use plimsoll_engines_models::{Counted, Engine, Task, cpu_nanos, serve};
use plimsoll_run::{Options, Session};

#[global_allocator]
static COUNTED: Counted = Counted::new();

struct Ours {
    session: Session<'static>,
}

fn made(task: &Task) -> Result<Ours, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let (model, weights) = plimsoll_onnx::load_with_weights(&task.model).map_err(|e| said(&e))?;
    let options = Options::quick().with_threads(task.threads);
    let mut session = Session::new(&model, &weights, &options).map_err(|e| said(&e))?;
    for input in &task.inputs {
        let bytes = session.input_bytes_mut(&input.name).ok_or("an input that is not there")?;
        bytes.copy_from_slice(&input.bytes);
    }
    Ok(Ours { session })
}

impl Engine for Ours {
    fn run(&mut self) {
        self.session.run().expect("a run");
    }

    fn outputs(&mut self) -> Vec<Vec<u8>> {
        self.run();
        let names: Vec<String> = self.session.outputs().iter().map(|port| port.name.clone()).collect();
        let bytes = |name: &String| self.session.output_bytes(name).unwrap_or_default().to_vec();
        names.iter().map(bytes).collect()
    }

    /// The least CPU time of each call in some runs, with its operator and node.
    fn profile(&mut self, runs: usize) -> Vec<String> {
        let mut calls: Vec<(u64, String)> = Vec::new();
        for run in 0..runs {
            let (mut at, mut start) = (0, cpu_nanos());
            let watched = self.session.run_watched(|call| {
                let nanos = cpu_nanos() - start;
                if run == 0 {
                    calls.push((nanos, format!("{} {}", call.op, call.node)));
                } else {
                    calls[at].0 = calls[at].0.min(nanos);
                }
                at += 1;
                start = cpu_nanos();
            });
            watched.expect("a run");
        }
        calls.iter().map(|(nanos, call)| format!("{nanos} {call}")).collect()
    }

    fn about(&self) -> String {
        let (arena, inputs) = (self.session.arena_bytes(), self.session.input_memory_bytes());
        let (constants, packed) = (self.session.constant_bytes(), self.session.packed_bytes());
        let heap = COUNTED.live();
        format!("arena={arena} inputs={inputs} constants={constants} packed={packed} heap={heap}")
    }
}

fn main() {
    serve(&COUNTED, made(&Task::from_args()));
}
