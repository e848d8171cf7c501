//! What a compiler cannot hold: the rules of this repository about its own files.
//!
//! A rule is a function from one file to its [`Finding`]s; [`RULES`] says over which files each
//! runs. Every rule also has a test with a made-up file that breaks it, so that none is one that
//! cannot fail. A new rule is a function, a line in [`RULES`] and such a test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the repository, its path with forward slashes from the root.
#[derive(Clone)]
struct File {
    path: String,
    text: String,
}

/// A line that breaks a rule; line 0 is the file as a whole.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    what: String,
}

type Rule = fn(&File) -> Vec<Finding>;
/// Whether a rule is about the file of that path.
type About = fn(&str) -> bool;

/// Name, the files that it is about, and the rule.
const RULES: [(&str, About, Rule); 13] = [
    ("every module has a doc", is_rust, starts_with_a_doc),
    ("files are short", is_written_source, is_short),
    ("only the command line touches the world", is_pure_source, touches_nothing),
    ("the libraries keep no state of their own", is_library, keeps_no_state),
    ("the checkers know nothing of the packers", is_checker, imports_no_packer),
    ("the verifier knows nothing of the planner", is_verifier, imports_only_the_contract),
    ("one table says what ops do to memory", is_beside_the_table, asks_for_no_op),
    ("crates keep to their walls", is_walled_manifest, depends_on_what_it_may),
    ("nothing else is unsafe", is_rust, is_safe),
    ("only Python carries the command line", is_other_manifest, does_not_depend_on_cli),
    ("nothing is left to do", is_text, has_nothing_left_to_do),
    ("no path of one machine", is_text, has_no_absolute_path),
    ("links point at files that exist", is_markdown, links_are_alive),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_repository_keeps_its_rules() {
    let files = all_files();
    let mut broken = Vec::new();
    for (name, is_about, rule) in RULES {
        let about: Vec<&File> = files.iter().filter(|f| is_about(&f.path)).collect();
        assert!(!about.is_empty(), "no file is left for the rule: {name}");
        for file in about {
            for Finding { line, what } in rule(file) {
                broken.push(format!("{}:{line}: {what} ({name})", file.path));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn the_commands_of_the_readme_are_those_that_ci_runs() {
    let commands = console_commands(&read("README.md"));
    assert_eq!(commands.len(), 2, "the README shows two commands, not {commands:?}");
    let ci = read(".ci/run");
    for command in commands {
        assert!(has_line(&ci, &command), ".ci/run has no line `{command}`, as the README has");
    }
}

#[test]
fn the_changelog_knows_this_version() {
    let changelog = read("CHANGELOG.md");
    assert!(knows_version(&changelog, env!("CARGO_PKG_VERSION")), "CHANGELOG.md: no entry");
}

#[test]
fn every_crate_carries_its_licences() {
    let crates = fs::read_dir(root().join("crates")).expect("the crates");
    for folder in crates.map(|entry| entry.expect("a readable folder").path()) {
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let (found, whole) = (fs::read(folder.join(licence)), read(licence));
            assert_eq!(found.ok(), Some(whole.into_bytes()), "{}: {licence}", folder.display());
        }
    }
}

// The files.

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text file, but for what is built, hidden folders (save `.ci`) and test inputs.
fn all_files() -> Vec<File> {
    let mut files = Vec::new();
    collect(&root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|n| n.to_str()).expect("a plain name");
        let skipped = name == "target" || (name.starts_with('.') && name != ".ci");
        if skipped {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push(File { path: format!("{prefix}{name}"), text });
        }
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == extension)
}

fn is_rust(path: &str) -> bool {
    has_extension(path, "rs")
}

/// Modules that are not tests.
fn is_source(path: &str) -> bool {
    is_rust(path) && !path.contains("tests/") && !path.ends_with("/tests.rs")
}

/// Modules that somebody wrote.
fn is_written_source(path: &str) -> bool {
    is_source(path) && path != "crates/onnx/src/proto.rs"
}

/// The one module of a library that reads files.
const FILE: &str = "crates/onnx/src/file.rs";

fn is_pure_source(path: &str) -> bool {
    is_source(path)
        && path.starts_with("crates/")
        && path.contains("/src/")
        && !path.starts_with("crates/cli/")
        && path != FILE
        && path != "crates/onnx/src/file/tests.rs"
}

/// Sources of libraries, with the module that reads files.
fn is_library(path: &str) -> bool {
    is_pure_source(path) || path == FILE
}

fn is_checker(path: &str) -> bool {
    is_source(path) && path.starts_with("crates/pack/src/check/")
}

/// The verifier, without its tests, which may know everything.
fn is_verifier(path: &str) -> bool {
    is_source(path) && path.starts_with("crates/plimsoll/src/verify/")
}

/// What decides about memory beside the table of effects: neither the ops themselves, nor what a runtime is said to do, nor readers and
/// writers of them.
fn is_beside_the_table(path: &str) -> bool {
    const OPS: [&str; 6] =
        ["op.rs", "effect", "graph/kernels.rs", "text/", "training_json", "testing/"];
    let inside = path.strip_prefix("crates/graph/src/");
    is_source(path) && inside.is_some_and(|path| !OPS.iter().any(|ops| path.starts_with(ops)))
}

/// The manifest of a library.
fn is_walled_manifest(path: &str) -> bool {
    path.starts_with("crates/") && path != "crates/cli/Cargo.toml" && path.ends_with("/Cargo.toml")
}

fn is_other_manifest(path: &str) -> bool {
    let carries = ["crates/cli/Cargo.toml", "crates/python/Cargo.toml"].contains(&path);
    path.ends_with("Cargo.toml") && !carries
}

fn is_markdown(path: &str) -> bool {
    has_extension(path, "md")
}

/// What people write; this file names what it forbids.
fn is_text(path: &str) -> bool {
    let written = ["rs", "md", "toml", "sh", "py"].iter().any(|e| has_extension(path, e));
    (written || path == ".ci/run") && path != "tests/tidy.rs"
}

// The rules.

fn finding(line: usize, what: impl Into<String>) -> Finding {
    Finding { line, what: what.into() }
}

/// Lines with their numbers, from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line))
}

/// The text up to its unit tests.
fn without_tests(text: &str) -> &str {
    let tests = text.find("\n#[cfg(test)]\nmod tests {");
    tests.map_or(text, |at| &text[..at])
}

fn starts_with_a_doc(file: &File) -> Vec<Finding> {
    let documented = file.text.starts_with("//! ");
    if documented { Vec::new() } else { vec![finding(1, "no `//!` doc at the start")] }
}

fn is_short(file: &File) -> Vec<Finding> {
    const MOST: usize = 600;
    let count = without_tests(&file.text).lines().count();
    if count <= MOST {
        return Vec::new();
    }
    vec![finding(MOST + 1, format!("{count} lines without tests, at most {MOST}"))]
}

/// Arguments, environment, clock, files, processes and printing.
const WORLD: [&str; 11] = [
    "std::env",
    "std::time",
    "std::fs",
    "std::process",
    "Instant",
    "SystemTime",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
];

fn touches_nothing(file: &File) -> Vec<Finding> {
    let code = |line: &str| !line.trim_start().starts_with("//");
    lines(without_tests(&file.text))
        .filter(|(_, line)| code(line))
        .filter_map(|(number, line)| {
            let found = WORLD.iter().find(|word| has_word(line, word))?;
            Some(finding(number, format!("`{found}` outside of crates/cli")))
        })
        .collect()
}

/// What is there once for a thread or for all of them, whoever calls.
const STATE: [&str; 6] =
    ["thread_local!", "static", "OnceLock", "LazyLock", "OnceCell", "lazy_static!"];

fn keeps_no_state(file: &File) -> Vec<Finding> {
    // A lifetime and words in quotes are none.
    let is_state = |line: &str, word: &str| {
        has_word(&line.replace("'static", ""), word) && !line.contains(&format!("\"{word}"))
    };
    code_lines(&file.text)
        .filter_map(|(number, line)| {
            let found = STATE.iter().find(|word| is_state(line, word))?;
            Some(finding(number, format!("`{found}`: state that no caller hands in")))
        })
        .collect()
}

/// Whether the line has `word` with no part of a name before or behind it.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        !part(line[..at].chars().next_back()) && !part(line[at + word.len()..].chars().next())
    })
}

