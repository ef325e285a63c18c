//! Compiles the schemas of the tests, each version of one into a folder for itself.

use std::error::Error;
use std::path::Path;

const VERSIONS: &[&str] = &["base", "appended", "retyped", "reordered", "reencoded", "renumbered", "shrunk"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = std::env::var("OUT_DIR")?;
    nebula_build::Config::default()
        .descriptors(Path::new(&out).join("every.descriptors"))
        .compile("proto/every.proto")?;
    nebula_build::compile("proto/echo.proto")?;
    for version in VERSIONS {
        let folder = Path::new(&out).join(version);
        std::fs::create_dir_all(&folder)?;
        nebula_build::Config::default().out_dir(folder).compile(format!("proto/versions/{version}/store.proto"))?;
    }
    Ok(())
}
