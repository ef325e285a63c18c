//! Scales from the open cells' 180 nm to 22 nm, by rules of thumb.
//!
//! | what | rule | why |
//! |---|---|---|
//! | delay | × 1/8 | the delay of an inverter that drives four others is about 0.36 ns for each micrometer of gate length |
//! | area | × (22/180)² | both sides of a cell shrink with the gate length |
//! | energy of a transition | × 1/8 × (0.8 V / 1.8 V)² | capacitance goes with length, energy with the square of the supply |
//!
//! They hold within some 30 %, without wires, which shrink less, and leakage, which grows.

/// The area of a NAND with two inputs, the unit of gates.
pub(super) const NAND2_UM2: f64 = 24.0;
/// The clock at which power is estimated, in GHz: one decision each half nanosecond, 64 B packets
/// at 1 Tbps.
pub(super) const GOAL_GHZ: f64 = 2.0;
/// The clock's period in the timing script.
pub(super) const SCRIPT_PERIOD_NS: f64 = 10.0;

const DELAY: f64 = 1.0 / 8.0;
const VOLTS: f64 = 0.8 / 1.8;
const LENGTH: f64 = 22.0 / 180.0;

/// Gate equivalents of an area at 180 nm.
pub(super) fn gates(um2: f64) -> f64 {
    um2 / NAND2_UM2
}

pub(super) fn mm2_at_22nm(gates: f64) -> f64 {
    gates * NAND2_UM2 * LENGTH * LENGTH / 1e6
}

pub(super) fn ns_at_22nm(ns: f64) -> f64 {
    ns * DELAY
}

pub(super) fn ghz_at_22nm(path_ns: f64) -> f64 {
    1.0 / ns_at_22nm(path_ns)
}

/// Switching power at [`GOAL_GHZ`], from the power at 180 nm and the script's clock.
pub(super) fn mw_at_22nm(watts: f64) -> f64 {
    watts * 1e3 * GOAL_GHZ * SCRIPT_PERIOD_NS * DELAY * VOLTS * VOLTS
}

/// The most that a gate at 180 nm spends in a cycle, in pJ: one that drives four others and
/// switches each cycle.
///
/// OpenSTA adds up how often the inputs of a cell switch. Through the XORs of a multiplier that sum
/// doubles at each level, to thousands of switches a cycle: such a figure is invalid.
const PJ_PER_GATE_MAX: f64 = 0.1;

/// Whether as many gates can spend these watts at the script's clock.
pub(super) fn is_possible(watts: f64, gates: f64) -> bool {
    watts * SCRIPT_PERIOD_NS * 1e3 <= gates * PJ_PER_GATE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_transition_a_gate_and_cycle_is_not_possible() {
        assert!(is_possible(10e-6, 1.0) && !is_possible(10.1e-6, 1.0));
    }

    #[test]
    fn four_nanoseconds_at_180_nm_are_two_gigahertz_at_22() {
        assert!((ghz_at_22nm(4.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_gate_is_a_third_of_a_square_micrometer_at_22_nm() {
        assert!((mm2_at_22nm(1e6) - 0.3585).abs() < 1e-3);
    }

    #[test]
    fn power_goes_with_the_clock_and_the_square_of_the_supply() {
        assert!((mw_at_22nm(1e-3) - 20.0 / 8.0 * 0.8 * 0.8 / (1.8 * 1.8)).abs() < 1e-9);
    }
}
