//! Compiles the schemas.

fn main() -> Result<(), nebula_build::Error> {
    nebula_build::compile("proto/nebula/health.proto")?;
    nebula_build::compile("proto/nebula/kv.proto")?;
    nebula_build::compile("proto/nebula/reflection.proto")
}
