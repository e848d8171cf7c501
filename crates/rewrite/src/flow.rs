//! Flows: a model computed in steps of a few rows.
//!
//! A [`Recipe`] cuts the nodes of a model into *segments*, which run one after the other. A segment that runs in
//! one step computes every tensor at once, as the model does. One that runs in several takes the next few rows of
//! its *driver*, a tensor that comes in, in every step. Then every node in turn computes as many rows as what it
//! reads allows now, but at most its share of a step. When the driver has come to its end, further steps drain
//! what is left: at the bottom padding all nodes could go on at once, and their share keeps them from it.
//!
//! Tensors are lists of *pieces*: runs of rows that were made in one step. A node reads its rows from the pieces,
//! cut and put together where they are not one piece. What no reader needs any more goes at once: rows that a
//! window comes back to are kept from step to step, and between segments pieces go as they are read.
//! A node may also be computed *again*: it keeps no rows, and is computed anew for whoever needs some. That pays
//! where it is wide and made of little: the first convolution of an inverted bottleneck.
//!
//! ```text
//! x     ▒▒▒▒│▒▒▒▒│▒▒▒▒│▒▒▒▒            each column is a step
//! conv   ░░░│░░░░│░░░░│░░░░│░          3×3: a row behind, which drains
//! conv    ░░│░░░░│░░░░│░░░░│░░
//! add     ░░│░░░░│░░░░│░░░░│░░         keeps two rows of x
//! ```
//!
//! All that is computed is computed from the same numbers in the same order: outputs are the same bit for bit. The
//! exceptions are sums over all rows (global pools, means), which are added up in parts.
//!
//! Cost: linear in the nodes that come out, each with the pieces that it reads.

mod band;
mod pieces;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use plimsoll_model::{ModelNode, Operator, TensorId};

use self::pieces::Pieces;
use crate::along::{Along, Course};
use crate::channels::{Adds, Chain, Part, in_parts};
use crate::draft::Draft;
use crate::estimate::{estimate, widest};
use crate::frontier::Way;
use crate::overhead::overhead;
use crate::rewritten::{Rewritten, Stage};
use crate::rows::Lane;

/// Which nodes are computed in how many steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipe {
    /// One after the other; all nodes that run, once.
    pub(crate) segments: Vec<Segment>,
    /// Nodes that are computed again for every reader.
    pub(crate) again: BTreeSet<usize>,
    /// By the first node of a chain, in how many parts of its channels it is computed where it is in one step.
    pub(crate) parts: BTreeMap<usize, (Chain, u64)>,
}

/// Nodes that are computed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// In an order in which they can run.
    pub(crate) nodes: Vec<usize>,
    /// In how many steps the driver comes in.
    pub(crate) steps: u64,
    /// Nodes of earlier segments that are computed once more, in an order in which they can run.
    pub(crate) restarted: Vec<usize>,
}

/// Computes a model by a recipe.
pub(crate) fn flow(along: &Along<'_>, recipe: &Recipe) -> Rewritten {
    let mut flow = Flow::new(along, recipe, Draft::new(along.model));
    flow.statics();
    for segment in 0..recipe.segments.len() {
        flow.run(segment);
    }
    let outputs = along.model.body.outputs.clone();
    for output in outputs {
        flow.whole(output);
    }
    flow.draft.finish()
}

/// What one segment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    /// The most bytes that are alive at once while it runs, nearly, with everything that is needed later.
    pub(crate) peak: u64,
    /// Its multiply-adds.
    pub(crate) multiply_adds: u64,
    /// How many nodes it becomes.
    pub(crate) nodes: u64,
    /// The most bytes that one of them touches, nearly.
    pub(crate) widest: u64,
    /// What they cost beside their arithmetic.
    pub(crate) overhead: u64,
}

