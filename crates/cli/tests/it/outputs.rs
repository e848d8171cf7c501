//! Where results go: several files in one run, files that are spared, links, silence; and what is written
//! for shells and manuals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NET: &str = "plim 1\ninput x: u8[4]\ny: u8[4] = relu(x)\noutput y\n";
const PROBLEM: &str = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("outputs-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    fs::write(path.join("net.plim"), NET).expect("written");
    fs::write(path.join("problem.csv"), PROBLEM).expect("written");
    path
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).args(args).stdin(Stdio::null()).output().expect("it runs")
}

/// Runs what must say nothing.
fn silent(folder: &Path, args: &[&str], code: i32) {
    let output = run(folder, args);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert_eq!(
        (output.status.code(), said),
        (Some(code), [String::new(), String::new()]),
        "{args:?}"
    );
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn several_files_in_one_run_are_what_several_runs_write() {
    let folder = folder("several");
    let names = ["plan.json", "map.html", "map.svg", "plan.tsv", "plan.h"];
    let mut all = vec!["plan", "net.plim"];
    all.extend(names.iter().flat_map(|name| ["-o", name]));
    silent(&folder, &all, 0);
    let together = names.map(|name| fs::read(folder.join(name)).expect("written"));
    for (name, bytes) in names.iter().zip(together) {
        silent(&folder, &["plan", "net.plim", "-o", name], 0);
        assert!(fs::read(folder.join(name)).expect("written") == bytes, "{name}");
    }
    silent(&folder, &["solve", "problem.csv", "-o", "s.csv", "-o", "s.json", "-o", "s.svg"], 0);
    silent(&folder, &["check", "problem.csv", "s.csv", "-o", "a.json", "-o", "a.txt"], 0);
    assert!(folder.join("a.json").is_file() && folder.join("a.txt").is_file());
    silent(&folder, &["verify", "net.plim", "plan.json", "-o", "v.json", "-o", "v.txt"], 0);
    let shown = run(&folder, &["plan", "net.plim", "-o", "-", "-o", "again.json"]);
    assert_eq!(shown.stdout, run(&folder, &["plan", "net.plim"]).stdout);
    assert!(folder.join("again.json").is_file());
}

#[test]
fn several_files_that_cannot_be_are_refused_before_any_is_written() {
    let folder = folder("impossible");
    let cases: [(&[&str], &str); 4] = [
        (
            &["plan", "net.plim", "-o", "a.json", "-o", "./a.json"],
            "plimsoll: ./a.json: is given twice as an output\n",
        ),
        (
            &["plan", "net.plim", "-o", "a.json", "-o", "b.json", "--format", "json"],
            "plimsoll: --format is for one result: of several files, each has the form that its \
             extension says\n",
        ),
        (
            &["plan", "net.plim", "-o", "a.json", "-o", "b.tflm"],
            "plimsoll: -o: .onnx, .tflm and .tflite keep the order of the file, and .tflm and .tflite work in place \
             only if told: write them in runs of their own, or say --order, --kernels and --place\n",
        ),
        (
            &["plan", "net.plim", "-o", "a.json", "-o", "b.onnx", "--order", "given"],
            "plimsoll: net.plim: is not an ONNX model, and only such a one can be written with notes\n",
        ),
    ];
    for (args, said) in cases {
        assert_eq!(refused(&folder, args), said);
    }
    assert!(!folder.join("a.json").exists());
    // One order and the same kernels do for both.
    let both = ["plan", "net.plim", "-o", "a.json", "-o", "b.tflm", "--align", "16"];
    let said = ["--order", "given", "--kernels", "views"];
    silent(&folder, &[&both[..], &said].concat(), 0);
}

#[test]
fn files_that_are_read_are_not_written_over() {
    let folder = folder("spared");
    fs::write(folder.join("order.txt"), "y\n").expect("written");
    fs::write(folder.join("sizes.json"), "{}").expect("written");
    silent(&folder, &["plan", "net.plim", "-o", "old.json"], 0);
    let mut cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["plan", "net.plim", "-o", "./net.plim"], "./net.plim"),
        (vec!["plan", "net.plim", "-o", "a.svg", "-o", "net.plim"], "net.plim"),
        (vec!["plan", "net.plim", "--order", "order.txt", "-o", "order.txt"], "order.txt"),
        (vec!["plan", "net.plim", "--sizes", "sizes.json", "-o", "sizes.json"], "sizes.json"),
        (
            vec!["plan", "net.plim", "--sizes", "sizes.json", "--write-shared", "sizes.json"],
            "sizes.json",
        ),
        (vec!["verify", "net.plim", "old.json", "-o", "old.json"], "old.json"),
        (vec!["diff", "old.json", "old.json", "-o", "old.json"], "old.json"),
        (vec!["solve", "problem.csv", "-o", "problem.csv"], "problem.csv"),
        (vec!["compare", "problem.csv", "-o", "problem.csv"], "problem.csv"),
        (vec!["explain", "net.plim", "--sizes", "sizes.json", "-o", "sizes.json"], "sizes.json"),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("net.plim", folder.join("link.plim")).expect("linked");
        cases.push((vec!["plan", "net.plim", "-o", "link.plim"], "link.plim"));
        cases.push((vec!["plan", "link.plim", "-o", "net.plim"], "net.plim"));
    }
    let names = ["net.plim", "order.txt", "sizes.json", "old.json", "problem.csv"];
    let before = names.map(|name| fs::read(folder.join(name)).expect("there"));
    for (args, name) in cases {
        let said = format!("plimsoll: {name}: is read by this command, and is not written over\n");
        assert_eq!(refused(&folder, &args), said, "{args:?}");
    }
    assert!(before == names.map(|name| fs::read(folder.join(name)).expect("there")));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_yet_is_written_through() {
    use std::os::unix::fs::symlink;
    let folder = folder("links");
    fs::create_dir(folder.join("real")).expect("made");
    symlink("real/plan.json", folder.join("first.json")).expect("linked");
    symlink("first.json", folder.join("second.json")).expect("linked");
    silent(&folder, &["plan", "net.plim", "-o", "second.json"], 0);
    let written = fs::read(folder.join("real/plan.json")).expect("the target is written");
    assert!(!written.is_empty());
    for link in ["first.json", "second.json"] {
        let about = fs::symlink_metadata(folder.join(link)).expect("there");
        assert!(about.is_symlink(), "{link} is still a link");
    }
    // Both lead to the same place.
    let twice = refused(&folder, &["plan", "net.plim", "-o", "first.json", "-o", "second.json"]);
    assert_eq!(twice, "plimsoll: second.json: is given twice as an output\n");
    symlink("nowhere/plan.json", folder.join("lost.json")).expect("linked");
    let said = refused(&folder, &["plan", "net.plim", "-o", "lost.json"]);
    assert!(said.starts_with("plimsoll: lost.json: cannot create: "), "{said}");
    symlink("round.json", folder.join("round.json")).expect("linked");
    let said = refused(&folder, &["plan", "net.plim", "-o", "round.json"]);
    assert_eq!(said, "plimsoll: round.json: its symbolic links form a cycle\n");
}

