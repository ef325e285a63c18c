  // The later the cycle, the sooner the window that the arrival is in.
  always_comb begin
    if (contract_up_q) begin
      assert (closes_q == contract_closes_q && closes_q < 64'd1 << 61 && contract_held_q == (contract_waits_q != '0));
      if (contract_waits_q == 3'd1) assert (contract_at_q < contract_third);
      if (contract_waits_q == 3'd2) assert (contract_at_q < contract_second);
      if (contract_waits_q == 3'd3) assert (contract_at_q < contract_closes_q);
      assert (contract_waits_q <= 3'd3);
    end
  end
