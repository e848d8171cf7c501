//! From offsets of buffers to places of values.

use crate::assignment::Assignment;
use crate::attempt::{Attempt, Case};
use crate::ids::{BankId, BufferId};
use crate::liveness::reserved;
use crate::lives::lives;
use crate::lower::What;
use crate::options::Options;
use crate::plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
use crate::point::{LiveRange, Point};
use crate::unshared::unshared_bytes;

/// The plan that an attempt came to.
pub(crate) fn assemble(case: &Case<'_, '_>, attempt: &Attempt<'_>, options: &Options) -> Plan {
    let Case { validated, assignments, liveness } = *case;
    let mut banks = banks(attempt);
    let mut scratch = vec![None; validated.steps()];
    let mut buffers = Vec::with_capacity(attempt.sharing.requests.len());
    let mut buffer_of = vec![None; validated.values.len()];
    for (request, (bank, offset)) in attempt.sharing.requests.iter().zip(&attempt.placed.slots) {
        let slot = Slot::new(BankId::new(*bank), *offset, request.buffer.size);
        match request.what {
            What::AliasSet(head) => buffer_of[head.index()] = Some(BufferId::new(buffers.len())),
            What::Scratch(step) => scratch[step.index()] = Some(slot),
        }
        let time = |t: i64| Point(t.unsigned_abs());
        let live = LiveRange::new(time(request.buffer.life.start), time(request.buffer.life.end));
        let gaps = request.buffer.gaps.clone();
        buffers.push(Buffer { slot, live, align: request.buffer.align, gaps });
    }
    let lives = lives(validated, assignments, &liveness.live_spans);
    let mut members = Vec::with_capacity(validated.values.len());
    let mut places = Vec::with_capacity(validated.values.len());
    for value in validated.value_ids() {
        let rooted = validated.roots[value.index()];
        let (head, at) = attempt.sharing.alias_sets.member[rooted.root.index()];
        let buffer = buffer_of[head.index()].filter(|_| is_placed(&assignments[value.index()]));
        members.push(buffer.map(|buffer| Member {
            buffer,
            offset: at + rooted.offset,
            live: lives[value.index()],
            took_over: attempt.sharing.alias_sets.took_over[value.index()],
        }));
        let bytes = rooted.hull(validated.values[value.index()].bytes).len();
        let reserved =
            if validated.is_root(value) { reserved(validated, value, options) } else { bytes };
        let slot = |bank, offset| Slot { bank, offset, bytes, reserved };
        places.push(match (&assignments[value.index()], buffer) {
            (Assignment::Elided, _) => Place::Elided,
            (Assignment::External, _) if head == value => Place::External,
            (Assignment::External, _) => Place::Outside { root: head, offset: at + rooted.offset },
            (Assignment::Shared(imported), _) => {
                let bank = bank_named(&mut banks, &imported.bank, imported.offset + imported.bytes);
                Place::Bank(slot(bank, imported.offset + rooted.offset))
            }
            (_, Some(buffer)) => {
                let Slot { bank, offset, .. } = buffers[buffer.index()].slot;
                Place::Bank(slot(bank, offset + at + rooted.offset))
            }
            // No bytes, no buffer: any address does.
            (_, None) => Place::Bank(Slot::new(BankId(0), 0, 0)),
        });
    }
    let unshared_bytes = unshared_bytes(validated, options);
    let mut derivation = Derivation { buffers, members, unshared_bytes, ..totals(attempt) };
    // What another plan has put into banks of its own is there, whatever we do.
    let theirs: u64 = banks[attempt.placed.banks.len()..].iter().map(|bank| bank.bytes).sum();
    derivation.lower_bound_bytes += theirs;
    derivation.order_bound_bytes = options.order_bound_bytes;
    Plan {
        schedule: validated.schedule.clone(),
        places,
        scratch,
        banks,
        align: options.align,
        derivation,
    }
}

fn is_placed(assignment: &Assignment) -> bool {
    matches!(assignment, Assignment::Packed | Assignment::Kept)
}

fn banks(attempt: &Attempt<'_>) -> Vec<Bank> {
    let bank = |filled: &crate::banks::Filled| Bank {
        name: filled.name.clone(),
        bytes: filled.bytes,
        capacity: filled.capacity,
    };
    attempt.placed.banks.iter().map(bank).collect()
}

/// The bank of that name, grown to hold what another plan has put there.
fn bank_named(banks: &mut Vec<Bank>, name: &str, end: u64) -> BankId {
    let index = banks.iter().position(|bank| bank.name == name).unwrap_or_else(|| {
        banks.push(Bank { name: name.to_owned(), bytes: 0, capacity: None });
        banks.len() - 1
    });
    banks[index].bytes = banks[index].bytes.max(end);
    BankId::new(index)
}

fn totals(attempt: &Attempt<'_>) -> Derivation {
    let banks = &attempt.placed.banks;
    let mut winners: Vec<&str> = banks.iter().map(|b| b.won_by.as_str()).collect();
    winners.retain(|name| !name.is_empty());
    winners.dedup();
    Derivation {
        lower_bound_bytes: banks.iter().map(|bank| bank.lower_bound_bytes).sum(),
        optimal: banks.iter().all(|bank| bank.optimal),
        limit: banks.iter().find_map(|bank| bank.limit),
        won_by: winners.join(", "),
        ..Derivation::default()
    }
}
