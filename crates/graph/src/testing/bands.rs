//! Networks that are computed in bands of rows: graphs of thousands of small steps.
//!
//! One band after the other goes through all layers. A layer keeps the last rows of what it has read
//! for its next turn, and its next band is put behind them by a concat. Layers with a stride halve the
//! rows; where only one is left, two turns are gathered before the next layer has one.

use std::fmt::Write;

use crate::graph::Graph;
use crate::text;

/// A network of so many layers in so many bands, of about four steps for each pair.
///
/// # Panics
/// If the generator made an invalid graph, which would be a fault in it.
#[must_use]
pub fn band_graph(layers: usize, bands: usize) -> Graph {
    let text = band_text(layers, bands);
    text::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// The same as text.
#[must_use]
pub fn band_text(layers: usize, bands: usize) -> String {
    let mut network = Network {
        text: format!("plim 1\ninput x: f32[1, 3, {}, 112]\n", 4 * bands),
        kept: vec![None; layers],
        waiting: vec![None; layers],
    };
    let mut last: Option<String> = None;
    for band in 0..bands {
        let Some(made) = network.band(layers, band, band + 1 == bands) else { continue };
        let sum = format!("o{band}");
        network.line(&sum, &[1, 32], &format!("sum({made})"));
        last = Some(match last {
            None => sum,
            Some(before) => {
                network.line(&format!("a{band}"), &[1, 32], &format!("add({before}, {sum})"));
                format!("a{band}")
            }
        });
    }
    let _ = writeln!(network.text, "output {}", last.unwrap_or("x".to_owned()));
    network.text
}

/// What was written so far, and what the layers keep.
struct Network {
    text: String,
    /// The rows that a layer reads again.
    kept: Vec<Option<String>>,
    /// What waits for a second turn.
    waiting: Vec<Option<String>>,
}

/// Some rows: what they are called, and channels, rows and columns.
struct Rows(String, u64, u64, u64);

impl Network {
    fn line(&mut self, name: &str, dims: &[u64], made: &str) {
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{name}: f32[{}] = {made}", dims.join(", "));
    }

    fn rows(&mut self, Rows(name, channels, rows, columns): &Rows, made: &str) {
        self.line(name, &[1, *channels, *rows, *columns], made);
    }

    /// A band through all layers; what the last has made, if it had a turn.
    fn band(&mut self, layers: usize, band: usize, is_last: bool) -> Option<String> {
        let mut input = Rows(format!("s{band}"), 3, 4, 112);
        let slice = format!("slice{{axis=2, start={}, len=4}}(x)", 4 * band);
        self.rows(&input, &slice);
        for layer in 0..layers {
            input = self.layer((layer, layers), band, input, is_last)?;
        }
        Some(input.0)
    }

    /// A layer's turn; `None` if the next one has to wait.
    fn layer(
        &mut self,
        (layer, layers): (usize, usize),
        band: usize,
        input: Rows,
        is_last: bool,
    ) -> Option<Rows> {
        let name = |what: &str| format!("l{layer}b{band}{what}");
        let Rows(new, channels, count, columns) = input;
        let read = match self.kept[layer].take() {
            None => Rows(new, channels, count, columns),
            Some(kept) => {
                let both = Rows(name("c"), channels, count + 2, columns);
                self.rows(&both, &format!("concat{{axis=2}}({kept}, {new})"));
                both
            }
        };
        let width = [16, 24, 32, 48, 64, 96, 24, 40][layer % 8] * (1 + 2 * layer / layers) as u64;
        let wide = 112u64 >> (3 * layer / layers);
        let rows = if wide < columns { count / 2 } else { count };
        self.rows(&Rows(name("y"), width, rows, wide), &format!("conv({})", read.0));
        let mut made = Rows(name("z"), width, rows, wide);
        self.rows(&made, &format!("relu({})", name("y")));
        if !is_last {
            let kept = Rows(name("k"), channels, 2, columns);
            let start = read.2 - 2;
            self.rows(&kept, &format!("slice{{axis=2, start={start}, len=2}}({})", read.0));
            self.kept[layer] = Some(kept.0);
        }
        if rows >= 2 {
            return Some(made);
        }
        match self.waiting[layer].take() {
            None => {
                self.waiting[layer] = Some(made.0);
                None
            }
            Some(first) => {
                let second = std::mem::replace(&mut made.0, name("g"));
                made.2 = 2;
                self.rows(&made, &format!("concat{{axis=2}}({first}, {second})"));
                Some(made)
            }
        }
    }
}