/// Runs one segment of a recipe alone, and keeps nothing. What comes in is in pieces, or whole.
pub(crate) fn trial(along: &Along<'_>, recipe: &Recipe, segment: usize, in_pieces: bool) -> Trial {
    let mut flow = Flow::new(along, recipe, Draft::trial(along.model));
    let (beside, at_first) = flow.set_out(segment, in_pieces);
    flow.run(segment);
    let at_last = flow.left();
    let rewritten = flow.draft.finish();
    let nodes = rewritten.model.body.nodes.len() as u64;
    let (bytes, multiply_adds) = (flow.bytes, flow.multiply_adds);
    let peak = beside + estimate(&rewritten.model, &bytes, &at_first, &at_last);
    let widest = widest(&rewritten.model, &bytes);
    let moved = |id: TensorId| bytes.get(id.index()).copied().unwrap_or(0);
    let is_stored = |id: &TensorId| along.statics.get(id.index()).copied().unwrap_or(false);
    let stored = |id: TensorId| Some(id).filter(is_stored).map_or(0, |id| along.bytes(id));
    let overhead = overhead(&rewritten.model, moved, stored);
    Trial { peak, multiply_adds, nodes, widest, overhead }
}

struct Flow<'a> {
    along: &'a Along<'a>,
    recipe: &'a Recipe,
    draft: Draft,
    /// By tensor of the new model.
    bytes: Vec<u64>,
    /// By tensor of the source.
    pieces: Vec<Pieces>,
    /// By node, how many rows it has made, or, if it reduces them, read.
    progress: Vec<u64>,
    /// By node, how many rows that is in the end; 1 for a node that runs whole.
    length: Vec<u64>,
    /// By node, what has been added up so far.
    sums: Vec<Option<TensorId>>,
    /// By tensor of the source, whether a node makes it under its own id.
    is_made: Vec<bool>,
    /// By node, its segment.
    segment_of: Vec<usize>,
    /// By node, the last segment that computes it once more, if one does.
    restarted_in: Vec<Option<usize>>,
    /// The segment that runs.
    segment: usize,
    /// By node, whether it waits for the driver of the segment that runs.
    driven: Vec<bool>,
    driver: Option<TensorId>,
    /// How many rows of the driver may be read by now.
    allowance: u64,
    /// Whether nodes wait for those that read the same rows.
    waits: bool,
    /// What has been computed so far.
    multiply_adds: u64,
    /// Bounds of slices by their numbers, which many have in common.
    ints: BTreeMap<Vec<i64>, TensorId>,
    /// Other stored numbers, by dims and bits.
    floats: BTreeMap<(Vec<u64>, Vec<u64>), TensorId>,
}

impl<'a> Flow<'a> {
    fn new(along: &'a Along<'a>, recipe: &'a Recipe, draft: Draft) -> Self {
        let nodes = along.model.body.nodes.len();
        let length = |node: usize| match &along.courses[node] {
            Course::Rows { .. } => {
                let made = along.model.body.nodes[node].outputs.iter().flatten().next();
                made.and_then(|made| along.axis(*made)).map_or(1, |axis| axis.rows)
            }
            Course::Gather(_) => {
                let read = along.model.body.nodes[node].inputs[0];
                read.and_then(|read| along.axis(read)).map_or(1, |axis| axis.rows)
            }
            Course::Whole => 1,
        };
        let mut flow = Flow {
            draft,
            bytes: (0..along.model.tensors.len())
                .map(|at| if along.statics[at] { 0 } else { along.bytes(TensorId::new(at)) })
                .collect(),
            pieces: vec![Pieces::default(); along.model.tensors.len()],
            progress: vec![0; nodes],
            length: (0..nodes).map(length).collect(),
            sums: vec![None; nodes],
            is_made: vec![false; along.model.tensors.len()],
            segment_of: vec![usize::MAX; nodes],
            restarted_in: vec![None; nodes],
            segment: 0,
            driven: vec![false; nodes],
            driver: None,
            allowance: 0,
            waits: true,
            multiply_adds: 0,
            ints: BTreeMap::new(),
            floats: BTreeMap::new(),
            along,
            recipe,
        };
        for (at, segment) in recipe.segments.iter().enumerate() {
            segment.nodes.iter().for_each(|node| flow.segment_of[*node] = at);
            segment.restarted.iter().for_each(|node| flow.restarted_in[*node] = Some(at));
        }
        for input in &along.model.body.inputs {
            flow.pieces[input.index()] = Pieces::outside(*input, along.axis(*input));
        }
        flow
    }

