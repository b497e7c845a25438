# plot.gp - METG(50%) by pattern: csv and out are given on the command line.
set datafile separator ','
set terminal svg size 1100,500 background rgb 'white'
set output out
set logscale y
set ylabel 'METG(50%) in microseconds'
set style data histogram
set style fill solid
set xtics rotate by -40
set grid ytics
set key top left
plot csv using 6:xtic(sprintf('%s %s/%s', strcol(1), strcol(2), strcol(4))) \
         every ::1 title 'nonblocking MPI by hand', \
     csv using 9 every ::1 title 'moot'
