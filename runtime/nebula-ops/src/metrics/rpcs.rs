//! `/rpcs`: some recent RPCs, the slowest first, with their times at the eleven stations.
//!
//! The server sees stations 2 to 10. An engine reads its clock once a turn, so stations 2 to 6 have
//! one time. Only the client knows when it began the RPC and took the reply, at stations 1 and 11.

use std::fmt::Write;

use nebula::RpcSample;
use serde::Serialize;

use nebula_ui::output::text::time;

const STATIONS: [&str; 11] = [
    "sent",
    "header read",
    "admitted",
    "slots taken",
    "reassembled",
    "queued",
    "dispatched",
    "payload fetched",
    "begun",
    "freed",
    "reply taken",
];

#[derive(Debug, Serialize)]
pub(super) struct RpcRow {
    client: u32,
    number: u32,
    worker: u16,
    request_bytes: u32,
    /// RPCs in the same run of the worker.
    run: u32,
    /// Since its end.
    ago_ns: f64,
    latency_ns: f64,
    waiting_ns: f64,
    service_ns: f64,
    is_steered: bool,
    /// Time from its arrival to each of the stations 1 to 11; `null` if the server does not know
    /// it.
    stations_ns: [Option<f64>; 11],
}

pub(super) fn rows(samples: &[RpcSample], now_ps: u64) -> Vec<RpcRow> {
    samples.iter().map(|sample| row(sample, now_ps)).collect()
}

fn row(sample: &RpcSample, now_ps: u64) -> RpcRow {
    let since = |ps: u64| ps.saturating_sub(sample.arrived_ps) as f64 / 1e3;
    let (given, begun, ended) = (since(sample.given_ps), since(sample.begun_ps), since(sample.ended_ps));
    let arrived = Some(0.0);
    // Fetched between dispatch and begin; the exact time is unknown.
    let fetched = sample.is_steered.then_some(begun);
    RpcRow {
        client: sample.rpc.snid.0,
        number: sample.rpc.tid.0,
        worker: sample.worker,
        request_bytes: sample.bytes,
        run: sample.run,
        ago_ns: now_ps.saturating_sub(sample.ended_ps) as f64 / 1e3,
        latency_ns: ended,
        waiting_ns: begun,
        service_ns: ended - begun,
        is_steered: sample.is_steered,
        stations_ns: [
            None,
            arrived,
            arrived,
            arrived,
            arrived,
            arrived,
            Some(given),
            fetched,
            Some(begun),
            Some(ended),
            None,
        ],
    }
}

pub(super) fn page((server, endpoint): (usize, &str), samples: &[RpcSample], now_ps: u64) -> String {
    let rows = rows(samples, now_ps);
    let longest = rows.first().map_or(1.0, |row| row.latency_ns.max(1.0));
    let heads: String = (1..).zip(STATIONS).fold(String::new(), |mut heads, (number, name)| {
        // Writing to memory cannot fail.
        let _ = write!(heads, "<th title=\"{name}\">{number}<span>{name}</span></th>");
        heads
    });
    let body: String = rows.iter().map(|row| line(row, longest)).collect();
    include_str!("rpcs.html")
        .replace("{{server}}", &server.to_string())
        .replace("{{endpoint}}", &escaped(endpoint))
        .replace("{{count}}", &rows.len().to_string())
        .replace("{{heads}}", &heads)
        .replace("{{rows}}", &body)
}

fn line(row: &RpcRow, longest: f64) -> String {
    let share = |ns: f64| (ns / longest * 100.0).clamp(0.0, 100.0);
    let cells: String =
        row.stations_ns.iter().map(|at| format!("<td>{}</td>", at.map_or("–".to_owned(), time))).collect();
    format!(
        "<tr><td>{}</td><td class=bar><i style=\"width:{:.1}%\"></i><b style=\"width:{:.1}%\"></b></td><td>{}</td><td>{:x}/{}</td><td>{}</td><td>{}</td><td>{}</td>{cells}</tr>\n",
        time(row.latency_ns),
        share(row.waiting_ns),
        share(row.service_ns),
        time(row.ago_ns),
        row.client,
        row.number,
        row.worker,
        row.request_bytes,
        row.run,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::{Reply, Server};

    #[test]
    fn an_rpc_has_its_time_at_each_station_that_the_server_sees() {
        let name = format!("shm://cli-rpcs-{}", std::process::id());
        let server =
            Server::bind(&name).inline(true).serve(|request: &[u8], reply: &mut Reply<'_>| reply.write(request));
        let server = server.unwrap();
        let mut client = nebula::Client::connect(&name).unwrap();
        (0..1000).for_each(|_| drop(client.call(b"hello").unwrap().to_vec()));
        let samples = server.status().samples();
        let rows = rows(&samples, u64::MAX);
        assert!(rows.len() > 5 && rows.is_sorted_by(|one, next| one.latency_ns >= next.latency_ns));
        for row in &rows {
            let [sent, arrived @ .., begun, ended, taken] = row.stations_ns;
            assert_eq!((sent, taken, arrived[0], arrived[4]), (None, None, Some(0.0), Some(0.0)), "{row:?}");
            assert!(arrived[5] <= begun && begun <= ended && ended == Some(row.latency_ns), "{row:?}");
        }
        let page = page((0, "shm://<kv>"), &samples, u64::MAX);
        assert!(page.contains("shm://&lt;kv>") && page.contains("payload fetched") && !page.contains("{{"), "{page}");
    }
}
