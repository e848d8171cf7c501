//! A builder of `.tflite` files: what the tests say of subgraphs, tensors and operators, as a flatbuffer.

use crate::file::IDENTIFIER;
use crate::flatbuffer::write::{Slot, Writer};
use crate::schema::{buffer, metadata, model, operator, operator_code, subgraph, tensor};

/// Numbers of types of elements.
#[allow(missing_docs, reason = "the names say it all")]
pub mod dtypes {
    pub const F32: u8 = 0;
    pub const I32: u8 = 2;
    pub const BOOL: u8 = 6;
    pub const I8: u8 = 9;
    pub const I4: u8 = 17;
}

/// A model.
#[derive(Clone, Debug, Default)]
pub struct Net {
    /// Its subgraphs; the first runs.
    pub subgraphs: Vec<NetGraph>,
    /// Notes by name.
    pub metadata: Vec<(String, Vec<u8>)>,
}

/// A subgraph.
#[derive(Clone, Debug, Default)]
pub struct NetGraph {
    /// Its tensors.
    pub tensors: Vec<NetTensor>,
    /// What it runs.
    pub operators: Vec<NetOperator>,
    /// What is handed in.
    pub inputs: Vec<i32>,
    /// What is handed out.
    pub outputs: Vec<i32>,
}

/// A tensor.
#[derive(Clone, Debug, Default)]
pub struct NetTensor {
    /// Its name.
    pub name: String,
    /// Its dims.
    pub dims: Vec<i32>,
    /// Its type, by number.
    pub dtype: u8,
    /// Its elements, if it is a constant.
    pub data: Vec<u8>,
    /// Whether it is kept from run to run.
    pub is_variable: bool,
}

/// An operator.
#[derive(Clone, Debug, Default)]
pub struct NetOperator {
    /// Its builtin code.
    pub code: i32,
    /// Its name, if it is a custom one.
    pub custom: String,
    /// What it reads, -1 for what is absent.
    pub inputs: Vec<i32>,
    /// What it makes.
    pub outputs: Vec<i32>,
    /// The number of the kind of its options, and the options, which are integers.
    pub options: Option<(u8, Vec<i32>)>,
}

impl NetGraph {
    /// Adds a tensor that an operator makes.
    pub fn tensor(&mut self, name: &str, dtype: u8, dims: &[i32]) -> i32 {
        self.push(NetTensor {
            name: name.to_owned(),
            dims: dims.to_vec(),
            dtype,
            ..NetTensor::default()
        })
    }

    /// Adds a tensor that is handed in.
    pub fn input(&mut self, name: &str, dtype: u8, dims: &[i32]) -> i32 {
        let tensor = self.tensor(name, dtype, dims);
        self.inputs.push(tensor);
        tensor
    }

    /// Adds a constant of integers.
    pub fn ints(&mut self, name: &str, dims: &[i32], elements: &[i32]) -> i32 {
        let data = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        let (name, dims) = (name.to_owned(), dims.to_vec());
        self.push(NetTensor { name, dims, dtype: dtypes::I32, data, is_variable: false })
    }

    fn push(&mut self, tensor: NetTensor) -> i32 {
        self.tensors.push(tensor);
        (self.tensors.len() as u32 - 1).cast_signed()
    }

    /// Adds an operator without options.
    pub fn op(&mut self, code: i32, inputs: &[i32], outputs: &[i32]) -> &mut NetOperator {
        let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
        let operator = NetOperator { code, inputs, outputs, ..NetOperator::default() };
        self.operators.push_mut(operator)
    }
}

impl Net {
    /// A model of one subgraph.
    #[must_use]
    pub fn of(graph: NetGraph) -> Self {
        Net { subgraphs: vec![graph], metadata: Vec::new() }
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file =
            Files { writer: Writer::default(), buffers: vec![Vec::new()], codes: Vec::new() };
        let root = file.writer.reference();
        file.writer.bytes.extend(IDENTIFIER);
        let fields = [
            (0, Slot::U32(3)),
            (model::OPERATOR_CODES, Slot::Reference),
            (model::SUBGRAPHS, Slot::Reference),
            (model::BUFFERS, Slot::Reference),
            (model::METADATA, Slot::Reference),
        ];
        let with_notes = if self.metadata.is_empty() { 4 } else { 5 };
        let (at, places) = file.writer.table(&fields[..with_notes]);
        file.writer.refer(root, at);
        let (at, listed) = file.writer.references(self.subgraphs.len());
        file.writer.refer(places[2], at);
        for (graph, place) in self.subgraphs.iter().zip(listed) {
            file.subgraph(graph, place);
        }
        file.codes(places[1]);
        if let Some(place) = places.get(4) {
            file.metadata(&self.metadata, *place);
        }
        file.buffers(places[3]);
        file.writer.align(16);
        file.writer.bytes
    }
}

struct Files {
    writer: Writer,
    /// The data of buffers; the first is empty.
    buffers: Vec<Vec<u8>>,
    /// Codes with the names of custom operators.
    codes: Vec<(i32, String)>,
}

