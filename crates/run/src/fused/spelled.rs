//! Activations that are spelled out, as the one function that they are.
//!
//! | steps | function |
//! |---|---|
//! | `x · sigmoid(α x)` | swish |
//! | `x · clamp(x + 3, 0, 6) / 6`, divided before or after | hard swish |
//! | `x · (1 + erf(x / √2)) / 2` | GELU |
//! | `x · tanh(softplus(x))` | mish |
//!
//! Only steps that follow each other are looked at, and only if nobody else reads what lies between them.

use plimsoll_kernels::binary::Binary;
use plimsoll_kernels::chain::{Arg, Op, Step, To};
use plimsoll_kernels::unary::Unary;

/// Replaces what is spelled out.
pub(super) fn shorten(steps: &mut Vec<Step>) {
    let mut at = 0;
    while at < steps.len() {
        if let Some((count, function, x)) = found(&steps[at..])
            && are_inside(steps, at, count)
            && Some(steps[at + count - 1].to) != register(x)
        {
            let to = steps[at + count - 1].to;
            let step = Step { op: Op::Unary(function), args: [x; 3], to };
            steps.splice(at..at + count, [step]);
        }
        at += 1;
    }
}

fn register(arg: Arg) -> Option<To> {
    match arg {
        Arg::Register(at) => Some(To::Register(at)),
        Arg::One(at) => Some(To::One(at)),
        Arg::Operand(_) | Arg::Number(_) => None,
    }
}

/// What a step leaves.
fn made(step: &Step) -> Arg {
    match step.to {
        To::Register(at) => Arg::Register(at),
        To::One(at) => Arg::One(at),
    }
}

/// Whether what all but the last of some steps leave is read by none behind them.
fn are_inside(steps: &[Step], at: usize, count: usize) -> bool {
    let (inside, behind) = steps[at..].split_at(count);
    inside[..count - 1].iter().all(|step| {
        step.to == inside[count - 1].to || {
            let until = behind.iter().position(|later| later.to == step.to);
            let reads = |later: &Step| later.args.contains(&made(step));
            let overwritten = until.map_or(behind.len(), |until| until + 1);
            !behind[..overwritten].iter().any(reads)
        }
    })
}

/// The function that the first steps are, how many these are, and of what.
fn found(steps: &[Step]) -> Option<(usize, Unary, Arg)> {
    swish(steps).or_else(|| hard_swish(steps)).or_else(|| gelu(steps)).or_else(|| mish(steps))
}

/// The operand of a step of one operand.
fn of(step: &Step, function: Unary) -> Option<Arg> {
    (step.op == Op::Unary(function)).then_some(step.args[0])
}

/// The other operand of a step of two in any order.
fn with(step: &Step, function: Binary, one: Arg) -> Option<Arg> {
    match (step.op, step.args) {
        (Op::Binary(binary), [a, b, _]) if binary == function && b == one => Some(a),
        (Op::Binary(binary), [a, b, _]) if binary == function && a == one => Some(b),
        _ => None,
    }
}

/// What a step multiplies by a number.
fn scaled(step: &Step) -> Option<(Arg, f32)> {
    match (step.op, step.args) {
        (Op::Binary(Binary::Mul), [x, Arg::Number(factor), _] | [Arg::Number(factor), x, _]) => {
            Some((x, factor))
        }
        (Op::Binary(Binary::Div), [x, Arg::Number(divisor), _]) => Some((x, 1.0 / divisor)),
        _ => None,
    }
}

fn is_near(x: f32, y: f32) -> bool {
    (x - y).abs() <= 1e-6 * y.abs()
}

/// Whether a step multiplies these two.
fn multiplies(step: Option<&Step>, x: Arg, y: Arg) -> Option<()> {
    (with(step?, Binary::Mul, y)? == x).then_some(())
}

fn swish(steps: &[Step]) -> Option<(usize, Unary, Arg)> {
    let first = steps.first()?;
    if let Some(x) = of(first, Unary::Sigmoid) {
        multiplies(steps.get(1), x, made(first))?;
        return Some((2, Unary::Swish { alpha: 1.0 }, x));
    }
    let (x, alpha) = scaled(first)?;
    let sigmoid = steps.get(1)?;
    let inner = of(sigmoid, Unary::Sigmoid)?;
    multiplies(steps.get(2), x, made(sigmoid))?;
    (inner == made(first)).then_some((3, Unary::Swish { alpha }, x))
}

