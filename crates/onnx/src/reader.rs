//! From messages to the model: graphs, names, nodes.

mod function;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::iter;

pub(crate) use function::{Call, Functions, Key, functions, key};
use plimsoll_model::{Body, Branches, ModelNode, Origin, Tensor, TensorId};

use crate::attribute::{Attributes, Given};
use crate::constant::constant;
use crate::control::{self, Bodies};
use crate::draft::{Draft, Table};
use crate::dtype::{NO_TEXT, is_text};
use crate::error::{Fault, OnnxError, Stop};
use crate::name::{Known, Names, Scope};
use crate::operator::operator;
use crate::origin::Origins;
use crate::proto::{GraphProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto};
use crate::tensor::stored;
use crate::value::declared;
use crate::weights::Sources;

/// The oldest edition of the operators that is read.
const OLDEST: i64 = 6;

const NO_VERSION: &str = "the model does not say which version of operators it uses";

/// The domain of a name; ONNX's own has two.
pub(crate) fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

/// Which edition of ONNX's operators is meant. A newer one than we know is taken for the newest.
#[derive(Clone, Copy, Default)]
pub(crate) struct Versions(Option<i64>);

impl Versions {
    pub(crate) fn of(imports: &[OperatorSetIdProto]) -> Result<Self, OnnxError> {
        let own = imports.iter().filter(|import| domain(import.domain()).is_empty());
        let version = own.map(OperatorSetIdProto::version).max();
        if let Some(old) = version.filter(|version| *version < OLDEST) {
            let fault = format!("its operators are of version {old}, the oldest known is {OLDEST}");
            return Err(OnnxError::Model(fault));
        }
        Ok(Versions(version))
    }

    /// These, or if nothing is said the others.
    pub(crate) fn or(self, others: &Versions) -> Self {
        Versions(self.0.or(others.0))
    }
}

/// What is around a node.
#[derive(Clone, Copy)]
pub(crate) struct Around<'c, 'm> {
    pub(crate) versions: &'c Versions,
    /// What the function was called with that it is in.
    pub(crate) given: &'c Given<'m>,
    /// The nodes that it is in, outermost first.
    pub(crate) path: &'c str,
}

pub(crate) struct Reader<'m> {
    pub(crate) table: Table,
    pub(crate) node_names: Names,
    /// Where tensors come from, if somebody wants to know.
    pub(crate) origins: Option<Origins>,
    /// Where the elements of stored tensors are, likewise.
    pub(crate) sources: Option<Sources>,
    functions: Functions<'m>,
    /// How many bytes attributes that are handed to functions may still become.
    left: u64,
}

impl<'m> Reader<'m> {
    pub(crate) fn new(functions: Functions<'m>, most_bytes: u64) -> Self {
        let (table, node_names) = (Table::default(), Names::default());
        Reader { table, node_names, origins: None, sources: None, functions, left: most_bytes / 16 }
    }

    /// Reads a graph: the model's own, or a body inside of the names of another.
    pub(crate) fn graph(
        &mut self,
        graph: &'m GraphProto,
        outer: Option<&Scope<'_, 'm>>,
        around: Around<'_, 'm>,
    ) -> Result<Body, OnnxError> {
        let room = graph.initializer.len() + graph.input.len() + graph.node.len();
        let mut scope = Scope::new(outer, room);
        self.table.names.reserve(room);
        self.node_names.reserve(graph.node.len());
        if let Some(sparse) = graph.sparse_initializer.first() {
            let name = sparse.values.as_ref().map_or("", TensorProto::name);
            return Err(OnnxError::tensor(name, "sparse weights are not supported"));
        }
        // The weights of a model may be listed as inputs too. What is handed to a body is.
        let is_body = outer.is_some();
        if !is_body {
            self.weights(graph, &mut scope, around.path)?;
        }
        let inputs = self.inputs(&graph.input, &mut scope, around.path)?;
        if is_body {
            self.weights(graph, &mut scope, around.path)?;
        }
        let made = self.declare(&graph.node, &mut scope, &HashMap::new(), around)?;
        for value in graph.value_info.iter().chain(&graph.output) {
            self.annotate(value, &scope)?;
        }
        let mut nodes = Vec::with_capacity(graph.node.len());
        self.nodes(&graph.node, &made, &scope, around, &mut nodes)?;
        if let Some(origins) = &mut self.origins {
            origins.add(scope.tensors());
        }
        let outputs = graph.output.iter().map(|value| output(value, &scope));
        Ok(Body { inputs, outputs: outputs.collect::<Result<_, _>>()?, nodes })
    }

