//! Random graphs for tests and fuzzing: valid by construction, and with everything that can be
//! declared. Seeded, so that every run sees the same ones.

use plimsoll::{AccessKind, Execution, Overwrite, Role, Scratch, Storage, ValueId, View};
use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

use crate::dtype::Dtype;
use crate::graph::{End, Graph, GraphBuilder, Node, NodeId, Value, Window};
use crate::op::{Cut, Op};
use crate::shape::Shape;
use crate::shape::dims::broadcast;

/// A graph of at most so many nodes.
///
/// # Panics
/// If the generator is wrong: what it makes is not a valid graph.
#[must_use]
pub fn random_graph(rng: &mut Rng, nodes: u64) -> Graph {
    let mut maker =
        Maker { builder: GraphBuilder::new(), readable: Vec::new(), queues: false, nodes: 0 };
    match rng.below(4) {
        0 => maker.builder.execution(Execution::Partial),
        1 => {
            maker.builder.execution(Execution::Queues);
            maker.queues = true;
        }
        _ => {}
    }
    for _ in 0..rng.within(1..4) {
        maker.boundary(rng);
    }
    for _ in 0..rng.below(nodes + 1) {
        match rng.below(8) {
            0 => maker.boundary(rng),
            1 => maker.folded(rng),
            _ => maker.node(rng),
        }
    }
    maker.finish(rng)
}

struct Maker {
    builder: GraphBuilder,
    /// Values that can be read.
    readable: Vec<ValueId>,
    queues: bool,
    nodes: usize,
}

const DTYPES: [Dtype; 6] =
    [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I64, Dtype::Bool, Dtype::I4];

/// Names that have to be quoted, and some that need not.
fn name(rng: &mut Rng, what: &str, number: usize) -> String {
    match rng.below(6) {
        0 => format!("{what} {number}"),
        1 => format!("{number}\"\\\n{what}"),
        2 => format!("{what}/{number}.é"),
        _ => format!("{what}_{number}"),
    }
}

fn decorate(rng: &mut Rng, value: &mut Value) {
    if rng.chance(10) {
        value.align = Some(1 << rng.below(9));
    }
    if rng.chance(10) {
        value.guard = rng.within(1..40);
    }
    value.exempt = rng.chance(10);
}

impl Maker {
    fn fresh(&self, rng: &mut Rng, what: &str) -> String {
        loop {
            let number = self.readable.len() * 1000 + rng.below(1000) as usize;
            let name = name(rng, what, number);
            if self.builder.value_by_name(&name).is_none() {
                return name;
            }
        }
    }

    fn boundary(&mut self, rng: &mut Rng) {
        let shape = [rng.within(1..5), rng.within(1..5)];
        let dtype = DTYPES[rng.below(6) as usize];
        let name = self.fresh(rng, "in");
        let mut value = Value::new(name, dtype, shape);
        match rng.below(4) {
            0 => value.role = Role::Input,
            1 => value.role = Role::Param,
            2 => value.role = Role::Constant,
            _ => value.storage = Storage::Persistent,
        }
        if rng.chance(20) {
            value.storage = Storage::External;
        }
        value.donated = rng.chance(10);
        decorate(rng, &mut value);
        let id = self.builder.value(value).expect("the name is fresh");
        self.readable.push(id);
        if rng.chance(15) {
            self.part_of(rng, id);
        }
    }

    /// A declared view that no node makes.
    fn part_of(&mut self, rng: &mut Rng, of: ValueId) {
        let name = self.fresh(rng, "part");
        let bytes = self.bytes(of);
        let offset = rng.below(bytes + 1);
        let len = rng.below(bytes - offset + 1);
        let mut value = Value::new(name, Dtype::U8, [len]);
        value.view = Some(View::new(of, offset));
        let id = self.builder.value(value).expect("the name is fresh");
        self.readable.push(id);
    }

    fn bytes(&mut self, value: ValueId) -> u64 {
        self.builder.value_mut(value).native_size().known().expect("all sizes are known")
    }

    fn operand(&mut self, rng: &mut Rng) -> (ValueId, Dtype, Vec<u64>) {
        let index = rng.below(self.readable.len() as u64) as usize;
        let id = self.readable[index];
        let value = self.builder.value_mut(id);
        (id, value.dtype, value.shape.known().expect("all dims are known"))
    }

    /// An operand that broadcasts to a shape; `or` if the one that was drawn does not.
    fn like(&mut self, rng: &mut Rng, or: ValueId, shape: &Shape) -> ValueId {
        let (other, _, dims) = self.operand(rng);
        let fits = broadcast(&Shape::from(&dims[..]).0, &shape.0).is_ok_and(|all| all == shape.0);
        if fits { other } else { or }
    }

