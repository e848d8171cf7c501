//! One way to share bytes after the other: each is packed, and the smallest arena is kept.

use plimsoll_pack::Watch;

use crate::assignment::Assignment;
use crate::banks::{self, NoRoom, Placed, Refusal};
use crate::coalesce::{AliasSets, Policy, coalesce};
use crate::error::PlanError;
use crate::ids::ValueId;
use crate::liveness::{Liveness, reserved};
use crate::lower::{Request, requests};
use crate::options::Options;
use crate::validate::ValidatedProgram;

/// Ways to share after the first get a part of the work, and not more than this, unless the rules
/// alone make a smaller arena of them: less sharing is seldom better, and shows it soon.
const SHARE: u64 = 8;
const MOST_WORK: u64 = 200_000_000;

/// A program with what follows from it whatever shares bytes with what.
pub(crate) struct Case<'a, 'p> {
    pub(crate) validated: &'a ValidatedProgram<'p>,
    pub(crate) assignments: &'a [Assignment],
    pub(crate) liveness: &'a Liveness,
}

/// Tries less and less sharing, as long as that could help.
pub(crate) fn best_attempt<'l>(
    case: &Case<'l, '_>,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Attempt<'l>, PlanError> {
    let mut quick = options.clone();
    quick.pack.work = Some(0);
    let mut options = options.clone();
    let work = options.pack.work.unwrap_or(options.pack.effort.work());
    let less = if work == u64::MAX { work } else { (work / SHARE).min(MOST_WORK) };
    let mut best: Option<Attempt<'l>> = None;
    let mut refused: Option<Box<NoRoom>> = None;
    for policy in [Policy::Any, Policy::Alone, Policy::SameSize, Policy::Must] {
        if policy == Policy::Alone
            && best.as_ref().is_some_and(|b| b.sharing.alias_sets.coalesced == 0)
        {
            continue;
        }
        if policy == Policy::SameSize
            && best.as_ref().is_some_and(|b| b.is_even(case.validated, &options))
        {
            // All that was taken over is of the same size already.
            continue;
        }
        // Where the bound is not below what there is, nobody wants to know how far above it ends.
        let is_one_bank = options.banks.len() < 2;
        let so_far = best.as_ref().filter(|_| is_one_bank).map(Attempt::arena_bytes);
        quick.pack.below = so_far.into_iter().chain(options.pack.below).min();
        let sharing = Sharing::of(case, &options, policy)?;
        // The first is searched for sure; the others where the rules alone say that it could help.
        let is_first = best.is_none();
        let tried = match sharing.placed(case, if is_first { &options } else { &quick }, watch) {
            // Search may find room where the rules alone do not.
            Err(PlanError::NoRoom(_)) if !is_first => sharing.placed(case, &options, watch),
            tried => tried,
        };
        let placed = match tried {
            // What does not fit in one way may fit in another.
            Err(PlanError::NoRoom(why)) => {
                match &mut refused {
                    None => refused = Some(why),
                    // Nothing is claimed that does not hold for both.
                    Some(first) => {
                        first.proven &= why.proven;
                        first.lower_bound_bytes =
                            first.lower_bound_bytes.min(why.lower_bound_bytes);
                    }
                }
                continue;
            }
            tried => tried?,
        };
        let mut tried = Attempt { sharing, placed };
        let could_help = |best: &Attempt<'_>| tried.lower_bound_bytes() < best.arena_bytes();
        if !best.as_ref().is_none_or(could_help) {
            continue;
        }
        if work > 0 && !is_first && !tried.is_optimal() {
            let is_promising =
                best.as_ref().is_none_or(|best| tried.arena_bytes() < best.arena_bytes());
            options.pack.work = Some(if is_promising { work } else { less });
            match tried.sharing.placed(case, &options, watch) {
                // Search fills banks otherwise, and may leave no room in the last.
                Err(PlanError::NoRoom(_)) => {}
                searched => tried.placed = searched?,
            }
        }
        // Where outputs are as large as what they take over, the bound is never above that of a
        // plan with less sharing; a smaller one may keep bytes between it and what is left.
        let last = tried.taken_over() == 0
            || tried.is_optimal() && tried.is_even(case.validated, &options);
        if best.as_ref().is_none_or(|best| tried.arena_bytes() < best.arena_bytes()) {
            best = Some(tried);
        }
        if last {
            break;
        }
    }
    match (best, refused) {
        (Some(best), _) => Ok(best),
        (None, Some(refused)) => Err(PlanError::NoRoom(refused)),
        (None, None) => unreachable!("the first attempt is a plan or a refusal"),
    }
}

/// One way to share, and where that puts everything.
pub(crate) struct Attempt<'l> {
    pub(crate) sharing: Sharing<'l>,
    pub(crate) placed: Placed,
}

/// What shares bytes with what, and what is to be placed for it.
pub(crate) struct Sharing<'l> {
    pub(crate) alias_sets: AliasSets<'l>,
    pub(crate) requests: Vec<Request>,
}

impl Attempt<'_> {
    fn arena_bytes(&self) -> u64 {
        self.placed.banks.iter().map(|bank| bank.bytes).sum()
    }

    fn lower_bound_bytes(&self) -> u64 {
        self.placed.banks.iter().map(|bank| bank.lower_bound_bytes).sum()
    }

    fn is_optimal(&self) -> bool {
        self.placed.banks.iter().all(|bank| bank.optimal)
    }

    /// Whether every value is as large as the one that it took over.
    fn is_even(&self, validated: &ValidatedProgram<'_>, options: &Options) -> bool {
        let bytes = |value: ValueId| reserved(validated, value, options);
        let alias_sets = &self.sharing.alias_sets;
        let taken = alias_sets.took_over.iter().enumerate();
        // Two alias sets that became one may keep bytes between them.
        alias_sets.coalesced == 0
            && taken
                .filter_map(|(output, input)| Some((ValueId::new(output), (*input)?)))
                .all(|(output, input)| bytes(output) == bytes(validated.roots[input.index()].root))
    }

    /// How many values took over others: if none did, less sharing changes nothing.
    fn taken_over(&self) -> usize {
        self.sharing.alias_sets.took_over.iter().flatten().count()
    }
}

impl<'l> Sharing<'l> {
    fn of(case: &Case<'l, '_>, options: &Options, policy: Policy) -> Result<Self, PlanError> {
        let Case { validated, assignments, liveness } = *case;
        let live_spans = &liveness.live_spans;
        let alias_sets = coalesce(validated, assignments, live_spans, options, policy)
            .map_err(PlanError::Program)?;
        let requests = requests(validated, assignments, liveness, &alias_sets, options);
        Ok(Sharing { alias_sets, requests })
    }

    fn placed(
        &self,
        case: &Case<'_, '_>,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Placed, PlanError> {
        let (validated, requests) = (case.validated, &self.requests);
        banks::place(validated, requests, options, watch).map_err(|refusal| match refusal {
            Refusal::NoRoom(refused) => {
                let why = banks::no_room(validated, requests, &refused, options);
                PlanError::NoRoom(Box::new(why))
            }
            Refusal::TooLarge(error) => PlanError::TooLarge(error),
        })
    }
}
