//! What attributes become: every one that changes what is computed, in the form of the newest edition.

use plimsoll_graph::Dtype;
use plimsoll_model::{
    ArgReduce, Attention, BatchNorm, Cell, Coordinates, Cumulate, DepthOrder, Direction, Gemm,
    GlobalPooling, Interpolation, Loss, LossReduction, Nearest, Norm, Operator, PadMode, Pooling,
    Quantization, Recurrence, Reduction, Resize, RowFunction, Scores, Softmax, Unary, Update,
};
use plimsoll_onnx::proto::NodeProto;
use plimsoll_onnx::proto::attribute_proto::AttributeType;
use plimsoll_onnx::read;
use plimsoll_onnx::testing::{
    F32, encode, float, floats, graph, int, ints, model, node, stored, tensor, text, value,
};

/// What a node of operands `x` becomes in an edition.
fn read_node(version: i64, node: NodeProto) -> Result<Operator, String> {
    let row = |name| value(name, F32, &[2, 3, 4, 5]);
    let proto = model(version, graph(vec![row("x")], vec![row("y")], vec![node]));
    let model = read(encode(&proto)).map_err(|error| error.to_string())?;
    Ok(model.body.nodes[0].operator.clone())
}

fn of(version: i64, node: NodeProto) -> Operator {
    read_node(version, node).unwrap_or_else(|error| panic!("{error}"))
}

fn x(kind: &str, operands: usize) -> NodeProto {
    node("n", kind, &vec!["x"; operands], &["y"])
}

fn texts(name: &str, values: &[&str]) -> plimsoll_onnx::proto::AttributeProto {
    let mut attribute = text(name, "");
    attribute.s = None;
    attribute.r#type = Some(AttributeType::Strings as i32);
    attribute.strings = values.iter().map(|value| value.as_bytes().to_vec().into()).collect();
    attribute
}

#[test]
fn functions_have_their_numbers_or_the_defaults() {
    let unary = |node| match of(22, node) {
        Operator::Unary(unary) => unary,
        other => panic!("{other:?}"),
    };
    assert_eq!(unary(x("LeakyRelu", 1)), Unary::LeakyRelu { alpha: 0.01 });
    let alpha = float("alpha", 0.25);
    assert_eq!(unary(x("Elu", 1).with(alpha.clone())), Unary::Elu { alpha: 0.25 });
    let hard = Unary::HardSigmoid { alpha: 0.25, beta: 0.5 };
    assert_eq!(unary(x("HardSigmoid", 1).with(alpha)), hard);
    let selu = Unary::Selu { alpha: 1.673_263_2, gamma: 1.050_701 };
    assert_eq!(unary(x("Selu", 1)), selu);
    assert_eq!(unary(x("Gelu", 1).with(text("approximate", "tanh"))), Unary::Gelu { tanh: true });
    let inf = Unary::IsInf { negative: false, positive: true };
    assert_eq!(unary(x("IsInf", 1).with(int("detect_negative", 0))), inf);
    let fault = read_node(22, x("Gelu", 1).with(text("approximate", "fast")));
    let words = "node `n` (Gelu): attribute `approximate` is `fast`, none of `none`, `tanh`";
    assert_eq!(fault, Err(words.to_owned()));
}

#[test]
fn rows_of_old_softmaxes_go_on_to_the_end() {
    let softmax = |function, axis, to_end| Operator::Softmax(Softmax { function, axis, to_end });
    assert_eq!(of(12, x("Softmax", 1)), softmax(RowFunction::Softmax, 1, true));
    assert_eq!(of(13, x("LogSoftmax", 1)), softmax(RowFunction::LogSoftmax, -1, false));
    let axis = x("Hardmax", 1).with(int("axis", 2));
    assert_eq!(of(11, axis), softmax(RowFunction::Hardmax, 2, true));
}

#[test]
fn interpolations_of_old_editions_are_brought_to_the_newest() {
    let old = Resize {
        mode: Interpolation::Nearest(Nearest::FloorOrCeil),
        coordinates: Coordinates::Asymmetric,
        ..Resize::default()
    };
    assert_eq!(of(10, x("Resize", 2)), Operator::Resize(old.clone()));
    let upsample = x("Upsample", 1).with(floats("scales", &[1.0, 1.0, 2.0, 2.0]));
    let linear = Resize { mode: Interpolation::Linear, ..old };
    assert_eq!(of(8, upsample.with(text("mode", "linear"))), Operator::Resize(linear));
    let cubic = x("Resize", 2)
        .with(text("mode", "cubic"))
        .with(text("coordinate_transformation_mode", "align_corners"))
        .with(float("cubic_coeff_a", -0.5))
        .with(int("exclude_outside", 1));
    let wanted = Resize {
        mode: Interpolation::Cubic { a: -0.5 },
        coordinates: Coordinates::AlignCorners,
        exclude_outside: true,
        ..Resize::default()
    };
    assert_eq!(of(13, cubic), Operator::Resize(wanted));
}

#[test]
fn norms_have_their_epsilons() {
    let batch = BatchNorm { epsilon: 0.5, ..BatchNorm::default() };
    let norm = |version| of(version, x("BatchNormalization", 5).with(float("epsilon", 0.5)));
    assert_eq!(norm(15), Operator::BatchNorm(batch));
    assert_eq!(norm(9), Operator::BatchNorm(batch));
    // It trained unless it was told not to.
    assert!(matches!(norm(6), Operator::Custom(_)));
    let group = |version| of(version, x("GroupNormalization", 3).with(int("num_groups", 3)));
    let wanted = |by_group| {
        Operator::Norm(Norm::Group { groups: 3, epsilon: 1e-5, stash: Dtype::F32, by_group })
    };
    assert_eq!((group(18), group(21)), (wanted(true), wanted(false)));
    let mvn = of(13, x("MeanVarianceNormalization", 1));
    assert_eq!(mvn, Operator::Norm(Norm::MeanVariance { axes: vec![0, 2, 3] }));
}

