//! The instruction sets for which kernels exist, and a test whether this machine has an instruction
//! set.

use std::fmt;
use std::str::FromStr;

/// The instruction sets of the kernels, fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// GFNI on the 512-bit registers of AVX-512 (AVX512F, AVX512BW, AVX512_VBMI).
    Gfni512,
    /// GFNI on the 256-bit registers of AVX2.
    Gfni256,
    /// Byte shuffles on the 256-bit registers of AVX2.
    Avx2,
    /// Plain loops, compiled with the target's baseline instructions.
    Portable,
}

impl Isa {
    /// All instruction sets, fastest first.
    pub const ALL: [Isa; 4] = [Isa::Gfni512, Isa::Gfni256, Isa::Avx2, Isa::Portable];

    /// The name that the environment variable `RIPSTOP_GF256` uses.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Gfni512 => "gfni512",
            Isa::Gfni256 => "gfni256",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        }
    }

    /// Whether this machine (processor and operating system) has the instructions.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            match self {
                Isa::Gfni512 => {
                    is_x86_feature_detected!("avx512f")
                        && is_x86_feature_detected!("avx512bw")
                        && is_x86_feature_detected!("avx512vbmi")
                        && is_x86_feature_detected!("gfni")
                }
                Isa::Gfni256 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni"),
                Isa::Avx2 => is_x86_feature_detected!("avx2"),
                Isa::Portable => true,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self == Isa::Portable
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = KernelError;
    fn from_str(name: &str) -> Result<Isa, KernelError> {
        Isa::ALL
            .into_iter()
            .find(|isa| isa.name() == name)
            .ok_or_else(|| KernelError::Unknown { name: name.to_owned() })
    }
}

/// Why a kernel is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// There is no kernel of this name.
    #[error("there is no GF(256) kernel `{name}`; write gfni512, gfni256, avx2 or portable")]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// This machine does not have the instructions.
    #[error("this machine lacks the instructions of the GF(256) kernel `{isa}`; it has {}", available())]
    Lacking {
        /// The instruction set that was asked for.
        isa: Isa,
    },
}

/// The kernels available on this machine, as text: `avx2, portable`.
fn available() -> String {
    let names = Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(Isa::name);
    names.collect::<Vec<_>>().join(", ")
}
