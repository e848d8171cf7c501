//! The boundary of a program on the command line: `inputs,params`, `inputs=64,outputs=1KiB`.

use plimsoll::Boundary;
use serde_json::{Value, json};

use crate::size;

const KINDS: &str = "inputs, params, constants, outputs";

/// The choice for a kind of values, by its name.
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
        *of(&mut place, kind.trim())? = true;
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
        *of(&mut guards, kind.trim())? = size::parse(bytes)?;
    }
    Ok(guards)
}

/// The kinds that are placed, for a plan to tell.
pub(crate) fn recorded_place(place: Boundary<bool>) -> Value {
    let kinds = [
        ("inputs", place.inputs),
        ("params", place.params),
        ("constants", place.constants),
        ("outputs", place.outputs),
    ];
    let placed = kinds.iter().filter(|(_, placed)| *placed);
    placed.map(|(kind, _)| *kind).collect::<Vec<_>>().into()
}

/// The guards, for a plan to tell.
pub(crate) fn recorded_guards(guards: &Boundary<u64>) -> Value {
    let Boundary { inputs, params, constants, outputs } = guards;
    json!({"inputs": inputs, "params": params, "constants": constants, "outputs": outputs})
}

/// The guards that a plan tells; what it does not name has none.
pub(crate) fn read_guards(told: &Value) -> Option<Boundary<u64>> {
    let mut guards = all(0);
    for (kind, bytes) in told.as_object()? {
        *of(&mut guards, kind).ok()? = bytes.as_u64()?;
    }
    Some(guards)
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
        let error = "unknown kind \"weights\"; known are inputs, params, constants, outputs";
        assert_eq!(parse_place("inputs,weights"), Err(error.to_owned()));
        assert!(parse_place("").is_err());
    }

    #[test]
    fn guards_are_for_all_or_by_kind() {
        assert_eq!(parse_guards("128"), Ok(all(128)));
        let some = Boundary { inputs: 64, params: 0, constants: 0, outputs: 1024 };
        assert_eq!(parse_guards("inputs=64,outputs=1KiB"), Ok(some));
        assert!(parse_guards("inputs=64,128").is_err());
        assert!(parse_guards("weights=64").is_err());
        assert!(parse_guards("inputs=-1").is_err());
        assert_eq!(read_guards(&recorded_guards(&some)), Some(some));
        assert_eq!(read_guards(&json!({})), Some(all(0)));
        for wrong in [json!(128), json!({"weights": 1}), json!({"inputs": -1})] {
            assert_eq!(read_guards(&wrong), None, "{wrong}");
        }
    }
}
