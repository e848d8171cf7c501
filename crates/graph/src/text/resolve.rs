//! From statements to a graph: names are looked up, missing types are inferred.
//!
//! Values get their ids in the order in which the text declares them, nodes in the order of their
//! lines. A name may be used before it is declared.

use std::collections::HashMap;

use plimsoll::{Overwrite, Strided, ValueId, View};
use plimsoll_pack::Span;

use super::error::{Position, TextError, TextFault};
use super::syntax::{Declaration, Name, NodeLine, Statement, UntilText, WindowText};
use crate::dtype::Dtype;
use crate::graph::{End, Graph, GraphBuilder, GraphError, Node, NodeId, Value, Window};
use crate::op::Op;
use crate::shape::Shape;
use crate::shape::dims::broadcast;

/// The graph that statements describe.
pub(super) fn resolve(statements: &[Statement]) -> Result<Graph, TextError> {
    let mut places = Places::default();
    for statement in statements {
        places.note(statement);
    }
    let mut resolver = Resolver { builder: GraphBuilder::new(), places, views: Vec::new() };
    for statement in statements {
        resolver.declare(statement)?;
    }
    for (value, root, offset, rows) in std::mem::take(&mut resolver.views) {
        let of = resolver.value(&root)?;
        resolver.builder.value_mut(value).view = Some(View { of, offset, rows });
    }
    for statement in statements {
        match statement {
            Statement::Node(node) => resolver.node(node)?,
            Statement::Output(names) => {
                for name in names {
                    let value = resolver.value(name)?;
                    resolver.builder.output(value);
                }
            }
            Statement::Execution(execution) => resolver.builder.execution(*execution),
            Statement::Value(_) => {}
        }
    }
    let Resolver { builder, places, .. } = resolver;
    builder.finish().map_err(|error| places.locate(error))
}

/// Where names are declared.
#[derive(Default)]
struct Places {
    values: HashMap<String, Position>,
    typed: HashMap<String, Position>,
    nodes: HashMap<String, (NodeId, Position)>,
}

impl Places {
    fn note(&mut self, statement: &Statement) {
        match statement {
            Statement::Value(declaration) => self.note_value(declaration),
            Statement::Node(node) => {
                for output in node.outputs.iter().flatten() {
                    self.note_value(output);
                }
                let id = NodeId::new(self.nodes.len());
                self.nodes.entry(node_name(node)).or_insert((id, node.at));
            }
            Statement::Execution(_) | Statement::Output(_) => {}
        }
    }

    fn note_value(&mut self, declaration: &Declaration) {
        let Name { it, at } = &declaration.name;
        self.values.entry(it.clone()).or_insert(*at);
        if declaration.of_type.is_some() {
            self.typed.entry(it.clone()).or_insert(*at);
        }
    }

    /// The error, at the line of what it names.
    fn locate(&self, error: GraphError) -> TextError {
        let at = match &error {
            GraphError::Value { name, .. } => {
                self.typed.get(name).or(self.values.get(name)).copied()
            }
            GraphError::Node { name, .. } => self.nodes.get(name).map(|place| place.1),
            GraphError::Cycle(nodes) => {
                nodes.first().and_then(|name| self.nodes.get(name)).map(|place| place.1)
            }
        };
        let start = Position { line: 1, column: 1 };
        TextError::new(at.unwrap_or(start), TextFault::Graph(error))
    }
}

/// What a node is called: what its line says, or what its first output is called.
fn node_name(node: &NodeLine) -> String {
    let first = || node.outputs.iter().flatten().next().map(|output| &output.name);
    let name = node.name.as_ref().or_else(first);
    name.map_or_else(|| format!("line {}", node.at.line), |name| name.it.clone())
}

struct Resolver {
    builder: GraphBuilder,
    places: Places,
    views: Vec<(ValueId, Name, u64, Option<Strided>)>,
}

impl Resolver {
    fn value(&self, name: &Name) -> Result<ValueId, TextError> {
        let unknown = || TextError::new(name.at, TextFault::UnknownValue(name.it.clone()));
        self.builder.value_by_name(&name.it).ok_or_else(unknown)
    }

    fn node_id(&self, name: &Name) -> Result<NodeId, TextError> {
        let unknown = || TextError::new(name.at, TextFault::UnknownNode(name.it.clone()));
        self.places.nodes.get(&name.it).map(|place| place.0).ok_or_else(unknown)
    }

    fn declare(&mut self, statement: &Statement) -> Result<(), TextError> {
        match statement {
            Statement::Value(declaration) => self.add(declaration, None),
            Statement::Node(node) => {
                for (index, output) in node.outputs.iter().enumerate() {
                    let Some(output) = output else { continue };
                    let inferred = if output.of_type.is_none() {
                        if self.places.typed.contains_key(&output.name.it) {
                            continue; // Declared on a line of its own.
                        }
                        let inferred = if index == 0 { self.infer(node) } else { None };
                        let fault = || TextFault::NoType(output.name.it.clone());
                        Some(inferred.ok_or_else(|| TextError::new(output.name.at, fault()))?)
                    } else {
                        None
                    };
                    self.add(output, inferred)?;
                }
                Ok(())
            }
            Statement::Execution(_) | Statement::Output(_) => Ok(()),
        }
    }

