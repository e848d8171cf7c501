//! Plain loops in double precision, and random operands.

use plimsoll_kernels::conv::Conv;
use plimsoll_kernels::conv_transpose::ConvTranspose;
use plimsoll_kernels::gemm::{Matrix, Shape};
use plimsoll_kernels::{Activation, Bias, Epilogue, Residual, Window};

/// A small generator (xorshift), so that every run is the same.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        let mut x = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0 = x;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// From 0 up to but not `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From 1 up to `most`.
    pub(crate) fn upto(&mut self, most: usize) -> usize {
        1 + self.below(most)
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.next() & 1 == 0
    }

    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }

    pub(crate) fn epilogue<'a>(
        &mut self,
        bias: &'a [f32],
        residual: &'a [f32],
        stride: usize,
    ) -> Epilogue<'a> {
        let activations = [
            Activation::None,
            Activation::Relu,
            Activation::Clip { min: -0.5, max: 0.75 },
            Activation::LeakyRelu { slope: 0.1 },
            Activation::Sigmoid,
            Activation::Silu,
            Activation::Tanh,
            Activation::Gelu,
            Activation::GeluTanh,
            Activation::HardSigmoid { alpha: 0.2, beta: 0.5 },
            Activation::HardSwish,
            Activation::Elu { alpha: 0.7 },
        ];
        let residuals =
            [Residual::None, Residual::InPlace, Residual::Rows { data: residual, stride }];
        Epilogue {
            alpha: [1.0, 0.5][self.below(2)],
            beta: [1.0, -2.0][self.below(2)],
            bias: [Bias::None, Bias::Scalar(0.25), Bias::Row(bias), Bias::Column(bias)]
                [self.below(4)],
            residual: residuals[self.below(3)],
            activation: activations[self.below(activations.len())],
            then: None,
        }
    }
}

/// Whether all is within single precision of what it should be: sums of `terms` products of numbers up to 1.
pub(crate) fn close(got: &[f32], expected: &[f64], terms: usize, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let room = 1e-6 * (4.0 + terms as f64).max(1.0).sqrt() * 2.0;
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        let off = (f64::from(*got) - expected).abs();
        assert!(off <= room * expected.abs().max(1.0), "{what}: {got} at {at}, not {expected}");
    }
}

pub(crate) fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Dims of an output that has one more place than fits, as rounding up gives it.
pub(crate) fn outputs_of(window: &Window) -> Vec<usize> {
    let more = |d: usize| {
        let padded = window.input[d] + window.pads_begin[d] + window.pads_end[d];
        let reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
        let all = padded.saturating_sub(reach).div_ceil(window.strides[d]) + 1;
        // The last window begins inside of the input or of the padding before it.
        let begins = (all - 1) * window.strides[d] < window.input[d] + window.pads_begin[d];
        if begins && window.output[d] > 0 { all } else { window.output[d] }
    };
    (0..3).map(more).collect()
}

fn activate(activation: Activation, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Clip { min, max } => x.clamp(min.into(), max.into()),
        Activation::LeakyRelu { slope } => {
            if x < 0.0 {
                f64::from(slope) * x
            } else {
                x
            }
        }
        Activation::Sigmoid => sigmoid(x),
        Activation::Silu => x * sigmoid(x),
        Activation::Tanh => x.tanh(),
        Activation::Gelu => 0.5 * x * (1.0 + erf(x / 2f64.sqrt())),
        Activation::GeluTanh => {
            0.5 * x
                * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
        }
        Activation::HardSigmoid { alpha, beta } => {
            (f64::from(alpha) * x + f64::from(beta)).clamp(0.0, 1.0)
        }
        Activation::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Activation::Elu { alpha } => {
            if x < 0.0 {
                f64::from(alpha) * (x.exp() - 1.0)
            } else {
                x
            }
        }
        other => panic!("no oracle for {other:?}"),
    }
}

