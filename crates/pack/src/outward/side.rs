//! One side of the peak: births and deaths in the order of their distance from it, and the way back where a buffer
//! finds no hole.
//!
//! To go back is to give back what was taken since, and to put in again what was given back. A buffer that was in need of
//! it has a place of its own from then on, at which nobody is put who would still be there. Places can be lost to others
//! who are in need, but only so many times; so it comes to an end.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::heap::{Heap, Hole};
use crate::sweep::Sections;
use crate::watch::Watched;

/// Has no place of its own.
const NOWHERE: u64 = u64::MAX;
/// Was there before the first birth.
const ALWAYS: u32 = u32::MAX;
/// The capacity grows by one part in so many.
const GROWTH: u64 = 256;
/// A birth or death takes as long as so many entries of lists.
const EVENT: u64 = 4;

/// What is tried.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    /// The bytes that there are.
    pub(super) capacity: u64,
    /// Of so many holes the one is taken whose neighbour dies at nearly the same time.
    pub(super) holes: usize,
    /// How many times a place is reserved for a buffer before it keeps it.
    pub(super) patience: u32,
    /// The work for going back, in all and for each birth that was not reached before.
    pub(super) work: u64,
    pub(super) work_each: u64,
    /// Whether it is over where a buffer finds no place; otherwise the capacity grows a little.
    pub(super) gives_up: bool,
}

/// A birth or a death.
#[derive(Clone, Copy)]
struct Event {
    buffer: u32,
    is_birth: bool,
}

/// What happens on one side, in the order of time away from the peak.
pub(super) struct Side {
    peak: u32,
    lives: Vec<Sections>,
    events: Vec<Event>,
}

impl Side {
    /// What happens after the peak. O(n log n).
    pub(super) fn new(lives: Vec<Sections>, sizes: &[u64], peak: u32) -> Self {
        let mut events = Vec::new();
        for (buffer, life) in lives.iter().enumerate() {
            let key = (Reverse(sizes[buffer]), buffer as u32);
            if life.start > peak {
                events.push((life.start, true, key));
            }
            if life.end > peak {
                events.push((life.end, false, key));
            }
        }
        // At one moment deaths come first, then births, the largest first.
        events.sort_unstable();
        let event = |(_, is_birth, (_, buffer))| Event { buffer, is_birth };
        Side { peak, lives, events: events.into_iter().map(event).collect() }
    }

    /// How long a buffer that is there at the peak is there from then on.
    pub(super) fn lasts(&self, buffer: usize) -> u32 {
        self.lives[buffer].end - self.peak
    }

    /// A run from the stack at the peak, whose places are known.
    pub(super) fn run<'a>(
        &'a self,
        sizes: &'a [u64],
        aligns: &'a [u64],
        offsets: &'a mut [u64],
        stack: &[usize],
        attempt: &'a Attempt,
    ) -> Run<'a> {
        let count = sizes.len();
        let mut heap = Heap::new(count);
        heap.fill(attempt.capacity, stack.iter().map(|b| (*b, offsets[*b], sizes[*b])));
        let mut is_there = vec![false; count];
        for buffer in stack {
            is_there[*buffer] = true;
        }
        Run {
            side: self,
            sizes,
            aligns,
            offsets,
            attempt,
            capacity: attempt.capacity,
            heap,
            is_there,
            born: vec![ALWAYS; count],
            reserved: vec![NOWHERE; count],
            times: vec![0; count],
            awaited: Vec::new(),
            patience: attempt.patience,
            kept: Vec::new(),
            work: 0,
        }
    }
}

/// A run through what happens on one side.
pub(super) struct Run<'a> {
    side: &'a Side,
    sizes: &'a [u64],
    aligns: &'a [u64],
    offsets: &'a mut [u64],
    attempt: &'a Attempt,
    capacity: u64,
    heap: Heap,
    is_there: Vec<bool>,
    /// The event at which each buffer was put in.
    born: Vec<u32>,
    /// The place that is reserved for a buffer, and how many times one was.
    reserved: Vec<u64>,
    times: Vec<u32>,
    /// Those with a place of their own that are not born yet.
    awaited: Vec<usize>,
    /// How many times a place is reserved for a buffer before it keeps it.
    patience: u32,
    /// The places that are not to be taken by the buffer that is looked at; filled anew for each.
    kept: Vec<(u64, u64)>,
    work: u64,
}

