//! Why it does not fit: a smallest set of buffers that does not fit together.
//!
//! Deletion: leave out one buffer after another, for good if the rest still does not fit. What
//! remains is irreducible: without any one of them the others fit. (It need not be the set with the
//! fewest buffers.) Where the load alone is above the capacity, the largest that are alive at its peak
//! are enough to begin with. Elsewhere long stretches go first, in halves, so that most of the
//! problem is gone after a few questions.
//!
//! Cost: about k log n questions for k buffers that remain, all together as much work as the limit
//! allows.

use std::cmp::Reverse;

use super::{Options, Verdict, decide_watched};
use crate::problem::{BufferId, Problem};
use crate::sweep::Sweep;
use crate::watch::{Watch, Watched, nobody};

/// Loads alone are looked at for so many entries, whatever the limit.
const FREE: u64 = 1_000_000;

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
/// whole problem may fit, as far as the work of the options can tell.
#[must_use]
pub fn misfit(problem: &Problem, capacity: u64, options: &Options) -> Option<Misfit> {
    misfit_watched(problem, capacity, options, &mut nobody)
}

/// The same, while somebody watches, who may stop it: then the set may be larger than need be.
#[must_use]
pub fn misfit_watched(
    problem: &Problem,
    capacity: u64,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Option<Misfit> {
    let watched = Watched::new(watch, 0);
    let mut asked = Asked { problem, capacity, options, watched, work: 0 };
    let mut kept = suspects(problem, capacity);
    if asked.about(&kept) != Some(false) {
        return None;
    }
    // What must be apart although it does not meet is not asked for: who knows what fits then?
    let mut irreducible = problem.conflicts().is_none();
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

/// The buffers to begin with, by birth: what is left out together lives together.
fn suspects(problem: &Problem, capacity: u64) -> Vec<BufferId> {
    let sweep = Sweep::new(problem);
    let size = |id: &BufferId| problem.buffer(*id).size;
    let mut suspects: Vec<BufferId> = problem.ids().collect();
    if let (load, Some(section)) = sweep.peak()
        && load > capacity
    {
        let peak = sweep.life_of(section);
        let in_use = |id: &BufferId| problem.buffer(*id).pieces().any(|p| p.life.meets(peak));
        suspects.retain(in_use);
        if suspects.iter().all(|id| problem.buffer(*id).gaps.is_empty()) {
            // Without the smallest of these the others keep to the capacity.
            suspects.sort_by_cached_key(|id| (Reverse(size(id)), *id));
            let mut sum = 0;
            let enough = |id: &BufferId| {
                let more = sum <= capacity;
                sum += size(id);
                more
            };
            suspects = suspects.into_iter().take_while(enough).collect();
        }
    }
    suspects.sort_by_cached_key(|id| (problem.buffer(*id).life.start, *id));
    suspects
}

struct Asked<'a> {
    problem: &'a Problem,
    capacity: u64,
    options: &'a Options,
    watched: Watched<'a>,
    work: u64,
}

impl Asked<'_> {
    /// Whether these fit; `None` if the search can't tell.
    fn about(&mut self, ids: &[BufferId]) -> Option<bool> {
        let buffers = ids.iter().map(|id| self.problem.buffer(*id).clone()).collect();
        let part = Problem::new(buffers).ok()?;
        self.work += ids.len() as u64;
        if self.work > self.options.work.max(FREE) {
            return None;
        }
        let work = self.options.work.saturating_sub(self.work);
        let options = Options { work, ..self.options.clone() };
        let sweep = Sweep::new(&part);
        let decision = decide_watched(&part, &sweep, self.capacity, &options, &mut self.watched);
        self.work += decision.work;
        match decision.verdict {
            Verdict::Fits(_) => Some(true),
            Verdict::Never => Some(false),
            Verdict::Stopped | Verdict::DoesNotApply => None,
        }
    }
}
