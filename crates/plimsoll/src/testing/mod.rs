//! Programs, plans and an oracle for tests and benchmarks; behind the feature `testing`.
//!
//! - [`random_program`]: a [`DeclaredProgram`](crate::DeclaredProgram) that is valid by construction, and
//!   [`chain`], a long one;
//! - [`unshared_plan`]: a plan in which nothing shares bytes that need not, and which is right;
//! - [`corrupts`]: really runs the steps over bytes with tokens, in every legal order, and says
//!   whether anybody saw a wrong one;
//! - [`OrderCosts`]: what the search for an order takes an order to cost.

mod chain;
mod oracle;
mod order_costs;
mod random;
mod unshared;

pub use chain::chain;
pub use oracle::{Orders, corrupts};
pub use order_costs::OrderCosts;
pub use random::{Shape, random_program};
pub use unshared::{bank_of, plan_at, unshared_plan};
