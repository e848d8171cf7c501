//! Control flow: bodies, and whether they fit the node that runs them.

use plimsoll_model::{Body, Branches, Iteration, Operator};

use crate::attribute::missing;
use crate::draft::Draft;
use crate::error::Fault;

/// What a node of control flow runs.
pub(crate) enum Bodies {
    Branches(Branches),
    Loop(Body),
    Scan(Body),
}

/// The operator. Absent results are filled in, so that there are as many as the bodies have.
pub(crate) fn operator(draft: &mut Draft<'_, '_>, bodies: Bodies) -> Result<Operator, Fault> {
    match bodies {
        Bodies::Branches(branches) => branch(draft, branches),
        Bodies::Loop(body) => repeat(draft, body),
        Bodies::Scan(body) => scan(draft, body),
    }
}

fn branch(draft: &mut Draft<'_, '_>, branches: Branches) -> Result<Operator, Fault> {
    let (then, otherwise) = (branches.then.outputs.len(), branches.otherwise.outputs.len());
    if then != otherwise {
        return Err(format!("one branch has {then} results, the other {otherwise}"));
    }
    if !(branches.then.inputs.is_empty() && branches.otherwise.inputs.is_empty()) {
        return Err("a branch has inputs".to_owned());
    }
    set_results(draft, then)?;
    Ok(Operator::If(Box::new(branches)))
}

fn repeat(draft: &mut Draft<'_, '_>, body: Body) -> Result<Operator, Fault> {
    // Both operands in front may be absent, and with them all.
    let operands = draft.inputs.len().max(2);
    draft.inputs.resize(operands, None);
    if body.inputs.len() != operands {
        return Err(format!("{operands} operands for a body of {}", body.inputs.len()));
    }
    // The body says whether to go on in place of the two operands in front.
    if body.outputs.len() + 1 < operands {
        return Err(format!("a body with {} results for {operands} operands", body.outputs.len()));
    }
    set_results(draft, body.outputs.len() - 1)?;
    Ok(Operator::Loop(Box::new(body)))
}

fn scan(draft: &mut Draft<'_, '_>, body: Body) -> Result<Operator, Fault> {
    if draft.version < 9 {
        return Err("the scan of version 8, with a batch, is not supported".to_owned());
    }
    let operands = draft.inputs.len();
    if body.inputs.len() != operands {
        return Err(format!("{operands} operands for a body of {}", body.inputs.len()));
    }
    let sequences = draft.attributes.count("num_scan_inputs")?;
    let sequences = sequences.ok_or_else(|| missing("num_scan_inputs"))?;
    let sequences = usize::try_from(sequences).ok().filter(|count| *count <= operands);
    let sequences = sequences.ok_or("more sequences than operands")?;
    let collected = body.outputs.len().checked_sub(operands - sequences);
    let collected = collected.ok_or("the body has fewer results than there are states")?;
    let input_axes = axes(draft, "scan_input_axes", sequences)?;
    let output_axes = axes(draft, "scan_output_axes", collected)?;
    let input_reversed = reversed(draft, "scan_input_directions", sequences)?;
    let output_reversed = reversed(draft, "scan_output_directions", collected)?;
    set_results(draft, body.outputs.len())?;
    Ok(Operator::Scan(Box::new(Iteration {
        body,
        sequences,
        input_axes,
        output_axes,
        input_reversed,
        output_reversed,
    })))
}

fn reversed(draft: &Draft<'_, '_>, name: &str, count: usize) -> Result<Vec<bool>, Fault> {
    Ok(axes(draft, name, count)?.into_iter().map(|direction| direction != 0).collect())
}

fn axes(draft: &Draft<'_, '_>, name: &str, count: usize) -> Result<Vec<i64>, Fault> {
    let axes = draft.attributes.ints(name)?.map_or_else(|| vec![0; count], <[i64]>::to_vec);
    if axes.len() == count {
        return Ok(axes);
    }
    Err(format!("attribute `{name}` has {} numbers, not {count}", axes.len()))
}

fn set_results(draft: &mut Draft<'_, '_>, count: usize) -> Result<(), Fault> {
    if draft.outputs.len() > count {
        return Err(format!("{} results of a body with {count}", draft.outputs.len()));
    }
    draft.outputs.resize(count, None);
    Ok(())
}
