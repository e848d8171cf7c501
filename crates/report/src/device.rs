//! What a device has to know of a plan, and the identifiers by which its code names it.
//!
//! Only what is in a bank has a row. Names of a model are anybody's text: they become identifiers
//! here, once, so that no rendering can let two of them become the same.

use std::collections::HashMap;

use plimsoll::{Bank, BankId, BankSpec, Plan, Program, StepId, ValueId, address_align};

/// The longest identifier that is made of a name, without what tells it from others.
const MOST: usize = 120;

/// A plan in rows.
pub(super) struct Device {
    pub(super) banks: Vec<BankRow>,
    /// What is in a bank, views too, in the order of the program.
    pub(super) values: Vec<ValueRow>,
    /// The names of the steps, in order of execution.
    pub(super) steps: Vec<String>,
    /// Scratch memory, in order of execution.
    pub(super) scratch: Vec<ScratchRow>,
}

pub(super) struct BankRow {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) capacity: Option<u64>,
    /// What its first byte must be a multiple of: a power of two.
    pub(super) align: u64,
}

pub(super) struct ValueRow {
    pub(super) name: String,
    pub(super) bank: usize,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// What the offset is a multiple of, 1 for a view that asks for nothing.
    pub(super) align: u64,
    /// The position of the first step that needs its bytes.
    pub(super) first_step: u64,
    /// That of the last one; the number of steps if it is needed when the run is over.
    pub(super) last_step: u64,
}

pub(super) struct ScratchRow {
    /// The position of its step.
    pub(super) step: usize,
    pub(super) bank: usize,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) align: u64,
}

impl Device {
    /// The rows of a plan; `asked` are the banks that it was made for.
    pub(super) fn new(program: &dyn Program, plan: &Plan, asked: &[BankSpec]) -> Self {
        let values = values(program, plan);
        let scratch = scratch(program, plan);
        let bank = |(index, bank): (usize, &Bank)| BankRow {
            name: bank.name.clone(),
            bytes: bank.bytes,
            capacity: bank.capacity,
            align: plan
                .base_align(program, BankId::new(index))
                .max(address_align(asked_align(asked, &bank.name))),
        };
        let banks = plan.banks.iter().enumerate().map(bank).collect();
        let step = |step: &StepId| program.step_name(*step).into_owned();
        Device { banks, values, steps: plan.schedule.iter().map(step).collect(), scratch }
    }

    /// All banks together.
    pub(super) fn arena_bytes(&self) -> u64 {
        self.banks.iter().map(|bank| bank.bytes).sum()
    }
}

fn values(program: &dyn Program, plan: &Plan) -> Vec<ValueRow> {
    let mut rows = Vec::new();
    for index in 0..plan.places.len() {
        let value = ValueId::new(index);
        let Some(slot) = plan.slot(value) else { continue };
        let member = plan.derivation.members.get(index).copied().flatten();
        // What another plan has placed is there all the time.
        let (first_step, last_step) = member.map_or((0, plan.schedule.len() as u64), |member| {
            (member.live.start.0 / 2, member.live.end.0.saturating_sub(1) / 2)
        });
        rows.push(ValueRow {
            name: program.value_name(value).into_owned(),
            bank: slot.bank.index(),
            offset: slot.offset,
            bytes: program.value(value).bytes,
            align: plan.align_of(program, value),
            first_step,
            last_step,
        });
    }
    rows
}

fn scratch(program: &dyn Program, plan: &Plan) -> Vec<ScratchRow> {
    let row = |(position, step): (usize, &StepId)| {
        let slot = plan.scratch.get(step.index()).copied().flatten()?;
        Some(ScratchRow {
            step: position,
            bank: slot.bank.index(),
            offset: slot.offset,
            bytes: slot.bytes,
            align: program.scratch(*step).map_or(1, |scratch| scratch.align.max(1)),
        })
    };
    plan.schedule.iter().enumerate().filter_map(row).collect()
}

