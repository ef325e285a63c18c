  // Chunks of 64 slots that are left, and cycles that have passed.
  localparam int ChunkW = AddrW - 5;
  wire [ChunkW:0] within_left = (ChunkW+1)'((AddrW+1)'(left_q) + (AddrW+1)'(63) >> 6);
  always_comb begin
    if (contract_up_q) begin
      assert (state_q <= Check);
      if (state_q >= Wipe) assert (is_last_q == (left_q <= AddrW'(64)));
      if (state_q == Clear) assert (32'(contract_clears_q) == 32'(sweep_q) && contract_waits_q == '0);
      if (state_q == Fast) assert (32'(contract_waits_q) <= Chunks);
      if (state_q == Check) begin
        assert (contract_held_q && left_q != '0 && contract_slots_q > 32'd64 && contract_slots_q <= 32'(Slots));
        assert (32'(contract_waits_q) + 32'(within_left) <= 2 * Chunks);
      end
      if (state_q == Wipe || state_q == Mark) begin
        assert (left_q != '0);
        assert (32'(contract_waits_q) + 32'(within_left) <= Chunks);
      end
    end
  end
`ifdef LIVE_RANGES_NEVER_OVERLAP
  // The same slot is watched in the bit vectors and by the search. What the head may take, and what
  // lies before `low`, is neither used nor about to be.
  (* hierconn *) wire [BitW-1:0] \i_used.contract_slot_q ;
  (* hierconn, init = 0 *) wire [Pairs-1:0] \i_used.contract_clear_q ;
  (* hierconn, init = 0 *) wire \i_used.contract_bit_q ;
`ifdef TRUSTED_LIVE_RANGES_NEVER_OVERLAP
  wire [Pairs-1:0] within_follows = \i_used.contract_clear_q ;
`else
  (* hierconn, init = 0 *) wire [Pairs-1:0] \g_checked.i_follow.contract_clear_q ;
  wire [Pairs-1:0] within_follows = \g_checked.i_follow.contract_clear_q ;
`endif
  (* hierconn *) wire [AddrW-1:0] \i_search.contract_slot_q ;
  (* hierconn, init = 0 *) wire \i_search.contract_free_q ;
  wire [Pairs-1:0] within_clear = \i_used.contract_clear_q ;
  wire within_used = \i_used.contract_bit_q ;
  wire [AddrW-1:0] within_slot = contract_slot_q;
  wire [AddrW-1:0] within_end = pos_q + left_q;
  wire within_ahead = within_slot >= pos_q && within_slot < within_end;  // of the chunks that are done
  wire within_marks = state_q == Mark && within_ahead;
  wire within_is_taken = taken_q && within_slot >= taken_start_q && within_slot < head_q;
  always_comb begin
    if (!contract_up_q) begin
      assert (within_clear == '0 && within_follows == '0 && !contract_live_q && !\i_search.contract_free_q );
    end else begin
      assume (AddrW'(\i_used.contract_slot_q ) == within_slot && \i_search.contract_slot_q == within_slot);
      assert (32'(within_slot) < Slots);
      assert (within_follows == within_clear);
      assert (head_q <= tail_q && tail_q <= buffer_slots_i && low_q <= buffer_slots_i);
      if (state_q == Clear) begin
        assert (32'(sweep_q) < Pairs && within_clear == Pairs'((1 << sweep_q) - 1));
        assert (head_q == '0 && tail_q == buffer_slots_i && low_q == buffer_slots_i && !contract_live_q && !taken_q);
        if (within_clear[within_slot[BitW-1:7]]) assert (within_used == (within_slot >= buffer_slots_i));
        assert (!\i_search.contract_free_q );
      end else begin
        assert (&within_clear);
        assert (!contract_live_q || within_used || within_marks);
        assert (within_used || within_slot < buffer_slots_i);
        if ((within_slot >= head_q && within_slot < tail_q) || within_slot < low_q) assert (!within_used && !within_marks);
        if (\i_search.contract_free_q && !within_is_taken) assert (!within_used && !within_marks);
        if (state_q == Mark) assert (within_end == head_q && pos_q < head_q && low_q <= pos_q);
        if (state_q == Wipe) assert (within_end > pos_q && within_end <= buffer_slots_i && !(within_ahead && contract_live_q));
        if (state_q == Check) assert (33'(contract_start_q) + 33'(contract_slots_q) <= 33'(buffer_slots_i));
      end
    end
  end
`endif
