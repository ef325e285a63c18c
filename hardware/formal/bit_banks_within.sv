  // A word as it will be when the range that is written has been.
  function automatic logic [63:0] now(input logic [63:0] bits, input logic is_written, input logic [63:0] set, input logic [63:0] unset);
    now = (bits & ~(unset & {64{is_written}})) | (set & {64{is_written}});
  endfunction
  // The banks as they will be when the range that is written has been.
  logic [63:0] within_even, within_odd;
  logic [63:0] within_word;
  always_comb begin
    within_word = contract_slot_q[6]
        ? now(odd_q[contract_slot_q[BitW-1:7]], contract_slot_q[BitW-1:7] == odd_at, set_odd, unset_odd)
        : now(even_q[contract_slot_q[BitW-1:7]], contract_slot_q[BitW-1:7] == even_at_q, set_even, unset_even);
    if (contract_up_q) begin
      assert (32'(contract_slot_q) < 128 * Pairs);
      assert (!write_q || even_at_q == PairW'((word + WordW'(1)) >> 1));
      assert (!write_q || odd_before_q == odd_at - PairW'(1));
      assert (!write_q || contract_known || contract_clear_q == '0);
      assert (!write_q || !contract_known || sets_q || !Sentinel || 32'({word, 6'd0}) + 32'(to_q) <= 32'(contract_slots_q));
      if (contract_clear_q[contract_slot_q[BitW-1:7]]) assert (within_word[contract_slot_q[5:0]] == contract_bit_q);
    end else assert (contract_clear_q == '0);
    for (int i = 0; i < Pairs; i++) begin
      within_even = now(even_q[i], PairW'(i) == even_at_q, set_even, unset_even);
      within_odd = now(odd_q[i], PairW'(i) == odd_at, set_odd, unset_odd);
      if (Sentinel && contract_up_q && contract_clear_q[i]) begin
        assert ((~within_even & contract_none(WordW'(2 * i))) == '0 && (~within_odd & contract_none(WordW'(2 * i + 1))) == '0);
      end
    end
  end
