// Station 7: which core serves this RPC? `round-robin`: the one after the previous RPC's. A refused
// RPC counts as well. Source: core/nebula-nic/src/dispatch/round_robin.rs.
module round_robin #(
    parameter int Cores = 64,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [15:0]      cores_i,   // at most Cores
    output logic [CoreW-1:0] core_o,
    input  logic             take_i
);
  logic [CoreW-1:0] turn_q;
  assign core_o = turn_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= '0;
    else if (take_i) turn_q <= turn_q == CoreW'(cores_i - 16'd1) ? '0 : turn_q + CoreW'(1);
  end
endmodule
