//! Slices, splits and what is put together.

use plimsoll_graph::{Dim, Int};

use super::super::tests::check;
use super::slice_limit;
use crate::model::{Operator, PadMode};

#[test]
fn slices_are_cut_to_the_axis() {
    let slice = || Operator::Slice;
    check(&[
        (slice(), "f32[9, 8]; i64[2]{1, 0}; i64[2]{5, 3}", "f32[4, 3]"),
        (slice(), "f32[9, 8]; i64[1]{-3}; i64[1]{2147483647}; i64[1]{-1}", "f32[9, 3]"),
        (slice(), "f32[9]; i64[1]{0}; i64[1]{9223372036854775807}; i64[1]{0}; i64[1]{2}", "f32[5]"),
        (slice(), "f32[9]; i64[1]{-1}; i64[1]{-9223372036854775808}; - ; i64[1]{-1}", "f32[9]"),
        (
            slice(),
            "f32[9]; i64[1]{9223372036854775807}; i64[1]{-9223372036854775808}; - ; i64[1]{-4}",
            "f32[3]",
        ),
        (slice(), "f32[9]; i64[1]{-20}; i64[1]{-9223372036854775808}; - ; i64[1]{-1}", "f32[<=1]"),
        (slice(), "f32[9]; i64[1]{6}; i64[1]{2}", "f32[0]"),
        (slice(), "f32[0]; i64[1]{-1}; i64[1]{-9}; - ; i64[1]{-1}", "f32[0]"),
        (slice(), "f32[9, 8]; i64[0]; i64[0]", "f32[9, 8]"),
        (slice(), "f32; i64[1]{0}; i64[1]{1}", "f32"),
        (slice(), "f32[9]; i64[1]{0}; i64[1]{9}; i64[1]{0}; i64[1]{0}", "error: a step of 0"),
        (slice(), "f32[9]; i64[1]{0}; i64[1]{9}; i64[1]{1}", "error: axis 1 of 1 axes"),
        (slice(), "f32[9]; i64[2]{0, 0}; i64[2]{9, 9}", "error: 2 axes of 1"),
        (slice(), "f32[9, 9]; i64[2]{0, 0}; i64[2]{9, 9}; i64[2]{0, -2}", "error: axis 0 twice"),
        (slice(), "f32[9, 9]; i64[2]{0, 0}; i64[1]{9}", "error: 1 numbers for 2 axes"),
    ]);
}

#[test]
fn slices_of_what_is_not_known_have_limits() {
    let slice = || Operator::Slice;
    check(&[
        (slice(), "f32[?]; i64[1]{0}; i64[1]{5}", "f32[<=5]"),
        (slice(), "f32[?]; i64[1]{2}; i64[1]{5}", "f32[<=3]"),
        (slice(), "f32[?]; i64[1]{0}; i64[1]{2147483647}", "f32[?]"),
        (slice(), "f32[?]; i64[1]{1}; i64[1]{2147483647}", "f32[?]"),
        (slice(), "f32[?]; i64[1]{-3}; i64[1]{9223372036854775807}", "f32[<=3]"),
        (slice(), "f32[<=9]; i64[1]{0}; i64[1]{9223372036854775807}", "f32[<=9]"),
        (slice(), "f32[<=9]; i64[1]{2}; i64[1]{-3}", "f32[<=4]"),
        (slice(), "f32[<=9]; i64[1]{-1}; i64[1]{-9223372036854775808}; - ; i64[1]{-2}", "f32[<=5]"),
        (slice(), "f32[9]; i64[1]{0}; i64[1]{0..4}", "f32[<=4]"),
        (slice(), "f32[9]; i64[1]{3}; i64[1]", "f32[<=6]"),
        (slice(), "f32[9]; i64[1]; i64[1]", "f32[<=9]"),
        (slice(), "f32[9, 8]; i64[1]; i64[1]; i64[1]{1}", "f32[9, <=8]"),
        (slice(), "f32[9, 8]; i64[1]{0}; i64[1]{1}; i64[1]", "f32[<=9, <=8]"),
        (slice(), "f32[9, ?]; i64; i64", "f32[<=9, ?]"),
        (slice(), "f32[9]; i64; i64; i64[1]{0}", "f32[<=9]"),
    ]);
}

