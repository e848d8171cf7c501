//! Convolutions of one, two or three dims, with groups.
//!
//! The input is `batch × in_channels × space`, the weights `out_channels × in_channels / groups × window`, the output
//! `batch × out_channels × space`. A *plane* is one channel of one element of the batch; [`conv`]
//! computes a range of output planes, so that threads can share the work.

//!
//! - **Pointwise and general** convolutions are products of the weights with what the window sees. That matrix is never
//!   whole in memory: a block of it at a time is packed into scratch, of which there is at most about half a megabyte,
//!   whatever the image, and may be a few kilobytes.
//! - **Depthwise** ones, with a window of one or two dims and strides of 1 or 2, go over each plane: squares of 3 and 5
//!   where it is, others over bands of padded rows.

mod columns;
mod depthwise;
mod rolling;
mod strip;

use core::ops::Range;

use crate::Level;
use crate::band::Band;
use crate::chain::Rows;
use crate::epilogue::{Epilogue, Residual};
use crate::gemm::finish::Finish;
use crate::gemm::pack::{panel_b, panel_count};
use crate::gemm::tile::{Block, Far, PanelsA, PanelsB};
use crate::gemm::{Blocks, Matrix, Shape, aligned, gemm_least, gemm_scratch, pack_a, packed_a_len};
use crate::window::Window;

pub use self::strip::{Input, Planes, can_make, made_least, made_scratch};

/// The shape of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv {
    /// What slides over the input.
    pub window: Window,
    /// Elements of the batch.
    pub batch: usize,
    /// Channels of the input.
    pub in_channels: usize,
    /// Channels of the output.
    pub out_channels: usize,
    /// Groups of channels that do not see each other.
    pub groups: usize,
}

/// The weights of a convolution.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// As ONNX has them.
    Plain(&'a [f32]),
    /// As [`pack_conv`] wrote them, for the same level and shape.
    Packed(&'a [f32]),
}

/// What is convolved, and what is done to the sums.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The input.
    pub x: Input<'a>,
    /// The whole weights.
    pub weights: Weights<'a>,
    /// What is done to the sums; a row is a plane, and its bias that of the plane's channel.
    pub epilogue: Epilogue<'a>,
}

impl Conv {
    /// Planes of the output.
    #[must_use]
    pub fn planes(&self) -> usize {
        self.batch * self.out_channels
    }

    /// Elements of the weights.
    #[must_use]
    pub fn weights_len(&self) -> usize {
        self.out_channels * (self.in_channels / self.groups) * self.window.kernel_len()
    }
}

/// Elements of the weights packed; zero where packing gains nothing, and the weights are used as they are.
#[must_use]
pub fn packed_conv_len(level: Level, conv: &Conv) -> usize {
    if is_depthwise(conv) {
        0
    } else {
        conv.groups * packed_a_len(level, conv.rows(), conv.depth())
    }
}

/// Packs the weights into [`packed_conv_len`] elements.
pub fn pack_conv(level: Level, conv: &Conv, weights: &[f32], out: &mut [f32]) {
    assert_eq!(weights.len(), conv.weights_len(), "length of weights");
    assert_eq!(out.len(), packed_conv_len(level, conv), "length of packed weights");
    if is_depthwise(conv) {
        return;
    }
    let (rows, depth) = (conv.rows(), conv.depth());
    let len = (rows * depth).max(1);
    for (weights, out) in weights.chunks_exact(len).zip(out.chunks_exact_mut(len)) {
        pack_a(level, rows, depth, Matrix::rows(weights, depth), out);
    }
}

/// Elements of scratch that [`conv`] is fastest with, for any range of planes; `packed` says whether the weights are.
#[must_use]
pub fn conv_scratch(level: Level, conv: &Conv, packed: bool) -> usize {
    if is_depthwise(conv) {
        return depthwise::scratch(&conv.window);
    }
    gemm_scratch(level, conv.product(), true, false) + conv.for_weights(level, packed)
}

/// The least elements of scratch that [`conv`] runs with; `in_place` says whether the output may take over what is added
/// to the sums.
#[must_use]
pub fn conv_least(level: Level, conv: &Conv, packed: bool, in_place: bool) -> usize {
    if is_depthwise(conv) {
        return depthwise::least(&conv.window);
    }
    gemm_least(level, conv.product(), true, false, in_place) + conv.for_weights(level, packed)
}

