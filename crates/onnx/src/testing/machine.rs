//! Runs ONNX models in the bytes that plans give them, and with every tensor apart: branches are taken
//! as conditions say, bodies run as often as they are told.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::{Plan, Role, Storage, ValueId};
use plimsoll_graph::testing::{Machine, Tensors, Wrong, class_kernel, mix};
use plimsoll_graph::{Graph, NodeId, ScheduledGraph};

use super::kernels::onnx_kernel;
use crate::proto::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};

/// A model that is run. Names of its nodes and tensors must be those that they have in the graph.
pub struct OnnxMachine<'m> {
    model: &'m ModelProto,
    /// The graph as it was made of the model, or as it was rewritten.
    graph: &'m Graph,
    program: &'m ScheduledGraph<'m>,
    plan: &'m Plan,
    machine: Machine<'m>,
    /// The nodes of the model, those of bodies too, by name.
    nodes: BTreeMap<&'m str, &'m NodeProto>,
    /// Whether anything has been loaded.
    is_loaded: bool,
}

type Done = Result<(), Wrong>;

impl<'m> OnnxMachine<'m> {
    /// A machine for a program of the model. The graph is that of the program, unless values of it
    /// are somewhere else in there: then it is the one that says what is computed.
    #[must_use]
    pub fn new(
        model: &'m ModelProto,
        graph: &'m Graph,
        program: &'m ScheduledGraph<'m>,
        plan: &'m Plan,
    ) -> Self {
        let mut nodes = BTreeMap::new();
        collect(main(model), &mut nodes);
        let machine = Machine::computing(graph, program, plan);
        OnnxMachine { model, graph, program, plan, machine, nodes, is_loaded: false }
    }

    /// Runs the model once on inputs that the seed decides; its outputs.
    pub fn run(&mut self, seed: u64) -> Result<Vec<Vec<u64>>, Wrong> {
        self.fill(seed);
        let inside: BTreeSet<&str> = {
            let own: BTreeSet<&str> = main(self.model).node.iter().map(NodeProto::name).collect();
            self.nodes.keys().copied().filter(|name| !own.contains(name)).collect()
        };
        let graph = self.graph;
        let is_outer = |id: &NodeId| {
            let name = &graph.node(*id).name[..];
            !inside.contains(base(name)) && !name.ends_with("/begin")
        };
        for id in self.machine.order().to_vec().into_iter().filter(is_outer) {
            self.node(id, false)?;
        }
        for step in &self.plan.schedule {
            let id = self.program.node_of(*step);
            if is_outer(&id) {
                self.node(id, true)?;
                self.machine.poison_after(id);
            }
        }
        self.machine.outputs()
    }

    /// Says that the next run finds in a value what this run has left of another.
    pub fn hand_over(&mut self, from: ValueId, to: ValueId) {
        let left = self.machine.expected(from).to_vec();
        self.machine.expect(to, 0, &left);
    }

    /// Fills what comes from outside: before every run, or once if it stays.
    fn fill(&mut self, seed: u64) {
        let given = |id: &ValueId| {
            let value = self.program.graph().value(*id);
            let stays = value.role != Role::Input || value.storage == Storage::Persistent;
            let is_made = value.role == Role::Temporary && value.storage != Storage::Persistent;
            let is_empty = self.machine.expected(*id).is_empty();
            assert!(
                value.role != Role::Static || is_empty,
                "{} is computed when a model is loaded",
                value.name
            );
            !(is_made || self.graph.producer(*id).is_some() || stays && self.is_loaded)
        };
        let given: Vec<ValueId> = self.program.graph().value_ids().filter(given).collect();
        for id in given {
            let name = &self.graph.value(id).name;
            let stored = main(self.model).initializer.iter().find(|stored| stored.name() == *name);
            let seed = if self.program.graph().value(id).role == Role::Input { seed } else { 0 };
            let salt = mix([seed, u64::from(stored.is_some())]
                .into_iter()
                .chain(name.bytes().map(u64::from)));
            let numbers = stored.and_then(integers);
            self.machine.fill(id, |element| match &numbers {
                Some(numbers) => numbers[element],
                None => mix([salt, element as u64]),
            });
        }
        self.is_loaded = true;
    }

