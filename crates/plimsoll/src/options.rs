//! The choices of a plan.

use std::fmt;

use crate::ids::{StepId, ValueId};
use crate::program::{Role, ValueInfo};
use crate::shared::SharedLayout;

/// How to plan. The default is the good plan; caution is an option.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What offsets are multiples of, where a value does not say.
    pub align: u64,
    /// Which values from outside get a place in the plan. Outputs have one by default.
    pub place: Boundary<bool>,
    /// Whether the bytes of an input may be used for something else after its last read.
    pub reclaim_inputs: bool,
    /// Bytes to leave free behind values at the boundary, for kernels that write past the end;
    /// added to what the value itself asks for.
    pub guards: Boundary<u64>,
    /// The least that a value from outside takes, so that even an empty one has an address of
    /// its own.
    pub min_slot: u64,
    /// Whether outputs may take over the bytes of inputs. Those that must, do.
    pub in_place: bool,
    /// Values whose bytes are not shared with anything.
    pub no_share: NoShare,
    /// The address spaces to place buffers in, in order of preference; one without limits if none
    /// is given.
    pub banks: Vec<BankSpec>,
    /// Where another plan has put the shared values.
    pub shared: Option<SharedLayout>,
    /// The order of the steps; the program's own if none is given.
    pub schedule: Option<Vec<StepId>>,
    /// What a search for an order has proven: no plan of any order has a smaller arena. It is
    /// recorded in the plan, and a plan below it is an error.
    pub order_bound_bytes: Option<u64>,
    /// How to pack.
    pub pack: plimsoll_pack::Options,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            align: 64,
            place: Boundary { inputs: false, params: false, constants: false, outputs: true },
            reclaim_inputs: false,
            guards: Boundary { inputs: 0, params: 0, constants: 0, outputs: 0 },
            min_slot: 0,
            in_place: true,
            no_share: NoShare::Nothing,
            banks: Vec::new(),
            shared: None,
            schedule: None,
            order_bound_bytes: None,
            pack: packing(),
        }
    }
}

/// Buffers of programs are close to their bound by the rules alone, most of the time: a tenth of
/// a second of search is enough.
fn packing() -> plimsoll_pack::Options {
    let mut pack = plimsoll_pack::Options::default();
    pack.work = Some(20_000_000);
    pack
}

impl Options {
    /// The preset for a runtime that keeps everything in one arena: all boundary values are
    /// placed, and even an empty one has an address.
    #[must_use]
    pub fn inference() -> Self {
        let place = Boundary { inputs: true, params: true, constants: true, outputs: true };
        Options { place, min_slot: 64, ..Options::default() }
    }

    /// The preset for a backward pass, whose params are elsewhere: all other boundary values are
    /// placed, and even an empty one has an address.
    #[must_use]
    pub fn activations_only() -> Self {
        let place = Boundary { inputs: true, params: false, constants: true, outputs: true };
        Options { place, ..Options::inference() }
    }

    /// The same, with offsets that are multiples of this.
    #[must_use]
    pub fn with_align(self, align: u64) -> Self {
        Options { align, ..self }
    }

    /// The same, with these boundary values placed.
    #[must_use]
    pub fn with_place(self, place: Boundary<bool>) -> Self {
        Options { place, ..self }
    }

    /// The same, with or without inputs that give up their bytes after the last read.
    #[must_use]
    pub fn with_reclaim_inputs(self, reclaim_inputs: bool) -> Self {
        Options { reclaim_inputs, ..self }
    }

    /// The same, with so many bytes left free behind boundary values.
    #[must_use]
    pub fn with_guards(self, guards: Boundary<u64>) -> Self {
        Options { guards, ..self }
    }

    /// The same, with this as the least size of a value from outside.
    #[must_use]
    pub fn with_min_slot(self, min_slot: u64) -> Self {
        Options { min_slot, ..self }
    }

    /// The same, with or without outputs that take over inputs.
    #[must_use]
    pub fn with_in_place(self, in_place: bool) -> Self {
        Options { in_place, ..self }
    }

    /// The same, with these values kept from sharing.
    #[must_use]
    pub fn with_no_share(self, no_share: NoShare) -> Self {
        Options { no_share, ..self }
    }

