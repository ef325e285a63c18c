//! Mistakes of the library's callers, and the errors that they get.

use crate::support::{echo, endpoints};
use nebula::{CallError, Client, ClientConfig, Options, Server, ServerConfig, Span};
use nebula_testing::wait::{Watchdog, wait_until};
use std::time::Duration;

#[test]
fn a_call_while_rpcs_are_outstanding_is_an_error_and_loses_none_of_them() {
    let _watchdog = Watchdog::new("a call while RPCs are outstanding");
    for endpoint in endpoints("call-outstanding") {
        let server = Server::bind(&endpoint).inline(false).serve(echo).expect("a server");
        let config = crate::support::patient_client();
        let mut client = Client::connect_with(server.endpoint(), config).expect("a client");
        let tickets = [client.submit(b"first").expect("room"), client.submit(b"second").expect("room")];
        let refused = client.call(b"third").map(<[u8]>::to_vec);
        assert_eq!(refused, Err(CallError::Outstanding { rpcs: 2 }), "{endpoint}");
        let said = refused.expect_err("it is an error").to_string();
        assert!(said.contains("poll()") && !said.contains('\n'), "it says what to do: {said}");
        let mut ends = Vec::new();
        wait_until("both replies", || {
            ends.extend(client.poll().map(|done| (done.ticket, done.result.expect("a reply").to_vec())));
            (ends.len() == 2).then_some(())
        });
        ends.sort_unstable();
        assert_eq!(ends, [(tickets[0], b"first".to_vec()), (tickets[1], b"second".to_vec())]);
        assert_eq!(client.call(b"third").expect("nothing is outstanding"), b"third");
        server.stop();
    }
}

#[test]
fn every_time_can_be_given_as_a_duration_of_the_standard_library() {
    let (us, days) = (Duration::from_micros(7), Duration::from_secs(86_400 * 1000));
    let server = ServerConfig::default().inline(false).slo(us).service_mean(us).reassembly_timeout(days);
    assert_eq!((server.slo, server.service_mean), (Span::from_us(7), Span::from_us(7)));
    assert_eq!(server.reassembly_timeout, Some(Span::MAX), "longer than the longest span");
    let client = ClientConfig::default().deadline(us).call_timeout(us);
    assert_eq!((client.deadline, client.call_timeout), (Span::from_us(7), Span::from_us(7)));
    assert_eq!(Options::default().deadline(us).deadline, Some(Span::from_us(7)));
}
