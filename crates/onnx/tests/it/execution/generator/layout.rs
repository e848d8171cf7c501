//! Operators that move elements.

use plimsoll_onnx::testing::{BOOL, F32, I64, int, ints, text};

use super::{Generator, I4, Known, n, with_input};

impl Generator {
    pub(super) fn layout(&mut self) -> Option<()> {
        match self.rng.below(14) {
            0 | 1 => self.reshaped(),
            2 => self.transposed(),
            3 | 4 => self.sliced(),
            5 => self.split(),
            6 | 7 => self.concatenated(),
            8 => self.repeated(),
            9 => self.padded(),
            10 => self.gathered(),
            11 | 12 => self.scattered(),
            _ => self.about_shapes(),
        }
    }

    fn reshaped(&mut self) -> Option<()> {
        let x = self.pick(|_| true)?;
        let (rank, count) = (x.dims.len(), x.dims.iter().product::<i64>());
        match self.rng.below(5) {
            0 => self.add(n("Identity", &[&x.name]), x.of, x.dims),
            1 => {
                let axis = self.below(rank as i64 + 1);
                let (outer, inner) = x.dims.split_at(axis as usize);
                let dims = vec![outer.iter().product(), inner.iter().product()];
                let is_negative = self.version >= 11 && axis < rank as i64 && self.rng.chance(50);
                let given = if is_negative { axis - rank as i64 } else { axis };
                self.add(n("Flatten", &[&x.name]).with(int("axis", given)), x.of, dims);
            }
            2 => self.unsqueezed(x),
            3 => self.squeezed(x),
            _ => {
                let divides = |part: &i64| count % part == 0;
                let outer = [2, 3, 4, 1].into_iter().find(divides).unwrap_or(1);
                let mut dims = vec![outer, count / outer];
                if self.rng.chance(30) {
                    dims.insert(self.below(3) as usize, 1);
                } else if self.rng.chance(30) {
                    dims = vec![count];
                }
                let mut given = dims.clone();
                if count > 0 && self.rng.chance(50) {
                    let at = self.below(given.len() as i64) as usize;
                    given[at] = -1;
                }
                // A dim that is the input's may be left to it.
                if count > 0 && self.rng.chance(30) && given.first() == x.dims.first() {
                    given[0] = 0;
                }
                let shape = self.list(&given);
                let reshape = n("Reshape", &[&x.name, &shape]);
                let zeros = given.contains(&0) && count == 0;
                if zeros && self.version < 14 {
                    self.add(n("Identity", &[&x.name]), x.of, x.dims);
                } else if zeros {
                    self.add(reshape.with(int("allowzero", 1)), x.of, dims);
                } else {
                    self.add(reshape, x.of, dims);
                }
            }
        }
        Some(())
    }

    fn unsqueezed(&mut self, x: Known) {
        let rank = x.dims.len() + 1;
        let axis = self.below(rank as i64);
        let mut dims = x.dims;
        dims.insert(axis as usize, 1);
        let is_negative = self.version >= 11 && self.rng.chance(50);
        let given = if is_negative { axis - rank as i64 } else { axis };
        let node = self.numbers(n("Unsqueeze", &[&x.name]), 13, "axes", &[given]);
        self.add(node, x.of, dims);
    }

    fn squeezed(&mut self, x: Known) {
        let one = x.dims.iter().position(|dim| *dim == 1);
        match one.filter(|_| self.rng.chance(60)) {
            Some(axis) => {
                let is_negative = self.version >= 11 && self.rng.chance(50);
                let given = axis as i64 - if is_negative { x.dims.len() as i64 } else { 0 };
                let mut dims = x.dims;
                dims.remove(axis);
                let node = self.numbers(n("Squeeze", &[&x.name]), 13, "axes", &[given]);
                self.add(node, x.of, dims);
            }
            None => {
                let dims = x.dims.iter().copied().filter(|dim| *dim != 1).collect();
                self.add(n("Squeeze", &[&x.name]), x.of, dims);
            }
        }
    }

    fn transposed(&mut self) -> Option<()> {
        let x = self.pick(|_| true)?;
        let mut perm: Vec<i64> = (0..x.dims.len() as i64).collect();
        if self.rng.chance(30) {
            let dims = x.dims.iter().rev().copied().collect();
            self.add(n("Transpose", &[&x.name]), x.of, dims);
            return Some(());
        }
        self.rng.shuffle(&mut perm);
        let dims = perm.iter().map(|axis| x.dims[*axis as usize]).collect();
        self.add(n("Transpose", &[&x.name]).with(ints("perm", &perm)), x.of, dims);
        Some(())
    }

