// Stations 3 to 7 and the freeing of station 10, joined in the order of the path. Two stages. An
// input is taken with `ready_o`: what it says by itself is worked out in that cycle. In the next
// one, or where it has to wait in a later one, it is decided about, with `decided_o`; what it makes
// possible is given to a core in the cycle after that, before the next input is decided about: the
// order in which a log is recorded. Source: core/nebula-nic/src/backend.rs and backend/join.rs, for
// one source, one tenant and one group, with `ScrubMode::Ahead`.
module backend #(
    parameter int Slots = 8640,
    parameter int Cores = 64,
    parameter int Places = 1024,    // of the arrival queue, a power of two
    parameter int Entries = 64,     // of the reassembler
    parameter int BoundMax = 2,     // the largest N of jbsq:N
    parameter bit PerCore = 1,      // policies with a queue a core
    parameter bit Reassembles = 1,  // RPCs of several packets
    parameter bit Safe = 1,         // a free is checked against exactly one RPC of that core
    localparam int CoreW = $clog2(Cores),
    localparam int KeyW = $clog2(Entries)
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    // The configuration; it does not change after reset.
    input  logic [2:0]  policy_i,
    input  logic [6:0]  bound_i,                  // RPCs that a core may have
    input  logic [15:0] cores_i,
    input  logic [31:0] buffer_slots_i,
    input  logic        first_when_empty_i,
    input  logic [31:0] mtu_i,
    input  logic [31:0] rpc_bytes_max_i,
    input  logic [15:0] reassembler_entries_i,
    input  logic [31:0] queue_bound_i,
    input  logic [31:0] queue_bound_max_i,
    input  logic [63:0] reassembly_timeout_i,     // picoseconds
    input  logic [63:0] seed_i,
    // An input, and the decision about it.
    input  logic        valid_i,
    input  logic [2:0]  op_i,
    input  logic [63:0] at_i,                     // picoseconds
    input  logic        is_request_i,
    input  logic [31:0] snid_i,
    input  logic [31:0] tid_i,
    input  logic [31:0] rpc_bytes_i,
    input  logic [31:0] pkt_idx_i,
    input  logic [31:0] packets_i,                // of an RPC of rpc_bytes_i: the parser's division
    input  logic [31:0] key_hash_i,
    input  logic [15:0] core_i,
    input  logic [31:0] start_i,
    input  logic [31:0] slots_i,
    input  logic [31:0] waiting_i,
    input  logic [CoreW-1:0] hashed_core_i,       // of a packet: the core of its sender or its key
    input  logic [KeyW-1:0] hashed_place_i,       // … and its place among refused RPCs: both from hash_ahead
    output logic        ready_o,                  // the input is taken
    output logic        decided_o,                // the one before is decided about, as follows
    output logic [1:0]  verdict_o,
    output logic [2:0]  reason_o,
    output logic [31:0] start_o,
    output logic [31:0] slots_o,
    output logic [31:0] offset_bytes_o,
    output logic [31:0] bytes_o,
    output logic        complete_o,
    // An RPC for a core.
    input  logic        dispatch_ready_i,
    output logic        dispatch_valid_o,
    output logic [15:0] dispatch_core_o,
    output logic [31:0] dispatch_snid_o,
    output logic [31:0] dispatch_tid_o,
    output logic [31:0] dispatch_start_o,
    output logic [31:0] dispatch_bytes_o,
    output logic [31:0] dispatch_key_hash_o,
    output logic [63:0] dispatch_arrived_o,
    // An RPC that is not complete in time, or whose sender is gone.
    input  logic        abandoned_ready_i,
    output logic        abandoned_valid_o,
    output logic [31:0] abandoned_snid_o,
    output logic [31:0] abandoned_tid_o,
    output logic [31:0] abandoned_start_o,
    output logic [31:0] abandoned_bytes_o,
    output logic        up_o                      // the first input may come
);
  localparam int AddrW = $clog2(Slots + 130) + 1;
  localparam int PlaceW = $clog2(Places);
  // At least 8 cycles: until cores are drawn.
  localparam int SweepW = CoreW > KeyW ? (CoreW > 3 ? CoreW : 3) : (KeyW > 3 ? KeyW : 3);
  typedef enum logic [2:0] {Packet, Free, Timeout, PeerGone, QueueBound, Pull} op_e;
  typedef enum logic [2:0] {Shared, BySender, BySenderStatic, RoundRobin, Random, ByKey, TwoChoices} policy_e;
  typedef enum logic [1:0] {Write, Nack, Drop} verdict_e;
  // NackReason and DropReason by their codes.
  localparam logic [2:0] BufferFull = 1, ReassemblerFull = 2, QueueFull = 3, TooLarge = 4;
  localparam logic [2:0] Duplicate = 1, SizeMismatch = 2, IndexOutOfRange = 3, NotARequest = 4, AlreadyNacked = 5;
  typedef struct packed {
    logic [31:0]      snid;
    logic [31:0]      tid;
    logic [AddrW-1:0] start;
    logic [31:0]      bytes;
    logic [31:0]      key_hash;
    logic [63:0]      arrived;
  } arrival_t;

  typedef struct packed {
    logic [63:0] at;
    logic        is_request;
    logic [31:0] snid;
    logic [31:0] tid;
    logic [31:0] rpc_bytes;
    logic [31:0] packets;
    logic [31:0] key_hash;
    logic [15:0] core;
    logic [31:0] start;
    logic [31:0] slots;        // that are freed, or that the RPC takes
    logic [31:0] waiting;
    logic [CoreW-1:0] hashed_core;
    logic [KeyW-1:0] hashed_place;
    logic [31:0] offset;       // of the packet in the RPC, in bytes
    logic [31:0] bytes;        // of the packet
    logic        is_part;      // of an RPC of several packets
    logic        is_too_large;
    logic        is_index_wrong;
  } input_t;

  // -- the first stage: what an input says by itself --
  function automatic logic [31:0] slots_of(input logic [31:0] bytes);
    slots_of = ((bytes == '0 ? 32'd0 : bytes - 32'd1) >> 6) + 32'd1;
  endfunction
  input_t input_d, input_q;
  logic is_packet, is_free, is_timeout, is_peer_gone, is_queue_bound, is_pull, decides;
  wire is_busy = is_packet || is_free || is_timeout || is_peer_gone || is_queue_bound || is_pull;
  assign ready_o = up_o && (!is_busy || decides);
  assign decided_o = decides;
  wire [31:0] one_packet_max = mtu_i < rpc_bytes_max_i ? mtu_i : rpc_bytes_max_i;
  wire is_part = rpc_bytes_i > one_packet_max;
  wire [31:0] offset = Reassembles ? pkt_idx_i * mtu_i : '0;
  wire [31:0] bytes_left = rpc_bytes_i - offset;
  assign input_d.at = at_i;
  assign input_d.is_request = is_request_i;
  assign input_d.snid = snid_i;
  assign input_d.tid = tid_i;
  assign input_d.rpc_bytes = rpc_bytes_i;
  assign input_d.packets = packets_i;
  assign input_d.key_hash = key_hash_i;
  assign input_d.core = core_i;
  assign input_d.start = start_i;
  assign input_d.slots = op_i == Free ? slots_i : slots_of(rpc_bytes_i);
  assign input_d.waiting = waiting_i;
  assign input_d.hashed_core = hashed_core_i;
  assign input_d.hashed_place = hashed_place_i;
  assign input_d.offset = offset;
  assign input_d.bytes = bytes_left < mtu_i ? bytes_left : mtu_i;
  assign input_d.is_part = is_part;
  assign input_d.is_too_large = is_part && rpc_bytes_i > rpc_bytes_max_i;
  assign input_d.is_index_wrong = pkt_idx_i >= (is_part ? packets_i : 32'd1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {is_packet, is_free, is_timeout, is_peer_gone, is_queue_bound, is_pull} <= '0;
    else if (ready_o) begin
      is_packet      <= valid_i && op_i == Packet;
      is_free        <= valid_i && op_i == Free;
      is_timeout     <= valid_i && op_i == Timeout;
      is_peer_gone   <= valid_i && op_i == PeerGone;
      is_queue_bound <= valid_i && op_i == QueueBound;
      is_pull        <= valid_i && op_i == Pull;
    end
    if (ready_o) input_q <= input_d;
  end

  // -- before the first input: the counters of all cores, the places of the memory of refused RPCs
  // --
  logic sweeps_q;
  logic [SweepW-1:0] sweep_q;
  logic buffer_ready;
  always_ff @(posedge clk_i) begin
    sweep_q  <= !rst_ni ? '0 : sweep_q + SweepW'(1);
    sweeps_q <= !rst_ni || (sweeps_q && ~&sweep_q);
  end
  assign up_o = buffer_ready && !sweeps_q && rst_ni;

  // -- station 5: an RPC of several packets --
  logic full, hit, mismatch, duplicate, last, reassembler_busy, ended, release_valid, released, recalled, forgot;
  logic [AddrW-1:0] part_start, release_start, buffer_start, abandoned_start;
  logic [31:0] part_key_hash, release_bytes;
  logic [CoreW-1:0] part_core, placed_core;
  logic takes_part, begins_part;
  logic forgot_q, walked_q;
  if (Reassembles) begin : g_reassembler
    reassembler #(.Entries(Entries), .Slots(Slots), .Cores(Cores)) i_reassembler (
        .clk_i, .rst_ni, .entries_i(reassembler_entries_i), .timeout_i(reassembly_timeout_i), .at_i(input_q.at), .snid_i(input_q.snid), .tid_i(input_q.tid),
        .rpc_bytes_i(input_q.rpc_bytes), .offset_i(input_q.offset), .packets_i(input_q.packets), .key_hash_i(input_q.key_hash), .full_o(full), .hit_o(hit), .mismatch_o(mismatch),
        .duplicate_o(duplicate), .last_o(last), .start_o(part_start), .key_hash_o(part_key_hash), .core_o(part_core),
        .take_i(takes_part), .begin_i(begins_part), .start_i(buffer_start), .core_i(placed_core), .busy_o(reassembler_busy),
        .expire_i(is_timeout), .peer_gone_i(is_peer_gone && !walked_q), .ended_o(ended), .release_o(release_valid),
        .release_start_o(release_start), .release_bytes_o(release_bytes), .released_i(released),
        .abandoned_valid_o, .abandoned_snid_o, .abandoned_tid_o, .abandoned_start_o(abandoned_start), .abandoned_bytes_o,
        .abandoned_ready_i);
    localparam int Keys = 1 << KeyW;
    // The software's array has as many places as entries, rounded up to a power of two.
    wire [KeyW:0] above = reassembler_entries_i == '0 ? '0 : {1'b0, KeyW'(reassembler_entries_i - 16'd1)};
    logic [KeyW-1:0] mask;
    always_comb begin
      mask = '0;
      for (int i = 0; i < KeyW; i++) mask[i] = (above >> i) != '0;
    end
    nack #(.Keys(Keys)) i_nack (
        .clk_i, .clear_i(sweeps_q), .clear_at_i(KeyW'(sweep_q)), .mask_i(mask), .lifetime_i(reassembly_timeout_i),
        .at_i(input_q.at), .snid_i(input_q.snid), .tid_i(input_q.tid), .hash_i(input_q.hashed_place), .packets_left_i(input_q.packets - 32'd1),
        .remember_i(decides && is_packet && input_q.is_part && verdict_o == Nack), .recalled_o(recalled),
        .recall_i(decides && is_packet && verdict_o == Drop && reason_o == AlreadyNacked),
        .forget_i(is_peer_gone && !forgot_q), .done_o(forgot));
    always_ff @(posedge clk_i) begin
      forgot_q <= rst_ni && is_peer_gone && !decides && (forgot || forgot_q);
      walked_q <= rst_ni && is_peer_gone && !decides && ((ended && !walked_q) || walked_q);
    end
  end else begin : g_one_packet
    assign {full, hit, mismatch, duplicate, last, reassembler_busy, release_valid, recalled} = 8'b1000_0000;
    assign {ended, forgot, forgot_q, walked_q} = '1;
    assign {part_start, release_start, abandoned_start, part_key_hash, release_bytes, part_core} = '0;
    assign {abandoned_valid_o, abandoned_snid_o, abandoned_tid_o, abandoned_bytes_o} = '0;
    logic unused;
    assign unused = ^{is_timeout, is_peer_gone, reassembly_timeout_i, reassembler_entries_i, abandoned_ready_i, takes_part, begins_part, released, sweep_q};
  end
  assign abandoned_start_o = 32'(abandoned_start);
  logic unused_slots;
  assign unused_slots = ^buffer_slots_i[31:AddrW];

  // What a packet is, before there is a look at the slots.
  wire hits = input_q.is_part && hit;
  logic [2:0] drop_reason;
  always_comb begin
    drop_reason = '0;
    if (!input_q.is_request) drop_reason = NotARequest;
    else if (hits && mismatch) drop_reason = SizeMismatch;
    else if (input_q.is_index_wrong) drop_reason = IndexOutOfRange;
    else if (hits && duplicate) drop_reason = Duplicate;
    else if (input_q.is_part && !hit && recalled) drop_reason = AlreadyNacked;
  end
  wire is_dropped = drop_reason != '0;
  wire begins = is_packet && !is_dropped && !hits;
  wire is_unmatched = input_q.is_part && full;
  wire is_placed = begins && !input_q.is_too_large && !is_unmatched;

  // -- station 6: what waits, and what is given to a core in this cycle: before the input of this
  // cycle is decided about --
  wire per_core = PerCore && policy_i != Shared;
  logic [CoreW-1:0] queue_core, pick, first_core, second_core;
  logic any_waiting, can_pick, has_pull_credit, withholds, is_freed;
  wire pulls = is_pull && up_o && any_waiting && !per_core && has_pull_credit;
  wire gives = dispatch_ready_i && up_o && !is_pull && any_waiting && (per_core || can_pick);
  wire [CoreW-1:0] dispatch_core = is_pull ? CoreW'(input_q.core) : per_core ? queue_core : pick;
  assign dispatch_valid_o = gives || pulls;
  assign dispatch_core_o = 16'(dispatch_core);
  arrival_t head, joining;
  logic [PlaceW:0] waiting_shared, first_waiting, second_waiting;
  arrival_queue #(.Places(Places), .Cores(Cores), .EntryW($bits(joining)), .PerCore(PerCore)) i_queue (
      .clk_i, .rst_ni, .clear_i(sweeps_q), .clear_core_i(CoreW'(sweep_q)), .per_core_i(per_core),
      .push_i(is_packet && decides && complete_o), .push_core_i(hits ? part_core : placed_core), .push_entry_i(joining),
      .any_o(any_waiting), .core_o(queue_core), .entry_o(head), .pop_i(dispatch_valid_o), .withhold_i(withholds),
      .grant_i(is_freed), .grant_core_i(CoreW'(input_q.core)), .waiting_o(waiting_shared), .first_i(first_core),
      .second_i(second_core), .first_o(first_waiting), .second_o(second_waiting));
  assign joining.snid = input_q.snid;
  assign joining.tid = input_q.tid;
  assign joining.start = hits ? part_start : buffer_start;
  assign joining.bytes = input_q.rpc_bytes;
  assign joining.key_hash = hits ? part_key_hash : input_q.key_hash;
  assign joining.arrived = input_q.at;
  assign dispatch_snid_o = head.snid;
  assign dispatch_tid_o = head.tid;
  assign dispatch_start_o = 32'(head.start);
  assign dispatch_bytes_o = head.bytes;
  assign dispatch_key_hash_o = head.key_hash;
  assign dispatch_arrived_o = head.arrived;

  // -- station 7: the core that takes the head; or, before station 3, the core that an RPC will
  // wait for --
  jbsq #(.Cores(Cores), .BoundMax(BoundMax)) i_jbsq (
      .clk_i, .rst_ni, .cores_i, .bound_i, .any_o(can_pick), .pick_o(pick), .take_i(dispatch_valid_o && !per_core),
      .take_core_i(dispatch_core), .freed_i(is_freed && !per_core), .freed_core_i(CoreW'(input_q.core)));
  logic [31:0] waiting_at;
  logic is_given_there;
  if (PerCore) begin : g_per_core
    logic [CoreW-1:0] turn, drawn;
    logic [6:0] first_credit, second_credit, give_credit;
    wire takes_place = is_placed && decides;
    round_robin #(.Cores(Cores)) i_round_robin (
        .clk_i, .rst_ni, .cores_i, .core_o(turn), .take_i(takes_place && policy_i == RoundRobin));
    draw #(.Cores(Cores)) i_draw (
        .clk_i, .rst_ni, .cores_i, .seed_i, .first_o(drawn), .second_o(second_core),
        .take_one_i(takes_place && policy_i == Random), .take_two_i(takes_place && policy_i == TwoChoices));
    credit #(.Cores(Cores)) i_credit (
        .clk_i, .clear_i(sweeps_q), .clear_core_i(CoreW'(sweep_q)), .first_i(first_core), .second_i(second_core),
        .give_core_i(dispatch_core), .first_o(first_credit), .second_o(second_credit), .give_o(give_credit),
        .give_i(dispatch_valid_o), .freed_i(is_freed), .freed_core_i(CoreW'(input_q.core)));
    always_comb begin
      unique case (policy_i)
        BySenderStatic:     first_core = CoreW'(input_q.snid % 32'(cores_i));
        RoundRobin:         first_core = turn;
        Random, TwoChoices: first_core = drawn;
        default:            first_core = input_q.hashed_core;
      endcase
    end
    // What is given to a core in this cycle goes from its queue to its outstanding ones: the load
    // is the same before and after.
    wire [31:0] first_load = 32'(first_waiting) + 32'(first_credit);
    wire [31:0] second_load = 32'(second_waiting) + 32'(second_credit);
    wire takes_second = policy_i == TwoChoices && second_load < first_load;
    assign placed_core = takes_second ? second_core : first_core;
    wire [31:0] waiting_placed = 32'({takes_second ? second_waiting : first_waiting});
    assign waiting_at = per_core ? waiting_placed : 32'(waiting_shared);
    assign is_given_there = dispatch_valid_o && (!per_core || dispatch_core == placed_core);
    assign has_pull_credit = input_q.core < cores_i && give_credit < bound_i;
    assign withholds = give_credit + 7'd1 >= bound_i;
  end else begin : g_shared
    assign {placed_core, first_core, second_core, has_pull_credit, withholds} = '0;
    assign waiting_at = 32'(waiting_shared);
    assign is_given_there = dispatch_valid_o;
    logic unused;
    assign unused = ^{policy_i, seed_i, first_waiting, second_waiting, queue_core};
  end

  // -- station 3 --
  logic refused, admission_busy;
  admission i_admission (
      .clk_i, .rst_ni, .cores_i, .queue_bound_i, .queue_bound_max_i, .set_bound_i(is_queue_bound && decides), .waiting_i(input_q.waiting),
      .is_shared_i(!per_core), .waiting_at_i(waiting_at), .given_i(is_given_there), .refused_o(refused), .busy_o(admission_busy));

  // -- station 4, and the freeing of station 10 --
  logic done, ok;
  wire may_start = up_o && !reassembler_busy && !(per_core && admission_busy);
  wire allocates = may_start && is_placed && !refused;
  recv_buffer #(.Slots(Slots), .Cores(Cores), .Safe(Safe)) i_buffer (
      .clk_i, .rst_ni, .buffer_slots_i(AddrW'(buffer_slots_i)), .first_when_empty_i,
      .slots_per_rpc_max_i(AddrW'(slots_of(rpc_bytes_max_i))), .alloc_i(allocates), .free_i(may_start && is_free),
      .release_i(may_start && release_valid), .start_i(release_valid ? 32'(release_start) : input_q.start),
      .slots_i(release_valid ? slots_of(release_bytes) : input_q.slots), .core_i(input_q.core),
      .done_o(done), .ok_o(ok), .start_o(buffer_start), .give_i(dispatch_valid_o), .give_start_i(head.start),
      .give_core_i(dispatch_core), .ready_o(buffer_ready));
  assign is_freed = may_start && is_free && done && ok;
  assign released = may_start && release_valid && done;
  assign takes_part = may_start && is_packet && hits && !is_dropped;
  assign begins_part = allocates && input_q.is_part && done && ok;

  // -- the decision --
  always_comb begin
    decides = may_start && is_busy;
    verdict_o = Write;
    reason_o = '0;
    complete_o = 1'b0;
    unique case (1'b1)
      is_packet: begin
        if (is_dropped) {verdict_o, reason_o} = {Drop, drop_reason};
        else if (hits) complete_o = last;
        else if (input_q.is_too_large) {verdict_o, reason_o} = {Nack, TooLarge};
        else if (is_unmatched) {verdict_o, reason_o} = {Nack, ReassemblerFull};
        else if (refused) {verdict_o, reason_o} = {Nack, QueueFull};
        else begin
          decides = may_start && done;
          complete_o = ok && !input_q.is_part;
          if (!ok) {verdict_o, reason_o} = {Nack, BufferFull};
        end
      end
      is_free: begin
        decides = may_start && done;
        if (!ok) verdict_o = Nack;
      end
      is_timeout:   decides = may_start && ended;
      is_peer_gone: decides = may_start && (ended || walked_q) && (forgot || forgot_q);
      is_pull:      if (!pulls) verdict_o = Nack;
      default:      verdict_o = Write;
    endcase
  end
  assign start_o = 32'({hits ? part_start : buffer_start});
  assign slots_o = input_q.slots;
  assign offset_bytes_o = input_q.offset;
  assign bytes_o = input_q.bytes;
endmodule
