//! Progress on standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A line that says what is under way.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

/// How often the line is drawn anew, and conditions are looked at.
const BEAT: Duration = Duration::from_millis(100);

impl Progress {
    /// A line, drawn only where standard error is a terminal.
    pub(crate) fn new() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        // The template is a constant that the style accepts; see the test.
        if let Ok(style) = style() {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// Names what begins now, for example `cubic: bulk`.
    pub(crate) fn begin(&self, what: String) {
        self.0.set_prefix(what);
        self.0.set_message("");
        self.0.reset_elapsed();
    }

    /// Draws what `message` says, now.
    pub(crate) fn show(&self, message: impl FnOnce() -> String) {
        if !self.0.is_hidden() {
            self.0.set_message(message());
            self.0.tick();
        }
    }

    /// Waits until `end`, drawing what `message` says.
    pub(crate) fn wait_until(&self, end: Instant, message: impl Fn() -> String) {
        self.wait_for(end, message, || false);
    }

    /// Waits until `end` or until `done`, drawing what `message` says. Whether it was done.
    pub(crate) fn wait_for(
        &self,
        end: Instant,
        message: impl Fn() -> String,
        done: impl Fn() -> bool,
    ) -> bool {
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
        self.0.finish_and_clear();
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
