//! `plimsoll run` with files: what is written, what is expected, what is put in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).arg("run").args(arguments).output().unwrap()
}

fn told(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn what_is_written_is_expected_and_other_inputs_give_something_else() {
    let folder = folder("expected");
    assert_eq!(told(&plimsoll(&folder, &["-q", "-o", "out.npz"])), (Some(0), String::new()));
    let (status, text) = told(&plimsoll(&folder, &["-q", "--expect", "out.npz"]));
    assert_eq!(status, Some(0), "{text}");
    assert!(text.starts_with("  as expected: `classes`, worst at 0: "), "{text}");
    assert!(text.ends_with(", 0.00e0 of the largest\n"), "{text}");
    let (status, text) = told(&plimsoll(&folder, &["-q", "--expect", "out.npz", "--seed", "1"]));
    assert_eq!(status, Some(1), "{text}");
    assert!(text.starts_with("  not as expected: `classes`, worst at "), "{text}");
}

#[test]
fn an_input_is_an_array_or_raw_elements_of_the_right_size() {
    let folder = folder("inputs");
    let elements: Vec<u8> = (0..3 * 32 * 32).flat_map(|_| 0.5f32.to_le_bytes()).collect();
    fs::write(folder.join("image.raw"), &elements).unwrap();
    let mut array = b"\x93NUMPY\x01\x00\x4e\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }";
    array.extend(format!("{header:77}\n").bytes());
    array.extend(&elements);
    fs::write(folder.join("image.npy"), array).unwrap();
    let raw = ["-q", "--input", "image=image.raw", "-o", "out.npz"];
    assert_eq!(told(&plimsoll(&folder, &raw)), (Some(0), String::new()));
    let (status, text) =
        told(&plimsoll(&folder, &["-q", "--input", "image=image.npy", "--expect", "out.npz"]));
    assert_eq!(status, Some(0), "{text}");
    fs::write(folder.join("image.raw"), &elements[4..]).unwrap();
    let short =
        "plimsoll: the built-in sample: input `image`: 12284 bytes, where 12288 are needed\n";
    assert_eq!(told(&plimsoll(&folder, &raw)), (Some(2), short.to_owned()));
    let same = ["--input", "image=out.npz", "-o", "out.npz"];
    let (status, text) = told(&plimsoll(&folder, &same));
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("is read by this command, and is not written over"), "{text}");
}
