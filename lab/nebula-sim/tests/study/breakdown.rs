//! Where time and bytes went, as tables.

use super::samples::findings;
use nebula_sim::study::blocks::breakdown::{CAUSES, time_rows, traffic_rows};

#[test]
fn the_time_has_a_column_each_stage_that_took_any() {
    let rows = time_rows(&findings(false));
    assert_eq!(rows.len(), 4);
    let headings = rows[0].headings();
    assert!(headings.contains(&"queue".to_owned()) && !headings.contains(&"state".to_owned()), "{headings:?}");
    assert_eq!(rows[0].texts()[..4], ["<rss>", "5M", "800 ns", "40 ns (5 %)"]);
}

#[test]
fn the_traffic_has_a_row_each_part_and_their_sum() {
    let rows = traffic_rows(&findings(false));
    assert_eq!(rows.len(), 4 * 7, "six parts of seven moved, and all of them");
    assert_eq!(rows[0].headings()[3..7], CAUSES[..4]);
    assert_eq!(rows[0].texts()[2..], ["payload", "1.00", "2.00", "3.00", "4.00", "10.00", "1.83"]);
    assert_eq!(rows[6].texts()[2..], ["all", "6.00", "12.00", "18.00", "24.00", "60.00", "11.00"]);
}

#[test]
fn what_keeps_the_slo_at_no_rate_has_no_rows() {
    let mut findings = findings(true);
    findings.found.iter_mut().for_each(|found| found.figures = None);
    assert!(time_rows(&findings).is_empty() && traffic_rows(&findings).is_empty());
}

#[test]
fn the_bandwidth_of_all_blocks_is_that_of_dram() {
    let found = findings(false).found;
    let figures = found[0].figures.as_ref().unwrap();
    assert!((figures.gb_per_s_of_block() * figures.blocks_per_rpc.value - 11.0).abs() < 1e-9);
}
