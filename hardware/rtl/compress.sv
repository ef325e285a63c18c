// Stations 5 and 7, too: many rows to two of the same sum, modulo 2^Width, without a carry that
// runs: a tree of full adders. Each takes the three rows that have waited longest, so that all rows
// pass about as many adders. Source: the products of `mix` and `reduce` in
// core/nebula-nic/src/hash.rs.
module compress #(
    parameter int Width = 64,
    parameter int Rows = 3  // at least 3
) (
    input  logic [Rows*Width-1:0] rows_i,
    output logic [Width-1:0]      sum_o,
    output logic [Width-1:0]      carry_o
);
  localparam int Adders = Rows - 2;
  logic [Width-1:0] row[Rows + 2*Adders];
  always_comb begin
    for (int i = 0; i < Rows; i++) row[i] = rows_i[i*Width+:Width];
    for (int i = 0; i < Adders; i++) begin
      row[Rows+2*i]   = row[3*i] ^ row[3*i+1] ^ row[3*i+2];
      row[Rows+2*i+1] = ((row[3*i] & row[3*i+1]) | (row[3*i] & row[3*i+2]) | (row[3*i+1] & row[3*i+2])) << 1;
    end
  end
  assign sum_o = row[Rows+2*Adders-2];
  assign carry_o = row[Rows+2*Adders-1];
endmodule
