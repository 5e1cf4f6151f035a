# compare: which server delivers more, and does a second parallel request help or hurt?
# REP one row a repeat, SUM one row a server; medians, speedup and verdict are computed by tokaudit;
# L_TOGETHER what a group is called ("double")
#
# REP  row, scenario (0 alone, 1 together), wall tok/s
# SUM  row, server, single p50, together p50, speedup (text), verdict (ok, warn, fail, none), note,
#      min and max of single, min and max of together, "simulated" or blank, single p50 and together p50 as text
stats SUM using 1 nooutput name "STS"
stats REP using 3 nooutput name "STX"                # before any set xrange: stats obeys ranges
N = int(STS_max) + 1
ROW = 62; TOP = 104; BOT = TOP + ROW*N
W = 960; H = BOT + 78
LM = 174; RM = 640
eval ta_begin(0)
set multiplot
eval ta_panel(LM, RM, TOP, BOT)
set yrange [N-0.5:-0.5]
set xrange [0:STX_max*1.22]
set border 1
set grid xtics noytics
set ytics scale 0 font F_BOLD textcolor rgb C_INK
set ytics ()
set xlabel "wall throughput (output tok/s)"

# column heads
set label 1 "server"  at screen X(20),screen Y(TOP-18) left font F_SMALL tc rgb C_MUTED
set label 4 "speedup" at screen X(RM+72),screen Y(TOP-18) right font F_SMALL tc rgb C_MUTED
set label 5 "verdict" at screen X(RM+100),screen Y(TOP-18) left font F_SMALL tc rgb C_MUTED

dy(k) = k==0 ? -0.17 : 0.17
SX = RM + 72
# labels that are not wanted are empty: gnuplot 5.4 crashes on a labels curve whose points are all NaN.
# A label stands left of its dots if there is room for it
room(v) = v/(STX_max*1.22)*(RM-LM) > 95
left0(x) = room(column(8))
left1(x) = column(4) < 0.97*column(3) && room(column(10))
set clip two
plot SUM using 3:($1+dy(0)):($4-$3):(dy(1)-dy(0)) with vectors nohead lc rgb C_GRID lw 6, \
     REP using 3:($2==0?$1+dy(0):NaN) with points pt 6 ps 0.85*PS lw 1.3 lc rgb C_CTX, \
     REP using 3:($2==1?$1+dy(1):NaN) with points pt 7 ps 0.85*PS lc rgb C_SKY, \
     SUM using 3:($1+dy(0)-0.13):(0):(0.26) with vectors nohead lc rgb C_INK lw 2.6, \
     SUM using 4:($1+dy(1)-0.13):(0):(0.26) with vectors nohead lc rgb C_REAL lw 3.4, \
     SUM using 8:($1+dy(0)):(left0(0)?"single ".strcol(13):"") with labels right offset -1.2,0 font F_SMALL tc rgb C_MUTED, \
     SUM using 9:($1+dy(0)):(left0(0)?"":"single ".strcol(13)) with labels left offset 1.2,0 font F_SMALL tc rgb C_MUTED, \
     SUM using 10:($1+dy(1)):(left1(0)?L_TOGETHER." ".strcol(14):"") with labels right offset -1.2,0 font F_SMALL tc rgb C_REAL, \
     SUM using 11:($1+dy(1)):(left1(0)?"":L_TOGETHER." ".strcol(14)) with labels left offset 1.2,0 font F_SMALL tc rgb C_REAL, \
     SUM using (0):1:ytic(2) with points pt -1 ps 0
eval ta_once(0)
eval ta_overlay(TOP, BOT)
plot \
     SUM using (SX):1:(strcol(5)) with labels right font FONT.":Bold,16" tc rgb C_INK, \
     SUM using (SX+34):(strcol(6) eq "ok"  ?$1:NaN) with points pt 7 ps 1.1*PS lc rgb C_GOOD, \
     SUM using (SX+34):(strcol(6) eq "warn"?$1:NaN) with points pt 9 ps 1.2*PS lc rgb C_WAIT, \
     SUM using (SX+34):(strcol(6) eq "fail"?$1:NaN) with points pt 2 ps 1.0*PS lw 2.4 lc rgb C_CLAIM, \
     SUM using (SX+48):1:(strcol(7)) with labels left font F_SMALL tc rgb C_INK, \
     SUM using (LM-8):($1+0.3):(strcol(12)) with labels right font F_FOOT tc rgb C_MUTED
unset multiplot
set output
