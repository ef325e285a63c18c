//! Watching a flow, compared with a model that keeps the time of every line.

use nebula_nic::{HostWatch, HostWatchConfig, HostWatchConfigError, Span, Timestamp, Watching};
use nebula_testing::seeded;

/// Keeps every line and judges each whole window by counting.
struct Model {
    config: HostWatchConfig,
    lines: Vec<u64>,
    watching: Watching,
    judged: u64,
}

impl Model {
    fn at(&mut self, now: u64) -> Watching {
        let window = self.config.window.as_ps();
        while (self.judged + 1) * window <= now {
            let (from, to) = (self.judged * window, (self.judged + 1) * window);
            let lines = self.lines.iter().filter(|&&at| from <= at && at < to).count();
            if lines < self.config.polls_until as usize {
                self.watching = Watching::Invalidations;
            }
            self.judged += 1;
        }
        self.watching
    }

    fn line(&mut self, now: u64) -> Watching {
        let found = self.at(now);
        self.lines.push(now);
        let of_window = self.lines.iter().filter(|&&at| at >= self.judged * self.config.window.as_ps()).count();
        if of_window >= self.config.polls_from as usize {
            self.watching = Watching::Polling;
        }
        found
    }
}

#[test]
fn every_line_is_found_as_the_model_finds_it() {
    let mut polled = 0;
    seeded(|draw| {
        let polls_until = draw.int_in_range(1..=4)?;
        let polls_from = polls_until + draw.int_in_range(1..=4)?;
        let config = HostWatchConfig { window: Span::from_ps(100), polls_from, polls_until };
        let mut watch = HostWatch::try_new(config).unwrap();
        let mut model = Model { config, lines: Vec::new(), watching: Watching::Invalidations, judged: 0 };
        let mut now = 0_u64;
        for _ in 0..200 {
            // Mostly short gaps, so that windows are full, and some of several windows.
            now += if draw.ratio(1, 12)? { draw.int_in_range(0..=400)? } else { draw.int_in_range(0..=40)? };
            let at = Timestamp::from_ps(now);
            if draw.ratio(1, 4)? {
                assert_eq!(watch.handle_timeout(at), model.at(now), "{now}");
            } else {
                let found = watch.handle_line(at);
                assert_eq!(found, model.line(now), "{now}");
                polled += u32::from(found == Watching::Polling);
            }
            assert_eq!(watch.watching(), model.watching);
            // A due time lies in the future, and is given only while it may matter.
            assert_eq!(watch.poll_timeout().is_some(), watch.watching() == Watching::Polling);
            assert!(watch.poll_timeout().is_none_or(|due| due > at && due <= at + config.window));
        }
        Ok(())
    });
    assert!(polled > 1000, "{polled}");
}

#[test]
fn a_flow_between_the_thresholds_stays_as_it_is() {
    let config = HostWatchConfig { window: Span::from_us(1), polls_from: 20, polls_until: 10 };
    let mut watch = HostWatch::try_new(config).unwrap();
    let mut now = Timestamp::ZERO;
    let mut send = |lines: u32, windows: u32| {
        let mut found = Watching::Invalidations;
        for _ in 0..windows * lines {
            now += Span::from_ps(1_000_000 / u64::from(lines));
            found = watch.handle_line(now);
        }
        (found, watch.changes())
    };
    assert_eq!(send(15, 50), (Watching::Invalidations, 0));
    assert_eq!(send(30, 50), (Watching::Polling, 1));
    assert_eq!(send(15, 50), (Watching::Polling, 1));
    assert_eq!(send(5, 50), (Watching::Invalidations, 2));
}

#[test]
fn what_would_never_change_is_refused() {
    let config = |ns, polls_from, polls_until| {
        HostWatch::try_new(HostWatchConfig { window: Span::from_ns(ns), polls_from, polls_until }).map(|_| ())
    };
    assert_eq!(config(10, 2, 1), Ok(()));
    assert_eq!(config(0, 2, 1), Err(HostWatchConfigError::NoWindow));
    for (polls_from, polls_until) in [(2, 2), (1, 2), (2, 0), (0, 0)] {
        let error = config(10, polls_from, polls_until).unwrap_err();
        assert_eq!(error, HostWatchConfigError::Thresholds { polls_from, polls_until });
        assert!(error.to_string().contains("more of the first"), "{error}");
    }
}
