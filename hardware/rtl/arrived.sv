// Station 5, too: which packets of an RPC have arrived? A bit each, at the half slot where the
// packet's payload begins, in two banks as the bits of the receive buffer: the bits of 64 slots in
// a row are cleared in a cycle. Source: core/nebula-nic/src/reassembler/arrived.rs.
module arrived #(
    parameter int Slots = 8640,
    localparam int Pairs = Slots / 128 + 2,
    localparam int PairW = $clog2(Pairs),
    localparam int WordW = PairW + 1,
    localparam int HalfW = WordW + 7
) (
    input  logic             clk_i,
    input  logic [HalfW-1:0] half_i,        // the half slot of a packet
    output logic             has_o,
    input  logic [HalfW-1:0] set_half_i,
    input  logic             set_i,
    input  logic             clear_i,       // the bits of the slots from clear_slot_i on, but set_i's
    input  logic [WordW+5:0] clear_slot_i,
    input  logic [6:0]       clear_slots_i  // at most 64
);
  logic [127:0] even_q[Pairs];
  logic [127:0] odd_q[Pairs];
  wire [PairW-1:0] at = half_i[HalfW-1:8];
  assign has_o = half_i[7] ? odd_q[at][half_i[6:0]] : even_q[at][half_i[6:0]];

  wire [WordW-1:0] word = clear_i ? clear_slot_i[WordW+5:6] : set_half_i[HalfW-1:7];
  wire [PairW-1:0] even_at = PairW'((word + WordW'(1)) >> 1);
  wire [PairW-1:0] odd_at = word[WordW-1:1];
  wire [127:0] ones = clear_slots_i[6] ? ~128'd0 : ~(~128'd0 << {clear_slots_i[5:0], 1'b0});
  wire [255:0] unset = clear_i ? {128'd0, ones} << {clear_slot_i[5:0], 1'b0} : '0;
  // The half slot counted from the word that is written.
  wire [HalfW-1:0] from_word = set_half_i - {word, 7'd0};
  wire [255:0] set = set_i && from_word < HalfW'(256) ? 256'd1 << from_word[7:0] : '0;
  wire is_odd = word[0];
  always_ff @(posedge clk_i) begin
    if (set_i || clear_i) begin
      even_q[even_at] <= (even_q[even_at] & ~(is_odd ? unset[255:128] : unset[127:0])) | (is_odd ? set[255:128] : set[127:0]);
      odd_q[odd_at]   <= (odd_q[odd_at] & ~(is_odd ? unset[127:0] : unset[255:128])) | (is_odd ? set[127:0] : set[255:128]);
    end
  end
endmodule
