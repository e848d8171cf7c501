//! From a verified plan to steps that can be called: which bytes each operand is.

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll::{
    AccessKind, Memory, Place, Plan, Program, ResolvedAccess, Role, Slot, StepId, ValueId,
};
use plimsoll_graph::{Fact, Graph, NodeId, ScheduledGraph};
use plimsoll_model::{Body, Inferred, Model, TensorId};

use crate::constants::Constants;
use crate::error::SessionError;
use crate::kernel::{Built, Call, Lack};
use crate::memory::{LINE, Lines};
use crate::ops::{Guard, Rounds, guards};
use crate::place::{Spot, operands};
use crate::port::Port;
use crate::repeat::Found;
use crate::step::{Action, Cycle, Step};

/// Memory that values get one after the other.
#[derive(Default)]
struct Shelf {
    places: BTreeMap<ValueId, Range<usize>>,
    end: usize,
}

impl Shelf {
    /// The place of a value, a new one if it has none.
    fn place(&mut self, value: ValueId, bytes: usize) -> Range<usize> {
        let place = self.places.entry(value).or_insert_with(|| {
            let start = self.end;
            self.end = (start + bytes).next_multiple_of(LINE);
            start..start + bytes
        });
        place.clone()
    }
}

/// A plan that is resolved.
pub(crate) struct Resolver<'a> {
    model: &'a Model,
    /// The value of every tensor that the graph has.
    values: &'a [Option<ValueId>],
    graph: &'a Graph,
    plan: &'a Plan,
    program: ScheduledGraph<'a>,
    /// The tensor of each value.
    tensors: Vec<Option<TensorId>>,
    /// Which values come from the caller, and where they are.
    inputs: Shelf,
    /// The constants that somebody reads, and where they are.
    constants: Shelf,
    /// The conditions that nodes of branches run under.
    guards: BTreeMap<String, Vec<Guard>>,
    /// The nodes whose bodies run again and again, by the nodes of the graph that begin (`true`) and end them.
    rounds: BTreeMap<String, (Rounds<'a>, bool)>,
    pub(crate) facts: &'a [Fact],
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        model: &'a Model,
        inferred: &'a Inferred,
        values: &'a [Option<ValueId>],
        (graph, program): (&'a Graph, ScheduledGraph<'a>),
        plan: &'a Plan,
    ) -> Result<Self, SessionError> {
        let mut tensors = vec![None; graph.values().len()];
        for (index, value) in values.iter().enumerate() {
            if let Some(value) = value {
                tensors[value.index()] = Some(TensorId::new(index));
            }
        }
        if plan.banks.len() > 1 {
            let (of, fault) = ("the plan".to_owned(), "it has several banks".to_owned());
            return Err(SessionError::Place { of, fault });
        }
        let mut resolver = Resolver {
            model,
            values,
            graph,
            plan,
            program,
            tensors,
            inputs: Shelf::default(),
            constants: Shelf::default(),
            guards: guards(model, inferred),
            rounds: BTreeMap::new(),
            facts: &inferred.facts,
        };
        resolver.repeated(&model.body);
        for input in &model.body.inputs {
            if let Some(value) = values[input.index()] {
                resolver.spot(value).map_err(|fault| resolver.misplaced(value, fault))?;
            }
        }
        Ok(resolver)
    }

    fn misplaced(&self, value: ValueId, fault: Lack) -> SessionError {
        SessionError::Place { of: self.program.value_name(value).into_owned(), fault }
    }

    /// Notes the nodes with bodies that run again and again, in other bodies too.
    fn repeated(&mut self, body: &'a Body) {
        for node in &body.nodes {
            if let Some(rounds) = Rounds::of(node) {
                self.rounds.insert(rounds.begin_name(), (rounds, true));
                self.rounds.insert(node.name.clone(), (rounds, false));
            }
            node.bodies().into_iter().for_each(|body| self.repeated(body));
        }
    }

    /// All that is to be done, in the order of the plan.
    pub(crate) fn steps(
        &mut self,
        library: Vec<Built>,
    ) -> Result<(Vec<Step>, Vec<Cycle>), SessionError> {
        let mut library: Vec<Option<Built>> = library.into_iter().map(Some).collect();
        let mut found = Found::default();
        for step in &self.plan.schedule {
            let node = self.program.node_of(*step);
            let Some(built) = library[node.index()].take() else { continue };
            self.steps_of(*step, node, built, &mut found).map_err(|fault| {
                let of = self.graph.node(node).name.clone();
                SessionError::Place { of, fault }
            })?;
        }
        Ok((found.steps, found.cycles))
    }

    fn steps_of(
        &mut self,
        step: StepId,
        id: NodeId,
        built: Built,
        found: &mut Found,
    ) -> Result<(), Lack> {
        let node = self.graph.node(id);
        let guards = self.guards_of(&node.name)?;
        match self.rounds.get(&node.name).copied() {
            Some((rounds, _)) if rounds.node.kind != node.kind => {}
            Some((rounds, true)) => return self.begin(&rounds, &(id, guards), found),
            Some((rounds, false)) => return self.end(&rounds, &(id, guards), found),
            None => {}
        }
        self.step((step, id), &guards, built, &mut found.steps)
    }

    fn step(
        &mut self,
        (step, id): (StepId, NodeId),
        guards: &[(Spot, bool)],
        built: Built,
        steps: &mut Vec<Step>,
    ) -> Result<(), Lack> {
        let node = self.graph.node(id);
        let accesses = self.plan.accesses(&self.program, step);
        let scratch = self.plan.scratch[step.index()].map(slot_range);
        let inputs = node.inputs.clone();
        let sizes: Vec<u64> = node.outputs.iter().map(|value| self.bytes(*value)).collect();
        for call in built.calls {
            let read = |operand: usize| match inputs.get(operand).copied().flatten() {
                Some(value) => self.spot(value).map(Some),
                None => Ok(None),
            };
            let written = |result: usize| match node.outputs.get(result).copied().flatten() {
                Some(value) => written(&accesses, value, sizes[result]),
                None => Ok(None),
            };
            let Some(operands) = operands(&call, read, written, scratch.clone())? else { continue };
            let value = |values: &[Option<ValueId>], at: usize| values.get(at).copied().flatten();
            let reads = call.reads.iter().flatten().filter_map(|at| value(&inputs, *at)).collect();
            let writes = call.writes.iter().filter_map(|at| value(&node.outputs, *at)).collect();
            let Call { is_branch, kernel, .. } = call;
            let joins = call.joins.is_some();
            let (action, guards) = (Action::Call { kernel, operands }, guards.to_vec());
            steps.push(Step { node: id, action, reads, writes, joins, guards, is_branch });
        }
        Ok(())
    }

    /// Where the conditions are that a node runs under, and what each must be.
    fn guards_of(&mut self, node: &str) -> Result<Vec<(Spot, bool)>, Lack> {
        let guards = self.guards.get(node).cloned().unwrap_or_default();
        let mut spots = Vec::with_capacity(guards.len());
        for Guard { condition, holds } in guards {
            let value = self.value_of(condition)?;
            spots.push((self.spot(value)?, holds));
        }
        Ok(spots)
    }

    /// The value of a tensor.
    pub(crate) fn value_of(&self, id: TensorId) -> Result<ValueId, Lack> {
        let absent = || format!("`{}` is not in the graph", self.model.tensor(id).name);
        self.values[id.index()].ok_or_else(absent)
    }

    /// The value of a tensor that a run writes, and its bytes of the arena.
    pub(crate) fn target(&mut self, id: TensorId) -> Result<(ValueId, Range<usize>), Lack> {
        let value = self.value_of(id)?;
        match self.spot(value)? {
            Spot::Arena(range) => Ok((value, range)),
            Spot::Constant(_) | Spot::Input(_) => {
                Err("its results are not in the arena".to_owned())
            }
        }
    }

    /// How many bytes a value has.
    fn bytes(&self, value: Option<ValueId>) -> u64 {
        value.map_or(0, |value| self.program.value(value).bytes)
    }

    /// Where the bytes of a value are.
    pub(crate) fn spot(&mut self, value: ValueId) -> Result<Spot, Lack> {
        let info = self.program.value(value);
        let bytes = info.bytes as usize;
        let rows = info.view_of.and_then(|_| plimsoll::root_of(&self.program, value).1.rows);
        if rows.is_some() {
            return Err("no kernel for strided rows".to_owned());
        }
        let is_fixed = matches!(info.role, Role::Param | Role::Constant | Role::Static);
        match self.plan.places[value.index()] {
            Place::Bank(_) if is_fixed && info.view_of.is_none() => {
                Err("weights are kept beside the arena, not in it".to_owned())
            }
            Place::Bank(slot) => {
                let (start, width) = (slot.offset as usize, self.graph.value(value).dtype.bits());
                if !start.is_multiple_of((width as usize / 8).max(1)) {
                    return Err(format!("it begins at byte {start}, where no element can be"));
                }
                Ok(Spot::Arena(start..start + bytes))
            }
            Place::External => Ok(self.outside(value, 0, bytes)),
            Place::Outside { root, offset } => Ok(self.outside(root, offset as usize, bytes)),
            Place::Elided => Err("it has no bytes".to_owned()),
        }
    }

    /// Some bytes of a value that is not in the arena.
    fn outside(&mut self, root: ValueId, offset: usize, bytes: usize) -> Spot {
        let all = self.program.value(root).bytes as usize;
        let within = |range: Range<usize>| range.start + offset..range.start + offset + bytes;
        let tensor = self.tensors[root.index()];
        if tensor.is_some_and(|id| self.model.body.inputs.contains(&id)) {
            return Spot::Input(within(self.inputs.place(root, all)));
        }
        Spot::Constant(within(self.constants.place(root, all)))
    }

    /// Inputs and outputs, in the order of the model.
    pub(crate) fn ports(&mut self) -> Result<(Vec<Port>, Vec<Port>), SessionError> {
        let body = &self.model.body;
        Ok((self.ports_of(&body.inputs)?, self.ports_of(&body.outputs)?))
    }

    fn ports_of(&mut self, ids: &[TensorId]) -> Result<Vec<Port>, SessionError> {
        let mut ports = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(value) = self.values[id.index()] else { continue };
            let spot = self.spot(value).map_err(|fault| self.misplaced(value, fault))?;
            let of = self.graph.value(value);
            let dims = of.shape.known().unwrap_or_default();
            let name = self.model.tensor(*id).name.clone();
            ports.push(Port { name, dtype: of.dtype, dims, spot });
        }
        Ok(ports)
    }

    /// Where outputs are that are copied to inputs, and where to.
    pub(crate) fn carried(
        &mut self,
        pairs: &[(TensorId, TensorId)],
    ) -> Result<Vec<(Spot, Spot)>, SessionError> {
        let mut carried = Vec::with_capacity(pairs.len());
        for (input, output) in pairs {
            let mut spot = |id: &TensorId| {
                let absent = || SessionError::Place {
                    of: self.model.tensor(*id).name.clone(),
                    fault: "it is not in the graph".to_owned(),
                };
                let value = self.values[id.index()].ok_or_else(absent)?;
                self.spot(value).map_err(|fault| self.misplaced(value, fault))
            };
            let (from, to) = (spot(output)?, spot(input)?);
            carried.push((from, to));
        }
        Ok(carried)
    }

    /// Where the values are that steps read or write.
    pub(crate) fn spots(&mut self, steps: &[Step]) -> Result<Vec<Option<Spot>>, SessionError> {
        let mut spots = vec![None; self.tensors.len()];
        for value in steps.iter().flat_map(|step| step.reads.iter().chain(&step.writes)) {
            if spots[value.index()].is_none() {
                let spot = self.spot(*value).map_err(|fault| self.misplaced(*value, fault))?;
                spots[value.index()] = Some(spot);
            }
        }
        Ok(spots)
    }

    /// How many bytes the inputs outside of the arena have.
    pub(crate) fn input_bytes(&self) -> usize {
        self.inputs.end
    }

    /// The memory of the constants that somebody reads.
    pub(crate) fn constants(&self, constants: &Constants<'_>) -> Result<Lines, SessionError> {
        let mut memory = Lines::new(self.constants.end);
        for (value, range) in &self.constants.places {
            let tensor = self.tensors[value.index()];
            let bytes = tensor.map(|id| constants.bytes(id)).transpose();
            let bytes = bytes.map_err(|fault| self.misplaced(*value, fault))?.flatten();
            let absent = || self.misplaced(*value, "its elements are not there".to_owned());
            memory.bytes_mut()[range.clone()].copy_from_slice(&bytes.ok_or_else(absent)?);
        }
        Ok(memory)
    }
}

fn slot_range(slot: Slot) -> Range<usize> {
    slot.offset as usize..(slot.offset + slot.bytes) as usize
}

/// All bytes of a value of which a step writes some; `None` if it writes none. Parts that are made in their places
/// already are not written again, and belong to it still.
fn written(
    accesses: &[ResolvedAccess],
    value: ValueId,
    bytes: u64,
) -> Result<Option<Range<usize>>, Lack> {
    let is_write =
        |access: &&ResolvedAccess| access.kind == AccessKind::Write && access.value == value;
    let Some(first) = accesses.iter().find(is_write) else { return Ok(None) };
    if first.layout.rows.is_some() {
        return Err("no kernel for strided rows".to_owned());
    }
    if let Memory::Caller(_) = first.memory {
        return Err("its results are not in the arena".to_owned());
    }
    let start = first.layout.first as usize;
    Ok(Some(start..start + bytes as usize))
}
