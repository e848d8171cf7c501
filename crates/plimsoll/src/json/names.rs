//! What values, steps and banks go by in a plan: their names, and where a name is empty or stands for
//! two of them, the name and a number. Whoever reads a plan finds them in the same way.

use std::collections::{HashMap, HashSet};

use crate::ids::{StepId, ValueId};
use crate::program::Program;

/// Names that differ, by id.
pub(super) struct Names {
    pub(super) values: Vec<String>,
    pub(super) steps: Vec<String>,
    pub(super) banks: Vec<String>,
}

impl Names {
    pub(super) fn of(program: &dyn Program, banks: impl Iterator<Item = String>) -> Self {
        let value = |value: usize| program.value_name(ValueId::new(value)).into_owned();
        let step = |step: usize| program.step_name(StepId::new(step)).into_owned();
        Names {
            values: made_distinct((0..program.values()).map(value).collect()),
            steps: made_distinct((0..program.steps()).map(step).collect()),
            banks: made_distinct(banks.collect()),
        }
    }
}

/// The same names, each once and none of them empty: `a`, `b`, `b` become `a`, `b#1`, `b#2`.
fn made_distinct(names: Vec<String>) -> Vec<String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *count.entry(name).or_default() += 1;
    }
    let is_clear = |name: &str| count[name] == 1 && !name.is_empty();
    if names.iter().all(|name| is_clear(name)) {
        return names;
    }
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut apart = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let mut distinct = name.clone();
        if !is_clear(name) {
            distinct = format!("{name}#{index}");
            while taken.contains(&distinct) {
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

    fn apart(names: &[&str]) -> Vec<String> {
        made_distinct(names.iter().map(|name| (*name).to_owned()).collect())
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