/// Decisions by op; to make one is none.
fn asks_for_no_op(file: &File) -> Vec<Finding> {
    let asks = |line: &str| {
        let pattern = line.split_once("Op::").is_some_and(|(_, rest)| rest.contains("=>"));
        let tests = ["matches!(", "== Op::", "!= Op::", "let Op::", "| Op::"];
        line.contains("Op::") && (pattern || tests.iter().any(|test| line.contains(test)))
    };
    let found = code_lines(&file.text).filter(|(_, line)| asks(line));
    found.map(|(number, _)| finding(number, "a decision by op: ask `effect::traits`")).collect()
}

fn imports_no_packer(file: &File) -> Vec<Finding> {
    imports_none_of(file, &["algorithm", "bound", "solve", "sweep", "timeline"])
}

/// Uses of these modules of the same crate.
fn imports_none_of(file: &File, modules: &[&str]) -> Vec<Finding> {
    let found = lines(without_tests(&file.text)).filter_map(|(number, line)| {
        let module = modules.iter().find(|m| has_word(line, &format!("crate::{m}")))?;
        Some(finding(number, format!("uses crate::{module}")))
    });
    found.collect()
}

/// What the verifier may know of its own crate: the program, the plan, and their words.
const CONTRACT: [&str; 4] = ["ids", "plan", "point", "program"];

