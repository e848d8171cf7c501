//! Sizes as people write them: `256K`, `256KiB`, `1.5 MiB`, `4GB`, `4096`. How they are shown is `plimsoll_report::size`.
//!
//! Parsing is exact: whole numbers, no floating point. A fraction of a byte is dropped, since a
//! budget of 0.3 KiB holds 307 bytes and not 308.

use std::num::NonZeroU64;

/// The units, as accepted in any case. Binary ones have an `i`, or are a letter alone, as in linker
/// scripts.
const UNITS: [(&str, u64); 14] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
];

const EXPECTED: &str = "expected a size like 4096, 256K, 1.5MiB or 4GB";

/// More decimals than this cannot matter, and might not fit in the arithmetic.
const MOST_DECIMALS: usize = 18;

/// The number of bytes that the text means.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..digits_end], text[digits_end..].trim_start());
    let unit_bytes = unit_bytes(unit).ok_or(EXPECTED)?;
    let (whole, decimals) = match number.split_once('.') {
        Some((_, "")) => return Err(EXPECTED.to_owned()),
        Some((_, _)) if unit_bytes == 1 => return Err("bytes come whole".to_owned()),
        Some((whole, decimals)) => (whole, decimals),
        None => (number, ""),
    };
    if whole.is_empty() || decimals.contains('.') || decimals.len() > MOST_DECIMALS {
        return Err(EXPECTED.to_owned());
    }
    let too_large = || "larger than any memory: 2^64 bytes or more".to_owned();
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let bytes = u128::from(whole) * u128::from(unit_bytes) + fraction(decimals, unit_bytes);
    u64::try_from(bytes).map_err(|_| too_large())
}

/// The same for an alignment, which is at least 1.
pub(crate) fn parse_align(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(parse(text)?).ok_or_else(|| "an alignment is at least 1".to_owned())
}

fn unit_bytes(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, bytes)| *bytes)
}

/// The whole bytes of `0.decimals` units.
fn fraction(decimals: &str, unit_bytes: u64) -> u128 {
    let scale = 10u128.pow(decimals.len() as u32);
    let digits = decimals.bytes().fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    digits * u128::from(unit_bytes) / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_mean_an_exact_number_of_bytes() {
        let cases = [
            ("0", 0),
            ("4096", 4096),
            ("7B", 7),
            ("256KiB", 262_144),
            ("256kib", 262_144),
            ("64K", 65_536),
            ("64k", 65_536),
            ("1.5M", 1_572_864),
            ("3 G", 3_221_225_472),
            ("2T", 2_199_023_255_552),
            ("1.5MiB", 1_572_864),
            (" 1.5 MiB ", 1_572_864),
            ("3GiB", 3_221_225_472),
            ("2TiB", 2_199_023_255_552),
            ("64kB", 64_000),
            ("64KB", 64_000),
            ("1.000001MB", 1_000_001),
            ("4GB", 4_000_000_000),
            ("1TB", 1_000_000_000_000),
            ("0.3KiB", 307),
            ("18446744073709551615", u64::MAX),
            ("16777215.999999999999TiB", u64::MAX - 1),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Ok(bytes), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_rejected_with_a_reason() {
        let junk = [
            "",
            " ",
            "MiB",
            "-1",
            "-1MiB",
            "+1",
            "NaN",
            "inf",
            "1e6",
            "0x10",
            "1_000",
            "1,5MiB",
            "1Ki",
            "1 Mi",
            "1XiB",
            "1.MiB",
            ".5MiB",
            "1..5MiB",
            "1.5.5MiB",
            "1MiBMiB",
            "٣KiB",
            "1.0000000000000000001MiB",
        ];
        for text in junk {
            assert_eq!(parse(text), Err(EXPECTED.to_owned()), "{text:?}");
        }
        assert_eq!(parse("1.5"), Err("bytes come whole".to_owned()));
        for text in ["18446744073709551616", "16777216TiB", "99999999999999999999999999999TB"] {
            assert!(parse(text).is_err_and(|e| e.starts_with("larger than")), "{text:?}");
        }
    }

    #[test]
    fn an_alignment_is_at_least_one() {
        assert_eq!(parse_align("4KiB").map(NonZeroU64::get), Ok(4096));
        assert_eq!(parse_align("0"), Err("an alignment is at least 1".to_owned()));
    }
}
