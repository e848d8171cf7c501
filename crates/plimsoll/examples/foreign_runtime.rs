//! A runtime with a program of its own lets Plimsoll plan its memory: all it takes is [`Program`].
//!
//! The runtime here records kernels into a command list, as GPU runtimes do. Some of its habits are
//! of the kind that corrupt memory when a planner does not know of them, so it declares them: a
//! fused kernel that reads a tensor which is not among its arguments, a kernel that needs scratch
//! memory, a copy to the host that goes on after its command, and a cache that is updated in place.
//!
//! `cargo run -p plimsoll --example foreign_runtime`

use std::borrow::Cow;

use plimsoll::{
    Access, Options, Overwrite, Program, Role, Scratch, StepId, Storage, Until, ValueId, ValueInfo,
    plan,
};

/// The runtime's own idea of a tensor.
struct Tensor {
    label: &'static str,
    bytes: u64,
    kind: Kind,
}

#[derive(PartialEq)]
enum Kind {
    Input,
    Weight,
    Temporary,
    Cache,
    Result,
}

/// The runtime's own idea of a command.
struct Command {
    kernel: &'static str,
    reads: Vec<usize>,
    /// Read by the fused kernel although it is not an argument.
    peeks: Vec<usize>,
    writes: Vec<usize>,
    /// `(output, input)`: the kernel may run in place.
    in_place: Option<(usize, usize)>,
    /// `(output, input)`: the kernel changes the input.
    updates: Option<(usize, usize)>,
    scratch_bytes: u64,
    /// The reads go on until that command has been waited for.
    fence: Option<usize>,
}

impl Command {
    fn new(kernel: &'static str, reads: &[usize], writes: &[usize]) -> Self {
        Command {
            kernel,
            reads: reads.to_vec(),
            peeks: Vec::new(),
            writes: writes.to_vec(),
            in_place: None,
            updates: None,
            scratch_bytes: 0,
            fence: None,
        }
    }
}

struct CommandList {
    tensors: Vec<Tensor>,
    commands: Vec<Command>,
}

impl Program for CommandList {
    fn steps(&self) -> usize {
        self.commands.len()
    }

    fn values(&self) -> usize {
        self.tensors.len()
    }

    fn value(&self, value: ValueId) -> ValueInfo {
        let tensor = &self.tensors[value.index()];
        let info = ValueInfo::new(tensor.bytes);
        match tensor.kind {
            Kind::Input => ValueInfo { role: Role::Input, ..info },
            Kind::Weight => ValueInfo { role: Role::Param, ..info },
            Kind::Cache => ValueInfo { storage: Storage::Persistent, ..info },
            Kind::Temporary => info,
            Kind::Result => ValueInfo { output: true, ..info },
        }
    }

    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        let command = &self.commands[step.index()];
        let until = command.fence.map_or(Until::Step, |fence| Until::After(StepId::new(fence)));
        let read = |tensor: &usize| Access { until, ..Access::read(ValueId::new(*tensor)) };
        let write = |tensor: &usize| Access::write(ValueId::new(*tensor));
        let reads = command.reads.iter().chain(&command.peeks).map(read);
        reads.chain(command.writes.iter().map(write)).collect()
    }

    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        let Command { in_place, updates, .. } = &self.commands[step.index()];
        let overwrite = |(output, input): (usize, usize), must| Overwrite {
            output: ValueId::new(output),
            input: ValueId::new(input),
            must,
        };
        let may = in_place.map(|pair| overwrite(pair, false));
        may.into_iter().chain(updates.map(|pair| overwrite(pair, true))).collect()
    }

    fn scratch(&self, step: StepId) -> Option<Scratch> {
        let bytes = self.commands[step.index()].scratch_bytes;
        (bytes > 0).then_some(Scratch { bytes, align: 256 })
    }

    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        self.tensors[value.index()].label.into()
    }

    fn step_name(&self, step: StepId) -> Cow<'_, str> {
        self.commands[step.index()].kernel.into()
    }
}

fn decode_step() -> CommandList {
    let tensor = |label, bytes, kind| Tensor { label, bytes, kind };
    let tensors = vec![
        tensor("token", 3072, Kind::Input),           // 0
        tensor("w_qkv", 9_437_184, Kind::Weight),     // 1
        tensor("qkv", 9216, Kind::Temporary),         // 2
        tensor("cache", 3_145_728, Kind::Cache),      // 3
        tensor("cache'", 3_145_728, Kind::Temporary), // 4
        tensor("context", 3072, Kind::Temporary),     // 5
        tensor("hidden", 3072, Kind::Temporary),      // 6
        tensor("logits", 201_028, Kind::Result),      // 7
    ];
    let append = Command { updates: Some((4, 3)), ..Command::new("append", &[2, 3], &[4]) };
    let attend =
        Command { peeks: vec![2], scratch_bytes: 49_152, ..Command::new("attend", &[4], &[5]) };
    let relu = Command { in_place: Some((6, 5)), ..Command::new("relu", &[5], &[6]) };
    let log = Command { fence: Some(5), ..Command::new("log_to_host", &[6], &[]) };
    let commands = vec![
        Command::new("project", &[0, 1], &[2]),
        append,
        attend,
        relu,
        log,
        Command::new("classify", &[6], &[7]),
    ];
    CommandList { tensors, commands }
}

fn main() -> Result<(), plimsoll::PlanError> {
    let program = decode_step();
    let planned = plan(&program, &Options::default())?;
    let plan = planned.plan();
    for bank in &plan.banks {
        println!("{}: {} bytes", bank.name, bank.bytes);
    }
    for value in (0..program.values()).map(ValueId::new) {
        let name = program.value_name(value);
        match plan.slot(value) {
            Some(slot) => println!("{:>9} {:>9}  {name}", slot.offset, slot.bytes),
            None => println!("{:>19}  {name}", "outside"),
        }
    }
    // The new state of the cache is the cache, and relu runs in place.
    assert_eq!(plan.places[4], plan.places[3]);
    assert_eq!(plan.places[6], plan.places[5]);
    Ok(())
}
