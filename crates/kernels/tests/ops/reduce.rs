//! Reductions along axes.

use plimsoll_kernels::Level;
use plimsoll_kernels::reduce::{RealReduction, Reduce, Reduction, reduce, reduce_real};

use crate::world::{Random, assert_close, bits, count, indices, levels, place_of};

/// The elements that each output is made of, in order.
fn groups(dims: &[usize], reduced: &[bool]) -> Vec<Vec<usize>> {
    let only = |wanted: bool| -> Vec<usize> {
        (dims.iter().zip(reduced)).map(|(&dim, &r)| if r == wanted { dim } else { 1 }).collect()
    };
    indices(&only(false))
        .map(|kept| {
            indices(&only(true))
                .map(|gone| {
                    let sum: Vec<usize> = kept.iter().zip(&gone).map(|(a, b)| a + b).collect();
                    place_of(&sum, dims)
                })
                .collect()
        })
        .collect()
}

fn definition(function: Reduction, x: &[f64]) -> f64 {
    match function {
        Reduction::Sum => x.iter().sum(),
        Reduction::Mean => x.iter().sum::<f64>() / x.len() as f64,
        Reduction::Max => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Reduction::Min => x.iter().copied().fold(f64::INFINITY, f64::min),
        Reduction::Product => x.iter().product(),
        Reduction::L1 => x.iter().map(|x| x.abs()).sum(),
        Reduction::SumSquare => x.iter().map(|x| x * x).sum(),
    }
}

fn real_definition(function: RealReduction, x: &[f64]) -> f64 {
    match function {
        RealReduction::L2 => x.iter().map(|x| x * x).sum::<f64>().sqrt(),
        RealReduction::LogSum => x.iter().sum::<f64>().ln(),
        RealReduction::LogSumExp => x.iter().map(|x| x.exp()).sum::<f64>().ln(),
    }
}

const ALL: [Reduction; 7] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
    Reduction::Product,
    Reduction::L1,
    Reduction::SumSquare,
];
const REAL: [RealReduction; 3] =
    [RealReduction::L2, RealReduction::LogSum, RealReduction::LogSumExp];

#[test]
fn any_axes_are_reduced() {
    let mut random = Random::new(31);
    for round in 0..400 {
        let dims = random.dims(0, 5);
        let reduced: Vec<bool> = dims.iter().map(|_| random.coin()).collect();
        let x: Vec<f32> = (0..count(&dims)).map(|_| random.float(1.0).abs() + 0.5).collect();
        let groups = groups(&dims, &reduced);
        let shape = Reduce::new(&dims, |axis| reduced[axis]);
        let of = |places: &Vec<usize>| -> Vec<f64> {
            places.iter().map(|&place| f64::from(x[place])).collect()
        };
        for level in levels() {
            let function = ALL[round % ALL.len()];
            let expected: Vec<f64> = groups.iter().map(|g| definition(function, &of(g))).collect();
            let mut y = vec![9.0; groups.len()];
            reduce(level, function, &shape, &x, &mut y);
            assert_close(&y, &expected, 3e-5, (function, &dims, &reduced));
            let mut portable = vec![7.0; groups.len()];
            reduce(Level::portable(), function, &shape, &x, &mut portable);
            assert_eq!(bits(&portable), bits(&y));

            let function = REAL[round % REAL.len()];
            let expected: Vec<f64> =
                groups.iter().map(|g| real_definition(function, &of(g))).collect();
            let mut y = vec![9.0; groups.len()];
            reduce_real(level, function, &shape, &x, &mut y);
            assert_close(&y, &expected, 1e-6, (function, &dims, &reduced));
        }
    }
}

#[test]
fn integers_are_reduced_exactly() {
    let mut random = Random::new(32);
    for round in 0..200 {
        let dims = random.dims(0, 4);
        let reduced: Vec<bool> = dims.iter().map(|_| random.coin()).collect();
        let groups = groups(&dims, &reduced);
        if groups.iter().any(Vec::is_empty) {
            continue;
        }
        let x = random.ints(count(&dims), -9, 9);
        let function = [Reduction::Sum, Reduction::Max, Reduction::Min, Reduction::L1][round % 4];
        let of = |g: &Vec<usize>| -> Vec<f64> { g.iter().map(|&i| x[i] as f64).collect() };
        let expected: Vec<i64> =
            groups.iter().map(|g| definition(function, &of(g)) as i64).collect();
        let mut y = vec![0; groups.len()];
        reduce(Level::detect(), function, &Reduce::new(&dims, |axis| reduced[axis]), &x, &mut y);
        assert_eq!(y, expected);
    }
}

#[test]
fn long_sums_lose_little() {
    // A million tenths: added one after another in `f32` they make 100 958.
    let x = vec![0.1f32; 1_000_000];
    let exact = f64::from(0.1f32) * 1e6;
    for shape in [Reduce::new(&[1_000_000], |_| true), Reduce::new(&[500_000, 2], |a| a == 0)] {
        let mut y = vec![0.0; 1_000_000 / shape.count()];
        reduce(Level::detect(), Reduction::Sum, &shape, &x, &mut y);
        let sum: f64 = y.iter().copied().map(f64::from).sum();
        assert!((sum / exact - 1.0).abs() < 1e-4, "{sum}");
    }
}

#[test]
fn extremes_of_what_is_not_a_number_are_none() {
    let x = [1.0, f32::NAN, 2.0];
    for function in [Reduction::Max, Reduction::Min] {
        let mut y = [0.0];
        reduce(Level::detect(), function, &Reduce::new(&[3], |_| true), &x, &mut y);
        assert!(y[0].is_nan());
    }
    let (mut y, none) = ([0.0], f32::NEG_INFINITY);
    let shape = Reduce::new(&[2], |_| true);
    reduce_real(Level::detect(), RealReduction::LogSumExp, &shape, &[none, none], &mut y);
    assert_eq!(y, [none]);
    reduce_real(Level::detect(), RealReduction::LogSumExp, &shape, &[1000.0, 1000.0], &mut y);
    assert_eq!(y, [1000.0 + std::f32::consts::LN_2]);
}
