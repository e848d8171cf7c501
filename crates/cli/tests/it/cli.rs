//! What a snapshot cannot show: pipes, files, threads, and that errors keep standard output clean.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const SMALL: &str = "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n";
/// Ids that mean something to a shell, a terminal, CSV, JSON and XML.
const HOSTILE: &str = "id,lower,upper,size\n\"a,\"\"b\"\"\",0,2,64\n</title>&\u{1b}[2J,1,3,32\n\
                       \"two\nlines\",0,3,16\n{\\u0041},0,3,8\n";

fn plimsoll(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    plimsoll(args).output().expect("it runs")
}

fn spawn(args: &[&str]) -> Child {
    let mut command = plimsoll(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it runs")
}

fn run_with_stdin(args: &[&str], stdin: &str) -> Output {
    let mut child = spawn(args);
    // Whoever rejects its input early does not read all of it.
    let _ = child.stdin.take().expect("piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

/// An empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn file(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, content).expect("a file for tests");
    path.to_str().expect("a plain path").to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
    let mut names: Vec<_> = entries.map(|e| name(e).into_string().expect("plain")).collect();
    names.sort();
    names
}

/// Many buffers of all sizes, by a small generator, so that the rules differ.
fn scattered(buffers: u32) -> String {
    let mut csv = vec!["id,lower,upper,size".to_owned()];
    let mut state: u32 = 7;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    for i in 0..buffers {
        let (start, length, size) = (next(200), 1 + next(20), 1 + next(4096));
        csv.push(format!("t{i},{start},{},{size}", start + length));
    }
    csv.join("\n")
}

#[test]
fn the_sample_is_packed_to_its_bound() {
    let output = run(&["solve", "--format", "json"]);
    assert_eq!(code(&output), Some(0));
    let json = text(&output.stdout);
    assert!(json.contains("\"arena_bytes\": 92160,\n  \"lower_bound_bytes\": 92160,"), "{json}");
    assert!(text(&output.stderr).contains("built-in sample"));
}

#[test]
fn the_readme_shows_what_plan_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).expect("the README is there");
    let printed = run(&["plan"]).stdout;
    assert!(readme.contains(&format!("```text\n{}```\n", text(&printed))), "{}", text(&printed));
}

#[test]
fn the_docs_show_what_compare_prints() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.md");
    let docs = fs::read_to_string(docs).expect("the page is there");
    let arguments = "compare --order best --algorithm largest-first --no-time --format md";
    assert!(docs.contains(&format!("`plimsoll {arguments}`")));
    let printed = run(&arguments.split(' ').collect::<Vec<_>>()).stdout;
    assert!(docs.contains(&format!("\n{}\n", text(&printed))), "{}", text(&printed));
}

#[test]
fn a_comparison_has_times_unless_they_are_left_out() {
    let compared = |more: &[&str]| {
        let output = run(&[&["compare", "--format", "csv", "--order", "best"], more].concat());
        assert_eq!(code(&output), Some(0));
        text(&output.stdout).to_owned()
    };
    let timed = compared(&[]);
    let mut lines = timed.lines();
    let header = lines.next().expect("a header");
    assert!(header.ends_with(",status,best,search_seconds,seconds"), "{header}");
    for line in lines {
        let seconds = line.rsplit(',').take(2).map(|cell| cell.parse::<f64>().expect("a time"));
        assert!(seconds.clone().all(|seconds| (0.0..60.0).contains(&seconds)), "{line}");
    }
    let untimed = compared(&["--no-time"]);
    assert_eq!(untimed, compared(&["--no-time"]));
    let cut = |line: &str| line.rsplitn(3, ',').last().unwrap_or_default().to_owned();
    let cut: Vec<String> = timed.lines().map(cut).collect();
    assert_eq!(untimed.lines().collect::<Vec<_>>(), cut);
    // Six ways to share, and the eighteen rules for the last.
    assert_eq!(cut.len(), 1 + 6 + 18);
}

