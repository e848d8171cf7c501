//! Blocks of real models: for ranges they are planned as they are at the largest sizes.

use plimsoll::Program;

use super::*;
use crate::lower::infer;
use crate::model::{Convolution, GlobalPooling, Norm, Padding, Softmax, Windows};

/// The bytes of a plan.
fn arena(graph: &Graph) -> u64 {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes");
    let plan = plan(&program, &Options::default()).expect("a plan");
    plan.banks.iter().map(|bank| bank.bytes).sum()
}

/// What is proven of a model that has the arena of its largest sizes.
fn as_at_the_end(model: &Model, ranges: &[Range]) -> Proof {
    let ranged = over_ranges(model, &largest(ranges), ranges).unwrap_or_else(|e| panic!("{e}"));
    let end = infer(model, &largest(ranges)).expect("shapes");
    assert_eq!(arena(&ranged.graph), arena(&end.graph));
    ranged.proof
}

/// As many sizes as there are, shown as a whole.
fn at_once(sizes: u64) -> Proof {
    Proof { sizes, parts: 1, ..Proof::default() }
}

impl Build {
    fn weight(&mut self, dims: &[u64]) -> TensorId {
        let name = format!("w{}", self.model.tensors.len());
        self.model.add(Tensor::stored(name, Dtype::F32, dims))
    }

    fn linear(&mut self, x: TensorId, from: u64, to: u64) -> TensorId {
        let weight = self.weight(&[from, to]);
        self.node(Operator::MatMul, &[x, weight])
    }

    fn add(&mut self, a: TensorId, b: TensorId) -> TensorId {
        self.node(Operator::Binary(Binary::Add), &[a, b])
    }

    /// `[batch, seq, 32]` to `[batch, 4, seq, 8]`, by dims that are computed.
    fn heads(&mut self, x: TensorId) -> TensorId {
        let (batch, seq) = (self.length(x, 0), self.length(x, 1));
        let rest = self.list(&[4, 8]);
        let dims = self.node(Operator::Concat { axis: 0 }, &[batch, seq, rest]);
        let split = self.node(Operator::Reshape { allow_zero: false }, &[x, dims]);
        self.node(Operator::Transpose(Some(vec![0, 2, 1, 3])), &[split])
    }

    /// Attention over a `[batch, seq, 32]`, with keys of a cache before its own if there is one.
    fn attention(&mut self, x: TensorId, cache: Option<TensorId>) -> (TensorId, TensorId) {
        let [q, k, v] = [(); 3].map(|()| self.linear(x, 32, 32));
        let (q, k, v) = (self.heads(q), self.heads(k), self.heads(v));
        let join = |build: &mut Self, new: TensorId| match cache {
            Some(old) => build.node(Operator::Concat { axis: 2 }, &[old, new]),
            None => new,
        };
        let (k, v) = (join(self, k), join(self, v));
        let turned = self.node(Operator::Transpose(Some(vec![0, 1, 3, 2])), &[k]);
        let scores = self.node(Operator::MatMul, &[q, turned]);
        // Rows of a mask, from as many keys as there are before the queries.
        let (keys, queries) = (self.length(k, 2), self.length(q, 2));
        let before = self.node(Operator::Binary(Binary::Sub), &[keys, queries]);
        let mask = self.weight(&[64, 64]);
        let zero = self.list(&[0]);
        let starts = self.node(Operator::Concat { axis: 0 }, &[before, zero]);
        let ends = self.node(Operator::Concat { axis: 0 }, &[keys, keys]);
        let mask = self.node(Operator::Slice, &[mask, starts, ends]);
        let scores = self.add(scores, mask);
        let weights = self.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
        let mixed = self.node(Operator::MatMul, &[weights, v]);
        let back = self.node(Operator::Transpose(Some(vec![0, 2, 1, 3])), &[mixed]);
        let dims = self.list(&[0, 0, -1]);
        let flat = self.node(Operator::Reshape { allow_zero: false }, &[back, dims]);
        let out = self.linear(flat, 32, 32);
        (self.add(out, x), k)
    }

