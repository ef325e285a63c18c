//! Many tasks on one client, and a handler that calls another server and replies when that has
//! answered.
//!
//! Run it with `cargo run --release -p nebula --example reply_later`. It prints a reply, how many
//! tasks got theirs, and the servers' counters.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{AsyncClient, LaterReply, Reply, Server, ServerConfig};
use std::error::Error;
use std::time::Duration;
use tokio::runtime::Builder;

/// Prices, by the first byte of what is asked for.
fn price_of(request: &[u8], reply: &mut Reply<'_>) {
    let price = request.first().map_or(0, |&first| u32::from(first) * 100);
    reply.write(&price.to_le_bytes());
}

/// Asks for the price, and answers with it. If anything fails, the RPC ends unanswered, which its
/// client is told.
async fn answer_with_price(prices: AsyncClient, item: Vec<u8>, mut later: LaterReply) {
    if let Ok(price) = prices.call(&item).await
        && let Ok(price) = price.try_into().map(u32::from_le_bytes)
    {
        later.write(&item);
        later.answer(format!(" costs {price}").as_bytes());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = |what: &str| format!("shm://{what}-{}", std::process::id());
    let back = Server::bind(&name("prices")).slo(Duration::from_secs(10)).serve(price_of)?;
    let executor = Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let (prices, tasks) = (executor.block_on(AsyncClient::connect(&name("prices")))?, executor.handle().clone());

    // The handler takes its reply along into a task, and is free for the next request.
    let config = ServerConfig::default().slo(Duration::from_secs(10)).later_max(60);
    let front = Server::bind(&name("shop")).config(config).serve(move |request: &[u8], reply: &mut Reply| {
        if let Ok(later) = reply.later() {
            tasks.spawn(answer_with_price(prices.clone(), request.to_vec(), later));
        }
    })?;

    executor.block_on(async {
        let shop = AsyncClient::connect(&name("shop")).await?;
        println!("reply: {}", String::from_utf8(shop.call(b"apple").await?)?);
        let asks = (0..100_u32).map(|task| {
            let shop = shop.clone();
            tokio::spawn(async move { shop.call(format!("pear {task}")).await })
        });
        let mut answered = 0;
        for ask in asks.collect::<Vec<_>>() {
            answered += u32::from(ask.await?.is_ok());
        }
        println!("{answered} of 100 tasks answered over one client");
        Ok::<(), Box<dyn Error>>(())
    })?;
    println!("RPCs served: {} and {}", front.stop().freed, back.stop().freed);
    Ok(())
}
