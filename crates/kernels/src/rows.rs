//! Functions of rows as one pass: elements, and numbers that are made of all elements of a row.
//!
//! A normalisation that is spelled out, as `(x - mean(x)) / sqrt(mean((x - mean(x))²) + ε)`, or a softmax, is a
//! [`Chain`] in which some steps [reduce](crate::chain::Op::Reduce) a row to one number. It is gone over row by row:
//! registers hold a row, in scratch, and are used again for the next one. An output element depends on its own
//! row of each operand, which has been read when the row is written: any operand with an element for each of the
//! output may be in its place.

use crate::Level;
use crate::chain::{
    Access, Chain, Data, Found, MOST_OPERANDS, MOST_REGISTERS, To, apply, gathered,
};

/// Elements of scratch that [`rows`] needs for rows of so many elements.
#[must_use]
pub fn rows_scratch(chain: &Chain<'_>, len: usize) -> usize {
    chain.registers * len
}

/// `y = chain`, row by row of `len` elements.
///
/// # Panics
/// If an operand is too short, or a step names a register or an operand that is not there.
pub fn rows(
    level: Level,
    chain: &Chain<'_>,
    operands: &[Data<'_>],
    len: usize,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    assert_eq!(operands.len(), chain.accesses.len(), "operands of a chain");
    let registers = &mut scratch[..rows_scratch(chain, len)];
    for (at, y) in y.chunks_exact_mut(len.max(1)).enumerate() {
        row(level, chain, operands, at * len, registers, y);
    }
}

fn row(
    level: Level,
    chain: &Chain<'_>,
    operands: &[Data<'_>],
    first: usize,
    registers: &mut [f32],
    y: &mut [f32],
) {
    let len = y.len();
    if operands.iter().any(|operand| matches!(operand, Data::InPlace)) {
        registers[chain.held * len..][..len].copy_from_slice(y);
    }
    let mut found = [Found::One(0.0); MOST_OPERANDS];
    for (found, (operand, access)) in found.iter_mut().zip(operands.iter().zip(chain.accesses)) {
        *found = match (*operand, access) {
            (Data::InPlace, _) => Found::Register(chain.held),
            (Data::Floats(data), Access::Aligned) => Found::Run(&data[first..first + len]),
            (Data::Floats(data), Access::Broadcast(shape, register)) => {
                gathered(shape, data, first, *register, &mut registers[register * len..][..len])
            }
            (Data::Bytes(data), Access::Condition(shape)) => Found::Condition(data, shape),
            _ => panic!("an operand that is not what the chain takes"),
        };
    }
    let mut ones = [0.0; MOST_REGISTERS];
    let Some((last, steps)) = chain.steps.split_last() else { return };
    for step in steps {
        match step.to {
            To::Register(at) => {
                let (before, rest) = registers.split_at_mut(at * len);
                let (to, behind) = rest.split_at_mut(len);
                let register = |of: usize| {
                    if of < at {
                        &before[of * len..][..len]
                    } else {
                        &behind[(of - at - 1) * len..][..len]
                    }
                };
                apply(level, step, first, (&found, &ones), register, to);
            }
            To::One(at) => {
                let mut one = [0.0];
                let register = |of: usize| &registers[of * len..][..len];
                apply(level, step, first, (&found, &ones), register, &mut one);
                ones[at] = one[0];
            }
        }
    }
    apply(level, last, first, (&found, &ones), |at| &registers[at * len..][..len], y);
}
