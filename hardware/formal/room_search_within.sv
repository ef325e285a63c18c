  // Of the watched slot: in which of the runs of each register it is. What is dead says nothing.
  wire [WordW-1:0] within_word = contract_slot_q[AddrW-1:6];
  wire [5:0] within_bit = contract_slot_q[5:0];
  wire [63:0] within_none_read = contract_missing(read_word_q);
  wire [63:0] within_none_parts = contract_missing(parts_word_q);
  wire [63:0] within_none_sum = contract_missing(sum_word_q);
  function automatic logic [63:0] contract_missing(input logic [WordW-1:0] word);
    contract_missing = word < buffer_slots_i[AddrW-1:6] ? 64'd0 : word > buffer_slots_i[AddrW-1:6] ? ~64'd0 : ~64'd0 << buffer_slots_i[5:0];
  endfunction
  function automatic logic within_run(input logic [AddrW-1:0] start, input logic [AddrW-1:0] slots, input logic [AddrW-1:0] stop);
    within_run = slots != '0 && contract_slot_q >= start && contract_slot_q < stop;
  endfunction
  function automatic logic within_whole(input logic [AddrW-1:0] start, input logic [AddrW-1:0] slots, input logic [AddrW-1:0] stop);
    within_whole = slots == '0 || (stop > start && stop - start == slots && stop <= contract_slots_q);
  endfunction
  // The slots of a word that its runs say are free.
  function automatic logic [63:0] within_span(input logic [6:0] start, input logic [6:0] slots, input logic [6:0] prefix, input logic [6:0] suffix);
    within_span = ((~(~64'd0 << slots)) << start) | ~(~64'd0 << prefix) | ~(~64'd0 >> suffix);
  endfunction
  function automatic logic [7:0] within_small(input logic [3:0] start, input logic [3:0] slots, input logic [3:0] prefix, input logic [3:0] suffix);
    within_small = ((~(~8'd0 << slots)) << start) | ~(~8'd0 << prefix) | ~(~8'd0 >> suffix);
  endfunction
  wire [63:0] within_sum = within_span(start_q, slots_q, prefix_q, suffix_q);
  logic [63:0] within_parts;
  always_comb begin
    for (int i = 0; i < Parts; i++) begin
      within_parts[i*8+:8] = within_small(part_start_q[i*4+:4], part_slots_q[i*4+:4], part_prefix_q[i*4+:4], part_suffix_q[i*4+:4]);
    end
  end
  // The word that comes next to each register.
  wire [WordW-1:0] within_next_sum = sum_valid_q ? sum_word_q : within_next_parts;
  wire [WordW-1:0] within_next_parts = parts_valid_q ? parts_word_q : within_next_read;
  wire [WordW-1:0] within_next_read = read_q ? read_word_q : word_q;
  function automatic logic [WordW-1:0] within_after(input logic [WordW-1:0] one);
    within_after = one == last ? '0 : one + WordW'(1);
  endfunction
  always_comb begin
    if (contract_up_q) begin
      assert (word_q <= last);
      if (read_q) assert (read_word_q <= last && word_q == within_after(read_word_q));
      if (parts_valid_q) assert (parts_word_q <= last && within_next_read == within_after(parts_word_q));
      if (sum_valid_q) assert (sum_word_q <= last && within_next_parts == within_after(sum_word_q));
      if (read_q) assert ((~used_q & within_none_read) == '0);
      if (parts_valid_q) assert ((within_parts & within_none_parts) == '0);
      if (sum_valid_q) begin
        assert ((within_sum & within_none_sum) == '0);
        assert (prefix_q <= 7'd64 && suffix_q <= 7'd64 && 8'(start_q) + 8'(slots_q) <= 8'd64 && start_q <= 7'd64 && slots_q <= 7'd64 && slots_q >= prefix_q);
      end
      if (parts_valid_q) begin
        for (int i = 0; i < Parts; i++) begin
          assert (part_prefix_q[i*4+:4] <= 4'd8 && part_suffix_q[i*4+:4] <= 4'd8 && part_slots_q[i*4+:4] <= 4'd8 && part_start_q[i*4+:4] <= 4'd8);
          assert (part_slots_q[i*4+:4] >= part_suffix_q[i*4+:4] && part_prefix_q[i*4+3] == part_suffix_q[i*4+3]);
          assert (5'(part_start_q[i*4+:4]) + 5'(part_slots_q[i*4+:4]) <= 5'd8 && part_slots_q[i*4+:4] >= part_prefix_q[i*4+:4]);
        end
      end
      if (carry_q.slots != '0) assert (carry_q.stop == {within_next_sum, 6'd0} && within_next_sum != '0);
      assert (within_whole(carry_q.start, carry_q.slots, carry_q.stop) && within_whole(candidate_q.start, candidate_q.slots, candidate_q.stop) && within_whole(found_q.start, found_q.slots, found_q.stop));
      // Free, as far as is known.
      if (read_q && !read_dead && within_word == read_word_q) assert (used_q[within_bit] || contract_is_free);
      if (parts_valid_q && !parts_dead && within_word == parts_word_q) assert (!within_parts[within_bit] || contract_is_free);
      if (sum_valid_q && !sum_dead && within_word == sum_word_q) assert (!within_sum[within_bit] || contract_is_free);
      if (!carry_dead) assert (!within_run(carry_q.start, carry_q.slots, carry_q.stop) || contract_is_free);
      if (!candidate_dead) assert (!within_run(candidate_q.start, candidate_q.slots, candidate_q.stop) || contract_is_free);
      if (!found_dead) assert (!within_run(found_q.start, found_q.slots, found_q.stop) || contract_is_free);
    end
  end
