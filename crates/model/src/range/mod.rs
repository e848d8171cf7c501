//! A model for all sizes of ranges of dims: the graph to plan, and the proof that its plans hold.
//!
//! A model with ranges such as `seq=1..512` is planned once, at the largest sizes. For the plan to
//! hold at every size it does not do to look at some of them: sizes of tensors need not grow with a
//! dim, a slice may be one stretch of memory at both ends of a range and not in between. So
//! [`over_ranges`] makes a graph in which nothing is declared but what holds at every size:
//!
//! 1. every value is at least as large as it is at any size;
//! 2. every view is one at every size, and every input that may be taken over has the output's
//!    shape at every size;
//! 3. whoever reads a part of a value that is not the same bytes at every size is declared to read
//!    the whole value, and a part that moves is neither taken over nor an output;
//! 4. steps, values and the order of steps are the same at every size.
//!
//! **Any plan that is verified for this graph holds at every size.** Say that at some size a tensor
//! uses those bytes of its place that it has there. A tensor that is no view begins where it is
//! planned and is no larger (1), so its bytes are among the planned ones. What is a part of it is a
//! part of it there too (2), and either the same bytes, or declared as all of it (3): the bytes that
//! a step reads or writes there are among those that the verifier has seen it read or write. It has
//! seen that no others write them in between; then nobody does who writes fewer bytes. An output
//! that takes over an input begins where the input does (3) and has its shape (2). The steps
//! and their order are the same (4).
//!
//! What holds at every size is found by looking at ranges as a whole: shapes are found with dims that
//! are expressions of the symbols ([`expr`](plimsoll_graph::shape), by the same rules that find them for
//! numbers), and the graph that comes of it is compared with the one at the largest sizes. Where
//! something that is shared there is not shown to be shareable for the whole range, the range is
//! cut in two, along a symbol that something was undecided for, and so on down to single sizes, at
//! which everything is decided. What is found to be wrong at one size is given up, and need
//! not be shown for the others. The same goes for values that are larger inside of the range.
//!
//! The search is limited in work, counted in nodes gone through ([`WORK`]). What is still undecided
//! then is given up too, and sizes that are not known exactly are taken at their limit: that costs
//! memory, and nothing else. Sizes at which the model itself cannot run need no plan; those that are come
//! across are counted.
//! Only where the steps are not the same at every size, there is no plan at all.

mod adapt;
mod compare;
#[cfg(test)]
#[allow(clippy::similar_names, reason = "ranges, and what is ranged over them")]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use compare::{Found, Shared};
use plimsoll_graph::shape::expr::Scope;
use plimsoll_graph::{Graph, GraphError};
use thiserror::Error;

use crate::infer::{Bindings, Refused, ShapeError};
use crate::lower::{Inferred, Lowered, infer_at, infer_over};
use crate::model::Model;

/// How many nodes are gone through to show something for all sizes, before the rest is given up.
pub const WORK: u64 = 1 << 19;

/// However large a model is, so many ranges are looked at.
const LEAST_LOOKS: u64 = 64;

/// Every size of one dim from the least to the largest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The symbol of the dim.
    pub symbol: String,
    /// The least size.
    pub least: u64,
    /// The largest size.
    pub most: u64,
}

/// A model for all sizes of ranges.
#[derive(Clone, Debug)]
pub struct Ranged {
    /// The graph at the largest sizes, with nothing declared but what holds at every size.
    pub graph: Graph,
    /// The branches that are not in it, since they cannot run.
    pub refused: Vec<Refused>,
    /// How that was shown.
    pub proof: Proof,
    /// The tensors that are static at every size.
    statics: Vec<bool>,
}

impl Ranged {
    /// The graph at one size, with the steps and the views of the planned one: what a plan is used on
    /// there.
    ///
    /// # Errors
    /// If the model cannot run at that size.
    pub fn at(&self, model: &Model, bindings: &Bindings) -> Result<Graph, ShapeError> {
        Ok(self.inferred_at(model, bindings)?.graph)
    }

    /// The same with all that is known of the model there.
    ///
    /// # Errors
    /// If the model cannot run at that size.
    pub fn inferred_at(&self, model: &Model, bindings: &Bindings) -> Result<Inferred, ShapeError> {
        let there: Inferred = infer_at(model, bindings, Some(&self.statics))?.into();
        let graph = adapt::with_views_of(&self.graph, &there.graph)?;
        Ok(Inferred { graph, ..there })
    }
}

