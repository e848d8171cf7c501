//! Sizes as people like to read them.

/// The size in its largest binary unit, with one decimal where it is not whole: `224 KiB`.
#[must_use]
pub fn short(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10) as usize;
    let unit = 1u64 << (10 * power);
    if bytes.is_multiple_of(unit) {
        return format!("{} {}", bytes / unit, units[power]);
    }
    let tenths = rounded(u128::from(bytes) * 10, unit);
    format!("{}.{} {}", tenths / 10, tenths % 10, units[power])
}

/// The size in bytes, and in short where that is another way to say it.
#[must_use]
pub fn long(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{bytes} bytes ({})", short(bytes)),
    }
}

/// `part` of `whole` in percent, with one decimal; never 0 for something.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    let tenths = rounded(u128::from(part) * 1000, whole.max(1));
    match tenths {
        0 if part > 0 => "under 0.1 %".to_owned(),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// The quotient, to the nearest whole number.
fn rounded(dividend: u128, divisor: u64) -> u128 {
    (dividend + u128::from(divisor / 2)) / u128::from(divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(short(0), "0 bytes");
        assert_eq!(short(1023), "1023 bytes");
        assert_eq!(short(1024), "1 KiB");
        assert_eq!(short(1_572_864), "1.5 MiB");
        assert_eq!(short(u64::MAX), "16.0 EiB");
        assert_eq!(short(1025), "1.0 KiB");
        assert_eq!(short(5_550_720), "5.3 MiB");
        assert_eq!(long(1), "1 byte");
        assert_eq!(long(40), "40 bytes");
        assert_eq!(long(2048), "2048 bytes (2 KiB)");
        assert_eq!(percent(1, 8), "12.5 %");
        assert_eq!(percent(2, 3), "66.7 %");
        assert_eq!(percent(1, 100_000), "under 0.1 %");
        assert_eq!(percent(0, 0), "0.0 %");
    }
}
