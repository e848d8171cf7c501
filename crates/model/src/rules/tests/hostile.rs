//! Operands that no honest file has: nothing panics, and less knowledge never means other claims.

use plimsoll_graph::{Dim, Dtype, Int, Numbers, Shape};

use super::super::{Fact, outputs};
use crate::model::{
    ArgReduce, Attention, Binary, Cell, Convolution, Coordinates, Custom, DepthOrder, FusedMatMul,
    Gemm, GlobalPooling, GridSample, LayerNorm, Loss, LossReduction, Operator, PadMode, Padding,
    Pool, Pooling, Recurrence, Reduce, Reduction, Resize, RoiAlign, SignalWindow, Sizing, SkipNorm,
    Unary, Variadic, WindowForm, Windows,
};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len() as u64) as usize]
    }

    /// A number that is small, or as large as they come.
    fn number(&mut self, wild: bool) -> i64 {
        if wild && self.roll(3) == 0 {
            self.pick(&[i64::MIN, i64::MAX, i64::MIN + 1, i64::MAX - 1, 1 << 62, -(1 << 40)])
        } else {
            self.roll(8).cast_signed() - 2
        }
    }

    fn size(&mut self, wild: bool) -> u64 {
        if wild && self.roll(3) == 0 {
            self.pick(&[u64::MAX, u64::MAX - 1, 1 << 63, 1 << 60, 1 << 32, 0])
        } else {
            self.roll(6)
        }
    }

    fn sizes(&mut self, wild: bool) -> Vec<u64> {
        (0..self.roll(4)).map(|_| self.size(wild)).collect()
    }

    fn numbers(&mut self, wild: bool) -> Vec<i64> {
        (0..self.roll(6)).map(|_| self.number(wild)).collect()
    }

    /// A tensor of which everything is known; its elements are if they are few.
    fn fact(&mut self, wild: bool) -> Fact {
        let dtype = self.pick(&[Dtype::F32, Dtype::I64, Dtype::I64, Dtype::U4, Dtype::C128]);
        let rank = self.pick(&[0, 1, 1, 1, 2, 3, 3, 4, 4, 5]);
        let dims: Vec<u64> = (0..rank).map(|_| self.size(wild)).collect();
        let count = dims.iter().try_fold(1u64, |count, dim| count.checked_mul(*dim));
        let numbers = count.filter(|count| *count <= 6).map(|count| match dtype {
            Dtype::F32 => {
                let floats = [0.5, 1.0, 2.0, 1.5, f64::NAN, f64::INFINITY, -1.0, 1e300];
                let kinds = if wild { 8 } else { 4 };
                Numbers::Floats((0..count).map(|_| self.pick(&floats[..kinds])).collect())
            }
            _ => Numbers::Ints((0..count).map(|_| self.number(wild).into()).collect()),
        });
        Fact { dtype: Some(dtype), shape: Some(Shape::from(&dims[..])), numbers }
    }

    /// The same tensor, with less known of it.
    fn veiled(&mut self, fact: &Fact) -> Fact {
        let mut fact = fact.clone();
        let mut whole = true;
        if self.roll(8) == 0 {
            return Fact::of_type(fact.dtype);
        }
        for dim in fact.shape.iter_mut().flat_map(|shape| &mut shape.0) {
            let Dim::Known(known) = *dim else { continue };
            *dim = match self.roll(6) {
                0 => Dim::Unknown,
                1 => Dim::AtMost(known.saturating_add(self.roll(3))),
                _ => continue,
            };
            whole = false;
        }
        if let Some(Numbers::Ints(ints)) = &mut fact.numbers {
            for int in ints {
                match self.roll(5) {
                    0 => *int = Int::ANY,
                    1 => int.lo = int.lo.saturating_sub(1),
                    2 => int.hi = int.hi.saturating_add(2),
                    _ => {}
                }
            }
        }
        if !whole || self.roll(5) == 0 {
            fact.numbers = None;
        }
        fact
    }

    fn windows(&mut self, wild: bool) -> Windows {
        let pads = Padding::Given(self.numbers(wild));
        let padding = match self.roll(5) {
            0 => Padding::SameUpper,
            1 => Padding::SameLower,
            2 => Padding::Valid,
            3 => pads,
            _ => Padding::default(),
        };
        let (strides, dilations) = (self.sizes(wild), self.sizes(wild));
        Windows { kernel: self.sizes(wild), strides, dilations, padding }
    }

    fn conv(&mut self, wild: bool) -> Convolution {
        let group = self.size(wild);
        Convolution { windows: self.windows(wild), group }
    }

    #[allow(clippy::too_many_lines, reason = "a table with a line for each operator")]
    fn operator(&mut self, wild: bool) -> Operator {
        let axis = self.number(wild);
        let maybe_axis = self.pick(&[None, Some(axis)]);
        let flag = self.roll(2) == 0;
        let other = self.roll(2) == 0;
        let listed = Some(self.numbers(wild)).filter(|_| flag);
        let dtype = self.pick(&[Dtype::U4, Dtype::F32, Dtype::C128]);
        match self.roll(58) {
            0 => Operator::Unary(Unary::Abs),
            1 => Operator::Binary(Binary::Add),
            2 => Operator::Variadic(Variadic::Max),
            3 => Operator::Where,
            4 => Operator::BitCast(dtype),
            5 => Operator::Fill { dtype, value: 0.0, bits: 0 },
            6 => Operator::Range,
            7 => Operator::Multinomial { dtype, samples: self.size(wild), seed: None },
            8 => Operator::SignalWindow(SignalWindow {
                dtype,
                form: WindowForm::Hann,
                periodic: flag,
            }),
            9 => Operator::Shape { start: axis, end: maybe_axis },
            10 => Operator::Reshape { allow_zero: flag },
            11 => Operator::Squeeze,
            12 => Operator::Unsqueeze,
            13 => Operator::Flatten { axis },
            14 => Operator::Slice,
            15 => Operator::Split { axis },
            16 => Operator::Concat { axis },
            17 => Operator::Expand,
            18 => Operator::Tile,
            19 => Operator::Pad(PadMode::Constant),
            20 => Operator::CenterCropPad(listed),
            21 => Operator::DepthToSpace { order: DepthOrder::default(), block: self.size(wild) },
            22 => Operator::SpaceToDepth { block: self.size(wild) },
            23 => Operator::Gather { axis },
            24 => Operator::GatherElements { axis },
            25 => Operator::GatherNd { batch_dims: self.size(wild) },
            26 => Operator::OneHot { axis },
            27 => Operator::NonZero,
            28 => Operator::Compress { axis: maybe_axis },
            29 => Operator::Unique { axis: maybe_axis, sorted: flag },
            30 => Operator::TopK { axis, largest: true, sorted: true },
            31 => Operator::NonMaxSuppression { centered: false },
            32 => Operator::MatMul,
            33 => Operator::Gemm(Gemm { transpose_a: flag, transpose_b: other, ..Gemm::default() }),
            34 => Operator::Einsum {
                equation: self.pick(&["ij,jk", "...i,i", "ab->ba", "i..."]).into(),
            },
            35 => Operator::Conv(self.conv(wild)),
            36 => Operator::ConvTranspose {
                conv: self.conv(wild),
                output_padding: self.sizes(wild),
                output_dims: Some(self.sizes(wild)).filter(|_| flag),
            },
            37 => Operator::CausalConv(None),
            38 => Operator::Pool(Pool {
                pooling: Pooling::Max { column_major: false },
                windows: self.windows(wild),
                ceil: flag,
            }),
            39 => Operator::GlobalPool(GlobalPooling::Max),
            40 => Operator::MaxUnpool(self.windows(wild)),
            41 => Operator::Col2Im(Windows::default()),
            42 => Operator::RoiAlign(RoiAlign { height: self.size(wild), ..RoiAlign::default() }),
            43 => Operator::GridSample(GridSample::default()),
            44 => Operator::AffineGrid { align_corners: false },
            45 => {
                let sizing = self.pick(&[Sizing::Exact, Sizing::NotLarger, Sizing::NotSmaller]);
                let choices = [Coordinates::CropAndResize, Coordinates::HalfPixel];
                let coordinates = choices[usize::from(other)];
                Operator::Resize(Resize { axes: listed, sizing, coordinates, ..Resize::default() })
            }
            46 => Operator::Reduce(Reduce {
                function: Reduction::Sum,
                keep_dims: flag,
                none_if_empty: other,
            }),
            47 => {
                Operator::ArgReduce(ArgReduce { axis, keep_dims: flag, largest: true, last: other })
            }
            48 => Operator::LayerNorm(LayerNorm { axis, ..LayerNorm::default() }),
            49 => {
                Operator::Recurrent(Recurrence { batch_first: flag, ..Recurrence::new(Cell::Rnn) })
            }
            50 => Operator::Attention(Attention {
                query_heads: self.size(wild),
                key_heads: self.size(wild),
                ..Attention::default()
            }),
            51 => Operator::Fourier { one_sided: flag, inverse: other },
            52 => Operator::ShortFourier { one_sided: flag },
            53 => Operator::Loss(Loss {
                softmax: other,
                reduction: [LossReduction::None, LossReduction::Sum][usize::from(flag)],
                ignore: None,
            }),
            54 => Operator::Det,
            55 => Operator::FusedMatMul(FusedMatMul {
                transpose_a: flag,
                transpose_b: other,
                alpha: 1.0,
                activation: None,
            }),
            56 => Operator::SkipNorm(SkipNorm { epsilon: 1e-5, rms: flag }),
            _ => Operator::Custom(Custom::default()),
        }
    }

    fn operands(&mut self, wild: bool) -> Vec<Option<Fact>> {
        (0..=self.roll(5)).map(|_| Some(self.fact(wild)).filter(|_| self.roll(9) > 0)).collect()
    }
}

