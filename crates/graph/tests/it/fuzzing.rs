//! The bodies of the fuzz targets over mutated files.

use plimsoll_graph::testing::{fuzz_plan_json, fuzz_plim, fuzz_seeds, fuzz_training_json};
use plimsoll_pack::testing::Rng;

/// The seeds of a target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    fuzz_seeds().into_iter().filter(|(name, _)| *name == target).map(|(_, seed)| seed).collect()
}

/// Runs a body over its seeds and over mutations of them; how many of those were accepted.
fn accepted(target: &str, body: fn(&[u8]) -> bool, rounds: usize) -> usize {
    let seeds = seeds(target);
    for seed in &seeds {
        assert!(body(seed), "{target}: {}", String::from_utf8_lossy(seed));
    }
    let mut rng = Rng::new(1);
    let mutations = (0..rounds).filter(|round| {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=rng.below(3) {
            mutate(&mut rng, &mut bytes);
        }
        body(&bytes)
    });
    mutations.count()
}

/// Changes a byte, a number or a line.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len() as u64) as usize;
    match rng.below(12) {
        0 => bytes[at] = rng.below(256) as u8,
        1 if bytes.len() > 1 => drop(bytes.drain(at..=at)),
        2 => bytes.insert(at, b",\n\"-[]{}:0189 "[rng.below(14) as usize]),
        3 => bytes.truncate(at + 1),
        4 | 5 => line(rng, bytes, at),
        _ => number(rng, bytes, at),
    }
}

/// Replaces the next number behind a byte.
fn number(rng: &mut Rng, bytes: &mut Vec<u8>, at: usize) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(from) = bytes[at..].iter().position(is_digit).map(|from| at + from) else { return };
    let len = bytes[from..].iter().position(|byte| !is_digit(byte)).unwrap_or(bytes.len() - from);
    let other = match rng.below(8) {
        0 => rng.next_u64(),
        1 => 1 << rng.below(64),
        _ => rng.below(12),
    };
    bytes.splice(from..from + len, other.to_string().into_bytes());
}

/// Leaves the line around a byte out, doubles it, or swaps it with the next.
fn line(rng: &mut Rng, bytes: &mut Vec<u8>, at: usize) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let index = bytes[..at].split(|byte| *byte == b'\n').count() - 1;
    match rng.below(3) {
        0 if lines.len() > 1 => drop(lines.remove(index)),
        1 if index + 1 < lines.len() => lines.swap(index, index + 1),
        _ => lines.insert(index, lines[index]),
    }
    *bytes = lines.concat();
}

#[test]
fn mutated_texts_are_rejected_or_planned_right() {
    let accepted = accepted("plim", fuzz_plim, 6_000);
    assert!(accepted > 600, "only {accepted} were still graphs");
}

#[test]
fn mutated_training_graphs_are_rejected_or_planned_right() {
    let accepted = accepted("training_json", fuzz_training_json, 6_000);
    assert!(accepted > 600, "only {accepted} were still graphs");
}

#[test]
fn mutated_plans_that_are_valid_are_right() {
    let accepted = accepted("plan_json", fuzz_plan_json, 10_000);
    assert!(accepted > 1_500, "only {accepted} were still valid");
}

#[test]
fn two_nodes_that_write_the_same_bytes_keep_their_order() {
    // b is a part of a, and would rather be made right after m.
    let text = "plim 1\nm: u8[64] = custom \"m\"()\na: u8[64] = custom \"a\"()\n\
        b: u8[16] view a = custom \"b\"(m)\nw: u8[122] = custom \"w\"()\n\
        do custom \"r\"(a) as r\n";
    assert!(fuzz_plim(text.as_bytes()));
    // The same with the nodes in another order: what r reads is made before it.
    let lines: Vec<&str> = text.lines().collect();
    let turned = [lines[0], lines[5], lines[3], lines[2], lines[1], lines[4], ""].join("\n");
    assert!(fuzz_plim(turned.as_bytes()));
}
