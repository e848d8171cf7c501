//! Kernels against plain definitions, over random shapes and attributes.

mod cast;
mod elementwise;
mod larger;
mod layout;
mod math;
mod norm;
mod places;
mod reduce;
mod world;
