//! The ledger as a listener uses it: what one source waits for, whatever the others do.

use nebula_nic::ledger::Work;
use nebula_nic::{Ledger, Span};
use nebula_testing::seeded;
use std::collections::VecDeque;

const QUANTUM: Span = Span::from_us(60);
/// What a source may have before those above their share.
const FIRST: Span = Span::from_us(15);
/// The longest piece of work, which no visit ends within.
const PIECE: Span = Span::from_us(20);
const HONEST: u32 = 0;

fn time(time: Span) -> Work {
    Work { time, bytes: 0 }
}

/// A server at work: visits take their time one after the other.
struct Bench {
    ledger: Ledger,
    now: Span,
    used: Vec<Span>,
}

impl Bench {
    fn new(sources: u32) -> Self {
        Self { ledger: Ledger::new(sources, QUANTUM), now: Span::ZERO, used: vec![Span::ZERO; sources as usize] }
    }

    /// One visit, in which a source has `wants` or its allowance and a piece more.
    fn visit(&mut self, wants: impl FnOnce(u32) -> Span) -> Option<u32> {
        let visit = self.ledger.next_visit()?;
        let took = wants(visit.source).min(visit.allowance + PIECE);
        self.now += took;
        self.used[visit.source as usize] += took;
        self.ledger.charge(visit.source, time(took));
        Some(visit.source)
    }

    /// Visits until the honest source has had its own; returns how long that took.
    fn waits(&mut self, mut wants: impl FnMut(u32) -> Span, mut asks_again: impl FnMut(u32) -> bool) -> Span {
        let asked = self.now;
        loop {
            let source = self.visit(&mut wants).expect("it waits");
            if source == HONEST {
                return self.now - asked;
            }
            if asks_again(source) {
                self.ledger.ask(source);
            }
        }
    }
}

#[test]
fn who_asks_for_less_than_its_share_waits_for_one_visit_whatever_others_pipeline() {
    for attackers in [1, 8, 64, 1000] {
        let mut bench = Bench::new(attackers + 1);
        (1..=attackers).for_each(|attacker| bench.ledger.ask(attacker));
        let needs = Span::from_us(2);
        for asked in 0..200 {
            // The others have had more than newcomers, and then it asks for half of its share.
            let others_have = if asked == 0 { QUANTUM * 4 } else { needs * 2 };
            let next = bench.now + others_have * u64::from(attackers + 1);
            while bench.now < next {
                let source = bench.visit(|_| Span::MAX).expect("others always wait");
                bench.ledger.ask(source);
            }
            bench.ledger.ask(HONEST);
            let waited = bench.waits(|source| if source == HONEST { needs } else { Span::MAX }, |_| true);
            assert_eq!(waited, needs, "{attackers} attackers");
        }
    }
}

#[test]
fn however_others_ask_it_waits_for_a_quarter_of_a_quantum_of_each_at_most() {
    seeded(|u| {
        let attackers = u.int_in_range(1..=64_u32)?;
        let mut bench = Bench::new(attackers + 1);
        for _ in 0..100 {
            let next = bench.now + Span::from_us(2 * u64::from(attackers + 1) * u.int_in_range(2..=8)?);
            while bench.now < next {
                // Any of them is silent for a while, asks for little, or for all it can get.
                let asks = u.int_in_range(1..=attackers)?;
                bench.ledger.ask(asks);
                let wants = Span::from_us(u.int_in_range(1..=100)?);
                bench.visit(|_| wants);
            }
            (1..=attackers).filter(|_| u.arbitrary().unwrap_or(true)).for_each(|attacker| bench.ledger.ask(attacker));
            bench.ledger.ask(HONEST);
            let waited = bench.waits(|source| if source == HONEST { Span::from_us(2) } else { Span::MAX }, |_| true);
            let most = (FIRST + PIECE) * u64::from(attackers) + Span::from_us(2);
            assert!(waited <= most, "{waited} of {most} beside {attackers}");
        }
        Ok(())
    });
}

