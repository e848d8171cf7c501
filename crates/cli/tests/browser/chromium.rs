//! A real browser, driven through its debugging pipe: Chromium without a window.
//!
//! Messages are JSON objects, each ended by a zero byte, through two named pipes that the browser
//! has as its files 3 and 4. Whatever is waited for has a limit, so that no test ever hangs, and the
//! browser ends with the test: when it is dropped, or when its pipe closes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest that any one thing may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// What Chromium is called where it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

const OPTIONS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --disable-dev-shm-usage --remote-debugging-pipe";

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: File,
    messages: Receiver<Value>,
    folder: PathBuf,
    session: Option<String>,
    last_id: u64,
    /// Events that nobody has waited for yet.
    events: Vec<Value>,
}

/// How large a page is, in pixels of CSS, and how many of the screen each of them has.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) ratio: f64,
    pub(crate) is_dark: bool,
}

impl Screen {
    pub(crate) const PLAIN: Screen =
        Screen { width: 1400, height: 800, ratio: 1.0, is_dark: false };
}

impl Browser {
    /// Starts the browser with an empty page; `None`, and a word about it, where there is none. With
    /// `PLIMSOLL_BROWSER=required` that is a failure.
    pub(crate) fn start(test: &str) -> Option<Browser> {
        let Some(program) = NAMES.iter().find(|name| is_on_path(name)) else {
            let is_required = std::env::var("PLIMSOLL_BROWSER").is_ok_and(|v| v == "required");
            assert!(!is_required, "no chromium here, and PLIMSOLL_BROWSER=required");
            eprintln!("skipped: no chromium to look at the map with");
            return None;
        };
        let folder = folder(test);
        let (to, from) = (folder.join("to"), folder.join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().expect("mkfifo runs");
        assert!(made.success(), "mkfifo: {made}");
        let profile = folder.join("profile");
        let line = format!("exec {program} {OPTIONS} --user-data-dir=\"$2\" 3<\"$0\" 4>\"$1\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).args([&to, &from, &profile]).arg("about:blank");
        command.env("HOME", &folder).env("XDG_CONFIG_HOME", &folder).env("XDG_CACHE_HOME", &folder);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = quiet.spawn().expect("a shell");
        // Open for both ways, a pipe does not wait for its other end.
        let both_ways = |path: &Path| File::options().read(true).write(true).open(path);
        let commands = both_ways(&to).expect("a pipe to the browser");
        let messages = listen(both_ways(&from).expect("a pipe from the browser"));
        let mut browser = Browser {
            child,
            commands,
            messages,
            folder,
            session: None,
            last_id: 0,
            events: Vec::new(),
        };
        browser.attach();
        Some(browser)
    }

    /// A folder for the files of this test; it goes with the browser.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let flat = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", &flat);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.show_on(Screen::PLAIN);
    }

    /// Makes the page so large, light or dark.
    pub(crate) fn show_on(&mut self, screen: Screen) {
        let Screen { width, height, ratio, is_dark } = screen;
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": ratio, "mobile": false
        });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let theme = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Opens a file, with what is to stand behind its name (`#value=x`), and waits until it is
    /// there and drawn.
    pub(crate) fn open(&mut self, file: &Path, fragment: &str) {
        // From one fragment of a file to another nothing would be loaded.
        self.go("about:blank");
        self.go(&format!("file://{}{fragment}", file.display()));
        self.frame();
    }

    fn go(&mut self, url: &str) {
        self.events.retain(|event| event["method"] != "Page.loadEventFired");
        let answer = self.call("Page.navigate", &json!({ "url": url }));
        assert!(answer.get("errorText").is_none(), "{url}: {answer}");
        self.wait_for("Page.loadEventFired");
    }

    /// Waits until what has changed is drawn.
    pub(crate) fn frame(&mut self) {
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// The value of an expression in the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        let thrown = answer.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The text of an element.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().expect("a text").to_owned()
    }

