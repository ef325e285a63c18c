// Station 7: which core serves this RPC? `random`: each RPC draws a core; `two-choices`: it draws two.
// Source: `Rng` of crates/nebula-nic/src/hash.rs (SplitMix64), dispatch/random.rs and dispatch/two_choices.rs.
module draw #(
    parameter int Cores = 64,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [15:0]      cores_i,      // at most Cores
    input  logic [63:0]      seed_i,
    output logic [CoreW-1:0] first_o,
    output logic [CoreW-1:0] second_o,
    input  logic             take_one_i,   // the first is used up
    input  logic             take_two_i    // both are
);
  localparam logic [63:0] Step = 64'h9e37_79b9_7f4a_7c15;
  logic [63:0] state_q, first, second;
  mix i_first (.clk_i, .key_i(state_q + Step), .mixed_o(first));
  mix i_second (.clk_i, .key_i(state_q + (Step << 1)), .mixed_o(second));
  wire [63:0] first_product = 64'(first[63:32]) * 64'(cores_i);
  wire [63:0] second_product = 64'(second[63:32]) * 64'(cores_i);
  assign first_o = CoreW'(first_product >> 32);
  assign second_o = CoreW'(second_product >> 32);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= seed_i;
    else state_q <= state_q + (take_two_i ? Step << 1 : take_one_i ? Step : 64'd0);
  end
  logic unused;
  assign unused = ^{first[31:0], second[31:0]};
endmodule
