//! Where the operands of a call are, as the plan says: which bytes are read and written, and which output
//! takes over an operand.

use std::ops::Range;

use crate::io::{MOST_OUTPUTS, Operands, SCRATCH, Source, Write};
use crate::kernel::{Call, Lack, Part};

/// Where bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Among what does not change from run to run.
    Constant(Range<usize>),
    /// In the memory of inputs.
    Input(Range<usize>),
    /// In the arena.
    Arena(Range<usize>),
}

/// The operands of a call, where operands of the node are as `read` says and results as `written` says, which
/// is `None` for a result that nobody writes. `None` if nothing is left to do.
///
/// What a call reads of the arena must be apart from all that it writes, or begin where output 0 does: a verified
/// plan has nothing else.
pub(crate) fn operands(
    call: &Call,
    mut read: impl FnMut(usize) -> Result<Option<Spot>, Lack>,
    mut written: impl FnMut(usize) -> Result<Option<Range<usize>>, Lack>,
    scratch: Option<Range<usize>>,
) -> Result<Option<Operands>, Lack> {
    let mut writes = Vec::new();
    for (slot, result) in call.writes.iter().enumerate() {
        assert!(slot < MOST_OUTPUTS, "a call of a few outputs");
        writes.extend(written(*result)?.map(|range| Write { range, slot }));
    }
    if writes.is_empty() {
        return Ok(None);
    }
    writes.extend(scratch.map(|range| Write { range, slot: SCRATCH }));
    let mut spots = Vec::with_capacity(call.reads.len());
    for operand in &call.reads {
        spots.push(operand.map(&mut read).transpose()?.flatten());
    }
    for spot in spots.iter().flatten() {
        let Spot::Arena(range) = spot else { continue };
        for write in writes.iter_mut().filter(|write| overlap(&write.range, range)) {
            let is_within = write.range.start <= range.start && range.end <= write.range.end;
            if let Some(Part { bytes: Some(part) }) = call.joins.as_ref().filter(|_| is_within) {
                if range.start == write.range.start + part.start {
                    return Ok(None);
                }
                continue;
            }
            if write.slot != 0 || write.range.start != range.start {
                return Err("it reads what it writes elsewhere".to_owned());
            }
            // What is narrower than its operand is made within all of that.
            write.range.end = write.range.end.max(range.end);
        }
    }
    writes.sort_by_cached_key(|write| (write.range.start, write.range.end));
    if writes.windows(2).any(|pair| pair[0].range.end > pair[1].range.start) {
        return Err("two of its results are the same bytes".to_owned());
    }
    let joins = call.joins.is_some();
    let reads = spots.into_iter().map(|spot| source(spot, &writes, joins)).collect();
    Ok(Some(Operands { reads, writes }))
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn source(spot: Option<Spot>, writes: &[Write], joins: bool) -> Source {
    let range = match spot {
        None => return Source::Absent,
        Some(Spot::Constant(range)) => return Source::Constant(range),
        Some(Spot::Input(range)) => return Source::Input(range),
        Some(Spot::Arena(range)) => range,
    };
    if range.is_empty() {
        return Source::Constant(0..0);
    }
    match writes.iter().find(|write| overlap(&write.range, &range)) {
        Some(write) if joins => {
            let start = write.range.start;
            return Source::Inside(range.start - start..range.end - start);
        }
        Some(_) => return Source::InPlace,
        None => {}
    }
    let gap = writes.partition_point(|write| write.range.end <= range.start);
    let start = gap.checked_sub(1).map_or(0, |before| writes[before].range.end);
    Source::Gap(gap, range.start - start..range.end - start)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some of one")]
mod tests {
    use super::*;

    fn call(reads: usize, writes: usize, part: Option<Range<usize>>) -> Call {
        let (reads, writes) = ((0..reads).map(Some).collect(), (0..writes).collect());
        let joins = part.map(|part| Part { bytes: Some(part) });
        Call { reads, writes, joins, is_branch: false, kernel: Box::new(|_| Ok(())) }
    }

    fn placed(
        call: &Call,
        reads: &[Range<usize>],
        writes: &[Range<usize>],
    ) -> Result<Option<Operands>, Lack> {
        let read = |operand: usize| Ok(Some(Spot::Arena(reads[operand].clone())));
        operands(call, read, |result| Ok(Some(writes[result].clone())), Some(40..48))
    }

    #[test]
    fn reads_are_in_gaps_between_writes_or_in_place() {
        let found = placed(&call(3, 1, None), &[0..4, 16..24, 50..60], &[16..20]).unwrap().unwrap();
        assert_eq!(found.reads, [Source::Gap(0, 0..4), Source::InPlace, Source::Gap(2, 2..12)]);
        let ranges: Vec<_> = found.writes.iter().map(|write| write.range.clone()).collect();
        assert_eq!(ranges, [16..24, 40..48]);
    }

    #[test]
    fn what_is_read_must_not_be_written_elsewhere() {
        let inside = placed(&call(1, 1, None), &[18..24], &[16..24]);
        assert_eq!(inside, Err("it reads what it writes elsewhere".to_owned()));
        let second = placed(&call(1, 2, None), &[0..8], &[16..24, 0..8]);
        assert_eq!(second, Err("it reads what it writes elsewhere".to_owned()));
        let same = placed(&call(0, 2, None), &[], &[16..24, 20..28]);
        assert_eq!(same, Err("two of its results are the same bytes".to_owned()));
    }

    #[test]
    fn a_part_that_is_made_where_it_belongs_is_not_copied() {
        let joining = || call(1, 1, Some(2..8));
        assert_eq!(placed(&joining(), &[18..24], &[16..24]), Ok(None));
        let reads =
            |range| placed(&joining(), &[range], &[16..24]).unwrap().map(|found| found.reads);
        assert_eq!(reads(0..6), Some(vec![Source::Gap(0, 0..6)]));
        // The same operand twice: the second time it is copied from the first.
        assert_eq!(reads(16..22), Some(vec![Source::Inside(0..6)]));
    }
}
