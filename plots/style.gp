# The one visual language of all tokaudit plots. gnuplot 5.2 to 6.0.
#
# A script that tokaudit writes is: its variables, this file, one template. Variables that `gnuplot -e` may set:
#   OUT    output file           FMT   svg | png | pdf     (default svg)
#   THEME  light | dark          SCALE png pixel ratio     (default 1.5)
#   FONT   family
# Set by tokaudit: TITLE, SUB, FOOT, PLOTID (never parsed: the terminal is noenhanced), data files, figures.

if (!exists("FMT"))   FMT   = "svg"
if (!exists("THEME")) THEME = "light"
if (!exists("SCALE")) SCALE = 1.5
if (!exists("FONT"))  FONT  = "Liberation Sans"

set encoding utf8
set datafile separator "\t"
set datafile commentschars "#"
set decimalsign "."

# ---- colour tokens: Okabe-Ito for data, neutrals for everything else --------
# _T: darker twins for text (>= 5:1 on white). Text uses INK, MUTED, REAL or a _T token, nothing else.
# Only these tokens may appear in a template; the report re-maps them for dark mode.
if (THEME eq "dark") {
  C_BG="#14171c"; C_INK="#e6edf3"; C_MUTED="#9aa4af"; C_AXIS="#6b7580"; C_GRID="#2a3038"; C_CTX="#8b949e"
  C_REAL="#4aa8e0"; C_CLAIM="#ff8a4c"; C_WAIT="#e8b04a"; C_GOOD="#2fc39a"; C_ALT="#dd9fc3"; C_SKY="#7cc7f0"
  C_CLAIM_T="#ff8a4c"; C_WAIT_T="#e8b04a"; C_GOOD_T="#2fc39a"; C_ALT_T="#dd9fc3"
} else {
  C_BG="#ffffff"; C_INK="#1f2328"; C_MUTED="#59636e"; C_AXIS="#8c959f"; C_GRID="#e4e8ec"; C_CTX="#818b95"
  C_REAL="#0072b2"; C_CLAIM="#d55e00"; C_WAIT="#e69f00"; C_GOOD="#009e73"; C_ALT="#cc79a7"; C_SKY="#56b4e9"
  C_CLAIM_T="#b04a00"; C_WAIT_T="#8a5f00"; C_GOOD_T="#007a59"; C_ALT_T="#a3477d"
}

# ---- type sizes (px at 960 wide) --------------------------------------------
F_TITLE = FONT.":Bold,16.5"
F_SUB   = FONT.",12.5"
F_BASE  = FONT.",12"
F_BOLD  = FONT.":Bold,12"
F_SMALL = FONT.",11"
F_FOOT  = FONT.",9.5"

# ---- terminal ---------------------------------------------------------------
W = 960; H = 540
ta_svg(w,h) = sprintf("set term svg size %d,%d dynamic noenhanced butt font '%s,12' background '%s'", w, h, FONT, C_BG)
ta_png(w,h) = sprintf("set term pngcairo size %d,%d noenhanced butt fontscale %g linewidth %g pointscale %g font '%s,12' background '%s'", \
                      int(w*SCALE), int(h*SCALE), SCALE, SCALE, SCALE, FONT, C_BG)
# 96 px = 1 inch
ta_pdf(w,h) = sprintf("set term pdfcairo size %gin,%gin noenhanced butt fontscale 0.75 linewidth 1.5 pointscale 0.75 font '%s,12' background '%s'", \
                      w/96., h/96., FONT, C_BG)
ta_term(w,h) = FMT eq "png" ? ta_png(w,h) : FMT eq "pdf" ? ta_pdf(w,h) : ta_svg(w,h)

# point sizes: the svg terminal draws them 1.6x larger and has no pointscale option
PS = FMT eq "svg" ? 0.62 : 1.0
# dash unit: cairo draws dash lengths about half as long as svg does
DS = FMT eq "svg" ? 1.0 : 1.8

# ---- page coordinates in px, origin top-left ---------------------------------
X(px) = px / real(W)
Y(px) = 1.0 - px / real(H)

# begin(w,h): call as  W=..; H=..; eval ta_begin()
ta_begin(x) = ta_term(W,H)."; set output OUT; " \
  ."set label 901 TITLE at screen X(20),screen Y(27) left font F_TITLE tc rgb C_INK; " \
  ."set label 902 SUB at screen X(20),screen Y(49) left font F_SUB tc rgb C_MUTED; " \
  ."set label 903 FOOT at screen X(20),screen Y(H-12) left font F_FOOT tc rgb C_MUTED; " \
  ."set label 904 PLOTID at screen X(W-20),screen Y(H-12) right font F_FOOT tc rgb C_MUTED"
# the page texts belong to the first panel of a multiplot only
ta_once(x) = "unset label 901; unset label 902; unset label 903; unset label 904"
# panel(l,r,t,b): plot frame edges in px from the page's left / top
ta_panel(l,r,t,b) = sprintf("set lmargin at screen %.5f; set rmargin at screen %.5f; set tmargin at screen %.5f; set bmargin at screen %.5f", \
                            X(l), X(r), Y(t), Y(b))
# small heading above a panel: set HEAD first. Text never travels through eval (see README, safety).
ta_head(id,l,t) = sprintf("set label %d HEAD at screen %.5f,screen %.5f left font F_BOLD tc rgb C_INK", id, X(l), Y(t))

# ta_overlay(t,b): a second, frameless panel whose x axis IS page pixels. Text columns go here:
# "with labels" silently drops points outside the axis range, so they cannot hang off the data panel.
ta_overlay(t,b) = sprintf("set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen %.5f; set bmargin at screen %.5f; ", Y(t), Y(b)) \
  ."unset logscale x; set xrange [0:W]; set border 0; unset xtics; unset ytics; unset xlabel; unset ylabel; unset grid; unset label; unset arrow; unset object"

# ---- quiet axes --------------------------------------------------------------
set border 3 lc rgb C_AXIS lw 1
set tics nomirror out scale 0.5 textcolor rgb C_MUTED font F_SMALL
set grid ytics lc rgb C_GRID lw 1 lt 1 dt 1
# offsets survive a later: set xlabel "text"
set xlabel font F_BASE textcolor rgb C_MUTED offset 0,0.4
set ylabel font F_BASE textcolor rgb C_MUTED
unset key
set style fill transparent solid 1.0 noborder
set bars 0
