//! What fitting a model into two memories found: bytes moved against arithmetic, for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll::{Moved, SpillBanks};

use crate::origin::Origin;
use crate::size;
use crate::words::{bold, plain};

/// A model in forms that move more or fewer bytes between two memories.
#[derive(Clone, Debug)]
pub struct TwoMemoriesReport<'a> {
    /// The model.
    pub source: &'a Origin,
    /// The memories.
    pub banks: &'a SpillBanks,
    /// The multiply-adds of the model as it is.
    pub source_multiply_adds: u64,
    /// Everything that was tried.
    pub tried: Vec<Tried>,
    /// The one that moves fewest bytes.
    pub chosen: Option<usize>,
    /// Whether the time limit ended the search before everything was tried.
    pub stopped: bool,
}

/// One form of a model.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What it would need in one memory.
    pub arena_bytes: u64,
    /// Its multiply-adds.
    pub multiply_adds: u64,
    /// How many nodes it has.
    pub nodes: usize,
    /// What is moved, and what is used of both memories; or why it does not run in them.
    pub outcome: Result<InTwo, String>,
}

/// What a form takes of two memories.
#[derive(Clone, Copy, Debug)]
pub struct InTwo {
    /// What is copied.
    pub moved: Moved,
    /// What is used of the fast one.
    pub fast_bytes: u64,
    /// What is used of the slow one.
    pub slow_bytes: u64,
}

impl TwoMemoriesReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::new().bold();
        writeln!(out, "{style}{}{style:#}: fit in two memories", plain(&self.source.name))?;
        let SpillBanks { fast, capacity, slow } = self.banks;
        writeln!(out, "{:>12}  {}", plain(fast), size::long(*capacity))?;
        writeln!(out, "{:>12}  as large as needed", plain(slow))?;
        let columns = ["moved", plain(fast).as_str(), plain(slow).as_str(), "one memory"]
            .map(|column| format!("{column:>12}"));
        writeln!(out, "\n{style}{}  arithmetic     nodes{style:#}", columns.concat())?;
        for (index, tried) in self.tried.iter().enumerate() {
            self.write_row(out, tried, self.chosen == Some(index))?;
        }
        self.write_answer(out)?;
        if self.stopped {
            writeln!(out, "\nthe time limit ended the search before everything was tried")?;
        }
        Ok(())
    }

    fn write_row(&self, out: &mut dyn Write, tried: &Tried, is_chosen: bool) -> io::Result<()> {
        let numbers = match &tried.outcome {
            Ok(two) => [two.moved.bytes(), two.fast_bytes, two.slow_bytes].map(|n| n.to_string()),
            Err(_) => ["no room", "", ""].map(str::to_owned),
        };
        numbers.iter().try_for_each(|number| write!(out, "{number:>12}"))?;
        let (arena, extra, mark) =
            (tried.arena_bytes, self.extra(tried), if is_chosen { "  *" } else { "" });
        writeln!(out, "{arena:>12}{extra:>12}{:>10}{mark}", tried.nodes)
    }

    #[allow(clippy::cast_precision_loss, reason = "for people")]
    fn extra(&self, tried: &Tried) -> String {
        let source = self.source_multiply_adds.max(1) as f64;
        let extra = (tried.multiply_adds as f64 / source - 1.0) * 100.0;
        if extra == 0.0 { "0 %".to_owned() } else { format!("{extra:+.1} %") }
    }

    fn write_answer(&self, out: &mut dyn Write) -> io::Result<()> {
        let chosen = self.chosen.map(|index| &self.tried[index]);
        let Some((tried, Ok(two))) = chosen.map(|tried| (tried, &tried.outcome)) else {
            let red = bold(AnsiColor::Red);
            return writeln!(out, "\n{red}does not fit{red:#}: {}", self.refusal());
        };
        let (green, moved) = (bold(AnsiColor::Green), two.moved);
        let (bytes, extra) = (size::long(moved.bytes()), self.extra(tried));
        writeln!(out, "\n{green}fits{green:#}: a run moves {bytes}, for {extra} arithmetic")?;
        let copies =
            |count: u64| if count == 1 { "1 copy".into() } else { format!("{count} copies") };
        for (way, bytes, count) in
            [("out", moved.out_bytes, moved.out), ("back", moved.back_bytes, moved.back)]
        {
            writeln!(out, "{way:>12}  {} in {}", size::long(bytes), copies(count))?;
        }
        if moved.streamed_bytes > 0 {
            let bytes = size::long(moved.streamed_bytes);
            writeln!(out, "{:>12}  {bytes}, put together in {}", "there", plain(&self.banks.slow))?;
        }
        writeln!(out, "{:14}weights, and inputs without a place, are read where they are", "")
    }

    /// Why there is no answer.
    #[must_use]
    pub fn refusal(&self) -> String {
        let why = self.tried.iter().rev().find_map(|tried| tried.outcome.as_ref().err());
        why.cloned().unwrap_or_else(|| "nothing was tried".to_owned())
    }
}