/// Paths of the verifier: into its own crate only the contract, never by its root (`crate::Plan`
/// hides where it is from), and of the packing core only what a span is.
fn imports_only_the_contract(file: &File) -> Vec<Finding> {
    let in_trace = file.path.contains("/verify/trace/");
    let mut found = Vec::new();
    for (number, line) in code_lines(&file.text) {
        // `crate::plan(…)` is the planner, `crate::plan::Plan` is not.
        let module = |name: &str| line.contains(&format!("crate::{name}::"));
        let own = paths(line, "crate::").filter(|n| !CONTRACT.contains(n) || !module(n));
        found.extend(own.map(|name| finding(number, format!("uses crate::{name}"))));
        let core = paths(line, "plimsoll_pack::").filter(|name| *name != "Span");
        found.extend(core.map(|name| finding(number, format!("uses plimsoll_pack::{name}"))));
        let serde = ["serde", "serde_json"].iter().find(|name| has_word(line, name));
        if let Some(name) = serde.filter(|_| !in_trace) {
            found.push(finding(number, format!("uses {name}, which is for traces")));
        }
        // From the verifier's own root up is the rest of the crate.
        let depth = file.path.split("/verify/").nth(1).map_or(0, |inner| {
            let folders = inner.matches('/').count();
            if inner.ends_with("mod.rs") { folders } else { folders + 1 }
        });
        if line.contains(&"super::".repeat(depth + 1)) {
            found.push(finding(number, "leaves crate::verify by `super`"));
        }
    }
    found
}

/// Lines of code, with their numbers: neither comments nor unit tests.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(without_tests(text)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// The names that follow `prefix` in a line: `ids` in `use crate::ids::StepId`, `{` and what is
/// behind it in `use crate::{ids, plan}`.
fn paths<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let starts = line.match_indices(prefix).map(move |(at, _)| (at, &line[at + prefix.len()..]));
    let whole = starts.filter(move |(at, _)| !line[..*at].ends_with(is_part));
    whole.map(move |(_, rest)| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end == 0 { rest } else { &rest[..end] }
    })
}

