//! The terms that the fit may use.

use ripstop_model::plan::wear::Causes;

const NONE: Causes = Causes::NONE;

/// The powers of the causes in each term. The fit gives most of them no weight.
pub(crate) fn candidates() -> Vec<Causes> {
    let mut all = losses();
    all.extend(losses_over_small_queues());
    all.extend(without_loss());
    all.extend(small_queues());
    all.extend(lost_acknowledgements());
    all.push(Causes { halt: 1.0, ..NONE });
    all.push(Causes { loss: 1.0, stuck: 1.0, ..NONE });
    all.push(Causes { back: 1.0, stuck: 1.0, ..NONE });
    all
}

/// Losses, by the length of their bursts and the size of the window or the length of the path.
fn losses() -> Vec<Causes> {
    let mut all = Vec::new();
    for loss in [0.5, 1.0, 2.0] {
        let lost = Causes { loss, ..NONE };
        for burst in [0.0, 0.5, 1.0, 1.5, 2.0] {
            let runs = Causes { burst, ..lost };
            for early in [0.0, 1.0] {
                let runs = Causes { early, ..runs };
                all.extend([0.0, 1.0, 2.0, 4.0].map(|size| Causes { size, ..runs }));
                all.extend([0.5, 1.0, 2.0].map(|few| Causes { few, ..runs }));
                all.push(Causes { size: 4.0, few: 0.5, ..runs });
            }
            all.extend([0.0, 2.0].map(|size| Causes { size, far: 1.0, ..runs }));
        }
        for gulp in [0.5, 1.0, 2.0] {
            all.extend([0.0, 1.0].map(|early| Causes { gulp, early, ..lost }));
        }
    }
    all
}

/// Losses where the queue holds little.
fn losses_over_small_queues() -> Vec<Causes> {
    let mut all = Vec::new();
    for loss in [0.5, 1.0] {
        let lost = Causes { loss, ..NONE };
        all.extend([0.5, 1.0].map(|shallow| Causes { shallow, ..lost }));
        for short in [1.0, 2.0] {
            all.push(Causes { short, ..lost });
            all.push(Causes { short, size: 2.0, ..lost });
            all.push(Causes { short, shallow: 0.5, ..lost });
        }
    }
    all
}

/// What the window's size, the path's length and the start cost without any loss.
fn without_loss() -> Vec<Causes> {
    let mut all = Vec::new();
    for early in [0.0, 1.0] {
        all.extend([0.0, 1.0, 2.0, 4.0, 8.0].map(|size| Causes { size, early, ..NONE }));
        all.extend([0.5, 1.0, 2.0].map(|few| Causes { few, early, ..NONE }));
    }
    all.extend([(0.0, 1.0), (0.0, 2.0), (2.0, 1.0)].map(|(size, far)| Causes { size, far, ..NONE }));
    all
}

/// What a small queue costs without any loss.
fn small_queues() -> Vec<Causes> {
    let mut all = Vec::new();
    for shallow in [0.5, 1.0, 2.0] {
        all.push(Causes { shallow, ..NONE });
        all.push(Causes { shallow, few: 1.0, ..NONE });
        all.push(Causes { shallow, early: 1.0, ..NONE });
    }
    for short in [1.0, 2.0] {
        let overrun = Causes { short, ..NONE };
        all.push(overrun);
        all.push(Causes { shallow: 0.5, ..overrun });
        all.push(Causes { shallow: 0.5, early: 1.0, ..overrun });
        all.push(Causes { size: 2.0, ..overrun });
        all.push(Causes { size: 2.0, early: 1.0, ..overrun });
    }
    // A start over next to no queue.
    for size in [0.0, 1.0, 2.0] {
        all.extend([0.0, 1.0].map(|early| Causes { short: 8.0, size, early, ..NONE }));
    }
    all
}

/// Acknowledgements that are lost together with data.
fn lost_acknowledgements() -> Vec<Causes> {
    let mut all = Vec::new();
    for (loss, back) in [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)] {
        let unheard = Causes { loss, back, ..NONE };
        all.extend([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)].map(|(burst, few)| Causes {
            burst,
            few,
            ..unheard
        }));
    }
    all
}
