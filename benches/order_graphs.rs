//! Networks to compare orders of execution on, made with the builder; for the benchmark `orders`
//! and for the test of the same name.

use plimsoll::{Execution, ValueId};
use plimsoll_graph::{Dtype, Graph, GraphBuilder, Op};
use plimsoll_pack::testing::Rng;

/// Samples that come out of a vocoder for each frame that goes in.
const RATES: [u64; 4] = [8, 8, 2, 2];

/// A graph that is being made: nodes are numbered.
struct Maker {
    graph: GraphBuilder,
    nodes: usize,
}

impl Maker {
    fn new(execution: Execution) -> Self {
        let mut graph = GraphBuilder::new();
        graph.execution(execution);
        Maker { graph, nodes: 0 }
    }

    fn input(&mut self, shape: [u64; 2]) -> ValueId {
        self.graph.input("x", Dtype::F32, shape).expect("a fresh name")
    }

    fn op(&mut self, op: Op, inputs: &[ValueId], shape: [u64; 2]) -> ValueId {
        self.nodes += 1;
        let name = format!("n{}", self.nodes);
        self.graph.op(&name, op, inputs, Dtype::F32, shape).expect("a fresh name")
    }

    fn finish(mut self, output: ValueId) -> Graph {
        self.graph.output(output);
        self.graph.finish().expect("a valid graph")
    }
}

/// A vocoder like HiFi-GAN on 1000 frames: four times an upsampling convolution and so many
/// residual blocks side by side, which are summed. With one block, every step reads what the step
/// before it has written: the graph is a chain, with skip connections beside it.
pub(crate) fn vocoder(execution: Execution, blocks: usize) -> Graph {
    let mut net = Maker::new(execution);
    let (mut channels, mut length) = (512, 1000);
    let mel = net.input([80, length]);
    let mut x = net.op(Op::Conv, &[mel], [channels, length]);
    for rate in RATES {
        (channels, length) = (channels / 2, length * rate);
        let shape = [channels, length];
        x = net.op(Op::Unary, &[x], [channels * 2, length / rate]);
        x = net.op(Op::ConvTranspose, &[x], shape);
        let ends: Vec<ValueId> = (0..blocks).map(|_| residual_block(&mut net, x, shape)).collect();
        x = ends.into_iter().reduce(|a, b| net.op(Op::Binary, &[a, b], shape)).expect("a block");
        x = net.op(Op::Unary, &[x], shape);
    }
    x = net.op(Op::Conv, &[x], [1, length]);
    x = net.op(Op::Unary, &[x], [1, length]);
    net.finish(x)
}

/// Three times: two activated convolutions, and what went in added to what comes out.
fn residual_block(net: &mut Maker, mut x: ValueId, shape: [u64; 2]) -> ValueId {
    for _ in 0..3 {
        let mut y = x;
        for _ in 0..2 {
            y = net.op(Op::Unary, &[y], shape);
            y = net.op(Op::Conv, &[y], shape);
        }
        x = net.op(Op::Binary, &[y, x], shape);
    }
    x
}

/// A stack of transformer blocks: 512 tokens, width 768, 12 heads.
pub(crate) fn transformer(execution: Execution, blocks: usize) -> Graph {
    let (tokens, width, heads) = (512, 768, 12);
    let (flat, wide, scores) = ([tokens, width], [tokens, 4 * width], [heads * tokens, tokens]);
    let mut net = Maker::new(execution);
    let input = net.input(flat);
    let mut x = net.op(Op::MatMul, &[input], flat);
    for _ in 0..blocks {
        let normed = net.op(Op::Norm, &[x], flat);
        let [q, k, v] = [(); 3].map(|()| net.op(Op::MatMul, &[normed], flat));
        let logits = net.op(Op::MatMul, &[q, k], scores);
        let weights = net.op(Op::Softmax, &[logits], scores);
        let mixed = net.op(Op::MatMul, &[weights, v], flat);
        let projected = net.op(Op::MatMul, &[mixed], flat);
        x = net.op(Op::Binary, &[projected, x], flat);
        let normed = net.op(Op::Norm, &[x], flat);
        let up = net.op(Op::MatMul, &[normed], wide);
        let active = net.op(Op::Unary, &[up], wide);
        let down = net.op(Op::MatMul, &[active], flat);
        x = net.op(Op::Binary, &[down, x], flat);
    }
    net.finish(x)
}

/// A random graph of custom ops of 1 to 64 KiB, about so many branches wide: a node reads the
/// value that has waited longest, once that many wait, and up to two of the eight before it.
pub(crate) fn random(execution: Execution, nodes: usize, width: usize) -> Graph {
    let mut rng = Rng::new(1);
    let mut net = Maker::new(execution);
    let input = net.input([1, 256]);
    let mut values = vec![net.op(Op::Custom, &[input], [1, 256])];
    let mut unread = values.clone();
    while net.nodes < nodes {
        let mut reads = Vec::new();
        if unread.len() >= width {
            reads.push(unread.remove(0));
        }
        for _ in reads.len()..=rng.below(3) as usize {
            let back = rng.below(values.len().min(8) as u64) as usize;
            let read = values[values.len() - 1 - back];
            unread.retain(|value| *value != read);
            reads.push(read);
        }
        let made = net.op(Op::Custom, &reads, [rng.within(1..65), 256]);
        values.push(made);
        unread.push(made);
    }
    let last = net.op(Op::Custom, &unread, [1, 256]);
    net.finish(last)
}
