//! The way from a model to models that need less memory.

use plimsoll::Pulse;
use plimsoll_model::{Bindings, Inferred, Model, infer};

use crate::again::computed_again;
use crate::along::Along;
use crate::flow::{Recipe, flow};
use crate::frontier::{FitError, FitOptions, Frontier, Goal, Point};
use crate::norms::written_out;
use crate::parts::{InParts, Parted, in_parts_of_parts, made_apart};
use crate::planned::{as_it_is, planned};
use crate::recipes::{Candidate, narrowed, recipes};
use crate::rewritten::Rewritten;
use crate::search::cut;

/// What lives long is computed again if it takes more than this part of the arena.
const LONG_LIVED: u64 = 100;

/// Finds models that compute the same as this one in less memory, while somebody is asked now and then whether to
/// go on; what was found by then is kept.
pub fn fit(
    model: &Model,
    bindings: &Bindings,
    options: &FitOptions,
    pulse: &mut Pulse<'_>,
) -> Result<Frontier, FitError> {
    let (source, source_loads) = as_it_is(model, bindings, options)?;
    let frontier = Frontier::of(source.clone(), source_loads, options);
    let mut fitting = Fitting { bindings, options, frontier, work: options.work, stopped: false };
    let inferred = infer(model, bindings)?;
    let norms = written_out(model, &inferred.facts, source.arena_bytes / 16);
    let variants = std::iter::once(Rewritten::unchanged(model.clone())).chain(norms);
    for variant in variants {
        fitting.flows(&variant, pulse)?;
        if fitting.stopped {
            return Ok(fitting.frontier);
        }
    }
    fitting.parts(source, pulse)?;
    Ok(fitting.frontier)
}

/// A model on its way.
struct Fitting<'o> {
    bindings: &'o Bindings,
    options: &'o FitOptions,
    frontier: Frontier,
    /// How many candidates may still be planned.
    work: u64,
    /// Whether nothing more is asked for.
    stopped: bool,
}

