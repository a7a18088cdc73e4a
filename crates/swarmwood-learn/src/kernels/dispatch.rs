//! The one place where a loop compiled for more than the baseline is called.

#[cfg(target_arch = "x86_64")]
use crate::execution::{InstructionLimit, allows};

/// Defines a public function whose body is compiled for the baseline and, on x86-64, for AVX2; the
/// better one that the machine can run is called. The body is a module named like the function,
/// with `portable` and `avx2` inside, so that a test can compare the two. The function may be
/// generic in one type, such as the code of a column.
///
/// A function said to be `wide` is compiled for AVX-512 too (`avx512` inside the module). Only
/// loops of arithmetic gain by it: where a loop looks things up, the compiler would take gathers,
/// which are slower than plain loads.
macro_rules! dispatched {
    ($(#[$doc:meta])* pub wide fn $name:ident$(<$code:ident: $bound:ident>)?($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        pub fn $name$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            if $crate::kernels::dispatch::has_avx512() {
                // SAFETY: the line above has just found that this machine runs the AVX-512
                // instructions that the function asks for.
                #[allow(unsafe_code)]
                return unsafe { $name::avx512($($arg),*) };
            }
            #[cfg(target_arch = "x86_64")]
            if $crate::kernels::dispatch::has_avx2() {
                // SAFETY: the line above has just found that this machine runs AVX2 instructions,
                // which is all that the function asks for.
                #[allow(unsafe_code)]
                return unsafe { $name::avx2($($arg),*) };
            }
            $name::portable($($arg),*)
        }

        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[inline(always)]
            pub(super) fn portable$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            pub(super) fn avx2$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? {
                portable($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            pub(super) fn avx512$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? {
                portable($($arg),*)
            }
        }
    };
    ($(#[$doc:meta])* pub fn $name:ident$(<$code:ident: $bound:ident>)?($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        pub fn $name$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            if $crate::kernels::dispatch::has_avx2() {
                // SAFETY: the line above has just found that this machine runs AVX2 instructions,
                // which is all that the function asks for.
                #[allow(unsafe_code)]
                return unsafe { $name::avx2($($arg),*) };
            }
            $name::portable($($arg),*)
        }

        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[inline(always)]
            pub(super) fn portable$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            pub(super) fn avx2$(<$code: $bound>)?($($arg: $kind),*) $(-> $out)? {
                portable($($arg),*)
            }
        }
    };
}

/// Whether this machine runs AVX2 instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn has_avx2() -> bool {
    allows(InstructionLimit::Avx2) && std::arch::is_x86_feature_detected!("avx2")
}

/// Whether this machine runs the AVX-512 instructions that the widest versions ask for.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    allows(InstructionLimit::Avx512)
        && has!("avx512f")
        && has!("avx512bw")
        && has!("avx512dq")
        && has!("avx512vl")
}

pub(super) use dispatched;
