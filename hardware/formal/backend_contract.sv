  // An input is decided about within so many cycles, of which Start pass while the bits of a long
  // RPC are cleared and a bound is divided: a packet in Start + C + 1, a free in Start + 2 C + 1. A
  // timeout or a sender that is gone ends an RPC in each of Entries + 1 steps of C + 1 cycles.
  localparam int Chunks = (Slots + 63) / 64;
  localparam int Start = Chunks - 1 > 33 ? Chunks - 1 : 33;
  localparam int Ends = Start + (Entries + 1) * (Chunks + 1) + 2;
  localparam int Clears = Slots / 128 + 2 > (1 << SweepW) ? Slots / 128 + 2 : 1 << SweepW;
  logic contract_up_q = 1'b0;
  logic contract_pending_q = 1'b0;          // an input is not decided about
  logic [2:0] contract_op_q = '0;
  logic [15:0] contract_waits_q = '0;       // how long
  logic [15:0] contract_clears_q = '0;      // cycles since reset
  logic contract_was_up_q = 1'b0;
  logic [98:0] contract_fixed_q = '0;       // the configuration
  wire [98:0] contract_fixed = {policy_i, rpc_bytes_max_i, reassembly_timeout_i};
  always_ff @(posedge clk_i) begin
    contract_up_q     <= 1'b1;
    contract_fixed_q  <= contract_fixed;
    contract_was_up_q <= up_o;
    contract_clears_q <= contract_up_q && !up_o ? contract_clears_q + 16'd1 : '0;
    contract_waits_q  <= contract_pending_q && !decided_o ? contract_waits_q + 16'd1 : '0;
    if (ready_o) begin
      contract_pending_q <= valid_i;
      contract_op_q      <= op_i;
    end
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    NEEDS (op_i <= Pull);
    NEEDS (buffer_slots_i <= 32'(Slots) && rpc_bytes_max_i <= 32'(64 * Slots));
    NEEDS (!contract_up_q || contract_fixed == contract_fixed_q);
    NEEDS (Safe || !valid_i || op_i != Free || (slots_i != '0 && slots_i <= 32'(Slots)));
    if (contract_up_q) begin
      GIVES (up_o || (!contract_was_up_q && contract_clears_q <= 16'(Clears)));
      GIVES (!up_o || ready_o == (!contract_pending_q || decided_o));
      if (contract_pending_q && !decided_o) begin
        GIVES (contract_op_q == Timeout || contract_op_q == PeerGone || contract_waits_q < 16'(Start + 2 * Chunks));
        GIVES (contract_op_q != Packet || contract_waits_q < 16'(Start + Chunks));
        GIVES (contract_waits_q < 16'(Ends - 1));
      end
    end
  end
