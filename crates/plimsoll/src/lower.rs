//! From families and scratch memory to the packer's rectangles.
//!
//! Points become times. Where only a part of a family's bytes is needed for a while, or none, the
//! rectangle has a gap; where steps do not run in order it has none, and pairs that no order keeps
//! apart are listed as conflicts beside the lives.

use plimsoll_pack::{Conflicts, Gap, Life, Span};

use crate::door::Checked;
use crate::home::Home;
use crate::ids::{StepId, ValueId};
use crate::liveness::{Need, whole};
use crate::options::Options;
use crate::point::{LiveRange, Point};
use crate::program::Role;
use crate::reuse::{Families, hull};

/// One thing to place.
pub(crate) struct Item {
    pub(crate) what: What,
    /// Size, life, gaps and alignment, without a bank's own wishes.
    pub(crate) buffer: plimsoll_pack::Buffer,
    pub(crate) role: Role,
    /// The steps that may touch it first, and those with which it may be over; `None` for the end
    /// of the run. Only where steps do not run in order.
    firsts: Vec<StepId>,
    lasts: Vec<Option<StepId>>,
}

/// What is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The family of that head.
    Family(ValueId),
    /// The scratch memory of that step.
    Scratch(StepId),
}

/// Everything that is to be placed, families first.
pub(crate) fn items(
    checked: &Checked<'_>,
    homes: &[Home],
    families: &Families,
    options: &Options,
) -> Vec<Item> {
    let sizes = sizes(checked, homes, families, options);
    let heads = checked.value_ids().filter(|v| {
        matches!(homes[v.index()], Home::Packed | Home::Kept)
            && checked.is_root(*v)
            && families.member[v.index()].0 == *v
    });
    let mut items: Vec<Item> = heads
        .map(|head| family(checked, head, &families.needs[head.index()], sizes[head.index()]))
        .collect();
    let scratch = checked.schedule.iter().filter_map(|step| {
        let scratch = checked.scratch[step.index()]?;
        let at = checked.position[step.index()];
        let live = LiveRange::new(Point::reads(at), Point::after(at));
        let buffer = plimsoll_pack::Buffer::new(scratch.bytes, life(live)).aligned(scratch.align);
        let what = What::Scratch(*step);
        let (firsts, lasts) = (vec![*step], vec![Some(*step)]);
        Some(Item { what, buffer, role: Role::Temporary, firsts, lasts })
    });
    items.extend(scratch);
    items.retain(|item| item.buffer.size > 0);
    items
}

/// The bytes and the alignment of every family; by head.
fn sizes(
    checked: &Checked<'_>,
    homes: &[Home],
    families: &Families,
    options: &Options,
) -> Vec<(u64, u64)> {
    let mut sizes = vec![(0, 1); checked.values.len()];
    for value in checked.value_ids() {
        if !matches!(homes[value.index()], Home::Packed | Home::Kept) {
            continue;
        }
        let info = &checked.values[value.index()];
        let rooted = checked.roots[value.index()];
        let (head, at) = families.member[rooted.root.index()];
        let align = match info.align {
            Some(align) => align,
            None if checked.is_root(value) => options.align,
            None => 1,
        };
        let (size, common) = &mut sizes[head.index()];
        *size = (*size).max(at + whole(checked, value, options).hi);
        *common = lcm(*common, align);
    }
    sizes
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}

fn family(checked: &Checked<'_>, head: ValueId, needs: &[Need], (size, align): (u64, u64)) -> Item {
    // What nobody ever touches still has a place, for a moment.
    let (start, end) = hull(needs).unwrap_or((Point(0), Point(1)));
    let live = LiveRange::new(start, end.max(Point(start.0 + 1)));
    let mut buffer = plimsoll_pack::Buffer::new(size, life(live)).aligned(align);
    let mut item_order = (Vec::new(), Vec::new());
    if checked.order.is_some() {
        item_order = ends(checked, needs);
    } else {
        buffer.gaps = gaps(needs, live, size);
    }
    let (firsts, lasts) = item_order;
    let role = checked.values[head.index()].role;
    Item { what: What::Family(head), buffer, role, firsts, lasts }
}

