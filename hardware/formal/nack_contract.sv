  // The RPCs of a sender are forgotten in a cycle a place.
  logic contract_up_q = 1'b0;
  logic [KeyW:0] contract_waits_q = '0;
  always_ff @(posedge clk_i) begin
    contract_up_q    <= 1'b1;
    contract_waits_q <= !contract_up_q || !forget_i || done_o ? '0 : contract_waits_q + (KeyW + 1)'(1);
  end
  always_comb begin
    // The places are cleared at first, and not while an RPC is forgotten.
    NEEDS (!contract_up_q || !forget_i || !clear_i);
    GIVES (!contract_up_q || !forget_i || done_o || contract_waits_q < (KeyW + 1)'(Keys - 1));
  end
