//! Random ONNX models that use what operators allow: all attributes, axes and steps of either sign, empty
//! tensors and scalars, operands that are broadcast either way, that are missing, or the same twice.
//!
//! The generator works out by itself what dims every tensor has.

mod images;
mod layout;
mod rows;

use plimsoll_onnx::proto::{ModelProto, NodeProto, TensorProto, ValueInfoProto};
use plimsoll_onnx::testing::{
    BOOL, F32, I64, graph, import, int, ints, list, model, node, stored, value,
};
use plimsoll_pack::testing::Rng;

pub(crate) const U8: i32 = 2;
pub(crate) const F16: i32 = 10;
pub(crate) const I4: i32 = 22;

/// A tensor, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) of: i32,
    pub(crate) dims: Vec<i64>,
}

/// A random model, and every tensor of it.
pub(crate) struct Generator {
    rng: Rng,
    version: i64,
    /// What can be read.
    scope: Vec<Known>,
    inputs: Vec<ValueInfoProto>,
    stored: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    names: usize,
}

impl Generator {
    /// A model of products and images, of the same few dims: what can be done in parts.
    pub(crate) fn dense_model(seed: u64) -> (ModelProto, Vec<Known>) {
        let mut generator = Generator::new(seed);
        for _ in 0..2 {
            let dims: &[&[i64]] = &[
                &[4, 4],
                &[4, 2],
                &[2, 4],
                &[2, 4, 4],
                &[1, 4, 2, 2],
                &[1, 2, 4, 4],
                &[1, 4, 4, 2],
            ];
            let dims = dims[generator.below(7) as usize];
            generator.input(F32, dims);
        }
        for _ in 0..generator.rng.within(3..9) {
            let done = match generator.rng.below(10) {
                0 => generator.unary(),
                1..3 => generator.binary(),
                3 => generator.layout(),
                4 => generator.rows(),
                5..7 => generator.product(),
                _ => generator.images(),
            };
            if done.is_none() {
                generator.product();
            }
        }
        generator.finish()
    }

