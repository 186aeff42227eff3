//! A mesh as a scenario file: a medium behind a wired link, as in paper 004. Routes, figures, random losses and errors.

use ripstop_sim::scenario::{MeshSummary, Scenario, ScenarioReport, run};

/// The master seed of all tests here.
const SEED: u64 = 7;

/// A server behind a wired link, and a mesh of 4 stations. The first station, `gateway`, is the end of the wired link.
fn mesh(medium: &str, flows: &str) -> String {
    format!(
        "[run]\nduration = \"30s\"\nruns = 2\nseed = {SEED}\n\n[[link]]\nbetween = [\"server\", \"gateway\"]\n\
         forth = {{ rate = \"2Mbit/s\", delay = \"50ms\" }}\n\n[[medium]]\nstations = [\n    {{ name = \"gateway\" }},\n    \
         {{ name = \"near\", x = \"200m\" }},\n    {{ name = \"middle\", x = \"400m\" }},\n    \
         {{ name = \"far\", x = \"600m\" }},\n]\ndata-rate = \"1Mbit/s\"\nbasic-rate = \"1Mbit/s\"\n{medium}\n\n{flows}"
    )
}

fn report(text: &str) -> ScenarioReport {
    let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap()).unwrap(), scenario, "{text}");
    run(&scenario, 2, || ()).unwrap()
}

#[test]
fn flows_reach_every_station_of_a_mesh_through_the_gateway_and_back() {
    let flow = |from: &str, to: &str| format!("[[flow]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let names = ["gateway", "near", "middle", "far"];
    let down: Vec<String> = names.iter().map(|name| flow("server", name)).collect();
    let up: Vec<String> = names.iter().map(|name| flow(name, "server")).collect();
    let all = report(&mesh("loss = \"1%\"", &(down.concat() + &up.concat())));
    let mut links: Vec<&str> = all.links.iter().map(|link| link.name.as_str()).collect();
    links.sort_unstable();
    let expected = ["far>gateway", "gateway>far", "gateway>middle", "gateway>near", "gateway>server", "middle>gateway"];
    assert_eq!(links, [&expected[..], &["near>gateway", "server>gateway"]].concat());
    for flow in &all.flows {
        assert!(flow.packets_sent.mean > Some(20.0) && flow.goodput_bps.mean > Some(0.0), "{flow:?}, seed {SEED}");
    }
    // The wired link carries all data to the clients, and the acknowledgements of all uploads.
    let link = |name: &str| all.links.iter().find(|link| link.name == name).unwrap();
    let to_clients: f64 = ["gateway>near", "gateway>middle", "gateway>far"]
        .iter()
        .map(|name| link(name).offered_packets.mean.unwrap())
        .sum();
    assert!(link("server>gateway").delivered_packets.mean.unwrap() > to_clients, "seed {SEED}");
}

#[test]
fn the_report_counts_each_cause_and_shows_a_loss_that_never_happened() {
    let flow = "[[flow]]\nfrom = \"server\"\nto = \"far\"\n";
    let losses = |medium: &str| {
        let report = report(&mesh(medium, flow));
        report.media[0].losses.as_ref().map(|losses| [losses.packets.mean, losses.frames.mean].map(Option::unwrap))
    };
    assert_eq!(losses(""), None);
    let above = losses("loss = \"5%\"").unwrap();
    assert!(above[0] > 10.0 && above[1] == 0.0, "{above:?}, seed {SEED}");
    let frames = losses("loss = \"5%\"\nerrors = \"per-frame\"").unwrap();
    assert!(frames[0] == 0.0 && frames[1] > 100.0, "{frames:?}, seed {SEED}");
    assert_eq!(losses("loss = 0\nerrors = \"per-frame\""), Some([0.0, 0.0]));
    // The counters of the stations add up to those of the medium.
    let report = report(&mesh("loss = \"5%\"", flow));
    let each = report.media[0].stations.iter().map(|s| s.losses.as_ref().unwrap().packets.mean.unwrap());
    let all = report.media[0].losses.as_ref().unwrap().packets.mean.unwrap();
    assert!((each.sum::<f64>() - all).abs() < 1e-9, "seed {SEED}");
}

#[test]
fn the_figures_of_a_mesh_are_those_of_its_flows_and_links() {
    let flow = |to: &str, more: &str| format!("[[flow]]\nname = \"{to}\"\nfrom = \"server\"\nto = \"{to}\"\n{more}\n");
    let figures = |flows: &str| {
        let report = report(&mesh("", flows));
        let packets: f64 = report.flows.iter().map(|flow| flow.goodput_bps.mean.unwrap() * 30.0 / 8000.0).sum();
        let acks =
            report.links.iter().filter(|link| link.name.ends_with(">gateway") && !link.name.starts_with("server"));
        let acks: f64 = acks.map(|link| link.offered_packets.mean.unwrap()).sum();
        (report, acks / packets)
    };
    let (one, acks) = figures(&flow("far", ""));
    let per_packet = one.mesh.acks_per_packet.unwrap().mean.unwrap();
    assert!((per_packet / acks - 1.0).abs() < 1e-3 && (1.0..1.02).contains(&per_packet), "{per_packet} {acks}");
    assert_eq!((one.mesh.jain.unwrap().mean, one.mesh.delay_s), (Some(1.0), Some(one.flows[0].delay_s)));
    let (half, _) = figures(&flow("far", "ack-every = 2"));
    assert!((half.mesh.acks_per_packet.unwrap().mean.unwrap() - 0.5).abs() < 0.02, "{:?}", half.mesh);

    // The longest path decides the capacity. A flow that does not cross the medium counts in the fairness alone.
    let (three, _) = figures(&(flow("far", "") + &flow("near", "") + &flow("gateway", "window = 2")));
    let [far, alone] = [&three, &one].map(|report| report.mesh.capacity_bps.unwrap());
    assert_eq!(far.to_bits(), alone.to_bits());
    let (near, _) = figures(&flow("near", ""));
    // Equation (1) for one hop: errata of paper 004.
    assert!((near.mesh.capacity_bps.unwrap() - 819_168.5).abs() < 1.0, "{:?}", near.mesh);
    let jain = three.mesh.jain.unwrap().mean.unwrap();
    assert!(jain > 1.0 / 3.0 && jain < 0.99, "{jain}");

    // A flow within the medium is no mesh, and neither is a wired flow.
    for from in ["near", "gateway"] {
        let to = if from == "near" { "far" } else { "server" };
        let flow = format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\n");
        assert_eq!(report(&mesh("", &flow)).mesh, MeshSummary::default(), "{from}");
    }
}

#[test]
fn wrong_losses_name_line_and_field() {
    let flow = "[[flow]]\nfrom = \"server\"\nto = \"far\"\n";
    for (medium, line, words) in [
        ("errors = \"per-frame\"", 19, "nothing is lost at random; set `loss`"),
        ("loss = \"105%\"", 19, "a share"),
        ("loss = -1", 19, "a share"),
        ("loss = \"5%\"\nerrors = \"some\"", 20, "above-mac"),
        ("loss = \"5%\"\naccess = \"csma\"", 19, "ideal access does not use this setting"),
    ] {
        let text = mesh(medium, flow);
        let error = Scenario::parse(&text).expect_err(&text);
        assert!(error.problem.contains(words) && error.line == line, "{medium}: {error}");
    }
}
