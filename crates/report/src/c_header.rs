//! The plan as a C header, for firmware: C99 and later, and C++.
//!
//! Names of a model go into identifiers and strings only, never into comments. Sizes are `size_t`,
//! and the header does not compile where that is too narrow for the plan. Offsets and ends are
//! asserted, so that a header that somebody has edited does not compile either.

use std::fmt::{self, Write};

use plimsoll::verify::VerifiedPlan;
use plimsoll::{BankSpec, Program};

use crate::device::{Device, Style, identifiers};

/// The longest string that every compiler takes.
const MOST_STRING_BYTES: usize = 4000;

/// What all symbols of a header begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolPrefix {
    lower: String,
    upper: String,
}

impl Default for SymbolPrefix {
    fn default() -> Self {
        SymbolPrefix { lower: "plimsoll_".to_owned(), upper: "PLIMSOLL_".to_owned() }
    }
}

impl std::str::FromStr for SymbolPrefix {
    type Err = BadSymbolPrefix;

    fn from_str(text: &str) -> Result<Self, BadSymbolPrefix> {
        let letters = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
        if !letters || !begins || text.ends_with('_') || text.contains("__") || text.len() > 60 {
            return Err(BadSymbolPrefix);
        }
        let lower = format!("{text}_");
        Ok(SymbolPrefix { upper: lower.to_ascii_uppercase(), lower })
    }
}

/// A text that symbols cannot begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSymbolPrefix;

impl fmt::Display for BadSymbolPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected a letter, then letters, digits and single underscores between them, \
             at most 60",
        )
    }
}

impl std::error::Error for BadSymbolPrefix {}

/// The plan as a C header. `asked` are the banks that it was made for.
///
/// # Panics
/// Never: a string can always be written to.
#[must_use]
pub fn write_c_header(
    program: &dyn Program,
    plan: &VerifiedPlan,
    asked: &[BankSpec],
    prefix: &SymbolPrefix,
) -> String {
    let device = Device::new(program, plan, asked);
    let names = |names: Vec<&str>| identifiers(names.into_iter(), Style::Macro);
    let mut header = Header {
        banks: names(device.banks.iter().map(|row| &row.name[..]).collect()),
        values: names(device.values.iter().map(|row| &row.name[..]).collect()),
        steps: names(device.steps.iter().map(String::as_str).collect()),
        device,
        text: String::new(),
    };
    header.write(plan.align).expect("writing to a string does not fail");
    // Words in the templates begin with neither of these otherwise.
    header.text.replace("@lower@", &prefix.lower).replace("@UPPER@", &prefix.upper)
}

struct Header {
    device: Device,
    /// Identifiers, by index.
    banks: Vec<String>,
    values: Vec<String>,
    steps: Vec<String>,
    text: String,
}

const BEGINNING: &str = r"/* A plan of memory, written by plimsoll. Offsets count from the start of a bank. */
#ifndef @UPPER@PLAN_H
#define @UPPER@PLAN_H

#include <stddef.h>
#include <stdint.h>

#ifndef @UPPER@ASSERT
#if defined(__cplusplus) && __cplusplus >= 201103L
#define @UPPER@ASSERT(name, holds) static_assert(holds, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define @UPPER@ASSERT(name, holds) _Static_assert(holds, #name)
#else
#define @UPPER@ASSERT(name, holds) typedef char @lower@assert_##name[(holds) ? 1 : -1]
#endif
#endif

";

const TYPES: &str = r"
typedef struct {
    const char *name;
    size_t bytes;
    size_t capacity; /* 0 without a limit */
    size_t align;
} @lower@bank;

typedef struct {
    const char *name;
    size_t offset;
    size_t bytes;
    size_t align;
    uint32_t bank;
    uint32_t first_step; /* positions in the order of execution */
    uint32_t last_step;  /* the number of steps: needed when the run is over */
} @lower@value;

typedef struct {
    size_t offset;
    size_t bytes;
    uint32_t bank;
    uint32_t step;
} @lower@scratch;

";

const ALIGNED: &str = r"
/* Where the banks are is for you to say: define @UPPER@SECTION_ and the bank's name, as
   __attribute__((section(...))), before this header is included. One source file defines
   @UPPER@DEFINE_ARENAS, and has the storage. */
#ifndef @UPPER@ALIGNED
#if defined(__GNUC__) || defined(__clang__)
#define @UPPER@ALIGNED(n) __attribute__((aligned(n)))
#elif defined(_MSC_VER)
#define @UPPER@ALIGNED(n) __declspec(align(n))
#elif defined(__cplusplus) && __cplusplus >= 201103L
#define @UPPER@ALIGNED(n) alignas(n)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define @UPPER@ALIGNED(n) _Alignas(n)
#else
#error define @UPPER@ALIGNED(n) for this compiler
#endif
#endif
";

impl Header {
    fn write(&mut self, align: u64) -> fmt::Result {
        self.text.push_str(BEGINNING);
        self.totals(align)?;
        self.bank_macros()?;
        self.indices()?;
        self.value_macros()?;
        self.scratch_macros()?;
        self.text.push_str(TYPES);
        self.tables()?;
        self.assertions()?;
        self.storage()?;
        self.text.push_str("\n#endif\n");
        Ok(())
    }

