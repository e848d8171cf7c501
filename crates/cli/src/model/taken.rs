//! What is taken from a plan that is verified: what it says of the model and of the kernels, and not
//! what it has decided itself, which is what is verified.

use plimsoll::Recorded;
use serde_json::{Map, Value};

use super::ModelArgs;
use plimsoll_report::counted;

/// The options of a plan that are not its own decisions, and their defaults.
const BELIEVED: [(&str, Option<&str>); 9] = [
    ("dims", None),
    ("input_shapes", None),
    ("donate", None),
    ("state", None),
    ("sizes", None),
    ("width", Some("native")),
    ("kernels", Some("standard")),
    ("own_bytes", None),
    ("strided", None),
];

/// The options of a plan without those that have to be believed.
pub(crate) fn decisions(recorded: &Recorded) -> Recorded {
    let is_decision = |key: &str| BELIEVED.iter().all(|(believed, _)| *believed != key);
    let decided = recorded.iter().filter(|(key, _)| is_decision(key));
    decided.map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl ModelArgs {
    /// What a plan tells and these arguments do not say, as far as it is not the default.
    pub(crate) fn taken(&self, recorded: &Recorded) -> Map<String, Value> {
        let mut taken = Map::new();
        for (key, default) in BELIEVED {
            let Some(value) = recorded.get(key).filter(|_| !self.says(key)) else { continue };
            let value = self.rest(key, value);
            let is_nothing = match &value {
                Value::Object(object) => object.is_empty(),
                Value::Array(array) => array.is_empty(),
                Value::String(text) => Some(text.as_str()) == default,
                _ => false,
            };
            if !is_nothing {
                taken.insert(key.to_owned(), value);
            }
        }
        taken
    }

    /// Whether the arguments say all of something.
    fn says(&self, key: &str) -> bool {
        match key {
            "sizes" => self.sizes.is_some(),
            "width" => self.width.is_some(),
            "kernels" => self.kernels.is_some(),
            "own_bytes" => !self.own_bytes.is_empty(),
            "strided" => !self.strided.is_empty(),
            _ => self.donations.says(key),
        }
    }

    /// What is told of dims and shapes that the arguments do not bind.
    fn rest(&self, key: &str, recorded: &Value) -> Value {
        match recorded {
            Value::Object(object) if key == "dims" || key == "input_shapes" => {
                let open = object.iter().filter(|(name, _)| !self.dims.binds(key, name));
                open.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            recorded => recorded.clone(),
        }
    }
}

/// What was taken, in words: `sizes of 3 values, width four`.
pub(crate) fn in_words(taken: &Map<String, Value>) -> String {
    let words: Vec<String> = taken.iter().map(|(key, value)| words(key, value)).collect();
    words.join("; ")
}

fn words(key: &str, value: &Value) -> String {
    let count = |what: &str| counted(value.as_object().map_or(0, Map::len), what);
    match key {
        "sizes" => format!("sizes of {}", count("value")),
        "input_shapes" => format!("shapes of {}", count("input")),
        "dims" => {
            let dims = value.as_object().into_iter().flatten();
            let dims: Vec<String> =
                dims.map(|(name, dim)| format!("{name}={}", bare(dim))).collect();
            format!("dims {}", dims.join(", "))
        }
        key => format!("{} {}", key.replace('_', " "), list(value)),
    }
}

/// The elements of an array, or what is there.
fn list(value: &Value) -> String {
    match value {
        Value::Array(array) => array.iter().map(bare).collect::<Vec<_>>().join(", "),
        value => bare(value),
    }
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
