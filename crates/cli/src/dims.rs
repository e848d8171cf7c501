//! Dims on the command line: `--dim batch=8 --dim seq=1..512 --input-shape x=1,3,224,224`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use plimsoll_model::Bindings;
use plimsoll_model::range::Range;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a plan uses is told for every corner of its ranges, so there cannot be too many.
const MOST_RANGES: usize = 6;

/// What a command line can say of the dims of a model.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Model")]
pub(crate) struct DimArgs {
    /// The size of a symbolic dim, or a range of sizes such as seq=1..512
    ///
    /// A plan for a range is proven for every size in it; the summary says how.
    #[arg(long, value_name = "NAME=N|NAME=LO..HI", value_parser = parse_dim)]
    dim: Vec<(String, Extent)>,

    /// The shape of an input for which the model declares none
    #[arg(long, value_name = "INPUT=N,N,...", value_parser = parse_shape)]
    input_shape: Vec<(String, Vec<u64>)>,
}

/// What a symbol stands for: one number, or every number between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    lo: u64,
    hi: u64,
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected(text));
        let (lo, hi) = match text.split_once("..") {
            Some((lo, hi)) => (number(lo)?, number(hi)?),
            None => (number(text)?, number(text)?),
        };
        if lo > hi {
            return Err(format!("{lo}..{hi} ends before it begins"));
        }
        Ok(Extent { lo, hi })
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lo == self.hi {
            write!(f, "{}", self.lo)
        } else {
            write!(f, "{}..{}", self.lo, self.hi)
        }
    }
}

fn expected(text: &str) -> String {
    format!("expected a number or a range like 1..512, not {text:?}")
}

fn parse_dim(text: &str) -> Result<(String, Extent), String> {
    let (name, extent) = text.rsplit_once('=').ok_or("expected NAME=N or NAME=LO..HI")?;
    Ok((name.to_owned(), extent.parse()?))
}

fn parse_shape(text: &str) -> Result<(String, Vec<u64>), String> {
    let (name, dims) = text.rsplit_once('=').ok_or("expected INPUT=N,N,...")?;
    let dims = dims.split(',').map(str::trim).filter(|dim| !dim.is_empty());
    let dims = dims.map(|dim| dim.parse::<u64>().map_err(|_| format!("{dim:?} is not a number")));
    Ok((name.to_owned(), dims.collect::<Result<_, _>>()?))
}

/// What symbols and inputs are bound to, and who said so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dims {
    symbols: BTreeMap<String, Extent>,
    inputs: BTreeMap<String, Vec<u64>>,
}

/// What a plan tells of dims.
#[derive(Default, Deserialize)]
pub(crate) struct RecordedDims {
    #[serde(default)]
    dims: BTreeMap<String, ToldExtent>,
    #[serde(default)]
    input_shapes: BTreeMap<String, Vec<u64>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a dim has to be a number or a range like \"1..512\"")]
enum ToldExtent {
    Number(u64),
    Text(String),
}

impl DimArgs {
    /// Whether the arguments bind a symbol (`dims`) or an input (`input_shapes`) of that name.
    pub(crate) fn binds(&self, key: &str, name: &str) -> bool {
        match key {
            "dims" => self.dim.iter().any(|(bound, _)| bound == name),
            _ => self.input_shape.iter().any(|(bound, _)| bound == name),
        }
    }

    /// What the arguments say, and where they say nothing, what a plan tells.
    pub(crate) fn or_as_recorded(&self, recorded: RecordedDims) -> Result<Dims> {
        let mut dims = Dims { symbols: BTreeMap::new(), inputs: recorded.input_shapes };
        for (name, extent) in recorded.dims {
            let extent = match extent {
                ToldExtent::Number(dim) => Extent { lo: dim, hi: dim },
                ToldExtent::Text(text) => text.parse().map_err(|error: String| anyhow!(error))?,
            };
            dims.symbols.insert(name, extent);
        }
        dims.symbols.extend(self.dim.iter().cloned());
        dims.inputs.extend(self.input_shape.iter().cloned());
        let ranges = dims.ranges().count();
        ensure!(ranges <= MOST_RANGES, "{ranges} dims have ranges; {MOST_RANGES} can at a time");
        Ok(dims)
    }
}

