//! The plan as a page to walk through: one HTML file, time × address, that needs no other.
//!
//! `data` gathers the columns that the page reads; the page itself is the files beside this one:
//! `page.html` the frame, `page.css` its looks, and the scripts in the order of [`SCRIPT`]. They
//! are put together here and never change, so a policy in the page admits them by their hashes and
//! nothing else. Names are somebody else's text: they go into the page as JSON in which nothing can
//! be taken for markup, and the scripts hand them on as text only.

mod data;
mod packing;

pub use packing::Packing;
use plimsoll::verify::VerifiedPlan;
use plimsoll::{Labels, Program};

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// The scripts, each of which knows those before it.
const SCRIPT: &str = concat!(
    include_str!("model.js"),
    include_str!("colour.js"),
    include_str!("view.js"),
    include_str!("raster.js"),
    include_str!("draw.js"),
    include_str!("panel.js"),
    include_str!("main.js"),
);

/// Their hashes, SHA-256 in base64, as the policy of the page wants them; a test holds them to the files.
const SCRIPT_HASH: &str = "+ZUYaoD2zy7BUgzQFsO9LL4ifXTNv6DM7HXzseOafkI=";
const STYLE_HASH: &str = "he3IXtrsbw7Yyvll77VbroQhyEk42Fw02ln0TZ0pAQ8=";

/// The map of a plan, as a page of HTML. O(n log n).
#[must_use]
pub fn write_map(program: &dyn Program, plan: &VerifiedPlan, labels: &Labels) -> String {
    page(&data::gather(program, plan, labels))
}

/// The map of a bare packing, as a page of HTML. O(n log n).
#[must_use]
pub fn write_packing_map(packing: &Packing<'_>) -> String {
    page(&packing::gather(packing))
}

fn page(data: &data::Data<'_>) -> String {
    let data = serde_json::to_string(data).expect("names and numbers");
    let data = without_markup(&data);
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{SCRIPT_HASH}'; style-src 'sha256-{STYLE_HASH}'; \
         base-uri 'none'; form-action 'none'"
    );
    fill(FRAME, &[("policy", &policy), ("style", STYLE), ("data", &data), ("script", SCRIPT)])
}

/// The frame with `{{key}}` replaced for every key; what is put in is not looked at again.
fn fill(frame: &str, parts: &[(&str, &str)]) -> String {
    let room: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let mut page = String::with_capacity(frame.len() + room);
    let mut rest = frame;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (key, after) = behind.split_once("}}").expect("the frame closes what it opens");
        let part = parts.iter().find(|(name, _)| *name == key);
        page.push_str(before);
        page.push_str(part.expect("every key of the frame is known").1);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// JSON in which no reader of HTML or of scripts finds anything of its own: what they look for
/// stands only in strings, where it can be escaped.
fn without_markup(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
