//! A tiny machine that runs a model in the bytes that a plan gives it: branches are taken by lot,
//! bodies run as often as they are told, and every read looks whether the bytes are still what was
//! written. It knows nothing of lives: only the model, the order of nodes and the places.

use plimsoll::model::{Body, Iteration, Model, ModelNode, Operator, TensorId};
use plimsoll::{Graph, Place, Plan};
use plimsoll_pack::testing::Rng;

pub(crate) struct Machine<'a> {
    model: &'a Model,
    graph: &'a Graph,
    /// Where every tensor is that has a place.
    places: Vec<Option<usize>>,
    arena: Vec<u8>,
    /// What every tensor should hold.
    content: Vec<Vec<u8>>,
    rng: Rng,
}

type Done = Result<(), String>;

impl<'a> Machine<'a> {
    pub(crate) fn new(model: &'a Model, graph: &'a Graph, plan: &Plan, seed: u64) -> Self {
        let place = |name: &str| match plan.places[graph.value_by_name(name)?.index()] {
            Place::Bank(slot) => Some(slot.offset as usize),
            _ => None,
        };
        let places = model.tensors.iter().map(|tensor| place(&tensor.name)).collect();
        let arena = vec![0; plan.banks.iter().map(|bank| bank.bytes as usize).sum()];
        let content = vec![Vec::new(); model.tensors.len()];
        Machine { model, graph, places, arena, content, rng: Rng::new(seed) }
    }

    /// Runs the model once, on other inputs than before.
    pub(crate) fn run(&mut self) -> Done {
        let body = &self.model.body;
        for id in &body.inputs {
            let value = self.graph.value_by_name(&self.model.tensor(*id).name).expect("an input");
            let dims = self.graph.value(value).shape.known().expect("known dims");
            let bytes = dims.iter().product::<u64>() * self.graph.value(value).dtype.bits() / 8;
            let content = (0..bytes).map(|_| self.rng.next_u64() as u8).collect();
            self.write(*id, content);
        }
        self.nodes(body)?;
        body.outputs.iter().try_for_each(|id| self.read(*id).map(drop))
    }

    /// The bytes of a tensor, which must be those that were written.
    fn read(&self, id: TensorId) -> Result<Vec<u8>, String> {
        let content = &self.content[id.index()];
        let intact = self.places[id.index()]
            .is_none_or(|at| self.arena.get(at..at + content.len()) == Some(&content[..]));
        let name = &self.model.tensor(id).name;
        if intact { Ok(content.clone()) } else { Err(format!("{name} was overwritten")) }
    }

    fn write(&mut self, id: TensorId, content: Vec<u8>) {
        if let Some(at) = self.places[id.index()] {
            self.arena[at..at + content.len()].copy_from_slice(&content);
        }
        self.content[id.index()] = content;
    }

    fn copy(&mut self, from: TensorId, to: Option<TensorId>) -> Done {
        let content = self.read(from)?;
        if let Some(to) = to {
            self.write(to, content);
        }
        Ok(())
    }

    /// The nodes of a body that take steps, in the order of the graph.
    fn nodes(&mut self, body: &Body) -> Done {
        let at = |node: &ModelNode| self.graph.node_by_name(&node.name);
        let mut nodes: Vec<_> =
            body.nodes.iter().filter_map(|node| at(node).map(|at| (at, node))).collect();
        nodes.sort_by_key(|(at, _)| *at);
        nodes.into_iter().try_for_each(|(_, node)| self.node(node))
    }

    fn node(&mut self, node: &ModelNode) -> Done {
        match &node.operator {
            Operator::If(branches) => {
                let taken = if self.rng.chance(50) { &branches.then } else { &branches.otherwise };
                self.nodes(taken)?;
                let pairs = taken.outputs.iter().zip(&node.outputs);
                pairs.into_iter().try_for_each(|(made, output)| self.copy(*made, *output))
            }
            Operator::Loop(body) => self.repeat(node, body),
            Operator::Scan(scan) => self.scan(node, scan),
            operator => self.plain(node, operator),
        }
    }

