# Case 000-T1 of crates/sim/tests/oracle/ns2.csv, on ns-2.35: TCP flows over a chain of links that erase packets (paper
# 000, fig. 8).
#
#   ns tandem.tcl -variant Reno -q 0.05 -errack 1 -duration 1000 -seed 3
#
# The script is written for speed, because Ripstop's simulator is compared with the speed of ns-2. It writes no trace
# files, runs no Tcl per packet, and enables only the headers that TCP needs. It prints one line of `key value` pairs:
#   simulated (seconds), cpu (seconds), events (scheduled; a timer that is moved counts again), rate (events per CPU
#   second), goodput (payload in order at the sinks, Mbit/s), sent (packets), retransmits (packets), timeouts. The last
#   four are means over the flows.

array set option {
    variant Reno  q 0  errack 1  duration 1000  seed 1  flows 2
    hops 4  rate 2e6  delay 0.1  queue 200
    window 50  initial 2  payload 1000  tick 0.01  minrto 0.2  maxrto 60  ackevery 1
    alpha 1  beta 3  gamma 1
    start0 0  stop0 -1  start1 0  stop1 -1  scheduler Splay
}
source [file join [file dirname [info script]] options.tcl]

switch -- $variant {
    Tahoe { set agent Agent/TCP; set sink Agent/TCPSink }
    Reno - Newreno - Vegas { set agent Agent/TCP/$variant; set sink Agent/TCPSink }
    Sack1 { set agent Agent/TCP/Sack1; set sink Agent/TCPSink/Sack1 }
    default { puts stderr "tandem.tcl: -variant must be Tahoe, Reno, Newreno, Sack1 or Vegas, not `$variant'"; exit 2 }
}
switch -- $ackevery {
    1 {}
    2 { append sink /DelAck }
    default { puts stderr "tandem.tcl: -ackevery must be 1 or 2, not `$ackevery'"; exit 2 }
}

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler $scheduler

# Moves a generator to the part of its stream that belongs to run `seed`. Every link has a generator of its own. (With
# `$defaultRNG seed`, runs would not be independent: the generator is linear, so small seeds give streams that are
# multiples of each other.)
proc stream {generator} {
    global seed
    for {set k 1} {$k < $seed} {incr k} { $generator next-substream }
    return $generator
}
stream $defaultRNG

# Set the values of the class before agents exist. An agent derives its clock and thresholds from these values when the
# agent is created and reset.
foreach {name value} [list tcpTick_ $tick window_ $window windowInit_ $initial minrto_ $minrto maxrto_ $maxrto \
        packetSize_ $payload] {
    Agent/TCP set $name $value
}
foreach {name value} [list v_alpha_ $alpha v_beta_ $beta v_gamma_ $gamma] { Agent/TCP/Vegas set $name $value }

# Makes one direction of one hop. An erased packet still takes its transmission time on the link.
proc hop {from to erases} {
    global ns rate delay queue q
    $ns simplex-link $from $to $rate $delay DropTail
    $ns queue-limit $from $to $queue
    if {!$erases || $q <= 0} return
    set draws [new RandomVariable/Uniform]
    $draws use-rng [stream [new RNG]]
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $q
    $errors ranvar $draws
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $from $to
}

for {set i 0} {$i <= $hops} {incr i} { set node($i) [$ns node] }
for {set i 0} {$i < $hops} {incr i} {
    set next [expr {$i + 1}]
    hop $node($i) $node($next) 1
    hop $node($next) $node($i) $errack
}
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new $agent]
    set end($i) [new $sink]
    $ns attach-agent $node(0) $tcp($i)
    $ns attach-agent $node($hops) $end($i)
    $ns connect $tcp($i) $end($i)
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    $ns at [expr {[info exists start$i] ? [set start$i] : 0}] "$ftp($i) start"
    if {[info exists stop$i] && [set stop$i] >= 0} { $ns at [set stop$i] "$ftp($i) stop" }
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
proc collect {} {
    global ns flows end total
    for {set i 0} {$i < $flows} {incr i} {
        set total($i) [expr {$total($i) + [$end($i) set bytes_]}]
        $end($i) set bytes_ 0
    }
    $ns at [expr {[$ns now] + 100}] collect
}
for {set i 0} {$i < $flows} {incr i} { set total($i) 0.0 }

proc report {} {
    global ns variant duration flows payload tcp total began
    set cpu [expr {[cpu] - $began}]
    # ns-2 numbers events in the order in which events are scheduled. So the number of a new event is the number of
    # events.
    set events [$ns at $duration {}]
    collect
    # All agents except Vegas count a header of 40 bytes in each packet. The first packet is a bare header, the SYN.
    # Vegas counts only the payload of a packet. The first packet of Vegas is a payload instead of the SYN.
    set vegas [expr {$variant eq "Vegas"}]
    set first [expr {$vegas ? $payload : 40}]
    set each [expr {$vegas ? $payload : $payload + 40}]
    foreach sum {packets sent again timeouts} { set $sum 0.0 }
    for {set i 0} {$i < $flows} {incr i} {
        set arrived [expr {($total($i) - $first) / double($each)}]
        set packets [expr {$packets + ($arrived > 0 ? $arrived : 0)}]
        set sent [expr {$sent + [$tcp($i) set ndatapack_]}]
        set again [expr {$again + [$tcp($i) set nrexmitpack_]}]
        set timeouts [expr {$timeouts + [$tcp($i) set nrexmit_]}]
    }
    puts [format {simulated %g cpu %.2f events %d rate %.0f goodput %.6f sent %.1f retransmits %.1f timeouts %.1f} \
        $duration $cpu $events [expr {$events / ($cpu > 0 ? $cpu : 0.01)}] \
        [expr {$packets * $payload * 8e-6 / $duration / $flows}] [expr {$sent / $flows}] [expr {$again / $flows}] \
        [expr {$timeouts / $flows}]]
    exit 0
}
$ns at 0 collect
$ns at $duration report
set began [cpu]
$ns run
