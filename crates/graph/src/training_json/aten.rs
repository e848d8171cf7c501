//! The names that `ATen` and torch have for what we know.

use crate::dtype::Dtype;
use crate::op::Op;

/// The alias set of an op of `ATen` on so many tensors; scalars are not counted.
pub(super) fn class(base: &str, inputs: usize) -> Op {
    match base {
        "add" | "sub" | "mul" | "div" | "pow" | "eq" | "ne" | "le" | "lt" | "ge" | "gt"
        | "maximum" | "minimum" | "bitwise_and" | "bitwise_or" | "logical_and" | "logical_or" => {
            if inputs == 1 {
                Op::Unary
            } else {
                Op::Binary
            }
        }
        "threshold_backward"
        | "gelu_backward"
        | "silu_backward"
        | "sigmoid_backward"
        | "tanh_backward"
        | "hardtanh_backward"
        | "hardswish_backward"
        | "hardsigmoid_backward"
        | "leaky_relu_backward"
        | "elu_backward"
        | "native_dropout_backward"
        | "_softmax_backward_data"
        | "_log_softmax_backward_data" => Op::Binary,
        "relu" | "gelu" | "silu" | "sigmoid" | "tanh" | "hardtanh" | "hardswish"
        | "hardsigmoid" | "leaky_relu" | "elu" | "exp" | "log" | "neg" | "abs" | "sqrt"
        | "rsqrt" | "erf" | "sin" | "cos" | "reciprocal" | "native_dropout" | "logical_not" => {
            Op::Unary
        }
        "where" => Op::Where,
        "clamp" | "clamp_min" | "clamp_max" => Op::Clamp,
        "clone" => Op::Copy,
        "_softmax" | "_log_softmax" | "_safe_softmax" => Op::Softmax,
        "native_layer_norm"
        | "native_group_norm"
        | "native_batch_norm"
        | "_native_batch_norm_legit"
        | "_native_batch_norm_legit_functional"
        | "_native_batch_norm_legit_no_training" => Op::Norm,
        "cumsum" | "cumprod" => Op::Scan,
        "mm" | "bmm" | "addmm" | "baddbmm" | "matmul" => Op::MatMul,
        "mean" | "sum" | "amax" | "amin" | "var" => Op::Reduce,
        "embedding" | "gather" | "index" | "index_select" => Op::Gather,
        "ones_like" | "zeros_like" | "empty_like" | "new_ones" | "new_zeros" => Op::ShapeOf,
        "arange" | "zeros" | "ones" | "full" | "scalar_tensor" => Op::Fill,
        _ => Op::Custom,
    }
}

/// Whether an op makes the same of the same whenever it runs.
pub(super) fn is_repeatable(base: &str) -> bool {
    let draws = base.contains("dropout") || base.contains("rand") || base.ends_with('_');
    let known = match base {
        "convolution"
        | "max_pool2d_with_indices"
        | "avg_pool2d"
        | "_adaptive_avg_pool2d"
        | "upsample_nearest2d"
        | "upsample_bilinear2d"
        | "constant_pad_nd"
        | "var_mean"
        | "cat"
        | "stack"
        | "_to_copy"
        | "view"
        | "_unsafe_view"
        | "reshape"
        | "alias"
        | "detach"
        | "t"
        | "transpose"
        | "permute"
        | "expand"
        | "slice"
        | "select"
        | "split"
        | "split_with_sizes"
        | "squeeze"
        | "unsqueeze" => true,
        base => class(base, 1) != Op::Custom,
    };
    known && !draws
}

/// The element type that torch calls so.
pub(super) fn dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "float32" => Dtype::F32,
        "float64" => Dtype::F64,
        "float16" => Dtype::F16,
        "bfloat16" => Dtype::Bf16,
        "int64" => Dtype::I64,
        "int32" => Dtype::I32,
        "int16" => Dtype::I16,
        "int8" => Dtype::I8,
        "uint64" => Dtype::U64,
        "uint32" => Dtype::U32,
        "uint16" => Dtype::U16,
        "uint8" => Dtype::U8,
        "bool" => Dtype::Bool,
        "complex64" => Dtype::C64,
        "complex128" => Dtype::C128,
        "float8_e4m3fn" => Dtype::F8E4m3fn,
        "float8_e4m3fnuz" => Dtype::F8E4m3fnuz,
        "float8_e5m2" => Dtype::F8E5m2,
        "float8_e5m2fnuz" => Dtype::F8E5m2fnuz,
        "float8_e8m0fnu" => Dtype::F8E8m0,
        name => name.parse().ok()?,
    })
}
