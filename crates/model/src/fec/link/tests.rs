//! Tests of the throughput over a coded link against the figures of paper 003, and against a search
//! by brute force.

use super::*;
use proptest::prelude::*;

fn bernoulli(k: u32, p: f64) -> CodedLink {
    CodedLink { k, losses: UnitLosses::Independent(p), ..CodedLink::default() }
}

/// Asserts that `got` equals `want` to `decimals` decimals.
fn near(got: f64, want: f64, decimals: i32, what: &str) {
    assert!((got - want).abs() <= 0.51 * libm::pow(10.0, f64::from(-decimals)), "{what}: {got}, not {want}");
}

#[test]
fn figure_2_and_its_optimum() {
    // Values computed independently. Each row has K, and the throughput for R = N - K = 0 to 5.
    // Then the row has the real N by equation (4), with its N/K in per cent and its throughput. The
    // last value is the best integer N.
    for (k, rates, n_real, percent, peak, best) in [
        (10, [70.73, 303.88, 1525.21, 2307.69, 2142.86, 2000.00], 12.2797, 122.80, 2443.05, 13),
        (20, [102.50, 321.49, 1196.86, 2608.70, 2500.00, 2400.00], 22.5657, 112.83, 2658.91, 23),
        (30, [128.60, 334.87, 1038.26, 2727.27, 2647.06, 2571.43], 32.7818, 109.27, 2745.42, 33),
    ] {
        let link = bernoulli(k, 0.01);
        for (r, want) in (0..).zip(rates) {
            near(link.throughput(k + r).unwrap(), want, 2, &format!("K {k} R {r}"));
        }
        let n = link.n_real().unwrap().unwrap();
        near(n, n_real, 4, "N");
        near(100.0 * n / f64::from(k), percent, 2, "N/K");
        near(f64::from(k) / n * 3000.0, peak, 2, "Thrp");
        assert_eq!(link.n_best(), Ok(best));
    }
}

#[test]
fn figure_3() {
    for (k, rates) in [
        (10, [70.7, 334.3, 1830.2, 11023.6, 71054.6, 482012.3]),
        (20, [102.5, 337.6, 1316.5, 5768.0, 27561.6, 140976.4]),
        (30, [128.6, 346.0, 1107.5, 4006.3, 15908.6, 68047.9]),
    ] {
        for (r, want) in (0..).zip(rates) {
            near(bernoulli(k, 0.01).clean_rate(k + r).unwrap(), want, 1, &format!("K {k} R {r}"));
        }
    }
}

#[test]
fn figure_4() {
    let logs = [-5.0, -4.0, -3.0, -2.5, -2.0, -1.7, -1.5, -1.0];
    for (n, rates) in [
        (20, [3000.0, 978.5, 310.8, 176.6, 102.5, 75.9, 63.5, 46.7]),
        (21, [2857.1, 2857.1, 2857.1, 973.8, 321.5, 171.5, 116.3, 54.9]),
        (22, [2727.3, 2727.3, 2727.3, 2727.3, 1196.9, 455.8, 248.1, 71.0]),
        (23, [2608.7, 2608.7, 2608.7, 2608.7, 2608.7, 1359.1, 591.5, 99.6]),
        (24, [2500.0, 2500.0, 2500.0, 2500.0, 2500.0, 2500.0, 1534.8, 150.0]),
    ] {
        for (log, want) in logs.into_iter().zip(rates) {
            let link = bernoulli(20, libm::pow(10.0, log));
            near(link.throughput(n).unwrap(), want, 1, &format!("N {n} log p {log}"));
        }
    }
    // At a unit loss of 1, the throughput is K/RTT sqrt(3/2) for every N.
    near(bernoulli(20, 1.0).throughput(24).unwrap(), 43.741, 3, "p = 1");
    // The largest log10 p at which the link is clean with N units.
    for (n, log) in [(20, -4.973), (21, -2.973), (22, -2.247), (23, -1.851), (24, -1.593), (25, -1.408)] {
        let clean = |log: f64| {
            let link = bernoulli(20, libm::pow(10.0, log));
            link.clean_rate(n).unwrap() >= link.rate
        };
        assert!(clean(log - 5e-4) && !clean(log + 5e-4), "N {n} is not clean up to log p {log}");
    }
}

