//! The plan as Rust source, for firmware: constants that need neither `std` nor an allocator.
//!
//! It is a module: `mod plan;`, or `include!` inside of one. Sizes are `usize`, and it does not
//! compile where that is too narrow for the plan; nor where somebody has edited an offset so that
//! something is no longer aligned or within its bank.

use std::fmt::Write;

use plimsoll::verify::VerifiedPlan;
use plimsoll::{BankSpec, Program};

use crate::device::{BankRow, Device, ScratchRow, Style, ValueRow, identifiers};

/// The plan as Rust source. `asked` are the banks that it was made for.
#[must_use]
pub fn write_rust_source(program: &dyn Program, plan: &VerifiedPlan, asked: &[BankSpec]) -> String {
    let device = Device::new(program, plan, asked);
    let names = |names: Vec<&str>| identifiers(names.into_iter(), Style::Camel);
    let banks = names(device.banks.iter().map(|row| &row.name[..]).collect());
    let values = names(device.values.iter().map(|row| &row.name[..]).collect());
    let steps = names(device.steps.iter().map(String::as_str).collect());

    let mut text = String::from(BEGINNING);
    constant(&mut text, "All banks together.", "ARENA_BYTES", device.arena_bytes());
    let align = "What an offset is a multiple of where a value does not say.";
    constant(&mut text, align, "ALIGN", plan.align);
    text.push_str(TYPES);
    index(&mut text, "A bank", "BankId", &banks);
    index(&mut text, "A value that is in a bank", "ValueId", &values);
    index(&mut text, "A step, in the order of execution", "StepId", &steps);
    if !values.is_empty() {
        text.push_str(PLACE);
    }

    let bank = |row: &BankRow| {
        let BankRow { name, bytes, capacity, align } = row;
        let name = name.escape_default();
        format!(
            "Bank {{ name: \"{name}\", bytes: {bytes}, capacity: {capacity:?}, align: {align} }}"
        )
    };
    table(&mut text, "The banks, by [`BankId`].", "BANKS", "Bank", device.banks.iter().map(bank));
    let value = |row: &ValueRow| {
        let ValueRow { name, bank, offset, bytes, align, first_step, last_step } = row;
        let (name, bank) = (name.escape_default(), &banks[*bank]);
        format!(
            "Value {{ name: \"{name}\", bank: BankId::{bank}, offset: {offset}, bytes: {bytes}, \
             align: {align}, first_step: {first_step}, last_step: {last_step} }}"
        )
    };
    let rows = device.values.iter().map(value);
    table(&mut text, "The values, by [`ValueId`].", "VALUES", "Value", rows);
    let rows = device.steps.iter().map(|name| format!("\"{}\"", name.escape_default()));
    let what = "The names of the steps, by [`StepId`], in the order of execution.";
    table(&mut text, what, "SCHEDULE", "&str", rows);
    let scratch = |row: &ScratchRow| {
        let ScratchRow { step, bank, offset, bytes, align } = row;
        let (step, bank) = (&steps[*step], &banks[*bank]);
        format!(
            "Scratch {{ step: StepId::{step}, bank: BankId::{bank}, offset: {offset}, \
             bytes: {bytes}, align: {align} }}"
        )
    };
    let rows = device.scratch.iter().map(scratch);
    table(&mut text, "Memory for one step each.", "SCRATCH", "Scratch", rows);
    for (name, rows) in [("VALUES", device.values.len()), ("SCRATCH", device.scratch.len())] {
        if rows > 0 {
            text.push_str(&CHECKS.replace("ROWS", name));
        }
    }
    text
}

const BEGINNING: &str = "\
// A plan of memory, written by plimsoll. Offsets count from the start of a bank.

";

const TYPES: &str = "
/// A memory, from which offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    pub name: &'static str,
    pub bytes: usize,
    /// How large it may be.
    pub capacity: Option<usize>,
    /// What its first byte must be a multiple of.
    pub align: usize,
}

/// Where a value is, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub name: &'static str,
    pub bank: BankId,
    pub offset: usize,
    pub bytes: usize,
    pub align: usize,
    /// The first step that needs its bytes, as a position in [`SCHEDULE`].
    pub first_step: usize,
    /// The last one; the number of steps if it is needed when the run is over.
    pub last_step: usize,
}

/// Memory that a step needs while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    pub step: StepId,
    pub bank: BankId,
    pub offset: usize,
    pub bytes: usize,
    pub align: usize,
}
";

const PLACE: &str = "
impl ValueId {
    /// Where it is.
    pub const fn place(self) -> Value {
        VALUES[self as usize]
    }
}
";

const CHECKS: &str = "
const _: () = {
    let mut index = 0;
    while index < ROWS.len() {
        let row = ROWS[index];
        let bank = BANKS[row.bank as usize];
        assert!(row.offset % row.align == 0);
        assert!(row.bytes <= bank.bytes && row.offset <= bank.bytes - row.bytes);
        index += 1;
    }
};
";

fn constant(text: &mut String, what: &str, name: &str, number: u64) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "/// {what}\npub const {name}: usize = {number};");
}

fn index(text: &mut String, what: &str, name: &str, variants: &[String]) {
    let derived = "#[derive(Clone, Copy, Debug, PartialEq, Eq)]";
    let _ = write!(text, "\n/// {what}.\n{derived}\npub enum {name} {{");
    for variant in variants {
        let _ = write!(text, "\n    {variant},");
    }
    text.push_str(if variants.is_empty() { "}\n" } else { "\n}\n" });
}

fn table(
    text: &mut String,
    what: &str,
    name: &str,
    kind: &str,
    rows: impl ExactSizeIterator<Item = String>,
) {
    let length = rows.len();
    let _ = write!(text, "\n/// {what}\npub const {name}: [{kind}; {length}] = [");
    for row in rows {
        let _ = write!(text, "\n    {row},");
    }
    text.push_str(if length == 0 { "];\n" } else { "\n];\n" });
}
