//! Operators along axes, and products.

use plimsoll_onnx::testing::{F32, I64, float, int, ints, text};

use super::{Generator, n, together, with_input};

impl Generator {
    pub(super) fn rows(&mut self) -> Option<()> {
        match self.rng.below(10) {
            0 | 1 => self.reduced(),
            2 => self.cumulated(),
            3 | 4 => self.normalised(),
            5 | 6 => self.layer_norm(),
            7 | 8 => self.product(),
            _ => self.of_others(),
        }
    }

    fn reduced(&mut self) -> Option<()> {
        let x = self.floats(1)?;
        let (axis, given) = self.axis(x.dims.len());
        let keeps = self.below(2);
        let mut dims = x.dims.clone();
        dims[axis] = 1;
        if keeps == 0 {
            dims.remove(axis);
        }
        let keep = int("keepdims", keeps);
        match self.rng.below(5) {
            // Of one element it is known where it is.
            0 if self.version >= 11 && x.dims[axis] > 1 => {
                let node = n("ArgMax", &[&x.name]).with(int("axis", given)).with(keep);
                self.add(node, I64, dims);
            }
            1 if self.version >= 11 => {
                let k = 1 + self.below(x.dims[axis]);
                let count = self.list(&[k]);
                let mut dims = x.dims;
                dims[axis] = k;
                let node = n("TopK", &[&x.name, &count]).with(int("axis", given));
                self.add_all(node, vec![(F32, dims.clone()), (I64, dims)]);
            }
            2 => {
                let kind = ["ReduceMax", "ReduceMean", "ReduceL2"][self.below(3) as usize];
                let all = if keeps == 1 { vec![1; x.dims.len()] } else { Vec::new() };
                self.add(n(kind, &[&x.name]).with(keep), F32, all);
            }
            _ => {
                let given = if self.version < 11 { axis as i64 } else { given };
                let (kind, since) =
                    if self.rng.chance(50) { ("ReduceSum", 13) } else { ("ReduceMax", 18) };
                let node = self.numbers(n(kind, &[&x.name]).with(keep), since, "axes", &[given]);
                self.add(node, F32, dims);
            }
        }
        Some(())
    }

    fn cumulated(&mut self) -> Option<()> {
        if self.version < 11 {
            return None;
        }
        let x = self.floats(1)?;
        let (_, given) = self.axis(x.dims.len());
        let axis = self.scalar(I64, given);
        let node = n("CumSum", &[&x.name, &axis]);
        let (exclusive, reverse) = (self.below(2), self.below(2));
        let node = node.with(int("exclusive", exclusive)).with(int("reverse", reverse));
        self.add(node, F32, x.dims);
        Some(())
    }

    fn normalised(&mut self) -> Option<()> {
        let x = self.floats(1)?;
        let (axis, given) = self.axis(x.dims.len());
        let given = if self.version < 11 { axis as i64 } else { given };
        let kind = ["Hardmax", "LogSoftmax", "LpNormalization", "Softmax"][self.below(4) as usize];
        let node = n(kind, &[&x.name]);
        // The axis has a default, which is another one in old editions.
        let told = self.rng.chance(70) || self.version < 13 && x.dims.len() < 2;
        self.add(if told { node.with(int("axis", given)) } else { node }, F32, x.dims);
        Some(())
    }

    fn layer_norm(&mut self) -> Option<()> {
        if self.version < 17 {
            return None;
        }
        let x = self.floats(1)?;
        let (axis, given) = self.axis(x.dims.len());
        let inner = x.dims[axis..].to_vec();
        let scale = self.operand(&inner);
        let mut node = n("LayerNormalization", &[&x.name, &scale]).with(int("axis", given));
        if self.rng.chance(50) {
            let bias = self.operand(&inner);
            node = with_input(node, &bias);
        }
        let mut mean = x.dims.clone();
        mean[axis..].fill(1);
        let mut made = vec![(F32, x.dims)];
        for _ in 0..self.rng.below(3) {
            made.push((F32, mean.clone()));
        }
        self.add_all(node, made);
        Some(())
    }