#[test]
fn every_bad_problem_gets_one_line_and_leaves_stdout_empty() {
    let bad = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/bad.in");
    let files = names(&bad);
    assert!(files.len() >= 20, "{files:?}");
    for name in files {
        let path = bad.join(&name);
        let output = run(&["solve", path.to_str().expect("plain")]);
        let stderr = text(&output.stderr);
        assert_eq!(code(&output), Some(2), "{name}");
        assert_eq!(output.stdout, b"", "{name}");
        assert_eq!(stderr.lines().count(), 1, "{name}: {stderr}");
        assert!(stderr.contains(&format!("{name}: line ")), "{name}: {stderr}");
    }
}

#[test]
fn a_message_is_one_line_whatever_the_file_is_called() {
    let output = run(&["solve", "two\nlines\u{1b}[2J.csv"]);
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("plimsoll: two\\nlines\\u{1b}[2J.csv: cannot open: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
}

#[test]
fn processes_and_threads_give_the_same_bytes() {
    let folder = folder("threads");
    let problem = file(&folder, "problem.csv", &scattered(300));
    let solve = |threads| {
        let output = run(&["solve", &problem, "--format", "json", "--threads", threads]);
        assert_eq!(code(&output), Some(0));
        output.stdout
    };
    let first = solve("1");
    assert!(text(&first).contains("\"id\": \"t299\""));
    assert_eq!(first, solve("1"));
    assert_eq!(first, solve("4"));
    assert_eq!(first, solve("1000000"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = folder("pipe");
    // Far more than a pipe holds.
    let problem = file(&folder, "problem.csv", &scattered(20_000));
    for format in ["json", "csv", "svg"] {
        let mut child =
            spawn(&["solve", &problem, "--format", format, "--algorithm", "largest-first"]);
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        stdout.read_line(&mut line).expect("a line");
        drop(stdout);
        let output = child.wait_with_output().expect("it ends");
        assert!(!line.is_empty(), "{format}");
        assert_eq!(code(&output), Some(0), "{format}");
        assert_eq!(text(&output.stderr), "", "{format}");
    }
}

#[test]
fn a_dash_reads_standard_input() {
    let solve = ["solve", "-", "--format", "csv", "--algorithm", "largest-first"];
    let output = run_with_stdin(&solve, SMALL);
    let expected = "id,lower,upper,size,offset\na,0,2,64,0\nb,1,3,32,64\nc,2,4,64,0\n";
    assert_eq!(text(&output.stdout), expected);

    let folder = folder("dash");
    let problem = file(&folder, "problem.csv", SMALL);
    let solution = file(&folder, "solution.csv", expected);
    for (args, stdin) in [([&problem, "-"], expected), (["-", &solution], SMALL)] {
        let output = run_with_stdin(&["check", args[0], args[1]], stdin);
        assert_eq!(code(&output), Some(0), "{args:?}");
        assert!(text(&output.stdout).starts_with("valid: arena 96 bytes"), "{args:?}");
    }
    let output = run_with_stdin(&["solve", "-"], "id\n");
    let expected = "plimsoll: standard input: line 1: the header has no column lower\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn a_line_without_end_is_given_up_early() {
    let mut child = spawn(&["solve", "-"]);
    let mut stdin = child.stdin.take().expect("piped");
    let zeros = vec![b'0'; 1 << 16];
    let mut written = 0u64;
    while written < 3_000_000_000 && stdin.write_all(&zeros).is_ok() {
        written += zeros.len() as u64;
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(code(&output), Some(2));
    let expected = "plimsoll: standard input: line 1: longer than 1048576 bytes\n";
    assert_eq!(text(&output.stderr), expected);
    // What it never took it cannot have kept.
    assert!(written < 8 << 20, "{written} bytes were taken");
}

#[test]
fn json_that_is_too_deep_is_an_error_and_not_a_crash() {
    let folder = folder("deep");
    let problem = file(&folder, "problem.csv", SMALL);
    for start in ["{\"offsets\": ", "{\"other\": ", "{\"offsets\": [{\"id\": "] {
        let deep = format!("{start}{}", "[".repeat(1_000_000));
        let output = run_with_stdin(&["check", &problem, "-"], &deep);
        assert_eq!(code(&output), Some(2), "{start}");
        assert_eq!(output.stdout, b"", "{start}");
        assert!(text(&output.stderr).contains(": line 1, column "), "{start}");
    }
}

#[test]
fn the_extension_decides_the_form_unless_it_is_given() {
    let folder = folder("forms");
    let problem = file(&folder, "problem.csv", SMALL);
    let forms = [("text", "TXT"), ("json", "json"), ("csv", "csv"), ("svg", "svg")];
    for (format, extension) in forms {
        let printed = run(&["solve", &problem, "--format", format]).stdout;
        let by_extension = folder.join(format!("by-extension.{extension}"));
        let by_format = folder.join(format!("by-format.{format}.json"));
        run(&["solve", &problem, "-o", by_extension.to_str().expect("plain")]);
        run(&["solve", &problem, "--format", format, "-o", by_format.to_str().expect("plain")]);
        assert_eq!(fs::read(by_extension).expect("written"), printed, "{format}");
        assert_eq!(fs::read(by_format).expect("written"), printed, "{format}");
    }
    let to_stdout = run(&["solve", &problem, "--format", "csv", "-o", "-"]).stdout;
    assert_eq!(to_stdout, run(&["solve", &problem, "--format", "csv"]).stdout);
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let folder = folder("atomic");
    let good = file(&folder, "good.csv", SMALL);
    let bad = file(&folder, "bad.csv", "id,lower,upper,size\na,0,2,0\n");
    let overlap = "id,lower,upper,size,offset\na,0,2,4,0\nb,0,2,4,2\n";
    let overlap = file(&folder, "overlap.csv", overlap);
    let target = file(&folder, "solution.csv", "precious");
    let before = names(&folder);

    assert_eq!(code(&run(&["solve", &bad, "-o", &target])), Some(2));
    assert_eq!(code(&run(&["solve", &overlap, "-o", &target])), Some(1));
    assert_eq!(fs::read_to_string(&target).expect("still there"), "precious");

    let output = run(&["solve", &good, "-o", &target]);
    assert_eq!((code(&output), output.stdout, output.stderr), (Some(0), vec![], vec![]));
    assert!(
        fs::read_to_string(&target).expect("there").starts_with("id,lower,upper,size,offset\n")
    );
    assert_eq!(names(&folder), before);

    // Renaming over a folder fails at the very end; nothing is left behind.
    fs::create_dir(folder.join("folder.csv")).expect("a folder");
    let output = run(&["solve", &good, "-o", folder.join("folder.csv").to_str().expect("plain")]);
    assert_eq!(code(&output), Some(2));
    assert_eq!(names(&folder).len(), before.len() + 1);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay_and_devices_are_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    let folder = folder("links");
    let problem = file(&folder, "problem.csv", SMALL);
    let target = file(&folder, "target.csv", "old");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("ours");
    let link = folder.join("link.csv");
    symlink("target.csv", &link).expect("a link");
    assert_eq!(code(&run(&["solve", &problem, "-o", link.to_str().expect("plain")])), Some(0));
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(fs::read_to_string(&target).expect("there").starts_with("id,"));
    assert_eq!(fs::metadata(&target).expect("there").permissions().mode() & 0o777, 0o640);

    let output = run(&["solve", &problem, "--format", "csv", "-o", "/dev/null"]);
    assert_eq!(code(&output), Some(0));
    assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
}

#[test]
fn what_solve_writes_check_accepts() {
    let folder = folder("round-trip");
    for (name, problem) in [("hostile", HOSTILE), ("scattered", &scattered(500))] {
        let problem = file(&folder, &format!("{name}.csv"), problem);
        for extension in ["csv", "json"] {
            let solution = folder.join(format!("{name}-solution.{extension}"));
            let solution = solution.to_str().expect("plain");
            assert_eq!(code(&run(&["solve", &problem, "--align", "16", "-o", solution])), Some(0));
            let output = run(&["check", &problem, solution, "--align", "16"]);
            assert!(text(&output.stdout).starts_with("valid: arena "), "{name} {extension}");
            assert_eq!(code(&output), Some(0), "{name} {extension}");
        }
    }
}

#[test]
fn a_flood_of_violations_is_cut_and_says_so() {
    let folder = folder("flood");
    let rows: Vec<String> = (0..300).map(|i| format!("t{i},0,1,8,0")).collect();
    let rows = rows.join("\n");
    let problem = rows.replace(",8,0", ",8");
    let problem = file(&folder, "problem.csv", &format!("id,lower,upper,size\n{problem}"));
    let solution = format!("id,lower,upper,size,offset\n{rows}");
    let solution = file(&folder, "solution.csv", &solution);
    let output = run(&["check", &problem, &solution]);
    assert_eq!(code(&output), Some(1));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 10_001);
    let expected = "not valid: more than 10000 violations, of which 10000 are listed";
    assert_eq!(lines[10_000], expected);
    let json = run(&["check", &problem, &solution, "--format", "json"]).stdout;
    assert!(text(&json).contains("\"complete\": false"));
}

#[test]
fn a_refusal_is_told_on_stderr_where_the_result_is_for_programs() {
    let folder = folder("refusal");
    let problem = file(&folder, "problem.csv", SMALL);
    let text_run = run(&["solve", &problem, "--capacity", "64"]);
    assert_eq!((code(&text_run), text(&text_run.stderr)), (Some(1), ""));
    assert!(text(&text_run.stdout).contains("\ninfeasible: at least 96 bytes are needed"));
    for format in ["json", "csv", "svg"] {
        let output = run(&["solve", &problem, "--capacity", "64", "--format", format]);
        let stderr = text(&output.stderr);
        assert_eq!(code(&output), Some(1), "{format}");
        assert!(stderr.contains("problem.csv: infeasible: at least 96 bytes"), "{stderr}");
        assert!(!output.stdout.is_empty(), "{format}");
    }
}

#[test]
fn colours_are_for_terminals_only() {
    let forced = plimsoll(&["solve"]).env("CLICOLOR_FORCE", "1").output().expect("it runs");
    assert!(text(&forced.stdout).contains("\u{1b}["));
    let piped = run(&["solve"]);
    assert!(!text(&piped.stdout).contains('\u{1b}'));
}

/// A problem that no rule settles and that search does not get to the end of: equal loads all the
/// time, by a small generator.
fn endless() -> String {
    let mut csv = vec!["id,lower,upper,size".to_owned()];
    let mut state: u32 = 3;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut live: Vec<(u32, u32)> = (0..30).map(|_| (10 + next(5000), 0)).collect();
    let mut row = |size: u32, start: u32, end: u32| {
        let id = csv.len();
        csv.push(format!("t{id},{start},{end},{size}"));
    };
    for now in 1..=60 {
        let mut bytes = 0;
        for _ in 0..2 {
            let (size, born) = live.swap_remove(next(live.len() as u32) as usize);
            row(size, born, now);
            bytes += size;
        }
        let part = 1 + next(bytes - 1);
        live.extend([(part, now), (bytes - part, now)]);
    }
    for (size, born) in &live {
        row(*size, *born, 61);
    }
    csv.join("\n")
}

#[test]
fn who_is_killed_leaves_the_old_file_or_the_new_one() {
    let folder = folder("killed");
    let searched = file(&folder, "searched.csv", &endless());
    let target = file(&folder, "solution.csv", "precious");
    let before = names(&folder);
    // In the middle of a search nothing is written yet.
    let mut child = spawn(&["solve", &searched, "--effort", "exhaustive", "-o", &target]);
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert_eq!(child.try_wait().expect("ours"), None, "it is not to end so soon");
    child.kill().expect("ours");
    child.wait().expect("it ends");
    assert_eq!(fs::read_to_string(&target).expect("still there"), "precious");
    assert_eq!(names(&folder), before);

    // Whenever it is, the file is the old one or the whole new one; what may be left beside it is
    // told by its name.
    let written = file(&folder, "written.csv", &scattered(20_000));
    let args = ["solve", &written, "--algorithm", "first-fit/birth", "-o", &target];
    assert_eq!(code(&run(&args)), Some(0));
    let whole = fs::read(&target).expect("written");
    for milliseconds in (0..120).step_by(6) {
        fs::write(&target, "precious").expect("ours");
        let mut child = spawn(&args);
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        child.kill().expect("ours");
        child.wait().expect("it ends");
        let found = fs::read(&target).expect("still there");
        assert!(found == b"precious" || found == whole, "after {milliseconds} ms");
    }
    for name in names(&folder) {
        let left = name.strip_prefix(".solution.csv.").and_then(|n| n.strip_suffix(".tmp"));
        let is_left = left.is_some_and(|pid| pid.parse::<u32>().is_ok());
        assert!(is_left || before.contains(&name) || name == "written.csv", "{name}");
    }
}

#[test]
fn a_limit_in_time_stops_a_search_and_says_so() {
    let folder = folder("time-limit");
    let problem = file(&folder, "problem.csv", &endless());
    let args = ["solve", &problem, "--effort", "exhaustive", "--time-limit", "200ms"];
    let output = run(&args);
    assert_eq!((code(&output), text(&output.stderr)), (Some(0), ""));
    let said = "\nstopped by   the time limit: another run may end elsewhere\n";
    assert!(text(&output.stdout).contains(said), "{}", text(&output.stdout));
    let json = run(&[&args[..], &["--format", "json"]].concat()).stdout;
    let keys = "\"status\": \"feasible\",\n  \"limit\": \"time\",\n  \"reproducible\": false,\n";
    assert!(text(&json).contains(keys), "{}", text(&json));

    let small = file(&folder, "small.csv", SMALL);
    let output = run(&["solve", &small, "--time-limit", "1h"]);
    assert!(text(&output.stdout).contains("\ntime limit   not reached\n"));
    let json = |args: &[&str]| run(&[&["solve", &small, "--format", "json"], args].concat()).stdout;
    assert_eq!(json(&["--time-limit", "1h"]), json(&[]));
}

#[test]
fn a_budget_is_answered_where_nothing_is_in_the_arena_and_where_time_is_over() {
    let output = run_with_stdin(&["explain", "-", "--budget", "8"], "plim 1\n");
    assert_eq!(code(&output), Some(0));
    let said = "\nA budget of 8 bytes\nfits as it is, 8 bytes to spare\n";
    assert!(text(&output.stdout).ends_with(said), "{}", text(&output.stdout));

    let model = "plim 1\ninput x: f32[4]\ny: f32[4] = relu(x)\noutput y\n";
    let shortest = ["explain", "-", "--budget", "8", "--time-limit", "0.000000001"];
    let output = run_with_stdin(&shortest, model);
    assert_eq!(code(&output), Some(1));
    let said = "\nthe time limit ended the search before everything was tried\n";
    assert!(text(&output.stdout).ends_with(said), "{}", text(&output.stdout));
    // The plan that is explained has the same time.
    let peak_only = ["explain", "-", "--no-advice", "--time-limit", "0.000000001"];
    let output = run_with_stdin(&peak_only, model);
    assert_eq!(code(&output), Some(0));
    assert!(text(&output.stdout).ends_with(said), "{}", text(&output.stdout));
}
