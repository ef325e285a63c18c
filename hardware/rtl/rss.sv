// Station 7: which core serves this RPC? `rss`: by a hash of its sender; `key-hash`: by a hash of
// its key. A header goes in each cycle; its core is there four cycles later. Source:
// core/nebula-nic/src/dispatch/rss.rs, dispatch/key_hash.rs, and `reduce` of hash.rs.
module rss #(
    parameter int Cores = 64,
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
  mix i_mix (.clk_i, .key_i(by_key_i ? 64'(key_hash_i) : 64'(snid_i) ^ seed_i), .mixed_o(mixed));
  reduce #(.Bound(Cores)) i_reduce (.drawn_i(mixed[63:32]), .bound_i(cores_i), .index_o(core_o));
  logic unused;
  assign unused = ^mixed[31:0];
endmodule
