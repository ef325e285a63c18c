//! A compiled module: ports by name, one call a clock cycle. The only file with `unsafe` code: the
//! calls into Verilator's output.

use std::ffi::c_void;

/// A model that build.rs has compiled.
struct Table {
    name: &'static str,
    parameters: &'static [&'static str],
    inputs: &'static [&'static str],
    outputs: &'static [&'static str],
    new: unsafe extern "C" fn(u64) -> *mut c_void,
    cycle: unsafe extern "C" fn(*mut c_void, *const u64, *mut u64),
    free: unsafe extern "C" fn(*mut c_void),
}

include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// The names of the compiled models.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

/// The value of a parameter of a model, if the model was compiled and has the parameter.
#[must_use]
pub fn parameter(model: &str, name: &str) -> Option<u64> {
    let table = TABLES.iter().find(|table| table.name == model)?;
    let value = |word: &'static str| word.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value);
    table.parameters.iter().copied().find_map(value)?.parse().ok()
}

/// A port of a model: set before a cycle, or read after it.
#[derive(Clone, Copy, Debug)]
pub struct Port(usize);

/// A module in simulation. As in a chip, its registers begin with arbitrary values, here from a
/// seed.
pub struct Model {
    table: &'static Table,
    handle: *mut c_void,
    /// The inputs, and the reset, active low.
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    cycles: u64,
}

impl Model {
    /// The model of that name, in reset; `None` if it was not compiled.
    #[must_use]
    pub fn new(name: &str, seed: u64) -> Option<Self> {
        let table = TABLES.iter().find(|table| table.name == name)?;
        // SAFETY: `new` takes any number and returns a model that no other value owns; `drop` frees
        // it once.
        let handle = unsafe { (table.new)(seed) };
        Some(Self {
            table,
            handle,
            inputs: vec![0; table.inputs.len() + 1],
            outputs: vec![0; table.outputs.len()],
            cycles: 0,
        })
    }

    /// An input.
    ///
    /// # Panics
    ///
    /// If the module has no such input.
    #[must_use]
    pub fn input(&self, name: &str) -> Port {
        let at = self.table.inputs.iter().position(|port| *port == name);
        Port(at.unwrap_or_else(|| panic!("{} has no input {name}", self.table.name)))
    }

    /// An output.
    ///
    /// # Panics
    ///
    /// If the module has no such output.
    #[must_use]
    pub fn output(&self, name: &str) -> Port {
        let at = self.table.outputs.iter().position(|port| *port == name);
        Port(at.unwrap_or_else(|| panic!("{} has no output {name}", self.table.name)))
    }

    /// Sets an input; it keeps its value.
    #[inline]
    pub fn set(&mut self, port: Port, value: u64) {
        self.inputs[port.0] = value;
    }

    /// Sets an input by its name, for inputs that are set once.
    pub fn set_named(&mut self, name: &str, value: u64) {
        let port = self.input(name);
        self.set(port, value);
    }

    /// The value of an output in the last cycle.
    #[must_use]
    #[inline]
    pub fn get(&self, port: Port) -> u64 {
        self.outputs[port.0]
    }

    /// The value of an output by its name.
    #[must_use]
    pub fn get_named(&self, name: &str) -> u64 {
        self.get(self.output(name))
    }

    /// Runs one clock cycle: outputs can be read, and registers are updated.
    #[inline]
    pub fn cycle(&mut self) {
        self.cycles += 1;
        // SAFETY: the handle is a live model of this table; the arrays have a word for each of its
        // ports, and one for the reset.
        unsafe { (self.table.cycle)(self.handle, self.inputs.as_ptr(), self.outputs.as_mut_ptr()) }
    }

    /// Runs cycles until an output has `value`.
    ///
    /// # Panics
    ///
    /// After a million cycles, which means a hang.
    pub fn cycle_until(&mut self, output: &str, value: u64) {
        let port = self.output(output);
        for _ in 0..1_000_000 {
            self.cycle();
            if self.get(port) == value {
                return;
            }
        }
        panic!("{} never has {output} = {value}", self.table.name);
    }

    /// Resets for two cycles.
    pub fn reset(&mut self) {
        self.set_reset(true);
        (0..2).for_each(|_| self.cycle());
        self.set_reset(false);
    }

    fn set_reset(&mut self, is_reset: bool) {
        if let Some(reset) = self.inputs.last_mut() {
            *reset = u64::from(!is_reset);
        }
    }

    /// Cycles since it was created.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the handle came from `new` of the same table, and is not used again.
        unsafe { (self.table.free)(self.handle) }
    }
}
