//! Names of things that are numbered: which number has a name.
//!
//! The names are where the things are, and are not copied: only what they hash to is kept, with the first
//! number of which that is so, 16 bytes a name. Numbers of other names that hash to the same are in a list
//! beside, which is practically empty.
//! Cost: O(1) for what is asked, as far as hashes differ.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Numbers by names.
#[derive(Clone, Debug, Default)]
pub(super) struct NameIndex {
    /// By the hash of the name.
    first: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
    /// Those whose names hash to what another does.
    others: Vec<u32>,
}

impl NameIndex {
    /// Adds a number. Says whether no other has its name; `name_of` tells the names of those before it.
    pub(super) fn insert<'n>(
        &mut self,
        index: usize,
        name: &str,
        name_of: impl Fn(usize) -> &'n str,
    ) -> bool {
        self.insert_hashed(self.hash(name), index, name, name_of)
    }

    /// The number of a name.
    pub(super) fn find<'n>(&self, name: &str, name_of: impl Fn(usize) -> &'n str) -> Option<usize> {
        self.find_hashed(self.hash(name), name, name_of)
    }

    fn hash(&self, name: &str) -> u64 {
        self.first.hasher().hash_one(name)
    }

    fn insert_hashed<'n>(
        &mut self,
        hash: u64,
        index: usize,
        name: &str,
        name_of: impl Fn(usize) -> &'n str,
    ) -> bool {
        let number = u32::try_from(index).expect("fewer than 2^32 names");
        match self.first.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(number);
            }
            Entry::Occupied(_) => {
                if self.find_hashed(hash, name, name_of).is_some() {
                    return false;
                }
                self.others.push(number);
            }
        }
        true
    }

    fn find_hashed<'n>(
        &self,
        hash: u64,
        name: &str,
        name_of: impl Fn(usize) -> &'n str,
    ) -> Option<usize> {
        let first = self.first.get(&hash)?;
        let all = std::iter::once(first).chain(&self.others);
        all.map(|number| *number as usize).find(|number| name_of(*number) == name)
    }
}

impl PartialEq for NameIndex {
    /// It follows from the names: whoever has the same names has the same index.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for NameIndex {}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["a", "b", "c", "a"];

    #[test]
    fn every_name_is_found_and_none_is_taken_twice() {
        let mut index = NameIndex::default();
        let name = |at: usize| NAMES[at];
        let added: Vec<bool> = (0..4).map(|at| index.insert(at, NAMES[at], name)).collect();
        assert_eq!(added, [true, true, true, false]);
        let found = ["a", "b", "c", "d"].map(|wanted| index.find(wanted, name));
        assert_eq!(found, [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn names_that_hash_alike_are_told_apart() {
        let mut index = NameIndex::default();
        let name = |at: usize| NAMES[at];
        let added: Vec<bool> =
            (0..4).map(|at| index.insert_hashed(7, at, NAMES[at], name)).collect();
        assert_eq!(added, [true, true, true, false]);
        let found = ["a", "b", "c", "d"].map(|wanted| index.find_hashed(7, wanted, name));
        assert_eq!(found, [Some(0), Some(1), Some(2), None]);
    }
}