    fn node(&mut self, rng: &mut Rng) {
        let (input, dtype, dims) = self.operand(rng);
        let shape = Shape::from(&dims[..]);
        let flat = Shape::from([dims.iter().product()]);
        let (op, inputs, dtype, shape) = match rng.below(9) {
            0 => (Op::Reshape, vec![input], dtype, flat),
            1 => (Op::Cast, vec![input], DTYPES[rng.below(6) as usize], shape),
            2 => (Op::Binary, vec![input, self.like(rng, input, &shape)], dtype, shape),
            3 => {
                let perm: Vec<usize> = (0..dims.len()).rev().collect();
                let dims: Vec<u64> = dims.iter().rev().copied().collect();
                (Op::Transpose { perm }, vec![input], dtype, Shape::from(&dims[..]))
            }
            4 => {
                let len = rng.below(dims[0] + 1);
                let start = rng.below(dims[0] - len + 1);
                let mut cut = dims.clone();
                cut[0] = len;
                let cuts = vec![Cut::new(0, start, len)];
                (Op::Slice { cuts }, vec![input], dtype, Shape::from(&cut[..]))
            }
            5 => (Op::MatMul, vec![input, self.operand(rng).0], dtype, shape),
            6 => (Op::Custom, vec![input], dtype, flat),
            _ => (Op::Unary, vec![input], dtype, shape),
        };
        let name = self.fresh(rng, "v");
        let mut value = Value::new(&name, dtype, shape);
        decorate(rng, &mut value);
        if rng.chance(5) {
            value.storage = Storage::Persistent;
        }
        let output = self.builder.value(value).expect("the name is fresh");
        let mut node = Node::new(name, op, &inputs, &[output]);
        self.declare(rng, &mut node, output);
        self.add(node);
        self.readable.push(output);
    }

    /// What a node may declare, now and then.
    fn declare(&mut self, rng: &mut Rng, node: &mut Node, output: ValueId) {
        if rng.chance(20) {
            let kinds = ["relu", "Add", "my op", "aten.add"];
            node.kind = String::from(kinds[rng.below(4) as usize]);
        }
        if rng.chance(20) {
            node.name = format!("node {}", self.nodes);
        }
        if rng.chance(10) {
            node.inputs.insert(rng.below(2) as usize, None);
            node.op = Op::Custom;
        }
        if rng.chance(15) {
            node.also_reads.push(self.operand(rng).0);
        }
        if rng.chance(15) {
            node.scratch = Some(Scratch { bytes: rng.below(100), align: 1 << rng.below(7) });
        }
        let input = node.inputs.iter().flatten().next().copied().expect("it has an input");
        let once = node.reads().filter(|read| *read == input).count() == 1;
        if rng.chance(10) && once {
            node.overwrites.push(Overwrite { output, input, must: false });
        }
        if rng.chance(20) {
            let (kind, value) = if rng.chance(50) {
                (AccessKind::Read, input)
            } else {
                (AccessKind::Write, output)
            };
            let bytes = self.bytes(value);
            let lo = rng.below(bytes + 1);
            let span = Span::new(lo, rng.within(lo..bytes + 1));
            let until = if rng.chance(50) { End::EndOfRun } else { End::Step };
            let bytes = rng.chance(50).then_some(span);
            node.windows.push(Window { until, bytes, ..Window::new(value, kind) });
        }
        if self.queues {
            node.queue = rng.below(3) as u32;
        }
        if self.nodes > 0 && rng.chance(20) {
            let other = NodeId::new(rng.below(self.nodes as u64) as usize);
            if !self.builder.node_mut(other).elided {
                node.after.push(other);
            }
        }
        if rng.chance(5) {
            node.notes.insert("a key".to_owned(), "a \"note\"\n".to_owned());
        }
    }

    fn add(&mut self, node: Node) {
        self.builder.node(node).expect("the name is fresh");
        self.nodes += 1;
    }

    /// A transpose that its reader folds, or a relu that its maker folds.
    fn folded(&mut self, rng: &mut Rng) {
        let (input, dtype, dims) = self.operand(rng);
        let shape = Shape::from(&dims[..]);
        let before = rng.chance(50);
        let middle_name = self.fresh(rng, "m");
        let middle = Value { elided: true, ..Value::new(&middle_name, dtype, shape.clone()) };
        let middle = self.builder.value(middle).expect("the name is fresh");
        let last_name = self.fresh(rng, "z");
        let last = Value::new(&last_name, dtype, shape);
        let last = self.builder.value(last).expect("the name is fresh");
        let mut first = Node::new(middle_name, Op::MatMul, &[input], &[middle]);
        let mut second = Node::new(last_name, Op::MatMul, &[middle], &[last]);
        first.elided = before;
        second.elided = !before;
        self.add(first);
        self.add(second);
        self.readable.push(last);
    }

    fn finish(mut self, rng: &mut Rng) -> Graph {
        for value in self.readable.clone() {
            if rng.chance(20) {
                self.builder.output(value);
            }
        }
        self.builder.finish().expect("random graphs are valid")
    }
}
