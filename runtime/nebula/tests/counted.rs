//! Tests that count the allocations of each thread.

#[path = "udp_network/main.rs"]
mod udp_network;

mod support;
mod udp_hostile;
mod udp_no_allocation;

use nebula_testing::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();
