  // Cycles of the input, counted apart by what it waits for, beside the counters of the contracts
  // of the others: wires of the names that these get.
  wire within_blocked = reassembler_busy || (per_core && admission_busy);
  logic [15:0] within_blocked_q = '0, within_free_q = '0;
  always_ff @(posedge clk_i) begin
    within_blocked_q <= contract_up_q && is_busy && !decides ? within_blocked_q + 16'(within_blocked) : '0;
    within_free_q    <= contract_up_q && is_busy && !decides ? within_free_q + 16'(!within_blocked) : '0;
  end
  (* hierconn, init = 0 *) wire [5:0] \i_admission.contract_waits_q ;
  (* hierconn, init = 0 *) wire [$clog2(2*Chunks):0] \i_buffer.contract_waits_q ;
  (* hierconn, init = 0 *) wire [$clog2(2*Chunks):0] \i_buffer.contract_clears_q ;
  (* hierconn, init = 0 *) wire \i_buffer.contract_ready_q ;
  (* hierconn, init = 0 *) wire [$clog2(Chunks+1):0] \g_reassembler.i_reassembler.contract_waits_q ;
  (* hierconn, init = 0 *) wire [$clog2(Entries+2):0] \g_reassembler.i_reassembler.contract_steps_q ;
  (* hierconn, init = 0 *) wire \g_reassembler.i_reassembler.contract_held_q ;
  (* hierconn, init = 0 *) wire \g_reassembler.i_reassembler.contract_expired_q ;
  (* hierconn, init = 0 *) wire [KeyW:0] \g_reassembler.i_nack.contract_waits_q ;
  wire [15:0] within_divides = 16'(\i_admission.contract_waits_q );
  wire [15:0] within_buffer = 16'(\i_buffer.contract_waits_q );
  wire [15:0] within_clears = 16'(\g_reassembler.i_reassembler.contract_waits_q );
  wire [15:0] within_steps = 16'(\g_reassembler.i_reassembler.contract_steps_q );
  wire [15:0] within_forgets = 16'(\g_reassembler.i_nack.contract_waits_q );
  wire within_expired = \g_reassembler.i_reassembler.contract_expired_q ;
  wire [15:0] within_ended = within_steps * 16'(Chunks + 1) + within_buffer;
  always_comb begin
    if (!contract_up_q) begin
      assert (!contract_pending_q && contract_waits_q == '0 && within_blocked_q == '0 && within_free_q == '0);
      assert (!contract_was_up_q && contract_clears_q == '0);
    end else begin
      assert (3'(is_packet) + 3'(is_free) + 3'(is_timeout) + 3'(is_peer_gone) + 3'(is_queue_bound) + 3'(is_pull) <= 3'd1);
      assert (is_busy == contract_pending_q && (!is_busy || up_o));
      if (contract_pending_q) begin
        assert (is_packet == (contract_op_q == Packet) && is_free == (contract_op_q == Free));
        assert (is_timeout == (contract_op_q == Timeout) && is_peer_gone == (contract_op_q == PeerGone));
        if (is_packet) begin
          assert (input_q.is_too_large || input_q.rpc_bytes <= rpc_bytes_max_i);
          assert (input_q.slots == slots_of(input_q.rpc_bytes));
        end
        if (is_free) assert (Safe || (input_q.slots != '0 && input_q.slots <= 32'(Slots)));
      end
      assert (contract_waits_q == within_blocked_q + within_free_q && within_blocked_q <= 16'(Start));
      if (within_blocked) assert (within_free_q == '0);
      if (reassembler_busy) assert (within_blocked_q <= within_clears);
      if (admission_busy) assert (within_blocked_q <= within_divides);
      assert (within_buffer <= 16'(is_free ? 2 * Chunks : Chunks) && within_steps <= 16'(Entries + 1));
      if (is_packet || is_free) assert (within_free_q <= within_buffer);
      if (is_timeout) assert (within_expired ? within_free_q == '0 : within_free_q <= within_ended);
      if (is_peer_gone) begin
        assert (walked_q || within_free_q <= within_ended);
        assert (forgot_q || contract_waits_q == within_forgets);
        if (walked_q && forgot_q) assert (within_free_q <= 16'((Entries + 1) * (Chunks + 1) + 1) || contract_waits_q <= 16'(1 << KeyW));
      end
      if (is_queue_bound || is_pull) assert (within_free_q == '0);
      if (!is_peer_gone) assert (!walked_q && !forgot_q);
      assert (!sweeps_q || (contract_clears_q == 16'(sweep_q) && !contract_was_up_q));
      assert (\i_buffer.contract_ready_q || (contract_clears_q == 16'(\i_buffer.contract_clears_q ) && !contract_was_up_q));
    end
  end
