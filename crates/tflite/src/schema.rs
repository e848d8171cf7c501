//! The numbers of the fields of TensorFlow Lite's schema that are read or written here.

pub(crate) mod model {
    pub(crate) const OPERATOR_CODES: usize = 1;
    pub(crate) const SUBGRAPHS: usize = 2;
    pub(crate) const BUFFERS: usize = 4;
    pub(crate) const METADATA: usize = 6;
    /// How many fields there are. The first is a number, all others are references.
    pub(crate) const FIELDS: usize = 10;
}

pub(crate) mod operator_code {
    pub(crate) const DEPRECATED_BUILTIN_CODE: usize = 0;
    pub(crate) const CUSTOM_CODE: usize = 1;
    pub(crate) const BUILTIN_CODE: usize = 3;
}

pub(crate) mod subgraph {
    pub(crate) const TENSORS: usize = 0;
    pub(crate) const INPUTS: usize = 1;
    pub(crate) const OUTPUTS: usize = 2;
    pub(crate) const OPERATORS: usize = 3;
}

pub(crate) mod tensor {
    pub(crate) const SHAPE: usize = 0;
    pub(crate) const TYPE: usize = 1;
    pub(crate) const BUFFER: usize = 2;
    pub(crate) const NAME: usize = 3;
    pub(crate) const IS_VARIABLE: usize = 5;
    pub(crate) const EXTERNAL_BUFFER: usize = 10;
}

pub(crate) mod operator {
    pub(crate) const OPCODE_INDEX: usize = 0;
    pub(crate) const INPUTS: usize = 1;
    pub(crate) const OUTPUTS: usize = 2;
    /// The kind of options is field 3.
    pub(crate) const BUILTIN_OPTIONS: usize = 4;
    pub(crate) const LARGE_CUSTOM_OPTIONS_OFFSET: usize = 9;
}

pub(crate) mod buffer {
    pub(crate) const DATA: usize = 0;
    pub(crate) const OFFSET: usize = 1;
    pub(crate) const SIZE: usize = 2;
}

pub(crate) mod metadata {
    pub(crate) const NAME: usize = 0;
    pub(crate) const BUFFER: usize = 1;
}
