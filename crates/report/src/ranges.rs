//! How a plan was proven for all sizes of ranges of dims.

use plimsoll_model::range::{GivenUp, Proof, Why};
use serde_json::{Value, json};

use crate::size;
use crate::words::one_line;

/// The most values that are named in one line.
const NAMED: usize = 3;

/// The proof, for scripts.
#[must_use]
pub fn ranges_json(proof: &Proof) -> Value {
    let given_up = |given_up: &GivenUp| match &given_up.why {
        Why::At(size) => json!({"value": given_up.value, "why": "impossible", "at": size}),
        Why::Undecided => json!({"value": given_up.value, "why": "undecided"}),
        Why::Moves => json!({"value": given_up.value, "why": "moves"}),
    };
    json!({
        "proof": proof.method(),
        "sizes": proof.sizes,
        "parts": proof.parts,
        "sizes_checked": proof.sizes_checked,
        "sizes_refused": proof.sizes_refused,
        "given_up": proof.given_up.iter().map(given_up).collect::<Vec<_>>(),
        "larger": proof.larger,
    })
}

/// The proof in a few lines for people, each with a heading.
#[must_use]
pub fn ranges_in_words(proof: &Proof) -> Vec<(&'static str, String)> {
    let parts = match proof.parts {
        1 => "as a whole, by expressions of the dims".to_owned(),
        parts => format!("in {parts} parts, by expressions of the dims"),
    };
    let how = match (proof.parts, proof.sizes_checked) {
        (_, 0) => parts,
        (0, _) => "each was looked at".to_owned(),
        (_, 1) => format!("{parts}, and 1 looked at by itself"),
        (_, checked) => format!("{parts}, and {checked} looked at one by one"),
    };
    let mut lines = vec![("ranges", format!("proven for all {} sizes: {how}", proof.sizes))];
    if proof.sizes_refused > 0 {
        let refused = format!("the model itself cannot run at {} of them", proof.sizes_refused);
        lines.push(("", refused));
    }
    let named = |names: Vec<String>| match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMED].join(", ")),
    };
    if !proof.given_up.is_empty() {
        let names = proof.given_up.iter().map(|given_up| one_line(&given_up.to_string()));
        lines.push(("not shared", named(names.collect())));
    }
    if !proof.larger.is_empty() {
        let larger = |(value, bytes): (&String, &u64)| {
            format!("`{}` up to {} inside", one_line(value), size::long(*bytes))
        };
        lines.push(("larger", named(proof.larger.iter().map(larger).collect())));
    }
    lines
}
