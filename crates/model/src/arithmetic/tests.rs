//! Operators on elements that are made by hand.

use plimsoll_graph::Shape;

use super::*;
use crate::model::{Binary, Reduce, Unary};

fn ints(dtype: Dtype, dims: &[u64], ints: &[i64]) -> Fact {
    let numbers = ints.iter().map(|int| Int::from(*int)).collect();
    Fact { numbers: Some(Numbers::Ints(numbers)), ..Fact::new(dtype, Shape::from(dims)) }
}

/// A list of integers.
fn list(numbers: &[i64]) -> Fact {
    ints(Dtype::I64, &[numbers.len() as u64], numbers)
}

fn scalar(int: i64) -> Fact {
    ints(Dtype::I64, &[], &[int])
}

fn truths(truths: &[i64]) -> Fact {
    ints(Dtype::Bool, &[truths.len() as u64], truths)
}

fn limits(limits: &[(i64, i64)]) -> Fact {
    let numbers = limits.iter().map(|(lo, hi)| Int::between(*lo, *hi)).collect();
    let shape = Shape(vec![Dim::Known(limits.len() as u64)]);
    Fact { numbers: Some(Numbers::Ints(numbers)), ..Fact::new(Dtype::I64, shape) }
}

fn floats(dtype: Dtype, floats: &[f64]) -> Fact {
    let numbers = Some(Numbers::Floats(floats.to_vec()));
    Fact { numbers, ..Fact::new(dtype, Shape(vec![Dim::Known(floats.len() as u64)])) }
}

/// The only output of a node, whose type and dims are these.
fn made(operator: &Operator, inputs: &[&Fact], dtype: Dtype, dims: &[u64]) -> Fact {
    let inputs: Vec<Option<&Fact>> = inputs.iter().map(|fact| Some(*fact)).collect();
    let mut outputs = [Fact::new(dtype, Shape::from(dims))];
    complete(operator, &inputs, &mut outputs, LIMIT);
    let [output] = outputs;
    output
}

/// The same, a list of integers.
fn made_list(operator: &Operator, inputs: &[&Fact], len: u64) -> Option<Vec<i64>> {
    made(operator, inputs, Dtype::I64, &[len]).known_ints()
}

fn binary(binary: Binary, a: &Fact, b: &Fact) -> Fact {
    let len = |fact: &Fact| fact.shape.as_ref().and_then(Shape::known).expect("a list")[0];
    let dtype = a.dtype.expect("a type");
    made(&Operator::Binary(binary), &[a, b], dtype, &[len(a).max(len(b))])
}

fn compared(binary: Binary, a: &Fact, b: &Fact) -> Fact {
    made(&Operator::Binary(binary), &[a, b], Dtype::Bool, &[2])
}

#[test]
fn shapes_are_numbers() {
    let dims = vec![Dim::Known(2), Dim::AtMost(5), Dim::Unknown];
    let x = Fact::of_type(Some(Dtype::F32)).with_dims(dims);
    let shape = |start, end| Operator::Shape { start, end };
    let all = made(&shape(0, None), &[&x], Dtype::I64, &[3]);
    assert_eq!(all, limits(&[(2, 2), (0, 5), (0, i64::MAX)]));
    assert_eq!(made(&shape(-2, Some(-1)), &[&x], Dtype::I64, &[1]), limits(&[(0, 5)]));
    assert_eq!(made(&shape(-9, Some(1)), &[&x], Dtype::I64, &[1]), limits(&[(2, 2)]));
    let x = Fact::new(Dtype::F32, [2, 3, 4]);
    assert_eq!(made(&Operator::Size, &[&x], Dtype::I64, &[]), scalar(24));
    let empty = Fact::new(Dtype::F32, [u64::MAX, u64::MAX, 0]);
    assert_eq!(made(&Operator::Size, &[&empty], Dtype::I64, &[]), scalar(0));
}

