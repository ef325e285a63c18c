//! Traces: accepted and refused input, with the errors, and written traces that parse back.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Key, Op, Operation, Rng, Seed, TraceReader, TraceWriter, WorkloadError};

const HEADER: &str = "time_us,op,key,value_bytes\n";

fn read(trace: &str) -> Result<Vec<Operation>, WorkloadError> {
    TraceReader::new(trace.as_bytes()).collect()
}

fn refusal(trace: &str) -> String {
    read(trace).expect_err("the trace is wrong").to_string()
}

fn operation(at_ps: u64, op: Op, key: u64, value_bytes: u32) -> Operation {
    Operation { at: Timestamp::from_ps(at_ps), op, key: Key(key), value_bytes }
}

#[test]
fn header_comments_blank_lines_and_spaces_are_optional() {
    let expected = [operation(0, Op::Get, 1, 0), operation(2_500_000, Op::Set, 2, 512)];
    let bare = "0,get,1,0\n2.5,set,2,512\n";
    assert_eq!(read(bare).unwrap(), expected);
    assert_eq!(read(&format!("{HEADER}{bare}")).unwrap(), expected);
    assert_eq!(read("# from a cache\r\n\r\n 0 , get , 1 , 0\r\n\r\n2.500000,set,2,512").unwrap(), expected);
    assert_eq!(read("").unwrap(), []);
    assert_eq!(read(HEADER).unwrap(), []);
}

#[test]
fn times_are_exact_to_the_picosecond() {
    let at = |time: &str| read(&format!("{time},get,1,0")).unwrap()[0].at.as_ps();
    assert_eq!(at("0.000001"), 1);
    assert_eq!(at("1234567.891011"), 1_234_567_891_011);
    assert_eq!(at("18446744073709.551615"), u64::MAX);
}

#[test]
fn keys_are_indices_or_text() {
    let key = |text: &str| read(&format!("0,get,{text},0")).unwrap()[0].key;
    assert_eq!(key("42"), Key(42));
    assert_eq!(key("18446744073709551615"), Key(u64::MAX));
    assert_eq!(key("user:42"), key("user:42"));
    assert_ne!(key("user:42"), key("user:43"));
    assert!(key("user:42").0 >= 1 << 63);
}

#[test]
fn each_error_says_what_is_expected() {
    let lines = [
        ("x,get,1,0", "time_us must be microseconds such as 12 or 12.5, at most six decimals"),
        ("-1,get,1,0", "time_us must be microseconds such as 12 or 12.5, at most six decimals"),
        ("1.,get,1,0", "time_us must be microseconds such as 12 or 12.5, at most six decimals"),
        ("1e3,get,1,0", "time_us must be microseconds such as 12 or 12.5, at most six decimals"),
        ("0.0000001,get,1,0", "time_us must be microseconds such as 12 or 12.5, at most six decimals"),
        ("18446744073709.551616,get,1,0", "time_us must be microseconds such as 12 or 12.5, at most six decimals"),
        ("9,GET,1,0", "op must be get, set, delete or scan"),
        ("9,put,1,0", "op must be get, set, delete or scan"),
        ("9,get,,0", "key must not be empty"),
        ("9,get,1,-1", "value_bytes must be a whole number below 2^32"),
        ("9,get,1,4294967296", "value_bytes must be a whole number below 2^32"),
        ("9,get,1,", "value_bytes must be a whole number below 2^32"),
        ("9,get,1", "has 3 fields, write time_us,op,key,value_bytes"),
        ("9,get,1,0,0", "has 5 fields, write time_us,op,key,value_bytes"),
        ("6.25,get,1,0", "time goes back: write 7.5 or later, or sort"),
    ];
    for (line, right) in lines {
        let refused = refusal(&format!("{HEADER}7.5,set,1,8\n{line}\n8,get,1,0\n"));
        assert_eq!(refused, format!("trace line 3: {line:?}: {right}"));
    }
}

#[test]
fn line_numbers_count_comments_and_blank_lines() {
    assert!(refusal("# one\n\n0,get,1,0\n\n0,got,1,0\n").starts_with("trace line 5: \"0,got,1,0\": "));
}

#[test]
fn a_header_must_be_the_whole_header_and_the_first_line() {
    let right = "the header must be time_us,op,key,value_bytes";
    assert_eq!(refusal("time_us,op,value\n"), format!("trace line 1: \"time_us,op,value\": {right}"));
    assert!(
        refusal(&format!("0,get,1,0\n{HEADER}")).starts_with("trace line 2: \"time_us,op,key,value_bytes\": time_us")
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let refused = TraceReader::new(&b"0,get,1,0\n0,get,\xff,0\n"[..]).collect::<Result<Vec<_>, _>>().unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("trace could not be read at line 2: "), "{text}");
}

