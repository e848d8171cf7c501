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

/// x
pub fn portfolio(problem: &Problem, sweep: &Sweep, capacity: u64, which: &str, slice: u64, limit: u64, seed: u64) -> (String, Option<Vec<u64>>) {
    let Some(inst) = Instance::new(problem, sweep) else { return ("n/a".into(), None) };
    let mut s = Search::new(&inst, capacity, true, !which.contains('m'));
    s.jump = !which.contains('j');
    s.tree.twins = !which.contains('x');
    let load = inst.load();
    let mut rng = seed;
    let mut next = move || { rng = rng.wrapping_add(0x9E37_79B9_7F4A_7C15); search::mix(rng) };
    let names: Vec<&str> = which.split(',').collect();
    let mut round = 0u64;
    let mut runs = 0u64;
    let mut won = String::new();
    let mut a = Answer::Stopped;
    'all: while s.tree.work < limit {
        for name in &names {
            let noise = if round == 0 { 0 } else { name.chars().find(|c| c.is_ascii_digit()).map_or(0, |c| c as u64 - 48) };
            let mut keyed: Vec<(Vec<u64>, usize)> = (0..inst.len()).map(|v| {
                let len = (inst.life[v].1 - inst.life[v].0) as u64;
                let mut key: Vec<u64> = name.chars().filter(|c| c.is_uppercase()).map(|c| match c {
                    'W' => len * 64, 'A' => inst.size[v] * len,
                    'T' => inst.span(v).map(|m| load[m]).max().unwrap(),
                    'S' => inst.span(v).map(|m| load[m]).sum::<u64>(),
                    'F' => inst.span(v).map(|m| s.weight[m]).max().unwrap() * 1024,
                    'G' => inst.span(v).map(|m| s.weight[m]).sum::<u64>(),
                    'Z' => inst.size[v], 'L' => inst.moments as u64 - inst.life[v].0 as u64,
                    _ => inst.life[v].1 as u64,
                }).collect();
                if noise > 0 { for k in &mut key { *k = *k * (100 + next() % (noise * 10)) / 100; } }
                (key, v)
            }).collect();
            keyed.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut rank = vec![0; inst.len()];
            for (i, (_, v)) in keyed.iter().enumerate() { rank[*v] = i as u32; }
            runs += 1;
            let luby = { let mut k = round + 1; loop { let b = 64 - k.leading_zeros() as u64; if k == (1 << b) - 1 { break 1u64 << (b - 1); } k -= (1 << (b - 1)) - 1; } };
            let _ = luby;
            a = s.run(&Strategy { rank, tight: name.contains('t'), weighted: name.contains('w') }, slice << (round / 2).min(10));
            if a != Answer::Stopped { won = name.to_string(); break 'all; }
        }
        round += 1;
    }
    let msg = format!("{a:?} by {won} round {round} runs {runs} nodes {} hits {} jumps {} work {} depth {}", s.nodes, s.hits, s.jumps, s.tree.work, s.maxdepth);
    let sol = (a == Answer::Fits).then(|| { let mut o = vec![0; inst.len()]; for v in 0..inst.len() { o[inst.ids[v].index()] = s.tree.low[v] * inst.unit; } o });
    (msg, sol)
}