#[test]
fn fills_and_ranges() {
    let fill = |dtype, value| made(&Operator::Fill { dtype, value, bits: 0 }, &[], dtype, &[2]);
    assert_eq!(fill(Dtype::I64, -1.0), list(&[-1, -1]));
    assert_eq!(fill(Dtype::Bool, 3.0), truths(&[1, 1]));
    assert_eq!(fill(Dtype::F32, 0.1), floats(Dtype::F32, &[f64::from(0.1f32); 2]));
    assert_eq!(fill(Dtype::I64, 9e18).numbers, None);
    let range = |start, delta| made_list(&Operator::Range, &[&start, &scalar(9), &delta], 3);
    assert_eq!(range(scalar(3), scalar(2)), Some(vec![3, 5, 7]));
    let one = |float: f64| Fact {
        numbers: Some(Numbers::Floats(vec![float])),
        ..Fact::new(Dtype::F32, Shape::default())
    };
    let real =
        |delta| made(&Operator::Range, &[&one(1.0), &one(9.0), &one(delta)], Dtype::F32, &[2]);
    assert_eq!(real(2.0), floats(Dtype::F32, &[1.0, 3.0]));
    assert_eq!(real(0.1).numbers, None);
}

#[test]
fn casts_round_truncate_and_wrap() {
    let cast = |x: &Fact, dtype| {
        let Some([Dim::Known(len)]) = x.dims() else { panic!("a list") };
        made(&Operator::cast(dtype), &[x], dtype, &[*len])
    };
    assert_eq!(cast(&list(&[300, -1]), Dtype::U8), ints(Dtype::U8, &[2], &[44, 255]));
    assert_eq!(cast(&list(&[130, -130]), Dtype::I8), ints(Dtype::I8, &[2], &[-126, 126]));
    assert_eq!(cast(&list(&[3, 0]), Dtype::Bool), truths(&[1, 0]));
    assert_eq!(cast(&limits(&[(1, 9), (0, 9)]), Dtype::Bool).ints().unwrap()[0], Int::from(1));
    let real = floats(Dtype::F32, &[2.9, -2.9]);
    assert_eq!(cast(&real, Dtype::I64), list(&[2, -2]));
    assert_eq!(cast(&floats(Dtype::F32, &[1e30, f64::NAN]), Dtype::I64).numbers, None);
    let large = list(&[16_777_217, 1]);
    assert_eq!(cast(&large, Dtype::F32), floats(Dtype::F32, &[16_777_216.0, 1.0]));
    assert_eq!(cast(&large, Dtype::F16).numbers, None);
    assert_eq!(cast(&limits(&[(1, 9)]), Dtype::F32).numbers, None);
    let wide = cast(&limits(&[(-1, 9), (3, 300)]), Dtype::I8);
    assert_eq!(wide.ints().unwrap()[0], Int::between(-1, 9));
    assert_eq!(wide.ints().unwrap()[1], Int::between(-128, 127));
}

#[test]
fn arithmetic_on_integers() {
    let (a, b) = (list(&[7, -7]), list(&[2, 2]));
    assert_eq!(binary(Binary::Add, &a, &b), list(&[9, -5]));
    assert_eq!(binary(Binary::Sub, &a, &b), list(&[5, -9]));
    assert_eq!(binary(Binary::Mul, &a, &list(&[3])), list(&[21, -21]));
    assert_eq!(binary(Binary::Div, &a, &b), list(&[3, -3]));
    assert_eq!(binary(Binary::Mod { as_in_c: true }, &a, &b), list(&[1, -1]));
    assert_eq!(binary(Binary::Mod { as_in_c: false }, &a, &b), list(&[1, 1]));
    assert_eq!(binary(Binary::Div, &limits(&[(0, 9)]), &list(&[2])), limits(&[(0, 4)]));
    let narrow =
        binary(Binary::Add, &ints(Dtype::U8, &[2], &[200, 1]), &ints(Dtype::U8, &[1], &[100]));
    assert_eq!(narrow.ints().unwrap(), [Int::between(0, 255), Int::from(101)]);
    assert_eq!(binary(Binary::Add, &list(&[i64::MAX]), &list(&[1])).numbers, None);
    assert_eq!(binary(Binary::Div, &list(&[1]), &list(&[0])).numbers, None);
    let unknown = Fact::new(Dtype::I64, [1]);
    assert_eq!(binary(Binary::Mul, &unknown, &list(&[0])), list(&[0]));
    assert_eq!(binary(Binary::Mul, &unknown, &list(&[2])).numbers, None);
    assert_eq!(binary(Binary::Mod { as_in_c: false }, &unknown, &list(&[4])), limits(&[(0, 3)]));
}

