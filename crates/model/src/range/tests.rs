//! Plans for ranges, looked at in every size of them by a replay that knows nothing of proofs.

mod random;
mod real;
mod replay;

use plimsoll::verify::VerifiedPlan;
use plimsoll::{Options, ValueId, plan};
use plimsoll_graph::{Dtype, LoweringOptions, ScheduledGraph};

use super::*;
use crate::model::{
    Axis, Binary, Body, Content, Model, ModelNode, Operator, Origin, Tensor, TensorId, Unary,
};

/// A model in the making.
#[derive(Clone, Default)]
struct Build {
    model: Model,
}

impl Build {
    /// An input whose dims are symbols or numbers.
    fn input(&mut self, name: &str, dims: &[&str]) -> TensorId {
        let axis = |dim: &&str| match dim.parse() {
            Ok(dim) => Axis::Known(dim),
            Err(_) => Axis::Symbol((*dim).to_owned()),
        };
        let dims = Some(dims.iter().map(axis).collect());
        let id = self.model.add(Tensor {
            origin: Origin::Caller,
            dtype: Some(Dtype::F32),
            dims,
            ..Tensor::computed(name)
        });
        self.model.body.inputs.push(id);
        id
    }

    fn list(&mut self, ints: &[i64]) -> TensorId {
        let name = format!("list{}", self.model.tensors.len());
        let content = Some(Content::Ints(ints.to_vec()));
        let dims = [ints.len() as u64];
        self.model.add(Tensor { content, ..Tensor::stored(name, Dtype::I64, &dims) })
    }

    fn nodes(&mut self, operator: Operator, inputs: &[TensorId], count: usize) -> Vec<TensorId> {
        let inputs = inputs.iter().copied().map(Some).collect();
        let mut outputs = Vec::new();
        for _ in 0..count {
            let name = format!("v{}", self.model.tensors.len());
            outputs.push(self.model.add(Tensor::computed(name)));
        }
        let name = format!("n{}", self.model.body.nodes.len());
        let made = outputs.iter().copied().map(Some).collect();
        let kind = String::new();
        self.model.body.nodes.push(ModelNode { name, kind, operator, inputs, outputs: made });
        outputs
    }

    fn node(&mut self, operator: Operator, inputs: &[TensorId]) -> TensorId {
        self.nodes(operator, inputs, 1)[0]
    }

    fn exp(&mut self, x: TensorId) -> TensorId {
        self.node(Operator::Unary(Unary::Exp), &[x])
    }

    /// The number of elements along an axis, as a list of one.
    fn length(&mut self, x: TensorId, axis: i64) -> TensorId {
        self.node(Operator::Shape { start: axis, end: Some(axis + 1) }, &[x])
    }

    fn reckon(&mut self, function: Binary, a: TensorId, b: i64) -> TensorId {
        let b = self.list(&[b]);
        self.node(Operator::Binary(function), &[a, b])
    }

    fn finish(mut self, outputs: &[TensorId]) -> Model {
        let Body { inputs, nodes, .. } = self.model.body;
        self.model.body = Body { inputs, outputs: outputs.to_vec(), nodes };
        self.model
    }
}

fn range(symbol: &str, least: u64, most: u64) -> Range {
    Range { symbol: symbol.to_owned(), least, most }
}

fn largest(ranges: &[Range]) -> Bindings {
    let symbols = ranges.iter().map(|range| (range.symbol.clone(), range.most)).collect();
    Bindings { symbols, ..Bindings::default() }
}

/// Every size of ranges.
fn every(ranges: &[Range]) -> Vec<Bindings> {
    let mut all = vec![Bindings::default()];
    for range in ranges {
        let longer = |bindings: &Bindings, size: u64| {
            let mut longer = bindings.clone();
            longer.symbols.insert(range.symbol.clone(), size);
            longer
        };
        let sizes = || range.least..=range.most;
        all = all.iter().flat_map(|b| sizes().map(move |size| longer(b, size))).collect();
    }
    all
}