    fn plain(&mut self, node: &ModelNode, operator: &Operator) -> Done {
        if let (Operator::Identity, Some(Some(x))) = (operator, node.inputs.first()) {
            let y = node.outputs[0].expect("a result");
            // A view looks at nothing.
            if self.places[x.index()] == self.places[y.index()] {
                self.content[y.index()] = self.content[x.index()].clone();
                return Ok(());
            }
        }
        let operands = node.inputs.iter().flatten().map(|id| self.read(*id));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let result: Vec<u8> = match (operator, &operands[..]) {
            (Operator::Identity, [x]) => x.clone(),
            (Operator::Unary(_), [x]) => {
                x.iter().map(|x| x.wrapping_mul(5).wrapping_add(7)).collect()
            }
            (Operator::Binary(_), [a, b]) => {
                a.iter().zip(b).map(|(a, b)| a.wrapping_mul(3).wrapping_add(*b)).collect()
            }
            (Operator::Concat { .. }, operands) => operands.concat(),
            _ => panic!("no {} is made", node.kind),
        };
        self.write(node.outputs[0].expect("a result"), result);
        Ok(())
    }

    fn repeat(&mut self, node: &ModelNode, body: &Body) -> Done {
        let value = node.inputs[0].map(|id| self.model.tensor(id).content.clone());
        let Some(Some(plimsoll::model::Content::Ints(trips))) = value else {
            panic!("trips are stored");
        };
        let carried = body.inputs.len() - 2;
        let first: Vec<TensorId> = node.inputs[2..].iter().flatten().copied().collect();
        for trip in 0..trips[0] {
            let from = if trip == 0 { &first[..] } else { &body.outputs[1..] };
            self.carry(&from[..carried], &body.inputs[2..])?;
            self.write(body.inputs[0], trip.to_le_bytes().to_vec());
            self.write(body.inputs[1], vec![1]);
            self.nodes(body)?;
            self.collect(&body.outputs[1 + carried..], &node.outputs[carried..], trip == 0)?;
        }
        let last = if trips[0] == 0 { &first[..] } else { &body.outputs[1..] };
        let pairs = last[..carried].iter().zip(&node.outputs);
        pairs.into_iter().try_for_each(|(from, to)| self.copy(*from, *to))
    }

    fn scan(&mut self, node: &ModelNode, scan: &Iteration) -> Done {
        let body = &scan.body;
        let operands: Vec<TensorId> = node.inputs.iter().flatten().copied().collect();
        let carried = operands.len() - scan.sequences;
        let of_element = self.graph.value_by_name(&self.model.tensor(body.inputs[carried]).name);
        let dims = self.graph.value(of_element.expect("an element")).shape.known();
        let bytes = 4 * dims.expect("known dims").iter().product::<u64>() as usize;
        let trips = self.read(operands[carried])?.len() / bytes;
        for trip in 0..trips {
            let from = if trip == 0 { &operands } else { &body.outputs };
            self.carry(&from[..carried], &body.inputs)?;
            let sequence = self.read(operands[carried])?;
            self.write(body.inputs[carried], sequence[trip * bytes..][..bytes].to_vec());
            self.nodes(body)?;
            self.collect(&body.outputs[carried..], &node.outputs[carried..], trip == 0)?;
        }
        let last = if trips == 0 { &operands } else { &body.outputs };
        let pairs = last[..carried].iter().zip(&node.outputs);
        pairs.into_iter().try_for_each(|(from, to)| self.copy(*from, *to))
    }

    /// What one iteration has made for the next, all at once.
    fn carry(&mut self, from: &[TensorId], to: &[TensorId]) -> Done {
        let read = from.iter().map(|id| self.read(*id)).collect::<Result<Vec<_>, _>>()?;
        to.iter().zip(read).for_each(|(id, content)| self.write(*id, content));
        Ok(())
    }

    /// Adds what an iteration has made to what is collected.
    fn collect(&mut self, made: &[TensorId], to: &[Option<TensorId>], first: bool) -> Done {
        for (made, to) in made.iter().zip(to) {
            let element = self.read(*made)?;
            let Some(to) = *to else { continue };
            let mut all = if first { Vec::new() } else { self.read(to)? };
            all.extend(element);
            self.write(to, all);
        }
        Ok(())
    }
}
