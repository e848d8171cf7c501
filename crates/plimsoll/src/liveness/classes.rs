//! The bytes of a root, divided into classes: bytes of a class are used by the same accesses.
//!
//! ```text
//!   write      [------------------]
//!   read       [------------------]
//!   late read       [-----]
//!   classes    [ A  [  B  ]   A   ]
//! ```
//!
//! Most roots are one class. Parts that are written or read on their own make more; so do strided
//! views, whose class is as many stretches as there are rows. Cost: O(n log n) for n stretches of
//! uses, times the uses of some bytes that do not use all.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_pack::Span;

use super::uses::Use;
use crate::validate::ValidatedProgram;

/// Bytes of a root that are used alike.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Which bytes: stretches in order that do not touch each other.
    pub(crate) spans: Vec<Span>,
    /// Who uses them; sorted.
    pub(crate) uses: Vec<usize>,
}

impl Class {
    /// From the first to the last byte.
    pub(crate) fn hull(&self) -> Span {
        Span::new(self.spans[0].lo, self.spans[self.spans.len() - 1].hi)
    }
}

/// Divides the bytes that are used into classes, in order of their first bytes.
pub(crate) fn classes(validated: &ValidatedProgram<'_>, uses: &[Use]) -> Vec<Class> {
    let spans = || uses.iter().map(|one| one.span).filter(|span| !span.is_empty());
    let Some(all) = spans().reduce(|a, b| Span::new(a.lo.min(b.lo), a.hi.max(b.hi))) else {
        return Vec::new();
    };
    let is_everywhere = |one: &Use| one.strided.is_none() && one.span == all;
    let everywhere: Vec<usize> = (0..uses.len()).filter(|i| is_everywhere(&uses[*i])).collect();
    if everywhere.len() == uses.len() {
        return vec![Class { spans: vec![all], uses: everywhere }];
    }
    let mut ends: Vec<(u64, usize, bool)> = Vec::new();
    for (index, one) in uses.iter().enumerate().filter(|(_, one)| !is_everywhere(one)) {
        for span in one.spans(validated).filter(|span| !span.is_empty()) {
            ends.extend([(span.lo, index, true), (span.hi, index, false)]);
        }
    }
    ends.sort_unstable();
    let mut found = Found::default();
    let mut active: BTreeSet<usize> = BTreeSet::new();
    let mut from = all.lo;
    for (at, index, begins) in ends {
        found.add(Span::new(from, at), &active);
        from = at;
        if begins {
            active.insert(index)
        } else {
            active.remove(&index)
        };
    }
    found.add(Span::new(from, all.hi), &active);
    found.finish(&everywhere)
}

/// Classes by those who use them beside those who use everything.
#[derive(Default)]
struct Found {
    by_uses: BTreeMap<Vec<usize>, usize>,
    spans: Vec<Vec<Span>>,
}

impl Found {
    fn add(&mut self, span: Span, active: &BTreeSet<usize>) {
        if span.is_empty() {
            return;
        }
        let uses: Vec<usize> = active.iter().copied().collect();
        let next = self.spans.len();
        let class = *self.by_uses.entry(uses).or_insert(next);
        if class == next {
            self.spans.push(Vec::new());
        }
        match self.spans[class].last_mut() {
            Some(last) if last.hi == span.lo => last.hi = span.hi,
            _ => self.spans[class].push(span),
        }
    }

    fn finish(mut self, everywhere: &[usize]) -> Vec<Class> {
        let mut classes: Vec<Class> = Vec::with_capacity(self.spans.len());
        for (mut uses, class) in self.by_uses {
            uses.extend(everywhere);
            uses.sort_unstable();
            if !uses.is_empty() {
                classes.push(Class { spans: std::mem::take(&mut self.spans[class]), uses });
            }
        }
        classes.sort_unstable_by_key(|class| class.spans[0].lo);
        classes
    }
}
