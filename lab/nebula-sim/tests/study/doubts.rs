//! What makes figures doubtful.

use super::samples::{findings, found};
use nebula_sim::SearchEnd;
use nebula_sim::study::Ask;

#[test]
fn what_is_past_saturation_is_said_once() {
    let mut findings = findings(false);
    findings.found[3].figures.as_mut().unwrap().outcome.p99.value = 1e6;
    let said = "note: past saturation latencies grow with --rpcs, and so it is with <rss> at 20M, nebula at 20M RPC/s";
    assert_eq!(findings.doubts(), [said]);
}

#[test]
fn a_search_says_where_it_found_nothing_and_where_it_ended_too_soon() {
    let mut findings = findings(true);
    (findings.found[0].at_slo, findings.found[0].figures) = (None, None);
    findings.found[2].at_slo.as_mut().unwrap().end = SearchEnd::Highest;
    findings.found[3].at_slo.as_mut().unwrap().end = SearchEnd::Unsettled;
    findings.found[1].figures.as_mut().unwrap().outcome.is_precise = Some(false);
    let said = findings.doubts();
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[1].contains("<rss>: the rate is known to 1 % after"), "{said:?}");
    assert!(said[3].contains("nebula keeps the SLO up to 20M RPC/s, above which so few RPCs do not settle"));
    assert!(said[0].contains("<rss> keeps the SLO of 6.3 µs at no rate"));
    assert!(said[2].contains("nebula keeps the SLO at the highest rate that was tried, 5M"));
}

#[test]
fn a_point_says_where_no_load_is_enough_and_where_a_precision_was_not_reached() {
    let mut all = found(Ask::FindLoad);
    assert!(all.iter().all(|found| found.doubt().is_none()));
    (all[0].at_slo, all[0].figures) = (None, None);
    assert_eq!(all[0].doubt().unwrap(), "note: jbsq:2 keeps the SLO of 10 µs at no load");
    all[1].at_slo.as_mut().unwrap().end = SearchEnd::Highest;
    assert_eq!(all[1].doubt().unwrap(), "note: jbsq:2 keeps the SLO at the highest load that was tried, 0.9");
    all[1].at_slo.as_mut().unwrap().end = SearchEnd::Unsettled;
    let said =
        "note: jbsq:2 keeps the SLO up to a load of 0.9, above which so few RPCs do not settle; give more --rpcs";
    assert_eq!(all[1].doubt().unwrap(), said);
    all[2].point.effort.precision = Some(0.01);
    all[2].figures.as_mut().unwrap().outcome.is_precise = Some(false);
    let said = "note: rss: the load is known to 2 % after 4 replications, not to 1 %; give more --rpcs";
    assert_eq!(all[2].doubt().unwrap(), said);
    all[2].at_slo = None;
    let said = "note: rss at load 0.5: the p99 is known to 20 % after 4 replications, not to 1 %; give more --rpcs";
    assert_eq!(all[2].doubt().unwrap(), said);
    all[2].figures.as_mut().unwrap().outcome.is_unsettled = true;
    assert!(all[2].doubt().unwrap().starts_with("note: rss at load 0.5 is unsettled"), "{:?}", all[2].doubt());
}
