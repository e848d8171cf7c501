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
//! The table of polynomials belongs to a [`Scope`], which whoever finds shapes for a range opens. An
//! expression shares it with all others of the scope, so that the rules of shapes are functions of
//! dims and of nothing else: two dims that follow from sizes know themselves what they are together. That
//! is why a [`Dim`] is cloned, and not copied; of a number that costs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Dim, Int};

/// A number that follows from the sizes of a range: one of a table that it shares with all that are
/// of the same scope.
#[derive(Clone)]
pub struct Expr {
    id: Id,
    table: Arc<Mutex<Table>>,
}

/// A polynomial of a table.
type Id = u32;

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

/// Ranges, and all that follows from their sizes.
pub struct Scope {
    symbols: Vec<Dim>,
    table: Arc<Mutex<Table>>,
}

impl Scope {
    /// A scope in which there is a symbol for each range, from least to largest.
    #[must_use]
    pub fn new(ranges: &[(u64, u64)]) -> Self {
        let undecided = vec![0; ranges.len()];
        let table = Arc::new(Mutex::new(Table { undecided, ..Table::default() }));
        let symbol = |(index, (least, most)): (usize, &(u64, u64))| {
            if least == most {
                return Dim::Known(*least);
            }
            let (least, most) = (i128::from(*least), i128::from(*most));
            let more = with(&table, |table| {
                let atom = table.atom(Atom::Symbol(index), (0, most - least));
                table.intern(vec![(vec![atom], 1)])
            });
            let more = more.map(|id| Expr { id, table: Arc::clone(&table) });
            more.and_then(|more| more.plus_number(least))
                .map_or(Dim::Unknown, |symbol| symbol.dim())
        };
        let symbols = ranges.iter().enumerate().map(symbol).collect();
        Scope { symbols, table }
    }

    /// What stands for each range.
    #[must_use]
    pub fn symbols(&self) -> &[Dim] {
        &self.symbols
    }

    /// How often something was undecided because of each symbol.
    #[must_use]
    pub fn undecided(&self) -> Vec<u64> {
        with(&self.table, |table| table.undecided.clone())
    }

    /// Says whether the nodes that are gone through next run whenever the model does.
    pub fn set_always(&self, always: bool) {
        with(&self.table, |table| table.always = always);
    }
}

/// Asks a table, which is left as it should be whatever is asked.
fn with<T>(table: &Mutex<Table>, ask: impl FnOnce(&mut Table) -> T) -> T {
    ask(&mut table.lock().unwrap_or_else(PoisonError::into_inner))
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && Arc::ptr_eq(&self.table, &other.table)
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({})", self.id)
    }
}

impl Expr {
    fn ask<T>(&self, ask: impl FnOnce(&mut Table) -> T) -> T {
        with(&self.table, ask)
    }

    /// What a table makes of it.
    fn made(&self, make: impl FnOnce(&mut Table) -> Option<Id>) -> Option<Self> {
        let id = self.ask(make)?;
        Some(Expr { id, table: Arc::clone(&self.table) })
    }

    /// A number as an expression of the same scope.
    fn number(&self, number: i128) -> Option<Self> {
        let terms = if number == 0 { Vec::new() } else { vec![(Vec::new(), number)] };
        self.made(|table| table.intern(terms))
    }

    /// The number, if it is the same for all sizes.
    fn constant(&self) -> Option<i128> {
        self.ask(|table| match &table.polynomials[self.id as usize].0[..] {
            [] => Some(0),
            [(product, number)] if product.is_empty() => Some(*number),
            _ => None,
        })
    }

    /// It is never less than the first nor more than the second.
    #[must_use]
    pub fn bounds(&self) -> (i128, i128) {
        self.ask(|table| table.polynomials[self.id as usize].1)
    }

    /// The largest that it can be, if that is a size.
    #[must_use]
    pub fn most(&self) -> Option<u64> {
        u64::try_from(self.bounds().1.max(0)).ok()
    }

    /// The sum of both, unless it has too many terms.
    #[must_use]
    pub fn plus(&self, other: &Expr) -> Option<Self> {
        self.made(|table| {
            let terms = table.sum(self.id, other.id, 1)?;
            table.intern(terms)
        })
    }

    /// What the other is subtracted from.
    #[must_use]
    pub fn minus(&self, other: &Expr) -> Option<Self> {
        self.made(|table| {
            let terms = table.sum(self.id, other.id, -1)?;
            table.intern(terms)
        })
    }

