//! Which recipes are worth planning.

use plimsoll::Pulse;

use crate::along::Along;
use crate::channels::chains;
use crate::flow::Recipe;
use crate::search::{Searched, parts_of};

/// In how many parts chains are computed.
const PARTS: [u64; 3] = [1, 4, 8];

/// Recipes with small peaks.
pub(crate) fn recipes(along: &Along<'_>, pulse: &mut Pulse<'_>) -> Vec<Recipe> {
    let chains = chains(along);
    let mut found: Vec<(u64, Recipe)> = Vec::new();
    for parts in PARTS {
        if pulse().is_break() || (parts > 1 && chains.is_empty()) {
            break;
        }
        let base = Recipe { parts: parts_of(&chains, parts), ..Recipe::default() };
        let mut searched = Searched { along, base, work: 4_000_000 };
        found.push(searched.best());
    }
    let best = found.into_iter().min_by_key(|(peak, _)| *peak);
    best.map(|(_, recipe)| recipe).into_iter().collect()
}
