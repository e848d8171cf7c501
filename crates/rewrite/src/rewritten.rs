//! A model that was made from another one.

use plimsoll_model::Model;

use crate::frontier::Applied;

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
    /// What is computed otherwise than in the source; nothing for a model that is its own source.
    pub regions: Vec<Applied>,
    /// For every node of the model's body where in a region it is computed.
    pub stages: Vec<Option<Stage>>,
}

/// A step of a region: some rows of a flow, or one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stage {
    /// Which region, as an index into [`Rewritten::regions`].
    pub region: usize,
    /// Which of its steps, counted from 0.
    pub step: u64,
}

impl Rewritten {
    /// A model that is its own source.
    #[must_use]
    pub fn unchanged(model: Model) -> Self {
        let nodes = model.body.nodes.len();
        let (sources, stages) = ((0..nodes).map(Some).collect(), vec![None; nodes]);
        Rewritten { model, sources, regions: Vec::new(), stages }
    }

    /// The same model with the source that its source was made from: regions of both, those of the source first.
    pub(crate) fn traced_through(mut self, source: &Rewritten) -> Self {
        let before = source.regions.len();
        for (node, stage) in self.sources.iter_mut().zip(&mut self.stages) {
            let own = stage.map(|stage| Stage { region: before + stage.region, ..stage });
            *stage = own.or(node.and_then(|node| source.stages[node]));
            *node = node.and_then(|node| source.sources[node]);
        }
        for region in &mut self.regions {
            region.nodes = region.nodes.iter().filter_map(|node| source.sources[*node]).collect();
            region.nodes.sort_unstable();
            region.nodes.dedup();
        }
        self.regions.splice(0..0, source.regions.iter().cloned());
        self
    }
}
