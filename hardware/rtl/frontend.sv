// Stations 8 and 9, and the messages of station 10: when does the payload go to the core, and which
// RPC does the core begin? The completion queue of one core, in order, and the hint which payload
// to fetch: at once if no other RPC is ahead of it, else while the one ahead is served. Source:
// core/nebula-nic/src/frontend.rs, completion.rs and steering.rs; NEBULA's NI front end.
module frontend #(
    parameter int BoundMax = 2,  // RPCs that a core may have
    parameter int EntryW = 64,
    localparam int Places = 1 << $clog2(BoundMax),
    localparam int PlaceW = $clog2(Places) > 0 ? $clog2(Places) : 1
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [6:0]        bound_i,         // at most BoundMax
    input  logic              steering_i,
    input  logic              dispatch_i,      // the back end gives an RPC,
    input  logic [EntryW-1:0] arrival_i,       // this one
    output logic              accepts_o,       // or the core has its bound already
    output logic              steer_now_o,     // its payload is fetched at once,
    output logic              steer_later_o,   // or while the one ahead is served
    input  logic              poll_i,          // the core begins the next RPC
    output logic              begin_valid_o,   // there is one,
    output logic [EntryW-1:0] begin_o,         // this one
    output logic              next_valid_o,    // and this one's payload is to be fetched meanwhile
    output logic [EntryW-1:0] next_o,
    input  logic              release_i,       // an RPC that was begun has ended
    output logic              releases_o,
    output logic [6:0]        in_service_o,
    output logic [6:0]        outstanding_o
);
  logic [EntryW-1:0] entry_q[Places];
  logic [PlaceW-1:0] head_q;
  logic [6:0] len_q, in_service_q;
  wire [PlaceW-1:0] next_at = PlaceW'(head_q + PlaceW'(1)) & PlaceW'(Places - 1);
  wire [PlaceW-1:0] end_at = PlaceW'(head_q + PlaceW'(len_q)) & PlaceW'(Places - 1);
  assign in_service_o = in_service_q;
  assign outstanding_o = len_q + in_service_q;
  assign accepts_o = outstanding_o < bound_i;
  assign steer_now_o = steering_i && outstanding_o == '0;
  assign steer_later_o = steering_i && outstanding_o != '0;
  assign begin_valid_o = len_q != '0;
  assign begin_o = entry_q[head_q];
  assign next_valid_o = steering_i && len_q > 7'd1;
  assign next_o = entry_q[next_at];
  assign releases_o = in_service_q != '0;
  wire takes = dispatch_i && accepts_o;
  wire begins = poll_i && begin_valid_o;
  wire ends = release_i && releases_o;
  always_ff @(posedge clk_i) begin
    if (takes) entry_q[end_at] <= arrival_i;
    if (!rst_ni) begin
      head_q <= '0;
      len_q <= '0;
      in_service_q <= '0;
    end else begin
      if (begins) head_q <= next_at;
      len_q <= len_q + 7'(takes) - 7'(begins);
      in_service_q <= in_service_q + 7'(begins) - 7'(ends);
    end
  end
endmodule
