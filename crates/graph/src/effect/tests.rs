//! Every row of the table of effects.

use super::*;
use crate::op::Cut;
use crate::shape::Dim;

struct Case {
    inputs: Vec<(Dtype, Shape)>,
    outputs: Vec<(Dtype, Shape)>,
}

/// Operands of `f32`.
fn f32s(inputs: &[&[u64]], outputs: &[&[u64]]) -> Case {
    let all = |shapes: &[&[u64]]| shapes.iter().map(|s| (Dtype::F32, Shape::from(*s))).collect();
    Case { inputs: all(inputs), outputs: all(outputs) }
}

impl Case {
    fn input(mut self, index: usize, dtype: Dtype) -> Self {
        self.inputs[index].0 = dtype;
        self
    }

    fn output(mut self, index: usize, dtype: Dtype) -> Self {
        self.outputs[index].0 = dtype;
        self
    }

    fn with<T>(&self, f: impl FnOnce(&Operands<'_>, &Operands<'_>) -> T) -> T {
        fn operands(list: &[(Dtype, Shape)]) -> Vec<Option<Operand<'_>>> {
            let operand =
                |(dtype, shape)| Some(Operand { dtype, shape, slot_bits: Dtype::bits(dtype) });
            list.iter().map(|(dtype, shape)| (*dtype, shape)).map(operand).collect()
        }
        f(&operands(&self.inputs), &operands(&self.outputs))
    }

    fn effect(&self, op: &Op) -> Effect {
        self.with(|inputs, outputs| effect(op, inputs, outputs))
    }

    fn overwrites(&self, op: &Op) -> Vec<(usize, usize)> {
        self.effect(op).overwrites
    }

    /// (output, byte offset in input 0)
    fn views(&self, op: &Op) -> Vec<(usize, u64)> {
        let views = self.effect(op).views;
        assert!(views.iter().all(|view| view.input == 0));
        views.iter().map(|view| (view.output, view.offset)).collect()
    }

    fn misfit(&self, op: &Op) -> Option<String> {
        self.with(|inputs, outputs| misfit(op, inputs, outputs))
    }
}

fn slice(axis: usize, start: u64, len: u64) -> Op {
    Op::Slice { cuts: vec![Cut::new(axis, start, len)] }
}

#[test]
fn row_by_row_ops_may_overwrite_their_data() {
    let same = f32s(&[&[4, 8], &[8]], &[&[4, 8]]);
    for op in [Op::Unary, Op::Softmax, Op::Scan, Op::Copy] {
        assert_eq!(same.overwrites(&op), [(0, 0)], "{op:?}");
        assert!(!same.effect(&op).scatters, "{op:?}");
    }
    for op in [Op::Clamp, Op::Norm, Op::Scatter, Op::UpdateSlice, Op::Variadic] {
        assert_eq!(same.overwrites(&op), [(0, 0)], "{op:?}");
        assert!(same.effect(&op).scatters, "{op:?}");
    }
    // Another number of bytes: not the same place.
    let narrower = f32s(&[&[4, 8]], &[&[4, 8]]).output(0, Dtype::Bool);
    assert_eq!(narrower.overwrites(&Op::Unary), []);
}

#[test]
fn a_binary_op_may_overwrite_either_operand_of_the_full_shape() {
    assert_eq!(f32s(&[&[4, 8], &[4, 8]], &[&[4, 8]]).overwrites(&Op::Binary), [(0, 0), (0, 1)]);
    assert_eq!(f32s(&[&[8], &[4, 8]], &[&[4, 8]]).overwrites(&Op::Binary), [(0, 1)]);
    assert_eq!(f32s(&[&[8], &[4, 8]], &[&[4, 8]]).overwrites(&Op::ByRows), [(0, 1)]);
    assert_eq!(f32s(&[&[4, 1], &[1, 8]], &[&[4, 8]]).overwrites(&Op::Binary), []);
    let compare = f32s(&[&[4], &[4]], &[&[4]]).output(0, Dtype::Bool);
    assert_eq!(compare.overwrites(&Op::Binary), []);
}

#[test]
fn a_where_may_overwrite_branches_and_a_condition_as_wide() {
    let wide = f32s(&[&[4], &[4], &[4]], &[&[4]]);
    assert_eq!(wide.overwrites(&Op::Where), [(0, 1), (0, 2), (0, 0)]);
    let narrow = f32s(&[&[4], &[4], &[]], &[&[4]]).input(0, Dtype::Bool);
    assert_eq!(narrow.overwrites(&Op::Where), [(0, 1)]);
}

