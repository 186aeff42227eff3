# Cases 002-* of crates/sim/tests/oracle/ns2.csv, on ns-2.35: TCP or UDP over a string of 802.11 nodes (paper 002).
#
#   ns string.tcl -n 10 -window 20 -capture 20 -routing static -duration 100 -seed 3
#
# The script is written for speed: it writes no trace files, runs no Tcl per packet, and enables only the headers that
# are needed. The last line that it prints has `key value` pairs:
#   simulated (measured seconds), cpu (seconds, warm-up included), events (scheduled, warm-up included), rate (events
#   per CPU second), thr1500 (kbit/s in order at the sinks, counted with 1500 bytes a packet), sent and retransmits
#   (packets of TCP), timeouts (of TCP), queuedrops (packets). All these values except cpu, events and rate are counted
#   over the measured interval, and summed over the flows and nodes. allretransmits and alltimeouts are counted from the
#   start of the flows, as in ns2.csv. thr1500.0 and thr1500.1 are the throughputs of the two flows of -traffic both.
# With -drops 1, ns-2 traces the frames that the MAC drops, and is a third slower. The line then also has, over the
#   measured interval: macdrops (datagrams given up after the last retry), collisions and duplicates (data frames that
#   were lost or received again at their addressee), control (dropped RTS, CTS and MAC ACK frames). The trace does not
#   show a frame that is lost because the frame is too weak, or because the station is sending.
# With -mactrace FILE, ns-2 writes its own trace of the MAC and of the packets that enter the queues to FILE. This trace
#   shows single frames. queuedrops is 0 then.
#
# Static routing needs no routing protocol. A node has one LL object for each neighbour. The LL object has no ARP table,
# so it uses its fixed macDA_. The node's address classifier passes a datagram for any node farther right (left) to the
# LL object of the right (left) neighbour. A relayed packet has the direction `up'. An LL object returns a packet with
# this direction to the node. So a NetworkInterface object in front of the LL object clears the direction. With static
# routing there is no warm-up of routes, no ARP and no routing header, and no routing protocol learns of a MAC drop.

array set option {
    n 10  spacing 200  capture 20  rts off  routing static
    traffic tcp  variant Newreno  window 20  initial 2  payload 1460  minrto 0.2  maxrto 60  tick 0.01  noack 0
    cbrrate 8e6  start 1  gap 1  warm 5  duration 100  seed 1
    datarate 11e6  basicrate 2e6  queue 50  queuetype DropTail/PriQueue  scheduler Splay  drops 0  mactrace ""
}
source [file join [file dirname [info script]] options.tcl]
proc oneof {key args} {
    global $key
    if {[lsearch -exact $args [set $key]] < 0} {
        puts stderr "string.tcl: -$key must be one of $args, not `[set $key]'"
        exit 2
    }
}
oneof rts off on
oneof routing static aodv
oneof traffic tcp both udp
oneof variant Tahoe Reno Newreno Sack1
oneof noack 0 1
oneof drops 0 1

remove-all-packet-headers
add-packet-header IP TCP Flags LL Mac
if {$routing eq "aodv"} { add-packet-header ARP AODV }
if {$traffic eq "udp"} { add-packet-header RTP }
set ns [new Simulator]
$ns use-scheduler $scheduler
# One generator draws the back-offs, AODV's jitter and the starts of -gap. Move this generator to the part of its stream
# that belongs to run `seed`, as in tandem.tcl.
for {set k 1} {$k < $seed} {incr k} { $defaultRNG next-substream }

Mac/802_11 set dataRate_ $datarate
Mac/802_11 set basicRate_ $basicrate
Mac/802_11 set RTSThreshold_ [expr {$rts eq "on" ? 0 : 10000}]
Phy/WirelessPhy set CPThresh_ $capture
foreach {name value} [list tcpTick_ $tick window_ $window windowInit_ $initial minrto_ $minrto maxrto_ $maxrto \
        packetSize_ $payload] {
    Agent/TCP set $name $value
}

# ns-2 requires a trace file for its nodes. Without -drops and -mactrace, ns-2 writes only one line about each node to
# this file.
set drop_file [expr {$mactrace ne "" ? $mactrace : $drops ? "/tmp/string.[pid]" : "/dev/null"}]
set sink_file [open $drop_file w]
$ns trace-all $sink_file
set topography [new Topography]
$topography load_flatgrid [expr {($n + 1) * $spacing}] 1000
create-god $n
$ns node-config -adhocRouting [expr {$routing eq "aodv" ? "AODV" : "DumbAgent"}] -llType LL -macType Mac/802_11 \
    -ifqType Queue/$queuetype -ifqLen $queue -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $topography \
    -agentTrace OFF -routerTrace OFF -macTrace [expr {$mactrace eq "" ? "OFF" : "ON"}] -movementTrace OFF

# Counts the packets that the queues drop.
set monitor [new QueueMonitor]
set counts [new SnoopQueue/Drop]
$counts set-monitor $monitor
$counts target [new Agent/Null]

