//! The business logic: the stock and the sales.

use crate::shop::*;
use nebula_typed::{Context, Slot, Status};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Behind a lock: all workers call the service.
#[derive(Debug, Default)]
pub(crate) struct Stock(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    articles: BTreeMap<u64, Article>,
    sold_cents: u64,
}

#[derive(Debug, Default)]
struct Article {
    name: String,
    cents: u32,
    left: u32,
}

impl Stock {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn article(&mut self, item: u64) -> Result<&mut Article, Status> {
        self.articles.get_mut(&item).ok_or_else(|| Status::not_found(format!("no item {item}")))
    }
}

impl Shop for Stock {
    fn price(&self, _: &Context, request: &PriceRequest, reply: Slot<PriceReply>) -> Result<(), Status> {
        let mut books = self.books();
        let article = books.article(request.item.get())?;
        reply.write(&PriceReply { cents: article.cents.into(), left: article.left.into() })
    }

    fn buy(&self, _: &Context, request: &BuyRequest, reply: Slot<BuyReply>) -> Result<(), Status> {
        let (mut books, count) = (self.books(), request.count.get());
        let article = books.article(request.item.get())?;
        let Some(left) = article.left.checked_sub(count) else {
            return Err(Status::failed_precondition(format!("only {} left", article.left)));
        };
        article.left = left;
        let cents = u64::from(article.cents) * u64::from(count);
        books.sold_cents += cents;
        reply.write(&BuyReply { cents: cents.into() })
    }

    fn restock(&self, _: &Context, request: &RestockRequest, reply: Slot<PriceReply>) -> Result<(), Status> {
        let name = request.name.as_str().ok_or(Status::invalid_argument("the name is no text"))?;
        let mut books = self.books();
        let article = books.articles.entry(request.item.get()).or_default();
        (article.name, article.cents) = (name.into(), request.cents.get());
        article.left = article.left.saturating_add(request.count.get());
        reply.write(&PriceReply { cents: article.cents.into(), left: article.left.into() })
    }

    fn search(&self, _: &Context, request: &SearchRequest, reply: Slot<SearchReply>) -> Result<(), Status> {
        let books = self.books();
        let found = books.articles.iter().filter(|(_, article)| article.name.contains(&request.text));
        reply.write(&SearchReply {
            items: found.map(|(&item, article)| Item { item, name: article.name.clone() }).collect(),
        })
    }

    fn sales(&self, _: &Context, _: &SalesRequest, reply: Slot<SalesReply>) -> Result<(), Status> {
        reply.write(&SalesReply { cents: self.books().sold_cents.into() })
    }
}
