//! A file transfer with the kernel's own TCP from one namespace to another.

use ripstop_net::os::netns::Namespace;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Sends `content` from `left` to `10.0.0.2` in `right`.
///
/// # Panics
/// The content does not arrive complete.
pub(crate) fn transfer(left: &Namespace, right: &Namespace, content: &[u8]) {
    let listener = right.run(|| TcpListener::bind("10.0.0.2:80")).unwrap().unwrap();
    let receiving = std::thread::spawn(move || {
        let mut got = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
        got
    });
    let mut stream = left.run(|| TcpStream::connect("10.0.0.2:80")).unwrap().unwrap();
    stream.write_all(content).unwrap();
    drop(stream);
    assert!(receiving.join().unwrap() == content, "the bytes that arrived are not the bytes that were sent");
}