/// Every slice of small axes, reckoned element by element.
#[test]
fn slice_limits_hold_for_every_slice() {
    let places = [-9, -4, -3, -1, 0, 1, 2, 5, 9];
    let intervals = places.iter().flat_map(|lo| places.map(|hi| Int::between(*lo, hi)));
    let intervals: Vec<Int> = intervals.filter(|int| int.lo <= int.hi).collect();
    for step in [-3, -1, 1, 2] {
        for start in &intervals {
            for end in &intervals {
                let limit = |dim| slice_limit(dim, &*start, &*end, &Int::from(step));
                let longest = |dim: u64| {
                    let ends =
                        |start| (end.lo..=end.hi).map(move |end| length(dim, start, end, step));
                    (start.lo..=start.hi).flat_map(ends).max().expect("one of them")
                };
                for dim in 0..6 {
                    let longest = (0..=dim).map(longest).max().expect("one of them");
                    assert!(limit(Some(dim)) >= Some(longest), "{start:?} {end:?} {step} of {dim}");
                    let free = limit(None).is_none_or(|limit| limit >= longest);
                    assert!(free, "{start:?} {end:?} {step}");
                }
            }
        }
    }
}

fn length(dim: u64, start: i64, end: i64, step: i64) -> u64 {
    let n = dim.cast_signed();
    let place = |place: i64| if place < 0 { place + n } else { place };
    let (start, end) = (place(start), place(end));
    let taken = (0..n).filter(|index| {
        if step > 0 {
            *index >= start && *index < end && (index - start.max(0)) % step == 0
        } else {
            *index <= start && *index > end && (start.min(n - 1) - index) % step == 0
        }
    });
    taken.count() as u64
}

#[test]
fn slice_lengths_are_those_of_elements() {
    for dim in 0..6 {
        for (start, end) in (-8..8).flat_map(|start| (-8..8).map(move |end| (start, end))) {
            for step in [-3, -2, -1, 1, 2, 3] {
                let expected = length(dim, start, end, step);
                match super::slice_length(dim, start, end, step) {
                    Dim::Known(found) => {
                        assert_eq!(found, expected, "{start}:{end}:{step} of {dim}");
                    }
                    Dim::AtMost(most) => assert!(step < 0 && start < 0 && most == 1),
                    Dim::Follows(_) | Dim::Unknown => panic!("{start}:{end}:{step} of {dim}"),
                }
            }
        }
    }
}

#[test]
fn splits_have_parts() {
    let split = |axis| Operator::Split { axis };
    check(&[
        (split(0), "f32[6, 2]", "f32[3, 2]; f32[3, 2]"),
        (split(-1), "f32[2, 7]", "f32[2, 3]; f32[2, 3]; f32[2, 1]"),
        (split(0), "f32[<=7]", "f32[<=4]; f32[<=4]"),
        (split(0), "f32[?]", "f32[?]; f32[?]"),
        (split(0), "f32[0]", "f32[0]; f32[0]"),
        (split(0), "f32", "f32; f32"),
        (split(0), "f32[5]", "f32[5]"),
        (split(0), "f32[5]; i64[2]{2, 3}", "f32[2]; f32[3]"),
        (split(0), "f32[?]; i64[2]{2, 0..9}", "f32[2]; f32[<=9]"),
        (split(0), "f32[5]; i64[2]", "f32[<=5]; f32[<=5]"),
        (split(0), "f32[5]; i64", "f32[<=5]; f32[<=5]"),
        (split(0), "f32[9]; i64[1]{7}", "error: parts of 7 of 9"),
        (split(0), "f32[9]; i64[2]{3, 6}", "error: 2 lengths for 1 parts"),
        (split(0), "f32[<=9]; i64[1]{12}", "error: parts of 12 of at most 9"),
    ]);
    assert_eq!(super::equal_parts(&Dim::Known(5), 4), Err("5 in 4 parts".to_owned()));
    assert_eq!(super::equal_parts(&Dim::Known(5), 0), Ok(Vec::new()));
}

