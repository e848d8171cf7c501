use plimsoll_pack::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    for path in &a[3..] {
        let f = std::fs::File::open(path).unwrap();
        let p = csv::read(std::io::BufReader::new(f)).unwrap().problem;
        let sw = Sweep::new(&p);
        let b = bound(&p, &sw).bytes;
        for o in a[1].split(',') { for mode in 0..3 {
            let t = std::time::Instant::now();
            let (s, r, w) = improve::squeaky(&p, &sw, o, a[2].parse().unwrap(), b, mode);
            println!("{} {o} mode {mode} {:.6} rounds {r} work {w} {:.3}s", std::path::Path::new(path).file_stem().unwrap().to_string_lossy(), s.arena_bytes(&p) as f64 / b as f64, t.elapsed().as_secs_f64());
        } }
    }
}
