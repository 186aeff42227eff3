//! `ripstop keys`: makes and shows the keys of a tunnel.

use crate::failure::{Failure, Outcome};
use crate::output;
use clap::{Args, Subcommand};
use ripstop_base::text::read_text;
use ripstop_net::daemon::{self, DaemonConfig, DaemonConfigError};
use ripstop_net::os::settings_file::SettingsFile;
use ripstop_proto::secure::{PrivateKey, PublicKey};
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Make a private key, or show the public key of a private key
///
/// A key is 32 bytes. A key is written as 44 characters of base64, as in WireGuard. Each host keeps its private
/// key secret and gives its public key to its peers.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Make a private key
    ///
    /// Prints the private key on standard output, and the public key on standard error. With --out, writes the
    /// private key to a file that only the file's owner may read, and prints the public key on standard output.
    #[command(after_help = EXAMPLES)]
    New {
        /// Write the private key to this file. The file must not exist yet
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Print one JSON object (docs/schemas/keys.schema.json)
        #[arg(long)]
        json: bool,
    },
    /// Make a pre-shared key, which two hosts share
    ///
    /// Prints the key on standard output. With --out, writes the key to a file that only the file's owner may read.
    /// Both hosts set the same key as `preshared-key` of the other host.
    #[command(after_help = EXAMPLES)]
    Psk {
        /// Write the key to this file. The file must not exist yet
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Print one JSON object (docs/schemas/keys.schema.json)
        #[arg(long)]
        json: bool,
    },
    /// Print the public key of a private key
    #[command(after_help = EXAMPLES)]
    Show {
        /// A file with a private key, a configuration file, or `-` for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print one JSON object (docs/schemas/keys.schema.json)
        #[arg(long)]
        json: bool,
    },
}

const EXAMPLES: &str = "\
Examples:
  ripstop keys new --out key      write a private key to the file `key`, print the public key
  ripstop keys psk --out shared   write a key that two hosts share to the file `shared`
  ripstop keys show key           print the public key again
  ripstop keys show ripstop.toml  print the public key of a configuration's private key";

/// The largest number of bytes read from standard input. A private key has 44 characters.
const MAX_INPUT: u64 = 1 << 16;

/// The JSON object.
#[derive(Serialize)]
struct Report<'a> {
    public_key: String,
    /// Null if `keys new` wrote the private key to a file, and for `keys show`.
    private_key: Option<&'a str>,
}

/// The JSON object of `keys psk`.
#[derive(Serialize)]
struct SharedReport<'a> {
    /// Null if the key was written to a file.
    preshared_key: Option<&'a str>,
}

/// Runs the command.
///
/// # Errors
/// The file to read holds no key, the file to write exists already, or a file cannot be read or written.
pub(crate) fn run(flags: &Flags) -> Outcome<()> {
    match &flags.command {
        Command::New { out, json } => new(out.as_deref(), *json),
        Command::Psk { out, json } => psk(out.as_deref(), *json),
        Command::Show { file, json } => show(&public_in(file)?, *json),
    }
}

fn new(out: Option<&Path>, json: bool) -> Outcome<()> {
    let key = daemon::generate_key().map_err(|error| Failure::work("making a key", error))?;
    if let Some(path) = out {
        write(path, &key.to_base64())?;
        return show(&key.public(), json);
    }
    let text = key.to_base64();
    if json {
        return output::json(&Report { public_key: key.public().to_string(), private_key: Some(&text) });
    }
    output::note(format_args!("public key: {}", key.public()));
    let line = Zeroizing::new(format!("{}\n", *text));
    output::print(&line)
}

fn psk(out: Option<&Path>, json: bool) -> Outcome<()> {
    let key = daemon::generate_preshared_key().map_err(|error| Failure::work("making a key", error))?.to_base64();
    if let Some(path) = out {
        write(path, &key)?;
    }
    match out {
        _ if json => output::json(&SharedReport { preshared_key: out.is_none().then_some(&**key) }),
        Some(_) => Ok(()),
        None => output::print(&Zeroizing::new(format!("{}\n", *key))),
    }
}

fn show(public: &PublicKey, json: bool) -> Outcome<()> {
    if json {
        return output::json(&Report { public_key: public.to_string(), private_key: None });
    }
    output::print(&format!("{public}\n"))
}

/// Writes the key to a new file that only the file's owner may read. An existing file is never overwritten, because
/// a lost key cannot be recovered.
fn write(path: &Path, key: &str) -> Outcome<()> {
    let shown = path.display();
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::flag("--out", format!("{shown} exists already; name a new file")),
            _ => Failure::flag("--out", format!("{shown} cannot be created: {error}")),
        })?;
    let line = Zeroizing::new(format!("{key}\n"));
    file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).or_else(|error| {
        // A device or a pipe cannot be synchronised. This is not an error. After any other error the file is
        // removed, because a partly written key is useless.
        if error.kind() == io::ErrorKind::InvalidInput {
            return Ok(());
        }
        let _ = fs::remove_file(path);
        Err(Failure::work(format!("writing {shown}"), error))
    })
}

/// The public key for the private key in a key file or in a configuration file.
fn public_in(file: &Path) -> Outcome<PublicKey> {
    if file == Path::new("-") {
        let read = read_text(io::stdin().take(MAX_INPUT)).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Failure::Config(format!("standard input: {error}")),
            _ => Failure::work("reading standard input", error),
        });
        let text = Zeroizing::new(read?);
        let key: PrivateKey =
            text.trim().parse().map_err(|error| Failure::Config(format!("standard input: {error}")))?;
        return Ok(key.public());
    }
    let not_a_key = match daemon::read_key::<PrivateKey>(file) {
        Ok(key) => return Ok(key.public()),
        Err(error) => error,
    };
    match DaemonConfig::load(file) {
        Ok(config) => Ok(config.public()),
        // A file with sections is probably a configuration, so the error about the configuration helps more.
        Err(error @ DaemonConfigError::Content { .. }) if has_sections(file) => Err(error.into()),
        Err(_) => Err(not_a_key.into()),
    }
}

fn has_sections(file: &Path) -> bool {
    SettingsFile::read(file).is_ok_and(|file| file.text.lines().any(|line| line.trim_start().starts_with('[')))
}
