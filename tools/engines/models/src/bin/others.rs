//! Other engines, for the driver: `others rten|tract THREADS MODEL …`. Threads of rten are `RTEN_NUM_THREADS`.

use std::sync::Arc;

use plimsoll_engines_models::{Counted, Engine, Input, Task, serve};
use rten::{Model, NodeId, Value, ValueView};
use rten_tensor::Tensor as RtenTensor;
use tract_onnx::prelude::*;

#[global_allocator]
static COUNTED: Counted = Counted::new();

struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Value)>,
    outputs: Vec<NodeId>,
}

fn rten_value(input: &Input) -> Result<Value, String> {
    let dims = &input.dims[..];
    Ok(match &input.dtype[..] {
        "float32" => RtenTensor::from_data(dims, input.elements(f32::from_le_bytes)).into(),
        "int32" => RtenTensor::from_data(dims, input.elements(i32::from_le_bytes)).into(),
        "int64" => RtenTensor::from_data(dims, input.elements(|b| i64::from_le_bytes(b) as i32)).into(),
        "bool" => RtenTensor::from_data(dims, input.elements(|[b]: [u8; 1]| i32::from(b))).into(),
        other => return Err(format!("an input of {other}")),
    })
}

fn rten(task: &Task) -> Result<Rten, String> {
    let mut options = rten::ModelOptions::with_all_ops();
    options.prepack_weights(true);
    let model = options.load_file(&task.model).map_err(|error| error.to_string())?;
    let mut inputs = Vec::new();
    for input in &task.inputs {
        let id = model.node_id(&input.name).map_err(|error| error.to_string())?;
        inputs.push((id, rten_value(input)?));
    }
    let outputs = model.output_ids().to_vec();
    let engine = Rten { model, inputs, outputs };
    engine.results()?;
    Ok(engine)
}

impl Rten {
    fn results(&self) -> Result<Vec<Value>, String> {
        let inputs = self.inputs.iter().map(|(id, value)| (*id, value.into())).collect();
        self.model.run(inputs, &self.outputs, None).map_err(|error| error.to_string())
    }
}

impl Engine for Rten {
    fn run(&mut self) {
        self.results().expect("a run");
    }

    fn outputs(&mut self) -> Vec<Vec<u8>> {
        let bytes = |value: &Value| match value.as_view() {
            ValueView::FloatTensor(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
            ValueView::Int32Tensor(x) => x.iter().flat_map(|x| i64::from(*x).to_le_bytes()).collect(),
            _ => Vec::new(),
        };
        self.results().expect("a run").iter().map(bytes).collect()
    }
}

struct Tract {
    plan: Arc<TypedRunnableModel>,
    inputs: TVec<TValue>,
}

fn tract_tensor(input: &Input) -> TractResult<TValue> {
    let dims = &input.dims[..];
    let tensor = match &input.dtype[..] {
        "float32" => Tensor::from_shape(dims, &input.elements(f32::from_le_bytes)),
        "int32" => Tensor::from_shape(dims, &input.elements(i32::from_le_bytes)),
        "int64" => Tensor::from_shape(dims, &input.elements(i64::from_le_bytes)),
        "bool" => Tensor::from_shape(dims, &input.elements(|[b]: [u8; 1]| b != 0)),
        other => return Err(TractError::msg(format!("an input of {other}"))),
    };
    Ok(tensor?.into_tvalue())
}

fn tract(task: &Task) -> TractResult<Tract> {
    let plan = tract_onnx::onnx().model_for_path(&task.model)?.into_optimized()?.into_runnable()?;
    let inputs = task.inputs.iter().map(tract_tensor).collect::<TractResult<TVec<_>>>()?;
    let engine = Tract { plan, inputs };
    engine.plan.run(engine.inputs.clone())?;
    Ok(engine)
}

impl Engine for Tract {
    fn run(&mut self) {
        self.plan.run(self.inputs.clone()).expect("a run");
    }

    fn outputs(&mut self) -> Vec<Vec<u8>> {
        let outputs = self.plan.run(self.inputs.clone()).expect("a run");
        outputs.iter().map(|output| output.as_bytes().to_vec()).collect()
    }
}

fn main() {
    let task = Task::from_args();
    match &task.engine[..] {
        "rten" => serve(&COUNTED, rten(&task)),
        _ => serve(&COUNTED, tract(&task).map_err(|error| format!("{error:#}").replace('\n', " "))),
    }
}
