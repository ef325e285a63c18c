//! The services of `every.proto`.

use crate::every::{
    CallerReply, Empty, Every, FailRequest, Line, Loose, MisbehaveRequest, Number, NumbersRequest, Other, Pair, Sum,
};
use crate::every::{TraceReply, Word, WordsRequest};
use nebula_typed::{Code, Context, Slot, Status, Window};

/// Returns what it is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryService;

impl Every for EveryService {
    fn echo_line(&self, _: &Context, request: &Line, reply: Slot<Line>) -> Result<(), Status> {
        reply.write(request)
    }

    fn echo_loose(&self, _: &Context, request: &Loose, reply: Slot<Loose>) -> Result<(), Status> {
        reply.write(request)
    }

    fn nothing(&self, _: &Context, (): &(), reply: Slot<()>) -> Result<(), Status> {
        reply.write(&())
    }

    fn fail(&self, _: &Context, request: &FailRequest, reply: Slot<Line>) -> Result<(), Status> {
        // What is written before the failure is discarded.
        reply.write(&Line::default())?;
        let code = u16::try_from(request.code).map_or(Code::Unknown, Code::from_number);
        Err(Status::new(code, request.message.clone()).with_details(request.details.clone()))
    }

    fn poll_(&self, _: &Context, request: &Empty, reply: Slot<Empty>) -> Result<(), Status> {
        reply.write(request)
    }

    fn trace(&self, context: &Context, _: &Empty, reply: Slot<TraceReply>) -> Result<(), Status> {
        let trace = context.trace().map(|trace| trace.to_string()).unwrap_or_default();
        reply.write(&TraceReply { trace })
    }

    fn numbers(&self, _: &Context, request: &NumbersRequest, window: &mut Window<Number>) -> Result<(), Status> {
        let from = window.index().max(request.from.get());
        for number in from..request.below.get() {
            if !window.push(&Number { number: number.into() }) {
                window.resume_at_index(number);
                break;
            }
        }
        Ok(())
    }

    fn words(&self, _: &Context, request: &WordsRequest, window: &mut Window<Word>) -> Result<(), Status> {
        // Whatever is asked for: any bytes may come.
        let padding = request.padding.get().min(1 << 20) as usize;
        for number in window.index()..request.below.get() {
            if number > 0 && number == request.fail_at.get() {
                return Err(Status::data_loss(format!("{number} is lost")));
            }
            let word = format!("{}{number}", " ".repeat(padding));
            if !window.push(&Word { word }) {
                window.resume_at_index(number);
                break;
            }
        }
        Ok(())
    }

    fn caller(&self, context: &Context, _: &Empty, reply: Slot<CallerReply>) -> Result<(), Status> {
        let peer = context.peer().map(|peer| peer.to_string()).unwrap_or_default();
        let microseconds_left = context.time_left().map_or(0, |left| left.as_ps() / 1_000_000);
        reply.write(&CallerReply { peer, microseconds_left, is_cancelled: context.is_cancelled() })
    }

    fn misbehave(&self, _: &Context, request: &MisbehaveRequest, _: Slot<Empty>) -> Result<(), Status> {
        assert!(!request.panic.get(), "as asked");
        Ok(())
    }
}

/// Adds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Adder;

impl Other for Adder {
    fn add(&self, _: &Context, request: &Pair, reply: Slot<Sum>) -> Result<(), Status> {
        reply.write(&Sum { sum: (i64::from(request.a.get()) + i64::from(request.b.get())).into() })
    }
}
