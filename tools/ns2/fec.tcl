# Cases 003-F5, 003-F6 and 003-F9 of crates/sim/tests/oracle/ns2.csv, on ns-2.35: TCP over one link with a block code
# (paper 003).
#
#   ns fec.tcl -variant Reno -k 20 -n 22 -p 0.01 -flows 1 -duration 1000 -seed 3
#
# A packet has `k` units of 53 bytes, which include 40 bytes of header. A packet is sent as `n` units, at `mu` units a
# second. Each unit is lost independently with probability p. A packet is lost if more than n-k of its units are lost.
# So packets are lost independently too. The script computes the loss probability of a packet, and ns-2 draws the losses
# of packets. Like tandem.tcl, this script is written for speed. It prints one line of `key value` pairs:
#   simulated (seconds), cpu (seconds), events (scheduled; a timer that is moved counts again), rate (events per CPU
#   second), loss (probability for a packet), throughput (units of data in order per second from `cut` on, all flows
#   together), timeouts (mean over the flows).

array set option {
    variant Reno  k 20  n 20  p 0.01  flows 1  mu 3000  delay 0.28  queue 100  window 100000
    duration 1000  cut 100  seed 1  scheduler Splay
}
source [file join [file dirname [info script]] options.tcl]

switch -- $variant {
    Tahoe { set agent Agent/TCP; set sink Agent/TCPSink }
    Reno - Newreno { set agent Agent/TCP/$variant; set sink Agent/TCPSink }
    Sack1 { set agent Agent/TCP/Sack1; set sink Agent/TCPSink/Sack1 }
    default { puts stderr "fec.tcl: -variant must be Tahoe, Reno, Newreno or Sack1, not `$variant'"; exit 2 }
}
if {$k < 1 || $n < $k} { puts stderr "fec.tcl: -k must be at least 1 and -n at least -k, not $k and $n"; exit 2 }

# The probability that more than n-k of n units are lost.
proc loss {n k p} {
    if {$p <= 0} { return 0.0 }
    if {$p >= 1} { return 1.0 }
    set term [expr {pow(1.0 - $p, $n)}]
    set sum 0.0
    for {set lost 0} {$lost <= $n} {incr lost} {
        # Sum the terms in which the packet is lost. If the sum were computed as 1 minus the other terms, a small result
        # would lose its digits.
        if {$lost > $n - $k} { set sum [expr {$sum + $term}] }
        set term [expr {$term * ($n - $lost) / ($lost + 1.0) * $p / (1.0 - $p)}]
    }
    return $sum
}
set loss [loss $n $k $p]
set bytes [expr {53 * $k}]

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler $scheduler

# Moves a generator to the part of its stream that belongs to run `seed` (see tandem.tcl).
proc stream {generator} {
    global seed
    for {set i 1} {$i < $seed} {incr i} { $generator next-substream }
    return $generator
}
stream $defaultRNG

foreach {name value} [list window_ $window packetSize_ [expr {$bytes - 40}]] { Agent/TCP set $name $value }
set source [$ns node]
set target [$ns node]
$ns simplex-link $source $target [expr {$mu * $bytes * 8.0 / $n}] $delay DropTail
$ns simplex-link $target $source 1e9 $delay DropTail
$ns queue-limit $source $target $queue
$ns queue-limit $target $source 1000000
if {$loss > 0} {
    set draws [new RandomVariable/Uniform]
    $draws use-rng [stream [new RNG]]
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $loss
    $errors ranvar $draws
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $source $target
}
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new $agent]
    set end($i) [new $sink]
    $ns attach-agent $source $tcp($i)
    $ns attach-agent $target $end($i)
    $ns connect $tcp($i) $end($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at 0 "$ftp($i) start"
}

# User and system time of this process in seconds. The kernel counts this time in ticks of 10 ms (proc(5)).
proc cpu {} {
    set file [open /proc/self/stat]
    set fields [split [string trim [lindex [split [read $file] ")"] 1]] " "]
    close $file
    expr {([lindex $fields 11] + [lindex $fields 12]) / 100.0}
}

# Adds up the bytes that arrived in order at the sinks. The counters of the sinks have 31 bits, so they are read and set
# to 0 every 100 simulated seconds, before they overflow.
set total 0.0
proc arrived {} {
    global flows end total
    for {set i 0} {$i < $flows} {incr i} {
        set total [expr {$total + [$end($i) set bytes_]}]
        $end($i) set bytes_ 0
    }
    return $total
}
proc collect {} {
    global ns
    arrived
    $ns at [expr {[$ns now] + 100}] collect
}

proc report {} {
    global ns duration cut k bytes loss flows tcp began before
    set cpu [expr {[cpu] - $began}]
    # ns-2 numbers events in the order in which events are scheduled. So the number of a new event is the number of
    # events.
    set events [$ns at $duration {}]
    set throughput [expr {([arrived] - $before) / $bytes * $k / ($duration - $cut)}]
    set timeouts 0.0
    for {set i 0} {$i < $flows} {incr i} { set timeouts [expr {$timeouts + [$tcp($i) set nrexmit_]}] }
    puts [format {simulated %g cpu %.2f events %d rate %.0f loss %.6g throughput %.3f timeouts %.1f} \
        $duration $cpu $events [expr {$events / ($cpu > 0 ? $cpu : 0.01)}] $loss $throughput \
        [expr {$timeouts / $flows}]]
    exit 0
}
$ns at 0 collect
$ns at $cut {set before [arrived]}
$ns at $duration report
set began [cpu]
$ns run