/// What each library may depend on, outside of its tests. What is not listed depends on nothing.
const WALLS: [(&str, &[&str]); 12] = [
    ("capi", &["plimsoll", "plimsoll-pack"]),
    ("kernels", &["libm"]),
    ("pack", &[]),
    ("python", &["bytes", "plimsoll", "plimsoll-cli", "plimsoll-pack", "plimsoll-run", "pyo3"]),
    ("plimsoll", &["plimsoll-pack", "serde", "serde_json", "thiserror"]),
    ("graph", &["plimsoll", "plimsoll-pack", "serde", "serde_json", "thiserror"]),
    ("model", &["plimsoll", "plimsoll-graph", "plimsoll-pack", "thiserror"]),
    (
        "report",
        &[
            "anstyle",
            "plimsoll",
            "plimsoll-graph",
            "plimsoll-model",
            "plimsoll-pack",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
    ("rewrite", &["plimsoll", "plimsoll-graph", "plimsoll-model", "plimsoll-pack"]),
    (
        "run",
        &["plimsoll", "plimsoll-graph", "plimsoll-kernels", "plimsoll-model", "plimsoll-rewrite"],
    ),
    (
        "onnx",
        &[
            "bytes",
            "memmap2",
            "plimsoll",
            "plimsoll-graph",
            "plimsoll-model",
            "plimsoll-rewrite",
            "prost",
        ],
    ),
    ("tflite", &["bytes", "plimsoll", "plimsoll-graph"]),
];

fn depends_on_what_it_may(file: &File) -> Vec<Finding> {
    let name = file.path.split('/').nth(1).unwrap_or_default();
    let wall = WALLS.iter().find(|(crate_name, _)| *crate_name == name);
    let allowed = wall.map_or(&[][..], |(_, allowed)| allowed);
    let mut found = Vec::new();
    let mut in_dependencies = false;
    for (number, line) in lines(&file.text) {
        if line.starts_with('[') {
            in_dependencies = line == "[dependencies]";
            let other = line.starts_with("[dependencies.")
                || line.starts_with("[build-dependencies")
                || line.contains(".dependencies");
            if other {
                found.push(finding(number, format!("has {line}")));
            }
        } else if in_dependencies && let Some((name, _)) = line.split_once(['=', '.']) {
            let name = name.trim();
            if !name.starts_with('#') && !allowed.contains(&name) {
                found.push(finding(number, format!("depends on {name}")));
            }
        }
    }
    found
}

/// Which modules of a crate use which: the modules right below its root, by what their code names as
/// `crate::module::…`.
fn module_graph(crate_name: &str, files: &[File]) -> BTreeMap<String, BTreeSet<String>> {
    let root = format!("crates/{crate_name}/src/");
    let module = |path: &str| {
        let inner = path.strip_prefix(&root)?.split('/').next()?;
        Some(inner.trim_end_matches(".rs").to_owned())
    };
    let of_crate = files.iter().filter(|file| is_source(&file.path));
    let of_crate: Vec<(&File, String)> =
        of_crate.filter_map(|file| Some((file, module(&file.path)?))).collect();
    let names: BTreeSet<&String> = of_crate.iter().map(|(_, name)| name).collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, name) in &of_crate {
        let used = code_lines(&file.text).flat_map(|(_, line)| paths(line, "crate::"));
        let used = used.map(str::to_owned).filter(|used| names.contains(used) && used != name);
        graph.entry(name.clone()).or_default().extend(used);
    }
    // The roots name everything, and generators for tests may know everything.
    for top in ["lib", "main", "testing"] {
        graph.remove(top);
    }
    graph
}

/// A cycle of modules, if there is one: what can be taken away because it uses nothing that is left
/// is taken away, and whatever remains goes round.
fn remaining(mut graph: BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    loop {
        let names: BTreeSet<String> = graph.keys().cloned().collect();
        let before = graph.len();
        graph.retain(|_, used| !used.is_disjoint(&names));
        if graph.len() == before {
            return graph.into_keys().collect();
        }
    }
}

/// Files of tests in one binary that nobody compiles: `main.rs` does not name them.
fn forgotten_tests(files: &[File]) -> Vec<String> {
    let mains = files.iter().filter_map(|file| Some((file.path.strip_suffix("main.rs")?, file)));
    let mains = mains.filter(|(folder, _)| folder.ends_with("/tests/it/"));
    let mut forgotten = Vec::new();
    for (folder, main) in mains {
        let names = files.iter().filter_map(|file| file.path.strip_prefix(folder));
        let names = names.map(|name| name.split('/').next().unwrap_or(name));
        let names: BTreeSet<&str> = names.map(|name| name.trim_end_matches(".rs")).collect();
        let is_forgotten =
            |name: &&str| *name != "main" && !has_line(&main.text, &format!("mod {name};"));
        forgotten
            .extend(names.into_iter().filter(is_forgotten).map(|name| format!("{folder}{name}")));
    }
    forgotten
}

#[test]
fn every_file_of_tests_is_compiled() {
    assert_eq!(forgotten_tests(&all_files()), [""; 0]);
}

#[test]
fn a_file_of_tests_that_nobody_compiles_is_found() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file("crates/a/tests/it/main.rs", "mod one;\nmod two;\n"),
        file("crates/a/tests/it/one.rs", ""),
        file("crates/a/tests/it/two/mod.rs", ""),
        file("crates/a/tests/it/three.rs", ""),
        file("crates/a/tests/it/four/mod.rs", ""),
    ];
    assert_eq!(forgotten_tests(&files), ["crates/a/tests/it/four", "crates/a/tests/it/three"]);
}

