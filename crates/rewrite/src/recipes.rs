//! Which recipes are worth planning: the best by the search, with chains in more and fewer parts, and with tensors
//! that live long and are made of little computed once more where they are needed again.

use plimsoll::Pulse;
use plimsoll_model::Operator;

use crate::along::{Along, Course};
use crate::channels::chains;
use crate::flow::{Recipe, trial};
use crate::search::{Restart, Searched, parts_of, steps_of};

/// In how many parts chains are computed.
const PARTS: [u64; 2] = [1, 8];

/// How many nodes all trials of a search make at most.
const WORK: u64 = 12_000_000;

/// The most nodes that are computed once more for one tensor.
const MOST_RESTARTED: usize = 8;

/// Over how many nodes a tensor is at least not read that is computed once more.
const LEAST_GAP: usize = 12;

/// How many times wider what is computed again for every window is than what it is made of, at least.
const LEAST_WIDENING: u64 = 3;

/// The most chains that are tried again for every window.
const MOST_EXPANSIONS: usize = 6;

/// A recipe with a small peak.
pub(crate) struct Candidate<'a> {
    /// What the smallest arena is expected of.
    pub(crate) recipe: Recipe,
    /// What it takes, nearly.
    pub(crate) peak: u64,
    /// The search that found it, for recipes that cost less and take more.
    pub(crate) searched: Searched<'a>,
}

impl<'a> Candidate<'a> {
    fn found(mut searched: Searched<'a>) -> Self {
        let (peak, recipe) = searched.best();
        Candidate { recipe, peak, searched }
    }
}

/// Recipes with small peaks: the first does no more arithmetic, those behind it more and more.
pub(crate) fn recipes<'a>(along: &'a Along<'a>, pulse: &mut Pulse<'_>) -> Vec<Candidate<'a>> {
    let chains = chains(along);
    let mut found: Vec<Candidate<'a>> = Vec::new();
    for parts in PARTS {
        if pulse().is_break() || (parts > 1 && chains.is_empty()) {
            break;
        }
        let base = Recipe { parts: parts_of(&chains, parts), ..Recipe::default() };
        found.push(Candidate::found(Searched::new(along, base, Vec::new(), WORK)));
    }
    let Some(best) = found.into_iter().min_by_key(|candidate| candidate.peak) else {
        return Vec::new();
    };
    let mut least = best.peak;
    let mut base = best.searched.base.clone();
    let (mut recipes, mut taken) = (vec![best], Vec::new());
    for restart in restarts(along) {
        if pulse().is_break() {
            break;
        }
        let restarts = [&taken[..], &[restart]].concat();
        let searched = Searched::new(along, base.clone(), restarts.clone(), WORK);
        let candidate = Candidate::found(searched);
        if candidate.peak < least - least / 20 {
            (least, taken) = (candidate.peak, restarts);
            recipes.push(candidate);
        }
    }
    for wide in expansions(along) {
        if pulse().is_break() {
            break;
        }
        let mut base_again = base.clone();
        base_again.again.extend(wide);
        let searched = Searched::new(along, base_again.clone(), taken.clone(), WORK / 4);
        let candidate = Candidate::found(searched);
        if candidate.peak < least - least / 50 {
            (least, base) = (candidate.peak, base_again);
            recipes.push(candidate);
        }
    }
    recipes
}

/// Chains of nodes that make wide rows of narrow ones, for windows that come back to them: computed again for every
/// window, nothing of them is kept from step to step. Those with the widest rows first.
fn expansions(along: &Along<'_>) -> Vec<Vec<usize>> {
    let mut found: Vec<(u64, Vec<usize>)> = Vec::new();
    for first in &along.order {
        let node = &along.model.body.nodes[*first];
        let ends =
            (node.inputs.first().copied().flatten(), node.outputs.first().copied().flatten());
        let (Some(x), Some(mut made)) = ends else { continue };
        let is_wide = along.bytes(made) >= LEAST_WIDENING * along.bytes(x);
        if !matches!(node.operator, Operator::Conv(_)) || !is_wide || goes_back(along, *first) {
            continue;
        }
        let (width, mut nodes) = (along.bytes_of_rows(made, 1), vec![*first]);
        while let [reader] = along.readers[made.index()][..] {
            let by_rows = matches!(along.courses[reader], Course::Rows { .. });
            if !by_rows || along.model.body.outputs.contains(&made) {
                break;
            }
            if goes_back(along, reader) {
                found.push((width, nodes));
                break;
            }
            let next = along.model.body.nodes[reader].outputs.first().copied().flatten();
            let Some(next) = next.filter(|_| along.multiply_adds[reader] == 0) else { break };
            nodes.push(reader);
            made = next;
        }
    }
    found.sort_by_cached_key(|(width, nodes)| (std::cmp::Reverse(*width), nodes[0]));
    found.into_iter().map(|(_, nodes)| nodes).take(MOST_EXPANSIONS).collect()
}

