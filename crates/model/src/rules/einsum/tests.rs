//! Formulas.

use super::super::tests::check;
use crate::model::Operator;

fn sum(equation: &str) -> Operator {
    Operator::Einsum { equation: equation.to_owned() }
}

#[test]
fn letters_stand_for_dims() {
    check(&[
        (sum("bij,bjk->bik"), "f32[2, 3, 4]; f32[2, 4, 5]", "f32[2, 3, 5]"),
        (sum(" b i j , b j k -> b i k "), "f32[?, 3, 4]; f32[<=2, 4, 5]", "f32[?, 3, 5]"),
        (sum("ij->ji"), "f32[2, <=3]", "f32[<=3, 2]"),
        (sum("ii->i"), "f32[3, 3]", "f32[3]"),
        (sum("ij->"), "f32[2, 3]", "f32[]"),
        (sum(",->"), "f32[]; f32[]", "f32[]"),
        (sum("ij,jk->ik"), "f32[2, 1]; f32[3, 4]", "f32[2, 4]"),
        (sum("ij,jk->ik"), "f32; f32[3, 4]", "f32[?, 4]"),
    ]);
}

#[test]
fn ellipses_stand_for_the_others() {
    check(&[
        (sum("...ij,...jk->...ik"), "f32[7, 1, 2, 3]; f32[5, 3, 4]", "f32[7, 5, 2, 4]"),
        (sum("...ij->ji..."), "f32[7, 2, 3]", "f32[3, 2, 7]"),
        (sum("i...->..."), "f32[7, 2, 3]", "f32[2, 3]"),
        (sum("...ij->i"), "f32", "f32[?]"),
        (sum("...ij->...i"), "f32", "f32"),
        (sum("...i,...i"), "f32[2, 3]; f32[2, 3]", "f32[2]"),
    ]);
}

#[test]
fn outputs_are_implied() {
    check(&[
        (sum("ij,jk"), "f32[2, 3]; f32[3, 4]", "f32[2, 4]"),
        (sum("ba"), "f32[2, 3]", "f32[3, 2]"),
        (sum("ii"), "f32[3, 3]", "f32[]"),
        (sum("bA"), "f32[2, 3]", "f32[?, ?]"),
        (sum("BA"), "f32[2, 3]", "f32[3, 2]"),
    ]);
}

#[test]
fn formulas_that_do_not_fit_are_errors() {
    check(&[
        (sum("ij,jk->ik"), "f32[2, 3]", "error: 1 operands for 2 terms"),
        (sum("ij->i"), "f32[2]", "error: 2 letters for 1 axes"),
        (sum("i->i"), "f32[2, 3]", "error: 1 letters for 2 axes"),
        (sum("...ij->i"), "f32[2]", "error: 2 letters for 1 axes"),
        (sum("ij,jk->ik"), "f32[2, 3]; f32[4, 5]", "error: 3 and 4 do not broadcast for `j`"),
        (sum("i->j"), "f32[2]", "error: `j` only in the output"),
        (sum("i->ii"), "f32[2]", "error: `i` twice in the output"),
        (sum("i.j->i"), "f32[2, 2]", "error: `.` in `i.j`"),
        (sum("é->i"), "f32[2]", "error: `é` in `é`"),
        (sum("......->i"), "f32[2]", "error: two ellipses in `......`"),
    ]);
}