/// The planes `planes` of the output into `y`, which holds just these. All else is whole. Blocks and bands are as large as
/// there is scratch for, from [`conv_least`] to [`conv_scratch`]; the bits of the output do not depend on it.
pub fn conv(
    level: Level,
    conv: &Conv,
    operands: &Operands<'_>,
    planes: Range<usize>,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let (len, rows) = (conv.window.output_len(), conv.rows());
    check(level, conv, operands, &planes, y.len(), scratch.len());
    if is_depthwise(conv) {
        return depthwise(level, conv, operands, planes, y, aligned(scratch));
    }
    let mut rest = y;
    let mut first = planes.start;
    while first < planes.end && len > 0 {
        let group = first / rows;
        let end = planes.end.min((group + 1) * rows);
        let (y, behind) = rest.split_at_mut((end - first) * len);
        let part =
            Part { level, conv, operands, group, rows: first - group * rows..end - group * rows };
        part.run(y, aligned(scratch));
        (rest, first) = (behind, end);
    }
}

fn check(
    level: Level,
    conv: &Conv,
    operands: &Operands<'_>,
    planes: &Range<usize>,
    y: usize,
    scratch: usize,
) {
    let window = &conv.window;
    assert!(planes.start <= planes.end && planes.end <= conv.planes(), "planes are there");
    if let Input::Plain(x) = operands.x {
        assert_eq!(x.len(), conv.batch * conv.in_channels * window.input_len(), "length of x");
    }
    assert_eq!(y, planes.len() * window.output_len(), "length of y");
    let (len, packed) = match operands.weights {
        Weights::Plain(weights) => (weights.len() == conv.weights_len(), false),
        Weights::Packed(weights) => (weights.len() == packed_conv_len(level, conv), true),
    };
    assert!(len, "length of weights");
    let in_place = operands.epilogue.residual == Residual::InPlace;
    let least = match operands.x {
        Input::Plain(_) => conv_least(level, conv, packed, in_place),
        Input::Made(_) => made_least(level, conv, in_place),
    };
    assert!(scratch >= least, "length of scratch");
}

impl Conv {
    /// Output channels of a group: rows of its product.
    fn rows(&self) -> usize {
        self.out_channels / self.groups
    }

    /// What is summed up for one output.
    fn depth(&self) -> usize {
        self.in_channels / self.groups * self.window.kernel_len()
    }

    /// Elements of scratch for weights that are not packed.
    fn for_weights(&self, level: Level, packed: bool) -> usize {
        if packed { 0 } else { packed_a_len(level, self.rows(), self.depth()) }
    }

    /// The product that one group of one element of the batch is.
    fn product(&self) -> Shape {
        Shape { m: self.rows(), n: self.window.output_len(), k: self.depth() }
    }
}

/// Whether every output channel sees one input channel, by a window that bands are made for.
fn is_depthwise(conv: &Conv) -> bool {
    conv.groups == conv.in_channels && Band::is_for(&conv.window)
}

fn depthwise(
    level: Level,
    conv: &Conv,
    operands: &Operands<'_>,
    planes: Range<usize>,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let (Weights::Plain(weights), Input::Plain(x)) = (operands.weights, operands.x) else {
        unreachable!("depthwise weights are never packed, and inputs never made");
    };
    level.run(depthwise::Depthwise {
        level,
        window: &conv.window,
        epilogue: &operands.epilogue,
        x,
        weights,
        channels: conv.out_channels,
        multiplier: conv.rows(),
        planes,
        y,
        scratch,
    });
}

/// Some output channels of one group of one element of the batch.
struct Part<'a> {
    level: Level,
    conv: &'a Conv,
    operands: &'a Operands<'a>,
    /// Which group, counted over the whole batch.
    group: usize,
    /// Which of its channels.
    rows: Range<usize>,
}

