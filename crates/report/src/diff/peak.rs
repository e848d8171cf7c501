//! When most is alive, in each of two plans, and who makes the difference.
//!
//! What is counted are the bytes that some value needs, as the rows of a plan tell it: from `start`
//! to `end`, or for the whole run where a value is kept for it; and scratch memory during its step.
//! Values of one buffer share bytes, and no byte counts twice: of several that are alive the largest
//! has them. So the bytes of all that is alive at a moment add up to what is in use, and the
//! difference of two peaks is what has come, less what has gone, and by how much the rest has
//! changed. Stretches in which only a part of a value is needed are not in the rows: there the whole
//! counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::Serialize;
use serde_json::json;

use super::{Change, Named, PlanFile, ValueRow};

/// The peaks of two plans, and what they differ in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PeakDiff {
    /// Of the first plan.
    pub before: Peak,
    /// Of the second.
    pub after: Peak,
    /// What is alive at the second peak and not at the first, the largest first.
    pub entered: Vec<AtPeak>,
    /// What is alive at the first peak and not at the second, the largest first.
    pub left: Vec<AtPeak>,
    /// What is alive at both, and has other bytes there, the largest change first.
    pub resized: Vec<Named<u64>>,
}

/// The first moment at which most is alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peak {
    /// How much that is, in all banks together.
    pub bytes: u64,
    /// The point of time: two a step.
    pub point: u64,
    /// The step that runs then; `None` after the last one, or where nothing is alive.
    pub step: Option<String>,
}

/// Something that is alive at a peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtPeak {
    /// The value, or the step whose scratch memory it is.
    pub name: String,
    /// Whether it is scratch memory.
    pub scratch: bool,
    /// The bytes that are its own then.
    pub bytes: u64,
}

impl PeakDiff {
    pub(super) fn new(before: &PlanFile, after: &PlanFile) -> Self {
        let (old, new) = (Load::new(before), Load::new(after));
        let (old_peak, new_peak) = (old.peak(), new.peak());
        let (was, is) = (old.alive_at(old_peak.point), new.alive_at(new_peak.point));
        let key = |at: &AtPeak| (at.name.clone(), at.scratch);
        let by_key = |alive: &[AtPeak]| -> HashMap<(String, bool), u64> {
            alive.iter().map(|at| (key(at), at.bytes)).collect()
        };
        let (had, has) = (by_key(&was), by_key(&is));
        let resized = is.iter().filter_map(|at| {
            let change = Change::if_any(*had.get(&key(at))?, at.bytes)?;
            Some(Named { name: at.name.clone(), change })
        });
        let mut resized: Vec<Named<u64>> = resized.collect();
        resized.sort_by_cached_key(|of| Reverse(of.change.before.abs_diff(of.change.after)));
        PeakDiff {
            resized,
            entered: is.into_iter().filter(|at| !had.contains_key(&key(at))).collect(),
            left: was.into_iter().filter(|at| !has.contains_key(&key(at))).collect(),
            before: old_peak,
            after: new_peak,
        }
    }
}

/// Who is where and when.
struct Load<'a> {
    file: &'a PlanFile,
    /// What shares bytes is together.
    buffers: Vec<Vec<Tenant<'a>>>,
}

/// Something with bytes and a life.
#[derive(Clone)]
struct Tenant<'a> {
    name: &'a str,
    scratch: bool,
    is_view: bool,
    bytes: Range<u64>,
    life: Range<u64>,
}

impl<'a> Load<'a> {
    fn new(file: &'a PlanFile) -> Self {
        let mut buffers: BTreeMap<u32, Vec<Tenant<'_>>> = BTreeMap::new();
        for row in &file.values {
            if let Some((buffer, tenant)) = tenant(file, row) {
                buffers.entry(buffer).or_default().push(tenant);
            }
        }
        let positions: HashMap<&String, u64> = file.schedule.iter().zip(0..).collect();
        let scratch = file.scratch.iter().filter_map(|row| {
            let start = 2 * *positions.get(&row.step)?;
            Some(vec![Tenant {
                name: &row.step,
                scratch: true,
                is_view: false,
                bytes: row.offset..row.offset + row.bytes,
                life: start..start + 2,
            }])
        });
        Load { file, buffers: buffers.into_values().chain(scratch).collect() }
    }

