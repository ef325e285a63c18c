//! A group's manager: its decisions stay within bounds for any queues, and match a plain
//! description of the rules.

use nebula_nic::schedule::{Manager, ManagerConfig, ManagerConfigError, Migration, Pattern, ThresholdRow, Thresholds};
use nebula_nic::{GroupId, Span, Timestamp};

fn config(group: u16, groups: u16, threshold: u32) -> ManagerConfig {
    ManagerConfig::new(GroupId(group), groups, 15, Span::from_us(1), Thresholds::fixed(threshold))
}

fn decided(config: &ManagerConfig, lengths: &[u32]) -> Vec<(u16, u32)> {
    let mut manager = Manager::try_new(config.clone()).expect("the bounds are possible");
    let waiting = lengths[config.group.index()];
    let migrations = manager.decide(Timestamp::ZERO, waiting, |other| {
        assert_ne!(other, config.group, "its own length it knows");
        lengths[other.index()]
    });
    migrations.iter().map(|&Migration { to, count }| (to.0, count)).collect()
}

fn described(config: &ManagerConfig, lengths: &[u32]) -> Vec<(u16, u32)> {
    let own = config.group.0;
    let waiting = lengths[usize::from(own)];
    let threshold = config.thresholds.at(0);
    if waiting <= threshold || lengths.len() < 2 {
        return Vec::new();
    }
    let mut sorted: Vec<(u32, u16)> = lengths.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let n = sorted.len();
    let is_hill = sorted[n - 1].0 - sorted[n - 2].0 >= config.bulk;
    let is_valley = !is_hill && sorted[1].0 - sorted[0].0 >= config.bulk;
    let to: Vec<u16> = if is_hill {
        let is_top = sorted[n - 1].1 == own;
        sorted.iter().take(if is_top { config.concurrency as usize } else { 0 }).map(|&(_, group)| group).collect()
    } else if is_valley {
        vec![sorted[0].1]
    } else {
        (0..n / 2).filter(|&rank| sorted[n - 1 - rank].1 == own).map(|rank| sorted[rank].1).collect()
    };
    let mut to: Vec<(u16, u32)> = to.into_iter().filter(|&group| group != own).map(|group| (group, 0)).collect();
    let (mut left, mut here) = ((waiting - threshold).min(config.bulk), waiting);
    loop {
        let before = left;
        for (group, count) in &mut to {
            let batch = (config.bulk / config.concurrency).min(left);
            let there = lengths[usize::from(*group)] + *count;
            if batch > 0 && here > there && here - there > config.bulk / config.concurrency {
                (*count, left, here) = (*count + batch, left - batch, here - batch);
            }
        }
        if left == before || left == 0 {
            return to.into_iter().filter(|&(_, count)| count > 0).collect();
        }
    }
}

#[test]
fn decisions_are_those_of_the_rules_and_keep_their_bounds() {
    let mut classes = [0_u32; 4];
    nebula_testing::seeded(|random| {
        let groups = random.int_in_range(1..=20_u16)?;
        let config = config(random.int_in_range(0..=groups - 1)?, groups, random.int_in_range(0..=30)?);
        let concurrency = random.int_in_range(1..=8)?;
        let config = config.bulk(concurrency * random.int_in_range(1..=4)?, concurrency);
        let spread = random.int_in_range(1..=60_u32)?;
        let mut lengths = Vec::new();
        for _ in 0..groups {
            lengths.push(random.int_in_range(0..=spread)?);
        }
        if random.ratio(1, 3)? {
            lengths[0] += random.int_in_range(0..=80)?;
        }
        let migrations = decided(&config, &lengths);
        assert_eq!(migrations, described(&config, &lengths), "{lengths:?}");
        let total: u32 = migrations.iter().map(|&(_, count)| count).sum();
        let waiting = lengths[config.group.index()];
        assert!(total <= config.bulk && total <= waiting.saturating_sub(config.thresholds.at(0)));
        assert!(migrations.len() <= config.concurrency as usize);
        assert!(
            migrations.iter().all(|&(to, count)| to != config.group.0 && lengths[usize::from(to)] + count < waiting)
        );
        if total > 0 {
            let class = Pattern::of(&lengths, config.bulk).map_or(3, |pattern| pattern as usize);
            classes[class] += 1;
        }
        Ok(())
    })
    .runs(600);
    assert!(classes[..3].iter().all(|&count| count > 0) && classes[3] == 0, "all patterns are met: {classes:?}");
}

