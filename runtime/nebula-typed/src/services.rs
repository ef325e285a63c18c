//! Services that every server can have besides its own, and that of the store.
//!
//! | service | answers |
//! |---|---|
//! | [`Health`](health::Health) | whether a service can be used now: for balancers and rollouts |
//! | [`Reflection`](reflection::Reflection) | which services the server has, and their schemas: for tools |
//! | [`Kv`](kv::Kv) | the items of a store: the typed methods of `nebula serve kv` |
//!
//! ```
//! use nebula::Server;
//! use nebula_typed::Services;
//! use nebula_typed::services::{HealthClient, HealthOf, HealthServer, ReflectionClient, ReflectionOf, ReflectionServer, State};
//! use nebula_typed::services::{HEALTH, REFLECTION};
//!
//! let health = HealthOf::default();
//! health.set("shop.Shop", State::Serving);
//! let reflection = ReflectionOf::new([HEALTH, REFLECTION]); // and the server's own
//! let name = format!("shm://doc-services-{}", std::process::id());
//! let services = Services::new((HealthServer(health.clone()), ReflectionServer(reflection)));
//! let server = Server::bind(&name).reply_bytes_max(512).serve(services)?;
//!
//! let mut client = HealthClient::connect(&name)?;
//! assert_eq!(nebula_typed::services::check(&mut client, "shop.Shop")?, State::Serving);
//! health.set("shop.Shop", State::NotServing); // it drains
//! assert_eq!(nebula_typed::services::check(&mut client, "shop.Shop")?, State::NotServing);
//!
//! let mut client = ReflectionClient::connect(&name)?;
//! let schema = nebula_typed::services::describe(&mut client, "nebula.health.Health")?;
//! assert_eq!(schema.services[0].methods[0].name, "Check");
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod health;
pub mod kv;
pub mod reflection;
mod checked;
mod described;

pub use checked::{HealthOf, check, health_check};
pub use described::{ReflectionOf, describe};
pub use health::{HEALTH, HealthClient, HealthServer, State};
pub use kv::{KV, KvClient, KvServer};
pub use reflection::{REFLECTION, ReflectionClient, ReflectionServer};
