//! What the inputs of a model are, from what the model and the caller say.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_graph::shape::expr::Scope;
use plimsoll_graph::{Dim, Fact};

use super::error::{BindingFault, ShapeError};
use crate::model::{Axis, Body, Model, Operator, Origin, Tensor, TensorId};

/// What the caller says of a model's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// How many a symbol stands for.
    pub symbols: BTreeMap<String, u64>,
    /// The whole shape of an input, by its name.
    pub inputs: BTreeMap<String, Vec<u64>>,
}

/// What follows from bindings.
pub(super) struct Bound {
    /// What is known of the inputs.
    pub(super) inputs: Vec<(TensorId, Fact)>,
    /// How many each symbol stands for.
    pub(super) symbols: BTreeMap<String, Dim>,
}

/// Binds the inputs of a model, or says everything that is wrong. Symbols that are `ranged` stand for
/// what they are there; of the others, and of the names of all, the bindings tell.
pub(super) fn bind(
    model: &Model,
    bindings: &Bindings,
    ranged: &Ranged<'_>,
) -> Result<Bound, ShapeError> {
    let inputs: Vec<(TensorId, &Tensor)> = model
        .body
        .inputs
        .iter()
        .map(|id| (*id, model.tensor(*id)))
        .filter(|(_, tensor)| tensor.origin != Origin::Stored)
        .collect();
    let (symbols, ranged) = (bindings.symbols.clone(), ranged.symbols.clone());
    let mut binder = Binder { symbols, ranged, ..Binder::default() };
    binder.check_names(model, bindings, &inputs);
    for (_, input) in &inputs {
        if let Some(given) = bindings.inputs.get(&input.name) {
            binder.take_shape(input, given);
        }
    }
    let mut bound = Vec::new();
    for (id, input) in inputs {
        let dims = match bindings.inputs.get(&input.name) {
            Some(given) => given.iter().map(|dim| Dim::Known(*dim)).collect(),
            None => binder.dims(input),
        };
        if input.dtype.is_none() {
            binder.faults.push(BindingFault::NoType { input: input.name.clone() });
        }
        bound.push((id, Fact::of_type(input.dtype).with_dims(dims)));
    }
    let unbound = binder.unbound.into_iter();
    binder.faults.extend(unbound.map(|(symbol, places)| BindingFault::Unbound { symbol, places }));
    if binder.faults.is_empty() {
        let known = binder.symbols.into_iter().map(|(symbol, dim)| (symbol, Dim::Known(dim)));
        Ok(Bound { inputs: bound, symbols: known.chain(binder.ranged).collect() })
    } else {
        Err(ShapeError::Bindings(binder.faults))
    }
}

/// What symbols with a range stand for, where shapes are found for all of it at once.
#[derive(Default)]
pub(crate) struct Ranged<'s> {
    /// By symbol.
    pub(crate) symbols: BTreeMap<String, Dim>,
    /// Of which these are.
    pub(crate) scope: Option<&'s Scope>,
}

#[derive(Default)]
struct Binder {
    symbols: BTreeMap<String, u64>,
    ranged: BTreeMap<String, Dim>,
    /// Symbols that nobody binds, with the inputs and axes that they are the dims of.
    unbound: BTreeMap<String, Vec<(String, usize)>>,
    faults: Vec<BindingFault>,
}

impl Binder {
    /// Bindings are of what there is.
    fn check_names(&mut self, model: &Model, bindings: &Bindings, inputs: &[(TensorId, &Tensor)]) {
        let mut symbols = BTreeSet::new();
        for (_, input) in inputs {
            symbols.extend(symbols_of(input));
        }
        for id in declared_only(&model.body) {
            symbols.extend(symbols_of(model.tensor(id)));
        }
        for symbol in bindings.symbols.keys().filter(|symbol| !symbols.contains(*symbol)) {
            let symbols = symbols.iter().map(|symbol| (*symbol).clone()).collect();
            self.faults.push(BindingFault::NoSymbol { symbol: symbol.clone(), symbols });
        }
        let names: Vec<String> = inputs.iter().map(|(_, input)| input.name.clone()).collect();
        for input in bindings.inputs.keys().filter(|input| !names.contains(input)) {
            let inputs = names.clone();
            self.faults.push(BindingFault::NoInput { input: input.clone(), inputs });
        }
    }

    /// Compares a given shape with what the model says, and binds the symbols there.
    fn take_shape(&mut self, input: &Tensor, given: &[u64]) {
        let Some(declared) = &input.dims else { return };
        let name = || input.name.clone();
        if declared.len() != given.len() {
            let (declared, given) = (declared.len(), given.len());
            self.faults.push(BindingFault::Rank { input: name(), declared, given });
            return;
        }
        for (axis, (declared, given)) in declared.iter().zip(given).enumerate() {
            match declared {
                Axis::Known(declared) if declared != given => {
                    let (declared, given) = (*declared, *given);
                    self.faults.push(BindingFault::Dim { input: name(), axis, declared, given });
                }
                Axis::Symbol(symbol) => {
                    let first = *self.symbols.entry(symbol.clone()).or_insert(*given);
                    if first != *given || self.ranged.contains_key(symbol) {
                        let (symbol, second) = (symbol.clone(), *given);
                        let input = name();
                        let fault = BindingFault::Conflict { symbol, first, second, input };
                        self.faults.push(fault);
                    }
                }
                Axis::Known(_) | Axis::Unknown => {}
            }
        }
    }

    /// The dims of an input whose shape is not given.
    fn dims(&mut self, input: &Tensor) -> Vec<Dim> {
        let Some(dims) = &input.dims else {
            self.faults.push(BindingFault::NoRank { input: input.name.clone() });
            return Vec::new();
        };
        let mut bound = Vec::new();
        for (axis, dim) in dims.iter().enumerate() {
            bound.push(self.dim(input, axis, dim));
        }
        bound
    }

    fn dim(&mut self, input: &Tensor, axis: usize, dim: &Axis) -> Dim {
        match dim {
            Axis::Known(dim) => return Dim::Known(*dim),
            Axis::Symbol(symbol) => {
                if let Some(dim) = self.ranged.get(symbol) {
                    return dim.clone();
                }
                if let Some(dim) = self.symbols.get(symbol) {
                    return Dim::Known(*dim);
                }
                let places = self.unbound.entry(symbol.clone()).or_default();
                places.push((input.name.clone(), axis));
            }
            Axis::Unknown => {
                self.faults.push(BindingFault::NoDim { input: input.name.clone(), axis });
            }
        }
        Dim::Unknown
    }
}

fn symbols_of(tensor: &Tensor) -> impl Iterator<Item = &String> {
    tensor.dims.iter().flatten().filter_map(|axis| match axis {
        Axis::Symbol(symbol) => Some(symbol),
        Axis::Known(_) | Axis::Unknown => None,
    })
}

/// The tensors of which nothing is known but what the model declares: what operators make that are
/// not ours.
fn declared_only(body: &Body) -> Vec<TensorId> {
    let mut found = Vec::new();
    let mut bodies = vec![body];
    while let Some(body) = bodies.pop() {
        for node in &body.nodes {
            bodies.extend(node.bodies());
            if matches!(node.operator, Operator::Custom(_)) {
                found.extend(node.outputs.iter().flatten());
            }
        }
    }
    found
}
