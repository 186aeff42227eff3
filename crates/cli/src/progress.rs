//! Shows the progress on standard error, if standard error is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A line that shows the current step.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Text before every step, for example `contender 2 of 5, `.
    scope: String,
}

/// The time between two redraws of the line. [`Progress::wait_for`] also checks its condition at this interval.
const BEAT: Duration = Duration::from_millis(100);

impl Progress {
    /// A progress line, drawn only if standard error is a terminal.
    pub(crate) fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // The constant template is valid, as a test shows.
        if let Ok(style) = style() {
            bar.set_style(style);
        }
        Progress { bar, scope: String::new() }
    }

    /// Sets the text before the names of all following steps.
    pub(crate) fn set_scope(&mut self, scope: String) {
        self.scope = scope;
    }

    /// Starts a step, for example `cubic: bulk`.
    pub(crate) fn begin(&self, step: String) {
        self.bar.set_prefix(format!("{}{step}", self.scope));
        self.bar.set_message("");
        self.bar.reset_elapsed();
    }

    /// Shows `message` now.
    pub(crate) fn show(&self, message: impl FnOnce() -> String) {
        if !self.bar.is_hidden() {
            self.bar.set_message(message());
            self.bar.tick();
        }
    }

    /// Waits until `done` returns true, but not beyond `end`. Shows `message` during the wait.
    /// Returns whether `done` returned true.
    pub(crate) fn wait_for(&self, end: Instant, message: impl Fn() -> String, done: impl Fn() -> bool) -> bool {
        loop {
            if done() {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.show(&message);
            std::thread::sleep(left.min(BEAT));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style() -> Result<ProgressStyle, indicatif::style::TemplateError> {
    ProgressStyle::with_template("{spinner} {prefix}  {elapsed}  {msg}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_valid() {
        assert!(style().is_ok());
    }

    #[test]
    fn waiting_ends_when_done() {
        let progress = Progress::new();
        let far = Instant::now() + Duration::from_secs(3600);
        assert!(progress.wait_for(far, String::new, || true));
        assert!(!progress.wait_for(Instant::now(), String::new, || false));
    }
}
