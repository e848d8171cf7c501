//! Tensors as kernels see them, and the ways in which kernels go over them.

use plimsoll::ValueId;

use super::memory::Memory;

/// A place in a tensor, by axis.
pub type Index = Vec<usize>;

/// An operand: which value, and its dims.
type Operand = Option<(ValueId, Vec<usize>)>;

/// The operands of a node. Those that are absent have no dims.
pub struct Tensors<'a> {
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    memory: &'a mut dyn Memory,
}

/// Numbers mixed into one, in which their order matters.
pub fn mix(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let mixed = numbers.into_iter().fold(0x9e37_79b9_7f4a_7c15_u64, |mixed, number| {
        (mixed ^ number).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31)
    });
    mixed ^ mixed >> 32
}

/// Elements as integers.
#[must_use]
pub fn ints(numbers: &[u64]) -> Vec<i64> {
    numbers.iter().map(|number| i64::from((*number as u32).cast_signed())).collect()
}

impl<'a> Tensors<'a> {
    pub(super) fn new(
        inputs: Vec<Operand>,
        outputs: Vec<Operand>,
        memory: &'a mut dyn Memory,
    ) -> Self {
        Tensors { inputs, outputs, memory }
    }

    /// How many inputs there are, absent ones included.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The dims of an input, if it is there.
    #[must_use]
    pub fn input(&self, input: usize) -> Option<&[usize]> {
        self.inputs.get(input)?.as_ref().map(|(_, dims)| &dims[..])
    }