/// How it was shown that the plans of a graph hold at every size of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// How many sizes there are, all ranges together.
    pub sizes: u64,
    /// How many parts of the ranges were decided as a whole, by expressions of the dims.
    pub parts: u64,
    /// How many sizes were looked at one by one.
    pub sizes_checked: u64,
    /// At how many of all sizes the model itself cannot run.
    pub sizes_refused: u64,
    /// What is shared at the largest sizes and not at others, and so not shared by any plan.
    pub given_up: Vec<GivenUp>,
    /// Values that are larger inside of the ranges than at the largest sizes, with their bytes.
    pub larger: BTreeMap<String, u64>,
}

impl Proof {
    /// How it was shown, in a word or three.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match (self.parts, self.sizes_checked) {
            (_, 0) => "symbolic",
            (0, _) => "each size",
            _ => "symbolic and each size",
        }
    }
}

/// Something that is not shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// The value that is no view, or that takes over no other.
    pub value: String,
    /// Why it is not.
    pub why: Why,
}

/// Why something is not shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It could not be at a size, like `batch=1, seq=7`.
    At(String),
    /// Whether it could be at every size was not decided within the limit of work.
    Undecided,
    /// It is not the same bytes at every size, and has to be somewhere when the run is over.
    Moves,
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GivenUp { value, why } = self;
        match why {
            Why::At(size) => write!(f, "`{value}` (not possible at {size})"),
            Why::Undecided => write!(f, "`{value}` (not decided for every size)"),
            Why::Moves => write!(f, "`{value}` (elsewhere at other sizes)"),
        }
    }
}

/// Why there is no graph for all sizes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The model cannot run at the largest sizes.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// At some size it has other steps or values than at the largest.
    #[error("no plan holds for the whole range: at {at}, {what}")]
    Differs {
        /// A step or value that is different, and how.
        what: String,
        /// Such a size, or the ranges for which it is undecided.
        at: String,
    },
    /// What is left does not make a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// The graph of a model whose plans hold for all sizes of ranges, with whichever kernels. The
/// `largest` bindings have the largest size of each range, and everything else that is bound.
///
/// # Errors
/// If the model cannot run at the largest sizes, or has other steps at other sizes.
pub fn over_ranges(
    model: &Model,
    largest: &Bindings,
    ranges: &[Range],
) -> Result<Ranged, RangeError> {
    let whole: Part = ranges.iter().map(|range| (range.least, range.most)).collect();
    let mut top = infer_at(model, largest, None)?;
    let mut looks = (WORK / top.graph.nodes().len().max(1) as u64).max(LEAST_LOOKS);
    loop {
        let mut search = Search {
            model,
            largest,
            symbols: ranges.iter().map(|range| range.symbol.clone()).collect(),
            shared: Shared::of(&top.graph),
            top: &top,
            looks,
            proof: Proof { sizes: sizes(&whole), ..Proof::default() },
        };
        let Search { shared, mut proof, .. } = match search.run(whole.clone()) {
            Ok(()) => search,
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::LessStatic(statics)) => {
                looks = search.looks;
                top = infer_at(model, largest, Some(&statics))?;
                continue;
            }
        };
        let graph = adapt::adapted(&top.graph, shared, &mut proof)?;
        let Lowered { refused, statics, .. } = top;
        return Ok(Ranged { graph, refused, proof, statics });
    }
}

/// Why a search does not go on.
enum Stop {
    Error(RangeError),
    /// Only these tensors are static at all sizes that were looked at, and so at the largest.
    LessStatic(Vec<bool>),
}

/// A part of the ranges: from where to where along each.
type Part = Vec<(u64, u64)>;

fn sizes(part: &Part) -> u64 {
    let along = |(least, most): &(u64, u64)| (most - least).saturating_add(1);
    part.iter().map(along).fold(1, u64::saturating_mul)
}

struct Search<'a> {
    model: &'a Model,
    largest: &'a Bindings,
    symbols: Vec<String>,
    top: &'a Lowered,
    shared: Shared,
    /// How many more parts may be cut in two.
    looks: u64,
    proof: Proof,
}