    /// The first moment of the highest load.
    fn peak(&self) -> Peak {
        let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
        for tenants in &self.buffers {
            for (life, bytes) in loads(tenants) {
                *changes.entry(life.start).or_default() += bytes.cast_signed();
                *changes.entry(life.end).or_default() -= bytes.cast_signed();
            }
        }
        let (mut load, mut peak, mut point) = (0, 0, 0);
        for (at, change) in changes {
            load += change;
            if load > peak {
                (peak, point) = (load, at);
            }
        }
        let step = usize::try_from(point / 2).ok().and_then(|at| self.file.schedule.get(at));
        let step = step.filter(|_| peak > 0).cloned();
        Peak { bytes: peak.unsigned_abs(), point, step }
    }

    /// What is alive at a point, with the bytes that are its own, the largest first.
    fn alive_at(&self, point: u64) -> Vec<AtPeak> {
        let mut alive: Vec<AtPeak> = Vec::new();
        for tenants in &self.buffers {
            let mut there: Vec<&Tenant<'_>> =
                tenants.iter().filter(|tenant| tenant.life.contains(&point)).collect();
            there.sort_by_cached_key(|tenant| (Reverse(length(&tenant.bytes)), tenant.is_view));
            let mut taken: Vec<Range<u64>> = Vec::new();
            for tenant in there {
                let before = union(&taken);
                taken.push(tenant.bytes.clone());
                let bytes = union(&taken) - before;
                if bytes > 0 {
                    alive.push(AtPeak {
                        name: tenant.name.to_owned(),
                        scratch: tenant.scratch,
                        bytes,
                    });
                }
            }
        }
        alive.sort_by_cached_key(|at| Reverse(at.bytes));
        alive
    }
}

/// The row as a tenant of its buffer, if it has bytes that were planned.
fn tenant<'a>(file: &PlanFile, row: &'a ValueRow) -> Option<(u32, Tenant<'a>)> {
    let (buffer, offset) = (row.buffer?, row.offset?);
    let bytes = offset..offset + row.slot_bytes.unwrap_or(row.bytes);
    let life = if is_kept(file, row) {
        0..2 * file.schedule.len() as u64 + 1
    } else {
        row.start?..row.end?
    };
    let is_view = row.root.is_some();
    Some((buffer, Tenant { name: &row.name, scratch: false, is_view, bytes, life }))
}

/// Whether its bytes are its own for the whole run, whoever needs them.
fn is_kept(file: &PlanFile, row: &ValueRow) -> bool {
    let says = |option: &str, value| file.options.get(option) == Some(&value);
    let from_outside = match row.role.as_deref() {
        None => false,
        Some("input") => !says("reclaim_inputs", json!(true)),
        Some(_) => true,
    };
    let is_root = row.root.is_none();
    is_root
        && (from_outside || row.storage == "persistent" || says("no_reuse", json!("everything")))
}

/// How many bytes are in use in a buffer, from when until when.
fn loads(tenants: &[Tenant<'_>]) -> Vec<(Range<u64>, u64)> {
    let mut moments: Vec<u64> =
        tenants.iter().flat_map(|tenant| [tenant.life.start, tenant.life.end]).collect();
    moments.sort_unstable();
    moments.dedup();
    let mut waiting: Vec<&Tenant<'_>> = tenants.iter().collect();
    waiting.sort_by_cached_key(|tenant| Reverse(tenant.life.start));
    let mut alive: Vec<&Tenant<'_>> = Vec::new();
    let mut loads = Vec::with_capacity(moments.len());
    for life in moments.windows(2) {
        while let Some(tenant) = waiting.pop_if(|tenant| tenant.life.start <= life[0]) {
            alive.push(tenant);
        }
        alive.retain(|tenant| tenant.life.contains(&life[0]));
        let taken: Vec<Range<u64>> = alive.iter().map(|tenant| tenant.bytes.clone()).collect();
        loads.push((life[0]..life[1], union(&taken)));
    }
    loads
}

/// How many bytes are in at least one of the ranges.
fn union(ranges: &[Range<u64>]) -> u64 {
    let mut ranges: Vec<&Range<u64>> = ranges.iter().collect();
    ranges.sort_by_cached_key(|range| range.start);
    let (mut bytes, mut end) = (0, 0);
    for range in ranges {
        let start = range.start.max(end);
        bytes += range.end.saturating_sub(start);
        end = range.end.max(end);
    }
    bytes
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}
