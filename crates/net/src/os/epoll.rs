//! Waiting for many descriptors at the same time: epoll, level-triggered.
//!
//! A [`Reactor`] knows the descriptors that are registered with it. The owner of a descriptor keeps the [`Registration`],
//! and changes through it what the thread waits for. The reactor itself has no list of descriptors, so a wait costs the
//! same with three descriptors and with thousands.
//!
//! Some waits must ignore some of the descriptors: a short pause lets packets collect, but a wake-up ends it. Changing the
//! interest of a descriptor takes a system call, which is too much for every pause. So each descriptor has an [`Urgency`]
//! at its registration, and each wait says which urgencies end it. For each urgency there is an epoll instance with the
//! descriptors that are at least as urgent. A descriptor that is registered as [`Urgency::Control`] is in all of them.

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// The largest number of descriptors that one wait reports, 64. The kernel puts the descriptors that it has reported
/// behind the others, so with more ready descriptors all have their turn. Half the value makes twice as many waits when
/// more than 32 descriptors are ready. Double the value makes a turn that serves all of them twice as long.
const MOST_EVENTS: usize = 64;

/// What a wait must report of a descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Something can be read, or the other end has gone.
    pub read: bool,
    /// Something can be written.
    pub write: bool,
}

impl Interest {
    /// Nothing, not even that the other end has gone.
    pub const NONE: Interest = Interest { read: false, write: false };
    /// Reading.
    pub const READ: Interest = Interest { read: true, write: false };
    /// Reading and writing.
    pub const BOTH: Interest = Interest { read: true, write: true };

    fn flags(self) -> EpollFlags {
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, self.read);
        flags.set(EpollFlags::EPOLLOUT, self.write);
        flags
    }
}

/// Which waits a descriptor ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Only waits for all descriptors.
    Bulk,
    /// Also pauses that watch for answers.
    Prompt,
    /// Every wait.
    Control,
}

impl Urgency {
    const ALL: [Urgency; 3] = [Urgency::Bulk, Urgency::Prompt, Urgency::Control];
}

/// The name that an owner gives to a descriptor: the part of the program that it belongs to, and a number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// The part of the program.
    pub owner: u32,
    /// The number of the descriptor in this part.
    pub index: u32,
}

impl Token {
    fn to_bits(self) -> u64 {
        u64::from(self.owner) << 32 | u64::from(self.index)
    }

    fn of(bits: u64) -> Token {
        Token { owner: (bits >> 32) as u32, index: bits as u32 }
    }
}

/// What a wait reports of a descriptor. A report is a hint: an earlier action of the same turn may have read the data, or
/// closed the descriptor. So descriptors are non-blocking, and an owner ignores the token of a descriptor that it has
/// closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The descriptor.
    pub token: Token,
    /// Whether a read returns something: data, the end, or an error.
    pub readable: bool,
    /// Whether a write returns something.
    pub writable: bool,
}

/// A descriptor's place in a reactor. Its owner keeps it beside the descriptor.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a descriptor leaves the reactor by its registration"]
pub struct Registration {
    token: Token,
    urgency: Urgency,
    interest: Interest,
}

/// Waits for all registered descriptors.
#[derive(Debug)]
pub struct Reactor {
    /// For each [`Urgency`], the descriptors that are at least as urgent.
    sets: [Epoll; Urgency::ALL.len()],
    events: Vec<EpollEvent>,
    /// Whether the kernel has no `epoll_pwait2`: it is older than version 5.11, or a filter hides the call.
    lacks_pwait2: bool,
    calls: ReactorCalls,
}

/// System calls of a reactor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReactorCalls {
    /// Waits.
    pub waits: u64,
    /// Further calls, because the kernel has no `epoll_pwait2`.
    pub fallbacks: u64,
    /// Changes of what the kernel watches.
    pub changes: u64,
}

