//! Why it does not fit: a smallest set of buffers that does not fit together.
//!
//! Deletion: leave out one buffer after another, for good if the rest still does not fit. What
//! remains is irreducible: without any one of them the others fit. (It need not be the set with the
//! fewest buffers.) Whole parts and long stretches go first, in halves, so that most of the
//! problem is gone after a few questions.
//!
//! Cost: about k log n questions for k buffers that remain, each as much work as the limit allows.

use super::{Options, Verdict, decide};
use crate::problem::{BufferId, Problem};
use crate::sweep::Sweep;

/// Buffers that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Which, in order of their ids.
    pub buffers: Vec<BufferId>,
    /// Whether each of them is needed: without any one the others fit. Otherwise the work was used
    /// up before that was clear.
    pub irreducible: bool,
    /// The work of all questions.
    pub work: u64,
}

/// A set of buffers, as small as we can make it, that does not fit into the capacity; `None` if the
/// whole problem may fit, as far as the work of the options (for each question) can tell.
#[must_use]
pub fn misfit(problem: &Problem, capacity: u64, options: &Options) -> Option<Misfit> {
    let mut asked = Asked { problem, capacity, options, work: 0 };
    let mut kept: Vec<BufferId> = problem.ids().collect();
    if asked.about(&kept) != Some(false) {
        return None;
    }
    // By birth: what is left out together lives together.
    kept.sort_by_key(|id| (problem.buffer(*id).life.start, *id));
    let mut irreducible = true;
    let mut chunk = kept.len().div_ceil(2);
    loop {
        let mut at = 0;
        while at < kept.len() {
            let end = (at + chunk).min(kept.len());
            let without: Vec<_> = kept[..at].iter().chain(&kept[end..]).copied().collect();
            match asked.about(&without) {
                Some(false) => kept = without,
                Some(true) => at = end,
                None => {
                    irreducible &= chunk > 1;
                    at = end;
                }
            }
        }
        if chunk == 1 {
            break;
        }
        chunk = chunk.div_ceil(2);
    }
    kept.sort_unstable();
    Some(Misfit { buffers: kept, irreducible, work: asked.work })
}

struct Asked<'a> {
    problem: &'a Problem,
    capacity: u64,
    options: &'a Options,
    work: u64,
}

impl Asked<'_> {
    /// Whether these fit; `None` if the search can't tell.
    fn about(&mut self, ids: &[BufferId]) -> Option<bool> {
        let buffers = ids.iter().map(|id| self.problem.buffer(*id).clone()).collect();
        let part = Problem::new(buffers).ok()?;
        let decision = decide(&part, &Sweep::new(&part), self.capacity, self.options);
        self.work += decision.work;
        match decision.verdict {
            Verdict::Fits(_) => Some(true),
            Verdict::Never => Some(false),
            Verdict::Stopped | Verdict::DoesNotApply => None,
        }
    }
}