    fn value(&self, name: &str) -> Option<ValueId> {
        self.graph.value_by_name(name)
    }

    /// Runs a node apart, and then in the plan if that is wanted.
    fn node(&mut self, id: NodeId, in_plan: bool) -> Done {
        let proto = self.nodes.get(base(&self.graph.node(id).name)).copied();
        match proto.map(NodeProto::op_type) {
            Some("If") => self.branch(proto.expect("a node"), in_plan),
            Some("Loop") => self.repeat(proto.expect("a node"), in_plan),
            Some("Scan") => self.scan(proto.expect("a node"), in_plan),
            _ => {
                let (graph, version) = (self.graph, self.model.opset_import[0].version());
                let kernel = move |id: NodeId, tensors: &mut Tensors<'_>| match proto {
                    Some(proto) => onnx_kernel(proto, version, tensors),
                    None => class_kernel(graph)(id, tensors),
                };
                if in_plan {
                    self.machine.run_step(id, &kernel)
                } else {
                    self.machine.run_apart(id, &kernel);
                    Ok(())
                }
            }
        }
    }

    /// The nodes of a body: apart, and then in the plan if that is wanted.
    fn body(&mut self, body: &GraphProto, in_plan: bool) -> Done {
        let names: BTreeSet<&str> = body.node.iter().map(NodeProto::name).collect();
        let graph = self.graph;
        let is_own = |id: &NodeId| names.contains(&graph.node(*id).name[..]);
        for id in self.machine.order().to_vec().into_iter().filter(is_own) {
            self.node(id, false)?;
        }
        let steps = self.plan.schedule.iter().map(|step| self.program.node_of(*step));
        let steps: Vec<NodeId> = steps.filter(is_own).filter(|_| in_plan).collect();
        steps.into_iter().try_for_each(|id| self.node(id, true))
    }

    fn branch(&mut self, node: &NodeProto, in_plan: bool) -> Done {
        let condition = self.value(&node.input[0]).expect("a condition");
        let is_taken = self.machine.expected(condition)[0] & 1 == 1;
        let taken = attribute(node, if is_taken { "then_branch" } else { "else_branch" });
        self.body(taken, in_plan)?;
        let made: Vec<&str> = taken.output.iter().map(ValueInfoProto::name).collect();
        self.carry(&made, &strings(&node.output), in_plan)
    }

    fn repeat(&mut self, node: &NodeProto, in_plan: bool) -> Done {
        let body = attribute(node, "body");
        let trips = main(self.model).initializer.iter().find(|s| s.name() == node.input[0]);
        let trips = trips.and_then(integers).expect("trips are stored")[0] as usize;
        let first = strings(&node.input[2..]);
        let (inputs, outputs) = (names(&body.input), names(&body.output));
        let results = strings(&node.output);
        let carried = first.len();
        for trip in 0..trips {
            let from = if trip == 0 { &first[..] } else { &outputs[1..=carried] };
            self.carry(from, &inputs[2..], in_plan)?;
            self.put(inputs[0], 0, &[trip as u64], in_plan);
            self.put(inputs[1], 0, &[1], in_plan);
            self.body(body, in_plan)?;
            self.collect(&outputs[1 + carried..], &results[carried..], trip, in_plan)?;
        }
        let last = if trips == 0 { &first[..] } else { &outputs[1..=carried] };
        self.carry(last, &results[..carried], in_plan)
    }

    fn scan(&mut self, node: &NodeProto, in_plan: bool) -> Done {
        let body = attribute(node, "body");
        let (inputs, outputs) = (names(&body.input), names(&body.output));
        let (operands, results) = (strings(&node.input), strings(&node.output));
        let carried = operands.len() - 1;
        let sequence = self.value(operands[carried]).expect("a sequence");
        let trips = self.graph.value(sequence).shape.known().expect("known dims")[0] as usize;
        let length = self.machine.expected(sequence).len() / trips.max(1);
        for trip in 0..trips {
            let from = if trip == 0 { &operands[..carried] } else { &outputs[..carried] };
            self.carry(from, &inputs, in_plan)?;
            let element = trip * length..(trip + 1) * length;
            if let Some(to) = self.value(inputs[carried]) {
                let expected = self.machine.expected(sequence)[element.clone()].to_vec();
                self.machine.expect(to, 0, &expected);
                if in_plan {
                    self.machine.check(sequence, node.name())?;
                    let found: Vec<u64> = element.map(|e| self.machine.read(sequence, e)).collect();
                    self.machine.write(to, 0, &found);
                }
            }
            self.body(body, in_plan)?;
            self.collect(&outputs[carried..], &results[carried..], trip, in_plan)?;
        }
        let last = if trips == 0 { &operands[..carried] } else { &outputs[..carried] };
        self.carry(last, &results[..carried], in_plan)
    }

    /// Numbers that the machine itself makes.
    fn put(&mut self, to: &str, first: usize, numbers: &[u64], in_plan: bool) {
        let Some(to) = self.value(to) else { return };
        self.machine.expect(to, first, numbers);
        if in_plan {
            self.machine.write(to, first, numbers);
        }
    }

    /// What is handed from one to another, all at once.
    fn carry(&mut self, from: &[&str], to: &[&str], in_plan: bool) -> Done {
        let pairs = from.iter().zip(to).filter_map(|(a, b)| Some((self.value(a)?, self.value(b)?)));
        let pairs: Vec<(ValueId, ValueId)> = pairs.collect();
        let expected: Vec<Vec<u64>> =
            pairs.iter().map(|(from, _)| self.machine.expected(*from).to_vec()).collect();
        let mut found = Vec::new();
        for (from, _) in pairs.iter().filter(|_| in_plan) {
            self.machine.check(*from, "what is carried")?;
            found.push(self.machine.found(*from));
        }
        for ((_, to), numbers) in pairs.iter().zip(expected) {
            self.machine.expect(*to, 0, &numbers);
        }
        for ((_, to), numbers) in pairs.iter().zip(found) {
            self.machine.write(*to, 0, &numbers);
        }
        Ok(())
    }

    /// Adds what an iteration has made to what is collected.
    fn collect(&mut self, made: &[&str], to: &[&str], trip: usize, in_plan: bool) -> Done {
        for (made, to) in made.iter().zip(to) {
            let (Some(made), Some(to)) = (self.value(made), self.value(to)) else { continue };
            let expected = self.machine.expected(made).to_vec();
            let first = trip * expected.len();
            self.machine.expect(to, first, &expected);
            if in_plan {
                self.machine.check(made, "what is collected")?;
                let found = self.machine.found(made);
                self.machine.write(to, first, &found);
            }
        }
        Ok(())
    }
}

