//! Which bank each buffer goes to, and where in it: one packing a bank.
//!
//! Banks are filled in order. What does not fit, goes on to the next one: first the largest buffers
//! alive at the moment of the highest load, until the load fits, then whatever a packing leaves
//! above the capacity. Cost: a packing a bank, and a few quick ones where a capacity is tight.

mod overload;

use std::collections::BTreeMap;
use std::fmt;

use plimsoll_pack::{
    BufferId as PackedId, Life, Limit, Outcome, Problem, Solution, Sweep, Watch, exact,
    solve_watched,
};

use self::overload::overload;
use crate::align::common_multiple;
use crate::liveness::reserved;
use crate::lower::{Request, What, conflicts, life};
use crate::options::{BankSpec, Options};
use crate::point::LiveRange;
use crate::program::{Execution, Storage};
use crate::shared::SharedSlot;
use crate::validate::ValidatedProgram;

/// Where everything went.
pub(crate) struct Placed {
    /// The banks that are used, and any others that were asked for by name.
    pub(crate) banks: Vec<Filled>,
    /// The bank of each item, and its offset; by item.
    pub(crate) slots: Vec<(usize, u64)>,
}

/// A bank with what is in it.
pub(crate) struct Filled {
    pub(crate) name: String,
    /// What all offsets in it are multiples of, beside what each asks for.
    align: Option<u64>,
    pub(crate) capacity: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) lower_bound_bytes: u64,
    pub(crate) optimal: bool,
    pub(crate) limit: Option<Limit>,
    pub(crate) won_by: String,
}

/// Buffers that fit nowhere.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// These items fit no bank.
    NoRoom(Vec<usize>),
    /// Sizes add up to more than can be addressed.
    TooLarge(plimsoll_pack::ProblemError),
}

/// Places all items.
pub(crate) fn place(
    validated: &ValidatedProgram<'_>,
    requests: &[Request],
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Placed, Refusal> {
    let default = [BankSpec::new("arena")];
    let specs: &[BankSpec] = if options.banks.is_empty() { &default } else { &options.banks };
    let imported_by_bank = imported_by_bank(validated, options);
    let mut placed = Placed { banks: Vec::new(), slots: vec![(0, 0); requests.len()] };
    let mut waiting: Vec<usize> = (0..requests.len()).collect();
    for spec in specs {
        for copy in 0.. {
            let name = if copy == 0 { spec.name.clone() } else { format!("{}.{copy}", spec.name) };
            let imported = imported_by_bank.get(&name).map_or(&[][..], Vec::as_slice);
            let mut bank = Filling { validated, requests, spec, imported, options, watch };
            let before = waiting.len();
            let filled = bank.fill(&mut waiting, &mut placed.slots, placed.banks.len(), name)?;
            let used = waiting.len() < before;
            if copy == 0 || used {
                placed.banks.push(filled);
            }
            if !spec.repeat || !used || waiting.is_empty() {
                break;
            }
        }
    }
    if waiting.is_empty() { Ok(placed) } else { Err(Refusal::NoRoom(waiting)) }
}

/// The places that another plan has given to values, by name of the bank.
/// With what may be written behind the end of those that are used here.
fn imported_by_bank(
    validated: &ValidatedProgram<'_>,
    options: &Options,
) -> BTreeMap<String, Vec<SharedSlot>> {
    let mut by_bank: BTreeMap<String, Vec<SharedSlot>> = BTreeMap::new();
    let Some(layout) = &options.shared else { return by_bank };
    let mut slots = layout.values.clone();
    for value in validated.value_ids() {
        if validated.values[value.index()].storage == Storage::Shared
            && let Some(slot) = slots.get_mut(validated.program.value_name(value).as_ref())
        {
            slot.bytes = reserved(validated, value, options);
        }
    }
    for slot in slots.into_values().filter(|slot| slot.bytes > 0) {
        by_bank.entry(slot.bank.clone()).or_default().push(slot);
    }
    by_bank
}

/// A packing of a bank's items.
struct Packed {
    solution: Option<Solution>,
    arena_bytes: u64,
    lower_bound_bytes: u64,
    limit: Option<Limit>,
    won_by: String,
}

impl Packed {
    fn new(outcome: Outcome, lower_bound_bytes: u64) -> Self {
        Packed {
            solution: outcome.solution,
            arena_bytes: outcome.arena_bytes,
            lower_bound_bytes,
            // Bytes in holes are beyond the rules.
            limit: match outcome.limit {
                Some(limit) => Some(limit),
                None => (outcome.arena_bytes > lower_bound_bytes).then_some(Limit::Rules),
            },
            won_by: outcome.won_by.map_or(String::new(), |rule| rule.to_string()),
        }
    }
}

struct Filling<'a, 'p, 'w> {
    validated: &'a ValidatedProgram<'p>,
    requests: &'a [Request],
    spec: &'a BankSpec,
    /// What another plan has put into this bank.
    imported: &'a [SharedSlot],
    options: &'a Options,
    watch: &'a mut Watch<'w>,
}