    /// The model of a seed.
    pub(crate) fn model(seed: u64) -> (ModelProto, Vec<Known>) {
        let mut generator = Generator::new(seed);
        for _ in 0..generator.rng.within(1..4) {
            let dims = generator.some_dims();
            generator.input(F32, &dims);
        }
        for _ in 0..generator.rng.within(3..14) {
            generator.node();
        }
        generator.finish()
    }

    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let version = [9, 12, 17, 21, 24][rng.below(5) as usize];
        Generator {
            rng,
            version,
            scope: Vec::new(),
            inputs: Vec::new(),
            stored: Vec::new(),
            nodes: Vec::new(),
            names: 0,
        }
    }

    fn finish(mut self) -> (ModelProto, Vec<Known>) {
        let made = self.scope.iter().filter(|known| known.name.starts_with('t'));
        let mut made: Vec<Known> = made.cloned().collect();
        self.rng.shuffle(&mut made);
        let count = self.rng.within(1..4) as usize;
        // An input may be handed out as it is.
        let handed = if self.rng.chance(5) { self.scope.first().cloned() } else { None };
        let outputs = made.iter().take(count).chain(&handed);
        let outputs = outputs.map(|known| value(&known.name, known.of, &known.dims)).collect();
        if self.rng.chance(30) {
            self.rng.shuffle(&mut self.nodes);
        }
        let mut graph = graph(self.inputs, outputs, self.nodes);
        graph.initializer = self.stored;
        let mut model = model(self.version, graph);
        model.opset_import.push(import("com.microsoft", 1));
        (model, self.scope)
    }

    fn name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    /// A number from 0 on below another, as attributes have them.
    fn below(&mut self, n: i64) -> i64 {
        self.rng.below(n.unsigned_abs().max(1)).cast_signed()
    }

    fn some_dims(&mut self) -> Vec<i64> {
        match self.rng.below(10) {
            0..4 => {
                let (channels, side) = ([1, 2, 4][self.below(3) as usize], 1 + self.below(4));
                vec![1 + self.below(2), channels, side, 1 + self.below(4)]
            }
            4 => Vec::new(),
            _ => {
                let rank = 1 + self.below(3);
                (0..rank).map(|_| 1 + self.below(5)).collect()
            }
        }
    }

    /// Another tensor from outside; one that is empty is stored, since nobody declares such an input.
    fn input(&mut self, of: i32, dims: &[i64]) -> Known {
        if dims.contains(&0) {
            let known = Known { name: self.name('w'), of, dims: dims.to_vec() };
            self.stored.push(stored(&known.name, of, dims, Vec::new()));
            return known;
        }
        let known = Known { name: self.name('x'), of, dims: dims.to_vec() };
        self.inputs.push(value(&known.name, of, dims));
        self.scope.push(known.clone());
        known
    }

    /// A weight, or now and then an input in its place.
    fn weight(&mut self, dims: &[i64]) -> String {
        if self.rng.chance(20) {
            return self.input(F32, dims).name;
        }
        let name = self.name('w');
        // No two are the same, so that nothing is known of what is made of them.
        let numbers = (0..dims.iter().product::<i64>()).flat_map(|n| (n as f32).to_le_bytes());
        self.stored.push(stored(&name, F32, dims, numbers.collect()));
        name
    }

    fn list(&mut self, numbers: &[i64]) -> String {
        let name = self.name('l');
        self.stored.push(list(&name, numbers));
        name
    }

    fn scalar(&mut self, of: i32, number: i64) -> String {
        let name = self.name('l');
        let bytes = match of {
            BOOL => vec![number as u8],
            F32 => (number as f32).to_le_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        self.stored.push(stored(&name, of, &[], bytes));
        name
    }

    /// Something to read, rather of the last things that were made.
    fn pick(&mut self, fits: impl Fn(&Known) -> bool) -> Option<Known> {
        let fitting: Vec<&Known> = self.scope.iter().filter(|known| fits(known)).collect();
        let count = fitting.len() as u64;
        let recent = if self.rng.chance(70) { count.min(3) } else { count };
        (count > 0).then(|| fitting[(count - 1 - self.rng.below(recent)) as usize].clone())
    }

    /// Floats with so many axes at least, none of them empty.
    fn floats(&mut self, rank: usize) -> Option<Known> {
        self.pick(|known| known.of == F32 && known.dims.len() >= rank && !known.dims.contains(&0))
    }

    /// An axis of so many, from either end.
    fn axis(&mut self, rank: usize) -> (usize, i64) {
        let axis = self.below(rank as i64);
        (axis as usize, if self.rng.chance(50) { axis - rank as i64 } else { axis })
    }

    /// Adds a node that makes one tensor.
    fn add(&mut self, node: NodeProto, of: i32, dims: Vec<i64>) {
        self.add_all(node, vec![(of, dims)]);
    }

    /// Adds a node that makes some tensors. Its outputs are named here.
    fn add_all(&mut self, mut node: NodeProto, made: Vec<(i32, Vec<i64>)>) {
        node.name = Some(self.name('n'));
        for (of, dims) in made {
            let known = Known { name: self.name('t'), of, dims };
            node.output.push(known.name.clone());
            self.scope.push(known);
        }
        self.nodes.push(node);
    }

    /// Numbers that are an attribute before a version, and an operand from then on.
    fn numbers(&mut self, node: NodeProto, since: i64, name: &str, numbers: &[i64]) -> NodeProto {
        if self.version < since {
            return node.with(ints(name, numbers));
        }
        let list = self.list(numbers);
        with_input(node, &list)
    }

    /// Adds a node, if there is something that it can read.
    fn node(&mut self) {
        let done = match self.rng.below(40) {
            0..4 => self.unary(),
            4..9 => self.binary(),
            9 => self.compare(),
            10 => self.choose(),
            11 => self.clip(),
            12..14 => self.variadic(),
            14..16 => self.cast(),
            16 => self.dropout(),
            17 => self.quantize(),
            18..30 => self.layout(),
            30..35 => self.rows(),
            _ => self.images(),
        };
        if done.is_none() {
            self.unary();
        }
    }

    fn unary(&mut self) -> Option<()> {
        let x = self.pick(|known| known.of == F32)?;
        let kind = ["Abs", "Exp", "LeakyRelu", "Neg", "Relu", "Sigmoid"][self.below(6) as usize];
        self.add(n(kind, &[&x.name]), x.of, x.dims);
        Some(())
    }

    /// An operand for another: itself, something like it, or something that is broadcast, perhaps both ways.
    fn other(&mut self, x: &Known) -> Known {
        let like = self.pick(|known| (known.of, &known.dims) == (x.of, &x.dims));
        match self.rng.below(6) {
            0 => return x.clone(),
            1..4 => return like.unwrap_or_else(|| x.clone()),
            _ => {}
        }
        let broadcast =
            self.pick(|known| known.of == x.of && together(&known.dims, &x.dims).is_some());
        if let Some(broadcast) = broadcast.filter(|_| self.rng.chance(50)) {
            return broadcast;
        }
        let mut dims = x.dims.clone();
        for dim in &mut dims {
            *dim = match *dim {
                1 if self.rng.chance(30) => 3,
                dim if self.rng.chance(50) => dim,
                _ => 1,
            };
        }
        if self.rng.chance(30) {
            dims.insert(0, 2);
        } else if self.rng.chance(40) && !dims.is_empty() {
            dims.remove(0);
        }
        if x.of != F32 || self.rng.chance(50) {
            return self.input(x.of, &dims);
        }
        Known { name: self.weight(&dims), of: F32, dims }
    }

    fn binary(&mut self) -> Option<()> {
        let x = self.pick(|known| [F32, F16].contains(&known.of))?;
        let y = self.other(&x);
        let dims = together(&x.dims, &y.dims)?;
        let kind = ["Add", "Div", "Mul", "Pow", "Sub"][self.below(5) as usize];
        let (a, b) = if self.rng.chance(50) { (&x, &y) } else { (&y, &x) };
        if self.rng.chance(10) && together(&x.dims, &y.dims).as_ref() == Some(&x.dims) {
            self.add(n("PRelu", &[&x.name, &y.name]), x.of, x.dims);
        } else {
            self.add(n(kind, &[&a.name, &b.name]), x.of, dims);
        }
        Some(())
    }

    fn compare(&mut self) -> Option<()> {
        if let Some(x) = self.pick(|known| known.of == BOOL).filter(|_| self.rng.chance(60)) {
            let y = self.other(&x);
            let dims = together(&x.dims, &y.dims)?;
            let kind = ["And", "Or", "Xor"][self.below(3) as usize];
            if self.rng.chance(30) {
                self.add(n("Not", &[&x.name]), BOOL, x.dims);
            } else {
                self.add(n(kind, &[&x.name, &y.name]), BOOL, dims);
            }
            return Some(());
        }
        let x = self.pick(|known| known.of == F32)?;
        let y = self.other(&x);
        let dims = together(&x.dims, &y.dims)?;
        let kind = ["Equal", "Greater", "Less"]
            [self.below(if self.version < 11 { 1 } else { 3 }) as usize];
        if self.version < 11 {
            self.add(n("IsNaN", &[&x.name]), BOOL, x.dims);
        } else {
            self.add(n(kind, &[&x.name, &y.name]), BOOL, dims);
        }
        Some(())
    }

    fn choose(&mut self) -> Option<()> {
        let x = self.pick(|known| known.of == F32)?;
        let y = self.other(&x);
        let dims = together(&x.dims, &y.dims)?;
        let condition =
            self.pick(|known| known.of == BOOL && together(&known.dims, &dims).is_some());
        let condition = match condition {
            Some(condition) => condition,
            None => {
                let dims = if self.rng.chance(60) { dims.clone() } else { vec![1] };
                self.input(BOOL, &dims)
            }
        };
        let dims = together(&condition.dims, &dims)?;
        self.add(n("Where", &[&condition.name, &x.name, &y.name]), F32, dims);
        Some(())
    }

    fn clip(&mut self) -> Option<()> {
        let x = self.pick(|known| known.of == F32)?;
        if self.version < 11 {
            let clip = n("Clip", &[&x.name]).with(plimsoll_onnx::testing::float("min", 0.5));
            self.add(clip, F32, x.dims);
            return Some(());
        }
        let scalar = self.pick(|known| known.of == F32 && known.dims.is_empty());
        let least = match scalar.filter(|_| self.rng.chance(50)) {
            Some(scalar) => scalar.name,
            None => self.scalar(F32, 1),
        };
        let most = self.scalar(F32, 3);
        let bounds: &[&str] = match self.rng.below(4) {
            0 => &[&x.name],
            1 => &[&x.name, &least],
            2 => &[&x.name, "", &most],
            _ => &[&x.name, &least, &most],
        };
        self.add(n("Clip", bounds), F32, x.dims);
        Some(())
    }

    fn variadic(&mut self) -> Option<()> {
        let x = self.pick(|known| known.of == F32)?;
        let (mut names, mut dims) = (vec![x.name.clone()], x.dims.clone());
        for _ in 0..self.rng.below(4) {
            let y = self.other(&x);
            if let Some(both) = together(&dims, &y.dims) {
                dims = both;
                names.push(y.name);
            }
        }
        self.rng.shuffle(&mut names);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let kind = ["Max", "Mean", "Min", "Sum"][self.below(4) as usize];
        self.add(n(kind, &names), F32, dims);
        Some(())
    }

    fn cast(&mut self) -> Option<()> {
        let x = self.pick(|_| true)?;
        let types = [F32, U8, 3, 6, I64, BOOL, F16, 11, I4];
        let count = if self.version < 21 { 8 } else { 9 };
        let to = if self.rng.chance(20) {
            types[count as usize - 1]
        } else {
            types[self.below(count) as usize]
        };
        if self.version >= 15 && self.rng.chance(30) {
            let like = self.pick(|_| true)?;
            self.add(n("CastLike", &[&x.name, &like.name]), like.of, x.dims);
        } else {
            self.add(n("Cast", &[&x.name]).with(int("to", to.into())), to, x.dims);
        }
        Some(())
    }

    fn dropout(&mut self) -> Option<()> {
        let x = self.pick(|known| known.of == F32)?;
        let mut dropout = n("Dropout", &[&x.name]);
        if self.version >= 12 {
            let ratio = self.scalar(F32, 0);
            match self.rng.below(5) {
                0 => dropout = with_input(dropout, &ratio),
                1 | 2 => {
                    let is_on = self.below(2);
                    let training = self.scalar(BOOL, is_on);
                    dropout = with_input(with_input(dropout, &ratio), &training);
                }
                3 => {
                    let training = self.input(BOOL, &[]).name;
                    dropout = with_input(with_input(dropout, ""), &training);
                }
                _ => {}
            }
        }
        let mut made = vec![(F32, x.dims.clone())];
        if self.rng.chance(50) {
            made.push((if self.version < 10 { F32 } else { BOOL }, x.dims));
        }
        self.add_all(dropout, made);
        Some(())
    }

    fn quantize(&mut self) -> Option<()> {
        if self.version < 11 {
            return None;
        }
        if let Some(x) = self.pick(|known| known.of == U8).filter(|_| self.rng.chance(60)) {
            let scale = self.scalar(F32, 2);
            self.add(n("DequantizeLinear", &[&x.name, &scale]), F32, x.dims);
            return Some(());
        }
        let x = self.pick(|known| known.of == F32)?;
        if self.rng.chance(30) {
            let made = vec![(U8, x.dims), (F32, Vec::new()), (U8, Vec::new())];
            self.add_all(n("DynamicQuantizeLinear", &[&x.name]), made);
            return Some(());
        }
        let mut quantize = n("QuantizeLinear", &[&x.name]);
        if self.version >= 13 && !x.dims.is_empty() && self.rng.chance(50) {
            let (axis, given) = self.axis(x.dims.len());
            let scale = self.weight(&[x.dims[axis]]);
            quantize = with_input(quantize, &scale).with(int("axis", given));
        } else {
            let scale = self.scalar(F32, 2);
            quantize = with_input(quantize, &scale);
        }
        self.add(quantize, U8, x.dims);
        Some(())
    }
}

/// A node that has no name and makes nothing yet.
fn n(kind: &str, inputs: &[&str]) -> NodeProto {
    node("", kind, inputs, &[])
}

fn with_input(mut node: NodeProto, name: &str) -> NodeProto {
    node.input.push(name.to_owned());
    node
}

/// The dims that two are broadcast to.
fn together(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let rank = a.len().max(b.len());
    let at = |dims: &[i64], axis: usize| {
        (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis])
    };
    let dim = |axis: usize| match (at(a, axis), at(b, axis)) {
        (a, b) if a == b => Some(a),
        (1, other) | (other, 1) => Some(other),
        _ => None,
    };
    let dims: Option<Vec<i64>> = (0..rank).map(dim).collect();
    dims.filter(|dims| dims.iter().product::<i64>() <= 2000)
}