/// The name of a node of the model that another is a part of, or that it makes again.
fn base(name: &str) -> &str {
    let name = name.split(' ').next().unwrap_or(name);
    name.split('.').next().unwrap_or(name)
}

fn main(model: &ModelProto) -> &GraphProto {
    model.graph.as_ref().expect("a graph")
}

fn attribute<'n>(node: &'n NodeProto, name: &str) -> &'n GraphProto {
    let attribute = node.attribute.iter().find(|attribute| attribute.name() == name);
    attribute.and_then(|attribute| attribute.g.as_deref()).expect("a body")
}

fn strings(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn names(values: &[crate::proto::ValueInfoProto]) -> Vec<&str> {
    values.iter().map(ValueInfoProto::name).collect()
}

/// The nodes of a graph and of its bodies.
fn collect<'m>(graph: &'m GraphProto, nodes: &mut BTreeMap<&'m str, &'m NodeProto>) {
    for node in &graph.node {
        nodes.insert(node.name(), node);
        for body in node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()) {
            collect(body, nodes);
        }
    }
}

/// Stored integers and truth values, cut off at 32 bits as elements of the machine are. No dim is as
/// long, so that what is beyond one is beyond it still.
fn integers(stored: &TensorProto) -> Option<Vec<u64>> {
    let raw = stored.raw_data.as_ref()?;
    let cut_off = |number: i64| {
        let number = number.clamp(i32::MIN.into(), i32::MAX.into());
        u64::from((number as i32).cast_unsigned())
    };
    match stored.data_type() {
        super::I64 => {
            let numbers = raw
                .chunks_exact(8)
                .map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight")));
            Some(numbers.map(cut_off).collect())
        }
        super::BOOL => Some(raw.iter().map(|byte| u64::from(*byte)).collect()),
        _ => None,
    }
}
