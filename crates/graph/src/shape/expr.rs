//! Numbers that follow from the sizes of a range of dims, as expressions.
//!
//! When shapes are found for all sizes of a range at once, a dim such as `2 * batch * seq` is no
//! number, but it is not unknown either: it is equal to every other dim that is the same
//! expression, and it has a least and a largest value. An [`Expr`] is such a number: a polynomial
//! with whole coefficients in
//!
//! - the *symbols*, each written as its least value plus something that is not negative, so that a
//!   polynomial without negative coefficients has its least value where all symbols have theirs
//!   (`batch * seq - seq` is seen not to be negative), and
//! - *quotients* ⌊p / d⌋ of a polynomial and a number, rounded down, brought into one form: whole
//!   multiples of the divisor are taken out, and quotients of quotients are one.
//!
//! Polynomials are kept once each, so two expressions that are the same polynomial are the same
//! `Expr`. Those that are not may still be equal for some sizes, or for all: whether they are is
//! *undecided*, and whoever asks has to look at smaller ranges. [`Expr::bounds`] contain every
//! value; they need not be met.
//!
//! The table of polynomials belongs to the thread while a [`Scope`] is open. The rules of shapes
//! are functions of dims, which are copied around freely; handing a table to each of them would
//! change every rule for the sake of those few that reckon. Outside of a scope there are no
//! expressions at all, and nothing here is ever called.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Dim, Int};

/// A number that follows from the sizes of a range. It means something only while the scope that
/// it was made in is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Expr(u32);

/// The most terms of a polynomial. Shapes have a few; what has more is not followed.
const MOST_TERMS: usize = 64;

/// The highest power of a symbol, and of a product of symbols.
const MOST_POWERS: usize = 8;

/// The least and the largest value that an expression may have.
type Bounds = (i128, i128);

/// A product of atoms in ascending order, each as often as its power.
type Product = Vec<u32>;

/// Products, each once and with a coefficient that is not 0, from the highest down.
type Terms = Vec<(Product, i128)>;

/// What a polynomial is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Atom {
    /// How much more than its least a symbol is.
    Symbol(usize),
    /// An expression divided by a number, rounded down.
    Quotient(u32, i128),
}

#[derive(Default)]
struct Table {
    atoms: Vec<(Atom, Bounds)>,
    atom_ids: BTreeMap<Atom, u32>,
    polynomials: Vec<(Terms, Bounds)>,
    ids: BTreeMap<Terms, u32>,
    /// How often something was undecided because of a symbol.
    undecided: Vec<u64>,
    /// What expressions are equal to wherever the model runs, each in steps to the end of a chain.
    equal: BTreeMap<u32, u32>,
    /// Whether nodes are gone through that run whenever the model does.
    always: bool,
}

thread_local! {
    static TABLE: RefCell<Option<Table>> = const { RefCell::new(None) };
}

/// While it is open, dims can follow from the sizes of ranges.
#[must_use]
pub struct Scope {
    symbols: Vec<Dim>,
}

impl Scope {
    /// Opens a scope in which there is a symbol for each range, from least to largest.
    pub fn open(ranges: &[(u64, u64)]) -> Self {
        TABLE.with_borrow_mut(|table| {
            assert!(table.is_none(), "one scope at a time");
            let undecided = vec![0; ranges.len()];
            *table = Some(Table { undecided, ..Table::default() });
        });
        let symbol = |(index, (least, most)): (usize, &(u64, u64))| {
            if least == most {
                return Dim::Known(*least);
            }
            let (least, most) = (i128::from(*least), i128::from(*most));
            let more = with(|table| {
                let atom = table.atom(Atom::Symbol(index), (0, most - least));
                table.intern(vec![(vec![atom], 1)])
            });
            more.and_then(|more| more.plus_number(least)).map_or(Dim::Unknown, Expr::dim)
        };
        Scope { symbols: ranges.iter().enumerate().map(symbol).collect() }
    }

