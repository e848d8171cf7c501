//! What a node becomes before it is planned: calls of kernels, and the scratch that they need.

use std::ops::Range;

use plimsoll_kernels::OutOfRange;

use crate::io::Io;
use crate::memory::Plain;

/// A kernel with its shapes and attributes. An index that is beyond its axis is all that can go wrong.
pub(crate) type Kernel = Box<dyn Fn(&mut Io<'_>) -> Done + Send + Sync>;

/// How a kernel ended.
pub(crate) type Done = Result<(), OutOfRange>;

/// Why a node has no kernel, in words.
pub(crate) type Lack = String;

/// A call of a kernel: which operands of the node it reads, and which results it writes.
pub(crate) struct Call {
    /// Operands of the node, in the order in which the kernel counts them; `None` for one that it does
    /// without.
    pub(crate) reads: Vec<Option<usize>>,
    /// Results of the node, likewise.
    pub(crate) writes: Vec<usize>,
    /// If what it reads becomes a part of what it writes as it is, that part: where it is made there, nothing is
    /// left to do.
    pub(crate) joins: Option<Part>,
    /// Whether it hands on what one of two branches has made.
    pub(crate) is_branch: bool,
    pub(crate) kernel: Kernel,
}

/// A part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its bytes, if they are one stretch.
    pub(crate) bytes: Option<Range<usize>>,
}

impl Call {
    /// A call that reads one operand and writes one result.
    pub(crate) fn of(operand: Option<usize>, result: usize, kernel: Kernel) -> Self {
        let reads = operand.map(Some).into_iter().collect();
        Call { reads, writes: vec![result], joins: None, is_branch: false, kernel }
    }
}

/// The calls of a node.
pub(crate) struct Built {
    /// One after the other. Where a call writes nothing, because its result is a view, it is left out.
    pub(crate) calls: Vec<Call>,
    /// Scratch that each call is fastest with.
    pub(crate) scratch_bytes: usize,
    /// How much of it each call can do without.
    pub(crate) spare_bytes: usize,
    /// What kernels keep of weights in another order.
    pub(crate) packed_bytes: usize,
}

impl Built {
    /// One call that reads so many operands and writes so many results.
    pub(crate) fn one(
        reads: usize,
        writes: usize,
        kernel: impl Fn(&mut Io<'_>) -> Done + Send + Sync + 'static,
    ) -> Self {
        Built::of(reads, writes, Box::new(kernel))
    }

    /// The same for every kernel: there are hundreds of types of them.
    fn of(reads: usize, writes: usize, kernel: Kernel) -> Self {
        let (reads, writes) = ((0..reads).map(Some).collect(), (0..writes).collect());
        Built::calls(vec![Call { reads, writes, joins: None, is_branch: false, kernel }])
    }

    /// These calls.
    pub(crate) fn calls(calls: Vec<Call>) -> Self {
        Built { calls, scratch_bytes: 0, spare_bytes: 0, packed_bytes: 0 }
    }

    /// The same with scratch for so many elements.
    pub(crate) fn with_scratch<T: Plain>(self, elements: usize) -> Self {
        Built { scratch_bytes: elements * size_of::<T>(), ..self }
    }

    /// The same for kernels that run with as little as so many elements of scratch.
    pub(crate) fn with_least<T: Plain>(self, elements: usize) -> Self {
        let spare_bytes = self.scratch_bytes.saturating_sub(elements * size_of::<T>());
        Built { spare_bytes, ..self }
    }

    /// The scratch that calls need at least.
    pub(crate) fn least_bytes(&self) -> usize {
        self.scratch_bytes - self.spare_bytes
    }

    /// The same without an operand, of which kernels have all that they need.
    pub(crate) fn without_operand(mut self, operand: usize) -> Self {
        let reads = self.calls.iter_mut().flat_map(|call| &mut call.reads);
        reads.filter(|read| **read == Some(operand)).for_each(|read| *read = None);
        self
    }

    /// The same with so many elements of packed weights.
    pub(crate) fn with_packed<T: Plain>(self, elements: usize) -> Self {
        Built { packed_bytes: elements * size_of::<T>(), ..self }
    }
}
