//! A log of a service: how long each RPC took, and at which endpoint.

use std::cell::Cell;
use std::io::Read;

use nebula_nic::Span;

use crate::column::{self, Column, Unit};
use crate::error::WorkloadError;
use crate::service::ServiceTime;

/// The times of a log, by endpoint.
///
/// # Examples
///
/// ```
/// use nebula_workload::ServiceLog;
///
/// let log = ServiceLog::read("prod.csv", None, "endpoint,took_us\nget,1\nget,3\nscan,500\n".as_bytes())?;
/// assert_eq!((log.count(), log.endpoints().len()), (3, 2));
/// assert_eq!(log.service()?.mean_ps(), 168e6);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceLog {
    file: String,
    column: String,
    unit: Unit,
    endpoints: Vec<Endpoint>,
}

/// The RPCs of one endpoint, or of all if the log has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// Its name; empty if the log has none.
    pub name: String,
    /// How long each of its RPCs took; never empty.
    pub times: Vec<Span>,
}

/// Names of the column with the endpoint, in logs of many makers.
const ENDPOINT: [&str; 8] = ["endpoint", "method", "operation", "op", "rpc", "route", "path", "type"];

/// The most endpoints, so that a column of identifiers is not taken for one.
const ENDPOINTS_MAX: usize = 64;

impl ServiceLog {
    /// Reads the log called `file`: its times are in `column`, or in the only one whose name ends
    /// in a unit. Keeps every time, at 8 B each.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::SampleLine`] for a line without a time, [`WorkloadError::SampleFile`] for a
    /// source that cannot be read, that has no such column, no times, or more than 64 endpoints.
    pub fn read(file: &str, column: Option<&Column>, source: impl Read) -> Result<Self, WorkloadError> {
        // The header, which has the place of the endpoint, is read before the first time is taken.
        let endpoint_at = Cell::new(None);
        let mut place = None;
        let mut endpoints: Vec<Endpoint> = Vec::new();
        let begin = |found: &column::Place, header: &[String]| {
            let is_endpoint = |name: &String| ENDPOINT.contains(&name.to_ascii_lowercase().as_str());
            endpoint_at.set(header.iter().position(is_endpoint));
            place = Some(found.clone());
        };
        let take = |ps: u128, line: &csv::ByteRecord| {
            let span = Span::from_ps(u64::try_from(ps).map_err(|_| "no service time is longer than 213 days")?);
            let name = endpoint_at.get().and_then(|at| line.get(at)).unwrap_or_default();
            let name = String::from_utf8_lossy(name);
            match endpoints.iter().position(|endpoint| endpoint.name == name) {
                Some(index) => endpoints[index].times.push(span),
                None if endpoints.len() == ENDPOINTS_MAX => return Err("there are more than 64 endpoints"),
                None => endpoints.push(Endpoint { name: name.into_owned(), times: vec![span] }),
            }
            Ok(())
        };
        column::read_lines(file, column, source, begin, take)?;
        let Some(place) = place.filter(|_| !endpoints.is_empty()) else {
            return Err(WorkloadError::sample_file(file, "used", "it holds no service time"));
        };
        Ok(Self { file: file.to_owned(), column: place.name, unit: place.unit, endpoints })
    }

    /// The endpoints in the order in which they first appear; an unnamed one if the log has none.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// RPCs of all endpoints.
    #[must_use]
    pub fn count(&self) -> usize {
        self.endpoints.iter().map(|endpoint| endpoint.times.len()).sum()
    }

    /// The column of the times; empty if the file names none.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The unit of the times.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// The law of all times: a mix over the endpoints if there are several.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::OutOfRange`] if all times are 0.
    pub fn service(&self) -> Result<ServiceTime, WorkloadError> {
        let law = |endpoint: &Endpoint| ServiceTime::from_spans(&self.file, endpoint.times.clone());
        match &self.endpoints[..] {
            [only] => law(only),
            several => {
                let types = several.iter().map(|endpoint| {
                    let share = endpoint.times.len() as f64 / self.count() as f64;
                    Ok((endpoint.name.clone(), share, law(endpoint)?))
                });
                ServiceTime::mix_of(types.collect::<Result<Vec<_>, WorkloadError>>()?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, column: Option<&str>) -> Result<ServiceLog, String> {
        let column = column.map(|column| column.parse::<Column>().unwrap());
        ServiceLog::read("prod.csv", column.as_ref(), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn endpoints_make_a_mix_whose_shares_are_those_of_the_log() {
        let log = read("Method,duration,status\nget,2,200\nscan,50,200\nget,4,200\nget,3,500\n", Some("duration=us"))
            .unwrap();
        let of: Vec<(&str, usize)> = log.endpoints().iter().map(|one| (&*one.name, one.times.len())).collect();
        assert_eq!(of, [("get", 3), ("scan", 1)]);
        assert_eq!((log.column(), log.unit(), log.count()), ("duration", Unit::Us, 4));
        let service = log.service().unwrap();
        assert_eq!(service.types(), [("get".to_owned(), 0.75), ("scan".to_owned(), 0.25)]);
        assert!((service.mean_ps() - 14.75e6).abs() < 1.0);
    }

    #[test]
    fn a_log_without_endpoints_is_one_law() {
        let log = read("took_ms\n1\n3\n", None).unwrap();
        assert_eq!((log.endpoints().len(), log.service().unwrap().mean_ps()), (1, 2e9));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(read("", None).unwrap_err().contains("holds no service time"));
        assert!(read("a_us,b_us\n1,2\n", None).unwrap_err().contains("name the one with the times"));
        let ids: String = (0..65).map(|id| format!("{id},1\n")).collect();
        assert!(read(&format!("rpc,took_us\n{ids}"), None).unwrap_err().contains("more than 64 endpoints"));
    }
}
