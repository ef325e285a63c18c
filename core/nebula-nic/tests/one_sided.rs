//! Which bytes one-sided operations may touch, compared with a list of the registrations.

use crate::support::histories::walk;
use crate::support::regions::{Kind, Number, Op, Pair};
use nebula_nic::{
    Access, AccessKind, AccessRefusal, DomainId, RegionError, RegionId, RegionTable, Registration, Rights,
};
use std::cell::RefCell;

const REGION: Registration = Registration { domain: DomainId(0), base: 64, bytes: 128, rights: Rights::from_bits(3) };

fn read(region: RegionId, at: u64, bytes: u32) -> Access {
    Access { kind: AccessKind::Read { version_at: None }, region, at, bytes }
}

#[test]
fn long_histories_agree_with_a_list_of_what_was_registered() {
    let allowed = RefCell::new(0);
    nebula_testing::seeded(|draw| {
        let mut pair = Pair::new(draw.int_in_range(2..=6)?);
        for domain in [false, true] {
            let (base, bytes) = (Number::Words(3), Number::Words(255));
            pair.apply(Op::Register { domain, base, bytes, without: None });
        }
        while !draw.is_empty() {
            *allowed.borrow_mut() += u32::from(pair.apply(draw.arbitrary()?).is_some());
        }
        Ok(())
    })
    .size_max(4096)
    .runs(400);
    let allowed = allowed.into_inner();
    assert!(allowed > 200, "{allowed} operations were allowed");
}

#[test]
fn all_short_histories_agree_with_a_list_of_what_was_registered() {
    let choices = |_: &Pair| {
        let register = |without, bytes| Op::Register { domain: false, base: Number::Words(1), bytes, without };
        let access = |nth, kind, at| Op::Access { domain: false, region: nth, any: 0, kind, at, bytes: 8 };
        vec![
            register(Some(2), Number::Small(16)),
            register(None, Number::Small(8)),
            Op::Revoke { nth: 0 },
            Op::Revoke { nth: 4 },
            access(0, Kind::Read, Number::Small(8)),
            access(1, Kind::Write, Number::Small(0)),
            access(0, Kind::Whole { version_at: Number::Small(8) }, Number::Small(0)),
        ]
    };
    let apply = |pair: &mut Pair, op| {
        pair.apply(op);
    };
    let histories = walk(&Pair::new(2), 5, &choices, &apply);
    assert!(histories > 15_000, "{histories} histories");
}

#[test]
fn an_id_that_was_revoked_does_not_name_the_next_region_at_its_place() {
    let mut table = RegionTable::new(1);
    let first = table.register(REGION).unwrap();
    assert_eq!(table.register(REGION), Err(RegionError::Full { max: 1 }));
    assert!(table.revoke(first) && !table.revoke(first));
    let second = table.register(Registration { bytes: 8, ..REGION }).unwrap();
    assert_eq!((first.place(), second.place()), (0, 0));
    assert_eq!(table.decide(DomainId(0), &read(first, 0, 8)), Err(AccessRefusal::Unknown));
    assert_eq!(table.decide(DomainId(0), &read(second, 0, 9)), Err(AccessRefusal::Bounds));
    assert!(table.decide(DomainId(0), &read(second, 0, 8)).is_ok());
}

#[test]
fn offsets_that_wrap_are_outside() {
    let mut table = RegionTable::new(1);
    let region = table.register(REGION).unwrap();
    for at in [u64::MAX, u64::MAX - 63, u64::MAX - 7, 1 << 63, 129] {
        assert_eq!(table.decide(DomainId(0), &read(region, at, 64)), Err(AccessRefusal::Bounds), "{at}");
    }
    let kind = AccessKind::Read { version_at: Some(u64::MAX - 7) };
    assert_eq!(table.decide(DomainId(0), &Access { kind, ..read(region, 0, 8) }), Err(AccessRefusal::Bounds));
    assert_eq!(table.decide(DomainId(0), &read(region, 128, 0)).map(|window| window.offset), Ok(192));
}
