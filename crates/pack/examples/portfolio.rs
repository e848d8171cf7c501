use plimsoll_pack::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut total = 0.0;
    for path in &a[6..] {
    let f = std::fs::File::open(path).unwrap();
    let p = csv::read(std::io::BufReader::new(f)).unwrap().problem;
    let sw = Sweep::new(&p);
    let b = bound(&p, &sw).bytes;
    let cap = a[1].parse().unwrap_or(b);
    let t = std::time::Instant::now();
    let (m, s) = exact::portfolio(&p, &sw, cap, &a[2], a[3].parse().unwrap(), a[4].parse().unwrap(), a[5].parse().unwrap());
    let el = t.elapsed().as_secs_f64(); total += el;
    let ok = s.map(|s| { let s = Solution::new(s); (s.arena_bytes(&p), check(&p, &(&s).into()).len()) });
    println!("{:<8} {el:.3}s {m} {ok:?}", std::path::Path::new(path).file_stem().unwrap().to_string_lossy());
    }
    println!("total {total:.3}");
}
