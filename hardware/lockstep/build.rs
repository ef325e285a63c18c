//! Verilates the models of models.txt, writes a shim for each from the ports of its top module, and
//! compiles all of it.
//!
//! A model whose sources and parameters are those of the last build is not verilated again.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

struct Model {
    name: String,
    top: String,
    parameters: Vec<String>,
}

/// The ports of a top module but clock and reset.
struct Ports {
    inputs: Vec<String>,
    outputs: Vec<String>,
    resets: bool,
}

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let rtl = PathBuf::from(env::var("RTL_DIR").unwrap_or_else(|_| "../rtl".into()));
    println!("cargo:rerun-if-env-changed=RTL_DIR");
    println!("cargo:rerun-if-env-changed=RTL_MODELS");
    println!("cargo:rerun-if-changed={}", rtl.display());
    println!("cargo:rerun-if-changed=models.txt");
    let models = models(&fs::read_to_string("models.txt").expect("models.txt is there"));
    let mut table = String::new();
    let mut externs = String::new();
    for model in &models {
        let ports = ports(&fs::read_to_string(rtl.join(format!("{}.sv", model.top))).expect("the top module's file"));
        build(&out, &rtl, model, &ports);
        let name = &model.name;
        let _ = writeln!(
            externs,
            "    fn {name}_new(seed: u64) -> *mut c_void;\n    fn {name}_cycle(model: *mut c_void, inputs: *const u64, \
             outputs: *mut u64);\n    fn {name}_free(model: *mut c_void);"
        );
        let _ = writeln!(
            table,
            "    Table {{ name: \"{name}\", parameters: &{:?}, inputs: &{:?}, outputs: &{:?}, new: {name}_new, \
             cycle: {name}_cycle, free: {name}_free }},",
            model.parameters, ports.inputs, ports.outputs
        );
    }
    let text = format!("unsafe extern \"C\" {{\n{externs}}}\n\nstatic TABLES: &[Table] = &[\n{table}];\n");
    fs::write(out.join("models.rs"), text).expect("OUT_DIR can be written");
    runtime(&out);
}

/// The part of Verilator that all models need, compiled once.
fn runtime(out: &Path) {
    let include = include();
    if out.join("libverilated.a").exists() {
        println!("cargo:rustc-link-search=native={}", out.display());
        println!("cargo:rustc-link-lib=static=verilated");
        println!("cargo:rustc-link-lib=stdc++");
        return;
    }
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(1)
        .warnings(false)
        .includes([include.clone(), include.join("vltstd")])
        .files(["verilated.cpp", "verilated_threads.cpp"].map(|file| include.join(file)))
        .compile("verilated");
}

fn models(text: &str) -> Vec<Model> {
    let chosen = env::var("RTL_MODELS").ok();
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|one| one == name));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let parsed = lines.map(|line| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let name = words.next().expect("a model has a name");
        let top = words.next().expect("a model has a top module");
        Model { name, top, parameters: words.collect() }
    });
    parsed.filter(|model| is_chosen(&model.name)).collect()
}

/// The ports of a module in the style of `rtl/`: one a line, `input  logic [W-1:0] name_i,`.
fn ports(text: &str) -> Ports {
    let header = text.split_once(");").map_or(text, |(header, _)| header);
    let names = |direction: &str| {
        let lines = header.lines().map(str::trim).filter(|line| line.starts_with(direction));
        let name = |line: &str| {
            let code = line.split("//").next().unwrap_or("").trim().trim_end_matches(',');
            code.split_whitespace().last().expect("a port has a name").to_owned()
        };
        lines.map(name).filter(|name| name != "clk_i" && name != "rst_ni").collect()
    };
    Ports { inputs: names("input"), outputs: names("output"), resets: header.contains(" rst_ni") }
}

/// The files of the modules that `top` is made of.
fn sources(rtl: &Path, top: &str) -> Vec<PathBuf> {
    let all: Vec<String> = fs::read_dir(rtl)
        .expect("the RTL is there")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".sv")?.to_owned()))
        .collect();
    let mut used = vec![top.to_owned()];
    let mut next = 0;
    while next < used.len() {
        let text = fs::read_to_string(rtl.join(format!("{}.sv", used[next]))).expect("a module's file");
        for module in &all {
            let is_instance = |line: &str| line.trim_start().starts_with(&format!("{module} "));
            if !used.contains(module) && text.lines().any(is_instance) {
                used.push(module.clone());
            }
        }
        next += 1;
    }
    used.sort();
    used.into_iter().map(|module| rtl.join(format!("{module}.sv"))).collect()
}