/// What was asked of a bank, which may be the second or third of its kind.
fn asked_align(asked: &[BankSpec], name: &str) -> u64 {
    let is_copy = |spec: &BankSpec| {
        let behind = name.strip_prefix(&spec.name).and_then(|rest| rest.strip_prefix('.'));
        spec.repeat && behind.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    let found = asked.iter().find(|spec| spec.name == name);
    let found = found.or_else(|| asked.iter().find(|spec| is_copy(spec)));
    found.and_then(|spec| spec.align).unwrap_or(1)
}

/// How names become identifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `LIKE_THIS`, to follow a prefix.
    Macro,
    /// `LikeThis`, as types of Rust are called.
    Camel,
}

/// Identifiers for names, in the same order; no two are the same, and whoever comes first keeps
/// the shorter one.
pub(super) fn identifiers<'n>(names: impl Iterator<Item = &'n str>, style: Style) -> Vec<String> {
    // The one word of this form that Rust keeps for itself.
    let mut taken: HashMap<String, u32> = HashMap::from([("Self".to_owned(), 1)]);
    let mut unique = |name: &str| {
        let base = identifier(name, style);
        if !taken.contains_key(&base) {
            taken.insert(base.clone(), 1);
            return base;
        }
        loop {
            let next = taken.entry(base.clone()).or_insert(1);
            *next += 1;
            let numbered = joined(&base, &next.to_string(), style);
            if !taken.contains_key(&numbered) {
                taken.insert(numbered.clone(), 1);
                return numbered;
            }
        }
    };
    names.map(&mut unique).collect()
}

/// The letters and digits of a name, in pieces.
fn identifier(name: &str, style: Style) -> String {
    let pieces = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|piece| !piece.is_empty());
    let mut whole = String::new();
    for piece in pieces {
        let piece = match style {
            Style::Macro => piece.to_ascii_uppercase(),
            Style::Camel => piece[..1].to_ascii_uppercase() + &piece[1..],
        };
        whole = joined(&whole, &piece, style);
        if whole.len() >= MOST {
            whole.truncate(MOST);
            break;
        }
    }
    match (style, whole.bytes().next()) {
        (Style::Macro, None) => "UNNAMED".to_owned(),
        (Style::Camel, None) => "Unnamed".to_owned(),
        (Style::Camel, Some(b'0'..=b'9')) => format!("N{whole}"),
        _ => whole,
    }
}

fn joined(front: &str, behind: &str, style: Style) -> String {
    let digits = front.ends_with(|c: char| c.is_ascii_digit())
        && behind.starts_with(|c: char| c.is_ascii_digit());
    let apart = !front.is_empty() && (style == Style::Macro || digits);
    format!("{front}{}{behind}", if apart { "_" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str], style: Style) -> Vec<String> {
        identifiers(names.iter().copied(), style)
    }

    #[test]
    fn names_become_identifiers_that_differ() {
        let names = ["a", "A", "a 2", "a.b", "a/b", "é", "", "0", "int", "*/", "__x__", "self"];
        let macros = [
            "A",
            "A_2",
            "A_2_2",
            "A_B",
            "A_B_2",
            "UNNAMED",
            "UNNAMED_2",
            "0",
            "INT",
            "UNNAMED_3",
            "X",
            "SELF",
        ];
        assert_eq!(all(&names, Style::Macro), macros);
        let camels = [
            "A", "A2", "A2_2", "AB", "AB2", "Unnamed", "Unnamed2", "N0", "Int", "Unnamed3", "X",
            "Self2",
        ];
        assert_eq!(all(&names, Style::Camel), camels);
    }

    #[test]
    fn digits_stay_apart_and_long_names_are_cut() {
        assert_eq!(all(&["conv.1.2", "conv12"], Style::Camel), ["Conv1_2", "Conv12"]);
        let long = "x".repeat(1000);
        let cut = all(&[&long, &long], Style::Macro);
        assert_eq!(cut, ["X".repeat(MOST), "X".repeat(MOST) + "_2"]);
    }

    #[test]
    fn copies_of_a_bank_are_aligned_as_it_is() {
        let mut spec = BankSpec::new("sram");
        (spec.align, spec.repeat) = (Some(32), true);
        let asked = [spec, BankSpec::new("dram")];
        let names = ["sram", "sram.1", "sram.x", "dram", "other"];
        assert_eq!(names.map(|name| asked_align(&asked, name)), [32, 32, 1, 1, 1]);
    }
}
