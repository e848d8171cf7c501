//! A model that was made from another one.

use plimsoll_model::Model;

/// A model that computes what another one, its *source*, does.
///
/// - Inputs and outputs are the same tensors, by id and by name.
/// - Tensors of the source keep their ids; new ones have the ids behind them. So whoever has the weights of the
///   source by id has those of this model. New stored tensors are small, and have their
///   [content](plimsoll_model::Tensor::content).
/// - Nodes are in an order in which they can run.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewritten {
    /// The model.
    pub model: Model,
    /// For every node of the model's body the node of the source's body that it computes, wholly or in part, as an
    /// index; `None` for a node that only moves pieces or adds up parts.
    pub sources: Vec<Option<usize>>,
}

impl Rewritten {
    /// A model that is its own source.
    #[must_use]
    pub fn unchanged(model: Model) -> Self {
        let sources = (0..model.body.nodes.len()).map(Some).collect();
        Rewritten { model, sources }
    }

    /// The same model with the source that its source was made from.
    pub(crate) fn traced_through(mut self, source: &Rewritten) -> Self {
        for node in &mut self.sources {
            *node = node.and_then(|node| source.sources[node]);
        }
        self
    }
}
