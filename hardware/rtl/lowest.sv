// The lowest bit that is set, in log2(Width) levels: every station that takes "the first" asks
// this. Source: `CoreSet::first` of core/nebula-nic/src/core_set.rs. Width is a power of two.
module lowest #(
    parameter int Width = 64,
    localparam int IndexW = $clog2(Width)
) (
    input  logic [Width-1:0]  bits_i,
    output logic              any_o,
    output logic [IndexW-1:0] index_o
);
  if (Width == 2) begin : g_leaf
    assign any_o   = |bits_i;
    assign index_o = ~bits_i[0];
  end else begin : g_tree
    localparam int Half = Width / 2;
    logic any_lo, any_hi;
    logic [$clog2(Half)-1:0] lo, hi;
    lowest #(.Width(Half)) i_lo (.bits_i(bits_i[Half-1:0]), .any_o(any_lo), .index_o(lo));
    lowest #(.Width(Half)) i_hi (.bits_i(bits_i[Width-1:Half]), .any_o(any_hi), .index_o(hi));
    assign any_o   = any_lo | any_hi;
    assign index_o = any_lo ? {1'b0, lo} : {1'b1, hi};
  end
endmodule
