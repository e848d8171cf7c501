//! The packing as a picture for documents: the live bytes, and below them a map, time to the right
//! and address up, in one file that needs no other and is light or dark as its reader is.
//!
//! Time is counted in sections, as in the map. Ids are somebody else's text: they are escaped,
//! and what XML cannot hold at all is replaced.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write};

use plimsoll_pack::{BufferId, Span, Strip};

use super::{Clock, Drawing};
use crate::size;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 88.0;
const RIGHT: f64 = 24.0;
/// Below the map: the moments, and two lines of the legend.
const BOTTOM: f64 = 88.0;
/// The curve of live bytes, and the map below it.
const CURVE_TOP: f64 = 56.0;
const CURVE_HEIGHT: f64 = 72.0;
const TOP: f64 = CURVE_TOP + CURVE_HEIGHT + 24.0;

/// The least room for a line of text, and the room that a character takes.
const LINE_HEIGHT: f64 = 13.0;
const CHARACTER_WIDTH: f64 = 6.3;
/// The end of a name is shown if at least so much of it fits.
const LEAST_CHARACTERS: usize = 8;
/// The most characters of a name in the legend, and how many entries are in a line.
const LEGEND_CHARACTERS: usize = 24;
const LEGEND_COLUMNS: usize = 4;
/// What exporters put behind every name says nothing.
const EXPORTED: &str = "_output_0";
/// The room that a moment takes below the picture.
const MOMENT_WIDTH: f64 = 8.0;
/// The arena is marked at so many parts of it.
const ADDRESSES: u128 = 4;
/// The least width and height of a rectangle.
const LEAST_LINE: f64 = 1.5;
/// Rectangles below so many square pixels have no tip of their own.
const LEAST_AREA: f64 = 0.3;

/// Hues that people with any colour vision tell apart (Okabe and Ito), a little paler. The largest
/// buffers have one each, which the legend tells; then they go round.
const COLOURS: [&str; 7] =
    ["#78c3ed", "#ebb233", "#33b18f", "#d694b9", "#338ec1", "#dd7e33", "#eae06e"];

/// Light by default, dark where the reader wants that.
const STYLE: &str = "text{font:11px system-ui,sans-serif;fill:#1d2430}\
.p{fill:#fff}.f{fill:#f3f1ed}.s{fill:#5d6675}.h{font-size:14px;font-weight:600}.n{fill:#10151c}\
.a{stroke:#1d2430}.b{stroke:#b3341f;stroke-dasharray:6 3}.c{stroke:#2b6cb0;stroke-dasharray:2 2}\
.ta{font-weight:600}.tb{fill:#b3341f;font-weight:600}.tc{fill:#2b6cb0;font-weight:600}\
.l{fill:none;stroke-width:1.5}.v{fill:#4a7fb52e;stroke:#4a7fb5;stroke-width:1.5}\
.k{fill:#b3341f}.d{stroke:#b3341f;stroke-dasharray:2 3;fill:none}.m{stroke:#fff;stroke-width:.6}\
@media(prefers-color-scheme:dark){text{fill:#e6e9ee}.p{fill:#14181f}.f{fill:#1d232c}.s{fill:#98a2b1}\
.a{stroke:#e6e9ee}.b{stroke:#ff8d75}.c{stroke:#6db3ff}.tb{fill:#ff8d75}.tc{fill:#6db3ff}\
.v{fill:#7db1e333;stroke:#7db1e3}.k{fill:#ff8d75}.d{stroke:#ff8d75}\
.m{stroke:#14181f;fill-opacity:.88}}";

/// A packing with what to write above it.
pub struct Panel<'a> {
    /// What to write above it.
    pub caption: String,
    /// The packing.
    pub drawing: Drawing<'a>,
}

/// Writes one picture, panels one below another.
pub fn write_svg(out: &mut dyn Write, title: &str, panels: &[Panel<'_>]) -> io::Result<()> {
    let (width, panel_height) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    let height = panel_height * panels.len() as f64;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">"
    )?;
    writeln!(out, "<title>{}</title>", escape(title))?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<rect class=\"p\" width=\"{width}\" height=\"{height}\"/>")?;
    for (index, panel) in panels.iter().enumerate() {
        if index == 0 {
            panel.write(out)?;
        } else {
            let down = panel_height * index as f64;
            writeln!(out, "<g transform=\"translate(0 {down})\">")?;
            panel.write(out)?;
            writeln!(out, "</g>")?;
        }
    }
    writeln!(out, "</svg>")
}

