//! The changes of a `.proto` that let peers built before and after it understand each other.

use crate::schema::{Encoding, Enum, Field, Message, Method, Schema, Service, Value};

/// Numbers that a `.proto` declares `reserved`.
pub trait Reserved {
    /// Whether no field of the message may have the number again.
    fn field(&self, message: &str, number: u32) -> bool;
    /// Whether no value of the enum may have the number again.
    fn value(&self, enumeration: &str, number: i32) -> bool;
}

/// The schema to lock after `locked`, given the `.proto`'s schema `now`: new declarations are
/// added, and removed ones keep their numbers.
///
/// # Errors
///
/// Every change that a peer of an earlier version would misread, in one line each with what to do
/// instead.
pub fn advance(locked: &Schema, now: &Schema, reserved: &dyn Reserved) -> Result<Schema, Vec<String>> {
    let mut check = Check { reserved, refused: Vec::new() };
    let next = Schema {
        services: merged(&locked.services, &now.services, |one| &one.name, |was, is| check.service(was, is)),
        messages: merged(&locked.messages, &now.messages, |one| &one.name, |was, is| check.message(was, is)),
        enums: merged(&locked.enums, &now.enums, |one| &one.name, |was, is| check.enumeration(was, is)),
    };
    if check.refused.is_empty() { Ok(next) } else { Err(check.refused) }
}

/// Merges two lists by name; `both` makes the next version of an element of `was` from its version
/// now.
fn merged<T: Clone>(
    was: &[T],
    now: &[T],
    name: fn(&T) -> &String,
    mut both: impl FnMut(&T, Option<&T>) -> T,
) -> Vec<T> {
    let find = |list: &[T], like: &T| list.iter().position(|one| name(one) == name(like));
    let mut next: Vec<T> = was.iter().map(|one| both(one, find(now, one).map(|at| &now[at]))).collect();
    next.extend(now.iter().filter(|one| find(was, one).is_none()).cloned());
    next.sort_by(|a, b| name(a).cmp(name(b)));
    next
}

struct Check<'r> {
    reserved: &'r dyn Reserved,
    refused: Vec<String>,
}

impl Check<'_> {
    fn refuse(&mut self, text: String) {
        self.refused.push(text);
    }

    fn service(&mut self, was: &Service, is: Option<&Service>) -> Service {
        let id = is.map_or(was.id, |is| is.id);
        if id != was.id {
            self.refuse(format!(
                "{} has had the number {}: give it back with `option (nebula.service_id) = {};`",
                was.name, was.id, was.id
            ));
        }
        let methods = is.map_or(&[][..], |is| &is.methods);
        let mut next: Vec<_> = was.methods.iter().map(|method| self.method(&was.name, method, methods)).collect();
        next.extend(methods.iter().filter(|new| was.methods.iter().all(|old| old.id != new.id)).cloned());
        next.sort_by_key(|method| method.id);
        Service { name: was.name.clone(), id, methods: next }
    }

    fn method(&mut self, service: &str, was: &Method, now: &[Method]) -> Method {
        let Some(is) = now.iter().find(|is| is.id == was.id) else { return Method { removed: true, ..was.clone() } };
        if is.signature() != was.signature() {
            let (id, was, name) = (was.id, was.signature(), &is.name);
            self.refuse(format!("{service}: method {id} has been {was}: give {name} another number"));
        } else if was.idempotent && !is.idempotent && !was.removed {
            self.refuse(format!(
                "{service}: clients built before may repeat {}: keep it idempotent, or add another method",
                was.name
            ));
        }
        is.clone()
    }

    fn message(&mut self, was: &Message, is: Option<&Message>) -> Message {
        let Some(is) = is else { return was.clone() };
        if is.encoding != was.encoding {
            self.refuse(format!(
                "{} has been encoded as {}, and its fields now make it {}: add a new message instead, or keep its encoding",
                was.name, was.encoding().name(), is.encoding().name()
            ));
            return was.clone();
        }
        match was.encoding() {
            Encoding::Line => self.line(was, is),
            Encoding::Proto | Encoding::Auto => self.proto(was, is),
        }
    }

    /// Line messages only grow at their end.
    fn line(&mut self, was: &Message, is: &Message) -> Message {
        for (at, old) in was.fields.iter().enumerate() {
            match is.fields.get(at) {
                Some(new) if (new.number, &new.kind, new.end) == (old.number, &old.kind, old.end) => continue,
                Some(new) if new.number == old.number => self.refuse(format!(
                    "{}: field {} has been {} up to byte {} and is {} up to byte {}: keep it, and append a field",
                    was.name, old.number, old.kind, old.end, new.kind, new.end
                )),
                _ => self.refuse(format!(
                    "{}: field {} (`{}`) is missing: a LINE message keeps its fields in their places, and new ones have higher numbers",
                    was.name, old.number, old.name
                )),
            }
            break;
        }
        is.clone()
    }

    fn proto(&mut self, was: &Message, is: &Message) -> Message {
        let mut next = is.clone();
        for old in &was.fields {
            match is.fields.iter().find(|new| new.number == old.number) {
                Some(new) if new.kind == old.kind => {}
                Some(new) => self.refuse(format!(
                    "{}: field {} has been {} and is {}: give `{}` another number",
                    was.name, old.number, old.kind, new.kind, new.name
                )),
                None if old.removed || self.reserved.field(&was.name, old.number) => {
                    next.fields.push(Field { removed: true, ..old.clone() });
                }
                None => self.refuse(format!(
                    "{}: field {} (`{}`) is missing: add `reserved {};`",
                    was.name, old.number, old.name, old.number
                )),
            }
        }
        next.fields.sort_by_key(|field| field.number);
        next
    }

    fn enumeration(&mut self, was: &Enum, is: Option<&Enum>) -> Enum {
        let Some(is) = is else { return was.clone() };
        let mut next = is.clone();
        for old in &was.values {
            let named = is.values.iter().find(|new| new.name == old.name);
            if let Some(new) = named.filter(|new| new.number != old.number && !old.removed) {
                self.refuse(format!(
                    "{}: {} has been {} and is {}: keep its number",
                    was.name, old.name, old.number, new.number
                ));
            } else if is.values.iter().any(|new| new.number == old.number) {
            } else if old.removed || self.reserved.value(&was.name, old.number) {
                next.values.push(Value { removed: true, ..old.clone() });
            } else {
                self.refuse(format!(
                    "{}: {} = {} is missing: add `reserved {};`",
                    was.name, old.name, old.number, old.number
                ));
            }
        }
        next
    }
}

#[cfg(test)]
mod tests;
