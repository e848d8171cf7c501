//! Functions of one element and of several that are broadcast.

use plimsoll_kernels::binary::{
    Binary, Bitwise, Comparison, Side, binary, binary_in_place, bitwise, bitwise_in_place, compare,
    compare_in_place,
};
use plimsoll_kernels::half::F16;
use plimsoll_kernels::pow::{pow, pow_in_place, pow_on_exponents};
use plimsoll_kernels::select::{
    Branch, clip, clip_in_place, divide_by_count, select, select_in_place, select_on_condition,
};
use plimsoll_kernels::unary::{
    Test, Unary, UnaryInteger, not, not_in_place, test, unary, unary_in_place, unary_integer,
    unary_integer_in_place,
};
use plimsoll_kernels::{Broadcast, Level};

use crate::world::{Random, assert_close, bits, broadcast_place, count, index_of, indices, levels};

type Definition = fn(f64) -> f64;
type OfNumbers = fn(f32, f32) -> f32;
type Question = fn(&i8, &i8) -> bool;

/// Every function with its definition in ONNX.
fn functions() -> Vec<(Unary, Definition)> {
    fn sigmoid(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }
    fn softplus(x: f64) -> f64 {
        x.exp().ln_1p()
    }
    vec![
        (Unary::Abs, f64::abs),
        (Unary::Acos, f64::acos),
        (Unary::Acosh, f64::acosh),
        (Unary::Asin, f64::asin),
        (Unary::Asinh, f64::asinh),
        (Unary::Atan, f64::atan),
        (Unary::Atanh, f64::atanh),
        (Unary::Ceil, f64::ceil),
        (Unary::Celu { alpha: 2.0 }, |x| x.max(0.0) + (2.0 * (x / 2.0).exp_m1()).min(0.0)),
        (Unary::Cos, f64::cos),
        (Unary::Cosh, f64::cosh),
        (Unary::Elu { alpha: 1.5 }, |x| if x > 0.0 { x } else { 1.5 * x.exp_m1() }),
        (Unary::Erf, libm::erf),
        (Unary::Exp, f64::exp),
        (Unary::Floor, f64::floor),
        (Unary::Gelu, |x| 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt()))),
        (Unary::GeluTanh, |x| {
            let root = (2.0 / std::f64::consts::PI).sqrt();
            0.5 * x * (1.0 + (root * (x + 0.044_715 * x.powi(3))).tanh())
        }),
        (Unary::HardSigmoid { alpha: 0.25, beta: 0.5 }, |x| (0.25 * x + 0.5).clamp(0.0, 1.0)),
        (Unary::HardSwish, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        (Unary::Identity, |x| x),
        (Unary::LeakyRelu { alpha: 0.125 }, |x| if x < 0.0 { 0.125 * x } else { x }),
        (Unary::Log, f64::ln),
        (Unary::Mish, |x| x * softplus(x).tanh()),
        (Unary::Neg, |x| -x),
        (Unary::Reciprocal, |x| 1.0 / x),
        (Unary::Relu, |x| x.max(0.0)),
        (Unary::Round, f64::round_ties_even),
        (Unary::Selu { alpha: 1.5, gamma: 1.25 }, |x| {
            1.25 * if x > 0.0 { x } else { 1.5 * x.exp_m1() }
        }),
        (Unary::Shrink { lambda: 0.5, bias: 0.25 }, |x| {
            if x < -0.5 {
                x + 0.25
            } else if x > 0.5 {
                x - 0.25
            } else {
                0.0
            }
        }),
        (Unary::Sigmoid, sigmoid),
        (Unary::Sign, |x| if x == 0.0 { 0.0 } else { x.signum() }),
        (Unary::Sin, f64::sin),
        (Unary::Sinh, f64::sinh),
        (Unary::Softplus, softplus),
        (Unary::Softsign, |x| x / (1.0 + x.abs())),
        (Unary::Sqrt, f64::sqrt),
        (Unary::Swish { alpha: 1.5 }, |x| x * sigmoid(1.5 * x)),
        (Unary::Tan, f64::tan),
        (Unary::Tanh, f64::tanh),
        (Unary::ThresholdedRelu { alpha: 0.75 }, |x| if x > 0.75 { x } else { 0.0 }),
    ]
}