/// Whether a node reads rows that it has read before.
fn goes_back(along: &Along<'_>, node: usize) -> bool {
    let Course::Rows { lanes } = &along.courses[node] else { return false };
    lanes.iter().flatten().filter(|lane| lane.output > 2).any(|lane| {
        let [first, second] = [lane.needs(&(1..2)).rows, lane.needs(&(2..3)).rows];
        second.start < first.end
    })
}

/// Tensors that could be computed once more, the largest first.
fn restarts(along: &Along<'_>) -> Vec<Restart> {
    let total: u64 = along.multiply_adds.iter().sum();
    let mut found: Vec<(u64, Restart)> = Vec::new();
    for node in &along.order {
        let Some(restart) = restart(along, *node) else { continue };
        let arithmetic: u64 = restart.nodes.iter().map(|node| along.multiply_adds[*node]).sum();
        let made = along.model.body.nodes[*node].outputs[0];
        if let Some(made) = made.filter(|_| arithmetic <= total / 20) {
            found.push((along.bytes(made), restart));
        }
    }
    found.sort_by_cached_key(|(bytes, restart)| (std::cmp::Reverse(*bytes), restart.late));
    found.into_iter().map(|(_, restart)| restart).take(3).collect()
}

/// What is needed to compute a node's output once more, where it is read again after a long time.
fn restart(along: &Along<'_>, node: usize) -> Option<Restart> {
    let made = along.model.body.nodes[node].outputs.first().copied().flatten()?;
    let place = |node: &usize| along.order.iter().position(|other| other == node);
    let mut reads: Vec<usize> = along.readers[made.index()].iter().filter_map(place).collect();
    reads.sort_unstable();
    let gap = reads.windows(2).max_by_key(|pair| pair[1] - pair[0])?;
    let nodes = ancestors(along, node)?;
    (gap[1] - gap[0] >= LEAST_GAP).then_some(Restart { nodes, late: gap[1] })
}

/// A node and all that it depends on, if these are few and go row by row.
pub(crate) fn ancestors(along: &Along<'_>, node: usize) -> Option<Vec<usize>> {
    let mut nodes = vec![node];
    let mut at = 0;
    while let Some(node) = nodes.get(at).copied() {
        let is_plain = along.model.body.nodes[node].outputs.len() == 1
            && matches!(along.courses[node], Course::Rows { .. });
        let inputs = along.model.body.nodes[node].inputs.iter().flatten();
        for maker in inputs.filter_map(|input| along.makers[input.index()]) {
            if !nodes.contains(&maker) {
                nodes.push(maker);
            }
        }
        if !is_plain || nodes.len() > MOST_RESTARTED {
            return None;
        }
        at += 1;
    }
    nodes.sort_by_cached_key(|node| along.order.iter().position(|other| other == node));
    Some(nodes)
}

/// The recipe with more and smaller steps where a node touches more than so many bytes, as far as that can be had:
/// chains are in parts of their channels, and segments in the fewest steps that are narrow enough.
pub(crate) fn narrowed(along: &Along<'_>, recipe: &Recipe, bytes: u64) -> Recipe {
    let parts = parts_of(&chains(along), PARTS[PARTS.len() - 1]);
    let mut narrow = Recipe { parts, ..recipe.clone() };
    for at in 0..narrow.segments.len() {
        let in_pieces = at > 0 && narrow.segments[at - 1].steps > 1;
        let width = |recipe: &Recipe| trial(along, recipe, at, in_pieces).widest;
        let mut least = width(&narrow);
        for steps in steps_of(along, &narrow.segments[at].nodes) {
            if least <= bytes {
                break;
            }
            let mut other = narrow.clone();
            other.segments[at].steps = steps;
            let width = width(&other);
            if width < least {
                (least, narrow) = (width, other);
            }
        }
    }
    narrow
}
