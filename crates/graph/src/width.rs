//! How wide the slots of elements are: a policy from the element type and the role of a value to
//! bits per element.
//!
//! Runtimes differ in how they hold narrow elements: a back end without half floats keeps every
//! element in four bytes, another packs halves and widens integers. A policy says which. *Wide*
//! means at least four bytes an element: what is wider already stays as it is. Elements of 2 and
//! 4 bits stay packed wherever their class keeps its native width, and take whole slots where it
//! is widened. The exception is [`Width::Four`], which means exactly what it says.
//!
//! A view and its root are the same bytes, so they have to agree, offsets included. That is not
//! decided here value by value, but over alias sets: see [`Policy::of_set`].

use std::fmt;
use std::str::FromStr;

use plimsoll::Role;

use crate::dtype::{Class, Dtype};

/// A width policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Width {
    /// Every element at its own width.
    #[default]
    Native,
    /// Exactly four bytes an element, 64-bit numbers too; complex numbers are two elements.
    Four,
    /// Parameters native, all else as in [`Width::Four`].
    ParamsNative,
    /// Floats native, halves and narrower included; integers and truth values wide.
    IntWide,
    /// Integers and truth values native, packed ones included; floats wide.
    HalfWide,
    /// `bf16` wide, all else native.
    Bf16Wide,
}

const NAMES: [(Width, &str); 6] = [
    (Width::Native, "native"),
    (Width::Four, "four"),
    (Width::ParamsNative, "params-native"),
    (Width::IntWide, "int-wide"),
    (Width::HalfWide, "half-wide"),
    (Width::Bf16Wide, "bf16-wide"),
];

const SLOT_BITS: u64 = 32;

impl Width {
    /// Every policy there is.
    pub fn all() -> impl Iterator<Item = Width> {
        NAMES.iter().map(|row| row.0)
    }

    /// The bits that an element takes.
    #[must_use]
    pub fn bits(self, dtype: Dtype, role: Role) -> u64 {
        let native = dtype.bits();
        let wide = native.max(SLOT_BITS);
        let four = if dtype.class() == Class::Complex { 2 * SLOT_BITS } else { SLOT_BITS };
        match (self, dtype.class()) {
            (Width::Four, _) => four,
            (Width::ParamsNative, _) if role != Role::Param => four,
            (Width::IntWide, Class::Integer) | (Width::HalfWide, Class::Float) => wide,
            (Width::Bf16Wide, _) if dtype == Dtype::Bf16 => wide,
            (
                Width::Native
                | Width::ParamsNative
                | Width::IntWide
                | Width::HalfWide
                | Width::Bf16Wide,
                _,
            ) => native,
        }
    }

    /// The name that [`Width::from_str`] reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Width {
    type Err = UnknownWidth;

    fn from_str(name: &str) -> Result<Self, UnknownWidth> {
        let row = NAMES.iter().find(|row| row.1 == name);
        row.map(|row| row.0).ok_or_else(|| UnknownWidth(name.to_owned()))
    }
}

/// A name that is no width policy's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWidth(pub String);

impl fmt::Display for UnknownWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = NAMES.map(|row| row.1).join(", ");
        write!(f, "`{}` is not a width policy: {names}", self.0)
    }
}

impl std::error::Error for UnknownWidth {}

/// What an alias set has in common, gathered member by member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    dtype: Dtype,
    role: Role,
    /// Some member has to stay as it is.
    native: bool,
}

impl Policy {
    /// Of an alias set of one.
    pub(crate) fn new(dtype: Dtype, role: Role, native: bool) -> Self {
        Policy { dtype, role, native }
    }

    /// Of two alias sets that turn out to be one: what binds a member binds all. Members of
    /// different types share bytes only as they are, so these stay native too.
    pub(crate) fn join(self, other: Policy) -> Policy {
        let param = self.role == Role::Param || other.role == Role::Param;
        Policy {
            dtype: self.dtype,
            role: if param { Role::Param } else { self.role },
            native: self.native || other.native || self.dtype != other.dtype,
        }
    }

    /// The slot of every element of the alias set, as a ratio to its native width.
    pub(crate) fn of_set(self, width: Width) -> Scale {
        let native = self.dtype.bits();
        let slot = if self.native { native } else { width.bits(self.dtype, self.role) };
        Scale { native, slot }
    }
}

