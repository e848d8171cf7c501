use plimsoll_pack::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let f = std::fs::File::open(&a[1]).unwrap();
    let p = csv::read(std::io::BufReader::new(f)).unwrap().problem;
    let sw = Sweep::new(&p);
    let b = bound(&p, &sw).bytes;
    let cap = a[2].parse().unwrap_or(b);
    let limit = a[3].parse().unwrap();
    for w in a[4].split(',') {
        let tight = w.contains('t'); let we = w.contains('w');
        let nf = !w.contains('n'); let memo = !w.contains('m');
        let which: String = w.chars().filter(|c| c.is_uppercase()).collect();
        let t = std::time::Instant::now();
        let (m, s) = exact::trial(&p, &sw, cap, &which, tight, we, limit, nf, memo);
        let el = t.elapsed().as_secs_f64();
        let ok = s.map(|s| { let s = Solution::new(s); (s.arena_bytes(&p), check(&p, &(&s).into()).len()) });
        println!("{:<8} {w:<7} {el:.3}s {m} {ok:?}", std::path::Path::new(&a[1]).file_stem().unwrap().to_string_lossy());
    }
}
