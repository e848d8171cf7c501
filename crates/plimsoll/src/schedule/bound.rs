//! A lower bound on the peak of any order.
//!
//! While a group runs, a piece is alive in every order if something that touches it has to run
//! before the group, or is the group, and something that touches it has to run after it, or is the
//! group; one that lives from the beginning or to the end needs only the other half. What the group
//! makes can be less by outputs that could take over inputs. The largest sum counts. At the end all
//! outputs are alive together, and while the last group runs all but its own.
//!
//! Cost: O((edges + touches) × groups / 64) time and O(groups²) bits. With more than [`MOST_GROUPS`]
//! groups only the pieces that a group touches itself count.

use plimsoll_pack::dense::{BitMatrix, ones};

use super::cost::{CostModel, GroupId, PieceId};

/// More groups than this are not all compared with each other.
const MOST_GROUPS: usize = 16_384;

/// No order of the groups has a lower peak. `base` is any order in which they can run.
pub(crate) fn lower_bound(model: &CostModel, base: &[GroupId]) -> u64 {
    if model.len() > MOST_GROUPS {
        let touched = |group: &GroupId| least_touched(model, *group);
        return base.iter().map(touched).max().unwrap_or(0).max(at_the_ends(model));
    }
    let before = Reach::new(model.len(), base.iter().copied(), |group| model.before(group));
    let behind = Reach::new(model.len(), base.iter().rev().copied(), |group| model.behind(group));
    let alive = alive(model, &before, &behind);
    let bound = |group: &GroupId| {
        let meets = |reach: &Reach, piece: PieceId| {
            model.touching(piece).iter().any(|other| reach.has(*group, *other))
        };
        let fresh = |piece: PieceId| !model.ends(piece).0 && !meets(&before, piece);
        let last = |piece: PieceId| !meets(&behind, piece);
        let made = model.touches(*group).iter().filter(|piece| fresh(**piece));
        let made: u64 = made.map(|piece| model.bytes(*piece)).sum();
        let during = model.change(*group, fresh, last).during;
        (alive[*group as usize] - made).saturating_add_signed(during)
    };
    base.iter().map(bound).max().unwrap_or(0).max(at_the_ends(model))
}

/// What is alive before the first group, while the last runs, whichever that is, and after it.
fn at_the_ends(model: &CostModel) -> u64 {
    let groups = 0..model.len() as GroupId;
    let lasts = groups.filter(|group| model.behind(*group).is_empty());
    let during = lasts.map(|group| {
        let touched_by_it_alone = |piece: PieceId| model.touching(piece) == [group];
        let own = model.touches(group).iter().filter(|piece| !model.ends(**piece).0);
        let own = own.filter(|piece| touched_by_it_alone(**piece) && model.ends(**piece).1);
        let others = model.end() - own.map(|piece| model.bytes(*piece)).sum::<u64>();
        // What it touches and nobody keeps was there before it too, unless only it touches it.
        let held = model.touches(group).iter().filter(|piece| {
            !model.ends(**piece).1 && (model.ends(**piece).0 || !touched_by_it_alone(**piece))
        });
        let held = held.map(|piece| model.bytes(*piece)).sum::<u64>();
        let change = model.change(group, touched_by_it_alone, |_| true);
        (others + held).saturating_add_signed(change.during)
    });
    during.min().unwrap_or(0).max(model.at_the_ends())
}

/// What a group touches, less what it could take over.
fn least_touched(model: &CostModel, group: GroupId) -> u64 {
    let touched: u64 = model.touches(group).iter().map(|piece| model.bytes(*piece)).sum();
    let made: u64 = model
        .touches(group)
        .iter()
        .filter(|piece| !model.ends(**piece).0)
        .map(|piece| model.bytes(*piece))
        .sum();
    let during = model.change(group, |_| true, |_| true).during;
    (touched - made).saturating_add_signed(during)
}

/// The bytes that are alive while each group runs, whatever the order.
fn alive(model: &CostModel, before: &Reach, behind: &Reach) -> Vec<u64> {
    let mut alive = vec![0u64; model.len()];
    for piece in 0..model.pieces() as PieceId {
        let (given, kept) = model.ends(piece);
        let touching = model.touching(piece);
        // Whatever has a touching group before it comes behind that group.
        let begun = behind.union(touching, given);
        let needed = before.union(touching, kept);
        for group in ones(begun.iter().zip(&needed).map(|(begun, needed)| begun & needed)) {
            alive[group] += model.bytes(piece);
        }
    }
    alive
}

/// For every group the groups that can be reached from it.
struct Reach {
    groups: usize,
    pairs: BitMatrix,
}

impl Reach {
    /// `order` has a group behind all that it leads to.
    fn new<'c>(
        groups: usize,
        order: impl Iterator<Item = GroupId>,
        next: impl Fn(GroupId) -> &'c [GroupId],
    ) -> Self {
        let mut pairs = BitMatrix::new(groups, groups);
        for group in order {
            for other in next(group) {
                pairs.add_row(group as usize, *other as usize);
                pairs.insert(group as usize, *other as usize);
            }
        }
        Reach { groups, pairs }
    }

    fn has(&self, group: GroupId, other: GroupId) -> bool {
        self.pairs.contains(group as usize, other as usize)
    }

    /// The groups that some of these reach, and these; or simply all.
    fn union(&self, groups: &[GroupId], all: bool) -> Vec<u64> {
        let mut union = vec![if all { u64::MAX } else { 0 }; self.groups.div_ceil(64)];
        if all {
            if let Some(last) = union.last_mut().filter(|_| !self.groups.is_multiple_of(64)) {
                *last = (1 << (self.groups % 64)) - 1;
            }
            return union;
        }
        for group in groups {
            let reached = self.pairs.row(*group as usize);
            union.iter_mut().zip(reached).for_each(|(word, bits)| *word |= bits);
            union[*group as usize / 64] |= 1 << (group % 64);
        }
        union
    }
}
