// Before station 3: what of an input is hashed. An input waits in a ring for its hashes, the core
// that `rss` or `key-hash` gives it and the place of its RPC among those that were refused: five
// cycles, one input a cycle, so that no decision waits for a product. Source: `mix` and `reduce` of
// core/nebula-nic/src/hash.rs, where dispatch/rss.rs, dispatch/key_hash.rs and nack_memory.rs call
// them.
module hash_ahead #(
    parameter int Cores = 64,
    parameter int Keys = 64,     // of the memory of refused RPCs, a power of two
    parameter int InputW = 372,
    localparam int CoreW = $clog2(Cores),
    localparam int KeyW = $clog2(Keys)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [15:0]       cores_i,    // at most Cores
    input  logic              by_key_i,
    input  logic [63:0]       seed_i,
    // An input, and what of it is hashed.
    input  logic              valid_i,
    input  logic [InputW-1:0] input_i,
    input  logic [31:0]       snid_i,
    input  logic [31:0]       tid_i,
    input  logic [31:0]       key_hash_i,
    output logic              ready_o,
    // The one that has waited longest, with its hashes.
    output logic              valid_o,
    output logic [InputW-1:0] input_o,
    output logic [CoreW-1:0]  core_o,
    output logic [KeyW-1:0]   place_o,
    input  logic              ready_i
);
  localparam int PlaceW = 3;
  localparam int Places = 1 << PlaceW;
  localparam int Stages = 4;         // of `mix`
  // Inputs here at once: those of the five cycles, and one that comes before it is known that the
  // first has left. More of them would only wait longer.
  localparam int Most = Stages + 2;

  logic [63:0] mixed;
  logic [CoreW-1:0] core;
  rss #(.Cores(Cores)) i_rss (.clk_i, .cores_i, .by_key_i, .seed_i, .snid_i, .key_hash_i, .core_o(core));
  mix i_mix (.clk_i, .key_i({snid_i, tid_i} ^ seed_i), .mixed_o(mixed));
  logic unused;
  assign unused = ^mixed[63:KeyW];

  logic [InputW-1:0] input_q[Places];
  logic [CoreW-1:0] core_q[Places];
  logic [KeyW-1:0] place_q[Places];
  logic [PlaceW-1:0] back_q, hashed_q, front_q;  // where the next is written, where the next hashes are, and which is given on next
  logic [PlaceW:0] len_q, hashed_len_q;          // inputs here, and those whose hashes are there
  logic [Stages-1:0] stages_q;                   // which stages have an input
  assign ready_o = len_q < (PlaceW + 1)'(Most);
  assign valid_o = hashed_len_q != '0;
  assign input_o = input_q[front_q];
  assign core_o = core_q[front_q];
  assign place_o = place_q[front_q];
  wire joins = valid_i && ready_o;
  wire leaves = valid_o && ready_i;
  wire is_hashed = stages_q[Stages-1];
  always_ff @(posedge clk_i) begin
    if (joins) input_q[back_q] <= input_i;
    if (is_hashed) begin
      core_q[hashed_q]  <= core;
      place_q[hashed_q] <= KeyW'(mixed);
    end
    if (!rst_ni) {back_q, hashed_q, front_q, len_q, hashed_len_q, stages_q} <= '0;
    else begin
      back_q       <= back_q + PlaceW'(joins);
      hashed_q     <= hashed_q + PlaceW'(is_hashed);
      front_q      <= front_q + PlaceW'(leaves);
      len_q        <= len_q + (PlaceW + 1)'(joins) - (PlaceW + 1)'(leaves);
      hashed_len_q <= hashed_len_q + (PlaceW + 1)'(is_hashed) - (PlaceW + 1)'(leaves);
      stages_q     <= {stages_q[Stages-2:0], joins};
    end
  end
endmodule