    fn weights(
        &mut self,
        graph: &'m GraphProto,
        scope: &mut Scope<'_, 'm>,
        path: &str,
    ) -> Result<(), OnnxError> {
        let inputs: usize = graph.input.len();
        for proto in &graph.initializer {
            let name = proto.name();
            if name.is_empty() {
                return Err(OnnxError::tensor(name, "a weight without a name"));
            }
            if let Some(known) = scope.own(name) {
                // An input of a body that has a default.
                let is_input = matches!(known, Known::Tensor(id)
                    if inputs > 0 && self.table.model.tensor(id).origin == Origin::Caller);
                if is_input {
                    continue;
                }
                return Err(OnnxError::tensor(name, "it is stored twice"));
            }
            let known = if is_text(proto.data_type()) {
                Known::Text
            } else {
                let tensor = stored(name.to_owned(), proto);
                let tensor = tensor.map_err(|fault| OnnxError::tensor(name, fault))?;
                let dtype = tensor.dtype;
                let id = self.table.add(path, tensor);
                if let Some(sources) = &mut self.sources {
                    sources.add(id, proto, dtype);
                }
                Known::Tensor(id)
            };
            scope.set(name, known);
        }
        Ok(())
    }

    fn inputs(
        &mut self,
        values: &'m [ValueInfoProto],
        scope: &mut Scope<'_, 'm>,
        path: &str,
    ) -> Result<Vec<TensorId>, OnnxError> {
        let mut inputs = Vec::with_capacity(values.len());
        for value in values {
            let name = value.name();
            let fault = |fault: &str| OnnxError::tensor(name, fault);
            if name.is_empty() {
                return Err(fault("an input without a name"));
            }
            match scope.own(name) {
                Some(Known::Tensor(id)) if self.table.model.tensor(id).origin == Origin::Caller => {
                    return Err(fault("it is handed in twice"));
                }
                Some(_) => continue,
                None => {}
            }
            let declared = declared(value.r#type.as_ref()).map_err(|what| fault(&what))?;
            let tensor = Tensor {
                origin: Origin::Caller,
                dtype: declared.dtype,
                dims: declared.dims,
                ..Tensor::computed(name)
            };
            let id = self.table.add(path, tensor);
            scope.set(name, Known::Tensor(id));
            inputs.push(id);
        }
        Ok(inputs)
    }

    /// Gives every name that nodes make a tensor, so that bodies and nodes that are listed earlier
    /// find it. `results` are those that are there already. Says what each result of each node is.
    pub(crate) fn declare(
        &mut self,
        nodes: &'m [NodeProto],
        scope: &mut Scope<'_, 'm>,
        results: &HashMap<&'m str, TensorId>,
        around: Around<'_, 'm>,
    ) -> Result<Vec<Option<TensorId>>, OnnxError> {
        let mut made = Vec::with_capacity(nodes.iter().map(|node| node.output.len()).sum());
        for (index, node) in nodes.iter().enumerate() {
            for name in &node.output {
                if name.is_empty() {
                    made.push(None);
                    continue;
                }
                let result = results.get(name.as_str()).copied();
                let id =
                    result.unwrap_or_else(|| self.table.add(around.path, Tensor::computed(name)));
                if scope.set(name, Known::Tensor(id)).is_some() {
                    let fault = format!("tensor `{name}` is already there");
                    return Err(OnnxError::node(index, node, fault));
                }
                made.push(Some(id));
            }
        }
        Ok(made)
    }

    /// Keeps what is declared of a tensor that a node makes.
    fn annotate(&mut self, value: &ValueInfoProto, scope: &Scope<'_, 'm>) -> Result<(), OnnxError> {
        let name = value.name();
        let Some(Known::Tensor(id)) = scope.own(name) else { return Ok(()) };
        let tensor = &mut self.table.model.tensors[id.index()];
        if tensor.origin == Origin::Node {
            let declared = declared(value.r#type.as_ref());
            let declared = declared.map_err(|fault| OnnxError::tensor(name, fault))?;
            tensor.dtype = declared.dtype.or(tensor.dtype);
            tensor.dims = declared.dims.or(tensor.dims.take());
        }
        Ok(())
    }

    /// Reads nodes. `made` is what they make, one result after the other.
    pub(crate) fn nodes(
        &mut self,
        protos: &'m [NodeProto],
        mut made: &[Option<TensorId>],
        scope: &Scope<'_, 'm>,
        around: Around<'_, 'm>,
        nodes: &mut Vec<ModelNode>,
    ) -> Result<(), OnnxError> {
        for (index, proto) in protos.iter().enumerate() {
            let (own, others) = made.split_at(proto.output.len());
            made = others;
            let read = self.node(index, proto, results(proto, own), scope, around, nodes);
            read.map_err(|stop| stop.at(index, proto))?;
            if let Some(origins) = &mut self.origins {
                origins.made(index, nodes.len());
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        index: usize,
        node: &'m NodeProto,
        outputs: Vec<Option<TensorId>>,
        scope: &Scope<'_, 'm>,
        around: Around<'_, 'm>,
        nodes: &mut Vec<ModelNode>,
    ) -> Result<(), Stop> {
        let attributes = Attributes::of(node, around.given)?;
        let left = self.left.checked_sub(attributes.put_in);
        self.left = left.ok_or("the attributes of functions become too large".to_owned())?;
        let mut inputs = operands(node, scope)?;
        let name = self.node_names.unique(around.path, &label(index, node));
        if let Some(function) = self.functions.get(&key(node)).copied() {
            let call = Call { function, name, attributes, inputs, outputs };
            let origins = self.origins.take();
            self.call(&call, around, nodes)?;
            // The nodes of a function are in the file once, however often it is called.
            self.origins = origins;
            return Ok(());
        }
        let kind = node.op_type();
        let domain = domain(node.domain());
        let version = match around.versions.0 {
            Some(version) => version,
            None if domain.is_empty() => return Err(NO_VERSION.to_owned().into()),
            None => i64::MAX,
        };
        if domain.is_empty() && kind == "Constant" {
            constant(&mut self.table.model, &attributes, &outputs)?;
            return Ok(self.keep_constant(&attributes, &outputs)?);
        }
        let bodies =
            self.bodies(index, node, &attributes, scope, Around { path: &name, ..around })?;
        if bodies.is_none() {
            add_captured(&attributes, scope, &mut inputs);
        }
        let table = &mut self.table;
        let mut draft = Draft { table, name: &name, kind, version, attributes, inputs, outputs };
        let operator = match bodies {
            Some(bodies) => control::operator(&mut draft, bodies)?,
            None => operator(&mut draft, domain)?,
        };
        let Draft { inputs, outputs, .. } = draft;
        nodes.push(ModelNode { name, kind: kind.to_owned(), operator, inputs, outputs });
        Ok(())
    }

    /// Keeps where the elements of a constant are, if they are a tensor.
    fn keep_constant(
        &mut self,
        attributes: &Attributes<'m>,
        outputs: &[Option<TensorId>],
    ) -> Result<(), Fault> {
        let (Some(sources), Some(Some(id))) = (&mut self.sources, outputs.first()) else {
            return Ok(());
        };
        if let Some(proto) = attributes.tensor("value")? {
            sources.add(*id, proto, self.table.model.tensor(*id).dtype);
        }
        Ok(())
    }

    /// What control flow runs; `None` for all other operators.
    fn bodies(
        &mut self,
        index: usize,
        node: &NodeProto,
        attributes: &Attributes<'m>,
        scope: &Scope<'_, 'm>,
        around: Around<'_, 'm>,
    ) -> Result<Option<Bodies>, Stop> {
        let mut body = |name: &str, part: &str| -> Result<Body, Stop> {
            let graph = attributes.graph(name)?;
            let path = format!("{}/{part}", around.path);
            if let Some(origins) = &mut self.origins {
                origins.enter(index, name);
            }
            let body = self.graph(graph, Some(scope), Around { path: &path, ..around })?;
            if let Some(origins) = &mut self.origins {
                origins.leave();
            }
            Ok(body)
        };
        Ok(match (domain(node.domain()), node.op_type()) {
            ("", "If") => {
                let then = body("then_branch", "then")?;
                Some(Bodies::Branches(Branches { then, otherwise: body("else_branch", "else")? }))
            }
            ("", "Loop") => Some(Bodies::Loop(body("body", "body")?)),
            ("", "Scan") => Some(Bodies::Scan(body("body", "body")?)),
            _ => None,
        })
    }
}

/// The tensors that a node reads.
fn operands(node: &NodeProto, scope: &Scope<'_, '_>) -> Result<Vec<Option<TensorId>>, Fault> {
    let mut operands = Vec::with_capacity(node.input.len());
    for name in &node.input {
        operands.push(match scope.find(name) {
            _ if name.is_empty() => None,
            Some(Known::Tensor(id)) => Some(id),
            Some(Known::Absent) => None,
            Some(Known::Text) => return Err(format!("it reads `{name}`: {NO_TEXT}")),
            None => return Err(format!("there is no tensor `{name}`")),
        });
    }
    trim(&mut operands);
    Ok(operands)
}

/// What the bodies of an operator that is not known read of the tensors around them are operands
/// of it.
fn add_captured<'m>(
    attributes: &Attributes<'m>,
    scope: &Scope<'_, 'm>,
    inputs: &mut Vec<Option<TensorId>>,
) {
    let mut found = BTreeSet::new();
    for (_, attribute) in attributes.iter() {
        let graphs = attribute.g.as_deref().into_iter().chain(&attribute.graphs);
        graphs.for_each(|graph| captured(graph, scope, &mut found));
    }
    inputs.extend(found.into_iter().map(Some));
}

fn captured<'m>(graph: &'m GraphProto, outer: &Scope<'_, 'm>, found: &mut BTreeSet<TensorId>) {
    let mut scope = Scope::new(Some(outer), graph.node.len());
    let values = graph.input.iter().map(ValueInfoProto::name);
    let made = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
    for name in values.chain(graph.initializer.iter().map(TensorProto::name)).chain(made) {
        scope.set(name, Known::Absent);
    }
    let read = graph.node.iter().flat_map(|node| node.input.iter().map(String::as_str));
    for name in read.chain(graph.output.iter().map(ValueInfoProto::name)) {
        if let Some(Known::Tensor(id)) = scope.find(name) {
            found.insert(id);
        }
    }
    for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
        let graphs = attribute.g.as_deref().into_iter().chain(&attribute.graphs);
        graphs.for_each(|graph| captured(graph, &scope, found));
    }
}

/// The tensors that a node makes, without those behind the last that somebody wants.
fn results(node: &NodeProto, made: &[Option<TensorId>]) -> Vec<Option<TensorId>> {
    let mut results = made.to_vec();
    // How many parts there are says how long each is.
    if node.op_type() != "Split" {
        trim(&mut results);
    }
    results
}

fn trim(tensors: &mut Vec<Option<TensorId>>) {
    let kept = tensors.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    tensors.truncate(kept);
}

/// What a node is called: its name, else that of its first result.
fn label(index: usize, node: &NodeProto) -> Cow<'_, str> {
    let names = iter::once(node.name()).chain(node.output.iter().map(String::as_str));
    match names.into_iter().find(|name| !name.is_empty()) {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("{} {index}", node.op_type())),
    }
}

/// The tensor that a graph hands out.
fn output(value: &ValueInfoProto, scope: &Scope<'_, '_>) -> Result<TensorId, OnnxError> {
    match scope.find(value.name()) {
        Some(Known::Tensor(id)) => Ok(id),
        Some(Known::Text) => Err(OnnxError::tensor(value.name(), NO_TEXT)),
        _ => Err(OnnxError::tensor(value.name(), "it is a graph output without a producer")),
    }
}
