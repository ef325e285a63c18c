// Station 6: which complete RPCs wait for a core, and in which order? One ring for all cores; or,
// with PerCore, also a list a core in the same places, a bit a core for "has credit" and one for
// "has credit and work". What is taken in a cycle is taken before what joins in it. Source:
// core/nebula-nic/src/arrival_queue.rs.
module arrival_queue #(
    parameter int Places = 1024,  // a power of two
    parameter int Cores = 64,
    parameter int EntryW = 64,
    parameter bit PerCore = 1,
    localparam int PlaceW = $clog2(Places),
    localparam int CoreW = $clog2(Cores)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              clear_i,         // the list of clear_core_i: all, before the first input
    input  logic [CoreW-1:0]  clear_core_i,
    input  logic              per_core_i,      // RPCs join the list of their core
    input  logic              push_i,
    input  logic [CoreW-1:0]  push_core_i,
    input  logic [EntryW-1:0] push_entry_i,
    output logic              any_o,           // the shared queue's head, or a core with credit and work
    output logic [CoreW-1:0]  core_o,
    output logic [EntryW-1:0] entry_o,
    input  logic              pop_i,
    input  logic              withhold_i,      // with a pop: core_o has no credit left
    input  logic              grant_i,         // after the pop: grant_core_i has credit again
    input  logic [CoreW-1:0]  grant_core_i,
    output logic [PlaceW:0]   waiting_o,       // in the shared queue, before the pop
    input  logic [CoreW-1:0]  first_i,         // lists that are asked about
    input  logic [CoreW-1:0]  second_i,
    output logic [PlaceW:0]   first_o,         // RPCs in them, before the pop
    output logic [PlaceW:0]   second_o
);
  logic [EntryW-1:0] entry_q[Places];
  logic [PlaceW-1:0] front_q;
  logic [PlaceW:0] waiting_q;
  assign waiting_o = waiting_q;
  wire pops_shared = pop_i && !per_core_i;
  wire joins_shared = push_i && !per_core_i;
  logic [PlaceW-1:0] push_at, pop_at;
  assign entry_o = entry_q[pop_at];

  always_ff @(posedge clk_i) begin
    if (push_i) entry_q[push_at] <= push_entry_i;
    if (!rst_ni) begin
      front_q   <= '0;
      waiting_q <= '0;
    end else begin
      front_q   <= front_q + PlaceW'(pops_shared);
      waiting_q <= waiting_q - (PlaceW + 1)'(pops_shared) + (PlaceW + 1)'(joins_shared);
    end
  end
  wire [PlaceW-1:0] ring_end = front_q + PlaceW'(waiting_q);

  if (PerCore) begin : g_lists
    localparam int Padded = 1 << CoreW;
    logic [PlaceW-1:0] next_q[Places];
    logic [PlaceW-1:0] list_front_q[Cores];
    logic [PlaceW-1:0] list_back_q[Cores];
    logic [PlaceW:0] list_len_q[Cores];
    logic [Cores-1:0] credit_q, work_q, credit_d, work_d;
    logic [PlaceW-1:0] free_q;         // a chain of places that were used before
    logic [PlaceW:0] free_len_q, fresh_q;  // how many, and how many places have ever been used
    logic any_ready;
    logic [CoreW-1:0] ready;
    lowest #(.Width(Padded)) i_ready (.bits_i(Padded'(credit_q & work_q)), .any_o(any_ready), .index_o(ready));

    wire pops = pop_i && per_core_i;
    wire joins = push_i && per_core_i;
    wire [PlaceW-1:0] popped = list_front_q[ready];
    wire [PlaceW:0] ready_len = list_len_q[ready];
    wire is_same = pops && ready == push_core_i;
    wire [PlaceW:0] join_len = list_len_q[push_core_i] - (PlaceW + 1)'(is_same);
    wire [PlaceW-1:0] fresh = PlaceW'(fresh_q);
    wire [PlaceW-1:0] joined = pops ? popped : free_len_q != '0 ? free_q : fresh;
    wire takes_free = joins && !pops && free_len_q != '0;
    wire gives_free = pops && !joins;

    assign any_o = per_core_i ? any_ready : waiting_q != '0;
    assign core_o = ready;
    assign pop_at = per_core_i ? popped : front_q;
    assign push_at = per_core_i ? joined : ring_end;
    assign first_o = list_len_q[first_i];
    assign second_o = list_len_q[second_i];

    always_comb begin
      credit_d = credit_q;
      work_d = work_q;
      if (pops && ready_len == (PlaceW + 1)'(1)) work_d[ready] = 1'b0;
      if (pops && withhold_i) credit_d[ready] = 1'b0;
      if (grant_i) credit_d[grant_core_i] = 1'b1;
      if (joins) work_d[push_core_i] = 1'b1;
    end
    always_ff @(posedge clk_i) begin
      if (clear_i) list_len_q[clear_core_i] <= '0;
      if (pops) begin
        list_front_q[ready] <= next_q[popped];
        list_len_q[ready]   <= ready_len - (PlaceW + 1)'(1);
      end
      if (joins) begin
        if (join_len == '0) list_front_q[push_core_i] <= joined;
        list_back_q[push_core_i] <= joined;
        list_len_q[push_core_i]  <= join_len + (PlaceW + 1)'(1);
      end
      if (gives_free) next_q[popped] <= free_q;
      else if (joins && join_len != '0) next_q[list_back_q[push_core_i]] <= joined;
      if (!rst_ni) begin
        credit_q   <= '1;
        work_q     <= '0;
        free_q     <= '0;
        free_len_q <= '0;
        fresh_q    <= '0;
      end else begin
        credit_q   <= credit_d;
        work_q     <= work_d;
        free_len_q <= free_len_q + (PlaceW + 1)'(gives_free) - (PlaceW + 1)'(takes_free);
        if (gives_free) free_q <= popped;
        else if (takes_free) free_q <= next_q[free_q];
        if (joins && !pops && free_len_q == '0) fresh_q <= fresh_q + (PlaceW + 1)'(1);
      end
    end
  end else begin : g_ring
    assign any_o = waiting_q != '0;
    assign core_o = '0;
    assign pop_at = front_q;
    assign push_at = ring_end;
    assign first_o = '0;
    assign second_o = '0;
    logic unused;
    assign unused = ^{clear_i, clear_core_i, push_core_i, withhold_i, grant_i, grant_core_i, first_i, second_i};
  end
endmodule
