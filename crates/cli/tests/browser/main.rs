//! The map of a plan in a real browser: what it shows is what the plan says, and names in it do
//! nothing.
//!
//! Without a browser these tests say so and pass, unless `PLIMSOLL_BROWSER=required`. Two more are
//! asked for by name: `--ignored picture` takes a picture of a page, `--ignored frames` measures how
//! long frames take; both are told the page by the environment, see `tools/map`.

mod chromium;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use chromium::{Browser, Screen};
use serde_json::{Value, json};

fn run(args: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    let output = command.args(args).stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The map of a model in the browser's folder, and the plan that it should show.
fn planned(browser: &Browser, args: &[&str]) -> (PathBuf, Value) {
    let page = browser.folder().join("map.html");
    let to_page = ["-o", page.to_str().expect("a plain path")];
    run(&[&["plan"], args, &to_page].concat());
    let json = run(&[&["plan"], args, &["--format", "json"]].concat());
    (page, serde_json::from_slice(&json).expect("JSON"))
}

/// A graph as text, in a file.
fn written(browser: &Browser, name: &str, text: &str) -> String {
    let path = browser.folder().join(name);
    fs::write(&path, text).expect("a file");
    path.to_str().expect("a plain path").to_owned()
}

fn rows(plan: &Value) -> &[Value] {
    plan["values"].as_array().expect("values")
}

/// The names of the values that are alive while a step runs.
fn alive(plan: &Value, step: u64) -> BTreeSet<String> {
    let is_alive = |row: &&Value| {
        let (start, end) = (row["start"].as_u64(), row["end"].as_u64());
        start.zip(end).is_some_and(|(start, end)| start < 2 * step + 2 && end > 2 * step)
    };
    rows(plan).iter().filter(is_alive).map(name_of).collect()
}

fn name_of(row: &Value) -> String {
    row["name"].as_str().expect("a name").to_owned()
}

/// The names in the table.
fn listed(browser: &mut Browser) -> BTreeSet<String> {
    let names =
        browser.eval("[...document.querySelectorAll('#rows .link')].map(e => e.textContent)");
    let names = names.as_array().expect("names").iter();
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

fn middle_of(browser: &mut Browser, name: &str) -> (f64, f64) {
    point(&browser.eval(&format!("plimsollMap.middleOf({})", json!(name))))
}

fn point(point: &Value) -> (f64, f64) {
    (point["x"].as_f64().expect("a place"), point["y"].as_f64().expect("a place"))
}

fn selected(browser: &mut Browser) -> String {
    browser.text("#details h2")
}

#[test]
fn the_page_shows_the_plan_and_complains_about_nothing() {
    let Some(mut browser) = Browser::start("counts") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    let counts = browser.eval("plimsollMap.counts");
    let placed = rows(&plan).iter().filter(|row| row["start"].is_u64());
    let buffers: BTreeSet<u64> = placed.clone().filter_map(|row| row["buffer"].as_u64()).collect();
    let views = placed.clone().filter(|row| row["root"].is_string()).count();
    let expected = json!({
        "values": rows(&plan).len(), "placed": placed.count(), "buffers": buffers.len(),
        "steps": 15, "views": views, "scratch": 0, "banks": 1,
    });
    assert_eq!(counts, expected);
    // All boxes are large enough to be drawn one by one: buffers, values and views.
    let drawn = browser.eval("plimsollMap.drawn.boxes + plimsollMap.drawn.small");
    assert!(drawn.as_u64() >= counts["placed"].as_u64(), "{drawn}");
    assert!(browser.text("#facts").contains("80 KiB"), "{}", browser.text("#facts"));
    assert_eq!(browser.text("#table-title"), "Alive at the peak");
    assert_eq!(listed(&mut browser), alive(&plan, 2));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_mouse_finds_what_is_there() {
    let Some(mut browser) = Browser::start("mouse") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    for row in rows(&plan).iter().filter(|row| row["in_place_of"].is_string()) {
        let (x, y) = middle_of(&mut browser, &name_of(row));
        browser.move_mouse(x, y);
        // A view may lie on it.
        let tip = browser.text("#tip b");
        let over = rows(&plan).iter().find(|other| name_of(other) == tip).expect("a value");
        assert!(over["name"] == row["name"] || over["root"] == row["name"], "{tip} over {row}");
    }
    let (x, y) = middle_of(&mut browser, "stem.p");
    browser.move_mouse(x, y);
    assert_eq!(browser.text("#tip b"), "stem.p");
    assert!(browser.text("#tip").contains("16\u{202f}384 bytes (16 KiB) at 65\u{202f}536"));
    let (over, y_of_over) = middle_of(&mut browser, "block.s");
    browser.move_mouse(over, y_of_over);
    let tip = browser.text("#tip");
    assert!(tip.contains("before it: block.2.y") && tip.contains("after it: block.y"), "{tip}");
    browser.click(x, y);
    assert_eq!(selected(&mut browser), "stem.p");
    let story = browser.text("#details dl");
    for recorded in ["MaxPool", "f32[1, 16, 16, 16]", "stem.pool", "steps 3 to 7", "before it"] {
        assert!(story.contains(recorded), "{recorded}: {story}");
    }
    assert!(browser.text("#said").starts_with("stem.p, MaxPool, 16 KiB"));
    // The wheel goes in where the mouse is, so the same value stays below it.
    browser.turn_wheel(x, y, -400.0);
    let zoomed = browser.eval("plimsollMap.view.t1 - plimsollMap.view.t0").as_f64();
    assert!(zoomed.expect("a number") < 16.0, "{zoomed:?}");
    browser.move_mouse(x + 1.0, y);
    assert_eq!(browser.text("#tip b"), "stem.p");
    let before = browser.eval("plimsollMap.view.t0").as_f64().expect("a time");
    browser.drag((x, y), (x - 100.0, y));
    assert!(browser.eval("plimsollMap.view.t0").as_f64().expect("a time") > before);
    assert_eq!(selected(&mut browser), "stem.p", "a drag is no click");
}

#[test]
fn what_a_search_finds_is_marked_in_the_map() {
    let Some(mut browser) = Browser::start("hits") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    // Whether the pixel of the overlay there is paper, ink, or nothing.
    let veil = |browser: &mut Browser, name: &str| {
        let (x, y) = middle_of(browser, name);
        let script = format!(
            "(() => {{ const c = document.getElementById('overlay'), r = c.getBoundingClientRect(), \
             k = c.width / r.width; return c.getContext('2d').getImageData(({x} - r.left) * k, \
             ({y} - r.top) * k, 1, 1).data[3]; }})()"
        );
        browser
            .eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
        browser.eval(&script).as_u64().expect("a number")
    };
    assert_eq!(veil(&mut browser, "stem.p"), 0, "nothing is marked before");
    browser.eval(
        "(() => { const s = document.getElementById('search'); s.value = 'block.'; \
         s.dispatchEvent(new Event('input')); })()",
    );
    let found = rows(&plan).iter().filter(|row| {
        row["name"].as_str().is_some_and(|name| name.contains("block.")) && row["start"].is_u64()
    });
    assert_eq!(browser.eval("plimsollMap.hits.length"), found.count());
    assert!(veil(&mut browser, "stem.p") > 100, "what was not found is covered");
    assert_eq!(veil(&mut browser, "block.1.y"), 0, "what was found is not");
    assert_eq!(browser.eval("location.hash"), "#find=block.");
    browser.open(&page, "#find=stem.p");
    assert_eq!(browser.eval("plimsollMap.hits.length"), 1);
    assert_eq!(browser.eval("document.getElementById('search').value"), "stem.p");
}

#[test]
fn a_link_keeps_the_window_and_the_colours_by_the_names_that_are_shown() {
    let Some(mut browser) = Browser::start("links") else { return };
    let (page, _) = planned(&browser, &[]);
    browser.open(&page, "");
    let shown =
        "[...document.querySelectorAll('#colour option')].map(e => [e.value, e.textContent])";
    let shown = browser.eval(shown);
    for option in shown.as_array().expect("options") {
        assert_eq!(option[0], option[1], "the address has the word that is shown");
    }
    browser.press("c");
    browser.press("c");
    assert_eq!(browser.eval("location.hash"), "#colour=storage");
    browser.eval("plimsollMap.look(4, 12, 0.25, 0.75), plimsollMap.redraw(true)");
    browser.eval("new Promise(done => setTimeout(done, 600))");
    let link = browser.eval("location.hash").as_str().expect("text").to_owned();
    assert_eq!(link, "#colour=storage&view=4,12,0.25,0.75");
    browser.open(&page, "");
    browser.open(&page, &link);
    let view =
        "[plimsollMap.view.t0, plimsollMap.view.t1, plimsollMap.view.y0, plimsollMap.view.y1]";
    assert_eq!(browser.eval(view), json!([4, 12, 0.25, 0.75]));
    assert_eq!(browser.eval("document.getElementById('colour').value"), "storage");
    // Links from before say class; a window that makes no sense is left alone.
    browser.open(&page, "#colour=class&view=9,3,a,1");
    assert_eq!(browser.eval("document.getElementById('colour').value"), "storage");
    assert_eq!(browser.eval("plimsollMap.view.t0"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_tip_goes_away_with_what_it_was_about() {
    let Some(mut browser) = Browser::start("tips") else { return };
    let (page, _) = planned(&browser, &[]);
    let is_hidden = "document.getElementById('tip').hidden";
    for gone in ["plimsollKey", "window.dispatchEvent(new Event('blur'))", "leave"] {
        browser.open(&page, "");
        let (x, y) = middle_of(&mut browser, "stem.p");
        browser.move_mouse(x, y);
        assert_eq!(browser.eval(is_hidden), false);
        match gone {
            "plimsollKey" => browser.press("+"),
            "leave" => browser.move_mouse(4.0, 4.0),
            script => drop(browser.eval(script)),
        }
        assert_eq!(browser.eval(is_hidden), true, "{gone}");
    }
}

#[test]
fn the_header_has_weights_and_the_total() {
    let Some(mut browser) = Browser::start("header") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    let facts = browser.eval(
        "Object.fromEntries([...document.querySelectorAll('#facts div')]\
         .map(e => [e.querySelector('dt').textContent, e.querySelector('dd').textContent]))",
    );
    // 31176, and 81920 + 31176 + 16 + 12288, as the summary says.
    assert_eq!((&facts["weights"], &facts["total"]), (&json!("30.4 KiB"), &json!("122.5 KiB")));
    assert_eq!(plan["weights_bytes"], 31176);
}

#[test]
fn a_bare_packing_is_a_page_too() {
    let Some(mut browser) = Browser::start("packing") else { return };
    let problem = written(
        &browser,
        "problem.csv",
        "id,lower,upper,size,gaps\na,0,10,64,2-4\n<b>,2,4,64,\nc,4,20,32,\n",
    );
    let page = browser.folder().join("packing.html");
    run(&["solve", &problem, "-o", page.to_str().expect("a plain path")]);
    browser.open(&page, "#value=c");
    let counts = browser.eval("plimsollMap.counts");
    assert_eq!(
        (&counts["values"], &counts["buffers"], &counts["steps"]),
        (&json!(3), &json!(3), &json!(4))
    );
    assert_eq!(browser.text("#title"), "problem.csv");
    assert!(browser.text("#facts").contains("96 bytes"), "{}", browser.text("#facts"));
    assert_eq!(selected(&mut browser), "c");
    let (x, y) = middle_of(&mut browser, "<b>");
    browser.move_mouse(x, y);
    // It lies in the gap of `a`, in the same bytes.
    assert_eq!(browser.text("#tip b"), "<b>");
    assert!(browser.text("#tip").contains("64 bytes at 0"), "{}", browser.text("#tip"));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_step_shows_exactly_what_is_alive_then() {
    let Some(mut browser) = Browser::start("steps") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    for step in 0..=15 {
        let (x, y) = point(&browser.eval(&format!("plimsollMap.middleOfStep({step})")));
        // Half a step is left for the end of the run.
        browser.click(if step == 15 { x - 4.0 } else { x }, y);
        assert_eq!(browser.eval("plimsollMap.selection.step"), step);
        assert_eq!(listed(&mut browser), alive(&plan, step), "step {step}");
        let counted = browser.eval(&format!("plimsollMap.aliveAt({step}).length"));
        assert_eq!(counted.as_u64(), Some(alive(&plan, step).len() as u64));
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_search_finds_values_by_name() {
    let Some(mut browser) = Browser::start("search") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    browser.press("/");
    browser.type_text("BLOCK.");
    let expected = rows(&plan).iter().map(name_of).filter(|name| name.contains("block."));
    assert_eq!(listed(&mut browser), expected.collect());
    browser.eval("document.getElementById('search').value = ''");
    browser.type_text("stem.p");
    browser.press("Enter");
    assert_eq!(selected(&mut browser), "stem.p");
    browser.press("Escape");
    assert_eq!(browser.text("#table-title"), "Alive at the peak");
    assert_eq!(browser.eval("document.activeElement.id"), "stage");
}

#[test]
fn the_address_names_the_selection_and_brings_it_back() {
    let Some(mut browser) = Browser::start("address") else { return };
    let (page, _) = planned(&browser, &[]);
    browser.open(&page, "#value=stem.p");
    assert_eq!(selected(&mut browser), "stem.p");
    browser.open(&page, "#step=7&colour=layer");
    assert_eq!(browser.eval("plimsollMap.selection.step"), 6);
    assert_eq!(browser.eval("document.getElementById('colour').value"), "layer");
    let (x, y) = middle_of(&mut browser, "stem.a");
    browser.click(x, y);
    assert_eq!(browser.eval("location.hash"), "#step=7&value=stem.a&colour=layer");
    browser.eval("location.hash = '#value=pooled'");
    browser.frame();
    assert_eq!(selected(&mut browser), "pooled");
    for nonsense in
        ["#value=nobody", "#step=99", "#step=x&value=%E0%A4%A", "#&&==", "#value-number=-1"]
    {
        browser.open(&page, nonsense);
        assert_eq!(selected(&mut browser), "Nothing selected", "{nonsense}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn keys_do_what_the_mouse_does() {
    let Some(mut browser) = Browser::start("keys") else { return };
    let (page, plan) = planned(&browser, &[]);
    browser.open(&page, "");
    // In order of birth, then of address.
    let mut born: Vec<(u64, u64, usize, String)> = Vec::new();
    for (index, row) in rows(&plan).iter().enumerate() {
        if let (Some(start), Some(offset)) = (row["start"].as_u64(), row["offset"].as_u64()) {
            born.push((start, offset, index, name_of(row)));
        }
    }
    born.sort();
    for (.., name) in &born {
        browser.press("j");
        assert_eq!(&selected(&mut browser), name);
    }
    browser.press("k");
    assert_eq!(selected(&mut browser), born[born.len() - 2].3);
    let window =
        "[plimsollMap.view.t0, plimsollMap.view.t1, plimsollMap.view.y0, plimsollMap.view.y1]";
    let all = browser.eval(window);
    assert_eq!(all, json!([0, 31, 0, 1]));
    for (key, changes) in [("+", true), ("ArrowRight", true), ("ArrowUp", true), ("-", true)] {
        let before = browser.eval(window);
        browser.press(key);
        assert_eq!(browser.eval(window) != before, changes, "{key}");
    }
    browser.press("x");
    let narrow = browser.eval(window);
    assert!(narrow[1].as_f64().expect("a time") - narrow[0].as_f64().expect("a time") < 31.0);
    browser.press("0");
    assert_eq!(browser.eval(window), all);
    browser.press("Enter");
    assert_ne!(browser.eval(window), all, "zoomed to the selection");
    browser.press("m");
    assert_eq!(browser.eval("plimsollMap.selection.step"), 2);
    browser.press("]");
    browser.press("]");
    browser.press("[");
    assert_eq!(browser.eval("plimsollMap.selection.step"), 3);
    browser.press("c");
    assert_eq!(browser.eval("document.getElementById('colour').value"), "size");
    browser.press("Escape");
    assert_eq!(selected(&mut browser), "Nothing selected");
    browser.press("?");
    assert_eq!(browser.eval("document.getElementById('help').open"), true);
    browser.press("Escape");
    assert_eq!(browser.eval("document.getElementById('help').open"), false);
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Names that would do something in a page that took them for markup or for a script.
const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\"'`${alert(1)}`;//\\",
    "\u{2028}alert(1)\u{2029}",
    "{{data}}{{script}}",
    "]]>&lt;&amp;%3Cb%3E#value=x&step=1",
    "javascript:alert(1)",
    "__proto__",
];

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let Some(mut browser) = Browser::start("hostile") else { return };
    let mut graph = "plim 1\ninput x: u8[64]\n".to_owned();
    let mut last = "x".to_owned();
    let quoted = |name: &str| {
        let escape = |c: char| match c {
            '"' | '\\' => format!("\\{c}"),
            '\u{2028}' | '\u{2029}' => format!("\\u{{{:x}}}", c as u32),
            c => c.to_string(),
        };
        format!("\"{}\"", name.chars().map(escape).collect::<String>())
    };
    for name in HOSTILE {
        let name = quoted(name);
        writeln!(graph, "{name}: u8[64] = matmul({last}, {last})").expect("a string");
        last = name;
    }
    writeln!(graph, "output {last}").expect("a string");
    let model = written(&browser, "<b>hostile.plim", &graph);
    let (page, plan) = planned(&browser, &[&model]);
    browser.open(&page, "");
    let names: Vec<String> = rows(&plan).iter().skip(1).map(name_of).collect();
    assert_eq!(names, HOSTILE);
    let elements = browser.eval("document.querySelectorAll('script, img, b, style').length");
    for name in HOSTILE {
        let (x, y) = middle_of(&mut browser, name);
        browser.move_mouse(x, y);
        assert_eq!(browser.text("#tip b"), name);
        browser.click(x, y);
        assert_eq!(selected(&mut browser), name);
        let address = browser.eval("location.hash");
        browser.open(&page, address.as_str().expect("a text"));
        assert_eq!(selected(&mut browser), name, "{address}");
    }
    browser.press("/");
    browser.type_text("<img");
    assert!(listed(&mut browser).contains(HOSTILE[2]));
    assert_eq!(browser.text("h1"), "<b>hostile.plim");
    // The one element more is the name in the tip, which the mouse has left or not.
    let after = browser.eval("document.querySelectorAll('script, img, style').length");
    assert_eq!((elements.as_u64() >= Some(3), after), (true, json!(3)));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn every_bank_is_a_lane() {
    let Some(mut browser) = Browser::start("banks") else { return };
    let (page, plan) = planned(&browser, &["--bank", "sram=70KiB", "--bank", "dram"]);
    browser.open(&page, "");
    let lanes = browser.eval("plimsollMap.lanes");
    let lanes = lanes.as_array().expect("lanes");
    let names: Vec<&Value> = lanes.iter().map(|lane| &lane["name"]).collect();
    assert_eq!(names, ["sram", "dram"]);
    assert!(lanes[0]["lo"].as_f64() > lanes[1]["hi"].as_f64(), "one above the other");
    for bank in ["sram", "dram"] {
        let row = rows(&plan).iter().find(|row| row["bank"] == bank && row["root"].is_null());
        let name = name_of(row.expect("something in every bank"));
        let (x, y) = middle_of(&mut browser, &name);
        browser.click(x, y);
        assert_eq!(selected(&mut browser), name);
        assert!(browser.text("#details dl").contains(&format!("{bank}, offset")));
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

fn corpus(name: &str) -> String {
    format!("{}/../../corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_lies_in_the_gap_of_another_is_found_there() {
    let Some(mut browser) = Browser::start("gaps") else { return };
    let (page, plan) = planned(&browser, &[&corpus("models/version9.onnx")]);
    browser.open(&page, "");
    assert_eq!(browser.eval("plan.gaps.bytes"), json!([256]));
    // `sliced` is alive around it, but for these bytes.
    let around = rows(&plan).iter().find(|row| row["name"] == "sliced").expect("a value");
    let inside = rows(&plan).iter().find(|row| {
        let is_later = row["start"].as_u64() > around["start"].as_u64();
        let is_own = row["root"].is_null() && row["buffer"] != around["buffer"];
        is_later && is_own && row["offset"] == 0
    });
    let name = name_of(inside.expect("a value in the gap"));
    browser.open(&page, &format!("#value={name}"));
    browser.press("Enter");
    let (x, y) = middle_of(&mut browser, &name);
    browser.move_mouse(x, y);
    // A view of all of it lies on top.
    let top = rows(&plan).iter().find(|row| row["root"] == name).map_or(name, name_of);
    assert_eq!(browser.text("#tip b"), top);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn scratch_memory_is_shown_with_its_step() {
    let Some(mut browser) = Browser::start("scratch") else { return };
    let (page, plan) = planned(&browser, &[&corpus("graphs/residual_block.plim")]);
    let scratch = plan["scratch"].as_array().expect("rows");
    assert_eq!((scratch.len(), &scratch[1]["step"]), (2, &json!("c2")));
    browser.open(&page, "#step=3");
    assert_eq!(browser.eval("plimsollMap.counts.scratch"), 2);
    assert!(browser.text("#details dl").contains("scratch73\u{202f}728 bytes (72 KiB)"));
}

#[test]
fn a_plan_of_nothing_is_a_page_too() {
    let Some(mut browser) = Browser::start("empty") else { return };
    let model = written(&browser, "empty.plim", "plim 1\ninput x: u8[4]\noutput x\n");
    let (page, plan) = planned(&browser, &[&model, "--place", "none"]);
    assert_eq!(plan["arena_bytes"], 0);
    browser.open(&page, "");
    assert_eq!(browser.eval("plimsollMap.counts.placed"), 0);
    assert_eq!(browser.eval("document.getElementById('empty').hidden"), false);
    for key in ["j", "k", "]", "m", "+", "Enter", "0"] {
        browser.press(key);
    }
    browser.move_mouse(500.0, 400.0);
    browser.click(500.0, 400.0);
    assert_eq!(browser.complaints(), [""; 0]);
}

fn recorded(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// `MAP_PAGE`, a file, as a picture in `MAP_PICTURE`; `MAP_SCREEN` is `1400x800@1`, with `dark`
/// behind it or not, `MAP_FRAGMENT` what is selected.
#[test]
#[ignore = "takes a picture, see tools/map/screenshot"]
fn picture() {
    let (Some(page), Some(picture)) = (recorded("MAP_PAGE"), recorded("MAP_PICTURE")) else {
        panic!("MAP_PAGE and MAP_PICTURE name two files")
    };
    let mut browser = Browser::start("picture").expect("a browser");
    let asked = recorded("MAP_SCREEN").unwrap_or_default();
    browser.show_on(screen(&asked));
    let page = fs::canonicalize(page).expect("a page");
    browser.open(&page, &recorded("MAP_FRAGMENT").unwrap_or_default());
    if let Some(script) = recorded("MAP_SCRIPT") {
        browser.eval(&script);
        browser.frame();
    }
    fs::write(&picture, browser.screenshot()).expect("a picture");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A screen as text: `1400x800@1 dark`, of which every part may be left out.
fn screen(asked: &str) -> Screen {
    let mut screen = Screen { is_dark: asked.contains("dark"), ..Screen::PLAIN };
    let asked = asked.split_whitespace().next().unwrap_or_default();
    let (size, ratio) = asked.split_once('@').unwrap_or((asked, ""));
    let (width, height) = size.split_once('x').unwrap_or_default();
    screen.width = width.parse().unwrap_or(screen.width);
    screen.height = height.parse().unwrap_or(screen.height);
    screen.ratio = ratio.parse().unwrap_or(screen.ratio);
    screen
}

/// How long a frame takes with 100 000 values, all of them in sight and on the way in and out: time of
/// the processor, which other work on the machine does not count in, and time between frames.
#[test]
#[ignore = "measures, see docs/map.md"]
fn frames() {
    let mut browser = Browser::start("frames").expect("a browser");
    let model = written(&browser, "large.plim", &large_graph(100_000));
    let page = browser.folder().join("map.html");
    let to_page = page.to_str().expect("a plain path");
    run(&["plan", &model, "--order", "given", "--effort", "fast", "-o", to_page]);
    let bytes = fs::metadata(&page).expect("a page").len();
    browser.open(&page, "");
    assert_eq!(browser.eval("plimsollMap.counts.placed"), 100_000);
    println!("{bytes} bytes; ms a frame: drawing, all of the main thread, between frames (median)");
    for (what, moves) in [
        ("all in sight", "map.panBy(0, 0)"),
        ("zoom in", "map.zoomAt(500, 400, 0.95, 0.98)"),
        ("pan", "map.panBy(n % 40 < 20 ? 9 : -9, 3)"),
        ("zoom out", "map.zoomAt(500, 400, 1 / 0.95, 1 / 0.98)"),
        ("zoom time", "map.zoomAt(500, 400, 0.93, 1)"),
    ] {
        let script = MEASURE.replace("FRAMES", &FRAMES.to_string()).replace("MOVE", moves);
        let (script_before, all_before) = browser.busy();
        let between = browser.eval(&script).as_f64().expect("a time");
        let (script_after, all_after) = browser.busy();
        let each = |ms: f64| ms / f64::from(FRAMES);
        let (drawing, all) = (each(script_after - script_before), each(all_after - all_before));
        println!("{what:12}  {drawing:5.1}  {all:5.1}  {between:5.1}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

const FRAMES: u32 = 120;

const MEASURE: &str = "(async () => {
    const map = plimsollMap, frames = [];
    const next = () => new Promise(done => requestAnimationFrame(done));
    let last = await next();
    for (let n = 0; n < FRAMES; n++) {
        MOVE;
        map.redraw(true);
        const now = await next();
        frames.push(now - last);
        last = now;
    }
    return frames.sort((a, b) => a - b)[FRAMES / 2];
})()";

/// A chain of blocks with values of all sizes, some of which live through their block.
fn large_graph(values: usize) -> String {
    let mut graph = "plim 1\ninput x: u8[4096]\n".to_owned();
    let mut state = 1u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut last, mut kept) = ("x".to_owned(), "x".to_owned());
    for value in 0..values {
        let name = format!("block{}.layer{}.out", value / 6, value % 6);
        let bytes = (64 << (2 * random(6))) * (1 + random(4));
        let other = if random(3) == 0 { &kept } else { &last };
        writeln!(graph, "{name}: u8[{bytes}] = matmul({last}, {other})").expect("a string");
        if value % 6 == 5 {
            kept.clone_from(&name);
        }
        last = name;
    }
    graph + &format!("output {last}\n")
}
