//! Random models of all operators, planned in several ways and run in poisoned arenas: bit for bit what they compute
//! with every tensor apart.

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::if_same_then_else,
    clippy::needless_pass_by_value,
    clippy::single_match_else,
    clippy::branches_sharing_code,
    clippy::same_functions_in_if_condition,
    unreachable_pub,
    dead_code,
    reason = "small random numbers, as sizes and as attributes that count from either end"
)]
#[path = "../../../onnx/tests/it/execution/generator/mod.rs"]
mod generator;

use generator::Generator;
use plimsoll::OrderEffort;
use plimsoll_graph::Preset;
use plimsoll_onnx::read_with_weights;
use plimsoll_onnx::testing::{F32, encode, graph, int, model, node, value};
use plimsoll_run::{
    Fuse, Level, Options, SeededWeights, Session, SessionError, check, compare, random_inputs,
};

/// The ways in which every model is planned.
pub(crate) fn ways() -> Vec<(&'static str, Options)> {
    let mut copies = Options::quick();
    copies.tries.join = false;
    let mut views = Options::quick();
    views.lowering.kernels.preset = Preset::Views;
    vec![
        ("best", Options::default()),
        ("rules", Options::quick()),
        ("copies", copies),
        ("views", views),
    ]
}

/// Further ways, of which every model is planned in two: every option of a plan is one of them.
fn more_ways() -> Vec<(&'static str, Options)> {
    let with = |change: fn(&mut Options)| {
        let mut options = Options::quick();
        change(&mut options);
        options
    };
    vec![
        ("nodes one by one", with(|options| options.fuse = Fuse::Nothing)),
        ("copying", with(|options| options.lowering.kernels.preset = Preset::Copying)),
        ("tflm", with(|options| options.lowering.kernels.preset = Preset::Tflm)),
        ("strided", with(|options| options.lowering.kernels.preset = Preset::Strided)),
        ("nothing in place", with(|options| options.plan.in_place = false)),
        ("inputs placed", with(|options| options.plan.place.inputs = true)),
        (
            "inputs overwritten",
            with(|options| {
                (options.plan.place.inputs, options.plan.reclaim_inputs) = (true, true);
            }),
        ),
        ("guards", with(|options| options.plan.guards.outputs = 192)),
        ("dense", with(|options| options.plan.align = 8)),
        ("wide slots", with(|options| options.plan.min_slot = 4096)),
        ("fast order", with(|options| options.tries.order = Some(OrderEffort::Fast))),
        ("two threads", with(|options| options.threads = 2)),
        ("portable", with(|options| options.level = Level::portable())),
    ]
}

/// How a model fared.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It ran, in every way.
    Ran,
    /// A node has no kernel, or its shape depends on data.
    Refused,
    /// An index was beyond its axis, apart too.
    OutOfRange,
}

fn outcome(seed: u64) -> Outcome {
    let (proto, _) = Generator::model(seed);
    let (model, weights) = read_with_weights(encode(&proto)).unwrap();
    let weights = SeededWeights::new(&model, &weights, seed);
    let more = more_ways();
    let pair = [seed as usize, 3 * seed as usize + 1].map(|at| more[at % more.len()].clone());
    for (way, options) in ways().into_iter().chain(pair) {
        let session = match Session::new(&model, &weights, &options) {
            Ok(session) => session,
            // Kernels read and write whole tensors.
            Err(SessionError::Place { fault, .. })
                if fault == "no kernel for strided rows" && way == "strided" =>
            {
                continue;
            }
            Err(SessionError::Missing(_) | SessionError::Plan(_)) => return Outcome::Refused,
            Err(SessionError::Static(_)) => return Outcome::OutOfRange,
            Err(error) => panic!("seed {seed}, {way}: {error}"),
        };
        let inputs = random_inputs(seed, session.inputs());
        let (_, difference) = match compare(&model, &weights, &inputs, &options) {
            Ok(compared) => compared,
            Err(SessionError::Static(_)) => return Outcome::OutOfRange,
            Err(error) => panic!("seed {seed}, {way}: {error}"),
        };
        assert_eq!(difference, None, "seed {seed}, {way}");
        let checked = check(&model, &weights, &inputs, &options).unwrap();
        assert!(checked.is_ok(), "seed {seed}, {way}: {}", checked.unwrap_err());
    }
    Outcome::Ran
}

#[test]
fn random_models_compute_the_same_in_every_plan() {
    let outcomes: Vec<Outcome> = (0..200).map(outcome).collect();
    let ran = outcomes.iter().filter(|outcome| **outcome == Outcome::Ran).count();
    assert!(ran >= 150, "{ran} of {} ran", outcomes.len());
}

/// A concat whose parts are the same tensor: one part is made in its place, the other copied from there.
#[test]
fn a_tensor_is_concatenated_with_itself() {
    let outer = |axis: i64, dims: &[i64]| {
        let nodes = vec![
            node("relu", "Relu", &["x"], &["r"]),
            node("join", "Concat", &["r", "r", "x", "r"], &["j"]).with(int("axis", axis)),
            node("twice", "Add", &["j", "j"], &["y"]),
        ];
        let outputs = vec![value("y", F32, dims), value("j", F32, dims)];
        encode(&model(17, graph(vec![value("x", F32, &[2, 3])], outputs, nodes)))
    };
    for proto in [outer(0, &[8, 3]), outer(1, &[2, 12])] {
        let (model, weights) = read_with_weights(proto).unwrap();
        for (way, options) in ways() {
            let session = Session::new(&model, &weights, &options).unwrap();
            let inputs = random_inputs(3, session.inputs());
            let (outputs, difference) = compare(&model, &weights, &inputs, &options).unwrap();
            assert_eq!(difference, None, "{way}");
            assert!(check(&model, &weights, &inputs, &options).unwrap().is_ok(), "{way}");
            let x = inputs["x"].to_f32().unwrap();
            let joined = outputs["j"].to_f32().unwrap();
            let at = |part: usize, i: usize| match session.outputs()[1].dims[0] {
                8 => joined[part * 6 + i],
                _ => joined[i / 3 * 12 + part * 3 + i % 3],
            };
            for (i, x) in x.iter().enumerate() {
                let parts = [0, 1, 2, 3].map(|part| at(part, i));
                let expected = [x.max(0.0), x.max(0.0), *x, x.max(0.0)];
                assert_eq!(parts.map(f32::to_bits), expected.map(f32::to_bits), "{way}");
            }
        }
    }
}

/// A plan that is sound and has elements where no kernel can read them is refused.
#[test]
fn elements_begin_where_kernels_can_read_them() {
    let nodes = vec![
        node("small", "Greater", &["x", "y"], &["b"]),
        node("cast", "Cast", &["b"], &["c"]).with(int("to", i64::from(F32))),
        node("sum", "Add", &["c", "x"], &["z"]),
    ];
    let triple = |name| value(name, F32, &[3]);
    let outputs = vec![triple("z"), value("b", plimsoll_onnx::testing::BOOL, &[3])];
    let proto = encode(&model(17, graph(vec![triple("x"), triple("y")], outputs, nodes)));
    let (model, weights) = read_with_weights(proto).unwrap();
    let mut options = Options::quick();
    (options.plan.align, options.fuse) = (1, Fuse::Nothing);
    match Session::new(&model, &weights, &options) {
        Ok(session) => {
            let inputs = random_inputs(1, session.inputs());
            assert_eq!(compare(&model, &weights, &inputs, &options).unwrap().1, None);
        }
        Err(error) => assert!(error.to_string().ends_with(", where no element can be"), "{error}"),
    }
}
