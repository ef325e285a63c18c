//! Places of connections: the same decisions as the slow, obvious algorithm makes, and what they
//! are for.

use nebula_nic::places::{Place, Places, PlacesConfig, prefix};
use nebula_nic::{Span, Timestamp};

const WITHIN: Span = Span::from_secs(2);
const KEYED: PlacesConfig = PlacesConfig::of_clients(32);
const OPEN: PlacesConfig = PlacesConfig::of_requests(32);
const POOL: u32 = 16;

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_secs(seconds)
}

/// The connections in the order of their arrival.
#[derive(Debug, Default)]
struct Model {
    held: Vec<Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    id: u32,
    source: u8,
    arrived: Timestamp,
    is_proven: bool,
}

impl Model {
    fn unproven(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(|held| !held.is_proven)
    }

    /// Whether one more of `source` may be proven.
    fn has_room_for(&self, config: &PlacesConfig, source: u8) -> bool {
        let proven: Vec<_> = self.held.iter().filter(|held| held.is_proven).collect();
        let own = proven.iter().filter(|held| held.source == source).count();
        proven.len() < config.proven_max as usize && own < config.source_max as usize
    }

    /// Who loses a place to a new one of `source`: `Err` if it is refused.
    fn evicted(&self, config: &PlacesConfig, source: u8) -> Result<Option<u32>, ()> {
        if !self.has_room_for(config, source) {
            return Err(());
        }
        let unproven: Vec<_> = self.unproven().copied().collect();
        if unproven.len() < config.unproven_max as usize && self.held.len() < config.places_max as usize {
            return Ok(None);
        }
        let of = |source| unproven.iter().filter(|held| held.source == source).count();
        let most = unproven.iter().map(|held| of(held.source)).max().ok_or(())?;
        Ok(unproven.iter().find(|held| of(held.source) == most).map(|held| held.id))
    }
}

#[test]
fn places_are_given_and_taken_as_by_the_obvious_algorithm() {
    nebula_testing::seeded(|u| {
        let config = PlacesConfig {
            places_max: u.int_in_range(1..=12)?,
            unproven_max: u.int_in_range(1..=12)?,
            proven_max: u.int_in_range(0..=12)?,
            source_max: u.int_in_range(1..=12)?,
            within: *u.choose(&[None, Some(WITHIN)])?,
        };
        let (mut places, mut model, mut now) = (Places::new(config), Model::default(), Timestamp::ZERO);
        for _ in 0..u.int_in_range(0..=60)? {
            // Time passes with each step, so that none is as old as another.
            now += Span::from_ms(u.int_in_range(1..=900)?);
            let id = u.int_in_range(0..=13)?;
            match u.int_in_range(0..=5)? {
                0..=2 => {
                    let source = u.int_in_range(0..=3)?;
                    let expected = model.evicted(&config, source);
                    let place = places.arrive(now, source);
                    assert_eq!(place.map(|place| place.evicts).ok_or(()), expected);
                    let Some(Place { id, evicts }) = place else { continue };
                    model.held.retain(|held| Some(held.id) != evicts);
                    assert!(id < config.places_max && model.held.iter().all(|held| held.id != id));
                    model.held.push(Held { id, source, arrived: now, is_proven: false });
                }
                3 => {
                    let source = model.held.iter().find(|held| held.id == id).map_or(0, |held| held.source);
                    let has_room = model.has_room_for(&config, source);
                    let mut held = model.held.iter_mut().find(|held| held.id == id);
                    let expected = held.as_ref().is_some_and(|held| held.is_proven || has_room);
                    held.iter_mut().for_each(|held| held.is_proven = true);
                    assert_eq!(places.prove(id), expected);
                }
                4 => {
                    places.leave(id);
                    model.held.retain(|held| held.id != id);
                }
                _ => {
                    let late =
                        config.within.and_then(|within| model.unproven().find(|held| held.arrived + within <= now));
                    let late = late.map(|held| held.id);
                    assert_eq!(places.poll_overdue(now), late);
                    model.held.retain(|held| Some(held.id) != late);
                }
            }
            assert_eq!(places.held() as usize, model.held.len());
            assert_eq!(places.unproven() as usize, model.unproven().count());
            let first = model.unproven().next().and_then(|held| Some(held.arrived + config.within?));
            assert!(places.next_overdue() <= first && places.next_overdue().is_some() == first.is_some());
        }
        Ok(())
    });
}

#[test]
fn silent_connections_never_take_the_places_of_those_with_a_key() {
    let mut places = Places::new(KEYED);
    for _ in 0..4096 {
        assert!(places.arrive(at(0), 1).is_some(), "the oldest silent one goes");
    }
    assert_eq!((places.held(), places.unproven()), (POOL, POOL));
    for client in 0..36 {
        let Place { id, evicts } = places.arrive(at(1), 2 + client / 32).unwrap();
        assert!(evicts.is_some());
        // Others come before its proof does.
        (1..POOL).for_each(|_| assert_ne!(places.arrive(at(1), 1).unwrap().evicts, Some(id)));
        assert!(places.prove(id));
        let _ = places.arrive(at(1), 1);
    }
    assert_eq!(places.held() - places.unproven(), 36);
    assert_eq!(places.arrive(at(1), 4), None, "all places of clients are taken");
}

#[test]
fn a_crowd_of_one_source_evicts_its_own_and_an_honest_one_has_its_whole_time() {
    let mut places = Places::new(KEYED);
    let honest = places.arrive(at(0), 2).unwrap().id;
    for _ in 0..4096 {
        assert_ne!(places.arrive(at(1), 1).unwrap().evicts, Some(honest));
    }
    assert!(places.prove(honest));
    assert_eq!(places.poll_overdue(at(2)), None, "it has proved itself, and the others are younger");
    let late = core::iter::from_fn(|| places.poll_overdue(at(3))).count();
    assert_eq!((late, places.held()), (POOL as usize - 1, 1));
}

#[test]
fn the_hosts_of_a_network_share_a_prefix() {
    let of = |address: &str| prefix(address.parse().unwrap());
    for (one, other, is_same) in [
        ("10.1.2.3", "10.1.2.255", true),
        ("10.1.2.3", "::ffff:10.1.2.4", true),
        ("10.1.2.3", "10.1.3.3", false),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::", true),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
    ] {
        assert_eq!(of(one) == of(other), is_same, "{one} and {other}");
    }
}

#[test]
fn without_keys_the_last_places_are_for_other_sources() {
    let mut places = Places::new(OPEN);
    for _ in 0..32 {
        let id = places.arrive(at(0), 1).unwrap().id;
        assert!(places.prove(id));
    }
    assert_eq!(places.arrive(at(0), 1), None);
    for source in 2..6 {
        let id = places.arrive(at(0), source).unwrap().id;
        assert!(places.prove(id));
    }
    assert_eq!(places.arrive(at(0), 7), None, "all have proved themselves");
    assert_eq!(places.poll_overdue(at(1000)), None);
}