#[test]
fn figure_7() {
    let ns = [21, 22, 23, 24, 25, 28, 30];
    for (p, gains) in [
        (0.001, [17.825, 8.861, 5.872, 4.378, 3.482, 2.137, 1.689]),
        (0.01, [13.623, 9.144, 6.405, 4.795, 3.829, 2.380, 1.897]),
        (0.02, [11.132, 8.330, 6.293, 4.848, 3.874, 2.411, 1.924]),
        (0.05, [6.716, 6.155, 5.329, 4.517, 3.826, 2.436, 1.945]),
    ] {
        for (n, want) in ns.into_iter().zip(gains) {
            near(bernoulli(20, p).gain(n).unwrap().unwrap(), want, 3, &format!("p {p} N {n}"));
        }
    }
    for (p, want) in [(0.005, 15.454), (1e-4, 13.150), (1e-5, -1.0)] {
        near(bernoulli(20, p).gain(21).unwrap().unwrap(), want, 3, &format!("p {p}"));
    }
    assert_eq!(bernoulli(20, 0.01).gain(20), Ok(None));
}

#[test]
fn figure_8() {
    for (flows, rates) in [
        (1, [70.7, 303.9, 1525.2, 2307.7, 2142.9]),
        (2, [141.5, 607.8, 2500.0, 2307.7, 2142.9]),
        (5, [353.6, 1519.4, 2500.0, 2307.7, 2142.9]),
        (9, [636.5, 2727.3, 2500.0, 2307.7, 2142.9]),
        (20, [1414.5, 2727.3, 2500.0, 2307.7, 2142.9]),
    ] {
        for (n, want) in (10..).zip(rates) {
            near(
                CodedLink { flows, ..bernoulli(10, 0.01) }.throughput(n).unwrap(),
                want,
                1,
                &format!("C {flows} N {n}"),
            );
        }
    }
    // With one redundant unit, 9 connections are needed for 2700 units/s. Without redundancy, 39
    // are needed.
    let reaches = |flows, n| CodedLink { flows, ..bernoulli(10, 0.01) }.throughput(n).unwrap() >= 2700.0;
    assert!(reaches(9, 11) && !reaches(8, 11) && reaches(39, 10) && !reaches(38, 10));
}

fn bursty(k: u32, stay_bad: f64) -> CodedLink {
    let losses = UnitLosses::SingleBurst(Gilbert { loss: 0.01, stay_bad });
    CodedLink { k, losses, ..CodedLink::default() }
}

#[test]
fn figures_10_to_12() {
    let qs = [0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99];
    for (k, n, rates) in [
        (20, 20, [102.8, 108.7, 115.7, 135.0, 169.0, 256.9, 313.2, 401.0]),
        (20, 21, [325.1, 243.0, 211.2, 190.9, 202.0, 270.7, 321.4, 403.0]),
        (20, 22, [1028.1, 543.4, 385.6, 270.0, 241.4, 285.4, 329.7, 405.0]),
        (20, 23, [2608.7, 1215.0, 703.9, 381.8, 288.5, 300.8, 338.3, 407.1]),
        (20, 24, [2500.0, 2500.0, 1285.2, 539.9, 344.9, 317.1, 347.1, 409.1]),
        (10, 11, [229.3, 170.8, 147.8, 131.9, 135.9, 167.2, 186.3, 210.5]),
        (30, 33, [2727.3, 1491.2, 865.2, 471.4, 359.7, 389.1, 452.7, 586.5]),
        (30, 31, [398.6, 298.2, 259.6, 235.7, 251.8, 350.2, 430.1, 580.6]),
    ] {
        for (q, want) in qs.into_iter().zip(rates) {
            near(bursty(k, q).throughput(n).unwrap(), want, 1, &format!("K {k} N {n} q {q}"));
        }
    }
    near(bursty(20, 1.0 - 1e-12).throughput(23).unwrap(), 437.41, 2, "q to 1");
    // The throughput is lowest where the derivative of equation (7) by q is 0. The derivative is 0
    // at q = R K / ((K-1) (R+1)), with R = N - K.
    for (r, least) in [(1, 0.5263), (2, 0.7018), (3, 0.7895), (4, 0.8421)] {
        let at = |q: f64| bursty(20, q).throughput(20 + r).unwrap();
        assert!(at(least) < at(least - 0.01) && at(least) < at(least + 0.01), "R {r}: the minimum is elsewhere");
    }
}

