//! The CPU time of the tunnel daemon: `cpu NEW [OLD] [--rounds N] [--seconds S] [--only CASE]`.
//!
//! `NEW` and `OLD` are two builds of the program `ripstop`. The two builds run the same cases in turns, so that both
//! meet the same machine. Each case sends TCP (CUBIC) streams of the kernel through `ripstop up` daemons in network
//! namespaces:
//!
//! - `flat`: one stream over veth, as fast as it goes;
//! - `two`: the same with two peers, and one stream to each;
//! - `paced`: one stream over the emulated link of 20 Mbit/s and 100 ms;
//! - `calm`: 50 datagrams of 100 bytes a second over that link.
//!
//! A line shows the CPU seconds (user + system) of all daemons for each 10^9 bytes that the receivers got, the rate,
//! the wake-ups, and the largest memory of a daemon. The lines are medians. After them come the ratios of new to
//! old, and of two peers to one.

use ripstop_base::{Fraction, Rate, Seed};
use ripstop_link::LinkConfig;
use ripstop_net::emulate::{Emulator, EmulatorConfig};
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::{Namespace, gain_privilege};
use ripstop_net::workload::{Route, bulk::Bulk};
use std::error::Error;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The names of the cases.
const CASES: [&str; 4] = ["flat", "two", "paced", "calm"];

/// What a run has used and carried.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// CPU time in user mode and in the kernel, s.
    cpu: [f64; 2],
    /// Number of times that a thread of a daemon waited.
    waits: f64,
    /// Largest resident memory of a daemon, MB.
    memory: f64,
    /// Bytes received.
    bytes: f64,
    /// Length of the measured time, s.
    seconds: f64,
}

fn main() -> Outcome<()> {
    gain_privilege()?;
    let (mut builds, mut rounds, mut seconds, mut only) = (Vec::new(), 3, 10.0, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--rounds" => rounds = value()?.parse()?,
            "--seconds" => seconds = value()?.parse()?,
            "--only" => only = Some(value()?),
            _ => builds.push(argument),
        }
    }
    if builds.is_empty() || builds.len() > 2 {
        return Err("usage: cpu NEW [OLD] [--rounds N] [--seconds S] [--only flat|two|paced|calm]".into());
    }
    println!("case   build    s/GB   user s    sys s   Mbit/s   waits/s  waits/MB    MB");
    // The CPU seconds for each 10^9 bytes with one stream (`flat`), for each build.
    let mut one = Vec::new();
    for case in CASES.into_iter().filter(|case| only.as_deref().is_none_or(|only| only == *case)) {
        let mut runs = vec![Vec::new(); builds.len()];
        for _ in 0..rounds {
            for (program, runs) in builds.iter().zip(&mut runs) {
                runs.push(measure(case, program, seconds)?);
            }
        }
        let medians: Vec<[f64; 7]> = runs.iter().map(|runs| medians(runs)).collect();
        for (m, name) in medians.iter().zip(["new", "old"]) {
            let [cost, user, system, rate, waits, per_byte, memory] = m;
            println!(
                "{case:6} {name:5} {cost:7.2} {user:8.2} {system:8.2} {rate:8.1} {waits:9.0} {per_byte:9.1} {memory:5.0}"
            );
        }
        if let [new, old] = medians[..] {
            println!("{case:6} ratio {:7.3} {:26.3} (CPU per byte, rate)", new[0] / old[0], new[3] / old[3]);
        }
        match case {
            "flat" => one = medians.iter().map(|m| m[0]).collect(),
            "two" => one.iter().zip(&medians).zip(["new", "old"]).for_each(|((one, two), name)| {
                println!("{case:6} {name:5} {:7.3} (CPU per byte, two peers to one)", two[0] / one);
            }),
            _ => {}
        }
    }
    Ok(())
}

