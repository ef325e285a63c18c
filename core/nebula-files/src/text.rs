//! Text of unknown length, read as it comes.

use std::fs::File;
use std::io::{Read, Result, Take};
use std::path::Path;

use crate::regular::{open, refused};

/// The longest line. Recorded times take some bytes, rows of logs some hundred; a result may have a
/// long list.
const LINE_BYTES_MAX: usize = 16 << 20;
/// The most of a pipe, which may not end, and of a text that is kept as a whole: some hundred
/// million recorded times.
const BYTES_MAX: u64 = 1 << 30;

/// Reads the text of [`lines`]; what is no text, or does not end, is an error.
#[derive(Debug)]
pub struct Lines {
    file: Take<File>,
    /// Bytes of the latest line.
    line_bytes: usize,
    is_pipe: bool,
}

/// Opens a regular file or a pipe that has lines of text, to be read as a stream.
///
/// # Errors
///
/// It cannot be opened, or is a device, socket or folder. Reading fails within a line of more than
/// 16 MiB, and where a pipe has more than a gibibyte.
pub fn lines(path: &Path) -> Result<Lines> {
    let is_pipe = is_pipe(&std::fs::metadata(path)?);
    // Opening a pipe waits for its writer, which may come later.
    let file = if is_pipe { File::open(path)? } else { open(path)? };
    let bytes_max = if is_pipe { BYTES_MAX } else { file.metadata()?.len() };
    Ok(Lines { file: file.take(bytes_max), line_bytes: 0, is_pipe })
}

/// The text of a regular file or a pipe.
///
/// # Errors
///
/// As [`lines`]; it has more than a gibibyte, or is no UTF-8.
pub fn text(path: &Path) -> Result<String> {
    whole(lines(path)?)
}

/// The text of an open regular file.
///
/// # Errors
///
/// As [`text`].
pub fn text_of(file: File) -> Result<String> {
    let bytes_max = file.metadata()?.len();
    whole(Lines { file: file.take(bytes_max), line_bytes: 0, is_pipe: false })
}

fn whole(mut lines: Lines) -> Result<String> {
    if lines.file.limit() > BYTES_MAX {
        return Err(refused("it is longer than 1 GiB"));
    }
    let mut text = String::new();
    lines.read_to_string(&mut text)?;
    Ok(text)
}

impl Read for Lines {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let bytes = self.file.read(to)?;
        if bytes == 0 && self.is_pipe && self.file.limit() == 0 && !to.is_empty() {
            return Err(refused("it does not end"));
        }
        let mut lines = to[..bytes].split(|&byte| byte == b'\n').map(<[u8]>::len);
        let first = self.line_bytes + lines.next().unwrap_or(0);
        let (longest, last) = lines.fold((first, first), |(longest, _), line| (longest.max(line), line));
        self.line_bytes = last;
        if longest > LINE_BYTES_MAX { Err(refused("a line of it is longer than 16 MiB")) } else { Ok(bytes) }
    }
}

#[cfg(unix)]
fn is_pipe(about: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{Write, copy, sink};

    fn read(path: &Path) -> Result<u64> {
        copy(&mut lines(path)?, &mut sink())
    }

    #[test]
    fn text_is_read_and_what_never_ends_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "1\n".repeat(LINE_BYTES_MAX)).unwrap();
        assert_eq!(read(&file).unwrap(), 2 * LINE_BYTES_MAX as u64);
        assert_eq!(text(&file).unwrap().len(), text_of(File::open(&file).unwrap()).unwrap().len());
        File::options().write(true).open(&file).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert!(text(&file).unwrap_err().to_string().contains("longer than 1 GiB"));
        std::fs::write(&file, vec![0; LINE_BYTES_MAX + 1]).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("longer than 16 MiB"));
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("no regular file"));
    }

    #[test]
    fn a_pipe_is_read_to_its_end_if_it_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for (line, ends) in [("1\n", true), ("1", false)] {
            let path = pipe.clone();
            let writer = std::thread::spawn(move || {
                let mut to = File::options().write(true).open(path).unwrap();
                (0..LINE_BYTES_MAX / 32).any(|_| to.write_all(&line.repeat(64).into_bytes()).is_err())
            });
            assert_eq!(read(&pipe).is_ok(), ends);
            assert_eq!(writer.join().unwrap(), !ends, "the rest has no reader");
        }
    }
}
