//! `ripstop up`: runs the tunnel daemon.

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::signals::Signals;
use clap::{Args, ValueEnum};
use nix::sys::signal::Signal;
use ripstop_net::daemon::{Daemon, DaemonConfig, InsecureFile, limit_wait};
use ripstop_net::log::Log;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// How long an ending daemon waits until its last log lines are written. With half the value, a slow reader misses the
/// last lines. With double the value, a stop takes 1 s if nobody reads the log.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Run the tunnel daemon of this host
///
/// Creates the device and its routes in the current network namespace, starts handshakes with the peers and
/// moves packets until Ctrl-C or SIGTERM. SIGHUP makes the daemon read the configuration again, and take over its peers. The
/// daemon stays in the foreground and logs to standard error, as
/// service managers expect. The device disappears when the process ends. Needs CAP_NET_ADMIN.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// The configuration file, in TOML. docs/operators/example.toml shows every field
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// Check the configuration and exit. Does not look at the network and at the rights of this user
    #[arg(long)]
    check: bool,
    /// Start although other users have access to a file with a secret key, or may change the configuration
    #[arg(long)]
    allow_insecure_key: bool,
    /// How much to log
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = Level::Info)]
    log: Level,
}

const EXAMPLES: &str = "\
Examples:
  ripstop up --check ripstop.toml    check the configuration
  sudo ripstop up ripstop.toml       run until Ctrl-C

The smallest configuration:
  [interface]
  private-key-file = \"key\"           # made by `ripstop keys new --out key`
  address = [\"10.77.0.1/24\"]
  [[peer]]
  public-key = \"...\"                 # what `ripstop keys show` prints on the other host
  endpoint = \"vpn.example.org:5182\"  # one of the two hosts needs an endpoint
  allowed-ips = [\"10.77.0.2/32\"]";

/// How much to log.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    /// Problems that stop the tunnel
    Error,
    /// Also settings that may be unintended, and peers that do not answer
    Warn,
    /// Also peers that connect and disconnect
    Info,
    /// Also single packets that could not be handled
    Debug,
}

/// Runs the command.
///
/// # Errors
/// The configuration is invalid, the system does not allow a step, or the tunnel failed.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    let config = load(flags)?;
    config.check_host(&flags.config)?;
    if flags.check {
        return check(flags, &config);
    }
    limit_wait();
    // The signals are blocked before the daemon starts its threads, because the threads inherit the signal mask.
    let signals = Signals::block()?;
    let log = Log::new();
    log_to(&log, flags.log);
    let outcome = serve(flags, &config, &signals, &log);
    if let Err(failure) = &outcome {
        log.push(format!("error: {failure}\n").as_bytes());
    }
    log.flush(LAST_LINES);
    outcome.map_err(|failure| Failure::Logged(failure.status()))
}

/// Runs the daemon until a signal or an error ends it.
fn serve(flags: &Flags, config: &DaemonConfig, signals: &Signals, log: &Log) -> Outcome<()> {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let started = Daemon::start_reduced(config);
    // The thread of the log starts last: a thread that exists while privileges are given up would keep its own.
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    stderr
        .and_then(|stderr| log.start(stderr, warn_of_lost_lines))
        .map_err(|error| Failure::work("starting the log", error))?;
    let mut daemon = started.map_err(|error| Failure::work("starting the tunnel", error))?;
    announce(&daemon, config.peers.len());
    loop {
        match signals.wait_or(daemon.ended().as_fd())? {
            Some(Signal::SIGHUP) => reload(flags, &mut daemon),
            Some(signal) => break tracing::info!(%signal, "closing"),
            None => break tracing::error!("closing"),
        }
    }
    let error = daemon.error();
    daemon.stop();
    error.map_or(Ok(()), |error| Err(Failure::work("the tunnel failed", error)))
}

/// Reads the configuration again and takes over its peers. After an error, the daemon goes on as before.
fn reload(flags: &Flags, daemon: &mut Daemon) {
    match load(flags) {
        Ok(config) => {
            for warning in &config.warnings {
                tracing::warn!("{warning}");
            }
            for setting in daemon.reload(&config) {
                tracing::warn!(setting, "this setting has changed; it takes effect when the daemon is restarted");
            }
            tracing::info!(peers = config.peers.len(), "configuration reloaded");
        }
        Err(failure) => tracing::error!("configuration not reloaded: {failure}"),
    }
}

/// Reads the configuration. Refuses files to which other users have access, unless a flag allows them.
fn load(flags: &Flags) -> Outcome<DaemonConfig> {
    let mut config = DaemonConfig::load(&flags.config)?;
    for InsecureFile { problem, .. } in config.insecure_files.drain(..) {
        if !flags.allow_insecure_key {
            return Err(Failure::Config(format!("{problem}. --allow-insecure-key starts the tunnel nevertheless")));
        }
        config.warnings.push(problem);
    }
    Ok(config)
}

/// Prints a summary of a valid configuration.
fn check(flags: &Flags, config: &DaemonConfig) -> Outcome<()> {
    for warning in config.warnings.iter().chain(&config.route_warnings()) {
        output::note(format_args!("warning: {warning}"));
    }
    let peers = match config.peers.len() {
        1 => "1 peer".to_owned(),
        n => format!("{n} peers"),
    };
    let addresses: Vec<String> = config.addresses.iter().map(ToString::to_string).collect();
    output::print(&format!(
        "{} is valid: {} with {}, {peers}, public key {}\n",
        flags.config.display(),
        config.name,
        addresses.join(" and "),
        config.public()
    ))
}

fn announce(daemon: &Daemon, peers: usize) {
    if let Some(status) = daemon.status() {
        let interface = status.interface;
        tracing::info!(
            device = %interface.name,
            port = interface.port,
            mtu = interface.mtu_bytes,
            public_key = %interface.public_key,
            peers,
            "up"
        );
    }
}

/// Sends all messages of this process, also those of panics, to `log`.
fn log_to(log: &Log, level: Level) {
    let level = match level {
        Level::Error => tracing::Level::ERROR,
        Level::Warn => tracing::Level::WARN,
        Level::Info => tracing::Level::INFO,
        Level::Debug => tracing::Level::DEBUG,
    };
    let log = log.clone();
    tracing_subscriber::fmt()
        .with_writer(move || log.clone())
        .with_target(false)
        .with_max_level(level)
        .log_internal_errors(false)
        .init();
    // The usual hook writes to standard error itself. That write may fail or wait for ever.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

fn warn_of_lost_lines(lines: u64) {
    tracing::warn!(lines, "log lines were lost: standard error was full or closed, or its reader was too slow");
}