#[test]
fn the_chain_beside_equation_7() {
    let qs = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99];
    // The throughput by equation (7), by the chain under assumption 1 (packets far apart), and by
    // the chain with packets back to back. All values are computed independently.
    for (n, rates) in [
        (
            20,
            [
                [98.3, 102.5, 102.5],
                [102.8, 106.8, 107.1],
                [115.7, 119.1, 120.3],
                [135.0, 137.8, 140.9],
                [169.0, 170.9, 180.2],
                [256.9, 257.6, 309.2],
                [401.0, 401.0, 973.6],
            ],
        ),
        (
            21,
            [
                [982.8, 321.5, 321.5],
                [325.1, 254.4, 254.6],
                [211.2, 202.2, 203.0],
                [190.9, 190.2, 192.5],
                [202.0, 203.0, 210.6],
                [270.7, 271.4, 318.8],
                [403.0, 403.0, 955.2],
            ],
        ),
        (
            22,
            [
                [2727.3, 1196.9, 1196.9],
                [1028.1, 627.2, 627.4],
                [385.6, 344.3, 344.8],
                [270.0, 262.6, 264.4],
                [241.4, 241.0, 247.4],
                [285.4, 285.8, 329.6],
                [405.0, 405.0, 938.4],
            ],
        ),
        (
            24,
            [
                [2500.0, 2500.0, 2500.0],
                [2500.0, 2500.0, 2500.0],
                [1285.2, 1007.0, 1007.3],
                [539.9, 501.4, 502.5],
                [344.9, 339.7, 344.3],
                [317.1, 317.2, 354.8],
                [409.1, 409.1, 908.8],
            ],
        ),
    ] {
        for (q, want) in qs.into_iter().zip(rates) {
            let chain = Gilbert { loss: 0.01, stay_bad: q };
            let by = |losses| CodedLink { losses, ..CodedLink::default() }.throughput(n).unwrap();
            let what = format!("N {n} q {q}");
            near(by(UnitLosses::SingleBurst(chain)), want[0], 1, &what);
            near(by(UnitLosses::Bursts(chain, PacketSpacing::Independent)), want[1], 1, &what);
            near(by(UnitLosses::Bursts(chain, PacketSpacing::BackToBack)), want[2], 1, &what);
        }
    }
}

#[test]
fn time_outs_cost_most_where_losses_are_many() {
    let law = TcpLaw::TimeOuts(3.0);
    for (p, least, most) in [(1e-5, 0.95, 1.0), (0.01, 0.2, 0.5), (0.1, 0.0, 0.2)] {
        let root = CodedLink { rate: 1e9, ..bernoulli(20, p) };
        let ratio = CodedLink { law, ..root }.throughput(20).unwrap() / root.throughput(20).unwrap();
        assert!((least..=most).contains(&ratio), "p {p}: the ratio {ratio} is outside its range");
    }
    let clean = CodedLink { law, ..bernoulli(20, 0.0) };
    assert_eq!((clean.throughput(20), clean.n_real(), clean.n_best()), (Ok(3000.0), Ok(Some(20.0)), Ok(20)));
    let dead = CodedLink { law, ..bernoulli(20, 1.0) };
    assert_eq!(
        (dead.throughput(40), dead.gain(21), dead.n_real(), dead.n_best()),
        (Ok(0.0), Ok(Some(0.0)), Ok(None), Ok(20))
    );
}

