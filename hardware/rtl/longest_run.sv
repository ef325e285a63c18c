// Station 4, too: the longest run of free slots in a word, the first of several, in log2(Width) levels.
// Source: `longest_run` of crates/nebula-nic/src/recv_buffer/scan.rs. Width is a power of two.
module longest_run #(
    parameter int Width = 64,
    localparam int LenW = $clog2(Width) + 1
) (
    input  logic [Width-1:0] used_i,
    output logic [LenW-1:0]  start_o,
    output logic [LenW-1:0]  slots_o,
    output logic [LenW-1:0]  prefix_o,  // free slots from the first on
    output logic [LenW-1:0]  suffix_o   // free slots up to the last
);
  if (Width == 1) begin : g_leaf
    assign start_o  = '0;
    assign slots_o  = ~used_i;
    assign prefix_o = ~used_i;
    assign suffix_o = ~used_i;
  end else begin : g_tree
    localparam int Half = Width / 2;
    localparam int HalfW = $clog2(Half) + 1;
    logic [HalfW-1:0] lo_start, lo_slots, lo_prefix, lo_suffix;
    logic [HalfW-1:0] hi_start, hi_slots, hi_prefix, hi_suffix;
    longest_run #(.Width(Half)) i_lo (
        .used_i(used_i[Half-1:0]), .start_o(lo_start), .slots_o(lo_slots), .prefix_o(lo_prefix), .suffix_o(lo_suffix));
    longest_run #(.Width(Half)) i_hi (
        .used_i(used_i[Width-1:Half]), .start_o(hi_start), .slots_o(hi_slots), .prefix_o(hi_prefix), .suffix_o(hi_suffix));
    // Half of them at least: the bit for Half itself says "all".
    wire [LenW-1:0] across = LenW'(lo_suffix) + LenW'(hi_prefix);
    wire takes_lo = LenW'(lo_slots) >= across && lo_slots >= hi_slots;
    wire takes_across = across >= LenW'(hi_slots);
    assign slots_o  = takes_lo ? LenW'(lo_slots) : takes_across ? across : LenW'(hi_slots);
    assign start_o  = takes_lo ? LenW'(lo_start)
                    : takes_across ? LenW'(Half) - LenW'(lo_suffix) : LenW'(Half) + LenW'(hi_start);
    assign prefix_o = lo_prefix[HalfW-1] ? LenW'(Half) + LenW'(hi_prefix) : LenW'(lo_prefix);
    assign suffix_o = hi_suffix[HalfW-1] ? LenW'(Half) + LenW'(lo_suffix) : LenW'(hi_suffix);
  end
endmodule