    fn add(
        &mut self,
        declaration: &Declaration,
        inferred: Option<(Dtype, Shape)>,
    ) -> Result<(), TextError> {
        let at = declaration.name.at;
        let (dtype, shape) =
            inferred.or_else(|| declaration.of_type.clone()).expect("written or inferred");
        let value = Value {
            bytes: declaration.bytes,
            role: declaration.role,
            storage: declaration.storage,
            align: declaration.align,
            guard: declaration.guard,
            exempt: declaration.exempt,
            elided: declaration.elided,
            donated: declaration.donated,
            copied: declaration.copied,
            ..Value::new(&declaration.name.it, dtype, shape)
        };
        let added = self.builder.value(value);
        let id = added.map_err(|error| TextError::new(at, TextFault::Graph(error)))?;
        if let Some((root, offset, rows)) = &declaration.view {
            self.views.push((id, root.clone(), *offset, *rows));
        }
        Ok(())
    }

    /// The type of the first output, where the class says it and the inputs are declared above.
    fn infer(&mut self, node: &NodeLine) -> Option<(Dtype, Shape)> {
        let mut input = |index: usize| {
            let name = node.inputs.get(index)?.as_ref()?;
            let id = self.builder.value_by_name(&name.it)?;
            let value = self.builder.value_mut(id);
            Some((value.dtype, value.shape.clone()))
        };
        match node.op {
            Op::Unary | Op::Clamp | Op::Scan | Op::Copy | Op::Identity | Op::Dropout => {
                let (dtype, shape) = input(0)?;
                Some((if is_test(&node.kind) { Dtype::Bool } else { dtype }, shape))
            }
            Op::Softmax | Op::Norm | Op::Scatter | Op::UpdateSlice => input(0),
            Op::Binary => {
                let ((dtype, a), (_, b)) = (input(0)?, input(1)?);
                let dtype = if is_test(&node.kind) { Dtype::Bool } else { dtype };
                Some((dtype, Shape(broadcast(&a.0, &b.0).ok()?)))
            }
            Op::Where => {
                let ((_, condition), (dtype, a), (_, b)) = (input(0)?, input(1)?, input(2)?);
                let branches = broadcast(&a.0, &b.0).ok()?;
                Some((dtype, Shape(broadcast(&condition.0, &branches).ok()?)))
            }
            _ => None,
        }
    }

    fn node(&mut self, line: &NodeLine) -> Result<(), TextError> {
        let outputs = line.outputs.iter().map(|output| match output {
            None => Ok(None),
            Some(output) => self.value(&output.name).map(Some),
        });
        let inputs = line.inputs.iter().map(|input| match input {
            None => Ok(None),
            Some(name) => self.value(name).map(Some),
        });
        let overwrites = line.overwrites.iter().map(|(output, input, must)| {
            let (output, input) = (self.value(output)?, self.value(input)?);
            Ok(Overwrite { output, input, must: *must })
        });
        let notes = line.notes.iter().map(|(key, text)| (key.it.clone(), text.clone()));
        let node = Node {
            kind: line.kind.clone(),
            inputs: inputs.collect::<Result<_, TextError>>()?,
            outputs: outputs.collect::<Result<_, TextError>>()?,
            also_reads: line.also_reads.iter().map(|n| self.value(n)).collect::<Result<_, _>>()?,
            scratch: line.scratch,
            overwrites: overwrites.collect::<Result<_, TextError>>()?,
            windows: line.windows.iter().map(|w| self.window(w)).collect::<Result<_, _>>()?,
            queue: line.queue,
            after: line.after.iter().map(|n| self.node_id(n)).collect::<Result<_, _>>()?,
            block: line.block,
            elided: line.elided,
            notes: notes.collect(),
            ..Node::new(node_name(line), line.op.clone(), &[], &[])
        };
        let added = self.builder.node(node);
        added.map(drop).map_err(|error| TextError::new(line.at, TextFault::Graph(error)))
    }

    fn window(&self, text: &WindowText) -> Result<Window, TextError> {
        Ok(Window {
            value: self.value(&text.value)?,
            kind: text.kind,
            from: text.from.as_ref().map(|name| self.node_id(name)).transpose()?,
            until: match &text.until {
                UntilText::Writes => End::Writes,
                UntilText::Step => End::Step,
                UntilText::End => End::EndOfRun,
                UntilText::Node(name) => End::After(self.node_id(name)?),
            },
            bytes: text.bytes.map(|(lo, hi)| Span::new(lo, hi)),
        })
    }
}

/// Kinds of elementwise ops whose results are truth values, whatever they look at.
fn is_test(kind: &str) -> bool {
    const TESTS: [&str; 8] =
        ["equal", "greater", "greater_equal", "isinf", "isnan", "less", "less_equal", "not_equal"];
    TESTS.iter().any(|test| test.eq_ignore_ascii_case(kind))
}