    /// A part of an axis: where it starts and ends as it is said, by which step, and how long it is.
    fn cut(&mut self, dim: i64) -> (i64, i64, i64, i64) {
        let steps = [1, 1, 1, 1, 2, 3, -1, -1, -2, i64::MAX, i64::MIN];
        let step = if self.version < 10 { 1 } else { steps[self.below(11) as usize] };
        let mut ends = [self.below(dim + 1), self.below(dim + 1)];
        ends.sort_unstable();
        if self.rng.chance(30) {
            ends = [0, dim];
        }
        let [low, high] = ends;
        let count = (high - low).unsigned_abs().div_ceil(step.unsigned_abs()).cast_signed();
        // From the end, and beyond it.
        let mut told = |place: i64, is_last: bool| match self.rng.below(3) {
            0 if place < dim => place - dim,
            1 if place == dim && is_last => [i64::MAX, dim + 7][self.rng.below(2) as usize],
            _ => place,
        };
        if step > 0 {
            return (told(low, false), told(high, true), step, count);
        }
        // The same elements backwards: from the last one to before the first.
        if count == 0 {
            return (told(low, false), told(low, false), step, 0);
        }
        let before = if low == 0 { [-dim - 1, i64::MIN][self.below(2) as usize] } else { low - 1 };
        (high - 1, before, step, count)
    }

    fn sliced(&mut self) -> Option<()> {
        let x = self.pick(|known| !known.dims.is_empty())?;
        let mut axes: Vec<usize> = (0..x.dims.len()).collect();
        self.rng.shuffle(&mut axes);
        let cut = 1 + self.below(x.dims.len() as i64) as usize;
        axes.truncate(cut);
        let mut dims = x.dims.clone();
        let (mut starts, mut ends, mut steps, mut given) = (vec![], vec![], vec![], vec![]);
        for axis in &axes {
            let (start, end, step, count) = self.cut(x.dims[*axis]);
            if x.dims[*axis] == 0 && step < 0 {
                return None;
            }
            dims[*axis] = count;
            starts.push(start);
            ends.push(end);
            steps.push(step);
            let is_negative = self.version >= 10 && self.rng.chance(50);
            given.push(*axis as i64 - if is_negative { x.dims.len() as i64 } else { 0 });
        }
        let mut slice = n("Slice", &[&x.name]);
        slice = self.numbers(slice, 10, "starts", &starts);
        slice = self.numbers(slice, 10, "ends", &ends);
        slice = self.numbers(slice, 10, "axes", &given);
        if self.version >= 10 {
            slice = self.numbers(slice, 10, "steps", &steps);
        }
        self.add(slice, x.of, dims);
        Some(())
    }

    fn split(&mut self) -> Option<()> {
        let x = self.pick(|known| !known.dims.is_empty())?;
        let (axis, given) = self.axis(x.dims.len());
        let given = if self.version < 11 { axis as i64 } else { given };
        let dim = x.dims[axis];
        let with = |length: i64| {
            let mut dims = x.dims.clone();
            dims[axis] = length;
            (x.of, dims)
        };
        let split = n("Split", &[&x.name]).with(int("axis", given));
        if dim % 2 == 0 && self.version < 18 && self.rng.chance(40) {
            self.add_all(split, vec![with(dim / 2), with(dim / 2)]);
            return Some(());
        }
        let first = self.below(dim + 1);
        let second = self.below(dim - first + 1);
        let lengths = [first, second, dim - first - second];
        let split = self.numbers(split, 13, "split", &lengths);
        self.add_all(split, lengths.map(with).to_vec());
        Some(())
    }

    fn concatenated(&mut self) -> Option<()> {
        let x = self.pick(|known| !known.dims.is_empty())?;
        let (axis, given) = self.axis(x.dims.len());
        let given = if self.version < 11 { axis as i64 } else { given };
        let fits = |known: &Known| {
            let mut dims = known.dims.clone();
            known.of == x.of && dims.len() == x.dims.len() && {
                dims[axis] = x.dims[axis];
                dims == x.dims
            }
        };
        let (mut names, mut dims) = (vec![x.name.clone()], x.dims.clone());
        for _ in 0..self.rng.below(4) {
            let more = self.pick(fits)?;
            dims[axis] += more.dims[axis];
            names.push(more.name);
        }
        if dims.iter().product::<i64>() > 2000 {
            return None;
        }
        self.rng.shuffle(&mut names);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.add(n("Concat", &names).with(int("axis", given)), x.of, dims);
        Some(())
    }

