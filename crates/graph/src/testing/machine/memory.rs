//! Elements in memory: every value apart, or all of them in the bytes of a plan.
//!
//! An element is a number of at most 32 bits, whatever its type: what counts is which elements reach
//! which, and bits that no width policy keeps would be lost without anybody being wrong.

use plimsoll::{Place, Plan, Program, Strided, ValueId};

use crate::dtype::Dtype;
use crate::graph::Graph;
use crate::scheduled::ScheduledGraph;

/// What a byte holds that nobody needs.
const POISON: u8 = 0xa5;

/// The bits of an element of that type.
fn bits(dtype: Dtype) -> u64 {
    dtype.bits().min(32)
}

/// As much of a number as an element of that type holds.
fn held(dtype: Dtype, number: u64) -> u64 {
    number & ((1 << bits(dtype)) - 1)
}

/// The dims of a value.
///
/// # Panics
/// If they are not known.
pub(super) fn dims(graph: &Graph, value: ValueId) -> Vec<usize> {
    let known = graph.value(value).shape.known().expect("dims are known");
    known.into_iter().map(|dim| dim as usize).collect()
}

/// Elements of values, in row-major order.
pub(super) trait Memory {
    /// What an element is.
    fn get(&self, value: ValueId, element: usize) -> u64;
    /// Makes it something else.
    fn set(&mut self, value: ValueId, element: usize, number: u64);
}

/// Every value in memory of its own.
pub(super) struct NoShare {
    dtypes: Vec<Dtype>,
    elements: Vec<Vec<u64>>,
}

impl NoShare {
    pub(super) fn new(graph: &Graph) -> Self {
        let count = |value: ValueId| dims(graph, value).iter().product();
        NoShare {
            dtypes: graph.values().iter().map(|value| value.dtype).collect(),
            elements: graph.value_ids().map(|value| vec![0; count(value)]).collect(),
        }
    }

    pub(super) fn all(&self, value: ValueId) -> &[u64] {
        &self.elements[value.index()]
    }
}

impl Memory for NoShare {
    fn get(&self, value: ValueId, element: usize) -> u64 {
        self.elements[value.index()][element]
    }

    fn set(&mut self, value: ValueId, element: usize, number: u64) {
        self.elements[value.index()][element] = held(self.dtypes[value.index()], number);
    }
}

/// A byte: of a bank, or of what is outside of all banks.
#[derive(Clone, Copy)]
struct Address {
    space: usize,
    byte: usize,
}

/// The bytes of a plan.
pub(super) struct Arena {
    /// The banks, and then for each value what it has outside of them.
    spaces: Vec<Vec<u8>>,
    banks: usize,
    dtypes: Vec<Dtype>,
    /// The bits from one element to the next, by value.
    slots: Vec<u64>,
    /// Where each byte is, by value.
    addresses: Vec<Vec<Address>>,
}

impl Arena {
    pub(super) fn new(program: &ScheduledGraph<'_>, plan: &Plan) -> Self {
        let graph = program.graph();
        let banks = plan.banks.iter().map(|bank| vec![POISON; bank.bytes as usize]);
        let outside = |value: ValueId| vec![POISON; program.value(value).bytes as usize];
        let all = (0..program.values()).map(ValueId::new);
        let is_placed =
            |value: &ValueId| !graph.value(*value).elided && program.value(*value).bytes > 0;
        let addresses = |value: ValueId| {
            let bytes = if is_placed(&value) { program.value(value).bytes } else { 0 };
            (0..bytes).map(|byte| address(program, plan, value, byte)).collect()
        };
        Arena {
            spaces: banks.chain(all.clone().map(outside)).collect(),
            banks: plan.banks.len(),
            dtypes: graph.values().iter().map(|value| value.dtype).collect(),
            slots: all.clone().map(|value| slot_bits(program, value)).collect(),
            addresses: all.map(addresses).collect(),
        }
    }

    /// Spoils the bytes of banks that are not those of these values.
    pub(super) fn poison_all_but(&mut self, alive: &[ValueId]) {
        let mut kept: Vec<Vec<bool>> =
            self.spaces[..self.banks].iter().map(|bank| vec![false; bank.len()]).collect();
        let bytes = alive.iter().flat_map(|value| &self.addresses[value.index()]);
        for Address { space, byte } in bytes.copied().filter(|at| at.space < self.banks) {
            kept[space][byte] = true;
        }
        for (bank, kept) in self.spaces.iter_mut().zip(kept) {
            bank.iter_mut().zip(kept).filter(|(_, kept)| !kept).for_each(|(b, _)| *b = POISON);
        }
    }

    fn byte(&self, value: ValueId, byte: usize) -> u8 {
        let Address { space, byte } = self.addresses[value.index()][byte];
        self.spaces[space][byte]
    }

    fn byte_mut(&mut self, value: ValueId, byte: usize) -> &mut u8 {
        let Address { space, byte } = self.addresses[value.index()][byte];
        &mut self.spaces[space][byte]
    }

    /// The first byte of an element, and its bits in that byte if it is smaller than one.
    fn place(&self, value: ValueId, element: usize) -> (usize, usize) {
        let bit = element * self.slots[value.index()] as usize;
        (bit / 8, bit % 8)
    }
}

impl Memory for Arena {
    fn get(&self, value: ValueId, element: usize) -> u64 {
        let (first, shift) = self.place(value, element);
        let bytes = self.slots[value.index()].div_ceil(8).min(4) as usize;
        let number = (0..bytes)
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(self.byte(value, first + byte)));
        held(self.dtypes[value.index()], number >> shift)
    }

    fn set(&mut self, value: ValueId, element: usize, number: u64) {
        let dtype = self.dtypes[value.index()];
        let (number, slot) = (held(dtype, number), self.slots[value.index()]);
        let (first, shift) = self.place(value, element);
        if slot < 8 {
            let mask = ((1 << bits(dtype)) - 1) << shift;
            let byte = self.byte_mut(value, first);
            *byte = *byte & !mask | (number as u8) << shift;
            return;
        }
        for byte in 0..(slot / 8) as usize {
            *self.byte_mut(value, first + byte) =
                number.checked_shr(8 * byte as u32).unwrap_or(0) as u8;
        }
    }
}

/// How far it is from one element to the next.
fn slot_bits(program: &ScheduledGraph<'_>, value: ValueId) -> u64 {
    let native = program.graph().value(value).dtype.bits();
    let elements = dims(program.graph(), value).iter().product::<usize>() as u64;
    let bytes = program.value(value).bytes;
    let is_native = bytes == (elements * native).div_ceil(8);
    if is_native || elements == 0 { native } else { bytes * 8 / elements }
}

/// Where a byte of a value is: by the place of its root, and the views on the way to it.
fn address(program: &ScheduledGraph<'_>, plan: &Plan, value: ValueId, byte: u64) -> Address {
    let (mut root, mut at) = (value, byte);
    while let Some(view) = program.value(root).view_of {
        let Strided { bytes, stride } = view.rows.unwrap_or(Strided { bytes: u64::MAX, stride: 0 });
        at = view.offset + at / bytes * stride + at % bytes;
        root = view.of;
    }
    let outside = |value: ValueId, byte: u64| Address {
        space: plan.banks.len() + value.index(),
        byte: byte as usize,
    };
    match plan.places[root.index()] {
        Place::Bank(slot) => {
            Address { space: slot.bank.index(), byte: (slot.offset + at) as usize }
        }
        Place::Outside { root, offset } => outside(root, offset + at),
        Place::External | Place::Elided => outside(root, at),
    }
}
