  // A bound that is set is divided by the cores in 33 cycles, unless another one is set meanwhile;
  // nothing else makes it busy.
  logic contract_up_q = 1'b0;
  logic [5:0] contract_waits_q = '0;
  logic contract_may_q = 1'b1;  // be busy
  always_ff @(posedge clk_i) begin
    contract_may_q   <= !contract_up_q || set_bound_i || busy_o;
    contract_up_q    <= 1'b1;
    contract_waits_q <= !contract_up_q || set_bound_i || !busy_o ? '0 : contract_waits_q + 6'd1;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    if (contract_up_q) GIVES (!busy_o || (contract_may_q && contract_waits_q < 6'd33));
  end