    pub(crate) fn move_mouse(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y, 0);
        self.frame();
    }

    pub(crate) fn click(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", x, y, 0);
        self.mouse("mousePressed", x, y, 1);
        self.mouse("mouseReleased", x, y, 1);
        self.frame();
    }

    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from.0, from.1, 0);
        self.mouse("mousePressed", from.0, from.1, 1);
        let held = json!({
            "type": "mouseMoved", "x": to.0, "y": to.1, "button": "left", "buttons": 1
        });
        self.call("Input.dispatchMouseEvent", &held);
        self.mouse("mouseReleased", to.0, to.1, 1);
        self.frame();
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64, clicks: u32) {
        let button = if clicks > 0 { "left" } else { "none" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": clicks });
        self.call("Input.dispatchMouseEvent", &event);
    }

    pub(crate) fn turn_wheel(&mut self, x: f64, y: f64, by: f64) {
        let event = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by });
        self.call("Input.dispatchMouseEvent", &event);
        self.frame();
    }

    /// Presses a key; `text` is what it types, if anything.
    pub(crate) fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let code = if key == "Enter" { "\r" } else { text };
        let number = match key {
            "Enter" => 13,
            "Escape" => 27,
            _ => 0,
        };
        let event = |kind: &str| {
            json!({
                "type": kind, "key": key, "text": code, "windowsVirtualKeyCode": number
            })
        };
        self.call("Input.dispatchKeyEvent", &event(down));
        self.call("Input.dispatchKeyEvent", &event("keyUp"));
        self.frame();
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
        self.frame();
    }

    /// How long the page has been busy so far, in milliseconds of its processor: in scripts, and in all.
    pub(crate) fn busy(&mut self) -> (f64, f64) {
        self.call("Performance.enable", &json!({ "timeDomain": "threadTicks" }));
        let answer = self.call("Performance.getMetrics", &json!({}));
        let metric = |name: &str| {
            let metrics = answer["metrics"].as_array().expect("metrics").iter();
            let value = metrics.clone().find(|metric| metric["name"] == name);
            value.and_then(|metric| metric["value"].as_f64()).expect("a metric") * 1000.0
        };
        (metric("ScriptDuration"), metric("TaskDuration"))
    }

    /// The page as a PNG.
    pub(crate) fn screenshot(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        from_base64(answer["data"].as_str().expect("a picture"))
    }

    /// Everything that the page has complained about so far: errors, whatever it has written to
    /// the console, dialogs that it has opened.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.call("Runtime.evaluate", &json!({ "expression": "0" }));
        let kinds = [
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        ];
        let is_one = |event: &&Value| kinds.iter().any(|kind| event["method"] == *kind);
        self.events.iter().filter(is_one).map(Value::to_string).collect()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let bytes = [message.to_string().as_bytes(), &[0]].concat();
        self.commands.write_all(&bytes).expect("the browser listens");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut answer = self.next(deadline, method);
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn wait_for(&mut self, event: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(|seen| seen["method"] == event) {
            let message = self.next(deadline, event);
            self.events.push(message);
        }
    }

    fn next(&mut self, deadline: Instant, what: &str) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        let message = self.messages.recv_timeout(left);
        message.unwrap_or_else(|error| panic!("waited {PATIENCE:?} for {what}: {error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked first, so that it ends its own processes; then made to.
        self.session = None;
        let close = json!({ "id": 0, "method": "Browser.close" }).to_string();
        let _ = self.commands.write_all(&[close.as_bytes(), &[0]].concat());
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Hands on the messages of the browser as they come.
fn listen(pipe: File) -> Receiver<Value> {
    let (send, receive) = channel();
    thread::spawn(move || {
        for message in BufReader::new(pipe).split(0) {
            let message = message.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            if message.is_none_or(|message| send.send(message).is_err()) {
                return;
            }
        }
    });
    receive
}

fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

fn folder(test: &str) -> PathBuf {
    // Beside what else is temporary: a name in the target folder may be too long for a browser.
    let name = format!("plimsoll-browser-{}-{test}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn from_base64(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0, |bits, c| bits << 6 | digit(*c));
        let three = (bits << (6 * (4 - four.len()))).to_be_bytes();
        bytes.extend(&three[1..four.len()]);
    }
    bytes
}
