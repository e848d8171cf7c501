//! A `.tflite` file: what its flatbuffer says of subgraphs, tensors and operators.
//!
//! Everything that a plan needs is read once, and every index is checked here, so that nobody behind has
//! to. Data of weights are not looked at, but for the small integers that say how an operator works: an
//! axis, a permutation. A file may refer to the same bytes again and again; how much is read in all is
//! limited by the length of the file ([`Budget`]).

use bytes::Bytes;
use plimsoll_graph::packed_bytes;

use crate::builtin::{Builtin, BuiltinClass};
use crate::dtype::{INT4, INT32, INT64, RESOURCE, dtype};
use crate::error::TfliteError;
use crate::flatbuffer::{Table, Vector};
use crate::schema::{buffer, model, operator, operator_code, subgraph, tensor};

/// What bytes 4 to 8 of a file are.
pub(crate) const IDENTIFIER: &[u8; 4] = b"TFL3";

/// As deep as calls of subgraphs within each other go.
pub(crate) const MOST_CALLS: usize = 64;

/// As many integers of a constant are read: axes, permutations, places of slices.
const MOST_INTS: usize = 64;

/// A model, and the bytes that it was read from.
#[derive(Clone, Debug)]
pub struct TfliteFile {
    /// The file.
    pub(crate) bytes: Bytes,
    /// Whether something of it is behind the flatbuffer, by its place in the file.
    pub(crate) has_data_behind: bool,
    /// The subgraphs. The first is what runs, others are called.
    pub subgraphs: Vec<Subgraph>,
}

/// Operators on tensors, with a boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subgraph {
    /// Its tensors; operators refer to them by index.
    pub tensors: Vec<Tensor>,
    /// What is handed in.
    pub inputs: Vec<usize>,
    /// What is handed out.
    pub outputs: Vec<usize>,
    /// What runs, in this order.
    pub operators: Vec<Operator>,
    /// Where the file has the references to its operators.
    pub(crate) operators_at: usize,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// What it is called, which may be anything.
    pub name: String,
    /// Its dims as they are stored; -1 if one is not.
    pub dims: Vec<i32>,
    /// The type of its elements, by number.
    pub dtype: u8,
    /// How many bytes of it are in the file, if it is a constant.
    pub stored: Option<u64>,
    /// Its elements, if it is a constant of a few integers.
    pub ints: Option<Vec<i64>>,
    /// Whether it keeps its elements from run to run.
    pub is_variable: bool,
}

/// An operator on tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// What it is called: the name of the builtin operator, or of the custom one.
    pub kind: String,
    /// Whether it is no builtin one.
    pub(crate) is_custom: bool,
    /// What it does.
    pub(crate) class: BuiltinClass,
    /// What it reads; `None` for an optional operand that is absent.
    pub inputs: Vec<Option<usize>>,
    /// What it makes.
    pub outputs: Vec<usize>,
    /// The first integers of its options, by the number of the field.
    pub(crate) options: [i32; OPTIONS],
}

/// So many fields of options are read: no operator here needs more.
const OPTIONS: usize = 5;

impl Operator {
    /// The subgraphs that it calls, as its options number them.
    pub(crate) fn callees(&self) -> &[i32] {
        match self.class {
            BuiltinClass::If | BuiltinClass::While => &self.options[..2],
            BuiltinClass::CallOnce => &self.options[..1],
            _ => &[],
        }
    }
}

impl Tensor {
    /// How many elements it has, if its dims are stored.
    #[must_use]
    pub fn elements(&self) -> Option<u64> {
        let mut dims = self.dims.iter().map(|dim| u64::try_from(*dim).ok());
        dims.try_fold(1u64, |product, dim| product.checked_mul(dim?))
    }

    /// Whether the runtime keeps it outside of the arena: variables, and the handles of others.
    #[must_use]
    pub fn is_kept_elsewhere(&self) -> bool {
        self.is_variable || self.dtype == RESOURCE
    }

    /// How many bytes the interpreter has for it if it is computed: at least one for each element, also of
    /// types that are packed in the file.
    #[must_use]
    pub fn arena_bytes(&self) -> Option<u64> {
        let bits = dtype(self.dtype)?.bits();
        let bits = if self.dtype == INT4 { 8 } else { bits };
        packed_bytes(self.elements()?, bits)
    }
}