impl Dims {
    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Dims::default()
    }

    /// The largest of everything: what is planned.
    pub(crate) fn largest(&self) -> Bindings {
        self.bindings(|extent, _| extent.hi)
    }

    /// The largest of everything but one symbol, of which it is half, with what that is called.
    pub(crate) fn halves(&self) -> Vec<(String, Bindings)> {
        let can_be_less = self.symbols.iter().filter(|(_, extent)| extent.hi > 1);
        let halved = |(half, extent): (&String, &Extent)| {
            let less = extent.hi.div_ceil(2);
            let bindings =
                self.bindings(|extent, name| if name == half { less } else { extent.hi });
            (format!("{half}={less}"), bindings)
        };
        can_be_less.map(halved).collect()
    }

    /// Every other corner of the ranges, with what it is called.
    pub(crate) fn corners(&self) -> Vec<(String, Bindings)> {
        let ranges: Vec<&String> = self.ranges().collect();
        let corner = |mask: usize| {
            let low = |name: &str| {
                ranges
                    .iter()
                    .position(|range| *range == name)
                    .is_some_and(|bit| mask >> bit & 1 == 1)
            };
            let bindings =
                self.bindings(|extent, name| if low(name) { extent.lo } else { extent.hi });
            let names: Vec<String> =
                ranges.iter().map(|name| format!("{name}={}", bindings.symbols[*name])).collect();
            (names.join(", "), bindings)
        };
        (1..1usize << ranges.len()).map(corner).collect()
    }

    /// The symbols that have no single number.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &String> {
        self.symbols.iter().filter(|(_, extent)| extent.lo < extent.hi).map(|(name, _)| name)
    }

    /// The ranges, each with its symbol.
    pub(crate) fn all_ranges(&self) -> Vec<Range> {
        let range = |symbol: &String| {
            let Extent { lo, hi } = self.symbols[symbol];
            Range { symbol: symbol.clone(), least: lo, most: hi }
        };
        self.ranges().map(range).collect()
    }

    fn bindings(&self, pick: impl Fn(&Extent, &str) -> u64) -> Bindings {
        let symbols = self.symbols.iter();
        let symbols = symbols.map(|(name, extent)| (name.clone(), pick(extent, name))).collect();
        Bindings { symbols, inputs: self.inputs.clone() }
    }

    /// What a plan has to tell of them.
    pub(crate) fn record(&self, mut record: impl FnMut(&str, Value)) {
        if !self.symbols.is_empty() {
            let recorded = |extent: &Extent| {
                let one = extent.lo == extent.hi;
                if one { json!(extent.hi) } else { json!(extent.to_string()) }
            };
            let dims: BTreeMap<&String, Value> =
                self.symbols.iter().map(|(name, extent)| (name, recorded(extent))).collect();
            record("dims", json!(dims));
        }
        if !self.inputs.is_empty() {
            record("input_shapes", json!(self.inputs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_are_numbers_or_ranges() {
        assert_eq!(parse_dim("batch=8"), Ok(("batch".to_owned(), Extent { lo: 8, hi: 8 })));
        assert_eq!(parse_dim("a=b=1..512"), Ok(("a=b".to_owned(), Extent { lo: 1, hi: 512 })));
        assert_eq!(parse_dim("n=4..1").unwrap_err(), "4..1 ends before it begins");
        assert_eq!(parse_dim("n").unwrap_err(), "expected NAME=N or NAME=LO..HI");
        assert_eq!(
            parse_dim("n=-1").unwrap_err(),
            "expected a number or a range like 1..512, not \"-1\""
        );
    }

    #[test]
    fn shapes_are_lists() {
        assert_eq!(parse_shape("x=1,3, 8"), Ok(("x".to_owned(), vec![1, 3, 8])));
        assert_eq!(parse_shape("x="), Ok(("x".to_owned(), vec![])));
        assert_eq!(parse_shape("x=1,b").unwrap_err(), "\"b\" is not a number");
    }

    #[test]
    fn ranges_have_corners() {
        let args = DimArgs {
            dim: ["a=1..2", "b=3", "c=4..5"].map(|dim| parse_dim(dim).unwrap()).to_vec(),
            input_shape: Vec::new(),
        };
        let dims = args.or_as_recorded(RecordedDims::default()).unwrap();
        let largest: Vec<u64> = dims.largest().symbols.into_values().collect();
        assert_eq!(largest, [2, 3, 5]);
        let names: Vec<String> = dims.corners().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a=1, c=5", "a=2, c=4", "a=1, c=4"]);
    }
}