for {set i 0} {$i < $n} {incr i} {
    set node($i) [$ns node]
    $node($i) set X_ [expr {($i + 0.5) * $spacing}]
    $node($i) set Y_ 500
    $node($i) set Z_ 0
    $node($i) random-motion 0
    if {$drops} { [$node($i) set mac_(0)] drop-target [$node($i) mobility-trace Drop MAC] }
    if {$mactrace eq ""} {
        [$node($i) set ifq_(0)] drop-target $counts
        set below($i) [$node($i) set ifq_(0)]
    } else {
        set below($i) [$node($i) mobility-trace Send IFQ]
        $below($i) target [$node($i) set ifq_(0)]
        [$node($i) set ll_(0)] down-target $below($i)
    }
}
proc towards {from next dests} {
    global node below
    set mac [$node($from) set mac_(0)]
    set link [new LL]
    $link mac $mac
    $link down-target $below($from)
    $link up-target [$node($from) entry]
    $link set macDA_ [[$node($next) set mac_(0)] id]
    set turn [new NetworkInterface]
    $turn target $link
    foreach dest $dests { [$node($from) entry] install $dest $turn }
}
if {$routing eq "static"} {
    for {set i 0} {$i < $n} {incr i} {
        set left {}
        set right {}
        for {set j 0} {$j < $n} {incr j} { if {$j < $i} { lappend left $j } elseif {$j > $i} { lappend right $j } }
        if {[llength $left]} { towards $i [expr {$i - 1}] $left }
        if {[llength $right]} { towards $i [expr {$i + 1}] $right }
    }
}

set jitter [new RandomVariable/Uniform]
$jitter use-rng $defaultRNG
$jitter set min_ 0
$jitter set max_ $gap
set flows [expr {$traffic eq "both" ? 2 : 1}]
for {set i 0} {$i < $flows} {incr i} {
    set from [expr {$i == 0 ? 0 : $n - 1}]
    set to [expr {$n - 1 - $from}]
    if {$traffic eq "udp"} {
        set source($i) [new Agent/UDP]
        set end($i) [new Agent/LossMonitor]
        # AODV adds the IP header to all packets except those of TCP.
        set size [expr {$payload + 40 - ($routing eq "aodv" ? 20 : 0)}]
        $source($i) set packetSize_ $size
        set application($i) [new Application/Traffic/CBR]
        $application($i) set packetSize_ $size
        $application($i) set rate_ $cbrrate
    } else {
        set source($i) [new Agent/TCP[expr {$variant eq "Tahoe" ? "" : "/$variant"}]]
        set end($i) [new Agent/TCPSink[expr {$variant eq "Sack1" ? "/Sack1" : ""}]]
        set application($i) [new Application/FTP]
    }
    $ns attach-agent $node($from) $source($i)
    $ns attach-agent $node($to) $end($i)
    $ns connect $source($i) $end($i)
    if {$noack} { $end($i) target $source($i) }
    $application($i) attach-agent $source($i)
    $ns at [expr {$start + ($gap > 0 ? [$jitter value] : 0)}] "$application($i) start"
}

# User and system time of this process in seconds. The kernel counts this time in ticks of 10 ms (proc(5)).
proc cpu {} {
    set file [open /proc/self/stat]
    set fields [split [string trim [lindex [split [read $file] ")"] 1]] " "]
    close $file
    expr {([lindex $fields 11] + [lindex $fields 12]) / 100.0}
}

# Returns all counts since the start.
proc counts {} {
    global flows traffic end source monitor
    foreach sum {sent again timeouts} { set $sum 0 }
    for {set i 0} {$i < $flows} {incr i} {
        lappend result bytes$i [expr {[$end($i) set bytes_] + 0.0}]
        if {$traffic ne "udp"} {
            incr sent [$source($i) set ndatapack_]
            incr again [$source($i) set nrexmitpack_]
            incr timeouts [$source($i) set nrexmit_]
        }
    }
    lappend result sent $sent again $again timeouts $timeouts
    lappend result full [$monitor set pdrops_]
    return $result
}
proc begin {} {
    global before
    array set before [counts]
}
# Prints the number of drops in the measured interval by kind. The drops are read from the trace file, because ns-2's
# MAC tells the kind of a drop only to trace objects.
proc report_drops {} {
    global ns start warm mactrace sink_file drop_file
    $ns flush-trace
    close $sink_file
    foreach kind {RET COL DUP control} { set number($kind) 0 }
    set file [open $drop_file]
    while {[gets $file line] >= 0} {
        if {![string match D* $line]} continue
        foreach {op time node layer why uid type} $line break
        if {$layer ne "MAC" || $time < $start + $warm} continue
        if {[lsearch -exact {RTS CTS ACK} $type] >= 0} { set why control }
        if {[info exists number($why)]} { incr number($why) }
    }
    close $file
    if {$mactrace eq ""} { file delete $drop_file }
    puts -nonewline " macdrops $number(RET) collisions $number(COL) duplicates $number(DUP) control $number(control)"
}
proc report {} {
    global ns flows duration start warm began before payload drops
    set cpu [expr {[cpu] - $began}]
    # ns-2 numbers events in the order in which events are scheduled. So the number of a new event is the number of
    # events.
    set events [$ns at [expr {$start + $warm + $duration}] {}]
    array set now [counts]
    array set all [array get now]
    foreach name [array names now] { set now($name) [expr {$now($name) - $before($name)}] }
    set total 0
    for {set i 0} {$i < $flows} {incr i} {
        set kbps($i) [expr {$now(bytes$i) * 1500 / ($payload + 40) * 8e-3 / $duration}]
        set total [expr {$total + $kbps($i)}]
    }
    puts -nonewline [format {simulated %g cpu %.2f events %d rate %.0f thr1500 %.3f sent %d retransmits %d timeouts %d} \
        $duration $cpu $events [expr {$events / ($cpu > 0 ? $cpu : 0.01)}] $total $now(sent) $now(again) $now(timeouts)]
    puts -nonewline " queuedrops $now(full)"
    puts -nonewline " allretransmits $all(again) alltimeouts $all(timeouts)"
    if {$flows > 1} { puts -nonewline [format { thr1500.0 %.3f thr1500.1 %.3f} $kbps(0) $kbps(1)] }
    if {$drops} { report_drops }
    puts ""
    exit 0
}
$ns at [expr {$start + $warm}] begin
$ns at [expr {$start + $warm + $duration}] report
set began [cpu]
$ns run
