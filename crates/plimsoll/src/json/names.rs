//! What values, steps and banks go by in a plan: their names, and where a name is empty or stands for
//! two of them, the name and a number. Whoever reads a plan finds them in the same way.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::ids::{StepId, ValueId};
use crate::program::Program;

/// Names that differ, by id.
pub(super) struct Names<'p> {
    pub(super) values: Vec<Cow<'p, str>>,
    pub(super) steps: Vec<Cow<'p, str>>,
    pub(super) banks: Vec<Cow<'p, str>>,
}

impl<'p> Names<'p> {
    pub(super) fn of(program: &'p dyn Program, banks: impl Iterator<Item = &'p str>) -> Self {
        let value = |value: usize| program.value_name(ValueId::new(value));
        let step = |step: usize| program.step_name(StepId::new(step));
        Names {
            values: made_distinct((0..program.values()).map(value).collect()),
            steps: made_distinct((0..program.steps()).map(step).collect()),
            banks: made_distinct(banks.map(Cow::Borrowed).collect()),
        }
    }
}

/// The same names, each once and none of them empty: `a`, `b`, `b` become `a`, `b#1`, `b#2`.
fn made_distinct(names: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    let mut seen: HashSet<&str> = HashSet::with_capacity(names.len());
    let mut unclear: HashSet<&str> = HashSet::from([""]);
    unclear.extend(names.iter().map(AsRef::as_ref).filter(|name| !seen.insert(name)));
    if unclear.len() == 1 && !seen.contains("") {
        return names;
    }
    let mut taken: HashSet<String> = seen.into_iter().map(str::to_owned).collect();
    let mut apart = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let mut distinct = name.clone();
        if unclear.contains(name.as_ref()) {
            let distinct = distinct.to_mut();
            *distinct = format!("{name}#{index}");
            while taken.contains(distinct) {
                distinct.push('#');
            }
            taken.insert(distinct.clone());
        }
        apart.push(distinct);
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart<'n>(names: &[&'n str]) -> Vec<Cow<'n, str>> {
        made_distinct(names.iter().map(|name| Cow::Borrowed(*name)).collect())
    }

    #[test]
    fn names_that_differ_are_kept_and_others_get_numbers() {
        assert_eq!(apart(&["a", "b"]), ["a", "b"]);
        assert_eq!(apart(&["a", "b", "b", ""]), ["a", "b#1", "b#2", "#3"]);
        assert_eq!(
            apart(&["b#1", "b", "b", "b#2", "b#2#"]),
            ["b#1", "b#1#", "b#2##", "b#2", "b#2#"]
        );
    }
}
