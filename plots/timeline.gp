# timeline: where did each request spend its time, and what did the machine do meanwhile?
# REQ, TOK, CONC data files; SYS data file if there are memory samples, then MEM_MAX (GB, top of that axis) and
# HAS_RSS (0, 1); TICK output events a tick; XMAX (s); PEAK most requests in flight;
# FAILED rows with an error
#
# REQ   row, request, prompt tokens (text), t0 s, first output s, last output s, end s, kind (ok, fail),
#       note x s, note side (left, right of x), note
# TOK   row, t s, output events so far     CONC  t s, in flight, decoding     SYS  t s, system GB, server GB
stats REQ using 1 nooutput name "STR"
N = int(STR_max) + 1
STRIPS = exists("SYS") ? 2 : 1
ROW = 27                                   # px per request; the page grows with the rows
TOP = 98; BOT = TOP + ROW*N
W = 960; H = BOT + STRIPS*66 + 82
LM = 178; RM = W - 30
eval ta_begin(0)
set multiplot

# ---- legend in the head room (drawn, not a key: same look in every version) --
LY = 76
set object 1 rect from screen X(LM),screen Y(LY+3) to screen X(LM+26),screen Y(LY-3) fc rgb C_WAIT fs solid 1 noborder
set label 11 "waiting for the first output (queue + prefill)" at screen X(LM+32),screen Y(LY) left font F_SMALL tc rgb C_MUTED
set object 2 rect from screen X(LM+312),screen Y(LY+8) to screen X(LM+338),screen Y(LY-8) fc rgb C_REAL fs transparent solid 0.22 noborder
set for [k=0:4] arrow 20+k from screen X(LM+315+5*k),screen Y(LY+7) to screen X(LM+315+5*k),screen Y(LY-7) nohead lc rgb C_REAL lw 1
set label 12 (TICK==1 ? "decode, one tick an output event" : sprintf("decode, one tick per %d output events", TICK)) at screen X(LM+346),screen Y(LY) left font F_SMALL tc rgb C_MUTED
if (FAILED > 0) {
  set label 13 "" at screen X(LM+606),screen Y(LY) point pt 2 ps 1.0*PS lw 2.4 lc rgb C_CLAIM
  set label 14 "error" at screen X(LM+617),screen Y(LY) left font F_SMALL tc rgb C_MUTED
}

# ---- waterfall ---------------------------------------------------------------
eval ta_panel(LM, RM, TOP, BOT)
set xrange [0:XMAX]
set yrange [N-0.5:-0.5]
set border 0
set format x ""
set xtics scale 0
set grid xtics noytics
set ytics scale 0 font F_SMALL
set ytics () 
ok(x) = strcol(8) eq "ok"
side(s) = strcol(10) eq s
wait_end(x) = column(5) == column(5) ? column(5) : column(7)       # no output: it waited to its end
# labels that are not wanted are empty: gnuplot 5.4 crashes on a labels curve whose points are all NaN
lab(name,tokens) = sprintf("%s   %s", name, tokens)
plot REQ using (0.5*($4+$7)):1:4:7:($1-0.5):($1+0.5):ytic(lab(strcol(2),strcol(3))) with boxxyerror fc rgb C_BG fs transparent solid 0.0 noborder, \
     REQ using (0.5*($4+wait_end(0))):1:4:(wait_end(0)):($1-0.12):($1+0.12) with boxxyerror fc rgb C_WAIT fs solid 1 noborder, \
     REQ using (0.5*($5+$6)):1:5:6:($1-0.36):($1+0.36) with boxxyerror fc rgb C_REAL fs transparent solid 0.22 noborder, \
     TOK using 2:($1-0.34):(0):(0.68) with vectors nohead lc rgb C_REAL lw 1, \
     REQ using 4:1:(0):(0) with vectors nohead lc rgb C_INK lw 1, \
     REQ using (ok(0)?NaN:$7):1 with points pt 2 ps 1.0*PS lw 2.4 lc rgb C_CLAIM, \
     REQ using 9:1:(ok(0) && side("right")?strcol(11):"") with labels left offset 0.8,0 font F_SMALL tc rgb C_INK, \
     REQ using 9:1:(ok(0) && side("left")?strcol(11):"") with labels right offset -0.8,0 font F_SMALL tc rgb C_INK, \
     REQ using 9:1:(!ok(0) && side("right")?strcol(11):"") with labels left offset 1.2,0 font F_SMALL tc rgb C_CLAIM_T, \
     REQ using 9:1:(!ok(0) && side("left")?strcol(11):"") with labels right offset -0.8,0 font F_SMALL tc rgb C_CLAIM_T

# ---- strips ------------------------------------------------------------------
eval ta_once(0)
unset object; unset label; unset arrow
set border 1
set ytics autofreq scale 0
set grid xtics ytics
set yrange [0:*]

S0 = BOT + 22
eval ta_panel(LM, RM, S0, S0+46)
set label 31 "requests" at screen X(20),screen Y(S0+10) left font F_BOLD tc rgb C_INK
set label 32 "in flight"  at screen X(20),screen Y(S0+25) left font F_SMALL tc rgb C_MUTED
set label 33 "decoding"   at screen X(20),screen Y(S0+40) left font F_SMALL tc rgb C_REAL
set yrange [0:PEAK*1.2]; set ytics 0,(PEAK <= 2 ? 1 : PEAK % 2 == 0 ? PEAK/2 : PEAK),PEAK
if (STRIPS == 1) { set format x "%g"; set xtics scale 0.5; set xlabel "time since the first request (s)" }
plot CONC using 1:2 with fillsteps fc rgb C_CTX fs transparent solid 0.30 noborder, \
     CONC using 1:2 with steps lc rgb C_CTX lw 1, \
     CONC using 1:3 with fillsteps fc rgb C_REAL fs transparent solid 0.75 noborder
unset label

if (STRIPS == 2) {
  S1 = S0 + 66
  eval ta_panel(LM, RM, S1, S1+46)
  set label 31 "memory, GB" at screen X(20),screen Y(S1+10) left font F_BOLD tc rgb C_INK
  set label 32 "system used" at screen X(20),screen Y(S1+25) left font F_SMALL tc rgb C_INK
  if (HAS_RSS) { set label 33 "server process" at screen X(20),screen Y(S1+40) left font F_SMALL tc rgb C_ALT_T }
  set yrange [0:MEM_MAX]; set ytics 0,MEM_MAX/2.,MEM_MAX
  set format x "%g"; set xtics scale 0.5
  set xlabel "time since the first request (s)"
  plot SYS using 1:2 with lines lc rgb C_INK lw 1.4, \
       SYS using 1:3 with lines lc rgb C_ALT lw 2
}
unset multiplot
set output