impl Filling<'_, '_, '_> {
    /// Takes what fits out of `waiting`, and places it.
    fn fill(
        &mut self,
        waiting: &mut Vec<usize>,
        slots: &mut [(usize, u64)],
        bank: usize,
        name: String,
    ) -> Result<Filled, Refusal> {
        let (mut inside, mut outside): (Vec<usize>, Vec<usize>) =
            waiting.iter().partition(|i| self.takes(&self.requests[**i]));
        if let Some(capacity) = self.spec.capacity {
            self.evict(&mut inside, &mut outside, capacity)?;
        }
        let problem = self.problem(&inside)?;
        let outcome = self.solve(&problem, &inside);
        // What another plan lends never overlaps itself, or it would not be a plan.
        let Some(solution) = outcome.solution else { return Err(Refusal::NoRoom(inside)) };
        for (index, request) in inside.iter().enumerate() {
            slots[*request] = (bank, solution.offset(PackedId(index as u32)));
        }
        outside.sort_unstable();
        *waiting = outside;
        Ok(Filled {
            name,
            align: self.spec.align,
            capacity: self.spec.capacity,
            bytes: outcome.arena_bytes,
            lower_bound_bytes: outcome.lower_bound_bytes,
            optimal: outcome.arena_bytes == outcome.lower_bound_bytes,
            limit: outcome.limit,
            won_by: outcome.won_by,
        })
    }

    /// Packs the items. Where they have gaps, which exact search does not know, they are packed
    /// without them too: what keeps bytes apart for longer than needed is right as well.
    fn solve(&mut self, problem: &Problem, inside: &[usize]) -> Packed {
        let outcome = solve_watched(problem, &self.options.pack, self.watch);
        let requests = || inside.iter().map(|request| &self.requests[*request]);
        let mut bound = outcome.lower_bound.bytes;
        if requests().any(|request| !request.holes.is_empty()) {
            bound = bound.min(needed_bytes(problem, requests()));
        }
        let has_gaps = problem.buffers().iter().any(|buffer| !buffer.gaps.is_empty());
        let mut best = Packed::new(outcome, bound);
        if has_gaps && best.arena_bytes > bound && problem.conflicts().is_none() {
            let whole =
                |b: &plimsoll_pack::Buffer| plimsoll_pack::Buffer { gaps: Vec::new(), ..b.clone() };
            let whole = Problem::new(problem.buffers().iter().map(whole).collect());
            let whole = whole.expect("lives without gaps are as valid");
            let mut pack = self.options.pack.clone();
            pack.below = pack.below.into_iter().chain([best.arena_bytes]).min();
            let outcome = solve_watched(&whole, &pack, self.watch);
            if outcome.solution.is_some() && outcome.arena_bytes < best.arena_bytes {
                best = Packed::new(outcome, bound);
            }
        }
        best
    }

    fn takes(&self, request: &Request) -> bool {
        takes(self.spec, request)
    }

    /// Moves items outside until the rest fits the capacity.
    fn evict(
        &mut self,
        inside: &mut Vec<usize>,
        outside: &mut Vec<usize>,
        capacity: u64,
    ) -> Result<(), Refusal> {
        while !inside.is_empty() {
            let problem = self.problem(inside)?;
            let gone = overload(&problem, &Sweep::new(&problem), inside.len(), capacity);
            let mut evicted: Vec<PackedId> = match gone {
                Some(gone) => gone,
                // What another plan lends is too much alone.
                None => problem.ids().take(inside.len()).collect(),
            };
            if evicted.is_empty() {
                let outcome = self.solve(&problem, inside);
                if outcome.arena_bytes <= capacity {
                    return Ok(());
                }
                let solution = outcome.solution.ok_or_else(|| Refusal::NoRoom(inside.clone()))?;
                let ours = || problem.ids().take(inside.len());
                let end = |id: PackedId| solution.offset(id) + problem.buffer(id).size;
                evicted.extend(ours().filter(|id| end(*id) > capacity));
                if evicted.is_empty() {
                    // Only what another plan lends is above the capacity.
                    evicted.extend(ours());
                }
            }
            outside.extend(evicted.iter().map(|id| inside[id.index()]));
            let mut stays = vec![true; inside.len()];
            for id in evicted {
                stays[id.index()] = false;
            }
            let mut stays = stays.into_iter();
            inside.retain(|_| stays.next() == Some(true));
        }
        Ok(())
    }

    fn problem(&self, inside: &[usize]) -> Result<Problem, Refusal> {
        problem(self.validated, self.requests, inside, self.spec.align, self.imported)
    }
}

