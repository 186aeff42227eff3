//! Tests of the reactor with pipes and pairs of sockets.

use super::*;
use nix::sys::eventfd::EventFd;
use nix::unistd::dup;
use std::io::{Read, Write, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

fn token(index: u32) -> Token {
    Token { owner: 7, index }
}

/// What is ready now.
fn ready(reactor: &mut Reactor, least: Urgency) -> Vec<Ready> {
    let mut all = Vec::new();
    reactor.wait(least, Some(Duration::ZERO), |ready| all.push(ready)).unwrap();
    all
}

fn readable(reactor: &mut Reactor) -> Vec<u32> {
    ready(reactor, Urgency::Bulk).iter().filter(|ready| ready.readable).map(|ready| ready.token.index).collect()
}

fn pair() -> (UnixStream, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    [&a, &b].into_iter().for_each(|end| end.set_nonblocking(true).unwrap());
    (a, b)
}

#[test]
fn a_descriptor_is_reported_from_its_registration_to_its_end() {
    let mut reactor = Reactor::new().unwrap();
    let (mut reader, mut writer) = pipe().unwrap();
    writer.write_all(b"xy").unwrap();
    assert_eq!(readable(&mut reactor), [0; 0]);
    let registration = reactor.register(&reader, token(3), Interest::READ, Urgency::Bulk).unwrap();
    let expected = Ready { token: token(3), readable: true, writable: false };
    assert_eq!(ready(&mut reactor, Urgency::Bulk), [expected]);
    reader.read_exact(&mut [0]).unwrap();
    assert_eq!(ready(&mut reactor, Urgency::Bulk), [expected], "level-triggered: a byte is left");
    reader.read_exact(&mut [0]).unwrap();
    assert_eq!(readable(&mut reactor), [0; 0]);
    writer.write_all(b"z").unwrap();
    reactor.deregister(&reader, registration).unwrap();
    assert_eq!(readable(&mut reactor), [0; 0]);
    let again = reactor.register(&reader, token(4), Interest::READ, Urgency::Bulk).unwrap();
    assert_eq!(readable(&mut reactor), [4]);
    assert!(reactor.register(&reader, token(5), Interest::READ, Urgency::Bulk).is_err(), "registered twice");
    reactor.deregister(&reader, again).unwrap();
}

#[test]
fn interest_changes_with_the_state_of_the_owner() {
    let mut reactor = Reactor::new().unwrap();
    let (mut near, mut far) = pair();
    let mut registration = reactor.register(&near, token(0), Interest::READ, Urgency::Bulk).unwrap();
    far.write_all(b"x").unwrap();
    assert_eq!(readable(&mut reactor), [0]);

    // A full queue: nothing is read meanwhile, and the data stays.
    reactor.set_interest(&near, &mut registration, Interest::NONE).unwrap();
    assert_eq!(ready(&mut reactor, Urgency::Bulk), []);
    reactor.set_interest(&near, &mut registration, Interest::READ).unwrap();
    assert_eq!(readable(&mut reactor), [0]);
    near.read_exact(&mut [0]).unwrap();

    // A full socket: the thread waits until it can write.
    while near.write(&[0; 4096]).is_ok() {}
    reactor.set_interest(&near, &mut registration, Interest::BOTH).unwrap();
    assert_eq!(ready(&mut reactor, Urgency::Bulk), []);
    while far.read(&mut [0; 4096]).is_ok() {}
    assert_eq!(ready(&mut reactor, Urgency::Bulk), [Ready { token: token(0), readable: false, writable: true }]);

    let before = reactor.calls().changes;
    reactor.set_interest(&near, &mut registration, Interest::BOTH).unwrap();
    assert_eq!(reactor.calls().changes, before, "no system call without a change");

    // The other end has gone. Without interest nothing is reported, so the thread can sleep.
    drop(far);
    assert_eq!(readable(&mut reactor), [0]);
    reactor.set_interest(&near, &mut registration, Interest::NONE).unwrap();
    assert_eq!(ready(&mut reactor, Urgency::Bulk), []);
    reactor.deregister(&near, registration).unwrap();
}

#[test]
fn a_wait_ignores_less_urgent_descriptors() {
    let mut reactor = Reactor::new().unwrap();
    let urgencies = [Urgency::Bulk, Urgency::Prompt, Urgency::Control];
    let events = urgencies.map(|_| EventFd::from_value(1).unwrap());
    let registrations: Vec<Registration> = (0..)
        .zip(&events)
        .zip(urgencies)
        .map(|((index, event), urgency)| reactor.register(event, token(index), Interest::READ, urgency).unwrap())
        .collect();
    let mut tokens = |least| ready(&mut reactor, least).iter().map(|ready| ready.token.index).collect::<Vec<_>>();
    assert_eq!(urgencies.map(&mut tokens), [vec![0, 1, 2], vec![1, 2], vec![2]]);
    assert_eq!(reactor.calls().changes, 1 + 2 + 3);
    for (event, registration) in events.iter().zip(registrations) {
        reactor.deregister(event, registration).unwrap();
    }
    assert_eq!(urgencies.map(|least| ready(&mut reactor, least).len()), [0; 3]);
}

/// The kernel reports at most 64 descriptors at a time. The others come next, although the first ones are still ready.
#[test]
fn thousands_of_descriptors_have_their_turn() {
    const DESCRIPTORS: u32 = 1_000;
    let mut reactor = Reactor::new().unwrap();
    let events: Vec<EventFd> = (0..DESCRIPTORS).map(|_| EventFd::from_value(1).unwrap()).collect();
    let registrations: Vec<Registration> = (0..)
        .zip(&events)
        .map(|(index, event)| reactor.register(event, token(index), Interest::READ, Urgency::Bulk).unwrap())
        .collect();
    let mut turns = vec![0; DESCRIPTORS as usize];
    for _ in 0..DESCRIPTORS.div_ceil(MOST_EVENTS as u32) {
        let found = readable(&mut reactor);
        assert!(found.len() <= MOST_EVENTS);
        found.iter().for_each(|index| turns[*index as usize] += 1);
    }
    assert!(turns.iter().all(|turns| (1..=2).contains(turns)), "{turns:?}");
    for (event, registration) in events.iter().zip(registrations) {
        reactor.deregister(event, registration).unwrap();
    }
    assert_eq!(readable(&mut reactor), [0; 0]);
}

/// A descriptor that is closed while it is registered is not reported any more, and the next descriptor with its number can
/// be registered. A copy of the descriptor would be reported, so an owner deregisters first.
#[test]
fn a_closed_descriptor_is_not_reported() {
    let mut reactor = Reactor::new().unwrap();
    let event = EventFd::from_value(1).unwrap();
    let number = event.as_fd().as_raw_fd();
    let _ = reactor.register(&event, token(0), Interest::READ, Urgency::Control).unwrap();
    assert_eq!(readable(&mut reactor), [0]);
    drop(event);
    assert_eq!(readable(&mut reactor), [0; 0]);
    let next = EventFd::from_value(1).unwrap();
    if next.as_fd().as_raw_fd() == number {
        let _ = reactor.register(&next, token(1), Interest::READ, Urgency::Control).unwrap();
        assert_eq!(readable(&mut reactor), [1]);
    }

    let mut reactor = Reactor::new().unwrap();
    let event = EventFd::from_value(1).unwrap();
    let copy: OwnedFd = dup(&event).unwrap();
    let registration = reactor.register(&event, token(2), Interest::READ, Urgency::Control).unwrap();
    reactor.deregister(&event, registration).unwrap();
    drop(event);
    assert_eq!(readable(&mut reactor), [0; 0], "the copy is open");
    drop(copy);
}

/// One descriptor is closed by the action for another one that the same wait has reported.
#[test]
fn a_report_of_a_descriptor_that_was_closed_meanwhile_is_harmless() {
    let mut reactor = Reactor::new().unwrap();
    let mut ends: Vec<Option<(UnixStream, Registration)>> = Vec::new();
    for index in 0..2 {
        let (near, mut far) = pair();
        far.write_all(b"x").unwrap();
        let registration = reactor.register(&near, token(index), Interest::READ, Urgency::Bulk).unwrap();
        ends.push(Some((near, registration)));
    }
    let reported = readable(&mut reactor);
    assert_eq!(reported.len(), 2);
    let mut served = 0;
    for index in reported {
        // The owner has nothing at this index any more.
        let Some((mut near, registration)) = ends[index as usize].take() else { continue };
        near.read_exact(&mut [0]).unwrap();
        served += 1;
        reactor.deregister(&near, registration).unwrap();
        if let Some((other, registration)) = ends[1 - index as usize].take() {
            reactor.deregister(&other, registration).unwrap();
        }
    }
    assert_eq!(served, 1);
    assert_eq!(ready(&mut reactor, Urgency::Bulk), []);
}

#[test]
fn a_wait_ends_at_its_limit_with_and_without_the_precise_call() {
    for lacks_pwait2 in [false, true] {
        let mut reactor = Reactor::new().unwrap();
        reactor.lacks_pwait2 = lacks_pwait2;
        let (reader, mut writer) = pipe().unwrap();
        let registration = reactor.register(&reader, token(0), Interest::READ, Urgency::Bulk).unwrap();
        let (start, limit) = (Instant::now(), Duration::from_micros(1_500));
        while start.elapsed() < limit {
            let left = limit.saturating_sub(start.elapsed());
            reactor.wait(Urgency::Bulk, Some(left), |ready| panic!("{ready:?}")).unwrap();
        }
        writer.write_all(b"x").unwrap();
        let mut found = 0;
        reactor.wait(Urgency::Bulk, None, |_| found += 1).unwrap();
        assert_eq!(found, 1, "without a limit");
        assert_eq!(reactor.calls().fallbacks > 0, lacks_pwait2);
        reactor.deregister(&reader, registration).unwrap();
    }
}
