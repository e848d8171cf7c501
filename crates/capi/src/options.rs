//! How to plan.

use plimsoll::{BankSpec, OrderEffort};

use crate::error::{Failure, bad};

/// How long to search.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Greedy rules alone.
    Fast = 0,
    /// A second or two at most.
    Default = 1,
    /// A minute or so.
    High = 2,
    /// Until it is proven that nothing is smaller, however long that takes.
    Exhaustive = 3,
}

impl Effort {
    /// The effort of a number that a caller gives.
    pub(crate) fn read(number: u32) -> Result<Self, Failure> {
        let all = [Effort::Fast, Effort::Default, Effort::High, Effort::Exhaustive];
        let found = all.into_iter().find(|effort| *effort as u32 == number);
        found.ok_or_else(|| bad(format!("{number} is no PlimsollEffort")))
    }
}

impl From<Effort> for plimsoll_pack::Effort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::Fast => plimsoll_pack::Effort::Fast,
            Effort::Default => plimsoll_pack::Effort::Default,
            Effort::High => plimsoll_pack::Effort::High,
            Effort::Exhaustive => plimsoll_pack::Effort::Exhaustive,
        }
    }
}

/// In which order steps run.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That in which they were declared.
    Given = 0,
    /// The best that rules find.
    Fast = 1,
    /// The best that search finds, never worse than the given one.
    Best = 2,
}

impl Order {
    /// How long to search for an order, if one is searched for.
    pub(crate) fn effort(number: u32) -> Result<Option<OrderEffort>, Failure> {
        let all = [Order::Given, Order::Fast, Order::Best];
        match all.into_iter().find(|order| *order as u32 == number) {
            Some(Order::Given) => Ok(None),
            Some(Order::Fast) => Ok(Some(OrderEffort::Fast)),
            Some(Order::Best) => Ok(Some(OrderEffort::Default)),
            None => Err(bad(format!("{number} is no PlimsollOrder"))),
        }
    }
}

/// How to plan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What offsets are multiples of, where a value does not say; at least 1.
    pub align: u64,
    /// Whether inputs get a place in the arena; otherwise they are the caller's memory.
    pub place_inputs: bool,
    /// Whether params and constants do.
    pub place_params: bool,
    /// Whether outputs do.
    pub place_outputs: bool,
    /// Whether outputs may take over the bytes of inputs where steps allow it.
    pub in_place: bool,
    /// How large the arena may be; 0 if there is no limit.
    pub capacity: u64,
    /// In which order steps run: a `PlimsollOrder`.
    pub order: u32,
    /// How long to search for a packing: a `PlimsollEffort`.
    pub effort: u32,
}

impl Options {
    pub(crate) fn choices(&self) -> Result<plimsoll::Options, Failure> {
        let effort = Effort::read(self.effort)?;
        let mut choices = plimsoll::Options::default().with_align(self.align);
        choices.place.inputs = self.place_inputs;
        choices.place.params = self.place_params;
        choices.place.constants = self.place_params;
        choices.place.outputs = self.place_outputs;
        choices.in_place = self.in_place;
        choices.pack.effort = effort.into();
        if effort != Effort::Default {
            choices.pack.work = None;
        }
        if self.capacity > 0 {
            let mut arena = BankSpec::new("arena");
            arena.capacity = Some(self.capacity);
            choices.banks = vec![arena];
        }
        Ok(choices)
    }
}

/// The defaults: alignment 64, outputs in the arena, in place, the declared order.
#[unsafe(no_mangle)]
pub extern "C" fn plimsoll_options() -> Options {
    Options {
        align: 64,
        place_inputs: false,
        place_params: false,
        place_outputs: true,
        in_place: true,
        capacity: 0,
        order: Order::Given as u32,
        effort: Effort::Default as u32,
    }
}
