//! What the processor can do with vectors, found out at run time.

pub mod level;

pub use level::Level;
