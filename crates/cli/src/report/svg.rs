//! The packing as a picture, time to the right and address up, in one file that needs no other.
//!
//! Time is counted in sections, as in the map. Ids are somebody else's text: they are escaped,
//! and what XML cannot hold at all is replaced.

use std::borrow::Cow;
use std::io::{self, Write};

use plimsoll_pack::{BufferId, Span, Strip};

use super::Drawing;
use crate::size;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 96.0;
const TOP: f64 = 48.0;
const RIGHT: f64 = 32.0;
const BOTTOM: f64 = 56.0;

/// The least room for a name in a rectangle, and the room that a character takes.
const NAME_HEIGHT: f64 = 12.0;
const CHARACTER_WIDTH: f64 = 6.5;
/// The room that a moment takes below the picture.
const MOMENT_WIDTH: f64 = 8.0;
/// The arena is marked at so many parts of it.
const ADDRESSES: u128 = 4;

/// Colours that neighbours in a problem do not share.
const COLOURS: [&str; 10] = [
    "#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5",
    "#d9d9d9", "#bc80bd",
];

/// A packing with what to write above it.
pub(crate) struct Panel<'a> {
    pub(crate) caption: String,
    pub(crate) drawing: Drawing<'a>,
}

/// Writes one picture, panels one below another.
pub(crate) fn write_svg(out: &mut dyn Write, title: &str, panels: &[Panel<'_>]) -> io::Result<()> {
    let (width, panel_height) = (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    let height = panel_height * panels.len() as f64;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">"
    )?;
    writeln!(out, "<title>{}</title>", escape(title))?;
    writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>")?;
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
        writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{caption}</text>")?;
        let scale = drawing.scale();
        writeln!(out, "<g stroke=\"#333\" stroke-width=\"0.5\">")?;
        for id in drawing.table.problem.ids() {
            drawing.write_buffer(out, &scale, id, drawing.solution.offset(id))?;
        }
        writeln!(out, "</g>")?;
        drawing.write_names(out, &scale)?;
        drawing.write_axes(out, &scale)?;
        drawing.write_levels(out, &scale)
    }
}

