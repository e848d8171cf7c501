//! What a rewritten file says of its nodes, for the steps of a program.

use plimsoll::explain::Stage;
use plimsoll::{Program, StepId};
use plimsoll_onnx::{StagedNode, Stages};
use plimsoll_report::{RegionWay, Regions, StagedStep};
use plimsoll_rewrite::Way;

/// The regions of a file, with the steps that its nodes are.
pub(crate) fn regions(staged: &Stages, program: &dyn Program) -> Regions {
    let way =
        |way: &Way| RegionWay { name: way.name(), words: way.to_string(), count: way.count() };
    let step = |step: usize| {
        let node = staged.nodes.get(&*program.step_name(StepId::new(step)));
        node.map_or_else(StagedStep::default, |StagedNode { stage, source }| StagedStep {
            stage: stage.map(|stage| Stage { group: stage.region, stage: stage.step }),
            source: source.clone(),
        })
    };
    Regions {
        ways: staged.regions.iter().map(way).collect(),
        steps: (0..program.steps()).map(step).collect(),
    }
}
