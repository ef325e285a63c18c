//! The tests of this crate that need no separate process, as one program: compiled and linked once,
//! not once a file.
//!
//! `cargo test -p nebula --test all NAME::` runs those of one file. Cargo.toml lists the programs
//! beside it.

mod answers;
mod async_calls;
mod balanced;
mod cancel;
mod darc;
mod decision_log;
mod domains;
mod drain;
mod end_to_end;
mod ends;
mod examples;
mod flow_control;
mod flow_hostile;
mod flows;
mod groups;
mod inherited;
mod kill;
mod later_replies;
mod misuse;
mod multi_packet;
mod node;
mod one_sided;
mod one_sided_datagrams;
mod one_sided_store;
mod overload;
mod own_policy;
mod packets;
mod parity;
mod peers;
mod policies;
mod pool;
mod preemption;
mod reply_room;
mod status_page;
mod steering;
mod streams;
mod support;
mod tcp;
mod tcp_hostile;
mod tower_layers;
mod udp_address;
mod udp_at_once;
mod udp_client;
mod udp_engines;
mod udp_failover;
mod udp_goodput;
mod udp_keys;
mod udp_kill;
mod udp_loopback;
mod udp_million;
mod udp_netns;
mod udp_overload;
mod udp_relay;
mod udp_tenants;