    /// The dims of an input that is there.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub fn dims(&self, input: usize) -> &[usize] {
        self.input(input).expect("the input is there")
    }

    /// The dims of an output, if somebody wants it.
    #[must_use]
    pub fn output(&self, output: usize) -> Option<&[usize]> {
        self.outputs.get(output)?.as_ref().map(|(_, dims)| &dims[..])
    }

    /// How many outputs there are, absent ones included.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// An element of an input, by its number.
    ///
    /// # Panics
    /// If the input is absent.
    #[must_use]
    pub fn element(&self, input: usize, element: usize) -> u64 {
        let (value, _) = self.inputs[input].as_ref().expect("the input is there");
        self.memory.get(*value, element)
    }

    /// An element of an input, by its place.
    #[must_use]
    pub fn read(&self, input: usize, index: &[usize]) -> u64 {
        self.element(input, ravel(self.dims(input), index))
    }

    /// An element of an input that is broadcast, by the place in what it is broadcast to.
    #[must_use]
    pub fn broadcast(&self, input: usize, index: &[usize]) -> u64 {
        let dims = self.dims(input);
        let inner = &index[index.len().saturating_sub(dims.len())..];
        let own: Index =
            dims.iter().zip(inner).map(|(dim, at)| if *dim == 1 { 0 } else { *at }).collect();
        self.read(input, &own)
    }

    /// All elements of an input.
    #[must_use]
    pub fn all(&self, input: usize) -> Vec<u64> {
        (0..self.dims(input).iter().product()).map(|e| self.element(input, e)).collect()
    }

    /// All elements of an input as integers; nothing if it is absent.
    #[must_use]
    pub fn ints(&self, input: usize) -> Option<Vec<i64>> {
        self.input(input).map(|_| ints(&self.all(input)))
    }

    /// What an element of an output is by now.
    ///
    /// # Panics
    /// If the output is absent.
    #[must_use]
    pub fn written(&self, output: usize, element: usize) -> u64 {
        let (value, _) = self.outputs[output].as_ref().expect("the output is there");
        self.memory.get(*value, element)
    }

    /// Writes an element of an output, if somebody wants it.
    pub fn write(&mut self, output: usize, element: usize, number: u64) {
        if let Some((value, _)) = self.outputs[output].as_ref() {
            self.memory.set(*value, element, number);
        }
    }

    /// Writes an output one element after another, each before the next is computed.
    pub fn each(&mut self, output: usize, number: impl Fn(&Self, &[usize]) -> u64) {
        let Some(dims) = self.output(output).map(<[usize]>::to_vec) else { return };
        for element in 0..dims.iter().product() {
            let number = number(self, &unravel(&dims, element));
            self.write(output, element, number);
        }
    }

    /// Writes output 0 row by row along axes: a row is read as a whole before it is written.
    ///
    /// # Panics
    /// If there is no output.
    pub fn each_row(&mut self, axes: &[usize], row: impl Fn(&Self, &[Index]) -> Vec<u64>) {
        let dims = self.output(0).expect("an output").to_vec();
        let outer: Vec<usize> =
            (0..dims.len()).map(|axis| if axes.contains(&axis) { 1 } else { dims[axis] }).collect();
        let inner: Vec<usize> =
            (0..dims.len()).map(|axis| if axes.contains(&axis) { dims[axis] } else { 1 }).collect();
        for first in (0..outer.iter().product()).map(|element| unravel(&outer, element)) {
            let place = |element: usize| {
                let within = unravel(&inner, element);
                first.iter().zip(within).map(|(a, b)| a + b).collect()
            };
            let places: Vec<Index> = (0..inner.iter().product()).map(place).collect();
            for (place, number) in places.iter().zip(row(self, &places)) {
                self.write(0, ravel(&dims, place), number);
            }
        }
    }

    /// Every output depends on every element of every input.
    pub fn whole(&mut self, salt: u64) {
        let present = (0..self.inputs()).filter(|input| self.input(*input).is_some());
        let numbers: Vec<u64> = present.flat_map(|input| self.all(input)).collect();
        let sum = mix([salt].into_iter().chain(numbers));
        for output in 0..self.outputs() {
            let mut element = 0;
            while self.output(output).is_some_and(|dims| element < dims.iter().product()) {
                self.write(output, element, mix([sum, output as u64, element as u64]));
                element += 1;
            }
        }
    }

    /// Output 0 element by element, from inputs that are broadcast.
    pub fn elementwise(&mut self, salt: u64) {
        self.each(0, |tensors, index| {
            let present = (0..tensors.inputs()).filter(|input| tensors.input(*input).is_some());
            let numbers = present.map(|input| tensors.broadcast(input, index));
            mix([salt].into_iter().chain(numbers))
        });
    }

    /// Output 0 as a sum that is gone over once for each input.
    ///
    /// # Panics
    /// If there is no output.
    pub fn accumulate(&mut self, salt: u64) {
        self.each(0, |tensors, index| tensors.broadcast(0, index));
        let dims = self.output(0).expect("an output").to_vec();
        for input in 1..self.inputs() {
            for element in 0..dims.iter().product() {
                let more = self.broadcast(input, &unravel(&dims, element));
                let number = mix([salt, self.written(0, element), more]);
                self.write(0, element, number);
            }
        }
    }

    /// Output 0 is input 0, in another shape.
    pub fn same(&mut self) {
        for element in 0..self.dims(0).iter().product() {
            let number = self.element(0, element);
            self.write(0, element, number);
        }
    }

    /// Output 0 as the matrix products of inputs 0 and 1, with what is added as input 2; a vector is a
    /// row on the left and a column on the right.
    pub fn products(&mut self, salt: u64) {
        let (left, right) = (self.dims(0).to_vec(), self.dims(1).to_vec());
        let inner = left.last().copied().unwrap_or(1);
        self.each(0, |tensors, index| {
            let mut outer = index.to_vec();
            let column = if right.len() > 1 { outer.pop() } else { None };
            let row = if left.len() > 1 { outer.pop() } else { None };
            let batch = |dims: &[usize]| -> Index {
                let dims = &dims[..dims.len().saturating_sub(2)];
                let of = &outer[outer.len() - dims.len()..];
                dims.iter().zip(of).map(|(dim, at)| if *dim == 1 { 0 } else { *at }).collect()
            };
            let pairs = (0..inner).flat_map(|k| {
                let a: Index = batch(&left).into_iter().chain(row).chain([k]).collect();
                let b: Index = batch(&right).into_iter().chain([k]).chain(column).collect();
                [tensors.read(0, &a), tensors.read(1, &b)]
            });
            let sum = mix([salt].into_iter().chain(pairs));
            match tensors.input(2) {
                Some(_) => mix([sum, tensors.broadcast(2, index)]),
                None => sum,
            }
        });
    }
}

/// The number of the element at a place.
pub(super) fn ravel(dims: &[usize], index: &[usize]) -> usize {
    assert!(
        dims.len() == index.len() && dims.iter().zip(index).all(|(dim, at)| at < dim),
        "{index:?} is no place in {dims:?}"
    );
    dims.iter().zip(index).fold(0, |element, (dim, at)| element * dim + at)
}

/// The place of an element.
pub(super) fn unravel(dims: &[usize], mut element: usize) -> Index {
    let mut index = vec![0; dims.len()];
    for (at, dim) in index.iter_mut().zip(dims).rev() {
        *at = element % dim;
        element /= dim;
    }
    index
}