impl Part<'_> {
    fn run(&self, y: &mut [f32], scratch: &mut [f32]) {
        self.product(y, scratch);
    }

    /// What is left to do for outputs that are stored: some columns of some rows of the group.
    fn finish_stored(&self, rows: &Range<usize>, columns: &Range<usize>, y: &mut [f32]) {
        let n = self.conv.window.output_len();
        let first = (self.group * self.conv.rows() + rows.start) * n + columns.start;
        let rows = Rows { count: rows.len(), len: columns.len(), stride: n, first, step: n };
        self.operands.epilogue.finish(self.level, rows, y);
    }

    /// The epilogue, from row `row` of the group on.
    fn finish(&self, row: usize) -> Finish<'_> {
        let (group, rows) = (self.group % self.conv.groups, self.conv.rows());
        Finish::new(&self.operands.epilogue, (group * rows + row, self.group * rows + row), 0)
    }

    /// The group as a product of its weights with what the window sees, packed block by block.
    fn product(&self, y: &mut [f32], scratch: &mut [f32]) {
        let shape = self.conv.product();
        let whole = self.operands.epilogue.residual == Residual::InPlace;
        let for_weights = match self.operands.weights {
            Weights::Packed(_) => 0,
            Weights::Plain(_) => shape.m * shape.k,
        };
        let (for_weights, scratch) = scratch.split_at_mut(for_weights);
        let weights = self.packed_weights(for_weights);
        let blocks = match self.operands.x {
            Input::Plain(_) => {
                Blocks::within(self.level, shape, whole, (true, false), scratch.len())
            }
            Input::Made(_) => strip::within(self.level, self.conv, whole, scratch.len()),
        };
        let mut first_column = 0;
        while first_column < shape.n {
            let columns = first_column..shape.n.min(first_column + blocks.columns);
            let mut first = 0;
            while first < shape.k || first == 0 {
                let k = first..shape.k.min(first + blocks.k);
                self.block(&blocks, weights, &columns, k.clone(), y, scratch);
                first = k.end.max(1);
            }
            first_column = columns.end;
        }
    }

    fn packed_weights<'a>(&'a self, scratch: &'a mut [f32]) -> &'a [f32] {
        let Shape { m, k, .. } = self.conv.product();
        let at = self.group % self.conv.groups * m * k;
        match self.operands.weights {
            Weights::Packed(weights) => &weights[at..at + m * k],
            Weights::Plain(weights) => {
                pack_a(self.level, m, k, Matrix::rows(&weights[at..at + m * k], k), scratch);
                scratch
            }
        }
    }

    /// Adds the products of a range of `k` to some columns of all rows.
    fn block(
        &self,
        blocks: &Blocks,
        weights: &[f32],
        columns: &Range<usize>,
        k: Range<usize>,
        y: &mut [f32],
        scratch: &mut [f32],
    ) {
        let Shape { m, n, k: depth } = self.conv.product();
        let (most, width) = self.level.tile();
        let (scratch, strips) = scratch.split_at_mut(blocks.columns * k.len());
        self.pack_columns(columns, &k, width, scratch, strips);
        let b = PanelsB { data: scratch, stride: width * k.len(), row: width, k: (0, k.len()) };
        let count = panel_count(m, most);
        let a = PanelsA { data: weights, rows: m, count, depth, k: (k.start, k.end) };
        let mut panel = 0;
        while panel < count {
            let panels = panel..count.min(panel + blocks.panels);
            panel = panels.end;
            let [from, to] = [m * panels.start / count, m * panels.end / count];
            let rows = from.max(self.rows.start)..to.min(self.rows.end);
            if rows.is_empty() {
                continue;
            }
            let at = (rows.start - self.rows.start) * n + columns.start;
            self.level.run(Block {
                a,
                panels,
                b,
                far: Far::A,
                c: &mut y[at..],
                rows: rows.clone(),
                stride: n,
                columns: columns.len(),
                first: k.start == 0,
                finish: (k.end == depth).then(|| self.finish(0).at_column(columns.start)),
            });
            if k.end == depth {
                self.finish_stored(&rows, columns, &mut y[at..]);
            }
        }
    }

    /// What the window sees for some outputs, as panels of a right factor.
    fn pack_columns(
        &self,
        columns: &Range<usize>,
        k: &Range<usize>,
        width: usize,
        scratch: &mut [f32],
        strips: &mut [f32],
    ) {
        let window = &self.conv.window;
        let (x, seen, k) = self.x(columns, k, strips);
        let mut panels = scratch.chunks_exact_mut((width * k.len()).max(1));
        let mut column = columns.start;
        while column < columns.end
            && let Some(panel) = panels.next()
        {
            let part = column..columns.end.min(column + width);
            if window.is_pointwise() {
                let x = Matrix::rows(x, seen.len());
                let part = part.start - seen.start..part.end - seen.start;
                panel_b(self.level, x, k.clone(), part, width, panel);
            } else {
                let (seen, k) = (seen.clone(), k.clone());
                self.level.run(columns::Panel {
                    window,
                    x,
                    seen,
                    k,
                    outputs: part,
                    width,
                    out: panel,
                });
            }
            column += width;
        }
    }

    /// The group's input as far as a block sees it: planes one after the other, which elements of each there are, and
    /// the rows `k` of the block counted from the first plane on.
    fn x<'s>(
        &'s self,
        columns: &Range<usize>,
        k: &Range<usize>,
        strips: &'s mut [f32],
    ) -> (&'s [f32], Range<usize>, Range<usize>) {
        let (channels, window) = (self.conv.in_channels / self.conv.groups, &self.conv.window);
        match self.operands.x {
            Input::Plain(x) => {
                let len = window.input_len();
                (&x[self.group * channels * len..][..channels * len], 0..len, k.clone())
            }
            Input::Made(planes) => {
                let (seen, taps) = (strip::seen(window, columns), window.kernel_len().max(1));
                let (first, end) = (k.start / taps, k.end.div_ceil(taps));
                let len = seen.len();
                for (at, channel) in (first..end).enumerate() {
                    let strip = &mut strips[at * len..(at + 1) * len];
                    planes.make(self.group * channels + channel, seen.clone(), strip);
                }
                (strips, seen, k.start - first * taps..k.end - first * taps)
            }
        }
    }
}
