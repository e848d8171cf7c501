//! Where to cut the first half.
//!
//! A segment from `i` to `j` keeps what it makes and later segments read; what it makes besides, and the second half
//! reads, is in memory once more while it is computed again. With at most so many bytes of the latter in each segment, the cuts
//! with the fewest bytes kept follow from front to back: the best to a place is the best over all segments that end
//! there. The last segment is computed again for nobody: all of it is kept.

use plimsoll::ValueId;

use super::MOST_CUTS;
use super::facts::Facts;

/// Cuts from 0 to the turn with the fewest bytes kept, where no segment but the last holds more bytes than that.
pub(super) fn least_kept(facts: &Facts<'_>, most_bytes: u64) -> Vec<usize> {
    let places = places(facts);
    let by_place = roots_by_place(facts, &places);
    let last = places.len() - 1;
    // For each place the fewest bytes that are kept up to there, and where the last segment before it begins.
    let mut best: Vec<Option<(u64, usize)>> = vec![None; places.len()];
    best[0] = Some((0, 0));
    for to in 1..places.len() {
        let (mut kept, mut held) = (0u64, 0u64);
        for from in (0..to).rev() {
            for root in &by_place[from] {
                let bytes = facts.bytes[root.index()];
                let (late, fixed) = (facts.is_late[root.index()], facts.is_fixed[root.index()]);
                let crosses = facts.last_early[root.index()] >= places[to];
                if to == last || fixed {
                    kept += if late { bytes } else { 0 };
                } else if crosses {
                    kept += bytes;
                } else if late {
                    held += bytes;
                }
            }
            if held > most_bytes && from + 1 < to {
                break;
            }
            if let Some((before, _)) = best[from] {
                let cost = before.saturating_add(kept);
                if best[to].is_none_or(|(known, _)| cost < known) {
                    best[to] = Some((cost, from));
                }
            }
        }
    }
    let mut cuts = vec![places[last]];
    let mut at = last;
    while at > 0 {
        at = best[at].map_or(0, |(_, from)| from);
        cuts.push(places[at]);
    }
    cuts.reverse();
    cuts
}

/// As many segments as each has nodes.
pub(super) fn even_cuts(turn: usize) -> Vec<usize> {
    let count = turn.isqrt().max(1);
    (0..=count).map(|at| turn * at / count).collect()
}

/// Where cuts are looked at: everywhere, or of many places the one in each of as many stretches where least crosses.
fn places(facts: &Facts<'_>) -> Vec<usize> {
    let turn = facts.turn;
    if turn < MOST_CUTS {
        return (0..=turn).collect();
    }
    let mut change = vec![0i128; turn + 2];
    for root in made_early(facts) {
        let (Some(made), bytes) = (facts.made(root), facts.bytes[root.index()]) else { continue };
        change[made + 1] += i128::from(bytes);
        change[facts.last_early[root.index()] + 1] -= i128::from(bytes);
    }
    let mut crossing = Vec::with_capacity(turn + 1);
    let mut sum = 0;
    for change in &change[..=turn] {
        sum += change;
        crossing.push(sum);
    }
    let stretch = turn.div_ceil(MOST_CUTS - 2);
    let inner = (1..turn).collect::<Vec<_>>();
    let lowest =
        inner.chunks(stretch).filter_map(|chunk| chunk.iter().min_by_key(|at| crossing[**at]));
    std::iter::once(0).chain(lowest.copied()).chain([turn]).collect()
}

fn made_early<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = ValueId> + 'f {
    let is_root = |value: &ValueId| facts.aliases.view(*value).is_none();
    let early = |value: &ValueId| facts.made(*value).is_some_and(|made| made < facts.turn);
    facts.graph.value_ids().filter(is_root).filter(early)
}

/// By place, the roots that are made from there to the next.
fn roots_by_place(facts: &Facts<'_>, places: &[usize]) -> Vec<Vec<ValueId>> {
    let mut by_place = vec![Vec::new(); places.len()];
    for root in made_early(facts) {
        let made = facts.made(root).unwrap_or(0);
        by_place[places.partition_point(|place| *place <= made) - 1].push(root);
    }
    by_place
}