#[test]
fn a_cast_is_a_view_or_overwrites_unless_it_widens() {
    let same = f32s(&[&[4]], &[&[4]]);
    assert_eq!(same.views(&Op::Cast), [(0, 0)]);
    let narrowing = f32s(&[&[4]], &[&[4]]).output(0, Dtype::F16);
    assert_eq!(
        (narrowing.views(&Op::Cast), narrowing.overwrites(&Op::Cast)),
        (vec![], vec![(0, 0)])
    );
    let widening = f32s(&[&[4]], &[&[4]]).input(0, Dtype::F16);
    assert_eq!((widening.views(&Op::Cast), widening.overwrites(&Op::Cast)), (vec![], vec![]));
    assert_eq!(narrowing.overwrites(&Op::Quantize), [(0, 0)]);
    assert_eq!(widening.overwrites(&Op::Quantize), []);
    let halves = f32s(&[&[4]], &[&[4]]).input(0, Dtype::F16).output(0, Dtype::Bf16);
    assert_eq!((halves.views(&Op::Cast), halves.overwrites(&Op::Cast)), (vec![], vec![(0, 0)]));
}

#[test]
fn a_cast_goes_by_the_width_of_slots() {
    let widening = f32s(&[&[4]], &[&[4]]).input(0, Dtype::F16);
    let overwrites = widening.with(|inputs, outputs| {
        let four = |operand: &Option<Operand<'_>>| operand.unwrap().dtype;
        assert_eq!(four(&inputs[0]), Dtype::F16);
        let inputs: Vec<_> =
            inputs.iter().map(|i| i.map(|i| Operand { slot_bits: 32, ..i })).collect();
        effect(&Op::Cast, &inputs, outputs).overwrites
    });
    assert_eq!(overwrites, [(0, 0)]);
}

#[test]
fn reshapes_are_views_of_everything() {
    let case = f32s(&[&[4, 1, 8]], &[&[32]]);
    for op in [Op::Reshape, Op::Squeeze, Op::Unsqueeze, Op::Flatten, Op::Identity, Op::Dropout] {
        assert_eq!(case.views(&op), [(0, 0)], "{op:?}");
        assert!(case.effect(&op).copies);
    }
    assert_eq!(case.misfit(&Op::Reshape), None);
    let wrong = f32s(&[&[4, 8]], &[&[31]]);
    assert_eq!(wrong.misfit(&Op::Reshape).unwrap(), "32 elements cannot become 31");
    // Identity of another type is no view.
    assert_eq!(f32s(&[&[4]], &[&[4]]).output(0, Dtype::I32).views(&Op::Identity), []);
}

#[test]
fn a_transpose_is_a_view_if_it_moves_only_dims_of_one() {
    let perm = |perm: &[usize]| Op::Transpose { perm: perm.to_vec() };
    assert_eq!(f32s(&[&[1, 4, 8]], &[&[4, 1, 8]]).views(&perm(&[1, 0, 2])), [(0, 0)]);
    assert_eq!(f32s(&[&[4, 1, 8]], &[&[4, 8, 1]]).views(&perm(&[0, 2, 1])), [(0, 0)]);
    assert_eq!(f32s(&[&[4, 8]], &[&[8, 4]]).views(&perm(&[1, 0])), []);
    let bad = f32s(&[&[4, 8]], &[&[8, 4]]).misfit(&perm(&[1, 1])).unwrap();
    assert_eq!(bad, "[1, 1] is not a permutation of 2 axes");
}

#[test]
fn a_slice_of_the_outermost_axis_is_a_view() {
    assert_eq!(f32s(&[&[4, 8]], &[&[2, 8]]).views(&slice(0, 1, 2)), [(0, 32)]);
    // Of any axis, when all dims before it are 1.
    assert_eq!(f32s(&[&[1, 1, 8, 2]], &[&[1, 1, 3, 2]]).views(&slice(2, 5, 3)), [(0, 40)]);
    assert_eq!(f32s(&[&[4, 8]], &[&[4, 2]]).views(&slice(1, 0, 2)), []);
    // The whole of an inner axis is everything.
    assert_eq!(f32s(&[&[4, 8]], &[&[4, 8]]).views(&slice(1, 0, 8)), [(0, 0)]);
}

#[test]
fn one_index_of_outer_axes_is_a_stretch_too() {
    let op = Op::Slice { cuts: vec![Cut::new(0, 2, 1), Cut::new(1, 3, 4)] };
    assert_eq!(f32s(&[&[4, 8]], &[&[4]]).views(&op), [(0, (2 * 8 + 3) * 4)]);
    let strided = Op::Slice { cuts: vec![Cut { step: 2, ..Cut::new(0, 0, 2) }] };
    assert_eq!(f32s(&[&[4, 8]], &[&[2, 8]]).views(&strided), []);
}