impl TfliteFile {
    /// Reads a file.
    pub fn read(bytes: impl Into<Bytes>) -> Result<Self, TfliteError> {
        let bytes = bytes.into();
        let fault = |fault: &str| TfliteError::Flatbuffer(fault.to_owned());
        if bytes.get(4..8) != Some(IDENTIFIER) {
            return Err(fault("bytes 4 to 8 are not \"TFL3\""));
        }
        let root = Table::root(&bytes)?;
        let mut budget = Budget::of(&bytes);
        let codes = codes(root, &mut budget)?;
        let buffers = buffers(root, &mut budget)?;
        let listed = root.vector(model::SUBGRAPHS, 4)?.ok_or_else(|| fault("no subgraphs"))?;
        budget.take(listed.len)?;
        let mut has_data_behind = buffers.iter().any(|data| matches!(data, Data::Behind(_)));
        let mut subgraphs = Vec::new();
        for (index, table) in listed.tables().enumerate() {
            let mut reader = Reader {
                index,
                codes: &codes,
                buffers: &buffers,
                budget: &mut budget,
                has_options_behind: false,
            };
            subgraphs.push(reader.subgraph(table?)?);
            has_data_behind |= reader.has_options_behind;
        }
        if subgraphs.is_empty() {
            return Err(fault("no subgraphs"));
        }
        Ok(TfliteFile { bytes, has_data_behind, subgraphs })
    }

    /// The file as it is.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// How many elements may still be read.
pub(crate) struct Budget(usize);

impl Budget {
    /// Writers share what is equal, so that more may be read than there is; but not much more.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Budget(bytes.len().saturating_mul(16))
    }

    pub(crate) fn take(&mut self, elements: usize) -> Result<(), TfliteError> {
        let left = self.0.checked_sub(elements);
        self.0 = left.ok_or_else(|| {
            TfliteError::Flatbuffer("it refers to the same bytes too often".to_owned())
        })?;
        Ok(())
    }
}

fn codes(root: Table<'_>, budget: &mut Budget) -> Result<Vec<Builtin>, TfliteError> {
    let Some(listed) = root.vector(model::OPERATOR_CODES, 4)? else { return Ok(Vec::new()) };
    let mut codes = Vec::new();
    for table in listed.tables() {
        let table = table?;
        // Codes that do not fit a byte are in a field of their own; the other has 127 then.
        let narrow = i32::from(table.u8(operator_code::DEPRECATED_BUILTIN_CODE)?.cast_signed());
        let code = table.i32(operator_code::BUILTIN_CODE, 0)?.max(narrow);
        let custom = table.string(operator_code::CUSTOM_CODE)?;
        budget.take(1 + custom.len())?;
        codes.push(Builtin::of(code, &custom));
    }
    Ok(codes)
}

/// The data of a buffer.
enum Data<'a> {
    None,
    /// In the flatbuffer.
    Within(&'a [u8]),
    /// So many bytes behind it, or in another file.
    Behind(u64),
}

fn buffers<'a>(root: Table<'a>, budget: &mut Budget) -> Result<Vec<Data<'a>>, TfliteError> {
    let Some(listed) = root.vector(model::BUFFERS, 4)? else { return Ok(Vec::new()) };
    budget.take(listed.len)?;
    let mut buffers = Vec::with_capacity(listed.len);
    for table in listed.tables() {
        let table = table?;
        let within = table.vector(buffer::DATA, 1)?.map(|data| data.as_bytes());
        // An offset of 0 or 1 is none.
        let behind = if table.u64(buffer::OFFSET)? > 1 { table.u64(buffer::SIZE)? } else { 0 };
        buffers.push(match within {
            Some(data) if !data.is_empty() => Data::Within(data),
            _ if behind > 0 => Data::Behind(behind),
            _ => Data::None,
        });
    }
    Ok(buffers)
}

struct Reader<'r, 'a> {
    /// Which subgraph it is.
    index: usize,
    codes: &'r [Builtin],
    buffers: &'r [Data<'a>],
    budget: &'r mut Budget,
    /// Whether options of an operator are behind the flatbuffer.
    has_options_behind: bool,
}

