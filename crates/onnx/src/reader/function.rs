//! Functions: what a model defines by nodes, and how a call becomes these nodes.

use std::collections::HashMap;
use std::fmt;

use plimsoll_model::{ModelNode, Operator, TensorId};

use crate::attribute::{Attributes, Given};
use crate::error::{Fault, OnnxError, Stop};
use crate::name::{Known, Scope};
use crate::proto::{FunctionProto, ModelProto, NodeProto};
use crate::reader::{Around, Reader, Versions, domain};

/// Functions by what calls them.
pub(crate) type Functions<'m> = HashMap<Key<'m>, &'m FunctionProto>;

/// What tells functions apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key<'m> {
    domain: &'m str,
    name: &'m str,
    overload: &'m str,
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [self.domain, ".", self.name] {
            f.write_str(if self.domain.is_empty() && part == "." { "" } else { part })?;
        }
        if self.overload.is_empty() { Ok(()) } else { write!(f, ":{}", self.overload) }
    }
}

/// What a node would call.
pub(crate) fn key(node: &NodeProto) -> Key<'_> {
    Key { domain: domain(node.domain()), name: node.op_type(), overload: node.overload() }
}

/// The functions of a model.
pub(crate) fn functions(model: &ModelProto) -> Result<Functions<'_>, OnnxError> {
    let mut functions = HashMap::new();
    for function in &model.functions {
        let key = Key {
            domain: domain(function.domain()),
            name: function.name(),
            overload: function.overload(),
        };
        if functions.insert(key, function).is_some() {
            let fault = "it is defined twice".to_owned();
            return Err(OnnxError::Function { name: key.to_string(), fault });
        }
    }
    Ok(functions)
}

/// A node that calls a function.
pub(crate) struct Call<'m> {
    pub(crate) function: &'m FunctionProto,
    /// The name that no other node has.
    pub(crate) name: String,
    pub(crate) attributes: Attributes<'m>,
    pub(crate) inputs: Vec<Option<TensorId>>,
    pub(crate) outputs: Vec<Option<TensorId>>,
}

impl<'m> Call<'m> {
    fn check(&self) -> Result<(), Fault> {
        let (inputs, outputs) = (self.function.input.len(), self.function.output.len());
        if self.inputs.len() > inputs {
            return Err(format!("{} operands for a function of {inputs}", self.inputs.len()));
        }
        if self.outputs.len() > outputs {
            return Err(format!("{} results of a function of {outputs}", self.outputs.len()));
        }
        Ok(())
    }

    /// What the attributes of the function are in this call.
    fn given(&self) -> Given<'m> {
        let defaults = self.function.attribute_proto.iter();
        let mut given: Given<'m> = defaults.map(|default| (default.name(), default)).collect();
        given.extend(self.attributes.iter());
        given
    }
}

impl<'m> Reader<'m> {
    /// Appends what a call runs. The nodes read and make the tensors of the call itself.
    pub(crate) fn call(
        &mut self,
        call: &Call<'m>,
        around: Around<'_, 'm>,
        nodes: &mut Vec<ModelNode>,
    ) -> Result<(), Stop> {
        call.check()?;
        let mut scope = Scope::new(None, call.function.node.len());
        for (index, name) in call.function.input.iter().enumerate() {
            let operand = call.inputs.get(index).copied().flatten();
            scope.set(name, operand.map_or(Known::Absent, Known::Tensor));
        }
        let pairs = call.function.output.iter().zip(&call.outputs);
        let wanted = || pairs.clone().filter_map(|(name, tensor)| Some((name, (*tensor)?)));
        let mut results: HashMap<&'m str, TensorId> = HashMap::new();
        for (name, tensor) in wanted() {
            // An operand that is handed out, or the same result twice, is copied at the end.
            if scope.own(name).is_none() && !results.contains_key(name.as_str()) {
                results.insert(name, tensor);
            }
        }
        let own = Versions::of(&call.function.opset_import)?;
        let given = call.given();
        let versions = own.or(around.versions);
        let around = Around { versions: &versions, given: &given, path: &call.name };
        let made = self.declare(&call.function.node, &mut scope, &results, around)?;
        self.nodes(&call.function.node, &made, &scope, around, nodes)?;
        for (name, tensor) in wanted() {
            let from = match scope.own(name) {
                Some(Known::Tensor(from)) => from,
                Some(_) => return Err(format!("it hands out `{name}`, which is left away").into()),
                None => return Err(format!("the function does not make `{name}`").into()),
            };
            if from != tensor {
                nodes.push(self.copy(&call.name, from, tensor));
            }
        }
        Ok(())
    }

    /// A node that makes one tensor from the other, which has the same elements.
    fn copy(&mut self, path: &str, from: TensorId, to: TensorId) -> ModelNode {
        ModelNode {
            name: self.node_names.unique(path, &self.table.model.tensor(to).name),
            kind: "Identity".to_owned(),
            operator: Operator::Identity,
            inputs: vec![Some(from)],
            outputs: vec![Some(to)],
        }
    }
}
