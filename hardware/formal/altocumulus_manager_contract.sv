  // A decision about at most 7 RPCs is made in 37 cycles: each pass over the targets but the last
  // sends some of them.
  logic contract_up_q = 1'b0;
  logic contract_held_q = 1'b0;
  logic [5:0] contract_waits_q = '0;
  always_ff @(posedge clk_i) begin
    contract_up_q    <= 1'b1;
    contract_held_q  <= contract_up_q && decide_i && !done_o;
    contract_waits_q <= contract_up_q && decide_i && !done_o ? contract_waits_q + 6'd1 : '0;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    if (contract_up_q) begin
      NEEDS (bulk_i <= 32'd7 && concurrency_i <= 16'(Descriptors));
      NEEDS (!(decide_i && arrival_i) && (!contract_held_q || decide_i));
      GIVES (!decide_i || done_o || contract_waits_q < 6'd36);
    end
  end