#[test]
fn no_modules_use_each_other_in_circles() {
    let files = all_files();
    for name in ["kernels", "pack", "plimsoll", "graph", "model", "report", "onnx", "cli", "python"]
    {
        let graph = module_graph(name, &files);
        assert!(graph.len() > 3, "{name} has modules");
        assert_eq!(
            remaining(graph),
            Vec::<String>::new(),
            "modules of crates/{name} use each other"
        );
    }
}

#[test]
fn a_circle_of_modules_is_found() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file("crates/x/src/a.rs", "use crate::b::B;\n"),
        file("crates/x/src/b/mod.rs", "//! As crate::a.\n"),
        file("crates/x/src/b/inner.rs", "let a = crate::c::C;\n"),
        file("crates/x/src/c.rs", "\n"),
    ];
    assert_eq!(remaining(module_graph("x", &files)), Vec::<String>::new());
    let mut files = files.to_vec();
    files[3].text = "use crate::a::A;\n".to_owned();
    assert_eq!(remaining(module_graph("x", &files)), ["a", "b", "c"]);
}

/// Where `unsafe` may be written; the lints of these crates want a reason for each.
const UNSAFE: [&str; 7] = [
    "crates/capi/src/",
    "crates/kernels/src/simd/",
    "crates/run/src/memory.rs",
    "crates/run/src/counting.rs",
    "crates/run/src/pool.rs",
    "tools/engines/gemm/",
    "tools/engines/models/",
];

fn is_safe(file: &File) -> Vec<Finding> {
    let excepted = UNSAFE.iter().any(|place| file.path.starts_with(place));
    if excepted || file.path == "tests/tidy.rs" {
        return Vec::new();
    }
    let found = code_lines(&file.text).filter(|(_, line)| has_word(line, "unsafe"));
    found.map(|(number, _)| finding(number, "unsafe".to_owned())).collect()
}

fn does_not_depend_on_cli(file: &File) -> Vec<Finding> {
    // How it is built may be said anywhere.
    let is_profile = |line: &str| line.starts_with("[profile.");
    let found =
        lines(&file.text).filter(|(_, line)| line.contains("plimsoll-cli") && !is_profile(line));
    found.map(|(number, _)| finding(number, "depends on plimsoll-cli")).collect()
}

fn has_nothing_left_to_do(file: &File) -> Vec<Finding> {
    let marks = ["TODO", "FIXME", "XXX"];
    let found = lines(&file.text).filter_map(|(number, line)| {
        let mark = marks.iter().find(|mark| has_word(line, mark))?;
        Some(finding(number, format!("{mark} is left")))
    });
    found.collect()
}

fn has_no_absolute_path(file: &File) -> Vec<Finding> {
    let homes = ["/work/", "/root/", "/home/", "/Users/"];
    let found = lines(&file.text).filter_map(|(number, line)| {
        let home = homes.iter().find(|home| is_rooted(line, home))?;
        Some(finding(number, format!("`{home}…` is a path of one machine")))
    });
    found.collect()
}

/// Whether `path` begins in this line, and is not the middle of another.
fn is_rooted(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-}/".contains(c))
    })
}

/// Relative links, and the headings that they name.
fn links_are_alive(file: &File) -> Vec<Finding> {
    let folder = Path::new(&file.path).parent().expect("a file is in a folder");
    let mut dead = Vec::new();
    for (number, target) in links(&file.text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let linked = root().join(folder).join(path);
        if !path.is_empty() && !linked.exists() {
            dead.push(finding(number, format!("link to {target}, which does not exist")));
        } else if !anchor.is_empty() {
            let text = if path.is_empty() {
                file.text.clone()
            } else {
                fs::read_to_string(linked).unwrap_or_default()
            };
            if !anchors(&text).contains(anchor) {
                dead.push(finding(number, format!("link to {target}, which has no such heading")));
            }
        }
    }
    dead
}

/// Targets of `[text](target)`, with their lines, outside of code blocks.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (number, line) in lines(text) {
        in_code ^= line.trim_start().starts_with("```");
        let starts = line.match_indices("](").map(|(at, _)| &line[at + 2..]);
        let targets = starts.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        if !in_code {
            found.extend(targets.map(|target| (number, target.to_owned())));
        }
    }
    found
}

/// The anchors of the headings, as they are made from their words.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = |c: char| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
            _ => None,
        };
        heading.trim_start_matches('#').trim().chars().filter_map(kept).collect()
    };
    headings.map(anchor).collect()
}

