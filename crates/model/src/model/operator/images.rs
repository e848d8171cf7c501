//! Images: interpolation and sampling.

/// An interpolation. Its default is that of the newest edition.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// The axes that scales or dims are given for; `None` for all.
    pub axes: Option<Vec<i64>>,
    /// What dims mean.
    pub sizing: Sizing,
    /// What is made of the elements around a place.
    pub mode: Interpolation,
    /// Which place of the input an element of the output is.
    pub coordinates: Coordinates,
    /// Whether elements are weighed down to their spacing where the output is smaller.
    pub antialias: bool,
    /// Whether elements beyond the edges have no weight, and the others sum up to 1.
    pub exclude_outside: bool,
    /// What is put where a region of interest goes beyond the input.
    pub extrapolation: f32,
}

impl Default for Resize {
    fn default() -> Self {
        Resize {
            axes: None,
            sizing: Sizing::default(),
            mode: Interpolation::Nearest(Nearest::default()),
            coordinates: Coordinates::default(),
            antialias: false,
            exclude_outside: false,
            extrapolation: 0.0,
        }
    }
}

impl Resize {
    /// Whether scales apply to the region of interest, not to the whole axis.
    #[must_use]
    pub fn crops(&self) -> bool {
        self.coordinates == Coordinates::CropAndResize
    }
}

/// What the dims of an interpolation mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizing {
    /// What they say.
    #[default]
    Exact,
    /// At most, with the proportions kept.
    NotLarger,
    /// At least, with the proportions kept.
    NotSmaller,
}

/// What is made of the elements around a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interpolation {
    /// One of them.
    Nearest(Nearest),
    /// Of two along each axis.
    Linear,
    /// Of four along each axis.
    Cubic {
        /// The coefficient of the polynomials.
        a: f32,
    },
}

/// Which element is the nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nearest {
    /// Halves down.
    #[default]
    RoundPreferFloor,
    /// Halves up.
    RoundPreferCeil,
    /// Always down.
    Floor,
    /// Always up.
    Ceil,
    /// Down along an axis that grows, up along one that shrinks: before edition 11.
    FloorOrCeil,
}

/// Which place `x` of the input the element `i` of the output is, on an axis from `m` to `n` elements
/// with the scale `s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coordinates {
    /// `(i + 0.5) / s - 0.5`.
    #[default]
    HalfPixel,
    /// The same around the middle where `n` is not `s * m`:
    /// `m / 2 * (1 - n / (s * m)) + (i + 0.5) / s - 0.5`.
    HalfPixelSymmetric,
    /// Half a pixel, but 0 if `n` is 1.
    PytorchHalfPixel,
    /// `(i + 0.5) / s`: of edition 11 alone.
    HalfPixelForNearest,
    /// `i * (m - 1) / (n - 1)`, and 0 if `n` is 1.
    AlignCorners,
    /// `i / s`.
    Asymmetric,
    /// Aligned corners of the region of interest.
    CropAndResize,
}

impl Coordinates {
    /// Which place of an input of `m` elements the element `i` of `n` is, in 32 bits as runtimes reckon it; without
    /// a region of interest.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "runtimes do it so")]
    pub fn place(self, i: u64, (m, n): (u64, u64), scale: f32) -> f32 {
        let (i, long, short) = (i as f32, n as f32, m as f32);
        match self {
            Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if n == 1 => 0.0,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (i + 0.5) / scale - 0.5,
            Coordinates::HalfPixelSymmetric => {
                short / 2.0 * (1.0 - long / (scale * short)) + (i + 0.5) / scale - 0.5
            }
            Coordinates::HalfPixelForNearest => (i + 0.5) / scale,
            Coordinates::AlignCorners => i * (short - 1.0) / (long - 1.0),
            Coordinates::Asymmetric | Coordinates::CropAndResize => i / scale,
        }
    }
}

/// Samples at places that a grid says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridSample {
    /// What is made of the elements around a place.
    pub mode: Sampling,
    /// What is beyond the edges.
    pub padding: Beyond,
    /// Whether -1 and 1 are the middles of the outermost elements, not their edges.
    pub align_corners: bool,
}

impl Default for GridSample {
    fn default() -> Self {
        GridSample { mode: Sampling::Linear, padding: Beyond::Zeros, align_corners: false }
    }
}

/// What is made of the elements around a place of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Of two along each axis.
    Linear,
    /// The nearest.
    Nearest,
    /// Of four along each axis, with the coefficient -0.75.
    Cubic,
}

/// What is beyond the edges of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Zeros.
    Zeros,
    /// The outermost element.
    Border,
    /// The image, mirrored.
    Reflection,
}

/// Regions of images, sampled to one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoiAlign {
    /// Height of the output.
    pub height: u64,
    /// Width of the output.
    pub width: u64,
    /// What is made of the samples of a bin.
    pub pooling: RoiPooling,
    /// Samples along an axis of a bin; 0 for as many as it has pixels, rounded up.
    pub sampling_ratio: u64,
    /// From coordinates of regions to those of the input.
    pub spatial_scale: f32,
    /// Whether half a pixel is taken off coordinates.
    pub half_pixel: bool,
}

impl Default for RoiAlign {
    fn default() -> Self {
        RoiAlign {
            height: 1,
            width: 1,
            pooling: RoiPooling::Average,
            sampling_ratio: 0,
            spatial_scale: 1.0,
            half_pixel: true,
        }
    }
}

/// What is made of the samples of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoiPooling {
    /// Their mean.
    Average,
    /// The largest of the four weighed elements of each, and the largest of these.
    Max,
}
