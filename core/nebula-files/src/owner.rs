//! Files that other users can write, or read.

use std::fs::Metadata;

/// What users other than the owner may do with a file; none may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Read it.
    MayRead,
    /// Nothing: it is secret.
    MayNothing,
}

/// Why other users may have written a file, or read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.why())]
pub enum Exposed {
    /// It is theirs.
    Owner,
    /// Its mode lets them write.
    Written,
    /// Its mode lets them read a secret.
    Read,
}

impl Exposed {
    /// The reason in words.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::Owner => "it belongs to another user",
            Self::Written => "others can write it",
            Self::Read => "others can read it",
        }
    }
}

/// Checks that a file belongs to this process's user or to root, and is closed to others.
///
/// # Errors
///
/// It does not, or is not.
#[cfg(unix)]
pub fn check_owner(about: &Metadata, others: Others) -> Result<(), Exposed> {
    use std::os::unix::fs::MetadataExt;
    if ![0, rustix::process::geteuid().as_raw()].contains(&about.uid()) {
        return Err(Exposed::Owner);
    }
    match (about.mode(), others) {
        (mode, _) if mode & 0o022 != 0 => Err(Exposed::Written),
        (mode, Others::MayNothing) if mode & 0o077 != 0 => Err(Exposed::Read),
        _ => Ok(()),
    }
}

/// Where files have no owners.
#[cfg(not(unix))]
pub fn check_owner(_: &Metadata, _: Others) -> Result<(), Exposed> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_ours_if_nobody_else_can_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let check = |mode, others| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            check_owner(&fs::metadata(&path).unwrap(), others)
        };
        assert_eq!(check(0o644, Others::MayRead), Ok(()));
        assert_eq!(check(0o600, Others::MayNothing), Ok(()));
        for mode in [0o640, 0o604] {
            assert_eq!(check(mode, Others::MayNothing), Err(Exposed::Read));
        }
        for mode in [0o664, 0o646] {
            assert_eq!(check(mode, Others::MayRead), Err(Exposed::Written));
        }
        // Root's file is believed by all. Only root can give one to somebody else.
        assert_eq!(check_owner(&fs::metadata("/etc/passwd").unwrap(), Others::MayRead), Ok(()));
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
            assert_eq!(check(0o600, Others::MayRead), Err(Exposed::Owner));
        }
    }
}