impl Reactor {
    /// A reactor without descriptors.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<Reactor> {
        let set = || Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        Ok(Reactor {
            sets: [set()?, set()?, set()?],
            events: vec![EpollEvent::empty(); MOST_EVENTS],
            lacks_pwait2: false,
            calls: ReactorCalls::default(),
        })
    }

    /// Registers a descriptor. The token need not differ from other tokens, but a wait reports no more than the token.
    ///
    /// # Errors
    /// The system's error: the descriptor is registered already, or cannot be waited for.
    pub fn register(
        &mut self,
        descriptor: &impl AsFd,
        token: Token,
        interest: Interest,
        urgency: Urgency,
    ) -> io::Result<Registration> {
        let mut registration = Registration { token, urgency, interest: Interest::NONE };
        self.set_interest(descriptor, &mut registration, interest)?;
        Ok(registration)
    }

    /// Changes what is reported of a descriptor. Takes no system call if nothing changes.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_interest(
        &mut self,
        descriptor: &impl AsFd,
        registration: &mut Registration,
        interest: Interest,
    ) -> io::Result<()> {
        if interest == registration.interest {
            return Ok(());
        }
        let mut event = EpollEvent::new(interest.flags(), registration.token.to_bits());
        for (set, _) in self.sets.iter().zip(Urgency::ALL).filter(|(_, least)| *least <= registration.urgency) {
            self.calls.changes += 1;
            // The kernel reports a hang-up even of a descriptor without any interest, again and again.
            match (registration.interest, interest) {
                (Interest::NONE, _) => set.add(descriptor, event)?,
                (_, Interest::NONE) => set.delete(descriptor)?,
                _ => set.modify(descriptor, &mut event)?,
            }
        }
        registration.interest = interest;
        Ok(())
    }

    /// Takes a descriptor out of the reactor. Must be called before the descriptor is closed if there are copies of the
    /// descriptor: the kernel would go on to report them.
    ///
    /// # Errors
    /// The system's error.
    pub fn deregister(&mut self, descriptor: &impl AsFd, mut registration: Registration) -> io::Result<()> {
        self.set_interest(descriptor, &mut registration, Interest::NONE)
    }

    /// Waits until a descriptor that is at least as urgent as `least` is ready; None: there is no time limit. Calls `take`
    /// for each ready descriptor, and for at most 64 of them. The wait may end early, without a ready descriptor.
    ///
    /// # Errors
    /// The system's error.
    pub fn wait(&mut self, least: Urgency, limit: Option<Duration>, mut take: impl FnMut(Ready)) -> io::Result<()> {
        self.calls.waits += 1;
        let [bulk, prompt, control] = &self.sets;
        let set = match least {
            Urgency::Bulk => bulk,
            Urgency::Prompt => prompt,
            Urgency::Control => control,
        };
        let mut outcome = match self.lacks_pwait2 {
            false => wait_precisely(set, &mut self.events, limit),
            true => Err(io::ErrorKind::Unsupported.into()),
        };
        if outcome.as_ref().is_err_and(is_unsupported) {
            self.lacks_pwait2 = true;
            self.calls.fallbacks += 1;
            outcome = wait_in_two_calls(set, &mut self.events, limit);
        }
        let ready = match outcome {
            Ok(ready) => ready,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        for event in self.events.iter().take(ready) {
            let flags = event.events();
            take(Ready {
                token: Token::of(event.data()),
                readable: flags.intersects(!EpollFlags::EPOLLOUT),
                writable: flags.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP),
            });
        }
        Ok(())
    }

    /// The system calls so far.
    pub fn calls(&self) -> ReactorCalls {
        self.calls
    }
}

/// A limit as the kernel takes it on all machines.
#[repr(C)]
struct KernelTimespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Waits with a limit in nanoseconds (`epoll_pwait2`). The older `epoll_wait` takes milliseconds, and pauses are shorter
/// than that. Returns the number of events.
fn wait_precisely(set: &Epoll, events: &mut [EpollEvent], limit: Option<Duration>) -> io::Result<usize> {
    let limit = limit.map(|limit| KernelTimespec {
        seconds: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: i64::from(limit.subsec_nanos()),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let no_mask = std::ptr::null::<libc::sigset_t>();
    let (descriptor, room) = (set.0.as_raw_fd(), events.len() as libc::c_int);
    #[allow(unsafe_code, reason = "no safe interface of a dependency waits for epoll with a limit in nanoseconds")]
    // SAFETY: the descriptor is open while `set` is borrowed. `events` has room for `room` events, and `EpollEvent` has
    // the layout of the kernel's structure (`repr(transparent)`). `limit` is null or points to a structure of the layout
    // that the kernel reads. Without a mask, the size of a mask is ignored.
    let count = unsafe {
        libc::syscall(libc::SYS_epoll_pwait2, descriptor, events.as_mut_ptr(), room, limit, no_mask, 0_usize)
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// The same for a kernel without `epoll_pwait2`: waits for the epoll instance, and asks it what is ready.
fn wait_in_two_calls(set: &Epoll, events: &mut [EpollEvent], limit: Option<Duration>) -> io::Result<usize> {
    ppoll(&mut [PollFd::new(set.0.as_fd(), PollFlags::POLLIN)], limit.map(TimeSpec::from), None)?;
    Ok(set.wait(events, EpollTimeout::ZERO)?)
}

/// Whether the kernel does not know the call. Filters of system calls return EPERM for calls that they do not know.
fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

#[cfg(test)]
mod tests;
