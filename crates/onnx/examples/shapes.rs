//! What is known of every tensor of a model, as one JSON object by name: its type (`dtype`, and
//! `numpy` for what numpy calls it), and its `dims`: numbers, `"<=n"`, `"?"`, or `null` if not even
//! their number is known.
//!
//! `cargo run --release -p plimsoll-onnx --example shapes -- MODEL.onnx [--dim NAME=N]
//! [--input-shape NAME=N,N]`

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use plimsoll_graph::{Dim, Dtype, Fact};
use plimsoll_model::{Bindings, facts};
use serde_json::{Map, Value, json};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("no model given")?;
    let mut bindings = Bindings::default();
    while let Some(option) = arguments.next() {
        let said = arguments.next().ok_or("an option without a value")?;
        let (name, value) = said.rsplit_once('=').ok_or("expected NAME=VALUE")?;
        let name = name.to_owned();
        match option.as_str() {
            "--dim" => {
                bindings.symbols.insert(name, value.parse()?);
            }
            "--input-shape" => {
                let dims: Result<_, _> = value.split(',').map(str::parse).collect();
                bindings.inputs.insert(name, dims?);
            }
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    let model = plimsoll_onnx::load(Path::new(&path))?;
    let facts = facts(&model, &bindings)?;
    let all = model.tensors.iter().zip(&facts);
    let all: Map<String, Value> =
        all.map(|(tensor, fact)| (tensor.name.clone(), described(fact))).collect();
    println!("{}", Value::Object(all));
    Ok(())
}

fn described(fact: &Fact) -> Value {
    let dim = |dim: &Dim| match dim {
        Dim::Known(dim) => json!(dim),
        Dim::AtMost(dim) => json!(format!("<={dim}")),
        // Numbers that follow from ranges are only where there are ranges.
        Dim::Follows(_) | Dim::Unknown => json!("?"),
    };
    json!({
        "dtype": fact.dtype.map(|dtype| dtype.to_string()),
        "numpy": fact.dtype.and_then(numpy),
        "dims": fact.dims().map(|dims| dims.iter().map(dim).collect::<Vec<_>>()),
    })
}

/// What numpy calls a type, if it has it.
fn numpy(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F32 => "float32",
        Dtype::F64 => "float64",
        Dtype::F16 => "float16",
        Dtype::Bool => "bool",
        Dtype::U8 => "uint8",
        Dtype::I8 => "int8",
        Dtype::U16 => "uint16",
        Dtype::I16 => "int16",
        Dtype::U32 => "uint32",
        Dtype::I32 => "int32",
        Dtype::U64 => "uint64",
        Dtype::I64 => "int64",
        Dtype::C64 => "complex64",
        Dtype::C128 => "complex128",
        _ => return None,
    })
}
