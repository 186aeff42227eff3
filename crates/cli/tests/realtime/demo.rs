//! Short runs of the demonstration from end to end. The tests check hashes, counters, the shape of the result,
//! and that nothing is left behind. No test asserts a time or a share.

use crate::common::{Fates, json, ripstop, schema, skip, stderr, stdout, with_namespaces};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use ripstop_base::Seed;
use ripstop_net::os::netns::in_user_namespace;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The flags that select Reno, the congestion control that every kernel has.
const ALWAYS: [&str; 2] = ["--contenders", "reno"];

/// A file of random bytes in a directory that is removed at the end of the test.
fn file(bytes: usize) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sent");
    let mut content = vec![0; bytes];
    Seed::new(7).stream("file").fill(&mut content);
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

#[test]
fn a_file_arrives_whole_and_the_result_has_its_shape() {
    with_namespaces(|| {
        let (directory, sent) = file(200_000);
        let arrived = directory.path().join("arrived");
        let output = ripstop()
            .args(["demo", "--json", "--rate=50Mbit/s", "--rtt=20ms", "--loss=0", "--seconds=4", "--requests=10"])
            .args(ALWAYS)
            .arg("--file")
            .arg(&sent)
            .arg("--save")
            .arg(&arrived)
            .output()
            .unwrap();
        let report = json(&output);
        schema::check("demo.schema.json", &report);
        assert_eq!(stderr(&output), "", "progress is for terminals");
        let contender = &report["contenders"][0];
        assert_eq!((&contender["name"], &contender["inner_cc"]), (&"reno".into(), &"reno".into()));
        assert_eq!(contender["sha256_ok"], true, "{report}");
        assert_eq!(contender["file"]["arrived_sha256"], contender["file"]["sha256"]);
        assert!(std::fs::read(&sent).unwrap() == std::fs::read(&arrived).unwrap());
        for when in ["quiet", "beside_bulk"] {
            let stats = &contender["requests"][when];
            assert_eq!((&stats["n"], &stats["unanswered"]), (&10.into(), &0.into()), "{report}");
            assert!(stats["p50_s"].as_f64().unwrap() >= 0.02, "less than the round-trip time: {report}");
        }
        let figure = |name: &str| contender[name].as_f64().unwrap();
        assert!(figure("first_100kb_s") < figure("first_1mb_s"), "{report}");
        assert!(figure("goodput_bps") > 0.0 && figure("share") > 0.0 && figure("cpu_s_per_gb") > 0.0);
        assert_eq!(contender["wire"]["lost_packets"], 0);
        // 4 s of the bulk stream, 10 requests, a file, and the set-up.
        let estimate = report["estimated_s"].as_f64().unwrap();
        assert!((4.0..12.0).contains(&estimate), "{report}");
        assert!(contender["tunnel"].is_null(), "{report}");
        let verdict = &report["verdict"];
        assert_eq!((&verdict["winner"], verdict["compared_with"].is_null()), (&"reno".into(), true), "{report}");
        assert!(verdict["sentence"].as_str().unwrap().starts_with("reno ran alone and reached "), "{report}");
    });
}

