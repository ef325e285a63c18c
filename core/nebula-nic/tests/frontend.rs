//! A core's front end: order, steering and returned results.

use nebula_nic::{Arrival, CoreId, Dispatch, Frontend, SlotRange, Steer, Steering};

fn rpc(bytes: u32) -> Dispatch {
    Dispatch { core: CoreId(4), arrival: Arrival { bytes, slots: SlotRange::new(bytes, 1), ..Arrival::default() } }
}

#[test]
fn the_payload_behind_the_one_that_begins_is_steered() {
    let mut core = Frontend::new(CoreId(4), 3);
    assert_eq!([1, 2, 3].map(|bytes| core.handle_dispatch(rpc(bytes))), [Steer::Now, Steer::Later, Steer::Later]);
    for (begins, next) in [(1, Some(2)), (2, Some(3)), (3, None)] {
        let begin = core.poll_completion().unwrap();
        assert_eq!((begin.arrival.bytes, begin.steer_next.map(|next| next.bytes)), (begins, next));
    }
    assert_eq!((core.poll_completion(), core.in_service(), core.outstanding()), (None, 3, 3));
}

#[test]
fn an_rpc_behind_one_in_service_is_steered_later() {
    let mut core = Frontend::new(CoreId(4), 2);
    core.handle_dispatch(rpc(1));
    let begin = core.poll_completion().unwrap();
    assert_eq!(core.handle_dispatch(rpc(2)), Steer::Later);
    let release = core.handle_release(begin.arrival.slots);
    assert_eq!((release.core, release.slots), (CoreId(4), SlotRange::new(1, 1)));
    assert_eq!(core.poll_completion().unwrap().arrival.bytes, 2);
}

#[test]
fn steering_off_steers_nothing() {
    let mut core = Frontend::new(CoreId(4), 2);
    core.set_steering(Steering::Off);
    assert_eq!([1, 2].map(|bytes| core.handle_dispatch(rpc(bytes))), [Steer::Never; 2]);
    assert_eq!(core.poll_completion().unwrap().steer_next, None);
}

#[test]
fn the_ring_goes_round_at_every_bound() {
    for bound in [1, 2, 3, 64] {
        let mut core = Frontend::new(CoreId(4), bound);
        for lap in 0..200 {
            for nth in 0..bound {
                core.handle_dispatch(rpc(lap * bound + nth));
            }
            for nth in 0..bound {
                let begin = core.poll_completion().unwrap();
                assert_eq!(begin.arrival.bytes, lap * bound + nth);
                core.handle_release(begin.arrival.slots);
            }
        }
    }
}

#[test]
#[should_panic(expected = "more RPCs than its bound")]
fn more_than_the_bound_is_a_bug_of_the_back_end() {
    let mut core = Frontend::new(CoreId(4), 3);
    for bytes in 0..4 {
        core.handle_dispatch(rpc(bytes));
    }
}

#[test]
#[should_panic(expected = "not begun")]
fn a_release_without_a_begin_is_a_bug_of_the_core() {
    Frontend::new(CoreId(4), 2).handle_release(SlotRange::new(0, 1));
}
