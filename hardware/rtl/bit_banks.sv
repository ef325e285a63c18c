// Station 4, too: a bit a slot. Words of 64 bits in two banks, the even and the odd ones, so that
// any 65 slots in a row are read and written at once. A range that is set or unset is written in
// the next cycle, and read as written from then on. Source: `Word` of
// core/nebula-nic/src/recv_buffer.rs.
module bit_banks #(
    parameter int Slots = 8640,
    parameter int Words = 1,     // that are read in a cycle
    parameter bit Window = 1,    // and two more in a row, which are compared
    parameter bit Sentinel = 0,  // slots that do not exist are 1
    localparam int Pairs = Slots / 128 + 2,
    localparam int PairW = $clog2(Pairs),
    localparam int WordW = PairW + 1
) (
    input  logic                clk_i,
    input  logic [WordW+5:0]    slots_i,  // that the buffer has, at most Slots
    // Before the first input: both words of a pair get the value of an empty buffer.
    input  logic                clear_i,
    input  logic [PairW-1:0]    clear_pair_i,
    input  logic [Words*WordW-1:0] word_i,
    output logic [Words*64-1:0] bits_o,
    input  logic [WordW-1:0]    window_i,
    input  logic [127:0]        care_i,   // the bits that matter
    input  logic [127:0]        wanted_i, // and what they should be
    output logic                same_o,
    // A range of at most 64 slots changes.
    input  logic                write_i,
    input  logic                sets_i,         // or else unsets
    input  logic                keeps_first_i,  // but the first slot
    input  logic [WordW+5:0]    from_i,
    input  logic [6:0]          to_i            // the slot after the last, by its last bits
);
  wire [WordW-1:0] last = slots_i[WordW+5:6];
  wire [63:0] last_word = ~64'd0 << slots_i[5:0];
  logic [63:0] even_q[Pairs];
  logic [63:0] odd_q[Pairs];

  // -- the range that is written in this cycle --
  logic write_q, sets_q, keeps_first_q;
  logic [WordW+5:0] from_q;
  logic [6:0] to_q;  // from the word that from_q is in
  logic [PairW-1:0] even_at_q, odd_before_q;  // the pair of the even word of the range, and the pair before that of the odd one
  always_ff @(posedge clk_i) begin
    write_q       <= write_i && !clear_i;
    sets_q        <= sets_i;
    keeps_first_q <= keeps_first_i;
    from_q        <= from_i;
    to_q          <= {to_i[6] ^ from_i[6], to_i[5:0]};
    even_at_q     <= PairW'((from_i[WordW+5:6] + WordW'(1)) >> 1);
    odd_before_q  <= from_i[WordW+5:7] - PairW'(1);
  end
  wire [WordW-1:0] word = from_q[WordW+5:6];
  wire [127:0] up_to = ~(~128'd0 << to_q);
  wire [63:0] after = ~64'd0 << from_q[5:0];
  wire [63:0] first = 64'd1 << from_q[5:0];
  wire [127:0] mask = up_to & {~64'd0, after} & ~{64'd0, first & {64{keeps_first_q}}};
  wire is_odd = word[0];
  wire [PairW-1:0] odd_at = word[WordW-1:1];
  wire [63:0] even_mask = {64{write_q}} & (is_odd ? mask[127:64] : mask[63:0]);
  wire [63:0] odd_mask = {64{write_q}} & (is_odd ? mask[63:0] : mask[127:64]);
  wire [63:0] set_even = even_mask & {64{sets_q}};
  wire [63:0] set_odd = odd_mask & {64{sets_q}};
  wire [63:0] unset_even = even_mask & {64{!sets_q}};
  wire [63:0] unset_odd = odd_mask & {64{!sets_q}};

  // -- what is read: as it is written --
  for (genvar i = 0; i < Words; i++) begin : g_word
    wire [WordW-1:0] at = word_i[i*WordW+:WordW];
    wire [PairW-1:0] pair = at[WordW-1:1];
    wire [63:0] at_odd = {64{at[0]}};
    wire [63:0] now_even = ~at_odd & {64{pair == even_at_q}};
    wire [63:0] now_odd = at_odd & {64{pair == odd_at}};
    bank_word i_word (
        .even_i(even_q[pair]), .odd_i(odd_q[pair]), .of_even_i(~at_odd & ~(now_even & unset_even)),
        .of_odd_i(at_odd & ~(now_odd & unset_odd)), .set_i((now_even & set_even) | (now_odd & set_odd)), .bits_o(bits_o[i*64+:64]));
  end
  // A bit that matters is wrong or not for each value that the bank may have: the bank answers
  // last.
  if (Window) begin : g_window
    wire [PairW-1:0] even = PairW'((window_i + WordW'(1)) >> 1);
    wire [PairW-1:0] odd = window_i[WordW-1:1];
    // even == even_at_q, compared without the sum that `even` is.
    wire is_odd_at = odd == odd_at;
    wire is_even_at = window_i[0] == is_odd ? is_odd_at : window_i[0] ? odd == odd_before_q : odd == even_at_q;
    wire [127:0] set = {set_odd & {64{is_odd_at}}, set_even & {64{is_even_at}}};
    wire [127:0] unset = {unset_odd & {64{is_odd_at}}, unset_even & {64{is_even_at}}};
    wire [127:0] care = window_i[0] ? {care_i[63:0], care_i[127:64]} : {care_i[127:64], care_i[63:0]};
    wire [127:0] wanted = window_i[0] ? {wanted_i[63:0], wanted_i[127:64]} : {wanted_i[127:64], wanted_i[63:0]};
    logic is_wrong;
    any_wrong #(.Width(128)) i_wrong (
        .bits_i({odd_q[odd], even_q[even]}), .wrong_if_0_i(care & (set ^ wanted)), .wrong_if_1_i(care & ((set | ~unset) ^ wanted)),
        .any_o(is_wrong));
    assign same_o = !is_wrong;
  end else begin : g_none
    assign same_o = 1'b1;
    logic unused;
    assign unused = ^{window_i, care_i, wanted_i};
  end

  wire [WordW-1:0] clear_even = {clear_pair_i, 1'b0};
  wire [WordW-1:0] clear_odd = {clear_pair_i, 1'b1};
  wire [63:0] empty_even = !Sentinel || clear_even < last ? 64'd0 : clear_even == last ? last_word : ~64'd0;
  wire [63:0] empty_odd = !Sentinel || clear_odd < last ? 64'd0 : clear_odd == last ? last_word : ~64'd0;
  wire [PairW-1:0] even_to = clear_i ? clear_pair_i : even_at_q;
  wire [PairW-1:0] odd_to = clear_i ? clear_pair_i : odd_at;
  always_ff @(posedge clk_i) begin
    if (clear_i || write_q) begin
      even_q[even_to] <= clear_i ? empty_even : (even_q[even_to] & ~unset_even) | set_even;
      odd_q[odd_to]   <= clear_i ? empty_odd : (odd_q[odd_to] & ~unset_odd) | set_odd;
    end
  end
endmodule
