//! Every algorithm over every problem of `corpus/problems`, against `expected.toml` beside them.
//!
//! A file without an entry fails, and so does an entry without a file. What is better than the
//! best known passes: write it down then.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use plimsoll_pack::csv::{self, Table};
use plimsoll_pack::testing::brute_force;
use plimsoll_pack::{Algorithm, Options, Outcome, Status, Sweep, bound, check, check_plain, solve};
use serde::Deserialize;

#[path = "../examples/make_corpus.rs"]
#[allow(dead_code, reason = "the example's `main` is not called from here")]
mod make_corpus;

/// What is known of a problem.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// What `bound` gives, exactly.
    lower_bound: u64,
    /// The smallest arena that the portfolio has reached.
    best_known: u64,
    /// Whether the portfolio must reach the bound.
    must_be_optimal: bool,
    /// What the problem is there for.
    note: String,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/problems")
}

/// The names of the problems, sorted.
fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("corpus/problems is there");
    let paths = entries.map(|e| e.expect("a readable folder").path());
    let csv = paths.filter(|p| p.extension().is_some_and(|e| e == "csv"));
    let stem = |p: PathBuf| Some(p.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = csv.map(|p| stem(p).expect("a plain name")).collect();
    names.sort();
    names
}

fn text(name: &str) -> String {
    fs::read_to_string(folder().join(format!("{name}.csv"))).expect("a readable file")
}

fn table(name: &str) -> Table {
    csv::read(text(name).as_bytes()).unwrap_or_else(|error| panic!("{name}.csv: {error}"))
}

fn expected() -> BTreeMap<String, Expected> {
    let text = fs::read_to_string(folder().join("expected.toml")).expect("a readable file");
    toml::from_str(&text).expect("expected.toml holds what is expected")
}

/// Valid by both checkers, and not below the bound.
fn assert_sound(name: &str, by: &str, table: &Table, outcome: &Outcome) {
    let problem = &table.problem;
    let solution = outcome.solution.as_ref().unwrap_or_else(|| panic!("{name}: {by}: none"));
    assert_eq!(check(problem, &solution.into()), [], "{name}: {by}");
    assert_eq!(check_plain(problem, &solution.into()), [], "{name}: {by}");
    assert_eq!(solution.arena_bytes(problem), outcome.arena_bytes, "{name}: {by}");
    assert!(outcome.arena_bytes >= outcome.lower_bound.bytes, "{name}: {by}");
}

#[test]
fn every_file_has_its_entry_and_every_entry_its_file() {
    let listed: Vec<String> = expected().into_keys().collect();
    assert_eq!(names(), listed, "left: corpus/problems/*.csv; right: expected.toml");
}

#[test]
fn every_entry_says_what_it_is_for_and_does_not_contradict_itself() {
    for (name, entry) in expected() {
        assert!(!entry.note.is_empty(), "{name}: no note");
        assert!(entry.lower_bound <= entry.best_known, "{name}: best known is below the bound");
        let met = entry.best_known == entry.lower_bound;
        assert_eq!(entry.must_be_optimal, met, "{name}: the bound is met, or it is not");
    }
}

#[test]
fn every_algorithm_on_every_problem() {
    for (name, entry) in expected() {
        let table = table(&name);
        let lower = bound(&table.problem, &Sweep::new(&table.problem)).bytes;
        assert_eq!(lower, entry.lower_bound, "{name}: lower bound");
        for algorithm in Algorithm::all() {
            let mut options = Options::default();
            options.algorithms = vec![algorithm];
            let outcome = solve(&table.problem, &options);
            assert_sound(&name, &algorithm.to_string(), &table, &outcome);
            assert_eq!(outcome.lower_bound.bytes, lower, "{name}: {algorithm}");
        }
        let best = solve(&table.problem, &Options::default());
        assert_sound(&name, "portfolio", &table, &best);
        let (arena, known) = (best.arena_bytes, entry.best_known);
        assert!(arena <= known, "{name}: arena {arena}, best known {known}");
        if entry.must_be_optimal {
            assert_eq!((arena, best.status), (lower, Status::Optimal), "{name}");
        }
    }
}

/// Where trying everything is quick, the best known is the optimum.
#[test]
fn small_problems_are_known_to_the_end() {
    let mut small = 0;
    for (name, entry) in expected() {
        let problem = table(&name).problem;
        if problem.len() <= 8 && entry.best_known <= 80 {
            assert_eq!(brute_force(&problem), entry.best_known, "{name}");
            small += 1;
        }
    }
    assert!(small >= 5, "only {small} problems were small enough");
}

#[test]
fn renaming_every_buffer_changes_nothing() {
    for name in names() {
        let Table { ids, problem } = table(&name);
        let ids = ids.iter().enumerate().map(|(i, id)| format!("{id} \"renamed\", {i}")).collect();
        let mut text = Vec::new();
        csv::write_problem(&mut text, &Table { ids, problem: problem.clone() }).expect("to memory");
        let renamed = csv::read(text.as_slice()).expect("own output").problem;
        assert_eq!(renamed, problem, "{name}");
        let offsets = |problem| solve(problem, &Options::default()).solution;
        assert_eq!(offsets(&renamed), offsets(&problem), "{name}");
    }
}

#[test]
fn generated_files_are_what_the_generators_give() {
    for (name, problem) in make_corpus::generated() {
        let same = text(name) == make_corpus::text(problem);
        assert!(same, "{name}.csv differs from its generator; see examples/make_corpus.rs");
    }
}
