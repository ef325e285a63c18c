// Station 7: which core serves this RPC? `random`: each RPC draws a core; `two-choices`: it draws
// two. Two cores are drawn in each cycle, ahead of the RPCs that take them, until Ahead of them
// wait or are on the way: so two may be taken in each cycle. The first two are there 5 cycles after
// reset. Source: `Rng` of core/nebula-nic/src/hash.rs (SplitMix64), dispatch/random.rs and
// dispatch/two_choices.rs.
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
  localparam int AheadW = 4;
  localparam int Ahead = 1 << AheadW;
  localparam int Stages = 5;  // from a number to its core

  // -- numbers: two in a cycle, while there is room for their cores --
  logic [63:0] one_q, two_q;  // the next two states
  logic [AheadW:0] room_q;
  wire draws = room_q[AheadW:1] != '0;
  wire [1:0] taken = take_two_i ? 2'd2 : {1'b0, take_one_i};

  // -- their cores --
  logic [63:0] one_mixed, two_mixed;
  logic [CoreW-1:0] one, two;
  mix i_one (.clk_i, .key_i(one_q), .mixed_o(one_mixed));
  mix i_two (.clk_i, .key_i(two_q), .mixed_o(two_mixed));
  reduce #(.Bound(Cores)) i_reduce_one (.drawn_i(one_mixed[63:32]), .bound_i(cores_i), .index_o(one));
  reduce #(.Bound(Cores)) i_reduce_two (.drawn_i(two_mixed[63:32]), .bound_i(cores_i), .index_o(two));
  logic [Stages-2:0] drawn_q;  // which stages hold numbers

  // -- those that wait, in pairs as they are drawn --
  logic [CoreW-1:0] even_q[Ahead/2];
  logic [CoreW-1:0] odd_q[Ahead/2];
  logic [AheadW-2:0] back_q;
  logic [AheadW-1:0] front_q;
  wire [AheadW-2:0] pair = front_q[AheadW-1:1];
  wire [AheadW-2:0] next_pair = pair + (AheadW - 1)'(1);
  assign first_o = front_q[0] ? odd_q[pair] : even_q[pair];
  assign second_o = front_q[0] ? even_q[next_pair] : odd_q[pair];

  always_ff @(posedge clk_i) begin
    if (drawn_q[Stages-2]) begin
      even_q[back_q] <= one;
      odd_q[back_q]  <= two;
    end
    if (!rst_ni) begin
      one_q   <= seed_i + Step;
      two_q   <= seed_i + (Step << 1);
      room_q  <= (AheadW + 1)'(Ahead);
      drawn_q <= '0;
      back_q  <= '0;
      front_q <= '0;
    end else begin
      if (draws) begin
        one_q <= one_q + (Step << 1);
        two_q <= two_q + (Step << 1);
      end
      room_q  <= room_q - {(AheadW - 1)'(0), draws, 1'b0} + (AheadW + 1)'(taken);
      drawn_q <= {drawn_q[Stages-3:0], draws};
      back_q  <= back_q + (AheadW - 1)'(drawn_q[Stages-2]);
      front_q <= front_q + AheadW'(taken);
    end
  end
  logic unused;
  assign unused = ^{one_mixed[31:0], two_mixed[31:0]};
endmodule