#[test]
fn tensors_are_put_together_and_repeated() {
    let concat = |axis| Operator::Concat { axis };
    check(&[
        (concat(0), "f32[2, 3]; f32[4, 3]", "f32[6, 3]"),
        (concat(-1), "f32[?, 3]; f32[2, <=4]; f32[<=9, 0]", "f32[2, <=7]"),
        (concat(0), "?[2]; f32[?]", "f32[?]"),
        (concat(0), "f32; f32[2, 3]", "f32[?, 3]"),
        (concat(0), "f32; f32", "f32"),
        (concat(0), "f32[2, 3]; f32[2, 4]", "error: 3 is not 4"),
        (concat(0), "f32[2, 3]; f32[2]", "error: 1 axes, not 2"),
        (concat(2), "f32[2, 3]", "error: axis 2 of 2 axes"),
        (concat(0), "f32[18446744073709551615]; f32[1]", "f32[?]"),
        (Operator::Tile, "f32[2, <=3]; i64[2]{3, 2}", "f32[6, <=6]"),
        (Operator::Tile, "f32[2, 3]; i64[2]{0, 0..4}", "f32[0, <=12]"),
        (Operator::Tile, "f32[2, 3]; i64", "f32[?, ?]"),
        (Operator::Tile, "f32; i64[2]{1, 1}", "f32[?, ?]"),
        (Operator::Tile, "f32[2]; i64[2]{1, 1}", "error: 2 repeats of 1 axes"),
        (Operator::Tile, "f32[2]; i64[1]{-1}", "error: a dim of -1"),
    ]);
}

#[test]
fn pads_and_crops_add_and_take_away() {
    let pad = || Operator::Pad(PadMode::Constant);
    check(&[
        (pad(), "f32[2, 3]; i64[4]{0, 1, 2, -1}", "f32[4, 3]"),
        (pad(), "f32[2, 3]; i64[2]{1, 1}; - ; i64[1]{-1}", "f32[2, 5]"),
        (pad(), "f32[<=2, ?]; i64[4]{1, 1, 1, 1}", "f32[<=4, ?]"),
        (pad(), "f32[2]; i64[2]{0..3, -1}", "f32[<=4]"),
        (pad(), "f32[2]; i64[2]", "f32[?]"),
        (pad(), "f32[2, 3]; i64[2]{1, 1}; - ; i64[1]", "f32[?, ?]"),
        (pad(), "f32[2, 3]; i64; - ; i64[1]{0}", "f32[?, 3]"),
        (pad(), "f32[2, 3]; i64[0]; - ; i64[0]", "f32[2, 3]"),
        (pad(), "f32[2]; i64[2]{-2, -1}", "error: 2 with -2 and -1 more"),
        (pad(), "f32[2]; i64[3]{0, 0, 0}", "error: 3 pads for 1 axes"),
        (pad(), "f32[18446744073709551615]; i64[2]{1, 1}", "f32[?]"),
        (Operator::CenterCropPad(None), "f32[9, ?]; i64[2]{4, 5}", "f32[4, 5]"),
        (Operator::CenterCropPad(None), "f32; i64[2]{4, 0..5}", "f32[4, <=5]"),
        (Operator::CenterCropPad(Some(vec![-1])), "f32[9, ?]; i64[1]{5}", "f32[9, 5]"),
        (Operator::CenterCropPad(Some(vec![-1])), "f32[9, 8]; i64", "f32[9, ?]"),
        (Operator::CenterCropPad(None), "f32[9, 8]; i64[1]{5}", "error: 1 dims for 2 axes"),
    ]);
}