    /// The same, with these address spaces.
    #[must_use]
    pub fn with_banks(self, banks: Vec<BankSpec>) -> Self {
        Options { banks, ..self }
    }

    /// The same, with shared values where another plan has put them.
    #[must_use]
    pub fn with_shared(self, shared: Option<SharedLayout>) -> Self {
        Options { shared, ..self }
    }

    /// The same, with the steps in this order.
    #[must_use]
    pub fn with_schedule(self, schedule: Option<Vec<StepId>>) -> Self {
        Options { schedule, ..self }
    }

    /// The same, with this way to pack.
    #[must_use]
    pub fn with_pack(self, pack: plimsoll_pack::Options) -> Self {
        Options { pack, ..self }
    }

    /// The same, with so much work for the search of a packing.
    #[must_use]
    pub fn with_work(mut self, work: u64) -> Self {
        self.pack.work = Some(work);
        self
    }

    /// Whether a program of so many values can be planned so.
    pub(crate) fn check(&self, values: usize) -> Result<(), OptionsError> {
        if self.align == 0 {
            return Err(OptionsError::NoAlign);
        }
        if let Some(bank) = self.banks.iter().find(|bank| bank.align == Some(0)) {
            return Err(OptionsError::NoBankAlign { bank: bank.name.clone() });
        }
        let no_share = match &self.no_share {
            NoShare::Values(values) => &values[..],
            NoShare::Nothing | NoShare::Everything => &[],
        };
        match no_share.iter().find(|value| value.index() >= values) {
            Some(value) => Err(OptionsError::UnknownNoShare(*value)),
            None => Ok(()),
        }
    }
}

/// What is wrong with the choices of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionsError {
    /// [`Options::align`] is 0.
    NoAlign,
    /// [`BankSpec::align`] is 0.
    NoBankAlign {
        /// What the bank is called.
        bank: String,
    },
    /// [`Options::no_share`] names a value that the program does not have.
    UnknownNoShare(ValueId),
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionsError::NoAlign => write!(f, "the alignment of offsets is 0: it is at least 1"),
            OptionsError::NoBankAlign { bank } => {
                write!(f, "the alignment of bank {bank:?} is 0: it is at least 1")
            }
            OptionsError::UnknownNoShare(value) => {
                write!(f, "{value} is to be no_share, and does not exist")
            }
        }
    }
}

impl std::error::Error for OptionsError {}

/// One choice for each kind of value at the boundary of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary<T> {
    /// For [`Role::Input`].
    pub inputs: T,
    /// For [`Role::Param`].
    pub params: T,
    /// For [`Role::Constant`] and [`Role::Static`].
    pub constants: T,
    /// For outputs that a step makes.
    pub outputs: T,
}

impl<T: Copy> Boundary<T> {
    /// The choice for a value, `inside` if it is not at the boundary.
    pub(crate) fn of(&self, info: &ValueInfo, inside: T) -> T {
        match info.role {
            Role::Input => self.inputs,
            Role::Param => self.params,
            Role::Constant | Role::Static => self.constants,
            Role::Temporary if info.output => self.outputs,
            Role::Temporary => inside,
        }
    }
}

/// Values whose bytes are not shared with anything: to find out which sharing a bug depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoShare {
    /// Everything may share.
    Nothing,
    /// These values, and whatever is a view of them.
    Values(Vec<ValueId>),
    /// Everything has a place of its own for the whole run.
    Everything,
}

/// An address space to place buffers in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BankSpec {
    /// What it is called.
    pub name: String,
    /// How large it may be.
    pub capacity: Option<u64>,
    /// How large a buffer in it may be.
    pub buffer_capacity: Option<u64>,
    /// What offsets in it are multiples of, at least.
    pub align: Option<u64>,
    /// Whether there may be as many of it as are needed: `name`, `name.1`, `name.2`, ….
    pub repeat: bool,
    /// Whom it takes; everybody if it is empty.
    pub roles: Vec<Role>,
}

impl BankSpec {
    /// A bank without limits, for everybody.
    #[must_use]
    pub fn new(name: &str) -> Self {
        BankSpec {
            name: name.to_owned(),
            capacity: None,
            buffer_capacity: None,
            align: None,
            repeat: false,
            roles: Vec::new(),
        }
    }

    pub(crate) fn takes(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }
}