    /// What stands for each range.
    pub fn symbols(&self) -> &[Dim] {
        &self.symbols
    }

    /// How often something was undecided because of each symbol.
    #[allow(clippy::unused_self, reason = "it is the scope's, as long as that lasts")]
    pub fn undecided(&self) -> Vec<u64> {
        with(|table| table.undecided.clone())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        TABLE.with_borrow_mut(|table| *table = None);
    }
}

fn with<T>(ask: impl FnOnce(&mut Table) -> T) -> T {
    TABLE.with_borrow_mut(|table| ask(table.as_mut().expect("expressions live in a scope")))
}

impl Expr {
    /// A number as an expression.
    fn number(number: i128) -> Option<Self> {
        let terms = if number == 0 { Vec::new() } else { vec![(Vec::new(), number)] };
        with(|table| table.intern(terms))
    }

    /// The number, if it is the same for all sizes.
    fn constant(self) -> Option<i128> {
        with(|table| match &table.polynomials[self.0 as usize].0[..] {
            [] => Some(0),
            [(product, number)] if product.is_empty() => Some(*number),
            _ => None,
        })
    }

    /// It is never less than the first nor more than the second.
    pub fn bounds(self) -> (i128, i128) {
        with(|table| table.polynomials[self.0 as usize].1)
    }

    /// The largest that it can be, if that is a size.
    pub fn most(self) -> Option<u64> {
        u64::try_from(self.bounds().1.max(0)).ok()
    }

    /// The sum of both, unless it has too many terms.
    pub fn plus(self, other: Expr) -> Option<Self> {
        with(|table| {
            let terms = table.sum(self, other, 1)?;
            table.intern(terms)
        })
    }

    /// What the other is subtracted from.
    pub fn minus(self, other: Expr) -> Option<Self> {
        with(|table| {
            let terms = table.sum(self, other, -1)?;
            table.intern(terms)
        })
    }

    /// The product of both.
    pub fn times(self, other: Expr) -> Option<Self> {
        with(|table| {
            let (a, b) = (table.terms(self), table.terms(other));
            let terms = product(&a, &b)?;
            table.intern(terms)
        })
    }

    /// So much more.
    pub fn plus_number(self, number: i128) -> Option<Self> {
        self.plus(Expr::number(number)?)
    }

    /// So many times as much.
    pub fn times_number(self, number: i128) -> Option<Self> {
        self.times(Expr::number(number)?)
    }

    /// Divided by a number above 0, rounded down.
    pub fn over(self, divisor: i128) -> Option<Self> {
        if divisor <= 0 {
            return None;
        }
        with(|table| table.quotient(self, divisor))
    }

    /// Divided by a number above 0, rounded up.
    pub fn over_up(self, divisor: i128) -> Option<Self> {
        self.plus_number(divisor.checked_sub(1)?)?.over(divisor)
    }

    /// The expression that gives this one when it is multiplied with the other, where there is
    /// one. The other is not 0.
    pub fn exactly_over(self, other: Expr) -> Option<Self> {
        if let Some(divisor) = other.constant() {
            return self.over(divisor);
        }
        with(|table| {
            let (dividend, divisor) = (table.terms(self), table.terms(other));
            let quotient = exact_quotient(dividend, &divisor)?;
            table.intern(quotient)
        })
    }