#[test]
fn sources_with_more_work_have_equal_times_however_long_a_piece_of_theirs_is() {
    let mut bench = Bench::new(4);
    (0..4).for_each(|source| bench.ledger.ask(source));
    for _ in 0..4000 {
        // The last one's pieces are sixteen quanta long, and no visit can end within.
        let visit = bench.ledger.next_visit().expect("all wait");
        let took = if visit.source == 3 { QUANTUM * 16 } else { visit.allowance };
        bench.used[visit.source as usize] += took;
        bench.ledger.charge(visit.source, time(took));
        bench.ledger.ask(visit.source);
    }
    let (least, most) = (bench.used.iter().min().expect("four"), bench.used.iter().max().expect("four"));
    assert!(most.as_ns() <= least.as_ns() * 5 / 4, "{:?}", bench.used);
}

#[test]
fn one_alone_has_everything_and_owes_nothing_when_another_comes() {
    let mut bench = Bench::new(2);
    bench.ledger.ask(1);
    for _ in 0..1000 {
        assert_eq!(bench.visit(|_| Span::MAX), Some(1));
        bench.ledger.ask(1);
    }
    bench.ledger.ask(0);
    let order: Vec<_> = (0..40)
        .map(|_| {
            let source = bench.visit(|_| Span::MAX).expect("both wait");
            bench.ledger.ask(source);
            source
        })
        .collect();
    let of_each = [0, 1].map(|source| order.iter().filter(|&&one| one == source).count());
    assert!(of_each[0].abs_diff(of_each[1]) <= 4, "{order:?}");
}

#[test]
fn bytes_count_like_time_and_a_visit_of_neither_counts_something() {
    let bytes = Work { time: Span::from_us(1), bytes: 250_000 };
    assert_eq!(bytes.cost(), Span::from_us(50));
    assert_eq!(Work { time: Span::from_us(51), ..bytes }.cost(), Span::from_us(51));
    let mut ledger = Ledger::new(2, QUANTUM);
    ledger.charge(1, time(QUANTUM));
    (0..2).for_each(|source| ledger.ask(source));
    let mut order = std::iter::repeat_with(|| {
        let visit = ledger.next_visit().expect("both wait");
        ledger.charge(visit.source, Work::default());
        ledger.ask(visit.source);
        visit.source
    });
    assert!(order.by_ref().take(1000).any(|source| source == 1), "one that does nothing hides the other");
}

#[test]
fn each_that_asks_is_visited_once_for_any_number_of_asks() {
    seeded(|u| {
        let mut ledger = Ledger::new(16, QUANTUM);
        let mut asked = [false; 16];
        for _ in 0..300 {
            let source = u.int_in_range(0..=15_u32)?;
            if u.arbitrary()? {
                ledger.ask(source);
                asked[source as usize] = true;
            } else {
                ledger.charge(source, time(Span::from_us(u.int_in_range(0..=200)?)));
            }
            assert_eq!(ledger.waiting() as usize, asked.iter().filter(|&&asked| asked).count());
            if u.ratio(1, 4)?
                && let Some(visit) = ledger.next_visit()
            {
                assert!(std::mem::take(&mut asked[visit.source as usize]), "{visit:?} had not asked");
            }
        }
        while let Some(visit) = ledger.next_visit() {
            assert!(std::mem::take(&mut asked[visit.source as usize]), "{visit:?} had not asked");
        }
        assert_eq!(asked, [false; 16]);
        Ok(())
    });
}

#[test]
fn one_that_was_above_its_share_is_visited_although_others_always_come_first() {
    let (mut ledger, heavy) = (Ledger::new(201, QUANTUM), 200);
    // Light ones: 150 always wait, and the others ask again after a while.
    let mut thinking: VecDeque<_> = (150..200).collect();
    (0..150).for_each(|source| ledger.ask(source));
    ledger.charge(heavy, time(QUANTUM));
    ledger.ask(heavy);
    let mut visits = 0;
    for _ in 0..20_000 {
        let visit = ledger.next_visit().expect("some wait");
        ledger.charge(visit.source, time(Span::from_us(2)));
        if visit.source == heavy {
            visits += 1;
            ledger.ask(heavy);
        } else {
            thinking.push_back(visit.source);
            thinking.pop_front().into_iter().for_each(|source| ledger.ask(source));
        }
    }
    // Its share would be 100.
    assert!((20..=200).contains(&visits), "{visits}");
}
