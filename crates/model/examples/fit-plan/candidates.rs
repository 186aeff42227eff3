//! The candidate terms: products of powers of causes that the fit may weight.

use ripstop_model::plan::efficiency::Causes;

const NONE: Causes = Causes::NONE;

/// The powers of the causes in each candidate term. The fit gives most candidate terms the weight
/// 0.
pub(crate) fn candidates() -> Vec<Causes> {
    let mut all = losses();
    all.extend(losses_over_small_queues());
    all.extend(without_loss());
    all.extend(small_queues());
    all.extend(lost_acknowledgements());
    all.push(Causes { stall_time: 1.0, ..NONE });
    all.push(Causes { loss: 1.0, stall_length: 1.0, ..NONE });
    all.push(Causes { ack_loss: 1.0, stall_length: 1.0, ..NONE });
    all
}

/// Terms of losses. Some also contain the burst length and the size of the window, and others the
/// length of the path.
fn losses() -> Vec<Causes> {
    let mut all = Vec::new();
    for loss in [0.5, 1.0, 2.0] {
        let lost = Causes { loss, ..NONE };
        for burst in [0.0, 0.5, 1.0, 1.5, 2.0] {
            let runs = Causes { burst, ..lost };
            for start_measured in [0.0, 1.0] {
                let runs = Causes { start_measured, ..runs };
                all.extend([0.0, 1.0, 2.0, 4.0].map(|log_bdp| Causes { log_bdp, ..runs }));
                all.extend([0.5, 1.0, 2.0].map(|small_bdp| Causes { small_bdp, ..runs }));
                all.push(Causes { log_bdp: 4.0, small_bdp: 0.5, ..runs });
            }
            all.extend([0.0, 2.0].map(|log_bdp| Causes { log_bdp, rtt: 1.0, ..runs }));
        }
        for burst_in_flight in [0.5, 1.0, 2.0] {
            all.extend([0.0, 1.0].map(|start_measured| Causes { burst_in_flight, start_measured, ..lost }));
        }
    }
    all
}

/// Terms of losses on paths with a small queue.
fn losses_over_small_queues() -> Vec<Causes> {
    let mut all = Vec::new();
    for loss in [0.5, 1.0] {
        let lost = Causes { loss, ..NONE };
        all.extend([0.5, 1.0].map(|small_queue| Causes { small_queue, ..lost }));
        for queue_deficit in [1.0, 2.0] {
            all.push(Causes { queue_deficit, ..lost });
            all.push(Causes { queue_deficit, log_bdp: 2.0, ..lost });
            all.push(Causes { queue_deficit, small_queue: 0.5, ..lost });
        }
    }
    all
}

/// Terms of the window's size, the path's length and the start, without any loss.
fn without_loss() -> Vec<Causes> {
    let mut all = Vec::new();
    for start_measured in [0.0, 1.0] {
        all.extend([0.0, 1.0, 2.0, 4.0, 8.0].map(|log_bdp| Causes { log_bdp, start_measured, ..NONE }));
        all.extend([0.5, 1.0, 2.0].map(|small_bdp| Causes { small_bdp, start_measured, ..NONE }));
    }
    all.extend([(0.0, 1.0), (0.0, 2.0), (2.0, 1.0)].map(|(log_bdp, rtt)| Causes { log_bdp, rtt, ..NONE }));
    all
}

/// Terms of a small queue, without any loss.
fn small_queues() -> Vec<Causes> {
    let mut all = Vec::new();
    for small_queue in [0.5, 1.0, 2.0] {
        all.push(Causes { small_queue, ..NONE });
        all.push(Causes { small_queue, small_bdp: 1.0, ..NONE });
        all.push(Causes { small_queue, start_measured: 1.0, ..NONE });
    }
    for queue_deficit in [1.0, 2.0] {
        let deficit = Causes { queue_deficit, ..NONE };
        all.push(deficit);
        all.push(Causes { small_queue: 0.5, ..deficit });
        all.push(Causes { small_queue: 0.5, start_measured: 1.0, ..deficit });
        all.push(Causes { log_bdp: 2.0, ..deficit });
        all.push(Causes { log_bdp: 2.0, start_measured: 1.0, ..deficit });
    }
    // The start of a transfer over a path with almost no queue.
    for log_bdp in [0.0, 1.0, 2.0] {
        all.extend([0.0, 1.0].map(|start_measured| Causes { queue_deficit: 8.0, log_bdp, start_measured, ..NONE }));
    }
    all
}

/// Terms of acknowledgements that are lost together with data.
fn lost_acknowledgements() -> Vec<Causes> {
    let mut all = Vec::new();
    for (loss, ack_loss) in [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)] {
        let unheard = Causes { loss, ack_loss, ..NONE };
        all.extend([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)].map(|(burst, small_bdp)| Causes {
            burst,
            small_bdp,
            ..unheard
        }));
    }
    all
}
