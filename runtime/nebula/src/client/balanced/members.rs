//! The list of servers. A thread asks each resolver, as often as the resolver wants.

use crate::endpoint::{Listed, Resolve, ResolveError, Resolved};
use nebula_nic::Span;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

const AGAIN: Duration = Duration::from_secs(1);
const EVERY_MIN: Span = Span::from_ms(100);

#[derive(Debug)]
pub(super) struct Members {
    fixed: Vec<Listed>,
    found: Vec<Vec<Listed>>,
    silent: Vec<bool>,
    news: Receiver<(usize, Result<Vec<Listed>, ResolveError>)>,
    /// The threads end when these are dropped.
    _alive: Vec<Sender<()>>,
    error: Option<ResolveError>,
}

impl Members {
    pub(super) fn new(fixed: Vec<Listed>, resolvers: Vec<Box<dyn Resolve>>) -> io::Result<Self> {
        let ((tell, news), count) = (channel(), resolvers.len());
        let mut alive = Vec::new();
        for (number, resolver) in resolvers.into_iter().enumerate() {
            let (stay, leave) = channel();
            alive.push(stay);
            let tell = tell.clone();
            let builder = std::thread::Builder::new().name("nebula-resolve".to_owned());
            builder.spawn(move || ask(number, resolver, &tell, &leave))?;
        }
        Ok(Self { fixed, found: vec![Vec::new(); count], silent: vec![true; count], news, _alive: alive, error: None })
    }

    /// The servers, once every resolver has answered, or none has for `patience`.
    pub(super) fn first(&mut self, patience: Duration) -> Result<Vec<Listed>, Option<ResolveError>> {
        while self.silent.contains(&true)
            && let Ok(news) = self.news.recv_timeout(patience)
        {
            self.note(news);
        }
        let endpoints = self.all();
        if endpoints.is_empty() { Err(self.error.take()) } else { Ok(endpoints) }
    }

    pub(super) fn changed(&mut self) -> Option<Vec<Listed>> {
        let mut has_changed = false;
        while let Ok(news) = self.news.try_recv() {
            has_changed |= self.note(news);
        }
        // Outdated servers are better than none.
        has_changed.then(|| self.all()).filter(|endpoints| !endpoints.is_empty())
    }

    fn note(&mut self, (number, found): (usize, Result<Vec<Listed>, ResolveError>)) -> bool {
        self.silent[number] = false;
        match found {
            Ok(endpoints) => std::mem::replace(&mut self.found[number], endpoints) != self.found[number],
            Err(error) => {
                self.error = Some(error);
                false
            }
        }
    }

    fn all(&self) -> Vec<Listed> {
        let mut all: Vec<Listed> = Vec::new();
        for endpoint in self.fixed.iter().chain(self.found.iter().flatten()) {
            if !all.iter().any(|known| known.endpoint == endpoint.endpoint) {
                all.push(endpoint.clone());
            }
        }
        all
    }
}

fn ask(
    number: usize,
    mut resolver: Box<dyn Resolve>,
    tell: &Sender<(usize, Result<Vec<Listed>, ResolveError>)>,
    leave: &Receiver<()>,
) {
    loop {
        let found = resolver.resolve();
        let again = match &found {
            Ok(Resolved { valid_for, .. }) if *valid_for == Span::MAX => Duration::MAX,
            Ok(Resolved { valid_for, .. }) => Duration::from_nanos((*valid_for).max(EVERY_MIN).as_ps() / 1000),
            Err(_) => AGAIN,
        };
        if tell.send((number, found.map(|found| found.endpoints))).is_err() {
            return;
        }
        let is_over = if again == Duration::MAX {
            leave.recv().is_err()
        } else {
            !matches!(leave.recv_timeout(again), Err(RecvTimeoutError::Timeout))
        };
        if is_over {
            return;
        }
    }
}