impl Drawing<'_> {
    fn scale(&self) -> Scale {
        Scale {
            section: WIDTH / self.sweep.len().max(1) as f64,
            byte: HEIGHT / self.arena_bytes.max(1) as f64,
        }
    }

    fn write_buffer(
        &self,
        out: &mut dyn Write,
        scale: &Scale,
        id: BufferId,
        offset: u64,
    ) -> io::Result<()> {
        let buffer = self.table.problem.buffer(id);
        let name = escape(self.table.name(id));
        let fill = COLOURS[id.index() % COLOURS.len()];
        writeln!(out, "<g fill=\"{fill}\">")?;
        writeln!(
            out,
            "<title>{name}: {} bytes, life {}, offset {offset}</title>",
            buffer.size, buffer.life
        )?;
        for strip in self.sweep.pieces(id) {
            let Rect { x, y, width, height } = scale.place(strip, offset);
            writeln!(
                out,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>"
            )?;
        }
        writeln!(out, "</g>")
    }

    /// The names of the buffers that have room for one, on their first piece.
    fn write_names(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        writeln!(out, "<g pointer-events=\"none\" text-anchor=\"middle\">")?;
        for id in self.table.problem.ids() {
            let name = self.table.name(id);
            let Some(strip) = self.sweep.pieces(id).first() else { continue };
            let Rect { x, y, width, height } = scale.place(strip, self.solution.offset(id));
            let needed = name.chars().count() as f64 * CHARACTER_WIDTH;
            if width >= needed && height >= NAME_HEIGHT {
                let (x, y) = (x + width / 2.0, y + height / 2.0 + 4.0);
                writeln!(out, "<text x=\"{x:.2}\" y=\"{y:.2}\">{}</text>", escape(name))?;
            }
        }
        writeln!(out, "</g>")
    }

    fn write_axes(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
        writeln!(
            out,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>"
        )?;
        writeln!(out, "<g fill=\"#333\" text-anchor=\"end\">")?;
        let arena = u128::from(self.arena_bytes);
        let at = |quarter| (arena * quarter / ADDRESSES) as u64;
        let mut addresses: Vec<u64> = (0..=ADDRESSES).map(at).collect();
        addresses.dedup();
        for address in addresses {
            let (x, y) = (LEFT - 6.0, scale.y(address) + 4.0);
            writeln!(out, "<text x=\"{x:.2}\" y=\"{y:.2}\">{}</text>", size::short(address))?;
        }
        writeln!(out, "</g>\n<g fill=\"#333\" text-anchor=\"middle\">")?;
        self.write_moments(out, scale)?;
        let middle = TOP + HEIGHT / 2.0;
        let turned = format!("transform=\"rotate(-90 16 {middle})\"");
        writeln!(out, "<text x=\"16\" y=\"{middle}\" {turned}>address</text>")?;
        let (x, y) = (LEFT + WIDTH / 2.0, bottom + 40.0);
        writeln!(out, "<text x=\"{x}\" y=\"{y}\">time</text>\n</g>")
    }

    /// The moments between sections, as many as there is room for.
    fn write_moments(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        let mut free_from = 0.0;
        for border in 0..=self.sweep.len() {
            let moment = match border.checked_sub(1) {
                Some(section) => self.sweep.life_of(section).end,
                None if self.sweep.is_empty() => break,
                None => self.sweep.life_of(0).start,
            };
            let (x, text) = (scale.x(border), moment.to_string());
            let half = text.len() as f64 * MOMENT_WIDTH / 2.0;
            if x - half >= free_from {
                let y = TOP + HEIGHT + 18.0;
                writeln!(out, "<text x=\"{x:.2}\" y=\"{y}\">{text}</text>")?;
                free_from = x + half;
            }
        }
        Ok(())
    }

    /// The lines at the arena, the lower bound, and a capacity below the arena.
    fn write_levels(&self, out: &mut dyn Write, scale: &Scale) -> io::Result<()> {
        let arena = self.arena_bytes;
        let capacity = self.capacity.filter(|c| *c < arena);
        let levels = [
            Some(("arena", arena, "#333", "none")),
            Some(("lower bound", self.bound_bytes, "#c00", "6 3")),
            capacity.map(|c| ("capacity", c, "#06c", "2 2")),
        ];
        for (what, bytes, colour, dashes) in levels.into_iter().flatten() {
            let (y, right) = (scale.y(bytes), LEFT + WIDTH);
            writeln!(
                out,
                "<path d=\"M{LEFT} {y:.2}H{right}\" stroke=\"{colour}\" stroke-width=\"1.5\" \
                 stroke-dasharray=\"{dashes}\"><title>{what}: {bytes} bytes</title></path>"
            )?;
        }
        writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">", TOP - 10.0)?;
        for (what, _, colour, _) in levels.into_iter().flatten() {
            writeln!(out, "<tspan dx=\"8\" fill=\"{colour}\">&#9473; {what}</tspan>")?;
        }
        writeln!(out, "</text>")
    }
}

/// How many pixels a section is wide and a byte is high.
struct Scale {
    section: f64,
    byte: f64,
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

    fn place(&self, strip: &Strip, offset: u64) -> Rect {
        let Strip { sections, span } = strip;
        let Span { lo, hi } = span.shifted(offset);
        let (x, y) = (self.x(sections.start as usize), self.y(hi));
        Rect { x, y, width: self.x(sections.end as usize) - x, height: self.y(lo) - y }
    }
}

/// The text with nothing in it that XML would take for its own.
fn escape(text: &str) -> Cow<'_, str> {
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
    fn ids_cannot_break_out_of_the_text() {
        assert_eq!(escape("conv/é"), "conv/é");
        assert_eq!(escape("<a href='x'>&\"b\""), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;b&quot;");
        assert_eq!(escape("]]>"), "]]&gt;");
        assert_eq!(escape("a\0\u{1b}\u{ffff}b\nc"), "a\u{fffd}\u{fffd}\u{fffd}b c");
    }
}
