//! What a user is told about a `.proto` that cannot be served, and about a change that would break
//! peers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use nebula_build::{Config, Error};
use std::path::Path;

const HEADER: &str = "syntax = \"proto3\";\npackage p;\nimport \"nebula/options.proto\";\n";

/// Compiles `text` as `p.proto` in `folder`, whose lock file stays.
fn compile(folder: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(folder.join("p.proto"), format!("{HEADER}{text}")).unwrap();
    Config::default().out_dir(folder).compile(folder.join("p.proto"))
}

#[track_caller]
fn told(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let told = compile(folder.path(), text).unwrap_err().to_string();
    assert!(!folder.path().join("p.proto.lock").exists(), "nothing is locked that was not compiled");
    told
}

const MESSAGES: &str = "message Q { uint64 key = 1; }\nmessage R { uint64 value = 1; }\n";

fn service(methods: &str) -> String {
    format!("{MESSAGES}service S {{ {methods} }}")
}

#[test]
fn a_method_without_a_number_is_told_the_next_free_one() {
    let methods = "rpc A(Q) returns (R) { option (nebula.id) = 1; } rpc B(Q) returns (R); rpc C(Q) returns (R) { option (nebula.id) = 2; }";
    assert_eq!(
        told(&service(methods)),
        "p.S.B has no number: import \"nebula/options.proto\" and write { option (nebula.id) = 3; }"
    );
}

#[test]
fn numbers_are_within_bounds_and_given_once() {
    let with = |id: &str| told(&service(&format!("rpc A(Q) returns (R) {{ option (nebula.id) = {id}; }}")));
    assert_eq!(with("0"), "p.S.A: (nebula.id) is 0, and has to be 1 to 4095");
    assert_eq!(with("4096"), "p.S.A: (nebula.id) is 4096, and has to be 1 to 4095");
    let twice = "rpc A(Q) returns (R) { option (nebula.id) = 1; } rpc B(Q) returns (R) { option (nebula.id) = 1; }";
    assert_eq!(told(&service(twice)), "p.S.B: A has the number 1 too");
    let large = "option (nebula.service_id) = 65536; rpc A(Q) returns (R) { option (nebula.id) = 1; }";
    assert_eq!(told(&service(large)), "p.S: (nebula.service_id) is 65536, and has to be 1 to 65535");
}

#[test]
fn a_stream_of_requests_is_refused_with_what_to_do() {
    let streamed = service("rpc A(stream Q) returns (R) { option (nebula.id) = 1; }");
    assert_eq!(told(&streamed), "p.S.A takes a stream: take one request, and let the client send several");
}

#[test]
fn a_message_that_cannot_be_a_line_says_why() {
    let line = |fields: &str| {
        told(&format!("message M {{ option (nebula.encoding) = LINE; {fields} }}\nmessage N {{ repeated M m = 1; }}"))
    };
    assert_eq!(line("string a = 1;"), "p.M cannot have the encoding LINE: the size of its field `a` is not fixed");
    assert_eq!(
        line("repeated uint32 a = 1;"),
        "p.M cannot have the encoding LINE: the size of its field `a` is not fixed"
    );
    assert_eq!(
        line("optional uint32 a = 1;"),
        "p.M cannot have the encoding LINE: the size of its field `a` is not fixed"
    );
    assert_eq!(line("M a = 1;"), "p.M cannot have the encoding LINE: it contains itself");
    assert_eq!(line("uint32 a = 1;"), "p.M cannot have the encoding LINE: p.N contains it, which protobuf encodes");
    let declared = line("message I { uint32 a = 1; } I a = 1;");
    assert_eq!(declared, "p.M cannot have the encoding LINE: messages are declared within it: declare them beside it");
}

