//! Bytes that are no model, or one that is wrong: none of them panics, and none takes long.

use plimsoll_pack::testing::Rng;
use plimsoll_tflite::TfliteFile;
use plimsoll_tflite::testing::{Net, NetGraph, NetTensor, fuzz_tflite, samples};

#[test]
fn every_prefix_is_rejected_or_read() {
    for (name, net) in samples::samples() {
        let bytes = net.to_bytes();
        assert!(fuzz_tflite(&bytes), "{name}");
        // Only what fills up the last 16 bytes may be missing.
        let accepted = (0..bytes.len()).filter(|end| fuzz_tflite(&bytes[..*end])).count();
        assert!(accepted < 16, "{name}: {accepted}");
    }
}

#[test]
fn mutations_are_rejected_or_planned() {
    let seeds: Vec<Vec<u8>> = samples::samples().iter().map(|(_, net)| net.to_bytes()).collect();
    let mut rng = Rng::new(1);
    let mut accepted = 0;
    for round in 0..1500 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = match rng.below(4) {
                0 => 0,
                1 => 0xff,
                2 => bytes[at].wrapping_add(1),
                _ => rng.below(256) as u8,
            };
        }
        accepted += usize::from(fuzz_tflite(&bytes));
    }
    // Names and unused bytes may be anything.
    assert!((400..1450).contains(&accepted), "{accepted}");
}

/// Writers share what is equal, so that a short file may say much; but not without end.
#[test]
fn the_same_bytes_are_not_read_without_end() {
    const COUNT: usize = 20_000;
    let small = NetTensor { name: "t".to_owned(), ..NetTensor::default() };
    let mut tensors = vec![small.clone(); COUNT];
    tensors[COUNT - 1].dims = vec![1; 4000];
    let mut bytes = Net::of(NetGraph { tensors, ..NetGraph::default() }).to_bytes();
    assert!(TfliteFile::read(bytes.clone()).is_ok());
    // The references to the tensors, behind their number: all of them become references to the last.
    let number =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let listed = (0..bytes.len()).step_by(4).find(|at| number(&bytes, *at) == COUNT as u32);
    let first = listed.expect("their number") + 4;
    let last = first + 4 * (COUNT - 1);
    let target = last as u32 + number(&bytes, last);
    for place in (first..=last).step_by(4) {
        bytes[place..place + 4].copy_from_slice(&(target - place as u32).to_le_bytes());
    }
    let error = TfliteFile::read(bytes).expect_err("80 million dims").to_string();
    assert_eq!(error, "not a TensorFlow Lite model: it refers to the same bytes too often");
}

/// A subgraph that calls itself, and calls within calls within calls.
#[test]
fn calls_do_not_go_down_without_end() {
    let mut net = samples::choice();
    net.subgraphs[0].operators[1].options = Some((92, vec![0, 0]));
    let file = TfliteFile::read(net.to_bytes()).expect("a model");
    let fault = "subgraphs are called too often";
    assert_eq!(file.head_bytes(&[]).expect_err("no end").to_string(), fault);

    let mut net = samples::choice();
    let caller = net.subgraphs[0].clone();
    net.subgraphs = (1..=1000)
        .map(|callee: i32| {
            let mut graph = caller.clone();
            graph.operators[1].options = Some((92, vec![callee % 1000, callee % 1000]));
            graph
        })
        .collect();
    let last = net.subgraphs.last_mut().expect("the last");
    last.operators.remove(1);
    let file = TfliteFile::read(net.to_bytes()).expect("a model");
    let error = file.import().expect_err("too deep").to_string();
    assert_eq!(error, "subgraph 64, operator 1 (IF): calls within calls go too deep");
    assert_eq!(file.head_bytes(&[]).expect_err("too deep").to_string(), fault);
}
