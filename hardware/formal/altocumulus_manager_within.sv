  // What is left at most: a pass for each RPC that may be sent and one in which none is, and one to
  // put descriptors into the FIFO.
  wire [5:0] within_passes = 6'(targets_q) * (6'(left_q[2:0]) + 6'd1) + (is_worth_it_q ? 6'(targets_q) : 6'd0);
  wire [6:0] within_left = state_q == Share ? 7'(within_passes) + 7'(targets_q) - 7'(turn_q) : 7'(targets_q) - 7'(turn_q);
  always_comb begin
    if (contract_up_q) begin
      assert (contract_held_q == (state_q != Idle) && contract_held_q == (contract_waits_q != '0));
      assert (state_q == Idle || state_q == Share || state_q == Emit);
      if (state_q == Idle) assert (turn_q == '0 && !is_worth_it_q);
      if (state_q == Emit) assert (!is_worth_it_q);
      if (state_q != Idle) begin
        assert (targets_q != '0 && targets_q <= (DescriptorW + 1)'(Descriptors) && turn_q < targets_q && left_q <= 32'd7);
        assert (7'(contract_waits_q) + within_left <= 7'd37);
      end
    end
  end
