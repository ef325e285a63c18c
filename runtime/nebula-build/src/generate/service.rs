//! Services: the trait to implement, the server that calls it, the client.

use super::comment::comment;
use super::names::{TYPED, path, type_name, value};
use crate::options;
use crate::read::{Files, name_id};
use crate::schema::{Fingerprint, Schema, Service};
use protox::prost_reflect::{MessageDescriptor, MethodDescriptor, ServiceDescriptor};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The status behind a reply.
const END_BYTES: u32 = 4;

/// Room for a status with a sentence, if the replies are shorter.
const STATUS_BYTES: u32 = 240;

struct Method {
    what: String,
    /// In Rust.
    name: String,
    /// In the enum of replies.
    variant: String,
    id: u32,
    request: String,
    reply: String,
    /// Whether request and reply are line messages, which are read in place.
    reads_line: bool,
    is_line: bool,
    streams: bool,
    /// Whether it may be executed more than once without harm.
    idempotent: bool,
    /// Whether its handler is for the pool.
    is_long: bool,
}

pub(super) fn append(text: &mut String, service: &ServiceDescriptor, files: &Files) {
    let name = type_name(service.name());
    let methods: Vec<_> = service.methods().map(|one| method(&one, files)).collect();
    let what = comment(&service.parent_file(), service.path(), "");
    append_info(text, &name, service, files);
    append_trait(text, &name, &what, &methods);
    append_methods(text, &name, &methods);
    append_server(text, &name, &methods);
    append_client(text, &name, &methods);
    append_async_client(text, &name, &methods);
}

fn method(method: &MethodDescriptor, files: &Files) -> Method {
    let package = method.parent_service().package_name().to_string();
    let to = |message: MessageDescriptor| path(message.full_name(), message.package_name(), &package);
    Method {
        what: comment(&method.parent_file(), method.path(), "    "),
        name: method_name(method.name()),
        variant: type_name(method.name()),
        // Reading the file refuses a method without one.
        id: options::method_id(method).unwrap_or(0),
        request: to(method.input()),
        reply: to(method.output()),
        reads_line: files.encodings.ends(&method.input()).is_some(),
        is_line: files.encodings.ends(&method.output()).is_some(),
        streams: method.is_server_streaming(),
        idempotent: options::is_idempotent(method),
        is_long: options::is_long(method),
    }
}

/// The name of a method in trait and client. Names of the client's own methods get a `_`.
fn method_name(name: &str) -> String {
    let name = value(name);
    match name.as_str() {
        "connect" | "connect_with" | "over" | "channel" | "into_channel" | "poll" => format!("{name}_"),
        _ => name,
    }
}

