//! Checks every dependency's license against the list in `deny.toml`.
//!
//! `cargo deny` does this and more, and is used if it is installed. Building it takes minutes, so
//! elsewhere (in CI too) only the list is checked, from `cargo metadata`.

use spdx::{Expression, ParseMode};
use toml::Table;

use super::Ending;
use super::metadata::{self, Package};
use crate::shell::{Failure, Shell, files, run};

pub(super) fn check(shell: &Shell) -> Result<Ending, Failure> {
    let manifests = shell.manifests();
    if shell.has("cargo-deny", &["--version"]) {
        for manifest in manifests {
            let deny = ["deny", "--manifest-path", manifest, "check", "--config", "deny.toml"];
            run(shell.cargo(&deny).args(["bans", "licenses", "sources"]))?;
        }
        return Ok(Ending::Passed);
    }
    let allowed = allowed(shell)?;
    for manifest in manifests {
        let mut packages = metadata::packages(shell, &["--manifest-path", manifest])?;
        packages.retain(|package| package.source.is_some());
        let refused: Vec<_> = packages.iter().filter_map(|package| refusal(package, &allowed)).collect();
        println!("{manifest}: {} packages, {} with a license not on the list", packages.len(), refused.len());
        if !refused.is_empty() {
            return Err(Failure::new(refused.join("; ")));
        }
    }
    Ok(Ending::Passed)
}

fn refusal(package: &Package, allowed: &[String]) -> Option<String> {
    let Package { name, version, license, .. } = package;
    let Some(license) = license else { return Some(format!("{name} {version} names no license")) };
    // An exception only ever permits more than its license does.
    let is_allowed = |id: &str| allowed.iter().any(|allowed| allowed == id);
    match Expression::parse_mode(license, ParseMode::LAX) {
        Ok(parsed) if parsed.evaluate(|one| one.license.id().is_some_and(|id| is_allowed(id.name))) => None,
        Ok(_) => Some(format!("{name} {version} is under `{license}`, which deny.toml does not allow")),
        Err(_) => Some(format!("{name} {version} has a license that cannot be read: `{license}`")),
    }
}

fn allowed(shell: &Shell) -> Result<Vec<String>, Failure> {
    let text = files::read(shell.root().join("deny.toml"))?;
    let listed = allow_list(&text);
    if listed.is_empty() { Err(Failure::new("deny.toml has no list `allow` under [licenses]")) } else { Ok(listed) }
}

fn allow_list(deny_toml: &str) -> Vec<String> {
    let table: Table = deny_toml.parse().unwrap_or_default();
    let listed = table.get("licenses").and_then(|licenses| licenses.get("allow")?.as_array());
    listed.into_iter().flatten().filter_map(|id| id.as_str()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str = "[bans]\nallow = [\n  \"not-this\",\n]\n[licenses]\nversion = 2\nallow = [\n  \"MIT\", # why\n  # no\n  \"ISC\",\n]\n";

    fn package(license: Option<&str>) -> Package {
        Package {
            name: "p".into(),
            version: "1.0.0".into(),
            license: license.map(str::to_owned),
            source: Some("registry".into()),
            publish: None,
        }
    }

    #[test]
    fn the_list_is_the_one_under_licenses() {
        assert_eq!(allow_list(DENY), ["MIT", "ISC"]);
    }

    #[test]
    fn a_listed_license_passes_and_others_are_named() {
        let allowed = allow_list(DENY);
        assert_eq!(refusal(&package(Some("MIT OR GPL-3.0")), &allowed), None);
        assert!(refusal(&package(Some("MIT AND GPL-3.0")), &allowed).expect("not allowed").contains("GPL-3.0"));
        assert!(refusal(&package(None), &allowed).expect("not allowed").contains("names no license"));
        assert!(refusal(&package(Some("MIT OR")), &allowed).expect("not allowed").contains("cannot be read"));
    }

    #[test]
    fn every_part_of_a_conjunction_and_one_alternative_have_to_be_allowed() {
        let is_allowed =
            |license| refusal(&package(Some(license)), &["MIT", "Apache-2.0"].map(str::to_owned)).is_none();
        for license in [
            "GPL-3.0/MIT",
            "(MIT OR NCSA) AND Apache-2.0",
            "MIT OR GPL-3.0 AND NCSA",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(is_allowed(license), "{license}");
        }
        for license in
            ["GPL-2.0 OR GPL-3.0", "(MIT OR Apache-2.0) AND NCSA", "", "(MIT", "MIT Apache-2.0", "MIT WITH", "MIT)"]
        {
            assert!(!is_allowed(license), "{license}");
        }
    }
}
