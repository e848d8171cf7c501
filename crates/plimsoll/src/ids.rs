//! Typed dense ids: a value is never mistaken for a step.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub u32);

        impl $name {
            /// The id of an index.
            ///
            /// # Panics
            /// If the index does not fit: nothing has 2³² of anything.
            #[must_use]
            #[inline]
            pub fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("fewer than 2^32 of them"))
            }

            /// The id as an index into arrays by id.
            #[must_use]
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($noun, " {}"), self.0)
            }
        }
    };
}

define_id!(
    /// A value of a program, from 0.
    ValueId,
    "value"
);
define_id!(
    /// A step of a program, from 0.
    StepId,
    "step"
);
define_id!(
    /// A bank of a plan, from 0.
    BankId,
    "bank"
);
define_id!(
    /// A buffer of a plan, from 0.
    BufferId,
    "buffer"
);
