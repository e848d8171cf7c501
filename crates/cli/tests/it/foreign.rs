//! Files that a command does not take: of other programs, and of ours for another command. Each is
//! told in one line what it is and what to do, with exit status 2, wherever it is given.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

/// What is said of bad input: one line, without what stands before the name of the file.
fn refused(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let run = command.current_dir(folder).args(args).stdin(Stdio::null()).output().expect("runs");
    let said = String::from_utf8(run.stderr).expect("text");
    assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
    assert!(run.stdout.is_empty(), "{args:?}");
    let line = said.strip_prefix("plimsoll: ").and_then(|line| line.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("{args:?}: {said}"));
    assert!(!line.contains('\n'), "{args:?}: {said}");
    line.to_owned()
}

/// A zip file that begins with an entry of this name.
fn zip(entry: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([0; 4]);
    file.extend((data.len() as u32).to_le_bytes());
    file.extend((data.len() as u32).to_le_bytes());
    file.extend((entry.len() as u16).to_le_bytes());
    file.extend([0, 0]);
    file.extend(entry.as_bytes());
    file.extend(data);
    file
}

const TORCH: &str = "export the model with torch.onnx.export and give that file";
const KERAS: &str = "convert it with model.export(\"net.onnx\", format=\"onnx\") in Keras 3";
const PAGE: &str = "the download went wrong: fetch the raw file instead of its page";
const OURS: &str = "give the model itself, or the plan that `plimsoll plan -o plan.json` writes";

/// The first bytes of a file of each format, and what is said of it.
fn formats() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let mut pickle = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.".to_vec();
    pickle.extend(b"\x80\x02M\xe9\x03.");
    let safetensors = b"\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[2]".to_vec();
    let utf16: Vec<u8> = "\u{feff}id,lower".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let keras = zip("metadata.json", b"{\"keras_version\": \"3.8.0\"}");
    vec![
        ("net.pt", zip("net/data.pkl", b"\x80\x02"), "a PyTorch checkpoint", TORCH),
        ("old.pth", pickle, "a PyTorch checkpoint in the old form", TORCH),
        (
            "net.pkl",
            b"\x80\x04\x95\x10\0\0\0\0\0\0\0".to_vec(),
            "a Python pickle",
            "load it in Python and export the model to ONNX",
        ),
        ("net.keras", zip("model.weights.h5", b"\x89HDF"), "a Keras model", KERAS),
        ("new.keras", keras, "a Keras model", KERAS),
        (
            "net.h5",
            b"\x89HDF\r\n\x1a\n\0\0".to_vec(),
            "an HDF5 file, as Keras writes it",
            "load it in Keras and convert it: model.export(\"net.onnx\", format=\"onnx\")",
        ),
        (
            "w.npz",
            zip("arr_0.npy", b"\x93NUMPY"),
            "an archive of NumPy arrays (.npz)",
            "arrays have no graph; give the model that they are for, as ONNX",
        ),
        (
            "book.xlsx",
            zip("[Content_Types].xml", b"<?xml"),
            "an Excel workbook",
            "save the sheet as CSV and give that file",
        ),
        ("net.zip", zip("net.onnx", b"\x08\x08"), "a zip archive", "unpack it first"),
        (
            "w.npy",
            b"\x93NUMPY\x01\0".to_vec(),
            "a NumPy array (.npy)",
            "an array has no graph; give the model that it is for, as ONNX",
        ),
        (
            "net.gguf",
            b"GGUF\x03\0\0\0".to_vec(),
            "a GGUF file of llama.cpp, which has weights and no graph",
            "export the original model to ONNX, with optimum-cli export onnx",
        ),
        (
            "net.safetensors",
            safetensors,
            "a safetensors file, which has weights and no graph",
            "export the model to ONNX, with optimum-cli export onnx",
        ),
        (
            "net.ort",
            b"\x10\0\0\0ORTM\0\0".to_vec(),
            "a model in onnxruntime's own format (.ort)",
            "give the .onnx file that it was converted from",
        ),
        (
            "pointer.onnx",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_vec(),
            "a Git LFS pointer, not the file itself",
            "run git lfs pull",
        ),
        (
            "map.html",
            b"<!doctype html>\n<html><head><title>Plimsoll map</title>".to_vec(),
            "a map that plimsoll wrote, for a browser",
            OURS,
        ),
        ("page.onnx", b"\n\n<!DOCTYPE html>\n<html lang=en>".to_vec(), "a web page (HTML)", PAGE),
        ("old.html", b"\xef\xbb\xbf<HTML>\n<head>".to_vec(), "a web page (HTML)", PAGE),
        ("map.svg", b"<svg xmlns=\"".to_vec(), "a picture (SVG)", OURS),
        (
            "net.xml",
            b"<?xml version=\"1.0\"?>\n<net name=\"a\" version=\"11\">".to_vec(),
            "an XML file",
            "OpenVINO's IR is not read: give the ONNX file that it was converted from",
        ),
        ("net.gz", b"\x1f\x8b\x08\0".to_vec(), "compressed with gzip", "unpack it with gunzip"),
        (
            "net.zst",
            b"\x28\xb5\x2f\xfd\x04".to_vec(),
            "compressed with zstd",
            "unpack it with unzstd",
        ),
        ("net.xz", b"\xfd7zXZ\0\0".to_vec(), "compressed with xz", "unpack it with unxz"),
        ("a.csv", utf16, "text in UTF-16", "save it as UTF-8"),
    ]
}

