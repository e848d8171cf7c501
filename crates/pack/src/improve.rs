//! x
use crate::algorithm::Order;
use crate::problem::{BufferId, Problem};
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::timeline::Timeline;

fn fit(problem: &Problem, sweep: &Sweep, order: &[BufferId]) -> (Vec<u64>, u64) {
    let mut timeline = Timeline::new(sweep, problem.ids());
    let mut offsets = vec![0; problem.len()];
    for id in problem.ids() {
        if let Some(offset) = problem.buffer(id).fixed { timeline.place(id, offset); offsets[id.index()] = offset; }
    }
    for id in order {
        if problem.buffer(*id).fixed.is_none() {
            let offset = timeline.lowest_fit(*id, problem.buffer(*id).align, 0);
            timeline.place(*id, offset);
            offsets[id.index()] = offset;
        }
    }
    (offsets, timeline.work())
}

/// x
pub fn squeaky(problem: &Problem, sweep: &Sweep, base: &str, rounds: usize, goal: u64, mode: u32) -> (Solution, usize, u64) {
    let order = Order::ALL.into_iter().find(|o| o.name() == base).unwrap();
    let mut order = order.sorted(problem, sweep);
    let mut best: Option<(u64, Vec<u64>)> = None;
    let mut work = 0;
    let mut rng = 1u64;
    let mut kept = (u64::MAX, order.clone(), Vec::new());
    for round in 0..rounds {
        let (offsets, w) = fit(problem, sweep, &order);
        work += w;
        let end = |id: BufferId| offsets[id.index()] + problem.buffer(id).size;
        let arena = problem.ids().map(end).max().unwrap_or(0);
        if std::env::var("V").is_ok() { eprintln!("{round} {} {}", arena - goal, problem.ids().filter(|id| end(*id) > goal).count()); }
        if best.as_ref().is_none_or(|b| arena < b.0) { best = Some((arena, offsets.clone())); }
        if arena <= goal { return (Solution::new(best.unwrap().1), round, work); }
        match mode {
            0 => { // all offenders to the front
                order.sort_by_key(|id| end(*id) <= goal);
            }
            3 => {
                let mut keyed: Vec<(usize, usize, BufferId)> = order.iter().enumerate().map(|(i, id)| if end(*id) > goal { let r = { rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); (rng >> 33) as usize }; (r % (i + 1), 0, *id) } else { (i, 1, *id) }).collect();
                keyed.sort_unstable();
                order = keyed.into_iter().map(|k| k.2).collect();
            }
            4 => {
                let bad: u64 = problem.ids().filter(|id| end(*id) > goal).map(|id| end(id) - goal).sum();
                if bad <= kept.0 { kept = (bad, order.clone(), offsets.clone()); } else { order = kept.1.clone(); }
                let offsets = &kept.2;
                let end = |id: BufferId| offsets[id.index()] + problem.buffer(id).size;
                let mut keyed: Vec<(usize, usize, BufferId)> = order.iter().enumerate().map(|(i, id)| if end(*id) > goal { let r = { rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); (rng >> 33) as usize }; (r % (i + 1), 0, *id) } else { (i, 1, *id) }).collect();
                keyed.sort_unstable();
                order = keyed.into_iter().map(|k| k.2).collect();
            }
            1 => { // offenders half way to the front
                let mut keyed: Vec<(usize, usize, BufferId)> = order.iter().enumerate().map(|(i, id)| if end(*id) > goal { (i / 2, i, *id) } else { (i, i, *id) }).collect();
                keyed.sort_unstable();
                order = keyed.into_iter().map(|k| k.2).collect();
            }
            _ => { // offenders move some places
                let step = problem.len() / 20 + 1;
                let mut keyed: Vec<(usize, usize, BufferId)> = order.iter().enumerate().map(|(i, id)| if end(*id) > goal { (i.saturating_sub(step), i, *id) } else { (i, i, *id) }).collect();
                keyed.sort_unstable();
                order = keyed.into_iter().map(|k| k.2).collect();
            }
        }
    }
    (Solution::new(best.unwrap().1), rounds, work)
}
