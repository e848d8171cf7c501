//! C and C++ programs, compiled against the header, linked with the static and the shared library, and run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the libraries, which is that of this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    test.parent().expect("a folder").to_owned()
}

/// Compiles a program, runs it, and gives what it prints.
fn run(compiler: &str, flags: &[&str], source: &str, is_shared: bool) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = format!("{}_{compiler}_{is_shared}", source.replace(['/', '.'], "_"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compile = Command::new(compiler);
    compile
        .args(flags)
        .arg("-Wall")
        .arg("-Wextra")
        .arg("-Werror")
        .arg("-I")
        .arg(root.join("include"));
    compile.arg(root.join(source)).arg("-o").arg(&program);
    if is_shared {
        compile.arg("-L").arg(libraries()).arg("-lplimsoll_c");
    } else {
        compile.arg(libraries().join("libplimsoll_c.a"));
    }
    let made = compile.args(["-lpthread", "-ldl", "-lm"]).output().expect("a compiler");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(&program).env("LD_LIBRARY_PATH", libraries()).output();
    let ran = ran.expect("the program was made");
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{source}: {} {errors}", ran.status);
    String::from_utf8(ran.stdout).expect("text")
}

#[test]
fn a_c_program_packs_and_plans() {
    assert_eq!(run("cc", &["-std=c99"], "tests/c/interface.c", false), "fine\n");
    assert_eq!(run("cc", &["-std=c99"], "tests/c/interface.c", true), "fine\n");
}

#[test]
fn a_cpp_program_packs_and_plans() {
    assert_eq!(run("c++", &["-std=c++11"], "tests/c/interface.cpp", false), "fine\n");
}

#[test]
fn the_example_replaces_a_greedy_planner() {
    let printed = run("cc", &["-std=c99"], "examples/replace_greedy.c", false);
    assert_eq!(printed, "greedy 3584 bytes, plimsoll 3072 bytes, no arena can be smaller\n");
}
