// Station 7, between groups: which waiting RPCs go to which other group? Thresholds by load, the
// queue lengths that the other groups have published, all of them ranked at once, the pattern that
// they make, and a FIFO of descriptors: how many RPCs go to which group. Source:
// core/nebula-nic/src/schedule/altocumulus/manager.rs, pattern.rs and thresholds.rs; Altocumulus.
module altocumulus_manager #(
    parameter int Groups = 16,
    parameter int Rows = 4,       // thresholds
    parameter int Descriptors = 16,  // a power of two, at least the concurrency
    localparam int GroupW = $clog2(Groups),
    localparam int RowW = $clog2(Rows),
    localparam int DescriptorW = $clog2(Descriptors)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    // The configuration; it does not change after reset.
    input  logic [15:0]       group_i,
    input  logic [15:0]       groups_i,          // at most Groups
    input  logic [31:0]       bulk_i,
    input  logic [15:0]       concurrency_i,     // at most Descriptors
    input  logic [31:0]       batch_i,           // bulk / concurrency
    input  logic [63:0]       window_i,          // picoseconds
    input  logic [31:0]       window_capacity_i,
    // Thresholds, a row a cycle; the rows behind the last repeat it.
    input  logic              row_write_i,
    input  logic [RowW-1:0]   row_i,
    input  logic [31:0]       load_permille_i,
    input  logic [31:0]       row_waiting_i,
    // A length that another group has published.
    input  logic              publish_i,
    input  logic [15:0]       from_i,
    input  logic [31:0]       length_i,
    // An RPC has arrived; held until done_o.
    input  logic              arrival_i,
    input  logic [63:0]       at_i,
    // The period has passed; held until done_o.
    input  logic              decide_i,
    input  logic [31:0]       waiting_i,         // in the queue of this group
    output logic              done_o,
    output logic [31:0]       threshold_o,
    output logic              migration_valid_o,
    output logic [15:0]       to_o,
    output logic [31:0]       count_o,
    input  logic              migration_ready_i
);
  typedef enum logic [1:0] {Idle, Share, Emit} state_e;
  state_e state_q;

  // -- the threshold at the estimated load --
  logic [31:0] row_load_q[Rows];
  logic [31:0] row_waiting_q[Rows];
  logic [31:0] threshold_q, threshold_d;
  logic arrival_done, closes, has_closed;
  logic [63:0] average;
  load_estimate i_load (
      .clk_i, .rst_ni, .window_i, .at_i, .arrival_i, .done_o(arrival_done), .closes_o(closes), .has_closed_o(has_closed),
      .average_o(average));
  wire [95:0] load = 96'(average) * 96'd1000;
  always_comb begin
    threshold_d = row_waiting_q[Rows-1];
    for (int i = Rows - 1; i >= 0; i--) begin
      if (load < (96'(row_load_q[i]) + 96'd1) * {48'd0, window_capacity_i, 16'd0}) threshold_d = row_waiting_q[i];
    end
  end
  assign threshold_o = threshold_q;
  logic unused;
  assign unused = ^{closes, from_i};

  // -- ranks: how many groups have a shorter queue, or as long a one and a lower number --
  logic [31:0] length_q[Groups];
  logic [31:0] length[Groups];
  logic [GroupW-1:0] rank[Groups];
  logic [GroupW-1:0] ranked[Groups];  // the group of each rank
  always_comb begin
    for (int i = 0; i < Groups; i++) begin
      length[i] = 16'(i) == group_i ? waiting_i : length_q[i];
      ranked[i] = '0;
    end
    for (int i = 0; i < Groups; i++) begin
      rank[i] = '0;
      for (int j = 0; j < Groups; j++) begin
        if (16'(j) < groups_i && (length[j] < length[i] || (length[j] == length[i] && j < i))) rank[i] += GroupW'(1);
      end
      if (16'(i) < groups_i) ranked[rank[i]] = GroupW'(i);
    end
  end

  // -- the pattern, and whom this group sends to --
  wire [GroupW-1:0] last = GroupW'(groups_i - 16'd1);
  wire [GroupW-1:0] own = GroupW'(group_i);
  wire [GroupW-1:0] place = last - rank[own];  // 0: the longest
  wire [31:0] longest = length[ranked[last]];
  wire [31:0] second_longest = length[ranked[last-GroupW'(1)]];
  wire [31:0] shortest = length[ranked[0]];
  wire [31:0] second_shortest = length[ranked[1]];
  wire is_hill = longest - second_longest >= bulk_i;
  wire is_valley = !is_hill && second_shortest - shortest >= bulk_i;
  wire is_pairing = !is_hill && !is_valley;
  wire [15:0] places = {{(16 - GroupW) {1'b0}}, last} < concurrency_i ? {{(16 - GroupW) {1'b0}}, last} : concurrency_i;
  wire sends_hill = is_hill && place == '0;
  wire sends_one = (is_valley && place < last) || (is_pairing && {1'b0, place} < (GroupW + 1)'(groups_i >> 1));
  wire [15:0] targets = sends_hill ? places : sends_one ? 16'd1 : 16'd0;
  wire [GroupW-1:0] first_target = is_pairing ? ranked[place] : ranked[0];

  // -- batches for each in turn, one a cycle --
  logic [GroupW-1:0] target_q[Descriptors];
  logic [31:0] there_q[Descriptors];
  logic [31:0] count_q[Descriptors];
  logic [DescriptorW:0] targets_q, turn_q;
  logic [31:0] left_q, source_q;
  logic is_worth_it_q;
  wire [DescriptorW-1:0] turn = DescriptorW'(turn_q);
  wire [31:0] batch = batch_i < left_q ? batch_i : left_q;
  wire [31:0] there = there_q[turn];
  wire sends = batch != '0 && source_q > there && source_q - there > batch_i;
  wire is_last_turn = turn_q + (DescriptorW + 1)'(1) == targets_q;
  wire shares_on = (is_worth_it_q || sends) && left_q != (sends ? batch : 32'd0);

  // -- the FIFO --
  logic [GroupW+31:0] fifo_q[Descriptors];
  logic [DescriptorW-1:0] front_q;
  logic [DescriptorW:0] len_q;
  assign migration_valid_o = len_q != '0;
  wire [GroupW+31:0] front = fifo_q[front_q];
  assign to_o = 16'(front[GroupW+31:32]);
  assign count_o = front[31:0];
  wire pushes = state_q == Emit && count_q[turn] != '0;
  wire pops = migration_valid_o && migration_ready_i;

  wire begins = decide_i && state_q == Idle && waiting_i > threshold_q && groups_i > 16'd1 && targets != '0;
  assign done_o = arrival_i ? arrival_done : decide_i && ((state_q == Idle && !begins) || (state_q == Emit && is_last_turn));

  always_ff @(posedge clk_i) begin
    if (row_write_i) begin
      row_load_q[row_i] <= load_permille_i;
      row_waiting_q[row_i] <= row_waiting_i;
    end
    if (publish_i) length_q[GroupW'(from_i)] <= length_i;
    if (pushes) fifo_q[front_q+DescriptorW'(len_q)] <= {target_q[turn], count_q[turn]};

    if (begins) begin
      for (int i = 0; i < Descriptors; i++) begin
        target_q[i] <= i == 0 ? first_target : ranked[i < Groups ? i : 0];
        there_q[i]  <= length[i == 0 ? first_target : ranked[i < Groups ? i : 0]];
        count_q[i]  <= '0;
      end
      targets_q <= (DescriptorW + 1)'(targets);
      left_q    <= waiting_i - threshold_q < bulk_i ? waiting_i - threshold_q : bulk_i;
      source_q  <= waiting_i;
    end else if (state_q == Share && sends) begin
      there_q[turn] <= there + batch;
      count_q[turn] <= count_q[turn] + batch;
      left_q        <= left_q - batch;
      source_q      <= source_q - batch;
    end

    if (!rst_ni) begin
      state_q <= Idle;
      turn_q <= '0;
      is_worth_it_q <= 1'b0;
      front_q <= '0;
      len_q <= '0;
      threshold_q <= '0;
    end else begin
      if (row_write_i && row_i == '0) threshold_q <= row_waiting_i;  // that of no load
      if (arrival_done && has_closed) threshold_q <= threshold_d;
      front_q <= front_q + DescriptorW'(pops);
      len_q <= len_q + (DescriptorW + 1)'(pushes) - (DescriptorW + 1)'(pops);
      unique case (state_q)
        Idle: if (begins) state_q <= Share;
        Share: begin
          turn_q <= is_last_turn ? '0 : turn_q + (DescriptorW + 1)'(1);
          is_worth_it_q <= !is_last_turn && (is_worth_it_q || sends);
          if (is_last_turn && !shares_on) state_q <= Emit;
        end
        Emit: begin
          turn_q <= is_last_turn ? '0 : turn_q + (DescriptorW + 1)'(1);
          if (is_last_turn) state_q <= Idle;
        end
        default: state_q <= Idle;
      endcase
    end
  end
endmodule