fn include() -> PathBuf {
    let root = env::var("VERILATOR_ROOT").unwrap_or_else(|_| "/usr/share/verilator".into());
    PathBuf::from(root).join("include")
}

fn build(out: &Path, rtl: &Path, model: &Model, ports: &Ports) {
    let name = &model.name;
    let sources = sources(rtl, &model.top);
    let dir = out.join(name);
    let library = format!("model_{name}");
    println!("cargo:rustc-link-search=native={}", out.display());
    let mut hasher = DefaultHasher::new();
    model.parameters.hash(&mut hasher);
    // The shim, and how models are made: count this up when that changes.
    (1, self::shim(name, ports)).hash(&mut hasher);
    sources.iter().for_each(|path| fs::read_to_string(path).expect("a module's file").hash(&mut hasher));
    let stamp = format!("{:x}", hasher.finish());
    let stamped = out.join(format!("{name}.stamp"));
    if fs::read_to_string(&stamped).is_ok_and(|last| last == stamp) {
        println!("cargo:rustc-link-lib=static={library}");
        println!("cargo:rustc-link-lib=stdc++");
        return;
    }
    let _ = fs::remove_dir_all(&dir);
    let status = Command::new("verilator")
        .args(["--cc", "-O3", "--x-assign", "unique", "--x-initial", "unique", "--noassert", "-Wno-fatal", "-Wno-lint"])
        .args(["--output-split", "8000", "--top-module", &model.top, "--prefix", &format!("V{name}"), "-Mdir"])
        .arg(&dir)
        .args(model.parameters.iter().map(|parameter| format!("-G{parameter}")))
        .args(&sources)
        .status()
        .expect("verilator is installed: apt-get install --no-install-recommends verilator");
    assert!(status.success(), "verilator refuses {name}");
    let shim = dir.join("shim.cpp");
    fs::write(&shim, self::shim(name, ports)).expect("OUT_DIR can be written");
    let files = fs::read_dir(&dir).expect("verilator wrote it").filter_map(|entry| Some(entry.ok()?.path()));
    let include = include();
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(1)
        .warnings(false)
        .includes([include.clone(), include.join("vltstd"), dir.clone()])
        .files(files.filter(|path| path.extension().is_some_and(|extension| extension == "cpp")))
        .compile(&library);
    fs::write(stamped, stamp).expect("OUT_DIR can be written");
}

/// C functions around a model: one call a clock cycle. What is decided in a cycle is read before
/// its rising edge.
fn shim(name: &str, ports: &Ports) -> String {
    let set = |(index, port): (usize, &String)| format!("    top.{port} = inputs[{index}];\n");
    let get = |(index, port): (usize, &String)| format!("    outputs[{index}] = top.{port};\n");
    let inputs: String = ports.inputs.iter().enumerate().map(set).collect();
    let outputs: String = ports.outputs.iter().enumerate().map(get).collect();
    let last = ports.inputs.len();
    let reset = if ports.resets { format!("    top.rst_ni = inputs[{last}];\n") } else { String::new() };
    let in_reset = if ports.resets { "    model->top->rst_ni = 0;\n" } else { "" };
    format!(
        r#"#include "V{name}.h"
#include "verilated.h"
#include <cstdint>
namespace {{
struct Model {{
    VerilatedContext context;
    V{name}* top;
}};
}}
extern "C" void* {name}_new(uint64_t seed) {{
    auto* model = new Model;
    model->context.randReset(2);
    model->context.randSeed(static_cast<int>(seed & 0x7fffffff));
    model->top = new V{name}(&model->context);
    model->top->clk_i = 0;
{in_reset}    return model;
}}
extern "C" void {name}_free(void* model) {{
    delete static_cast<Model*>(model)->top;
    delete static_cast<Model*>(model);
}}
extern "C" void {name}_cycle(void* model, const uint64_t* inputs, uint64_t* outputs) {{
    auto& top = *static_cast<Model*>(model)->top;
{reset}{inputs}    top.clk_i = 0;
    top.eval();
{outputs}    top.clk_i = 1;
    top.eval();
}}
"#
    )
}