    /// The product of both.
    #[must_use]
    pub fn times(&self, other: &Expr) -> Option<Self> {
        self.made(|table| {
            let (a, b) = (table.terms(self.id), table.terms(other.id));
            let terms = product(&a, &b)?;
            table.intern(terms)
        })
    }

    /// So much more.
    #[must_use]
    pub fn plus_number(&self, number: i128) -> Option<Self> {
        self.plus(&self.number(number)?)
    }

    /// So many times as much.
    #[must_use]
    pub fn times_number(&self, number: i128) -> Option<Self> {
        self.times(&self.number(number)?)
    }

    /// Divided by a number above 0, rounded down.
    #[must_use]
    pub fn over(&self, divisor: i128) -> Option<Self> {
        if divisor <= 0 {
            return None;
        }
        self.made(|table| table.quotient(self.id, divisor))
    }

    /// Divided by a number above 0, rounded up.
    #[must_use]
    pub fn over_up(&self, divisor: i128) -> Option<Self> {
        self.plus_number(divisor.checked_sub(1)?)?.over(divisor)
    }

    /// The expression that gives this one when it is multiplied with the other, where there is
    /// one. The other is not 0.
    #[must_use]
    pub fn exactly_over(&self, other: &Expr) -> Option<Self> {
        if let Some(divisor) = other.constant() {
            return self.over(divisor);
        }
        self.made(|table| {
            let (dividend, divisor) = (table.terms(self.id), table.terms(other.id));
            let quotient = exact_quotient(dividend, &divisor)?;
            table.intern(quotient)
        })
    }

