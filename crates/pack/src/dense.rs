//! Small collections by dense index: what every crate of the planner would otherwise write for itself.
//!
//! - [`BitMatrix`]: a relation between two ranges of indices, a bit for each pair; a row is walked in
//!   n/64 steps.
//! - [`CompressedRows`]: a list for every index, all lists in one array; two allocations, and 4 bytes for
//!   each list. Fewer than 2³² items.
//! - [`DisjointSets`]: sets of indices that only ever grow together.

/// A relation between rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitMatrix {
    words: usize,
    bits: Vec<u64>,
}

impl BitMatrix {
    /// No pairs.
    #[must_use]
    pub fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        BitMatrix { words, bits: vec![0; rows * words] }
    }

    /// Adds a pair.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn insert(&mut self, row: usize, column: usize) {
        assert!(column / 64 < self.words, "a column of the matrix");
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    /// Whether a pair is in it.
    #[must_use]
    #[inline]
    pub fn contains(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 == 1
    }

    /// The bits of a row, the first column in the lowest bit of the first word.
    #[must_use]
    #[inline]
    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    /// The bits of a row, to be changed.
    pub fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..][..self.words]
    }

    /// Adds to a row what another has.
    pub fn add_row(&mut self, row: usize, other: usize) {
        let (row, other) = (row * self.words, other * self.words);
        for word in 0..self.words {
            self.bits[row + word] |= self.bits[other + word];
        }
    }

    /// The columns of a row, in order.
    pub fn columns(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        ones(self.row(row).iter().copied())
    }
}

/// The places of the bits that are set, in order.
pub fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(word, bits)| {
        let mut left = bits;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(word * 64 + bit)
        })
    })
}

/// A list for every index, one behind the other in one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompressedRows<T> {
    items: Vec<T>,
    /// Where each list ends.
    ends: Vec<u32>,
}

impl<T> Default for CompressedRows<T> {
    fn default() -> Self {
        CompressedRows { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T> CompressedRows<T> {
    /// No lists.
    #[must_use]
    pub fn new() -> Self {
        CompressedRows::default()
    }

    /// So many lists, of items with the index of their list, which are asked for twice. The items of a
    /// list are in the order in which they come. O(n).
    ///
    /// # Panics
    /// If there is no list of an index, or if there are 2³² items or more.
    #[must_use]
    pub fn by_index(lists: usize, items: impl Iterator<Item = (usize, T)> + Clone) -> Self
    where
        T: Copy,
    {
        let mut rows = CompressedRows::new();
        rows.fill_by_index(lists, items);
        rows
    }

    /// The same in place of what was there, in the same memory as far as that goes.
    ///
    /// # Panics
    /// If there is no list of an index, or if there are 2³² items or more.
    pub fn fill_by_index(&mut self, lists: usize, items: impl Iterator<Item = (usize, T)> + Clone)
    where
        T: Copy,
    {
        self.clear();
        let CompressedRows { items: placed, ends: next } = self;
        next.resize(lists, 0);
        items.clone().for_each(|(index, _)| next[index] += 1);
        let mut count = 0_u32;
        for start in next.iter_mut() {
            let before = count;
            count = before.checked_add(*start).expect("fewer than 2^32 items");
            *start = before;
        }
        let Some((_, filler)) = items.clone().next() else { return };
        placed.resize(count as usize, filler);
        for (index, item) in items {
            placed[next[index] as usize] = item;
            next[index] += 1;
        }
        // Every list was filled up to where the next begins.
    }

    /// Forgets all lists, and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.ends.clear();
    }

    /// Adds a list.
    ///
    /// # Panics
    /// If there are 2³² items or more then.
    #[inline]
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(u32::try_from(self.items.len()).expect("fewer than 2^32 items"));
    }

    /// How many lists there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Where a list is in the array of all.
    #[must_use]
    #[inline]
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[index] as usize
    }

    /// A list.
    #[must_use]
    #[inline]
    pub fn row(&self, index: usize) -> &[T] {
        &self.items[self.range(index)]
    }

    /// The lists, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &[T]> + '_ {
        (0..self.len()).map(|index| self.row(index))
    }

    /// All items, list by list.
    #[must_use]
    #[inline]
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

/// Sets of indices, each with one of them as its representative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    /// Every index alone.
    ///
    /// # Panics
    /// If there are 2³² of them or more.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let count = u32::try_from(count).expect("fewer than 2^32 indices");
        DisjointSets { parents: (0..count).collect() }
    }

    /// The representative of the set that an index is in, by path halving.
    pub fn find(&mut self, index: usize) -> usize {
        let mut at = index as u32;
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = self.parents[at as usize];
        }
        at as usize
    }

    /// Puts the set of one index into that of another, whose representative stays.
    pub fn merge_into(&mut self, index: usize, other: usize) {
        let (from, into) = (self.find(index), self.find(other));
        self.parents[from] = into as u32;
    }

    /// Makes one set of two; the smaller representative stays.
    pub fn merge(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.merge_into(a.max(b), a.min(b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_bits_are_walked_in_order_and_added() {
        let mut matrix = BitMatrix::new(3, 200);
        for column in [130, 3, 64, 199] {
            matrix.insert(1, column);
        }
        matrix.insert(2, 63);
        matrix.add_row(2, 1);
        assert_eq!(matrix.columns(2).collect::<Vec<_>>(), [3, 63, 64, 130, 199]);
        assert_eq!(matrix.columns(1).collect::<Vec<_>>(), [3, 64, 130, 199]);
        assert_eq!(matrix.columns(0).count(), 0);
        assert!(matrix.contains(1, 199) && !matrix.contains(1, 198));
    }

    #[test]
    fn lists_keep_the_order_in_which_items_come() {
        let rows =
            CompressedRows::by_index(4, [(2, 'c'), (0, 'a'), (2, 'b'), (0, 'd')].into_iter());
        let lists: Vec<&[char]> = rows.iter().collect();
        assert_eq!(lists, [&['a', 'd'][..], &[], &['c', 'b'], &[]]);
        let mut pushed = CompressedRows::new();
        for list in &lists {
            pushed.push(list.iter().copied());
        }
        assert_eq!(pushed, rows);
        pushed.fill_by_index(2, [(1, 'x')].into_iter());
        assert_eq!(pushed.iter().collect::<Vec<_>>(), [&[][..], &['x']]);
        pushed.fill_by_index(3, std::iter::empty());
        assert_eq!(pushed.iter().collect::<Vec<_>>(), [&[] as &[char]; 3]);
    }

    #[test]
    fn sets_that_are_merged_have_one_representative() {
        let mut sets = DisjointSets::new(6);
        sets.merge(4, 2);
        sets.merge(5, 4);
        sets.merge_into(0, 1);
        let found: Vec<usize> = (0..6).map(|index| sets.find(index)).collect();
        assert_eq!(found, [1, 1, 2, 3, 2, 2]);
    }
}
