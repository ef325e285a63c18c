// Stations 3 to 7 behind their hashes: `hash_ahead`, and `backend` with queues of cores and RPCs of
// several packets. An input is taken with `ready_o`, and decided about seven cycles later or where
// it has to wait: the hashes of those behind it are worked out meanwhile. Source:
// core/nebula-nic/src/backend.rs.
module pipeline #(
    parameter int Slots = 8640,
    parameter int Cores = 64,
    parameter int Places = 1024,    // of the arrival queue, a power of two
    parameter int Entries = 64,     // of the reassembler
    parameter int BoundMax = 2,     // the largest N of jbsq:N
    parameter bit Safe = 1          // a free is checked against exactly one RPC of that core
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // The configuration; it does not change after reset.
    input  logic [2:0]  policy_i,
    input  logic [6:0]  bound_i,                  // RPCs that a core may have
    input  logic [15:0] cores_i,
    input  logic [31:0] buffer_slots_i,
    input  logic        first_when_empty_i,
    input  logic [31:0] mtu_i,
    input  logic [31:0] rpc_bytes_max_i,
    input  logic [15:0] reassembler_entries_i,
    input  logic [31:0] queue_bound_i,
    input  logic [31:0] queue_bound_max_i,
    input  logic [63:0] reassembly_timeout_i,     // picoseconds
    input  logic [63:0] seed_i,
    // An input, and the decision about it.
    input  logic        valid_i,
    input  logic [2:0]  op_i,
    input  logic [63:0] at_i,                     // picoseconds
    input  logic        is_request_i,
    input  logic [31:0] snid_i,
    input  logic [31:0] tid_i,
    input  logic [31:0] rpc_bytes_i,
    input  logic [31:0] pkt_idx_i,
    input  logic [31:0] packets_i,                // of an RPC of rpc_bytes_i: the parser's division
    input  logic [31:0] key_hash_i,
    input  logic [15:0] core_i,
    input  logic [31:0] start_i,
    input  logic [31:0] slots_i,
    input  logic [31:0] waiting_i,
    output logic        ready_o,                  // the input is taken
    output logic        decided_o,                // the one before is decided about, as follows
    output logic [1:0]  verdict_o,
    output logic [2:0]  reason_o,
    output logic [31:0] start_o,
    output logic [31:0] slots_o,
    output logic [31:0] offset_bytes_o,
    output logic [31:0] bytes_o,
    output logic        complete_o,
    // An RPC for a core.
    input  logic        dispatch_ready_i,
    output logic        dispatch_valid_o,
    output logic [15:0] dispatch_core_o,
    output logic [31:0] dispatch_snid_o,
    output logic [31:0] dispatch_tid_o,
    output logic [31:0] dispatch_start_o,
    output logic [31:0] dispatch_bytes_o,
    output logic [31:0] dispatch_key_hash_o,
    output logic [63:0] dispatch_arrived_o,
    // An RPC that is not complete in time, or whose sender is gone.
    input  logic        abandoned_ready_i,
    output logic        abandoned_valid_o,
    output logic [31:0] abandoned_snid_o,
    output logic [31:0] abandoned_tid_o,
    output logic [31:0] abandoned_start_o,
    output logic [31:0] abandoned_bytes_o,
    output logic        up_o                      // the first input may come
);
  localparam int CoreW = $clog2(Cores);
  localparam int KeyW = $clog2(Entries);
  typedef struct packed {
    logic [2:0]  op;
    logic [63:0] at;
    logic        is_request;
    logic [31:0] snid;
    logic [31:0] tid;
    logic [31:0] rpc_bytes;
    logic [31:0] pkt_idx;
    logic [31:0] packets;
    logic [31:0] key_hash;
    logic [15:0] core;
    logic [31:0] start;
    logic [31:0] slots;
    logic [31:0] waiting;
  } input_t;
  localparam logic [2:0] ByKey = 5;  // policy_e of backend.sv

  input_t joining, front;
  assign joining = {op_i, at_i, is_request_i, snid_i, tid_i, rpc_bytes_i, pkt_idx_i, packets_i, key_hash_i, core_i, start_i, slots_i, waiting_i};
  logic has_room, is_hashed, takes;
  logic [CoreW-1:0] hashed_core;
  logic [KeyW-1:0] hashed_place;
  assign ready_o = up_o && has_room;
  hash_ahead #(.Cores(Cores), .Keys(1 << KeyW), .InputW($bits(joining))) i_hash (
      .clk_i, .rst_ni, .cores_i, .by_key_i(policy_i == ByKey), .seed_i, .valid_i(valid_i && up_o), .input_i(joining), .snid_i, .tid_i,
      .key_hash_i, .ready_o(has_room), .valid_o(is_hashed), .input_o(front), .core_o(hashed_core), .place_o(hashed_place),
      .ready_i(takes));
  backend #(.Slots(Slots), .Cores(Cores), .Places(Places), .Entries(Entries), .BoundMax(BoundMax), .Safe(Safe)) i_backend (
      .valid_i(is_hashed), .op_i(front.op), .at_i(front.at), .is_request_i(front.is_request), .snid_i(front.snid), .tid_i(front.tid),
      .rpc_bytes_i(front.rpc_bytes), .pkt_idx_i(front.pkt_idx), .packets_i(front.packets), .key_hash_i(front.key_hash),
      .core_i(front.core), .start_i(front.start), .slots_i(front.slots), .waiting_i(front.waiting), .hashed_core_i(hashed_core),
      .hashed_place_i(hashed_place), .ready_o(takes), .*);
endmodule
