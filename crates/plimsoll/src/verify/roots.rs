//! Whose bytes a value is: its root along views, and the alias set of roots that must overwrite one
//! another. O(values + declarations).

use super::violation::Violation;
use crate::ids::{StepId, ValueId};
use crate::program::{Layout, Program, ValueInfo};

/// The root of every value and which bytes of it the value is.
pub(super) fn roots(infos: &[ValueInfo], found: &mut Vec<Violation>) -> Vec<(ValueId, Layout)> {
    let mut roots: Vec<Option<(ValueId, Layout)>> = vec![None; infos.len()];
    let mut walked_for = vec![usize::MAX; infos.len()];
    let mut path = Vec::new();
    for start in 0..infos.len() {
        let mut at = start;
        let mut end = loop {
            if let Some(known) = roots[at] {
                break known;
            }
            let own = (ValueId::new(at), Layout::WHOLE);
            let fault = match infos[at].view_of {
                None => None,
                Some(_) if walked_for[at] == start => Some("a view of itself"),
                Some(view) if view.of.index() >= infos.len() => Some("a view of an unknown value"),
                Some(view) => {
                    let whole = infos[view.of.index()].bytes;
                    let overflows = view.offset.checked_add(infos[at].bytes).is_none();
                    if !overflows && view.fits(infos[at].bytes, whole) {
                        walked_for[at] = start;
                        path.push(at);
                        at = view.of.index();
                        continue;
                    }
                    Some("a view that is not inside the value that it is a view of")
                }
            };
            if let Some(why) = fault {
                found.push(Violation::BadProgram { step: None, value: Some(own.0), why });
            }
            roots[at] = Some(own);
            break own;
        };
        while let Some(below) = path.pop() {
            if roots[below].is_none() {
                let view = infos[below].view_of;
                let layout = view.and_then(|view| end.1.view(&view, infos[below].bytes));
                if layout.is_none() {
                    let (value, why) = (
                        ValueId::new(below),
                        "a view of a strided value that does not cover whole rows",
                    );
                    found.push(Violation::BadProgram { step: None, value: Some(value), why });
                }
                let own = (ValueId::new(below), Layout::WHOLE);
                end = layout.map_or(own, |layout| (end.0, layout));
                roots[below] = Some(end);
            } else {
                end = roots[below].unwrap_or(end);
            }
        }
    }
    roots.into_iter().map(|r| r.expect("every value was walked")).collect()
}

/// For every root the first of those that must overwrite one another.
pub(super) fn alias_sets(program: &dyn Program, roots: &[(ValueId, Layout)]) -> Vec<ValueId> {
    let mut heads: Vec<ValueId> = (0..roots.len()).map(ValueId::new).collect();
    for step in (0..program.steps()).map(StepId::new) {
        for overwrite in program.overwrites(step).iter().filter(|o| o.must) {
            let of = |v: ValueId| roots.get(v.index()).map(|r| r.0);
            if let (Some(output), Some(input)) = (of(overwrite.output), of(overwrite.input))
                && head(&heads, input) != output
            {
                heads[output.index()] = input;
            }
        }
    }
    (0..roots.len()).map(|v| head(&heads, ValueId::new(v))).collect()
}

fn head(heads: &[ValueId], mut value: ValueId) -> ValueId {
    while heads[value.index()] != value {
        value = heads[value.index()];
    }
    value
}
