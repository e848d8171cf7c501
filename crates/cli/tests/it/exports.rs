//! What devices and their tools are told of a plan: C that is compiled and run, Rust that is, and
//! the bytes of the others.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn plimsoll(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

/// What it prints where all is well.
fn stdout(args: &[&str]) -> Vec<u8> {
    let output = plimsoll(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    output.stdout
}

fn model(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/plan.in");
    folder.join(name).to_str().expect("a plain path").to_owned()
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exports-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a plain path").to_owned()
}

/// Names that would like to be something else in C, Rust or a comment.
fn hostile(folder: &Path) -> String {
    let names = [
        "a",
        "A",
        "a_2",
        "a 2",
        "*/",
        "/*",
        "??/",
        "say \\\"hi\\\"",
        "back\\\\slash",
        "line\\nend",
        "\\u{1}23",
        "\\u{7f}f",
        "é",
        "日本",
        "int",
        "0",
        "self",
        "Self",
        "fn",
        "@UPPER@",
        "%s%n",
        "\\u{202e}x",
        "A_ENDS",
        "2_2",
    ];
    let long = "long.".repeat(1000);
    let mut plim = String::from("plim 1\ninput x: u8[8]\n");
    let mut last = "x".to_owned();
    for name in names.into_iter().chain([&long[..], &long[..4999]]) {
        let _ = writeln!(plim, "\"{name}\": u8[8] = matmul(\"{last}\", \"x\") scratch 8 align 8");
        name.clone_into(&mut last);
    }
    let _ = writeln!(plim, "output \"{last}\"");
    let model = path(folder, "hostile.plim");
    fs::write(&model, plim).expect("written");
    model
}

/// Models and options that have something special each.
fn cases(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let write = |name: &str, text: &str| {
        let model = path(folder, name);
        fs::write(&model, text).expect("written");
        model
    };
    let nothing = write("nothing.plim", "plim 1\ninput x: u8[8]\noutput x\n");
    let huge = "plim 1\ninput x: u8[8]\na: u8[5000000000] = matmul(x, x)\n\
                b: u8[4294967290] = matmul(a, x)\noutput b\n";
    let banks = ["--bank", "fast-ram=150,align=32", "--bank", "fast_ram", "--align", "1"];
    let with = |model: String, more: &[&str]| {
        [model].into_iter().chain(more.iter().map(|arg| (*arg).to_owned())).collect()
    };
    vec![
        ("sample", with(write_sample(folder), &[])),
        ("views", with(model("views.plim"), &["--place", "all"])),
        ("empty", with(model("empty.plim"), &["--place", "inputs,outputs"])),
        ("banks", with(model("scratch.plim"), &banks)),
        ("hostile", with(hostile(folder), &["--align", "4"])),
        ("nothing", with(nothing, &[])),
        ("huge", with(write("huge.plim", huge), &[])),
    ]
}

fn write_sample(folder: &Path) -> String {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/models/sample.onnx");
    let copy = path(folder, "sample.onnx");
    fs::copy(sample, &copy).expect("copied");
    copy
}

/// A plan in the form that the name of a file says, and as JSON.
fn planned(args: &[String], file: &str) -> Value {
    let mut all: Vec<&str> = vec!["plan"];
    all.extend(args.iter().map(String::as_str));
    let json = stdout(&[&all[..], &["--format", "json"]].concat());
    stdout(&[&all[..], &["-o", file]].concat());
    serde_json::from_slice(&json).expect("JSON")
}

/// A value of a bank, as the JSON has it.
struct Row {
    name: String,
    bank: usize,
    offset: u64,
    bytes: u64,
    first_step: u64,
    last_step: u64,
}

fn rows(plan: &Value) -> Vec<Row> {
    let banks: Vec<&Value> = list(plan, "banks").iter().map(|bank| &bank["name"]).collect();
    let steps = list(plan, "schedule").len() as u64;
    let row = |value: &Value| {
        let bank = banks.iter().position(|name| **name == value["bank"])?;
        let (start, end) = (value["start"].as_u64(), value["end"].as_u64());
        Some(Row {
            name: value["name"].as_str().expect("a name").to_owned(),
            bank,
            offset: number(&value["offset"]),
            bytes: number(&value["bytes"]),
            first_step: start.map_or(0, |start| start / 2),
            last_step: end.map_or(steps, |end| end.saturating_sub(1) / 2),
        })
    };
    list(plan, "values").iter().filter_map(row).collect()
}

fn list<'v>(plan: &'v Value, key: &str) -> &'v [Value] {
    plan[key].as_array().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Runs a compiler, which shall have nothing to say.