    /// A name that follows from that of a tensor of the source.
    fn named(&self, tensor: TensorId, suffix: &str) -> String {
        if self.draft.is_trial() {
            return String::new();
        }
        format!("{}{suffix}", self.along.model.tensor(tensor).name)
    }

    fn node(&self, node: usize) -> &'a ModelNode {
        &self.along.model.body.nodes[node]
    }

    /// Pretends that all segments before one have run. Returns the bytes that only later ones read, and the tensors
    /// that are there.
    fn set_out(&mut self, segment: usize, in_pieces: bool) -> (u64, Vec<TensorId>) {
        for before in &self.recipe.segments[..segment] {
            before.nodes.iter().for_each(|node| self.progress[*node] = self.length[*node]);
        }
        self.segment = segment;
        let (mut beside, mut there) = (0, Vec::new());
        let made = self.recipe.segments[..segment].iter().flat_map(|before| &before.nodes);
        let made: Vec<TensorId> =
            made.flat_map(|node| self.node(*node).outputs.iter().flatten().copied()).collect();
        for tensor in made {
            let readers = &self.along.readers[tensor.index()];
            let maker = self.along.makers[tensor.index()];
            // Whoever reads it when it is computed once more does not need it until then.
            let remade = maker.and_then(|maker| self.restarted_in[maker]);
            let remade = remade.filter(|at| *at >= segment);
            let is_later = |at: usize| at >= segment && remade.is_none_or(|remade| at < remade);
            let later = readers.iter().any(|reader| is_later(self.segment_of[*reader]));
            let outside = maker.is_some_and(|maker| self.is_again(maker));
            if outside || !(later || self.along.model.body.outputs.contains(&tensor)) {
                continue;
            }
            if !readers.iter().any(|reader| self.is_in(*reader)) {
                beside += self.bytes[tensor.index()];
                continue;
            }
            // A segment in one step has to put pieces together first.
            let share = self.recipe.segments[segment].steps.max(4);
            if let Some(axis) = self.along.axis(tensor).filter(|_| in_pieces) {
                there.extend(self.in_pieces(tensor, axis.rows, share));
            } else {
                self.pieces[tensor.index()] = Pieces::whole(tensor, self.along.axis(tensor));
                there.push(tensor);
            }
        }
        (beside, there)
    }

    /// The tensors that somebody needs later.
    fn left(&self) -> Vec<TensorId> {
        let mut left: Vec<TensorId> = self.pieces.iter().flat_map(Pieces::ids).collect();
        for segment in &self.recipe.segments[..=self.segment] {
            let made =
                segment.nodes.iter().flat_map(|node| self.node(*node).outputs.iter().flatten());
            let is_read_later = |tensor: &&TensorId| {
                let readers = &self.along.readers[tensor.index()];
                readers.iter().any(|reader| !self.is_done(*reader))
            };
            left.extend(
                made.filter(|made| self.along.axis(**made).is_none()).filter(is_read_later),
            );
        }
        left
    }

    /// Nodes that are computed once, before the first run, stay as they are. Where they ask for the shape of
    /// something that is not there as a whole, the answer takes their place.
    fn statics(&mut self) {
        let runs: BTreeSet<usize> = self.along.order.iter().copied().collect();
        for at in (0..self.along.model.body.nodes.len()).filter(|node| !runs.contains(node)) {
            let node = self.node(at);
            let mut reads = node.inputs.iter().flatten();
            let asks = reads.any(|read| self.along.makers[read.index()].is_some());
            let known = node.outputs.iter().map(|made| made.and_then(|made| self.along.ints(made)));
            match (asks, known.collect::<Option<Vec<_>>>().as_deref()) {
                (true, Some([ints])) => {
                    let dims = node.outputs[0].and_then(|made| self.along.dims(made));
                    let answer = self.draft.ints_of(&node.name, ints, &dims.unwrap_or_default());
                    let inputs = [Some(answer)];
                    self.draft.node_into(
                        &node.name,
                        Operator::Identity,
                        &inputs,
                        &node.outputs,
                        None,
                    );
                }
                _ => self.draft.keep(at),
            }
        }
    }

    /// Runs a segment.
    fn run(&mut self, at: usize) {
        let segment = &self.recipe.segments[at];
        self.segment = at;
        for node in &segment.restarted {
            (self.progress[*node], self.sums[*node]) = (0, None);
            for made in self.node(*node).outputs.iter().flatten() {
                self.pieces[made.index()] = Pieces::default();
            }
        }
        self.choose_driver(segment);
        let region = self.begin(segment);
        self.waits = true;
        let rows =
            self.driver.and_then(|driver| self.along.axis(driver)).map_or(0, |axis| axis.rows);
        let mut last = 0;
        for step in 1.. {
            self.draft.enter(region.map(|region| Stage { region, step: last }));
            self.allowance = (rows * step).div_ceil(segment.steps).min(rows);
            let mut moved = false;
            for node in &segment.nodes {
                moved |= self.driven[*node] && self.advance(*node);
            }
            if !moved && self.allowance == rows && !self.waits {
                break;
            }
            // If all wait for each other, one step goes on without.
            self.waits = moved;
            last += u64::from(moved);
        }
        let last = last.saturating_sub(1);
        self.draft.enter(region.map(|region| Stage { region, step: last }));
        for node in &segment.nodes {
            self.finish(*node);
        }
        if let Some(region) = region {
            self.draft.settle(region, Way::Flow { steps: last + 1 });
        }
        self.draft.enter(None);
    }

    /// Says what a segment does otherwise; the region that its nodes are in, if it is in several steps.
    fn begin(&mut self, segment: &Segment) -> Option<usize> {
        if self.draft.is_trial() {
            return None;
        }
        if !segment.restarted.is_empty() {
            self.draft.begin(Way::Again, &segment.restarted);
        }
        let again = segment.nodes.iter().copied().filter(|node| self.is_again(*node));
        let again: Vec<usize> = again.collect();
        if !again.is_empty() {
            self.draft.begin(Way::EveryWindow, &again);
        }
        let way = Way::Flow { steps: segment.steps };
        (segment.steps > 1).then(|| self.draft.begin(way, &segment.nodes))
    }

    /// Of the tensors that come into a segment by rows the one that most nodes wait for.
    fn choose_driver(&mut self, segment: &Segment) {
        let mut candidates: Vec<TensorId> = Vec::new();
        for node in &segment.nodes {
            for (operand, by_rows) in self.along.operands(*node) {
                let inside =
                    self.along.makers[operand.index()].is_some_and(|maker| self.is_in(maker));
                let own = inside || self.along.statics[operand.index()];
                if by_rows && !own && !candidates.contains(&operand) {
                    candidates.push(operand);
                }
            }
        }
        let waiting = candidates.iter().map(|driver| (self.waiting(segment, *driver), *driver));
        let best =
            waiting.map(|(driven, driver)| (driven.iter().filter(|d| **d).count(), driven, driver));
        let best = best.reduce(|best, other| if other.0 > best.0 { other } else { best });
        self.driver = best.as_ref().map(|best| best.2);
        self.driven = best.map_or_else(|| vec![false; self.length.len()], |best| best.1);
    }

    /// Whether a node belongs to the segment that runs.
    fn is_in(&self, node: usize) -> bool {
        self.segment_of[node] == self.segment || self.restarted_in[node] == Some(self.segment)
    }

    /// By node, whether it is in the segment and waits for a tensor.
    fn waiting(&self, segment: &Segment, awaited: TensorId) -> Vec<bool> {
        let mut waiting = vec![false; self.length.len()];
        for node in &segment.nodes {
            let waits = |operand: &TensorId| {
                let maker = self.along.makers[operand.index()];
                *operand == awaited || maker.is_some_and(|maker| waiting[maker])
            };
            waiting[*node] = self.node(*node).inputs.iter().flatten().any(waits);
        }
        waiting
    }

    fn is_again(&self, node: usize) -> bool {
        self.recipe.again.contains(&node)
    }

    fn is_done(&self, node: usize) -> bool {
        self.progress[node] >= self.length[node]
    }

    /// How many rows of an operand can be had now.
    fn available(&self, tensor: TensorId) -> u64 {
        let rows = self.along.axis(tensor).map_or(1, |axis| axis.rows);
        if self.driver == Some(tensor) {
            return self.allowance;
        }
        match self.along.makers[tensor.index()] {
            Some(maker) if self.driven[maker] && self.is_again(maker) => self.ready(maker),
            Some(maker) if self.driven[maker] && !self.is_done(maker) => {
                match self.along.courses[maker] {
                    Course::Rows { .. } => self.progress[maker],
                    Course::Gather(_) | Course::Whole => 0,
                }
            }
            _ => rows,
        }
    }

    /// Whether all of a tensor can be had now.
    fn is_complete(&self, tensor: TensorId) -> bool {
        self.available(tensor) >= self.along.axis(tensor).map_or(1, |axis| axis.rows)
    }

    /// How many rows a node could have made by now.
    fn ready(&self, node: usize) -> u64 {
        let Course::Rows { lanes } = &self.along.courses[node] else { return 0 };
        let ready =
            self.node(node).inputs.iter().zip(lanes).map(|(operand, lane)| match (operand, lane) {
                (None, _) => u64::MAX,
                (Some(operand), None) if self.is_complete(*operand) => u64::MAX,
                (Some(_), None) => 0,
                (Some(operand), Some(lane)) => lane.ready(self.available(*operand)),
            });
        ready.min().unwrap_or(0).min(self.length[node])
    }

    /// Computes what a node can now, at most its share of a step. Whether that was anything.
    fn advance(&mut self, node: usize) -> bool {
        if self.is_again(node) || self.is_done(node) {
            return false;
        }
        let (from, share) = (self.progress[node], self.share(node));
        let to = match &self.along.courses[node] {
            Course::Rows { .. } => self.ready(node),
            Course::Gather(_) => self.node(node).inputs[0].map_or(0, |read| self.available(read)),
            Course::Whole => {
                let mut read = self.node(node).inputs.iter().flatten();
                u64::from(read.all(|read| self.is_complete(*read)))
            }
        };
        let to = to.min(from + share);
        let to = if self.waits && self.is_ahead(node) { from } else { to };
        if to > from && !self.compute_in_parts(node) {
            self.compute(node, from..to);
        }
        to > from
    }

    /// Whether a node is far ahead of others that read the same rows: going on would let go of nothing.
    fn is_ahead(&self, node: usize) -> bool {
        let slack = 16.max(4 * self.share(node));
        self.along.companions[node].iter().any(|(operand, other)| {
            let inside = self.driven[*other] && !self.is_again(*other);
            let behind = self.read_from(*other, *operand).saturating_add(slack);
            inside && behind < self.read_from(node, *operand)
        })
    }

    /// Computes a chain in parts of its channels, if it begins with the node and this segment is one step.
    fn compute_in_parts(&mut self, node: usize) -> bool {
        let recipe = self.recipe;
        let Some((chain, parts)) = recipe.parts.get(&node) else { return false };
        let steps = recipe.segments[self.segment].steps;
        if steps > 1 || chain.nodes.iter().any(|node| !self.is_in(*node) || self.is_again(*node)) {
            return false;
        }
        let Some(x) = self.node(node).inputs[0] else { return false };
        let read = self.whole(x);
        let region = self.draft.begin(Way::Channels { parts: *parts }, &chain.nodes);
        in_parts(self.along, chain, *parts, (read, region), self);
        self.draft.enter(None);
        for node in &chain.nodes {
            self.progress[*node] = self.length[*node];
            self.multiply_adds += self.along.multiply_adds[*node];
        }
        let made = chain.nodes.last().and_then(|last| self.node(*last).outputs[0]);
        if let Some(made) = made {
            self.is_made[made.index()] = true;
            self.pieces[made.index()] = Pieces::whole(made, self.along.axis(made));
        }
        self.trim(x);
        true
    }

    /// How many rows a node makes in a step at most.
    fn share(&self, node: usize) -> u64 {
        let steps = self.recipe.segments[self.segment].steps;
        let share = self.length[node].div_ceil(steps);
        let whole = match &self.along.courses[node] {
            Course::Rows { lanes } => lanes.iter().flatten().map(Lane::granule).max().unwrap_or(1),
            Course::Gather(_) | Course::Whole => 1,
        };
        share.next_multiple_of(whole)
    }

    /// Computes what is left of a node.
    fn finish(&mut self, node: usize) {
        if !self.is_again(node) && !self.is_done(node) {
            if self.compute_in_parts(node) {
                return;
            }
            self.compute(node, self.progress[node]..self.length[node]);
        }
    }

    /// Computes the next rows of a node, and lets go of what nobody needs any more.
    fn compute(&mut self, node: usize, run: Range<u64>) {
        match &self.along.courses[node] {
            Course::Rows { .. } => self.compute_rows(node, run.clone()),
            Course::Gather(gathering) => self.add_up(node, *gathering, run.clone()),
            Course::Whole => self.compute_whole(node),
        }
        self.progress[node] = run.end;
        let operands: Vec<TensorId> = self.node(node).inputs.iter().flatten().copied().collect();
        for operand in operands {
            self.trim(operand);
        }
    }

    fn compute_whole(&mut self, node: usize) {
        let source = self.node(node);
        for read in inner_reads(source).into_iter().chain(source.inputs.iter().flatten().copied()) {
            self.whole(read);
        }
        let inputs: Vec<_> =
            source.inputs.iter().map(|read| read.map(|read| self.whole(read))).collect();
        self.draft.node_into(
            &source.name,
            source.operator.clone(),
            &inputs,
            &source.outputs,
            Some(node),
        );
        self.multiply_adds += self.along.multiply_adds[node];
        for made in source.outputs.iter().flatten() {
            self.pieces[made.index()] = Pieces::whole(*made, self.along.axis(*made));
            self.is_made[made.index()] = true;
        }
    }
}

