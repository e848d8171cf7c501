//! What is wrong with a JSON file, in words for people who have never seen Rust.
//!
//! The reader below names types of its own ("a sequence", "u64", "struct Document"). Here these become
//! words of JSON, and the place comes first.

use std::fmt;

use serde::Deserialize;

/// What is wrong with a JSON text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFault {
    /// The line, from 1; 0 if it is not known.
    pub line: usize,
    /// The column in it.
    pub column: usize,
    /// What was expected, and what is there.
    pub message: String,
}

/// Reads an object, and nothing else.
pub fn object_from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsonFault> {
    let blanks = text.len() - text.trim_ascii_start().len();
    match text[blanks..].chars().next() {
        // A list could pass for an object without names.
        Some('[') => Err(JsonFault::at(text, blanks, "expected an object, found a list")),
        _ => Ok(serde_json::from_str(text)?),
    }
}

impl JsonFault {
    fn at(text: &str, byte: usize, message: &str) -> Self {
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let column = byte - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        JsonFault { line, column, message: message.to_owned() }
    }
}

impl From<serde_json::Error> for JsonFault {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        // The message ends with the place, which comes first here.
        let (message, place) = (error.to_string(), format!(" at line {line} column {column}"));
        let message = in_words(message.strip_suffix(&place).unwrap_or(&message));
        JsonFault { line, column, message }
    }
}

impl fmt::Display for JsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonFault { line: 0, message, .. } => f.write_str(message),
            JsonFault { line, column, message } => {
                write!(f, "line {line}, column {column}: {message}")
            }
        }
    }
}

impl std::error::Error for JsonFault {}

/// What the reader says of JSON itself, and what is said here.
const SYNTAX: [(&str, &str); 9] = [
    ("EOF while parsing a list", "the text ends inside of a list"),
    ("EOF while parsing an object", "the text ends inside of an object"),
    ("EOF while parsing a string", "the text ends inside of a string"),
    ("EOF while parsing a value", "the text ends where a value is expected"),
    ("expected value", "this is not JSON: expected a value"),
    ("expected ident", "this is not JSON: expected a value"),
    ("trailing characters", "there is more behind the end of the value"),
    ("key must be a string", "expected a key in quotes"),
    ("number out of range", "the number is too large"),
];

/// The message without words of Rust.
fn in_words(message: &str) -> String {
    if let Some((_, words)) = SYNTAX.iter().find(|(theirs, _)| *theirs == message) {
        return (*words).to_owned();
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {key} is missing");
    }
    if let Some(key) = message.strip_prefix("duplicate field ") {
        return format!("the key {key} is there twice");
    }
    let invalid = ["invalid type: ", "invalid value: "];
    let rest = invalid.iter().find_map(|prefix| message.strip_prefix(prefix));
    match rest.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, wanted)) => format!("expected {}, found {}", kind(wanted), thing(found)),
        None => message.strip_prefix("unknown variant ").map_or(message.to_owned(), |rest| {
            let (found, wanted) = rest.split_once(", expected ").unwrap_or((rest, "another word"));
            format!("expected {wanted}, found {found}")
        }),
    }
}

/// What was expected.
fn kind(wanted: &str) -> &str {
    match wanted {
        "u64" | "u32" | "usize" => "a whole number that is not negative",
        "i64" | "i32" => "a whole number",
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted if wanted.starts_with("enum ") || wanted == "variant identifier" => "a word",
        wanted if wanted.starts_with("a tuple of size 2") => "a list of two numbers",
        wanted => wanted,
    }
}

/// What is there, of which the reader shows the value behind its type.
fn thing(found: &str) -> String {
    let (r#type, value) = found.split_once(' ').unwrap_or((found, ""));
    match (r#type, value) {
        ("integer" | "floating", _) => {
            let number = value.strip_prefix("point ").unwrap_or(value);
            format!("the number {}", number.trim_matches('`'))
        }
        ("string", text) => format!("the text {text}"),
        ("boolean", value) => value.trim_matches('`').to_owned(),
        ("null", _) => "null".to_owned(),
        ("map", _) => "an object".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Row {
        name: String,
        bytes: u64,
        kind: Option<Word>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code, reason = "only read")]
    enum Word {
        Input,
        Output,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct File {
        rows: Vec<Row>,
        offset: Option<i64>,
        is: Option<bool>,
        window: Option<(u64, u64)>,
    }

    /// Every kind of fault that a file of ours can have is told in words of JSON, with the place.
    #[test]
    fn faults_are_told_in_words_of_json() {
        let cases = [
            ("", "line 1, column 0: the text ends where a value is expected"),
            ("x", "line 1, column 1: this is not JSON: expected a value"),
            ("[1]", "line 1, column 1: expected an object, found a list"),
            ("\n [", "line 2, column 2: expected an object, found a list"),
            ("5", "line 1, column 1: expected an object, found the number 5"),
            ("{}", "line 1, column 2: the key `rows` is missing"),
            (r#"{"rows": 5}"#, "line 1, column 10: expected a list, found the number 5"),
            (r#"{"rows": ["#, "line 1, column 10: the text ends inside of a list"),
            (r#"{"rows": []"#, "line 1, column 11: the text ends inside of an object"),
            (r#"{"rows": [], "rows": []}"#, "line 1, column 19: the key `rows` is there twice"),
            (r#"{"rows": []} 1"#, "line 1, column 14: there is more behind the end of the value"),
            ("{rows: []}", "line 1, column 2: expected a key in quotes"),
            (
                "{\"rows\": [\n{\"name\": 3}]}",
                "line 2, column 10: expected a string, found the number 3",
            ),
            (
                r#"{"rows": [{"name": "a", "bytes": -1}]}"#,
                "line 1, column 35: expected a whole number that is not negative, found the number -1",
            ),
            (
                r#"{"rows": [{"name": "a", "bytes": "1"}]}"#,
                "line 1, column 36: expected a whole number that is not negative, found the text \"1\"",
            ),
            (
                r#"{"rows": [{"name": "a", "bytes": 1, "kind": "weight"}]}"#,
                "line 1, column 52: expected `input` or `output`, found `weight`",
            ),
            (
                r#"{"rows": [], "offset": 1.5}"#,
                "line 1, column 26: expected a whole number, found the number 1.5",
            ),
            (
                r#"{"rows": [], "is": 1}"#,
                "line 1, column 20: expected true or false, found the number 1",
            ),
            (
                r#"{"rows": [], "window": {}}"#,
                "line 1, column 23: expected a list of two numbers, found an object",
            ),
            (r#"{"rows": null}"#, "line 1, column 13: expected a list, found null"),
            (r#"{"rows": true}"#, "line 1, column 13: expected a list, found true"),
        ];
        for (text, words) in cases {
            let fault = object_from_json::<File>(text).expect_err(text);
            assert_eq!(fault.to_string(), words, "{text}");
        }
    }
}
