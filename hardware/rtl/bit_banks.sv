// Station 4, too: a bit a slot. Words of 64 bits in two banks, the even and the odd ones, so that any 65 slots in a row are read
// and written at once. Several windows are read in a cycle; one is changed at its end.
// Source: `Word` of crates/nebula-nic/src/recv_buffer.rs.
module bit_banks #(
    parameter int Slots = 8640,
    parameter int Windows = 1,
    parameter bit Sentinel = 0,  // slots that do not exist are 1
    localparam int Pairs = Slots / 128 + 2,
    localparam int PairW = $clog2(Pairs),
    localparam int WordW = PairW + 1
) (
    input  logic                          clk_i,
    input  logic [WordW+5:0]              slots_i,  // that the buffer has, at most Slots
    // Before the first input: both words of a pair get the value of an empty buffer.
    input  logic                          clear_i,
    input  logic [PairW-1:0]              clear_pair_i,
    input  logic [Windows*WordW-1:0]      word_i,
    output logic [Windows*128-1:0]        bits_o,
    input  logic [WordW-1:0]              late_word_i,  // one more, of a word that the others may say
    output logic [63:0]                   late_bits_o,
    input  logic                          write_i,
    input  logic [WordW-1:0]              write_word_i,
    input  logic [127:0]                  set_i,
    input  logic [127:0]                  unset_i
);
  wire [WordW-1:0] last = slots_i[WordW+5:6];
  wire [63:0] last_word = ~64'd0 << slots_i[5:0];

  logic [63:0] even_q[Pairs];
  logic [63:0] odd_q[Pairs];

  for (genvar i = 0; i < Windows; i++) begin : g_window
    wire [WordW-1:0] word = word_i[i*WordW+:WordW];
    wire [PairW-1:0] even_at = PairW'((word + WordW'(1)) >> 1);
    wire [PairW-1:0] odd_at = word[WordW-1:1];
    assign bits_o[i*128+:128] = word[0] ? {even_q[even_at], odd_q[odd_at]} : {odd_q[odd_at], even_q[even_at]};
  end

  wire [PairW-1:0] late_at = late_word_i[WordW-1:1];
  assign late_bits_o = late_word_i[0] ? odd_q[late_at] : even_q[late_at];

  wire [WordW-1:0] clear_even = {clear_pair_i, 1'b0};
  wire [WordW-1:0] clear_odd = {clear_pair_i, 1'b1};
  wire [63:0] empty_even = !Sentinel || clear_even < last ? 64'd0 : clear_even == last ? last_word : ~64'd0;
  wire [63:0] empty_odd = !Sentinel || clear_odd < last ? 64'd0 : clear_odd == last ? last_word : ~64'd0;

  wire [PairW-1:0] even_to = clear_i ? clear_pair_i : PairW'((write_word_i + WordW'(1)) >> 1);
  wire [PairW-1:0] odd_to = clear_i ? clear_pair_i : write_word_i[WordW-1:1];
  wire is_odd = write_word_i[0];
  wire [63:0] set_even = is_odd ? set_i[127:64] : set_i[63:0];
  wire [63:0] set_odd = is_odd ? set_i[63:0] : set_i[127:64];
  wire [63:0] unset_even = is_odd ? unset_i[127:64] : unset_i[63:0];
  wire [63:0] unset_odd = is_odd ? unset_i[63:0] : unset_i[127:64];
  always_ff @(posedge clk_i) begin
    if (clear_i || write_i) begin
      even_q[even_to] <= clear_i ? empty_even : (even_q[even_to] & ~unset_even) | set_even;
      odd_q[odd_to]   <= clear_i ? empty_odd : (odd_q[odd_to] & ~unset_odd) | set_odd;
    end
  end
endmodule
