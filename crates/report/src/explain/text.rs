//! The explanation as a page for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll::explain::{Account, Alive, Peak, What, account, alive, peaks};
use plimsoll_graph::PlannedGraph;
use plimsoll_graph::advise::{Action, Cost, Fit, Reached, Refusal};

use super::{ExplainReport, RUNNERS_UP, words};
use crate::moment::Story;
use crate::plan::write_title;
use crate::regions::Regions;
use crate::size;
use crate::words::{bold, counted, plain};

/// So many values of a peak are shown.
const MOST_ALIVE: usize = 12;

impl ExplainReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let program = self.settled.program();
        let plan = &self.settled.plan;
        let story = Story { program: &program, plan };
        write_title(out, self.source, &program, "explain")?;
        let status = match self.optimal_for() {
            Some(what) => format!("optimal {}", what.in_words()),
            None => "feasible".to_owned(),
        };
        let style = Style::new().bold();
        let arena = size::long(self.settled.arena_bytes());
        line(out, "arena", &format!("{style}{arena}{style:#}, {status}"))?;
        let peaks = peaks(plan, 1 + RUNNERS_UP);
        let Some((peak, others)) = peaks.split_first() else {
            line(out, "peak", "none: nothing is ever in the arena")?;
            return self.write_fit(out);
        };
        line(out, "peak", &format!("{} {}", size::long(peak.bytes), story.when(peak)))?;
        let place = |regions: &Regions| regions.place(peak.step?);
        if let Some(place) = self.regions.and_then(place) {
            line(out, "", &place)?;
        }
        let account = account(&program, plan, peak.point);
        write_alive(out, story, &alive(&program, plan, &account), self.regions)?;
        write_account(out, &account, self.settled.arena_bytes() + self.settled.spilled_bytes())?;
        write_runners_up(out, story, others)?;
        if let Some(regions) = self.regions {
            title(out, "Regions of the rewritten model")?;
            regions.write_text(out, plan)?;
        }
        self.write_fit(out)?;
        self.write_advice(out)?;
        if self.stopped {
            writeln!(out, "\nthe time limit ended the search before everything was tried")?;
        }
        Ok(())
    }

    fn write_advice(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.advice.is_empty() {
            return Ok(());
        }
        title(out, "What would lower it (each planned and verified)")?;
        let before = self.settled.arena_bytes();
        for advice in &self.advice {
            let share = size::percent(advice.saved_bytes, before);
            let after = size::long(advice.settled.arena_bytes());
            let style = bold(AnsiColor::Green);
            let saved = format!("{style}{:>12}{style:#}", format!("-{}", advice.saved_bytes));
            let what = words::what(&advice.action, &self.settled.case, self.variants);
            writeln!(out, "{saved}  {what}")?;
            writeln!(out, "{:14}{share} less, leaves {after}", "")?;
            self.write_price(out, &advice.action, &advice.cost, self.settled)?;
        }
        Ok(())
    }

    /// What an action costs, and how it is asked for.
    fn write_price(
        &self,
        out: &mut dyn Write,
        action: &Action,
        cost: &Cost,
        before: &PlannedGraph,
    ) -> io::Result<()> {
        let cost = words::cost(action, cost);
        match words::how(action, &before.case, self.variants) {
            Some(how) => writeln!(out, "{:14}costs {cost}; {how}", ""),
            None => writeln!(out, "{:14}costs {cost}", ""),
        }
    }

    fn write_fit(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some((budget, fit)) = &self.fit else { return Ok(()) };
        title(out, &format!("A budget of {}", size::long(*budget)))?;
        match fit {
            Fit::AsItIs => {
                let spare = budget - self.settled.arena_bytes();
                writeln!(out, "fits as it is, {} to spare", size::long(spare))
            }
            Fit::With(reached) => {
                let style = bold(AnsiColor::Green);
                let arena = size::long(reached.settled.arena_bytes());
                writeln!(out, "{style}fits{style:#} in {arena} with this:")?;
                self.write_steps(out, reached)
            }
            Fit::No(refusal) => self.write_refusal(out, refusal, *budget),
            _ => Ok(()),
        }
    }

    fn write_steps(&self, out: &mut dyn Write, reached: &Reached) -> io::Result<()> {
        for (number, (action, cost, before)) in reached.steps.iter().enumerate() {
            let what = words::what(action, &before.case, self.variants);
            writeln!(out, "{:>12}  {what}", format!("{}.", number + 1))?;
            self.write_price(out, action, cost, before)?;
        }
        Ok(())
    }

    fn write_refusal(&self, out: &mut dyn Write, refusal: &Refusal, budget: u64) -> io::Result<()> {
        let style = bold(AnsiColor::Red);
        let lowest = size::long(refusal.lowest.settled.arena_bytes());
        writeln!(out, "{style}does not fit{style:#}: the smallest arena found has {lowest}")?;
        if !refusal.lowest.steps.is_empty() {
            writeln!(out, "with this:")?;
            self.write_steps(out, &refusal.lowest)?;
        }
        if let Some(bytes) = refusal.any_order_bytes {
            let bytes = size::long(bytes);
            writeln!(out, "and no order of its steps gets below {bytes}")?;
        }
        if let Some(why) = &refusal.no_room
            && why.proven
            && !why.misfit.is_empty()
        {
            let each = if why.irreducible { "; without any of them the others fit" } else { "" };
            let sum: u64 = why.misfit.iter().map(|one| one.bytes).sum();
            let total = size::long(sum);
            writeln!(out, "because these have to be live together, {total}{each}:")?;
            for one in &why.misfit {
                let scratch = if one.is_scratch { " (scratch)" } else { "" };
                writeln!(out, "{:>12}  {}{scratch}", one.bytes, plain(&one.name))?;
            }
        }
        if let Some(bytes) = refusal.second_bank {
            let bytes = size::long(bytes);
            let how = format!("--bank arena={budget} --bank second");
            writeln!(out, "a second memory of {bytes} would take the rest: {how}")?;
        }
        Ok(())
    }
}

