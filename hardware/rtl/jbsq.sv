// Station 7: which core serves this RPC? `jbsq:N`, and `single-queue` as N = 1. A bit a core for
// each number of outstanding RPCs below N: the lowest core of the lowest level that has one takes
// the head. JBSQ(2) is two words: "idle" and "one outstanding"; a core with two is in neither.
// Source: core/nebula-nic/src/dispatch/jbsq.rs; R2P2 for the rule, RPCValet and NEBULA for N = 2.
module jbsq #(
    parameter int Cores = 64,
    parameter int BoundMax = 2,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [15:0]      cores_i,    // at most Cores
    input  logic [6:0]       bound_i,    // N, at most BoundMax
    output logic             any_o,      // a core has credit
    output logic [CoreW-1:0] pick_o,
    input  logic             take_i,     // take_core_i gets an RPC
    input  logic [CoreW-1:0] take_core_i,
    input  logic             freed_i,    // after the take of the same cycle: the order of the state machine
    input  logic [CoreW-1:0] freed_core_i
);
  localparam int Padded = 1 << CoreW;
  logic [Cores-1:0] level_q[BoundMax];
  logic [Cores-1:0] taken[BoundMax];
  logic [Cores-1:0] level_d[BoundMax];
  logic [Cores-1:0] full;
  wire [Cores-1:0] take = take_i ? Cores'(1) << take_core_i : '0;
  wire [Cores-1:0] back = freed_i ? Cores'(1) << freed_core_i : '0;

  logic [BoundMax-1:0] any;
  logic [CoreW-1:0] lowest_of[BoundMax];
  for (genvar i = 0; i < BoundMax; i++) begin : g_level
    lowest #(.Width(Padded)) i_first (.bits_i(Padded'(level_q[i])), .any_o(any[i]), .index_o(lowest_of[i]));
  end
  always_comb begin
    pick_o = '0;
    for (int i = BoundMax - 1; i >= 0; i--) if (any[i]) pick_o = lowest_of[i];
  end
  assign any_o = |any;

  always_comb begin
    full = '1;
    for (int i = 0; i < BoundMax; i++) begin
      taken[i] = level_q[i] & ~take;
      if (i > 0 && 7'(i) < bound_i) taken[i] |= level_q[i > 0 ? i - 1 : 0] & take;
      full &= ~taken[i];
    end
    for (int i = 0; i < BoundMax; i++) begin
      level_d[i] = taken[i] & ~back;
      if (7'(i) + 7'd1 == bound_i) level_d[i] |= full & back;
      else if (i + 1 < BoundMax) level_d[i] |= taken[i + 1 < BoundMax ? i + 1 : i] & back;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < BoundMax; i++) level_q[i] <= rst_ni ? level_d[i] : i == 0 ? ~(~Cores'(0) << cores_i) : '0;
  end
endmodule
