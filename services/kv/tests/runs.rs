//! The example says what it is to say.

#[test]
fn it_runs() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_kv")).output().expect("the example");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "tea is green\nthen: NOT_FOUND: no such key\n");
}