#[test]
fn nothing_is_read_after_the_first_error() {
    let mut reader = TraceReader::new("x,get,1,0\n0,get,1,0\n".as_bytes());
    assert!(reader.next().is_some_and(|first| first.is_err()));
    assert!(reader.next().is_none());
}

#[test]
fn repeated_times_are_allowed() {
    assert_eq!(read("5,get,1,0\n5,get,2,0\n5.0,get,3,0\n").unwrap().len(), 3);
}

struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("disk full"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_refuses_is_reported() {
    let error = TraceWriter::new(Full).err().unwrap().to_string();
    assert_eq!(error, "trace could not be written at line 1: disk full");
}

fn random_operation(rng: &mut Rng, last: Timestamp) -> Operation {
    // Every number of decimals occurs.
    let bits = rng.below(42);
    let step = rng.below(1 << bits);
    let op = Op::ALL[usize::try_from(rng.below(4)).expect("an index")];
    let value_bytes = u32::try_from(rng.below(1 << 32)).expect("below 2^32");
    let key = Key(rng.next_u64() >> (bits % 64));
    Operation { at: last + Span::from_ps(step), op, key, value_bytes }
}

#[test]
fn written_traces_come_back_as_they_were() {
    let mut rng = Seed(1).stream("trace");
    let mut operations = vec![operation(0, Op::Get, 0, 0)];
    for index in 0..10_000 {
        operations.push(random_operation(&mut rng, operations[index].at));
    }
    let mut writer = TraceWriter::new(Vec::new()).unwrap();
    operations.iter().for_each(|operation| writer.write(operation).unwrap());
    let bytes = writer.finish().unwrap();
    assert!(read(std::str::from_utf8(&bytes).unwrap()).unwrap() == operations);
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let mut rng = Seed(2).stream("fuzz");
    let alphabet = b"0123456789.,,,\n\n\"# getsdl_umopkyvabi\xff\r";
    for _ in 0..20_000 {
        let len = rng.below(40);
        let letter = |_| alphabet[usize::try_from(rng.below(alphabet.len() as u64)).unwrap()];
        let bytes: Vec<u8> = (0..len).map(letter).collect();
        let times: Vec<_> = TraceReader::new(&bytes[..]).map_while(Result::ok).map(|operation| operation.at).collect();
        assert!(times.is_sorted(), "{bytes:?}");
    }
}

#[test]
fn a_log_is_read_by_its_header() {
    let log = "method,status,key,start_ms,took\nget,200,17,1700000000000.5,12\ndelete,200,user:1,1700000000002,9\n";
    let read = |log: &str, column: Option<&str>| {
        let reader = TraceReader::new(log.as_bytes());
        let reader = match column {
            Some(column) => reader.column(column.parse().unwrap()),
            None => reader,
        };
        reader.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
    };
    let operations = read(log, None).unwrap();
    let of: Vec<(u64, Op)> = operations.iter().map(|one| (one.at.as_ps(), one.op)).collect();
    assert_eq!(of, [(0, Op::Get), (1_500_000_000, Op::Delete)]);
    assert_eq!(operations[0].key, Key(17));
    // Another column may be meant, and one that decreases is an error.
    let said = read(log, Some("took=us")).unwrap_err();
    assert_eq!(said, "trace line 3: \"delete,200,user:1,1700000000002,9\": time goes back: sort the lines");
    assert!(read(log, Some("began=us")).unwrap_err().contains("it has no column \"began\""));
    assert!(read(&log.replace("took", "took_us"), None).unwrap_err().contains("name the one with the times"));
    assert!(read(&log.replace("delete", "set"), None).unwrap_err().contains("a set needs a column value_bytes"));
    let sized = "time_s,op,key,value_bytes,who\n0.25,set,1,64,me\n0.5,get,1,0,me\n";
    assert_eq!(read(sized, None).unwrap()[1].at.as_ps(), 250_000_000_000);
    assert!(
        read(&format!("{sized}1,get,1,0\n"), None).unwrap_err().contains("has 4 fields, write 5, as the header has")
    );
    // The plain form counts from its own zero.
    assert_eq!(read(&format!("{HEADER}3,get,1,0\n"), None).unwrap()[0].at.as_ps(), 3_000_000);
}
