//! The recipe with the least overhead whose peak is at most a limit.
//!
//! The search for the smallest peak makes every segment as small as it can, also far from the largest one. Once it is
//! known how much memory there is, by that search or by a budget, all that fits is as good, and what counts is the
//! [overhead](crate::overhead). It adds up over segments, so the cheapest way to come to a cut is the cheapest over
//! all segments that end there and fit. More steps cost more: of a segment the fewest that fit are taken.
//!
//! Cost: as the search for the smallest peak; trials that were made there are not made again.

use crate::flow::Recipe;
use crate::overhead::NODE;
use crate::search::{Searched, Way};

/// The cheapest way to come to a cut.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    overhead: u64,
    way: Way,
}

/// By cut, the cheapest way to come to it by a segment in one step, and by one in several.
type Arrivals = Vec<[Option<Arrival>; 2]>;

impl Searched<'_> {
    /// The recipe with the least overhead of which no segment takes more than a limit, nearly; `None` if none was
    /// found.
    pub(crate) fn cheapest(&mut self, limit: u64) -> Option<Recipe> {
        let cuts = self.cuts();
        let mut arrivals: Arrivals = vec![[None, None]; cuts.len()];
        let start = Way { from: 0, flowed: false, steps: 0 };
        arrivals[0][0] = Some(Arrival { overhead: 0, way: start });
        for to in 1..cuts.len() {
            for from in (0..to).rev() {
                for flowed in [true, false] {
                    self.arrive(&cuts, (from, to), flowed, limit, &mut arrivals);
                }
            }
        }
        let last = &arrivals[cuts.len() - 1];
        let ends = last.iter().enumerate().filter_map(|(at, end)| Some((end.as_ref()?, at == 1)));
        let (_, is_flow) = ends.min_by_key(|(end, is_flow)| (end.overhead, *is_flow))?;
        let way = |at: usize, is_flow: bool| {
            arrivals[at][usize::from(is_flow)].map(|arrival| arrival.way)
        };
        Some(self.recipe(&cuts, is_flow, way))
    }

    /// Comes to a cut from another one in the fewest steps that fit, if that is cheaper than what is known.
    fn arrive(
        &mut self,
        cuts: &[usize],
        (from, to): (usize, usize),
        flowed: bool,
        limit: u64,
        arrivals: &mut Arrivals,
    ) {
        let Some(before) = arrivals[from][usize::from(flowed)] else { return };
        let nodes = (cuts[to] - cuts[from]) as u64;
        for steps in self.steps(cuts, from, to) {
            let slot = arrivals[to][usize::from(steps > 1)];
            let at_least = before.overhead + NODE * nodes * steps;
            if slot.is_some_and(|slot| slot.overhead <= at_least) {
                continue;
            }
            let Some((peak, overhead)) = self.tried((cuts[from], cuts[to]), steps, flowed) else {
                return;
            };
            if peak > limit {
                continue;
            }
            let overhead = before.overhead + overhead;
            if slot.is_none_or(|slot| overhead < slot.overhead) {
                let way = Way { from, flowed, steps };
                arrivals[to][usize::from(steps > 1)] = Some(Arrival { overhead, way });
            }
            return;
        }
    }
}
