// Station 3: should this RPC be admitted? Not if it finds as many waiting as the bound; a queue a core has its part of it, rounded up.
// Source: crates/nebula-nic/src/admission.rs, for one source and one tenant.
module admission (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [15:0] cores_i,
    input  logic [31:0] queue_bound_i,       // of the configuration
    input  logic [31:0] queue_bound_max_i,   // for which the queue has places
    input  logic        set_bound_i,
    input  logic [31:0] waiting_i,           // the bound that is set
    input  logic        is_shared_i,         // the RPC joins the queue of all cores
    input  logic [31:0] waiting_at_i,        // RPCs that wait there, without the one that is given to a core in this cycle
    output logic        refused_o
);
  logic [31:0] bound_q;
  wire [31:0] bound = set_bound_i ? waiting_i : queue_bound_i;
  wire [31:0] share = bound_q / 32'(cores_i);
  wire [31:0] bound_per_core = share + 32'(share * 32'(cores_i) != bound_q);
  assign refused_o = waiting_at_i >= (is_shared_i ? bound_q : bound_per_core);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || set_bound_i) bound_q <= bound < queue_bound_max_i ? bound : queue_bound_max_i;
  end
endmodule
