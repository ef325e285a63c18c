// Station 4: where does the payload go? The slots of all RPCs: `head`, the free run before it up to
// `tail`, and the free run from the first slot on, up to `low`. A decision compares what these
// registers say; beside it a word each is read for `tail`, for `low` and for room behind a slow
// RPC, as the software does for each input. Source: core/nebula-nic/src/recv_buffer.rs and
// recv_buffer/scan.rs with `ScrubMode::Ahead`: the same slots for the same inputs. An RPC is
// decided about in one cycle; one of more than 64 slots takes a cycle more for each 64 slots, in
// which its bits are set or unset.
module recv_buffer #(
    parameter int Slots = 8640,
    parameter int Cores = 64,
    parameter bit Safe = 1,  // a free is checked against exactly one RPC of that core
    localparam int AddrW = $clog2(Slots + 130) + 1,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [AddrW-1:0] buffer_slots_i,       // at most Slots
    input  logic             first_when_empty_i,   // SlotOrder::FirstWhenEmpty
    input  logic [AddrW-1:0] slots_per_rpc_max_i,
    // One input; it is held until `done_o`.
    input  logic             alloc_i,              // an RPC begins that is admitted
    input  logic             free_i,               // a core frees
    input  logic             release_i,            // the NIC frees what was abandoned
    input  logic [31:0]      start_i,              // of what is freed
    input  logic [31:0]      slots_i,
    input  logic [15:0]      core_i,
    output logic             done_o,
    output logic             ok_o,
    output logic [AddrW-1:0] start_o,              // where the RPC goes
    // What dispatch gives to a core in this cycle, before this cycle's free.
    input  logic             give_i,
    input  logic [AddrW-1:0] give_start_i,
    input  logic [CoreW-1:0] give_core_i,
    output logic             ready_o               // the bit vectors are clear
);
  localparam int Pairs = Slots / 128 + 2;
  localparam int PairW = $clog2(Pairs);
  localparam int WordW = PairW + 1;
  localparam int BitW = WordW + 6;  // a slot, as the bit vectors number them
  localparam int SlotW = $clog2(Slots);

  // Of a free, a bit tells whether a later chunk is checked: the path through the bit vectors
  // begins there.
  typedef enum logic [2:0] {Clear = 0, Fast = 1, Wipe = 2, Mark = 3, Check = 4} state_e;
  state_e state_q;
  wire checks = state_q[2];
  logic [PairW-1:0] sweep_q;
  logic [AddrW-1:0] head_q, tail_q, low_q, used_q;
  logic is_empty_q, freed_q, freed_all_q;
  logic [AddrW-1:0] freed_slots_q;
  // The chunk of a long RPC that is marked, checked or wiped next.
  logic [AddrW-1:0] pos_q, left_q;
  logic is_last_q;  // left_q <= 64, of a chunk that is

  // -- the bit vectors --
  logic [AddrW-1:0] chunk, write_from;
  logic [6:0] write_to;
  logic write, write_sets;
  logic [3*64-1:0] bits;
  logic [127:0] mask, first, beyond;  // of the chunk that is freed: its slots, where the RPC begins, the slot after it
  logic is_used, is_followed;
  logic [AddrW-7:0] scan_word;
  bit_banks #(.Slots(Slots), .Words(3), .Window(Safe), .Sentinel(1)) i_used (
      .clk_i, .slots_i(buffer_slots_i[BitW-1:0]), .clear_i(state_q == Clear), .clear_pair_i(sweep_q),
      .word_i({scan_word[WordW-1:0], low_q[BitW-1:6], tail_q[BitW-1:6]}), .bits_o(bits), .window_i(chunk[BitW-1:6]),
      .care_i(mask), .wanted_i(~128'd0), .same_o(is_used), .write_i(write), .sets_i(write_sets), .keeps_first_i(1'b0),
      .from_i(write_from[BitW-1:0]), .to_i(write_to));

  logic unused_bits;
  assign unused_bits = ^{write_from, scan_word, chunk};

  // -- the next used slot from `tail` and from `low` on, or the end of the word --
  wire [AddrW-7:0] tail_word = tail_q[AddrW-1:6] + (AddrW-6)'(1);
  wire [AddrW-7:0] low_word = low_q[AddrW-1:6] + (AddrW-6)'(1);
  // Where each stays or jumps to, and whether it walks on instead.
  logic tail_walks, low_walks;
  logic [AddrW-1:0] tail_else, low_else, tail_d, low_d;
  walker #(.WordW(AddrW - 6)) i_tail (
      .used_i(bits[63:0]), .from_on_i(~64'd0 << tail_q[5:0]), .walks_i(tail_walks), .bit_i(tail_else[5:0]), .next_o(tail_d),
      .word_i(tail_walks ? tail_q[AddrW-1:6] : tail_else[AddrW-1:6]), .past_i(tail_walks ? tail_word : tail_else[AddrW-1:6]));
  walker #(.WordW(AddrW - 6)) i_low (
      .used_i(bits[127:64]), .from_on_i(~64'd0 << low_q[5:0]), .walks_i(low_walks), .bit_i(low_else[5:0]), .next_o(low_d),
      .word_i(low_walks ? low_q[AddrW-1:6] : low_else[AddrW-1:6]), .past_i(low_walks ? low_word : low_else[AddrW-1:6]));

  // -- an RPC begins: at the head, at the first slot, or where the search has found room --
  wire [AddrW-1:0] wanted = AddrW'(slots_i);
  logic [AddrW-1:0] found_start, found_slots, found_end;
  wire is_at_end = tail_q == buffer_slots_i;
  wire [AddrW+1:0] spare = (AddrW+2)'(tail_q) - (AddrW+2)'(head_q) - (AddrW+2)'(wanted);
  wire is_at_head = !spare[AddrW+1];
  // What was freed in the cycle before is taken off now: the check of a free ends too late for a
  // sum.
  wire is_empty = is_empty_q || (freed_q && freed_all_q);
  wire [AddrW-1:0] used = used_q - (freed_q ? freed_slots_q : '0);
  wire restarts = first_when_empty_i && is_empty;
  wire is_at_first = is_at_end && low_q >= wanted;
  wire is_found = found_slots >= wanted;
  wire can_decide = state_q == Fast;
  wire allocs = can_decide && alloc_i;
  wire take = allocs && (restarts || is_at_head || is_at_first || is_found);
  wire takes_first = restarts || (!is_at_head && is_at_first);
  wire takes_found = !restarts && !is_at_head && !is_at_first;
  assign start_o = takes_first ? '0 : takes_found ? found_start : head_q;
  wire [AddrW-1:0] head_next = head_q + wanted;
  wire [AddrW-1:0] past_found = found_start + wanted;
  wire [AddrW-1:0] past = takes_first ? wanted : takes_found ? past_found : head_next;
  // Of at most 64 slots, what is written first.
  wire is_short = wanted <= AddrW'(64);

  // -- the search --
  logic taken_q;
  logic [AddrW-1:0] taken_start_q;
  wire [AddrW-1:0] longest = slots_per_rpc_max_i;
  wire [AddrW+3:0] ahead = {1'b0, longest, 3'd0};
  wire [AddrW+3:0] spare_ahead = (AddrW+4)'(tail_q) - (AddrW+4)'(head_q) - ahead;
  wire [AddrW+1:0] spare_longest = (AddrW+2)'(tail_q) - (AddrW+2)'(head_q) - (AddrW+2)'(longest);
  wire reaches_ahead = !spare_ahead[AddrW+3] || (is_at_end && (AddrW+4)'(low_q) >= ahead);
  wire reaches = !spare_longest[AddrW+1] || (is_at_end && low_q >= longest);
  wire steps = can_decide && (alloc_i || free_i);
  room_search #(.AddrW(AddrW)) i_search (
      .clk_i, .rst_ni, .buffer_slots_i, .step_i(steps), .reads_i(!reaches_ahead && found_slots < longest), .word_o(scan_word),
      .used_i(bits[191:128]), .taken_i(taken_q), .taken_start_i(taken_start_q), .taken_end_i(head_q), .reaches_i(reaches),
      .head_i(head_q), .tail_i(tail_q), .low_i(is_at_end ? low_q : '0), .take_i(take && takes_found),
      .found_start_o(found_start), .found_slots_o(found_slots), .found_end_o(found_end));

  // -- a free: exactly one RPC that this core holds -- The bits of its slots come last: all else is
  // known before, and only what they say is decided by them.
  wire is_last_chunk = checks ? is_last_q : slots_i <= 32'd64;
  assign chunk = checks ? pos_q : AddrW'(start_i);
  logic is_chunk, may_free;
  wire free_begins = can_decide && free_i;
  wire free_ok = is_chunk && may_free && (is_last_chunk || !Safe);
  wire checks_on = is_chunk && may_free && !is_last_chunk && Safe;  // in the next chunk
  wire free_done = (free_begins || checks) && !checks_on;
  wire release_done = can_decide && release_i;
  assign done_o = allocs || free_done || release_done;
  assign ok_o = take || free_ok || release_done;
  assign ready_o = state_q != Clear;

  if (Safe) begin : g_checked
    wire is_in_range = slots_i != '0 && start_i < 32'(buffer_slots_i) && slots_i <= 32'(buffer_slots_i) - start_i;
    bit_banks #(.Slots(Slots), .Words(1)) i_follow (
        .clk_i, .slots_i(buffer_slots_i[BitW-1:0]), .clear_i(state_q == Clear), .clear_pair_i(sweep_q), .word_i('0), .bits_o(unused_word),
        .window_i(chunk[BitW-1:6]), .care_i(mask | beyond), .wanted_i(mask & ~first), .same_o(is_followed),
        .write_i(write), .sets_i(write_sets), .keeps_first_i(take), .from_i(write_from[BitW-1:0]), .to_i(write_to));
    logic [63:0] unused_word;
    // Each chunk begins at the same bit of its word, and all but the last have 64 slots.
    wire [63:0] after = ~64'd0 << start_i[5:0];
    wire [6:0] stop = {1'b0, start_i[5:0]} + {slots_i[5:0] == '0, slots_i[5:0]};
    wire [127:0] up_to = ~(~128'd0 << stop);
    assign mask = {~64'd0, after} & (is_last_chunk ? up_to : {~after, ~64'd0});
    assign first = checks ? '0 : 128'd1 << start_i[5:0];
    assign beyond = is_last_chunk ? ~up_to & {up_to[126:0], 1'b0} : '0;
    assign is_chunk = is_used && is_followed;
    assign may_free = checks || (free_begins && is_in_range && is_held);
    // One writer each; given to a core where they differ.
    logic took_q[Slots];
    logic gave_q[Slots];
    logic [CoreW-1:0] holder_q[Slots];
    wire [SlotW-1:0] own = SlotW'(start_i);
    wire [SlotW-1:0] give_to = SlotW'(give_start_i);
    wire is_given_now = give_i && 32'(give_start_i) == start_i;
    wire is_given = took_q[own] ^ gave_q[own];
    wire is_held = (is_given_now || is_given) && 16'({is_given_now ? give_core_i : holder_q[own]}) == core_i;
    always_ff @(posedge clk_i) begin
      if (take) took_q[SlotW'(start_o)] <= gave_q[SlotW'(start_o)];  // the NIC has it
      if (give_i) begin
        gave_q[give_to]   <= !took_q[give_to];
        holder_q[give_to] <= give_core_i;
      end
    end
    logic unused;
    assign unused = ^unused_word;
  end else begin : g_trusted
    assign {is_chunk, may_free, is_followed, mask, first, beyond} = {1'b1, free_begins, 1'b1, 384'd0};
    logic unused;
    assign unused = ^{core_i, give_i, give_start_i, give_core_i, is_used, is_followed, first, beyond, is_last_chunk, chunk, start_i};
  end

  // -- the bits that change --
  wire wipes_now = (free_ok && state_q == Fast) || release_done;
  wire goes_on = state_q == Mark || state_q == Wipe;
  wire [AddrW-1:0] free_start = AddrW'(start_i);
  assign write = take || wipes_now || goes_on;
  assign write_sets = can_decide ? alloc_i : state_q == Mark;
  assign write_from = goes_on ? pos_q : alloc_i ? start_o : free_start;
  // As many slots as are left, or 64.
  wire [6:0] free_to = free_start[6:0] + wanted[6:0];
  wire [6:0] pos_to = pos_q[6:0] + left_q[6:0];
  always_comb begin
    if (goes_on) write_to = is_last_q ? pos_to : {!pos_q[6], pos_q[5:0]};
    else if (alloc_i) write_to = is_short ? past[6:0] : {!start_o[6], start_o[5:0]};
    else write_to = is_short ? free_to : {!free_start[6], free_start[5:0]};
  end
  // Where an RPC begins beside the walker at the first slot, for each place that it may begin at.
  wire [AddrW-7:0] low_at = low_q[AddrW-1:6];
  wire is_before_low = takes_first ? low_q != '0 : takes_found ? found_start < low_q : head_q < low_q;
  wire is_beside_low = takes_first ? low_at == '0 : takes_found ? found_start[AddrW-1:6] == low_at : head_q[AddrW-1:6] == low_at;

  assign tail_walks = rst_ni && (steps || state_q == Mark) && !(take && (takes_first || takes_found));
  // The walker at the first slot does not go over what is given out in this cycle: at most to the
  // end of its word.
  assign low_walks = rst_ni && steps && !(take && (is_before_low || is_beside_low));
  always_comb begin
    tail_else = tail_q;
    if (!rst_ni || (take && restarts)) tail_else = buffer_slots_i;
    else if (take && takes_first) tail_else = low_q;
    else if (take && takes_found) tail_else = found_end;
    low_else = low_q;
    if (!rst_ni) low_else = buffer_slots_i;
    else if (take && is_before_low) low_else = start_o;
  end

  always_ff @(posedge clk_i) begin
    tail_q        <= tail_d;
    low_q         <= low_d;
    taken_start_q <= start_o;
    freed_slots_q <= wanted;
    freed_all_q   <= used == wanted;
    taken_q       <= rst_ni && take;
    if (!rst_ni) begin
      state_q <= Clear;
      sweep_q <= '0;
      head_q  <= '0;
      used_q  <= '0;
      pos_q   <= '0;
      left_q  <= '0;
      is_last_q <= 1'b1;
      is_empty_q <= 1'b1;
      freed_q    <= 1'b0;
    end else begin
      if (take) head_q <= past;
      used_q     <= take ? used + wanted : used;
      is_empty_q <= !take && is_empty;
      freed_q    <= free_ok || release_done;

      // Long RPCs, 64 slots a cycle.
      unique case (state_q)
        Clear: begin
          sweep_q <= sweep_q + PairW'(1);
          if (sweep_q == PairW'(Pairs - 1)) state_q <= Fast;
        end
        Fast: begin
          pos_q  <= write_from + AddrW'(64);
          left_q <= wanted - AddrW'(64);
          is_last_q <= wanted <= AddrW'(128);
          if (take && !is_short) state_q <= Mark;
          else if (checks_on) state_q <= Check;
          else if ((release_done || (free_begins && !Safe)) && !is_short) state_q <= Wipe;
        end
        Check: begin
          pos_q  <= pos_q + AddrW'(64);
          left_q <= left_q - AddrW'(64);
          is_last_q <= left_q <= AddrW'(128);
          if (!checks_on) state_q <= free_ok ? Wipe : Fast;
          if (is_last_q) begin
            pos_q  <= free_start;
            left_q <= wanted;
            is_last_q <= 1'b0;
          end
        end
        Wipe, Mark: begin
          pos_q  <= pos_q + AddrW'(64);
          left_q <= left_q - AddrW'(64);
          is_last_q <= left_q <= AddrW'(128);
          if (is_last_q) state_q <= Fast;
        end
        default: state_q <= Clear;
      endcase
    end
  end
endmodule
