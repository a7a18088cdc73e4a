//! The hot loops, each in its own file and each tested against the plain way to say it.
//!
//! Where wider vectors help, the loop is compiled once for every x86-64 and once for AVX2, and chosen at run time. The
//! code is the same and nothing is contracted or re-ordered, so the bits do not depend on the choice.

pub mod gains;
pub mod histogram;
pub mod partition;
pub mod quantise;
pub mod sums;

/// Compiles a function twice, plainly and for AVX2, and calls the one the machine can run.
macro_rules! dispatch {
    ($(#[$doc:meta])* pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? = $body:path;) => {
        $(#[$doc])*
        #[allow(unsafe_code)]
        pub fn $name($($arg: $type),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $type),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                if std::is_x86_feature_detected!("avx2") {
                    // SAFETY: the machine has just said that it has the one feature `wide` asks for.
                    return unsafe { wide($($arg),*) };
                }
            }
            $body($($arg),*)
        }
    };
}
pub(crate) use dispatch;
