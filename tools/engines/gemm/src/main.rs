//! Products and convolutions beside those of other crates, on one thread, in one run.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release`: GFLOP per second of CPU time, least time of many calls, each crate in turn, so that a
//! busy machine is busy for all of them. A convolution is beside our own product of the same size.

use std::hint::black_box;
use std::time::Instant;

use plimsoll_kernels::conv::{self, Conv, Weights, conv_scratch, pack_conv, packed_conv_len};
use plimsoll_kernels::gemm::{Matrix, Operand, Product, Shape, gemm, gemm_scratch, pack_a, pack_b};
use plimsoll_kernels::gemm::{packed_a_len, packed_b_len};
use plimsoll_kernels::{Epilogue, Level, Window};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_tensor::NdTensorView;

fn main() {
    println!("GFLOP/s, least time of many; level {}", Level::detect().name());
    println!(
        "{:>20} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "m × n × k", "ours", "packed", "gemm", "rten", "packed", "matmul."
    );
    for (m, n, k) in [
        (256, 256, 256),
        (1024, 1024, 1024),
        (64, 12544, 147),
        (128, 768, 768),
        (512, 49, 4608),
        (1, 4096, 1024),
        (1, 1000, 2048),
    ] {
        products(Shape { m, n, k });
    }
    println!("\n{:>34} {:>8} {:>8} {:>8}", "convolution", "ours", "product", "ratio");
    let square = |name, channels, size, kernel, stride, groups| Layer {
        name,
        channels,
        size,
        kernel,
        stride,
        groups,
    };
    for layer in [
        square("3×3 64 → 64, 56²", (64, 64), 56, 3, 1, 1),
        square("3×3 128 → 128, 28²", (128, 128), 28, 3, 1, 1),
        square("3×3 256 → 256, 14²", (256, 256), 14, 3, 1, 1),
        square("3×3 512 → 512, 7²", (512, 512), 7, 3, 1, 1),
        square("7×7 by 2 3 → 64, 224²", (3, 64), 224, 7, 2, 1),
        square("1×1 64 → 256, 56²", (64, 256), 56, 1, 1, 1),
        square("1×1 16 → 96, 112²", (16, 96), 112, 1, 1, 1),
        square("1×1 96 → 24, 56²", (96, 24), 56, 1, 1, 1),
        square("1×1 320 → 1280, 7²", (320, 1280), 7, 1, 1, 1),
        square("depthwise 3×3 32, 112²", (32, 32), 112, 3, 1, 32),
        square("depthwise 3×3 by 2 96, 112²", (96, 96), 112, 3, 2, 96),
        square("depthwise 3×3 144, 56²", (144, 144), 56, 3, 1, 144),
        square("depthwise 3×3 384, 14²", (384, 384), 14, 3, 1, 384),
        square("depthwise 3×3 960, 7²", (960, 960), 7, 3, 1, 960),
        square("depthwise 5×5 by 2 144, 56²", (144, 144), 56, 5, 2, 144),
        square("depthwise 5×5 240, 28²", (240, 240), 28, 5, 1, 240),
        square("depthwise 5×5 672, 14²", (672, 672), 14, 5, 1, 672),
        square("depthwise 5×5 1152, 7²", (1152, 1152), 7, 5, 1, 1152),
    ] {
        convolution(&layer);
    }
}

/// Seconds of the fastest call of each, called in turn.
fn fastest<const N: usize>(mut calls: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut least = [f64::INFINITY; N];
    let begin = Instant::now();
    let mut rounds = 0;
    while rounds < 5 || begin.elapsed().as_secs_f64() < 1.0 {
        for (call, least) in calls.iter_mut().zip(&mut least) {
            let start = cpu_seconds();
            call();
            *least = least.min(cpu_seconds() - start);
        }
        rounds += 1;
    }
    least
}

/// CPU time of all threads of the process.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a value of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect()
}

