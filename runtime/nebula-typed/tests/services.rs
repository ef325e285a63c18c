//! Health and reflection, as a client sees them.

use nebula::{Balance, ClientConfig, Server};
use nebula_testing::wait::Limit;
use nebula_typed::services::reflection::ListRequest;
use nebula_typed::services::{
    HEALTH, HealthClient, HealthOf, HealthServer, REFLECTION, ReflectionClient, ReflectionOf, ReflectionServer, State,
    check, describe, health_check,
};
use nebula_typed::{Code, Services};

#[test]
fn a_server_says_what_it_has_and_whether_it_can_be_used() {
    let endpoint = format!("shm://services-{}", std::process::id());
    let health = HealthOf::default();
    let reflection = ReflectionOf::new([HEALTH, REFLECTION]);
    let services = Services::new((HealthServer(health.clone()), ReflectionServer(reflection)));
    let server = Server::bind(&endpoint).inline(false).reply_bytes_max(256).serve(services).expect("a server");

    let mut client = HealthClient::connect(&endpoint).expect("a client");
    assert_eq!(check(&mut client, ""), Ok(State::Serving));
    let unknown = check(&mut client, "no.Such").expect_err("nothing is said of it");
    assert_eq!(unknown.status().map(nebula_typed::Status::code), Some(Code::NotFound));
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
    assert_eq!(unknown.status().map(nebula_typed::Status::code), Some(Code::NotFound));
    server.stop();
}

#[test]
fn a_client_of_several_servers_leaves_one_alone_that_says_it_cannot_be_used() {
    let names = [0, 1].map(|number| format!("shm://services-several-{number}-{}", std::process::id()));
    let [one, other] = [HealthOf::default(), HealthOf::default()];
    let servers = [(&names[0], &one), (&names[1], &other)].map(|(name, health)| {
        let services = HealthServer(health.clone());
        Server::bind(name).inline(false).reply_bytes_max(256).serve(Services::new((services,))).expect("a server")
    });
    // Each speaks of a service that the other one does not: so its answers show which one it was.
    one.set("one", State::Serving);
    let health = health_check("", std::time::Duration::from_millis(20));
    let config = ClientConfig::default().balance(Balance::RoundRobin).health(health);
    let mut client = HealthClient::connect_with(&*names.join(","), config).expect("a client");
    let mut gets = |from_one: bool| {
        // To get one is enough; to get none it must be for long.
        let (limit, mut in_a_row) = (Limit::new("answers of the one or the other"), 0);
        while in_a_row < if from_one { 1 } else { 50 } {
            limit.check();
            let either = [check(&mut client, "one"), check(&mut client, "one")];
            in_a_row = if either.iter().any(Result::is_ok) == from_one { in_a_row + 1 } else { 0 };
        }
    };
    gets(true);
    one.set("", State::NotServing);
    gets(false);
    one.set("", State::Serving);
    gets(true);
    for server in servers {
        server.stop();
    }
}
