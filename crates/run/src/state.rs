//! State: what a run leaves in an output, the next one finds in an input.
//!
//! Where the output can be made in the bytes of the input, it is: the graph is planned so, and nothing is copied.
//! Where it cannot, because somebody still reads the input then or its node does not work in place, the output is copied
//! after each run. Either way both have the same elements between two runs.

use plimsoll::ValueId;
use plimsoll_graph::{Donation, Graph, PlannedGraph, donate};
use plimsoll_model::{FusedGraph, FusedStep, Inferred, Model, TensorId};

use crate::error::SessionError;
use crate::fused::Kernels;
use crate::prepare::Prepared;

/// The input and the output of each pair of names; an error if one has other elements than the other.
pub(crate) fn pairs(
    model: &Model,
    inferred: &Inferred,
    names: &[(String, String)],
) -> Result<Vec<(TensorId, TensorId)>, SessionError> {
    let mut pairs = Vec::with_capacity(names.len());
    for (input, output) in names {
        let wrong = |fault: &str| SessionError::State {
            input: input.clone(),
            output: output.clone(),
            fault: fault.to_owned(),
        };
        let find = |ids: &[TensorId], name: &str| {
            ids.iter().copied().find(|id| model.tensor(*id).name == name)
        };
        let from =
            find(&model.body.inputs, input).ok_or_else(|| wrong("there is no such input"))?;
        let to =
            find(&model.body.outputs, output).ok_or_else(|| wrong("there is no such output"))?;
        let fact =
            |id: TensorId| (&inferred.facts[id.index()].dtype, &inferred.facts[id.index()].shape);
        if fact(from) != fact(to) {
            return Err(wrong("they have not the same type and dims"));
        }
        pairs.push((from, to));
    }
    Ok(pairs)
}

impl Prepared<'_> {
    /// The states and donations that are made in place, and the states that are copied.
    #[allow(clippy::type_complexity, reason = "two lists of pairs")]
    pub(crate) fn states(
        &self,
        planned: &PlannedGraph,
        values: &[Option<ValueId>],
    ) -> Result<(Vec<(TensorId, TensorId)>, Vec<(TensorId, TensorId)>), SessionError> {
        let Prepared { model, options, inferred, .. } = self;
        let states = pairs(model, inferred, &options.states)?;
        if options.is_apart() {
            return Ok((Vec::new(), states));
        }
        let graph = &planned.case.graph;
        let (mut donated, mut copied) = (Vec::new(), Vec::new());
        for (pair, names) in
            pairs(model, inferred, &options.donations)?.into_iter().zip(&options.donations)
        {
            donated.push(pair);
            self.donated(graph, values, &donated).map_err(|fault| SessionError::State {
                input: names.0.clone(),
                output: names.1.clone(),
                fault,
            })?;
        }
        for pair in states {
            donated.push(pair);
            if self.donated(graph, values, &donated).is_err() {
                donated.pop();
                copied.push(pair);
            }
        }
        Ok((donated, copied))
    }

    /// The graph in which outputs are made in the bytes of inputs, or why not.
    fn donated(
        &self,
        graph: &Graph,
        values: &[Option<ValueId>],
        pairs: &[(TensorId, TensorId)],
    ) -> Result<Graph, String> {
        let mut donations = Vec::with_capacity(pairs.len());
        for (input, output) in pairs {
            let value = |id: &TensorId| values[id.index()].ok_or("it is not in the graph");
            let (input, output) = (value(input)?, value(output)?);
            donations.push(Donation { input, output, is_state: true });
        }
        donate(graph, &self.options.lowering.kernels, &donations).map_err(|error| error.to_string())
    }

    /// The plan of fused steps in which outputs are made in the bytes of inputs.
    pub(crate) fn donating(
        &self,
        kernels: &Kernels<'_>,
        steps: &[FusedStep],
        pairs: &[(TensorId, TensorId)],
    ) -> Result<(PlannedGraph, Vec<Option<ValueId>>), SessionError> {
        let FusedGraph { graph, values } = self.graph_of(steps, kernels)?;
        let graph = self
            .donated(&graph, &values, pairs)
            .map_err(|fault| SessionError::Place { of: "the states".to_owned(), fault })?;
        Ok((self.case(graph).plan()?, values))
    }
}
