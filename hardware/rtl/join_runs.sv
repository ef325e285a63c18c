// Station 4, too: the longest free run of Parts parts in a row, the first of several, given that of
// each part, in log2(Parts) levels. Source: `longest_run` of
// core/nebula-nic/src/recv_buffer/scan.rs. Parts is a power of two; each part has a power of two of
// slots.
module join_runs #(
    parameter int Parts = 8,
    parameter int PartW = 4,  // bits of a length within a part: its slots are 1 << (PartW - 1)
    localparam int LenW = PartW + $clog2(Parts)
) (
    input  logic [Parts*PartW-1:0] start_i,
    input  logic [Parts*PartW-1:0] slots_i,
    input  logic [Parts*PartW-1:0] prefix_i,  // free slots from the first on
    input  logic [Parts*PartW-1:0] suffix_i,  // free slots up to the last
    output logic [LenW-1:0]        start_o,
    output logic [LenW-1:0]        slots_o,
    output logic [LenW-1:0]        prefix_o,
    output logic [LenW-1:0]        suffix_o
);
  if (Parts == 1) begin : g_leaf
    assign {start_o, slots_o, prefix_o, suffix_o} = {start_i, slots_i, prefix_i, suffix_i};
  end else begin : g_tree
    localparam int Half = Parts / 2;
    localparam int HalfBits = Half * PartW;
    localparam int HalfW = LenW - 1;
    localparam int HalfSlots = 1 << (HalfW - 1);
    logic [HalfW-1:0] lo_start, lo_slots, lo_prefix, lo_suffix;
    logic [HalfW-1:0] hi_start, hi_slots, hi_prefix, hi_suffix;
    join_runs #(.Parts(Half), .PartW(PartW)) i_lo (
        .start_i(start_i[HalfBits-1:0]), .slots_i(slots_i[HalfBits-1:0]), .prefix_i(prefix_i[HalfBits-1:0]),
        .suffix_i(suffix_i[HalfBits-1:0]), .start_o(lo_start), .slots_o(lo_slots), .prefix_o(lo_prefix), .suffix_o(lo_suffix));
    join_runs #(.Parts(Half), .PartW(PartW)) i_hi (
        .start_i(start_i[2*HalfBits-1:HalfBits]), .slots_i(slots_i[2*HalfBits-1:HalfBits]),
        .prefix_i(prefix_i[2*HalfBits-1:HalfBits]), .suffix_i(suffix_i[2*HalfBits-1:HalfBits]), .start_o(hi_start),
        .slots_o(hi_slots), .prefix_o(hi_prefix), .suffix_o(hi_suffix));
    // Half of them at least: the bit for Half itself says "all".
    wire [LenW-1:0] across = LenW'(lo_suffix) + LenW'(hi_prefix);
    wire takes_lo = LenW'(lo_slots) >= across && lo_slots >= hi_slots;
    wire takes_across = across >= LenW'(hi_slots);
    assign slots_o  = takes_lo ? LenW'(lo_slots) : takes_across ? across : LenW'(hi_slots);
    assign start_o  = takes_lo ? LenW'(lo_start)
                    : takes_across ? LenW'(HalfSlots) - LenW'(lo_suffix) : LenW'(HalfSlots) | LenW'(hi_start);
    assign prefix_o = lo_prefix[HalfW-1] ? LenW'(HalfSlots) + LenW'(hi_prefix) : LenW'(lo_prefix);
    assign suffix_o = hi_suffix[HalfW-1] ? LenW'(HalfSlots) + LenW'(lo_suffix) : LenW'(hi_suffix);
  end
endmodule