    fn repeated(&mut self) -> Option<()> {
        let x = self.pick(|known| known.of != I4 && known.dims.iter().product::<i64>() < 100)?;
        if self.rng.chance(50) {
            let wider = |dim: &i64| if *dim == 1 { 1 + self.below(3) } else { *dim };
            let mut dims: Vec<i64> = x.dims.iter().map(wider).collect();
            let mut shape = dims.clone();
            if self.rng.chance(30) {
                dims.insert(0, 2);
                shape.insert(0, 2);
            } else {
                // The shape is broadcast too.
                let narrower = |(dim, own): (&i64, &i64)| if dim == own { 1 } else { *dim };
                if self.rng.chance(30) {
                    shape = dims.iter().zip(&x.dims).map(narrower).collect();
                }
            }
            let shape = self.list(&shape);
            self.add(n("Expand", &[&x.name, &shape]), x.of, dims);
            return Some(());
        }
        let most = if self.rng.chance(10) { 5 } else { 4 };
        let repeat = |_| [1, 1, 2, 3, 0][self.below(most) as usize];
        let repeats: Vec<i64> = x.dims.iter().map(repeat).collect();
        let dims = x.dims.iter().zip(&repeats).map(|(dim, times)| dim * times).collect();
        let repeats = self.list(&repeats);
        self.add(n("Tile", &[&x.name, &repeats]), x.of, dims);
        Some(())
    }

    fn padded(&mut self) -> Option<()> {
        let x = self.floats(1)?;
        let rank = x.dims.len();
        let mode = ["constant", "constant", "edge", "reflect"][self.below(4) as usize];
        let most = |dim: i64| if mode == "reflect" { (dim - 1).min(2) } else { 2 };
        let mut pads = vec![0; 2 * rank];
        for axis in 0..rank {
            pads[axis] = self.below(most(x.dims[axis]) + 1);
            pads[axis + rank] = self.below(most(x.dims[axis]) + 1);
            // Less than there is, or as much but elsewhere.
            if mode == "constant" && x.dims[axis] > 2 && self.rng.chance(20) {
                let side = rank * self.below(2) as usize;
                pads[axis + side] = -1;
                if self.rng.chance(50) {
                    pads[axis + rank - side] = 1;
                }
            }
        }
        let dims = (0..rank).map(|axis| x.dims[axis] + pads[axis] + pads[axis + rank]).collect();
        let pad = n("Pad", &[&x.name]).with(text("mode", mode));
        let pad = self.numbers(pad, 11, "pads", &pads);
        self.add(pad, F32, dims);
        Some(())
    }

    fn gathered(&mut self) -> Option<()> {
        let x = self.pick(|k| k.of != I4 && !k.dims.is_empty() && !k.dims.contains(&0))?;
        let (axis, given) = self.axis(x.dims.len());
        let given = if self.version < 11 { axis as i64 } else { given };
        let dim = x.dims[axis];
        match self.rng.below(3) {
            0 => {
                let shape: Vec<i64> = (0..self.rng.below(3)).map(|_| 1 + self.below(3)).collect();
                let indices = if self.rng.chance(50) {
                    self.input(I64, &shape).name
                } else if shape.is_empty() {
                    let index = self.below(dim);
                    self.scalar(I64, index)
                } else {
                    let shape = [2 + self.below(3)];
                    let numbers: Vec<i64> =
                        (0..shape[0]).map(|_| self.below(2 * dim) - dim).collect();
                    let dims = [&x.dims[..axis], &shape[..], &x.dims[axis + 1..]].concat();
                    let list = self.list(&numbers);
                    self.add(n("Gather", &[&x.name, &list]).with(int("axis", given)), x.of, dims);
                    return Some(());
                };
                let dims = [&x.dims[..axis], &shape[..], &x.dims[axis + 1..]].concat();
                self.add(n("Gather", &[&x.name, &indices]).with(int("axis", given)), x.of, dims);
            }
            1 if self.version >= 11 => {
                let mut dims = x.dims.clone();
                dims[axis] = 1 + self.below(4);
                let indices = self.input(I64, &dims).name;
                let node = n("GatherElements", &[&x.name, &indices]).with(int("axis", given));
                self.add(node, x.of, dims);
            }
            _ if self.version >= 12 => {
                let batch = usize::from(x.dims.len() > 1 && self.rng.chance(50));
                let count = 1 + self.below((x.dims.len() - batch) as i64) as usize;
                let mut shape = x.dims[..batch].to_vec();
                shape.push(1 + self.below(3));
                let dims = [&shape[..], &x.dims[batch + count..]].concat();
                shape.push(count as i64);
                let indices = self.input(I64, &shape).name;
                let node =
                    n("GatherND", &[&x.name, &indices]).with(int("batch_dims", batch as i64));
                self.add(node, x.of, dims);
            }
            _ => return None,
        }
        Some(())
    }

