  // Each input has its hashes, or is in a stage; the first of those is as far as it has waited.
  wire [3:0] within_stages = 4'(stages_q[0]) + 4'(stages_q[1]) + 4'(stages_q[2]) + 4'(stages_q[3]);
  always_comb begin
    if (contract_up_q) begin
      assert (len_q == contract_inside_q && len_q == hashed_len_q + within_stages && len_q <= 4'd6 && hashed_len_q <= len_q);
      if (len_q != '0 && hashed_len_q == '0) assert ((stages_q >> contract_waits_q) != '0);
    end
  end
