// Station 4: where does the payload go?
// The slots of all RPCs: `head` and the free run before it, which the tail walker learns ahead of need, two words a cycle; and the
// search for room behind a slow RPC, one word an input, in the cycle after it and beside the other stations.
// Source: crates/nebula-nic/src/recv_buffer.rs and recv_buffer/scan.rs with `ScrubMode::Ahead`: the same slots for the same inputs.
// RPCs of 1 to 64 slots are decided about in one cycle; longer ones take one cycle more for each 64 slots.
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
  localparam int SlotW = $clog2(Slots);
  localparam int LeftW = $clog2((Slots + 63) / 64 + 2);

  typedef enum logic [2:0] {Clear, Fast, Check, Wipe, Mark, Walk} state_e;
  typedef enum logic [1:0] {ForLook, ForFound, ForBest} walk_e;
  typedef struct packed {
    logic [AddrW-1:0] start;
    logic [AddrW-1:0] slots;
  } run_t;

  state_e state_q;
  logic [PairW-1:0] sweep_q;
  logic [AddrW-1:0] head_q, tail_q, low_q, used_q;
  // The chunk of a long RPC that is marked, checked, wiped or walked over.
  logic [AddrW-1:0] pos_q, left_q;
  // The search.
  logic look_q;
  logic [LeftW-1:0] words_q;
  logic [WordW-1:0] word_q;
  run_t carry_q, best_q, found_q;
  // What a walk over a long run has found out, until the input or the look that asked is done.
  walk_e walk_q;
  logic look_known_q, look_free_q, found_known_q, found_free_q, best_known_q, best_free_q;

  // -- windows: two words from the one of interest on --
  localparam int WinFree = 0, WinTail = 1, WinLow = 2, WinFound = 3, WinBest = 4, WinCarry = 5;
  logic [6*WordW-1:0] word;
  logic [6*128-1:0] used;
  logic [WordW-1:0] scan_word;
  logic [63:0] scanned, late_follow;
  logic [WordW-1:0] follow_word;
  logic [127:0] follow;
  logic [AddrW-1:0] chunk, write_at;
  logic write;
  logic [127:0] set_used, set_follow, unset;
  bit_banks #(.Slots(Slots), .Windows(6), .Sentinel(1)) i_used (
      .clk_i, .slots_i((WordW + 6)'(buffer_slots_i)), .clear_i(state_q == Clear), .clear_pair_i(sweep_q), .word_i(word), .bits_o(used),
      .late_word_i(scan_word), .late_bits_o(scanned),
      .write_i(write), .write_word_i(WordW'(write_at >> 6)), .set_i(set_used), .unset_i(unset));
  bit_banks #(.Slots(Slots), .Windows(1)) i_follow (
      .clk_i, .slots_i((WordW + 6)'(buffer_slots_i)), .clear_i(state_q == Clear), .clear_pair_i(sweep_q), .word_i(follow_word), .bits_o(follow),
      .late_word_i(WordW'(0)), .late_bits_o(late_follow),
      .write_i(write), .write_word_i(WordW'(write_at >> 6)), .set_i(set_follow), .unset_i(unset));

  logic unused_bits;
  assign unused_bits = ^{late_follow, used[WinLow*128+64+:64]};

  // -- the tail walker, and the one of the run from the first slot on --
  logic tail_found, low_found;
  logic [6:0] tail_step;
  logic [5:0] low_step;
  lowest #(.Width(128)) i_tail (.bits_i(used[WinTail*128+:128] >> tail_q[5:0]), .any_o(tail_found), .index_o(tail_step));
  lowest #(.Width(64)) i_low (.bits_i(used[WinLow*128+:64] >> low_q[5:0]), .any_o(low_found), .index_o(low_step));
  wire [AddrW-1:0] tail_next = tail_found ? tail_q + AddrW'(tail_step) : {tail_q[AddrW-1:6] + (AddrW-6)'(2), 6'd0};
  wire [AddrW-1:0] low_next = low_found ? low_q + AddrW'(low_step) : {low_q[AddrW-1:6] + (AddrW-6)'(1), 6'd0};
  wire at_end = tail_next == buffer_slots_i;
  wire is_run_known = tail_found || at_end;
  wire is_low_known = low_found || low_next == buffer_slots_i;
  wire [AddrW-1:0] run = tail_next - head_q;

  // -- an RPC begins: at the head, at the first slot, or where the search has found room --
  wire [AddrW-1:0] wanted = AddrW'(slots_i);
  wire is_short = wanted <= AddrW'(64);
  wire restarts = first_when_empty_i && used_q == '0;
  wire fits = restarts || run >= wanted;
  wire wraps = !fits && at_end && low_next >= wanted;
  wire is_known = fits || wraps || (is_run_known && (!at_end || is_low_known));
  wire needs_skip = is_known && !fits && !wraps;

  // -- the look of the input before: is there a run for the longest RPC, and if not, one more word --
  wire [AddrW-1:0] longest = slots_per_rpc_max_i;
  wire look_fits = run >= longest || (is_run_known && at_end && low_next >= longest);
  wire look_known = look_fits || (is_run_known && (!at_end || is_low_known));
  wire found_long = found_q.slots >= longest;
  wire is_long_look = longest > AddrW'(64);
  function automatic logic [63:0] first_bits(input logic [AddrW-1:0] count);
    first_bits = count >= AddrW'(64) ? ~64'd0 : ~(~64'd0 << count[5:0]);
  endfunction
  wire [63:0] found_used = 64'(used[WinFound*128+:128] >> found_q.start[5:0]);
  wire [63:0] best_used = 64'(used[WinBest*128+:128] >> best_q.start[5:0]);
  wire [63:0] carry_used = 64'(used[WinCarry*128+:128] >> carry_q.start[5:0]);
  wire found_clear = is_long_look ? look_free_q : (found_used & first_bits(longest)) == '0;
  wire look_walks = look_known && !look_fits && found_long && is_long_look && !look_known_q;
  wire look_scans = look_known && !look_fits && !look_walks && !(found_long && found_clear);
  wire looks = look_q && state_q == Fast;
  wire look_ends = looks && look_known && !look_walks;
  wire scans = looks && look_scans;

  wire [LeftW-1:0] words = LeftW'((buffer_slots_i + AddrW'(63)) >> 6);
  wire is_new = words_q == '0;
  assign scan_word = !is_new ? word_q : at_end ? '0 : WordW'(tail_next >> 6);
  logic [6:0] within_start, within_slots, low_zeros, high_zeros;
  longest_run #(.Width(64)) i_longest (
      .used_i(scanned), .start_o(within_start), .slots_o(within_slots), .prefix_o(low_zeros), .suffix_o(high_zeros));
  wire [AddrW-1:0] scan_first = AddrW'({scan_word, 6'd0});
  wire is_carried = !is_new && carry_q.slots != '0;
  run_t carried, best_before, best_then, best_now, best_d, found_d, carry_d;
  assign carried.start = is_carried ? carry_q.start : scan_first;
  assign carried.slots = (is_carried ? carry_q.slots : '0) + AddrW'(low_zeros);
  assign best_before = is_new ? '0 : best_q;
  wire takes_carried = carried.slots > best_before.slots && best_before.slots < longest;
  assign best_then = takes_carried ? carried : best_before;
  wire takes_within = AddrW'(within_slots) > best_then.slots && best_then.slots < longest;
  assign best_now.start = takes_within ? scan_first + AddrW'(within_start) : best_then.start;
  assign best_now.slots = takes_within ? AddrW'(within_slots) : best_then.slots;
  wire [LeftW-1:0] words_left = (is_new ? words + LeftW'(1) : words_q) - LeftW'(1);
  wire scan_ends = best_now.slots >= longest || words_left == '0;
  wire is_last_word = LeftW'(scan_word) + LeftW'(1) >= words;
  always_comb begin
    carry_d = carried;  // a word without a used slot: the run goes on
    if (low_zeros[6] == 1'b0) begin
      carry_d.start = scan_first + AddrW'(64) - AddrW'(high_zeros);
      carry_d.slots = AddrW'(high_zeros);
    end
    if (is_last_word) carry_d.slots = '0;  // a run does not go on over the end
  end
  assign best_d = scans ? best_now : best_q;
  assign found_d = scans && scan_ends ? best_now : found_q;

  // -- what the search has found: is it free still? Its words are read beside those of the look, and not after them --
  wire [63:0] ones = first_bits(wanted);
  wire found_q_free = (found_used & ones) == '0;
  wire best_q_free = (best_used & ones) == '0;
  wire carried_free = !is_carried || (carry_used & ones) == '0;
  wire best_d_free = !scans || (!is_new && !takes_carried && !takes_within) ? best_q_free : takes_within || carried_free;
  wire found_d_free = scans && scan_ends ? best_d_free : found_q_free;
  wire found_fits = found_d.slots >= wanted && (is_short ? found_d_free : found_free_q);
  wire best_fits = best_d.slots >= wanted && (is_short ? best_d_free : best_free_q);
  wire walks_found = !is_short && found_q.slots >= wanted && !found_known_q;
  wire walks_best = !is_short && best_q.slots >= wanted && !best_known_q && !(found_known_q && found_free_q);

  wire can_decide = state_q == Fast && (!look_q || look_ends) && !(look_q && !is_short && needs_skip);
  wire skip_walks = needs_skip && (walks_found || walks_best);
  wire alloc_done = can_decide && alloc_i && is_known && !skip_walks;
  wire take = alloc_done && (fits || wraps || found_fits || best_fits);
  assign start_o = restarts || wraps ? '0 : fits ? head_q : found_fits ? found_d.start : best_d.start;

  // -- a free: exactly one RPC that this core holds --
  wire is_held;
  wire is_first_chunk = state_q != Check;
  wire [6:0] left = is_first_chunk ? slots_i[6:0] : left_q[6:0];
  wire is_last_chunk = is_first_chunk ? slots_i <= 32'd64 : left_q <= AddrW'(64);
  wire [5:0] bit0 = chunk[5:0];
  wire [6:0] count = is_last_chunk ? left : 7'd64;
  wire [127:0] mask = {64'd0, first_bits(AddrW'(count))} << bit0;
  wire [127:0] first = {127'd0, is_first_chunk} << bit0;
  wire [127:0] beyond = {127'd0, is_last_chunk} << (7'(bit0) + count);
  wire is_in_range = slots_i != '0 && start_i < 32'(buffer_slots_i) && slots_i <= 32'(buffer_slots_i) - start_i;
  wire is_chunk = ((~used[WinFree*128+:128] & mask) | ((follow & mask) ^ (mask & ~first))) == '0 && (follow & beyond) == '0;
  wire is_one_rpc = !Safe || (is_in_range && is_held && is_chunk);
  wire free_begins = can_decide && free_i;
  wire free_done = (free_begins && (!is_one_rpc || is_last_chunk || !Safe))
      || (state_q == Check && (!is_chunk || is_last_chunk));
  wire free_ok = free_done && (state_q == Check ? is_chunk : is_one_rpc);
  wire release_done = can_decide && release_i;

  assign done_o = alloc_done || free_done || release_done;
  assign ok_o = take || free_ok || release_done;
  assign ready_o = state_q != Clear;

  if (Safe) begin : g_holder
    // One writer each; given to a core where they differ.
    logic took_q[Slots];
    logic gave_q[Slots];
    logic [CoreW-1:0] holder_q[Slots];
    wire [SlotW-1:0] own = SlotW'(start_i);
    wire [SlotW-1:0] give_to = SlotW'(give_start_i);
    wire is_given_now = give_i && 32'(give_start_i) == start_i;
    wire is_given = took_q[own] ^ gave_q[own];
    assign is_held = (is_given_now || is_given) && 16'({is_given_now ? give_core_i : holder_q[own]}) == core_i;
    always_ff @(posedge clk_i) begin
      if (take) took_q[SlotW'(start_o)] <= gave_q[SlotW'(start_o)];  // the NIC has it
      if (give_i) begin
        gave_q[give_to]   <= !took_q[give_to];
        holder_q[give_to] <= give_core_i;
      end
    end
  end else begin : g_trusted
    logic unused;
    assign unused = ^{core_i, give_i, give_start_i, give_core_i};
    assign is_held = 1'b1;
  end

  // -- the bits that change --
  wire wipes_now = (free_ok && state_q == Fast) || release_done;
  wire goes_on = state_q == Mark || state_q == Wipe;
  wire [AddrW-1:0] write_left = goes_on ? left_q : AddrW'(slots_i);
  assign write_at = goes_on ? pos_q : take ? start_o : AddrW'(start_i);
  wire [127:0] write_mask = {64'd0, first_bits(write_left)} << write_at[5:0];
  wire [127:0] write_first = {127'd0, !goes_on} << write_at[5:0];
  assign write = take || wipes_now || goes_on;
  assign set_used = take || state_q == Mark ? write_mask : '0;
  assign set_follow = take || state_q == Mark ? write_mask & ~write_first : '0;
  assign unset = take || state_q == Mark ? '0 : write_mask;

  assign chunk = is_first_chunk ? AddrW'(start_i) : pos_q;
  wire [AddrW-1:0] walk_at = pos_q;
  always_comb begin
    word[WinFree*WordW+:WordW]  = WordW'(chunk >> 6);
    word[WinTail*WordW+:WordW]  = WordW'(tail_q >> 6);
    word[WinLow*WordW+:WordW]   = WordW'(low_q >> 6);
    word[WinFound*WordW+:WordW] = WordW'((state_q == Walk ? walk_at : found_q.start) >> 6);
    word[WinBest*WordW+:WordW]  = WordW'(best_q.start >> 6);
    word[WinCarry*WordW+:WordW] = WordW'(carry_q.start >> 6);
    follow_word = WordW'(chunk >> 6);
  end
  wire [63:0] walk_used = 64'(used[WinFound*128+:128] >> walk_at[5:0]);
  wire is_walk_free = (walk_used & first_bits(left_q)) == '0;
  wire is_walk_over = !is_walk_free || left_q <= AddrW'(64);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Clear;
      sweep_q <= '0;
      head_q  <= '0;
      tail_q  <= '0;
      low_q   <= '0;
      used_q  <= '0;
      pos_q   <= '0;
      left_q  <= '0;
      look_q  <= 1'b0;
      words_q <= '0;
      word_q  <= '0;
      carry_q <= '0;
      best_q  <= '0;
      found_q <= '0;
      walk_q  <= ForLook;
      {look_known_q, look_free_q, found_known_q, found_free_q, best_known_q, best_free_q} <= '0;
    end else begin
      // The walkers.
      if (state_q != Clear) begin
        tail_q <= tail_next;
        low_q  <= low_next;
      end
      if (take) begin
        head_q <= start_o + wanted;
        if (restarts) tail_q <= buffer_slots_i;
        else if (wraps) tail_q <= low_next;
        else if (!fits) tail_q <= start_o + wanted;
        if (start_o < low_next) low_q <= start_o;
      end
      used_q <= used_q + (take ? wanted : '0) - (free_ok || release_done ? AddrW'(slots_i) : '0);

      // The search.
      if (look_ends) begin
        look_q <= 1'b0;
        look_known_q <= 1'b0;
      end
      if (alloc_done || free_ok) look_q <= 1'b1;
      best_q  <= best_d;
      found_q <= found_d;
      if (scans) begin
        carry_q <= carry_d;
        word_q  <= is_last_word ? '0 : scan_word + WordW'(1);
        words_q <= scan_ends ? '0 : words_left;
      end
      if (done_o) {found_known_q, best_known_q} <= '0;

      // Long RPCs, 64 slots a cycle.
      unique case (state_q)
        Clear: begin
          sweep_q <= sweep_q + PairW'(1);
          if (sweep_q == PairW'(Pairs - 1)) state_q <= Fast;
        end
        Fast: begin
          if (looks && look_walks) begin
            state_q <= Walk;
            walk_q  <= ForLook;
            pos_q   <= found_q.start;
            left_q  <= longest;
          end else if (take && !is_short) begin
            state_q <= Mark;
            pos_q   <= start_o + AddrW'(64);
            left_q  <= wanted - AddrW'(64);
          end else if (can_decide && alloc_i && skip_walks) begin
            state_q <= Walk;
            walk_q  <= walks_found ? ForFound : ForBest;
            pos_q   <= walks_found ? found_q.start : best_q.start;
            left_q  <= wanted;
          end else if (free_begins && Safe && is_one_rpc && !is_last_chunk) begin
            state_q <= Check;
            pos_q   <= AddrW'(start_i) + AddrW'(64);
            left_q  <= AddrW'(slots_i) - AddrW'(64);
          end else if (wipes_now && slots_i > 32'd64) begin
            state_q <= Wipe;
            pos_q   <= AddrW'(start_i) + AddrW'(64);
            left_q  <= AddrW'(slots_i) - AddrW'(64);
          end
        end
        Check: begin
          pos_q  <= pos_q + AddrW'(64);
          left_q <= left_q - AddrW'(64);
          if (free_done) begin
            state_q <= free_ok ? Wipe : Fast;
            pos_q   <= AddrW'(start_i);
            left_q  <= AddrW'(slots_i);
          end
        end
        Wipe, Mark: begin
          pos_q  <= pos_q + AddrW'(64);
          left_q <= left_q - AddrW'(64);
          if (left_q <= AddrW'(64)) state_q <= Fast;
        end
        Walk: begin
          pos_q  <= pos_q + AddrW'(64);
          left_q <= left_q - AddrW'(64);
          if (is_walk_over) begin
            state_q <= Fast;
            unique case (walk_q)
              ForLook:  {look_known_q, look_free_q} <= {1'b1, is_walk_free};
              ForFound: {found_known_q, found_free_q} <= {1'b1, is_walk_free};
              default:  {best_known_q, best_free_q} <= {1'b1, is_walk_free};
            endcase
          end
        end
        default: state_q <= Clear;
      endcase
    end
  end
endmodule
