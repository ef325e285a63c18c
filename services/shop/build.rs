//! Compiles the schema.

fn main() -> Result<(), nebula_build::Error> {
    nebula_build::compile("shop.proto")
}
