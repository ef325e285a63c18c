// Proves about jbsq, for any core and any order of takes and frees: no core has more than N, and no
// core gets an RPC without credit.
module jbsq_check #(
    parameter int Cores = 4,
    parameter int BoundMax = 2,
    localparam int CoreW = $clog2(Cores)
) (
    input logic             clk_i,
    input logic [CoreW-1:0] any_core_i,  // the core that is watched: chosen in the first cycle
    input logic [6:0]       any_bound_i,
    input logic             wants_i,     // something waits
    input logic             frees_i,
    input logic [CoreW-1:0] free_core_i
);
  logic started_q = 1'b0;
  logic [CoreW-1:0] core_q;
  logic [6:0] bound_q;
  logic [6:0] outstanding_q[Cores];
  logic any;
  logic [CoreW-1:0] pick;
  wire take = started_q && wants_i && any;
  wire [6:0] before_free = outstanding_q[free_core_i] + 7'(take && pick == free_core_i);
  // A core frees what it has.
  wire freed = started_q && frees_i && before_free != '0;
  jbsq #(.Cores(Cores), .BoundMax(BoundMax)) i_jbsq (
      .clk_i, .rst_ni(started_q), .cores_i(16'(Cores)), .bound_i(bound_q), .any_o(any), .pick_o(pick), .take_i(take),
      .take_core_i(pick), .freed_i(freed), .freed_core_i(free_core_i));
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      core_q  <= any_core_i;
      bound_q <= any_bound_i == 7'd1 ? 7'd1 : 7'(BoundMax);
      for (int i = 0; i < Cores; i++) outstanding_q[i] <= '0;
    end else begin
      for (int i = 0; i < Cores; i++) begin
        outstanding_q[i] <= outstanding_q[i] + 7'(take && pick == CoreW'(i)) - 7'(freed && free_core_i == CoreW'(i));
      end
    end
  end
  always_comb begin
    if (started_q) begin
`ifdef AT_MOST_N
      assert (outstanding_q[core_q] <= bound_q);
`endif
`ifdef NO_GRANT_WITHOUT_CREDIT
      assert (!take || pick != core_q || outstanding_q[core_q] < bound_q);
`endif
`ifdef A_CORE_WITH_CREDIT_IS_FOUND
      assert (any || outstanding_q[core_q] == bound_q);
`endif
    end
  end
endmodule
