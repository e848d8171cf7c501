//! Which buffer is tried first: orders of branching, and how they take turns.
//!
//! No order is good on every problem, and the time to a solution is heavy-tailed: on most problems some
//! order walks to a solution with next to no backtracking, while another is lost after its first
//! wrong decisions. So each gets a slice of work, about what a few walks to the bottom cost, and they
//! take turns; after the first round their keys get noise, and every second round slices double.

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
    /// Large size.
    Size,
    /// High load within its life.
    Load,
    /// Early birth.
    Early,
    /// Late death.
    Late,
}

/// An order of branching, before it meets an instance.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    keys: [Key; 2],
    /// Whether only those are looked at that live at the tightest moment of the lowest level.
    tightest: bool,
    /// Per cent of noise on the keys, after the first round.
    noise: u64,
}

const RECIPES: [Recipe; 7] = [
    Recipe { keys: [Key::Load, Key::Length], tightest: false, noise: 10 },
    Recipe { keys: [Key::Load, Key::Area], tightest: false, noise: 10 },
    Recipe { keys: [Key::Length, Key::Area], tightest: false, noise: 10 },
    Recipe { keys: [Key::Load, Key::Length], tightest: true, noise: 10 },
    Recipe { keys: [Key::Size, Key::Length], tightest: true, noise: 10 },
    Recipe { keys: [Key::Area, Key::Length], tightest: true, noise: 10 },
    Recipe { keys: [Key::Length, Key::Size], tightest: false, noise: 50 },
];

/// How many runs make a round.
pub(super) const ROUND: u64 = RECIPES.len() as u64;

/// An order of branching.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// By buffer; lower is tried first.
    rank: Vec<u32>,
    tightest: bool,
}

impl Order {
    /// The order of run number `run`.
    pub(super) fn of_run(instance: &Instance, run: u64) -> Order {
        let recipe = RECIPES[(run % ROUND) as usize];
        let load = instance.load();
        let noise = if run < ROUND { 0 } else { recipe.noise };
        let value = |v: usize, key: Key| {
            let length = instance.span(v).len() as u64;
            match key {
                Key::Length => length,
                Key::Area => length * instance.size[v],
                Key::Size => instance.size[v],
                Key::Load => instance.span(v).map(|m| load[m]).max().unwrap_or(0),
                Key::Early => (instance.moments - instance.span(v).start) as u64,
                Key::Late => instance.span(v).end as u64,
            }
        };
        let noisy = |v: usize, place: usize| {
            let random = mix(run ^ mix((2 * v + place) as u64));
            let percent = 100 + if noise == 0 { 0 } else { random % noise };
            u128::from(value(v, recipe.keys[place])) * u128::from(percent)
        };
        let mut keyed: Vec<_> =
            (0..instance.len()).map(|v| ([noisy(v, 0), noisy(v, 1)], v)).collect();
        keyed.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut rank = vec![0; instance.len()];
        for (place, (_, v)) in keyed.iter().enumerate() {
            rank[*v] = place as u32;
        }
        Order { rank, tightest: recipe.tightest }
    }

    /// The buffer to decide on next, among those of these moments that can go lowest.
    pub(super) fn choose(&self, tree: &Tree<'_>, weight: &[u64], lo: usize, hi: usize) -> usize {
        let level = tree.level(lo, hi);
        let lowest = |v: &usize| !tree.placed[*v] && tree.low[*v] == level;
        let found = if self.tightest {
            let slack = |m: usize| {
                let slack = tree.capacity - tree.rest[m] - level;
                (slack + 1) as u128 * 1024 / u128::from(weight[m] + 8)
            };
            let moments = (lo..hi).filter(|m| tree.sum[*m].base == level);
            let tightest = moments.min_by_key(|m| slack(*m)).unwrap_or(lo);
            let members = tree.members(tightest).iter().map(|v| *v as usize);
            members.filter(lowest).min_by_key(|v| self.rank[*v])
        } else {
            tree.instance.born_in(lo..hi).filter(lowest).min_by_key(|v| self.rank[*v])
        };
        found.expect("the level is that of one of them")
    }
}
