//! A program that runs beside this one.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};

use super::{Attempt, Failure, line_of};

/// A program that ends with this value: by the end of its input where it reads from us, else it is
/// killed.
pub struct Running {
    child: Child,
    /// What it has said on those of its streams that lead to us.
    said: Receiver<String>,
}

impl Running {
    /// Starts a program. What it says is read at once, so that it never waits for a reader.
    pub fn start(command: &mut Command) -> Result<Self, Failure> {
        let mut child = command.spawn().attempt(format!("start `{}`", line_of(command)))?;
        let (says, said) = channel();
        let out = child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>);
        let err = child.stderr.take().map(|err| Box::new(err) as Box<dyn Read + Send>);
        for stream in out.into_iter().chain(err) {
            let says = says.clone();
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            // Nobody reads on where this value is gone.
            std::thread::spawn(move || lines.for_each(|line| drop(says.send(line))));
        }
        Ok(Self { child, said })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line with these words; what follows them.
    pub fn says(&self, words: &str) -> Result<String, Failure> {
        let found = self.said.iter().find_map(|line| line.split_once(words).map(|(_, rest)| rest.to_owned()));
        found.ok_or_else(|| Failure(format!("process {} ended before it said `{words}`", self.id())))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        match self.child.stdin.take() {
            Some(input) => drop(input),
            // One that has ended already needs no end.
            None => drop(self.child.kill()),
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn what_a_program_says_is_heard_line_by_line_until_it_ends() {
        let mut echo = Command::new("printf");
        echo.args(["no\\nready a\\nready b\\n"]).stdout(Stdio::piped());
        let echo = Running::start(&mut echo).expect("it starts");
        assert_eq!(["ready ", "ready "].map(|words| echo.says(words).expect("it is ready")), ["a", "b"]);
        assert!(echo.says("ready ").is_err());
    }

    #[test]
    fn a_program_ends_with_its_value() {
        let programs = [Command::new("cat").stdin(Stdio::piped()), Command::new("sleep").arg("60")].map(Running::start);
        for program in programs {
            let program = program.expect("it starts");
            let process = format!("/proc/{}", program.id());
            drop(program);
            assert!(!std::path::Path::new(&process).exists());
        }
    }
}
