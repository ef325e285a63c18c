  // A slot is watched. It is known to be free from when it was read so until it is given out; when
  // it is in the run that was found, it is known to be free. What is read as used where there is no
  // slot is never found.
  (* anyseq *) logic [AddrW-1:0] contract_any;
  logic contract_up_q = 1'b0;
  logic contract_free_q = 1'b0;
  logic [AddrW-1:0] contract_slot_q;   // chosen in the first cycle
  logic [AddrW-1:0] contract_slots_q;  // of the buffer
  wire contract_is_taken = taken_i && contract_slot_q >= taken_start_i && contract_slot_q < taken_end_i;
  wire contract_is_free = contract_free_q && !contract_is_taken;
  wire contract_reads = step_i && reads_i && word_o == contract_slot_q[AddrW-1:6] && !used_i[contract_slot_q[5:0]];
  always_ff @(posedge clk_i) begin
    contract_up_q    <= 1'b1;
    contract_slots_q <= buffer_slots_i;
    contract_free_q  <= contract_up_q && (contract_reads || contract_is_free);
    if (!contract_up_q) contract_slot_q <= contract_any;
  end
  wire [63:0] contract_none = word_o < buffer_slots_i[AddrW-1:6] ? 64'd0 : word_o > buffer_slots_i[AddrW-1:6] ? ~64'd0 : ~64'd0 << buffer_slots_i[5:0];
  always_comb begin
    NEEDS (rst_ni == contract_up_q);
    NEEDS (buffer_slots_i != '0 && {1'b0, buffer_slots_i} + (AddrW+1)'(128) < (AddrW+1)'(1) << AddrW);
    if (contract_up_q) begin
      NEEDS (buffer_slots_i == contract_slots_q);
      NEEDS (!(step_i && reads_i) || (~used_i & contract_none) == '0);
      GIVES (word_o <= WordW'((buffer_slots_i - AddrW'(1)) >> 6));
      if (found_slots_o != '0) begin
        GIVES (found_end_o > found_start_o && found_end_o - found_start_o == found_slots_o && found_end_o <= buffer_slots_i);
        GIVES (contract_is_free || contract_slot_q < found_start_o || contract_slot_q >= found_end_o);
      end
    end
  end
