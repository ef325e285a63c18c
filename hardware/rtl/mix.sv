// Stations 5 and 7, too: spreads every bit of a key over the word, the finalizer of SplitMix64. Two
// multiplications of 64 bits by constants, each in two stages: the rows of the product become two
// in one, and are added in the other. A key goes in each cycle; its hash is there four cycles
// later. Source: `mix` of core/nebula-nic/src/hash.rs.
module mix (
    input  logic        clk_i,
    input  logic [63:0] key_i,
    output logic [63:0] mixed_o
);
  logic [63:0] first_sum, first_carry, first_sum_q, first_carry_q, first_q;
  logic [63:0] second_sum, second_carry, second_sum_q, second_carry_q, second_q;
  times #(.Factor(64'hbf58_476d_1ce4_e5b9)) i_first (.word_i(key_i ^ (key_i >> 30)), .sum_o(first_sum), .carry_o(first_carry));
  times #(.Factor(64'h94d0_49bb_1331_11eb)) i_second (.word_i(first_q ^ (first_q >> 27)), .sum_o(second_sum), .carry_o(second_carry));
  always_ff @(posedge clk_i) begin
    first_sum_q    <= first_sum;
    first_carry_q  <= first_carry;
    first_q        <= first_sum_q + first_carry_q;
    second_sum_q   <= second_sum;
    second_carry_q <= second_carry;
    second_q       <= second_sum_q + second_carry_q;
  end
  assign mixed_o = second_q ^ (second_q >> 31);
endmodule
