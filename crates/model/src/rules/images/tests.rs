//! Interpolation, regions and grids.

use super::super::tests::check;
use crate::model::{Coordinates, GridSample, Operator, Resize, RoiAlign, Sizing};

#[test]
fn regions_and_grids_say_how_large() {
    let align = || Operator::RoiAlign(RoiAlign { height: 7, width: 5, ..RoiAlign::default() });
    check(&[
        (align(), "f32[1, 3, 9, 9]; f32[<=4, 4]; i64[<=6]", "f32[<=4, 3, 7, 5]"),
        (align(), "f32; f32; i64[2]", "f32[2, ?, 7, 5]"),
        (align(), "f32[1, 3, 9, 9]; f32[4, 4]; i64[6]", "error: 4 is not 6"),
        (
            Operator::GridSample(GridSample::default()),
            "f32[2, 3, 9, 9]; f32[2, 5, ?, 2]",
            "f32[2, 3, 5, ?]",
        ),
        (
            Operator::GridSample(GridSample::default()),
            "f32[2, 3, 9, 9, 9]; f32[?, 5, 6, 7, 3]",
            "f32[2, 3, 5, 6, 7]",
        ),
        (Operator::GridSample(GridSample::default()), "f32; f32[2, 5, 6, 2]", "f32[2, ?, 5, 6]"),
        (
            Operator::GridSample(GridSample::default()),
            "f32[2, 3, 9, 9]; f32[2, 5, 6, 3]",
            "error: 3 is not 2",
        ),
        (
            Operator::GridSample(GridSample::default()),
            "f32[2, 3]; f32",
            "error: 2 axes, not batch, channels and more",
        ),
        (
            Operator::AffineGrid { align_corners: false },
            "f32[2, 2, 3]; i64[4]{2, 3, 5, 6}",
            "f32[2, 5, 6, 2]",
        ),
        (
            Operator::AffineGrid { align_corners: false },
            "f32[2, 3, 4]; i64[5]{2, 3, 5, 6, 0..7}",
            "f32[2, 5, 6, <=7, 3]",
        ),
        (Operator::AffineGrid { align_corners: false }, "f32[2, 2, 3]; i64", "f32[2, ?, ?, 2]"),
        (Operator::AffineGrid { align_corners: false }, "f32; i64", "f32"),
        (
            Operator::AffineGrid { align_corners: false },
            "f32[2, 2, 3]; i64[3]{1, 2, 3}",
            "error: 3 dims, not 4 or 5",
        ),
        (
            Operator::AffineGrid { align_corners: false },
            "f32[2, 2, 3]; i64[5]",
            "error: 2 is not 3",
        ),
    ]);
}

#[test]
fn scales_apply_to_axes() {
    let plain = || Operator::Resize(Resize::default());
    let axes =
        |axes: &[i64]| Operator::Resize(Resize { axes: Some(axes.to_vec()), ..Resize::default() });
    let crops = || {
        Operator::Resize(Resize { coordinates: Coordinates::CropAndResize, ..Resize::default() })
    };
    check(&[
        (plain(), "f32[1, 3, 5, 4]; - ; f32[4]{1, 1, 0.6, 2.5}", "f32[1, 3, 3, 10]"),
        (plain(), "f32[?, 3, 5, <=4]; f32[0]; f32[4]{1, 1, 2, 2}", "f32[?, 3, 10, <=8]"),
        (plain(), "f32[1, 3]; - ; f32[2]", "f32[?, ?]"),
        (axes(&[-1]), "f32[1, 3]; - ; f32[1]{2}", "f32[1, 6]"),
        (axes(&[-1]), "f32[1, 3]; - ; f32", "f32[1, ?]"),
        (plain(), "f32; - ; f32[1]{2}", "f32"),
        // The whole axis or the region.
        (crops(), "f32[4]; f32[2]{0.25, 0.75}; f32[1]{2}", "f32[<=8]"),
        (crops(), "f32[4]; f32[2]{0, 1}; f32[1]{2}", "f32[8]"),
        (crops(), "f32[4]; f32[2]; f32[1]{2}", "f32[?]"),
        (crops(), "f32[4]; f32[3]{0, 0, 0}; f32[1]{2}", "error: 3 limits of regions for 1 axes"),
        (plain(), "f32[1, 3]; - ; f32[1]{2}", "error: 1 scales for 2 axes"),
        (plain(), "f32[3]; - ; f32[1]{-2}", "error: a scale of -2"),
        (plain(), "f32[3]; - ; f32[1]{NaN}", "error: a scale of NaN"),
        (plain(), "f32[3]", "error: neither scales nor dims"),
        (plain(), "f32[18446744073709551615]; - ; f32[1]{2}", "f32[?]"),
        (axes(&[0, -2]), "f32[3, 3]; - ; f32[2]{2, 2}", "error: axis 0 twice"),
    ]);
}

#[test]
fn dims_are_kept_to() {
    let sized =
        |sizing| Operator::Resize(Resize { axes: Some(vec![2, 3]), sizing, ..Resize::default() });
    let (exact, most, least) =
        (|| sized(Sizing::Exact), || sized(Sizing::NotLarger), || sized(Sizing::NotSmaller));
    check(&[
        (exact(), "f32[1, 1, 2, 4]; - ; - ; i64[2]{7, 0..8}", "f32[1, 1, 7, <=8]"),
        (exact(), "f32[1, 1, 2, 4]; - ; f32[0]; i64", "f32[1, 1, ?, ?]"),
        (most(), "f32[1, 1, 2, 4]; - ; - ; i64[2]{7, 8}", "f32[1, 1, 4, 8]"),
        (least(), "f32[1, 1, 2, 4]; - ; - ; i64[2]{7, 8}", "f32[1, 1, 7, 14]"),
        // 2.5 is rounded up.
        (most(), "f32[1, 1, 2, 5]; - ; - ; i64[2]{1, 9}", "f32[1, 1, 1, 3]"),
        (most(), "f32[1, 1, ?, 5]; - ; - ; i64[2]{1, 9}", "f32[1, 1, <=1, <=9]"),
        (least(), "f32[1, 1, ?, 5]; - ; - ; i64[2]{1, 9}", "f32[1, 1, ?, ?]"),
        (most(), "f32[1, 1, 0, 5]; - ; - ; i64[2]{1, 9}", "f32[1, 1, <=1, <=9]"),
        (exact(), "f32[1, 1, 2, 4]; - ; - ; i64[4]{1, 1, 7, 8}", "error: 4 dims for 2 axes"),
        (
            least(),
            "f32[1, 1, 18446744073709551615, 1]; - ; - ; i64[2]{1, 9223372036854775807}",
            "f32[1, 1, ?, ?]",
        ),
    ]);
}
