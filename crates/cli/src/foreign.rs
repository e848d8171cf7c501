//! Files of other programs, known by their first bytes.
//!
//! People try the file they have: a checkpoint, a page that a download turned out to be, a pointer
//! that Git LFS left behind. A parser would say what byte it did not expect; this table says what the
//! file is and what to do. The name of a file does not matter. Costs a look at the first
//! [`LOOKED_AT`] bytes.

/// So many bytes of a file are looked at.
pub(crate) const LOOKED_AT: usize = 8192;

/// A format that is not ours.
pub(crate) struct Foreign {
    /// What it is, with its article.
    pub(crate) what: &'static str,
    /// What to do about it, as a command or a hint.
    pub(crate) advice: &'static str,
    signs: &'static [Sign],
}

/// What the first bytes of a format have to show.
enum Sign {
    /// These bytes, here.
    At(usize, &'static [u8]),
    /// One of these bytes, here.
    OneOf(usize, &'static [u8]),
    /// This text somewhere.
    Holds(&'static str),
    /// This text first, in any case, behind blanks.
    Text(&'static str),
}

const ZIP: Sign = Sign::At(0, b"PK\x03\x04");
const EXPORT: &str = "export the model with torch.onnx.export and give that file";

/// The formats; where two fit, the first counts.
const FORMATS: [Foreign; 23] = [
    Foreign {
        what: "a PyTorch checkpoint",
        advice: EXPORT,
        signs: &[ZIP, Sign::Holds("data.pkl")],
    },
    Foreign {
        what: "a PyTorch checkpoint in the old form",
        advice: EXPORT,
        signs: &[Sign::At(0, b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")],
    },
    Foreign {
        what: "a Python pickle",
        advice: "load it in Python and export the model to ONNX",
        signs: &[Sign::At(0, b"\x80"), Sign::OneOf(1, &[2, 3, 4, 5])],
    },
    Foreign {
        what: "a Keras model",
        advice: "convert it with model.export(\"net.onnx\", format=\"onnx\") in Keras 3",
        signs: &[ZIP, Sign::Holds("model.weights.h5")],
    },
    Foreign {
        what: "a Keras model",
        advice: "convert it with model.export(\"net.onnx\", format=\"onnx\") in Keras 3",
        signs: &[ZIP, Sign::Holds("metadata.json"), Sign::Holds("keras_version")],
    },
    Foreign {
        what: "an HDF5 file, as Keras writes it",
        advice: "load it in Keras and convert it: model.export(\"net.onnx\", format=\"onnx\")",
        signs: &[Sign::At(0, b"\x89HDF\r\n\x1a\n")],
    },
    Foreign {
        what: "an archive of NumPy arrays (.npz)",
        advice: "arrays have no graph; give the model that they are for, as ONNX",
        signs: &[ZIP, Sign::Holds(".npy")],
    },
    Foreign {
        what: "an Excel workbook",
        advice: "save the sheet as CSV and give that file",
        signs: &[ZIP, Sign::Holds("[Content_Types].xml")],
    },
    Foreign { what: "a zip archive", advice: "unpack it first", signs: &[ZIP] },
    Foreign {
        what: "a NumPy array (.npy)",
        advice: "an array has no graph; give the model that it is for, as ONNX",
        signs: &[Sign::At(0, b"\x93NUMPY")],
    },
    Foreign {
        what: "a GGUF file of llama.cpp, which has weights and no graph",
        advice: "export the original model to ONNX, with optimum-cli export onnx",
        signs: &[Sign::At(0, b"GGUF")],
    },
    Foreign {
        what: "a safetensors file, which has weights and no graph",
        advice: "export the model to ONNX, with optimum-cli export onnx",
        // Eight bytes say how long the object behind them is: less than 4 GiB.
        signs: &[Sign::At(4, b"\0\0\0\0{")],
    },
    Foreign {
        what: "a model in onnxruntime's own format (.ort)",
        advice: "give the .onnx file that it was converted from",
        signs: &[Sign::At(4, b"ORTM")],
    },
    Foreign {
        what: "a Git LFS pointer, not the file itself",
        advice: "run git lfs pull",
        signs: &[Sign::At(0, b"version https://git-lfs.github.com/spec/")],
    },
    Foreign {
        what: "a map that plimsoll wrote, for a browser",
        advice: "give the model itself, or the plan that `plimsoll plan -o plan.json` writes",
        signs: &[Sign::Text("<!doctype html"), Sign::Holds("<title>Plimsoll map</title>")],
    },
    Foreign {
        what: "a web page (HTML)",
        advice: "the download went wrong: fetch the raw file instead of its page",
        signs: &[Sign::Text("<!doctype html")],
    },
    Foreign {
        what: "a web page (HTML)",
        advice: "the download went wrong: fetch the raw file instead of its page",
        signs: &[Sign::Text("<html")],
    },
    Foreign {
        what: "a picture (SVG)",
        advice: "give the model itself, or the plan that `plimsoll plan -o plan.json` writes",
        signs: &[Sign::Text("<svg")],
    },
    Foreign {
        what: "an XML file",
        advice: "OpenVINO's IR is not read: give the ONNX file that it was converted from",
        signs: &[Sign::Text("<?xml")],
    },
    Foreign {
        what: "compressed with gzip",
        advice: "unpack it with gunzip",
        signs: &[Sign::At(0, b"\x1f\x8b")],
    },
    Foreign {
        what: "compressed with zstd",
        advice: "unpack it with unzstd",
        signs: &[Sign::At(0, b"\x28\xb5\x2f\xfd")],
    },
    Foreign {
        what: "compressed with xz",
        advice: "unpack it with unxz",
        signs: &[Sign::At(0, b"\xfd7zXZ\0")],
    },
    Foreign {
        what: "text in UTF-16",
        advice: "save it as UTF-8",
        signs: &[Sign::At(0, b"\xff\xfe")],
    },
];

/// The format whose files begin like this, if it is not one of ours.
pub(crate) fn recognise(start: &[u8]) -> Option<&'static Foreign> {
    FORMATS.iter().find(|format| format.signs.iter().all(|sign| sign.is_in(start)))
}

impl Sign {
    fn is_in(&self, start: &[u8]) -> bool {
        match self {
            Sign::At(at, bytes) => start.get(*at..).is_some_and(|rest| rest.starts_with(bytes)),
            Sign::OneOf(at, bytes) => start.get(*at).is_some_and(|byte| bytes.contains(byte)),
            Sign::Holds(text) => holds(start, text),
            Sign::Text(text) => {
                let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
                let first = start.trim_ascii_start().get(..text.len());
                first.is_some_and(|first| first.eq_ignore_ascii_case(text.as_bytes()))
            }
        }
    }
}

/// Whether the text is somewhere in the bytes.
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