impl<'a> Reader<'_, 'a> {
    fn subgraph(&mut self, table: Table<'a>) -> Result<Subgraph, TfliteError> {
        let mut tensors = Vec::new();
        if let Some(listed) = table.vector(subgraph::TENSORS, 4)? {
            self.budget.take(listed.len)?;
            for (index, tensor) in listed.tables().enumerate() {
                tensors.push(self.tensor(index, tensor?)?);
            }
        }
        let mut operators = Vec::new();
        let listed = table.vector(subgraph::OPERATORS, 4)?;
        for (index, operator) in listed.iter().flat_map(Vector::tables).enumerate() {
            operators.push(self.operator(index, operator?, tensors.len())?);
        }
        let boundary = |what: &str, indices: Vec<Option<usize>>| {
            let all: Option<Vec<usize>> = indices.into_iter().collect();
            let fault = || format!("subgraph {}: an {what} is not there", self.index);
            all.ok_or_else(|| TfliteError::Model(fault()))
        };
        let count = tensors.len();
        let whose = format!("subgraph {}", self.index);
        let model = |fault: String| TfliteError::Model(format!("{whose}: {fault}"));
        let inputs = indices(table, subgraph::INPUTS, count, self.budget)?.map_err(model)?;
        let outputs = indices(table, subgraph::OUTPUTS, count, self.budget)?.map_err(model)?;
        Ok(Subgraph {
            inputs: boundary("input", inputs)?,
            outputs: boundary("output", outputs)?,
            tensors,
            operators,
            operators_at: listed.map_or(0, |listed| listed.at),
        })
    }

    fn tensor(&mut self, index: usize, table: Table<'a>) -> Result<Tensor, TfliteError> {
        let name = table.string(tensor::NAME)?;
        let shape = table.vector(tensor::SHAPE, 4)?;
        self.budget.take(1 + name.len() + shape.map_or(0, |shape| shape.len))?;
        let dims: Vec<i32> = shape.iter().flat_map(Vector::i32s).collect();
        let fault = |fault: String| {
            let name = name.clone();
            TfliteError::Tensor { subgraph: self.index, index, name, fault }
        };
        let buffer = table.u32(tensor::BUFFER, 0)? as usize;
        let data = match self.buffers.get(buffer) {
            Some(data) => data,
            None if buffer == 0 => &Data::None,
            None => return Err(fault(format!("buffer {buffer} of {}", self.buffers.len()))),
        };
        let dtype = table.u8(tensor::TYPE)?;
        let is_external = table.u32(tensor::EXTERNAL_BUFFER, 0)? > 0;
        let (stored, ints) = match data {
            Data::Within(data) => (Some(data.len() as u64), small_ints(data, dtype)),
            Data::Behind(bytes) => (Some(*bytes), None),
            // How large it is follows from type and shape.
            Data::None if is_external => (Some(0), None),
            Data::None => (None, None),
        };
        let is_variable = table.u8(tensor::IS_VARIABLE)? != 0;
        Ok(Tensor { name, dims, dtype, stored, ints, is_variable })
    }

    fn operator(
        &mut self,
        index: usize,
        table: Table<'a>,
        tensors: usize,
    ) -> Result<Operator, TfliteError> {
        let code = table.u32(operator::OPCODE_INDEX, 0)? as usize;
        let subgraph = self.index;
        let fault = |kind: &str, fault: String| TfliteError::Operator {
            subgraph,
            index,
            kind: kind.to_owned(),
            fault,
        };
        let Some(builtin) = self.codes.get(code) else {
            return Err(fault("", format!("operator code {code} of {}", self.codes.len())));
        };
        let kind = builtin.name.clone();
        self.budget.take(1 + kind.len())?;
        let named = |what: String| fault(&kind, what);
        let inputs = indices(table, operator::INPUTS, tensors, self.budget)?.map_err(named)?;
        let outputs = indices(table, operator::OUTPUTS, tensors, self.budget)?.map_err(named)?;
        let outputs: Option<Vec<usize>> = outputs.into_iter().collect();
        let outputs = outputs.ok_or_else(|| named("an output is not there".to_owned()))?;
        self.has_options_behind |= table.u64(operator::LARGE_CUSTOM_OPTIONS_OFFSET)? > 1;
        let mut options = [0; OPTIONS];
        if let Some(table) = table.table(operator::BUILTIN_OPTIONS)? {
            for (field, option) in options.iter_mut().enumerate() {
                // Fields behind the last that is read here may be narrower, and the last of the file.
                *option = table.i32(field, 0).unwrap_or(0);
            }
        }
        Ok(Operator {
            kind,
            is_custom: builtin.is_custom,
            class: builtin.class,
            inputs,
            outputs,
            options,
        })
    }
}

/// The tensors that a field lists, or what is wrong with them; -1 is none.
fn indices(
    table: Table<'_>,
    field: usize,
    tensors: usize,
    budget: &mut Budget,
) -> Result<Result<Vec<Option<usize>>, String>, TfliteError> {
    let Some(listed) = table.vector(field, 4)? else { return Ok(Ok(Vec::new())) };
    budget.take(listed.len)?;
    let index = |index: i32| match usize::try_from(index) {
        Ok(index) if index < tensors => Ok(Some(index)),
        Err(_) if index == -1 => Ok(None),
        _ => Err(format!("tensor {index} of {tensors}")),
    };
    Ok(listed.i32s().map(index).collect())
}

/// The elements of a constant of a few integers.
fn small_ints(data: &[u8], dtype: u8) -> Option<Vec<i64>> {
    match dtype {
        INT32 if data.len() <= 4 * MOST_INTS => {
            let elements = data.chunks_exact(4);
            Some(
                elements.map(|e| i64::from(i32::from_le_bytes([e[0], e[1], e[2], e[3]]))).collect(),
            )
        }
        INT64 if data.len() <= 8 * MOST_INTS => {
            let number = |e: &[u8]| e.try_into().ok().map(i64::from_le_bytes);
            data.chunks_exact(8).map(number).collect()
        }
        _ => None,
    }
}