/// The lines of the code blocks that are marked `console`.
fn console_commands(markdown: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_console = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_console = line == "```console";
        } else if in_console {
            commands.push(line.trim_start_matches("$ ").to_owned());
        }
    }
    commands
}

fn has_line(text: &str, line: &str) -> bool {
    text.lines().any(|other| other.trim() == line)
}

fn knows_version(changelog: &str, version: &str) -> bool {
    let released = format!("## [{version}]");
    changelog.lines().any(|line| line.starts_with("## [Unreleased]") || line.starts_with(&released))
}

// Each rule finds what it forbids.

fn findings(rule: Rule, text: &str) -> Vec<usize> {
    let file = File { path: "made-up.rs".to_owned(), text: text.to_owned() };
    rule(&file).into_iter().map(|f| f.line).collect()
}

#[test]
fn a_module_without_a_doc_is_found() {
    assert_eq!(findings(starts_with_a_doc, "//! Yes.\n"), []);
    assert_eq!(findings(starts_with_a_doc, "// No.\n//! Too late.\n"), [1]);
    assert_eq!(findings(starts_with_a_doc, ""), [1]);
}

#[test]
fn a_long_file_is_found_and_its_tests_do_not_count() {
    let tests = "\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(findings(is_short, &format!("{}{tests}", "x\n".repeat(600))), []);
    assert_eq!(findings(is_short, &"x\n".repeat(601)), [601]);
}

#[test]
fn the_world_is_found_in_code_and_not_in_words_or_tests() {
    let code = "use std::env;\nlet a = Instant::now();\nprintln!();\nstd::fs::read(a);\ndbg!(a);\n";
    assert_eq!(findings(touches_nothing, code), [1, 2, 3, 4, 5]);
    let fine = "// println! is not used\nlet instant = my_print!(Instantly);\n\
                \n#[cfg(test)]\nmod tests {\n    println!();\n}\n";
    assert_eq!(findings(touches_nothing, fine), []);
}

#[test]
fn state_that_nobody_hands_in_is_found() {
    let code =
        "thread_local! {\nstatic TABLE: A = B;\nstatic mut C: u8 = 0;\nlet a = OnceLock::new();\n";
    assert_eq!(findings(keeps_no_state, code), [1, 2, 3, 4]);
    let fine = "// a static one\nfn a() -> &'static str {\nlet is_static = b.statics;\n";
    assert_eq!(findings(keeps_no_state, fine), []);
}

#[test]
fn decisions_by_op_are_found() {
    let code = "Op::Split { axis } => {\nif matches!(op, Op::Cast) {\nnode.op != Op::Custom\n\
                let Op::Slice { cuts } = op else {\n";
    assert_eq!(findings(asks_for_no_op, code), [1, 2, 3, 4]);
    let fine = "let op = Op::Slice { cuts };\n// Op::Cast => is a word\nOp::Gather\n";
    assert_eq!(findings(asks_for_no_op, fine), []);
}

#[test]
fn a_packer_in_a_checker_is_found() {
    let code = "use crate::problem::Life;\nuse crate::sweep::Sweep;\nlet a = crate::solve(b);\n";
    assert_eq!(findings(imports_no_packer, code), [2, 3]);
    assert_eq!(findings(imports_no_packer, "use crate::solution::Solution;\n"), []);
}

/// As [`findings`], for a rule that looks at the path.
fn findings_at(rule: Rule, path: &str, text: &str) -> Vec<usize> {
    let file = File { path: path.to_owned(), text: text.to_owned() };
    rule(&file).into_iter().map(|f| f.line).collect()
}

