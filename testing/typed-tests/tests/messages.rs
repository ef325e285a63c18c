//! Messages of every type.

use nebula_testing::arbitrary::{self, Unstructured};
use nebula_typed::{Encoding, Line as AsLine, Message, Proto as AsProto, key_hash, prost};
use typed_tests::every::{Color, Line, Loose, Pair, Plain, loose};

/// Every field differs from zero and from the others.
pub(crate) fn line() -> Line {
    Line {
        f64: 1.5.into(),
        f32: (-2.5).into(),
        i32: (-3).into(),
        i64: (-4_000_000_000).into(),
        u32: 5.into(),
        u64: (1 << 63).into(),
        s32: (-7).into(),
        s64: (-8).into(),
        x32: 9.into(),
        x64: 10.into(),
        y32: (-11).into(),
        y64: (-12).into(),
        yes: true.into(),
        color: Color::Blue.into(),
        pair: Pair { a: 15.into(), b: (-15).into() },
        id: *b"ident",
        name: "the key".try_into().unwrap(),
        r#type: 18.into(),
    }
}

pub(crate) fn loose() -> Loose {
    Loose {
        name: "the key".into(),
        maybe: Some(0),
        inner: vec![loose::Inner { n: 3, kind: loose::Kind::Good.into() }],
        counts: [("a".to_string(), 1), ("b".to_string(), u64::MAX)].into(),
        choice: Some(loose::Choice::Data(vec![5; 100])),
        next: Some(Box::new(Loose::default())),
    }
}

#[test]
fn fields_of_a_line_lie_in_the_order_of_their_numbers() {
    let bytes = <Line as Message>::As::write(&line(), <[u8]>::to_vec);
    let mut expected = Vec::new();
    expected.extend(1.5_f64.to_le_bytes());
    expected.extend((-2.5_f32).to_le_bytes());
    expected.extend((-3_i32).to_le_bytes());
    expected.extend((-4_000_000_000_i64).to_le_bytes());
    expected.extend(5_u32.to_le_bytes());
    expected.extend((1_u64 << 63).to_le_bytes());
    expected.extend((-7_i32).to_le_bytes());
    expected.extend((-8_i64).to_le_bytes());
    expected.extend(9_u32.to_le_bytes());
    expected.extend(10_u64.to_le_bytes());
    expected.extend((-11_i32).to_le_bytes());
    expected.extend((-12_i64).to_le_bytes());
    expected.push(1);
    expected.extend(7_i32.to_le_bytes());
    expected.extend(15_i32.to_le_bytes());
    expected.extend((-15_i32).to_le_bytes());
    expected.extend(b"ident");
    expected.extend(b"\x07\x00the key\0\0");
    expected.extend(18_u32.to_le_bytes());
    assert_eq!(bytes, expected);
    assert_eq!(AsLine::decode(&bytes), Some(line()));
}

#[test]
fn a_value_that_this_version_does_not_know_is_none() {
    assert_eq!(line().color(), Some(Color::Blue));
    assert_eq!(Line { color: 99.into(), ..line() }.color(), None);
}

#[test]
fn a_message_of_protobuf_has_protobufs_bytes() {
    let message = loose(); // one and the same: another's map may have another order
    let written = AsProto::write(&message, <[u8]>::to_vec);
    assert_eq!(written, prost::Message::encode_to_vec(&message));
    assert_eq!(AsProto::decode(&written), Some(message));
}

#[test]
fn messages_about_one_key_have_one_hash() {
    assert_eq!(line().key_hash(), key_hash(b"the key"));
    assert_eq!(loose().key_hash(), key_hash(b"the key"));
    assert_eq!(Pair::default().key_hash(), 0, "a message without a key");
    // It is the same on every machine and in every version.
    assert_eq!(key_hash(b"the key"), 288_484_634);
}

/// Often zero, which is not written, and often of few bytes.
fn number(u: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
    let bits = u.int_in_range(0..=64_u32)?;
    Ok(u.arbitrary::<u64>()?.checked_shr(bits).unwrap_or(0))
}

/// Longer now and then than what is written on the stack.
fn data(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let bytes = u.int_in_range(0..=7)? * u.int_in_range(0..=40)?;
    (0..bytes).map(|_| u.arbitrary()).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
fn plain(u: &mut Unstructured<'_>) -> arbitrary::Result<Plain> {
    let mut signed = || number(u).map(|number| i64::from_le_bytes(number.rotate_right(1).to_le_bytes()));
    Ok(Plain {
        i32: signed()? as i32,
        i64: signed()?,
        s32: signed()? as i32,
        s64: signed()?,
        y32: signed()? as i32,
        color: signed()? as i32,
        f64: u.arbitrary()?,
        f32: u.arbitrary()?,
        u32: number(u)? as u32,
        u64: number(u)?,
        x32: number(u)? as u32,
        x64: number(u)?,
        yes: u.arbitrary()?,
        data: data(u)?,
        text: u.arbitrary()?,
    })
}

/// Compared as text: a NaN is unequal to itself.
fn same<T: std::fmt::Debug>(ours: Option<T>, prosts: Option<T>, bytes: &[u8]) {
    assert_eq!(format!("{ours:?}"), format!("{prosts:?}"), "{bytes:?}");
}

#[test]
fn plain_fields_are_written_and_read_as_prost_does() {
    let mut read = [0; 2];
    nebula_testing::seeded(|u| {
        let message = plain(u)?;
        let mut bytes = AsProto::write(&message, <[u8]>::to_vec);
        assert_eq!(bytes, prost::Message::encode_to_vec(&message));
        same(AsProto::decode(&bytes), Some(message), &bytes);
        // Other fields between them, fields twice, other types, and what no message begins with.
        if u.arbitrary()? {
            bytes.extend(prost::Message::encode_to_vec(&loose()));
        }
        bytes.extend(prost::Message::encode_to_vec(&plain(u)?));
        for _ in 0..u.int_in_range(0..=1)? {
            let at = u.choose_index(bytes.len())?;
            bytes[at] = u.arbitrary()?;
        }
        let cut = u.choose_index(bytes.len())?;
        for bytes in [&bytes[..], &bytes[..cut], &bytes[cut..]] {
            let ours = AsProto::decode(bytes);
            read[usize::from(ours.is_some())] += 1;
            same::<Plain>(ours, prost::Message::decode(bytes).ok(), bytes);
            // A map has another order in each.
            let is_loose = |read: Option<Loose>| read.map(|loose| Loose { counts: [].into(), ..loose });
            same(is_loose(AsProto::decode(bytes)), is_loose(prost::Message::decode(bytes).ok()), bytes);
        }
        Ok(())
    })
    .size_min(1 << 12);
    assert!(read.iter().all(|&messages| messages > 10), "some were read and some were none: {read:?}");
}
