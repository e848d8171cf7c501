//! Small models, each with something that models have.

use super::net::{Net, NetGraph, NetTensor, dtypes};

/// Codes of builtin operators.
mod code {
    pub(super) const ADD: i32 = 0;
    pub(super) const CONCATENATION: i32 = 2;
    pub(super) const RELU: i32 = 19;
    pub(super) const RESHAPE: i32 = 22;
    pub(super) const SVDF: i32 = 27;
    pub(super) const CUSTOM: i32 = 32;
    pub(super) const PAD: i32 = 34;
    pub(super) const MEAN: i32 = 40;
    pub(super) const SPLIT: i32 = 49;
    pub(super) const REDUCE_MAX: i32 = 82;
    pub(super) const ABS: i32 = 101;
    pub(super) const IF: i32 = 118;
    pub(super) const WHILE: i32 = 119;
    pub(super) const LESS: i32 = 58;
    pub(super) const CALL_ONCE: i32 = 129;
}

/// Numbers of kinds of options.
mod options {
    pub(super) const SVDF: u8 = 6;
    pub(super) const CONCATENATION: u8 = 10;
    pub(super) const ADD: u8 = 11;
    pub(super) const PAD: u8 = 22;
    pub(super) const REDUCER: u8 = 27;
    pub(super) const IF: u8 = 92;
    pub(super) const WHILE: u8 = 93;
    pub(super) const CALL_ONCE: u8 = 103;
}

/// All of them, by name.
#[must_use]
pub fn samples() -> Vec<(&'static str, Net)> {
    vec![
        ("branches", branches(6, 512)),
        ("choice", choice()),
        ("twice", twice()),
        ("loop", counting()),
        ("state", state()),
        ("parts", parts()),
    ]
}

/// Branches that are large inside and small at their ends, all begun before any is finished: an input of 16
/// numbers is padded to so many, and the largest of them is taken.
#[must_use]
pub fn branches(count: i32, wide: i32) -> Net {
    let mut graph = NetGraph::default();
    let x = graph.input("x", dtypes::F32, &[1, 16]);
    let pads = graph.ints("pads", &[2, 2], &[0, 0, 0, wide - 16]);
    let axis = graph.ints("axis", &[1], &[1]);
    let mut large = Vec::new();
    for branch in 0..count {
        let padded = graph.tensor(&format!("padded{branch}"), dtypes::F32, &[1, wide]);
        graph.op(code::PAD, &[x, pads], &[padded]).options = Some((options::PAD, vec![]));
        large.push(padded);
    }
    for (branch, large) in large.iter_mut().enumerate() {
        for (what, code) in [("relu", code::RELU), ("abs", code::ABS)] {
            let made = graph.tensor(&format!("{what}{branch}"), dtypes::F32, &[1, wide]);
            graph.op(code, &[*large], &[made]);
            *large = made;
        }
    }
    let mut sum = None;
    for (branch, large) in large.iter().enumerate() {
        let most = graph.tensor(&format!("most{branch}"), dtypes::F32, &[1, 1]);
        graph.op(code::REDUCE_MAX, &[*large, axis], &[most]).options =
            Some((options::REDUCER, vec![1]));
        sum = Some(match sum {
            None => most,
            Some(sum) => {
                let added = graph.tensor(&format!("sum{branch}"), dtypes::F32, &[1, 1]);
                graph.op(code::ADD, &[sum, most], &[added]).options = Some((options::ADD, vec![0]));
                added
            }
        });
    }
    graph.outputs.extend(sum);
    Net::of(graph)
}

/// A subgraph of one operator from a vector to a vector.
fn one_operator(code: i32, dims: &[i32]) -> NetGraph {
    let mut graph = NetGraph::default();
    let x = graph.input("x", dtypes::F32, dims);
    let y = graph.tensor("y", dtypes::F32, dims);
    graph.op(code, &[x], &[y]);
    graph.outputs = vec![y];
    graph
}

/// One of two subgraphs runs.
#[must_use]
pub fn choice() -> Net {
    let mut graph = NetGraph::default();
    let condition = graph.input("condition", dtypes::BOOL, &[1]);
    let x = graph.input("x", dtypes::F32, &[64]);
    let before = graph.tensor("before", dtypes::F32, &[64]);
    let chosen = graph.tensor("chosen", dtypes::F32, &[64]);
    let y = graph.tensor("y", dtypes::F32, &[64]);
    graph.op(code::ABS, &[x], &[before]);
    graph.op(code::IF, &[condition, before], &[chosen]).options = Some((options::IF, vec![1, 2]));
    graph.op(code::RELU, &[chosen], &[y]);
    graph.outputs = vec![y];
    let subgraphs = vec![graph, one_operator(code::RELU, &[64]), one_operator(code::ABS, &[64])];
    Net { subgraphs, metadata: vec![("made by".to_owned(), b"a test".to_vec())] }
}