#[test]
fn losses_are_in_the_counters_and_the_table_is_for_people() {
    with_namespaces(|| {
        let (_directory, sent) = file(10_000);
        let link = ["--rate=50Mbit/s", "--rtt=20ms", "--loss=20%", "--loss-back=1%", "--burst=3", "--seconds=3"];
        let demo = |more: &str| {
            let output = ripstop().arg("demo").args(link).args(ALWAYS).arg(more).arg("--file").arg(&sent).output();
            output.unwrap()
        };
        let report = json(&demo("--json"));
        schema::check("demo.schema.json", &report);
        let contender = &report["contenders"][0];
        assert!(contender["wire"]["lost_packets"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(report["link"]["burst_packets"], 3.0);
        assert_eq!(contender["requests"]["quiet"], serde_json::Value::Null);
        // 3 s are 150 RTT here, so there must be no note about a short run.
        assert!(!report["notes"].to_string().contains("60 RTT"), "{report}");

        let output = demo("--seed=2");
        let table = stdout(&output);
        assert!(output.status.success(), "{table}{}", stderr(&output));
        for word in
            ["loss 20% forth and 1% back in bursts of 3", "seed 2\nreno: about ", "share", "sent/useful", "\nreno  "]
        {
            assert!(table.contains(word), "no `{word}` in: {table}");
        }
    });
}

/// The sentence at the end has the figures of this run.
#[test]
fn it_says_who_won_and_why() {
    with_namespaces(|| {
        let link = ["--rate=20Mbit/s", "--rtt=40ms", "--loss=5%", "--seconds=4"];
        let output = ripstop().args(["demo", "--json", "--contenders=reno,ripstop"]).args(link).output().unwrap();
        let report = json(&output);
        schema::check("demo.schema.json", &report);
        let verdict = &report["verdict"];
        assert_eq!((&verdict["winner"], &verdict["compared_with"]), (&"ripstop".into(), &"reno".into()), "{report}");
        let tunnel = &report["contenders"][1]["tunnel"];
        let count = |key: &str| tunnel[key].as_u64().unwrap();
        assert!(count("recovered_packets") > 50, "{report}");
        let retransmitted = |k: usize| report["contenders"][k]["tcp_retransmitted_packets"].as_u64().unwrap();
        let inside = match retransmitted(1) {
            0 => "before CUBIC could see them.".to_owned(),
            n => format!("and CUBIC retransmitted {n}."),
        };
        let words = format!(
            "the tunnel recovered {} of {} lost packets {inside}",
            count("recovered_packets"),
            count("recovered_packets") + count("given_up_packets")
        );
        let plain =
            format!("Reno halves its window at every loss it sees (it retransmitted {} packets)", retransmitted(0));
        assert!(retransmitted(0) > 0, "{report}");
        let sentence = verdict["sentence"].as_str().unwrap();
        assert!(sentence.contains(&plain) && sentence.ends_with(&words), "{report}");
    });
}

/// The emulated and the simulated link give the k-th packet the same fate, in both directions and for every
/// sender.
#[test]
fn real_and_virtual_time_have_the_same_losses() {
    with_namespaces(|| {
        let directory = tempfile::tempdir().unwrap();
        for (seed, burst) in [("3", "1"), ("4", "4")] {
            let fates = |more: &[&str]| {
                let path = directory.path().join("fates");
                let link = ["--rate=50Mbit/s", "--rtt=20ms", "--loss=20%", "--seconds=3", "--seed", seed];
                let output = ripstop()
                    .args(["demo", "--burst", burst, "--contenders=reno,ripstop", "--fates"])
                    .arg(&path)
                    .args(link)
                    .args(more)
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{}", stderr(&output));
                Fates::read(&path)
            };
            let (real, simulated) = (fates(&[]), fates(&["--virtual", "--runs=1"]));
            for (name, least) in [("reno", 5), ("ripstop", 500)] {
                for way in ["forth", "back"] {
                    let both = real.compare(&simulated, name, way);
                    // On the way back there are only acknowledgements, and fewer packets than on the way forth.
                    let least = if way == "forth" { least } else { least / 20 };
                    assert!(both.lost >= least, "{name} {way}: {both:?}, seed {seed}");
                    assert_eq!(both.differ, None, "{name} {way}: {both:?}, seed {seed}");
                }
            }
        }
    });
}

/// The disk of the receiver is full, with plain TCP and with the tunnel. The error says that the disk is full, and no
/// partial file remains.
#[test]
fn a_full_disk_at_the_receiver_is_an_error_and_nothing_remains() {
    with_namespaces(|| {
        let script = r#"
            mount -t tmpfs -o size=64k tmpfs "$1" || exit 77
            "$0" demo --rate 50Mbit/s --rtt 4ms --loss 0 --seconds 3 --contenders "$2" --save "$1/arrived"
            status=$?
            [ -z "$(ls -A "$1")" ] || { ls -lA "$1" >&2; exit 3; }
            exit $status
        "#;
        let directory = tempfile::tempdir().unwrap();
        for contender in ["reno", "ripstop"] {
            let output = Command::new("unshare")
                .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_ripstop")])
                .arg(directory.path())
                .arg(contender)
                .output();
            let output = match output {
                Ok(output) if output.status.code() != Some(77) => output,
                other => return skip(&format!("no file system of one's own: {other:?}")),
            };
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{contender}: {said}");
            for word in [contender, "receiver could not write", "/arrived after", "No space left on device"] {
                assert!(said.contains(word), "no `{word}` in: {said}");
            }
        }
    });
}

#[test]
fn a_full_device_is_an_error() {
    with_namespaces(|| {
        let output = ripstop()
            .args(["demo", "--rate=50Mbit/s", "--rtt=4ms", "--loss=0", "--seconds=3", "--save=/dev/full"])
            .args(ALWAYS)
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for word in ["reno", "receiver could not write /dev/full", "No space left on device"] {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
    });
}

#[test]
fn a_closed_output_is_no_panic() {
    with_namespaces(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = ripstop().arg("demo").args(ALWAYS).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    });
}

/// Runs a shell script in a user namespace of its own, in which at most `namespaces` network namespaces can be created.
/// In the script, `$0` is the program. Returns None if there can be no such user namespace.
fn limited(namespaces: u32, script: &str) -> Option<std::process::Output> {
    let set = format!("echo {namespaces} > /proc/sys/user/max_net_namespaces || exit 77\n");
    let mut command = Command::new("sh");
    command.arg("-c").arg(set + script).arg(env!("CARGO_BIN_EXE_ripstop"));
    let output = in_user_namespace(&mut command).output().ok()?;
    (output.status.code() != Some(77)).then_some(output)
}

#[test]
fn without_namespaces_the_error_says_what_to_do() {
    with_namespaces(|| {
        let Some(output) = limited(0, "exec \"$0\" demo") else {
            return skip("no user namespace within");
        };
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for word in
            ["making a network namespace is not allowed here", "Run as root", "--cap-add", "`ripstop demo --virtual`"]
        {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
    });
}

#[test]
fn ctrl_c_and_kill_9_end_all_its_processes() {
    with_namespaces(|| {
        // A test runner in the background may ignore SIGINT. The processes that it starts then ignore SIGINT too.
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignores_ctrl_c = u64::from_str_radix(ignored.trim(), 16).unwrap() & (1 << (Signal::SIGINT as u32 - 1)) != 0;
        let ctrl_c = if ignores_ctrl_c { Signal::SIGTERM } else { Signal::SIGINT };
        for (signal, contender) in
            [(ctrl_c, "reno"), (Signal::SIGKILL, "reno"), (ctrl_c, "ripstop"), (Signal::SIGKILL, "ripstop")]
        {
            let mut child = ripstop()
                .args(["demo", "--seconds=60", "--rtt=20ms", "--contenders", contender])
                .process_group(0)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // The program prints the link before the measurement begins.
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
            std::thread::sleep(Duration::from_millis(700));
            let group = Pid::from_raw(child.id().try_into().unwrap());
            // A terminal sends Ctrl-C to the whole process group. `kill -9` reaches only the program.
            let target = if signal == ctrl_c { Pid::from_raw(-group.as_raw()) } else { group };
            kill(target, signal).unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(signal as i32), "{contender}");
            while killpg(group, None).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
}

/// Starts the program several times, and kills each program during the bulk run. The programs together need more
/// network namespaces than are allowed. So the last programs can start only if the namespaces of the first programs,
/// with all sockets and devices, are gone.
#[test]
fn a_killed_demo_leaves_nothing_behind() {
    nothing_is_left_behind("reno");
}

/// As the test before, but the contender is the tunnel: two daemons with devices and sockets.
#[test]
fn a_killed_demo_of_the_tunnel_leaves_nothing_behind() {
    nothing_is_left_behind("ripstop");
}

fn nothing_is_left_behind(contender: &str) {
    with_namespaces(|| {
        let script = r#"
            mkdir temporary && export TMPDIR=$PWD/temporary
            for signal in KILL TERM KILL TERM KILL KILL KILL; do
                try=0
                while :; do
                    "$0" demo --contenders CONTENDER --rtt 20ms --loss 2% --seconds 60 2> said > /dev/null &
                    sleep 0.9
                    kill -$signal $! && wait $!
                    # Above 128: the program ran until the signal came. Otherwise no namespace was free yet.
                    [ $? -gt 128 ] && break
                    try=$((try + 1))
                    [ $try -lt 40 ] || { cat said >&2; exit 4; }
                done
            done
            [ -z "$(ls -A temporary)" ] || { ls -lA temporary >&2; exit 5; }
        "#;
        let directory = tempfile::tempdir().unwrap();
        let script = format!("cd {}\n{}", directory.path().display(), script.replace("CONTENDER", contender));
        let Some(output) = limited(6, &script) else {
            return skip("no user namespace within");
        };
        assert!(output.status.success(), "{contender}: {}: {}", output.status, stderr(&output));
    });
}

#[test]
fn it_needs_no_root_where_user_namespaces_are_allowed() {
    with_namespaces(|| {
        // A copy of the program that every user may run. The directory of the build may be private.
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("ripstop");
        std::fs::copy(env!("CARGO_BIN_EXE_ripstop"), &program).unwrap();
        for path in [directory.path(), &program] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&program)
            .args(["demo", "--json", "--rate=50Mbit/s", "--rtt=4ms", "--loss=0", "--seconds=3"])
            .args(ALWAYS)
            .output();
        let said = match &output {
            Err(error) => return skip(&format!("setpriv: {error}")),
            Ok(output) => stderr(output),
        };
        if said.contains("setpriv:") || said.contains("not allowed here") || said.contains("/dev/net/tun") {
            return skip(&said);
        }
        assert_eq!(json(&output.unwrap())["contenders"][0]["sha256_ok"], true);
    });
}
