//! From offsets of buffers to places of values.

use crate::door::Checked;
use crate::home::Home;
use crate::ids::{BankId, BufferId, ValueId};
use crate::liveness::{Need, reserved};
use crate::lower::What;
use crate::options::Options;
use crate::pipeline::Attempt;
use crate::plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
use crate::point::{LiveRange, Point};

/// The plan that an attempt came to.
pub(crate) fn assemble(
    checked: &Checked<'_>,
    homes: &[Home],
    attempt: &Attempt,
    options: &Options,
) -> Plan {
    let mut banks = banks(attempt);
    let mut scratch = vec![None; checked.steps()];
    let mut buffers = Vec::with_capacity(attempt.items.len());
    let mut buffer_of = vec![None; checked.values.len()];
    for (item, (bank, offset)) in attempt.items.iter().zip(&attempt.placed.slots) {
        let slot = Slot { bank: BankId::new(*bank), offset: *offset, bytes: item.buffer.size };
        match item.what {
            What::Family(head) => buffer_of[head.index()] = Some(BufferId::new(buffers.len())),
            What::Scratch(step) => scratch[step.index()] = Some(slot),
        }
        let time = |t: i64| Point(t.unsigned_abs());
        let live = LiveRange::new(time(item.buffer.life.start), time(item.buffer.life.end));
        let gaps = item.buffer.gaps.clone();
        buffers.push(Buffer { slot, live, align: item.buffer.align, gaps });
    }
    let lives = lives(checked, attempt);
    let mut members = Vec::with_capacity(checked.values.len());
    let mut places = Vec::with_capacity(checked.values.len());
    for value in checked.value_ids() {
        let rooted = checked.roots[value.index()];
        let (head, at) = attempt.families.member[rooted.root.index()];
        let buffer = buffer_of[head.index()].filter(|_| is_placed(&homes[value.index()]));
        members.push(buffer.map(|buffer| Member {
            buffer,
            offset: at + rooted.offset,
            live: lives[value.index()],
            took_over: attempt.families.took_over[value.index()],
        }));
        // What is reserved behind the end of a value is part of its slot.
        let bytes = if checked.is_root(value) {
            reserved(checked, value, options)
        } else {
            rooted.hull(checked.values[value.index()].bytes).len()
        };
        places.push(match (&homes[value.index()], buffer) {
            (Home::Elided, _) => Place::Elided,
            (Home::External, _) if head == value => Place::External,
            (Home::External, _) => Place::Outside { root: head, offset: at + rooted.offset },
            (Home::Shared(slot), _) => {
                let bank = bank_named(&mut banks, &slot.bank, slot.offset + slot.bytes);
                Place::Bank(Slot { bank, offset: slot.offset + rooted.offset, bytes })
            }
            (_, Some(buffer)) => {
                let Slot { bank, offset, .. } = buffers[buffer.index()].slot;
                Place::Bank(Slot { bank, offset: offset + at + rooted.offset, bytes })
            }
            // No bytes, no buffer: any address does.
            (_, None) => Place::Bank(Slot { bank: BankId(0), offset: 0, bytes: 0 }),
        });
    }
    let mut derivation = Derivation { buffers, members, ..totals(attempt) };
    // What another plan has put into banks of its own is there, whatever we do.
    let theirs: u64 = banks[attempt.placed.banks.len()..].iter().map(|bank| bank.bytes).sum();
    derivation.lower_bound_bytes += theirs;
    derivation.order_bound_bytes = options.order_bound_bytes;
    Plan {
        schedule: checked.schedule.clone(),
        places,
        scratch,
        banks,
        align: options.align,
        derivation,
    }
}

fn is_placed(home: &Home) -> bool {
    matches!(home, Home::Packed | Home::Kept)
}

fn banks(attempt: &Attempt) -> Vec<Bank> {
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

fn totals(attempt: &Attempt) -> Derivation {
    let banks = &attempt.placed.banks;
    let mut winners: Vec<&str> = banks.iter().map(|b| b.won_by.as_str()).collect();
    winners.retain(|name| !name.is_empty());
    winners.dedup();
    Derivation {
        lower_bound_bytes: banks.iter().map(|bank| bank.lower_bound_bytes).sum(),
        optimal: banks.iter().all(|bank| bank.optimal),
        limit: banks.iter().find_map(|bank| bank.limit),
        unshared_bytes: attempt.items.iter().map(|item| item.buffer.size).sum(),
        won_by: winners.join(", "),
        ..Derivation::default()
    }
}

/// From the first byte of each value written to the last one needed.
fn lives(checked: &Checked<'_>, attempt: &Attempt) -> Vec<LiveRange> {
    let mut lives: Vec<Option<LiveRange>> = vec![None; checked.values.len()];
    let mut grow = |value: ValueId, live: LiveRange| {
        let known = &mut lives[value.index()];
        *known = Some(known.map_or(live, |known| known.hull(live)));
    };
    for need in attempt.families.needs.iter().flatten() {
        if let Need { live, touch: Some(touch), .. } = need {
            grow(touch.value, *live);
            grow(checked.roots[touch.value.index()].root, *live);
        }
    }
    let run = LiveRange::whole_run(checked.steps());
    let steps = checked.steps();
    checked
        .value_ids()
        .map(|value| {
            let info = &checked.values[value.index()];
            let outside = crate::door::comes_from_outside(info) && info.view_of.is_none();
            let never = if outside { run } else { LiveRange::new(Point(0), Point(0)) };
            let mut live = lives[value.index()].unwrap_or(never);
            if outside {
                live.start = Point(0);
            }
            if info.output {
                live.end = Point::end_of_run(steps);
            }
            live
        })
        .collect()
}
