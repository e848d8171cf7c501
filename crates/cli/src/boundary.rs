//! The boundary of a program on the command line: `inputs,params`, `inputs=64,outputs=1KiB`.

use plimsoll::Boundary;

use crate::size;

const KINDS: &str = "inputs, weights, params, constants, outputs";

/// Makes the choice for a kind of values, by its name; weights are what a summary calls them: params and
/// constants.
fn set<T: Copy>(boundary: &mut Boundary<T>, kind: &str, choice: T) -> Result<(), String> {
    if kind == "weights" {
        (boundary.params, boundary.constants) = (choice, choice);
        return Ok(());
    }
    *of(boundary, kind)? = choice;
    Ok(())
}

/// The choice for a kind of values, by its name in a plan.
fn of<'a, T>(boundary: &'a mut Boundary<T>, kind: &str) -> Result<&'a mut T, String> {
    match kind {
        "inputs" => Ok(&mut boundary.inputs),
        "params" => Ok(&mut boundary.params),
        "constants" => Ok(&mut boundary.constants),
        "outputs" => Ok(&mut boundary.outputs),
        _ => Err(format!("unknown kind {kind:?}; known are {KINDS}")),
    }
}

fn all<T: Copy>(choice: T) -> Boundary<T> {
    Boundary { inputs: choice, params: choice, constants: choice, outputs: choice }
}

/// What is placed: a list of kinds, `all` or `none`.
pub(crate) fn parse_place(text: &str) -> Result<Boundary<bool>, String> {
    match text.trim() {
        "all" => return Ok(all(true)),
        "none" => return Ok(all(false)),
        _ => {}
    }
    let mut place = all(false);
    for kind in text.split(',') {
        set(&mut place, kind.trim(), true)?;
    }
    Ok(place)
}

/// Guard bytes: a size for all kinds, or `KIND=SIZE` for each.
pub(crate) fn parse_guards(text: &str) -> Result<Boundary<u64>, String> {
    if !text.contains('=') {
        return size::parse(text).map(all);
    }
    let mut guards = all(0);
    for part in text.split(',') {
        let (kind, bytes) = part.split_once('=').ok_or("expected KIND=SIZE, or one SIZE")?;
        set(&mut guards, kind.trim(), size::parse(bytes)?)?;
    }
    Ok(guards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_or_all_or_none() {
        let some = Boundary { inputs: true, params: false, constants: false, outputs: true };
        assert_eq!(parse_place("inputs, outputs"), Ok(some));
        assert_eq!(parse_place("all"), Ok(all(true)));
        assert_eq!(parse_place("none"), Ok(all(false)));
        let weights = Boundary { inputs: false, params: true, constants: true, outputs: true };
        assert_eq!(parse_place("weights,outputs"), Ok(weights));
        let error =
            "unknown kind \"scratch\"; known are inputs, weights, params, constants, outputs";
        assert_eq!(parse_place("inputs,scratch"), Err(error.to_owned()));
        assert!(parse_place("").is_err());
    }

    #[test]
    fn guards_are_for_all_or_by_kind() {
        assert_eq!(parse_guards("128"), Ok(all(128)));
        let some = Boundary { inputs: 64, params: 0, constants: 0, outputs: 1024 };
        assert_eq!(parse_guards("inputs=64,outputs=1KiB"), Ok(some));
        assert!(parse_guards("inputs=64,128").is_err());
        let weights = Boundary { inputs: 0, params: 64, constants: 64, outputs: 0 };
        assert_eq!(parse_guards("weights=64"), Ok(weights));
        assert!(parse_guards("scratch=64").is_err());
        assert!(parse_guards("inputs=-1").is_err());
    }
}
