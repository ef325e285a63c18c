  // The list by age beside an array in the order of age: they say the same, and what waits to be
  // reported is in neither.
  logic [EntryW-1:0] within_order_q[Entries];
  logic [EntryW:0] within_count_q = '0;
  logic [EntryW:0] within_walk_q = '0;  // the place that is walked over
  logic [EntryW:0] within_leaves;       // the place that is left
  logic [EntryW:0] within_live, within_busy;
  always_comb begin
    within_leaves = '0;
    within_live = '0;
    within_busy = '0;
    for (int i = 0; i < Entries; i++) begin
      if ((EntryW+1)'(i) < within_count_q && within_order_q[i] == leaves) within_leaves = (EntryW+1)'(i);
      within_live += (EntryW+1)'(live_q[i]);
      within_busy += (EntryW+1)'(busy_q[i]);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!contract_up_q) begin
      within_count_q <= '0;
    end else if (any_leaves) begin
      within_count_q <= within_count_q - (EntryW+1)'(1);
      for (int i = 0; i + 1 < Entries; i++) begin
        if ((EntryW+1)'(i) >= within_leaves) within_order_q[i] <= within_order_q[i+1];
      end
    end else if (begin_i) begin
      within_count_q <= within_count_q + (EntryW+1)'(1);
      for (int i = 0; i < Entries; i++) if ((EntryW+1)'(i) == within_count_q) within_order_q[i] <= free_at;
    end
    if (!walks_q) within_walk_q <= '0;
    else if (walks && contract_step && !abandons) within_walk_q <= within_walk_q + (EntryW+1)'(1);
  end
  always_comb begin
    if (contract_up_q) begin
      assert (within_count_q == within_live && within_count_q + reports_q == within_busy);
      assert ((live_q & ~busy_q) == '0);
      assert (within_count_q == '0 || oldest_q == within_order_q[0]);
      for (int i = 0; i < Entries; i++) begin
        if ((EntryW+1)'(i) < within_count_q) assert (live_q[within_order_q[i]]);
        if ((EntryW+1)'(i + 1) == within_count_q) assert (newest_q == within_order_q[i]);
        if (live_q[i]) assert (bytes_q[i] <= 32'(64 * Slots));
        if ((EntryW+1)'(i) < reports_q) assert (busy_q[report_q[EntryW'(report_front_q + EntryW'(i))]]);
        if ((EntryW+1)'(i) < reports_q) assert (!live_q[report_q[EntryW'(report_front_q + EntryW'(i))]]);
        if (walks_q && (EntryW+1)'(i) == within_walk_q) assert (walk_q == within_order_q[i]);
        for (int j = 0; j < Entries; j++) begin
          if (i < j && (EntryW+1)'(j) < within_count_q) assert (within_order_q[i] != within_order_q[j]);
          if (i + 1 == j && (EntryW+1)'(j) < within_count_q) begin
            assert (newer_q[within_order_q[i]] == within_order_q[j]);
            assert (older_q[within_order_q[j]] == within_order_q[i]);
          end
          if (i < j && (EntryW+1)'(j) < reports_q) begin
            assert (report_q[EntryW'(report_front_q + EntryW'(i))] != report_q[EntryW'(report_front_q + EntryW'(j))]);
          end
        end
      end
      // Steps that are behind, and entries that are ahead.
      if (walks_q) begin
        assert (contract_held_q && !contract_expires_q && within_walk_q < within_count_q);
        assert (32'(contract_steps_q) + 32'(within_count_q) - 32'(within_walk_q) <= Entries + 1);
      end else if (contract_held_q) begin
        assert (contract_expires_q && 32'(contract_steps_q) + 32'(within_count_q) <= Entries);
      end
      assert (contract_held_q || contract_steps_q == '0);
      // What expires next, later, is not due at the time of what has ended.
      if (contract_expired_q && within_count_q != '0) assert (due_sum[64] ? contract_at_q != '1 : due_sum[63:0] > contract_at_q);
      if (clears_q) assert (clear_left_q != '0 && 64 * 32'(contract_waits_q) + 32'(clear_left_q) <= 64 * (Chunks - 1));
      else assert (contract_waits_q == '0 || contract_waits_q <= WaitW'(Chunks - 1));
    end
  end
