//! The C interface: packing and planning behind one header, `include/plimsoll.h`.
//!
//! `pack` takes arrays and gives offsets. A program is declared value by value and step by step, planned,
//! and the plan is asked for offsets, order and JSON. Every function says in its doc what its pointers must be;
//! beyond that no argument makes it panic or touch memory that is not the caller's: errors come back as a
//! [`Code`] with a message.
//!
//! The header is written by cbindgen; a test holds it to this code
//! (`HEADER=overwrite cargo test -p plimsoll-capi --test header` writes it anew).

mod error;
mod options;
mod pack;
mod plan;
mod program;

pub use error::{Code, Error, plimsoll_error_free, plimsoll_error_message};
pub use options::{Effort, Options, Order, plimsoll_options};
pub use pack::{PackOptions, Packing, Status, plimsoll_pack, plimsoll_pack_options};
pub use plan::{
    PlacedIn, Placement, Plan, plimsoll_plan, plimsoll_plan_arena_bytes, plimsoll_plan_free,
    plimsoll_plan_json, plimsoll_plan_lower_bound_bytes, plimsoll_plan_place,
    plimsoll_plan_schedule, plimsoll_plan_scratch, plimsoll_plan_status, plimsoll_plan_verify,
    plimsoll_string_free,
};
pub use program::{
    Execution, NOTHING, Program, Role, Storage, Value, plimsoll_program_add_step,
    plimsoll_program_add_value, plimsoll_program_after, plimsoll_program_free,
    plimsoll_program_new, plimsoll_program_overwrite, plimsoll_program_read,
    plimsoll_program_scratch, plimsoll_program_write, plimsoll_value,
};
