use plimsoll_pack::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut total = 0.0;
    for path in &a[3..] {
        let f = std::fs::File::open(path).unwrap();
        let p = csv::read(std::io::BufReader::new(f)).unwrap().problem;
        let sw = Sweep::new(&p);
        let b = bound(&p, &sw).bytes;
        let mut o = exact::Options::default();
        o.work = a[2].parse().unwrap();
        let t = std::time::Instant::now();
        let name = std::path::Path::new(path).file_stem().unwrap().to_string_lossy().into_owned();
        if a[1] == "min" {
            let m = exact::minimise(&p, &sw, None, &o);
            let el = t.elapsed().as_secs_f64();
            total += el;
            let s = m.solution.as_ref().map(|s| (s.arena_bytes(&p), check(&p, &s.into()).len()));
            println!(
                "{name:<12} {el:.3}s load {b} {s:?} bound {} optimal {} work {}",
                m.lower_bound, m.optimal, m.work
            );
        } else {
            let cap = a[1].parse().unwrap_or(b);
            let d = exact::decide(&p, &sw, cap, &o);
            let el = t.elapsed().as_secs_f64();
            total += el;
            let v = match &d.verdict {
                exact::Verdict::Fits(s) => {
                    format!("fits {} {}", s.arena_bytes(&p), check(&p, &s.into()).len())
                }
                v => format!("{v:?}"),
            };
            println!("{name:<12} {el:.3}s cap {cap} {v} work {}", d.work);
        }
    }
    println!("total {total:.3}");
}
