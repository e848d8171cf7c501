//! TensorFlow Lite Micro: what its interpreter does with a plan.
//!
//! A plan is the metadata `OfflineMemoryAllocation`: an offset for every tensor of every subgraph, or -1 where
//! the interpreter finds a place itself. It asks nothing more of a plan: whether tensors overlap is the plan's
//! affair. So that nobody is worse off for a plan, [`head_bytes`](TfliteFile::head_bytes) says what the
//! interpreter takes with one and without, scratch memory included; these are its bytes at the beginning of the
//! arena. What it keeps at the end (variables, structures of its own) is the same in both cases.

mod greedy;
mod requests;
pub(crate) mod scratch;

use crate::error::TfliteError;
use crate::file::TfliteFile;

/// What the interpreter rounds sizes up to, and what offsets have to be multiples of.
pub const ALIGN: u64 = 16;

/// The interpreter shall find a place.
pub const AT_RUN_TIME: i32 = -1;

impl TfliteFile {
    /// How many tensors there are in all subgraphs.
    #[must_use]
    pub fn tensor_count(&self) -> usize {
        self.subgraphs.iter().map(|subgraph| subgraph.tensors.len()).sum()
    }

    /// The custom operators of which it is not known what scratch memory they ask for, by name. Those of TensorFlow
    /// Lite Micro's library of signals are known.
    #[must_use]
    pub fn unknown_operators(&self) -> Vec<&str> {
        let operators = self.subgraphs.iter().flat_map(|graph| &graph.operators);
        let mut kinds: Vec<&str> = operators.filter(|o| o.is_custom).map(|o| &o.kind[..]).collect();
        kinds.retain(|kind| !kind.starts_with("Signal"));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The bytes that the interpreter takes for tensors and scratch memory with these offsets, one for each
    /// tensor of each subgraph; without offsets it finds all places itself.
    pub fn head_bytes(&self, offsets: &[i32]) -> Result<u64, TfliteError> {
        Ok(greedy::head(&requests::all(self, offsets)?))
    }
}