fn append_info(text: &mut String, name: &str, service: &ServiceDescriptor, files: &Files) {
    let schema = schema_of(service, &files.schema);
    let bytes = schema.to_bytes();
    let Fingerprint(fingerprint) = Fingerprint::of(&bytes);
    let id = options::service_id(service).unwrap_or_else(|| name_id(service.full_name()));
    let longest = service.methods().map(|method| match method.is_server_streaming() {
        // A window of a stream fills the available room.
        true => None,
        false => files.encodings.bytes(&method.output()),
    });
    let longest = longest.reduce(|a, b| Some(a?.max(b?))).flatten();
    let reply_bytes_max = longest.map(|bytes| (bytes + END_BYTES).max(STATUS_BYTES));
    let _ = write!(
        text,
        r"/// The service `{full}`, as this version of it was compiled.
#[allow(dead_code)]
pub const {constant}: {TYPED}::ServiceInfo = {TYPED}::ServiceInfo {{
    name: {full:?},
    id: {id},
    schema: &{bytes:?},
    fingerprint: {TYPED}::Fingerprint({fingerprint:#018x}),
    reply_bytes_max: {reply_bytes_max:?},
}};
",
        full = service.full_name(),
        constant = constant(name),
    );
}

fn constant(name: &str) -> String {
    heck::ToShoutySnakeCase::to_shouty_snake_case(name)
}

/// The service with the messages and enums that it uses: other changes of the file do not concern
/// it.
fn schema_of(service: &ServiceDescriptor, all: &Schema) -> Schema {
    let mut used = BTreeSet::new();
    service.methods().for_each(|method| {
        collect(&method.input(), &mut used);
        collect(&method.output(), &mut used);
    });
    let find = |services: &[Service]| services.iter().filter(|one| one.name == service.full_name()).cloned().collect();
    Schema {
        services: find(&all.services),
        messages: all.messages.iter().filter(|one| used.contains(&one.name)).cloned().collect(),
        enums: all.enums.iter().filter(|one| used.contains(&one.name)).cloned().collect(),
    }
}

fn collect(message: &MessageDescriptor, used: &mut BTreeSet<String>) {
    if !used.insert(message.full_name().into()) {
        return;
    }
    for field in message.fields() {
        if let Some(inner) = field.kind().as_message() {
            collect(inner, used);
        }
        if let Some(one) = field.kind().as_enum() {
            used.insert(one.full_name().into());
        }
    }
}

fn append_trait(text: &mut String, name: &str, what: &str, methods: &[Method]) {
    let what =
        if what.is_empty() { format!("/// The service `{name}`, to be implemented.\n") } else { what.to_string() };
    let _ = writeln!(text, "{what}#[allow(dead_code)]\npub trait {name} {{");
    for Method { what, name, request, reply, streams, .. } in methods {
        let what = if what.is_empty() { format!("    /// The method `{name}`.\n") } else { what.clone() };
        let place = match streams {
            true => format!("window: &mut {TYPED}::Window<'_, '_, {reply}>"),
            false => format!("reply: {TYPED}::Slot<'_, '_, {reply}>"),
        };
        let _ = writeln!(
            text,
            "{what}    fn {name}(&self, context: &{TYPED}::Context<'_>, request: &{request}, \
             {place}) -> ::core::result::Result<(), {TYPED}::Status>;"
        );
    }
    text.push_str("}\n");
}

/// Appends the enum of the methods, and the server's method that takes one.
fn append_methods(text: &mut String, name: &str, methods: &[Method]) {
    let variant = |Method { variant, id, .. }: &Method| format!("    /// `{variant}`.\n    {variant} = {id},\n");
    let variants: String = methods.iter().map(variant).collect();
    let info = constant(name);
    if methods.is_empty() {
        return;
    }
    let _ = write!(
        text,
        r"/// The methods of a [`{name}`].
#[allow(dead_code)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum {name}Method {{
{variants}}}
impl ::core::convert::From<{name}Method> for {TYPED}::MethodId {{
    fn from(method: {name}Method) -> Self {{
        Self::new({info}.id, method as u16)
    }}
}}
#[allow(dead_code)]
impl<S: {name}> {name}Server<S> {{
    /// Sets where the handler of a method runs, whatever the `.proto` says.
    #[must_use]
    pub fn with_class(self, method: {name}Method, class: ::nebula::Class) -> {TYPED}::Classed<Self> {{
        {TYPED}::Classed::new(self).with_class(method, class)
    }}
}}
"
    );
}

fn append_server(text: &mut String, name: &str, methods: &[Method]) {
    let arms: String = methods.iter().map(arm).collect();
    let info = constant(name);
    let classes = classes(methods);
    let numbers: Vec<_> = methods.iter().map(|method| method.id.to_string()).collect();
    let numbers = numbers.join(", ");
    let _ = write!(
        text,
        r"/// Serves a [`{name}`]: `Server::bind(endpoint).serve({name}Server(service))`.
#[allow(dead_code)]
#[derive(Clone, Debug)]
pub struct {name}Server<S>(pub S);
impl<S: {name}> {TYPED}::Methods for {name}Server<S> {{
    const SERVICE: {TYPED}::ServiceInfo = {info};
    const METHODS: &'static [u16] = &[{numbers}];
{classes}    #[inline(always)]
    fn call(&self, context: &{TYPED}::Context<'_>, body: &[u8], reply: &mut ::nebula::Reply<'_>) {{
        match context.method() {{
{arms}            _ => {TYPED}::unknown_method(&{info}, context, body, reply),
        }}
    }}
}}
impl<S: {name}> ::nebula::Service for {name}Server<S> {{
    #[inline(always)]
    fn serve(&self, request: &[u8], reply: &mut ::nebula::Reply<'_>) {{
        {TYPED}::serve(self, request, reply);
    }}
    fn describe(&self) -> ::nebula::Description {{
        {TYPED}::description::<Self>()
    }}
}}
"
    );
}

/// The server's code for a method. A handler whose request is read in place is called here, so that
/// it can be inlined into the dispatch.
fn arm(Method { name, id, streams, reads_line, request, .. }: &Method) -> String {
    match (streams, reads_line) {
        (true, _) => format!(
            "            {id} => {TYPED}::answer_window(context, body, reply, |request, window| \
             self.0.{name}(context, request, window)),\n"
        ),
        (false, false) => format!(
            "            {id} => {TYPED}::answer(body, reply, |request, slot| self.0.{name}(context, request, slot)),\n"
        ),
        (false, true) => format!(
            r"            {id} => match <{TYPED}::Line as {TYPED}::Encoding<{request}>>::read(body, &mut ::core::option::Option::None) {{
                ::core::option::Option::Some(request) => {{
                    let ended = self.0.{name}(context, request, {TYPED}::Slot::new(reply));
                    {TYPED}::end(ended, reply);
                }}
                ::core::option::Option::None => {TYPED}::no_message(reply),
            }},
"
        ),
    }
}

