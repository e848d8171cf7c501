//! What is read of files, and what becomes of it in a graph.

use plimsoll::{Role, Storage};
use plimsoll_graph::{Case, Graph, NodeId, Op};
use plimsoll_tflite::testing::{Net, NetGraph, dtypes, samples};
use plimsoll_tflite::{Imported, TfliteError, TfliteFile};

fn imported(net: &Net) -> Imported {
    TfliteFile::read(net.to_bytes()).and_then(|file| file.import()).expect("a model")
}

fn classes(graph: &Graph) -> Vec<(&str, &str, &Op)> {
    graph.nodes().iter().map(|node| (&node.name[..], &node.kind[..], &node.op)).collect()
}

fn arena(graph: Graph) -> u64 {
    Case::new(graph).plan().expect("a plan").arena_bytes()
}

#[test]
fn tensors_and_operators_are_as_in_the_file() {
    let file = TfliteFile::read(samples::parts().to_bytes()).unwrap();
    let [graph] = &file.subgraphs[..] else { panic!("one subgraph") };
    let shaped = &graph.tensors[3];
    assert_eq!(
        (&shaped.name[..], &shaped.dims[..], shaped.dtype),
        ("shaped", &[2, 32][..], dtypes::F32)
    );
    assert_eq!((shaped.stored, &shaped.ints), (None, &None));
    let dims = &graph.tensors[2];
    assert_eq!((dims.stored, &dims.ints), (Some(8), &Some(vec![2, 32])));
    assert_eq!((&graph.inputs[..], &graph.outputs[..]), (&[0][..], &[9][..]));
    let kinds: Vec<&str> = graph.operators.iter().map(|operator| &operator.kind[..]).collect();
    assert_eq!(kinds, ["ADD", "RESHAPE", "SPLIT", "CONCATENATION", "MEAN"]);
    assert_eq!(graph.operators[2].inputs, [Some(4), Some(3)]);
    assert_eq!(graph.operators[2].outputs, [5, 6]);
}

#[test]
fn a_split_begins_with_what_is_split_and_axes_count_from_the_start() {
    let Imported { graph, operators, .. } = imported(&samples::parts());
    let expected = [
        ("doubled", "ADD", &Op::Binary),
        ("shaped", "RESHAPE", &Op::Reshape),
        ("top", "SPLIT", &Op::Split { axis: 0 }),
        ("joined", "CONCATENATION", &Op::Concat { axis: 0 }),
        ("mean", "MEAN", &Op::Reduce),
    ];
    assert_eq!(classes(&graph), expected);
    let names = |node: usize| {
        let inputs = graph.node(NodeId::new(node)).inputs.iter().flatten();
        inputs.map(|value| &graph.value(*value).name[..]).collect::<Vec<_>>()
    };
    assert_eq!(names(2), ["shaped", "outer"]);
    assert_eq!(operators, (0..5).map(|index| Some((0, index))).collect::<Vec<_>>());
    // `doubled` is there with its views, then `joined` beside it, then `mean` with its scratch.
    assert_eq!(arena(graph), 512);
}

#[test]
fn weights_variables_and_what_nobody_makes_have_no_place() {
    let Imported { graph, values, .. } = imported(&samples::state());
    let of = |tensor: usize| graph.value(values[0][tensor].expect("it is used"));
    assert_eq!((of(0).role, of(0).storage), (Role::Input, Storage::Arena));
    assert_eq!((of(1).role, of(1).bytes), (Role::Param, None));
    assert_eq!((of(3).role, of(3).storage), (Role::Temporary, Storage::External));
    // Half a byte an element in the file, a byte in the arena.
    assert_eq!((of(4).native_size().known(), of(6).native_size().known()), (Some(2), Some(3)));
    let mut net = samples::parts();
    net.subgraphs[0].operators.remove(0);
    let Imported { graph, values, .. } = imported(&net);
    let doubled = graph.value(values[0][1].unwrap());
    assert_eq!((doubled.role, doubled.storage), (Role::Constant, Storage::External));
}

#[test]
fn what_reads_or_writes_more_than_its_tensors_keeps_its_order() {
    let Imported { graph, operators, .. } = imported(&samples::state());
    let called: Vec<_> =
        graph.nodes().iter().map(|node| (&node.name[..], &node.after[..])).collect();
    let at = |node: usize| NodeId::new(node);
    let expected: [(&str, &[NodeId]); 6] = [
        ("CALL_ONCE/begin", &[]),
        ("CALL_ONCE/enter 0", &[]),
        ("zeros@1", &[at(0)]),
        ("CALL_ONCE/leave 0", &[]),
        ("CALL_ONCE", &[]),
        ("y", &[at(2)]),
    ];
    assert_eq!(called[..6], expected);
    assert_eq!(called[6], ("z", &[at(5)][..]));
    assert_eq!(operators[..3], [None, None, Some((1, 0))]);
    // 1 x 6 sums and 1 x 3 outputs, of four bytes each and rounded up.
    assert_eq!(graph.node(at(5)).scratch.map(|scratch| scratch.bytes), Some(32 + 16));
}

