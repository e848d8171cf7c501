//! From the type of a tensor to a type of Rust: a kernel for each.

/// Types with arithmetic: those that models reckon with. Each is a copy of every kernel.
macro_rules! by_number {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            plimsoll_graph::Dtype::F32 => $crate::types::with!($type = f32, $body),
            plimsoll_graph::Dtype::F64 => $crate::types::with!($type = f64, $body),
            plimsoll_graph::Dtype::I64 => $crate::types::with!($type = i64, $body),
            plimsoll_graph::Dtype::I32 => $crate::types::with!($type = i32, $body),
            other => Err($crate::at::no_kernel_for(other)),
        }
    };
}

/// Types that are converted to each other.
macro_rules! by_any {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            plimsoll_graph::Dtype::F32 => $crate::types::with!($type = f32, $body),
            plimsoll_graph::Dtype::F64 => $crate::types::with!($type = f64, $body),
            plimsoll_graph::Dtype::F16 => {
                $crate::types::with!($type = plimsoll_kernels::half::F16, $body)
            }
            plimsoll_graph::Dtype::I64 => $crate::types::with!($type = i64, $body),
            plimsoll_graph::Dtype::I32 => $crate::types::with!($type = i32, $body),
            plimsoll_graph::Dtype::I8 => $crate::types::with!($type = i8, $body),
            plimsoll_graph::Dtype::U8 => $crate::types::with!($type = u8, $body),
            other => Err($crate::at::no_kernel_for(other)),
        }
    };
}

/// Types with the functions of analysis.
macro_rules! by_real {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            plimsoll_graph::Dtype::F32 => $crate::types::with!($type = f32, $body),
            plimsoll_graph::Dtype::F64 => $crate::types::with!($type = f64, $body),
            other => Err($crate::at::no_kernel_for(other)),
        }
    };
}

/// Types of integers that indices are of.
macro_rules! by_index {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            plimsoll_graph::Dtype::I64 => $crate::types::with!($type = i64, $body),
            plimsoll_graph::Dtype::I32 => $crate::types::with!($type = i32, $body),
            other => Err($crate::at::no_kernel_for(other)),
        }
    };
}

/// Types as wide as the elements, where these are only moved.
macro_rules! by_width {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype.bits() {
            8 => $crate::types::with!($type = u8, $body),
            16 => $crate::types::with!($type = u16, $body),
            32 => $crate::types::with!($type = u32, $body),
            64 => $crate::types::with!($type = u64, $body),
            _ => Err($crate::at::no_kernel_for($dtype)),
        }
    };
}

/// An expression in which a name stands for a type.
macro_rules! with {
    ($name:ident = $type:ty, $body:expr) => {{
        type $name = $type;
        $body
    }};
}

pub(crate) use {by_any, by_index, by_number, by_real, by_width, with};