fn compile(compiler: &str, args: &[&str], folder: &Path) {
    let output = Command::new(compiler).args(args).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{compiler} {args:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{compiler} {args:?}");
}

fn is_there(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("skipped: there is no {tool}");
    }
    there
}

fn run_built(folder: &Path, name: &str) {
    let output = Command::new(folder.join(name)).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stdout));
}

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// A program in C that compares all that a header says with the plan.
fn c_program(plan: &Value) -> String {
    let mut code = String::from(
        "#include \"plan.h\"\n#include <stdio.h>\n#include <string.h>\n\
         #define CHECK(x) do { if (!(x)) { puts(#x); return 1; } } while (0)\n\
         static int is(const char *a, const unsigned char *b, size_t n) {\n\
         return strlen(a) == n && memcmp(a, b, n) == 0; }\nint main(void) {\n",
    );
    let bytes = |name: &str| {
        // A string ends where the longest that compilers take does.
        let name = &name.as_bytes()[..name.len().min(4000)];
        let numbers: Vec<String> = name.iter().map(|byte| format!("{byte},")).collect();
        (numbers.concat(), name.len())
    };
    let named = |what: &str, name: &str| {
        let (bytes, length) = bytes(name);
        format!(
            "{{ static const unsigned char n[] = {{{bytes}}}; CHECK(is({what}, n, {length})); }}\n"
        )
    };
    let (rows, banks) = (rows(plan), list(plan, "banks"));
    let _ = writeln!(code, "CHECK(PLIMSOLL_ARENA_BYTES == {}u);", plan["arena_bytes"]);
    let _ = writeln!(code, "CHECK(PLIMSOLL_ALIGN == {}u);", plan["align"]);
    let _ = writeln!(code, "CHECK((int)PLIMSOLL_VALUES == {});", rows.len());
    let _ = writeln!(code, "CHECK((int)PLIMSOLL_BANKS == {});", banks.len());
    for (index, row) in rows.iter().enumerate() {
        let at = format!("plimsoll_values[{index}]");
        code.push_str(&named(&format!("{at}.name"), &row.name));
        let numbers = [
            ("bank", row.bank as u64),
            ("offset", row.offset),
            ("bytes", row.bytes),
            ("first_step", row.first_step),
            ("last_step", row.last_step),
        ];
        for (field, number) in numbers {
            let _ = writeln!(code, "CHECK({at}.{field} == {number}u);");
        }
        let _ = writeln!(code, "CHECK({at}.offset % {at}.align == 0);");
    }
    for (index, bank) in banks.iter().enumerate() {
        let at = format!("plimsoll_banks[{index}]");
        code.push_str(&named(&format!("{at}.name"), bank["name"].as_str().expect("a name")));
        let capacity = bank["capacity"].as_u64().unwrap_or(0);
        let _ = writeln!(code, "CHECK({at}.bytes == {}u);", bank["bytes"]);
        let _ = writeln!(code, "CHECK({at}.capacity == {capacity}u);");
    }
    let schedule = list(plan, "schedule");
    let _ = writeln!(code, "CHECK((int)PLIMSOLL_STEPS == {});", schedule.len());
    for (index, step) in schedule.iter().enumerate() {
        let name = step.as_str().expect("a name");
        code.push_str(&named(&format!("plimsoll_steps[{index}]"), name));
    }
    let scratch = list(plan, "scratch");
    let _ = writeln!(code, "CHECK((int)PLIMSOLL_SCRATCHES == {});", scratch.len());
    for row in scratch {
        let step = schedule.iter().position(|step| *step == row["step"]).expect("a step");
        let _ = writeln!(
            code,
            "{{ size_t i, found = 0; for (i = 0; i < PLIMSOLL_SCRATCHES; i++) \
             found += plimsoll_scratches[i].step == {step}u && \
             plimsoll_scratches[i].offset == {}u && plimsoll_scratches[i].bytes == {}u; \
             CHECK(found == 1); }}",
            row["offset"], row["bytes"]
        );
    }
    code.push_str("return 0; }\n");
    code
}