    /// Whether it is never below the other, if that is decided: `Some(false)` says that it always
    /// is.
    pub fn at_least(self, other: Expr) -> Option<bool> {
        let difference = self.minus(other)?;
        let (least, most) = difference.bounds();
        match (least >= 0, most < 0) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => {
                difference.leave_undecided();
                None
            }
        }
    }

    /// Whether both are always equal, if that is decided: `Some(false)` says that they never are.
    pub fn equals(self, other: Expr) -> Option<bool> {
        if self == other {
            return Some(true);
        }
        let difference = self.minus(other)?;
        let (least, most) = difference.bounds();
        match (least, most) {
            (0, 0) => Some(true),
            _ if least > 0 || most < 0 => Some(false),
            _ => {
                difference.leave_undecided();
                None
            }
        }
    }

    /// Remembers that both are equal, or the model does not run: a node that runs whenever the model
    /// does says so. What is said in a branch holds only there, and is forgotten.
    pub fn must_equal(self, other: Expr) {
        let (one, other) = (self.end(), other.end());
        // A number is the end of its chain, and so is what was there first.
        let (from, to) = match (one.constant(), other.constant()) {
            (Some(_), Some(_)) => return,
            (Some(_), None) => (other, one),
            (None, Some(_)) => (one, other),
            (None, None) => (one.max(other), one.min(other)),
        };
        with(|table| {
            if table.always && from != to {
                table.equal.insert(from.0, to.0);
            }
        });
    }

    /// What it is equal to wherever the model runs.
    fn end(self) -> Expr {
        with(|table| {
            let mut at = self.0;
            while let Some(to) = table.equal.get(&at) {
                at = *to;
            }
            Expr(at)
        })
    }

    /// Remembers that something could not be decided because of its symbols.
    fn leave_undecided(self) {
        with(|table| {
            for symbol in table.symbols_of(self) {
                table.undecided[symbol] += 1;
            }
        });
    }

    /// Remembers that it is within limits that its terms do not tell.
    pub fn known_between(self, lo: i128, hi: i128) {
        with(|table| {
            let (least, most) = &mut table.polynomials[self.0 as usize].1;
            (*least, *most) = ((*least).max(lo), (*most).min(hi));
        });
    }

    /// It as a dim.
    pub fn dim(self) -> Dim {
        let (least, most) = self.bounds();
        match (self.constant(), u64::try_from(least), u64::try_from(most)) {
            (Some(number), ..) => u64::try_from(number).map_or(Dim::Unknown, Dim::Known),
            (None, Ok(_), Ok(_)) => Dim::Follows(self),
            (None, Err(_), Ok(most)) => {
                self.leave_undecided();
                Dim::AtMost(most)
            }
            (None, _, Err(_)) => Dim::Unknown,
        }
    }

    /// It as a number of a tensor.
    pub fn int(self) -> Option<Int> {
        let (least, most) = self.bounds();
        let (lo, hi) = (i64::try_from(least).ok()?, i64::try_from(most).ok()?);
        let expr = self.constant().is_none().then_some(self);
        Some(Int { expr, ..Int::between(lo, hi) })
    }
}

/// A dim with one name for all that is equal to it wherever the model runs.
pub fn settled(dim: Dim) -> Dim {
    match dim {
        Dim::Follows(expr) => expr.end().dim(),
        dim => dim,
    }
}

/// Says whether the nodes that are gone through next run whenever the model does.
pub fn set_always(always: bool) {
    TABLE.with_borrow_mut(|table| {
        if let Some(table) = table {
            table.always = always;
        }
    });
}

/// What follows for one number from two, at least one of which follows from sizes and both of which
/// are exact; nothing if it is otherwise.
pub fn of_dims(a: Dim, b: Dim, function: impl FnOnce(Expr, Expr) -> Option<Expr>) -> Option<Dim> {
    if !matches!((a, b), (Dim::Follows(_), _) | (_, Dim::Follows(_))) {
        return None;
    }
    function(exact(a)?, exact(b)?).map(Expr::dim)
}

/// The same for the numbers of tensors.
pub fn of_ints(a: Int, b: Int, function: impl FnOnce(Expr, Expr) -> Option<Expr>) -> Option<Int> {
    if a.expr.is_none() && b.expr.is_none() {
        return None;
    }
    function(exact_int(a)?, exact_int(b)?)?.int()
}