#[test]
fn the_planner_in_the_verifier_is_found() {
    let rule: Rule = imports_only_the_contract;
    let places = "crates/plimsoll/src/verify/places.rs";
    let fine = "//! [`Program`](crate::Program)\nuse plimsoll_pack::Span;\nuse crate::ids::StepId;\n\
                use super::facts::Facts;\nlet a = crate::point::Point(0);\n\
                \n#[cfg(test)]\nmod tests {\n    use crate::testing::chain;\n}\n";
    assert_eq!(findings_at(rule, places, fine), []);
    let code = "use crate::liveness::needs;\nlet a = crate::plan(b);\nuse crate::{plan, reuse};\n\
                use plimsoll_pack::{Span, solve};\nuse super::super::lower::items;\n\
                use serde::Deserialize;\nlet b = plimsoll_pack::Sweep::new(c);\n";
    assert_eq!(findings_at(rule, places, code), [1, 2, 3, 4, 5, 6, 7]);
    let trace = "crates/plimsoll/src/verify/trace/check.rs";
    let deeper = "use serde::Deserialize;\nuse super::super::facts::Facts;\n";
    assert_eq!(findings_at(rule, trace, deeper), []);
    assert_eq!(findings_at(rule, trace, "use super::super::super::validate::Checked;\n"), [1]);
    assert!(is_verifier(places) && is_verifier(trace));
    assert!(!is_verifier("crates/plimsoll/src/verify/tests/scale.rs"));
    assert!(!is_verifier("crates/plimsoll/src/reuse.rs"));
}

#[test]
fn a_dependency_behind_a_wall_is_found() {
    let rule: Rule = depends_on_what_it_may;
    let planner = "crates/plimsoll/Cargo.toml";
    let fine = "[dependencies]\nserde = { workspace = true }\n# why\nplimsoll-pack.workspace = true\n\
                [dev-dependencies]\nrand = \"1\"\n";
    assert_eq!(findings_at(rule, planner, fine), []);
    let more = "[dependencies]\nserde_json = \"1\"\nplimsoll-graph = \"1\"\n[dependencies.clap]\n\
                [build-dependencies]\ncc = \"1\"\n[target.'cfg(unix)'.dependencies]\n";
    assert_eq!(findings_at(rule, planner, more), [3, 4, 5, 7]);
    let reader = "[dependencies]\nprost = \"1\"\nserde = \"1\"\n";
    assert_eq!(findings_at(rule, "crates/onnx/Cargo.toml", reader), [3]);
    assert_eq!(findings_at(rule, "crates/pack/Cargo.toml", reader), [2, 3]);
    assert_eq!(findings_at(rule, "crates/new/Cargo.toml", reader), [2, 3]);
    let manifest = "[dependencies]\nplimsoll-cli = \"1\"\n[profile.release.package.plimsoll-cli]\n";
    assert_eq!(findings(does_not_depend_on_cli, manifest), [2]);
}

#[test]
fn what_is_unsafe_is_found() {
    let code = "//! unsafe is a word here\n#![forbid(unsafe_code)]\nunsafe { a() }\n";
    assert_eq!(findings(is_safe, code), [3]);
    assert_eq!(findings_at(is_safe, FILE, code), [3]);
    assert_eq!(findings_at(is_safe, "crates/kernels/src/gemm.rs", code), [3]);
    assert_eq!(findings_at(is_safe, "crates/kernels/src/simd/x86.rs", code), []);
}

#[test]
fn marks_and_paths_are_found() {
    assert_eq!(findings(has_nothing_left_to_do, "fine\n// TODO: this\n"), [2]);
    assert_eq!(findings(has_nothing_left_to_do, "TODOS\n"), []);
    assert_eq!(findings(has_no_absolute_path, "in /home/me/x\n`/work/x`\n"), [1, 2]);
    assert_eq!(findings(has_no_absolute_path, "shared/work/x and ../root/x\n"), []);
}

#[test]
fn dead_links_are_found() {
    assert_eq!(findings(links_are_alive, "[a](README.md) [b](https://example.org/x)\n"), []);
    assert_eq!(findings(links_are_alive, "\n[a](README.md) [b](gone.md)\n"), [2]);
    assert_eq!(findings(links_are_alive, "# A b, c\n[a](#a-b-c)\n[b](#d)\n"), [3]);
    assert_eq!(findings(links_are_alive, "```\n[a](gone.md)\n```\n"), []);
}

#[test]
fn commands_and_versions_are_found() {
    let readme = "```console\n$ cargo a\ncargo b\n```\n```sh\ncargo c\n```\n";
    assert_eq!(console_commands(readme), ["cargo a", "cargo b"]);
    assert!(has_line("x\n  cargo a\n", "cargo a") && !has_line("cargo a -v\n", "cargo a"));
    assert!(knows_version("## [0.1.0] - 2026-01-01\n", "0.1.0"));
    assert!(knows_version("## [Unreleased]\n", "0.1.0"));
    assert!(!knows_version("# Changelog\n## [0.0.9]\n", "0.1.0"));
}
