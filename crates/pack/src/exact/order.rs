//! Which buffer is tried first: orders of branching, and how they take turns.
//!
//! No order is good on every problem, and the time to a solution is heavy-tailed: on most problems some
//! order walks to a solution with next to no backtracking, while another is lost after its first
//! wrong decisions. So each gets a slice of work, about what a few walks to the bottom cost, and they
//! take turns; after the first round their keys get noise, and those that look at blamed moments, which
//! find most of what is hard to find, get three turns of four.

use super::instance::Instance;
use super::search::mix;
use super::tree::Tree;

/// What a buffer is preferred for: more comes first.
#[derive(Clone, Copy, Debug)]
enum Key {
    /// Long life.
    Length,
    /// Large size × life.
    Area,
    /// Large size × life³.
    Bulk,
    /// Large size.
    Size,
}

/// Which moment of the lowest level is looked at: only a buffer that lives then is tried.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Where the fewest could go lowest.
    Fewest,
    /// The same, to that power, by how often there was no room: domain over weighted degree.
    Blamed(u32),
    /// Any.
    Any,
    /// Where there is least room to waste, by how often there was none.
    Tightest,
}

/// An order of branching, before it meets an instance.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    moment: Moment,
    keys: [Key; 2],
    /// Per cent of noise on the keys, after the first round.
    noise: u64,
}

const RECIPES: [Recipe; 6] = [
    Recipe { moment: Moment::Blamed(3), keys: [Key::Length, Key::Area], noise: 10 },
    Recipe { moment: Moment::Any, keys: [Key::Length, Key::Area], noise: 10 },
    Recipe { moment: Moment::Blamed(3), keys: [Key::Bulk, Key::Length], noise: 20 },
    Recipe { moment: Moment::Tightest, keys: [Key::Length, Key::Area], noise: 10 },
    Recipe { moment: Moment::Blamed(6), keys: [Key::Length, Key::Size], noise: 100 },
    Recipe { moment: Moment::Fewest, keys: [Key::Size, Key::Length], noise: 10 },
];

/// Whose turn it is after the first round, in which each has one.
const TURNS: [usize; 12] = [0, 2, 4, 0, 2, 4, 0, 2, 4, 1, 3, 5];

/// How many runs make a round.
pub(super) const ROUND: u64 = RECIPES.len() as u64;

/// An order of branching.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// By buffer; lower is tried first.
    rank: Vec<u32>,
    moment: Moment,
}

impl Order {
    /// The order of run number `run`.
    pub(super) fn of_run(instance: &Instance, run: u64) -> Order {
        let turn = match run.checked_sub(ROUND) {
            None => run as usize,
            Some(later) => TURNS[(later % TURNS.len() as u64) as usize],
        };
        let recipe = RECIPES[turn];
        let noise = if run < ROUND { 0 } else { recipe.noise };
        let value = |v: usize, key: Key| {
            let length = instance.cells(v).len() as u128;
            let size = u128::from(instance.size[v]);
            match key {
                Key::Length => length,
                Key::Area => length * size,
                Key::Bulk => (length * length * length).saturating_mul(size),
                Key::Size => size,
            }
        };
        let key_of = |v: usize, place: usize| {
            let random = mix(run ^ mix((2 * v + place) as u64));
            let percent = 100 + if noise == 0 { 0 } else { random % noise };
            value(v, recipe.keys[place]).saturating_mul(u128::from(percent))
        };
        let mut keyed: Vec<_> =
            (0..instance.len()).map(|v| ([key_of(v, 0), key_of(v, 1)], v)).collect();
        keyed.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut rank = vec![0; instance.len()];
        for (place, (_, v)) in keyed.iter().enumerate() {
            rank[*v] = place as u32;
        }
        Order { rank, moment: recipe.moment }
    }

    /// The buffer to decide on next, among those of these moments that can go lowest.
    pub(super) fn choose(
        &self,
        tree: &mut Tree<'_>,
        weight: &[u64],
        lo: usize,
        hi: usize,
    ) -> usize {
        if !tree.instance.is_plain {
            return self.choose_held(tree, weight, lo, hi);
        }
        let tree = &*tree;
        let level = tree.level(lo, hi);
        let lowest = |v: &usize| tree.low[*v] == level;
        let members = |m: usize| tree.members(m).iter().map(|w| w.v as usize).filter(lowest);
        let score = |m: usize| {
            let blame = u128::from(weight[m]) + 8;
            let slack = u128::from(tree.capacity - tree.rest[m] - level);
            let few = members(m).count() as u128;
            match self.moment {
                Moment::Any => 0,
                Moment::Fewest => few,
                Moment::Blamed(power) => few.saturating_pow(power).saturating_mul(1024) / blame,
                Moment::Tightest => (slack + 1) * 1024 / blame,
            }
        };
        if matches!(self.moment, Moment::Any) {
            let born = tree.instance.born_in(lo..hi).filter(|v| !tree.placed[*v]).filter(lowest);
            let found = born.min_by_key(|v| self.rank[*v]);
            return found.expect("the level is that of one of them");
        }
        let open = (lo..hi).filter(|m| tree.is_open(*m) && tree.sum[*m].base == level);
        let found = open.min_by_key(|m| score(*m));
        let found = found.and_then(|m| members(m).min_by_key(|v| self.rank[*v]));
        found.expect("the level is that of one of them")
    }

    /// The same where there are holes: the lowest of those that something placed holds up; if there are none,
    /// the lowest.
    fn choose_held(&self, tree: &mut Tree<'_>, weight: &[u64], lo: usize, hi: usize) -> usize {
        let mut best = (true, u64::MAX);
        let mut found: Vec<usize> = Vec::new();
        for v in tree.instance.born_in(lo..hi) {
            if tree.placed[v] || (!best.0 && tree.low[v] > best.1) {
                continue;
            }
            let key = (!tree.is_held(v), tree.low[v]);
            if key < best {
                best = key;
                found.clear();
            }
            if key == best {
                found.push(v);
            }
        }
        tree.work += tree.instance.born_in(lo..hi).len() as u64 / 4;
        if matches!(self.moment, Moment::Any) || found.len() == 1 {
            let first = found.into_iter().min_by_key(|v| self.rank[*v]);
            return first.expect("a part has something to be placed");
        }
        let mut few = vec![0u128; hi - lo];
        for v in &found {
            for cell in tree.instance.cells(*v) {
                few[cell.moment as usize - lo] += 1;
            }
        }
        let score = |m: usize| {
            let blame = u128::from(weight[m]) + 8;
            let slack = u128::from(tree.capacity.saturating_sub(tree.rest[m] + best.1));
            match self.moment {
                Moment::Any => 0,
                Moment::Fewest => few[m - lo],
                Moment::Blamed(power) => few[m - lo].saturating_pow(power) * 1024 / blame,
                Moment::Tightest => (slack + 1) * 1024 / blame,
            }
        };
        let moment = (lo..hi).filter(|m| few[*m - lo] > 0).min_by_key(|m| score(*m));
        let moment = moment.expect("everything has a moment") as u32;
        let lives = |v: &usize| tree.instance.cells(*v).iter().any(|cell| cell.moment == moment);
        let first = found.into_iter().filter(lives).min_by_key(|v| self.rank[*v]);
        first.expect("the moment is that of one of them")
    }
}
