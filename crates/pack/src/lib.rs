//! Packs buffers with lifetimes into one arena that is as small as we can make it.
//!
//! A [`Problem`] is a list of buffers: size, life, alignment and a few constraints. [`solve()`]
//! gives an offset for each, the arena that this needs, and a lower bound beside it; [`check()`]
//! says independently whether an answer is valid. Nothing here knows what the buffers are for:
//! there are no tensors, no ops and no names.
//!
//! ```
//! let table = plimsoll_pack::csv::read(&b"id,lower,upper,size\na,0,2,64\nb,1,3,32\n"[..])?;
//! let problem = &table.problem;
//! let outcome = plimsoll_pack::solve(problem, &plimsoll_pack::Options::default());
//! let solution = outcome.solution.expect("nothing is fixed, so there is one");
//! assert_eq!(plimsoll_pack::check(problem, &(&solution).into()), []);
//! assert_eq!(outcome.arena_bytes, 96);
//! # Ok::<(), plimsoll_pack::csv::CsvError>(())
//! ```

mod algorithm;
mod blocks;
mod bound;
mod canonical;
mod check;
mod clique;
pub mod csv;
pub mod dense;
pub mod exact;
mod improve;
mod outward;
mod problem;
mod repair;
mod solution;
mod solve;
mod sweep;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod timeline;
mod watch;

pub use algorithm::{Algorithm, Order};
pub use bound::{Bound, Proof, bound};
pub use check::{Claim, Violation, check, check_at_most, check_plain};
pub use improve::{Effort, Improved, Way, improve};
pub use problem::{
    Buffer, BufferId, Conflicts, Gap, Life, Piece, Problem, ProblemError, Rule, Span, Time,
};
pub use solution::Solution;
pub use solve::{Limit, Options, Outcome, Reason, Status, solve, solve_watched};
pub use sweep::{Overlaps, Sections, Strip, Sweep};
pub use watch::{Progress, Watch};

/// The pages whose examples are run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/design.md")]
    struct Design;
    #[doc = include_str!("../../../docs/guides/rectangles.md")]
    struct Rectangles;
}