/// Writes the peaks that would show if the highest one fell.
fn write_runners_up(out: &mut dyn Write, story: Story<'_>, others: &[Peak]) -> io::Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    title(out, "The next highest peaks")?;
    for peak in others {
        let account = account(story.program, story.plan, peak.point);
        let alive = alive(story.program, story.plan, &account);
        let largest: Vec<String> =
            alive.iter().take(3).map(|alive| story.value(alive.value)).collect();
        let more = match alive.len() {
            0..=3 => String::new(),
            n => format!(" and {} more", n - 3),
        };
        let (bytes, when) = (peak.bytes, story.when(peak));
        writeln!(out, "{bytes:>12}  {when}: {}{more}", largest.join(", "))?;
    }
    Ok(())
}

/// Writes what is there at a moment, and why.
fn write_alive(
    out: &mut dyn Write,
    story: Story<'_>,
    alive: &[Alive],
    regions: Option<&Regions>,
) -> io::Result<()> {
    title(out, "Live at the peak")?;
    let apart = || alive.iter().map(|one| vec![one]).collect();
    let groups: Vec<Vec<&Alive>> = regions.map_or_else(apart, |regions| regions.together(alive));
    let shown = if groups.len() > MOST_ALIVE { MOST_ALIVE - 1 } else { groups.len() };
    let (shown, rest) = groups.split_at(shown);
    for group in shown {
        match (&group[..], regions) {
            ([one], _) => write_value(out, story, one)?,
            (group, Some(regions)) => {
                let bytes: u64 = group.iter().map(|one| one.bytes).sum();
                let (what, when) = regions.pieces(group);
                writeln!(out, "{bytes:>12}  {what}\n{:14}{when}", "")?;
            }
            (_, None) => {}
        }
    }
    if !rest.is_empty() {
        let rest = || rest.iter().flatten();
        let bytes: u64 = rest().map(|alive| alive.bytes).sum();
        writeln!(out, "{bytes:>12}  in {} more", counted(rest().count(), "value"))?;
    }
    Ok(())
}

fn write_value(out: &mut dyn Write, story: Story<'_>, alive: &Alive) -> io::Result<()> {
    let by = alive.made_by.map(|step| format!("made by {}", story.step(step)));
    let by = by.unwrap_or("from outside".to_owned());
    writeln!(out, "{:>12}  {}", alive.bytes, story.value(alive.value))?;
    writeln!(out, "{:14}{by}; {}", "", story.why(alive))?;
    if let Some(sharing) = story.sharing(alive) {
        writeln!(out, "{:14}{sharing}", "")?;
    }
    Ok(())
}

/// Writes what every byte of the arena is at a moment; the sum is the arena.
fn write_account(out: &mut dyn Write, account: &Account, arena: u64) -> io::Result<()> {
    title(out, "The arena at the peak, byte by byte")?;
    for (bytes, what) in sums(account) {
        if bytes > 0 {
            writeln!(out, "{bytes:>12}  {what}")?;
        }
    }
    writeln!(out, "{arena:>12}  total")
}

/// The bytes of an account by what they are.
pub(super) fn sums(account: &Account) -> [(u64, &'static str); 7] {
    let of = |such: fn(What) -> bool| account.bytes(such);
    [
        (of(|what| matches!(what, What::Value(_))), "live values"),
        (of(|what| matches!(what, What::Guard(_))), "guard bytes"),
        (of(|what| matches!(what, What::Scratch(_))), "scratch of the step"),
        (of(|what| matches!(what, What::Between(_))), "between live parts of a value"),
        (of(|what| matches!(what, What::Imported(_))), "shared values, placed by another plan"),
        (of(|what| what == What::Padding), "alignment padding"),
        (of(|what| what == What::Free), "free at this point"),
    ]
}

fn title(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let style = Style::new().bold();
    writeln!(out, "\n{style}{text}{style:#}")
}

fn line(out: &mut dyn Write, label: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{label:<12} {value}")
}