#[test]
fn a_header_says_in_c_and_cpp_what_the_plan_says() {
    let folder = folder("c");
    for (name, args) in cases(&folder) {
        let plan = planned(&args, &path(&folder, "plan.h"));
        fs::write(folder.join("main.c"), c_program(&plan)).expect("written");
        fs::copy(folder.join("main.c"), folder.join("main.cpp")).expect("copied");
        let standards = [("cc", "-std=c99", "main.c"), ("cc", "-std=c11", "main.c")];
        for (compiler, standard, source) in standards {
            compile(
                compiler,
                &[&WARNINGS[..], &[standard, source, "-o", "main"]].concat(),
                &folder,
            );
            run_built(&folder, "main");
        }
        if is_there("c++") {
            let args = [&WARNINGS[..], &["-std=c++11", "main.cpp", "-o", "main"]].concat();
            compile("c++", &args, &folder);
            run_built(&folder, "main");
        }
        assert_eq!(name == "nothing", rows(&plan).is_empty(), "{name} has values");
    }
}

#[test]
fn macros_are_called_like_values_with_a_prefix_of_ones_own() {
    let folder = folder("prefix");
    for (file, prefix) in [("one.h", "net1"), ("two.h", "Net_Two")] {
        let output = path(&folder, file);
        stdout(&["plan", &model("scratch.plim"), "--symbol-prefix", prefix, "-o", &output]);
    }
    // Alignment 64: scratch of y behind 100 bytes at a multiple of 4, then y.
    let code = "#define NET1_DEFINE_ARENAS\n#define NET_TWO_DEFINE_ARENAS\n\
        #include \"one.h\"\n#include \"two.h\"\n#include \"one.h\"\nint main(void) {\n\
        return !(NET1_OFFSET_Y == 192u && NET_TWO_BYTES_Y == 20u && NET1_VALUE_Y == 1 \
        && NET1_SCRATCH_OFFSET_Y == 100u && NET1_SCRATCH_BYTES_Y == 64u && NET1_STEP_A == 0 \
        && sizeof net1_arena_arena == 212 && Net_Two_values[NET_TWO_VALUE_Y].offset == 192u \
        && (uintptr_t)Net_Two_arena_arena % 64u == 0u); }\n";
    fs::write(folder.join("main.c"), code).expect("written");
    compile("cc", &[&WARNINGS[..], &["-std=c99", "main.c", "-o", "main"]].concat(), &folder);
    run_built(&folder, "main");
}

#[test]
fn a_header_that_was_edited_does_not_compile() {
    let folder = folder("edited");
    stdout(&["plan", &model("tiny.plim"), "-o", &path(&folder, "plan.h")]);
    let header = fs::read_to_string(folder.join("plan.h")).expect("written");
    assert!(header.contains("#define PLIMSOLL_OFFSET_A 448u"), "a is behind b");
    fs::write(folder.join("main.c"), "#include \"plan.h\"\n").expect("written");
    // Not aligned; beyond the end, by one step of the alignment; a bank that is too small.
    let edits = [("OFFSET_A 448u", "OFFSET_A 440u"), ("OFFSET_A 448u", "OFFSET_A 512u")];
    for (from, to) in edits.into_iter().chain([("ARENA_BYTES_ARENA 648u", "ARENA_BYTES_ARENA 9u")])
    {
        assert!(header.contains(from), "{from}");
        fs::write(folder.join("plan.h"), header.replace(from, to)).expect("written");
        for standard in ["-std=c99", "-std=c11"] {
            let args = [standard, "-fsyntax-only", "main.c"];
            let output = Command::new("cc").args(args).current_dir(&folder).output();
            assert!(!output.expect("it runs").status.success(), "{to} {standard}");
        }
    }
}

