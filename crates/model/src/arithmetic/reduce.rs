//! Many elements to one.

use plimsoll_graph::{Class, Dtype, Int, Numbers};

use super::array::{Target, each};
use super::elementwise::extreme;
use super::number::{Number, small_whole};
use super::{LIMIT, Operands, interval, normal};
use crate::model::{Reduce, Reduction};

/// Elements of all operands, broadcast against each other.
pub(super) fn across(
    function: Reduction,
    operands: &Operands<'_>,
    target: &Target,
) -> Option<Numbers> {
    let count = operands.inputs.len();
    if count.saturating_mul(target.len()) > 4 * LIMIT {
        return None;
    }
    let arrays = (0..count).map(|index| operands.array(index)).collect::<Option<Vec<_>>>()?;
    target.fill(|at| {
        let group = arrays.iter().map(|array| array.broadcast(at)).collect::<Option<Vec<_>>>()?;
        folded(function, &group, target.dtype)
    })
}

/// `x, axes?`.
pub(super) fn along(reduce: Reduce, operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    let axes = match operands.fact(1) {
        None => Vec::new(),
        Some(_) => operands.ints(1)?,
    };
    let mut reduced = vec![axes.is_empty() && !reduce.none_if_empty; x.rank()];
    for axis in axes {
        reduced[normal(axis, x.rank())?] = true;
    }
    let mut groups = vec![Vec::new(); target.len()];
    let mut complete = true;
    each(&x.dims, |at| {
        let kept = at.iter().zip(&x.dims).zip(&reduced).filter(|(_, reduced)| !**reduced);
        let index = kept.fold(0, |index, ((at, dim), _)| index * dim + at);
        match (groups.get_mut(index), x.at(at)) {
            (Some(group), Some(number)) => group.push(number),
            _ => complete = false,
        }
    });
    if !complete {
        return None;
    }
    let mut groups = groups.iter();
    target.fill(|_| folded(reduce.function, groups.next()?, target.dtype))
}

/// Elements reduced to one, if that is the same in whichever order.
fn folded(function: Reduction, group: &[Number], dtype: Dtype) -> Option<Number> {
    let ints: Option<Vec<Int>> = group.iter().map(|number| number.clone().int()).collect();
    match (function, ints.filter(|_| dtype.class() == Class::Integer)) {
        (Reduction::Max, _) => extreme_of(group, |a, b| extreme(a, b, interval::max, f64::max)),
        (Reduction::Min, _) => extreme_of(group, |a, b| extreme(a, b, interval::min, f64::min)),
        (Reduction::Sum, Some(ints)) => interval::sum(ints.into_iter()).map(Number::Int),
        (Reduction::Product, Some(ints)) => interval::product(ints.into_iter()).map(Number::Int),
        (Reduction::Sum, None) => whole_sum(group, dtype).map(Number::Float),
        (Reduction::Product, None) => whole_product(group, dtype).map(Number::Float),
        // Half of a half is exact; a third of something depends on how it is reckoned.
        (Reduction::Mean, _) if group.len().is_power_of_two() => {
            whole_sum(group, dtype).map(|sum| Number::Float(sum / group.len() as f64))
        }
        (
            Reduction::Mean
            | Reduction::L1
            | Reduction::L2
            | Reduction::LogSum
            | Reduction::LogSumExp
            | Reduction::SumSquare,
            _,
        ) => None,
    }
}

fn extreme_of(
    group: &[Number],
    larger: impl Fn(Number, Number) -> Option<Number>,
) -> Option<Number> {
    let (first, rest) = group.split_first()?;
    rest.iter().try_fold(first.clone(), |found, number| larger(found, number.clone()))
}

fn floats(group: &[Number]) -> impl Iterator<Item = Option<f64>> {
    group.iter().map(|number| match number {
        Number::Float(float) => Some(*float),
        Number::Int(_) => None,
    })
}

/// The sum of whole numbers, none of whose partial sums can be rounded.
fn whole_sum(group: &[Number], dtype: Dtype) -> Option<f64> {
    let (mut sum, mut most) = (0.0, 0.0);
    for float in floats(group) {
        let float = float.filter(|float| small_whole(*float, dtype))?;
        sum += float;
        most += float.abs();
    }
    small_whole(most, dtype).then_some(sum)
}

/// The product of whole numbers, none of whose partial products can be rounded.
fn whole_product(group: &[Number], dtype: Dtype) -> Option<f64> {
    let (mut product, mut most) = (1.0, 1.0f64);
    for float in floats(group) {
        let float = float.filter(|float| small_whole(*float, dtype))?;
        product *= float;
        most *= float.abs().max(1.0);
    }
    small_whole(most, dtype).then_some(product)
}
