// Station 7: which core serves this RPC? `rss`: by a hash of its sender; `key-hash`: by a hash of its key.
// Source: crates/nebula-nic/src/dispatch/rss.rs, dispatch/key_hash.rs, and `reduce` of hash.rs.
module rss #(
    parameter int Cores = 64,
    parameter int Stages = 0,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic [15:0]      cores_i,    // at most Cores
    input  logic             by_key_i,
    input  logic [63:0]      seed_i,
    input  logic [31:0]      snid_i,
    input  logic [31:0]      key_hash_i,
    output logic [CoreW-1:0] core_o
);
  logic [63:0] mixed;
  mix #(.Stages(Stages)) i_mix (
      .clk_i, .key_i(by_key_i ? 64'(key_hash_i) : 64'(snid_i) ^ seed_i), .mixed_o(mixed));
  wire [63:0] product = 64'(mixed[63:32]) * 64'(cores_i);
  assign core_o = CoreW'(product >> 32);
  logic unused;
  assign unused = ^mixed[31:0];
endmodule
