//! Operators on images.

use plimsoll_onnx::testing::{F32, I64, int, ints, text};

use super::{Generator, Known, n, with_input};

impl Generator {
    pub(super) fn images(&mut self) -> Option<()> {
        let image = |k: &Known| k.of == F32 && k.dims.len() == 4 && !k.dims.contains(&0);
        let x = self.pick(image)?;
        match self.rng.below(12) {
            0..4 => self.conv(x),
            4 => self.conv_transpose(x),
            5 | 6 => self.pool(x),
            7 => {
                let dims = vec![x.dims[0], x.dims[1], 1, 1];
                self.add(n("GlobalAveragePool", &[&x.name]), F32, dims);
            }
            8 if self.version >= 13 => self.resize(x),
            9 => self.blocks(x)?,
            10 => {
                let size = 1 + 2 * self.below(2);
                self.add(n("LRN", &[&x.name]).with(int("size", size)), F32, x.dims);
            }
            _ => self.norm(x),
        }
        Some(())
    }

    /// One axis of an image behind a window: length, stride, dilation, pads, and what comes out.
    fn window(&mut self, dim: i64) -> [i64; 6] {
        let kernel = 1 + self.below(3.min(dim));
        let stride = 1 + self.below(2);
        let dilation = if (kernel - 1) * 2 < dim && self.rng.chance(30) { 2 } else { 1 };
        let (before, after) = (self.below(kernel), self.below(kernel));
        let made = (dim + before + after - (kernel - 1) * dilation - 1) / stride + 1;
        [kernel, stride, dilation, before, after, made]
    }

    fn conv(&mut self, x: Known) {
        let &[batch, channels, height, width] = &x.dims[..] else { return };
        let (rows, columns) = (self.window(height), self.window(width));
        let group = match self.rng.below(4) {
            0 | 1 => channels,
            2 if channels % 2 == 0 => 2,
            _ => 1,
        };
        let each = 1 + self.below(2);
        let made = if group == channels { channels * each } else { group * (1 + self.below(4)) };
        let weights = self.weight(&[made, channels / group, rows[0], columns[0]]);
        let mut node = n("Conv", &[&x.name, &weights]).with(int("group", group));
        if self.rng.chance(50) {
            let bias = self.weight(&[made]);
            node = with_input(node, &bias);
        }
        if self.rng.chance(20) {
            let strides = [rows[1], columns[1]];
            let padding = ["SAME_UPPER", "SAME_LOWER"][self.below(2) as usize];
            node = node.with(text("auto_pad", padding)).with(ints("strides", &strides));
            let up = |dim: i64, stride: i64| (dim + stride - 1) / stride;
            let dims = vec![batch, made, up(height, rows[1]), up(width, columns[1])];
            self.add(node, F32, dims);
            return;
        }
        let node = node
            .with(ints("strides", &[rows[1], columns[1]]))
            .with(ints("dilations", &[rows[2], columns[2]]))
            .with(ints("pads", &[rows[3], columns[3], rows[4], columns[4]]));
        self.add(node, F32, vec![batch, made, rows[5], columns[5]]);
    }

    fn conv_transpose(&mut self, x: Known) {
        let &[batch, channels, height, width] = &x.dims[..] else { return };
        let (kernel, stride) = (1 + self.below(3), 1 + self.below(2));
        let made = 1 + self.below(3);
        let group = if channels % 2 == 0 && self.rng.chance(50) { 2 } else { 1 };
        let weights = self.weight(&[channels, made, kernel, kernel]);
        let node = n("ConvTranspose", &[&x.name, &weights])
            .with(ints("strides", &[stride, stride]))
            .with(int("group", group));
        let length = |dim: i64| (dim - 1) * stride + kernel;
        self.add(node, F32, vec![batch, made * group, length(height), length(width)]);
    }

    fn pool(&mut self, x: Known) {
        let &[batch, channels, height, width] = &x.dims[..] else { return };
        let (rows, columns) = (self.window(height), self.window(width));
        let is_max = self.rng.chance(50);
        let mut node = n(if is_max { "MaxPool" } else { "AveragePool" }, &[&x.name])
            .with(ints("kernel_shape", &[rows[0], columns[0]]))
            .with(ints("strides", &[rows[1], columns[1]]));
        let length = |dim: i64, [kernel, stride, ..]: [i64; 6]| (dim - kernel) / stride + 1;
        let mut dims = vec![batch, channels, length(height, rows), length(width, columns)];
        if is_max && self.version >= 10 {
            node = node
                .with(ints("dilations", &[rows[2], columns[2]]))
                .with(ints("pads", &[rows[3], columns[3], rows[4], columns[4]]));
            dims = vec![batch, channels, rows[5], columns[5]];
        }
        let mut made = vec![(F32, dims.clone())];
        if is_max && self.rng.chance(40) {
            made.push((I64, dims));
        }
        self.add_all(node, made);
    }

    fn resize(&mut self, x: Known) {
        let times = [1, [1, 1, 2][self.below(3) as usize], 1 + self.below(3), 1 + self.below(2)];
        let dims: Vec<i64> = x.dims.iter().zip(times).map(|(dim, times)| dim * times).collect();
        let sizes = self.list(&dims);
        let node = n("Resize", &[&x.name, "", "", &sizes])
            .with(text("mode", "nearest"))
            .with(text("coordinate_transformation_mode", "asymmetric"))
            .with(text("nearest_mode", "floor"));
        self.add(node, F32, dims);
    }

    fn blocks(&mut self, x: Known) -> Option<()> {
        let &[batch, channels, height, width] = &x.dims[..] else { return None };
        let block = 1 + self.below(2);
        if channels % (block * block) == 0 && self.rng.chance(50) {
            let mut node = n("DepthToSpace", &[&x.name]).with(int("blocksize", block));
            if self.version >= 11 && self.rng.chance(50) {
                node = node.with(text("mode", "CRD"));
            }
            let dims = vec![batch, channels / (block * block), height * block, width * block];
            self.add(node, F32, dims);
        } else if height % block == 0 && width % block == 0 {
            let node = n("SpaceToDepth", &[&x.name]).with(int("blocksize", block));
            let dims = vec![batch, channels * block * block, height / block, width / block];
            self.add(node, F32, dims);
        } else {
            return None;
        }
        Some(())
    }

    fn norm(&mut self, x: Known) {
        let channels = x.dims[1];
        let vectors: Vec<String> = (0..4).map(|_| self.operand(&[channels])).collect();
        let names: Vec<&str> = [&x.name].into_iter().chain(&vectors).map(String::as_str).collect();
        let node = match self.rng.below(3) {
            0 => n("InstanceNormalization", &names[..3]),
            1 if self.version >= 21 && channels % 2 == 0 => {
                n("GroupNormalization", &names[..3]).with(int("num_groups", 2))
            }
            _ => n("BatchNormalization", &names),
        };
        self.add(node, F32, x.dims);
    }
}
