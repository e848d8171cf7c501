//! Functions of elements.

use plimsoll_graph::Dtype;
use plimsoll_model::{Binary, Conversion, Unary, Variadic};

use super::{Form, Formed, number};
use crate::proto::{AttributeProto, TensorProto};
use crate::write::attribute::{float, int, tensor, text};

impl Form<'_> {
    pub(super) fn unary(&mut self, unary: Unary) -> Formed {
        let (kind, since) = named(unary).ok_or("it is a part of a fused operator alone")?;
        self.is(kind, since)?;
        self.emitted.attributes = numbers(unary);
        Ok(())
    }

    pub(super) fn binary(&mut self, binary: Binary) -> Formed {
        let (kind, since) = match binary {
            Binary::Add => ("Add", 7),
            Binary::Sub => ("Sub", 7),
            Binary::Mul => ("Mul", 7),
            Binary::Div => ("Div", 7),
            Binary::Mod { .. } => ("Mod", 10),
            Binary::Pow => ("Pow", 7),
            Binary::And => ("And", 7),
            Binary::Or => ("Or", 7),
            Binary::Xor => ("Xor", 7),
            Binary::Equal => ("Equal", 7),
            Binary::Less => ("Less", 7),
            Binary::LessOrEqual => ("LessOrEqual", 12),
            Binary::Greater => ("Greater", 7),
            Binary::GreaterOrEqual => ("GreaterOrEqual", 12),
            Binary::Prelu => ("PRelu", 7),
            Binary::BitwiseAnd => ("BitwiseAnd", 18),
            Binary::BitwiseOr => ("BitwiseOr", 18),
            Binary::BitwiseXor => ("BitwiseXor", 18),
            Binary::ShiftLeft | Binary::ShiftRight => ("BitShift", 11),
            Binary::AddGelu { .. } | Binary::QuantizedAdd | Binary::QuantizedMul => {
                return Err("no rewrite changes this operator".to_owned());
            }
        };
        self.is(kind, since)?;
        match binary {
            Binary::Mod { as_in_c } => self.set(int("fmod", as_in_c.into())),
            Binary::ShiftLeft => self.set(text("direction", "LEFT")),
            Binary::ShiftRight => self.set(text("direction", "RIGHT")),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn variadic(&mut self, variadic: Variadic) -> Formed {
        let kind = match variadic {
            Variadic::Max => "Max",
            Variadic::Min => "Min",
            Variadic::Sum => "Sum",
            Variadic::Mean => "Mean",
        };
        self.is(kind, 8)
    }

    /// The bounds are attributes before edition 11.
    pub(super) fn clip(&mut self) -> Formed {
        self.is("Clip", 6)?;
        if self.version < 11 {
            for (slot, name) in [(1, "min"), (2, "max")] {
                if let Some(bound) = self.take_float(slot)? {
                    self.set(float(name, bound));
                }
            }
        }
        Ok(())
    }

    pub(super) fn cast(&mut self, to: Dtype, conversion: Conversion) -> Formed {
        self.is("Cast", 6)?;
        self.set(int("to", number(to)));
        self.set_since(19, int("saturate", 0), conversion.saturate)
    }

    pub(super) fn fill(&mut self, dtype: Dtype, bits: u128) -> Formed {
        self.is("ConstantOfShape", 9)?;
        let bytes = (dtype.bits() as usize).div_ceil(8);
        let raw_data = Some(bits.to_le_bytes()[..bytes].to_vec().into());
        let data_type = Some(number(dtype) as i32);
        let value = TensorProto { dims: vec![1], data_type, raw_data, ..TensorProto::default() };
        self.set(tensor("value", value));
        Ok(())
    }
}

/// What a function is called, and since which edition; `None` for what only follows others.
fn named(unary: Unary) -> Option<(&'static str, i64)> {
    Some(match unary {
        Unary::Abs => ("Abs", 6),
        Unary::Acos => ("Acos", 7),
        Unary::Acosh => ("Acosh", 9),
        Unary::Asin => ("Asin", 7),
        Unary::Asinh => ("Asinh", 9),
        Unary::Atan => ("Atan", 7),
        Unary::Atanh => ("Atanh", 9),
        Unary::BitwiseNot => ("BitwiseNot", 18),
        Unary::Ceil => ("Ceil", 6),
        Unary::Celu { .. } => ("Celu", 12),
        Unary::Cos => ("Cos", 7),
        Unary::Cosh => ("Cosh", 9),
        Unary::Elu { .. } => ("Elu", 6),
        Unary::Erf => ("Erf", 9),
        Unary::Exp => ("Exp", 6),
        Unary::Floor => ("Floor", 6),
        Unary::Gelu { .. } => ("Gelu", 20),
        Unary::HardSigmoid { .. } => ("HardSigmoid", 6),
        Unary::HardSwish => ("HardSwish", 14),
        Unary::IsInf { .. } => ("IsInf", 10),
        Unary::IsNan => ("IsNaN", 9),
        Unary::LeakyRelu { .. } => ("LeakyRelu", 6),
        Unary::Log => ("Log", 6),
        Unary::Mish => ("Mish", 18),
        Unary::Neg => ("Neg", 6),
        Unary::Not => ("Not", 1),
        Unary::Reciprocal => ("Reciprocal", 6),
        Unary::Relu => ("Relu", 6),
        Unary::Round => ("Round", 11),
        Unary::Selu { .. } => ("Selu", 6),
        Unary::Shrink { .. } => ("Shrink", 9),
        Unary::Sigmoid => ("Sigmoid", 6),
        Unary::Sign => ("Sign", 9),
        Unary::Sin => ("Sin", 7),
        Unary::Sinh => ("Sinh", 9),
        Unary::Softplus => ("Softplus", 1),
        Unary::Softsign => ("Softsign", 1),
        Unary::Sqrt => ("Sqrt", 6),
        Unary::Swish { .. } => ("Swish", 24),
        Unary::Tan => ("Tan", 7),
        Unary::Tanh => ("Tanh", 6),
        Unary::ThresholdedRelu { .. } => ("ThresholdedRelu", 10),
        Unary::Affine { .. } | Unary::Clamp { .. } | Unary::ScaledTanh { .. } => return None,
    })
}

/// The numbers of a function, as attributes.
fn numbers(unary: Unary) -> Vec<AttributeProto> {
    match unary {
        Unary::Celu { alpha }
        | Unary::Elu { alpha }
        | Unary::LeakyRelu { alpha }
        | Unary::Swish { alpha }
        | Unary::ThresholdedRelu { alpha } => vec![float("alpha", alpha)],
        Unary::Gelu { tanh } => vec![text("approximate", if tanh { "tanh" } else { "none" })],
        Unary::HardSigmoid { alpha, beta } => vec![float("alpha", alpha), float("beta", beta)],
        Unary::IsInf { negative, positive } => {
            let flags = [("detect_negative", negative), ("detect_positive", positive)];
            flags.map(|(name, flag)| int(name, flag.into())).to_vec()
        }
        Unary::Selu { alpha, gamma } => vec![float("alpha", alpha), float("gamma", gamma)],
        Unary::Shrink { bias, lambda } => vec![float("bias", bias), float("lambd", lambda)],
        _ => Vec::new(),
    }
}