impl Files {
    fn ints(&mut self, place: usize, numbers: &[i32]) {
        let (at, _) = self.writer.references(numbers.len());
        for (index, number) in numbers.iter().enumerate() {
            let at = at + 4 + 4 * index;
            self.writer.bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        self.writer.refer(place, at);
    }

    fn string(&mut self, place: usize, text: &str) {
        let at = self.writer.string(text);
        self.writer.refer(place, at);
    }

    fn subgraph(&mut self, graph: &NetGraph, place: usize) {
        let fields = [subgraph::TENSORS, subgraph::INPUTS, subgraph::OUTPUTS, subgraph::OPERATORS];
        let (at, places) = self.writer.table(&fields.map(|field| (field, Slot::Reference)));
        self.writer.refer(place, at);
        self.ints(places[1], &graph.inputs);
        self.ints(places[2], &graph.outputs);
        let (at, tensors) = self.writer.references(graph.tensors.len());
        self.writer.refer(places[0], at);
        let (at, operators) = self.writer.references(graph.operators.len());
        self.writer.refer(places[3], at);
        for (tensor, place) in graph.tensors.iter().zip(tensors) {
            self.tensor(tensor, place);
        }
        for (operator, place) in graph.operators.iter().zip(operators) {
            self.operator(operator, place);
        }
    }

    fn tensor(&mut self, tensor: &NetTensor, place: usize) {
        let buffer = if tensor.data.is_empty() { 0 } else { self.buffers.len() };
        if buffer > 0 {
            self.buffers.push(tensor.data.clone());
        }
        let (at, places) = self.writer.table(&[
            (tensor::SHAPE, Slot::Reference),
            (tensor::TYPE, Slot::U32(tensor.dtype.into())),
            (tensor::BUFFER, Slot::U32(buffer as u32)),
            (tensor::NAME, Slot::Reference),
            (tensor::IS_VARIABLE, Slot::U32(tensor.is_variable.into())),
        ]);
        self.writer.refer(place, at);
        self.ints(places[0], &tensor.dims);
        self.string(places[3], &tensor.name);
    }

    fn operator(&mut self, of: &NetOperator, place: usize) {
        let code = (of.code, of.custom.clone());
        let known = self.codes.iter().position(|other| *other == code);
        let index = known.unwrap_or(self.codes.len());
        if known.is_none() {
            self.codes.push(code);
        }
        let kind = of.options.as_ref().map_or(0, |(kind, _)| *kind);
        let fields = [
            (operator::OPCODE_INDEX, Slot::U32(index as u32)),
            (operator::INPUTS, Slot::Reference),
            (operator::OUTPUTS, Slot::Reference),
            (operator::BUILTIN_OPTIONS - 1, Slot::U32(kind.into())),
            (operator::BUILTIN_OPTIONS, Slot::Reference),
        ];
        let with_options = if of.options.is_some() { 5 } else { 3 };
        let (at, places) = self.writer.table(&fields[..with_options]);
        self.writer.refer(place, at);
        self.ints(places[1], &of.inputs);
        self.ints(places[2], &of.outputs);
        if let Some((_, options)) = &of.options {
            let fields = options.iter().map(|option| Slot::U32(option.cast_unsigned())).enumerate();
            let (at, _) = self.writer.table(&fields.collect::<Vec<_>>());
            self.writer.refer(places[4], at);
        }
    }

    fn codes(&mut self, place: usize) {
        let codes = std::mem::take(&mut self.codes);
        let (at, listed) = self.writer.references(codes.len());
        self.writer.refer(place, at);
        for ((code, custom), place) in codes.iter().zip(listed) {
            let (at, places) = self.writer.table(&[
                (
                    operator_code::DEPRECATED_BUILTIN_CODE,
                    Slot::U32((*code).clamp(0, 127).cast_unsigned()),
                ),
                (operator_code::CUSTOM_CODE, Slot::Reference),
                (2, Slot::U32(1)),
                (operator_code::BUILTIN_CODE, Slot::U32(code.cast_unsigned())),
            ]);
            self.writer.refer(place, at);
            self.string(places[1], custom);
        }
    }

    fn metadata(&mut self, notes: &[(String, Vec<u8>)], place: usize) {
        let (at, listed) = self.writer.references(notes.len());
        self.writer.refer(place, at);
        for ((name, data), place) in notes.iter().zip(listed) {
            let index = self.buffers.len() as u32;
            self.buffers.push(data.clone());
            let fields = [(metadata::NAME, Slot::Reference), (metadata::BUFFER, Slot::U32(index))];
            let (at, places) = self.writer.table(&fields);
            self.writer.refer(place, at);
            self.string(places[0], name);
        }
    }

    fn buffers(&mut self, place: usize) {
        let buffers = std::mem::take(&mut self.buffers);
        let (at, listed) = self.writer.references(buffers.len());
        self.writer.refer(place, at);
        for (data, place) in buffers.iter().zip(listed) {
            let fields = [(buffer::DATA, Slot::Reference)];
            let (at, places) = self.writer.table(if data.is_empty() { &[] } else { &fields });
            self.writer.refer(place, at);
            if let Some(place) = places.first() {
                let at = self.writer.data(data, 16);
                self.writer.refer(*place, at);
            }
        }
    }
}