#[test]
fn files_of_other_programs_are_known_by_their_first_bytes() {
    let folder = folder("formats");
    fs::write(folder.join("net.plim"), "plim 1\ninput x: u8[4]\ny: u8[4] = relu(x)\noutput y\n")
        .expect("written");
    fs::write(folder.join("problem.csv"), "id,lower,upper,size\na,0,1,4\n").expect("written");
    for (name, bytes, what, advice) in formats() {
        fs::write(folder.join(name), bytes).expect("written");
        let expected = format!("{name}: is {what}: {advice}");
        let commands: [&[&str]; 6] = [
            &["plan", name],
            &["explain", name],
            &["verify", "net.plim", name],
            &["diff", name, name],
            &["solve", name],
            &["check", "problem.csv", name],
        ];
        for args in commands {
            assert_eq!(refused(&folder, args), expected, "{args:?}");
        }
    }
}

/// The name of the file does not matter.
#[test]
fn a_foreign_file_that_is_called_onnx_is_known_too() {
    let folder = folder("named-onnx");
    for (_, bytes, what, advice) in formats() {
        fs::write(folder.join("net.onnx"), bytes).expect("written");
        let expected = format!("net.onnx: is {what}: {advice}");
        assert_eq!(refused(&folder, &["plan", "net.onnx"]), expected);
    }
}

#[test]
fn a_file_for_another_command_is_told_which() {
    let folder = folder("kinds");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    fs::copy(models.join("models/sample.onnx"), folder.join("net.onnx")).expect("copied");
    fs::copy(models.join("graphs/small_train.json"), folder.join("train.json")).expect("copied");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    write("net.plim", "plim 1\ninput x: u8[4]\ny: u8[4] = relu(x)\noutput y\n");
    write("problem.csv", "id,lower,upper,size\na,0,1,4\n");
    let make = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        assert!(command.current_dir(&folder).args(args).status().expect("runs").success());
    };
    make(&["plan", "net.onnx", "-o", "plan.json"]);
    make(&["plan", "net.onnx", "-o", "plan.tsv"]);
    make(&["solve", "problem.csv", "-o", "solution.json"]);
    make(&["explain", "net.onnx", "--no-advice", "-o", "explained.json"]);
    write("offsets.csv", "id,offset\na,0\n");

    let plans = "`plimsoll plan MODEL` plans it, `plimsoll verify MODEL PLAN` checks a plan of it";
    let checks = "`plimsoll verify MODEL PLAN` checks it, `plimsoll diff OLD NEW` compares two";
    let packs = "`plimsoll solve PROBLEM` packs it";
    let offsets = "`plimsoll check PROBLEM SOLUTION` checks it";
    let nobody = "no command reads it; give the model, or a plan in JSON";
    let (model, problem) = ("a model or graph", "a packing problem (CSV)");
    let (plan, solution) = ("a plan (JSON)", "a packing (CSV or JSON)");
    let cases: [(&[&str], &str, &str, &str, &str); 13] = [
        (&["plan", "plan.json"], "plan.json", "a plan (JSON)", model, checks),
        (&["plan", "problem.csv"], "problem.csv", problem, model, packs),
        (&["plan", "offsets.csv"], "offsets.csv", "a table of offsets (CSV)", model, offsets),
        (&["plan", "plan.tsv"], "plan.tsv", "a table of a plan (TSV)", model, nobody),
        (&["plan", "solution.json"], "solution.json", "a packing (JSON)", model, offsets),
        (&["solve", "net.onnx"], "net.onnx", "an ONNX model", problem, plans),
        (&["solve", "net.plim"], "net.plim", "a graph (.plim)", problem, plans),
        (&["solve", "train.json"], "train.json", "a training graph (JSON)", problem, plans),
        (&["solve", "plan.json"], "plan.json", "a plan (JSON)", problem, checks),
        (&["verify", "plan.json", "net.onnx"], "net.onnx", "an ONNX model", plan, plans),
        (
            &["diff", "solution.json", "plan.json"],
            "solution.json",
            "a packing (JSON)",
            plan,
            offsets,
        ),
        (
            &["verify", "net.onnx", "explained.json"],
            "explained.json",
            "what `plimsoll explain` found",
            plan,
            nobody,
        ),
        (&["check", "problem.csv", "plan.json"], "plan.json", "a plan (JSON)", solution, checks),
    ];
    for (args, name, what, wanted, takes) in cases {
        assert_eq!(refused(&folder, args), format!("{name}: is {what}, not {wanted}: {takes}"));
    }
}

/// The names of the values tell, whether the plan also fails elsewhere or not.
#[test]
fn a_plan_of_another_model_is_said_to_be_one() {
    let folder = folder("other-model");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    fs::copy(models.join("models/sample.onnx"), folder.join("net.onnx")).expect("copied");
    fs::copy(models.join("graphs/diamond.plim"), folder.join("net.plim")).expect("copied");
    for (model, plan) in [("net.onnx", "onnx.json"), ("net.plim", "plim.json")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let made = command.current_dir(&folder).args(["plan", model, "-o", plan]).status();
        assert!(made.expect("runs").success());
    }
    // The plan of the sample joins a concat that the other model does not have.
    assert_eq!(
        refused(&folder, &["verify", "net.plim", "onnx.json"]),
        "onnx.json: is a plan of another model: 30 of its 30 values are not in net.plim, like \
         \"image\""
    );
    let said = refused(&folder, &["verify", "net.onnx", "plim.json"]);
    assert!(said.starts_with("plim.json: is a plan of another model: "), "{said}");
}