    /// Whether it is never below the other, if that is decided: `Some(false)` says that it always
    /// is.
    #[must_use]
    pub fn at_least(&self, other: &Expr) -> Option<bool> {
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
    #[must_use]
    pub fn equals(&self, other: &Expr) -> Option<bool> {
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
    pub fn must_equal(&self, other: &Expr) {
        let (one, other) = (self.end(), other.end());
        // A number is the end of its chain, and so is what was there first.
        let (from, to) = match (one.constant(), other.constant()) {
            (Some(_), Some(_)) => return,
            (Some(_), None) => (other.id, one.id),
            (None, Some(_)) => (one.id, other.id),
            (None, None) => (one.id.max(other.id), one.id.min(other.id)),
        };
        self.ask(|table| {
            if table.always && from != to {
                table.equal.insert(from, to);
            }
        });
    }

    /// What it is equal to wherever the model runs.
    fn end(&self) -> Expr {
        let id = self.ask(|table| {
            let mut at = self.id;
            while let Some(to) = table.equal.get(&at) {
                at = *to;
            }
            at
        });
        Expr { id, table: Arc::clone(&self.table) }
    }

    /// Remembers that something could not be decided because of its symbols.
    fn leave_undecided(&self) {
        self.ask(|table| {
            for symbol in table.symbols_of(self.id) {
                table.undecided[symbol] += 1;
            }
        });
    }

    /// Remembers that it is within limits that its terms do not tell.
    pub fn known_between(&self, lo: i128, hi: i128) {
        self.ask(|table| {
            let (least, most) = &mut table.polynomials[self.id as usize].1;
            (*least, *most) = ((*least).max(lo), (*most).min(hi));
        });
    }

    /// It as a dim.
    pub fn dim(&self) -> Dim {
        let (least, most) = self.bounds();
        match (self.constant(), u64::try_from(least), u64::try_from(most)) {
            (Some(number), ..) => u64::try_from(number).map_or(Dim::Unknown, Dim::Known),
            (None, Ok(_), Ok(_)) => Dim::Follows(self.clone()),
            (None, Err(_), Ok(most)) => {
                self.leave_undecided();
                Dim::AtMost(most)
            }
            (None, _, Err(_)) => Dim::Unknown,
        }
    }

    /// It as a number of a tensor.
    #[must_use]
    pub fn int(&self) -> Option<Int> {
        let (least, most) = self.bounds();
        let (lo, hi) = (i64::try_from(least).ok()?, i64::try_from(most).ok()?);
        let expr = self.constant().is_none().then(|| self.clone());
        Some(Int { expr, ..Int::between(lo, hi) })
    }

    /// A dim as an expression of the same scope, if it is known or follows from sizes.
    #[must_use]
    pub fn of_dim(&self, dim: &Dim) -> Option<Expr> {
        match dim {
            Dim::Known(dim) => self.number(i128::from(*dim)),
            Dim::Follows(expr) => Some(expr.clone()),
            Dim::AtMost(_) | Dim::Unknown => None,
        }
    }

    /// A number of a tensor as an expression of the same scope, if it is known or follows from sizes.
    #[must_use]
    pub fn of_int(&self, int: &Int) -> Option<Expr> {
        match (&int.expr, int.known()) {
            (Some(expr), _) => Some(expr.clone()),
            (None, Some(number)) => self.number(i128::from(number)),
            (None, None) => None,
        }
    }
}

/// A dim with one name for all that is equal to it wherever the model runs.
#[must_use]
pub fn settled(dim: &Dim) -> Dim {
    match dim {
        Dim::Follows(expr) => expr.end().dim(),
        dim => dim.clone(),
    }
}

/// What follows for one number from two, at least one of which follows from sizes and both of which
/// are exact; nothing if it is otherwise.
pub fn of_dims(
    a: &Dim,
    b: &Dim,
    function: impl FnOnce(&Expr, &Expr) -> Option<Expr>,
) -> Option<Dim> {
    let ((Dim::Follows(one), _) | (_, Dim::Follows(one))) = (a, b) else { return None };
    function(&one.of_dim(a)?, &one.of_dim(b)?).map(|expr| expr.dim())
}

/// The same for the numbers of tensors.
pub fn of_ints(
    a: &Int,
    b: &Int,
    function: impl FnOnce(&Expr, &Expr) -> Option<Expr>,
) -> Option<Int> {
    compared(a, b, function)?.int()
}

/// What both numbers say of each other, if both are exact and one follows from sizes.
pub fn compared<T>(a: &Int, b: &Int, compare: impl FnOnce(&Expr, &Expr) -> Option<T>) -> Option<T> {
    let one = a.expr.as_ref().or(b.expr.as_ref())?;
    compare(&one.of_int(a)?, &one.of_int(b)?)
}

impl Table {
    fn terms(&self, expr: Id) -> Terms {
        self.polynomials[expr as usize].0.clone()
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

    fn intern(&mut self, terms: Terms) -> Option<Id> {
        if let Some(id) = self.ids.get(&terms) {
            return Some(*id);
        }
        let bounds = self.bounds_of(&terms)?;
        let id = u32::try_from(self.polynomials.len()).ok()?;
        self.polynomials.push((terms.clone(), bounds));
        self.ids.insert(terms, id);
        Some(id)
    }

    fn sum(&self, a: Id, b: Id, sign: i128) -> Option<Terms> {
        let other = self.polynomials[b as usize].0.iter();
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
    fn quotient(&mut self, expr: Id, divisor: i128) -> Option<Id> {
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
        let (least, most) = self.polynomials[rest as usize].1;
        let bounds = (least.div_euclid(divisor), most.div_euclid(divisor));
        let fraction = if bounds.0 == bounds.1 {
            if bounds.0 == 0 { Terms::new() } else { vec![(Vec::new(), bounds.0)] }
        } else {
            let (of, divisor) = self.unnested(rest, divisor)?;
            vec![(vec![self.atom(Atom::Quotient(of, divisor), bounds)], 1)]
        };
        let terms = collected(whole.into_iter().chain(fraction).map(Some))?;
        self.intern(terms)
    }

    /// A quotient of a quotient and a number is one quotient: ⌊(⌊p / a⌋ + c) / b⌋ is
    /// ⌊(p + a·c) / (a·b)⌋.
    fn unnested(&mut self, expr: Id, divisor: i128) -> Option<(Id, i128)> {
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
        let of = self.terms(of).into_iter().chain((more.1 != 0).then_some(more));
        let of = collected(of.map(Some))?;
        Some((self.intern(of)?, divisor.checked_mul(inner)?))
    }

    /// The symbols that an expression depends on, in ascending order.
    fn symbols_of(&self, expr: Id) -> Vec<usize> {
        let mut found = vec![false; self.undecided.len()];
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            for atom in self.polynomials[expr as usize].0.iter().flat_map(|(product, _)| product) {
                match self.atoms[*atom as usize].0 {
                    Atom::Symbol(symbol) => found[symbol] = true,
                    Atom::Quotient(of, _) => open.push(of),
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