impl Fitting<'_> {
    fn planned(&self, rewritten: Rewritten) -> Result<Point, FitError> {
        planned(rewritten, self.bindings, self.options)
    }

    /// Looks for flows of a variant of the model.
    fn flows(&mut self, variant: &Rewritten, pulse: &mut Pulse<'_>) -> Result<(), FitError> {
        let inferred = infer(&variant.model, self.bindings)?;
        let Inferred { facts, statics, order, .. } = &inferred;
        let along = Along::new(&variant.model, facts, statics, order);
        let mut chosen: Option<(Candidate<'_>, u64)> = None;
        for (at, candidate) in recipes(&along, pulse).into_iter().enumerate() {
            if pulse().is_break() || !take(&mut self.work) {
                self.stopped = true;
                return Ok(());
            }
            let point = self.flowing(&along, variant, &candidate.recipe)?;
            // The first recipe computes no more than the model: what is moved depends little on the others.
            if let Some(bytes) = self.options.fast_bytes.filter(|_| at == 0) {
                for recipe in narrow(&along, &candidate.recipe, bytes) {
                    let point = self.flowing(&along, variant, &recipe)?;
                    self.frontier.narrow.push(point);
                }
            }
            if let Some(room) = self.add(point) {
                chosen = Some((candidate, room));
            }
            if self.is_reached() {
                self.stopped = true;
                break;
            }
        }
        let Some((mut candidate, room)) = chosen else { return Ok(()) };
        for limit in limits(candidate.peak, room) {
            if pulse().is_break() || !take(&mut self.work) {
                break;
            }
            let Some(recipe) = candidate.searched.cheapest(limit) else { break };
            let point = self.flowing(&along, variant, &recipe)?;
            if self.is_cheaper(&point, room) {
                self.add(point);
                break;
            }
        }
        Ok(())
    }

    /// A variant of the model by a recipe, planned.
    fn flowing(
        &self,
        along: &Along<'_>,
        variant: &Rewritten,
        recipe: &Recipe,
    ) -> Result<Point, FitError> {
        self.planned(flow(along, recipe).traced_through(variant))
    }

    /// Looks for parts of the model as it is, and of the smallest that flows without more arithmetic.
    fn parts(&mut self, source: Point, pulse: &mut Pulse<'_>) -> Result<(), FitError> {
        let mut chosen: Option<(Point, InParts, u64)> = None;
        for mut start in starts(&self.frontier, source) {
            start.rewritten =
                made_apart(&start.rewritten, self.bindings)?.unwrap_or(start.rewritten);
            let least = start.arena_bytes / LONG_LIVED;
            let again = computed_again(&start.rewritten, self.bindings, least)?;
            let again = again.filter(|_| take(&mut self.work));
            let again = again.map(|again| self.planned(again));
            for start in std::iter::once(Ok(start)).chain(again) {
                let start = start?;
                let mut known = Vec::new();
                for found in InParts::LOOKS.map(|look| InParts { look, target: 0 }) {
                    if pulse().is_break() || !take(&mut self.work) {
                        break;
                    }
                    let Some((point, peak)) = self.parted(&start, found, &mut known)? else {
                        continue;
                    };
                    if let Some(room) = self.add(point) {
                        chosen = Some((start.clone(), InParts { target: peak, ..found }, room));
                    }
                }
                if !start.rewritten.regions.is_empty() {
                    self.add(start);
                }
            }
        }
        let Some((start, found, room)) = chosen else { return Ok(()) };
        let mut known = Vec::new();
        for limit in limits(found.target, room) {
            if pulse().is_break() || !take(&mut self.work) {
                break;
            }
            let relaxed = self.parted(&start, InParts { target: limit, ..found }, &mut known)?;
            let Some((point, _)) = relaxed else { continue };
            if self.is_cheaper(&point, room) {
                self.add(point);
                break;
            }
        }
        Ok(())
    }

    /// A model with regions in parts, planned, and what it takes nearly; `None` if it would take no less, or if one
    /// with as many nodes that takes as much is known.
    fn parted(
        &self,
        from: &Point,
        how: InParts,
        known: &mut Vec<(u64, usize)>,
    ) -> Result<Option<(Point, u64)>, FitError> {
        let found = in_parts_of_parts(&from.rewritten, self.bindings, how)?;
        let Some(Parted { rewritten, peak }) = found else { return Ok(None) };
        let size = (peak, rewritten.model.body.nodes.len());
        if known.contains(&size) {
            return Ok(None);
        }
        known.push(size);
        Ok(Some((self.planned(rewritten)?, peak)))
    }

    /// Adds a point. If it is now the one that is asked for: how much memory there is for it.
    fn add(&mut self, point: Point) -> Option<u64> {
        let mark = |point: &Point| (point.arena_bytes, point.multiply_adds, point.overhead_bytes);
        let added = mark(&point);
        self.frontier.add(point);
        let asked = self.frontier.asked_for(self.options.goal)?;
        let room = match self.options.goal {
            Goal::Budget(bytes) => bytes,
            Goal::MostArithmetic { .. } | Goal::Frontier => asked.arena_bytes,
        };
        (mark(asked) == added).then_some(room)
    }

    /// Whether a point has room, and costs less beside its arithmetic than the one that is asked for.
    fn is_cheaper(&self, point: &Point, room: u64) -> bool {
        let asked = self.frontier.asked_for(self.options.goal);
        point.arena_bytes <= room
            && asked.is_some_and(|asked| point.overhead_bytes < asked.overhead_bytes)
    }

    /// Whether no later candidate is asked for: what comes has more arithmetic.
    fn is_reached(&self) -> bool {
        matches!(self.options.goal, Goal::Budget(bytes) if self.frontier.within(bytes).is_some())
    }
}

/// What candidates may take, nearly, to fit into memory that is there: estimates are not plans. The first that fits
/// when it is planned is the cheapest.
fn limits(peak: u64, room: u64) -> Vec<u64> {
    let more = room.saturating_sub(peak);
    let mut limits = vec![peak + more, peak + more / 2, peak];
    limits.dedup();
    limits
}

/// Recipes for two memories: whole segments, and segments that are cut where little has to wait.
fn narrow(along: &Along<'_>, recipe: &Recipe, bytes: u64) -> [Recipe; 3] {
    let cut = cut(along, recipe);
    [(recipe, bytes / 2), (&cut, bytes), (&cut, bytes / 2)]
        .map(|(recipe, bytes)| narrowed(along, recipe, bytes))
}

/// Takes one of what is left.
fn take(work: &mut u64) -> bool {
    let is_left = *work > 0;
    *work = work.saturating_sub(1);
    is_left
}

/// What is computed in parts: the model as it is, and the smallest that flows without more arithmetic.
fn starts(frontier: &Frontier, source: Point) -> Vec<Point> {
    let smallest =
        frontier.at_most(0.0).filter(|point| !point.rewritten.regions.is_empty()).cloned();
    std::iter::once(source).chain(smallest).collect()
}
