  // Bits of a long RPC are cleared in a cycle for each chunk of 64 slots but the first. What ends,
  // ends after as many steps as there are entries, and one: a step is a cycle in which nothing
  // waits to be released, or it is. So how long it takes is the receive buffer's to say. At the
  // same time nothing else expires.
  localparam int Chunks = (Slots + 63) / 64;
  localparam int WaitW = $clog2(Chunks + 1) + 1;
  localparam int StepW = $clog2(Entries + 2) + 1;
  logic contract_up_q = 1'b0;
  logic contract_held_q = 1'b0;             // what ends has not ended
  logic contract_expires_q = 1'b0;
  logic contract_expired_q = 1'b0;          // … and all that did has ended
  logic contract_may_q = 1'b0;              // be busy
  logic [63:0] contract_at_q = '0;
  logic [63:0] contract_timeout_q = '0;
  logic [31:0] contract_snid_q = '0;
  logic [WaitW-1:0] contract_waits_q = '0;  // cycles in which it was busy
  logic [StepW-1:0] contract_steps_q = '0;
  wire contract_asks = expire_i || peer_gone_i;
  wire contract_step = !release_o || released_i;
  always_ff @(posedge clk_i) begin
    contract_up_q      <= 1'b1;
    contract_held_q    <= contract_up_q && contract_asks && !ended_o;
    contract_expires_q <= expire_i;
    contract_expired_q <= contract_up_q && expire_i && ended_o;
    contract_may_q     <= contract_up_q && (begin_i || busy_o);
    contract_at_q      <= at_i;
    contract_timeout_q <= timeout_i;
    contract_snid_q    <= snid_i;
    contract_waits_q   <= contract_up_q && busy_o ? contract_waits_q + WaitW'(1) : '0;
    contract_steps_q   <= contract_up_q && contract_asks && !ended_o ? contract_steps_q + StepW'(contract_step) : '0;
  end
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    if (contract_up_q) begin
      NEEDS (timeout_i == contract_timeout_q);
      NEEDS (!(begin_i && take_i) && !(expire_i && peer_gone_i) && !((begin_i || take_i) && (contract_asks || busy_o)));
      NEEDS (!begin_i || (!full_o && rpc_bytes_i <= 32'(64 * Slots)));
      NEEDS (!take_i || hit_o);
      NEEDS (!released_i || release_o);
      NEEDS (!contract_held_q || (contract_asks && expire_i == contract_expires_q && at_i == contract_at_q && snid_i == contract_snid_q));
      GIVES (!release_o || (contract_asks && release_bytes_o <= 32'(64 * Slots)));
      GIVES (!busy_o || (contract_may_q && contract_waits_q < WaitW'(Chunks - 1)));
      GIVES (!contract_expired_q || !expire_i || at_i != contract_at_q || ended_o);
      GIVES (!contract_asks || ended_o || contract_steps_q <= StepW'(Entries));
    end
  end