/// Plans a model for ranges and replays the plan at every size. Says what was proven, the bytes of
/// the arena, and at how many sizes the model runs.
fn planned(model: &Model, ranges: &[Range]) -> Result<(Proof, u64, usize), RangeError> {
    let ranged = over_ranges(model, &largest(ranges), ranges)?;
    let program = ScheduledGraph::new(&ranged.graph, &LoweringOptions::default()).expect("sizes");
    let options = Options::default().with_align(1);
    let plan: VerifiedPlan = plan(&program, &options).expect("a plan");
    let mut runs = 0;
    for bindings in every(ranges) {
        let Ok(there) = ranged.at(model, &bindings) else { continue };
        runs += 1;
        if let Err(why) = replay::replay(&program, &plan, &there) {
            panic!("at {:?}: {why}\n{}", bindings.symbols, listed(model));
        }
        let other = ScheduledGraph::new(&there, &LoweringOptions::default()).expect("sizes");
        if let Err(why) = plimsoll_graph::at_sizes::used_at(&program, &plan, &other) {
            panic!("at {:?}, verified: {why}\n{}", bindings.symbols, listed(model));
        }
    }
    Ok((ranged.proof, plan.banks.iter().map(|bank| bank.bytes).sum(), runs))
}

/// The nodes of a model, one a line.
fn listed(model: &Model) -> String {
    let names = |ids: &[Option<TensorId>]| {
        let name = |id: &TensorId| model.tensor(*id).name.clone();
        ids.iter().flatten().map(name).collect::<Vec<_>>().join(", ")
    };
    let line = |node: &ModelNode| {
        let (made, read) = (names(&node.outputs), names(&node.inputs));
        format!("{}: {made} = {:?}({read})", node.name, node.operator)
    };
    model.body.nodes.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn shown(model: &Model, ranges: &[Range]) -> (Proof, u64) {
    let (proof, bytes, _) = planned(model, ranges).unwrap_or_else(|error| panic!("{error}"));
    (proof, bytes)
}

#[test]
fn what_grows_with_its_dims_is_proven_as_a_whole() {
    let mut build = Build::default();
    let x = build.input("x", &["batch", "seq", "8"]);
    let a = build.exp(x);
    let dims = build.list(&[0, -1]);
    let flat = build.node(Operator::Reshape { allow_zero: false }, &[a, dims]);
    let b = build.exp(flat);
    let y = build.exp(b);
    let model = build.finish(&[y]);
    let (proof, bytes) = shown(&model, &[range("batch", 1, 4), range("seq", 1, 5)]);
    let sizes = Proof { sizes: 20, parts: 1, ..Proof::default() };
    assert_eq!((proof.method(), proof, bytes), ("symbolic", sizes, 4 * 5 * 8 * 4));
}

#[test]
fn a_value_that_is_largest_inside_has_that_size() {
    // seq * (10 - seq) is 0 at both ends.
    let mut build = Build::default();
    let x = build.input("x", &["seq"]);
    let length = build.length(x, 0);
    let ten = build.list(&[10]);
    let left = build.node(Operator::Binary(Binary::Sub), &[ten, length]);
    let dims = build.node(Operator::Concat { axis: 0 }, &[length, left]);
    let column = build.list(&[-1, 1]);
    let column = build.node(Operator::Reshape { allow_zero: false }, &[x, column]);
    let wide = build.node(Operator::Expand, &[column, dims]);
    let y = build.exp(wide);
    let model = build.finish(&[y]);
    let (proof, bytes) = shown(&model, &[range("seq", 1, 9)]);
    assert_eq!(bytes, 2 * 5 * 5 * 4, "neither takes over the other: sizes are given");
    let larger: Vec<u64> = proof.larger.into_values().collect();
    assert_eq!(larger, [100, 100]);
    assert_eq!((proof.sizes, proof.sizes_refused), (9, 0));
}

#[test]
fn a_view_that_is_none_inside_is_a_copy() {
    // At even sizes the transposed axis has one element.
    let mut build = Build::default();
    let x = build.input("x", &["seq", "2"]);
    let a = build.exp(x);
    let length = build.length(x, 0);
    let odd = build.reckon(Binary::Mod { as_in_c: false }, length, 2);
    let rows = build.reckon(Binary::Add, odd, 1);
    let ends = build.node(Operator::Concat { axis: 0 }, &[rows, rows]);
    let zero = build.list(&[0, 0]);
    let part = build.node(Operator::Slice, &[a, zero, ends]);
    let turned = build.node(Operator::Transpose(Some(vec![1, 0])), &[part]);
    let y = build.exp(turned);
    let model = build.finish(&[y, a]);
    let (proof, _) = shown(&model, &[range("seq", 2, 8)]);
    let given_up: Vec<_> = proof.given_up.iter().map(ToString::to_string).collect();
    assert_eq!(given_up, ["`v10` (not possible at seq=7)"]);
}

#[test]
fn who_reads_a_part_that_moves_reads_the_whole() {
    // The last half begins elsewhere at every size; the first is dead when the last is read.
    let mut build = Build::default();
    let x = build.input("x", &["seq"]);
    let a = build.exp(x);
    let halves = build.nodes(Operator::Split { axis: 0 }, &[a], 2);
    let first = build.exp(halves[0]);
    let first = build.exp(first);
    let last = build.node(Operator::Binary(Binary::Add), &[halves[1], first]);
    let model = build.finish(&[last]);
    let (proof, _, runs) = planned(&model, &[range("seq", 4, 16)]).expect("a plan");
    assert_eq!((proof.given_up, proof.sizes), (Vec::new(), 13));
    assert_eq!(runs, 7, "halves of odd sizes are not added");
}

/// An empty part is a view at one row, and none at more: there it is a copy next to a view.
#[test]
fn a_part_that_is_a_view_at_few_sizes_leaves_the_others_views() {
    let mut build = Build::default();
    let x = build.input("x", &["rows", "1"]);
    let a = build.exp(x);
    let parts = build.nodes(Operator::Split { axis: 1 }, &[a], 2);
    let y = build.exp(parts[0]);
    let model = build.finish(&[y, parts[1]]);
    let (proof, bytes, runs) = planned(&model, &[range("rows", 1, 3)]).expect("a plan");
    assert_eq!((proof.given_up, runs), (Vec::new(), 3));
    assert_eq!(bytes, 3 * 4, "the first part is a view of `a`, which `y` takes over");
}

/// The same where parts begin within a byte.
#[test]
fn a_part_that_begins_within_a_byte_leaves_the_others_views() {
    let mut build = Build::default();
    let x = build.input("x", &["columns"]);
    build.model.tensors[x.index()].dtype = Some(Dtype::I4);
    let a = build.exp(x);
    let parts = build.nodes(Operator::Split { axis: 0 }, &[a], 2);
    let y = build.exp(parts[0]);
    let z = build.exp(parts[1]);
    let model = build.finish(&[y, z]);
    let (_, _, runs) = planned(&model, &[range("columns", 4, 6)]).expect("a plan");
    assert_eq!(runs, 3);
}

#[test]
fn steps_that_are_static_at_some_sizes_are_steps_at_all() {
    // What is added is empty at both ends, and so a constant there.
    let mut build = Build::default();
    let x = build.input("x", &["seq", "2"]);
    let length = build.length(x, 0);
    let rest = build.reckon(Binary::Mod { as_in_c: false }, length, 4);
    let zero = build.list(&[0]);
    let part = build.node(Operator::Slice, &[x, zero, rest]);
    let fill = build.exp(part);
    let a = build.exp(x);
    let y = build.node(Operator::Concat { axis: 0 }, &[a, fill]);
    let model = build.finish(&[y]);
    let (proof, _) = shown(&model, &[range("seq", 4, 12)]);
    assert!(proof.larger.values().any(|bytes| *bytes == 3 * 2 * 4), "{:?}", proof.larger);
}

#[test]
fn sizes_at_which_the_model_cannot_run_need_no_plan() {
    let mut build = Build::default();
    let x = build.input("x", &["seq"]);
    let dims = build.list(&[-1, 4]);
    let a = build.node(Operator::Reshape { allow_zero: false }, &[x, dims]);
    let y = build.exp(a);
    let model = build.finish(&[y]);
    let (proof, _, runs) = planned(&model, &[range("seq", 1, 16)]).expect("a plan");
    assert_eq!((proof.method(), runs), ("symbolic", 4));
    let at_the_end = over_ranges(&model, &largest(&[range("seq", 1, 15)]), &[range("seq", 1, 15)]);
    assert!(matches!(at_the_end, Err(RangeError::Shape(ShapeError::Node { .. }))));
}

#[test]
fn other_steps_at_some_size_are_an_error() {
    let mut build = Build::default();
    let x = build.input("x", &["seq"]);
    let length = build.length(x, 0);
    let few = build.list(&[3]);
    let condition = build.node(Operator::Binary(Binary::Less), &[length, few]);
    let made = build.model.add(Tensor::computed("made"));
    let branch = |build: &mut Build, name: &str| {
        let output = build.model.add(Tensor::computed(format!("{name}_made")));
        let node = ModelNode {
            name: name.to_owned(),
            kind: String::new(),
            operator: Operator::Unary(Unary::Exp),
            inputs: vec![Some(x)],
            outputs: vec![Some(output)],
        };
        Body { inputs: Vec::new(), outputs: vec![output], nodes: vec![node] }
    };
    let (then, otherwise) = (branch(&mut build, "then"), branch(&mut build, "otherwise"));
    let branches = Box::new(crate::model::Branches { then, otherwise });
    build.model.body.nodes.push(ModelNode {
        name: "choice".to_owned(),
        kind: String::new(),
        operator: Operator::If(branches),
        inputs: vec![Some(condition)],
        outputs: vec![Some(made)],
    });
    let model = build.finish(&[made]);
    assert!(planned(&model, &[range("seq", 3, 8)]).is_ok());
    let error = planned(&model, &[range("seq", 1, 8)]).expect_err("two kinds of steps");
    let words =
        "no plan holds for the whole range: at seq=2, `otherwise` is another step or value there";
    assert_eq!(error.to_string(), words);
}

/// What is undecided within the limit of work is given up, not guessed.
#[test]
fn what_is_not_decided_is_given_up() {
    let mut build = Build::default();
    let x = build.input("x", &["a", "b"]);
    let (a, b) = (build.length(x, 0), build.length(x, 1));
    let both = build.node(Operator::Binary(Binary::Mul), &[a, b]);
    let rest = build.reckon(Binary::Mod { as_in_c: false }, both, 97);
    let zero = build.reckon(Binary::Mul, rest, 0);
    let rest = build.node(Operator::Binary(Binary::Sub), &[rest, zero]);
    let flat = build.list(&[-1]);
    let x = build.node(Operator::Reshape { allow_zero: false }, &[x, flat]);
    let start = build.list(&[0]);
    let part = build.node(Operator::Slice, &[x, start, rest]);
    let y = build.exp(part);
    let model = build.finish(&[y]);
    let ranges = [range("a", 1, 1 << 20), range("b", 1, 1 << 20)];
    let ranged = over_ranges(&model, &largest(&ranges), &ranges).expect("a graph");
    assert_eq!(ranged.proof.sizes, 1 << 40);
    assert!(ranged.proof.parts + ranged.proof.sizes_checked < WORK, "{:?}", ranged.proof);
    // 96 elements are the most, and their number is a limit if it is not met.
    let most: Vec<u64> = ranged.proof.larger.values().copied().collect();
    assert!(most.iter().all(|bytes| *bytes == 96 * 4), "{most:?}");
}
