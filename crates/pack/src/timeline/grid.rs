//! The tree over the sections: blocks with few births and deaths, and nodes above them.
//!
//! Only the shape, which a problem has once for all rules; what is placed is in the timeline.

use crate::problem::BufferId;
use crate::sweep::{Sections, Sweep};

/// Children of a node.
const FAN: usize = 16;
/// Births and deaths after which a block is closed.
const BLOCK_EVENTS: u32 = 64;
/// A level with no more nodes than this has none above it. A flat top joins all long lives in
/// one set a node, where a pointed one would spread them over several.
const TOP: usize = 512;

/// The blocks, and how many nodes there are above them.
pub(super) struct Grid {
    /// The block of each section.
    block_of: Vec<u32>,
    /// The first section of each block, and the number of sections at the end.
    block_start: Vec<u32>,
    /// How many nodes each level has. Level 0 are the blocks, and each level above has a [`FAN`]th
    /// of the nodes.
    pub(super) widths: Vec<usize>,
}

/// A node that a stretch of sections meets.
#[derive(Clone, Copy)]
pub(super) struct Met {
    pub(super) level: usize,
    pub(super) node: usize,
    /// Whether the stretch covers it wholly, and no node above it.
    pub(super) whole: bool,
}

impl Grid {
    /// Cuts the sections into blocks of about [`BLOCK_EVENTS`] births and deaths; a block is one
    /// section at least. O(n).
    pub(super) fn new(sweep: &Sweep, ids: impl Iterator<Item = BufferId>) -> Self {
        let mut events = vec![0u32; sweep.len() + 1];
        for piece in ids.flat_map(|id| sweep.pieces(id)) {
            events[piece.sections.start as usize] += 1;
            events[piece.sections.end as usize] += 1;
        }
        let mut block_of = Vec::with_capacity(sweep.len());
        let mut block_start = vec![0];
        let mut in_block = 0;
        for (section, happens) in events.iter().take(sweep.len()).enumerate() {
            // What happens at the first moment of a block cuts nothing in it.
            let opens = block_start.last() == Some(&(section as u32));
            if !opens && in_block + happens > BLOCK_EVENTS {
                block_start.push(section as u32);
                in_block = 0;
            } else if !opens {
                in_block += happens;
            }
            block_of.push(block_start.len() as u32 - 1);
        }
        block_start.push(sweep.len() as u32);
        let mut widths = vec![block_start.len() - 1];
        while let Some(width) = widths.last().filter(|w| **w > TOP) {
            widths.push(width.div_ceil(FAN));
        }
        Grid { block_of, block_start, widths }
    }

    /// The nodes that a stretch meets: those that it covers wholly (the largest only), and all
    /// that it meets in part, at most two on each level.
    pub(super) fn meet(&self, sections: Sections, met: &mut Vec<Met>) {
        met.clear();
        let mut first = self.block_of[sections.start as usize] as usize;
        let mut last = self.block_of[sections.end as usize - 1] as usize;
        // Nodes `from..to` of this level are covered wholly.
        let mut from = first + usize::from(self.block_start[first] < sections.start);
        let mut to = last + usize::from(self.block_start[last + 1] == sections.end);
        for (level, width) in self.widths.iter().enumerate() {
            let covered = |node| from <= node && node < to;
            if !covered(first) {
                met.push(Met { level, node: first, whole: false });
            }
            if last != first && !covered(last) {
                met.push(Met { level, node: last, whole: false });
            }
            // Those whose parent is covered wholly too are left to the parent.
            let up_from = from.div_ceil(FAN);
            let up_to = if to == *width { to.div_ceil(FAN) } else { to / FAN };
            let whole = |node| Met { level, node, whole: true };
            if level + 1 < self.widths.len() && up_from < up_to {
                let (below, above) = (from..up_from * FAN, (up_to * FAN).min(to)..to);
                met.extend(below.chain(above).map(whole));
                (from, to) = (up_from, up_to);
            } else {
                met.extend((from..to).map(whole));
                (from, to) = (0, 0);
            }
            first /= FAN;
            last /= FAN;
        }
    }
}