#[test]
fn a_hill_sends_to_many_and_nobody_else_sends() {
    let lengths = [90, 12, 3, 5, 4, 2, 6, 7, 8, 9, 10, 11];
    let to = [(5, 2), (2, 2), (4, 2), (3, 2), (6, 2), (7, 2), (8, 2), (9, 2)];
    assert_eq!(decided(&config(0, 12, 10), &lengths), to);
    assert_eq!(decided(&config(1, 12, 10), &lengths), []);
}

#[test]
fn all_send_to_a_valley() {
    let lengths = [40, 44, 1, 42];
    for group in [0, 1, 3] {
        assert_eq!(decided(&config(group, 4, 30), &lengths), [(2, (lengths[usize::from(group)] - 30).min(16))]);
    }
    assert_eq!(decided(&config(2, 4, 0), &lengths), [], "the short one sends to nobody");
}

#[test]
fn pairs_are_longest_to_shortest() {
    let lengths = [40, 2, 35, 4, 20];
    assert_eq!(decided(&config(0, 5, 10), &lengths), [(1, 16)]);
    assert_eq!(decided(&config(2, 5, 10), &lengths), [(3, 16)]);
    assert_eq!(decided(&config(4, 5, 10), &lengths), [], "the one in the middle has no partner");
}

#[test]
fn a_difference_of_a_batch_is_not_worth_a_message() {
    assert_eq!(decided(&config(0, 2, 0), &[12, 10]), []);
    assert_eq!(decided(&config(0, 2, 0), &[13, 10]), [(1, 2)]);
}

#[test]
fn decisions_are_due_at_multiples_of_the_period() {
    let mut manager = Manager::try_new(config(0, 2, 10)).unwrap();
    let at = |ns| Timestamp::ZERO + Span::from_ns(ns);
    assert_eq!(manager.poll_timeout(), at(200));
    for (now, next) in [(200, 400), (390, 400), (400, 600), (1234, 1400)] {
        manager.decide(at(now), 0, |_| 0);
        assert_eq!(manager.poll_timeout(), at(next));
    }
}

#[test]
fn the_threshold_follows_the_load() {
    let row = |load_permille, waiting| ThresholdRow { load_permille, waiting };
    let trained = Thresholds::try_from_rows(vec![row(500, 70), row(1000, 90)]).unwrap();
    let mut manager = Manager::try_new(ManagerConfig { thresholds: trained, ..config(0, 2, 0) }).unwrap();
    assert_eq!(manager.threshold(), 70);
    (0..2000).for_each(|number| manager.handle_arrival(Timestamp::ZERO + Span::from_ns(number * 70)));
    assert!((945..960).contains(&manager.load_permille()), "{}", manager.load_permille());
    assert_eq!(manager.threshold(), 90);
}

#[test]
fn what_is_no_manager_is_refused() {
    assert!(matches!(config(2, 2, 0).validate(), Err(ManagerConfigError::Group { group: 2, groups: 2 })));
    assert!(matches!(config(0, 2, 0).bulk(4, 5).validate(), Err(ManagerConfigError::Bulk { .. })));
    assert_eq!(config(0, 2, 0).period(Span::ZERO).validate(), Err(ManagerConfigError::Period));
    assert!(Thresholds::try_from_rows(Vec::new()).is_err());
    let rows = [500, 500].map(|load_permille| ThresholdRow { load_permille, waiting: 1 });
    assert!(Thresholds::try_from_rows(rows.to_vec()).is_err());
}
