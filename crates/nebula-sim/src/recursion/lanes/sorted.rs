//! Any service times on some cores: when each core is free, in order.
//!
//! An RPC takes the first of these times away and puts in when it ends. In order again, each time is then the one that stood there, or the one
//! behind it, or the new one between the two: `min(next, max(here, ended))`. That is one look at each core, but without a branch, without
//! an address that depends on a time, and so in vectors of lanes.

use super::{BLOCK, Counts, Each, LANES, Serve, Services, earlier, later};

pub(super) struct Sorted<'a> {
    services: Services<'a>,
    /// When the cores are free, the first one first, and behind them a group at least of times that never come.
    free: Box<[Group]>,
}

/// Cores of a step: the compiler makes one vector of the lanes of each.
const GROUP: usize = 8;

/// Times of so many cores, each row of lanes in one cache line.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Group([Each<f64>; GROUP]);

const NEVER: f64 = f64::INFINITY;

impl<'a> Sorted<'a> {
    /// All cores free at 0.
    pub(super) fn new(cores: u16, services: Services<'a>) -> Self {
        let mut free = vec![Group([[NEVER; LANES]; GROUP]); usize::from(cores).div_ceil(GROUP) + 1];
        free.iter_mut().flat_map(|group| &mut group.0).take(usize::from(cores)).for_each(|core| *core = [0.0; LANES]);
        Self { services, free: free.into() }
    }
}

impl Serve for Sorted<'_> {
    #[inline(always)]
    fn serve(&mut self, arrived: &[Each<f64>; BLOCK], counts: &mut Counts) {
        let mut times = [[0.0; LANES]; BLOCK];
        self.services.next(&mut times);
        for index in 0..BLOCK / 2 {
            let [first, second] = [2 * index, 2 * index + 1];
            let ended = end(&arrived[first], &self.free[0].0[0], &mut times[first]);
            // What stands first when that has been put in.
            let mut free = self.free[0].0[0];
            between(&mut free, &ended, &self.free[0].0[1]);
            let then_ended = end(&arrived[second], &free, &mut times[second]);
            put(&mut self.free, &ended, &then_ended);
        }
        counts.note(&times);
    }
}

/// When an RPC ends whose core is `free` at some time. `time` is its service, and then its latency.
#[inline(always)]
fn end(arrived: &Each<f64>, free: &Each<f64>, time: &mut Each<f64>) -> Each<f64> {
    let mut ended = [0.0; LANES];
    for lane in 0..LANES {
        ended[lane] = later(arrived[lane], free[lane]) + time[lane];
        time[lane] = ended[lane] - arrived[lane];
    }
    ended
}

/// Takes the first of the sorted times away and puts `one` in, and the same again with `other`.
#[inline(always)]
fn put(free: &mut [Group], one: &Each<f64>, other: &Each<f64>) {
    // An end that depends on what is found, and eight calls instead of a loop: of loops the compiler would make vectors of cores.
    let mut group = 0;
    // What stands in the next place when `one` has been put in.
    let mut here = free[0].0[0];
    between(&mut here, one, &free[0].0[1]);
    while free[group].0[0][0] < NEVER {
        let behind = [free[group + 1].0[0], free[group + 1].0[1]];
        let [a, b, c, d, e, f, g, h] = &mut free[group].0;
        put_both(a, &mut here, [b, c], one, other);
        put_both(b, &mut here, [c, d], one, other);
        put_both(c, &mut here, [d, e], one, other);
        put_both(d, &mut here, [e, f], one, other);
        put_both(e, &mut here, [f, g], one, other);
        put_both(f, &mut here, [g, h], one, other);
        put_both(g, &mut here, [h, &behind[0]], one, other);
        put_both(h, &mut here, [&behind[0], &behind[1]], one, other);
        group += 1;
    }
}

/// What stands in a place after both have been put in. `here` is what stands in it after `one` has been put in, and then the same of the next place.
#[inline(always)]
fn put_both(
    place: &mut Each<f64>,
    here: &mut Each<f64>,
    [next, behind]: [&Each<f64>; 2],
    one: &Each<f64>,
    other: &Each<f64>,
) {
    let mut then = *next;
    between(&mut then, one, behind);
    *place = *here;
    between(place, other, &then);
    *here = then;
}

/// What stands in a place after `ended` has been put in, given what stood `here` and behind.
#[inline(always)]
fn between(here: &mut Each<f64>, ended: &Each<f64>, behind: &Each<f64>) {
    for lane in 0..LANES {
        here[lane] = earlier(behind[lane], later(here[lane], ended[lane]));
    }
}
