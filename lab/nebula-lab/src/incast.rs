//! `incast`: many senders and one receive buffer, under each flow control.

use nebula_nic::{GrantsConfig, Span};
use nebula_requester::FlowKind;
use nebula_sim::incast::{Incast, IncastEstimate};
use nebula_sim::study::{Row, Value, text, units};
use nebula_workload::Seed;

use crate::words::{self, EffortArgs, parsed};
use crate::{Answer, Failure, Progress, Workers};

/// Senders, what they send, the network between, and the receiver.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Flow controls to compare
    #[arg(long, value_delimiter = ',', default_value = "window,homa,none")]
    flow: Vec<FlowKind>,
    /// Senders, each with one message outstanding
    #[arg(long, default_value_t = 64)]
    senders: u16,
    /// Size of a short message, such as 512 or 1KiB
    #[arg(long, value_name = "SIZE", default_value = "512", value_parser = words::bytes)]
    short: u64,
    /// Size of a long message
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = words::bytes)]
    long: u64,
    /// Share of messages that are short
    #[arg(long, value_name = "SHARE", default_value = "90%", value_parser = words::share)]
    short_share: f64,
    /// Receive buffer
    #[arg(long, value_name = "SIZE", default_value = "2MiB", value_parser = words::bytes)]
    recv_buffer: u64,
    /// A message that was refused is tried again after a time between nothing and twice this
    #[arg(long, value_name = "TIME", default_value = "100us")]
    retry: Span,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    effort: EffortArgs,
}

/// The network and the receiver, which are simulated.
#[derive(Debug, clap::Args)]
struct Network {
    /// Rate of each link in Gb/s, the receiver's too
    #[arg(long, value_name = "GBPS", default_value_t = 25.0)]
    link: f64,
    /// Time to the receiver and back on an idle network, but for what sending takes on the links
    #[arg(long, value_name = "TIME", default_value = "2us")]
    latency: Span,
    /// Queue at the switch's port to the receiver
    #[arg(long, value_name = "SIZE", default_value = "128KiB", value_parser = words::bytes)]
    switch: u64,
    /// Cores of the receiver
    #[arg(long, default_value_t = 8)]
    cores: u16,
    /// What a message takes of a core once it is whole
    #[arg(long, value_name = "TIME", default_value = "1us")]
    service: Span,
    /// Packets of a message that come unasked, under homa
    #[arg(long, value_name = "PACKETS", default_value_t = GrantsConfig::default().unscheduled)]
    unscheduled: u32,
    /// Packets of a message that are granted ahead of those that have come, under homa
    #[arg(long, value_name = "PACKETS", default_value_t = GrantsConfig::default().ahead)]
    granted_ahead: u32,
    /// Messages that are granted packets at once, under homa
    #[arg(long, value_name = "MESSAGES", default_value_t = GrantsConfig::default().overcommitment)]
    overcommitment: u32,
}

impl Question {
    /// The question in these words: flags and values, as after `nebula incast`.
    ///
    /// # Errors
    ///
    /// Invalid input: the first unknown or invalid word, and the valid ones.
    pub fn parse(words: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, Failure> {
        Ok(parsed("incast", words)?.0)
    }

    /// A row per flow control.
    ///
    /// # Errors
    ///
    /// Invalid input: a scenario that cannot be simulated, before any run.
    pub fn ask(&self, progress: &dyn Progress) -> Result<Answer, Failure> {
        let effort = self.effort.of_incast();
        effort.validate()?;
        let incasts: Vec<Incast> = self.flow.iter().map(|&flow| self.incast(flow)).collect::<Result<_, _>>()?;
        progress.expect(u64::from(effort.replications) * incasts.len() as u64);
        let workers: Workers = self.effort.workers()?;
        let mut answer = Answer::default();
        for incast in &incasts {
            let found = workers.install(|| incast.estimate(&effort, &|| progress.step()))?;
            if !found.is_settled {
                answer.notes.push(format!(
                    "note: {} is unsettled: both halves of what was measured differ; give more --rpcs",
                    incast.flow
                ));
            }
            answer.rows.push(row("simulated", incast, &found));
        }
        Ok(answer)
    }

    /// The seed of all random draws.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.effort.seed()
    }

    /// The flow controls to compare.
    #[must_use]
    pub fn flows(&self) -> &[FlowKind] {
        &self.flow
    }

