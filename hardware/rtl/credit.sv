// Station 7, too: how many RPCs each core has that it has not freed. Policies with a queue a core,
// and cores that fetch, are judged by it. Source: `PerCore` of
// core/nebula-nic/src/dispatch/per_core.rs.
module credit #(
    parameter int Cores = 64,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic             clear_i,       // the counter of clear_core_i: all, before the first input
    input  logic [CoreW-1:0] clear_core_i,
    input  logic [CoreW-1:0] first_i,       // two cores that are asked about, and the one that may get an RPC
    input  logic [CoreW-1:0] second_i,
    input  logic [CoreW-1:0] give_core_i,
    output logic [6:0]       first_o,
    output logic [6:0]       second_o,
    output logic [6:0]       give_o,
    input  logic             give_i,
    input  logic             freed_i,       // after the give of the same cycle
    input  logic [CoreW-1:0] freed_core_i
);
  logic [6:0] outstanding_q[Cores];
  assign first_o = outstanding_q[first_i];
  assign second_o = outstanding_q[second_i];
  assign give_o = outstanding_q[give_core_i];
  wire is_same = give_i && freed_i && give_core_i == freed_core_i;
  always_ff @(posedge clk_i) begin
    if (clear_i) outstanding_q[clear_core_i] <= '0;
    else begin
      if (give_i && !is_same) outstanding_q[give_core_i] <= give_o + 7'd1;
      if (freed_i && !is_same) outstanding_q[freed_core_i] <= outstanding_q[freed_core_i] - 7'd1;
    end
  end
endmodule