/// The items of a bank as rectangles, and what is imported as obstacles behind them.
fn problem(
    validated: &ValidatedProgram<'_>,
    requests: &[Request],
    inside: &[usize],
    align: Option<u64>,
    imported: &[SharedSlot],
) -> Result<Problem, Refusal> {
    let run = life(LiveRange::whole_run(validated.steps()));
    let mut buffers: Vec<plimsoll_pack::Buffer> = Vec::with_capacity(inside.len() + imported.len());
    for request in inside {
        let mut buffer = requests[*request].buffer.clone();
        buffer.align = common_multiple(buffer.align, align.unwrap_or(1));
        buffers.push(buffer);
    }
    for slot in imported {
        buffers.push(plimsoll_pack::Buffer::new(slot.bytes, run).fixed_at(slot.offset));
    }
    let problem = Problem::new(buffers).map_err(Refusal::TooLarge)?;
    if validated.order.is_none() {
        return Ok(problem);
    }
    let chosen: Vec<&Request> = inside.iter().map(|request| &requests[*request]).collect();
    // Obstacles live all the time, so their lives say it all.
    Ok(match conflicts(validated, &chosen, imported.len()) {
        Some(conflicts) => problem.with_conflicts(conflicts),
        None => problem,
    })
}

/// What is in a bank that is filled, and the problem that it was.
pub(crate) fn problem_of(
    validated: &ValidatedProgram<'_>,
    requests: &[Request],
    placed: &Placed,
    bank: usize,
    options: &Options,
) -> Option<(Vec<usize>, Problem)> {
    let imported = imported_by_bank(validated, options);
    let Filled { name, align, .. } = &placed.banks[bank];
    let imported = imported.get(name).map_or(&[][..], Vec::as_slice);
    let is_inside = |request: &usize| placed.slots[*request].0 == bank;
    let inside: Vec<usize> = (0..requests.len()).filter(is_inside).collect();
    let problem = problem(validated, requests, &inside, *align, imported).ok()?;
    Some((inside, problem))
}

/// The most bytes that are needed at a time, without those in holes; or the largest item, if that
/// is more.
fn needed_bytes<'a>(problem: &Problem, requests: impl Iterator<Item = &'a Request>) -> u64 {
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    let mut add = |life: Life, bytes: u64, sign: i64| {
        let bytes = sign * bytes.cast_signed();
        *changes.entry(life.start).or_insert(0) += bytes;
        *changes.entry(life.end).or_insert(0) -= bytes;
    };
    for piece in problem.buffers().iter().flat_map(plimsoll_pack::Buffer::pieces) {
        add(piece.life, piece.span.len(), 1);
    }
    for (life, hole) in requests.flat_map(|request| &request.holes) {
        add(*life, *hole, -1);
    }
    let mut needed = 0;
    let loads = changes.values().map(|change| {
        needed += change;
        needed
    });
    let most = loads.max().unwrap_or(0).cast_unsigned();
    problem.buffers().iter().map(|buffer| buffer.size).fold(most, u64::max)
}

