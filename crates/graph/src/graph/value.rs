//! A value of a graph: a tensor, and what is declared of its memory.

use plimsoll::{Role, Storage, View};

use crate::dtype::{Dtype, packed_bytes};
use crate::shape::{Elements, Shape};

/// A tensor. Written once, by a node or from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, each said by a word of its own"
)]
pub struct Value {
    /// Any text, but not empty; no two values have the same.
    pub name: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its dims.
    pub shape: Shape,
    /// Its size, if that is not what type and shape say.
    pub bytes: Option<u64>,
    /// Who makes it.
    pub role: Role,
    /// Where it lives.
    pub storage: Storage,
    /// The value whose bytes it is a part of, and where in it, at the native width. Views that
    /// follow from an op need no declaration.
    pub view: Option<View>,
    /// What its offset must be a multiple of; `None` for the default of the plan.
    pub align: Option<u64>,
    /// Bytes behind its end that whoever writes it may write too.
    pub guard: u64,
    /// Whether it keeps its native width under every width policy, and its aliases with it.
    pub exempt: bool,
    /// Whether it has no bytes, because whoever makes or reads it folds it away.
    pub elided: bool,
    /// Whether a value from outside may be overwritten once it is no longer needed.
    pub donated: bool,
    /// Whether it has bytes of its own though its op could make it a view: a view keeps what it is a part
    /// of.
    pub copied: bool,
}

/// A value's size at the native width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// So many.
    Known(u64),
    /// A dim is not known.
    Unknown,
    /// More than fit a `u64`.
    TooMany,
}

impl Bytes {
    /// How many, if that is known.
    #[must_use]
    pub fn known(self) -> Option<u64> {
        match self {
            Bytes::Known(bytes) => Some(bytes),
            Bytes::Unknown | Bytes::TooMany => None,
        }
    }
}

impl Value {
    /// A temporary in the arena, with nothing else declared.
    #[must_use]
    pub fn new(name: impl Into<String>, dtype: Dtype, shape: impl Into<Shape>) -> Self {
        Value {
            name: name.into(),
            dtype,
            shape: shape.into(),
            bytes: None,
            role: Role::Temporary,
            storage: Storage::Arena,
            view: None,
            align: None,
            guard: 0,
            exempt: false,
            elided: false,
            donated: false,
            copied: false,
        }
    }

    /// The same, made by somebody else.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Value { role, ..self }
    }

    /// The same, living elsewhere.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Value { storage, ..self }
    }

    /// Whether it is there before the first step: nobody has to write it.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.role != Role::Temporary || self.storage != Storage::Arena
    }

    /// Its size with slots of so many bits.
    #[must_use]
    pub fn size(&self, slot_bits: u64) -> Bytes {
        self.bytes.map_or_else(|| self.shape_size(slot_bits), Bytes::Known)
    }

    /// What its elements take with slots of so many bits.
    #[must_use]
    pub fn shape_size(&self, slot_bits: u64) -> Bytes {
        match self.shape.elements() {
            Elements::Known(elements) => {
                packed_bytes(elements, slot_bits).map_or(Bytes::TooMany, Bytes::Known)
            }
            Elements::Unknown => Bytes::Unknown,
            Elements::TooMany => Bytes::TooMany,
        }
    }

    /// Its size as its elements are packed natively.
    #[must_use]
    pub fn native_size(&self) -> Bytes {
        self.size(self.dtype.bits())
    }
}
