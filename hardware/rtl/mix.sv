// Stations 5 and 7, too: spreads every bit of a key over the word, the finalizer of SplitMix64.
// Source: `mix` of crates/nebula-nic/src/hash.rs. Two multiplications of 64 bits: with Stages registers between its steps (0 or 3) a key
// goes in each cycle and its hash comes out Stages cycles later.
module mix #(
    parameter int Stages = 0
) (
    input  logic        clk_i,
    input  logic [63:0] key_i,
    output logic [63:0] mixed_o
);
  logic [63:0] first, second;
  if (Stages == 0) begin : g_now
    logic unused;
    assign unused = clk_i;
    assign first = (key_i ^ (key_i >> 30)) * 64'hbf58_476d_1ce4_e5b9;
    assign second = (first ^ (first >> 27)) * 64'h94d0_49bb_1331_11eb;
    assign mixed_o = second ^ (second >> 31);
  end else begin : g_stages
    logic [63:0] mixed_q;
    always_ff @(posedge clk_i) begin
      first   <= (key_i ^ (key_i >> 30)) * 64'hbf58_476d_1ce4_e5b9;
      second  <= (first ^ (first >> 27)) * 64'h94d0_49bb_1331_11eb;
      mixed_q <= second ^ (second >> 31);
    end
    assign mixed_o = mixed_q;
  end
endmodule
