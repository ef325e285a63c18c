// Station 5, too: has this RPC been refused already? The keys of refused RPCs of which more packets
// come, in a direct-mapped array: their other packets are dropped and do not begin the RPC again.
// The place of a key is its hash, `mix`, which is worked out before. Source:
// core/nebula-nic/src/nack_memory.rs.
module nack #(
    parameter int Keys = 64,  // a power of two
    localparam int KeyW = $clog2(Keys)
) (
    input  logic        clk_i,
    input  logic        clear_i,         // the place of clear_at_i: all, before the first input
    input  logic [KeyW-1:0] clear_at_i,
    input  logic [KeyW-1:0] mask_i,      // places in use, minus one
    input  logic [63:0] lifetime_i,      // picoseconds
    input  logic [63:0] at_i,
    input  logic [31:0] snid_i,
    input  logic [31:0] tid_i,
    input  logic [KeyW-1:0] hash_i,      // of both
    input  logic [31:0] packets_left_i,  // of an RPC that is remembered
    input  logic        remember_i,
    output logic        recalled_o,      // this packet is of a refused RPC
    input  logic        recall_i,        // one packet fewer is expected
    input  logic        forget_i,        // held until done_o: forgets the RPCs of snid_i, one place a cycle
    output logic        done_o
);
  logic [63:0] key_q[Keys];
  logic [63:0] until_q[Keys];
  logic [31:0] left_q[Keys];
  logic [KeyW-1:0] forget_q;
  wire [KeyW-1:0] place = hash_i & mask_i;
  assign recalled_o = left_q[place] != '0 && key_q[place] == {snid_i, tid_i} && until_q[place] > at_i;
  assign done_o = forget_q == KeyW'(Keys - 1);
  wire [64:0] until_sum = 65'(at_i) + 65'(lifetime_i);
  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      left_q[clear_at_i] <= '0;
      forget_q <= '0;
    end else if (forget_i) begin
      if (key_q[forget_q][63:32] == snid_i) left_q[forget_q] <= '0;
      forget_q <= done_o ? '0 : forget_q + KeyW'(1);
    end else if (remember_i && packets_left_i != '0) begin
      key_q[place]   <= {snid_i, tid_i};
      until_q[place] <= until_sum[64] ? ~64'd0 : until_sum[63:0];
      left_q[place]  <= packets_left_i;
    end else if (recall_i) begin
      left_q[place] <= left_q[place] - 32'd1;
    end
  end
endmodule