    fn scattered(&mut self) -> Option<()> {
        if self.version < 11 {
            return None;
        }
        let x = self.floats(1)?;
        let (axis, given) = self.axis(x.dims.len());
        let adds = self.version >= 16 && self.rng.chance(30);
        let reduction = text("reduction", if adds { "add" } else { "none" });
        match self.rng.below(3) {
            0 => {
                let dims: Vec<i64> = if self.rng.chance(40) {
                    x.dims.clone()
                } else {
                    x.dims.iter().map(|dim| 1 + self.below(*dim)).collect()
                };
                let indices = self.input(I64, &dims).name;
                let updates = self.operand(&dims);
                let mut node = n("ScatterElements", &[&x.name, &indices, &updates]);
                node = node.with(int("axis", given));
                self.add(if adds { node.with(reduction) } else { node }, F32, x.dims);
            }
            1 => {
                let count = 1 + self.below(x.dims.len() as i64) as usize;
                let rows = 1 + self.below(3);
                let indices = self.input(I64, &[rows, count as i64]).name;
                let updates = self.operand(&[&[rows], &x.dims[count..]].concat());
                let node = n("ScatterND", &[&x.name, &indices, &updates]);
                self.add(if adds { node.with(reduction) } else { node }, F32, x.dims);
            }
            _ if self.version >= 24 && x.dims.len() > 1 && axis > 0 => {
                let mut dims = x.dims.clone();
                dims[axis] = 1 + self.below(dims[axis]);
                let updates = self.operand(&dims);
                let mut node = n("TensorScatter", &[&x.name, &updates]).with(int("axis", given));
                if self.rng.chance(50) {
                    let places = self.input(I64, &[x.dims[0]]).name;
                    node = with_input(node, &places).with(text("mode", "circular"));
                }
                self.add(node, F32, x.dims);
            }
            _ => return None,
        }
        Some(())
    }

    /// Floats of these dims: something that was made, if there is any.
    pub(super) fn operand(&mut self, dims: &[i64]) -> String {
        let made = self.pick(|known| known.of == F32 && known.dims == dims);
        match made.filter(|_| self.rng.chance(80)) {
            Some(made) => made.name,
            None => self.weight(dims),
        }
    }

    fn about_shapes(&mut self) -> Option<()> {
        match self.rng.below(4) {
            0 if self.version >= 14 => {
                let x = self.pick(|known| known.of == F32 && known.dims.len() >= 2)?;
                let k = self.below(5) - 2;
                let k = self.scalar(I64, k);
                let upper = self.below(2);
                let node = n("Trilu", &[&x.name, &k]).with(int("upper", upper));
                self.add(node, F32, x.dims);
            }
            1 if self.version >= 10 => {
                let x = self.pick(|k| k.of == F32 && k.dims.len() >= 2 && !k.dims.contains(&0))?;
                let batch = self.below(2);
                let lengths = self.input(I64, &[x.dims[batch as usize]]).name;
                let node = n("ReverseSequence", &[&x.name, &lengths]);
                let node = node.with(int("batch_axis", batch)).with(int("time_axis", 1 - batch));
                self.add(node, F32, x.dims);
            }
            2 if self.version >= 11 => {
                let indices = self.input(I64, &[3]);
                let depth = self.scalar(I64, 3);
                let values = self.weight(&[2]);
                let mut dims = indices.dims.clone();
                let axis = self.below(2);
                dims.insert(axis as usize, 3);
                let node = n("OneHot", &[&indices.name, &depth, &values]).with(int("axis", axis));
                self.add(node, F32, dims);
            }
            _ => {
                let x = self.pick(|known| known.of == F32 || known.of == BOOL)?;
                let node = n("RandomNormalLike", &[&x.name]).with(int("dtype", 1));
                self.add(node, F32, x.dims);
            }
        }
        Some(())
    }
}
