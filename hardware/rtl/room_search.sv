// Station 4, too: room behind a slow RPC. A word a step is read; two registers later its longest
// free run is known, and joined with the run that reaches up to it; the longest run of all is where
// the head goes when it is stopped. What is found to be free stays so until it is given out: a
// range that is takes all that it touches from the search. Source:
// core/nebula-nic/src/recv_buffer/scan.rs.
module room_search #(
    parameter int AddrW = 15,
    localparam int WordW = AddrW - 6
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [AddrW-1:0] buffer_slots_i,
    input  logic             step_i,
    // A word that is read in this step, if any is.
    input  logic             reads_i,
    output logic [WordW-1:0] word_o,        // that is read next
    input  logic [63:0]      used_i,
    // The range that was given out in the cycle before.
    input  logic             taken_i,
    input  logic [AddrW-1:0] taken_start_i,
    input  logic [AddrW-1:0] taken_end_i,
    // Free runs that the head comes to anyway.
    input  logic             reaches_i,
    input  logic [AddrW-1:0] head_i,
    input  logic [AddrW-1:0] tail_i,
    input  logic [AddrW-1:0] low_i,         // 0 if the head does not come to the first slot next
    input  logic             take_i,        // the run that was found is used up in this step
    output logic [AddrW-1:0] found_start_o,
    output logic [AddrW-1:0] found_slots_o,
    output logic [AddrW-1:0] found_end_o
);
  typedef struct packed {
    logic [AddrW-1:0] start;
    logic [AddrW-1:0] slots;
    logic [AddrW-1:0] stop;  // the slot after the last
  } run_t;
  localparam int Parts = 8;

  function automatic logic touches(input logic [AddrW-1:0] start, input logic [AddrW-1:0] stop);
    touches = taken_i && taken_start_i < stop && start < taken_end_i;
  endfunction
  wire [WordW-1:0] taken_first = taken_start_i[AddrW-1:6];
  wire [WordW-1:0] taken_last = taken_end_i[AddrW-1:6];
  function automatic logic is_in(input logic [WordW-1:0] word);
    is_in = taken_i && word >= taken_first && word <= taken_last;
  endfunction

  // -- which word is next --
  logic [WordW-1:0] word_q;
  wire [WordW-1:0] last = WordW'((buffer_slots_i - AddrW'(1)) >> 6);
  assign word_o = word_q;

  // -- the word as it was read --
  logic read_q, read_dead_q;
  logic [WordW-1:0] read_word_q;
  logic [63:0] used_q;
  wire read_dead = read_dead_q || is_in(read_word_q);

  // -- its eight parts --
  logic parts_valid_q, parts_dead_q;
  logic [WordW-1:0] parts_word_q;
  logic [Parts*4-1:0] part_start, part_slots, part_prefix, part_suffix;
  logic [Parts*4-1:0] part_start_q, part_slots_q, part_prefix_q, part_suffix_q;
  for (genvar i = 0; i < Parts; i++) begin : g_part
    longest_run #(.Width(8)) i_run (
        .used_i(used_q[i*8+:8]), .start_o(part_start[i*4+:4]), .slots_o(part_slots[i*4+:4]), .prefix_o(part_prefix[i*4+:4]),
        .suffix_o(part_suffix[i*4+:4]));
  end
  wire parts_dead = parts_dead_q || is_in(parts_word_q);

  // -- joined --
  logic sum_valid_q, sum_dead_q;
  logic [WordW-1:0] sum_word_q;
  logic [6:0] start, slots, prefix, suffix;
  logic [6:0] start_q, slots_q, prefix_q, suffix_q;
  join_runs #(.Parts(Parts), .PartW(4)) i_join (
      .start_i(part_start_q), .slots_i(part_slots_q), .prefix_i(part_prefix_q), .suffix_i(part_suffix_q), .start_o(start),
      .slots_o(slots), .prefix_o(prefix), .suffix_o(suffix));
  wire sum_dead = sum_dead_q || is_in(sum_word_q);

  // -- the longer of the run up to this word with what it begins with, and of the one within --
  run_t carry_q, carry_d, inner, carried, candidate_q, candidate_d;
  wire [WordW-1:0] sum_next = sum_word_q + WordW'(1);
  wire [AddrW-1:0] sum_end = {sum_next, 6'd0};
  wire carry_dead = touches(carry_q.start, carry_q.stop);
  wire is_carried = !carry_dead && carry_q.slots != '0;
  wire [AddrW-1:0] carried_slots = carry_q.slots + AddrW'(prefix_q);
  wire is_within_longer = slots_q > prefix_q;
  wire is_within_longest = AddrW'(slots_q) > carried_slots;
  wire [6:0] stop = start_q + slots_q;
  assign inner.start = {sum_word_q, 6'd0} | AddrW'(start_q);
  assign inner.slots = AddrW'(slots_q);
  assign inner.stop = stop[6] ? sum_end : {sum_word_q, stop[5:0]};
  assign carried.start = is_carried ? carry_q.start : {sum_word_q, 6'd0};
  assign carried.slots = sum_dead ? (carry_dead ? '0 : carry_q.slots) : carry_dead ? AddrW'(prefix_q) : carried_slots;
  assign carried.stop = sum_dead ? {sum_word_q, 6'd0} : prefix_q[6] ? sum_end : {sum_word_q, prefix_q[5:0]};
  wire takes_within = !sum_dead && (carry_dead ? is_within_longer : is_within_longest);
  always_comb begin
    candidate_d = takes_within ? inner : carried;
    if (!sum_valid_q) candidate_d.slots = '0;
    carry_d = carried;
    if (sum_dead || !prefix_q[6]) begin
      carry_d.start = suffix_q[6] ? {sum_word_q, 6'd0} : sum_end - AddrW'(suffix_q);
      carry_d.slots = sum_dead ? '0 : AddrW'(suffix_q);
      carry_d.stop = sum_end;
    end
    if (sum_word_q == last) carry_d.slots = '0;  // a run does not go on over the end
  end

  // -- the longest of all --
  run_t found_q;
  wire found_dead = touches(found_q.start, found_q.stop);
  wire candidate_dead = touches(candidate_q.start, candidate_q.stop);
  wire is_ahead = (candidate_q.start < tail_i && head_i < candidate_q.stop) || candidate_q.start < low_i;
  wire may_be = !candidate_dead && candidate_q.slots != '0 && !(reaches_i && is_ahead);
  wire is_longer = candidate_q.slots > found_q.slots;
  wire replaces = may_be && (is_longer || found_dead || take_i);
  assign found_start_o = found_q.start;
  assign found_slots_o = found_dead ? '0 : found_q.slots;
  assign found_end_o = found_q.stop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      word_q        <= '0;
      read_q        <= 1'b0;
      parts_valid_q <= 1'b0;
      sum_valid_q   <= 1'b0;
      carry_q       <= '0;
      candidate_q   <= '0;
      found_q       <= '0;
      {read_dead_q, parts_dead_q, sum_dead_q} <= '0;
    end else if (step_i) begin
      if (reads_i) word_q <= word_q == last ? '0 : word_q + WordW'(1);
      read_q        <= reads_i;
      read_dead_q   <= 1'b0;
      parts_valid_q <= read_q;
      parts_dead_q  <= read_dead;
      sum_valid_q   <= parts_valid_q;
      sum_dead_q    <= parts_dead;
      candidate_q   <= candidate_d;
      if (sum_valid_q) carry_q <= carry_d;
      else if (carry_dead) carry_q.slots <= '0;
      if (replaces) found_q <= candidate_q;
      else if (take_i || found_dead) found_q.slots <= '0;
    end else begin
      read_dead_q  <= read_dead;
      parts_dead_q <= parts_dead;
      sum_dead_q   <= sum_dead;
      if (carry_dead) carry_q.slots <= '0;
      if (candidate_dead) candidate_q.slots <= '0;
      if (found_dead) found_q.slots <= '0;
    end
    if (step_i) begin
      used_q       <= used_i;
      read_word_q  <= word_q;
      parts_word_q <= read_word_q;
      {part_start_q, part_slots_q, part_prefix_q, part_suffix_q} <= {part_start, part_slots, part_prefix, part_suffix};
      sum_word_q   <= parts_word_q;
      {start_q, slots_q, prefix_q, suffix_q} <= {start, slots, prefix, suffix};
    end
  end
endmodule