/// Whether a bank takes an item, as long as there is room.
fn takes(spec: &BankSpec, request: &Request) -> bool {
    let caps = [spec.capacity, spec.buffer_capacity];
    // A copy of a bank has another name.
    let is_wanted = request.bank.as_ref().is_none_or(|name| *name == spec.name && !spec.repeat);
    is_wanted
        && spec.takes(request.role)
        && caps.iter().flatten().all(|cap| request.buffer.size <= *cap)
}

/// Why there is no plan: what is unplaced when every bank is full.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoRoom {
    /// What fits into no bank.
    pub left_over: Vec<Unplaced>,
    /// Where there is one bank and the packer can tell: a set that does not fit it together.
    pub misfit: Vec<Unplaced>,
    /// Whether of that set each is needed: without any one of them the others fit.
    pub irreducible: bool,
    /// Whether no packing has room for all: otherwise none was found.
    pub proven: bool,
    /// Below this all banks together cannot be, with this schedule and this sharing.
    pub lower_bound_bytes: u64,
}

/// A buffer without a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unplaced {
    /// The name of its first value, or of the step whose scratch memory it is.
    pub name: String,
    /// Whether it is scratch memory.
    pub is_scratch: bool,
    /// Its size.
    pub bytes: u64,
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scratch = if self.is_scratch { "the scratch of " } else { "" };
        write!(f, "{scratch}{:?} ({} bytes)", self.name, self.bytes)
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |what: &[Unplaced]| {
            let shown: Vec<String> = what.iter().take(5).map(Unplaced::to_string).collect();
            format!("{}{}", shown.join(", "), if what.len() > 5 { ", …" } else { "" })
        };
        match self.left_over.len() {
            1 => write!(f, "1 buffer fits into no bank: ")?,
            n => write!(f, "{n} buffers fit into no bank: ")?,
        }
        write!(f, "{}", listed(&self.left_over))?;
        match self.misfit.len() {
            // One alone that is too large has been named.
            0 | 1 => Ok(()),
            n => write!(f, "; {n} do not fit together: {}", listed(&self.misfit)),
        }
    }
}

/// The reason to report when these requests are unplaced.
pub(crate) fn no_room(
    validated: &ValidatedProgram<'_>,
    requests: &[Request],
    left_over: &[usize],
    options: &Options,
) -> NoRoom {
    let unplaced = |index: &usize| {
        let bytes = requests[*index].buffer.size;
        match requests[*index].what {
            What::AliasSet(head) => {
                let name = validated.program.value_name(head).into_owned();
                Unplaced { name, is_scratch: false, bytes }
            }
            What::Scratch(step) => {
                let name = validated.program.step_name(step).into_owned();
                Unplaced { name, is_scratch: true, bytes }
            }
        }
    };
    let all: Vec<plimsoll_pack::Buffer> =
        requests.iter().map(|request| request.buffer.clone()).collect();
    let problem = Problem::new(all).expect("it was packed in parts");
    let lower_bound_bytes = needed_bytes(&problem, requests.iter());
    let mut misfit = None;
    if let [BankSpec { capacity: Some(capacity), align, repeat: false, roles, .. }] =
        options.banks.as_slice()
        && roles.is_empty()
        && options.shared.is_none()
    {
        let align = align.unwrap_or(1);
        let aligned =
            |b: &plimsoll_pack::Buffer| b.clone().aligned(common_multiple(b.align, align));
        let aligned = problem.buffers().iter().map(aligned).collect();
        let problem = Problem::new(aligned).expect("it was packed in parts");
        let mut search = exact::Options::default();
        search.work = options.pack.work.unwrap_or(options.pack.effort.work());
        misfit = exact::misfit(&problem, *capacity, &search);
    }
    let is_refused =
        |request: &usize| !options.banks.iter().any(|spec| takes(spec, &requests[*request]));
    let proven = misfit.is_some() || left_over.iter().any(is_refused);
    let irreducible = misfit.as_ref().is_some_and(|misfit| misfit.irreducible);
    let misfit = misfit.map_or(Vec::new(), |misfit| misfit.buffers);
    NoRoom {
        left_over: left_over.iter().map(unplaced).collect(),
        misfit: misfit.iter().map(|id| unplaced(&id.index())).collect(),
        proven,
        irreducible: irreducible && validated.program.execution() == Execution::InOrder,
        lower_bound_bytes,
    }
}