#[test]
fn packed_elements_are_viewed_at_whole_bytes_only() {
    let case = || f32s(&[&[8]], &[&[2]]).input(0, Dtype::I4).output(0, Dtype::I4);
    assert_eq!(case().views(&slice(0, 2, 2)), [(0, 1)]);
    assert_eq!(case().views(&slice(0, 3, 2)), []);
}

#[test]
fn a_slice_without_elements_begins_nowhere() {
    let none = f32s(&[&[0, 4]], &[&[0, 2]]);
    assert_eq!(none.views(&slice(1, 2, 2)), [(0, 0)], "not behind the end of the input");
}

#[test]
fn slices_outside_are_misfits() {
    let case = f32s(&[&[4]], &[&[2]]);
    assert_eq!(case.misfit(&slice(0, 2, 2)), None);
    let outside = case.misfit(&slice(0, 3, 2)).unwrap();
    assert_eq!(outside, "2 elements from 3 by 1 of axis 0, which has 4");
    assert_eq!(case.misfit(&slice(1, 0, 1)).unwrap(), "axis 1 of 1 axes");
    assert_eq!(case.misfit(&slice(0, 4, 0)), None);
    assert!(case.misfit(&slice(0, u64::MAX, 2)).is_some());
    let stepped = |start, len, step| Op::Slice { cuts: vec![Cut { axis: 0, start, len, step }] };
    assert_eq!(case.misfit(&stepped(3, 4, -1)), None);
    assert!(case.misfit(&stepped(3, 5, -1)).is_some());
    assert!(case.misfit(&stepped(0, 2, 0)).is_some());
    assert_eq!(case.misfit(&stepped(3, 1, i64::MIN)), None);
    let twice = Op::Slice { cuts: vec![Cut::new(0, 0, 2), Cut::new(0, 1, 2)] };
    assert_eq!(case.misfit(&twice).unwrap(), "axis 0 is cut twice");
}

#[test]
fn what_is_kept_of_an_axis_is_in_order_or_a_single_element() {
    let cut = |len, step| Cut { axis: 0, start: 0, len, step };
    assert_eq!([cut(4, 1), cut(1, -1), cut(0, 7), cut(1, i64::MIN)].map(|c| c.is_run()), [true; 4]);
    assert_eq!([cut(4, -1), cut(2, 2)].map(|c| c.is_run()), [false; 2]);
    assert!(cut(4, 1).keeps_all(4) && cut(1, -1).keeps_all(1));
    assert!(!cut(4, -1).keeps_all(4) && !cut(3, 1).keeps_all(4));
}

#[test]
fn parts_of_an_outer_split_are_views_one_after_another() {
    let outer = f32s(&[&[6, 2]], &[&[1, 2], &[2, 2], &[3, 2]]);
    assert_eq!(outer.views(&Op::Split { axis: 0 }), [(0, 0), (1, 8), (2, 24)]);
    let inner = f32s(&[&[2, 6]], &[&[2, 3], &[2, 3]]);
    assert_eq!(inner.views(&Op::Split { axis: 1 }), []);
    let short = f32s(&[&[6]], &[&[2], &[3]]);
    assert_eq!(
        short.misfit(&Op::Split { axis: 0 }).unwrap(),
        "parts of 5 along axis 0, which has 6"
    );
    assert_eq!(short.misfit(&Op::Split { axis: 1 }).unwrap(), "axis 1 of 1 axes");
}

#[test]
fn an_expand_is_a_view_if_nothing_is_repeated() {
    assert_eq!(f32s(&[&[4]], &[&[1, 4]]).views(&Op::Expand), [(0, 0)]);
    assert_eq!(f32s(&[&[4]], &[&[2, 4]]).views(&Op::Expand), []);
}

#[test]
fn all_else_reads_and_writes_and_shares_nothing() {
    let case = f32s(&[&[4, 4], &[4, 4]], &[&[4, 4]]);
    let plain = Effect { reads: true, ..Effect::default() };
    for op in [
        Op::Fill,
        Op::MatMul,
        Op::Conv,
        Op::ConvTranspose,
        Op::Pool,
        Op::Reduce,
        Op::ArgReduce,
        Op::TopK,
        Op::Attention,
        Op::Rnn,
        Op::Resize,
        Op::Custom,
    ] {
        assert_eq!(case.effect(&op), plain, "{op:?}");
    }
    let copying = Effect { copies: true, ..plain };
    for op in [Op::Concat { axis: 0 }, Op::Gather, Op::Pad] {
        assert_eq!(case.effect(&op), copying, "{op:?}");
    }
    assert_eq!(case.effect(&Op::ShapeOf), Effect::default());
    assert_eq!(case.misfit(&Op::Concat { axis: 2 }).unwrap(), "axis 2 of 2 axes");
}

