//! Which values leave the fast memory between which uses: bare intervals, without values and steps.
//!
//! Between two uses a value stays, and takes its bytes in all steps between them, or leaves, and is brought back for
//! the second. It is copied out at most once, since it does not change any more. What has to be left out so that
//! every step has room, for the fewest bytes moved, is a knapsack at every step, coupled by the intervals: hard in
//! general. So rules find a good choice, and a branch and bound looks for a better one as long as its work lasts.
//!
//! Cost: a pass over steps for each gap that is dropped, and as many passes again for each exchange that is tried.

/// Gaps between uses, and how much room there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices {
    /// What there may be in each step.
    pub(super) capacity: u64,
    /// What there is in each step whatever is chosen.
    pub(super) base: Vec<u64>,
    /// Where something can be chosen.
    pub(super) gaps: Vec<Gap>,
    /// How many values the gaps are of.
    pub(super) values: usize,
}

/// A time between two uses of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// Whose.
    pub(super) value: usize,
    /// The steps between the uses: from this on,
    pub(super) from: usize,
    /// to before this.
    pub(super) to: usize,
    /// What the value takes in each of them if it stays.
    pub(super) size: u64,
    /// The bytes that are brought back if it leaves.
    pub(super) back: u64,
    /// The bytes that are copied out if it leaves for the first time.
    pub(super) out: u64,
}

/// What leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// By gap, whether the value leaves.
    pub(super) leaves: Vec<bool>,
    /// The bytes moved.
    pub(super) cost: u64,
    /// Whether no choice moves fewer.
    pub(super) proven: bool,
}

/// How many nodes the branch and bound visits at most.
const NODES: u32 = 20_000;

/// With more gaps than this the branch and bound has no chance.
const MOST_SEARCHED: usize = 400;

/// How many exchanges are tried at most, and of how many gaps.
const EXCHANGES: usize = 200;
const MOST_EXCHANGED: usize = 4000;

/// The choice that moves fewest bytes, as far as it was found; or the first step without room for itself.
pub(super) fn choose(choices: &Choices) -> Result<Chosen, usize> {
    if let Some(step) = choices.base.iter().position(|base| *base > choices.capacity) {
        return Err(step);
    }
    let mut state = State::new(choices);
    state.drop_until_it_fits(None);
    state.keep_what_fits();
    state.exchange();
    let mut best = Chosen { cost: state.cost(), leaves: state.leaves, proven: false };
    if choices.gaps.len() <= MOST_SEARCHED {
        let mut search = Search { best, left: NODES, decided: vec![false; choices.gaps.len()] };
        search.visit(&mut State::new(choices), 0);
        search.best.proven = search.left > 0;
        best = search.best;
    }
    best.proven |= best.cost == 0;
    Ok(best)
}

/// A choice while it is made.
#[derive(Clone)]
struct State<'a> {
    choices: &'a Choices,
    leaves: Vec<bool>,
    /// By step, what is there.
    load: Vec<u64>,
    /// By value, how many of its gaps are dropped.
    dropped: Vec<u32>,
}

impl<'a> State<'a> {
    /// Everything stays.
    fn new(choices: &'a Choices) -> Self {
        let mut load = choices.base.clone();
        for gap in &choices.gaps {
            load[gap.from..gap.to].iter_mut().for_each(|load| *load += gap.size);
        }
        let (leaves, dropped) = (vec![false; choices.gaps.len()], vec![0; choices.values]);
        State { choices, leaves, load, dropped }
    }

    fn cost(&self) -> u64 {
        let mut out = vec![0; self.choices.values];
        let mut back = 0;
        for (gap, _) in self.choices.gaps.iter().zip(&self.leaves).filter(|(_, leaves)| **leaves) {
            back += gap.back;
            out[gap.value] = gap.out.max(out[gap.value]);
        }
        back + out.iter().sum::<u64>()
    }

    /// The bytes moved if a value leaves here too.
    fn price(&self, at: usize) -> u64 {
        let gap = self.choices.gaps[at];
        gap.back + if self.dropped[gap.value] == 0 { gap.out } else { 0 }
    }

    fn set(&mut self, at: usize, leaves: bool) {
        let gap = self.choices.gaps[at];
        self.leaves[at] = leaves;
        for load in &mut self.load[gap.from..gap.to] {
            *load = if leaves { *load - gap.size } else { *load + gap.size };
        }
        let dropped = &mut self.dropped[gap.value];
        *dropped = if leaves { *dropped + 1 } else { *dropped - 1 };
    }

    /// The step with the most bytes too many.
    fn fullest(&self) -> Option<usize> {
        let load = self.load.iter().enumerate();
        let (at, load) = load.max_by_key(|(at, load)| (**load, std::cmp::Reverse(*at)))?;
        (*load > self.choices.capacity).then_some(at)
    }

