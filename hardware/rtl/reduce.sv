// Station 7, too: a number of 32 bits drawn evenly, as one below a bound: the upper half of their
// product. Source: `reduce` of core/nebula-nic/src/hash.rs.
module reduce #(
    parameter int Bound = 64,  // at least 3
    localparam int IndexW = $clog2(Bound)
) (
    input  logic [31:0]       drawn_i,
    input  logic [15:0]       bound_i,  // at most Bound
    output logic [IndexW-1:0] index_o
);
  localparam int Rows = IndexW + 1;
  localparam int Width = 32 + IndexW;
  logic [Rows*Width-1:0] rows;
  for (genvar i = 0; i < Rows; i++) begin : g_row
    assign rows[i*Width+:Width] = (Width'(drawn_i) & {Width{bound_i[i]}}) << i;
  end
  logic [Width-1:0] sum, carry;
  compress #(.Width(Width), .Rows(Rows)) i_compress (.rows_i(rows), .sum_o(sum), .carry_o(carry));
  wire [Width-1:0] product = sum + carry;
  assign index_o = product[Width-1:32];
  logic unused;
  assign unused = ^{bound_i, product[31:0]};
endmodule
