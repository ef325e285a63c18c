//! The properties, with their modules and proofs, and the wrong change that each proof must notice.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// By property-directed reachability.
    OfAnyLength,
    /// By induction: all assertions still hold after one more cycle.
    ByInduction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Circuit {
    /// hardware/formal/MODULE_check.sv, which gives the module any inputs; the `assert` is in the
    /// `ifdef` of the property's name.
    Harness,
    /// The module itself with these parameters, whose contract is proved. Some of its submodules
    /// are replaced by their contracts, and some may answer anything.
    Contract {
        parameters: &'static [(&'static str, u32)],
        replaced: &'static [&'static str],
        any: &'static [&'static str],
    },
}

pub(super) struct Mutant {
    pub(super) module: &'static str,
    pub(super) text: &'static str,
    pub(super) wrong: &'static str,
}

pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) module: &'static str,
    pub(super) circuit: Circuit,
    pub(super) runs: Runs,
    pub(super) mutant: Mutant,
}

const KEEPS_CREDIT: Mutant =
    Mutant { module: "jbsq", text: "taken[i] = level_q[i] & ~take;", wrong: "taken[i] = level_q[i];" };
const TAKES_ONE_SLOT_TOO_MANY: Mutant = Mutant {
    module: "recv_buffer",
    text: "wire is_at_head = !spare[AddrW+1];",
    wrong: "wire is_at_head = !spare[AddrW+1] || spare == '1;",
};
const WALKS_ON: Mutant =
    Mutant { module: "backend", text: "((ended && !walked_q) || walked_q)", wrong: "(ended && !walked_q)" };
/// Submodules of the back end: those that its proof takes by their contracts, and those that may
/// answer anything.
const OF_BACKEND: &[&str] = &["admission", "nack", "reassembler", "recv_buffer"];
const ANY_OF_BACKEND: &[&str] = &["arrival_queue", "credit", "draw", "jbsq", "round_robin"];
const BIT_BANKS: Circuit =
    Circuit::Contract { parameters: &[("Slots", 192), ("Words", 3), ("Sentinel", 1)], replaced: &[], any: &[] };

