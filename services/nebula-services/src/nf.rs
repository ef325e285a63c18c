//! `nebula serve nf`: network functions between two interfaces, until Ctrl-C.

mod report;
mod service;

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use nebula::net::{Forwarding, XdpRouter};
use nebula::{Endpoint, IdlePolicy, Policy, Server, ServerConfig, Span};
use nebula_nf::{ChainConfig, flow_hash};

use nebula_ops::or_fail::OrFail;
use nebula_ops::server_args::ServerArgs;
use nebula_ui::output::{self, Failure};
use service::NfService;

const EXAMPLES: &str = "Examples:
  nebula serve nf --chain counter --between eth0,eth1                       a router that counts
  nebula serve nf --chain firewall:rules.txt,nat:192.0.2.1 --between eth0,eth1 --workers 4
  nebula serve nf --chain lb:10.9.0.1:53=10.2.0.2:53+10.2.0.3:53 --between eth0,eth1 --policy jbsq:2
  nebula serve nf --chain counter --between eth0,eth1 --work 2us --policy rss

Rules of a firewall, one a line: allow udp 10.0.0.0/8 -> any 53. The first that a packet matches decides; default allow or default deny stands last.
IPv4 packets that other hosts send through this machine are taken before the kernel's network stack, which needs root; all others go to the kernel. The
first interface is inside. When the service is ready, it prints the line `ready packets://INSIDE,OUTSIDE` on standard output. At the end it prints its
counters: packets that came are those that left and those that were dropped, by reason.";

fn policy_help() -> String {
    // Packets have one engine, but altocumulus has one for each group.
    let served = Policy::served().into_iter().filter(|name| !name.starts_with("altocumulus")).collect::<Vec<_>>();
    format!("Dispatch policy: {}. rss, key-hash and static choose by a packet's flow", served.join(", "))
}

/// Have packets go through a chain of network functions, between two interfaces
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("policy", |arg| arg.help(policy_help())),
    mut_arg("slo", |arg| arg.default_value("1ms").help("SLO on the p99 time of a packet; it determines how many may wait before more are dropped")),
    mut_arg("thresholds", |arg| arg.hide(true)),
    mut_arg("key_file", |arg| arg.hide(true)),
    mut_arg("insecure", |arg| arg.hide(true))
)]
pub(crate) struct Args {
    /// Functions in the order in which a packet from inside meets them: firewall:FILE, nat:ADDRESS,
    /// lb:ADDRESS:PORT=ADDRESS:PORT+…, counter
    #[arg(long, value_name = "FUNCTION,…")]
    chain: String,
    /// The two interfaces, the one inside first
    #[arg(long, value_name = "INSIDE,OUTSIDE", value_parser = between)]
    between: Between,
    #[command(flatten)]
    server: ServerArgs,
    /// Whether packets of a flow leave in the order in which they came
    #[arg(long, value_enum, default_value_t)]
    keep_order: KeepOrder,
    /// Computation time of each packet, beside that of its functions
    #[arg(long, default_value = "0ns", value_name = "TIME")]
    work: Span,
    /// File to write the flows of the first counter to at the end, as CSV, those with the most
    /// packets first
    #[arg(long, value_name = "FILE.csv")]
    flows: Option<PathBuf>,
    /// When idle, poll without pause
    #[arg(long)]
    spin: bool,
    /// When idle, block until a packet arrives
    #[arg(long, conflicts_with = "spin")]
    block: bool,
}

#[derive(Clone, Debug)]
struct Between {
    inside: String,
    outside: String,
}

/// When the order of flows is kept.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum KeepOrder {
    /// Where a function stands for an end of connections: nat and lb
    #[default]
    Needed,
    /// Whatever the functions are
    Always,
    /// Whatever the functions are, packets leave as they are served
    Never,
}

fn between(text: &str) -> Result<Between, String> {
    match text.split(',').collect::<Vec<_>>().as_slice() {
        [inside, outside] if !inside.is_empty() && !outside.is_empty() => {
            Ok(Between { inside: (*inside).to_owned(), outside: (*outside).to_owned() })
        }
        _ => Err("expected two interfaces with a comma between them, such as eth0,eth1".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (chain, config) = (chain(args)?, config(args)?);
    let life = args.server.begin(&[])?;
    let forwarding = forwarding(args, &chain)?;
    let service = Arc::new(NfService::new(chain, config.workers, args.work));
    let serving = service.clone();
    let server = Server::bind(endpoint(args));
    let serve = move |request: &[u8], reply: &mut nebula::Reply<'_>| serving.serve(request, reply);
    let server = server.config(config).serve_packets(forwarding, serve).or_fail()?;
    let packets = server.packets();
    let ended = life.live(vec![server], None, |_| {})?;
    let row = report::summary(&ended.statuses, packets.map(|packets| packets.read()).unwrap_or_default(), &service);
    let written = args.flows.as_deref().map_or(Ok(()), |file| report::write_flows(file, &service));
    let printed = output::print(args.server.format, &[row]);
    ended.end(written.and(printed))
}

/// Whether [`run`] would refuse these arguments.
pub(crate) fn check(args: &Args) -> Result<(), Failure> {
    chain(args)?;
    Server::bind(endpoint(args)).config(config(args)?).check().or_fail()
}

fn chain(args: &Args) -> Result<ChainConfig, Failure> {
    let read = |file: &str| nebula_files::text(file.as_ref()).map_err(|error| error.to_string());
    let chain = ChainConfig::parse(&args.chain, read);
    let chain = chain.map_err(|error| Failure::bad_input(format!("--chain: {error}")))?;
    if args.flows.is_some() && !chain.counts() {
        return Err(Failure::bad_input("--flows has what a counter counts: add counter to --chain"));
    }
    Ok(chain)
}

fn forwarding(args: &Args, chain: &ChainConfig) -> Result<Forwarding, Failure> {
    let Between { inside, outside } = &args.between;
    let router = XdpRouter::open(inside, outside, &chain.addresses());
    let router =
        router.map_err(|error| Failure::Fault(format!("--between {inside},{outside}: {error}{}", advice(&error))))?;
    let keeps_order = match args.keep_order {
        KeepOrder::Needed => chain.keeps_order(),
        KeepOrder::Always => true,
        KeepOrder::Never => false,
    };
    Ok(Forwarding { device: Box::new(router), flow_hash, keeps_order })
}

/// Advice if the kernel refuses the frames.
fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => "; run as root, or with CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF",
        std::io::ErrorKind::ResourceBusy => "; another program takes its frames, of which there can be one",
        std::io::ErrorKind::AddrNotAvailable => "; give it one, which hosts name as their router",
        _ => "",
    }
}

fn endpoint(args: &Args) -> Endpoint {
    Endpoint::Packets([args.between.inside.clone(), args.between.outside.clone()])
}

fn config(args: &Args) -> Result<ServerConfig, Failure> {
    let mut config = args.server.config();
    if args.server.key_file.is_some() || config.insecure {
        return Err(Failure::bad_input(
            "--key-file and --insecure are for clients, and packets have none: leave them out",
        ));
    }
    if let Policy::Altocumulus(_) = args.server.policy {
        return Err(Failure::bad_input(
            "--policy altocumulus:G has an engine for each group, and packets have one engine",
        ));
    }
    // Stated, because the receive buffer is sized before the first packet can be measured.
    config.service_mean += args.work;
    if args.spin {
        config.idle = IdlePolicy::Spin;
    }
    if args.block {
        config.idle = IdlePolicy::Block;
    }
    args.server.complete(config, &endpoint(args))
}