#[test]
fn what_a_call_makes_is_there_while_its_bodies_run() {
    let Imported { graph, .. } = imported(&samples::choice());
    let names: Vec<&str> = graph.nodes().iter().map(|node| &node.name[..]).collect();
    let expected = [
        "before",
        "chosen/begin",
        "chosen/enter 0",
        "y@1",
        "chosen/leave 0",
        "chosen/enter 1",
        "y@2",
        "chosen/leave 1",
        "chosen",
        "y",
    ];
    assert_eq!(names, expected);
    let blocks: Vec<_> = graph.nodes().iter().map(|node| node.block).collect();
    assert!(blocks[1..9].iter().all(|block| *block == Some(0)), "{blocks:?}");
    assert_eq!((blocks[0], blocks[9]), (None, None));
    // What is chosen from, what is chosen, and the two ends of the operator of a body, in place.
    assert_eq!(arena(graph), 3 * 256);
}

#[test]
fn tensors_of_a_body_that_is_called_again_keep_their_places() {
    let Imported { graph, .. } = imported(&samples::twice());
    let again: Vec<_> = graph.nodes().iter().filter(|node| node.name.contains("again ")).collect();
    let read = |node: usize| {
        again[node].inputs.iter().flatten().map(|v| &graph.value(*v).name[..]).collect::<Vec<_>>()
    };
    assert_eq!((read(0), read(1)), (vec!["x@1", "y@1"], vec!["x@2", "y@2"]));
    // Both ends of both bodies, and on either side of a call what it is from and what it makes.
    assert_eq!(arena(graph), 6 * 256);
}

#[test]
fn a_loop_is_a_block_of_its_condition_and_its_body() {
    let Imported { graph, .. } = imported(&samples::counting());
    let kinds: Vec<&str> = graph.nodes().iter().map(|node| &node.kind[..]).collect();
    let expected = ["WHILE", "WHILE", "LESS", "WHILE", "WHILE", "ADD", "WHILE", "WHILE"];
    assert_eq!(kinds, expected);
    let end = graph.nodes().last().unwrap();
    assert_eq!(end.windows[0].from, Some(NodeId::new(0)));
}

#[test]
fn stored_shapes_that_do_not_fit_an_operator_share_nothing() {
    let mut net = samples::parts();
    net.subgraphs[0].tensors[3].dims = vec![2, 33];
    let Imported { graph, .. } = imported(&net);
    assert_eq!(graph.nodes()[1].op, Op::Custom);
    assert_eq!(graph.nodes()[2].op, Op::Split { axis: 0 });
}

#[test]
fn windows_of_images_with_channels_last_are_of_no_class_with_channels_first() {
    for (code, kind) in
        [(3, "CONV_2D"), (4, "DEPTHWISE_CONV_2D"), (17, "MAX_POOL_2D"), (23, "RESIZE_BILINEAR")]
    {
        let mut graph = NetGraph::default();
        let x = graph.input("x", dtypes::F32, &[1, 3, 4, 3]);
        let y = graph.tensor("y", dtypes::F32, &[1, 3, 2, 3]);
        graph.op(code, &[x], &[y]);
        graph.outputs = vec![y];
        let Imported { graph, .. } = imported(&Net::of(graph));
        assert_eq!(classes(&graph), [("y", kind, &Op::Custom)]);
    }
}

#[test]
fn a_dim_that_is_not_stored_is_asked_for() {
    let mut net = samples::parts();
    net.subgraphs[0].tensors[1].dims = vec![-1, 16];
    let error = Case::new(imported(&net).graph).plan().expect_err("no size").to_string();
    assert_eq!(error, "sizes are not known and have to be given: doubled");
}

#[test]
fn what_is_wrong_is_named() {
    let fault = |change: fn(&mut NetGraph)| {
        let mut net = samples::choice();
        change(&mut net.subgraphs[0]);
        let read = TfliteFile::read(net.to_bytes()).and_then(|file| file.import());
        read.expect_err("a fault").to_string()
    };
    assert_eq!(
        fault(|g| g.operators[0].inputs[0] = 99),
        "subgraph 0, operator 0 (ABS): tensor 99 of 5"
    );
    assert_eq!(
        fault(|g| g.operators[0].outputs[0] = -1),
        "subgraph 0, operator 0 (ABS): an output is not there"
    );
    assert_eq!(fault(|g| g.outputs[0] = -1), "subgraph 0: an output is not there");
    assert_eq!(fault(|g| g.outputs[0] = -2), "subgraph 0: tensor -2 of 5");
    let called =
        |index: i32| move |g: &mut NetGraph| g.operators[1].options = Some((92, vec![index, 2]));
    let fault_of_call = |index: i32| {
        let mut net = samples::choice();
        called(index)(&mut net.subgraphs[0]);
        let read = TfliteFile::read(net.to_bytes()).and_then(|file| file.import());
        read.expect_err("a fault").to_string()
    };
    assert_eq!(fault_of_call(7), "subgraph 0, operator 1 (IF): calls subgraph 7 of 3");
    assert_eq!(
        fault_of_call(0),
        "subgraph 0, operator 1 (IF): calls subgraph 0, which it is within"
    );
    let twice = fault(|g| g.operators[2].outputs[0] = 2);
    assert_eq!(twice, "value `before`: written again by node `before#2`");
}

#[test]
fn what_is_no_file_of_that_kind_says_so() {
    let fault = |bytes: &[u8]| TfliteFile::read(bytes.to_vec()).expect_err("a fault");
    let expected = "not a TensorFlow Lite model: bytes 4 to 8 are not \"TFL3\"";
    assert_eq!(fault(b"").to_string(), expected);
    let expected =
        TfliteError::Flatbuffer("a table at byte 65536 is not within the file".to_owned());
    assert_eq!(fault(b"\0\0\x01\0TFL3"), expected);
}
