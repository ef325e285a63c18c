//! A typed service of five methods, its server and its client: `cargo run --release -p shop`.

#![forbid(unsafe_code)]

mod stock;

use nebula::Server;
use nebula_typed::CallError;
use shop::{BuyRequest, PriceRequest, RestockRequest, SalesRequest, SearchRequest, ShopClient, ShopServer};
use std::error::Error;
use std::time::Duration;

/// The code that build.rs has made of shop.proto.
#[expect(missing_docs, reason = "fields say what they are by their names")]
pub mod shop {
    nebula_typed::include_proto!("shop");
}

#[expect(clippy::print_stdout, reason = "the program's output")]
fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = format!("shm://shop-{}", std::process::id());
    let server = Server::bind(&endpoint)
        .slo(Duration::from_micros(100))
        .reply_bytes_max(1024) // for `search`, whose replies have no longest form
        .serve(ShopServer(stock::Stock::default()))?;

    let mut client = ShopClient::connect(&endpoint)?; // in another process, usually
    for (item, name, cents) in [(7, "green tea", 450), (8, "black tea", 390), (9, "cup", 1200)] {
        let delivery =
            RestockRequest { item: item.into(), count: 10.into(), cents: cents.into(), name: name.try_into()? };
        client.restock(&delivery)?;
    }
    let price = client.price(&PriceRequest { item: 7.into() })?;
    println!("item 7 costs {} cents, {} left", price.cents, price.left);
    println!("two cost {} cents", client.buy(&BuyRequest { item: 7.into(), count: 2.into() })?.cents);
    match client.buy(&BuyRequest { item: 9.into(), count: 11.into() }) {
        Err(CallError::Status(status)) => println!("eleven of item 9: {status}"),
        other => println!("eleven of item 9: {other:?}"),
    }
    for found in client.search(&SearchRequest { text: "tea".into() })?.items {
        println!("found item {}: {}", found.item, found.name);
    }
    println!("sold for {} cents", client.sales(&SalesRequest {})?.cents);
    server.stop();
    Ok(())
}