impl Panel<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (caption, drawing) = (escape(&self.caption), self.drawing);
        writeln!(out, "<text class=\"h\" x=\"{LEFT}\" y=\"22\">{caption}</text>")?;
        for (top, height) in [(CURVE_TOP, CURVE_HEIGHT), (TOP, HEIGHT)] {
            let place = format!("x=\"{LEFT}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{height}\"");
            writeln!(out, "<rect class=\"f\" {place}/>")?;
        }
        let scale = drawing.scale();
        let ranks = drawing.ranks();
        drawing.write_buffers(out, &scale, &ranks)?;
        drawing.write_names(out, &scale)?;
        drawing.write_axes(out, &scale)?;
        drawing.write_curve(out, &scale)?;
        drawing.write_levels(out, &scale)?;
        drawing.write_peak(out, &scale)?;
        drawing.write_colours(out, &ranks)
    }
}

impl Drawing<'_> {
    fn scale(&self) -> Scale {
        let most = self.arena_bytes.max(self.bound_bytes).max(self.sweep.peak().0).max(1) as f64;
        Scale {
            section: WIDTH / self.sweep.len().max(1) as f64,
            byte: HEIGHT / self.arena_bytes.max(1) as f64,
            live_byte: CURVE_HEIGHT / most,
        }
    }

    /// The place of each buffer among all, the largest first.
    fn ranks(&self) -> Vec<usize> {
        let mut ids: Vec<BufferId> = self.table.problem.ids().collect();
        ids.sort_by_cached_key(|id| (Reverse(self.table.problem.buffer(*id).size), id.index()));
        let mut ranks = vec![0; ids.len()];
        for (rank, id) in ids.iter().enumerate() {
            ranks[id.index()] = rank;
        }
        ranks
    }

    fn write_buffers(&self, out: &mut dyn Write, scale: &Scale, ranks: &[usize]) -> io::Result<()> {
        let mut specks = String::new();
        writeln!(out, "<g class=\"m\">")?;
        for id in self.table.problem.ids() {
            let offset = self.solution.offset(id);
            let places = self.sweep.pieces(id).iter().map(|strip| scale.place(strip, offset));
            let places: Vec<Rect> = places.collect();
            let area: f64 = places.iter().map(|place| place.width * place.height).sum();
            if area < LEAST_AREA {
                draw_all(&places, &mut specks);
            } else {
                self.write_buffer(out, id, colour(ranks[id.index()]), &places)?;
            }
        }
        if !specks.is_empty() {
            writeln!(out, "<path fill=\"{}\" d=\"{specks}\"/>", COLOURS[0])?;
        }
        writeln!(out, "</g>")
    }

    fn write_buffer(
        &self,
        out: &mut dyn Write,
        id: BufferId,
        fill: &str,
        places: &[Rect],
    ) -> io::Result<()> {
        let buffer = self.table.problem.buffer(id);
        let name = escape(self.table.name(id));
        let mut shape = String::new();
        draw_all(places, &mut shape);
        let (size, life, offset) = (buffer.size, buffer.life, self.solution.offset(id));
        writeln!(
            out,
            "<path fill=\"{fill}\" d=\"{shape}\"><title>{name}: {size} bytes, life {life}, \
             offset {offset}</title></path>"
        )
    }

    /// The largest buffers with their colours, and how many more there are.
    fn write_colours(&self, out: &mut dyn Write, ranks: &[usize]) -> io::Result<()> {
        let mut largest: Vec<BufferId> =
            self.table.problem.ids().filter(|id| ranks[id.index()] < COLOURS.len()).collect();
        largest.sort_by_cached_key(|id| ranks[id.index()]);
        let at = |entry: usize| {
            let (row, column) = (entry / LEGEND_COLUMNS, entry % LEGEND_COLUMNS);
            let x = LEFT + column as f64 * WIDTH / LEGEND_COLUMNS as f64;
            (x, TOP + HEIGHT + 58.0 + row as f64 * 18.0)
        };
        writeln!(out, "<g>")?;
        for (rank, id) in largest.iter().enumerate() {
            let (x, y) = at(rank);
            let (fill, top) = (colour(rank), y - 9.0);
            let name = legend_name(self.table.name(*id));
            let bytes = size::short(self.table.problem.buffer(*id).size);
            write!(
                out,
                "<rect x=\"{x}\" y=\"{top}\" width=\"10\" height=\"10\" fill=\"{fill}\"/>"
            )?;
            let text = x + 15.0;
            writeln!(out, "<text x=\"{text}\" y=\"{y}\">{} {bytes}</text>", escape(&name))?;
        }
        if let more @ 1.. = self.table.problem.len() - largest.len() {
            let (x, y) = at(largest.len());
            let smaller = format!("and {more} more, colours go round");
            writeln!(out, "<text class=\"s\" x=\"{x}\" y=\"{y}\">{smaller}</text>")?;
        }
        writeln!(out, "</g>")
    }

    /// The names of the buffers that have room for one, on their first piece.
    fn write_names(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        writeln!(out, "<g pointer-events=\"none\">")?;
        for id in self.table.problem.ids() {
            let Some(strip) = self.sweep.pieces(id).first() else { continue };
            let place = scale.place(strip, self.solution.offset(id));
            let size = size::short(self.table.problem.buffer(id).size);
            place.write_name(out, short_name(self.table.name(id)), &size)?;
        }
        writeln!(out, "</g>")
    }

    fn write_axes(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        writeln!(out, "<g text-anchor=\"end\">")?;
        let arena = u128::from(self.arena_bytes);
        let at = |quarter| (arena * quarter / ADDRESSES) as u64;
        let mut addresses: Vec<u64> = (0..=ADDRESSES).map(at).collect();
        addresses.dedup();
        for address in addresses {
            let (x, y) = (short(LEFT - 6.0), short(scale.y(address) + 4.0));
            let text = size::short(address);
            writeln!(out, "<text class=\"s\" x=\"{x}\" y=\"{y}\">{text}</text>")?;
        }
        writeln!(out, "</g>\n<g text-anchor=\"middle\">")?;
        self.write_moments(out, scale)?;
        for (word, middle) in
            [("live", CURVE_TOP + CURVE_HEIGHT / 2.0), ("address", TOP + HEIGHT / 2.0)]
        {
            let turned = format!("transform=\"rotate(-90 16 {middle})\"");
            writeln!(out, "<text class=\"s\" x=\"16\" y=\"{middle}\" {turned}>{word}</text>")?;
        }
        let (x, y) = (LEFT + WIDTH / 2.0, TOP + HEIGHT + 38.0);
        let what = match self.clock {
            Clock::Moments => "time",
            Clock::Steps(_) => "step",
        };
        writeln!(out, "<text class=\"s\" x=\"{x}\" y=\"{y}\">{what}</text>\n</g>")
    }

    /// The moments between sections, as many as there is room for.
    fn write_moments(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        let (mut free_from, mut last) = (0.0, String::new());
        for border in 0..=self.sweep.len() {
            let moment = match border.checked_sub(1) {
                Some(section) => self.sweep.life_of(section).end,
                None if self.sweep.is_empty() => break,
                None => self.sweep.life_of(0).start,
            };
            let (x, text) = (scale.x(border), self.clock.tell(moment));
            let half = text.len() as f64 * MOMENT_WIDTH / 2.0;
            if x - half >= free_from && text != last {
                let (at, y) = (short(x), TOP + HEIGHT + 18.0);
                writeln!(out, "<text class=\"s\" x=\"{at}\" y=\"{y}\">{text}</text>")?;
                free_from = x + half + MOMENT_WIDTH;
                last = text;
            }
        }
        Ok(())
    }

    /// The bytes that are alive in each section.
    fn write_curve(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        if self.sweep.is_empty() {
            return Ok(());
        }
        let mut shape = format!("M{LEFT} {}", CURVE_TOP + CURVE_HEIGHT);
        let mut drawn_to = 0.0;
        let mut most = 0;
        for (section, bytes) in self.sweep.load().iter().enumerate() {
            most = most.max(*bytes);
            let end = scale.x(section + 1);
            // Sections that share half a pixel are one, the highest.
            if end - drawn_to >= 0.5 || section + 1 == self.sweep.len() {
                let _ = write!(shape, "V{}H{}", short(scale.live_y(most)), short(end));
                (drawn_to, most) = (end, 0);
            }
        }
        let bottom = CURVE_TOP + CURVE_HEIGHT;
        writeln!(out, "<path class=\"v\" d=\"{shape}V{bottom}\"/>")
    }

    /// The lines at the arena, the lower bound, and a capacity below the arena: among the live bytes,
    /// and in the map where they are not its upper edge.
    fn write_levels(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        let arena = self.arena_bytes;
        let capacity = self.capacity.filter(|c| *c < arena);
        let levels = [
            Some(("arena", arena, "a")),
            Some(("lower bound", self.bound_bytes, "b")),
            capacity.map(|c| ("budget", c, "c")),
        ];
        for (what, bytes, class) in levels.into_iter().flatten() {
            let right = LEFT + WIDTH;
            let mut shape = format!("M{LEFT} {}H{right}", short(scale.live_y(bytes)));
            if bytes < arena {
                let _ = write!(shape, "M{LEFT} {}H{right}", short(scale.y(bytes)));
            }
            writeln!(
                out,
                "<path class=\"l {class}\" d=\"{shape}\"><title>{what}: {bytes} bytes</title></path>"
            )?;
        }
        writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">", CURVE_TOP - 10.0)?;
        for (what, bytes, class) in levels.into_iter().flatten() {
            let bytes = size::short(bytes);
            writeln!(out, "<tspan dx=\"8\" class=\"t{class}\">&#9473; {what} {bytes}</tspan>")?;
        }
        writeln!(out, "</text>")
    }

    /// The first moment at which most bytes are alive.
    fn write_peak(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        let (bytes, Some(section)) = self.sweep.peak() else { return Ok(()) };
        let (x, y) = (scale.x(section) + scale.section / 2.0, scale.live_y(bytes));
        let (bottom, at) = (TOP + HEIGHT, short(x));
        writeln!(out, "<path class=\"d\" d=\"M{at} {}V{bottom}\"/>", short(y))?;
        writeln!(out, "<circle class=\"k\" cx=\"{at}\" cy=\"{}\" r=\"3.5\"/>", short(y))?;
        let (anchor, at) = match x {
            x if x > LEFT + WIDTH - 80.0 => ("end", x - 6.0),
            x => ("start", x + 6.0),
        };
        let (at, y) = (short(at), TOP - 8.0);
        let moment = self.clock.tell(self.sweep.life_of(section).start);
        let when = match self.clock {
            Clock::Steps(steps) if moment != "end" => format!("in step {moment} of {steps}"),
            Clock::Moments | Clock::Steps(_) => format!("at {moment}"),
        };
        let bytes = size::short(bytes);
        writeln!(
            out,
            "<text class=\"tb\" x=\"{at}\" y=\"{y}\" text-anchor=\"{anchor}\">peak {bytes} {when}</text>"
        )
    }
}