/// What both numbers say of each other, if both are exact and one follows from sizes.
pub fn compared<T>(a: Int, b: Int, compare: impl FnOnce(Expr, Expr) -> Option<T>) -> Option<T> {
    if a.expr.is_none() && b.expr.is_none() {
        return None;
    }
    compare(exact_int(a)?, exact_int(b)?)
}

/// A dim as an expression, if it is known or follows from sizes. Only where something follows.
pub fn exact(dim: Dim) -> Option<Expr> {
    match dim {
        Dim::Known(dim) => Expr::number(i128::from(dim)),
        Dim::Follows(expr) => Some(expr),
        Dim::AtMost(_) | Dim::Unknown => None,
    }
}

/// A number of a tensor as an expression, if it is known or follows from sizes.
pub fn exact_int(int: Int) -> Option<Expr> {
    match (int.expr, int.known()) {
        (Some(expr), _) => Some(expr),
        (None, Some(number)) => Expr::number(i128::from(number)),
        (None, None) => None,
    }
}

impl Table {
    fn terms(&self, expr: Expr) -> Terms {
        self.polynomials[expr.0 as usize].0.clone()
    }

    fn atom(&mut self, atom: Atom, bounds: Bounds) -> u32 {
        if let Some(id) = self.atom_ids.get(&atom) {
            return *id;
        }
        let id = u32::try_from(self.atoms.len()).expect("there are not that many");
        self.atoms.push((atom, bounds));
        self.atom_ids.insert(atom, id);
        id
    }

    fn intern(&mut self, terms: Terms) -> Option<Expr> {
        if let Some(id) = self.ids.get(&terms) {
            return Some(Expr(*id));
        }
        let bounds = self.bounds_of(&terms)?;
        let id = u32::try_from(self.polynomials.len()).ok()?;
        self.polynomials.push((terms.clone(), bounds));
        self.ids.insert(terms, id);
        Some(Expr(id))
    }

    fn sum(&self, a: Expr, b: Expr, sign: i128) -> Option<Terms> {
        let other = self.polynomials[b.0 as usize].0.iter();
        let other =
            other.map(|(product, number)| Some((product.clone(), number.checked_mul(sign)?)));
        collected(self.terms(a).into_iter().map(Some).chain(other))
    }

    /// The bounds of a polynomial: those of its terms together.
    fn bounds_of(&self, terms: &Terms) -> Option<Bounds> {
        let mut sum: Bounds = (0, 0);
        for (product, coefficient) in terms {
            let mut term = (*coefficient, *coefficient);
            for atom in product {
                term = interval_product(term, self.atoms[*atom as usize].1)?;
            }
            sum = (sum.0.checked_add(term.0)?, sum.1.checked_add(term.1)?);
        }
        Some(sum)
    }

    /// ⌊expr / divisor⌋: what is divided without a rest, and a quotient of the others.
    fn quotient(&mut self, expr: Expr, divisor: i128) -> Option<Expr> {
        let (mut whole, mut rest) = (Terms::new(), Terms::new());
        for (product, number) in self.terms(expr) {
            let (over, left) = (number.div_euclid(divisor), number.rem_euclid(divisor));
            if over != 0 {
                whole.push((product.clone(), over));
            }
            if left != 0 {
                rest.push((product, left));
            }
        }
        let rest = self.intern(rest)?;
        let (least, most) = self.polynomials[rest.0 as usize].1;
        let bounds = (least.div_euclid(divisor), most.div_euclid(divisor));
        let fraction = if bounds.0 == bounds.1 {
            if bounds.0 == 0 { Terms::new() } else { vec![(Vec::new(), bounds.0)] }
        } else {
            let (of, divisor) = self.unnested(rest, divisor)?;
            vec![(vec![self.atom(Atom::Quotient(of.0, divisor), bounds)], 1)]
        };
        let terms = collected(whole.into_iter().chain(fraction).map(Some))?;
        self.intern(terms)
    }