/// By its series, for numbers that are not large; one beyond.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.5 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// The epilogue of one sum; the bias is that of `bias_row`.
fn finish(
    e: &Epilogue<'_>,
    sum: f64,
    bias_row: usize,
    row: usize,
    column: usize,
    before: f32,
) -> f64 {
    let bias = match e.bias {
        Bias::None => 0.0,
        Bias::Scalar(x) => x,
        Bias::Row(x) => x[bias_row],
        Bias::Column(x) => x[column],
    };
    let residual = match e.residual {
        Residual::None => 0.0,
        Residual::InPlace => before,
        Residual::Rows { data, stride } => data[row * stride + column],
    };
    let sum =
        f64::from(e.alpha) * sum + f64::from(e.beta) * (f64::from(bias) + f64::from(residual));
    activate(e.activation, sum)
}

pub(crate) fn product(
    shape: Shape,
    a: Matrix<'_>,
    b: Matrix<'_>,
    epilogue: &Epilogue<'_>,
    before: &[f32],
) -> Vec<f64> {
    let Shape { m, n, k } = shape;
    let element = |place: usize| {
        let (row, column) = (place / n, place % n);
        let sum = (0..k).map(|k| f64::from(a.at(row, k)) * f64::from(b.at(k, column))).sum();
        finish(epilogue, sum, row, row, column, before[place])
    };
    (0..m * n).map(element).collect()
}

pub(crate) fn matmul(a: &[f32], a_dims: &[usize], b: &[f32], b_dims: &[usize]) -> Vec<f64> {
    let a_dims = if a_dims.len() == 1 { [&[1], a_dims].concat() } else { a_dims.to_vec() };
    let b_dims = if b_dims.len() == 1 { [b_dims, &[1]].concat() } else { b_dims.to_vec() };
    let ([a_batch @ .., m, k], [b_batch @ .., _, n]) = (&a_dims[..], &b_dims[..]) else {
        panic!("matrices")
    };
    let rank = a_batch.len().max(b_batch.len());
    let dim =
        |batch: &[usize], d: usize| (d + batch.len()).checked_sub(rank).map_or(1, |d| batch[d]);
    let dims: Vec<usize> = (0..rank)
        .map(|d| if dim(a_batch, d) == 1 { dim(b_batch, d) } else { dim(a_batch, d) })
        .collect();
    let mut y = Vec::new();
    for at in 0..dims.iter().product::<usize>() {
        let matrix = |batch: &[usize]| {
            let (mut rest, mut place, mut step) = (at, 0, 1);
            for d in (0..rank).rev() {
                let index = rest % dims[d];
                rest /= dims[d];
                place += if dim(batch, d) == 1 { 0 } else { index * step };
                step *= dim(batch, d);
            }
            place
        };
        let a = Matrix::rows(&a[matrix(a_batch) * m * k..], *k);
        let b = Matrix::rows(&b[matrix(b_batch) * k * n..], *n);
        let shape = Shape { m: *m, n: *n, k: *k };
        y.extend(product(shape, a, b, &Epilogue::NONE, &vec![0.0; m * n]));
    }
    y
}

/// A place of a plane from its number.
fn place_of(dims: [usize; 3], at: usize) -> [usize; 3] {
    [at / (dims[1] * dims[2]), at / dims[2] % dims[1], at % dims[2]]
}

fn number_of(dims: [usize; 3], at: [usize; 3]) -> usize {
    (at[0] * dims[1] + at[1]) * dims[2] + at[2]
}

/// Where each tap of the window is for an output; `None` over padding, and where the output does not reach.
fn seen(window: &Window, output: usize) -> Vec<Option<usize>> {
    let at = place_of(window.output, output);
    let tap = |tap: usize| {
        let tap = place_of(window.kernel, tap);
        let mut place = [0; 3];
        for d in 0..3 {
            let padded = at[d] * window.strides[d] + tap[d] * window.dilations[d];
            place[d] = padded
                .checked_sub(window.pads_begin[d])
                .filter(|place| *place < window.input[d])?;
        }
        Some(number_of(window.input, place))
    };
    (0..window.kernel_len()).map(tap).collect()
}