#[test]
fn functions_of_one_element_are_what_onnx_defines() {
    let mut random = Random::new(1);
    let mut x = random.floats(501);
    x.extend([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 1.0, -1.0, 30.0, -30.0, 0.75]);
    for (function, definition) in functions() {
        let expected: Vec<f64> = x.iter().map(|&x| definition(f64::from(x))).collect();
        let doubles: Vec<f64> = x.iter().copied().map(f64::from).collect();
        for level in levels() {
            let mut y = vec![0.0; x.len()];
            unary(level, function, &x, &mut y);
            assert_close(&y, &expected, 4e-7, function);
            let mut in_place = x.clone();
            unary_in_place(level, function, &mut in_place);
            assert_eq!(bits(&in_place), bits(&y), "{function:?}");
            let mut portable = vec![0.0; x.len()];
            unary(Level::portable(), function, &x, &mut portable);
            assert_eq!(bits(&portable), bits(&y), "{function:?}: every level has the same bits");
        }
        let mut y = doubles.clone();
        unary_in_place(Level::portable(), function, &mut y);
        for (found, right) in y.iter().zip(&expected) {
            let close = (found - right).abs() <= 1e-13 * right.abs().max(1.0);
            let same = found == right || (found.is_nan() && right.is_nan());
            assert!(close || same, "{function:?}: {found} {right}");
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so_and_infinities_have_limits() {
    let at = |function, x: f32| {
        let mut y = [x];
        unary_in_place(Level::portable(), function, &mut y);
        y[0]
    };
    for (function, _) in functions() {
        let zeroed = matches!(function, Unary::Shrink { .. } | Unary::ThresholdedRelu { .. });
        assert!(zeroed || at(function, f32::NAN).is_nan(), "{function:?}");
    }
    assert_eq!(at(Unary::Sigmoid, f32::INFINITY), 1.0);
    assert_eq!(at(Unary::Sigmoid, f32::NEG_INFINITY), 0.0);
    assert_eq!(at(Unary::Tanh, f32::NEG_INFINITY), -1.0);
    assert_eq!(at(Unary::Erf, f32::INFINITY), 1.0);
    assert_eq!(at(Unary::Softplus, f32::INFINITY), f32::INFINITY);
    assert_eq!(at(Unary::Softplus, 1000.0), 1000.0);
    assert_eq!(at(Unary::Softplus, -200.0), 0.0);
    assert_eq!(at(Unary::Relu, f32::NEG_INFINITY), 0.0);
}

#[test]
fn halves_are_computed_as_singles_and_rounded() {
    let x: Vec<F16> = Random::new(2).floats(100).into_iter().map(F16::from_f32).collect();
    let mut y = vec![F16(0); x.len()];
    unary(Level::portable(), Unary::Tanh, &x, &mut y);
    for (x, y) in x.iter().zip(&y) {
        let mut single = [x.to_f32()];
        unary_in_place(Level::portable(), Unary::Tanh, &mut single);
        assert_eq!(y.0, F16::from_f32(single[0]).0);
    }
}

#[test]
fn functions_of_integers_wrap_around() {
    let x = [0i8, 1, -1, 127, -128, 64];
    let cases: [(UnaryInteger, [i8; 6]); 6] = [
        (UnaryInteger::Abs, [0, 1, 1, 127, -128, 64]),
        (UnaryInteger::Neg, [0, -1, 1, -127, -128, -64]),
        (UnaryInteger::Relu, [0, 1, 0, 127, 0, 64]),
        (UnaryInteger::Sign, [0, 1, -1, 1, -1, 1]),
        (UnaryInteger::BitwiseNot, [-1, -2, 0, -128, 127, -65]),
        (UnaryInteger::Identity, x),
    ];
    for (function, expected) in cases {
        let (mut y, mut in_place) = ([0; 6], x);
        unary_integer(Level::portable(), function, &x, &mut y);
        unary_integer_in_place(Level::portable(), function, &mut in_place);
        assert_eq!((y, in_place), (expected, expected), "{function:?}");
    }
}

#[test]
fn questions_about_one_element() {
    let x = [1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let ask = |question| {
        let mut y = [9; 4];
        test(question, &x, &mut y);
        y
    };
    assert_eq!(ask(Test::IsNan), [0, 1, 0, 0]);
    assert_eq!(ask(Test::IsInf { negative: true, positive: true }), [0, 0, 1, 1]);
    assert_eq!(ask(Test::IsInf { negative: false, positive: true }), [0, 0, 1, 0]);
    assert_eq!(ask(Test::IsInf { negative: true, positive: false }), [0, 0, 0, 1]);
    let (mut y, mut in_place) = ([0; 3], [0, 1, 2]);
    not(&[0, 1, 2], &mut y);
    not_in_place(&mut in_place);
    assert_eq!((y, in_place), ([1, 0, 0], [1, 0, 0]));
}

/// Two shapes that fit, and what they make.
fn broadcast_shapes(random: &mut Random) -> [Vec<usize>; 3] {
    let y = random.dims(0, 5);
    let (a, b) = (random.smaller(&y), random.smaller(&y));
    let y = (0..a.len().max(b.len()))
        .map(|axis| {
            let from_end = a.len().max(b.len()) - axis;
            let of = |dims: &[usize]| dims.len().checked_sub(from_end).map_or(1, |at| dims[at]);
            if of(&a) == 1 { of(&b) } else { of(&a) }
        })
        .collect();
    [a, b, y]
}

fn expected<A: Copy, B: Copy, Y>(
    [a, b, y]: &[Vec<usize>; 3],
    (x, z): (&[A], &[B]),
    function: impl Fn(A, B) -> Y,
) -> Vec<Y> {
    indices(y)
        .map(|index| function(x[broadcast_place(&index, a)], z[broadcast_place(&index, b)]))
        .collect()
}

#[test]
fn numbers_are_broadcast_both_ways() {
    let definitions: [(Binary, OfNumbers); 10] = [
        (Binary::Add, |a, b| a + b),
        (Binary::Sub, |a, b| a - b),
        (Binary::Mul, |a, b| a * b),
        (Binary::Div, |a, b| a / b),
        (Binary::Mod, |a, b| a - b * (a / b).floor()),
        (Binary::Fmod, |a, b| a % b),
        (Binary::Min, f32::min),
        (Binary::Max, f32::max),
        (Binary::Mean, f32::midpoint),
        (Binary::Prelu, |a, b| if a < 0.0 { a * b } else { a }),
    ];
    let mut random = Random::new(3);
    for round in 0..400 {
        let shapes = broadcast_shapes(&mut random);
        let (a, b) = (random.floats(count(&shapes[0])), random.floats(count(&shapes[1])));
        let shape = Broadcast::new(&shapes[2], [&shapes[0], &shapes[1]]);
        let (function, definition) = definitions[round % definitions.len()];
        let right = expected(&shapes, (&a, &b), definition);
        let wide: Vec<f64> = right.iter().copied().map(f64::from).collect();
        for level in levels() {
            let mut y = vec![f32::NAN; right.len()];
            binary(level, function, &shape, (&a, &b), &mut y);
            assert_close(&y, &wide, 1e-5, (function, &shapes));
            if shapes[0] == shapes[2] {
                let mut in_place = a.clone();
                binary_in_place(level, function, &shape, (Side::Left, &b), &mut in_place);
                assert_eq!(bits(&in_place), bits(&y), "{function:?} {shapes:?}");
            }
            if shapes[1] == shapes[2] {
                let mut in_place = b.clone();
                binary_in_place(level, function, &shape, (Side::Right, &a), &mut in_place);
                assert_eq!(bits(&in_place), bits(&y), "{function:?} {shapes:?}");
            }
        }
    }
}

#[test]
fn comparisons_are_broadcast_and_answer_in_place() {
    let definitions: [(Comparison, Question); 5] = [
        (Comparison::Equal, i8::eq),
        (Comparison::Less, i8::lt),
        (Comparison::LessOrEqual, i8::le),
        (Comparison::Greater, i8::gt),
        (Comparison::GreaterOrEqual, i8::ge),
    ];
    let mut random = Random::new(4);
    for round in 0..200 {
        let shapes = broadcast_shapes(&mut random);
        let mut few =
            |len| random.ints(len, -2, 2).into_iter().map(|x| x as i8).collect::<Vec<i8>>();
        let (a, b) = (few(count(&shapes[0])), few(count(&shapes[1])));
        let shape = Broadcast::new(&shapes[2], [&shapes[0], &shapes[1]]);
        let (question, definition) = definitions[round % 5];
        let right = expected(&shapes, (&a, &b), |a, b| u8::from(definition(&a, &b)));
        let as_i8: Vec<i8> = right.iter().map(|&x| x as i8).collect();
        let mut y = vec![7; right.len()];
        compare(Level::detect(), question, &shape, (&a, &b), &mut y);
        assert_eq!(y, right);
        if shapes[0] == shapes[2] {
            let mut y = a.clone();
            compare_in_place(Level::detect(), question, &shape, (Side::Left, &b), &mut y);
            assert_eq!(y, as_i8);
        }
        if shapes[1] == shapes[2] {
            let mut y = b.clone();
            compare_in_place(Level::detect(), question, &shape, (Side::Right, &a), &mut y);
            assert_eq!(y, as_i8);
        }
    }
    let shape = Broadcast::new(&[2], [&[2], &[2]]);
    let mut y = [7; 2];
    compare(
        Level::portable(),
        Comparison::Equal,
        &shape,
        (&[f32::NAN, 0.0], &[f32::NAN, -0.0]),
        &mut y,
    );
    assert_eq!(y, [0, 1]);
}

#[test]
fn integers_wrap_and_division_by_zero_is_zero() {
    let shape = Broadcast::new(&[6], [&[6], &[6]]);
    let of = |function, a: [i32; 6], b: [i32; 6]| {
        let (mut y, mut left, mut right) = ([0; 6], a, b);
        binary(Level::portable(), function, &shape, (&a, &b), &mut y);
        binary_in_place(Level::portable(), function, &shape, (Side::Left, &b), &mut left);
        binary_in_place(Level::portable(), function, &shape, (Side::Right, &a), &mut right);
        assert_eq!((y, y), (left, right));
        y
    };
    let (a, b) = ([7, -7, 7, -7, 5, i32::MIN], [3, 3, -3, -3, 0, -1]);
    assert_eq!(of(Binary::Div, a, b), [2, -2, -2, 2, 0, i32::MIN]);
    assert_eq!(of(Binary::Mod, a, b), [1, 2, -2, -1, 0, 0]);
    assert_eq!(of(Binary::Fmod, a, b), [1, -1, 1, -1, 0, 0]);
    assert_eq!(of(Binary::Sub, a, b), [4, -10, 10, -4, 5, i32::MIN + 1]);
}

#[test]
fn bits_are_combined_and_shifted() {
    let shape = Broadcast::new(&[4], [&[4], &[4]]);
    let (a, b) = ([0b1100u8, 1, 255, 1], [0b1010, 7, 4, 8]);
    let cases = [
        (Bitwise::And, [0b1000, 1, 4, 0]),
        (Bitwise::Or, [0b1110, 7, 255, 9]),
        (Bitwise::Xor, [0b0110, 6, 251, 9]),
        (Bitwise::ShiftLeft, [0, 128, 240, 0]),
        (Bitwise::ShiftRight, [0, 0, 15, 0]),
    ];
    for (function, expected) in cases {
        let (mut y, mut left, mut right) = ([0; 4], a, b);
        bitwise(Level::detect(), function, &shape, (&a, &b), &mut y);
        bitwise_in_place(Level::detect(), function, &shape, (Side::Left, &b), &mut left);
        bitwise_in_place(Level::detect(), function, &shape, (Side::Right, &a), &mut right);
        assert_eq!([y, left, right], [expected; 3], "{function:?}");
    }
}

#[test]
fn powers_have_the_type_of_the_base() {
    let mut random = Random::new(5);
    for exponent in [-2.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0] {
        let x: Vec<f32> = random.floats(37).into_iter().map(f32::abs).collect();
        let right: Vec<f64> = x.iter().map(|&x| f64::from(x).powf(exponent)).collect();
        let shape = Broadcast::new(&[37], [&[37], &[]]);
        let (mut y, mut in_place) = (vec![0.0; 37], x.clone());
        pow(Level::detect(), &shape, (&x, &[exponent as f32]), &mut y);
        assert_close(&y, &right, 4e-7, exponent);
        pow_in_place(Level::detect(), &shape, &[exponent as f32], &mut in_place);
        assert_eq!(bits(&in_place), bits(&y));
        if exponent.fract() == 0.0 {
            pow(Level::detect(), &shape, (&x, &[exponent as i64]), &mut in_place);
            assert_eq!(bits(&in_place), bits(&y));
        }
    }
    let shape = Broadcast::new(&[5], [&[5], &[5]]);
    let (a, b) = ([2i32, -3, 1, -1, 2], [10, 3, -5, -3, -1]);
    let mut y = [0; 5];
    pow(Level::portable(), &shape, (&a, &b), &mut y);
    assert_eq!(y, [1024, -27, 1, -1, 0]);
    let mut on_exponents = b;
    pow_on_exponents(Level::portable(), &shape, &a, &mut on_exponents);
    assert_eq!(on_exponents, y);
    pow(Level::portable(), &shape, (&a, &[0.5f32, 2.0, 7.0, 2.0, 3.5]), &mut y);
    assert_eq!(y, [1, 9, 1, 1, 11]);
}

#[test]
fn choices_are_broadcast_and_made_in_place() {
    let mut random = Random::new(6);
    for _ in 0..200 {
        let y_dims = random.dims(0, 4);
        let dims: [Vec<usize>; 3] = std::array::from_fn(|_| random.smaller(&y_dims));
        let condition = random.bools(count(&dims[0]));
        let as_u8 = |x: Vec<i64>| x.into_iter().map(|x| x as u8).collect::<Vec<u8>>();
        let then = as_u8(random.ints(count(&dims[1]), 0, 255));
        let otherwise = as_u8(random.ints(count(&dims[2]), 0, 255));
        let right: Vec<u8> = (0..count(&y_dims))
            .map(|place| {
                let index = index_of(place, &y_dims);
                let at = |operand: usize| broadcast_place(&index, &dims[operand]);
                if condition[at(0)] != 0 { then[at(1)] } else { otherwise[at(2)] }
            })
            .collect();
        let shape = Broadcast::new(&y_dims, [&dims[0], &dims[1], &dims[2]]);
        let mut y = vec![0; right.len()];
        select(&shape, &condition, &then, &otherwise, &mut y);
        assert_eq!(y, right, "{dims:?}");
        if dims[1] == y_dims {
            let mut y = then.clone();
            select_in_place(&shape, &condition, Branch::Then { otherwise: &otherwise }, &mut y);
            assert_eq!(y, right);
        }
        if dims[2] == y_dims {
            let mut y = otherwise.clone();
            select_in_place(&shape, &condition, Branch::Otherwise { then: &then }, &mut y);
            assert_eq!(y, right);
        }
        if dims[0] == y_dims {
            let mut y = condition.clone();
            select_on_condition(&shape, &then, &otherwise, &mut y);
            assert_eq!(y, right);
        }
    }
}

#[test]
fn elements_stay_within_limits() {
    let x = [-3.0, -1.0, 0.0, 2.0, 9.0, f32::NAN];
    let mut y = [0.0; 6];
    clip(Level::detect(), (-1.0, 2.0), &x, &mut y);
    assert_eq!(y[..5], [-1.0, -1.0, 0.0, 2.0, 2.0]);
    assert!(y[5].is_nan());
    let mut in_place = x;
    clip_in_place(Level::detect(), (-1.0, 2.0), &mut in_place);
    assert_eq!(bits(&in_place), bits(&y));
    // The upper limit wins.
    clip(Level::detect(), (5.0, 2.0), &x, &mut y);
    assert_eq!(y[..5], [2.0; 5]);
    let mut sums = [3.0f32, 6.0];
    divide_by_count(Level::detect(), 3, &mut sums);
    assert_eq!(sums, [1.0, 2.0]);
}