    /// A quotient of a quotient and a number is one quotient: ⌊(⌊p / a⌋ + c) / b⌋ is
    /// ⌊(p + a·c) / (a·b)⌋.
    fn unnested(&mut self, expr: Expr, divisor: i128) -> Option<(Expr, i128)> {
        let terms = self.terms(expr);
        let (atom, more) = match &terms[..] {
            [(product, 1)] => (product, 0),
            [(product, 1), (none, more)] if none.is_empty() => (product, *more),
            _ => return Some((expr, divisor)),
        };
        let [atom] = atom[..] else { return Some((expr, divisor)) };
        let Atom::Quotient(of, inner) = self.atoms[atom as usize].0 else {
            return Some((expr, divisor));
        };
        let more = (Vec::new(), more.checked_mul(inner)?);
        let of = self.terms(Expr(of)).into_iter().chain((more.1 != 0).then_some(more));
        let of = collected(of.map(Some))?;
        Some((self.intern(of)?, divisor.checked_mul(inner)?))
    }

    /// The symbols that an expression depends on, in ascending order.
    fn symbols_of(&self, expr: Expr) -> Vec<usize> {
        let mut found = vec![false; self.undecided.len()];
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            for atom in self.polynomials[expr.0 as usize].0.iter().flat_map(|(product, _)| product)
            {
                match self.atoms[*atom as usize].0 {
                    Atom::Symbol(symbol) => found[symbol] = true,
                    Atom::Quotient(of, _) => open.push(Expr(of)),
                }
            }
        }
        (0..found.len()).filter(|symbol| found[*symbol]).collect()
    }
}

/// Terms with equal products added up, from the highest down: those of more factors first. The order
/// is kept when both sides are multiplied, as dividing needs it.
fn collected(terms: impl Iterator<Item = Option<(Product, i128)>>) -> Option<Terms> {
    let mut sums: BTreeMap<(usize, Product), i128> = BTreeMap::new();
    for term in terms {
        let (product, number) = term?;
        if product.len() > MOST_POWERS {
            return None;
        }
        let sum = sums.entry((product.len(), product)).or_insert(0);
        *sum = sum.checked_add(number)?;
    }
    let terms = sums.into_iter().rev().filter(|(_, number)| *number != 0);
    let terms: Terms = terms.map(|((_, product), number)| (product, number)).collect();
    (terms.len() <= MOST_TERMS).then_some(terms)
}

fn product(a: &Terms, b: &Terms) -> Option<Terms> {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    collected(pairs.map(|((a, x), (b, y))| {
        let mut product = [&a[..], b].concat();
        product.sort_unstable();
        Some((product, x.checked_mul(*y)?))
    }))
}

/// What the divisor has to be multiplied with, term by term from the highest.
fn exact_quotient(mut dividend: Terms, divisor: &Terms) -> Option<Terms> {
    let (lead, number) = divisor.first()?;
    let mut quotient = Terms::new();
    while let Some((product_left, left)) = dividend.first() {
        if left % number != 0 || quotient.len() == MOST_TERMS {
            return None;
        }
        let term = (without(product_left, lead)?, left / number);
        let taken = product(divisor, &vec![(term.0.clone(), term.1.checked_neg()?)])?;
        dividend = collected(dividend.into_iter().chain(taken).map(Some))?;
        quotient.push(term);
    }
    collected(quotient.into_iter().map(Some))
}

/// A product without the factors of another, all of which it has.
fn without(product: &Product, factors: &Product) -> Option<Product> {
    let mut left = product.clone();
    for factor in factors {
        let place = left.iter().position(|atom| atom == factor)?;
        left.remove(place);
    }
    Some(left)
}

fn interval_product(a: Bounds, b: Bounds) -> Option<Bounds> {
    let ends = [
        a.0.checked_mul(b.0)?,
        a.0.checked_mul(b.1)?,
        a.1.checked_mul(b.0)?,
        a.1.checked_mul(b.1)?,
    ];
    Some((*ends.iter().min()?, *ends.iter().max()?))
}

#[cfg(test)]
mod tests;
