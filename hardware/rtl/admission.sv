// Station 3: should this RPC be admitted? Not if it finds as many waiting as the bound; a queue a
// core has its part of it, rounded up. The part is divided out bit by bit when a bound is set: RPCs
// that join the queue of a core wait for it meanwhile. Source: core/nebula-nic/src/admission.rs,
// for one source and one tenant.
module admission (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [15:0] cores_i,
    input  logic [31:0] queue_bound_i,       // of the configuration
    input  logic [31:0] queue_bound_max_i,   // for which the queue has places
    input  logic        set_bound_i,
    input  logic [31:0] waiting_i,           // the bound that is set
    input  logic        is_shared_i,         // the RPC joins the queue of all cores
    input  logic [31:0] waiting_at_i,        // RPCs that wait there,
    input  logic        given_i,             // with one that is given to a core in this cycle
    output logic        refused_o,
    output logic        busy_o               // the part of a core is not known yet
);
  logic [31:0] bound_q, rest_q, quotient_q, part_q;
  logic [15:0] remainder_q;
  logic [5:0] left_q;
  wire [31:0] bound = set_bound_i ? waiting_i : queue_bound_i;
  wire [31:0] clipped = bound < queue_bound_max_i ? bound : queue_bound_max_i;
  wire [31:0] bound_here = is_shared_i ? bound_q : part_q;
  // Without the one that is given away: compared both ways, because that is known last.
  assign refused_o = given_i ? waiting_at_i > bound_here : waiting_at_i >= bound_here;
  assign busy_o = left_q != '0;
  wire [16:0] brought_down = {remainder_q, rest_q[31]};
  wire goes_in = brought_down >= {1'b0, cores_i};
  wire [15:0] difference = brought_down[15:0] - cores_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || set_bound_i) begin
      bound_q     <= clipped;
      rest_q      <= clipped;
      remainder_q <= '0;
      quotient_q  <= '0;
      left_q      <= 6'd33;
    end else if (left_q > 6'd1) begin
      rest_q      <= {rest_q[30:0], 1'b0};
      remainder_q <= goes_in ? difference : brought_down[15:0];
      quotient_q  <= {quotient_q[30:0], goes_in};
      left_q      <= left_q - 6'd1;
    end else if (left_q == 6'd1) begin
      part_q <= quotient_q + 32'(remainder_q != '0);
      left_q <= '0;
    end
  end
endmodule
