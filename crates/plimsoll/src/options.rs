//! The choices of a plan.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::{StepId, ValueId};
use crate::near::Near;
use crate::program::{Role, ValueInfo};
use crate::shared::SharedLayout;

/// How to plan. The default is the good plan; caution is an option.
///
/// The `options` of a plan file are these: what is not in the file is the default. The order of the steps
/// has a key of its own there, and how hard to pack does not change what a plan means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Options {
    /// What offsets are multiples of, where a value does not say.
    pub align: u64,
    /// Which values from outside get a place in the plan. Outputs have one by default.
    #[serde(with = "placed")]
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
    #[serde(skip_serializing_if = "NoShare::is_nothing")]
    pub no_share: NoShare,
    /// The address spaces to place buffers in, in order of preference; one without limits if none
    /// is given.
    pub banks: Vec<BankSpec>,
    /// Where another plan has put the shared values.
    #[serde(skip_serializing_if = "Option::is_none", with = "imported")]
    pub shared: Option<SharedLayout>,
    /// The order of the steps; the program's own if none is given.
    #[serde(skip)]
    pub schedule: Option<Vec<StepId>>,
    /// What a search for an order has proven: no plan of any order has a smaller arena. It is
    /// recorded in the plan, and a plan below it is an error.
    #[serde(skip)]
    pub order_bound_bytes: Option<u64>,
    /// Where things are in another plan: they stay there if the arena does not grow by that.
    #[serde(skip)]
    pub near: Option<Near>,
    /// How to pack.
    #[serde(skip, default = "packing")]
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
            near: None,
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

    /// The same, near to another plan.
    #[must_use]
    pub fn with_near(self, near: Option<Near>) -> Self {
        Options { near, ..self }
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
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// [`Options::align`] is 0.
    #[error("the alignment of offsets is 0: it is at least 1")]
    NoAlign,
    /// [`BankSpec::align`] is 0.
    #[error("the alignment of bank {bank:?} is 0: it is at least 1")]
    NoBankAlign {
        /// What the bank is called.
        bank: String,
    },
    /// [`Options::no_share`] names a value that the program does not have.
    #[error("{0} is to be kept from sharing, and does not exist")]
    UnknownNoShare(ValueId),
}

/// One choice for each kind of value at the boundary of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoShare {
    /// Everything may share.
    #[default]
    Nothing,
    /// These values, and whatever is a view of them.
    Values(Vec<ValueId>),
    /// Everything has a place of its own for the whole run.
    Everything,
}

impl NoShare {
    fn is_nothing(&self) -> bool {
        *self == NoShare::Nothing
    }
}

/// The kinds of boundary values that are placed, as a list of their names.
mod placed {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Boundary;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(super) fn serialize<S: Serializer>(
        place: &Boundary<bool>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Boundary { inputs, params, constants, outputs } = *place;
        let kinds = [
            ("inputs", inputs),
            ("params", params),
            ("constants", constants),
            ("outputs", outputs),
        ];
        let placed = kinds.iter().filter(|(_, is_placed)| *is_placed);
        placed.map(|(kind, _)| *kind).collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Boundary<bool>, D::Error> {
        let mut place = Boundary::default();
        for kind in Vec::<String>::deserialize(deserializer)? {
            match kind.as_str() {
                "inputs" => place.inputs = true,
                "params" => place.params = true,
                "constants" => place.constants = true,
                "outputs" => place.outputs = true,
                _ => return Err(D::Error::custom(format!("unknown kind {kind:?}"))),
            }
        }
        Ok(place)
    }
}

/// The places of shared values by name, without what a layout is called in a file of its own.
mod imported {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SharedLayout;
    use crate::shared::SharedSlot;

    #[allow(clippy::ref_option, reason = "serde hands out references")]
    pub(super) fn serialize<S: Serializer>(
        shared: &Option<SharedLayout>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        shared.as_ref().map(|layout| &layout.values).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<SharedLayout>, D::Error> {
        let values = Option::<BTreeMap<String, SharedSlot>>::deserialize(deserializer)?;
        Ok(values.map(|values| SharedLayout { values }))
    }
}

/// An address space to place buffers in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
        BankSpec { name: name.to_owned(), ..BankSpec::default() }
    }

    pub(crate) fn takes(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.contains(&role)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read_back_as_they_were_written() {
        let mut bank = BankSpec::new("sram");
        bank.roles = vec![Role::Input, Role::Static];
        let some = Options::inference()
            .with_align(16)
            .with_no_share(NoShare::Values(vec![ValueId(3)]))
            .with_banks(vec![bank]);
        for options in [Options::default(), Options::activations_only(), some] {
            let written = serde_json::to_value(&options).expect("names and numbers");
            assert_eq!(
                serde_json::from_value::<Options>(written).expect("what was written"),
                options
            );
        }
    }

    #[test]
    fn what_is_not_said_is_the_default() {
        let read = serde_json::from_value::<Options>(json!({"align": 4, "place": ["inputs"]}));
        let mut expected = Options::default().with_align(4);
        expected.place = Boundary { inputs: true, ..Boundary::default() };
        assert_eq!(read.expect("two options"), expected);
        let guards = serde_json::from_value::<Boundary<u64>>(json!({"outputs": 8}));
        assert_eq!(guards.expect("one guard"), Boundary { outputs: 8, ..Boundary::default() });
        for wrong in [json!({"place": ["weights"]}), json!({"guards": {"weights": 1}})] {
            assert!(serde_json::from_value::<Options>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