/// How many pixels a section is wide, and how high a byte is in the map and in the curve.
struct Scale {
    section: f64,
    byte: f64,
    live_byte: f64,
}

struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Scale {
    fn x(&self, border: usize) -> f64 {
        LEFT + border as f64 * self.section
    }

    fn y(&self, address: u64) -> f64 {
        TOP + HEIGHT - address as f64 * self.byte
    }

    fn live_y(&self, bytes: u64) -> f64 {
        CURVE_TOP + CURVE_HEIGHT - bytes as f64 * self.live_byte
    }

    fn place(&self, strip: &Strip, offset: u64) -> Rect {
        let Strip { sections, span } = strip;
        let Span { lo, hi } = span.shifted(offset);
        let (x, y) = (self.x(sections.start as usize), self.y(hi));
        Rect { x, y, width: self.x(sections.end as usize) - x, height: self.y(lo) - y }
    }
}

impl Rect {
    /// Appends its outline to a path.
    fn draw(&self, path: &mut String) {
        // None is too thin to be seen.
        let (width, height) = (self.width.max(LEAST_LINE), self.height.max(LEAST_LINE));
        let (x, y) = (short(self.x), short(self.y + self.height - height));
        let (width, height) = (short(width), short(height));
        // Writing to a string does not fail.
        let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
    }

