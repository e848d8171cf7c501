//! Names: what they mean where, and how no two become the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

use plimsoll_model::TensorId;

/// What a name stands for.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    /// A tensor.
    Tensor(TensorId),
    /// An operand that a function was called without.
    Absent,
    /// Stored text.
    Text,
}

/// The names of a graph or a function, and of what is around it.
pub(crate) struct Scope<'s, 'm> {
    names: HashMap<&'m str, Known>,
    outer: Option<&'s Scope<'s, 'm>>,
}

impl<'s, 'm> Scope<'s, 'm> {
    /// No names but those around, and room for so many.
    pub(crate) fn new(outer: Option<&'s Scope<'s, 'm>>, room: usize) -> Self {
        Scope { names: HashMap::with_capacity(room), outer }
    }

    /// Says what a name stands for. Gives back what it stood for in the same graph.
    pub(crate) fn set(&mut self, name: &'m str, known: Known) -> Option<Known> {
        self.names.insert(name, known)
    }

    /// The names of this graph alone, with the tensors that they stand for.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&'m str, TensorId)> + '_ {
        self.names.iter().filter_map(|(name, known)| match known {
            Known::Tensor(id) => Some((*name, *id)),
            Known::Absent | Known::Text => None,
        })
    }

    /// What a name stands for in this graph alone.
    pub(crate) fn own(&self, name: &str) -> Option<Known> {
        self.names.get(name).copied()
    }

    /// What a name stands for; the innermost counts.
    pub(crate) fn find(&self, name: &str) -> Option<Known> {
        self.own(name).or_else(|| self.outer.and_then(|outer| outer.find(name)))
    }
}

/// Names that are taken, with the next number to tell others from each.
///
/// Only their hashes are kept, each 64 bits. A name that seems to be taken by mistake gets a
/// number that it would not need, and no two ever become the same.
#[derive(Default)]
pub(crate) struct Names(HashMap<u64, u32, BuildHasherDefault<Hashed>>);

impl Names {
    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// The name itself if it is free. Else it gets in front where it is, and if that does not help
    /// a number behind it.
    pub(crate) fn unique(&mut self, path: &str, name: &str) -> String {
        if self.take(name) {
            return name.to_owned();
        }
        let placed = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        if !path.is_empty() && self.take(&placed) {
            return placed;
        }
        loop {
            let next = self.0.entry(hash(&placed)).or_insert(1);
            *next += 1;
            let numbered = format!("{placed}#{next}");
            if self.take(&numbered) {
                return numbered;
            }
        }
    }

    fn take(&mut self, name: &str) -> bool {
        match self.0.entry(hash(name)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(1);
                true
            }
        }
    }
}

/// The same on every run.
fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// Numbers that are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
