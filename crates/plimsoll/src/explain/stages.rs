//! Steps that belong together: what each group of them takes, and what it carries from stage to stage.
//!
//! A *group* is a set of steps that does one thing in *stages*: the bands of a picture, the parts of a product. Who
//! belongs to which is told by whoever asks; it decides nothing.
//!
//! Cost: O((n + s) log n) for n buffers and s steps, each with as many stages as have something alive.

use std::collections::BTreeMap;

use super::{Peak, step_at};
use crate::StepId;
use crate::plan::Plan;
use crate::point::Point;

/// Where a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stage {
    /// Which group, counted from 0.
    pub group: usize,
    /// Which of its stages, counted from 0.
    pub stage: u64,
}

/// What a group takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPeak {
    /// When most bytes are in use while one of its steps runs; the first such moment.
    pub peak: Peak,
    /// The stage of that step.
    pub stage: u64,
    /// The most bytes that one of its stages finds of what earlier stages have made.
    pub carried_bytes: u64,
}

/// What each of so many groups takes, where steps are by [`StepId`]; `None` for a group that no step is in.
#[must_use]
pub fn group_peaks(plan: &Plan, stages: &[Option<Stage>], groups: usize) -> Vec<Option<GroupPeak>> {
    let loads = loads(plan);
    let carried = carried(plan, stages);
    let mut found: Vec<Option<GroupPeak>> = vec![None; groups];
    for (position, step) in plan.schedule.iter().enumerate() {
        let Some(stage) = stage_of(stages, *step) else { continue };
        let Some(slot) = found.get_mut(stage.group) else { continue };
        for point in [2 * position, 2 * position + 1] {
            let (bytes, point) = (loads[point], Point(point as u64));
            let peak = Peak { point, step: step_at(plan, point), bytes };
            let so_far = slot.map_or(0, |so_far| so_far.carried_bytes);
            let carried_bytes = so_far.max(carried[position]);
            match slot {
                Some(found) if found.peak.bytes >= bytes => found.carried_bytes = carried_bytes,
                _ => *slot = Some(GroupPeak { peak, stage: stage.stage, carried_bytes }),
            }
        }
    }
    found
}

/// The most bytes that are in use while each step runs, by its position in the schedule.
#[must_use]
pub fn step_loads(plan: &Plan) -> Vec<u64> {
    let loads = loads(plan);
    (0..plan.schedule.len())
        .map(|position| loads[2 * position].max(loads[2 * position + 1]))
        .collect()
}

fn stage_of(stages: &[Option<Stage>], step: StepId) -> Option<Stage> {
    stages.get(step.index()).copied().flatten()
}

/// The bytes in use at each point.
fn loads(plan: &Plan) -> Vec<u64> {
    let points = 2 * plan.schedule.len() + 1;
    let mut change = vec![0i64; points + 1];
    let at = |time: i64| usize::try_from(time).unwrap_or(0).min(points);
    for buffer in &plan.derivation.buffers {
        for piece in buffer.packed().pieces() {
            change[at(piece.life.start)] += piece.span.len().cast_signed();
            change[at(piece.life.end)] -= piece.span.len().cast_signed();
        }
    }
    let mut load = 0i64;
    let loads = change.iter().map(|change| {
        load += change;
        load.unsigned_abs()
    });
    loads.collect()
}

/// By position, the bytes that the group of the step has made in earlier stages and still has.
fn carried(plan: &Plan, stages: &[Option<Stage>]) -> Vec<u64> {
    let mut begins: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut ends: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let made_in: Vec<Option<Stage>> = plan
        .derivation
        .buffers
        .iter()
        .map(|buffer| stage_of(stages, step_at(plan, buffer.live.start)?))
        .collect();
    for (index, buffer) in plan.derivation.buffers.iter().enumerate() {
        begins.entry(buffer.live.start.0).or_default().push(index);
        ends.entry(buffer.live.end.0).or_default().push(index);
    }
    let mut alive: BTreeMap<Stage, u64> = BTreeMap::new();
    let mut carried = Vec::with_capacity(plan.schedule.len());
    for (position, step) in plan.schedule.iter().enumerate() {
        let now = 2 * position as u64;
        for point in now.saturating_sub(1)..=now {
            for index in ends.get(&point).into_iter().flatten() {
                let bytes = plan.derivation.buffers[*index].slot.bytes;
                if let Some(sum) = made_in[*index].and_then(|stage| alive.get_mut(&stage)) {
                    *sum -= bytes;
                }
            }
            for index in begins.get(&point).into_iter().flatten() {
                let bytes = plan.derivation.buffers[*index].slot.bytes;
                if let Some(stage) = made_in[*index] {
                    *alive.entry(stage).or_default() += bytes;
                }
            }
        }
        let own = stage_of(stages, *step);
        let before = own.map(|own| alive.range(Stage { stage: 0, ..own }..own));
        carried.push(before.into_iter().flatten().map(|(_, bytes)| bytes).sum());
    }
    carried
}