impl Search<'_> {
    /// Looks at a range and, where it is undecided, at its parts.
    fn run(&mut self, whole: Part) -> Result<(), Stop> {
        let mut open = vec![whole];
        while let Some(part) = open.pop() {
            if sizes(&part) == 1 {
                self.look_at_size(&part)?;
            } else if let Some(along) = self.look_at_part(&part)? {
                let (least, most) = part[along];
                let middle = least + (most - least) / 2;
                for half in [(least, middle), (middle + 1, most)] {
                    let mut cut = part.clone();
                    cut[along] = half;
                    open.push(cut);
                }
            }
        }
        Ok(())
    }

    /// Looks at one size, at which everything is decided.
    fn look_at_size(&mut self, part: &Part) -> Result<(), Stop> {
        self.proof.sizes_checked += 1;
        let mut bindings = self.largest.clone();
        for (symbol, (size, _)) in self.symbols.iter().zip(part) {
            bindings.symbols.insert(symbol.clone(), *size);
        }
        let Ok(here) = infer_at(self.model, &bindings, Some(&self.top.statics)) else {
            self.proof.sizes_refused += 1;
            return Ok(());
        };
        let found = self.found(&here).map_err(|what| self.stop(part, &here, what))?;
        self.shared.learn(&found, &Why::At(self.name(part)));
        Ok(())
    }

    /// Looks at a part as a whole; if it is undecided, says along which symbol it should be cut.
    fn look_at_part(&mut self, part: &Part) -> Result<Option<usize>, Stop> {
        let scope = Scope::new(part);
        let statics = Some(&self.top.statics[..]);
        let here = infer_over(self.model, self.largest, &self.symbols, &scope, statics);
        if let Err(ShapeError::Node { .. }) = here {
            // What a rule refuses, it refuses for every size that it was asked about.
            self.proof.parts += 1;
            self.proof.sizes_refused = self.proof.sizes_refused.saturating_add(sizes(part));
            return Ok(None);
        }
        let found = match &here {
            Ok(here) => self.found(here),
            Err(error) => Err(error.to_string()),
        };
        let shown = found.as_ref().is_ok_and(|found| self.shared.is_shown_by(found));
        if !shown && self.looks > 0 {
            self.looks -= 1;
            return Ok(Some(cut_along(part, &scope.undecided())));
        }
        self.proof.parts += 1;
        match (found, here) {
            // What is not shown by now is given up.
            (Ok(found), _) => self.shared.learn(&found, &Why::Undecided),
            (Err(what), Ok(here)) => return Err(self.stop(part, &here, what)),
            (Err(what), Err(_)) => return Err(Stop::Error(self.differs(part, what))),
        }
        Ok(None)
    }

    /// What of all that is shared is shared here too; an error says what is not the same at all.
    fn found(&self, here: &Lowered) -> Result<Found, String> {
        Found::of(&self.top.graph, here, &self.shared)
    }

    /// There is no going on, unless fewer tensors are static.
    fn stop(&self, part: &Part, here: &Lowered, what: String) -> Stop {
        if here.statics == self.top.statics {
            Stop::Error(self.differs(part, what))
        } else {
            Stop::LessStatic(here.statics.clone())
        }
    }

    fn differs(&self, part: &Part, what: String) -> RangeError {
        RangeError::Differs { what, at: self.name(part) }
    }

    /// What a size, or a part of the ranges, is called.
    fn name(&self, part: &Part) -> String {
        let along = |(symbol, (least, most)): (&String, &(u64, u64))| {
            if least == most {
                format!("{symbol}={least}")
            } else {
                format!("{symbol}={least}..{most}")
            }
        };
        let along: Vec<String> = self.symbols.iter().zip(part).map(along).collect();
        along.join(", ")
    }
}

/// The symbol to cut along: one for which something was undecided most often, else the one with the
/// most sizes.
fn cut_along(part: &Part, undecided: &[u64]) -> usize {
    let longer = |index: &usize| part[*index].0 < part[*index].1;
    let key = |index: &usize| {
        let (least, most) = part[*index];
        (undecided[*index], most - least, std::cmp::Reverse(*index))
    };
    (0..part.len()).filter(longer).max_by_key(key).unwrap_or(0)
}