#[test]
fn arithmetic_on_reals_rounds_like_the_type() {
    let (a, b) = (floats(Dtype::F32, &[1.0, 5.0]), floats(Dtype::F32, &[3.0, 2.0]));
    let third = f64::from(1.0f32 / 3.0);
    assert_eq!(binary(Binary::Div, &a, &b), floats(Dtype::F32, &[third, 2.5]));
    assert_eq!(compared(Binary::Less, &a, &b), truths(&[1, 0]));
    let unary = |function, x: &[f64]| {
        let x = floats(Dtype::F32, x);
        made(&Operator::Unary(function), &[&x], Dtype::F32, &[3]).floats().map(<[f64]>::to_vec)
    };
    assert_eq!(unary(Unary::Round, &[0.5, 1.5, -2.5]), Some(vec![0.0, 2.0, -2.0]));
    assert_eq!(unary(Unary::Floor, &[0.5, 1.5, -2.5]), Some(vec![0.0, 1.0, -3.0]));
    assert_eq!(unary(Unary::Ceil, &[0.5, 1.5, -2.5]), Some(vec![1.0, 2.0, -2.0]));
    assert_eq!(unary(Unary::Sign, &[0.0, 1.5, -2.5]), Some(vec![0.0, 1.0, -1.0]));
    assert_eq!(unary(Unary::Exp, &[0.0, 1.5, -2.5]), None);
}

#[test]
fn comparisons_that_limits_decide() {
    let (a, b) = (limits(&[(0, 3), (0, 3)]), limits(&[(4, 9), (3, 9)]));
    let truth = |fact: Fact| fact.ints().map(<[Int]>::to_vec);
    let open = || Int::between(0, 1);
    assert_eq!(truth(compared(Binary::Less, &a, &b)), Some(vec![1.into(), open()]));
    assert_eq!(truth(compared(Binary::LessOrEqual, &a, &b)), Some(vec![1.into(), 1.into()]));
    assert_eq!(truth(compared(Binary::Greater, &a, &b)), Some(vec![0.into(), 0.into()]));
    assert_eq!(truth(compared(Binary::Equal, &a, &b)), Some(vec![0.into(), open()]));
    let (no, yes) = (truths(&[0, 1]), Fact::new(Dtype::Bool, [2]));
    assert_eq!(truth(compared(Binary::And, &no, &yes)), Some(vec![0.into(), open()]));
    assert_eq!(truth(compared(Binary::Or, &no, &yes)), Some(vec![open(), 1.into()]));
    assert_eq!(compared(Binary::Xor, &no, &yes).numbers, None);
    let not = made(&Operator::Unary(Unary::Not), &[&no], Dtype::Bool, &[2]);
    assert_eq!(not, truths(&[1, 0]));
}

#[test]
fn choices_and_clips() {
    let unknown = Fact::new(Dtype::Bool, [2]);
    let (a, b) = (list(&[1, 2]), list(&[5, 6]));
    let choice = |condition: &Fact| made(&Operator::Where, &[condition, &a, &b], Dtype::I64, &[2]);
    assert_eq!(choice(&truths(&[1, 0])), list(&[1, 6]));
    assert_eq!(choice(&unknown), limits(&[(1, 5), (2, 6)]));
    let clip = made(&Operator::Clip, &[&list(&[-3, 9]), &scalar(0), &scalar(4)], Dtype::I64, &[2]);
    assert_eq!(clip, list(&[0, 4]));
    let open = made(&Operator::Clip, &[&Fact::new(Dtype::I64, [1]), &scalar(1)], Dtype::I64, &[1]);
    assert_eq!(open, limits(&[(1, i64::MAX)]));
}

