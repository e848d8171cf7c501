//! The clock: a limit in time, and a line of progress on runs that take longer than a second.
//!
//! The libraries know no time. They tell how far they have come, and the clock says whether they
//! go on. The line is for people at a terminal: it has no colours, is written over and over, and
//! is gone when the result comes. A program that carries the command has a [`Watcher`] instead, which
//! may also say stop.

use std::io::{self, IsTerminal, Stderr, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use plimsoll_pack::Progress;

use crate::output;

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is written.
const REFRESH: Duration = Duration::from_millis(100);

const EXPECTED: &str = "expected a time above 0 like 10s, 500ms, 2m or 1.5";

/// The time that the text means: a number with a unit, of seconds without one.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let seconds = match text[digits_end..].trim_start() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(EXPECTED.to_owned()),
    };
    let number: f64 = text[..digits_end].parse().map_err(|_| EXPECTED)?;
    let time = Duration::try_from_secs_f64(number * seconds).map_err(|_| "duration too large")?;
    if time.is_zero() { Err(EXPECTED.to_owned()) } else { Ok(time) }
}

/// Is told now and then how far the work has come, and says whether it goes on.
pub type Watcher = Box<dyn FnMut(&str) -> ControlFlow<()>>;

/// Who is told how far the work has come.
enum Audience {
    Nobody,
    Terminal(Line<Stderr>),
    Program { watcher: Watcher, said_stop: bool },
}

/// Started when the work starts.
pub(crate) struct Clock {
    start: Instant,
    /// When the piece of work that is under way was begun, which the limit is for.
    lap: Instant,
    limit: Option<Duration>,
    /// What is under way.
    label: String,
    /// When the line is due.
    next: Duration,
    audience: Audience,
}

impl Clock {
    pub(crate) fn start(limit: Option<Duration>) -> Self {
        // A terminal that cannot go back to the start of a line says so.
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let stderr = io::stderr();
        let is_shown = stderr.is_terminal() && !is_dumb && !output::is_quiet();
        let audience =
            if is_shown { Audience::Terminal(Line::new(stderr)) } else { Audience::Nobody };
        Clock::new(limit, PATIENCE, audience)
    }

    /// The same for a program, which is told from the beginning.
    pub(crate) fn watched(limit: Option<Duration>, watcher: Watcher) -> Self {
        Clock::new(limit, REFRESH, Audience::Program { watcher, said_stop: false })
    }

    fn new(limit: Option<Duration>, next: Duration, audience: Audience) -> Self {
        let (start, label) = (Instant::now(), String::new());
        Clock { start, lap: start, limit, label, next, audience }
    }

    /// Begins with another piece of work, which has the whole limit for itself.
    pub(crate) fn lap(&mut self, label: &str) {
        self.lap = Instant::now();
        label.clone_into(&mut self.label);
        self.show(str::to_owned);
    }

    /// Shows how far it has come, and says whether there is time left.
    pub(crate) fn look(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.tick(|| in_words(progress))
    }

    /// The same in other words.
    pub(crate) fn tick(&mut self, words: impl FnOnce() -> String) -> ControlFlow<()> {
        self.show(|label| format!("{label}{}", words()));
        let is_late = self.limit.is_some_and(|limit| self.lap.elapsed() >= limit);
        if is_late || self.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Whether a program that watches has said stop.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.audience, Audience::Program { said_stop: true, .. })
    }

    /// Tells how far it has come, if that is due.
    fn show(&mut self, text: impl FnOnce(&str) -> String) {
        let now = self.start.elapsed();
        if now < self.next {
            return;
        }
        match &mut self.audience {
            Audience::Nobody => return,
            Audience::Terminal(line) => line.show(&text(&self.label)),
            Audience::Program { watcher, said_stop } => {
                *said_stop |= watcher(&text(&self.label)).is_break();
            }
        }
        self.next = now + REFRESH;
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        if let Audience::Terminal(line) = &mut self.audience {
            line.show("");
        }
    }
}