    /// Writes a name and, where there is room, a size into it: upwards where it is tall and narrow.
    fn write_name(&self, out: &mut dyn Write, name: &str, size: &str) -> io::Result<()> {
        let needed = name.chars().count() as f64 * CHARACTER_WIDTH;
        let is_upright = needed > self.width - 8.0 && self.height > self.width;
        let (along, across) =
            if is_upright { (self.height, self.width) } else { (self.width, self.height) };
        let Some(shown) = shortened(name, along - 8.0) else { return Ok(()) };
        if across < LINE_HEIGHT {
            return Ok(());
        }
        let (x, y) = if is_upright {
            (self.x + self.width / 2.0, self.y + self.height - 5.0)
        } else {
            (self.x + 5.0, self.y + self.height / 2.0)
        };
        let (x, y) = (short(x), short(y));
        let turn = if is_upright { " rotate(-90)" } else { "" };
        write!(out, "<g transform=\"translate({x} {y}){turn}\">")?;
        let shown = escape(&shown);
        let has_size =
            across >= 2.5 * LINE_HEIGHT && size.len() as f64 * CHARACTER_WIDTH <= along - 8.0;
        if has_size {
            write!(out, "<text class=\"n\" y=\"-2\">{shown}</text>")?;
            write!(out, "<text class=\"n\" y=\"11\" opacity=\".7\">{size}</text>")?;
        } else {
            write!(out, "<text class=\"n\" y=\"4\">{shown}</text>")?;
        }
        writeln!(out, "</g>")
    }
}