#[test]
fn elements_move() {
    let x = ints(Dtype::I64, &[2, 3], &[0, 1, 2, 3, 4, 5]);
    let moved = |operator: &Operator, inputs: &[&Fact], dims: &[u64]| {
        made(operator, inputs, Dtype::I64, dims).known_ints()
    };
    assert_eq!(moved(&Operator::Transpose(None), &[&x], &[3, 2]), Some(vec![0, 3, 1, 4, 2, 5]));
    let kept = Operator::Transpose(Some(vec![0, 1]));
    assert_eq!(moved(&kept, &[&x], &[2, 3]), Some(vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(
        moved(&Operator::Tile, &[&list(&[1, 2]), &list(&[2])], &[4]),
        Some(vec![1, 2, 1, 2])
    );
    let column = ints(Dtype::I64, &[2, 1], &[7, 8]);
    assert_eq!(moved(&Operator::Expand, &[&column], &[2, 2]), Some(vec![7, 7, 8, 8]));
    let cut = [&x, &list(&[-1]), &list(&[i64::MIN]), &list(&[-1]), &list(&[-2])];
    assert_eq!(moved(&Operator::Slice, &cut, &[2, 2]), Some(vec![2, 0, 5, 3]));
    let rest = [&list(&[4, 5, 6]), &list(&[1]), &list(&[i64::MAX])];
    assert_eq!(moved(&Operator::Slice, &rest, &[2]), Some(vec![5, 6]));
    let concat = Operator::Concat { axis: -1 };
    assert_eq!(moved(&concat, &[&x, &column], &[2, 4]), Some(vec![0, 1, 2, 7, 3, 4, 5, 8]));
    let joined = made(&concat, &[&list(&[3]), &Fact::new(Dtype::I64, [1])], Dtype::I64, &[2]);
    assert_eq!(joined, limits(&[(3, 3), (i64::MIN, i64::MAX)]));
}

#[test]
fn parts_begin_where_others_end() {
    let x = list(&[1, 2, 3]);
    let mut outputs = [Fact::new(Dtype::I64, [1]), Fact::new(Dtype::I64, [2])];
    complete(&Operator::Split { axis: 0 }, &[Some(&x)], &mut outputs, LIMIT);
    assert_eq!(outputs, [list(&[1]), list(&[2, 3])]);
}

#[test]
fn elements_at_places() {
    let x = ints(Dtype::I64, &[2, 2], &[1, 2, 3, 4]);
    let at = |operator: &Operator, inputs: &[&Fact], dims: &[u64]| {
        made(operator, inputs, Dtype::I64, dims).known_ints()
    };
    let gather = Operator::Gather { axis: 1 };
    assert_eq!(at(&gather, &[&x, &scalar(-1)], &[2]), Some(vec![2, 4]));
    assert_eq!(at(&gather, &[&x, &list(&[1, 0])], &[2, 2]), Some(vec![2, 1, 4, 3]));
    assert_eq!(at(&gather, &[&x, &scalar(2)], &[2]), None);
    let indices = ints(Dtype::I64, &[1, 2], &[1, 0]);
    let each = Operator::GatherElements { axis: 0 };
    assert_eq!(at(&each, &[&x, &indices], &[1, 2]), Some(vec![3, 2]));
    let nd = |batch_dims| Operator::GatherNd { batch_dims };
    assert_eq!(at(&nd(0), &[&x, &indices], &[1]), Some(vec![3]));
    let columns = ints(Dtype::I64, &[2, 1], &[1, 0]);
    assert_eq!(at(&nd(1), &[&x, &columns], &[2]), Some(vec![2, 3]));
    assert_eq!(at(&nd(0), &[&x, &columns], &[2, 2]), Some(vec![3, 4, 1, 2]));
    let hot = Operator::OneHot { axis: -1 };
    let inputs = [&list(&[1, -1, 7]), &scalar(2), &list(&[0, 9])];
    assert_eq!(at(&hot, &inputs, &[3, 2]), Some(vec![0, 9, 0, 9, 0, 0]));
}

#[test]
fn what_is_counted_gives_dims() {
    let dims = vec![Dim::Known(2), Dim::AtMost(4)];
    let mut outputs = [Fact::of_type(Some(Dtype::I64)).with_dims(dims)];
    let x = ints(Dtype::I32, &[2, 2], &[0, 5, 6, 0]);
    complete(&Operator::NonZero, &[Some(&x)], &mut outputs, LIMIT);
    assert_eq!(outputs[0], ints(Dtype::I64, &[2, 2], &[0, 1, 1, 0]));
    let mut outputs = [Fact::of_type(Some(Dtype::I32)).with_dims(vec![Dim::Unknown])];
    let kept = truths(&[0, 1, 1]);
    complete(&Operator::Compress { axis: None }, &[Some(&x), Some(&kept)], &mut outputs, LIMIT);
    assert_eq!(outputs[0], ints(Dtype::I32, &[2], &[5, 6]));
    let mut outputs =
        [Fact::of_type(Some(Dtype::I64)).with_dims(vec![Dim::Known(1), Dim::AtMost(1)])];
    let open = limits(&[(0, 1)]);
    complete(&Operator::NonZero, &[Some(&open)], &mut outputs, LIMIT);
    assert_eq!(outputs[0].dims(), Some(&[Dim::Known(1), Dim::AtMost(1)][..]));
}

#[test]
fn reductions() {
    let x = ints(Dtype::I64, &[2, 3], &[1, 2, 3, 4, 5, 6]);
    let reduce = |function| Reduce { function, keep_dims: false, none_if_empty: false };
    let reduced = |function, x: &Fact, axes: &[i64], len: u64| {
        made_list(&Operator::Reduce(reduce(function)), &[x, &list(axes)], len)
    };
    assert_eq!(reduced(Reduction::Sum, &x, &[1], 2), Some(vec![6, 15]));
    assert_eq!(reduced(Reduction::Max, &x, &[-2], 3), Some(vec![4, 5, 6]));
    assert_eq!(reduced(Reduction::Product, &x, &[0, 1], 1), Some(vec![720]));
    assert_eq!(reduced(Reduction::Min, &x, &[], 1), Some(vec![1]));
    assert_eq!(reduced(Reduction::Mean, &x, &[1], 2), None);
    let real = |function, x: &[f64]| {
        let x = floats(Dtype::F32, x);
        let output = made(&Operator::Reduce(reduce(function)), &[&x], Dtype::F32, &[]);
        output.floats().map(|floats| floats[0])
    };
    assert_eq!(real(Reduction::Product, &[3.0, 4.0]), Some(12.0));
    assert_eq!(real(Reduction::Sum, &[0.1, 0.2]), None);
    assert_eq!(real(Reduction::Sum, &[16_777_216.0, 1.0]), None);
    assert_eq!(real(Reduction::Mean, &[1.0, 2.0]), Some(1.5));
    assert_eq!(real(Reduction::Mean, &[1.0, 2.0, 3.0]), None);
    let most = Operator::Variadic(Variadic::Max);
    assert_eq!(made_list(&most, &[&list(&[1, 9]), &list(&[4])], 2), Some(vec![4, 9]));
}

#[test]
fn dropout_keeps_elements_only_without_training() {
    let x = floats(Dtype::F32, &[1.0, 2.0]);
    let ratio = floats(Dtype::F32, &[0.5]);
    let training = |truth| ints(Dtype::Bool, &[], &[truth]);
    let dropped =
        |inputs: &[&Fact]| made(&Operator::Dropout { early_mask: false }, inputs, Dtype::F32, &[2]);
    assert_eq!(dropped(&[&x, &ratio]), x);
    assert_eq!(dropped(&[&x, &ratio, &training(0)]), x);
    assert_eq!(dropped(&[&x, &ratio, &training(1)]).numbers, None);
    let unknown = Fact::new(Dtype::Bool, Shape::default());
    assert_eq!(dropped(&[&x, &ratio, &unknown]).numbers, None);
}

#[test]
fn large_tensors_are_left_alone() {
    let fill = Operator::Fill { dtype: Dtype::I64, value: 1.0, bits: 1 };
    assert!(made(&fill, &[], Dtype::I64, &[LIMIT as u64]).numbers.is_some());
    assert_eq!(made(&fill, &[], Dtype::I64, &[LIMIT as u64 + 1]).numbers, None);
    let mut outputs = [Fact::new(Dtype::I64, [3])];
    complete(&fill, &[], &mut outputs, 2);
    assert_eq!(outputs[0].numbers, None);
    // Nothing is gone through that is empty, however large its other dims are.
    let empty = Fact::new(Dtype::I64, [u64::MAX / 2, 0]);
    let sum = Reduce { function: Reduction::Sum, keep_dims: false, none_if_empty: false };
    let axes = list(&[0, 1]);
    assert_eq!(made(&Operator::Reduce(sum), &[&empty, &axes], Dtype::I64, &[]), scalar(0));
}

/// All that is made of members of intervals is in what is made of the intervals.
#[test]
fn what_is_known_of_limits_holds_of_every_number_between() {
    let reduce = Reduce { function: Reduction::Product, keep_dims: true, none_if_empty: false };
    let binaries = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Mod { as_in_c: true },
        Binary::Mod { as_in_c: false },
        Binary::Pow,
        Binary::And,
        Binary::Or,
        Binary::Xor,
        Binary::Equal,
        Binary::Less,
        Binary::LessOrEqual,
        Binary::Greater,
        Binary::GreaterOrEqual,
    ];
    let unaries = [Unary::Abs, Unary::Neg, Unary::Sign];
    let variadics = [Variadic::Max, Variadic::Min, Variadic::Sum];
    let mut operators = vec![
        Operator::Where,
        Operator::Gather { axis: 0 },
        Operator::GatherElements { axis: 0 },
        Operator::cast(Dtype::I64),
        Operator::Reduce(reduce),
    ];
    operators.extend(binaries.map(Operator::Binary));
    operators.extend(unaries.map(Operator::Unary));
    operators.extend(variadics.map(Operator::Variadic));
    let pairs = |range: std::ops::RangeInclusive<i64>| {
        range.clone().flat_map(move |a| range.clone().map(move |b| (a, b)))
    };
    let intervals: Vec<(i64, i64)> = pairs(-2..=2).filter(|(lo, hi)| lo <= hi).collect();
    for operator in &operators {
        let dtype = match operator {
            Operator::Binary(
                Binary::And
                | Binary::Or
                | Binary::Xor
                | Binary::Equal
                | Binary::Less
                | Binary::LessOrEqual
                | Binary::Greater
                | Binary::GreaterOrEqual,
            ) => Dtype::Bool,
            _ => Dtype::I64,
        };
        let run = |a: (i64, i64), b: (i64, i64)| {
            let (a, b) = (limits(&[a, (7, 7)]), limits(&[b, (1, 1)]));
            made(operator, &[&a, &b, &a], dtype, &[2]).ints().map(<[Int]>::to_vec)
        };
        for (a, b) in intervals.iter().flat_map(|a| intervals.iter().map(move |b| (*a, *b))) {
            let Some(wide) = run(a, b) else { continue };
            for (x, y) in (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y))) {
                for (wide, int) in wide.iter().zip(run((x, x), (y, y)).into_iter().flatten()) {
                    let holds = wide.lo <= int.lo && int.hi <= wide.hi;
                    assert!(holds, "{operator:?} of {a:?} and {b:?}: {x}, {y}");
                }
            }
        }
    }
}

