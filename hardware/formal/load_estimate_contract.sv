  // An arrival that comes before the fourth window from now on ends is counted in 4 cycles: one
  // window closes in each but the last.
  logic contract_up_q = 1'b0;
  logic contract_held_q = 1'b0;
  logic [63:0] contract_at_q = '0;
  logic [63:0] contract_window_q = '0;
  logic [63:0] contract_closes_q = '0;  // when the window ends
  logic [2:0] contract_waits_q = '0;
  wire [63:0] contract_second = contract_closes_q + window_i;
  wire [63:0] contract_third = contract_second + window_i;
  wire [63:0] contract_fourth = contract_third + window_i;
  always_ff @(posedge clk_i) begin
    contract_up_q     <= 1'b1;
    contract_held_q   <= contract_up_q && arrival_i && !done_o;
    contract_at_q     <= at_i;
    contract_window_q <= window_i;
    contract_closes_q <= !contract_up_q ? window_i : closes_o ? contract_second : contract_closes_q;
    contract_waits_q  <= contract_up_q && arrival_i && !done_o ? contract_waits_q + 3'd1 : '0;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    NEEDS (window_i < 64'd1 << 60 && at_i < 64'd1 << 60);
    if (contract_up_q) begin
      NEEDS (window_i == contract_window_q);
      NEEDS (!contract_held_q || (arrival_i && at_i == contract_at_q));
      NEEDS (contract_held_q || !arrival_i || at_i < contract_fourth);
      GIVES (!arrival_i || done_o || contract_waits_q < 3'd3);
    end
  end