#[test]
fn lengths_and_keys_are_where_they_can_be() {
    let field = |field: &str| told(&format!("message M {{ {field} }}"));
    assert_eq!(field("uint32 a = 1 [(nebula.len) = 4];"), "p.M.a: (nebula.len) is for `bytes` and `string`");
    assert_eq!(field("bytes a = 1 [(nebula.len) = 0];"), "p.M.a: (nebula.len) is 0, and has to be 1 to 1048576");
    assert_eq!(field("string a = 1 [(nebula.len) = 65536];"), "p.M.a: (nebula.len) is 65536, and has to be 1 to 65535");
    assert_eq!(
        field("bool a = 1 [(nebula.key) = true];"),
        "p.M.a cannot be the key: a key is one integer, `bytes` or `string`"
    );
    let two = "uint32 a = 1 [(nebula.key) = true]; uint32 b = 2 [(nebula.key) = true];";
    assert_eq!(field(two), "p.M has 2 keys, and an RPC is about one");
    let long = "bytes a = 1 [(nebula.len) = 1048576]; uint32 b = 2;";
    assert_eq!(
        field(long),
        "p.M has 1048580 bytes, and a message of the encoding LINE at most 1048576: set (nebula.encoding) = PROTO"
    );
}

#[test]
fn what_is_wrong_in_protobuf_is_told_with_its_place() {
    let told = told("message M { uint32 a = 1; uint32 b = 1; }");
    assert!(told.ends_with("p.proto:4:38: field number '1' is already used"), "{told}");
}

#[test]
fn several_faults_are_told_at_once() {
    assert_eq!(told(&service("rpc A(Q) returns (R); rpc B(stream Q) returns (R);")).lines().count(), 2);
}

#[test]
fn a_change_that_peers_would_misread_is_refused_and_the_lock_stays() {
    let folder = tempfile::tempdir().unwrap();
    let methods = "rpc A(Q) returns (R) { option (nebula.id) = 1; }";
    compile(folder.path(), &service(methods)).unwrap();
    let lock = folder.path().join("p.proto.lock");
    let locked = std::fs::read_to_string(&lock).unwrap();
    let changed = service(methods).replace("uint64 key = 1", "fixed32 key = 1");
    let told = compile(folder.path(), &changed).unwrap_err().to_string();
    let change = "p.Q: field 1 has been uint64 up to byte 8 and is fixed32 up to byte 4: keep it, and append a field";
    assert_eq!(
        told,
        format!("{}: peers built before would misread this, so it is not compiled:\n{change}", lock.display())
    );
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), locked);
    // Taken back, it compiles again; appended, the lock file has it too.
    compile(folder.path(), &service(methods)).unwrap();
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), locked);
    compile(folder.path(), &service(methods).replace("uint64 key = 1;", "uint64 key = 1; bool more = 2;")).unwrap();
    assert!(std::fs::read_to_string(&lock).unwrap().contains("\"more\""));
}

#[test]
fn reserved_numbers_let_go_of_fields_and_keep_them_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let message = |fields: &str| format!("message M {{ string name = 1; {fields} }}");
    compile(folder.path(), &message("repeated uint32 old = 2;")).unwrap();
    let told = compile(folder.path(), &message("")).unwrap_err().to_string();
    assert!(told.ends_with("p.M: field 2 (`old`) is missing: add `reserved 2;`"), "{told}");
    compile(folder.path(), &message("reserved 2;")).unwrap();
    let told = compile(folder.path(), &message("string new = 2;")).unwrap_err().to_string();
    assert!(told.ends_with("p.M: field 2 has been repeated uint32 and is string: give `new` another number"), "{told}");
}

#[test]
fn a_lock_file_that_is_behind_or_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.proto");
    std::fs::write(&path, format!("{HEADER}{MESSAGES}")).unwrap();
    let locked =
        || Config::default().out_dir(folder.path()).locked(true).compile(&path).map_err(|error| error.to_string());
    assert!(
        locked()
            .unwrap_err()
            .ends_with("p.proto.lock is behind its .proto: build once without NEBULA_LOCKED and check the file in")
    );
    compile(folder.path(), MESSAGES).unwrap();
    assert_eq!(locked(), Ok(()));
    std::fs::write(folder.path().join("p.proto.lock"), "services { nam: 1 }").unwrap();
    assert!(locked().unwrap_err().contains("restore it from version control"));
}

#[test]
fn the_same_schema_gives_the_same_files_again() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = service("rpc A(Q) returns (R) { option (nebula.id) = 1; }");
    for folder in [&one, &two] {
        compile(folder.path(), &text).unwrap();
    }
    for file in ["p.rs", "p.proto.lock"] {
        let read = |folder: &tempfile::TempDir| std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!(read(&one), read(&two));
    }
}
