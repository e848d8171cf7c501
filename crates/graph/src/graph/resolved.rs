//! What follows from a graph once it is known which of its nodes make views: computed once, for whoever
//! checks the graph and for whoever plans it.
//!
//! Cost: that of its parts, see [`Aliases`], [`Folds`], [`Flow`] and [`order_of`].

use super::error::GraphError;
use super::{Aliases, Flow, Folds, Graph, Kernels, NodeId, order_of};

/// Which values are the same bytes, what is folded, who waits for whom, and an order.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) aliases: Aliases,
    pub(crate) folds: Folds,
    pub(crate) flow: Flow,
    /// All nodes, elided ones included, in an order in which they can run with any kernels.
    pub(crate) order: Vec<NodeId>,
}

impl Resolved {
    /// What follows from a checked graph, with kernels that may not make all views.
    pub(crate) fn of(graph: &Graph, kernels: &Kernels) -> Result<Self, GraphError> {
        let aliases = graph.aliases(kernels);
        let folds = Folds::of(graph, &aliases)?;
        let flow = Flow::of(graph, &aliases, &folds);
        let order = if kernels.all_view() {
            order_of(graph, &flow).expect("a checked graph has no cycle")
        } else {
            Resolved::of(graph, &Kernels::default())?.order
        };
        Ok(Resolved { aliases, folds, flow, order })
    }

    /// The same with other kernels.
    pub(crate) fn with(self, graph: &Graph, kernels: &Kernels) -> Result<Self, GraphError> {
        if kernels.all_view() { Ok(self) } else { Resolved::of(graph, kernels) }
    }
}
