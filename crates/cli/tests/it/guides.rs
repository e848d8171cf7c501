//! The guides of `docs/guides`: what they say a command prints is what it prints.
//!
//! Every guide gets a folder of its own with the [`FILES`], in which the lines that start with `$ `
//! in its blocks of `console` are run by `sh`, one after another, with `plimsoll` first in the
//! path. `? 1` in the line below is the exit status, 0 if there is none; the lines below that are
//! standard output and then standard error, word for word, and `...` is any number of lines.
//!
//! `GUIDES=overwrite cargo test -p plimsoll-cli --test guides` writes what is printed now in place of
//! what is no longer printed; read the difference before you keep it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// What the guides work with: the name in their folder, and the file of the repository.
const FILES: [(&str, &str); 8] = [
    ("net.onnx", "corpus/models/sample.onnx"),
    ("encoder.onnx", "corpus/models/encoder.onnx"),
    ("decoder.onnx", "corpus/models/decoder.onnx"),
    ("net.tflite", "corpus/tflite/branches.tflite"),
    ("block.plim", "corpus/graphs/transformer_block.plim"),
    ("host.plim", "corpus/graphs/late_host_read.plim"),
    ("queues.plim", "corpus/graphs/two_queues.plim"),
    ("problem.csv", "corpus/problems/random_40.csv"),
];

/// A command of a guide and what is said of it.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    /// The lines of the guide that are said to be printed, and the status above them.
    told: std::ops::Range<usize>,
    command: String,
    status: i32,
    output: Vec<String>,
}

/// What a command really did.
struct Done {
    status: i32,
    output: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every guide: its name without the ending, and its text.
fn guides() -> Vec<(String, String)> {
    let folder = root().join("docs/guides");
    let entries = fs::read_dir(folder).expect("the folder of the guides");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    let guide = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a plain name");
        (name.to_owned(), fs::read_to_string(path).expect("a guide"))
    };
    paths.iter().map(guide).collect()
}

/// A new folder with the files that guides work with.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guides-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    for (name, file) in FILES {
        fs::copy(root().join(file), folder.join(name)).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
    folder
}

/// The commands in the blocks of `console`.
fn shown(guide: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for (number, line) in guide.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            let told = number + 1..number + 1;
            all.push(Shown { told, command: command.to_owned(), status: 0, output: Vec::new() });
        } else if let (true, Some(last)) = (inside, all.last_mut()) {
            let status = line.strip_prefix("? ").and_then(|status| status.parse().ok());
            match status.filter(|_| last.told.is_empty()) {
                Some(status) => last.status = status,
                None => last.output.push(line.to_owned()),
            }
            last.told.end = number + 1;
        }
    }
    all
}

fn run(command: &str, folder: &Path) -> Done {
    let built = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().expect("a folder");
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([built.to_owned()].into_iter().chain(env::split_paths(&others)));
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", path.expect("no folder with a colon"))
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).expect("text");
    let status = output.status.code().expect("an exit status");
    Done { status, output: printed.lines().map(str::to_owned).collect() }
}

/// Whether the lines are those, with any number of lines for `...`.
fn fits(told: &[String], lines: &[String]) -> bool {
    match told.split_first() {
        None => lines.is_empty(),
        Some((dots, rest)) if dots == "..." => {
            (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..]))
        }
        Some((line, rest)) => lines.first() == Some(line) && fits(rest, &lines[1..]),
    }
}

/// Runs a guide: everything that is not as it says, and the guide as it should be.
fn follow(name: &str, guide: &str) -> (Vec<String>, String) {
    let folder = folder(name);
    let commands = shown(guide);
    let mut wrong = Vec::new();
    if commands.is_empty() {
        wrong.push("no command is shown".to_owned());
    }
    let mut lines: Vec<Vec<String>> = guide.lines().map(|line| vec![line.to_owned()]).collect();
    for Shown { told, command, status, output } in commands {
        let done = run(&command, &folder);
        if done.status == status && fits(&output, &done.output) {
            continue;
        }
        let mut real = Vec::new();
        if done.status != 0 {
            real.push(format!("? {}", done.status));
        }
        real.extend(done.output);
        wrong.push(format!("line {}: `{command}` prints\n{}", told.start, real.join("\n")));
        lines[told.clone()].fill(Vec::new());
        lines[told.start - 1].extend(real);
    }
    let lines: Vec<String> = lines.concat();
    (wrong, lines.join("\n") + "\n")
}