#[test]
fn what_is_not_known_shares_nothing() {
    let unknown = Shape(vec![Dim::Unknown]);
    let operand = Some(Operand { dtype: Dtype::F32, shape: &unknown, slot_bits: 32 });
    for op in Op::every() {
        let effect = effect(&op, &[operand, operand], &[operand]);
        assert_eq!(effect.overwrites, [], "{op:?}");
        assert_eq!(misfit(&op, &[operand, operand], &[operand]), None);
        // No operands at all are no trouble either.
        assert_eq!(super::effect(&op, &[], &[]).views, []);
    }
}

#[test]
fn parts_of_inner_axes_are_rows_of_the_whole() {
    let strided = |case: &Case, op: &Op| case.with(|from, to| strided_views(op, from, to));
    let row = |output, offset, bytes, stride| {
        let rows = plimsoll::Strided { bytes, stride };
        StridedEffect { output, offset, rows }
    };
    let split = f32s(&[&[4, 6]], &[&[4, 2], &[4, 4]]);
    let parts = vec![row(0, 0, 8, 24), row(1, 8, 16, 24)];
    assert_eq!(strided(&split, &Op::Split { axis: 1 }), Some(parts));
    let cut = f32s(&[&[4, 6]], &[&[4, 2]]);
    assert_eq!(strided(&cut, &slice(1, 3, 2)), Some(vec![row(0, 12, 8, 24)]));
    let repeated = f32s(&[&[1, 6]], &[&[4, 6]]);
    assert_eq!(strided(&repeated, &Op::Expand), Some(vec![row(0, 0, 24, 0)]));
    let stretched = f32s(&[&[4, 1]], &[&[4, 6]]);
    assert_eq!(strided(&stretched, &Op::Expand), None);
    // One stretch is a view, and no rows.
    assert_eq!(strided(&f32s(&[&[4, 6]], &[&[2, 6]]), &slice(0, 1, 2)), None);
    assert_eq!(strided(&cut, &Op::Custom), None);
}

#[test]
fn inputs_of_a_concat_are_parts_of_its_output() {
    let parts = |case: &Case, axis| {
        let parts = case.with(|from, to| concat_parts(&Op::Concat { axis }, from, to))?;
        let list = parts.list.iter().map(|part| (part.offset, part.bytes)).collect::<Vec<_>>();
        Some((parts.rows, parts.stride, list))
    };
    let inner = f32s(&[&[4, 2], &[4, 4]], &[&[4, 6]]);
    assert_eq!(parts(&inner, 1), Some((4, 24, vec![(0, 8), (8, 16)])));
    let outer = f32s(&[&[2, 6], &[1, 6]], &[&[3, 6]]);
    assert_eq!(parts(&outer, 0), Some((1, 72, vec![(0, 48), (48, 24)])));
    let too_long = f32s(&[&[2, 6], &[2, 6]], &[&[3, 6]]);
    assert_eq!(parts(&too_long, 0), None);
}

#[test]
fn some_rows_of_an_output_need_rows_of_operands_or_all_of_them() {
    let needs = |op: &Op, case: Case| case.with(|from, to| needs_rows(op, from, to));
    let rows = |list: &[bool]| Some(list.to_vec());
    let sum = f32s(&[&[8, 3], &[3]], &[&[8, 3]]);
    assert_eq!(needs(&Op::Binary, sum), rows(&[true, false]));
    let product = f32s(&[&[8, 5], &[5, 3]], &[&[8, 3]]);
    assert_eq!(needs(&Op::MatMul, product), rows(&[true, false]));
    // The right operand could be the one with the rows, transposed.
    let unclear = f32s(&[&[8, 5], &[5, 8]], &[&[8, 8]]);
    assert_eq!(needs(&Op::MatMul, unclear), None);
    let depthwise = f32s(&[&[1, 8, 4, 4], &[8, 1, 3, 3]], &[&[1, 8, 4, 4]]);
    assert_eq!(needs(&Op::Conv, depthwise), rows(&[true, true]));
    let dense = f32s(&[&[1, 2, 4, 4], &[8, 2, 3, 3], &[8]], &[&[1, 8, 4, 4]]);
    assert_eq!(needs(&Op::Conv, dense), rows(&[false, true, true]));
    assert_eq!(needs(&Op::Softmax, f32s(&[&[8, 3]], &[&[8, 3]])), None);
}
