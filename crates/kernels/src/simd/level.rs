//! [`Level`]: which vector instructions there are.
//!
//! `std` has `is_x86_feature_detected!`, `core` has not: the question is asked of the processor itself. An
//! instruction may be used if the processor has it (`cpuid`) and the operating system keeps its registers
//! over a switch of tasks (`xgetbv`). Under a hypervisor `cpuid` takes microseconds: ask once and keep the answer.

/// Which vector instructions kernels may use. A value is proof that the processor has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(Kind);

/// The levels, each with more than those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// What every target has.
    Portable,
    /// AVX2 and FMA: eight lanes, sixteen registers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, VL, BW and DQ as well: sixteen lanes, 32 registers.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// What every target has: the same bits everywhere.
    #[must_use]
    pub const fn portable() -> Level {
        Level(Kind::Portable)
    }

    /// The best level of this processor.
    #[must_use]
    pub fn detect() -> Level {
        Level(detect_kind())
    }

    /// Every level of this processor, the best one last.
    pub fn available() -> impl Iterator<Item = Level> {
        let best = Level::detect();
        all_kinds().into_iter().map(Level).filter(move |level| *level <= best)
    }

    /// The level's name: `portable`, `avx2` or `avx512`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// Whether there are vectors of sixteen.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn has_avx512(self) -> bool {
        self.0 == Kind::Avx512
    }

    pub(super) const fn kind(self) -> Kind {
        self.0
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn all_kinds() -> [Kind; 1] {
    [Kind::Portable]
}

#[cfg(target_arch = "x86_64")]
fn all_kinds() -> [Kind; 3] {
    [Kind::Portable, Kind::Avx2, Kind::Avx512]
}

// Miri runs the portable form: it knows few of the instructions, and `cpuid` not at all.
#[cfg(any(not(target_arch = "x86_64"), miri))]
fn detect_kind() -> Kind {
    Kind::Portable
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn detect_kind() -> Kind {
    let has = x86::features();
    if !has.avx2 {
        Kind::Portable
    } else if has.avx512 {
        Kind::Avx512
    } else {
        Kind::Avx2
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "`xgetbv` may be asked only where `cpuid` says that it is there")]
mod x86 {
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    /// What both the processor and the operating system have.
    pub(super) struct Features {
        pub(super) avx2: bool,
        pub(super) avx512: bool,
    }

    pub(super) fn features() -> Features {
        let none = Features { avx2: false, avx512: false };
        let leaves = __cpuid(0).eax;
        let basic = __cpuid(1).ecx;
        let [fma, osxsave, avx, f16c] = [12, 27, 28, 29].map(|bit| basic & 1 << bit != 0);
        if leaves < 7 || !(fma && osxsave && avx && f16c) {
            return none;
        }
        // SAFETY: bit 27 of leaf 1 (OSXSAVE) says that `xgetbv` is enabled.
        let kept = unsafe { kept_registers() };
        let extended = __cpuid_count(7, 0).ebx;
        let [avx2, f, dq, bw, vl] = [5, 16, 17, 30, 31].map(|bit| extended & 1 << bit != 0);
        let avx2 = avx2 && kept & 0b110 == 0b110;
        let avx512 = avx2 && f && dq && bw && vl && kept & 0b1110_0000 == 0b1110_0000;
        Features { avx2, avx512 }
    }

    /// The register files that the operating system keeps: bits 1 and 2 for 128 and 256 bits wide
    /// registers, 5 to 7 for 512.
    #[target_feature(enable = "xsave")]
    fn kept_registers() -> u64 {
        // SAFETY: register 0 is there wherever the instruction is.
        unsafe { _xgetbv(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_level_is_available_and_last() {
        let last = Level::available().last();
        assert_eq!(last, Some(Level::detect()));
        assert_eq!(Level::available().next(), Some(Level::portable()));
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn the_answer_is_that_of_the_standard_library() {
        let avx2 = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
        assert_eq!(Level::detect() > Level::portable(), avx2);
        let wide = std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512dq")
            && std::is_x86_feature_detected!("avx512vl");
        assert_eq!(Level::detect().name() == "avx512", wide);
    }
}