/// Operands of which nothing fits make no panic, whatever the operator does with them.
#[test]
fn nonsense_is_survived() {
    let facts = [
        Fact::default(),
        scalar(i64::MIN),
        list(&[-1, i64::MAX, 0]),
        floats(Dtype::F32, &[f64::NAN, -1.0]),
        truths(&[1, 0, 1]),
        Fact::new(Dtype::I64, [0, u64::MAX]),
        ints(Dtype::I64, &[1, 2, 1], &[5, -5]),
    ];
    let operators = [
        Operator::Slice,
        Operator::Split { axis: i64::MIN },
        Operator::Split { axis: 0 },
        Operator::Concat { axis: 1 },
        Operator::Concat { axis: -1 },
        Operator::Expand,
        Operator::Tile,
        Operator::Transpose(None),
        Operator::Transpose(Some(vec![7, 7])),
        Operator::Gather { axis: 0 },
        Operator::Gather { axis: -2 },
        Operator::GatherElements { axis: 1 },
        Operator::GatherNd { batch_dims: u64::MAX },
        Operator::GatherNd { batch_dims: 1 },
        Operator::OneHot { axis: 0 },
        Operator::NonZero,
        Operator::Compress { axis: Some(-1) },
        Operator::Compress { axis: None },
        Operator::Range,
        Operator::Clip,
        Operator::Where,
        Operator::cast(Dtype::U64),
        Operator::Reshape { allow_zero: true },
        Operator::Binary(Binary::Div),
        Operator::Binary(Binary::Pow),
        Operator::Variadic(Variadic::Mean),
        Operator::Unary(Unary::Neg),
        Operator::Shape { start: i64::MIN, end: Some(i64::MAX) },
        Operator::Reduce(Reduce {
            function: Reduction::Product,
            keep_dims: true,
            none_if_empty: true,
        }),
    ];
    for operator in &operators {
        for a in &facts {
            for b in &facts {
                for c in &facts {
                    let inputs = [Some(a), Some(b), Some(c), Some(b), Some(c)];
                    let mut outputs = [a.clone(), b.clone(), c.clone()];
                    complete(operator, &inputs, &mut outputs, LIMIT);
                }
            }
        }
    }
}
