//! stub
use crate::*;
/// x
#[derive(Debug)]
pub struct VerifiedPlan(pub Plan);
/// x
#[derive(Debug)]
pub struct Rejected;
impl std::fmt::Display for Rejected {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
/// x
pub fn verify(_p: &dyn Program, plan: Plan) -> Result<VerifiedPlan, Rejected> {
    Ok(VerifiedPlan(plan))
}
