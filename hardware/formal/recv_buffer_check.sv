// Proves about recv_buffer, for any order of RPCs and of frees, right and wrong ones: slots that are handed out are within the buffer and not
// in use.
module recv_buffer_check #(
    parameter int Slots = 4,
    parameter int Cores = 2,
    parameter int LongestRpc = 2,    // in slots
    localparam int AddrW = $clog2(Slots + 130) + 1,
    localparam int CoreW = $clog2(Cores)
) (
    input logic             clk_i,
    input logic [AddrW-1:0] any_slot_i,  // the slot that is watched: chosen in the first cycle
    // The next input, taken when there is none or the one before is answered.
    input logic             any_valid_i,
    input logic             any_free_i,
    input logic [2:0]       any_start_i,
    input logic [1:0]       any_slots_i,
    input logic [CoreW-1:0] any_core_i,
    input logic [CoreW-1:0] any_give_core_i
);
  logic started_q = 1'b0;
  logic [AddrW-1:0] slot_q;
  logic valid_q, free_q;
  logic [2:0] start_q;
  logic [1:0] slots_q;
  logic [CoreW-1:0] core_q;
  logic give_q;
  logic [AddrW-1:0] give_start_q;
  logic done, ok, ready;
  logic [AddrW-1:0] at;
  wire asks = valid_q && ready;
  recv_buffer #(.Slots(Slots), .Cores(Cores), .Safe(1)) i_buffer (
      .clk_i, .rst_ni(started_q), .buffer_slots_i(AddrW'(Slots)), .first_when_empty_i(1'b0),
      .slots_per_rpc_max_i(AddrW'(LongestRpc)), .alloc_i(asks && !free_q), .free_i(asks && free_q), .release_i(1'b0),
      .start_i(32'(start_q)), .slots_i(32'(slots_q)), .core_i(16'(core_q)), .done_o(done), .ok_o(ok), .start_o(at),
      .give_i(give_q), .give_start_i(give_start_q), .give_core_i(any_give_core_i), .ready_o(ready));

  // Whether the watched slot is in use.
  logic live_q;
  wire begins = asks && !free_q && done && ok;
  wire ends = asks && free_q && done && ok;
  wire [AddrW-1:0] from = begins ? at : AddrW'(start_q);
  wire covers = slot_q >= from && slot_q < from + AddrW'(slots_q);

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      slot_q   <= any_slot_i < AddrW'(Slots) ? any_slot_i : '0;
      valid_q  <= 1'b0;
      live_q   <= 1'b0;
      give_q   <= 1'b0;
    end else begin
      if (!valid_q || done) begin
        valid_q <= any_valid_i;
        free_q  <= any_free_i;
        start_q <= any_start_i;
        slots_q <= any_free_i || (any_slots_i != '0 && any_slots_i <= 2'(LongestRpc)) ? any_slots_i : 2'd1;
        core_q  <= any_core_i;
      end
      // The core gets it in the next cycle.
      give_q       <= begins;
      give_start_q <= at;
      if (begins && covers) live_q <= 1'b1;
      else if (ends && covers) live_q <= 1'b0;
    end
  end
  always_comb begin
    if (started_q) begin
`ifdef LIVE_RANGES_NEVER_OVERLAP
      assert (!(begins && covers) || !live_q);
      assert (!begins || (at < AddrW'(Slots) && AddrW'(slots_q) <= AddrW'(Slots) - at));
`endif
    end
  end
endmodule
