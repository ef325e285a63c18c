//! The example says what it is to say.

#[test]
fn it_runs() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_shop")).output().expect("the example");
    assert!(output.status.success(), "{output:?}");
    let lines = [
        "item 7 costs 450 cents, 10 left",
        "two cost 900 cents",
        "eleven of item 9: FAILED_PRECONDITION: only 10 left",
        "found item 7: green tea",
        "found item 8: black tea",
        "sold for 900 cents",
    ];
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), lines);
}