#[test]
fn quiet_says_nothing_but_what_is_asked_for_and_errors() {
    let folder = folder("quiet");
    silent(&folder, &["-q", "plan", "net.plim"], 0);
    silent(&folder, &["plan", "--quiet", "net.plim", "--budget", "1"], 1);
    silent(&folder, &["plan", "-q", "-o", "plan.json"], 0);
    silent(&folder, &["solve", "-q", "problem.csv", "--budget", "1"], 1);
    silent(&folder, &["solve", "-q", "-o", "sample.csv"], 0);
    silent(&folder, &["explain", "-q", "net.plim"], 0);
    let json = ["plan", "net.plim", "--format", "json"];
    let asked = run(&folder, &[&json[..], &["-q"]].concat());
    assert_eq!(asked.stdout, run(&folder, &json).stdout);
    let text = run(&folder, &["plan", "net.plim", "-q", "--format", "text"]);
    assert_eq!(text.stdout, run(&folder, &["plan", "net.plim"]).stdout);
    assert!(
        refused(&folder, &["-q", "plan", "nowhere.plim"]).starts_with("plimsoll: nowhere.plim: ")
    );
}

#[test]
fn shells_complete_every_command_and_option() {
    let folder = folder("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&folder, &["completions", shell]);
        let script = String::from_utf8(output.stdout).expect("text");
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let values: &[&str] = match shell {
            "elvish" | "powershell" => &[],
            _ => &["exhaustive", "tflm-json"],
        };
        for word in ["verify", "reclaim-inputs"].iter().chain(values) {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    if let Ok(bash) = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn() {
        use std::io::Write;
        let mut bash = bash;
        let script = run(&folder, &["completions", "bash"]).stdout;
        bash.stdin.take().expect("piped").write_all(&script).expect("read");
        assert!(bash.wait().expect("it ends").success(), "bash reads its script");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder("man");
    silent(&folder, &["man", "-o", "man/man1"], 0);
    let entries = fs::read_dir(folder.join("man/man1")).expect("made");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().into_string().expect("plain")).collect();
    names.sort();
    let commands = [
        "-check",
        "-compare",
        "-completions",
        "-diff",
        "-explain",
        "-fit",
        "-man",
        "-plan",
        "-run",
        "-solve",
        "-verify",
        "",
    ];
    assert_eq!(names, commands.map(|command| format!("plimsoll{command}.1")));
    let page = fs::read_to_string(folder.join("man/man1/plimsoll-plan.1")).expect("text");
    assert!(
        page.contains("\\fB\\-\\-budget\\fR") && page.contains(".TH plimsoll-plan 1"),
        "{page}"
    );
    assert_eq!(
        run(&folder, &["man"]).stdout,
        fs::read(folder.join("man/man1/plimsoll.1")).expect("written")
    );
}

/// Ids and names of a file that was made to do harm come out as text, and come back.
#[test]
fn tables_do_nothing_in_a_terminal_or_a_spreadsheet() {
    let folder = folder("tables");
    let ids =
        ["\"=HYPERLINK(\"\"http://x\"\")\"", "+1", "-x", "@a", "\u{1b}[31mred", "\"two\nlines\""];
    let rows: Vec<String> = ids.iter().map(|id| format!("{id},0,2,64\n")).collect();
    fs::write(folder.join("odd.csv"), format!("id,lower,upper,size\n{}", rows.concat()))
        .expect("written");
    silent(&folder, &["solve", "odd.csv", "-o", "s.csv"], 0);
    let written = fs::read_to_string(folder.join("s.csv")).expect("text");
    assert_eq!(written.lines().count(), 7, "a row is a line: {written}");
    for line in written.lines() {
        let cell = line.trim_start_matches('"');
        assert!(
            !cell.starts_with(['=', '+', '-', '@']) && !cell.contains(char::is_control),
            "{line}"
        );
    }
    assert!(written.contains("\n\"'=HYPERLINK(\"\"http://x\"\")\",0,2,64,"), "{written}");
    assert!(written.contains("\n\\u{1b}[31mred,0,2,64,"), "{written}");
    let checked = run(&folder, &["check", "odd.csv", "s.csv"]);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));

    let net =
        "plim 1\ninput \"=x\": u8[4]\n\"-y\\u{1b}\": u8[4] = relu(\"=x\")\noutput \"-y\\u{1b}\"\n";
    fs::write(folder.join("odd.plim"), net).expect("written");
    silent(&folder, &["plan", "odd.plim", "--place", "all", "-o", "p.tsv", "-o", "p.csv"], 0);
    let tsv = fs::read_to_string(folder.join("p.tsv")).expect("text");
    let names: Vec<&str> =
        tsv.lines().skip(1).map(|row| row.split('\t').nth(2).expect("six")).collect();
    assert_eq!(names, ["'=x", "'-y\\u{1b}"]);
    let csv = fs::read_to_string(folder.join("p.csv")).expect("text");
    assert!(csv.lines().skip(1).all(|row| row.starts_with('\'')), "{csv}");
}