    fn define(&mut self, name: &str, number: u64) -> fmt::Result {
        writeln!(self.text, "#define @UPPER@{name} {number}u")
    }

    fn totals(&mut self, align: u64) -> fmt::Result {
        self.define("ARENA_BYTES", self.device.arena_bytes())?;
        self.define("ALIGN", align)
    }

    fn bank_macros(&mut self) -> fmt::Result {
        for index in 0..self.banks.len() {
            let (row, name) = (&self.device.banks[index], self.banks[index].clone());
            let (bytes, capacity, align) = (row.bytes, row.capacity, row.align);
            self.text.push('\n');
            self.define(&format!("ARENA_BYTES_{name}"), bytes)?;
            self.define(&format!("ARENA_ALIGN_{name}"), align)?;
            if let Some(capacity) = capacity {
                self.define(&format!("CAPACITY_{name}"), capacity)?;
            }
        }
        Ok(())
    }

    /// What indices into the tables are called.
    fn indices(&mut self) -> fmt::Result {
        let kinds = [
            ("bank_id", "BANK_", "BANKS", &self.banks),
            ("value_id", "VALUE_", "VALUES", &self.values),
            ("step_id", "STEP_", "STEPS", &self.steps),
        ];
        for (kind, one, all, names) in kinds {
            writeln!(self.text, "\nenum @lower@{kind} {{")?;
            for (index, name) in names.iter().enumerate() {
                writeln!(self.text, "    @UPPER@{one}{name} = {index},")?;
            }
            writeln!(self.text, "    @UPPER@{all} = {}\n}};", names.len())?;
        }
        Ok(())
    }

    fn value_macros(&mut self) -> fmt::Result {
        self.text.push('\n');
        for index in 0..self.values.len() {
            let (row, name) = (&self.device.values[index], self.values[index].clone());
            let (offset, bytes) = (row.offset, row.bytes);
            self.define(&format!("OFFSET_{name}"), offset)?;
            self.define(&format!("BYTES_{name}"), bytes)?;
        }
        Ok(())
    }

    fn scratch_macros(&mut self) -> fmt::Result {
        self.text.push('\n');
        self.define("SCRATCHES", self.device.scratch.len() as u64)?;
        for index in 0..self.device.scratch.len() {
            let row = &self.device.scratch[index];
            let (name, offset, bytes) = (self.steps[row.step].clone(), row.offset, row.bytes);
            self.define(&format!("SCRATCH_OFFSET_{name}"), offset)?;
            self.define(&format!("SCRATCH_BYTES_{name}"), bytes)?;
        }
        Ok(())
    }

    fn tables(&mut self) -> fmt::Result {
        let bank = |(row, name): (&super::device::BankRow, &String)| {
            let capacity = match row.capacity {
                Some(_) => format!("@UPPER@CAPACITY_{name}"),
                None => "0u".to_owned(),
            };
            let string = string(&row.name);
            format!(
                "{{{string}, @UPPER@ARENA_BYTES_{name}, {capacity}, @UPPER@ARENA_ALIGN_{name}}}"
            )
        };
        let banks: Vec<String> = self.device.banks.iter().zip(&self.banks).map(bank).collect();
        self.table("@lower@bank @lower@banks", &banks, "{\"\", 0u, 0u, 1u}")?;
        let value = |(row, name): (&super::device::ValueRow, &String)| {
            let (string, bank) = (string(&row.name), &self.banks[row.bank]);
            format!(
                "{{{string}, @UPPER@OFFSET_{name}, @UPPER@BYTES_{name}, {}u, \
                 @UPPER@BANK_{bank}, {}u, {}u}}",
                row.align, row.first_step, row.last_step
            )
        };
        let values: Vec<String> = self.device.values.iter().zip(&self.values).map(value).collect();
        self.table("@lower@value @lower@values", &values, "{\"\", 0u, 0u, 1u, 0u, 0u, 0u}")?;
        let steps: Vec<String> = self.device.steps.iter().map(|name| string(name)).collect();
        self.table("char *const @lower@steps", &steps, "\"\"")?;
        let scratch = |row: &super::device::ScratchRow| {
            let (bank, step) = (&self.banks[row.bank], &self.steps[row.step]);
            format!(
                "{{@UPPER@SCRATCH_OFFSET_{step}, @UPPER@SCRATCH_BYTES_{step}, \
                 @UPPER@BANK_{bank}, @UPPER@STEP_{step}}}"
            )
        };
        let scratch: Vec<String> = self.device.scratch.iter().map(scratch).collect();
        self.table("@lower@scratch @lower@scratches", &scratch, "{0u, 0u, 0u, 0u}")
    }

    /// A table; C has no empty ones, so that such a one has a row that does not count.
    fn table(&mut self, what: &str, rows: &[String], nothing: &str) -> fmt::Result {
        let length = rows.len().max(1);
        writeln!(self.text, "static const {what}[{length}] = {{")?;
        let rows = if rows.is_empty() { nothing.to_owned() } else { rows.join(",\n    ") };
        writeln!(self.text, "    {rows}\n}};\n")
    }

