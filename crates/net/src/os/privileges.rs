//! Capabilities and the user of this process (capabilities(7)).

use nix::unistd::{Gid, Uid, User, setgroups, setresgid, setresuid};
use std::io;

/// CAP_NET_ADMIN: the daemon needs it to change the device's MTU, and to add routes when its configuration changes.
const CAP_NET_ADMIN: u32 = 12;
/// The version of the kernel's interface with 64 capabilities (`_LINUX_CAPABILITY_VERSION_3`).
const VERSION_3: u32 = 0x2008_0522;

/// The argument `hdrp` of capset(2).
#[repr(C)]
struct Header {
    version: u32,
    /// The thread; 0 is the calling thread.
    pid: i32,
}

/// One half of the argument `datap` of capset(2): the capabilities 0 to 31, or 32 to 63.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up all capabilities of the calling thread except CAP_NET_ADMIN, and changes the user if one is given. Threads
/// and processes that are started later have no more rights than the calling thread. Call this function while no other
/// thread exists: the capabilities of other threads stay.
///
/// # Errors
/// The system's error. Without the right to change the user, this is [`io::ErrorKind::PermissionDenied`].
pub fn reduce(user: Option<&User>) -> io::Result<()> {
    // Programs that are started later cannot get a capability back, not even as root. A process without CAP_SETPCAP
    // cannot change this set; then the other steps remain.
    for capability in (0..64).filter(|capability| *capability != CAP_NET_ADMIN) {
        let _ = process_control(libc::PR_CAPBSET_DROP, capability.into(), 0);
    }
    if let Some(user) = user {
        process_control(libc::PR_SET_KEEPCAPS, 1, 0)?;
        change_user(user.uid, user.gid)?;
    }
    keep(1 << CAP_NET_ADMIN)?;
    // Without this step, a program of another user than root would start without the capability.
    let _ = process_control(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong, CAP_NET_ADMIN.into());
    process_control(libc::PR_SET_NO_NEW_PRIVS, 1, 0)
}

fn change_user(uid: Uid, gid: Gid) -> io::Result<()> {
    setgroups(&[gid])?;
    setresgid(gid, gid, gid)?;
    setresuid(uid, uid, uid)?;
    Ok(())
}

/// Keeps only those of the calling thread's capabilities that are in `wanted`.
fn keep(wanted: u32) -> io::Result<()> {
    let header = Header { version: VERSION_3, pid: 0 };
    let mut sets = [Sets::default(); 2];
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: both arguments have the layout that capget(2) and capset(2) require for this version, and live through
    // the calls.
    let result = unsafe {
        libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr());
        let left = sets[0].permitted & wanted;
        let sets = [Sets { effective: left, permitted: left, inheritable: left }, Sets::default()];
        libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// prctl(2) with two arguments.
fn process_control(option: libc::c_int, second: libc::c_ulong, third: libc::c_ulong) -> io::Result<()> {
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: the options used here take numbers only.
    let result = unsafe { libc::prctl(option, second, third, 0 as libc::c_ulong, 0 as libc::c_ulong) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_capability_is_left() {
        let status = std::thread::spawn(|| {
            reduce(None).unwrap();
            // A thread that is started later has no more rights.
            std::thread::spawn(|| std::fs::read_to_string("/proc/thread-self/status").unwrap()).join().unwrap()
        });
        let status = status.join().unwrap();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap();
        let sets = ["CapEff:", "CapPrm:", "CapInh:"].map(|name| u64::from_str_radix(field(name), 16).unwrap());
        assert!(sets.iter().all(|set| set & !(1 << CAP_NET_ADMIN) == 0), "{status}");
        assert_eq!(field("NoNewPrivs:"), "1");
    }
}
