//! A policy of this test's own, served without a fork: it decides, the log names it, and its
//! factory replays the log.

use crate::support::log_file::LogFile;
use crate::support::{echo, endpoint, server_config};
use nebula::{
    ArrivalQueue, CentralDispatch, Choose, Client, CoreId, CustomPolicy, Header, PerCore, Placement, Policy, Queues,
    ServeError, Server,
};
use nebula_nic::{ConfigError, ReplayError, replay_text, replay_text_with};
use nebula_testing::wait::Watchdog;

/// One queue; the last idle core takes its head.
#[derive(Clone)]
struct LastIdle {
    outstanding: Vec<u32>,
    bound: u32,
}

impl LastIdle {
    fn new(cores: u16) -> Self {
        Self { outstanding: vec![0; cores.into()], bound: 1 }
    }
}

impl CentralDispatch for LastIdle {
    fn queues(&self) -> Queues {
        Queues::Shared
    }

    fn place(&mut self, _: &Header, _: &ArrivalQueue) -> Placement {
        Placement::Shared
    }

    fn pick(&mut self) -> Option<CoreId> {
        let last = self.outstanding.iter().rposition(|&rpcs| rpcs < self.bound)?;
        u16::try_from(last).ok().map(CoreId)
    }

    fn handle_dispatched(&mut self, core: CoreId) {
        self.outstanding[core.index()] += 1;
    }

    fn handle_freed(&mut self, core: CoreId) {
        self.outstanding[core.index()] -= 1;
    }

    fn outstanding(&self, core: CoreId) -> u32 {
        self.outstanding.get(core.index()).copied().unwrap_or(0)
    }

    fn bound(&self) -> u32 {
        self.bound
    }
}

fn last_idle() -> CustomPolicy {
    CustomPolicy::try_new("last-idle", |cores, _| LastIdle::new(cores)).expect("a name")
}

/// Serves calls one after another and returns the log.
fn log_of(test: &str, policy: CustomPolicy, workers: u16, inline: bool) -> String {
    let (name, file) = (endpoint(test), LogFile::new(test));
    let config = server_config(|config| {
        (config.workers, config.inline, config.decision_log) = (workers, Some(inline), Some(file.0.clone()));
    });
    let server = Server::bind(&name).config(config).policy_with(policy).serve(echo).expect("a server");
    let mut client = Client::connect(&name).expect("a client");
    for number in 0..300_u32 {
        assert_eq!(client.call(&number.to_le_bytes()).expect("an answer"), number.to_le_bytes());
    }
    assert_eq!(server.stop().completed, 300);
    file.text()
}

#[test]
fn an_own_policy_decides_and_its_log_replays_through_its_factory() {
    let _watchdog = Watchdog::new("an own policy");
    for (workers, inline) in [(3, false), (1, true)] {
        let log = log_of(&format!("own-{workers}"), last_idle(), workers, inline);
        assert!(log.lines().next().is_some_and(|first| first.contains(" policy=custom:last-idle ")), "{log}");
        let (_, first) = log.split_once("dispatch core=").expect("300 of them");
        assert!(first.starts_with(&(workers - 1).to_string()), "all are idle: the built-in policies would take core 0");
        assert_eq!(
            replay_text_with(&log, &last_idle()).unwrap_or_else(|error| panic!("{error}")),
            log.lines().count() - 1
        );
    }
}

#[test]
fn a_log_of_an_own_policy_replays_through_nothing_else() {
    let _watchdog = Watchdog::new("an own policy's log");
    let log = log_of("own-other", last_idle(), 2, false);
    let is_refused = |replayed| matches!(replayed, Err(ReplayError::Bounds(ConfigError::Custom { .. })));
    assert!(is_refused(replay_text(&log)), "nothing makes its state");
    let other = CustomPolicy::try_new("other", |cores, _| LastIdle::new(cores)).expect("a name");
    assert!(is_refused(replay_text_with(&log, &other)), "another policy's factory");
    let liar = CustomPolicy::try_new("last-idle", |cores, _| PerCore::new(cores, First)).expect("a name");
    assert!(matches!(replay_text_with(&log, &liar), Err(ReplayError::Difference(_))), "the name and another policy");
}

/// Sends everything to core 0.
#[derive(Clone)]
struct First;

impl Choose for First {
    fn choose(&mut self, _: &Header) -> CoreId {
        CoreId(0)
    }
}

#[test]
fn a_policy_that_cannot_be_served_is_refused_with_what_would_be_right() {
    let without_credit = |_, _| LastIdle { outstanding: Vec::new(), bound: 0 };
    let policy = CustomPolicy::try_new("none", without_credit).expect("a name");
    let error =
        Server::bind(&endpoint("own-none")).policy_with(policy).serve(echo).expect_err("no worker gets anything");
    assert!(matches!(error, ServeError::Nic(ConfigError::DispatchBound { got: 0 })), "{error}");
    let both = server_config(|config| (config.policy, config.custom_policy) = (Policy::Rss, Some(last_idle())));
    let error = Server::bind(&endpoint("own-both")).config(both).serve(echo).expect_err("two policies");
    assert!(error.to_string().contains("one policy"), "{error}");
}
