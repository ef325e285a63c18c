//! The progress of a run's measured window, and the end of the run.

use super::demand::{Demand, InParts};
use super::length::Length;
use crate::error::SimError;
use crate::system::System;
use crate::tally::Tally;
use crate::tally::sections::Sections;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Too few slots or table entries: the run restarts with more, from the same seed.
    NoRoom,
    /// The calendar ended, after this many seconds.
    NoTime(u64),
}

pub(super) struct Window {
    pub(super) length: Length,
    pub(super) tally: Tally,
    sections: Option<Sections>,
    /// The number of ended RPCs at which a batch or the run ends next.
    next_mark: u64,
    is_over: bool,
    stop: Option<Stop>,
}

impl Window {
    pub(super) fn new(Demand { length, parts, .. }: Demand<'_>, tally: Tally) -> Self {
        let sections = Sections::of(parts, length.rpcs);
        let next_mark = sections.as_ref().map_or(length.rpcs, |sections| sections.next);
        Self { length, tally, sections, next_mark, is_over: false, stop: None }
    }

    #[inline(always)]
    pub(super) fn note_end(&mut self) {
        if self.tally.ended() == self.next_mark {
            self.mark();
        }
    }

    #[cold]
    fn mark(&mut self) {
        if let Some(sections) = &mut self.sections {
            sections.mark(&self.tally);
            self.next_mark = sections.next.min(self.length.rpcs);
        }
        self.is_over = self.tally.ended() == self.length.rpcs;
    }

    #[cold]
    pub(super) fn stop(&mut self, why: Stop) {
        (self.is_over, self.stop) = (true, Some(why));
    }
}

pub(super) trait Stations {
    fn window(&self) -> &Window;

    fn turn(&mut self);

    /// The window of a finished run, with the stations' counters.
    fn into_window(self) -> Window;
}

/// Runs the stations that `stations` creates with room for a number of RPCs until the measured
/// window has ended; restarts with more room if needed.
pub(super) fn run_stations<S: Stations>(
    system: &System,
    room_max: u32,
    stations: impl Fn(u32) -> Result<S, SimError>,
) -> Result<InParts, SimError> {
    let mut room = system.slots_first();
    loop {
        match run(stations(room)?) {
            Err(Stop::NoRoom) if room < room_max => room = (room * 16).min(room_max),
            Err(Stop::NoRoom) => return Err(SimError::Outgrown { rpcs: room, policy: system.policy_name() }),
            Err(Stop::NoTime(seconds)) => return Err(SimError::Endless { seconds }),
            Ok(in_parts) => return Ok(in_parts),
        }
    }
}

fn run<S: Stations>(mut stations: S) -> Result<InParts, Stop> {
    while !stations.window().is_over {
        stations.turn();
    }
    let Window { mut tally, sections, stop, .. } = stations.into_window();
    tally.close();
    stop.map_or(Ok((tally, sections)), Err)
}