    fn assertions(&mut self) -> fmt::Result {
        let mut text = String::new();
        text.push_str("#if @UPPER@ARENA_BYTES > SIZE_MAX\n");
        text.push_str("#error size_t is too narrow for this plan\n#endif\n");
        for (row, name) in self.device.banks.iter().zip(&self.banks) {
            if row.capacity.is_some() {
                let fits = format!("@UPPER@ARENA_BYTES_{name} <= @UPPER@CAPACITY_{name}");
                writeln!(text, "@UPPER@ASSERT(CAPACITY_{name}, {fits});")?;
            }
        }
        for (row, name) in self.device.values.iter().zip(&self.values) {
            let bank = &self.banks[row.bank];
            writeln!(text, "{}", ends("BYTES_", "OFFSET_", name, bank))?;
            writeln!(text, "{}", aligned("OFFSET_", name, row.align))?;
        }
        for row in &self.device.scratch {
            let (bank, step) = (&self.banks[row.bank], &self.steps[row.step]);
            writeln!(text, "{}", ends("SCRATCH_BYTES_", "SCRATCH_OFFSET_", step, bank))?;
            writeln!(text, "{}", aligned("SCRATCH_OFFSET_", step, row.align))?;
        }
        self.text.push_str(&text);
        Ok(())
    }

    fn storage(&mut self) -> fmt::Result {
        self.text.push_str(ALIGNED);
        for name in &self.banks {
            writeln!(self.text, "#ifndef @UPPER@SECTION_{name}")?;
            writeln!(self.text, "#define @UPPER@SECTION_{name}\n#endif")?;
        }
        writeln!(self.text, "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif")?;
        let arenas = || self.device.banks.iter().zip(&self.banks);
        writeln!(self.text, "#ifdef @UPPER@DEFINE_ARENAS")?;
        for (row, name) in arenas() {
            let aligned = format!("@UPPER@ALIGNED(@UPPER@ARENA_ALIGN_{name})");
            let array = arena(name, row.bytes);
            writeln!(self.text, "{aligned} @UPPER@SECTION_{name} {array};")?;
        }
        writeln!(self.text, "#else")?;
        for (row, name) in arenas() {
            writeln!(self.text, "extern {};", arena(name, row.bytes))?;
        }
        writeln!(self.text, "#endif\n#ifdef __cplusplus\n}}\n#endif")
    }
}

/// That something ends within its bank. Nothing is added, which could overflow.
fn ends(bytes: &str, offset: &str, name: &str, bank: &str) -> String {
    let (bytes, start) = (format!("@UPPER@{bytes}{name}"), format!("@UPPER@{offset}{name}"));
    let bank = format!("@UPPER@ARENA_BYTES_{bank}");
    let holds = format!("{bytes} <= {bank} && {start} <= {bank} - {bytes}");
    format!("@UPPER@ASSERT({offset}{name}_ENDS, {holds});")
}

fn aligned(offset: &str, name: &str, align: u64) -> String {
    format!("@UPPER@ASSERT({offset}{name}_ALIGNED, @UPPER@{offset}{name} % {align}u == 0u);")
}

/// The storage of a bank; C has no empty arrays.
fn arena(name: &str, bytes: u64) -> String {
    let length = match bytes {
        0 => "1".to_owned(),
        _ => format!("@UPPER@ARENA_BYTES_{name}"),
    };
    format!("uint8_t @lower@arena_{}[{length}]", name.to_ascii_lowercase())
}

/// A name as a string. Escapes are octal, since those end after three digits; without question
/// marks there are no trigraphs. What is too long for a compiler is cut.
fn string(name: &str) -> String {
    let mut string = String::from("\"");
    for byte in name.bytes().take(MOST_STRING_BYTES) {
        match byte {
            b'"' | b'\\' | b'?' => string.extend(['\\', char::from(byte)]),
            // An at sign marks a prefix in the templates.
            b' '..=b'~' if byte != b'@' => string.push(char::from(byte)),
            _ => {
                let _ = write!(string, "\\{byte:03o}");
            }
        }
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hold_any_name() {
        assert_eq!(string("conv1/out"), "\"conv1/out\"");
        assert_eq!(string("a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(string("??/"), "\"\\?\\?/\"");
        assert_eq!(string("\u{1}2\n\u{e9}f"), "\"\\0012\\012\\303\\251f\"");
        assert_eq!(string("@UPPER@"), "\"\\100UPPER\\100\"");
        assert_eq!(string(&"x".repeat(9999)).len(), MOST_STRING_BYTES + 2);
    }

    #[test]
    fn prefixes_are_identifiers() {
        let prefix = |text: &str| text.parse::<SymbolPrefix>().map(|p| (p.lower, p.upper));
        assert_eq!(prefix("my_Net2"), Ok(("my_Net2_".to_owned(), "MY_NET2_".to_owned())));
        for bad in ["", "2a", "_a", "a_", "a__b", "a-b", "é", &"a".repeat(61)] {
            assert_eq!(prefix(bad), Err(BadSymbolPrefix), "{bad}");
        }
    }
}
