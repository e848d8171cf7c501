//! The checker to believe: every pair of buffers, straight from the definition.

use super::{Claim, Violation, check_conflicts, check_each};
use crate::problem::{BufferId, Piece, Problem};

/// All violations, sorted; none if the packing is valid. O(n²).
#[must_use]
pub fn check_plain(problem: &Problem, claim: &Claim) -> Vec<Violation> {
    let mut violations = check_each(problem, claim);
    violations.extend(check_conflicts(problem, claim));
    for a in problem.ids() {
        for b in problem.ids().skip(a.index() + 1) {
            for p in placed(problem, claim, a) {
                for q in placed(problem, claim, b) {
                    let (life, bytes) = (p.life.and(q.life), p.span.and(q.span));
                    if !life.is_empty() && !bytes.is_empty() {
                        violations.push(Violation::Overlap { a, b, bytes, life });
                    }
                }
            }
        }
    }
    violations.sort_unstable();
    violations
}

/// The rectangles (time × bytes of the arena) that a buffer uses; none if it has no offset.
fn placed(problem: &Problem, claim: &Claim, id: BufferId) -> impl Iterator<Item = Piece> {
    let offset = claim.offset(id);
    let pieces = problem.buffer(id).pieces();
    pieces.filter_map(move |p| Some(Piece { span: p.span.shifted(offset?), ..p }))
}