/// Guides without commands: their examples are run by the tests of the Python package.
const ELSEWHERE: [&str; 2] = ["executorch", "python"];

#[test]
fn commands_print_what_the_guides_say() {
    let guides = guides();
    assert!(!guides.is_empty(), "there are no guides");
    let mut all = String::new();
    for (name, guide) in guides {
        if ELSEWHERE.contains(&&name[..]) {
            continue;
        }
        let (wrong, real) = follow(&name, &guide);
        if env::var("GUIDES").is_ok_and(|what| what == "overwrite") && real != guide {
            fs::write(root().join(format!("docs/guides/{name}.md")), real).expect("a guide");
        }
        for wrong in wrong {
            let _ = writeln!(all, "docs/guides/{name}.md: {wrong}");
        }
    }
    assert!(all.is_empty(), "\n{all}");
}

#[test]
fn every_guide_says_what_its_files_are_and_is_linked() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    for (name, guide) in guides() {
        assert!(readme.contains(&format!("(docs/guides/{name}.md)")), "the README lacks {name}");
        let commands: Vec<String> = shown(&guide).into_iter().map(|shown| shown.command).collect();
        for (file, of) in FILES {
            let used = commands.iter().any(|command| command.contains(file));
            assert!(!used || guide.contains(&format!("(../../{of})")), "{name}: what is {file}?");
        }
    }
}

#[test]
fn what_is_shown_is_found() {
    let guide = "$ no\n```console\n$ one\n? 1\na\n? 2\n$ two\n```\n$ no\n```text\n$ no\n```\n";
    let one =
        Shown { told: 3..6, command: "one".into(), status: 1, output: strings(&["a", "? 2"]) };
    let two = Shown { told: 7..7, command: "two".into(), status: 0, output: Vec::new() };
    assert_eq!(shown(guide), [one, two]);
}

#[test]
fn dots_are_any_number_of_lines() {
    let fits = |told: &[&str], lines: &[&str]| fits(&strings(told), &strings(lines));
    assert!(fits(&[], &[]) && fits(&["..."], &[]) && fits(&["..."], &["a", "b"]));
    assert!(fits(&["a", "...", "c"], &["a", "b", "c", "c"]));
    assert!(fits(&["...", "b", "..."], &["a", "b", "c"]));
    assert!(!fits(&["a", "...", "c"], &["a", "b", "d"]));
    assert!(!fits(&["a"], &["a", "b"]) && !fits(&["a", "b"], &["a"]) && !fits(&["a"], &["a "]));
}

#[test]
fn a_guide_that_is_wrong_is_found_out_and_put_right() {
    let right = "```console\n$ cat net.onnx | wc -l > n; plimsoll solve none.csv\n? 2\n...\n```\n";
    assert_eq!(follow("right", right), (Vec::new(), right.to_owned()));
    let block = |below: &str| format!("text\n```console\n$ echo a; echo b >&2\n{below}```\nend\n");
    let good = block("a\nb\n");
    assert_eq!(follow("good", &good), (Vec::new(), good.clone()));
    for (name, below) in [("other", "a\nc\n"), ("less", "a\n"), ("status", "? 1\na\nb\n")] {
        let (wrong, real) = follow(name, &block(below));
        assert_eq!(wrong, ["line 3: `echo a; echo b >&2` prints\na\nb"], "{name}");
        assert_eq!(real, good, "{name}");
    }
    let (wrong, real) = follow("fails", "```console\n$ echo a; exit 3\na\n```\n");
    assert_eq!(wrong, ["line 2: `echo a; exit 3` prints\n? 3\na"]);
    assert_eq!(real, "```console\n$ echo a; exit 3\n? 3\na\n```\n");
    assert_eq!(follow("silent", "no command\n").0, ["no command is shown"]);
}

fn strings(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
