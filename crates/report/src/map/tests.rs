//! The page without a browser: what is in it, and what cannot be.

use std::borrow::Cow;

use plimsoll::{Access, Options, StepId, ValueId, ValueInfo, plan};
use plimsoll_graph::{LoweringOptions, ScheduledGraph, text};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;

/// a takes x, r takes over a, v is a view of r's second half, y reads v; 100 bytes each but v.
const GRAPH: &str = "plim 1
input x: u8[100]
a: u8[100] = matmul(x, x)
r: u8[100] = relu(a)
v: u8[50] = narrow{axis=0, start=50, len=50}(r)
y: u8[100] = matmul(v, v)
output y
";

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, behind) = page.split_once("id=\"plan\">").expect("data in the page");
    let (data, _) = behind.split_once("</script>").expect("its end");
    serde_json::from_str(data).expect("JSON")
}

/// Two steps that each write an output, with names that mean something in a page.
struct Bare;

impl Program for Bare {
    fn steps(&self) -> usize {
        2
    }

    fn values(&self) -> usize {
        2
    }

    fn value(&self, _value: ValueId) -> ValueInfo {
        ValueInfo { output: true, ..ValueInfo::new(64) }
    }

    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        let write = Access::write(ValueId(step.0));
        Cow::Owned(vec![write])
    }

    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        Cow::Owned(format!("</script><!--&{value}\u{2028}"))
    }
}

#[test]
fn a_graph_tells_ops_types_views_and_what_is_in_place() {
    let graph = text::parse(GRAPH).expect("a graph");
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("a program");
    let options = Options::default().with_align(1);
    let plan = plan(&program, &options).expect("a plan");
    let data = data(&write_map(&program, &plan, &program.labels("net")));
    let column = |name: &str| data["values"][name].clone();
    assert_eq!(data["title"], "net");
    assert_eq!(data["steps"]["name"], json!(["a", "r", "v", "y"]));
    assert_eq!(column("name"), json!(["x", "a", "r", "v", "y"]));
    // x is the caller's; a and r are one buffer of 100 bytes, v the upper half of it, y beside it.
    assert_eq!(column("bank"), json!([-1, 0, 0, 0, 0]));
    assert_eq!(column("bytes"), json!([100, 100, 100, 50, 100]));
    assert_eq!(column("root"), json!([-1, -1, -1, 2, -1]));
    assert_eq!(column("in_place_of"), json!([-1, -1, 1, -1, -1]));
    assert_eq!(column("made_by"), json!([-1, 0, 1, 2, 3]));
    let (a, v) = (&column("offset")[1], &column("offset")[3]);
    assert_eq!(v.as_u64(), a.as_u64().map(|a| a + 50));
    let words = |table: &str, key: &str| -> Vec<String> {
        let rows = column(key);
        let rows = rows.as_array().expect("a column").iter();
        let word = |row: &Value| data[table][row.as_u64()? as usize].as_str().map(str::to_owned);
        rows.map(|row| word(row).expect("a row of the table")).collect()
    };
    assert_eq!(words("ops", "op"), ["", "matmul", "relu", "narrow", "matmul"]);
    assert_eq!(words("types", "type"), ["u8[100]", "u8[100]", "u8[100]", "u8[50]", "u8[100]"]);
    let classes = ["input", "temporary", "temporary", "temporary", "output"];
    assert_eq!(words("classes", "class"), classes);
    assert_eq!(data["buffers"]["scratch"], json!([-1, -1]));
}

#[test]
fn a_program_without_labels_has_a_map_too() {
    let plan = plan(&Bare, &Options::default()).expect("a plan");
    let page = write_map(&Bare, &plan, &Labels::default());
    let data = data(&page);
    assert_eq!(data["values"]["made_by"], json!([0, 1]));
    assert_eq!(data["values"]["bytes"], json!([64, 64]));
    assert_eq!(data["ops"], json!([""]));
    assert_eq!(data["arena_bytes"], 128);
    assert_eq!(data["curve"], json!({ "times": [1, 3, 5], "bytes": [64, 128] }));
}

#[test]
fn names_cannot_leave_their_place() {
    let plan = plan(&Bare, &Options::default()).expect("a plan");
    let page = write_map(&Bare, &plan, &Labels { title: "<img>".to_owned(), ..Labels::default() });
    let empty = write_map(&Bare, &plan, &Labels::default());
    assert_eq!(page.matches('<').count(), empty.matches('<').count());
    assert!(!page.contains("<img>") && !page.contains('\u{2028}'));
    assert_eq!(data(&page)["title"], "<img>");
    assert_eq!(data(&page)["values"]["name"][1], "</script><!--&value 1\u{2028}");
    assert_eq!(without_markup("\"a<b>&\u{2029}é\""), "\"a\\u003cb\\u003e\\u0026\\u2029é\"");
}

/// What the page is made of holds nothing that would end a script or a style early, nor markup made
/// from text, nor anything from elsewhere.
#[test]
fn the_scripts_hand_text_on_as_text() {
    assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
    for forbidden in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "http"]
    {
        assert!(!SCRIPT.contains(forbidden), "{forbidden}");
    }
    assert!(!STYLE.contains("url(") && !FRAME.contains("http:") && !FRAME.contains("https:"));
    assert!(!FRAME.contains(" style="), "the policy would not admit it");
}

#[test]
fn the_policy_admits_these_scripts_and_this_style_alone() {
    let plan = plan(&Bare, &Options::default()).expect("a plan");
    let page = write_map(&Bare, &plan, &Labels::default());
    for (kind, part, hash) in [("script", SCRIPT, SCRIPT_HASH), ("style", STYLE, STYLE_HASH)] {
        assert_eq!(hash, base64(&Sha256::digest(part)), "the hash of the {kind} is the latter");
        assert!(page.contains(&format!("{kind}-src 'sha256-{hash}';")), "{kind}");
        assert!(page.contains(&format!("<{kind}>{part}</{kind}>")), "{kind}");
    }
    assert!(page.contains("content=\"default-src 'none'; script-src"));
    assert!(!page.contains("-inline"), "nothing else is admitted");
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = |chunk: &[u8]| {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        let letter = |at: usize| LETTERS[(bits >> (18 - 6 * at)) as usize % 64] as char;
        let padded = |at: usize| if at <= chunk.len() { letter(at) } else { '=' };
        (0..4).map(padded).collect::<String>()
    };
    bytes.chunks(3).map(letters).collect()
}

#[test]
fn a_frame_is_filled_once() {
    let parts = [("a", "{{b}}"), ("b", "2")];
    assert_eq!(fill("<{{a}}|{{b}}|{{a}}>", &parts), "<{{b}}|2|{{b}}>");
}
