//! Network namespaces: separate hosts within one machine.
//!
//! A [`Namespace`] is only an open file. The namespace has no name in the file system and needs no
//! process. The kernel keeps a namespace as long as its file is open somewhere, or a process or
//! device is inside. So nothing is left behind when this process ends, even by kill -9.
//!
//! Namespaces need privilege: root, or a user namespace, which most systems allow to everybody. Call
//! [`gain_privilege`] early in `main`.

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getgid, getpid, getppid, getuid};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;

/// Why a namespace could not be made, found or entered.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// The system does not let this user make network namespaces.
    #[error(
        "{what} is not allowed here ({source}). Run as root; or allow user namespaces: \
         `sysctl kernel.unprivileged_userns_clone=1` (Debian), \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu), \
         `sysctl user.max_user_namespaces=10000`; in a container add \
         `--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined`"
    )]
    NotAllowed {
        /// The step that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A user namespace must be entered before the first thread is started.
    #[error("a user namespace must be entered before the process starts a second thread")]
    Threads,
    /// No namespace has this name.
    #[error("there is no network namespace `{name}` under /run/netns; {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that exist, as text.
        known: String,
    },
    /// The file is not a network namespace.
    #[error(
        "`{path}` is not a network namespace; write a name of `ip netns`, `pid:NUMBER`, or a path such as /proc/NUMBER/ns/net"
    )]
    NotANamespace {
        /// The path that was given.
        path: String,
    },
    /// Any other error of the system.
    #[error("{what}: {source}")]
    System {
        /// The step that failed.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl NetnsError {
    fn system(what: impl Into<String>, source: impl Into<io::Error>) -> NetnsError {
        NetnsError::System { what: what.into(), source: source.into() }
    }

    /// Returns [`NetnsError::NotAllowed`] if `errno` means that the system forbids the step, and
    /// [`NetnsError::System`] for other errors.
    fn forbidden(what: &'static str, errno: Errno) -> NetnsError {
        match errno {
            // ENOSPC: the limit user.max_*_namespaces is reached. If namespaces are off, the limit is 0.
            Errno::EPERM | Errno::EACCES | Errno::ENOSPC | Errno::ENOSYS => {
                NetnsError::NotAllowed { what, source: errno.into() }
            }
            other => NetnsError::system(what, other),
        }
    }
}

/// How this process got its privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The process was privileged when it was started.
    Already,
    /// The process is now root in its own user namespace. Files that it creates still belong to the
    /// user who started it.
    UserNamespace,
}

/// Makes sure that this process may create and enter network namespaces. If not, the whole process moves into a user
/// namespace, in which the process is root. Call this function in `main`, before any thread is started.
///
/// # Errors
/// [`NetnsError::NotAllowed`] if user namespaces are off, [`NetnsError::Threads`] if a second thread already
/// runs.
pub fn gain_privilege() -> Result<Privilege, NetnsError> {
    if is_privileged() {
        return Ok(Privilege::Already);
    }
    UserMap::of_this_user().enter().map_err(|errno| match errno {
        Errno::EINVAL => NetnsError::Threads,
        other => NetnsError::forbidden("entering a user namespace", other),
    })?;
    Ok(Privilege::UserNamespace)
}

/// Whether this process may create, enter and configure network namespaces: CAP_SYS_ADMIN and CAP_NET_ADMIN
/// are effective.
pub fn is_privileged() -> bool {
    const WANTED: u64 = 1 << 21 | 1 << 12; // linux/capability.h
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|caps| caps & WANTED == WANTED)
}

/// Makes `command` start as root in its own user namespace. This function is for a process with several threads, which
/// cannot call [`gain_privilege`] for itself. Starting the command fails if user namespaces are not allowed.
pub fn in_user_namespace(command: &mut Command) -> &mut Command {
    let map = UserMap::of_this_user();
    #[allow(unsafe_code, reason = "code between fork and exec has no safe interface")]
    // SAFETY: between fork and exec the closure makes system calls on memory that was prepared
    // before the fork; it takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(move || map.enter().map_err(io::Error::from))
    }
}

/// The name of [`Namespace::current`].
const CURRENT: &str = "current";

/// The words " in namespace NAME" of a message. The namespace of the program itself is not mentioned.
pub(super) fn in_namespace(name: &str) -> String {
    if name == CURRENT { String::new() } else { format!(" in namespace {name}") }
}