#[test]
fn banks_are_put_where_sections_say() {
    let folder = folder("sections");
    let args = ["--bank", "sram=100,align=128", "--bank", "dram", "--align", "1"];
    let header = path(&folder, "plan.h");
    stdout(&[&["plan", &model("scratch.plim")], &args[..], &["-o", &header]].concat());
    let code = "#define PLIMSOLL_DEFINE_ARENAS\n\
        #define PLIMSOLL_SECTION_SRAM __attribute__((section(\".fast\")))\n\
        #define PLIMSOLL_SECTION_DRAM __attribute__((section(\".slow\")))\n\
        #include \"plan.h\"\n";
    fs::write(folder.join("arenas.c"), code).expect("written");
    compile("cc", &[&WARNINGS[..], &["-std=c99", "-c", "arenas.c"]].concat(), &folder);
    if !cfg!(target_os = "linux") || !is_there("objdump") {
        return;
    }
    let tool = |args: &[&str]| {
        let output = Command::new("objdump").args(args).current_dir(&folder).output();
        text(&output.expect("it runs").stdout).to_owned()
    };
    let symbols = tool(&["-t", "arenas.o"]);
    for (symbol, section) in [("plimsoll_arena_sram", ".fast"), ("plimsoll_arena_dram", ".slow")] {
        let line = symbols.lines().find(|line| line.ends_with(symbol)).expect(symbol);
        assert!(line.split_whitespace().any(|word| word == section), "{line}");
    }
    let headers = tool(&["-h", "arenas.o"]);
    let fast = headers.lines().find(|line| line.contains(" .fast ")).expect("a section");
    assert!(fast.trim_end().ends_with("2**7"), "the bank asks for 128: {fast}");
}

/// The plan as a table in Rust, to compare with.
fn rust_program(plan: &Value) -> String {
    let mut code = String::from(
        "mod plan { include!(\"plan.rs\"); }\nuse plan::*;\nfn main() {\n\
         for (value, bank) in VALUES.iter().map(|v| (v, BANKS[v.bank as usize])) {\n\
         assert!(value.offset + value.bytes <= bank.bytes && value.offset % value.align == 0);\n}\n",
    );
    let rows = rows(plan);
    let _ = writeln!(code, "assert_eq!(ARENA_BYTES, {});", plan["arena_bytes"]);
    let _ =
        writeln!(code, "assert_eq!((ALIGN, VALUES.len()), ({}, {}));", plan["align"], rows.len());
    for (index, row) in rows.iter().enumerate() {
        let Row { name, bank, offset, bytes, first_step, last_step } = row;
        let _ = writeln!(
            code,
            "let v = VALUES[{index}];\n\
             assert_eq!((v.name, v.bank as usize, v.offset, v.bytes, v.first_step, v.last_step), \
             ({name:?}, {bank}, {offset}, {bytes}, {first_step}, {last_step}));"
        );
    }
    let schedule = list(plan, "schedule").iter();
    let schedule: Vec<&str> = schedule.filter_map(Value::as_str).collect();
    let _ =
        writeln!(code, "let steps: &[&str] = &{schedule:?};\nassert_eq!(&SCHEDULE[..], steps);");
    let scratch = list(plan, "scratch");
    let _ = writeln!(code, "assert_eq!(SCRATCH.len(), {});", scratch.len());
    for row in scratch {
        let step = schedule.iter().position(|step| *step == row["step"]).expect("a step");
        let (offset, bytes) = (&row["offset"], &row["bytes"]);
        let found = format!("SCRATCH.iter().filter(|s| s.step as usize == {step})");
        let place = format!("{found}.map(|s| (s.offset, s.bytes)).collect::<Vec<_>>()");
        let _ = writeln!(code, "assert_eq!({place}, [({offset}, {bytes})]);");
    }
    for (index, bank) in list(plan, "banks").iter().enumerate() {
        let capacity = bank["capacity"].as_u64();
        let expected = format!("({}, {}, {capacity:?})", bank["name"], bank["bytes"]);
        let fields = format!("let b = BANKS[{index}]; (b.name, b.bytes, b.capacity)");
        let _ = writeln!(code, "assert_eq!({{ {fields} }}, {expected});");
    }
    code.push_str("}\n");
    code
}

#[test]
fn rust_source_says_what_the_plan_says() {
    let folder = folder("rust");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for (_, args) in cases(&folder) {
        let plan = planned(&args, &path(&folder, "plan.rs"));
        fs::write(folder.join("lib.rs"), "#![no_std]\npub mod plan;\n").expect("written");
        let library = ["--edition", "2021", "--crate-type", "lib", "-D", "warnings", "lib.rs"];
        compile(&rustc, &library, &folder);
        fs::write(folder.join("main.rs"), rust_program(&plan)).expect("written");
        compile(&rustc, &["--edition", "2021", "--cap-lints", "allow", "main.rs"], &folder);
        run_built(&folder, "main");
    }
}

