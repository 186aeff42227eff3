//! Recognises a WireGuard configuration, which people paste into a file for Ripstop.

/// The keys of wg(8) and wg-quick(8), and the keys of Ripstop with the same meaning.
const KEYS: [(&str, &str); 11] = [
    ("PrivateKey", "private-key"),
    ("Address", "address"),
    ("ListenPort", "port"),
    ("MTU", "mtu"),
    ("PublicKey", "public-key"),
    ("PresharedKey", "preshared-key"),
    ("Endpoint", "endpoint"),
    ("AllowedIPs", "allowed-ips"),
    ("PersistentKeepalive", "keepalive"),
    ("DNS", "nothing: set the name server yourself"),
    ("Table", "nothing: `ripstop up` adds the routes"),
];

/// If `text` is a WireGuard configuration: the place of its first line, and what to write instead of the keys in it.
pub(super) fn recognise(text: &str) -> Option<(usize, String)> {
    let start = text.find("[Interface]").or_else(|| text.find("[Peer]"))?;
    let is_line = text[..start].rsplit('\n').next().is_some_and(|before| before.trim().is_empty());
    let used = |key: &str| {
        let keys = text.lines().filter_map(|line| line.split_once('=')).map(|(key, _)| key.trim());
        keys.into_iter().any(|found| found.eq_ignore_ascii_case(key))
    };
    let known: Vec<String> =
        KEYS.iter().filter(|(key, _)| used(key)).map(|(key, ours)| format!("{key} = {ours}")).collect();
    (is_line && !known.is_empty()).then(|| {
        let words = format!(
            "this is a WireGuard configuration. Ripstop's protocol and file are different: both hosts must run Ripstop. \
             Write [interface] for [Interface], [[peer]] for [Peer], and each value in quotation marks. The keys are: \
             {}. WireGuard's keys can be used, but make new ones with `ripstop keys new`",
            known.join(", ")
        );
        (start, words)
    })
}
