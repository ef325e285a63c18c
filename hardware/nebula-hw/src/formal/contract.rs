//! Contracts of modules: what a module needs of its inputs and guarantees of its outputs, in
//! hardware/formal/MODULE_contract.sv.
//!
//! In the proof of the module itself `NEEDS` are assumed and `GIVES` are proved. In the proof of a
//! module around it, it is replaced by its ports: its outputs are anything that `GIVES` allows, and
//! its `NEEDS` are proved. So every assumption is proved.

use nebula_shell::Failure;

/// The module, with its contract and other known facts before its end.
pub(super) fn proved(module: &str, contract: &str, within: &str) -> Result<String, Failure> {
    let body = module.trim_end().strip_suffix("endmodule").ok_or_else(|| Failure::new("a module without an end"))?;
    Ok(format!("{body}{}{within}endmodule\n", said(contract, "assume", "assert")))
}

/// The ports of the module, with any outputs that the contract allows.
pub(super) fn replaced(module: &str, contract: &str) -> Result<String, Failure> {
    let (header, _) = module.split_once("\n);\n").ok_or_else(|| Failure::new("a module without a list of ports"))?;
    let outputs: String = header.lines().filter_map(output).map(|(width, name)| free(width, name)).collect();
    Ok(format!("{header}\n);\n{outputs}{}endmodule\n", said(contract, "assert", "assume")))
}

/// The module with other values of its parameters: the defaults would take yosys long, for nothing.
pub(super) fn sized(module: &str, parameters: &[(&str, u32)]) -> Result<String, Failure> {
    let mut lines: Vec<String> = module.lines().map(str::to_owned).collect();
    for (name, value) in parameters {
        let begins = [format!("    parameter int {name} = "), format!("    parameter bit {name} = ")];
        let line = lines.iter_mut().find(|line| begins.iter().any(|begin| line.starts_with(begin)));
        let line = line.ok_or_else(|| Failure::new(format!("no parameter {name}")))?;
        let (declared, former) = line.split_once(" = ").unwrap_or_default();
        let rest = former.trim_start_matches(|c: char| c.is_ascii_digit());
        *line = format!("{declared} = {value}{rest}");
    }
    Ok(lines.join("\n") + "\n")
}

fn said(contract: &str, needs: &str, gives: &str) -> String {
    contract.replace("NEEDS (", &format!("{needs} (")).replace("GIVES (", &format!("{gives} ("))
}

/// Width and name of the output that a line of the list of ports declares, if it does.
fn output(line: &str) -> Option<(&str, &str)> {
    let port = line.trim_start().strip_prefix("output")?.trim_start().strip_prefix("logic")?;
    let port = port.split("//").next()?.trim().trim_end_matches(',');
    let (width, name) = port.rfind(']').map_or(("", port), |end| port.split_at(end + 1));
    Some((width, name.trim()))
}

/// A port with any value in each cycle: yosys' `anyseq`.
fn free(width: &str, name: &str) -> String {
    format!("  (* anyseq *) logic {width} any_{name};\n  assign {name} = any_{name};\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "module m (\n    input  logic a_i,\n    output logic [1:0] b_o,  // why\n    output logic c_o\n);\n  assign b_o = a_i;\nendmodule\n";
    const CONTRACT: &str = "  always_comb NEEDS (a_i);\n  always_comb GIVES (c_o);\n";

    #[test]
    fn a_module_that_is_proved_keeps_its_body() {
        let text = proved(MODULE, CONTRACT, "  // within\n").expect("it has an end");
        let end =
            "  assign b_o = a_i;\n  always_comb assume (a_i);\n  always_comb assert (c_o);\n  // within\nendmodule\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_module_that_is_replaced_has_any_outputs_that_its_contract_allows() {
        let text = replaced(MODULE, CONTRACT).expect("it has ports");
        assert!(text.contains("(* anyseq *) logic [1:0] any_b_o;\n  assign b_o = any_b_o;\n"), "{text}");
        assert!(text.contains("(* anyseq *) logic  any_c_o;\n  assign c_o = any_c_o;\n"), "{text}");
        assert!(text.ends_with("  always_comb assert (a_i);\n  always_comb assume (c_o);\nendmodule\n"), "{text}");
        assert!(!text.contains("b_o = a_i"), "{text}");
    }

    #[test]
    fn parameters_have_other_values() {
        let module = "module m #(\n    parameter int Slots = 8640,  // why\n    parameter bit Safe = 1\n) (\n);\n";
        let sized = sized(module, &[("Slots", 4), ("Safe", 0)]).expect("it has both");
        assert_eq!(sized, "module m #(\n    parameter int Slots = 4,  // why\n    parameter bit Safe = 0\n) (\n);\n");
        assert!(super::sized(module, &[("Cores", 4)]).is_err());
    }

    #[test]
    fn what_is_no_module_is_an_error() {
        assert!(proved("module m (a);", "", "").is_err() && replaced("module m (a);", "").is_err());
    }
}