#[test]
fn packets_of_several_blocks_do_about_as_well() {
    // The paper says: "larger packets give approximately the same performance as single block
    // packets".
    for m in [2, 3, 5] {
        let one = bernoulli(20, 0.01);
        let many = CodedLink { packet_blocks: m, ..one };
        for n in 21..24 {
            let ratio = many.throughput(n).unwrap() / one.throughput(n).unwrap();
            assert!((1.0..2.5).contains(&ratio), "{m} blocks, N {n}: the ratio {ratio} is outside its range");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn the_best_is_best_by_brute_force(
        k in 1u32..60, p in 0.0f64..=1.0, q in 0.0f64..0.95, rate in 10.0f64..1e5, rtt in 0.01f64..1.0, flows in 1u32..30,
        blocks in 1u32..4, kind in 0usize..4, time_outs in any::<bool>(),
    ) {
        let chain = Gilbert { loss: p * 0.5, stay_bad: q };
        let losses = [
            UnitLosses::Independent(p),
            UnitLosses::SingleBurst(chain),
            UnitLosses::Bursts(chain, PacketSpacing::Independent),
            UnitLosses::Bursts(chain, PacketSpacing::BackToBack),
        ][kind];
        let law = if time_outs { TcpLaw::TimeOuts(1.0) } else { TcpLaw::SquareRoot };
        let link = CodedLink { k, losses, rate, rtt, flows, packet_blocks: blocks, law };
        let best = link.n_best().unwrap();
        let (mut want, mut most) = (k, 0.0);
        for n in k..k + 200 {
            let got = link.throughput(n).unwrap();
            if got > most * (1.0 + 1e-9) {
                (want, most) = (n, got);
            }
        }
        let got = link.throughput(best).unwrap();
        prop_assert!(got >= most * (1.0 - 1e-9), "{link:?}: N {best} gives {got}, but N {want} gives {most}");
        if let Some(n) = link.n_real().unwrap() {
            // The best N is one of the two integers next to the real N, or a smaller N with the
            // same throughput.
            prop_assert!(f64::from(best) <= n + 1.0, "{link:?}: the best N {best} is beyond the real N {n}");
            if n > f64::from(k) && n < 1e6 {
                let (low, high) = (libm::floor(n) as u32, libm::ceil(n) as u32);
                let below = link.clean_rate(low).unwrap();
                let above = link.clean_rate(high).unwrap();
                prop_assert!(below <= rate * (1.0 + 1e-9) && above >= rate * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn wild_input_is_an_error_or_an_answer(
        x in prop::array::uniform5(prop::sample::select(vec![
            f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-310, 1e-9, 0.5, 1.0, 3.0, 1e300,
        ])),
        m in prop::array::uniform4(prop::sample::select(vec![0, 1, 2, 20, 1000, 1 << 20, u32::MAX])),
        kind in 0usize..4, time_outs in any::<bool>(),
    ) {
        let chain = Gilbert { loss: x[0], stay_bad: x[1] };
        let losses = [
            UnitLosses::Independent(x[0]),
            UnitLosses::SingleBurst(chain),
            UnitLosses::Bursts(chain, PacketSpacing::Independent),
            UnitLosses::Bursts(chain, PacketSpacing::BackToBack),
        ][kind];
        let law = if time_outs { TcpLaw::TimeOuts(x[4]) } else { TcpLaw::SquareRoot };
        let link = CodedLink { k: m[0], losses, rate: x[2], rtt: x[3], flows: m[1], packet_blocks: m[2], law };
        for got in [link.throughput(m[3]), link.clean_rate(m[3]), link.events_per_packet(m[3])].into_iter().flatten() {
            prop_assert!(got >= 0.0, "{link:?} {m:?}: {got} is negative or NaN");
        }
        if let Ok(Some(got)) = link.gain(m[3]) {
            prop_assert!(!got.is_nan(), "{link:?} {m:?}: the gain is NaN");
        }
        // For the exact chain, the search tries blocks of a million units, which would take seconds
        // here.
        if kind < 2 || m[0] <= 1000 {
            if let Ok(Some(n)) = link.n_real() {
                prop_assert!(n >= f64::from(m[0]));
            }
            if let Ok(n) = link.n_best() {
                prop_assert!(n >= m[0]);
            }
        }
    }
}