    fn conv(&mut self, x: TensorId, channels: [u64; 2], kernel: u64, stride: u64) -> TensorId {
        let weight = self.weight(&[channels[1], channels[0], kernel, kernel]);
        let pad = i64::try_from(kernel / 2).expect("a small window");
        let windows = Windows {
            kernel: Vec::new(),
            strides: vec![stride; 2],
            dilations: Vec::new(),
            padding: Padding::Given(vec![pad; 4]),
        };
        self.node(Operator::Conv(Convolution { windows, group: 1 }), &[x, weight])
    }
}

#[test]
fn an_encoder_is_proven_at_once_for_batch_and_length() {
    let mut build = Build::default();
    let x = build.input("x", &["batch", "seq", "32"]);
    let (a, _) = build.attention(x, None);
    let norm = build.node(Operator::Norm(Norm::Instance { epsilon: 1e-5 }), &[a]);
    let wide = build.linear(norm, 32, 128);
    let wide = build.exp(wide);
    let narrow = build.linear(wide, 128, 32);
    let y = build.add(narrow, a);
    let model = build.finish(&[y]);
    let proof = as_at_the_end(&model, &[range("batch", 1, 32), range("seq", 1, 64)]);
    assert_eq!(proof, at_once(32 * 64));
    shown(&model, &[range("batch", 1, 2), range("seq", 1, 3)]);
}

#[test]
fn a_decoder_is_proven_at_once_for_what_is_cached() {
    let mut build = Build::default();
    let x = build.input("x", &["batch", "seq", "32"]);
    let cache = build.input("cache", &["batch", "4", "past", "8"]);
    let (y, keys) = build.attention(x, Some(cache));
    let model = build.finish(&[y, keys]);
    let ranges = [range("batch", 1, 4), range("past", 1, 32), range("seq", 1, 32)];
    assert_eq!(as_at_the_end(&model, &ranges), at_once(4 * 32 * 32));
    shown(&model, &[range("batch", 1, 2), range("past", 1, 2), range("seq", 1, 3)]);
}

#[test]
fn a_network_of_windows_is_proven_at_once_for_height_and_width() {
    let mut build = Build::default();
    let x = build.input("x", &["batch", "3", "height", "width"]);
    let mut at = build.conv(x, [3, 8], 7, 2);
    for stride in [1, 2, 2] {
        let main = build.conv(at, [8, 8], 3, stride);
        let main = build.exp(main);
        let main = build.conv(main, [8, 8], 3, 1);
        let side = if stride == 1 { at } else { build.conv(at, [8, 8], 1, stride) };
        let sum = build.add(main, side);
        at = build.exp(sum);
    }
    let y = build.node(Operator::GlobalPool(GlobalPooling::Max), &[at]);
    let model = build.finish(&[y]);
    let ranges = [range("batch", 1, 8), range("height", 32, 256), range("width", 32, 256)];
    assert_eq!(as_at_the_end(&model, &ranges), at_once(8 * 225 * 225));
    shown(&model, &[range("batch", 1, 2), range("height", 7, 10), range("width", 8, 9)]);
}

#[test]
fn parts_of_one_tensor_are_views_wherever_they_begin() {
    // Queries, keys and values side by side, split along the outermost axis.
    let mut build = Build::default();
    let x = build.input("x", &["batch", "seq", "8"]);
    let both = build.exp(x);
    let joined = build.node(Operator::Concat { axis: 0 }, &[both, x, both]);
    let parts = build.nodes(Operator::Split { axis: 0 }, &[joined], 3);
    let sum = build.add(parts[0], parts[1]);
    let y = build.add(sum, parts[2]);
    let model = build.finish(&[y]);
    let ranges = [range("batch", 2, 8), range("seq", 1, 16)];
    let ranged = over_ranges(&model, &largest(&ranges), &ranges).expect("a graph");
    assert_eq!(ranged.proof, at_once(7 * 16));
    let program = ScheduledGraph::new(&ranged.graph, &LoweringOptions::default()).expect("sizes");
    let views = (0..program.values()).filter(|v| program.value(ValueId::new(*v)).view_of.is_some());
    assert_eq!(views.count(), 3, "each part");
    shown(&model, &[range("batch", 1, 3), range("seq", 1, 3)]);
}
