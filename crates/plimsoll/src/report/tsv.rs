//! The plan as tab-separated rows: totals, then offset, size and name by offset.

use std::fmt::Write;

use crate::ids::ValueId;
use crate::plan::{Place, Plan};
use crate::program::Program;
use crate::report::Totals;

/// A header line with the three totals, then a row for each value that has a place of its own,
/// sorted by bank and offset. Names are escaped so that every row is one line of three fields.
#[must_use]
pub fn write_tsv(program: &dyn Program, plan: &Plan) -> String {
    let totals = Totals::new(program, plan);
    let mut text = format!(
        "# arena_bytes={}\tunshared_bytes={}\tsaved_bytes={}\n",
        totals.arena_bytes,
        totals.unshared_bytes,
        totals.saved_bytes()
    );
    let mut rows: Vec<_> = plan
        .places
        .iter()
        .enumerate()
        .filter_map(|(index, place)| match place {
            Place::Bank(slot) => Some((slot.bank, slot.offset, slot.bytes, ValueId::new(index))),
            _ => None,
        })
        .filter(|(.., value)| program.value(*value).view_of.is_none())
        .collect();
    rows.sort_unstable();
    for (_, offset, bytes, value) in rows {
        let name = program.value_name(value).replace('\\', "\\\\");
        let name = name.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{offset}\t{bytes}\t{name}");
    }
    text
}
