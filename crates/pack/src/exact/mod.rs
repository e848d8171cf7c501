//! Exact search.
mod instance;
mod search;
mod tree;

use crate::problem::Problem;
use crate::sweep::Sweep;
use instance::Instance;
use search::{Search, Strategy, Answer};

/// x
pub fn trial(problem: &Problem, sweep: &Sweep, capacity: u64, which: &str, tight: bool, weighted: bool, limit: u64, nf: bool, memo: bool) -> (String, Option<Vec<u64>>) {
    let Some(inst) = Instance::new(problem, sweep) else { return ("n/a".into(), None) };
    let mut s = Search::new(&inst, capacity, nf, memo);
    let load = inst.load();
    let key = |v: usize| -> Vec<u64> {
        which.chars().map(|c| match c {
            'W' => (inst.life[v].1 - inst.life[v].0) as u64,
            'A' => inst.size[v] * (inst.life[v].1 - inst.life[v].0) as u64,
            'T' => inst.span(v).map(|m| load[m]).max().unwrap(),
            'Z' => inst.size[v],
            'L' => inst.moments as u64 - inst.life[v].0 as u64,
            _ => inst.life[v].1 as u64,
        }).collect()
    };
    let mut order: Vec<usize> = (0..inst.len()).collect();
    order.sort_by_key(|v| std::cmp::Reverse(key(*v)));
    let mut rank = vec![0; inst.len()];
    for (i, v) in order.iter().enumerate() { rank[*v] = i as u32; }
    let a = s.run(&Strategy { rank, tight, weighted }, limit);
    let msg = format!("{a:?} nodes {} hits {} work {} depth {} moments {} n {}", s.nodes, s.hits, s.tree.work, s.maxdepth, inst.moments, inst.len());
    let sol = (a == Answer::Fits).then(|| { let mut o = vec![0; inst.len()]; for v in 0..inst.len() { o[inst.ids[v].index()] = s.tree.low[v] * inst.unit; } o });
    (msg, sol)
}