/// A network namespace. Clones are handles of the same namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<OwnedFd>,
    name: Arc<str>,
}

impl Namespace {
    /// A new, empty namespace whose loopback device is up. `name` is used only in messages.
    ///
    /// # Errors If namespaces are not allowed, [`NetnsError::NotAllowed`] says what to do.
    pub fn create(name: &str) -> Result<Namespace, NetnsError> {
        // Only the new thread enters the new namespace, and the thread ends here. So this process
        // stays in its own namespace.
        let file = on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| NetnsError::forbidden("making a network namespace", errno))?;
            loopback_up()?;
            current_file()
        })??;
        Ok(Namespace { file: Arc::new(file.into()), name: name.into() })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors /proc is not mounted.
    pub fn current() -> Result<Namespace, NetnsError> {
        Ok(Namespace { file: Arc::new(current_file()?.into()), name: CURRENT.into() })
    }

    /// The namespace that a user names: `pid:NUMBER`, a path (any text with a `/`), or a name known to `ip
    /// netns`.
    ///
    /// # Errors
    /// The namespace does not exist or cannot be opened. For an unknown name, the message lists the
    /// existing names.
    pub fn open(text: &str) -> Result<Namespace, NetnsError> {
        if let Some(pid) = text.strip_prefix("pid:") {
            return match pid.parse() {
                Ok(pid) => Namespace::open_pid(pid),
                Err(_) => Err(NetnsError::NotANamespace { path: text.to_owned() }),
            };
        }
        if text.contains('/') { Namespace::open_path(Path::new(text)) } else { Namespace::open_name(text) }
    }

    /// The namespace with this name in `ip netns`.
    ///
    /// # Errors See [`Namespace::open`].
    pub fn open_name(name: &str) -> Result<Namespace, NetnsError> {
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        for directory in ["/run/netns", "/var/run/netns"] {
            let path = Path::new(directory).join(name);
            if plain && path.exists() {
                return Namespace::open_path(&path).map(|found| Namespace { name: name.into(), ..found });
            }
        }
        let mut names: Vec<String> = std::fs::read_dir("/run/netns")
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(format!("`{}`", entry.ok()?.file_name().to_string_lossy())))
            .collect();
        names.sort();
        let known = if names.is_empty() {
            format!("no namespace exists there; make this one with `ip netns add {name}`")
        } else {
            format!("the existing namespaces are {}", names.join(", "))
        };
        Err(NetnsError::Unknown { name: name.to_owned(), known })
    }

    /// The namespace of a running process.
    ///
    /// # Errors
    /// There is no such process, or it belongs to another user.
    pub fn open_pid(pid: u32) -> Result<Namespace, NetnsError> {
        Namespace::open_path(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// The namespace of a file such as /proc/PID/ns/net.
    ///
    /// # Errors
    /// The file cannot be opened or is not a network namespace.
    pub fn open_path(path: &Path) -> Result<Namespace, NetnsError> {
        let shown = path.display();
        let file = File::open(path).map_err(|e| NetnsError::system(format!("opening `{shown}`"), e))?;
        if namespace_type(file.as_fd()) != Some(libc::CLONE_NEWNET) {
            return Err(NetnsError::NotANamespace { path: shown.to_string() });
        }
        Ok(Namespace { file: Arc::new(file.into()), name: shown.to_string().into() })
    }

    /// Runs `work` on a new thread inside the namespace and returns its result. Sockets and devices that `work` opens
    /// stay in the namespace. A panic of `work` is passed on to the caller.
    ///
    /// # Errors
    /// The namespace cannot be entered. In this case `work` has not run.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
        on_thread(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread, and all threads that it will start, into the namespace for good. No privilege is
    /// needed if the thread is in the namespace already.
    ///
    /// # Errors The system does not allow this step.
    pub fn enter(&self) -> Result<(), NetnsError> {
        if self.is_here() {
            return Ok(());
        }
        setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|errno| NetnsError::forbidden("entering a network namespace", errno))
    }

    /// Starts `command` inside the namespace. The child is killed when the thread that started it ends. So the child is
    /// killed too when this process ends, for any reason.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn spawn(&self, mut command: Command) -> Result<Child, NetnsError> {
        self.arm(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        command.spawn().map_err(|e| NetnsError::system(format!("starting `{program}` in namespace {self}"), e))
    }

    /// Runs `command` inside the namespace, without input, until the command ends. Returns what the command printed.
    ///
    /// # Errors
    /// The command cannot be started. A nonzero exit status is not an error here.
    pub fn output(&self, mut command: Command) -> Result<Output, NetnsError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let child = self.spawn(command)?;
        child.wait_with_output().map_err(|e| NetnsError::system(format!("running `{program}`"), e))
    }

    /// Whether the calling thread is in this namespace.
    fn is_here(&self) -> bool {
        use nix::sys::stat::{fstat, stat};
        match (fstat(&self.file), stat("/proc/thread-self/ns/net")) {
            (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
            _ => false,
        }
    }

    /// Makes `command` enter the namespace before its program starts, and makes the program end with its parent.
    fn arm(&self, command: &mut Command) {
        // A process with CAP_NET_ADMIN alone may not enter any namespace, not even its own. So a
        // process that is in the namespace already does not try to enter it.
        let file = (!self.is_here()).then(|| self.file.clone());
        let parent = getpid();
        #[allow(unsafe_code, reason = "code between fork and exec has no safe interface")]
        // SAFETY: between fork and exec the closure makes only system calls; it takes no lock and allocates
        // nothing.
        unsafe {
            command.pre_exec(move || {
                if let Some(file) = &file {
                    setns(file, CloneFlags::CLONE_NEWNET)?;
                }
                die_with(parent)
            });
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Runs `work` on a new thread. A panic of `work` is passed on to the caller.
fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("netns".into())
            .spawn_scoped(scope, work)
            .map_err(|e| NetnsError::system("starting a thread", e))?;
        thread.join().map_or_else(|panic| std::panic::resume_unwind(panic), Ok)
    })
}

/// Requests SIGKILL at the parent's end. Fails if the parent has already ended.
fn die_with(parent: Pid) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

fn current_file() -> Result<File, NetnsError> {
    let path = "/proc/thread-self/ns/net";
    File::open(path).map_err(|e| NetnsError::system(format!("opening {path}"), e))
}

/// The kind of namespace, as its CLONE_NEW* flag; None for a file that is not a namespace.
fn namespace_type(file: BorrowedFd<'_>) -> Option<libc::c_int> {
    const NS_GET_NSTYPE: libc::Ioctl = 0xb703; // linux/nsfs.h: _IO(0xb7, 3)
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: the call takes no argument, and the descriptor stays open while it is borrowed.
    let kind = unsafe { libc::ioctl(file.as_raw_fd(), NS_GET_NSTYPE) };
    (kind >= 0).then_some(kind)
}

/// Brings up the loopback device of this thread's namespace. In a new namespace, this device is
/// down.
fn loopback_up() -> Result<(), NetnsError> {
    let failed = |e: io::Error| NetnsError::system("setting the loopback device up", e);
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").map_err(failed)?;
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: `request` is a valid ifreq for the whole call: all zero is a valid value, and the
    // name and flags are set below. The descriptor is open.
    let result = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo\0") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request)
    };
    Errno::result(result).map(drop).map_err(|errno| failed(errno.into()))
}

/// The user mapping that makes this user root in a new user namespace. The texts are prepared in
/// advance, because no memory may be allocated between fork and exec.
struct UserMap {
    uid_map: String,
    gid_map: String,
}

impl UserMap {
    fn of_this_user() -> UserMap {
        UserMap { uid_map: format!("0 {} 1", getuid()), gid_map: format!("0 {} 1", getgid()) }
    }

    /// Moves this process into a new user namespace. Makes only system calls.
    fn enter(&self) -> Result<(), Errno> {
        use nix::fcntl::{OFlag, open};
        use nix::sys::stat::Mode;
        unshare(CloneFlags::CLONE_NEWUSER)?;
        let files = [
            // Without this step, an unprivileged user may not write a gid_map (user_namespaces(7)).
            (c"/proc/self/setgroups", "deny"),
            (c"/proc/self/uid_map", &self.uid_map),
            (c"/proc/self/gid_map", &self.gid_map),
        ];
        for (path, text) in files {
            let file = open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
            nix::unistd::write(&file, text.as_bytes())?;
        }
        Ok(())
    }
}
