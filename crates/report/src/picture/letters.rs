//! The packing as a small map in letters, time to the right and address up.
//!
//! Time is counted in sections of the sweep, not in moments: sparse and huge times look no worse
//! than 0, 1, 2, …. A few buffers get a letter each, and a cell shows the one that takes most of
//! it; many are shown as shades, by how much of a cell is in use. Areas are exact integers.
//! Cost: O(pieces × cells that each touches).

use std::fmt::Write;
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use plimsoll_pack::{BufferId, Problem, Solution, Span, Sweep};

const MOST_COLUMNS: usize = 56;
const MOST_ROWS: usize = 16;
/// A section is at most this wide.
const MOST_SECTION_COLUMNS: usize = 6;

const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
/// For a cell that is in use: up to a quarter, a half, three quarters, all of it.
const SHADES: [char; 4] = ['.', ':', '+', '#'];
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::Red,
];

/// The letter of a buffer, if the problem is small enough for letters.
pub(super) fn letter(problem: &Problem, id: BufferId) -> Option<char> {
    let few = problem.len() <= LETTERS.len();
    few.then(|| LETTERS[id.index()]).map(char::from)
}

/// The colour of a buffer.
pub(super) fn colour(id: BufferId) -> Style {
    COLOURS[id.index() % COLOURS.len()].on_default()
}

/// Time × address in cells.
pub(super) struct Map<'a> {
    problem: &'a Problem,
    sweep: &'a Sweep,
    arena_bytes: u64,
    columns: usize,
    rows: usize,
    /// Row by row from address 0.
    cells: Vec<Cell>,
}

/// What is in a cell; areas are in units that make them whole numbers.
#[derive(Clone, Default)]
struct Cell {
    used: u128,
    /// The buffer that takes most of it, and how much.
    most: Option<(u128, BufferId)>,
}

impl<'a> Map<'a> {
    /// Draws the packing; `None` if there is nothing to see.
    pub(super) fn draw(
        problem: &'a Problem,
        sweep: &'a Sweep,
        solution: &Solution,
    ) -> Option<Self> {
        let arena_bytes = solution.arena_bytes(problem);
        if sweep.is_empty() || arena_bytes == 0 {
            return None;
        }
        let columns = match MOST_COLUMNS / sweep.len() {
            0 => MOST_COLUMNS,
            width => sweep.len() * width.min(MOST_SECTION_COLUMNS),
        };
        let rows = usize::try_from(arena_bytes).map_or(MOST_ROWS, |a| a.min(MOST_ROWS));
        let cells = vec![Cell::default(); rows * columns];
        let mut map = Map { problem, sweep, arena_bytes, columns, rows, cells };
        for id in problem.ids() {
            for strip in sweep.pieces(id) {
                map.add(id, strip.sections.range(), strip.span.shifted(solution.offset(id)));
            }
        }
        Some(map)
    }

    fn add(&mut self, id: BufferId, sections: Range<usize>, span: Span) {
        let wide = Axis { cells: self.columns, length: self.sweep.len() as u128 };
        let high = Axis { cells: self.rows, length: u128::from(self.arena_bytes) };
        let (start, end) = (sections.start as u128, sections.end as u128);
        for (row, height) in high.shares(u128::from(span.lo), u128::from(span.hi)) {
            for (column, width) in wide.shares(start, end) {
                let cell = &mut self.cells[row * self.columns + column];
                let area = width * height;
                cell.used += area;
                if cell.most.is_none_or(|(most, _)| area > most) {
                    cell.most = Some((area, id));
                }
            }
        }
    }

    /// The rows from the top down, each with the addresses that it stands for.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Span, String)> + '_ {
        let edge =
            |row: usize| (u128::from(self.arena_bytes) * row as u128 / self.rows as u128) as u64;
        let rows = self.cells.chunks(self.columns).enumerate().rev();
        rows.map(move |(row, cells)| (Span::new(edge(row), edge(row + 1)), self.line(cells)))
    }

    /// How many characters a row has.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    fn line(&self, cells: &[Cell]) -> String {
        let mut line = String::new();
        for run in cells.chunk_by(|a, b| self.looks(a) == self.looks(b)) {
            let (shown, style) = self.looks(&run[0]);
            let text = shown.to_string().repeat(run.len());
            let _ = write!(line, "{style}{text}{style:#}");
        }
        line
    }

    fn looks(&self, cell: &Cell) -> (char, Style) {
        let Some((_, id)) = cell.most else { return (' ', Style::new()) };
        match letter(self.problem, id) {
            Some(letter) => (letter, colour(id)),
            None => (self.shade(cell.used), Style::new()),
        }
    }

    fn shade(&self, used: u128) -> char {
        let whole = self.sweep.len() as u128 * u128::from(self.arena_bytes);
        let quarters = (used * 4).div_ceil(whole.max(1)).clamp(1, 4);
        SHADES[quarters as usize - 1]
    }

    /// The moments below the map in somebody's words, as many as there is room for; none twice.
    pub(super) fn moments(&self, tell: impl Fn(i64) -> String) -> String {
        let sections = self.sweep.len();
        let (mut line, mut last) = (String::new(), String::new());
        for border in 0..=sections {
            let column = border * self.columns / sections;
            let moment = match border {
                0 => self.sweep.life_of(0).start,
                _ => self.sweep.life_of(border - 1).end,
            };
            let moment = tell(moment);
            if (line.is_empty() || line.len() + 1 < column) && moment != last {
                let _ = write!(line, "{:1$}{moment}", "", column - line.len());
                last = moment;
            }
        }
        line
    }
}

