  // A bound that is set is divided by the cores in 33 cycles, unless another one is set meanwhile.
  logic contract_up_q = 1'b0;
  logic [5:0] contract_waits_q = '0;
  always_ff @(posedge clk_i) begin
    contract_up_q    <= 1'b1;
    contract_waits_q <= !contract_up_q || set_bound_i || !busy_o ? '0 : contract_waits_q + 6'd1;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    if (contract_up_q) GIVES (!busy_o || contract_waits_q < 6'd33);
  end
