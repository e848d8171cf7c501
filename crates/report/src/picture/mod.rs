//! A packing to look at, time × address, whoever made it: as a map in letters with a legend here,
//! as a picture in `svg`.

mod letters;
mod svg;

use std::io::{self, Write};

use letters::{Map, colour, letter};
use plimsoll_pack::csv::Table;
use plimsoll_pack::{Life, Solution, Sweep};

pub(crate) use svg::escape;
pub use svg::{Panel, write_svg};

use crate::size;
use crate::words::plain;

/// A packing, and the levels to mark in it.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    /// The problem, with names.
    pub table: &'a Table,
    /// An offset for each buffer.
    pub solution: &'a Solution,
    /// The sweep over the problem.
    pub sweep: &'a Sweep,
    /// How high it is.
    pub arena_bytes: u64,
    /// How high it is at least.
    pub bound_bytes: u64,
    /// How high it may be.
    pub capacity: Option<u64>,
    /// What its times are.
    pub clock: Clock,
}

/// What the times of a packing are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Whatever they are.
    Moments,
    /// Points of a run of so many steps, two for each.
    Steps(usize),
}

impl Clock {
    /// A time in a picture; steps are counted from 1.
    #[must_use]
    pub fn tell(self, time: i64) -> String {
        match self {
            Clock::Moments => time.to_string(),
            Clock::Steps(steps) => match usize::try_from(time / 2) {
                Ok(step) if step < steps => (step + 1).to_string(),
                _ => "end".to_owned(),
            },
        }
    }

    /// A life in a legend: `[2, 7)`, or the first and the last step that belong to it.
    fn tell_life(self, life: Life) -> String {
        if self == Clock::Moments || life.end <= life.start {
            return life.to_string();
        }
        let (first, last) = (self.tell(life.start), self.tell(life.end - 1));
        if first == last { first } else { format!("{first} to {last}") }
    }

    /// What lives are counted in.
    fn unit(self) -> &'static str {
        match self {
            Clock::Moments => "life",
            Clock::Steps(_) => "steps",
        }
    }
}

impl Drawing<'_> {
    /// Writes the map and its legend, a blank line before each; nothing if there is nothing to see.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(map) = Map::draw(&self.table.problem, self.sweep, self.solution) else {
            return Ok(());
        };
        let (arena, bound) = (self.arena_bytes, self.bound_bytes);
        let border = "-".repeat(map.columns());
        let top = if arena == bound { " = bound" } else { "" };
        writeln!(out, "\n{:>11} +{border}+{top}", size::short(arena))?;
        for (span, cells) in map.lines() {
            let is_bound = span.lo < bound && bound <= span.hi && bound < arena;
            let mark = if is_bound { " < bound" } else { "" };
            writeln!(out, "{:>11} |{cells}|{mark}", "")?;
        }
        let what = if self.clock == Clock::Moments { "time" } else { "step" };
        writeln!(out, "{:>11} +{border}+ {what}", 0)?;
        writeln!(out, "{:>11}  {}", "", map.moments(|time| self.clock.tell(time)))?;
        self.write_legend(out)
    }

    fn write_legend(&self, out: &mut dyn Write) -> io::Result<()> {
        let problem = &self.table.problem;
        let lives = problem.buffers().iter().map(|buffer| self.clock.tell_life(buffer.life));
        let lives: Vec<String> = lives.collect();
        let unit = self.clock.unit();
        let life_width = lives.iter().map(String::len).max().unwrap_or(0).max(unit.len());
        let number_width = self.arena_bytes.to_string().len().max(6);
        for (id, life) in problem.ids().zip(&lives) {
            // All or none have a letter.
            let Some(letter) = letter(problem, id) else {
                return writeln!(out, "\n. : + #  up to 1/4, 1/2, 3/4, all of a cell is in use");
            };
            if id.index() == 0 {
                let (number, life) = (number_width, life_width);
                writeln!(out, "\n   {:>number$}  {:>number$}  {unit:life$}  id", "offset", "size")?;
            }
            let (offset, size) = (self.solution.offset(id), problem.buffer(id).size);
            let style = colour(id);
            writeln!(
                out,
                "{style}{letter}{style:#}  {offset:>number_width$}  {size:>number_width$}  \
                 {life:life_width$}  {}",
                plain(self.table.name(id))
            )?;
        }
        Ok(())
    }
}
