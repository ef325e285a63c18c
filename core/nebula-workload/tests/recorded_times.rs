//! Recorded times: what a file of service times or arrivals may contain, and the errors for bad
//! lines.

use std::io::{self, BufReader, Read};

use nebula_nic::Span;
use nebula_workload::{ArrivalTrace, Arrivals, Rate, Rng, Seed, ServiceTime, WorkloadError};

fn service(text: &str) -> Result<ServiceTime, String> {
    ServiceTime::from_samples("day.csv", text.as_bytes()).map_err(|error| error.to_string())
}

fn arrivals(text: &str) -> Result<Arrivals, String> {
    Arrivals::parse_with("trace:day.csv", |_| Ok(text.as_bytes())).map_err(|error| error.to_string())
}

fn rng() -> Rng {
    Seed(1).stream("recorded")
}

#[test]
fn a_file_may_have_a_header_comments_and_empty_lines() {
    let plain = service("500\n1500\n").unwrap();
    for text in [
        "500\n1500",
        "service_ns\n500\n1500\n",
        "# a day in May\n\nservice_ns\r\n  500 \r\n# noon\n1500\r\n\n",
        "\"latency, in ns\"\n500\n1500\n",
        "500.000\n1.5e3\n",
        "500.0004\n1500.0009999\n",
    ] {
        assert_eq!(service(text), Ok(plain.clone()), "{text:?}");
    }
    assert_eq!(plain.mean_ps(), 1e6);
    assert_eq!(plain.scv(), Some(0.25));
    assert_eq!(plain.to_string(), "trace:day.csv");
}

#[test]
fn fractions_of_a_nanosecond_count() {
    let service = service("0.5\n0.125\n0.1254\n").unwrap();
    assert_eq!(service.mean_ps(), 250.0);
}

#[test]
fn a_bad_line_is_named_with_its_number_and_text() {
    const EXPECTED: &str = "write one time in nanoseconds, such as 512 or 1033.25";
    for (text, line, shown) in [
        ("500\nfast\n", 2, "fast"),
        ("service_ns\nservice_ns\n", 2, "service_ns"),
        ("# a\n\n500\n-1\n", 4, "-1"),
        ("12x\n", 1, "12x"),
        ("1,2\n", 1, "1,2"),
        ("1\n.5.\n", 2, ".5."),
        ("1\nnan\n", 2, "nan"),
        ("1\ninf\n", 2, "inf"),
        ("1\n1e20\n", 2, "1e20"),
        ("1\n0x10\n", 2, "0x10"),
    ] {
        assert_eq!(service(text), Err(format!("\"day.csv\" line {line}: {shown:?}: {EXPECTED}")));
    }
}

#[test]
fn bytes_that_are_no_text_are_a_bad_line() {
    let error = ServiceTime::from_samples("day.csv", &b"500\n\xff\xfe\n"[..]).unwrap_err();
    assert!(matches!(error, WorkloadError::SampleLine { line: 2, .. }), "{error}");
}

#[test]
fn the_header_says_the_unit() {
    for (header, time, ps) in [
        ("service_us", "1.25", 1_250_000.0),
        ("\"t_ms\"", "0.5", 5e8),
        ("latency_s", "1e-3", 1e9),
        ("x_ps", "1500", 1500.0),
        ("t_sec", "2", 2e12),
        ("latency", "2", 2000.0),
    ] {
        assert_eq!(service(&format!("{header}\n{time}\n")).unwrap().mean_ps(), ps, "{header}");
    }
    let wrong = service("t_ms\nfast\n").unwrap_err();
    assert_eq!(wrong, "\"day.csv\" line 2: \"fast\": write one time in milliseconds, such as 0.512 or 10.25");
}

#[test]
fn of_several_columns_one_is_meant() {
    let log = "endpoint,took,duration_us\nget,5,1\n\"put, batched\",7,3\n";
    let of = |column: &str| {
        let read = ServiceTime::from_samples(&format!("day.csv{column}"), log.as_bytes());
        read.map(|service| service.mean_ps()).map_err(|error| error.to_string())
    };
    assert_eq!((of(""), of("#duration_us"), of("#took=ms"), of("#took")), (Ok(2e6), Ok(2e6), Ok(6e9), Ok(6e3)));
    let said = "\"day.csv\" could not be used: it has no column \"tok\": there are endpoint, took, duration_us";
    assert_eq!(of("#tok"), Err(said.to_owned()));
    assert!(of("#took=weeks").unwrap_err().contains("one of ps, ns, us, ms and s"));
    assert!(of("#endpoint").unwrap_err().contains("line 2: \"get,5,1\""));
    let several = ServiceTime::from_samples("day.csv", "a_us,b_us\n1,2\n".as_bytes()).unwrap_err().to_string();
    assert!(several.ends_with("it has the columns a_us, b_us: name the one with the times, and its unit"), "{several}");
    let named = ServiceTime::parse_with("trace:day.csv#took=ms", |file| {
        assert_eq!(file, "day.csv");
        Ok(log.as_bytes())
    });
    assert_eq!(named.unwrap().to_string(), "trace:day.csv#took=ms");
}