impl Adds for Flow<'_> {
    fn enter(&mut self, stage: Stage) {
        self.draft.enter(Some(stage));
    }

    fn add(&mut self, part: Part<'_>) -> TensorId {
        let (tensor, some, all) = part.of;
        let name = self.named(tensor, ".part");
        let made = if part.into { tensor } else { self.draft.tensor(&name) };
        self.draft.node_into(part.name, part.operator, &part.inputs, &[Some(made)], part.source);
        self.note(made, self.along.bytes(tensor) / all * some);
        made
    }

    fn stored_part(&mut self, tensor: TensorId, axis: usize, from: u64, to: u64) -> TensorId {
        let part = self.sliced_at(tensor, axis, tensor, &(from..to));
        self.note(part, 0);
        part
    }
}

/// What the bodies of a node read beside its operands: they name tensors of the source.
fn inner_reads(node: &ModelNode) -> Vec<TensorId> {
    fn within(body: &plimsoll_model::Body, reads: &mut Vec<TensorId>) {
        for node in &body.nodes {
            reads.extend(node.inputs.iter().flatten());
            reads.extend(inner_reads(node));
        }
        reads.extend(&body.outputs);
    }
    let mut reads = Vec::new();
    match &node.operator {
        Operator::If(branches) => {
            within(&branches.then, &mut reads);
            within(&branches.otherwise, &mut reads);
        }
        Operator::Loop(body) => within(body, &mut reads),
        Operator::Scan(iteration) => within(&iteration.body, &mut reads),
        _ => {}
    }
    reads
}
