//! The plan as tab-separated rows: totals, then a row for each value that has a place, by offset.

use std::fmt::Write;

use plimsoll::{Place, Plan, Program, Slot, Totals, ValueId, roots_of};

/// A header line with the three totals, then a row for each value that has a place, views too, sorted
/// by bank and offset: the first byte, the size, the name; then the bank, the bytes that its place
/// takes up (more than the size where some are reserved behind it), and what it is a view of. Names
/// are escaped so that every row is one line of six fields without control characters, and no field is
/// a formula to a spreadsheet.
#[must_use]
pub fn write_tsv(program: &dyn Program, plan: &Plan) -> String {
    let totals = Totals::new(program, plan);
    let mut text = format!(
        "# arena_bytes={}\tunshared_bytes={}\tsaved_bytes={}\n",
        totals.arena_bytes,
        totals.unshared_bytes,
        totals.saved_bytes()
    );
    let mut rows: Vec<(Slot, ValueId)> = plan
        .places
        .iter()
        .enumerate()
        .filter_map(|(index, place)| match place {
            Place::Bank(slot) => Some((*slot, ValueId::new(index))),
            _ => None,
        })
        .collect();
    rows.sort_unstable_by_key(|(slot, value)| (slot.bank, slot.offset, slot.bytes, *value));
    let roots = roots_of(program);
    for (slot, value) in rows {
        let (offset, reserved) = (slot.offset, slot.reserved);
        let size = program.value(value).bytes;
        let name = escaped(&program.value_name(value));
        let bank = escaped(&plan.banks[slot.bank.index()].name);
        let (root, _) = roots[value.index()];
        let of = if root == value { String::new() } else { escaped(&program.value_name(root)) };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{offset}\t{size}\t{name}\t{bank}\t{reserved}\t{of}");
    }
    text
}

/// A name as one field of one line.
fn escaped(name: &str) -> String {
    let mut field = String::with_capacity(name.len());
    if name.starts_with(['=', '+', '-', '@']) {
        field.push('\'');
    }
    for c in name.chars() {
        match c {
            '\\' => field.push_str("\\\\"),
            // Tabs and line ends are `\t`, `\n` and `\r`, all others `\u{1b}`.
            c if c.is_control() => field.extend(c.escape_default()),
            c => field.push(c),
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_field_that_nobody_runs() {
        assert_eq!(escaped("conv/é 'a'"), "conv/é 'a'");
        assert_eq!(escaped("a\tb\nc\r\\d\u{1b}[2J\0"), "a\\tb\\nc\\r\\\\d\\u{1b}[2J\\u{0}");
        assert_eq!(
            ["=1", "+1", "-1", "@x", "a=b"].map(escaped),
            ["'=1", "'+1", "'-1", "'@x", "a=b"]
        );
    }
}
