//! Health and reflection, as a client sees them.

use nebula::Server;
use nebula::typed::{Code, Services};
use nebula_services::reflection::ListRequest;
use nebula_services::{
    HEALTH, HealthClient, HealthOf, HealthServer, REFLECTION, ReflectionClient, ReflectionOf, ReflectionServer, State,
    check, describe,
};

#[test]
fn a_server_says_what_it_has_and_whether_it_can_be_used() {
    let endpoint = format!("shm://services-{}", std::process::id());
    let health = HealthOf::default();
    let reflection = ReflectionOf::new([HEALTH, REFLECTION]);
    let services = Services::new((HealthServer(health.clone()), ReflectionServer(reflection)));
    let server = Server::bind(&endpoint).reply_bytes_max(256).serve(services).expect("a server");

    let mut client = HealthClient::connect(&endpoint).expect("a client");
    assert_eq!(check(&mut client, ""), Ok(State::Serving));
    let unknown = check(&mut client, "no.Such").expect_err("nothing is said of it");
    assert_eq!(unknown.status().map(nebula::typed::Status::code), Some(Code::NotFound));
    for state in [State::NotServing, State::Serving] {
        health.set("shop.Shop", state);
        assert_eq!(check(&mut client, "shop.Shop"), Ok(state));
    }

    let mut client = ReflectionClient::over(client.into_channel()).expect("the same connection");
    let all: Vec<_> = client.list(&ListRequest {}).map(|name| name.expect("a name")).collect();
    assert_eq!(all.iter().map(|one| &*one.name).collect::<Vec<_>>(), [HEALTH.name, REFLECTION.name]);
    assert_eq!(all[1].fingerprint, REFLECTION.fingerprint.0);
    for info in [HEALTH, REFLECTION] {
        assert_eq!(describe(&mut client, info.name), Ok(info.schema()));
    }
    let unknown = describe(&mut client, "no.Such").expect_err("the server has no such service");
    assert_eq!(unknown.status().map(nebula::typed::Status::code), Some(Code::NotFound));
    server.stop();
}
