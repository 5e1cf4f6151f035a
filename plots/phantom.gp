# phantom: could the claimed rate have produced the bytes that arrived?
# DATA cumulative output of each request (index 0 = the focus request); CLAIM, REAL (tok/s); T0 (s) at which both clocks
# start; TFIRST (s) first output; NTOK (output tokens); words: L_CLAIM L_REAL L_OFF L_THEN L_WIRE L_SILENT;
# BURST (zoom into the burst) if there is one, then ZHEAD, ZNOTE1 to ZNOTE3
#
# DATA  t since t0 s, cumulative tokens, request     BURST  t since first output ms, cumulative tokens, events in read
RATIO = CLAIM / REAL
if (!exists("LOGY")) LOGY = RATIO > 20 || RATIO < 0.05
ZOOM = exists("BURST")
W = 960; H = 520
eval ta_begin(0)
set multiplot

stats DATA using 1 nooutput name "STA"
TMAX = STA_max
stats DATA index 0 using 1 nooutput name "STF"
TFOC = STF_max                              # the focus request ends here
SPAN = TMAX - T0
TOP = CLAIM > REAL ? CLAIM : REAL
LOW = CLAIM > REAL ? REAL : CLAIM
PR = ZOOM ? 590 : 768                       # right frame edge of the main panel
eval ta_panel(78, PR, 96, H-82)
set xrange [0:TMAX*1.02]
set xlabel "time since request sent (s)"
set label 5 (LOGY ? "tokens received, cumulative (log scale)" : "tokens received, cumulative") at screen X(20),screen Y(80) left font F_SMALL tc rgb C_MUTED

claimed(x) = x > T0 ? CLAIM*(x-T0) : NaN
recomp(x) = x > T0 ? REAL *(x-T0) : NaN
if (LOGY) {
  set logscale y
  YTOP = TOP*SPAN > NTOK ? TOP*SPAN : NTOK
  set yrange [1 : 10**ceil(log10(YTOP*1.5))]
  set format y "%.0s %c"
  # the vertical gap is the ratio; nothing of it may fall under the axis
  low(y) = y < 1 ? 1 : y
  XG = T0 + 0.62*SPAN
  set arrow 1 from XG,low(LOW*(XG-T0)*1.25) to XG,TOP*(XG-T0)/1.25 heads filled size screen 0.008,22 lc rgb C_INK lw 1
  set label 6 L_OFF at XG,sqrt(low(LOW*(XG-T0))*TOP*(XG-T0)) left offset 1,0 font FONT.":Bold,16" tc rgb C_INK
  XL = T0 + 0.12*SPAN
  XR = T0 + 0.3*SPAN
  YR = REAL*(XR-T0)
  if (CLAIM > REAL) { set label 7 L_CLAIM at XL,CLAIM*(XL-T0) left offset 1,-1.1 font F_BOLD tc rgb C_CLAIM_T
  } else            { set label 7 L_CLAIM at TFOC,low(CLAIM*(TFOC-T0)) right offset 0,-1.1 font F_BOLD tc rgb C_CLAIM_T }
  set label 8 L_THEN at TFOC,low(CLAIM*(TFOC-T0)) right offset 0,0.9 font F_SMALL tc rgb C_CLAIM_T
  set label 9 L_REAL at XR,(YR < 4 ? 4 : YR) left offset 1,-1.1 font F_BOLD tc rgb C_REAL
  set label 10 L_WIRE at TFOC,NTOK right offset -1.2,1.6 font F_SMALL tc rgb C_INK
} else {
  set yrange [0 : NTOK*1.25]
  # where the claimed line leaves the frame, or ends in it
  XC = T0 + NTOK*1.1/CLAIM
  if (XC < TMAX) { set label 7 sprintf("%s  (%s)", L_CLAIM, L_OFF) at XC,NTOK*1.1 right offset -2,0 font F_BOLD tc rgb C_CLAIM_T
  } else         { set label 7 sprintf("%s  (%s)", L_CLAIM, L_OFF) at TMAX,0.5*CLAIM*SPAN right offset -1,0 font F_BOLD tc rgb C_CLAIM_T }
  YR = REAL*(TMAX*1.02-T0)
  YR = YR > NTOK*1.18 ? NTOK*1.18 : YR
  set label 9 L_REAL at screen X(PR+8),first YR left font F_BOLD tc rgb C_REAL
  set label 10 L_WIRE at screen X(PR+8),first YR-0.075*NTOK left font F_SMALL tc rgb C_INK
}
if (TFIRST > 0.2*TMAX) { set label 11 L_SILENT at 0.5*TFIRST,(LOGY ? 1 : 0) center offset 0,0.9 font F_SMALL tc rgb C_INK }
set samples 400
NB = int(STA_blocks)
plot for [i=0:NB-1] DATA index i using 1:($2>0?$2:(LOGY?1:0)) with steps lc rgb C_SKY lw 1, \
     recomp(x) with lines lc rgb C_REAL  lw 2 dt 1, \
     claimed(x) with lines lc rgb C_CLAIM lw 2 dt (6*DS,4*DS), \
     DATA index 0 using 1:($2>0?$2:(LOGY?1:0)) with steps lc rgb C_INK lw 2.4, \
     "+" using (TFOC):(NTOK) every ::0::0 with points pt 7 ps 0.9*PS lc rgb C_INK

if (ZOOM) {
  eval ta_once(0)
  unset label; unset arrow; unset logscale y
  stats BURST using 1 nooutput name "STZ"
  eval ta_panel(690, W-30, 96, H-82)
  HEAD = ZHEAD; eval ta_head(40, 650, 80)
  set xrange [-STZ_max*0.18:STZ_max*1.12]
  set yrange [0:NTOK*1.12]
  set format y "%g"
  # tics from 0 on, some three of them
  ZP = 10**floor(log10(STZ_max/3.)); ZM = STZ_max/3./ZP
  set xtics 0,ZP*(ZM < 1.5 ? 1 : ZM < 3.5 ? 2 : ZM < 7.5 ? 5 : 10)
  set xlabel "time since first output (ms)"
  zc(x) = x >= 0 && x*CLAIM/1000. <= NTOK*1.06 ? x*CLAIM/1000. : NaN
  set label 41 ZNOTE1 at STZ_max*1.1,NTOK*0.19 right font F_SMALL tc rgb C_INK
  set label 42 ZNOTE2 at STZ_max*1.1,NTOK*0.12 right font F_SMALL tc rgb C_CLAIM_T
  set label 43 ZNOTE3 at STZ_max*1.1,NTOK*0.05 right font F_SMALL tc rgb C_CLAIM_T
  plot zc(x) with lines lc rgb C_CLAIM lw 2 dt (6*DS,4*DS), \
       BURST using 1:2 with steps lc rgb C_INK lw 1.4, \
       BURST using 1:2 with points pt 7 ps 0.7*PS lc rgb C_INK
}
unset multiplot
set output
