  // Places that are behind.
  always_comb assert (contract_waits_q <= {1'b0, forget_q});
