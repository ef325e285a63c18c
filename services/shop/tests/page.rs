//! docs/SERVICES.md shows code that is compiled and run: each of its blocks stands in an example or
//! in a test.

use std::path::Path;

/// Where the blocks stand.
const SOURCES: &[&str] = &[
    "services/shop/shop.proto",
    "services/shop/build.rs",
    "services/shop/src/main.rs",
    "services/shop/src/stock.rs",
    "testing/typed-tests/proto/every.proto",
    "testing/typed-tests/src/every_service.rs",
    "testing/typed-tests/tests/calls.rs",
    "testing/typed-tests/tests/cancelled.rs",
    "testing/typed-tests/tests/darc.rs",
    "testing/typed-tests/tests/streams.rs",
    "testing/typed-tests/tests/tasks.rs",
    "runtime/nebula-typed/tests/services.rs",
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_block_of_the_page_is_part_of_a_program() {
    let sources: Vec<String> = SOURCES.iter().map(|path| read(path)).collect();
    let page = read("docs/SERVICES.md");
    let blocks: Vec<&str> = page.split("\n```").skip(1).step_by(2).collect();
    assert!(blocks.len() >= 14, "the page has {} blocks", blocks.len());
    for block in blocks {
        let (_, code) = block.split_once('\n').expect("a language, then code");
        assert!(sources.iter().any(|source| source.contains(code)), "in none of the programs:\n{code}");
    }
}
