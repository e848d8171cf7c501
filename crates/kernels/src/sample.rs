//! Images sampled at places that are data: grids.

use crate::math;

/// What is made of the elements around a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Of two along each axis.
    Linear,
    /// The nearest, halves to the even one.
    Nearest,
    /// Of four along each axis, with the coefficient -0.75.
    Cubic,
}

/// What is beyond the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Zeros.
    Zeros,
    /// The outermost element.
    Border,
    /// The image, mirrored.
    Reflection,
}

/// How images are sampled at the places of a grid.
#[derive(Clone, Copy, Debug)]
pub struct GridSample {
    /// Elements of the batch.
    pub batch: usize,
    /// Channels.
    pub channels: usize,
    /// Depth, height and width of images; a depth of 1 and no third coordinate for flat ones.
    pub input: [usize; 3],
    /// Whether there is a third coordinate.
    pub is_deep: bool,
    /// Places for each element of the batch.
    pub places: usize,
    /// What is made of the elements around a place.
    pub sampling: Sampling,
    /// What is beyond the edges.
    pub beyond: Beyond,
    /// Whether -1 and 1 are the middles of the outermost elements, not their edges.
    pub align_corners: bool,
}

/// The elements along an axis that a place is made of, and their weights; none where there is nothing.
struct Taps {
    at: [Option<usize>; 4],
    weights: [f32; 4],
}

impl GridSample {
    /// `y [batch, channels, places]` of `x [batch, channels, input]` at `grid [batch, places, 2 or 3]`, coordinates from the
    /// last axis on.
    pub fn run(&self, x: &[f32], grid: &[f32], y: &mut [f32]) {
        let rank = if self.is_deep { 3 } else { 2 };
        let [_, height, width] = self.input;
        let plane = self.input.iter().product::<usize>();
        for b in 0..self.batch {
            for place in 0..self.places {
                let coordinates = &grid[(b * self.places + place) * rank..][..rank];
                let taps: [Taps; 3] = core::array::from_fn(|axis| {
                    let coordinate = coordinates.get(2 - axis).copied();
                    self.taps(coordinate, self.input[axis])
                });
                for channel in b * self.channels..(b + 1) * self.channels {
                    let x = &x[channel * plane..][..plane];
                    let along = |taps: &Taps, of: &dyn Fn(usize) -> f32| {
                        let seen = taps.at.iter().zip(taps.weights);
                        seen.filter_map(|(at, weight)| Some(weight * of((*at)?))).sum::<f32>()
                    };
                    y[channel * self.places + place] = along(&taps[0], &|z| {
                        along(&taps[1], &|r| along(&taps[2], &|c| x[(z * height + r) * width + c]))
                    });
                }
            }
        }
    }

    fn taps(&self, coordinate: Option<f32>, len: usize) -> Taps {
        let Some(n) = coordinate else {
            return Taps { at: [Some(0), None, None, None], weights: [1.0, 0.0, 0.0, 0.0] };
        };
        let long = len as f32;
        let place = if self.align_corners {
            (n + 1.0) / 2.0 * (long - 1.0)
        } else {
            ((n + 1.0) * long - 1.0) / 2.0
        };
        // Where the image is mirrored, places are brought within it first; its elements are then there.
        let place = match self.beyond {
            Beyond::Border if self.sampling != Sampling::Cubic => place.max(0.0).min(long - 1.0),
            Beyond::Reflection if self.sampling != Sampling::Cubic => self.reflected(place, len),
            _ => place,
        };
        let (first, weights) = match self.sampling {
            Sampling::Nearest => (math::round_even(place), [1.0, 0.0, 0.0, 0.0]),
            Sampling::Linear => {
                let low = math::floor(place);
                (low, [1.0 - (place - low), place - low, 0.0, 0.0])
            }
            Sampling::Cubic => {
                let low = math::floor(place);
                (low - 1.0, cubic(place - low))
            }
        };
        let count = match self.sampling {
            Sampling::Nearest => 1,
            Sampling::Linear => 2,
            Sampling::Cubic => 4,
        };
        let at = core::array::from_fn(|tap| {
            if tap < count { self.element(first + tap as f32, len) } else { None }
        });
        Taps { at, weights }
    }

    /// The element at a whole place.
    fn element(&self, place: f32, len: usize) -> Option<usize> {
        let last = len as f32 - 1.0;
        let within = match self.beyond {
            Beyond::Zeros => (0.0..=last).contains(&place).then_some(place)?,
            Beyond::Border => place.max(0.0).min(last),
            Beyond::Reflection => self.reflected(place, len).max(0.0).min(last),
        };
        Some(within as usize)
    }

    /// A place mirrored at the edges until it is between them.
    fn reflected(&self, place: f32, len: usize) -> f32 {
        let (least, most) =
            if self.align_corners { (0.0, len as f32 - 1.0) } else { (-0.5, len as f32 - 0.5) };
        let range = most - least;
        if range <= 0.0 {
            return 0.0;
        }
        let beyond = if place < least {
            least - place
        } else if place > most {
            place - most
        } else {
            return place;
        };
        let times = math::floor(beyond / range);
        let rest = beyond - times * range;
        let from_least = (times % 2.0 == 0.0) == (place < least);
        if from_least { least + rest } else { most - rest }
    }
}

/// The weights of four elements for a place between the second and the third.
fn cubic(x: f32) -> [f32; 4] {
    const A: f32 = -0.75;
    let near = |x: f32| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)]
}