/// The colour of the buffer that comes there, the largest first.
fn colour(rank: usize) -> &'static str {
    COLOURS[rank % COLOURS.len()]
}

/// The name without what says nothing.
fn short_name(name: &str) -> &str {
    name.strip_suffix(EXPORTED).filter(|short| !short.is_empty()).unwrap_or(name)
}

/// The end of a name for the legend.
fn legend_name(name: &str) -> String {
    let name = short_name(name);
    match name.chars().count().checked_sub(LEGEND_CHARACTERS) {
        None | Some(0) => name.to_owned(),
        Some(over) => format!("…{}", name.chars().skip(over).collect::<String>()),
    }
}

/// Appends the outlines to a path.
fn draw_all(places: &[Rect], path: &mut String) {
    for place in places {
        place.draw(path);
    }
}

/// As much of the end of a name as there is room for, since names that belong together begin alike;
/// `None` if that is too little to be of use.
fn shortened(name: &str, room: f64) -> Option<Cow<'_, str>> {
    let count = name.chars().count();
    let fitting = (1..=count).take_while(|n| *n as f64 * CHARACTER_WIDTH <= room).count();
    if count <= fitting {
        return Some(Cow::Borrowed(name));
    }
    let keep = fitting.checked_sub(1).filter(|keep| *keep >= LEAST_CHARACTERS)?;
    let end: String = name.chars().skip(count - keep).collect();
    Some(Cow::Owned(format!("…{end}")))
}

/// A coordinate with one decimal, and none where it is whole.
fn short(at: f64) -> String {
    let text = format!("{at:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The text with nothing in it that XML would take for its own.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| escaped(c).is_none()) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match escaped(c) {
            Some(replacement) => safe.push_str(replacement),
            None => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

fn escaped(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' | '\n' | '\r' => Some(" "),
        // Not a character of XML 1.0, not even escaped.
        '\0'..' ' | '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_is_shown_where_that_is_of_use() {
        assert_eq!(shortened("block.1.conv", 80.0).as_deref(), Some("block.1.conv"));
        assert_eq!(shortened("block.1.conv", 70.0).as_deref(), Some("…ock.1.conv"));
        assert_eq!(shortened("block.1.conv", 56.0), None);
        assert_eq!(shortened("x", -3.0), None);
    }

    #[test]
    fn names_in_the_legend_are_short() {
        assert_eq!(short_name("/a/Conv_output_0"), "/a/Conv");
        assert_eq!(short_name("_output_0"), "_output_0");
        assert_eq!(legend_name("/a/Conv_output_0"), "/a/Conv");
        let long = "/features/features.2/conv/conv.1/conv.1.0/Conv_output_0";
        assert_eq!(legend_name(long), "…onv/conv.1/conv.1.0/Conv");
        assert_eq!(legend_name(long).chars().count(), LEGEND_CHARACTERS + 1);
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([96.0, 1.25, 0.04, -3.96].map(short), ["96", "1.2", "0", "-4"]);
    }

    #[test]
    fn ids_cannot_break_out_of_the_text() {
        assert_eq!(escape("conv/é"), "conv/é");
        assert_eq!(escape("<a href='x'>&\"b\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;b&quot;");
        assert_eq!(escape("]]>"), "]]&gt;");
        assert_eq!(escape("a\0\u{1b}\u{ffff}b\nc"), "a\u{fffd}\u{fffd}\u{fffd}b c");
    }
}