/// The code that says where handlers run: empty, unless a method is for the pool.
fn classes(methods: &[Method]) -> String {
    let long: Vec<_> = methods.iter().filter(|method| method.is_long).map(|method| method.id.to_string()).collect();
    if long.is_empty() {
        return String::new();
    }
    format!(
        r"    const HAS_LONG: bool = true;
    fn class(method: u16) -> ::nebula::Class {{
        if matches!(method, {long}) {{ ::nebula::Class::Worker }} else {{ ::nebula::Class::Dispatch }}
    }}
",
        long = long.join(" | ")
    )
}

fn append_client(text: &mut String, name: &str, methods: &[Method]) {
    let info = constant(name);
    let calls: String = methods.iter().map(|method| client_method(&info, method)).collect();
    let Polled { poll, places, new_places } = append_ended(text, name, methods);
    let _ = write!(
        text,
        r"/// A client of a [`{name}`]. One thread uses it at a time.
#[allow(dead_code)]
#[derive(Debug)]
pub struct {name}Client {{
    channel: {TYPED}::Channel,
{places}}}
#[allow(dead_code)]
impl {name}Client {{
    /// Connects to the server at `endpoint`, and compares its schema with this client's.
    pub fn connect(endpoint: impl ::nebula::IntoEndpoints) -> ::core::result::Result<Self, {TYPED}::ConnectError> {{
        Self::connect_with(endpoint, ::core::default::Default::default())
    }}
    /// As [`connect`](Self::connect), with the caller's configuration.
    pub fn connect_with(
        endpoint: impl ::nebula::IntoEndpoints,
        config: ::nebula::ClientConfig,
    ) -> ::core::result::Result<Self, {TYPED}::ConnectError> {{
        Self::over({TYPED}::Channel::connect_with(endpoint, config)?)
    }}
    /// A client over a connection that another service's client has had.
    pub fn over(mut channel: {TYPED}::Channel) -> ::core::result::Result<Self, {TYPED}::ConnectError> {{
        channel.check(&{info})?;
        Ok(Self {{ channel{new_places} }})
    }}
    /// The connection.
    pub const fn channel(&mut self) -> &mut {TYPED}::Channel {{
        &mut self.channel
    }}
    /// Gives the connection up, for another service's client.
    pub fn into_channel(self) -> {TYPED}::Channel {{
        self.channel
    }}
{calls}{poll}}}
"
    );
}

/// The client's code for the replies of submitted RPCs.
#[derive(Default)]
struct Polled {
    poll: String,
    /// The fields that assemble replies that are not contiguous, and their initial values.
    places: String,
    new_places: String,
}

/// Appends the replies of submitted RPCs. Streams are not submitted.
fn append_ended(text: &mut String, name: &str, methods: &[Method]) -> Polled {
    let polled: Vec<_> = methods.iter().filter(|method| !method.streams).collect();
    if polled.is_empty() {
        return Polled::default();
    }
    let variant =
        |Method { variant, reply, .. }: &&Method| format!("    /// Of `{variant}`.\n    {variant}(&'c {reply}),\n");
    let end = |Method { variant, id, reply, is_line, .. }: &&Method| {
        let decode = if *is_line { "decode" } else { "decode_apart" };
        format!("            {id} => ended.{decode}::<{reply}, _>(&mut self.place_{id}, {name}Ended::{variant}),\n")
    };
    let place = |Method { id, reply, .. }: &&Method| format!("    place_{id}: {TYPED}::Place<{reply}>,\n");
    let new_place = |Method { id, .. }: &&Method| format!(", place_{id}: ::core::default::Default::default()");
    let variants: String = polled.iter().map(variant).collect();
    let ends: String = polled.iter().map(end).collect();
    let _ = write!(
        text,
        r"/// The reply of a submitted RPC of a [`{name}`], lent until the next call of the client.
#[allow(dead_code)]
#[derive(Clone, Debug, PartialEq)]
pub enum {name}Ended<'c> {{
{variants}}}
"
    );
    let poll = format!(
        r"    /// The next submitted RPC that has ended, in the order of their ends. Never waits.
    #[inline(always)]
    pub fn poll(&mut self) -> {TYPED}::Decoded<{name}Ended<'_>> {{
        match self.channel.glance() {{
            {TYPED}::Found::Reply(found) => {{
                let ended = self.channel.replied(found);
                match found.id.method() {{
{ends}                    _ => ended.unknown(),
                }}
            }}
            {TYPED}::Found::Nothing => ::core::option::Option::None,
            {TYPED}::Found::Otherwise => self.poll_otherwise(),
        }}
    }}
    #[inline(never)]
    fn poll_otherwise(&mut self) -> {TYPED}::Decoded<{name}Ended<'_>> {{
        let ended = self.channel.poll_otherwise()?;
        match ended.id.method() {{
{ends}            _ => ended.unknown(),
        }}
    }}
