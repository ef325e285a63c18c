// Station 7, between groups: how loaded is the group? Arrivals are counted in windows, and the
// counts smoothed. No division: whether the load is at most a row's is a comparison of products.
// Source: core/nebula-nic/src/schedule/altocumulus/load_estimate.rs.
module load_estimate (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [63:0] window_i,      // picoseconds
    input  logic [63:0] at_i,
    input  logic        arrival_i,     // held until done_o: one window closes a cycle
    output logic        done_o,
    output logic        closes_o,      // a window closes in this cycle
    output logic        has_closed_o,  // one has closed for this arrival
    output logic [63:0] average_o      // arrivals a window, in 2^-16, with the window that closes
);
  logic [63:0] closes_q, average_q;
  logic [31:0] count_q;
  logic is_known_q, has_closed_q;
  assign closes_o = arrival_i && at_i >= closes_q;
  assign done_o = arrival_i && !closes_o;
  assign has_closed_o = has_closed_q;
  wire [63:0] last = {16'd0, count_q, 16'd0};
  wire [63:0] average_d = is_known_q ? average_q - (average_q >> 3) + (last >> 3) : last;
  assign average_o = closes_o ? average_d : average_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      closes_q <= window_i;
      average_q <= '0;
      count_q <= '0;
      is_known_q <= 1'b0;
      has_closed_q <= 1'b0;
    end else if (closes_o) begin
      closes_q <= closes_q + window_i;
      average_q <= average_d;
      count_q <= '0;
      is_known_q <= 1'b1;
      has_closed_q <= 1'b1;
    end else if (arrival_i) begin
      count_q <= count_q + 32'd1;
      has_closed_q <= 1'b0;
    end
  end
endmodule