#[test]
fn layers_have_a_function_for_every_gate() {
    let gates = texts("activations", &["LeakyRelu", "tanh", "Affine"]);
    let lstm = x("LSTM", 3)
        .with(gates)
        .with(floats("activation_alpha", &[0.5, 2.0]))
        .with(floats("activation_beta", &[3.0]))
        .with(text("direction", "reverse"))
        .with(float("clip", 4.0));
    let wanted = Recurrence {
        direction: Direction::Reverse,
        activations: vec![
            Unary::LeakyRelu { alpha: 0.5 },
            Unary::Tanh,
            Unary::Affine { alpha: 2.0, beta: 3.0 },
        ],
        clip: Some(4.0),
        ..Recurrence::new(Cell::Lstm { input_forget: false })
    };
    assert_eq!(of(14, lstm), Operator::Recurrent(wanted));
    let gru = x("GRU", 3).with(text("direction", "bidirectional"));
    let cell = Cell::Gru { linear_before_reset: true };
    let wanted = Recurrence {
        direction: Direction::Both,
        activations: [Unary::Sigmoid, Unary::Tanh].repeat(2),
        ..Recurrence::new(cell)
    };
    assert_eq!(of(14, gru.with(int("linear_before_reset", 1))), Operator::Recurrent(wanted));
    let few = read_node(14, x("GRU", 3).with(texts("activations", &["Tanh"])));
    assert_eq!(few, Err("node `n` (GRU): 1 functions where 2 are needed".to_owned()));
}

#[test]
fn other_attributes_are_kept() {
    let gemm = x("Gemm", 2).with(float("alpha", 0.5)).with(int("transB", 1));
    let wanted = Gemm { alpha: 0.5, transpose_b: true, ..Gemm::default() };
    assert_eq!(of(13, gemm), Operator::Gemm(wanted));
    assert_eq!(of(13, x("Pad", 2).with(text("mode", "edge"))), Operator::Pad(PadMode::Edge));
    let arg = ArgReduce { axis: 0, keep_dims: true, largest: false, last: true };
    assert_eq!(of(13, x("ArgMin", 1).with(int("select_last_index", 1))), Operator::ArgReduce(arg));
    let sum = Cumulate { product: false, exclusive: false, reverse: true };
    assert_eq!(of(14, x("CumSum", 2).with(int("reverse", 1))), Operator::Cumulate(sum));
    let scatter = x("ScatterND", 3).with(text("reduction", "max"));
    assert_eq!(of(18, scatter), Operator::ScatterNd(Update::Max));
    let depth = x("DepthToSpace", 1).with(int("blocksize", 2)).with(text("mode", "CRD"));
    let order = DepthOrder::ChannelsFirst;
    assert_eq!(of(13, depth), Operator::DepthToSpace { block: 2, order });
    assert!(matches!(of(18, x("ReduceL2", 1)),
        Operator::Reduce(reduce) if reduce.function == Reduction::L2));
    let global = of(22, x("GlobalLpPool", 1).with(int("p", 3)));
    assert_eq!(global, Operator::GlobalPool(GlobalPooling::Lp { p: 3 }));
    let pool = x("AveragePool", 1).with(ints("kernel_shape", &[2, 2]));
    assert!(matches!(of(22, pool.with(int("count_include_pad", 1))),
        Operator::Pool(pool) if pool.pooling == Pooling::Average { count_padding: true }));
    let quantize = Quantization { block: 2, axis: 3, ..Quantization::default() };
    let blocks = x("QuantizeLinear", 2).with(int("block_size", 2)).with(int("axis", 3));
    assert_eq!(of(21, blocks), Operator::Quantize(quantize));
    let attention = Attention { is_causal: true, scores: Scores::Weights, ..Attention::default() };
    let causal = x("Attention", 3).with(int("is_causal", 1)).with(int("qk_matmul_output_mode", 3));
    assert_eq!(of(23, causal), Operator::Attention(attention));
    let loss = Loss { softmax: true, reduction: LossReduction::Sum, ignore: Some(-1) };
    let entropy = x("SoftmaxCrossEntropyLoss", 2);
    let entropy = entropy.with(text("reduction", "sum")).with(int("ignore_index", -1));
    assert_eq!(of(13, entropy), Operator::Loss(loss));
}

/// What is filled in is kept bit by bit, of types too that nobody reckons with.
#[test]
fn fillings_are_exact() {
    let fill = |dtype: i32, bytes: &[u8]| {
        let value = stored("", dtype, &[1], bytes.to_vec());
        of(20, x("ConstantOfShape", 1).with(tensor("value", value)))
    };
    let large = (i64::MAX - 1).to_le_bytes();
    assert!(matches!(fill(7, &large),
        Operator::Fill { dtype: Dtype::I64, bits, .. } if bits == i64::MAX as u128 - 1));
    assert!(matches!(fill(17, &[0x7e]), Operator::Fill { dtype: Dtype::F8E4m3fn, bits: 0x7e, .. }));
    let default = Operator::Fill { dtype: Dtype::F32, value: 0.0, bits: 0 };
    assert_eq!(of(20, x("ConstantOfShape", 1)), default);
}