"
    );
    Polled { poll, places: polled.iter().map(place).collect(), new_places: polled.iter().map(new_place).collect() }
}

/// The channel's call that sends a request; an idempotent one is marked.
fn send(method: &Method, how: &str) -> String {
    if method.idempotent {
        return format!(
            "self.channel.{how}_with(METHOD, request, ::nebula_typed::nebula::Options::default().idempotent(true))"
        );
    }
    format!("self.channel.{how}(METHOD, request)")
}

fn append_async_client(text: &mut String, name: &str, methods: &[Method]) {
    let info = constant(name);
    let call = |method: &Method| {
        let Method { what, name, id, request, reply, streams, .. } = method;
        let plain = name.trim_start_matches("r#");
        let what = if what.is_empty() { format!("    /// Calls `{plain}`.\n") } else { what.clone() };
        if *streams {
            return format!(
                r"{what}    pub fn {name}(&self, request: &{request}) -> {TYPED}::AsyncStream<'_, {reply}> {{
        const METHOD: {TYPED}::MethodId = {TYPED}::MethodId::new({info}.id, {id});
        {TYPED}::AsyncStream::new(&self.channel, METHOD, request)
    }}
"
            );
        }
        format!(
            r"{what}    pub async fn {name}(&self, request: &{request}) -> ::core::result::Result<{reply}, {TYPED}::CallError> {{
        const METHOD: {TYPED}::MethodId = {TYPED}::MethodId::new({info}.id, {id});
        {}.await
    }}
",
            send(method, "call")
        )
    };
    let calls: String = methods.iter().map(call).collect();
    let _ = write!(
        text,
        r"/// A client of a [`{name}`] for many tasks: its clones share a connection.
#[allow(dead_code)]
#[derive(Clone, Debug)]
pub struct {name}AsyncClient {{
    channel: {TYPED}::AsyncChannel,
}}
#[allow(dead_code)]
impl {name}AsyncClient {{
    /// Connects to the server at `endpoint`, and compares its schema with this client's: await it,
    /// or [`wait`](::nebula::Connecting::wait) for it.
    pub fn connect(endpoint: impl ::nebula::IntoEndpoints) -> ::nebula::Connecting<Self, {TYPED}::ConnectError> {{
        Self::connect_with(endpoint, ::core::default::Default::default())
    }}
    /// As [`connect`](Self::connect), with the caller's configuration.
    pub fn connect_with(
        endpoint: impl ::nebula::IntoEndpoints,
        config: ::nebula::ClientConfig,
    ) -> ::nebula::Connecting<Self, {TYPED}::ConnectError> {{
        {TYPED}::AsyncChannel::connect_with(endpoint, config, Self::over)
    }}
    /// A client over a connection that others share. This blocks the thread for a round trip.
    pub fn over(channel: {TYPED}::AsyncChannel) -> ::core::result::Result<Self, {TYPED}::ConnectError> {{
        channel.check(&{info})?;
        Ok(Self {{ channel }})
    }}
    /// The connection.
    pub const fn channel(&self) -> &{TYPED}::AsyncChannel {{
        &self.channel
    }}
{calls}}}
"
    );
}

fn client_method(info: &str, method: &Method) -> String {
    let Method { what, name, id, request, reply, streams, .. } = method;
    let plain = name.trim_start_matches("r#");
    let or = |text: String| if what.is_empty() { text } else { what.clone() };
    let constant = format!("const METHOD: {TYPED}::MethodId = {TYPED}::MethodId::new({info}.id, {id});");
    if *streams {
        let what = or(format!(
            "    /// Calls `{plain}`; its replies come window by window, as the iterator is asked for them.\n"
        ));
        return format!(
            r"{what}    pub fn {name}(&mut self, request: &{request}) -> {TYPED}::Stream<'_, {reply}> {{
        {constant}
        {TYPED}::Stream::new(&mut self.channel, METHOD, request)
    }}
"
        );
    }
    let what = or(format!("    /// Calls `{plain}` and waits for its reply.\n"));
    let (call, submit) = (send(method, "call"), send(method, "submit"));
    format!(
        r"{what}    #[inline]
    pub fn {name}(&mut self, request: &{request}) -> ::core::result::Result<{reply}, {TYPED}::CallError> {{
        {constant}
        {call}
    }}
    /// Sends a request of `{plain}` and returns at once; its reply comes from [`poll`](Self::poll)
    /// under the ticket.
    #[inline]
    pub fn submit_{plain}(&mut self, request: &{request}) -> ::core::result::Result<::nebula::Ticket, ::nebula::SubmitError> {{
        {constant}
        {submit}
    }}
"
    )
}