    pub(super) fn product(&mut self) -> Option<()> {
        let x = self.floats(1)?;
        let inner = *x.dims.last()?;
        let columns = if self.rng.chance(50) { x.dims[0] } else { 1 + self.below(5) };
        match self.rng.below(4) {
            0 if x.dims.len() == 2 => {
                let (of_left, of_right) = (self.below(2), self.below(2));
                let (rows, inner) =
                    if of_left == 1 { (x.dims[1], x.dims[0]) } else { (x.dims[0], x.dims[1]) };
                let right = if of_right == 1 { [columns, inner] } else { [inner, columns] };
                let right = self.operand(&right);
                let mut node = n("Gemm", &[&x.name, &right]);
                node = node.with(int("transA", of_left)).with(int("transB", of_right));
                if self.rng.chance(60) {
                    let added = [
                        vec![columns],
                        vec![rows, columns],
                        vec![1],
                        vec![rows, 1],
                        vec![1, columns],
                    ];
                    let at = self.below(5) as usize;
                    let added = self.operand(&added[at]);
                    node = with_input(node, &added);
                } else if self.version < 11 {
                    let added = self.operand(&[columns]);
                    node = with_input(node, &added);
                }
                self.add(node, F32, vec![rows, columns]);
            }
            1 if x.dims.len() == 2 && self.version >= 12 => {
                let right = self.operand(&[columns, inner]);
                let node = n("Einsum", &[&x.name, &right]).with(text("equation", "ij, kj -> ki"));
                self.add(node, F32, vec![columns, x.dims[0]]);
            }
            2 if x.dims.len() >= 3 => {
                // Matrices with matrices, of which there may be one for all.
                let mut outer = x.dims[..x.dims.len() - 2].to_vec();
                if self.rng.chance(30) {
                    outer[0] = 1;
                }
                let right = self.operand(&[&outer[..], &[inner, columns]].concat());
                let rows = x.dims[x.dims.len() - 2];
                let outer = together(&outer, &x.dims[..x.dims.len() - 2])?;
                let dims = [&outer[..], &[rows, columns]].concat();
                self.add(n("MatMul", &[&x.name, &right]), F32, dims);
            }
            _ => {
                let is_vector = self.rng.chance(20);
                let right = if is_vector { vec![inner] } else { vec![inner, columns] };
                let right = self.operand(&right);
                let mut dims = x.dims[..x.dims.len() - 1].to_vec();
                if !is_vector {
                    dims.push(columns);
                }
                self.add(n("MatMul", &[&x.name, &right]), F32, dims);
            }
        }
        Some(())
    }

    /// Operators that are not ONNX's own, and larger ones.
    fn of_others(&mut self) -> Option<()> {
        let x = self.floats(1)?;
        let inner = *x.dims.last()?;
        let microsoft = |mut node: plimsoll_onnx::proto::NodeProto| {
            node.domain = Some("com.microsoft".to_owned());
            node
        };
        match self.rng.below(4) {
            0 => {
                let bias = self.operand(&[inner]);
                self.add(microsoft(n("BiasGelu", &[&x.name, &bias])), F32, x.dims);
            }
            1 if x.dims.len() == 3 => {
                let skip = self.operand(&x.dims);
                let scale = self.operand(&[inner]);
                let node = n("SkipLayerNormalization", &[&x.name, &skip, &scale]);
                self.add(microsoft(node.with(float("epsilon", 1.0))), F32, x.dims);
            }
            2 if x.dims.len() == 3 => {
                let (hidden, [steps, batch, _]) = (2, [x.dims[0], x.dims[1], x.dims[2]]);
                let w = self.weight(&[1, hidden, inner]);
                let r = self.weight(&[1, hidden, hidden]);
                let node = n("RNN", &[&x.name, &w, &r]).with(int("hidden_size", hidden));
                let made =
                    vec![(F32, vec![steps, 1, batch, hidden]), (F32, vec![1, batch, hidden])];
                self.add_all(node, made);
            }
            _ => {
                let node = n("RandomNormal", &[]).with(ints("shape", &x.dims));
                self.add(node, F32, x.dims);
            }
        }
        Some(())
    }
}
