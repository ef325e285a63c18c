  // Chunks of 64 slots, of an RPC that is as long as the buffer. The bits are clear in a cycle for
  // each 128 slots. Then an RPC begins, and what the NIC frees ends, in Chunks + 1 cycles at most:
  // while the bits of the one before change. A free that is checked needs as long again.
  localparam int Chunks = (Slots + 63) / 64;
  localparam int WaitW = $clog2(2 * Chunks) + 1;
  logic contract_up_q = 1'b0;
  logic contract_ready_q = 1'b0;
  logic [WaitW-1:0] contract_waits_q = '0;   // of the input
  logic [WaitW-1:0] contract_clears_q = '0;  // cycles since reset
  logic contract_held_q = 1'b0;              // a free is not done
  logic [31:0] contract_start_q, contract_slots_q;
  wire contract_asks = alloc_i || free_i || release_i;
  wire contract_waits = contract_up_q && contract_asks && !done_o;
  always_ff @(posedge clk_i) begin
    contract_up_q     <= 1'b1;
    contract_ready_q  <= contract_up_q && ready_o;
    contract_clears_q <= contract_up_q && !ready_o ? contract_clears_q + WaitW'(1) : '0;
    contract_waits_q  <= contract_waits ? contract_waits_q + WaitW'(1) : '0;
    contract_held_q   <= contract_waits && free_i;
    contract_start_q  <= start_i;
    contract_slots_q  <= slots_i;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    NEEDS (buffer_slots_i <= AddrW'(Slots));
    if (contract_up_q) begin
      NEEDS (2'(alloc_i) + 2'(free_i) + 2'(release_i) <= 2'd1);
      NEEDS (!contract_asks || ready_o);
      NEEDS (!(alloc_i || release_i || (free_i && !Safe)) || (slots_i != '0 && slots_i <= 32'(Slots)));
      NEEDS (!contract_held_q || (free_i && start_i == contract_start_q && slots_i == contract_slots_q));
      GIVES (!contract_ready_q || ready_o);
      GIVES (ready_o || contract_clears_q < WaitW'(Slots / 128 + 2));
      GIVES (!contract_waits || contract_waits_q < WaitW'(free_i && Safe ? 2 * Chunks : Chunks));
    end
  end
`ifdef TRUSTED_LIVE_RANGES_NEVER_OVERLAP
  `define LIVE_RANGES_NEVER_OVERLAP
`endif
`ifdef LIVE_RANGES_NEVER_OVERLAP
  // A slot is watched, and is in use from when it is handed out until it is freed. It is handed out
  // when it is not in use, within the buffer.
  (* anyseq *) logic [AddrW-1:0] contract_any;
  logic [AddrW-1:0] contract_slot_q, contract_size_q;
  logic contract_live_q = 1'b0;
  wire [32:0] contract_at = alloc_i ? 33'(start_o) : 33'(start_i);
  wire [32:0] contract_end = contract_at + 33'(slots_i);
  wire contract_covers = 33'(contract_slot_q) >= contract_at && 33'(contract_slot_q) < contract_end;
  wire contract_does = contract_up_q && contract_asks && done_o && ok_o;
  always_ff @(posedge clk_i) begin
    contract_size_q <= buffer_slots_i;
    if (!contract_up_q) contract_slot_q <= 32'(contract_any) < Slots ? contract_any : '0;
    if (contract_does && contract_covers) contract_live_q <= alloc_i;
  end
  always_comb begin
    NEEDS (!first_when_empty_i && buffer_slots_i != '0);
    if (contract_up_q) begin
      NEEDS (buffer_slots_i == contract_size_q);
      NEEDS (!release_i || contract_end <= 33'(buffer_slots_i));
      // A free that is not checked is one of what was handed out.
      NEEDS (Safe || !free_i || (contract_end <= 33'(buffer_slots_i) && (!contract_covers || contract_live_q)));
      GIVES (!(contract_does && alloc_i) || contract_end <= 33'(buffer_slots_i));
      GIVES (!(contract_does && alloc_i && contract_covers) || !contract_live_q);
    end
  end
`endif
