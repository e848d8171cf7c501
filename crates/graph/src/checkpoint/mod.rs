//! Checkpoints: what a training step keeps of its first half, and what it computes again in its second.
//!
//! In a graph of a forward and a backward pass most bytes are results of the first that wait for the second. At the
//! *turn* most of them are there. The nodes before it are cut into *segments* (`segments`); what one hands to later
//! ones is kept, and so is everything that cannot be computed again. All else goes, and is computed again
//! (`recompute`) just before the first node behind the turn that reads it, from what is kept.
//!
//! ```text
//! kept      ●─────────●─────────●──── turn ────●─────────●─────────●
//! dropped    ○ ○ ○ ○ ○ ○ ○ ○ ○ ○ ○ ○           again: ○ ○ ○ ○ ○
//! ```
//!
//! The fewer bytes a segment may hold, the more segments there are and the more is kept between them: for each limit the
//! cuts with the fewest kept bytes are found exactly. Each is tried for all nodes, and with dear ones kept; plans decide.
//! What it costs is counted in bytes that nodes write, since a graph does not say what its nodes compute.
//!
//! Cost: O(c²) for c places to cut at, at most [`MOST_CUTS`], and a plan by rules for each of [`SHARES`] and both kinds.

mod facts;
mod recompute;
mod segments;
#[cfg(test)]
mod tests;

use plimsoll::Pulse;

use self::facts::Facts;
use self::recompute::recomputed;
use self::segments::{even_cuts, least_kept};
use crate::driver::{Case, CaseError};
use crate::graph::{Graph, Node, NodeId};

/// How many places to cut at are looked at.
pub const MOST_CUTS: usize = 512;

/// Which parts of all that waits for the second half a segment may hold.
pub const SHARES: [u64; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/// A graph in which some nodes are computed twice.
#[derive(Clone, Debug)]
pub struct Checkpointed {
    /// The graph. Its nodes are in the order that was planned; values of the source have the ids that they had.
    pub graph: Graph,
    /// What is computed again, in order.
    pub recomputed: Vec<Recomputed>,
    /// The bytes that its nodes write.
    pub written_bytes: u64,
    /// The arena of its plan.
    pub arena_bytes: u64,
}

/// A node that is computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recomputed {
    /// The node of the source.
    pub node: NodeId,
    /// The node of the source that it is computed again for, and before.
    pub before: NodeId,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// The arena of the graph as it is.
    pub source_arena_bytes: u64,
    /// The bytes that its nodes write.
    pub source_written_bytes: u64,
    /// With falling arenas and rising cost; the first is the graph as it is, unless another costs as little.
    pub points: Vec<Checkpointed>,
    /// Segments of as many nodes each as there are segments, all of them computed again: the plain rule.
    pub even: Option<Checkpointed>,
}

/// Finds what to compute again, while somebody is asked now and then whether to go on; what was found by then is kept.
/// `is_repeatable` says whether a node makes the same of the same whenever it runs.
pub fn checkpoint(
    case: &Case,
    is_repeatable: &dyn Fn(&Node) -> bool,
    pulse: &mut Pulse<'_>,
) -> Result<Checkpoints, CaseError> {
    let source_arena_bytes = case.clone().plan_watched(pulse)?.arena_bytes();
    let graph = &case.graph;
    let facts = Facts::new(graph, &case.lowering.kernels, is_repeatable);
    let source_written_bytes = facts.as_ref().map_or(0, |facts| facts.written_bytes);
    let as_it_is = Checkpointed {
        graph: graph.clone(),
        recomputed: Vec::new(),
        written_bytes: source_written_bytes,
        arena_bytes: source_arena_bytes,
    };
    let points = vec![as_it_is];
    let mut found = Checkpoints { source_arena_bytes, source_written_bytes, points, even: None };
    let Some(facts) = facts else { return Ok(found) };
    let mut rough = Vec::new();
    for keeps_dear in [true, false] {
        let facts = facts.keeping(keeps_dear);
        for share in SHARES {
            if pulse().is_break() {
                return found.settled(case, rough, pulse);
            }
            let cuts = least_kept(&facts, facts.waiting_bytes().div_ceil(share));
            if let Some(tried) = by_rules(case, recomputed(&facts, &cuts))? {
                add(&mut rough, tried);
            }
        }
    }
    let even = by_rules(case, recomputed(&facts, &even_cuts(facts.turn)))?;
    found.even = even.map(|even| planned(case, even, pulse)).transpose()?;
    found.settled(case, rough, pulse)
}

impl Checkpoints {
    /// With those planned as well as can be that are best by rules.
    fn settled(
        mut self,
        case: &Case,
        rough: Vec<Checkpointed>,
        pulse: &mut Pulse<'_>,
    ) -> Result<Self, CaseError> {
        for point in rough {
            add(&mut self.points, planned(case, point, pulse)?);
        }
        if let Some(even) = self.even.clone() {
            add(&mut self.points, even);
        }
        Ok(self)
    }

    /// How much more a point writes than the source, in percent.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "for people; counts are exact beside it")]
    pub fn extra_percent(&self, point: &Checkpointed) -> f64 {
        let source = self.source_written_bytes.max(1) as f64;
        (point.written_bytes as f64 - self.source_written_bytes as f64) / source * 100.0
    }
}

/// Plans a graph by rules, in its own order.
fn by_rules(case: &Case, tried: Option<Checkpointed>) -> Result<Option<Checkpointed>, CaseError> {
    let Some(tried) = tried else { return Ok(None) };
    let mut quick = Case { graph: tried.graph.clone(), ..case.clone() };
    quick.tries.order = None;
    quick.options.pack.work = Some(0);
    let arena_bytes = quick.plan()?.arena_bytes();
    Ok(Some(Checkpointed { arena_bytes, ..tried }))
}

/// Plans a graph as the source was.
fn planned(
    case: &Case,
    tried: Checkpointed,
    pulse: &mut Pulse<'_>,
) -> Result<Checkpointed, CaseError> {
    let case = Case { graph: tried.graph.clone(), ..case.clone() };
    let arena_bytes = case.plan_watched(pulse)?.arena_bytes();
    Ok(Checkpointed { arena_bytes, ..tried })
}

/// Adds a point, unless another one is at least as good; those that it is better than go.
fn add(points: &mut Vec<Checkpointed>, point: Checkpointed) {
    let cost = |point: &Checkpointed| (point.arena_bytes, point.written_bytes);
    let (arena, written) = cost(&point);
    if points.iter().any(|other| other.arena_bytes <= arena && other.written_bytes <= written) {
        return;
    }
    points.retain(|other| other.arena_bytes < arena || other.written_bytes < written);
    points.push(point);
    points.sort_by_key(|point| std::cmp::Reverse(cost(point)));
}