/// From bytes at the native width to bytes of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    native: u64,
    slot: u64,
}

impl Scale {
    /// Whether nothing changes.
    pub(crate) fn is_native(self) -> bool {
        self.native == self.slot
    }

    /// The bits of a slot, for an element of that type. It is the alias set's own type, unless the
    /// alias set is native.
    pub(crate) fn slot_bits(self, dtype: Dtype) -> u64 {
        if self.is_native() { dtype.bits() } else { self.slot }
    }

    /// Where the element that begins at a byte at the native width begins in slots; `None` if
    /// that overflows. The byte has to be the first of an element, or the native width is kept.
    pub(crate) fn offset(self, byte: u64) -> Option<u64> {
        if self.is_native() {
            return Some(byte);
        }
        let element = u128::from(byte) * 8 / u128::from(self.native);
        u64::try_from(element * u128::from(self.slot) / 8).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits under each policy, in the order of [`NAMES`], for a temporary.
    fn row(dtype: Dtype) -> Vec<u64> {
        Width::all().map(|width| width.bits(dtype, Role::Temporary)).collect()
    }

    #[test]
    fn every_policy_for_every_kind_of_element() {
        //                                  native four params int half bf16
        assert_eq!(row(Dtype::F32), /*   */ [32, 32, 32, 32, 32, 32]);
        assert_eq!(row(Dtype::F16), /*   */ [16, 32, 32, 16, 32, 16]);
        assert_eq!(row(Dtype::Bf16), /*  */ [16, 32, 32, 16, 32, 32]);
        assert_eq!(row(Dtype::F8E5m2), /**/ [8, 32, 32, 8, 32, 8]);
        assert_eq!(row(Dtype::Bool), /*  */ [8, 32, 32, 32, 8, 8]);
        assert_eq!(row(Dtype::I4), /*    */ [4, 32, 32, 32, 4, 4]);
        assert_eq!(row(Dtype::I64), /*   */ [64, 32, 32, 64, 64, 64]);
        assert_eq!(row(Dtype::F64), /*   */ [64, 32, 32, 64, 64, 64]);
        assert_eq!(row(Dtype::C64), /*   */ [64, 64, 64, 64, 64, 64]);
    }

    #[test]
    fn only_one_policy_looks_at_the_role() {
        assert_eq!(Width::ParamsNative.bits(Dtype::F16, Role::Param), 16);
        assert_eq!(Width::ParamsNative.bits(Dtype::F16, Role::Constant), 32);
        assert_eq!(Width::Four.bits(Dtype::F16, Role::Param), 32);
    }

    #[test]
    fn names_are_read_back() {
        for width in Width::all() {
            assert_eq!(width.to_string().parse(), Ok(width));
        }
        let error = "huge".parse::<Width>().unwrap_err().to_string();
        assert!(error.starts_with("`huge` is not a width policy: native, four"), "{error}");
    }

    #[test]
    fn what_binds_a_member_binds_the_set() {
        let half = Policy::new(Dtype::F16, Role::Temporary, false);
        let exempt = Policy::new(Dtype::F16, Role::Temporary, true);
        let byte = Policy::new(Dtype::U8, Role::Temporary, false);
        assert_eq!(half.of_set(Width::Four).slot_bits(Dtype::F16), 32);
        assert!(half.join(exempt).of_set(Width::Four).is_native());
        let mixed = half.join(byte).of_set(Width::Four);
        assert_eq!((mixed.slot_bits(Dtype::F16), mixed.slot_bits(Dtype::U8)), (16, 8));
        let param = half.join(Policy::new(Dtype::F16, Role::Param, false));
        assert!(param.of_set(Width::ParamsNative).is_native());
    }

    #[test]
    fn offsets_go_by_elements() {
        let half = Policy::new(Dtype::F16, Role::Temporary, false).of_set(Width::Four);
        assert_eq!(half.offset(6), Some(12));
        let nibble = Policy::new(Dtype::I4, Role::Temporary, false).of_set(Width::Four);
        assert_eq!(nibble.offset(3), Some(24));
        assert_eq!(half.offset(u64::MAX), None);
    }
}