/// The medians of the columns of the table.
fn medians(runs: &[Figures]) -> [f64; 7] {
    let median = |value: &dyn Fn(&Figures) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(value).collect();
        values.sort_unstable_by(f64::total_cmp);
        (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
    };
    [
        median(&|f| (f.cpu[0] + f.cpu[1]) / f.bytes * 1e9),
        median(&|f| f.cpu[0] / f.bytes * 1e9),
        median(&|f| f.cpu[1] / f.bytes * 1e9),
        median(&|f| 8e-6 * f.bytes / f.seconds),
        median(&|f| f.waits / f.seconds),
        median(&|f| 1e6 * f.waits / f.bytes),
        median(&|f| f.memory),
    ]
}

/// Runs one case with one build for `seconds` after a warm-up.
fn measure(case: &str, program: &str, seconds: f64) -> Outcome<Figures> {
    let peers = if case == "two" { 2 } else { 1 };
    let hub = Namespace::create("sender")?;
    let ends: Vec<Namespace> = (0..peers).map(|_| Namespace::create("receiver")).collect::<Result<_, _>>()?;
    let paced = matches!(case, "paced" | "calm");
    let _links = ends
        .iter()
        .enumerate()
        .map(|(i, end)| if paced { emulated(&hub, end).map(Some) } else { veth(&hub, end, i).map(|()| None) })
        .collect::<Outcome<Vec<_>>>()?;
    let directory = tempfile::tempdir()?;
    let daemons = start(program, directory.path(), &hub, &ends)?;
    let warm_up = Duration::from_secs(if paced { 5 } else { 2 });
    let length = Duration::from_secs_f64(seconds * if paced { 2.0 } else { 1.0 });
    let carried: Box<dyn Fn() -> u64> = if case == "calm" {
        trickle(&hub, &ends[0], warm_up + length)?
    } else {
        let route = |i: usize| Route {
            client: hub.clone(),
            server: ends[i].clone(),
            address: inside(i + 2),
            congestion: "cubic",
        };
        let streams = (0..peers)
            .map(|i| Ok(Bulk::start(&route(i), Seed::new(i as u64), Duration::from_secs(5))?))
            .collect::<Outcome<Vec<Bulk>>>()?;
        Box::new(move || streams.iter().map(Bulk::received).sum())
    };
    let mark = || -> Outcome<Figures> {
        let mut figures = Figures { bytes: carried() as f64, ..Figures::default() };
        for daemon in &daemons {
            figures.add(daemon.0.id())?;
        }
        Ok(figures)
    };
    std::thread::sleep(warm_up);
    let (start, first) = (Instant::now(), mark()?);
    std::thread::sleep(length);
    let (seconds, last) = (start.elapsed().as_secs_f64(), mark()?);
    Ok(Figures {
        cpu: [0, 1].map(|i| last.cpu[i] - first.cpu[i]),
        waits: last.waits - first.waits,
        memory: last.memory,
        bytes: last.bytes - first.bytes,
        seconds,
    })
}

impl Figures {
    /// Adds what the process has used so far.
    fn add(&mut self, process: u32) -> Outcome<()> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The second field, the program's name, may contain spaces. Fields 14 and 15 are in units of 10 ms.
        let fields: Vec<&str> = stat.rsplit_once(')').ok_or("stat")?.1.split_whitespace().collect();
        for (cpu, field) in self.cpu.iter_mut().zip(&fields[11..13]) {
            *cpu += field.parse::<f64>()? / 100.0;
        }
        for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
            self.waits += status(&task?.path(), "voluntary_ctxt_switches")?;
        }
        self.memory = self.memory.max(status(Path::new(&format!("/proc/{process}")), "VmHWM")? / 1e3);
        Ok(())
    }
}