fn infer(operator: &Operator, inputs: &[Option<Fact>]) -> Result<Vec<Fact>, String> {
    let inputs: Vec<Option<&Fact>> = inputs.iter().map(Option::as_ref).collect();
    outputs(operator, &inputs, 3)
}

#[test]
fn nothing_panics() {
    let mut dice = Dice(1);
    for _ in 0..100_000 {
        let (operator, inputs) = (dice.operator(true), dice.operands(true));
        let _ = infer(&operator, &inputs);
        let veiled: Vec<_> =
            inputs.iter().map(|fact| fact.as_ref().map(|fact| dice.veiled(fact))).collect();
        let _ = infer(&operator, &veiled);
    }
}

/// Whether what is said with less knowledge allows what is said with more.
fn allows(less: &Fact, more: &Fact) -> bool {
    let dims = match (less.dims(), more.dims()) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(less), Some(more)) => {
            less.len() == more.len()
                && less.iter().zip(more).all(|(less, more)| dim_allows(less.clone(), more.clone()))
        }
    };
    dims && (less.dtype.is_none() || less.dtype == more.dtype)
}

fn dim_allows(less: Dim, more: Dim) -> bool {
    match (less, more) {
        (Dim::Unknown, _) => true,
        (Dim::Known(less), Dim::Known(more)) => less == more,
        (Dim::AtMost(less), Dim::Known(more) | Dim::AtMost(more)) => more <= less,
        (Dim::Known(_) | Dim::AtMost(_) | Dim::Follows(_), _) => false,
    }
}

/// Whether less knowledge of the same operands leads to something else.
fn contradicts(dice: &mut Dice, operator: &Operator, inputs: &[Option<Fact>]) -> Option<String> {
    let whole = infer(operator, inputs).ok()?;
    let veiled: Vec<_> =
        inputs.iter().map(|fact| fact.as_ref().map(|fact| dice.veiled(fact))).collect();
    match infer(operator, &veiled) {
        Err(fault) => Some(format!("{fault}: {operator:?} of {veiled:?}")),
        Ok(part) => {
            let differs = |(part, whole): &(&Fact, &Fact)| !allows(part, whole);
            let pair = part.iter().zip(&whole).find(differs)?;
            Some(format!("{pair:?}: {operator:?} of {veiled:?}"))
        }
    }
}

#[test]
fn less_knowledge_never_means_other_claims() {
    let mut dice = Dice(2);
    let mut fitting = 0;
    for _ in 0..300_000 {
        let (operator, inputs) = (dice.operator(false), dice.operands(false));
        fitting += u32::from(infer(&operator, &inputs).is_ok());
        assert_eq!(contradicts(&mut dice, &operator, &inputs), None);
    }
    assert!(fitting > 50_000, "{fitting}");
}
