//! All histories up to a length: every choice at every step. Each state is kept, so that no step is
//! taken twice.

use std::fmt::Debug;

/// Walks all histories of up to `steps` operations from `state`; their number.
///
/// `choices` lists the possible operations of a state, and `apply` applies and checks one. A failed
/// check prints the history.
pub fn walk<S: Clone, O: Copy + Debug>(
    state: &S,
    steps: u32,
    choices: &impl Fn(&S) -> Vec<O>,
    apply: &impl Fn(&mut S, O),
) -> u64 {
    let mut history = History(Vec::new());
    walk_on(state, steps, choices, apply, &mut history)
}

fn walk_on<S: Clone, O: Copy + Debug>(
    state: &S,
    steps: u32,
    choices: &impl Fn(&S) -> Vec<O>,
    apply: &impl Fn(&mut S, O),
    history: &mut History<O>,
) -> u64 {
    if steps == 0 {
        return 0;
    }
    let mut histories = 0;
    for op in choices(state) {
        history.0.push(op);
        let mut next = state.clone();
        apply(&mut next, op);
        histories += 1 + walk_on(&next, steps - 1, choices, apply, history);
        history.0.pop();
    }
    histories
}

/// Prints itself when a check fails.
struct History<O: Debug>(Vec<O>);

#[expect(clippy::print_stderr, reason = "a failing test shows how it got there")]
impl<O: Debug> Drop for History<O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("history: {:#?}", self.0);
        }
    }
}
