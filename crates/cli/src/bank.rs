//! Banks on the command line: `sram=512KiB,align=16,buffer=64KiB,repeat,roles=params+constants`.

use std::collections::HashSet;

use plimsoll::{BankSpec, Role};

use crate::size;

const ROLES: [(&str, Role); 5] = [
    ("inputs", Role::Input),
    ("params", Role::Param),
    ("constants", Role::Constant),
    ("statics", Role::Static),
    ("temporaries", Role::Temporary),
];

/// The bank that a text means.
pub(crate) fn parse(text: &str) -> Result<BankSpec, String> {
    let mut parts = text.split(',').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let (name, capacity) = match first.split_once('=') {
        Some((name, capacity)) => (name.trim(), Some(size::parse(capacity)?)),
        None => (first, None),
    };
    check_name(name)?;
    let mut bank = BankSpec::new(name);
    bank.capacity = capacity;
    let mut seen = HashSet::new();
    for part in parts {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (part, None),
        };
        if !seen.insert(key) {
            return Err(format!("{key:?} is said twice"));
        }
        match (key, value) {
            ("align", Some(align)) => bank.align = Some(size::parse_align(align)?.get()),
            ("buffer", Some(bytes)) => bank.buffer_capacity = Some(size::parse(bytes)?),
            ("repeat", None) => bank.repeat = true,
            ("roles", Some(roles)) => bank.roles = parse_roles(roles)?,
            _ => {
                let known = "align=SIZE, buffer=SIZE, repeat, roles=A+B";
                return Err(format!("unknown {part:?}; known are {known}"));
            }
        }
    }
    if bank.repeat && bank.capacity.is_none() {
        return Err("a bank without a size never needs to be repeated: write NAME=SIZE".to_owned());
    }
    Ok(bank)
}

/// A name can stand in every report, and in the names of a header.
fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a bank needs a name: NAME or NAME=SIZE comes first".to_owned());
    }
    if let Some((before, capacity)) = name.split_once(':')
        && !before.is_empty()
        && size::parse(capacity).is_ok()
    {
        return Err(format!("the size of a bank comes behind `=`: write {before}={capacity}"));
    }
    let odd = |c: &char| !(c.is_alphanumeric() || "_.-".contains(*c));
    match name.chars().find(odd) {
        Some(c) => {
            Err(format!("{c:?} cannot be in the name of a bank: letters, digits, _, . and -"))
        }
        None => Ok(()),
    }
}

fn parse_roles(text: &str) -> Result<Vec<Role>, String> {
    let role = |name: &str| {
        let row = ROLES.iter().find(|(known, _)| *known == name);
        let known = ROLES.map(|(known, _)| known).join(", ");
        row.map(|(_, role)| *role)
            .ok_or_else(|| format!("unknown role {name:?}; known are weights, {known}"))
    };
    let mut roles = Vec::new();
    for name in text.split('+') {
        match name.trim() {
            "weights" => roles.extend([Role::Param, Role::Constant]),
            name => roles.push(role(name)?),
        }
    }
    Ok(roles)
}

/// Whether no two banks can come to have the same name.
pub(crate) fn check_names(banks: &[BankSpec]) -> Result<(), String> {
    let mut names = HashSet::new();
    for bank in banks {
        if !names.insert(bank.name.as_str()) {
            return Err(format!("two banks are called {:?}", bank.name));
        }
        // The second of `sram,repeat` is called `sram.1`.
        let copied = bank.name.rsplit_once('.').filter(|(_, copy)| copy.parse::<u64>().is_ok());
        let of = copied.and_then(|(name, _)| banks.iter().find(|b| b.repeat && b.name == name));
        if let Some(of) = of {
            let (name, of) = (&bank.name, &of.name);
            return Err(format!("{name:?} is what a copy of {of:?} may be called"));
        }
    }
    Ok(())
}

/// How large the bank of a plan may be, as the banks that the plan says it was asked for have it.
pub(crate) fn recorded_capacity(recorded: &[BankSpec], name: &str) -> Option<u64> {
    let is_it = |bank: &&BankSpec| {
        let copy = name.strip_prefix(&bank.name).and_then(|rest| rest.strip_prefix('.'));
        let is_copy = bank.repeat && copy.is_some_and(|n| n.parse::<u64>().is_ok());
        bank.name == name || is_copy
    };
    recorded.iter().find(is_it)?.capacity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bank_has_a_name_and_limits() {
        let mut all = BankSpec::new("sram");
        all.capacity = Some(524_288);
        all.align = Some(16);
        all.buffer_capacity = Some(65_536);
        all.repeat = true;
        all.roles = vec![Role::Param, Role::Constant];
        let text = "sram=512KiB,align=16,buffer=64KiB,repeat,roles=params+constants";
        assert_eq!(parse(text), Ok(all));
        assert_eq!(parse("dram"), Ok(BankSpec::new("dram")));
        let weights = parse("rom,roles=weights").map(|bank| bank.roles);
        assert_eq!(weights, Ok(vec![Role::Param, Role::Constant]));
    }

    #[test]
    fn what_was_asked_of_a_bank_is_found_by_its_name() {
        let banks = ["sram=1KiB,repeat", "dram", "rom=2KiB"].map(|text| parse(text).unwrap());
        let capacity = |name: &str| recorded_capacity(&banks, name);
        assert_eq!([capacity("sram"), capacity("sram.12")], [Some(1024); 2]);
        assert_eq!([capacity("dram"), capacity("arena"), capacity("rom.1")], [None; 3]);
        assert_eq!(capacity("rom"), Some(2048));
    }

    #[test]
    fn what_is_no_bank_says_why() {
        let cases = [
            ("", "a bank needs a name"),
            ("=4KiB", "a bank needs a name"),
            ("sram=big", "expected a size"),
            ("sram:64KiB", "write sram=64KiB"),
            ("sram:64KiB,repeat", "write sram=64KiB"),
            ("sram:fast", "':' cannot be in the name of a bank"),
            ("on chip=4KiB", "' ' cannot be in the name of a bank"),
            ("a/b", "'/' cannot be in the name of a bank"),
            ("\u{1b}[1m", "'\\u{1b}' cannot be in the name of a bank"),
            ("sram,align=0", "an alignment is at least 1"),
            ("sram,colour=red", "unknown \"colour=red\"; known are align=SIZE"),
            ("sram,align=4,align=8", "\"align\" is said twice"),
            ("sram,repeat", "never needs to be repeated"),
            ("sram=1KiB,repeat=2", "unknown \"repeat=2\""),
            ("sram,roles=scratch", "unknown role \"scratch\"; known are weights, inputs"),
        ];
        for (text, expected) in cases {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn names_of_banks_and_their_copies_differ() {
        let banks = |texts: &[&str]| {
            let banks: Vec<_> = texts.iter().map(|text| parse(text).expect("a bank")).collect();
            check_names(&banks)
        };
        assert_eq!(banks(&["sram=1KiB,repeat", "dram", "sram.x", "dram.1"]), Ok(()));
        assert_eq!(banks(&["a", "a"]), Err("two banks are called \"a\"".to_owned()));
        let error = "\"a.1\" is what a copy of \"a\" may be called";
        assert_eq!(banks(&["a=1KiB,repeat", "a.1"]), Err(error.to_owned()));
    }
}