/// The best arena, the bound, and how far they are apart.
fn in_words(progress: &Progress) -> String {
    let Progress { arena_bytes: best, lower_bound_bytes: bound, .. } = *progress;
    let gap = match best.saturating_sub(bound) {
        0 => "none".to_owned(),
        gap if bound == 0 => format!("{gap} bytes"),
        gap => plimsoll_report::size::percent(gap, bound),
    };
    format!("best {best} bytes, bound {bound}, gap {gap}")
}

/// A line that is written over and over.
struct Line<W: Write> {
    out: W,
    /// How wide what stands there is.
    shown: usize,
}

impl<W: Write> Line<W> {
    fn new(out: W) -> Self {
        Line { out, shown: 0 }
    }

    /// Writes over what stands there; nothing, to clear it.
    fn show(&mut self, text: &str) {
        let width = text.chars().count();
        if width == 0 && self.shown == 0 {
            return;
        }
        let blanks = " ".repeat(self.shown.saturating_sub(width));
        let back = if width == 0 { "\r" } else { "" };
        // Nobody is left to be told if this fails.
        let _ = write!(self.out, "\r{text}{blanks}{back}").and_then(|()| self.out.flush());
        self.shown = width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit() {
        let milliseconds = |text: &str| parse(text).map(|time| time.as_millis());
        assert_eq!(milliseconds("500ms"), Ok(500));
        assert_eq!(milliseconds("10s"), Ok(10_000));
        assert_eq!(milliseconds(" 2 m "), Ok(120_000));
        assert_eq!(milliseconds("3"), Ok(3000));
        assert_eq!(milliseconds("1.5"), Ok(1500));
        assert_eq!(milliseconds("1h"), Ok(3_600_000));
    }

    #[test]
    fn what_is_no_time_is_told_so() {
        for text in ["", "s", "-1s", "10 parsecs", "1e3", "NaN", "inf", "1.2.3", "0", "0ms", "10S"]
        {
            assert_eq!(parse(text), Err(EXPECTED.to_owned()), "{text}");
        }
        assert_eq!(parse(&"9".repeat(30)), Err("duration too large".to_owned()));
    }

    fn progress(arena_bytes: u64, lower_bound_bytes: u64) -> Progress {
        Progress { arena_bytes, lower_bound_bytes, work: 1 }
    }

    #[test]
    fn the_line_has_best_bound_and_gap() {
        assert_eq!(in_words(&progress(96, 96)), "best 96 bytes, bound 96, gap none");
        assert_eq!(in_words(&progress(128, 96)), "best 128 bytes, bound 96, gap 33.3 %");
        assert_eq!(in_words(&progress(128, 0)), "best 128 bytes, bound 0, gap 128 bytes");
    }

    #[test]
    fn a_line_is_written_over_and_cleared_without_escapes() {
        let mut line = Line::new(Vec::new());
        line.show("");
        line.show("best 100");
        line.show("best 9");
        line.show("");
        line.show("");
        assert_eq!(line.out, b"\rbest 100\rbest 9  \r      \r");
    }

    #[test]
    fn a_watcher_is_told_and_may_stop() {
        let (tell, told) = std::sync::mpsc::channel();
        let watcher = move |text: &str| {
            tell.send(text.to_owned()).expect("somebody listens");
            ControlFlow::Break(())
        };
        let mut clock = Clock::watched(None, Box::new(watcher));
        clock.next = Duration::ZERO;
        assert_eq!(clock.look(&progress(128, 96)), ControlFlow::Break(()));
        assert_eq!(clock.look(&progress(96, 96)), ControlFlow::Break(()), "it stays stopped");
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["best 128 bytes, bound 96, gap 33.3 %"]);
    }

    #[test]
    fn a_limit_in_time_stops() {
        let look = |limit| Clock::start(limit).look(&progress(128, 96));
        assert_eq!(look(Some(Duration::from_nanos(1))), ControlFlow::Break(()));
        assert_eq!(look(Some(Duration::from_hours(1))), ControlFlow::Continue(()));
        assert_eq!(look(None), ControlFlow::Continue(()));
    }
}