pub(crate) fn life(live: LiveRange) -> Life {
    let time = |point: Point| i64::try_from(point.0).expect("fewer than 2^62 steps");
    Life::new(time(live.start), time(live.end))
}

/// The stretches of a life in which not all bytes are needed.
fn gaps(needs: &[Need], live: LiveRange, size: u64) -> Vec<Gap> {
    let whole = Span::new(0, size);
    if covered(needs, live, whole) {
        return Vec::new();
    }
    let mut events: Vec<Point> = needs.iter().flat_map(|n| [n.live.start, n.live.end]).collect();
    events.sort_unstable();
    events.dedup();
    let mut gaps: Vec<Gap> = Vec::new();
    for pair in events.windows(2) {
        let stretch = LiveRange::new(pair[0], pair[1]);
        let here = needs.iter().filter(|n| n.live.meets(stretch) && !n.span.is_empty());
        let used = here.map(|n| n.span).reduce(|a, b| Span::new(a.lo.min(b.lo), a.hi.max(b.hi)));
        if used == Some(whole) {
            continue;
        }
        match gaps.last_mut() {
            Some(last) if last.window == used && last.life.end == life(stretch).start => {
                last.life.end = life(stretch).end;
            }
            _ => gaps.push(Gap { life: life(stretch), window: used }),
        }
    }
    gaps
}

/// Whether the needs for all bytes cover the whole life without a break.
fn covered(needs: &[Need], live: LiveRange, whole: Span) -> bool {
    let mut spans: Vec<LiveRange> =
        needs.iter().filter(|n| n.span == whole).map(|n| n.live).collect();
    spans.sort_unstable();
    let mut until = live.start;
    for span in spans {
        if span.start > until {
            return false;
        }
        until = until.max(span.end);
    }
    until >= live.end
}

/// The steps that may touch a family first, and those with which it may be over.
fn ends(checked: &Checked<'_>, needs: &[Need]) -> (Vec<StepId>, Vec<Option<StepId>>) {
    let mut firsts: Vec<StepId> = Vec::new();
    let mut lasts: Vec<Option<StepId>> = Vec::new();
    for need in needs {
        if let Some(touch) = need.touch {
            firsts.extend([touch.step, touch.first]);
            lasts.extend([Some(touch.step), touch.last]);
        } else if need.live.end == Point::end_of_run(checked.steps()) {
            lasts.push(None);
        }
    }
    let from_outside = needs.iter().any(|n| n.touch.is_none() && n.live.start == Point(0));
    if from_outside {
        // Nothing is certainly over before a run begins.
        firsts.clear();
    }
    (firsts, lasts)
}

/// The pairs that no order keeps apart although their lives in the schedule do not meet.
///
/// One may give its bytes to another only if every access to it is certainly over before any
/// access to the other may begin. O(n² + n × steps / 64). Behind the items there is room for
/// obstacles that live all the time, which no pair is about.
pub(crate) fn conflicts(
    checked: &Checked<'_>,
    items: &[&Item],
    obstacles: usize,
) -> Option<Conflicts> {
    let order = checked.order.as_ref()?;
    // By item: the steps (by position) that begin only once the item is over.
    let words = checked.steps().div_ceil(64);
    let mut free_after: Vec<Vec<u64>> = Vec::with_capacity(items.len());
    for item in items {
        let mut bits = vec![u64::MAX; words];
        for last in &item.lasts {
            match last {
                Some(last) => {
                    let after = order.all_after(*last);
                    bits.iter_mut().zip(after).for_each(|(bits, after)| *bits &= after);
                }
                None => bits.fill(0),
            }
        }
        free_after.push(bits);
    }
    let gives_to = |a: usize, b: usize| {
        let has = |step: &StepId| {
            let position = checked.position[step.index()];
            free_after[a][position / 64] >> (position % 64) & 1 == 1
        };
        !items[b].firsts.is_empty() && items[b].firsts.iter().all(has)
    };
    let mut conflicts = Conflicts::new(items.len() + obstacles);
    for a in 0..items.len() {
        for b in a + 1..items.len() {
            let apart = !items[a].buffer.life.meets(items[b].buffer.life);
            if apart && !gives_to(a, b) && !gives_to(b, a) {
                conflicts.add(a, b);
            }
        }
    }
    Some(conflicts)
}