#[test]
fn rust_source_names_values() {
    let folder = folder("rust-names");
    stdout(&["plan", &model("tiny.plim"), "-o", &path(&folder, "plan.rs")]);
    let code = "mod plan;\nuse plan::ValueId;\nfn main() {\n\
        assert_eq!((ValueId::A.place().offset, ValueId::Y.place().bytes), (448, 100));\n\
        assert_eq!(plan::SCHEDULE[plan::StepId::B as usize], \"b\");\n}\n";
    fs::write(folder.join("main.rs"), code).expect("written");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    compile(&rustc, &["--edition", "2021", "--cap-lints", "allow", "main.rs"], &folder);
    run_built(&folder, "main");
    // An offset that was edited.
    let source = fs::read_to_string(folder.join("plan.rs")).expect("written");
    fs::write(folder.join("plan.rs"), source.replace("offset: 448", "offset: 512"))
        .expect("written");
    let args = ["--edition", "2021", "--cap-lints", "allow", "main.rs"];
    let output = Command::new(&rustc).args(args).current_dir(&folder).output().expect("it runs");
    assert!(!output.status.success(), "beyond the end of its bank");
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    let chunks = bytes.chunks(4).map(|chunk| chunk.try_into().expect("four bytes"));
    chunks.map(i32::from_le_bytes).collect()
}

