//! The frontier as a picture: arenas up, arithmetic to the right, a step for each point.
//!
//! Both axes begin at 0, so that a quarter of the memory looks like one. The picture needs no other file, and is
//! light or dark as its reader is.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{FrontierPoint, FrontierReport};
use crate::picture::escape;
use crate::size;

const LEFT: f64 = 96.0;
const TOP: f64 = 48.0;
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const RIGHT: f64 = 40.0;
const BOTTOM: f64 = 56.0;
/// The axis of arithmetic goes at least so far, in percent.
const LEAST_PERCENT: f64 = 4.0;
/// Points nearer to each other, in pixels, have no labels of their own.
const LEAST_DISTANCE: f64 = 18.0;
/// How many lines cross the picture.
const LINES: u64 = 4;

/// Light by default, dark where the reader wants that.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1d2430}.p{fill:#fff}.f{fill:#f3f1ed}\
.s{fill:#5d6675}.h{font-size:15px;font-weight:600}.g{stroke:#d5d9e0}\
.l{fill:#4a7fb52e;stroke:#4a7fb5;stroke-width:2}.o{fill:#4a7fb5}.c{fill:#b3341f}.b{font-weight:600}\
@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.p{fill:#14181f}.f{fill:#1d232c}.s{fill:#98a2b1}\
.g{stroke:#333b47}.l{fill:#7db1e333;stroke:#7db1e3}.o{fill:#7db1e3}.c{fill:#ff8d75}}";

impl FrontierReport<'_> {
    /// Writes a picture.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_svg(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.svg().as_bytes())
    }

    /// Writes a page with the picture and the points in a table.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        let title = escape(&self.source.title);
        writeln!(out, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}: fit</title>")?;
        writeln!(out, "<meta name=\"color-scheme\" content=\"light dark\">")?;
        writeln!(out, "<style>{PAGE}</style>")?;
        out.write_all(self.svg().as_bytes())?;
        writeln!(
            out,
            "<table><tr><th>arena<th>of it<th>arithmetic<th>nodes<th>computed otherwise"
        )?;
        for (index, point) in self.points.iter().enumerate() {
            let class = if self.chosen == Some(index) { " class=\"c\"" } else { "" };
            writeln!(
                out,
                "<tr{class}><td>{}<td>{}<td>{}<td>{}<td>{}",
                size::short(point.arena_bytes),
                size::percent(point.arena_bytes, self.source_arena_bytes),
                escape(&self.extra(point)),
                point.nodes,
                escape(&ways(point)),
            )?;
        }
        writeln!(out, "</table>")
    }

    fn svg(&self) -> String {
        let (width, height) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n"
        );
        let title = escape(&self.source.title);
        let _ = write!(
            svg,
            "<title>{title}: memory against arithmetic</title>\n<style>{STYLE}</style>\n\
             <rect class=\"p\" width=\"{width}\" height=\"{height}\"/>\n\
             <text class=\"h\" x=\"{LEFT}\" y=\"26\">{title}: arena against more arithmetic</text>\n\
             <rect class=\"f\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
        );
        self.draw_axes(&mut svg);
        self.draw_points(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_axes(&self, svg: &mut String) {
        for line in 0..=LINES {
            let bytes = self.source_arena_bytes / LINES * line;
            let y = self.y(bytes);
            let right = LEFT + WIDTH;
            let _ = writeln!(
                svg,
                "<path class=\"g\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                size::short(bytes),
            );
            let percent = self.most_percent() / LINES as f64 * line as f64;
            let _ = writeln!(
                svg,
                "<text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">+{percent:.0} %</text>",
                self.x(percent),
                TOP + HEIGHT + 20.0,
            );
        }
        let (x, y) = (LEFT + WIDTH / 2.0, TOP + HEIGHT + 42.0);
        let _ = writeln!(
            svg,
            "<text class=\"s\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">multiply-adds</text>"
        );
    }

    /// The steps, and a dot with a label for each point.
    fn draw_points(&self, svg: &mut String) {
        let mut path = format!("M{LEFT} {TOP}");
        let places =
            self.points.iter().map(|p| (self.x(self.extra_percent(p)), self.y(p.arena_bytes)));
        let places: Vec<(f64, f64)> = places.collect();
        for (x, y) in &places {
            let _ = write!(path, "H{x:.1}V{y:.1}");
        }
        let _ = writeln!(
            svg,
            "<path class=\"l\" d=\"{path}H{}V{}H{LEFT}Z\"/>",
            LEFT + WIDTH,
            TOP + HEIGHT
        );
        self.draw_source(svg);
        let mut labelled: Option<(f64, f64)> = None;
        for (index, ((x, y), point)) in places.iter().zip(&self.points).enumerate() {
            let is_last = index + 1 == places.len();
            let class = if self.chosen == Some(index) { "c" } else { "o" };
            let (share, extra) =
                (size::percent(point.arena_bytes, self.source_arena_bytes), self.extra(point));
            let _ = writeln!(
                svg,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{} ({share}), {}</title></circle>",
                size::long(point.arena_bytes),
                escape(&extra),
            );
            let is_near = labelled.is_some_and(|(a, b)| {
                (a - x).abs() < LEAST_DISTANCE * 5.0 && (b - y).abs() < LEAST_DISTANCE
            });
            if is_near && !is_last && self.chosen != Some(index) {
                continue;
            }
            labelled = Some((*x, *y));
            let (anchor, dx) = if *x > LEFT + WIDTH * 0.8 { ("end", -8.0) } else { ("start", 8.0) };
            let _ = writeln!(
                svg,
                "<text class=\"b\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}, {}</text>",
                x + dx,
                y - 8.0,
                size::short(point.arena_bytes),
                escape(&extra),
            );
        }
    }

    /// The model as it is, unless it is one of the points.
    fn draw_source(&self, svg: &mut String) {
        let arena = self.source_arena_bytes;
        if self.points.iter().any(|point| point.arena_bytes == arena) {
            return;
        }
        let _ = writeln!(
            svg,
            "<rect class=\"o\" x=\"{}\" y=\"{}\" width=\"8\" height=\"8\"/><text class=\"b\" x=\"{}\" y=\"{}\">as \
             it is: {}</text>",
            LEFT - 4.0,
            TOP - 4.0,
            LEFT + 10.0,
            TOP + 18.0,
            size::short(arena),
        );
    }

    /// How far the axis of arithmetic goes, in percent.
    fn most_percent(&self) -> f64 {
        let most = self.points.iter().map(|point| self.extra_percent(point));
        // Whole percents at every line.
        (most.fold(LEAST_PERCENT, f64::max) / LINES as f64).ceil() * LINES as f64
    }

    fn x(&self, percent: f64) -> f64 {
        LEFT + WIDTH * percent.max(0.0) / self.most_percent()
    }

    #[allow(clippy::cast_precision_loss, reason = "pixels")]
    fn y(&self, bytes: u64) -> f64 {
        TOP + HEIGHT * (1.0 - bytes as f64 / self.source_arena_bytes.max(1) as f64)
    }
}

/// How the page looks.
const PAGE: &str = "body{font:14px system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
svg{width:100%}table{border-collapse:collapse;margin-top:1rem}th,td{text-align:right;padding:.2rem .8rem}\
th:last-child,td:last-child{text-align:left}tr.c{font-weight:600}";

/// What is computed otherwise, in a line: how many regions of each way.
fn ways(point: &FrontierPoint) -> String {
    let mut ways: Vec<(&str, usize)> = Vec::new();
    for region in &point.regions {
        match ways.iter_mut().find(|(way, _)| *way == region.way) {
            Some((_, count)) => *count += 1,
            None => ways.push((region.way, 1)),
        }
    }
    let words: Vec<String> = ways.iter().map(|(way, count)| format!("{way} × {count}")).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}