fn hard_swish(steps: &[Step]) -> Option<(usize, Unary, Arg)> {
    let [a, b, c, d, e, ..] = steps else { return None };
    let x = with(a, Binary::Add, Arg::Number(3.0))?;
    let above = with(b, Binary::Max, Arg::Number(0.0))? == made(a);
    let below = with(c, Binary::Min, Arg::Number(6.0))? == made(b);
    let divided = |step: &Step, of: &Step| {
        scaled(step).is_some_and(|(x, factor)| x == made(of) && is_near(factor, 1.0 / 6.0))
    };
    let last = (multiplies(Some(d), x, made(c)).is_some() && divided(e, d))
        || (divided(d, c) && multiplies(Some(e), x, made(d)).is_some());
    (above && below && last).then_some((5, Unary::HardSwish, x))
}

fn gelu(steps: &[Step]) -> Option<(usize, Unary, Arg)> {
    let [a, b, c, d, e, ..] = steps else { return None };
    let (x, factor) = scaled(a)?;
    let inner = of(b, Unary::Erf)? == made(a);
    let above = with(c, Binary::Add, Arg::Number(1.0))? == made(b);
    let halved = |step: &Step, of: &Step| {
        scaled(step).is_some_and(|(x, factor)| x == made(of) && is_near(factor, 0.5))
    };
    let last = (multiplies(Some(d), x, made(c)).is_some() && halved(e, d))
        || (halved(d, c) && multiplies(Some(e), x, made(d)).is_some());
    let fits = is_near(factor, std::f32::consts::FRAC_1_SQRT_2);
    (inner && above && last && fits).then_some((5, Unary::Gelu, x))
}

fn mish(steps: &[Step]) -> Option<(usize, Unary, Arg)> {
    let [a, b, c, ..] = steps else { return None };
    let x = of(a, Unary::Softplus)?;
    let inner = of(b, Unary::Tanh)? == made(a);
    multiplies(Some(c), x, made(b))?;
    inner.then_some((3, Unary::Mish, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(op: Op, a: Arg, b: Arg, to: usize) -> Step {
        Step { op, args: [a, b, a], to: To::Register(to) }
    }

    #[test]
    fn what_is_spelled_out_is_one_function_unless_its_parts_are_read() {
        let (x, sigmoid) = (Arg::Operand(0), Op::Unary(Unary::Sigmoid));
        let product = |b: usize, to: usize| step(Op::Binary(Binary::Mul), x, Arg::Register(b), to);
        let mut steps = vec![step(sigmoid, x, x, 1), product(1, 2)];
        shorten(&mut steps);
        let swish = Op::Unary(Unary::Swish { alpha: 1.0 });
        assert_eq!(steps, [Step { op: swish, args: [x; 3], to: To::Register(2) }]);
        let mut read = vec![step(sigmoid, x, x, 1), product(1, 2), product(1, 3)];
        shorten(&mut read);
        assert_eq!(read.len(), 3);
        let mut other = vec![step(sigmoid, x, x, 1), product(2, 3)];
        shorten(&mut other);
        assert_eq!(other.len(), 2);
    }

    #[test]
    fn numbers_must_be_those_of_the_function() {
        let x = Arg::Operand(0);
        let spelled = |three: f32| {
            let number = |op: Binary, at: usize, number: f32, to: usize| {
                step(Op::Binary(op), Arg::Register(at), Arg::Number(number), to)
            };
            vec![
                step(Op::Binary(Binary::Add), x, Arg::Number(three), 1),
                number(Binary::Max, 1, 0.0, 2),
                number(Binary::Min, 2, 6.0, 1),
                step(Op::Binary(Binary::Mul), x, Arg::Register(1), 2),
                number(Binary::Div, 2, 6.0, 1),
            ]
        };
        let mut right = spelled(3.0);
        shorten(&mut right);
        assert_eq!(
            right.iter().map(|step| step.op).collect::<Vec<_>>(),
            [Op::Unary(Unary::HardSwish)]
        );
        let mut wrong = spelled(2.0);
        shorten(&mut wrong);
        assert_eq!(wrong.len(), 5);
    }
}