fn products(shape: Shape) {
    let Shape { m, n, k } = shape;
    let level = Level::detect();
    let (a, b) = (numbers(m * k), numbers(k * n));
    let mut packed_b = vec![0.0; packed_b_len(level, k, n)];
    pack_b(level, k, n, Matrix::rows(&b, n), &mut packed_b);
    let mut scratch = vec![0.0; gemm_scratch(level, shape, false, false)];
    let mut second = scratch.clone();
    let mut outputs = vec![vec![0.0f32; m * n]; 6];
    let [plain, packed, other, rten, rten_packed, multiply] = &mut outputs[..] else {
        unreachable!()
    };
    let operand = Operand::Plain(Matrix::rows(&a, k));
    let product = |b| Product { shape, a: operand, b, epilogue: Epilogue::NONE };
    let executor = GemmExecutor::<f32>::new();
    let a_view = NdTensorView::from_data([m, k], a.as_slice());
    let b_view = NdTensorView::from_data([k, n], b.as_slice());
    let rten_b = executor.prepack_b(b_view);
    let times = fastest([
        &mut || {
            gemm(
                level,
                &product(Operand::Plain(Matrix::rows(&b, n))),
                black_box(plain),
                n,
                &mut scratch,
            )
        },
        &mut || {
            gemm(level, &product(Operand::Packed(&packed_b)), black_box(packed), n, &mut second)
        },
        &mut || other_gemm(shape, &a, &b, black_box(other)),
        &mut || {
            let (a, b) = (GemmInputA::Unpacked(a_view), GemmInputB::Unpacked(b_view));
            executor.gemm(black_box(rten), a, b, GemmOptions::default()).expect("a product");
        },
        &mut || {
            let (a, b) = (GemmInputA::Unpacked(a_view), GemmInputB::Packed(&rten_b));
            executor.gemm(black_box(rten_packed), a, b, GemmOptions::default()).expect("a product");
        },
        &mut || matrixmultiply(shape, &a, &b, black_box(multiply)),
    ]);
    for output in &outputs[1..] {
        let close = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-3 * (1.0 + y.abs());
        assert!(output.iter().zip(&outputs[0]).all(close), "all compute the same");
    }
    let rates = times.map(|time| format!("{:8.1}", 2e-9 * (m * n * k) as f64 / time));
    println!("{:>20} {}", format!("{m} × {n} × {k}"), rates.join(" "));
}

fn other_gemm(shape: Shape, a: &[f32], b: &[f32], c: &mut [f32]) {
    let Shape { m, n, k } = shape;
    let (rows, depth) = (n as isize, k as isize);
    // SAFETY: the pointers and strides are those of slices of these dims.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            rows,
            false,
            a.as_ptr(),
            1,
            depth,
            b.as_ptr(),
            1,
            rows,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

fn matrixmultiply(shape: Shape, a: &[f32], b: &[f32], c: &mut [f32]) {
    let Shape { m, n, k } = shape;
    let (rows, depth) = (n as isize, k as isize);
    // SAFETY: the pointers and strides are those of slices of these dims.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.as_ptr(),
            depth,
            1,
            b.as_ptr(),
            rows,
            1,
            0.0,
            c.as_mut_ptr(),
            rows,
            1,
        );
    }
}

/// A convolution of a square image with a square window.
struct Layer {
    name: &'static str,
    channels: (usize, usize),
    size: usize,
    kernel: usize,
    stride: usize,
    groups: usize,
}

fn convolution(layer: &Layer) {
    let level = Level::detect();
    let Layer { channels: (in_channels, out_channels), size, kernel, stride, groups, .. } = *layer;
    let pad = [kernel / 2; 2];
    let window = Window::new(&[size; 2], &[kernel; 2]).strides(&[stride; 2]).pads(&pad, &pad);
    let shape = Conv { window, batch: 1, in_channels, out_channels, groups };
    let (x, weights) = (numbers(in_channels * size * size), numbers(shape.weights_len()));
    let mut packed = vec![0.0; packed_conv_len(level, &shape)];
    pack_conv(level, &shape, &weights, &mut packed);
    let is_packed = !packed.is_empty();
    let weights = if is_packed { Weights::Packed(&packed) } else { Weights::Plain(&weights) };
    let mut y = vec![0.0; shape.planes() * window.output_len()];
    let mut scratch = vec![0.0; conv_scratch(level, &shape, is_packed)];
    let operands = conv::Operands { x: conv::Input::Plain(&x), weights, epilogue: Epilogue::NONE };
    // The product of the same size with both factors packed: no convolution by this product is faster.
    let product =
        Shape { m: out_channels, n: window.output_len(), k: shape.weights_len() / out_channels };
    let Shape { m, n, k } = product;
    let (mut a, mut b) =
        (vec![0.0; packed_a_len(level, m, k)], vec![0.0; packed_b_len(level, k, n)]);
    pack_a(level, m, k, Matrix::rows(&numbers(m * k), k), &mut a);
    pack_b(level, k, n, Matrix::rows(&numbers(k * n), n), &mut b);
    let mut c = vec![0.0; m * n];
    let mut product_scratch = vec![0.0; gemm_scratch(level, product, true, true)];
    let factors = Product {
        shape: product,
        a: Operand::Packed(&a),
        b: Operand::Packed(&b),
        epilogue: Epilogue::NONE,
    };
    let times = fastest([
        &mut || {
            conv::conv(level, &shape, &operands, 0..shape.planes(), black_box(&mut y), &mut scratch)
        },
        &mut || gemm(level, &factors, black_box(&mut c), n, &mut product_scratch),
    ]);
    let flops = 2e-9 * (m * n * k) as f64;
    let [ours, roof] = times.map(|time| flops / time);
    println!("{:>34} {ours:8.1} {roof:8.1} {:8.2}", layer.name, ours / roof);
}