    /// The scenario under `flow`, if it can be simulated.
    pub fn incast(&self, flow: FlowKind) -> Result<Incast, Failure> {
        let size = |name: &str, bytes: u64| {
            u32::try_from(bytes).map_err(|_| Failure::bad_input(format!("--{name}: {bytes} bytes are too many")))
        };
        let Network { link, latency, cores, service, unscheduled, granted_ahead: ahead, overcommitment, .. } =
            self.network;
        let incast = Incast {
            senders: self.senders,
            flow,
            short_bytes: size("short", self.short)?,
            long_bytes: size("long", self.long)?,
            short_share: self.short_share,
            link_gbps: link,
            latency,
            switch_bytes: size("switch", self.network.switch)?,
            buffer_bytes: size("recv-buffer", self.recv_buffer)?,
            cores,
            service,
            retry: self.retry,
            grants: GrantsConfig { unscheduled, ahead, overcommitment, ..GrantsConfig::default() },
        };
        incast.validate()?;
        Ok(incast)
    }
}

/// The row of a scenario, simulated or not, as `world` says; docs/LABORATORY.md has the fields.
#[must_use]
pub fn row(world: &'static str, incast: &Incast, found: &IncastEstimate) -> Row {
    let dropped = found.dropped;
    let (short, long) = (found.short_p99_ps.scaled(1e-3), found.long_p99_ps.scaled(1e-3));
    let flow = incast.flow.name();
    let unsettled = if found.is_settled { "" } else { " unsettled" };
    let gbps = |gbps: f64| format!("{gbps:.3} Gb/s");
    Row::new()
        .field("world", world)
        .field("flow", flow)
        .field("senders", u64::from(incast.senders))
        .field("short_bytes", incast.short_bytes)
        .field("long_bytes", incast.long_bytes)
        .field("short_share", incast.short_share)
        .field("goodput_gbps", text::digits(found.goodput_gbps.value))
        .field("goodput_gbps_ci", text::ends(found.goodput_gbps))
        .field("goodput_gbps_max", text::digits(incast.goodput_gbps_max()))
        .field("short_ns_p99", text::digits(short.value))
        .field("short_ns_p99_ci", text::ends(short))
        .field("long_ns_p99", text::digits(long.value))
        .field("long_ns_p99_ci", text::ends(long))
        .field("nacked", text::digits(found.nacked.value))
        .field("nacked_ci", text::ends(found.nacked))
        .field("dropped", dropped.map_or(Value::Null, |dropped| text::digits(dropped.value).into()))
        .field("dropped_ci", dropped.map_or(Value::Null, text::ends))
        .field("lost", text::digits(found.lost.value))
        .field("lost_ci", text::ends(found.lost))
        .field("is_settled", found.is_settled)
        .word("world", world)
        .word("flow", format!("{flow}{unsettled}"))
        .shown("goodput", text::with_half(found.goodput_gbps, gbps))
        .shown("p99 of short", text::with_half(short, text::time))
        .shown("p99 of long", text::with_half(long, text::time))
        .shown("NACKed", text::with_half(found.nacked, units::percent))
        .shown("lost", text::with_half(found.lost, units::percent))
        .shown("packets\ndropped", dropped.map_or("–".to_owned(), |dropped| text::with_half(dropped, units::percent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_flow_control_with_intervals() {
        let question = Question::parse(["--rpcs", "2k", "--replications", "3", "--senders", "8"]).unwrap();
        let answer = question.ask(&()).unwrap();
        let flows: Vec<String> = answer.rows.iter().map(|row| row.flat()[1].1.clone()).collect();
        assert_eq!(flows, ["window", "homa", "none"]);
        assert!(answer.rows[0].headings().contains(&"p99 of short".to_owned()));
    }

    #[test]
    fn what_makes_no_sense_is_told_by_name() {
        let told = |words: &[&str]| match Question::parse(words.iter().copied()) {
            Ok(question) => question.ask(&()).unwrap_err().to_string(),
            Err(failure) => failure.to_string(),
        };
        assert!(told(&["--flow", "tcp"]).contains("window, homa or none"));
        assert!(told(&["--short", "1MiB"]).contains("the shorter first"));
        assert!(told(&["--long", "8GiB"]).contains("--long"));
        assert!(told(&["--recv-buffer", "1KiB"]).contains("holds no long message"));
    }
}
