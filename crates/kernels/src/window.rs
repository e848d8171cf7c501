//! [`Window`]: what slides over the space of a convolution or a pool.

use core::ops::Range;

/// A window that slides over up to three dims. One or two dims are three with leading dims of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Dims of the input.
    pub input: [usize; 3],
    /// Dims of the output.
    pub output: [usize; 3],
    /// Dims of the window.
    pub kernel: [usize; 3],
    /// Steps from one output to the next.
    pub strides: [usize; 3],
    /// Steps from one element of the window to the next.
    pub dilations: [usize; 3],
    /// Padding before the input.
    pub pads_begin: [usize; 3],
    /// Padding behind the input.
    pub pads_end: [usize; 3],
}

impl Window {
    /// A window over `input`, by 1, without padding; the output is what fits.
    #[must_use]
    pub fn new(input: &[usize], kernel: &[usize]) -> Window {
        let (input, kernel) = (three(input, 1), three(kernel, 1));
        let [ones, zeros] = [[1; 3], [0; 3]];
        let window = Window {
            input,
            output: ones,
            kernel,
            strides: ones,
            dilations: ones,
            pads_begin: zeros,
            pads_end: zeros,
        };
        window.fitted()
    }

    /// The same with these strides.
    #[must_use]
    pub fn strides(self, strides: &[usize]) -> Window {
        Window { strides: three(strides, 1), ..self }.fitted()
    }

    /// The same with these dilations.
    #[must_use]
    pub fn dilations(self, dilations: &[usize]) -> Window {
        Window { dilations: three(dilations, 1), ..self }.fitted()
    }

    /// The same with this padding.
    #[must_use]
    pub fn pads(self, begin: &[usize], end: &[usize]) -> Window {
        Window { pads_begin: three(begin, 0), pads_end: three(end, 0), ..self }.fitted()
    }

    /// The same with this output, as `ceil_mode` or a transposed convolution says it.
    #[must_use]
    pub fn output(self, output: &[usize]) -> Window {
        Window { output: three(output, 1), ..self }
    }

    /// With as many outputs as fit.
    fn fitted(self) -> Window {
        let fit = |d: usize| {
            let padded = self.input[d] + self.pads_begin[d] + self.pads_end[d];
            let reach = (self.kernel[d] - 1) * self.dilations[d] + 1;
            padded.checked_sub(reach).map_or(0, |room| room / self.strides[d] + 1)
        };
        Window { output: [fit(0), fit(1), fit(2)], ..self }
    }

    /// Elements of a plane of the input.
    #[must_use]
    pub fn input_len(&self) -> usize {
        self.input.iter().product()
    }

    /// Elements of a plane of the output.
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.output.iter().product()
    }

    /// Elements of the window.
    #[must_use]
    pub fn kernel_len(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Where in the input element `tap` of the window is for output `at`, unless that is padding.
    #[must_use]
    #[inline]
    pub fn source(&self, dim: usize, at: usize, tap: usize) -> Option<usize> {
        let padded = at * self.strides[dim] + tap * self.dilations[dim];
        padded.checked_sub(self.pads_begin[dim]).filter(|place| *place < self.input[dim])
    }

    /// The elements of the window that are inside of the input for output `at`.
    #[must_use]
    pub fn taps(&self, dim: usize, at: usize) -> Range<usize> {
        let (begin, step) = (at * self.strides[dim], self.dilations[dim]);
        let first = self.pads_begin[dim].saturating_sub(begin).div_ceil(step);
        let end = (self.input[dim] + self.pads_begin[dim]).saturating_sub(begin).div_ceil(step);
        let end = end.min(self.kernel[dim]);
        first.min(end)..end
    }

    /// Whether every output is the input at the same place: 1 × 1, by 1, without padding.
    #[must_use]
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3]
            && self.strides == [1; 3]
            && self.input == self.output
            && self.pads_begin == [0; 3]
    }
}

/// Dims of at most three, with leading ones of `missing`.
fn three(dims: &[usize], missing: usize) -> [usize; 3] {
    assert!(dims.len() <= 3, "at most three dims of space");
    let mut all = [missing; 3];
    all[3 - dims.len()..].copy_from_slice(dims);
    all
}