#[test]
fn times_that_no_span_holds_are_refused() {
    assert!(service("18446744073709551\n").is_ok());
    let said = "\"day.csv\" line 1: \"18446744073709552\": no service time is longer than 213 days";
    assert_eq!(service("18446744073709552\n"), Err(said.to_owned()));
}

#[test]
fn files_without_times_are_refused() {
    for text in ["", "service_ns\n", "# nothing\n\n"] {
        assert_eq!(service(text), Err("\"day.csv\" could not be used: it holds no service time".to_owned()));
    }
    assert!(service("0\n0\n").unwrap_err().contains("use times above 0"));
    for text in ["", "5\n", "5\n5\n5\n"] {
        let said = "\"day.csv\" could not be used: it has fewer than two different arrival times";
        assert_eq!(arrivals(text), Err(said.to_owned()));
    }
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("cable cut"))
    }
}

#[test]
fn readers_that_fail_are_named() {
    let said = "\"day.csv\" could not be read: cable cut";
    let service = ServiceTime::from_samples("day.csv", BufReader::new(Broken));
    assert_eq!(service.unwrap_err().to_string(), said);
    assert_eq!(ArrivalTrace::read("day.csv", BufReader::new(Broken)).unwrap_err().to_string(), said);
    let missing = |_: &str| -> io::Result<io::Empty> { Err(io::Error::other("no such file")) };
    let said = "\"day.csv\" could not be opened: no such file";
    assert_eq!(ServiceTime::parse_with("exp:1us+trace:day.csv", missing).unwrap_err().to_string(), said);
    assert_eq!(Arrivals::parse_with("trace:day.csv", missing).unwrap_err().to_string(), said);
}

#[test]
fn names_that_would_not_read_back_are_refused() {
    for name in ["", "a+b.csv", "a;b.csv", " a.csv"] {
        let error = ServiceTime::from_samples(name, "1\n".as_bytes()).unwrap_err().to_string();
        let text = format!("trace:{name}");
        let said = format!("service time {text:?} is not understood: write trace:FILE, a name without + and ;");
        assert_eq!(error, said);
    }
}

#[test]
fn each_recorded_time_is_drawn_as_often_as_it_occurs() {
    let service = ServiceTime::from_spans("measured", [1, 2, 2, 5].map(Span::from_us)).unwrap();
    let mut rng = rng();
    let drawn: Vec<u64> = (0..100_000).map(|_| service.sample(&mut rng).as_ns() / 1000).collect();
    for (us, share) in [(1, 0.25), (2, 0.5), (5, 0.25)] {
        let seen = drawn.iter().filter(|&&time| time == us).count() as f64 / 1e5;
        // Four and a half standard deviations of a half.
        assert!((seen - share).abs() < 0.0072, "{us} us: {seen}");
    }
    assert_eq!((service.mean_ps(), service.to_string().as_str()), (2.5e6, "trace:measured"));
}

#[test]
fn recorded_arrivals_are_scaled_to_the_rate_and_repeated() {
    // Gaps of 1, 2 and 6 ns, scaled from their mean of 3 ns to a microsecond.
    let arrivals = arrivals("10\n11\n13\n19\n").unwrap();
    let mut process = arrivals.at(Rate::try_new(1e6).unwrap());
    let gaps: Vec<u64> = (0..6).map(|_| process.next_gap(&mut rng()).as_ps()).collect();
    assert_eq!(gaps, [333_333, 666_667, 2_000_000, 333_333, 666_667, 2_000_000]);
}

#[test]
fn recorded_arrivals_do_not_drift() {
    let arrivals = arrivals("0\n1\n3\n10\n").unwrap();
    let mut process = arrivals.at(Rate::try_new(7e8).unwrap());
    let total: Span = (0..2_100_000).map(|_| process.next_gap(&mut rng())).sum();
    assert!(total.as_ps().abs_diff(3_000_000_000) <= 1, "{total}");
}

#[test]
fn arrivals_may_be_counted_from_1970() {
    let day = arrivals("arrival_ns\n1763712000000000001\n1763712000000000002\n1763712000000000004.5\n").unwrap();
    let from_0 = arrivals("0\n1\n3.5\n").unwrap();
    assert_eq!(day, from_0);
}

#[test]
fn arrival_times_may_repeat_but_not_decrease() {
    assert!(arrivals("0\n0\n5\n5\n").is_ok());
    let said = "\"day.csv\" line 4: \"4\": time goes back: sort the lines";
    assert_eq!(arrivals("# a\n0\n5\n4\n"), Err(said.to_owned()));
    let said = "\"day.csv\" line 2: \"18446744073709552\": no gap is longer than 213 days";
    assert_eq!(arrivals("0\n18446744073709552\n"), Err(said.to_owned()));
}

#[test]
fn millions_of_times_are_not_shown_where_a_trace_is() {
    let shown = format!("{:?} {:?}", service("1\n2\n3\n").unwrap(), arrivals("1\n2\n3\n").unwrap());
    assert!(shown.contains("count: 3") && shown.contains("gaps: 2"), "{shown}");
}
