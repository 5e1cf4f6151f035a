# fidelity: did the load leave when it should have, with the concurrency of the recording?
# PTS, ECDF, FLIGHT data files; LO, HI (ms, ends of A's axis), P50 and P99 (ms), P50_TEXT and P99_TEXT, LIMIT (ms, 0: none),
# WHEN (what times count from), YLO, YHI (ms, B), XMAX (s), PEAK most requests in flight, HAS_RECORDED
#
# PTS     request, s when it should have left, ms later than that
# ECDF    ms of absolute error, share of requests up to it
# FLIGHT  t s, requests in flight; index 0 now, index 1 in the recording
W = 960; H = 606
eval ta_begin(0)
set multiplot
T = 112; B = 352

# ---- A: how far off ----------------------------------------------------------
eval ta_panel(70, 520, T, B)
HEAD = "A   share of requests with |error| ≤ x (%)"; eval ta_head(40, 20, 84)
set logscale x
set xrange [LO:HI]; set yrange [0:104]
set format x "%g"; set xtics 10; set ytics 0,25,100
set xlabel "absolute send error (ms, log scale)"
if (LIMIT > LO) {
  set object 1 rect from graph 0,graph 0 to first (LIMIT < HI ? LIMIT : HI),graph 1 fc rgb C_GOOD fs transparent solid 0.09 noborder behind
  set label 41 sprintf("limit %g ms", LIMIT) at first (LIMIT < HI ? LIMIT : HI),first 7 right offset -0.8,0 font F_SMALL tc rgb C_GOOD_T
}
# below and right of a rising curve there is room
set label 42 P50_TEXT at P50,50 left offset 1,-0.9 point pt 7 ps 1*PS lc rgb C_REAL font F_SMALL tc rgb C_INK
set label 43 P99_TEXT at P99,99 left offset 1,-0.9 point pt 7 ps 1*PS lc rgb C_REAL font F_SMALL tc rgb C_INK
plot ECDF using 1:(100*$2) with steps lc rgb C_REAL lw 2.4
eval ta_once(0)
unset label; unset object; unset logscale x

# ---- B: over the run ---------------------------------------------------------
eval ta_panel(620, W-30, T, B)
HEAD = "B   error over the run (ms)"; eval ta_head(40, 570, 84)
set xrange [0:XMAX]; set xtics autofreq; set yrange [YLO:YHI]; set ytics autofreq
set xlabel WHEN
set label 41 "a slope is drift" at graph 0.97,graph 0.05 right font F_SMALL tc rgb C_MUTED
set arrow 1 from graph 0,first 0 to graph 1,first 0 nohead lc rgb C_AXIS lw 1
plot PTS using 2:3 with points pt 7 ps 0.5*PS lc rgb C_REAL
unset label; unset arrow

# ---- C: concurrency ----------------------------------------------------------
eval ta_panel(70, W-30, 450, 528)
HEAD = "C   requests in flight"; eval ta_head(40, 20, 432)
if (HAS_RECORDED) {
  set label 41 "now" at screen X(190),screen Y(432) left font F_BOLD tc rgb C_REAL
  set label 42 "recorded" at screen X(232),screen Y(432) left font F_BOLD tc rgb C_MUTED
}
set xrange [0:*]
set yrange [0:PEAK*1.15]; set ytics 0,(PEAK <= 2 ? 1 : PEAK % 2 == 0 ? PEAK/2 : PEAK),PEAK
set xlabel "time since the first request (s)"
if (HAS_RECORDED) {
  plot FLIGHT index 1 using 1:2 with fillsteps fc rgb C_CTX fs transparent solid 0.30 noborder, \
       FLIGHT index 1 using 1:2 with steps lc rgb C_CTX lw 1, \
       FLIGHT index 0 using 1:2 with steps lc rgb C_REAL lw 1.6
} else {
  plot FLIGHT index 0 using 1:2 with fillsteps fc rgb C_REAL fs transparent solid 0.30 noborder, \
       FLIGHT index 0 using 1:2 with steps lc rgb C_REAL lw 1.6
}
unset multiplot
set output
