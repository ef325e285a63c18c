//! The address map: block → channel, bank, row.
//!
//! Consecutive blocks go to consecutive channels and, within a channel, fill a row before the next
//! bank. The row's bits are XORed into bank and channel, which spreads strides of a power of two.

use crate::block::Block;
use crate::config::DramConfig;
use crate::modulus::Modulus;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Over all ranks: `rank × banks + bank`.
    pub(super) bank: u32,
    pub(super) row: u32,
}

pub(super) struct Map {
    channels: Modulus,
    column_bits: u32,
    bank_bits: u32,
    bank_mask: u32,
}

impl Map {
    pub(super) const fn new(config: &DramConfig) -> Self {
        let banks = config.ranks * config.banks;
        let columns = config.row_bytes / Block::BYTES;
        Self {
            channels: Modulus::new(config.channels),
            column_bits: columns.trailing_zeros(),
            bank_bits: banks.trailing_zeros(),
            bank_mask: banks - 1,
        }
    }

    /// The channel of a block and its location there. No two blocks share a location and a column.
    #[inline]
    pub(super) fn place(&self, block: Block) -> (usize, Place) {
        let spread = |within: u32| (within >> 4 ^ within >> 9 ^ within >> 15) % 1024;
        // One decision for three divisions.
        let (within, channel) = match self.channels.as_power_of_two() {
            Some((shift, mask)) => {
                let within = block.0 >> shift;
                (within, ((block.0 & mask) + spread(within)) & mask)
            }
            None => {
                let within = self.channels.quotient(block.0);
                let lane = self.channels.remainder(block.0);
                (within, self.channels.remainder(lane + spread(within)))
            }
        };
        let above = within >> self.column_bits;
        let row = above >> self.bank_bits;
        let bank = (above ^ row ^ (row >> self.bank_bits)) & self.bank_mask;
        (channel as usize, Place { bank, row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::tests::config;
    use std::collections::BTreeMap;

    #[test]
    fn a_row_of_a_bank_holds_its_blocks_and_no_more() {
        for channels in [1, 2, 3, 6] {
            let config = DramConfig { channels, ..config() };
            let map = Map::new(&config);
            let mut held = BTreeMap::new();
            let blocks = channels * config.ranks * config.banks * 128 * 4;
            for block in 0..blocks {
                let (channel, place) = map.place(Block(block));
                *held.entry((channel, place.bank, place.row)).or_insert(0) += 1;
            }
            assert_eq!(held.len(), blocks as usize / 128, "{channels} channels");
            assert!(held.values().all(|&blocks| blocks == 128), "{channels} channels");
        }
    }

    #[test]
    fn strides_of_a_power_of_two_reach_all_banks() {
        let map = Map::new(&config());
        for shift in 0..16 {
            let reached: std::collections::BTreeSet<_> =
                (0..16384).map(|i| map.place(Block(i << shift)).1.bank).collect();
            assert_eq!(reached.len(), 32, "stride 2^{shift}");
        }
    }
}