pub(super) const PROPERTIES: &[Property] = &[
    Property {
        name: "AT_MOST_N",
        module: "jbsq",
        circuit: Circuit::Harness,
        runs: Runs::OfAnyLength,
        mutant: KEEPS_CREDIT,
    },
    Property {
        name: "NO_GRANT_WITHOUT_CREDIT",
        module: "jbsq",
        circuit: Circuit::Harness,
        runs: Runs::OfAnyLength,
        mutant: KEEPS_CREDIT,
    },
    Property {
        name: "A_CORE_WITH_CREDIT_IS_FOUND",
        module: "jbsq",
        circuit: Circuit::Harness,
        runs: Runs::OfAnyLength,
        mutant: Mutant { module: "jbsq", text: "level_d[i] |= full & back;", wrong: "level_d[i] |= '0;" },
    },
    Property {
        name: "LIVE_RANGES_NEVER_OVERLAP",
        module: "recv_buffer",
        circuit: Circuit::Contract {
            parameters: &[("Slots", 192), ("Cores", 2)],
            replaced: &["bit_banks", "room_search"],
            any: &[],
        },
        runs: Runs::ByInduction,
        mutant: TAKES_ONE_SLOT_TOO_MANY,
    },
    Property {
        name: "A_BOUND_IS_DIVIDED_IN_33_CYCLES",
        module: "admission",
        circuit: Circuit::Contract { parameters: &[], replaced: &[], any: &[] },
        runs: Runs::OfAnyLength,
        mutant: Mutant { module: "admission", text: "left_q      <= left_q - 6'd1;", wrong: "left_q      <= left_q;" },
    },
    Property {
        name: "A_SENDER_IS_FORGOTTEN_IN_A_CYCLE_A_PLACE",
        module: "nack",
        circuit: Circuit::Contract { parameters: &[("Keys", 64)], replaced: &[], any: &[] },
        runs: Runs::OfAnyLength,
        mutant: Mutant { module: "nack", text: "forget_q == KeyW'(Keys - 1)", wrong: "key_q[forget_q][63]" },
    },
    Property {
        name: "AN_INPUT_IS_HASHED_IN_FIVE_CYCLES",
        module: "hash_ahead",
        circuit: Circuit::Contract {
            parameters: &[("Cores", 4), ("Keys", 4), ("InputW", 4)],
            replaced: &[],
            any: &["rss", "mix"],
        },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "hash_ahead",
            text: "{stages_q[Stages-2:0], joins}",
            wrong: "{stages_q[Stages-2:0], valid_i}",
        },
    },
    Property {
        name: "SLOTS_ARE_FOUND_AND_FREED_IN_TIME",
        module: "recv_buffer",
        circuit: Circuit::Contract {
            parameters: &[("Slots", 192), ("Cores", 2)],
            replaced: &[],
            any: &["bit_banks", "room_search"],
        },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "recv_buffer",
            text: "if (is_last_q) state_q <= Fast;",
            wrong: "if (is_last_q && left_q[5:0] != '0) state_q <= Fast;",
        },
    },
    Property {
        name: "WHAT_IS_INCOMPLETE_ENDS_IN_TIME",
        module: "reassembler",
        circuit: Circuit::Contract {
            parameters: &[("Entries", 4), ("Slots", 192), ("Cores", 2)],
            replaced: &[],
            any: &["arrived"],
        },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "reassembler",
            text: "if (leaves != newest_q) older_q[its_newer] <= its_older;",
            wrong: "older_q[its_newer] <= its_older;",
        },
    },
    Property {
        name: "EVERY_INPUT_IS_DECIDED_ABOUT_IN_TIME",
        module: "backend",
        circuit: Circuit::Contract {
            parameters: &[("Slots", 192), ("Cores", 2), ("Places", 4), ("Entries", 4)],
            replaced: OF_BACKEND,
            any: ANY_OF_BACKEND,
        },
        runs: Runs::ByInduction,
        mutant: WALKS_ON,
    },
    Property {
        name: "A_BIT_IS_READ_AS_IT_WAS_WRITTEN",
        module: "bit_banks",
        circuit: BIT_BANKS,
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "bit_banks",
            text: "to_q          <= {to_i[6] ^ from_i[6], to_i[5:0]};",
            wrong: "to_q          <= to_i;",
        },
    },
    Property {
        name: "BITS_ARE_COMPARED_AS_THEY_WERE_WRITTEN",
        module: "bit_banks",
        circuit: BIT_BANKS,
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "bit_banks",
            text: ".wrong_if_0_i(care & (set ^ wanted))",
            wrong: ".wrong_if_0_i(care & wanted)",
        },
    },
    Property {
        name: "ROOM_THAT_IS_FOUND_IS_FREE",
        module: "room_search",
        circuit: Circuit::Contract { parameters: &[("AddrW", 10)], replaced: &[], any: &[] },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "room_search",
            text: "wire sum_dead = sum_dead_q || is_in(sum_word_q);",
            wrong: "wire sum_dead = sum_dead_q;",
        },
    },
    Property {
        name: "AN_ARRIVAL_IS_COUNTED_IN_TIME",
        module: "load_estimate",
        circuit: Circuit::Contract { parameters: &[], replaced: &[], any: &[] },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "load_estimate",
            text: "closes_q <= closes_q + window_i;",
            wrong: "closes_q <= closes_q + (window_i >> 1);",
        },
    },
    Property {
        name: "A_DECISION_IS_MADE_IN_TIME",
        module: "altocumulus_manager",
        circuit: Circuit::Contract {
            parameters: &[("Groups", 4), ("Rows", 2), ("Descriptors", 4)],
            replaced: &[],
            any: &["load_estimate"],
        },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "altocumulus_manager",
            text: "is_worth_it_q <= !is_last_turn && (is_worth_it_q || sends);",
            wrong: "is_worth_it_q <= is_worth_it_q || sends;",
        },
    },
    Property {
        name: "TRUSTED_SLOTS_ARE_FOUND_AND_FREED_IN_TIME",
        module: "recv_buffer",
        circuit: Circuit::Contract {
            parameters: &[("Slots", 192), ("Cores", 2), ("Safe", 0)],
            replaced: &[],
            any: &["bit_banks", "room_search"],
        },
        runs: Runs::ByInduction,
        mutant: Mutant {
            module: "recv_buffer",
            text: "((release_done || (free_begins && !Safe)) && !is_short)",
            wrong: "((release_done || (free_begins && !Safe)))",
        },
    },
    Property {
        name: "TRUSTED_EVERY_INPUT_IS_DECIDED_ABOUT_IN_TIME",
        module: "backend",
        circuit: Circuit::Contract {
            parameters: &[("Slots", 192), ("Cores", 2), ("Places", 4), ("Entries", 4), ("Safe", 0)],
            replaced: OF_BACKEND,
            any: ANY_OF_BACKEND,
        },
        runs: Runs::ByInduction,
        mutant: WALKS_ON,
    },
    Property {
        name: "TRUSTED_LIVE_RANGES_NEVER_OVERLAP",
        module: "recv_buffer",
        circuit: Circuit::Contract {
            parameters: &[("Slots", 192), ("Cores", 2), ("Safe", 0)],
            replaced: &["bit_banks", "room_search"],
            any: &[],
        },
        runs: Runs::ByInduction,
        mutant: TAKES_ONE_SLOT_TOO_MANY,
    },
];