/// A number from the file `status` of a process or a thread.
fn status(directory: &Path, key: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string(directory.join("status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).ok_or(key)?;
    Ok(line.split_whitespace().next().ok_or(key)?.parse()?)
}

/// A daemon. It ends when this value is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address of a host inside the tunnel. Host 1 is the sender.
fn inside(host: usize) -> IpAddr {
    IpAddr::from([10, 77, 0, host as u8])
}

/// Starts a daemon in each namespace, and waits until all peers of the sender answer.
fn start(program: &str, directory: &Path, hub: &Namespace, ends: &[Namespace]) -> Outcome<Vec<Daemon>> {
    let key = |host: usize| -> Outcome<String> {
        let file = directory.join(format!("{host}.key"));
        let output = Command::new(program).args(["keys", "new", "--out"]).arg(file).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let public = (1..ends.len() + 2).map(key).collect::<Outcome<Vec<String>>>()?;
    let mut daemons = Vec::new();
    for (host, namespace) in ends.iter().enumerate().map(|(i, end)| (i + 2, end)).chain([(1, hub)]) {
        let peers: Vec<(usize, bool)> =
            if host == 1 { (2..public.len() + 1).map(|peer| (peer, true)).collect() } else { vec![(1, false)] };
        let mut text = format!(
            "[interface]\nprivate-key-file = \"{host}.key\"\naddress = [\"{}/24\"]\nstatus = \"{host}.sock\"\n",
            inside(host)
        );
        for (peer, dials) in peers {
            let endpoint = if dials { format!("endpoint = \"198.18.{}.2:5182\"\n", peer - 2) } else { String::new() };
            text += &format!(
                "[[peer]]\npublic-key = \"{}\"\nallowed-ips = [\"{}/32\"]\n{endpoint}",
                public[peer - 1],
                inside(peer)
            );
        }
        let file = directory.join(format!("{host}.toml"));
        std::fs::write(&file, text)?;
        let mut command = Command::new(program);
        command.args(["up", "--log", "error"]).arg(file).stdin(Stdio::null());
        daemons.push(Daemon(namespace.spawn(command)?));
    }
    let end = Instant::now() + Duration::from_secs(20);
    // The kernel shows an address a moment before a socket can use it.
    let is_up = |namespace: &Namespace, address: IpAddr| {
        namespace.run(|| UdpSocket::bind((address, 0)).is_ok()).is_ok_and(|is_up| is_up)
    };
    for (host, namespace) in std::iter::once(hub).chain(ends).enumerate() {
        while !is_up(namespace, inside(host + 1)) {
            if Instant::now() > end {
                return Err("the tunnel did not start".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    Ok(daemons)
}

/// Connects two namespaces by a pair of Ethernet devices.
fn veth(hub: &Namespace, end: &Namespace, index: usize) -> Outcome<()> {
    let far = format!("/proc/{}/fd/{}", std::process::id(), end.as_fd().as_raw_fd());
    let near = format!("wire{index}");
    ip(hub, &["link", "add", &near, "type", "veth", "peer", "name", "wire0", "netns", &far])?;
    for (host, device, last) in [(hub, near.as_str(), 1), (end, "wire0", 2)] {
        ip(host, &["addr", "add", &format!("198.18.{index}.{last}/24"), "dev", device])?;
        ip(host, &["link", "set", device, "up"])?;
    }
    Ok(())
}

/// Connects two namespaces by an emulated link.
fn emulated(hub: &Namespace, end: &Namespace) -> Outcome<Emulator> {
    let path = LinkConfig::path(Rate::from_bps(20_000_000), Duration::from_millis(100), Fraction::ZERO);
    let addresses = [1, 2].map(|last| [198, 18, 0, last].into());
    let config = EmulatorConfig::new(addresses, path.clone(), path, Seed::new(1));
    Ok(Emulator::start(&config, hub, end)?)
}

/// Sends 50 small datagrams a second. The result gives the number of bytes that have arrived.
fn trickle(hub: &Namespace, end: &Namespace, length: Duration) -> Outcome<Box<dyn Fn() -> u64>> {
    let (client, server) = (hub.run(|| UdpSocket::bind("0.0.0.0:0"))??, end.run(|| UdpSocket::bind("0.0.0.0:7"))??);
    server.set_nonblocking(true)?;
    client.connect((inside(2), 7))?;
    let stop = Instant::now() + length + Duration::from_secs(1);
    std::thread::spawn(move || {
        while Instant::now() < stop {
            let _ = client.send(&[0; 100]);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let total = std::cell::Cell::new(0);
    Ok(Box::new(move || {
        while let Ok(len) = server.recv(&mut [0; 200]) {
            total.set(total.get() + len as u64);
        }
        total.get()
    }))
}
