//! Next to the path: *how does the NIC learn that a core has written a line for it?*
//!
//! On a coherent interconnect there is no doorbell. In one way the NIC keeps the line in its cache,
//! gets an **invalidation** when a core writes it, and then reads it: a message and a read for each
//! line, and nothing while no core writes. In the other way it **polls**: it reads the lines of a
//! flow again and again, several at a time, written or not. Invalidations suit a flow with few
//! lines, polling one with many. [`HostWatch`] chooses by the lines that came in windows of a fixed
//! length:
//!
//! ```text
//!                    polls_from lines or more in this window: at once
//!   Invalidations ───────────────────────────────────────────────────▶ Polling
//!                 ◀───────────────────────────────────────────────────
//!                    fewer than polls_until in a whole window: at its end
//! ```
//!
//! A flow between the two thresholds stays as it is. The caller reads, reports each line, and asks.
//!
//! Source: Dagger (ASPLOS 2021): invalidations at low throughput, polling at high. The rate between
//! them is not published, so thresholds and window are parameters.

use crate::time::{Span, Timestamp};

/// How the NIC learns of the lines of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// By an invalidation of each line; it then reads that line.
    Invalidations,
    /// By reading the lines of the flow periodically.
    Polling,
}

/// When a flow changes its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWatchConfig {
    /// The length of a window.
    pub window: Span,
    /// With this many lines in a window, the flow is polled.
    pub polls_from: u32,
    /// With fewer lines in a whole window, it is no longer polled.
    pub polls_until: u32,
}

/// Why a [`HostWatchConfig`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostWatchConfigError {
    /// A window of length 0 holds no line.
    #[error("a window of 0 holds no line: give a longer one, such as 10us")]
    NoWindow,
    /// The flow would never be watched by invalidations, or would change its way with each window.
    #[error(
        "polling from {polls_from} lines a window until fewer than {polls_until} is not possible: give 1 or more of each, and more of the first"
    )]
    Thresholds {
        /// The lines from which a flow is polled.
        polls_from: u32,
        /// The lines below which it is no longer polled.
        polls_until: u32,
    },
}

impl HostWatchConfig {
    /// Checks that each way can be reached from the other.
    ///
    /// # Errors
    ///
    /// [`HostWatchConfigError`] that says what to change.
    pub const fn validate(&self) -> Result<(), HostWatchConfigError> {
        let Self { window, polls_from, polls_until } = *self;
        if window.as_ps() == 0 {
            return Err(HostWatchConfigError::NoWindow);
        }
        if polls_until == 0 || polls_from <= polls_until {
            return Err(HostWatchConfigError::Thresholds { polls_from, polls_until });
        }
        Ok(())
    }
}

/// The way in which one flow is watched, and the count that decides it.
///
/// Time must not decrease. The first window begins at time 0. All is O(1), without allocation.
///
/// # Examples
///
/// ```
/// use nebula_nic::{HostWatch, HostWatchConfig, Span, Timestamp, Watching};
///
/// let config = HostWatchConfig { window: Span::from_us(10), polls_from: 3, polls_until: 2 };
/// let mut watch = HostWatch::try_new(config)?;
/// let us = |us: u64| Timestamp::ZERO + Span::from_us(us);
///
/// // The third line of the window begins the polling.
/// let found = [1, 2, 3, 4].map(|at| watch.handle_line(us(at)));
/// use Watching::{Invalidations, Polling};
/// assert_eq!(found, [Invalidations, Invalidations, Invalidations, Polling]);
///
/// // Four lines in the first window, none in the second: the second one's end ends it.
/// assert_eq!(watch.poll_timeout(), Some(us(10)));
/// assert_eq!((watch.handle_timeout(us(10)), watch.poll_timeout()), (Polling, Some(us(20))));
/// assert_eq!((watch.handle_timeout(us(20)), watch.poll_timeout()), (Invalidations, None));
/// # Ok::<(), nebula_nic::HostWatchConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostWatch {
    config: HostWatchConfig,
    watching: Watching,
    begun: Timestamp,
    /// Lines in the current window.
    lines: u32,
    changes: u64,
}

impl HostWatch {
    /// A flow watched by invalidations, without a line so far.
    pub const fn try_new(config: HostWatchConfig) -> Result<Self, HostWatchConfigError> {
        match config.validate() {
            Ok(()) => {
                let (watching, begun) = (Watching::Invalidations, Timestamp::ZERO);
                Ok(Self { config, watching, begun, lines: 0, changes: 0 })
            }
            Err(error) => Err(error),
        }
    }

    /// How the flow is watched, as of the last call with a time.
    #[must_use]
    #[inline]
    pub const fn watching(&self) -> Watching {
        self.watching
    }

    /// How often the way of watching has changed.
    #[must_use]
    #[inline]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// A core has written a line. Returns how the NIC learns of this line.
    #[inline]
    pub fn handle_line(&mut self, now: Timestamp) -> Watching {
        self.end_windows(now);
        let found = self.watching;
        self.lines = self.lines.saturating_add(1);
        if self.lines >= self.config.polls_from {
            self.set(Watching::Polling);
        }
        found
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: while polling, at the end of the
    /// window.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        (self.watching == Watching::Polling).then(|| self.begun + self.config.window)
    }

    /// Ends the windows that are over. Returns how the flow is watched from now on.
    #[inline]
    pub fn handle_timeout(&mut self, now: Timestamp) -> Watching {
        self.end_windows(now);
        self.watching
    }

    fn end_windows(&mut self, now: Timestamp) {
        let over = now.since(self.begun).as_ps() / self.config.window.as_ps();
        if over == 0 {
            return;
        }
        // The windows after the one of the lines had none.
        if self.lines < self.config.polls_until || over > 1 {
            self.set(Watching::Invalidations);
        }
        self.begun += Span::from_ps(over * self.config.window.as_ps());
        self.lines = 0;
    }

    fn set(&mut self, watching: Watching) {
        self.changes += u64::from(self.watching != watching);
        self.watching = watching;
    }
}
