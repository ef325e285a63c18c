//! Compiles the schema of the section `typed`, where it is built.

#[cfg(feature = "typed")]
fn main() -> Result<(), nebula_build::Error> {
    nebula_build::compile("../crates/typed-tests/proto/echo.proto")
}

#[cfg(not(feature = "typed"))]
fn main() {}
