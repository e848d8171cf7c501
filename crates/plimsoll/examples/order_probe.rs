use plimsoll::*;
use std::time::Instant;
fn main() {
    for path in std::env::args().skip(1) {
        let graph = training_json::read(&std::fs::read(&path).unwrap()).unwrap();
        for effort in [OrderEffort::Fast, OrderEffort::Default, OrderEffort::High] {
            if effort == OrderEffort::High && std::env::var("HIGH").is_err() {
                continue;
            }
            let t = Instant::now();
            let s = search_order(&graph, &LoweringOptions::default(), &Options::default(), effort)
                .unwrap();
            println!(
                "{} {:?} nodes {} own {} peak {} bound {} ({:.4}, {:.4}) {:.2}s",
                path.rsplit('/').next().unwrap(),
                effort,
                s.order.len(),
                s.own_peak_bytes,
                s.peak_bytes,
                s.lower_bound_bytes,
                s.peak_bytes as f64 / s.own_peak_bytes as f64,
                s.peak_bytes as f64 / s.lower_bound_bytes as f64,
                t.elapsed().as_secs_f64()
            );
        }
    }
}
