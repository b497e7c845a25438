# plot.gp - METG(50%) by pattern, and time by divergence: csv, diverge_csv and out are
# given on the command line.
set datafile separator ','
set terminal svg size 1100,1000 background rgb 'white'
set output out
set multiplot layout 2,1
set key noenhanced
set xtics noenhanced
set grid ytics
set key top left

set title 'METG(50%) by pattern, ranks and width'
set logscale y
set ylabel 'microseconds'
set style data histogram
set style fill solid
set xtics rotate by -40
plot csv using 6:xtic(sprintf('%s %s/%s', strcol(1), strcol(2), strcol(4))) \
         every ::1 title 'nonblocking MPI by hand', \
     csv using 9 every ::1 title 'moot'

set title 'Ranks that spawn differently'
unset logscale y
set logscale x
set yrange [0:*]
set xrange [0.05:20]
set xlabel 'spawns skipped, or rows shuffled, on each rank (%)'
set ylabel 'time / time of ranks that agree'
set xtics norotate ('0.1' 0.1, '1' 1, '10' 10)
series(pattern, kind) = sprintf('< grep "^%s,.*,%s," %s', pattern, kind, diverge_csv)
plot for [kind in 'skip shuffle'] for [pattern in 'stencil_1d fft tree'] \
     series(pattern, kind) using 5:6 with linespoints title pattern.', '.kind