#[test]
fn an_offline_plan_has_an_offset_for_every_tensor() {
    // x, w and c are outside; a and y are behind b.
    let bytes = stdout(&["plan", &model("tiny.plim"), "--format", "tflm"]);
    assert_eq!(bytes.len(), 36);
    assert_eq!(bytes[..12], [1, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(bytes[12..28], [[255; 4], [255; 4], [255; 4], [0xc0, 1, 0, 0]].concat());
    assert_eq!(numbers(&bytes)[6..], [448, 0, 448]);
    // A view is where its bytes are.
    let bytes = stdout(&["plan", &model("views.plim"), "--format", "tflm"]);
    assert_eq!(numbers(&bytes), [1, 0, 4, -1, 64, 64, 0]);
}

#[test]
fn the_order_of_tensors_can_be_given() {
    let folder = folder("tflm");
    let (order, file) = (path(&folder, "order.txt"), path(&folder, "plan.tflm.json"));
    fs::write(&order, "y\r\n\r\n\r\na\r\nw\r\nb\r\n").expect("written");
    let args = ["plan", &model("tiny.plim"), "--tensor-order", &order];
    stdout(&[&args[..], &["-o", &file]].concat());
    let json: Value = serde_json::from_slice(&fs::read(&file).expect("written")).expect("JSON");
    let names = ["y", "", "", "a", "w", "b"];
    let expected = json!({
        "version": 1, "subgraph": 0, "offsets": [448, -1, -1, 448, -1, 0], "names": names,
    });
    assert_eq!(json, expected);
    // Both names of the binary form.
    for name in ["plan.tflm", "plan.tflm.bin"] {
        stdout(&[&args[..], &["-o", &path(&folder, name)]].concat());
        let numbers = numbers(&fs::read(folder.join(name)).expect("written"));
        assert_eq!(numbers, [1, 0, 6, 448, -1, -1, 448, -1, 0], "{name}");
    }
}

#[test]
fn what_tflite_micro_cannot_have_is_said_and_not_written() {
    let folder = folder("tflm-errors");
    let refused = |args: &[&str], said: &str| {
        let file = path(&folder, "plan.tflm");
        let output = plimsoll(&[&["plan"], args, &["-o", &file]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1);
        assert!(!Path::new(&file).exists());
    };
    let tiny = model("tiny.plim");
    let banks = ["--bank", "sram=500", "--bank", "dram"];
    refused(&[&[&tiny[..]], &banks[..]].concat(), "tiny.plim: the plan has 2 banks");
    let far = path(&folder, "far.plim");
    let text = "plim 1\ninput x: u8[8]\na: u8[2147483648] = matmul(x, x)\nb: u8[8] = matmul(a, x)\n\
                output b\n";
    fs::write(&far, text).expect("written");
    refused(&[&far], "\"b\" is at 2147483648, and offsets of TFLite Micro are below 2^31");
    let order = path(&folder, "order.txt");
    refused(&[&tiny, "--tensor-order", &order], "order.txt: cannot open");
    fs::write(&order, "a\nb\na\n").expect("written");
    refused(&[&tiny, "--tensor-order", &order], "order.txt: the order of tensors has \"a\" twice");
    fs::write(&order, "a\nnobody\n").expect("written");
    refused(&[&tiny, "--tensor-order", &order], "order.txt: no value is called \"nobody\"");
    for nothing in ["", "\n\n", "x\nw\n"] {
        fs::write(&order, nothing).expect("written");
        refused(
            &[&tiny, "--tensor-order", &order],
            "order.txt: no value that has a place is named in it",
        );
    }
    refused(&[&tiny, "--align", "3"], "multiples of 16 (try --align 16, or");
}

#[test]
fn what_an_order_of_tensors_leaves_out_is_noted() {
    let folder = folder("tflm-notes");
    let (order, file) = (path(&folder, "order.txt"), path(&folder, "plan.tflm"));
    fs::write(&order, "a\n").expect("written");
    let tiny = model("tiny.plim");
    let output = plimsoll(&["plan", &tiny, "--tensor-order", &order, "-o", &file]);
    assert!(output.status.success());
    assert!(
        text(&output.stderr).contains("order.txt: 2 of 3 values that have a place are not in it")
    );
}

/// The events of a trace.
fn events(args: &[&str]) -> Vec<Value> {
    let trace = stdout(&[&["plan"], args, &["--format", "trace"]].concat());
    let Ok(Value::Array(events)) = serde_json::from_slice(&trace) else { panic!("an array") };
    events
}

#[test]
fn a_trace_is_balanced_and_in_order() {
    let folder = folder("trace");
    let (sample, hostile) = (write_sample(&folder), hostile(&folder));
    let queues = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/graphs/two_queues.plim");
    let queues = queues.to_str().expect("a plain path");
    let banks = ["--bank", "sram=32KiB", "--bank", "dram"];
    let cases: [&[&str]; 4] =
        [&[&sample], &[&[&sample[..]], &banks[..]].concat(), &[&hostile], &[queues]];
    for args in cases {
        let events = events(args);
        let mut open = std::collections::BTreeMap::new();
        let mut before = 0;
        for event in events.iter().filter(|event| event["ph"] != "M") {
            assert!(number(&event["ts"]) >= before, "{event}");
            before = number(&event["ts"]);
            let key = || (event["cat"].to_string(), event["id"].to_string());
            match event["ph"].as_str().expect("a phase") {
                "b" => assert!(open.insert(key(), event["name"].clone()).is_none(), "{event}"),
                "e" => assert_eq!(open.remove(&key()).as_ref(), Some(&event["name"]), "{event}"),
                "X" | "C" => {}
                other => panic!("{other}"),
            }
        }
        assert!(open.is_empty(), "{open:?}");
        let plan = stdout(&[&["plan"], args, &["--format", "json"]].concat());
        let plan: Value = serde_json::from_slice(&plan).expect("JSON");
        let count = |ph: &str| events.iter().filter(|event| event["ph"] == ph).count();
        assert_eq!(count("X"), list(&plan, "schedule").len());
        let lives = list(&plan, "values").iter().filter(|value| !value["start"].is_null()).count();
        assert_eq!(count("b"), lives + list(&plan, "scratch").len());
    }
}

#[test]
fn the_highest_live_bytes_of_a_trace_are_the_peak() {
    // The sample's bound is its peak; both are reached.
    let events = events(&[]);
    let named = |name: &str| {
        let found = events.iter().filter(move |event| event["name"] == name && event["ph"] == "C");
        found.map(|event| number(&event["args"]["bytes"])).collect::<Vec<_>>()
    };
    assert_eq!(named("live bytes").into_iter().max(), Some(81920));
    assert_eq!(named("live bytes").last(), Some(&0));
    assert_eq!(named("arena bytes"), [81920, 81920]);
    assert_eq!(named("lower bound bytes"), [81920, 81920]);
    assert_eq!(named("bank bytes"), [81920, 81920]);
}

#[test]
fn nothing_is_written_without_a_plan() {
    let folder = folder("infeasible");
    let sample = write_sample(&folder);
    for name in ["trace.json", "plan.h", "plan.rs", "plan.tflm", "plan.tflm.json", "noted.onnx"] {
        let file = path(&folder, name);
        let output = plimsoll(&["plan", &sample, "--bank", "sram=10", "-o", &file]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(!Path::new(&file).exists(), "{name}");
    }
}

#[test]
fn the_longest_suffix_says_the_form() {
    let folder = folder("suffixes");
    let begins = [
        ("trace.json", "["),
        ("net.TRACE.json", "["),
        ("retrace.json", "{\n  \"format\""),
        ("net.tflm.json", "{\n  \"version\""),
        ("net.h", "/*"),
        ("net.rs", "//"),
    ];
    for (name, begins) in begins {
        stdout(&["plan", &model("tiny.plim"), "-o", &path(&folder, name)]);
        let written = fs::read_to_string(folder.join(name)).expect("text");
        assert!(written.starts_with(begins), "{name}");
    }
}

#[test]
fn an_onnx_model_is_written_with_notes() {
    let folder = folder("onnx");
    let sample = write_sample(&folder);
    let (once, twice) = (path(&folder, "once.onnx"), path(&folder, "twice.onnx"));
    stdout(&["plan", &sample, "-o", &once]);
    stdout(&["plan", &once, "-o", &twice]);
    let bytes = fs::read(&once).expect("written");
    assert_eq!(bytes, fs::read(&twice).expect("written"), "notes on notes");
    assert_eq!(bytes, stdout(&["plan", "--format", "onnx"]), "the built-in sample");
    assert!(bytes.len() > fs::read(&sample).expect("there").len());
    // The plan is that of the model without notes.
    let json = |model: &str| stdout(&["plan", model, "--format", "json"]);
    assert_eq!(json(&once), json(&sample));
    // Not over itself.
    let before = fs::read(&sample).expect("there");
    let output = plimsoll(&["plan", &sample, "-o", &sample]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).ends_with("is read by this command, and is not written over\n"));
    assert_eq!(before, fs::read(&sample).expect("there"));
}

#[test]
fn only_onnx_models_are_written_as_such() {
    let file = path(&folder("no-onnx"), "noted.onnx");
    let output = plimsoll(&["plan", &model("tiny.plim"), "-o", &file]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("tiny.plim: is not an ONNX model"));
    assert!(!Path::new(&file).exists());
}

#[test]
fn weights_that_will_not_be_found_are_noted() {
    use plimsoll_onnx::proto::StringStringEntryProto;
    use plimsoll_onnx::testing::{F32, encode, graph, model, node, stored, value};

    let folder = folder("external");
    let row = |name: &str| value(name, F32, &[4]);
    let mut net =
        graph(vec![row("x")], vec![row("y")], vec![node("add", "Add", &["x", "w"], &["y"])]);
    let mut weight = stored("w", F32, &[4], Vec::new());
    weight.raw_data = None;
    weight.data_location = Some(1);
    let (key, file) = (Some("location".to_owned()), Some("weights.bin".to_owned()));
    weight.external_data = vec![StringStringEntryProto { key, value: file }];
    net.initializer.push(weight);
    let input = path(&folder, "net.onnx");
    fs::write(&input, encode(&model(17, net))).expect("written");
    fs::create_dir(folder.join("elsewhere")).expect("a folder");
    let said = |output: &str| {
        let output = plimsoll(&["plan", &input, "-o", &path(&folder, output)]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr).to_owned()
    };
    assert_eq!(said("noted.onnx"), "");
    assert!(said("elsewhere/noted.onnx").contains("net.onnx: its weights are in other files"));
}

#[test]
fn strided_views_are_refused_where_a_format_cannot_express_them() {
    let folder = folder("rows");
    let model = path(&folder, "rows.plim");
    let lines = "plim 1\ninput x: f32[8, 8]\na: f32[8, 8] = matmul(x, x)\n\
        b: f32[8, 8] = matmul(x, x)\nc: f32[8, 16] = concat{axis=1}(a, b)\n\
        y: f32[8, 8] = matmul(c, x)\noutput y\n";
    fs::write(&model, lines).expect("a model");
    for name in ["plan.h", "plan.rs", "net.tflm", "net.tflm.json"] {
        let file = path(&folder, name);
        let output = plimsoll(&["plan", &model, "--kernels", "strided", "-o", &file]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let said = text(&output.stderr);
        let said = said.replace('"', "");
        assert!(said.contains("a is a strided view"), "{name}: {said}");
        assert!(!Path::new(&file).exists(), "{name}");
        stdout(&["plan", &model, "-o", &file]);
    }
}
