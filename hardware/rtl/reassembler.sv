// Station 5: which RPC does this packet belong to? A CAM of (source node, transfer id), a bit a
// packet that has arrived, and the entries by age: those whose packets stop coming are abandoned,
// one a cycle. An abandoned entry is taken again when it has been reported. Source:
// core/nebula-nic/src/reassembler.rs, without a limit for each peer.
module reassembler #(
    parameter int Entries = 64,
    parameter int Slots = 8640,
    parameter int Cores = 64,
    localparam int AddrW = $clog2(Slots + 130) + 1,
    localparam int CoreW = $clog2(Cores)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [15:0]      entries_i,       // in use, at most Entries
    input  logic [63:0]      timeout_i,       // picoseconds
    // A packet of an RPC of several.
    input  logic [63:0]      at_i,
    input  logic [31:0]      snid_i,
    input  logic [31:0]      tid_i,
    input  logic [31:0]      rpc_bytes_i,
    input  logic [31:0]      offset_i,        // of the packet in the RPC, in bytes
    input  logic [31:0]      packets_i,       // of an RPC of rpc_bytes_i
    input  logic [31:0]      key_hash_i,
    output logic             full_o,
    output logic             hit_o,           // the RPC has an entry
    output logic             mismatch_o,      // … of another size
    output logic             duplicate_o,     // … and this packet has come before
    output logic             last_o,          // … and only this packet was missing
    output logic [AddrW-1:0] start_o,         // what the entry says
    output logic [31:0]      key_hash_o,
    output logic [CoreW-1:0] core_o,
    input  logic             take_i,          // the packet is taken
    input  logic             begin_i,         // or it begins an RPC,
    input  logic [AddrW-1:0] start_i,         // whose slots begin there
    input  logic [CoreW-1:0] core_i,          // and which waits for that core
    output logic             busy_o,          // bits of a long RPC are being cleared
    // Ends: one RPC a cycle is released to the receive buffer, and reported later.
    input  logic             expire_i,        // held until ended_o: what is older than the timeout
    input  logic             peer_gone_i,     // held until ended_o: what is of snid_i
    output logic             ended_o,
    output logic             release_o,
    output logic [AddrW-1:0] release_start_o,
    output logic [31:0]      release_bytes_o,
    input  logic             released_i,
    output logic             abandoned_valid_o,
    output logic [31:0]      abandoned_snid_o,
    output logic [31:0]      abandoned_tid_o,
    output logic [AddrW-1:0] abandoned_start_o,
    output logic [31:0]      abandoned_bytes_o,
    input  logic             abandoned_ready_i
);
  localparam int EntryW = $clog2(Entries);
  localparam int Padded = 1 << EntryW;
  localparam int WordW = $clog2(Slots / 128 + 2) + 1;
  logic [31:0] snid_q[Entries];
  logic [31:0] tid_q[Entries];
  logic [AddrW-1:0] start_q[Entries];
  logic [31:0] bytes_q[Entries];
  logic [31:0] key_hash_q[Entries];
  logic [CoreW-1:0] core_q[Entries];
  logic [63:0] since_q[Entries];
  logic [AddrW:0] left_q[Entries];
  logic [EntryW-1:0] older_q[Entries];
  logic [EntryW-1:0] newer_q[Entries];
  logic [EntryW-1:0] report_q[Padded];
  logic [Entries-1:0] live_q, busy_q;
  logic [EntryW-1:0] oldest_q, newest_q, report_front_q, walk_q;
  logic [EntryW:0] reports_q;
  logic walks_q;

  // -- the CAM --
  // It has its own copy of the keys: `snid_q` and `tid_q` are read by index.
  logic [Entries-1:0] same;
  wire [Entries-1:0] writes = Entries'(begin_i) << free_at;
  cam #(.Entries(Entries), .KeyW(64)) i_cam (.clk_i, .key_i({snid_i, tid_i}), .write_i(writes), .match_o(same));
  wire [Entries-1:0] usable = ~(~Entries'(0) << entries_i);
  logic [EntryW-1:0] at, free_at;
  logic any_free;
  lowest #(.Width(Padded)) i_match (.bits_i(Padded'(live_q & same)), .any_o(hit_o), .index_o(at));
  lowest #(.Width(Padded)) i_free (.bits_i(Padded'(~busy_q & usable)), .any_o(any_free), .index_o(free_at));
  assign full_o = !any_free;
  wire [AddrW-1:0] start = start_q[at];
  wire [AddrW:0] left = left_q[at];
  assign mismatch_o = rpc_bytes_i != bytes_q[at];
  assign last_o = left == (AddrW + 1)'(1);
  assign start_o = start;
  assign key_hash_o = key_hash_q[at];
  assign core_o = core_q[at];

  // -- the bits of the packets --
  logic clears_q;
  logic [AddrW-1:0] clear_slot_q, clear_left_q;
  logic [WordW+6:0] half_q;
  wire [WordW+6:0] half = (WordW + 7)'({start, 1'b0}) + (WordW + 7)'(offset_i >> 5);
  wire [WordW+6:0] set_half = clears_q ? half_q : begin_i ? (WordW + 7)'({start_i, 1'b0}) + (WordW + 7)'(offset_i >> 5) : half;
  wire [AddrW-1:0] rpc_slots = AddrW'((rpc_bytes_i == '0 ? 32'd0 : rpc_bytes_i - 32'd1) >> 6) + AddrW'(1);
  wire [AddrW-1:0] clear_left = clears_q ? clear_left_q : rpc_slots;
  wire [AddrW-1:0] clear_slot = clears_q ? clear_slot_q : start_i;
  arrived #(.Slots(Slots)) i_arrived (
      .clk_i, .half_i(half), .has_o(duplicate_o), .set_half_i(set_half), .set_i(take_i || begin_i || clears_q), .clear_i(begin_i || clears_q),
      .clear_slot_i((WordW + 6)'(clear_slot)), .clear_slots_i(clear_left >= AddrW'(64) ? 7'd64 : clear_left[6:0]));
  assign busy_o = clears_q;

  // -- ends --
  wire [64:0] due_sum = 65'(since_q[oldest_q]) + 65'(timeout_i);
  wire is_due = live_q != '0 && (due_sum[64] ? &at_i : due_sum[63:0] <= at_i);
  wire is_of_peer = snid_q[walk_q] == snid_i;
  wire walks = peer_gone_i && walks_q;
  assign release_o = (expire_i && is_due) || (walks && is_of_peer);
  assign ended_o = expire_i ? !is_due : walks_q ? walk_q == newest_q && (!is_of_peer || released_i) : live_q == '0;
  wire [EntryW-1:0] ends = expire_i ? oldest_q : walk_q;
  assign release_start_o = start_q[ends];
  assign release_bytes_o = bytes_q[ends];

  wire [EntryW-1:0] report = report_q[report_front_q];
  assign abandoned_valid_o = reports_q != '0;
  assign abandoned_snid_o = snid_q[report];
  assign abandoned_tid_o = tid_q[report];
  assign abandoned_start_o = start_q[report];
  assign abandoned_bytes_o = bytes_q[report];
  wire reports = abandoned_valid_o && abandoned_ready_i;

  // -- an entry leaves the list by age --
  wire abandons = release_o && released_i;
  wire completes = take_i && last_o;
  wire [EntryW-1:0] leaves = abandons ? ends : at;
  wire any_leaves = abandons || completes;
  wire [EntryW-1:0] its_older = older_q[leaves];
  wire [EntryW-1:0] its_newer = newer_q[leaves];
  always_ff @(posedge clk_i) begin
    if (any_leaves) begin
      if (leaves != oldest_q) newer_q[its_older] <= its_newer;
      if (leaves != newest_q) older_q[its_newer] <= its_older;
    end else if (begin_i) begin
      older_q[free_at]  <= newest_q;
      newer_q[newest_q] <= free_at;
    end
    if (begin_i) begin
      snid_q[free_at]  <= snid_i;
      tid_q[free_at]   <= tid_i;
      start_q[free_at] <= start_i;
      bytes_q[free_at] <= rpc_bytes_i;
      key_hash_q[free_at] <= key_hash_i;
      core_q[free_at]  <= core_i;
      since_q[free_at] <= at_i;
      left_q[free_at]  <= (AddrW + 1)'(packets_i - 32'd1);
    end else if (take_i) begin
      left_q[at] <= left - (AddrW + 1)'(1);
    end
    if (abandons) report_q[report_front_q + EntryW'(reports_q)] <= ends;

    if (!rst_ni) begin
      live_q <= '0;
      busy_q <= '0;
      oldest_q <= '0;
      newest_q <= '0;
      report_front_q <= '0;
      reports_q <= '0;
      walk_q <= '0;
      walks_q <= 1'b0;
      clears_q <= 1'b0;
      clear_slot_q <= '0;
      clear_left_q <= '0;
      half_q <= '0;
    end else begin
      if (any_leaves) begin
        live_q[leaves] <= 1'b0;
        if (completes) busy_q[leaves] <= 1'b0;
        if (leaves == oldest_q) oldest_q <= its_newer;
        if (leaves == newest_q) newest_q <= its_older;
      end
      if (begin_i) begin
        live_q[free_at] <= 1'b1;
        busy_q[free_at] <= 1'b1;
        newest_q <= free_at;
        if (live_q == '0) oldest_q <= free_at;
      end
      if (reports) begin
        busy_q[report] <= 1'b0;
        report_front_q <= report_front_q + EntryW'(1);
      end
      reports_q <= reports_q + (EntryW + 1)'(abandons) - (EntryW + 1)'(reports);

      // From the oldest to the newest, whichever of them goes on the way.
      if (peer_gone_i && !walks_q && live_q != '0) begin
        walks_q <= 1'b1;
        walk_q  <= oldest_q;
      end else if (walks && (!is_of_peer || released_i)) begin
        walk_q  <= newer_q[walk_q];
        walks_q <= walk_q != newest_q;
      end

      clears_q <= (begin_i || clears_q) && clear_left > AddrW'(64);
      clear_slot_q <= clear_slot + AddrW'(64);
      clear_left_q <= clear_left - AddrW'(64);
      half_q <= set_half;
    end
  end
endmodule