impl Run<'_> {
    pub(super) fn work(&self) -> u64 {
        self.work
    }

    /// Puts in all that are born, and gives the capacity that this took; nothing if it gives up. So much work
    /// was done before.
    pub(super) fn all(&mut self, before: u64, watched: &mut Watched<'_>) -> Option<u64> {
        let (mut at, mut farthest, mut work_there) = (0, 0, 0);
        while let Some(Event { buffer, is_birth }) = self.side.events.get(at).copied() {
            let buffer = buffer as usize;
            self.work += EVENT;
            if !is_birth {
                self.heap.give(buffer);
                self.is_there[buffer] = false;
                at += 1;
                continue;
            }
            if let Some((hole, start)) = self.choose(buffer) {
                self.put_in(buffer, hole, start, at);
                at += 1;
                continue;
            }
            if at > farthest {
                (farthest, work_there) = (at, self.work);
            }
            watched.working(before.saturating_add(self.work));
            let goes_on = self.work < self.attempt.work
                && self.work - work_there < self.attempt.work_each
                && self.reserved[buffer] == NOWHERE
                && !watched.is_stopped();
            if let Some((start, back)) = goes_on.then(|| self.window(buffer, at)).flatten() {
                self.reserve(buffer, start);
                self.go_back(at, back);
                at = back;
            } else if self.attempt.gives_up {
                return None;
            } else {
                self.capacity += self.capacity / GROWTH + 1;
                self.heap.extend(self.capacity);
                self.patience += self.attempt.patience;
                work_there = self.work;
            }
        }
        Some(self.capacity)
    }

    fn put_in(&mut self, buffer: usize, hole: Hole, start: u64, at: usize) {
        self.heap.take(hole, buffer, start, self.sizes[buffer]);
        self.offsets[buffer] = start;
        self.born[buffer] = at as u32;
        self.is_there[buffer] = true;
        if self.reserved[buffer] != NOWHERE {
            self.awaited.retain(|other| *other != buffer);
        }
    }

    /// Collects the places that are reserved for those that are born while the buffer is there.
    fn keep_places(&mut self, buffer: usize) {
        let Run { side, sizes, reserved, awaited, kept, .. } = self;
        let until = side.lives[buffer].end;
        let is_in_time = |other: &&usize| **other != buffer && side.lives[**other].start < until;
        kept.clear();
        let place = |other: &usize| (reserved[*other], reserved[*other] + sizes[*other]);
        kept.extend(awaited.iter().filter(is_in_time).map(place));
        self.work += self.awaited.len() as u64 / 4;
    }

    /// The hole for a buffer, and where in it: at its own place, or next to the neighbour that dies at nearly the same
    /// time, in one of the holes that fit best.
    fn choose(&mut self, buffer: usize) -> Option<(Hole, u64)> {
        let (size, own) = (self.sizes[buffer], self.reserved[buffer]);
        if own != NOWHERE {
            let holds = |hole: &Hole| hole.start <= own && own + size <= hole.end;
            return self.heap.holes(size).find(holds).map(|hole| (hole, own));
        }
        self.keep_places(buffer);
        let until = self.side.lives[buffer].end;
        let dies = |neighbour: Option<usize>| neighbour.map_or(0, |n| self.side.lives[n].end);
        let mut best: Option<((bool, u32, u64), Hole, u64)> = None;
        let (mut looked_at, mut fitting) = (0, 0);
        for hole in self.heap.holes(size) {
            looked_at += 1 + self.kept.len() as u64 / 4;
            let is_filled = hole.end - hole.start == size;
            let low = Some(self.lowest_from(hole.start, buffer));
            let low = low.filter(|low| low + size <= hole.end);
            let high = self.highest_to(hole.end, buffer).filter(|high| *high >= hole.start);
            for (place, next) in [(low, hole.below), (high, hole.above)] {
                let Some(start) = place else { continue };
                let key = (!is_filled, dies(next).abs_diff(until), start);
                if best.as_ref().is_none_or(|(least, ..)| key < *least) {
                    best = Some((key, hole, start));
                }
            }
            fitting += usize::from(low.or(high).is_some());
            if fitting == self.attempt.holes {
                break;
            }
        }
        self.work += looked_at;
        best.map(|(_, hole, start)| (hole, start))
    }

    /// The lowest place from a byte on that is kept for nobody else.
    fn lowest_from(&self, byte: u64, buffer: usize) -> u64 {
        let (size, align) = (self.sizes[buffer], self.aligns[buffer]);
        let mut start = byte.next_multiple_of(align);
        while let Some((_, end)) = self.kept_over(start, size) {
            start = end.next_multiple_of(align);
        }
        start
    }

    /// The highest place up to a byte that is kept for nobody else.
    fn highest_to(&self, byte: u64, buffer: usize) -> Option<u64> {
        let (size, align) = (self.sizes[buffer], self.aligns[buffer]);
        let below = |byte: u64| byte.checked_sub(size).map(|start| start / align * align);
        let mut start = below(byte)?;
        while let Some((kept, _)) = self.kept_over(start, size) {
            start = below(kept)?;
        }
        Some(start)
    }

    fn kept_over(&self, start: u64, size: u64) -> Option<(u64, u64)> {
        self.kept.iter().copied().find(|(lo, hi)| *lo < start + size && start < *hi)
    }

    /// The place for a buffer that finds no hole: of all, the one whose bytes were taken last, and the event to go back to.
    fn window(&mut self, buffer: usize, now: usize) -> Option<(u64, usize)> {
        let (size, align) = (self.sizes[buffer], self.aligns[buffer]);
        let taken = self.taken(buffer, now);
        self.work += 4 * taken.len() as u64;
        let behind = |end: u64| end.next_multiple_of(align);
        let before = |start: u64| start.checked_sub(size).map(|start| start / align * align);
        let mut places: Vec<u64> = vec![0];
        for (start, end, _) in &taken {
            places.push(behind(*end));
            places.extend(before(*start));
        }
        places.retain(|place| place + size <= self.capacity);
        places.sort_unstable();
        // The earliest event among those over a window: they wait in the order of events, each until the window is past it.
        let mut waiting: VecDeque<(u32, u64)> = VecDeque::new();
        let mut next = taken.iter().peekable();
        let mut best: Option<(u32, Reverse<u64>)> = None;
        for place in places {
            while let Some((_, end, event)) = next.next_if(|(start, ..)| *start < place + size) {
                let mut end = *end;
                while let Some((_, other)) = waiting.pop_back_if(|(later, _)| *later >= *event) {
                    end = end.max(other);
                }
                waiting.push_back((*event, end));
            }
            while waiting.pop_front_if(|(_, end)| *end <= place).is_some() {}
            let event = waiting.front().map_or(now as u32 + 1, |(event, _)| *event);
            if event > 0 {
                best = best.max(Some((event, Reverse(place))));
            }
        }
        best.map(|(event, Reverse(place))| (place, event as usize - 1))
    }

    /// All bytes that a buffer can't have now, lowest first: first and last byte, and one more than the event to go back
    /// to for them; 0 for what stays where it is.
    fn taken(&self, buffer: usize, now: usize) -> Vec<(u64, u64, u32)> {
        let stays = |other: usize| self.times[other] >= self.patience;
        let until = self.side.lives[buffer].end;
        let there = self.heap.buffers().map(|(other, start, end)| {
            let is_fixed = self.reserved[other] != NOWHERE && stays(other);
            let event = if is_fixed { 0 } else { self.born[other].wrapping_add(1) };
            (start, end, event)
        });
        let in_time = |other: &&usize| self.side.lives[**other].start < until;
        let awaited = self.awaited.iter().filter(in_time).map(|other| {
            let start = self.reserved[*other];
            (start, start + self.sizes[*other], if stays(*other) { 0 } else { now as u32 + 1 })
        });
        let mut taken: Vec<_> = there.chain(awaited).collect();
        taken.sort_unstable();
        taken
    }

    /// Gives a buffer a place of its own; whoever has one there loses it.
    fn reserve(&mut self, buffer: usize, start: u64) {
        let end = start + self.sizes[buffer];
        let until = self.side.lives[buffer].end;
        let in_time = |other: &usize| self.side.lives[*other].start < until;
        let there = self.heap.buffers().map(|(other, ..)| other);
        let is_over = |other: &usize| {
            let place = self.reserved[*other];
            place != NOWHERE && place < end && start < place + self.sizes[*other]
        };
        let awaited = self.awaited.iter().copied().filter(in_time);
        let losers: Vec<usize> = there.chain(awaited).filter(is_over).collect();
        for loser in losers {
            self.reserved[loser] = NOWHERE;
            self.awaited.retain(|other| *other != loser);
        }
        self.reserved[buffer] = start;
        self.times[buffer] += 1;
        self.awaited.push(buffer);
    }

    /// Undoes what happened from an event on.
    fn go_back(&mut self, from: usize, to: usize) {
        let undone = &self.side.events[to..from];
        for event in undone.iter().rev() {
            self.is_there[event.buffer as usize] = !event.is_birth;
        }
        let mut there: Vec<usize> =
            self.heap.buffers().map(|(b, ..)| b).filter(|b| self.is_there[*b]).collect();
        for Event { buffer, is_birth } in undone {
            let buffer = *buffer as usize;
            if !is_birth && self.is_there[buffer] {
                there.push(buffer);
            }
            if *is_birth && self.reserved[buffer] != NOWHERE && !self.awaited.contains(&buffer) {
                self.awaited.push(buffer);
            }
        }
        there.sort_unstable_by_key(|buffer| self.offsets[*buffer]);
        self.work += undone.len() as u64 + 4 * there.len() as u64;
        let Run { heap, offsets, sizes, capacity, .. } = self;
        heap.fill(*capacity, there.iter().map(|b| (*b, offsets[*b], sizes[*b])));
    }
}
