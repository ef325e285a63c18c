  // An input is given on five cycles after it was taken, or when those before it were; none is
  // lost, and none made up.
  logic contract_up_q = 1'b0;
  logic [3:0] contract_inside_q = '0;  // inputs that were taken, and not given on
  logic [2:0] contract_waits_q = '0;   // cycles in which there are some, and the first is not given on yet
  always_ff @(posedge clk_i) begin
    contract_up_q     <= 1'b1;
    contract_inside_q <= contract_up_q ? contract_inside_q + 4'(valid_i && ready_o) - 4'(valid_o && ready_i) : '0;
    contract_waits_q  <= contract_up_q && contract_inside_q != '0 && !valid_o ? contract_waits_q + 3'd1 : '0;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    if (contract_up_q) begin
      GIVES (ready_o == (contract_inside_q < 4'd6));
      GIVES (!valid_o || contract_inside_q != '0);
      GIVES (contract_inside_q == '0 || valid_o || contract_waits_q < 3'd4);
    end
  end