/// The same subgraphs are called a second time.
#[must_use]
pub fn twice() -> Net {
    let mut net = choice();
    let graph = &mut net.subgraphs[0];
    let y = graph.outputs[0];
    let again = graph.tensor("again", dtypes::F32, &[64]);
    graph.op(code::IF, &[0, y], &[again]).options = Some((options::IF, vec![1, 2]));
    graph.outputs = vec![again];
    net
}

/// A subgraph runs as long as another says so.
#[must_use]
pub fn counting() -> Net {
    let mut graph = NetGraph::default();
    let x = graph.input("x", dtypes::I32, &[1]);
    let y = graph.tensor("y", dtypes::I32, &[1]);
    graph.op(code::WHILE, &[x], &[y]).options = Some((options::WHILE, vec![1, 2]));
    graph.outputs = vec![y];

    let mut condition = NetGraph::default();
    let x = condition.input("x", dtypes::I32, &[1]);
    let limit = condition.ints("limit", &[1], &[10]);
    let goes_on = condition.tensor("goes on", dtypes::BOOL, &[1]);
    condition.op(code::LESS, &[x, limit], &[goes_on]);
    condition.outputs = vec![goes_on];

    let mut body = NetGraph::default();
    let x = body.input("x", dtypes::I32, &[1]);
    let one = body.ints("one", &[1], &[1]);
    let more = body.tensor("more", dtypes::I32, &[1]);
    body.op(code::ADD, &[x, one], &[more]).options = Some((options::ADD, vec![0]));
    body.outputs = vec![more];
    Net { subgraphs: vec![graph, condition, body], metadata: Vec::new() }
}

/// Something is set up once, kept from run to run, and read by an operator with scratch memory.
#[must_use]
pub fn state() -> Net {
    let mut graph = NetGraph::default();
    let x = graph.input("x", dtypes::I8, &[1, 8]);
    let weights = |name: &str, dims: &[i32], bytes: usize| NetTensor {
        name: name.to_owned(),
        dims: dims.to_vec(),
        dtype: dtypes::I8,
        data: vec![1; bytes],
        is_variable: false,
    };
    let is_variable =
        NetTensor { data: Vec::new(), is_variable: true, ..weights("state", &[1, 24], 0) };
    graph.tensors.extend([
        weights("features", &[6, 8], 48),
        weights("times", &[6, 4], 24),
        is_variable,
        // Four bits each: half a byte in the file, and a byte in the arena.
        NetTensor { dtype: dtypes::I4, ..weights("packed", &[1, 3], 2) },
    ]);
    let y = graph.tensor("y", dtypes::I8, &[1, 3]);
    graph.op(code::CALL_ONCE, &[], &[]).options = Some((options::CALL_ONCE, vec![1]));
    graph.op(code::SVDF, &[x, 1, 2, -1, 3], &[y]).options = Some((options::SVDF, vec![2]));
    let z = graph.tensor("z", dtypes::I4, &[1, 3]);
    graph.op(code::CUSTOM, &[y, 4], &[z]).custom = String::from("Mystery");
    graph.outputs = vec![z];
    let mut once = NetGraph::default();
    let zeros = once.tensor("zeros", dtypes::I8, &[1, 24]);
    once.op(code::CUSTOM, &[], &[zeros]).custom = String::from("Mystery");
    Net { subgraphs: vec![graph, once], metadata: Vec::new() }
}

/// Views and parts: a reshape, a split along an outer axis, a concat, and a mean.
#[must_use]
pub fn parts() -> Net {
    let mut graph = NetGraph::default();
    let x = graph.input("x", dtypes::F32, &[4, 16]);
    let doubled = graph.tensor("doubled", dtypes::F32, &[4, 16]);
    let dims = graph.ints("dims", &[2], &[2, 32]);
    let shaped = graph.tensor("shaped", dtypes::F32, &[2, 32]);
    let outer = graph.ints("outer", &[], &[0]);
    let top = graph.tensor("top", dtypes::F32, &[1, 32]);
    let bottom = graph.tensor("bottom", dtypes::F32, &[1, 32]);
    let joined = graph.tensor("joined", dtypes::F32, &[2, 32]);
    let axis = graph.ints("axis", &[1], &[1]);
    let mean = graph.tensor("mean", dtypes::F32, &[2, 1]);
    graph.op(code::ADD, &[x, x], &[doubled]).options = Some((options::ADD, vec![0]));
    graph.op(code::RESHAPE, &[doubled, dims], &[shaped]);
    graph.op(code::SPLIT, &[outer, shaped], &[top, bottom]);
    graph.op(code::CONCATENATION, &[bottom, top], &[joined]).options =
        Some((options::CONCATENATION, vec![-2]));
    graph.op(code::MEAN, &[joined, axis], &[mean]).options = Some((options::REDUCER, vec![1]));
    graph.outputs = vec![mean];
    Net::of(graph)
}
