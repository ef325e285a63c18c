//! Retries after a NACK from a single server.

use super::*;

#[test]
fn a_back_off_ends_with_its_attempts_and_with_its_deadline() {
    let _watchdog = Watchdog::new("a back-off ends");
    let (name, server, worker) = by_hand("attempts", two_may_wait);
    let mut crowd = Client::connect(&name).expect("a connection");
    let serving = fill(&mut crowd, &worker);
    let nack = CallError::Nack { reason: NackReason::QueueBound };
    let back_off =
        |first_ms, attempts| RetryPolicy::BackOff { first: Span::from_ms(first_ms), factor: 2, attempts, seed: 1 };
    let (refused, refused_or_late) = ([nack.clone()], [nack, CallError::TimedOut]);
    for (retry, deadline, ends) in [
        (back_off(1, 4), Span::MAX, &refused[..]),
        // A second try would come at least half of the first delay later, after the deadline.
        (back_off(200_000, u32::MAX), Span::from_ms(90_000), &refused),
        // On a machine that pauses, tries are late, and the last one before the deadline may be
        // missing.
        (back_off(1, u32::MAX), Span::from_ms(20), &refused_or_late),
        (RetryPolicy::AnotherServer { servers: 3, attempts: 7 }, Span::MAX, &refused),
        (RetryPolicy::GiveUp, Span::MAX, &refused),
    ] {
        let config = ClientConfig::default().retry(retry).deadline(deadline);
        let mut client = Client::connect_with(&name, config).expect("a connection");
        let ticket = client.submit(b"too late").expect("room");
        let end = wait_until("its end", || {
            look(&worker, &serving);
            next_end(&mut client)
        });
        assert_eq!(end.0, ticket);
        assert!(end.1.as_ref().is_err_and(|error| ends.contains(error)), "{retry:?}: {end:?}");
        assert_eq!(client.outstanding(), 0);
    }
    drop(serving);
    server.stop();
}

#[test]
fn where_there_is_no_other_server_a_nack_is_told_and_the_same_one_is_not_asked_again() {
    let _watchdog = Watchdog::new("no other server");
    let (name, server, worker) = by_hand("no-other", two_may_wait);
    let mut crowd = Client::connect(&name).expect("a connection");
    let serving = fill(&mut crowd, &worker);
    let refused = || server.status().read().nacked();
    let config = ClientConfig::default().retry(RetryPolicy::AnotherServer { servers: 3, attempts: 7 });
    let mut client = Client::connect_with(&name, config).expect("a connection");
    client.submit(b"once").expect("room");
    let end = wait_until("its end", || {
        look(&worker, &serving);
        next_end(&mut client)
    });
    assert_eq!(end.1, Err(CallError::Nack { reason: NackReason::QueueBound }));
    wait_until("its count", || {
        look(&worker, &serving);
        (refused() > 0).then_some(())
    });
    (0..100).for_each(|_| look(&worker, &serving));
    assert_eq!(refused(), 1);
    drop(serving);
    server.stop();
}

#[test]
fn retries_without_room_in_the_ring_end_each_rpc_once() {
    let _watchdog = Watchdog::new("retries without room");
    for (which, retry) in [
        RetryPolicy::BackOff { first: Span::from_us(20), factor: 1, attempts: 8, seed: 3 },
        RetryPolicy::BackOff { first: Span::ZERO, factor: 1, attempts: 8, seed: 3 },
    ]
    .into_iter()
    .enumerate()
    {
        let name = endpoint(&format!("no-room-{which}"));
        let config = server_config(|config| {
            two_may_wait(config);
            (config.workers, config.rpc_bytes_max) = (2, 4 * 576);
        });
        // No RPC is answered until one was refused: by then both workers and the queue are full.
        let may_answer = std::sync::Arc::new(AtomicBool::new(false));
        let server = Server::bind(&name).config(config).serve(boxed({
            let may_answer = may_answer.clone();
            move |request: &[u8], reply: &mut Reply<'_>| {
                wait_until("a refusal", || may_answer.load(Ordering::Acquire).then_some(()));
                reply.write(request);
            }
        }));
        let server = server.expect("a server");
        std::thread::scope(|scope| {
            for seed in 0..2_u64 {
                let name = &name;
                scope.spawn(move || {
                    // Four of the longest RPCs fill the ring, as do refused ones that wait for
                    // their retry.
                    let config = ClientConfig::default().slots(16).reply_bytes_max(4 * 576).retry(retry);
                    let mut client = Client::connect_with(name, config).expect("a connection");
                    let mut draw = Draw::new(seed);
                    let ends = exchange(&mut client, 1_500, 16, |_| {
                        let bytes = draw.below(4 * 576);
                        draw.bytes(bytes)
                    });
                    assert_eq!((ends.replied + ends.nacked, ends.timed_out), (1_500, 0));
                });
            }
            wait_until("a refusal", || (server.status().read().nacked() > 0).then_some(()));
            may_answer.store(true, Ordering::Release);
        });
        wait_until_clean(server.status(), 0);
        server.stop();
    }
}

#[test]
fn a_stopped_server_ends_what_waits_under_every_retry_policy() {
    let _watchdog = Watchdog::new("a stopped server ends what waits");
    for (which, retry) in [
        RetryPolicy::GiveUp,
        RetryPolicy::BackOff { first: Span::from_ms(60_000), factor: 1, attempts: 9, seed: 0 },
        RetryPolicy::AnotherServer { servers: 4, attempts: u32::MAX },
    ]
    .into_iter()
    .enumerate()
    {
        let (name, server, worker) = by_hand(&format!("stopped-{which}"), two_may_wait);
        let mut client = Client::connect_with(&name, ClientConfig::default().retry(retry)).expect("a connection");
        let tickets: Vec<_> = (0..8_u8).map(|number| client.submit(&[number]).expect("room")).collect();
        let serving = next_rpc(&worker);
        let mut ended = Vec::new();
        for _ in 0..1000 {
            look(&worker, &serving);
            ended.extend(next_end(&mut client));
        }
        server.stop();
        while ended.len() < tickets.len() {
            let end = wait_until("the rest", || next_end(&mut client));
            assert_eq!(end.1, Err(CallError::ServerGone), "{retry:?}");
            ended.push(end);
        }
        let mut ended: Vec<_> = ended.into_iter().map(|(ticket, _)| ticket).collect();
        ended.sort_unstable();
        assert_eq!((ended, client.outstanding()), (tickets, 0), "{retry:?}");
        assert_eq!(client.call(b"anyone?"), Err(CallError::ServerGone));
    }
}