/// One direction of the map: `length` units in `cells` cells.
struct Axis {
    cells: usize,
    length: u128,
}

impl Axis {
    /// The cells that `[lo, hi)` touches, and how much of each it takes. A cell is `length` long
    /// here and a unit `cells`, so that both are whole.
    fn shares(&self, lo: u128, hi: u128) -> impl Iterator<Item = (usize, u128)> + use<> {
        let (cells, length) = (self.cells, self.length);
        let (lo, hi) = (lo * cells as u128, hi * cells as u128);
        let touched = (lo / length) as usize..cells.min(hi.div_ceil(length) as usize);
        touched.map(move |cell| {
            let start = cell as u128 * length;
            (cell, hi.min(start + length) - lo.max(start))
        })
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_pack::{Buffer, Life};

    use super::*;

    fn drawn(problem: &Problem, offsets: &[u64]) -> Vec<String> {
        let sweep = Sweep::new(problem);
        let map = Map::draw(problem, &sweep, &Solution::new(offsets.to_vec())).expect("a map");
        let plain = |(_, line): (Span, String)| anstream::adapter::strip_str(&line).to_string();
        map.lines().map(plain).chain([map.moments(|time| time.to_string())]).collect()
    }

    fn problem(buffers: &[(u64, i64, i64)]) -> Problem {
        let buffer =
            |(size, start, end): &(u64, i64, i64)| Buffer::new(*size, Life::new(*start, *end));
        Problem::new(buffers.iter().map(buffer).collect()).expect("valid")
    }

    #[test]
    fn letters_stand_where_the_buffers_are() {
        let problem = problem(&[(1, 0, 2), (2, 1, 3), (1, 2, 3)]);
        let expected = [
            "      bbbbbbbbbbbb",
            "      bbbbbbbbbbbb",
            "aaaaaaaaaaaacccccc",
            "0     1     2     3",
        ];
        assert_eq!(drawn(&problem, &[0, 1, 0]), expected);
    }

    #[test]
    fn a_gap_is_left_open() {
        let gap = plimsoll_pack::Gap { life: Life::new(1, 2), window: Some(Span::new(1, 2)) };
        let buffer = Buffer { gaps: vec![gap], ..Buffer::new(2, Life::new(0, 3)) };
        let problem = Problem::new(vec![buffer]).expect("valid");
        let expected = ["aaaaaaaaaaaaaaaaaa", "aaaaaa      aaaaaa", "0     1     2     3"];
        assert_eq!(drawn(&problem, &[0]), expected);
    }

    #[test]
    fn many_buffers_are_shades_of_what_is_in_use() {
        // 64 bytes high and 64 sections wide; the lower left quarter is full, and one byte more.
        let mut buffers = vec![(1, 0, 32); 32];
        buffers.extend((32..64).map(|start| (1, start, start + 1)));
        let problem = problem(&buffers);
        let mut offsets: Vec<u64> = (0..32).collect();
        offsets.extend([63; 32]);
        let lines = drawn(&problem, &offsets);
        assert_eq!(lines.len(), MOST_ROWS + 1);
        assert!(lines[0].trim_start().chars().all(|c| c == '.'), "{lines:?}");
        assert!(lines[15].trim_end().chars().all(|c| c == '#'), "{lines:?}");
    }

    #[test]
    fn sparse_and_extreme_moments_take_no_room() {
        let problem = problem(&[(5, i64::MIN, 0), (7, 0, 995_328), (3, 995_328, i64::MAX)]);
        let lines = drawn(&problem, &[0, 0, 0]);
        assert_eq!(lines[6], "aaaaaabbbbbbcccccc");
        assert_eq!(lines.last().map(String::as_str), Some("-9223372036854775808"));
    }
}
