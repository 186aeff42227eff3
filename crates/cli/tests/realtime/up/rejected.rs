//! Handshakes that one host rejects: its log says why, and the caller's log says what to check.

use super::site::{LEFT, RIGHT, Site, Up, until};
use crate::common::{ripstop, stdout, with_namespaces};
use std::fs;

/// A key that no host has.
fn other_key(site: &Site, name: &str) -> String {
    let output = ripstop().args(["keys", "new", "--out"]).arg(site.file(name)).output().unwrap();
    stdout(&output).trim().to_owned()
}

/// The public key that a host's configuration has for its peer.
fn key_of_peer(site: &Site, host: usize) -> String {
    let text = fs::read_to_string(site.file(["left.toml", "right.toml"][host])).unwrap();
    text.split("public-key = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Changes a host's configuration.
fn change(site: &Site, host: usize, from: &str, to: &str) {
    let path = site.file(["left.toml", "right.toml"][host]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    super::private(&path, &text.replacen(from, to, 1));
}

#[test]
fn the_called_host_says_why_it_rejects_a_handshake() {
    with_namespaces(|| {
        let site = Site::new();
        let (of_left, of_right) = (key_of_peer(&site, RIGHT), key_of_peer(&site, LEFT));
        let (other, secret) = (other_key(&site, "other.key"), "QCEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=");
        let with_secret = format!("name = \"x\"\npreshared-key = \"{secret}\"");
        let unknown = format!("public_key={of_left}");
        let right_key = format!("the right one is {of_right}");
        // The host to change, what to change, and what the called host must say.
        let cases: [(usize, (&str, &str), [&str; 2]); 4] = [
            (RIGHT, (&of_left, &other), ["the caller's public key is not configured on this host", &unknown]),
            (LEFT, (&of_right, &other), ["the caller expects another public key of this host", &right_key]),
            (
                LEFT,
                ("name = \"right\"", &with_secret),
                ["has a pre-shared key for this host, and this host has none", ""],
            ),
            (
                RIGHT,
                ("name = \"left\"", &with_secret),
                ["has a pre-shared key for the peer, and the peer has none", ""],
            ),
        ];
        let usual = ["left.toml", "right.toml"].map(|name| fs::read_to_string(site.file(name)).unwrap());
        let restore = |ends: (Up, Up)| {
            drop(ends);
            for (name, text) in ["left", "right"].iter().zip(&usual) {
                super::private(&site.file(&format!("{name}.toml")), text);
                fs::remove_file(site.file(&format!("{name}.log"))).unwrap();
            }
        };
        for (host, (from, to), words) in cases {
            change(&site, host, from, to);
            let (right, left) = (site.up(RIGHT), site.up(LEFT));
            let line = || right.log().lines().rfind(|line| line.contains(words[0])).map(str::to_owned);
            until("the called host logs the reason", || line().is_some());
            let line = line().unwrap();
            assert!(line.contains(" WARN ") && line.contains("from=198.18.0.1:5182"), "{line}");
            assert!(line.contains(words[1]), "{line}");
            // The repetitions of the handshake take a while, so two of the cases are enough.
            if to != with_secret {
                assert_eq!(right.count(words[0]), 1, "{}", right.log());
                restore((left, right));
                continue;
            }
            until("the caller logs what to check", || left.count("no answer to any handshake") == 1);
            let advice = match to == with_secret && host == LEFT {
                true => "it has the same `preshared-key` for this host",
                false => "it has no `preshared-key` for this host",
            };
            assert!(left.log().contains(advice) && left.log().contains(&of_left), "{}", left.log());
            // The caller repeats its handshake, and the called host its line does not.
            assert_eq!(right.count(words[0]), 1, "{}", right.log());
            restore((left, right));
        }
    });
}
