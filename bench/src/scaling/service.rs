//! The service: computes for the time in the request, and sends an empty reply.

use nebula::Reply;
use nebula_sys::clock::Clock;

pub fn request(ps: u64) -> [u8; 8] {
    ps.to_le_bytes()
}

pub fn computing(clock: Clock) -> impl Fn(&[u8], &mut Reply<'_>) + Send + Sync + 'static {
    move |request, reply| {
        let ps = request.try_into().map_or(0, u64::from_le_bytes);
        if ps > 0 {
            let until = clock.ticks() + clock.ticks_of(ps);
            while clock.ticks() < until {
                std::hint::spin_loop();
            }
        }
        reply.write(&[]);
    }
}
