//! Replays a group's log through another group and manager, up to the first difference.

use super::{GROUP_LOG_HEADER, GroupDecision, GroupInput, GroupLine, GroupSetup};
use crate::backend::Backend;
use crate::backend::group::{Adoption, GroupConfigError};
use crate::decision::beside::Beside;
use crate::decision::line::{Decision, Input};
use crate::decision::replay::answer;
use crate::decision::text::ParseDecisionError;
use crate::schedule::altocumulus::manager::{Manager, ManagerConfigError};
use crate::time::Timestamp;
use crate::verdict::Verdict;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A group's log could not be replayed to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupReplayError {
    /// The log does not begin with a configuration.
    #[error("a group's log begins with \"{GROUP_LOG_HEADER}\" and a configuration, not with \"{got}\"")]
    Header {
        /// The first line.
        got: String,
    },
    /// A line cannot be read.
    #[error(transparent)]
    Text(#[from] ParseDecisionError),
    /// The group's configuration is invalid.
    #[error(transparent)]
    Group(#[from] GroupConfigError),
    /// The manager's configuration is invalid.
    #[error(transparent)]
    Manager(#[from] ManagerConfigError),
    /// The decisions differ.
    #[error("line {line} differs: logged \"{logged}\", decided \"{decided}\"")]
    Difference {
        /// The line of the log, from 1, excluding the configuration's.
        line: usize,
        /// The logged line.
        logged: Box<GroupLine>,
        /// The same input with the decisions of the other group.
        decided: Box<GroupLine>,
    },
}

/// Replays the log of a group in its text form; returns the number of lines that agreed.
///
/// # Examples
///
/// ```
/// let log = "nebula-nic-group 1 group=0 groups=2 foreign_max=4 period_ps=1000000 bulk=2 concurrency=1 window_ps=10000000 \
///            window_capacity=10 thresholds=1000:1 domain=0 slots=8 cores=1 policy=single-queue rpc_bytes_max=128\n\
///            0 manage waiting=5 published=1:0 -> migrate to=1 count=2\n\
///            5 adopt rpc=3.5 slots=8+1 bytes=40 key=0 arrived=1 -> adopted\n\
///            7 poll -> dispatch core=0 rpc=3.5 slots=8+1 bytes=40 key=0 arrived=1\n\
///            9 free core=0 slots=8+1 -> foreign origin=1\n";
/// assert_eq!(nebula_nic::decision::replay_group_text(log).unwrap(), 4);
/// let error = nebula_nic::decision::replay_group_text(&log.replace("count=2", "count=1")).unwrap_err().to_string();
/// assert!(error.starts_with("line 1 differs"), "{error}");
/// ```
pub fn replay_group_text(log: &str) -> Result<usize, GroupReplayError> {
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("");
    let setup = first.strip_prefix(GROUP_LOG_HEADER).ok_or_else(|| GroupReplayError::Header { got: first.into() })?;
    let GroupSetup { group, manager } = setup.parse()?;
    let beside = Beside::new(&group.backend);
    let mut replay = Replay { backend: Backend::try_group(group)?, manager: Manager::try_new(manager)?, beside };
    let mut count = 0;
    for line in lines {
        count += 1;
        replay.compare(count, line.parse()?)?;
    }
    Ok(count)
}

struct Replay {
    backend: Backend,
    manager: Manager,
    beside: Beside,
}

impl Replay {
    fn compare(&mut self, line: usize, logged: GroupLine) -> Result<(), GroupReplayError> {
        let mut decisions = self.answer(logged.at, &logged.input);
        let asked = logged.decisions.iter().skip(decisions.len());
        decisions.extend(asked.map_while(|asked| {
            match asked {
                GroupDecision::Nic(Decision::Abandoned(_)) => self.backend.poll_abandoned().map(Decision::Abandoned),
                GroupDecision::Nic(Decision::Dispatch(_)) => self.backend.poll_dispatch().map(Decision::Dispatch),
                _ => None,
            }
            .map(GroupDecision::Nic)
        }));
        if decisions == logged.decisions {
            return Ok(());
        }
        let decided = Box::new(GroupLine { at: logged.at, input: logged.input.clone(), decisions });
        Err(GroupReplayError::Difference { line, logged: Box::new(logged), decided })
    }

    /// Decisions made at once, before polling.
    fn answer(&mut self, at: Timestamp, input: &GroupInput) -> Vec<GroupDecision> {
        let Self { backend, manager, .. } = self;
        let one = match input {
            GroupInput::Nic(input) => return self.answer_to_nic(at, input),
            GroupInput::Manage { waiting, published } => {
                let mut lengths = published.iter();
                let migrations = manager.decide(at, *waiting, |_| lengths.next().map_or(0, |length| length.1));
                return migrations.iter().copied().map(GroupDecision::Migrate).collect();
            }
            GroupInput::Thresholds(thresholds) => {
                manager.set_thresholds(thresholds.clone());
                None
            }
            GroupInput::Take { to } => backend.take_newest_waiting(*to).map(GroupDecision::Handed),
            GroupInput::Adopt(arrival) => Some(match backend.adopt(*arrival) {
                Adoption::Taken => GroupDecision::Adopted,
                Adoption::Refused => GroupDecision::TurnedAway,
            }),
            GroupInput::SentBack { by, arrival } => {
                backend.handle_refused(*by, *arrival).then_some(GroupDecision::WaitsAgain)
            }
            GroupInput::Returned { by, slots } => {
                Some(GroupDecision::Nic(Decision::Free(backend.handle_returned(*by, *slots))))
            }
        };
        one.into_iter().collect()
    }

    fn answer_to_nic(&mut self, at: Timestamp, input: &Input) -> Vec<GroupDecision> {
        let answers = answer(&mut self.backend, &mut self.beside, at, *input);
        if let Some(Decision::Packet(Verdict::Write { complete: true, .. })) = answers.first() {
            self.manager.handle_arrival(at);
        }
        answers.into_iter().map(GroupDecision::Nic).collect()
    }
}