    /// The gaps at a step whose values stay.
    fn staying(&self, step: usize) -> impl Iterator<Item = usize> + '_ {
        let gaps = self.choices.gaps.iter().enumerate();
        let here = gaps.filter(move |(_, gap)| (gap.from..gap.to).contains(&step));
        here.map(|(at, _)| at).filter(|at| !self.leaves[*at])
    }

    /// Drops what relieves most for its price, but for one gap. Whether that was enough.
    fn drop_until_it_fits(&mut self, held: Option<usize>) -> bool {
        while let Some(step) = self.fullest() {
            let excess = Excess::of(self);
            let staying = self.staying(step).filter(|at| Some(*at) != held);
            let rated =
                staying.map(|at| (self.price(at), excess.relieved(&self.choices.gaps[at]), at));
            let cheapest = rated.min_by(|a, b| {
                let (left, right) =
                    (u128::from(a.0) * u128::from(b.1), u128::from(b.0) * u128::from(a.1));
                left.cmp(&right).then(a.2.cmp(&b.2))
            });
            let Some((.., at)) = cheapest else { return false };
            self.set(at, true);
        }
        true
    }

    /// Lets stay what has room again, the dearest first.
    fn keep_what_fits(&mut self) {
        let mut dropped: Vec<usize> =
            (0..self.leaves.len()).filter(|at| self.leaves[*at]).collect();
        dropped.sort_by_cached_key(|at| (std::cmp::Reverse(self.choices.gaps[*at].back), *at));
        for at in dropped {
            let gap = self.choices.gaps[at];
            let has_room = |load: &u64| load + gap.size <= self.choices.capacity;
            if self.load[gap.from..gap.to].iter().all(has_room) {
                self.set(at, false);
            }
        }
    }

    /// Lets a value stay and others leave for it, where that moves fewer bytes.
    fn exchange(&mut self) {
        if self.leaves.len() > MOST_EXCHANGED {
            return;
        }
        let mut cost = self.cost();
        let mut order: Vec<usize> = (0..self.leaves.len()).filter(|at| self.leaves[*at]).collect();
        order.sort_by_cached_key(|at| (std::cmp::Reverse(self.choices.gaps[*at].back), *at));
        for at in order.into_iter().take(EXCHANGES) {
            if !self.leaves[at] {
                continue;
            }
            let mut other = self.clone();
            other.set(at, false);
            if other.drop_until_it_fits(Some(at)) {
                other.keep_what_fits();
                let less = other.cost();
                if less < cost {
                    (cost, *self) = (less, other);
                }
            }
        }
    }
}

/// The bytes that are too many up to each step, and in how many steps there are any.
struct Excess {
    bytes: Vec<u64>,
    steps: Vec<u64>,
}

impl Excess {
    fn of(state: &State<'_>) -> Self {
        let (mut bytes, mut steps) = (vec![0], vec![0]);
        for load in &state.load {
            let over = load.saturating_sub(state.choices.capacity);
            bytes.push(bytes[bytes.len() - 1] + over);
            steps.push(steps[steps.len() - 1] + u64::from(over > 0));
        }
        Excess { bytes, steps }
    }

    /// How many of them go if a value leaves, at most.
    fn relieved(&self, gap: &Gap) -> u64 {
        let within = |sums: &[u64]| sums[gap.to] - sums[gap.from];
        within(&self.bytes).min(within(&self.steps).saturating_mul(gap.size))
    }
}

/// Branch and bound: at the fullest step one gap after the other is dropped, with those before it held.
struct Search {
    best: Chosen,
    /// How many nodes may still be visited.
    left: u32,
    /// By gap, whether it is held or dropped.
    decided: Vec<bool>,
}

impl Search {
    fn visit(&mut self, state: &mut State<'_>, cost: u64) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let Some(step) = state.fullest() else {
            if cost < self.best.cost {
                self.best = Chosen { leaves: state.leaves.clone(), cost, proven: false };
            }
            return;
        };
        let mut open: Vec<usize> = state.staying(step).filter(|at| !self.decided[*at]).collect();
        let size = |at: usize| state.choices.gaps[at].size;
        // By price for a byte, so that the cheapest bytes at this step are in front.
        open.sort_by(|a, b| {
            let (left, right) = (state.price(*a), state.price(*b));
            let (left, right) =
                (u128::from(left) * u128::from(size(*b)), u128::from(right) * u128::from(size(*a)));
            left.cmp(&right).then(a.cmp(b))
        });
        let excess = state.load[step] - state.choices.capacity;
        let prices: Vec<(u64, u64)> = open.iter().map(|at| (state.price(*at), size(*at))).collect();
        for (index, at) in open.iter().enumerate() {
            // Those before are held: what is left must do.
            if least(&prices[index..], excess).is_none_or(|least| cost + least >= self.best.cost) {
                break;
            }
            self.decided[*at] = true;
            state.set(*at, true);
            self.visit(state, cost + prices[index].0);
            state.set(*at, false);
        }
        for at in &open {
            self.decided[*at] = false;
        }
    }
}

/// The least price of so many bytes, if a part of a gap had a part of its price; `None` if there are too few.
fn least(cheapest_first: &[(u64, u64)], mut bytes: u64) -> Option<u64> {
    let mut sum = 0;
    for (price, size) in cheapest_first {
        if *size >= bytes {
            let part = u128::from(*price) * u128::from(bytes) / u128::from((*size).max(1));
            return u64::try_from(part).ok().map(|part| sum + part);
        }
        (sum, bytes) = (sum + price, bytes - size);
    }
    (bytes == 0).then_some(sum)
}
