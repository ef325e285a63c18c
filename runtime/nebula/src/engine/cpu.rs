//! Stations 8 to 10, in real time: the connection of engine and workers, and the engine's turn.
//!
//! A worker with its own thread has a ring as completion queue, and a ring for freed slots back to
//! the engine. With `inline` there is no ring: the worker calls the engine.
//!
//! Next: [`reply`](crate::rpc::reply).

use super::turn::Engine;
use crate::nic::transport::Transport;
use nebula_nic::Timestamp;

impl<T: Transport> Engine<T> {
    /// One turn of an engine whose workers have their own threads. Returns whether it did anything.
    pub(crate) fn turn(&mut self) -> bool {
        let now = self.begin_turn();
        let freed = self.collect_freed(now);
        let packets = self.collect_messages(now) + self.poll_packets(now);
        self.sort(now);
        self.hand_out();
        self.hand_over(now);
        self.flush(now);
        self.end_turn(now, packets, freed);
        let is_idle = freed + packets == 0;
        if is_idle {
            self.rest(now, true);
        }
        !is_idle
    }

    pub(crate) fn run(mut self) {
        while !self.is_over() {
            self.turn();
        }
        self.finish();
    }

    /// Frees what workers have served. The thread that stops the server closes the connections.
    pub(crate) fn finish(&mut self) {
        let now = self.begin_turn();
        self.collect_freed(now);
        self.collect_messages(now);
        self.flush(now);
        self.publish_status(false);
    }

    fn collect_freed(&mut self, now: Timestamp) -> usize {
        let mut count = 0;
        for core in 0..self.links.len() {
            while let Some(freed) = self.links[core].freed.try_pop() {
                self.report.stolen += u64::from(freed.home.index() != core);
                self.report.steered += u64::from(freed.is_steered);
                self.free(now, freed);
                count += 1;
            }
        }
        count
    }
}
