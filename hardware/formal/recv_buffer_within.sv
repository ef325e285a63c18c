  // Chunks of 64 slots that are left, and cycles that have passed.
  localparam int ChunkW = AddrW - 5;
  wire [ChunkW:0] within_left = (ChunkW+1)'((AddrW+1)'(left_q) + (AddrW+1)'(63) >> 6);
  always_comb begin
    if (contract_up_q) begin
      assert (state_q <= Mark);
      if (state_q == Clear) assert (32'(contract_clears_q) == 32'(sweep_q) && contract_waits_q == '0);
      if (state_q == Fast) assert (32'(contract_waits_q) <= Chunks);
      if (state_q == Check) begin
        assert (contract_held_q && left_q != '0 && contract_slots_q != '0 && contract_slots_q <= 32'(Slots));
        assert (32'(contract_waits_q) + 32'(within_left) <= 2 * Chunks);
      end
      if (state_q == Wipe || state_q == Mark) begin
        assert (left_q != '0);
        assert (32'(contract_waits_q) + 32'(within_left) <= Chunks);
      end
    end
  end
