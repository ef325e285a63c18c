  // How far the division is.
  always_comb assert (!contract_up_q || !busy_o || left_q + contract_waits_q <= 6'd33);