pub(crate) fn conv(
    conv: &Conv,
    x: &[f32],
    weights: &[f32],
    epilogue: &Epilogue<'_>,
    before: &[f32],
) -> Vec<f64> {
    let window = &conv.window;
    let seen: Vec<_> = (0..window.output_len()).map(|output| seen(window, output)).collect();
    let (per_group, taps) = (conv.in_channels / conv.groups, window.kernel_len());
    let mut y = Vec::new();
    for plane in 0..conv.planes() {
        let (image, channel) = (plane / conv.out_channels, plane % conv.out_channels);
        let group = channel / (conv.out_channels / conv.groups);
        for (output, seen) in seen.iter().enumerate() {
            let mut sum = 0.0;
            for i in 0..per_group {
                let x =
                    &x[(image * conv.in_channels + group * per_group + i) * window.input_len()..];
                let weights = &weights[(channel * per_group + i) * taps..][..taps];
                let products =
                    seen.iter().zip(weights).filter_map(|(place, w)| Some((x[(*place)?], *w)));
                sum += products.map(|(x, w)| f64::from(x) * f64::from(w)).sum::<f64>();
            }
            y.push(finish(epilogue, sum, channel, plane, output, before[y.len()]));
        }
    }
    y
}

/// By scattering, as it is defined.
pub(crate) fn conv_transpose(
    conv: &ConvTranspose,
    x: &[f32],
    weights: &[f32],
    epilogue: &Epilogue<'_>,
    before: &[f32],
) -> Vec<f64> {
    let window = &conv.window;
    let mut sums = vec![0.0; conv.planes() * window.input_len()];
    let (in_group, out_group) = (conv.in_channels / conv.groups, conv.out_channels / conv.groups);
    for (at, x) in x.iter().enumerate() {
        let (plane, output) = (at / window.output_len(), at % window.output_len());
        let (image, channel) = (plane / conv.in_channels, plane % conv.in_channels);
        for o in 0..out_group {
            let to = image * conv.out_channels + channel / in_group * out_group + o;
            for (tap, place) in seen(window, output).into_iter().enumerate() {
                let w = weights[(channel * out_group + o) * window.kernel_len() + tap];
                let Some(place) = place else { continue };
                sums[to * window.input_len() + place] += f64::from(*x) * f64::from(w);
            }
        }
    }
    let one = |(at, sum): (usize, f64)| {
        let (plane, place) = (at / window.input_len(), at % window.input_len());
        finish(epilogue, sum, plane % conv.out_channels, plane, place, before[at])
    };
    sums.into_iter().enumerate().map(one).collect()
}

fn pool(window: &Window, x: &[f32], of: impl Fn(&[f64], usize) -> f64) -> Vec<f64> {
    let planes = x.chunks_exact(window.input_len());
    let one = |x: &[f32], output: usize| {
        let there: Vec<f64> =
            seen(window, output).into_iter().flatten().map(|place| x[place].into()).collect();
        of(&there, output)
    };
    planes
        .flat_map(|x| {
            (0..window.output_len()).map(move |output| one(x, output)).collect::<Vec<_>>()
        })
        .collect()
}

pub(crate) fn max_pool(window: &Window, x: &[f32]) -> Vec<f64> {
    pool(window, x, |there, _| there.iter().copied().fold(f64::from(f32::MIN), f64::max))
}

pub(crate) fn average_pool(window: &Window, counts_pad: bool, x: &[f32]) -> Vec<f64> {
    let with_pad = |output: usize| {
        let at = place_of(window.output, output);
        let inside = |tap: usize| {
            let tap = place_of(window.kernel, tap);
            (0..3).all(|d| {
                let place = at[d] * window.strides[d] + tap[d] * window.dilations[d];
                place < window.input[d] + window.pads_begin[d] + window.pads_end[d]
            })
        };
        (0..window.kernel_len()).filter(|tap| inside(*tap)).count()
    };
    pool(window, x, |there, output| {
        let count = if counts_pad { with_pad(output) } else { there.len() };
        there.iter().sum::<f64>() / count.max(1) as f64
    })
}

pub(crate) fn lp_pool(window: &Window, p: u32, x: &[f32]) -> Vec<f64> {
    pool(window, x, |there, _| {
        there.iter().map(|x| x.abs().powi(p.cast_signed())).sum::<f64>().powf(1.0 / f64::from(p))
    })
}
